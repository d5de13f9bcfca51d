"""Other lines for the same walk, each a whole path beside usual solvers on a grid.

1. Classification over τ with the RBF kernel, beside `sklearn.svm.SVC` at 99 values of τ.
2. Quantile regression over τ on made-up data, beside `sklearn.linear_model.QuantileRegressor` at 9
   and at 99 values of τ, and statsmodels' `QuantReg` at 99; see `datasets/quantiles.py`.
3. Classification over C with the RBF kernel, beside `SVC` at 100 values of C, even on a
   logarithmic scale from the path's first kink to its last, and at as many as there are kinks.

All in one process and one thread. Seconds are CPU seconds; paths and fits are run in turn, equally
often, and the best run of each path and of each single fit counts. Grids that would take too long
are estimated from fewer fits, and marked. Errors are measured by `judge`: those of a path at kinks
and midpoints, those of SVC at every point of its grid.

The problems are not quite the same. SVC's intercept is free, the augmented one of the path is
regularised. The peers of quantile regression do not regularise at all and give no dual solution,
so that they are compared by their loss, to which the path at C = 1 adds |w|²/2. QuantReg's fit
includes a covariance matrix.

Needs the paper's diabetes data, in the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import error, machine, n_threads, number, table
from datasets.quantiles import heteroscedastic
from judge import Verdict, classification, kinks_and_midpoints, linear, rbf, regression, worst
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVC
from solvers.svc import svc_dual
from statsmodels.regression.quantile_regression import QuantReg
from statsmodels.tools.sm_exceptions import ConvergenceWarning, IterationLimitWarning
from turns import Done, Job, run_in_turn

from taupath import (
    SolutionPath,
    quantile_path,
    quantile_regression_path,
    regularization_path,
)
from taupath.datasets import DataNotFound, load_paper

INTERCEPTS = ("augmented", "free")
TAUS = [k / 100 for k in range(1, 100)]
FEW_TAUS = [k / 10 for k in range(1, 10)]
# Values of C to fit; from these more are estimated.
N_COSTS = 100
# Kinks and midpoints to judge.
N_JUDGED = 200
# A grid that would take longer, in seconds, is estimated.
LONGEST_GRID = 60.0
PACKAGES = ("numpy", "scipy", "scikit-learn", "statsmodels", "taupath")


@dataclass(frozen=True)
class Row:
    """What was measured of one solver: a path, or fits on a grid.

    Attributes
    ----------
    solver, intercept : str
        Who, and which intercept: "augmented" or "free".
    solutions : int
        Kinks of a path, points of a grid.
    timed : int or None
        Fits that were timed; where these are fewer than the points, the seconds are an estimate.
        None for a path.
    runs : int
        Times that all of this was run.
    seconds : float
        CPU seconds of the path, or of all points.
    gap, kkt : float or None
        Worst relative duality gap and worst violation of an optimality condition.
    loss : float or None
        Of quantile regression: how far the loss exceeds that of the linear programme, relative to
        it, at the worst τ of the small grid.
    """

    solver: str
    intercept: str
    solutions: int
    timed: int | None
    runs: int
    seconds: float
    gap: float | None = None
    kkt: float | None = None
    loss: float | None = None

    @property
    def estimated(self) -> bool:
        """Whether the seconds are an estimate."""
        return self.timed is not None and self.timed < self.solutions

    def on(self, n_points: int) -> "Row":
        """Return the estimate for as good a grid with another number of points."""
        return replace(self, solutions=n_points, seconds=self.seconds * n_points / self.solutions)


@dataclass(frozen=True)
class Comparison:
    """A table: paths first, then their peers."""

    title: str
    rows: list[Row]

    def ratios(self, row: Row) -> dict[str, float]:
        """Return the seconds of a row as multiples of each path's, by the path's intercept."""
        paths = [path for path in self.rows if path.timed is None]
        return {path.intercept: row.seconds / path.seconds for path in paths}


# -- running ---------------------------------------------------------------------------------------


def path_jobs(follow: Callable[[str], SolutionPath]) -> dict[str, Job]:
    """Return one job for each intercept that a path accepts, named like it; leave out the rest.

    To find out, each is followed once.
    """
    jobs = {}
    for intercept in INTERCEPTS:
        try:
            follow(intercept)
        except ValueError as refused:
            print(f"left out: {refused}", file=sys.stderr)
        else:
            jobs[intercept] = {"path": partial(follow, intercept)}
    return jobs


def path_row(intercept: str, done: Done, judge: Callable[[str, SolutionPath], Verdict]) -> Row:
    """Return the row of a path."""
    path = done.results["path"]
    verdict = judge(intercept, path)
    return Row(
        solver="taupath, whole path",
        intercept=intercept,
        solutions=path.n_kinks,
        timed=None,
        runs=done.runs,
        seconds=done.seconds,
        gap=verdict.gap,
        kkt=verdict.kkt,
    )


def grid_row(solver: str, done: Done, verdict: Verdict | None = None) -> Row:
    """Return the row of a grid, all of which was timed."""
    n_points = len(done.results)
    row = Row(solver, "free", n_points, n_points, done.runs, done.seconds)
    return row if verdict is None else replace(row, gap=verdict.gap, kkt=verdict.kkt)


# -- classification over τ -------------------------------------------------------------------------


def over_tau(
    X: np.ndarray,
    y: np.ndarray,
    lam: float,
    gamma: float,
    taus: Sequence[float] = TAUS,
    repeats: int | None = None,
) -> Comparison:
    """Compare the path over τ with SVC on a grid."""
    C = 1.0 / (len(y) * lam)
    gram = rbf(X, gamma)

    def follow(intercept: str) -> SolutionPath:
        return quantile_path(X, y, lam=lam, kernel="rbf", gamma=gamma, intercept=intercept)

    def fit(tau: float) -> SVC:
        costs = {1: 2.0 * (1.0 - tau), -1: 2.0 * tau}
        return SVC(kernel="rbf", gamma=gamma, C=C, class_weight=costs).fit(X, y)

    def judge(intercept: str, path: SolutionPath) -> Verdict:
        return worst(
            classification(gram, y, C, tau, intercept == "free").judge(path.alpha(tau) / lam)
            for tau in kinks_and_midpoints(path.taus, N_JUDGED)
        )

    paths = path_jobs(follow)
    done = run_in_turn({**paths, "SVC": {tau: partial(fit, tau) for tau in taus}}, repeats)
    verdict = worst(
        classification(gram, y, C, tau, True).judge(svc_dual(model, len(y)))
        for tau, model in done["SVC"].results.items()
    )
    return Comparison(
        f"Classification over τ, RBF: diabetes {X.shape[0]} × {X.shape[1]}, standardised, "
        f"γ = {gamma:g}, λ = {lam:g}",
        [
            *(path_row(name, done[name], judge) for name in paths),
            grid_row("SVC", done["SVC"], verdict),
        ],
    )


# -- quantile regression ---------------------------------------------------------------------------


def over_quantiles(
    n_samples: int = 5000,
    n_features: int = 9,
    C: float = 1.0,
    taus: Sequence[float] = TAUS,
    few_taus: Sequence[float] = FEW_TAUS,
    repeats: int | None = None,
    longest: float = LONGEST_GRID,
) -> Comparison:
    """Compare the path of quantile regression with grids; `few_taus` must be among `taus`."""
    X, y = heteroscedastic(n_samples, n_features)
    with_ones = np.column_stack((X, np.ones(n_samples)))
    gram = linear(X)

    def follow(intercept: str) -> SolutionPath:
        return quantile_regression_path(X, y, C=C, intercept=intercept)

    def fit_highs(tau: float) -> np.ndarray:
        model = QuantileRegressor(quantile=tau, alpha=0.0, solver="highs").fit(X, y)
        return np.append(model.coef_, model.intercept_)

    def fit_statsmodels(tau: float) -> np.ndarray:
        with warnings.catch_warnings():  # where it gives up, its loss shows it
            warnings.simplefilter("ignore", IterationLimitWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(QuantReg(y, with_ones).fit(q=tau).params)

    def judge(intercept: str, path: SolutionPath) -> Verdict:
        return worst(
            regression(gram, y, C, tau, intercept == "free").judge(path.alpha(tau))
            for tau in kinks_and_midpoints(path.taus, N_JUDGED)
        )

    def loss(tau: float, w: np.ndarray) -> float:
        residual = y - with_ones @ w
        return float(np.maximum(tau * residual, (tau - 1.0) * residual).sum())

    paths = path_jobs(follow)
    grids = {
        "QuantileRegressor": {tau: partial(fit_highs, tau) for tau in few_taus},
        "QuantReg": {tau: partial(fit_statsmodels, tau) for tau in taus},
    }
    done = run_in_turn({**paths, **grids}, repeats)
    least = {tau: loss(tau, w) for tau, w in done["QuantileRegressor"].results.items()}

    def excess(weights: Callable[[float], np.ndarray]) -> float:
        return max(loss(tau, weights(tau)) / least[tau] - 1.0 for tau in few_taus)

    rows = []
    for name in paths:
        path = done[name].results["path"]
        row = path_row(name, done[name], judge)
        above = excess(lambda tau, path=path: np.append(path.coef(tau), path.intercept(tau)))
        rows.append(replace(row, loss=above))
    few = grid_row("QuantileRegressor", done["QuantileRegressor"])
    many = few.on(len(taus))
    if many.seconds <= longest:
        job = {tau: partial(fit_highs, tau) for tau in taus}
        many = grid_row(few.solver, run_in_turn({few.solver: job}, repeats)[few.solver])
    by_statsmodels = grid_row("statsmodels QuantReg", done["QuantReg"])
    above = excess(done["QuantReg"].results.__getitem__)
    return Comparison(
        f"Quantile regression: made-up data {n_samples} × {n_features}, C = {C:g}",
        [*rows, few, many, replace(by_statsmodels, loss=above)],
    )


# -- classification over C -------------------------------------------------------------------------


def over_costs(
    X: np.ndarray,
    y: np.ndarray,
    C_max: float,
    gamma: float,
    n_points: int = N_COSTS,
    repeats: int | None = None,
) -> Comparison:
    """Compare the path over C with SVC on a grid, and on one with as many points as kinks."""
    gram = rbf(X, gamma)

    def follow(intercept: str) -> SolutionPath:
        return regularization_path(
            X, y, C_max=C_max, kernel="rbf", gamma=gamma, intercept=intercept
        )

    def fit(C: float) -> SVC:
        return SVC(kernel="rbf", gamma=gamma, C=C).fit(X, y)

    def judge(intercept: str, path: SolutionPath) -> Verdict:
        return worst(  # at C = 0 boxes are empty, and the gap is 0 of 0
            classification(gram, y, C, 0.5, intercept == "free").judge(path.alpha(C) * len(y) * C)
            for C in kinks_and_midpoints(path.taus, N_JUDGED)
            if C > 0.0
        )

    paths = path_jobs(follow)
    first_kink = follow(INTERCEPTS[0]).taus[1]
    costs = np.geomspace(first_kink, C_max, n_points).tolist()
    done = run_in_turn({**paths, "SVC": {C: partial(fit, C) for C in costs}}, repeats)
    verdict = worst(
        classification(gram, y, C, 0.5, True).judge(svc_dual(model, len(y)))
        for C, model in done["SVC"].results.items()
    )
    svc = grid_row("SVC", done["SVC"], verdict)
    rows = [path_row(name, done[name], judge) for name in paths]
    not_judged = replace(svc, gap=None, kkt=None)
    return Comparison(
        f"Classification over C, RBF: diabetes {X.shape[0]} × {X.shape[1]}, standardised, "
        f"γ = {gamma:g}, C up to {C_max:g}",
        [*rows, svc, *(not_judged.on(row.solutions) for row in rows)],
    )


# -- reporting -------------------------------------------------------------------------------------


def report(comparisons: Sequence[Comparison], about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    lines = []
    for comparison in comparisons:
        lines += [*table(comparison.title, columns(comparison)), ""]
    return [
        "CPU seconds, one thread, best of several runs; ≈: estimated from the fits timed",
        "",
        *lines,
        ", ".join(f"{name} {value}" for name, value in about.items()),
    ]


def columns(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Return the columns of a table."""
    rows = comparison.rows
    ratios = [comparison.ratios(row) for row in rows]
    found = [
        ("solver", [row.solver for row in rows]),
        ("intercept", [row.intercept for row in rows]),
        ("kinks or points", [str(row.solutions) for row in rows]),
        ("fits timed", ["-" if row.timed is None else str(row.timed) for row in rows]),
        ("runs", [str(row.runs) for row in rows]),
        ("seconds", [("≈ " if row.estimated else "") + number(row.seconds) for row in rows]),
        *(
            (f"times {intercept} path", [number(ratio[intercept]) for ratio in ratios])
            for intercept in ratios[0]
        ),
        ("gap", [error(row.gap) for row in rows]),
        ("KKT", [error(row.kkt) for row in rows]),
    ]
    if any(row.loss is not None for row in rows):
        found.append(("loss above LP", [error(row.loss) for row in rows]))
    return found


def as_json(comparisons: Sequence[Comparison], about: dict[str, str]) -> str:
    """Return the tables, each row with its ratios, and the machine."""
    tables = [
        {
            "title": comparison.title,
            "rows": [
                {**asdict(row), "estimated": row.estimated, "ratios": comparison.ratios(row)}
                for row in comparison.rows
            ],
        }
        for comparison in comparisons
    ]
    return json.dumps({"tables": tables, "machine": about}, indent=2)


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Whole paths beside usual solvers on grids.")
    parser.add_argument("--repeats", type=int, help="runs of each job (default: by time)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if arguments.repeats is not None and arguments.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {arguments.repeats}")
    if n_threads() > 1:
        print(f"lines: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    try:
        data = load_paper("diabetes")
    except DataNotFound as missing:
        print(f"lines: {missing}", file=sys.stderr)
        return 1
    X = (data.X_train - data.X_train.mean(axis=0)) / data.X_train.std(axis=0)
    y, gamma, repeats = data.y_train.astype(np.float64), 1.0 / X.shape[1], arguments.repeats
    comparisons = []
    for name, compare in (
        ("classification over τ", lambda: over_tau(X, y, data.lam, gamma, repeats=repeats)),
        ("quantile regression", lambda: over_quantiles(repeats=repeats)),
        ("classification over C", lambda: over_costs(X, y, 1000.0, gamma, repeats=repeats)),
    ):
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        comparisons.append(compare())
    about = machine(*PACKAGES)
    print(as_json(comparisons, about) if arguments.json else "\n".join(report(comparisons, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
