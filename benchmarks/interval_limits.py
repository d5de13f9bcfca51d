"""How close can the coverage of intervals for probabilities come to the stated one?

On the truths that no constant of `ProbabilityIntervals` was chosen on, with so many draws that the
standard error is about a point. P(Y = 1 | s) is the mean η of the 301 nearest of 20 000 new
samples.

now         intervals of `QuantileSVCCV`
held out    intervals from n samples that were drawn anew and predicted by the final model: what the
            method reaches if no models of folds are in between
best worth  intervals of `QuantileSVCCV` with the worth of a sample, of WORTHS, that comes closest
            to 90 % on this truth and n. It can be chosen only if the truth is known

RBF kernels with 300 samples only, to save time.
"""

import argparse
import os
import sys
from dataclasses import replace

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import table
from datasets.simulated import Simulator
from questions.probability_intervals import (
    CHECKED_ON,
    COVERAGES,
    EACH,
    FIRST_SEED,
    N_NEAREST,
    N_NEW,
)
from scipy.ndimage import uniform_filter1d

from taupath import ProbabilityIntervals, QuantileSVCCV

WORTHS = (0.35, 0.5, 0.65, 0.75, 0.85, 1.0, 1.2)
DRAWS = {"linear": {300: 60, 1000: 40}, "rbf": {300: 40}}
# A coverage counts as reached within this many points.
NEAR = 2.0


def shares(intervals: ProbabilityIntervals, proba: np.ndarray, true: np.ndarray) -> list[float]:
    """Return the share of intervals that hold the truth, in %, for each coverage."""
    found = []
    for coverage in COVERAGES:
        low, high = intervals.interval(proba, coverage).T
        found.append(100.0 * float(((low <= true) & (true <= high)).mean()))
    return found


def judged(truth: Simulator, n: int, seed: int) -> np.ndarray:
    """Return the shares of one draw: of intervals now, from held-out samples, for each worth."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    X, y = truth.draw(rng, n)
    model = QuantileSVCCV(kernel=truth.kernel).fit(X, y)
    new = truth.points(rng, N_NEW)
    proba = model.predict_proba(new)[:, 1]
    order = np.argsort(proba, kind="stable")
    of_score = uniform_filter1d(truth.eta(new[order]), N_NEAREST, mode="nearest")
    at, true = proba[order][EACH // 2 :: EACH], of_score[EACH // 2 :: EACH]
    X, y = truth.draw(rng, n)
    held_out = ProbabilityIntervals().fit(model.predict_proba(X)[:, 1], y == 1)
    found = [shares(model._intervals, at, true), shares(held_out, at, true)]
    own = model._intervals._counts
    for worth in WORTHS:
        model._intervals._counts = replace(own, worth=worth)
        found.append(shares(model._intervals, at, true))
    return np.array(found)


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Limits of the coverage of intervals.")
    parser.add_argument("--draws", type=int, help="of each truth and n, in place of the usual ones")
    arguments = parser.parse_args()
    names, kinds = [], []
    for truth in CHECKED_ON:
        for n, n_draws in DRAWS[truth.kernel].items():
            print(f"measuring {truth.name}, n = {n} ...", file=sys.stderr, flush=True)
            each = np.array([judged(truth, n, seed) for seed in range(arguments.draws or n_draws)])
            mean = each.mean(axis=0)
            best = int(np.abs(mean[2:, 1] - 100.0 * COVERAGES[1]).argmin())
            error = each[:, 0, 1].std() / np.sqrt(len(each))
            names.append((truth.name, str(n), str(len(each)), f"{error:.1f}", f"{WORTHS[best]:g}"))
            kinds.append(mean[[0, 1, 2 + best]])
    heads = ("truth", "n", "draws", "±", "best worth")
    columns = [
        (head, list(cells)) for head, cells in zip(heads, zip(*names, strict=True), strict=True)
    ]
    found, wanted = np.array(kinds), 100.0 * np.array(COVERAGES)
    for k, kind in enumerate(("now", "held out", "best worth")):
        cells = [" ".join(f"{share:.1f}" for share in row) for row in found[:, k]]
        columns.append((kind, cells))
    print("\n".join(table("Coverage of intervals of 80, 90 and 95 %, in %", columns)))
    for k, kind in enumerate(("now", "held out", "best worth")):
        near = (np.abs(found[:, k] - wanted) <= NEAR).sum(axis=0)
        print(
            f"{kind}: within {NEAR:g} points {near} of {len(found)}, mean "
            f"{found[:, k].mean(axis=0).round(1)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
