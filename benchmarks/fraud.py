"""What payments cost with amounts in training, in decisions only, or in neither.

The simulated payments of docs/fraud.md, drawn ten times: some to train on, and 20 000 new ones to
decide about. A check costs 4 euros, a missed fraud its amount. The table shows the sum in euros:

decisions   `QuantileSVC(C=1)`, trained without costs, ``predict`` with the costs of each payment
training    trained with the costs of each payment, ``predict`` without
both        the same, but ``predict`` is given the costs again, as docs/fraud.md warns not to
average     trained without costs, ``predict`` with the mean cost of a fraud for all payments
nothing     no checks
"""

import argparse
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp

CHECK = 4.0
WAYS = ("decisions", "training", "both", "average", "nothing")


def payments(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, amounts in euros, and which of n payments are fraud."""
    amount = np.exp(rng.normal(4.0, 1.2, n)).round(2)
    night = rng.uniform(size=n) < 0.25
    new_device = rng.uniform(size=n) < 0.15
    distance = rng.exponential(30.0, n)
    months = rng.exponential(24.0, n)
    log_odds = -5.5 + 1.2 * night + 2.0 * new_device + 0.02 * distance - 0.03 * months
    log_odds += 0.3 * (np.log(amount) - 4.0)
    fraud = rng.uniform(size=n) < 1 / (1 + np.exp(-log_odds))
    return np.column_stack((np.log(amount), night, new_device, distance, months)), amount, fraud


def bills(n_train: int, seed: int) -> list[float]:
    """Return the bill of one draw for each of `WAYS`."""
    rng = np.random.default_rng(seed)
    X, amount, fraud = payments(n_train, rng)
    X_new, due, truth = payments(20_000, rng)

    def bill(checked: np.ndarray) -> float:
        return float(CHECK * checked.sum() + due[~checked & truth].sum())

    plain, costly = (make_pipeline(StandardScaler(), tp.QuantileSVC()) for _ in range(2))
    plain.fit(X, fraud)
    known = {"cost_fp": CHECK, "cost_fn": np.maximum(amount - CHECK, 0.0)}
    costly.fit(X, fraud, **{f"quantilesvc__{name}": cost for name, cost in known.items()})
    own = {"cost_fp": CHECK, "cost_fn": np.maximum(due - CHECK, 0.0)}
    average = {"cost_fp": CHECK, "cost_fn": due[truth].mean() - CHECK}
    return [
        bill(plain.predict(X_new, **own)),
        bill(costly.predict(X_new)),
        bill(costly.predict(X_new, **own)),
        bill(plain.predict(X_new, **average)),
        bill(np.zeros(len(truth), dtype=bool)),
    ]


def main() -> None:
    """Print a table for each number of payments to train on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--train", type=int, nargs="+", default=[1000, 3000, 10_000])
    arguments = parser.parse_args()
    for n_train in arguments.train:
        found = np.array([bills(n_train, seed) for seed in range(arguments.draws)])
        print(f"{n_train} payments to train on, {arguments.draws} draws")
        for way, cost in zip(WAYS, found.mean(axis=0), strict=True):
            print(f"  {way:<10} {cost:8.0f}")
        ratio = found[:, 1] / found[:, 0]
        error = ratio.std(ddof=1) / np.sqrt(len(ratio))
        lower = int((ratio < 1.0).sum())
        print(f"  training / decisions {ratio.mean():.3f} ± {error:.3f}, lower in {lower} draws")


if __name__ == "__main__":
    main()
