"""Quantile regression for every quantile at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath._core._rows import Rows
from taupath.approximate import approximate_stretch, choose_method
from taupath.approximate_path import ApproximateRegressionPath
from taupath.continuum import Boxes
from taupath.exceptions import WalkFailed
from taupath.path import RegressionPath
from taupath.problem import Line, quantile_regression, quantile_regression_from_an_end
from taupath.samples import Samples, make_samples
from taupath.solver import RAISE, Progress, Record, solve_path
from taupath.status import FREE, LOWER, UPPER
from taupath.stretch import Rest, Stretch
from taupath.validation import (
    check_C,
    check_features,
    check_positive,
    check_progress,
    check_range,
    check_targets,
    check_weight,
)

__all__ = ["quantile_regression_path"]

# Of the largest |y|: y that vary by less are taken to vary so much, so that targets are raised
# visibly beside what rounding does to them.
LEAST_UNIT = 1e-3
# Where C is so large that functions pass through the samples, raised targets cost C times their
# number: they are raised by less. That can be too little to tell ties apart: then by more again.
LEAST_RAISE = 1e-4
RAISE_MORE = 100.0


def quantile_regression_path(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    kernel: str | Callable[[Any, Any], Any] = "linear",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    intercept: str = "augmented",
    sample_weight: Any = None,
    cache_size: float = 1000.0,
    tau_range: tuple[float, float] = (0.0, 1.0),
    method: str = "exact",
    tol: float = 1e-3,
    progress: Progress | None = None,
) -> RegressionPath:
    """Follow the exact solution of quantile regression over τ.

    For every τ of `tau_range`, minimises

        ½ ‖w‖² + C Σ max(τ (y_i - f(x_i)), (τ - 1) (y_i - f(x_i))),

    so that f_τ(x) estimates the τ-quantile of y at x (Takeuchi, Le, Sears & Smola, JMLR 2006).

    Parameters
    ----------
    X, kernel, gamma, degree, coef0, intercept, sample_weight, cache_size, tau_range, method, tol, \
    progress
        As in `quantile_path`.
    y : array-like of shape (n_samples,)
        What is to be predicted.
    C : float, default 1.0
        Weight of the loss. As C grows, with the linear kernel, the unregularised quantiles.

    Returns
    -------
    RegressionPath
        The same face as that of `quantile_path`; `decision_function` is the quantile.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> path = taupath.quantile_regression_path(X, [0.0, 1.0, 5.0, 3.0, 4.0], C=100.0)
    >>> path.decision_function(X, 0.5).round(6)
    array([0., 1., 2., 3., 4.])
    """
    tol = check_positive(tol, "tol")
    features = check_features(X, single=method != "exact")
    approximate = choose_method(method, kernel, features.shape[0]) == "approximate"
    targets = check_targets(y, features.shape[0])
    C = check_C(C)
    weight = check_weight(sample_weight, len(targets))
    begin, end = check_range(tau_range)
    progress = check_progress(progress)
    path_line = quantile_regression(targets, weight, C)
    if approximate:
        stored, chords = approximate_stretch(
            features,
            np.ones(len(targets)),
            targets,
            weight,
            Boxes.of_regression(C),
            intercept,
            (begin, end),
            tol,
            progress,
        )
        return ApproximateRegressionPath(stored, path_line, [chords], C=C, tol=tol)
    features = check_features(features)
    samples = make_samples(
        features,
        np.ones(len(targets)),
        targets,
        intercept,
        kernel,
        gamma,
        degree,
        coef0,
        cache_size,
    )
    still = _constant(samples, targets, weight, begin, end)
    if still is not None:
        return RegressionPath(samples, path_line, [still], C=C)
    rows, order = samples.rows_to_walk()
    unit = _unit(targets, weight)
    # From either end of the line to its middle: at the ends boxes begin at zero. Raising the
    # targets costs Σ (θ_i - l_i) δ, and raising those of -θ costs Σ (h_i - θ_i) δ: each vanishes
    # with the objective at its own end.
    strength = C / unit * float(weight.max()) * float(rows.squared_norms().max())
    rise = RAISE / min(max(strength, 1.0), 1.0 / LEAST_RAISE)
    stretches: list[Stretch] = []
    for turned in (True, False):
        first, last = (begin, min(end, 0.5)) if turned else (1.0 - end, min(1.0 - begin, 0.5))
        if first >= last:
            continue
        aim = -targets / unit if turned else targets / unit
        line = quantile_regression_from_an_end(aim, weight, C / unit)
        before = sum(stretch.counters["kinks"] for stretch in stretches)
        report = _part_of(progress, turned, begin, end, before)
        line, record = _walk(rows, line, first, last, order, report, rise)
        stretches.append(
            Stretch(
                samples,
                line,
                record,
                backward=not turned,
                turned=turned,
                unit=unit,
                true_target=aim,
            )
        )
    return RegressionPath(samples, path_line, stretches, C=C)


def _walk(
    rows: Rows,
    line: Line,
    first: float,
    last: float,
    order: np.ndarray | None,
    progress: Progress | None,
    rise: float,
) -> tuple[Line, Record]:
    """Return the raised line and what was recorded on it."""
    while True:
        raised = line.raised(rise)
        try:
            return raised, solve_path(rows, raised, first, last, order, progress)
        except WalkFailed:
            if rise >= RAISE:
                raise
            rise = min(RAISE_MORE * rise, RAISE)


def _constant(
    samples: Samples, y: np.ndarray, weight: np.ndarray, begin: float, end: float
) -> Rest | None:
    """Return the stretch if a constant without cost passes through all y, else None."""
    present = y[weight > 0.0]
    value = float(present[0])
    if (present != value).any() or (value != 0.0 and not samples.constant.free):
        return None
    status = np.where(y > value, UPPER, np.where(y < value, LOWER, FREE)).astype(np.int8)
    return Rest(begin, end, status, *samples.constant_function(value))


def _unit(y: np.ndarray, weight: np.ndarray) -> float:
    """Return the scale on which y varies."""
    present = y[weight > 0.0]
    spread = float(np.abs(present - np.median(present)).mean())
    return max(spread, LEAST_UNIT * float(np.abs(present).max()))


def _part_of(
    progress: Progress | None, turned: bool, begin: float, end: float, before: int
) -> Progress | None:
    """Return what to call on the one or the other half of the way."""
    if progress is None:
        return None
    whole = progress
    middle = min(max(0.5, begin), end)
    done = 0.0 if turned else (middle - begin) / (end - begin)
    share = ((middle - begin) if turned else (end - middle)) / (end - begin)
    return lambda fraction, events: whole(done + share * fraction, before + events)
