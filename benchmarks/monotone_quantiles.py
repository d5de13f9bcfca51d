"""Quantiles of 2 log LR for the value of a monotone function at one point, by simulation.

`ProbabilityIntervals` inverts this test. Its statistic has the same limiting distribution for all
monotone functions with a slope (Banerjee & Wellner 2001); here P(Y = 1 | s) = s for 4000 samples
with uniform s, and the tested point is the middle. Prints the table in
`estimators/probability_intervals.py`.
"""

import argparse
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from taupath.estimators.probability_intervals import LEVELS, TRIED, ProbabilityIntervals

N_SAMPLES = 4000


def main() -> None:
    """Print quantiles and their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100_000)
    draws = parser.parse_args().draws
    rng = np.random.default_rng(0)
    middle = int(np.flatnonzero(TRIED == 0.5)[0])
    found = np.empty(draws)
    for k in range(draws):
        score = rng.uniform(size=N_SAMPLES)
        intervals = ProbabilityIntervals().fit(score, rng.uniform(size=N_SAMPLES) < score)
        found[k] = intervals._statistic(0.5)[middle]
    found.sort()
    for level in LEVELS[1:]:
        off = np.sqrt(draws * level * (1.0 - level))  # ranks within one standard error
        low, high = found[[int(draws * level - off), min(int(draws * level + off), draws - 1)]]
        print(f"{level:.3f} {np.quantile(found, level):.4f} ± {(high - low) / 2:.4f}")


if __name__ == "__main__":
    main()
