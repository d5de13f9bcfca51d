"""Quantile regression for every quantile at once."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taupath._core._rows import Rows
from taupath.approximate.gap_bound import Boxes
from taupath.approximate.node_search import approximate_stretch, choose_method
from taupath.approximate.path import ApproximateRegressionPath
from taupath.cluster import is_dask, jobs_for
from taupath.engine.problem import Line, quantile_regression, quantile_regression_from_an_end
from taupath.engine.solver import RAISE, Record, solve_path
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.engine.two_threads import Meeting, progress_of_two, walk_together
from taupath.exceptions import WalkFailed
from taupath.paths.jobs import RegressionPath
from taupath.paths.training_data import make_samples
from taupath.paths.walked import Rest, Stretch
from taupath.progress import Progress, Tell, telling
from taupath.validation import (
    check_C,
    check_features,
    check_n_jobs,
    check_positive,
    check_progress,
    check_range,
    check_targets,
    check_weight,
)

__all__ = ["Responses", "quantile_regression_path"]

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
    n_jobs: int | None = None,
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
    X, kernel, gamma, degree, coef0, intercept, sample_weight, cache_size, tau_range
        As in `quantile_path`.
    n_jobs, method, tol, progress
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
    progress, together = check_progress(progress), check_n_jobs(n_jobs) > 1
    tol = check_positive(tol, "tol")
    begin, end = check_range(tau_range)
    C = check_C(C)
    if is_dask(X, y, sample_weight):
        path: RegressionPath = jobs_for(method, kernel).regression_path(
            X, y, sample_weight, C, intercept, (begin, end), tol, telling(progress, "nodes", "τ")
        )
        return path
    X = check_features(X, single=method != "exact")
    if choose_method(method, kernel, X.shape[0]) == "approximate":
        tell = telling(progress, "nodes", "τ")
        return _approximate_path(X, y, sample_weight, C, intercept, (begin, end), tol, tell)
    data = Responses(X, y, kernel, gamma, degree, coef0, intercept, sample_weight, cache_size)
    resting = data.rest(begin, end) is not None
    tell = telling(progress, "kinks", "τ")
    walked = [] if resting else data.walk(C, begin, end, tell, together)
    return data.path(C, data.unit, begin, end, walked)


def _approximate_path(
    X: Any,
    y: Any,
    sample_weight: Any,
    C: float,
    intercept: Any,
    walked: tuple[float, float],
    tol: float,
    progress: Tell | None,
) -> ApproximateRegressionPath:
    targets = check_targets(y, X.shape[0])
    weight = check_weight(sample_weight, len(targets))
    samples, chords = approximate_stretch(
        X,
        np.ones(len(targets)),
        targets,
        weight,
        Boxes.of_regression(C),
        intercept,
        walked,
        tol,
        progress,
    )
    line = quantile_regression(targets, weight, C)
    return ApproximateRegressionPath(samples, line, weight, [chords], C=C, tol=tol)


class Responses:
    """The arguments of a path of regressions, checked, and the path on them.

    A path needs records of the lines that it is on: from walks, or from a file.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        kernel: Any,
        gamma: Any,
        degree: Any,
        coef0: Any,
        intercept: Any,
        sample_weight: Any,
        cache_size: Any,
    ) -> None:
        features = check_features(X)
        self.targets = check_targets(y, features.shape[0])
        self.weight = check_weight(sample_weight, len(self.targets))
        self.unit = _unit(self.targets, self.weight)
        sign = np.ones(len(self.targets))
        self.samples = make_samples(
            features, sign, self.targets, intercept, kernel, gamma, degree, coef0, cache_size
        )

    def line(self, C: float, unit: float, turned: bool) -> Line:
        """Return the line from τ = 0 of -θ (turned) or from τ = 1 of θ, in units of y.

        From either end of the path to its middle: at the ends boxes begin at zero. Raising the
        targets costs Σ (θ_i - l_i) δ, and raising those of -θ costs Σ (h_i - θ_i) δ: each vanishes
        with the objective at its own end.
        """
        aim = -self.targets / unit if turned else self.targets / unit
        return quantile_regression_from_an_end(aim, self.weight, C / unit)

    def walk(
        self, C: float, begin: float, end: float, progress: Tell | None, together: bool
    ) -> list[tuple[bool, float, Record]]:
        """Return what walks from either end to the middle recorded, as `path` takes it."""
        rows, order = self.samples.rows_to_walk()
        others = rows.sharing() if together else None
        strength = C / self.unit * float(self.weight.max()) * float(rows.squared_norms().max())
        rise = RAISE / min(max(strength, 1.0), 1.0 / LEAST_RAISE)
        ways = {True: (begin, min(end, 0.5)), False: (1.0 - end, min(1.0 - begin, 0.5))}
        ways = {turned: way for turned, way in ways.items() if way[0] < way[1]}
        together = len(ways) == 2 and others is not None
        report = progress_of_two(progress, (0.5, 0.5))

        def walk(turned: bool, rows: Rows, meeting: Meeting | None) -> tuple[bool, float, Record]:
            line = self.line(C, self.unit, turned)
            own = report(not turned) if together else _part_of(progress, turned, begin, end, walked)
            return turned, *_walk(rows, line, *ways[turned], order, own, rise, meeting)

        walked: list[tuple[bool, float, Record]] = []
        if together:
            from_both = (lambda at: walk(True, rows, at), lambda at: walk(False, others, at))
            return walk_together(from_both)
        for turned in ways:
            walked.append(walk(turned, rows, None))
        return walked

    def path(
        self,
        C: float,
        unit: float,
        begin: float,
        end: float,
        walked: Sequence[tuple[bool, float, Record]],
    ) -> RegressionPath:
        """Return the path of records, each with its end and with what targets were raised by."""
        line = quantile_regression(self.targets, self.weight, C)
        still = self.rest(begin, end)
        if still is not None:
            return RegressionPath(self.samples, line, self.weight, [still], C=C)
        stretches = []
        for turned, rise, record in walked:
            own = self.line(C, unit, turned)
            stretches.append(
                Stretch(
                    self.samples,
                    own.raised(rise),
                    record,
                    backward=not turned,
                    turned=turned,
                    unit=unit,
                    rise=rise,
                    true_target=own.target0,
                )
            )
        return RegressionPath(self.samples, line, self.weight, stretches, C=C)

    def rest(self, begin: float, end: float) -> Rest | None:
        """Return the stretch if a constant without cost passes through all y, else None."""
        present = self.targets[self.weight > 0.0]
        value = float(present[0])
        if (present != value).any() or (value != 0.0 and not self.samples.constant.free):
            return None
        above, below = self.targets > value, self.targets < value
        status = np.where(above, UPPER, np.where(below, LOWER, FREE)).astype(np.int8)
        return Rest(begin, end, status, *self.samples.constant_function(value))


def _walk(
    rows: Rows,
    line: Line,
    first: float,
    last: float,
    order: np.ndarray | None,
    progress: Tell | None,
    rise: float,
    meeting: Meeting | None,
) -> tuple[float, Record]:
    """Return what targets were raised by, and what was recorded then."""
    while True:
        try:
            raised, met = line.raised(rise), meeting.reached if meeting else None
            return rise, solve_path(rows, raised, first, last, order, progress, met)
        except WalkFailed:
            if rise >= RAISE:
                raise
            rise = min(RAISE_MORE * rise, RAISE)


def _unit(y: np.ndarray, weight: np.ndarray) -> float:
    """Return the scale on which y varies."""
    present = y[weight > 0.0]
    spread = float(np.abs(present - np.median(present)).mean())
    return max(spread, LEAST_UNIT * float(np.abs(present).max()))


def _part_of(
    progress: Tell | None,
    turned: bool,
    begin: float,
    end: float,
    walked: Sequence[tuple[bool, float, Record]],
) -> Tell | None:
    """Return what to call on the one or the other half of the way."""
    if progress is None:
        return None
    whole = progress
    before = sum(record.counters["kinks"] for _, _, record in walked)
    middle = min(max(0.5, begin), end)
    done = 0.0 if turned else (middle - begin) / (end - begin)
    share = ((middle - begin) if turned else (end - middle)) / (end - begin)

    def report(fraction: float, n_events: int, t: float | None) -> None:
        at = t if turned or t is None else 1.0 - t
        whole(done + share * fraction, before + n_events, at)

    return report
