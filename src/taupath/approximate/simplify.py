"""The fewest nodes of a path that keep its duality gap within a tolerance everywhere."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath._core._margins import block_size, inner
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint, SampleLosses
from taupath.approximate.interpolation import interpolate, interval_of
from taupath.approximate.node_search import check_tol
from taupath.approximate.rounding import Rounding, summation_depth
from taupath.approximate.solutions import Certified
from taupath.engine.node_blocks import travel_of
from taupath.engine.readers import made_once
from taupath.engine.record import Solution
from taupath.engine.status import FREE
from taupath.paths.certificate import Measure, relative_violation
from taupath.paths.jobs import Job
from taupath.paths.path import SolutionPath
from taupath.paths.training_data import Sweep, TrainingData
from taupath.paths.walked import Walked
from taupath.validation import check_positive

# The search for the longest interval stops within one part in so many: the last nodes that it could
# save are not worth the bounds it would take.
LONG_ENOUGH = 32
# Distance from a kink, relative to the largest parameter, at which a jump is over: more than the
# rounding of the kink, and less than anybody can see.
BESIDE = 4e-15


class AtKinks(Certified):
    """Solutions at some kinks of an exact path, computed from its record `source`.

    `w` are the primal points, if they were stored.
    """

    def __init__(
        self, source: Walked, kinks: np.ndarray, tol: float, w: np.ndarray | None = None
    ) -> None:
        super().__init__(source.job, source.data, kinks, source.counters)
        self.source, self.tol, self._w = source, tol, w
        self._latest: dict[float, Solution] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "gap_bound"}
        return {**state, "_latest": {}}

    @property
    def nbytes(self) -> int:
        """Bytes of the nodes and of the record of the exact path."""
        return self.kinks.nbytes + self.source.nbytes

    @made_once
    def gap_bound(self) -> GapBound:
        """The bound on gaps between nodes."""
        return gap_bound_with_kernel(self.job, self.data)

    def take(self, kept: np.ndarray, tol: float) -> "AtKinks":
        """Return the solutions at some of the nodes."""
        w = None if self._w is None else self._w[kept]
        return AtKinks(self.source, self.kinks[kept], tol, w)

    def at(self, k: int) -> Solution:
        """Return the solution at a node, its θ within their boxes; the last two are kept."""
        value, latest = float(self.kinks[k]), self._latest
        if value in latest:
            return latest[value]
        found = self.job.in_boxes(self.data, self.source.solution(value), value)
        if self._w is not None:
            found = found._replace(w=self._w[k])
        self._latest = dict([*latest.items(), (value, found)][-2:])
        return found

    def solution(self, value: float) -> Solution:
        """Return the solution between its two nodes."""
        k, s = interval_of(self.kinks, value)
        if s == 0.0 or s == 1.0:
            return self.at(k + (s == 1.0))
        begin, end = self.at(k), self.at(k + 1)
        return Solution(
            np.where(begin.status == end.status, begin.status, FREE).astype(np.int8),
            interpolate(begin.theta, end.theta, s),
            interpolate(begin.w, end.w, s),
            (1.0 - s) * begin.multiplier + s * end.multiplier,
        )

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the solutions at the nodes first, ..., last - 1."""
        found = [self.at(k) for k in range(first, last)]
        multiplier = np.array([each.multiplier for each in found])
        if not with_theta:
            w = np.array([each.w for each in found])
            return Sweep(w, None, multiplier, travel_of(w, self.data.constant.bias))
        theta = np.array([each.theta for each in found])
        travel = [self.data.distance(change) for change in np.diff(theta, axis=0)]
        return Sweep(None, self.data.merge_theta(theta), multiplier, np.array(travel))

    def measure(self, value: float) -> Measure:
        """Measure the solution from the data."""
        solution = self.job.in_boxes(self.data, self.solution(value), value)
        found = self.data.measure(solution, self.source.line, self.job.to_t(value))
        return self.in_units(found)

    def end(self, k: int) -> tuple[PrimalDualPoint, float]:
        """Return node k as the end of an interval, from the data, and its largest violation."""
        line, t, solution = self.source.line, self.job.to_t(float(self.kinks[k])), self.at(k)
        points = self.data.points(solution)
        end = PrimalDualPoint(
            t, points.margin, inner(self.data.target, solution.theta), points.w, points.v
        )
        off = self.data.imbalance(solution.theta, line, t)
        violation = relative_violation(solution.theta, end.margin, line, t, off)
        return end, violation * (float(np.abs(self.data.target).max()) or 1.0)


def simplify(path: SolutionPath, tol: float) -> SolutionPath:
    """Return a path through few of the nodes of `path` whose gaps are at most `tol`.

    See `SolutionPath.simplify`.
    """
    tol, solutions = check_positive(tol, "tol"), path.solutions
    if solutions.data.extra is not None:
        raise ValueError("a path with l1 or constraints cannot be simplified")
    return SolutionPath(SIMPLIFY[solutions.method](solutions, tol))


def _simplify_approximate(solutions: Certified, tol: float) -> Certified:
    if tol < solutions.tol:
        raise ValueError(
            f"tol={tol!r} is less than the {solutions.tol:g} that this path was made with: "
            "make another path, or simplify the exact one"
        )
    return _fewest(solutions, tol)


def _simplify_exact(source: Walked, tol: float) -> Certified:
    every = AtKinks(source, source.kinks, tol)
    check_tol(tol, every.gap_bound, exact=False)
    if source.data.indefinite:
        raise ValueError("the kernel is indefinite: gaps between nodes have no bound")
    try:
        return _fewest(every, tol)
    except ValueError:
        if not source.data.constant.free:
            raise
        return _fewest(AtKinks(source, _with_jumps(source.kinks), tol), tol)


def _fewest(solutions: Certified, tol: float) -> Certified:
    with solutions.session():
        kept = fewest_nodes(solutions.kinks, solutions.end, solutions.gap_bound, tol)
    return solutions.take(kept, tol)


SIMPLIFY: dict[str, Callable[[Any, float], Certified]] = {
    "exact": _simplify_exact,
    "approximate": _simplify_approximate,
}


def _with_jumps(kinks: np.ndarray) -> np.ndarray:
    """Return the kinks and points on both sides of each: a free intercept may jump at a kink.

    At the kink, every intercept between the two sides is optimal.
    """
    aside = BESIDE * kinks[-1]
    far = np.diff(kinks) > 4.0 * aside
    return np.sort(np.concatenate((kinks, kinks[1:][far] - aside, kinks[:-1][far] + aside)))


def fewest_nodes(
    nodes: np.ndarray,
    end: Callable[[int], tuple[PrimalDualPoint, float]],
    gap_bound: GapBound,
    tol: float,
) -> np.ndarray:
    """Return which nodes to keep: from each, the next is as far as the bound allows.

    ``end(k)`` returns node k and its largest violation; `tol` is in units of P(0).
    """
    last = len(nodes) - 1
    kept, step = [0], float(nodes[-1] - nodes[0])
    begin, _ = end(0)
    while kept[-1] < last:
        first = kept[-1]
        good, good_end, bad = first, begin, last + 1
        guess = int(np.searchsorted(nodes, nodes[first] + step, side="right")) - 1
        while bad - good > 1 + (good - first) // LONG_ENOUGH:
            k = int(np.clip(guess, good + 1, bad - 1))
            there, _ = end(k)
            bound, _ = gap_bound.bound(begin, there)
            if bound <= tol:
                good, good_end = k, there
                if k == last:
                    break
            else:
                bad = k
            # the gap grows with the square of the length of the interval
            step = float(nodes[k] - nodes[first]) * float(
                np.clip(np.sqrt(tol / max(bound, 1e-3 * tol)), 0.1, 4.0)
            )
            guess = int(np.searchsorted(nodes, nodes[first] + step, side="right")) - 1
            if bad <= last and not good < guess < bad:
                guess = (good + bad) // 2
        if good == first:  # even neighbours exceed tol: because of rounding, or a jump
            raise ValueError(
                f"tol={tol:g} is less than the gap of the path itself at {nodes[first]!r}"
            )
        kept.append(good)
        begin, step = good_end, float(nodes[good] - nodes[first])
    return np.array(kept)


def gap_bound_with_kernel(job: Job, data: TrainingData) -> GapBound:
    """Return the bound on the gaps of a job on these data, with any kernel."""
    n, d = data.shape
    columns = d + 1 if data.kernel is None else n
    norms = np.sqrt(np.maximum(data.squared_norms(), 0.0) + data.constant.bias**2)
    rounding = Rounding(
        dot_depth=columns,
        sum_depth=n,  # in any order
        loss_depth=summation_depth(n, block_size),
        n_cols=columns,
        norm_sum=float(data.weight @ norms),
        target_sum=float(data.weight @ np.abs(data.target)),
        weight_sum=float(data.weight.sum()),
        largest_norm=float(norms.max()),
        largest_target=float(np.abs(data.target).max()),
    )
    losses = SampleLosses(data.target, data.weight, data.sign.astype(np.int8))
    return GapBound(rounding, losses, job.boxes, data.constant.free, job.unit_at)
