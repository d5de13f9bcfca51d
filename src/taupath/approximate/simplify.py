"""The fewest nodes of a path that keep its duality gap within a tolerance everywhere."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath._core._margins import block_size, inner
from taupath.approximate.gap_bound import Boxes, GapBound, PrimalDualPoint, SampleLosses
from taupath.approximate.interpolation import between, chord_at
from taupath.approximate.path import ApproximatePath, ByNodes
from taupath.approximate.rounding import Rounding, summation_depth
from taupath.engine.status import FREE
from taupath.paths.certificate import measure
from taupath.paths.jobs import ClassificationPath, RegressionPath, RegularizationPath
from taupath.paths.path import SolutionPath
from taupath.paths.training_data import KernelSamples, LinearSamples, Samples, Solution
from taupath.paths.walked import Sweep
from taupath.validation import check_positive

__all__ = [
    "Simplified",
    "SimplifiedClassificationPath",
    "SimplifiedRegressionPath",
    "SimplifiedRegularizationPath",
    "fewest_nodes",
    "simplified",
    "simplify",
]

# A chord is not made longer by less than one part in so many.
AS_LONG_AS_CAN_BE = 32
# Part of the largest parameter that is further from a kink than its rounding, and next to nothing.
BESIDE = 4e-15


class Thinned:
    """Chords between some of the kinks of a path.

    Solutions at these are what they are on that path, whose record is kept for them.
    """

    def __init__(self, source: SolutionPath, nodes: np.ndarray) -> None:
        self.source, self.kinks = source, nodes
        self.nodes = nodes
        self.counters = source.counters
        self._lasting: dict[float, Solution] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of the record of the path itself."""
        return self.source.nbytes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lasting": {}}

    def at(self, node: float) -> Solution:
        """Return the solution at a node, its θ within their boxes; the last two are kept."""
        kept = self._lasting
        if node not in kept:
            status, theta, w, multiplier = self.source._solution(node)
            alpha = self.source._to_alpha(status, theta, node)
            found = status, self.source._to_theta(alpha, node), w, multiplier
            self._lasting = dict([*kept.items(), (node, found)][-2:])
            return found
        return kept[node]

    def solution(self, value: float) -> Solution:
        """Return the point on its chord."""
        k, s = chord_at(self.nodes, value)
        if s == 0.0 or s == 1.0:
            return self.at(float(self.nodes[k + (s == 1.0)]))
        begin, end = self.at(float(self.nodes[k])), self.at(float(self.nodes[k + 1]))
        status = np.where(begin[0] == end[0], begin[0], FREE).astype(np.int8)
        return (
            status,
            between(begin[1], end[1], s),
            between(begin[2], end[2], s),
            (1.0 - s) * begin[3] + s * end[3],
        )

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the solutions at the nodes first, ..., last - 1."""
        found = [self.at(float(node)) for node in self.nodes[first:last]]
        theta = np.array([theta for _, theta, _, _ in found]) if with_theta else None
        multiplier = np.array([multiplier for _, _, _, multiplier in found])
        return np.array([w for _, _, w, _ in found]), theta, multiplier


class Simplified(ApproximatePath):
    """Some of the kinks of an exact path, made by its `simplify`.

    `counters` are those of that path.
    """

    _stretches: list[Thinned]  # type: ignore[assignment]  # nodes in place of walks

    def __init__(self, source: SolutionPath, nodes: np.ndarray, tol: float) -> None:
        # what the source knows of its job
        self.__dict__.update(source.__getstate__())
        self._stretches = [Thinned(source, nodes)]
        self.taus, self.tol = nodes, tol
        self.taus.flags.writeable = False

    @property
    def nbytes(self) -> int:
        """Bytes of the nodes and of the record of the path itself."""
        return self.taus.nbytes + self._stretches[0].nbytes

    def _continuum(self) -> GapBound:
        return _continuum_of(self)

    def _end(self, k: int) -> tuple[PrimalDualPoint, float]:
        value = float(self.taus[k])
        solution = self._stretches[0].at(value)
        t = self._to_t(value)
        end = _end_of(self._samples, solution, self._line.target0, t)
        off = self._samples._imbalance(solution[1], self._line, t)
        found = measure(solution[1], end.margin, self._line, t, 0.0, 0.0, off, 1.0)
        return end, found.kkt * (float(np.abs(self._line.target0).max()) or 1.0)


class SimplifiedClassificationPath(Simplified, ClassificationPath):
    """Part of a `ClassificationPath`, made by its `simplify`."""


class SimplifiedRegressionPath(Simplified, RegressionPath):
    """Part of a `RegressionPath`, made by its `simplify`."""


class SimplifiedRegularizationPath(Simplified, RegularizationPath):
    """Part of a `RegularizationPath`, made by its `simplify`.

    Gaps are in units of the objective at w = 0 and C_max.
    """

    def _from_t(self, t: float) -> float:
        return t * float(self.taus[-1])


def simplify(path: SolutionPath, tol: float) -> SolutionPath:
    """Return a path through few of the nodes of `path` whose gaps are at most `tol`.

    See `SolutionPath.simplify`.
    """
    tol = check_positive(tol, "tol")
    if isinstance(path, ApproximatePath):
        if tol < path.tol:
            raise ValueError(
                f"tol={tol!r} is less than the {path.tol:g} that this path was made with: "
                "make another path, or simplify the exact one"
            )
        continuum = path._continuum()
        kept = fewest_nodes(path.taus, lambda k: path._end(k)[0], continuum, tol)
        if isinstance(path, ByNodes):
            return path.take(kept, tol)
        assert isinstance(path, Simplified)
        return type(path)(path._stretches[0].source, path.taus[kept], tol)
    continuum = _continuum_of(path)
    if tol < continuum.smallest_tol():
        raise ValueError(
            f"tol={tol!r} is less than what doubles can certify for these data: the least is "
            f"{continuum.smallest_tol():.2g}"
        )
    if isinstance(path._samples, KernelSamples) and path._samples.indefinite:
        raise ValueError("the kernel is indefinite: gaps between nodes have no bound")
    whole = Thinned(path, path.taus)

    def fewest(nodes: np.ndarray) -> np.ndarray:
        def end(k: int) -> PrimalDualPoint:
            value = float(nodes[k])
            return _end_of(path._samples, whole.at(value), path._line.target0, path._to_t(value))

        return np.asarray(nodes[fewest_nodes(nodes, end, continuum, tol)])

    try:
        nodes = fewest(path.taus)
    except ValueError:
        if not path._samples.constant.free:
            raise
        nodes = fewest(_with_jumps(path.taus))
    return simplified(path, nodes, tol)


def _with_jumps(kinks: np.ndarray) -> np.ndarray:
    """Return the kinks and places on both sides of each: a free intercept may jump at a kink.

    On its way from the one side to the other it is optimal all along.
    """
    aside = BESIDE * kinks[-1]
    far = np.diff(kinks) > 4.0 * aside
    return np.sort(np.concatenate((kinks, kinks[1:][far] - aside, kinks[:-1][far] + aside)))


def simplified(path: SolutionPath, nodes: np.ndarray, tol: float) -> "Simplified":
    """Return the path through these nodes of an exact one, known to keep its gaps within `tol`."""
    if isinstance(path, ClassificationPath):
        return SimplifiedClassificationPath(path, nodes, tol)
    if isinstance(path, RegularizationPath):
        return SimplifiedRegularizationPath(path, nodes, tol)
    return SimplifiedRegressionPath(path, nodes, tol)


def fewest_nodes(
    nodes: np.ndarray, end: Callable[[int], PrimalDualPoint], continuum: GapBound, tol: float
) -> np.ndarray:
    """Return which nodes to keep: from each, the chord goes as far as its bound allows.

    Parameters
    ----------
    nodes : ndarray
        Where the nodes are, increasing.
    end : callable
        Returns a node by its number.
    continuum : GapBound
        Bounds gaps along chords.
    tol : float
        What no gap may exceed, in units of P(0).
    """
    last = len(nodes) - 1
    kept, step = [0], float(nodes[-1] - nodes[0])
    begin = end(0)
    while kept[-1] < last:
        first = kept[-1]
        good, good_end, bad = first, begin, last + 1
        guess = int(np.searchsorted(nodes, nodes[first] + step, side="right")) - 1
        while bad - good > 1 + (good - first) // AS_LONG_AS_CAN_BE:
            k = int(np.clip(guess, good + 1, bad - 1))
            there = end(k)
            bound, _ = continuum.bound(begin, there)
            if bound <= tol:
                good, good_end = k, there
                if k == last:
                    break
            else:
                bad = k
            # the gap grows with the square of the length of a chord
            step = float(nodes[k] - nodes[first]) * float(
                np.clip(np.sqrt(tol / max(bound, 1e-3 * tol)), 0.1, 4.0)
            )
            guess = int(np.searchsorted(nodes, nodes[first] + step, side="right")) - 1
            if bad <= last and not good < guess < bad:
                guess = (good + bad) // 2
        if (
            good == first
        ):  # exact solutions at neighbouring kinks: rounding is in the way, or a jump
            raise ValueError(
                f"tol={tol:g} is less than the gap of the path itself at {nodes[first]!r}"
            )
        kept.append(good)
        begin, step = good_end, float(nodes[good] - nodes[first])
    return np.array(kept)


def _continuum_of(path: SolutionPath) -> GapBound:
    """Return what bounds the gaps of a path."""
    samples, line = path._samples, path._line
    if isinstance(path, ClassificationPath):
        boxes, weight, unit_t = Boxes.of_classification(path.C), path._weight, 0.5
    elif isinstance(path, RegularizationPath):
        C_max = float(path.taus[-1])
        boxes, weight, unit_t = Boxes.of_regularization(path.tau, C_max), path._weight, 1.0
    else:
        assert isinstance(path, RegressionPath)
        boxes, weight, unit_t = Boxes.of_regression(path.C), line.upper1 / path.C, 0.5
    n, d = samples.shape
    by_kernel = isinstance(samples, KernelSamples)
    if isinstance(samples, KernelSamples):
        squares = samples.diagonal
    else:
        squares = samples.norms(samples.X) ** 2
    norms = np.sqrt(np.maximum(squares, 0.0) + samples.constant.bias**2)
    columns = n if by_kernel else d + 1
    rounding = Rounding(
        dot_depth=columns,
        sum_depth=n,  # in whatever order
        loss_depth=summation_depth(n, block_size),
        n_cols=columns,
        norm_sum=float(weight @ norms),
        target_sum=float(weight @ np.abs(line.target0)),
        weight_sum=float(weight.sum()),
        largest_norm=float(norms.max()),
        largest_target=float(np.abs(line.target0).max()),
    )
    losses = SampleLosses(line.target0, weight, samples.sign.astype(np.int8))
    return GapBound(rounding, losses, boxes, samples.constant.free, unit_t)


def _end_of(samples: Samples, solution: Solution, target: np.ndarray, t: float) -> PrimalDualPoint:
    """Return a solution as the end of chords, from the data."""
    _, theta, w, _ = solution
    signed = samples.sign * theta
    bias, free = samples.constant.bias, samples.constant.free
    aim = inner(target, theta)
    if isinstance(samples, KernelSamples):
        values = samples._times(signed)
        margin = samples.sign * (values + samples.intercept(solution))
        rest = 0.0 if free else bias * float(signed.sum())
        pair = np.append(signed, rest), np.append(values, rest)
        return PrimalDualPoint(t, margin, aim, pair, pair)
    assert isinstance(samples, LinearSamples)
    margin = samples.sign * samples.decide(samples.X, solution)
    v = samples.X.T @ signed
    if free:
        w = w[:-1]
    elif bias:
        v = np.append(v, bias * signed.sum())
    return PrimalDualPoint(t, margin, aim, (w, w), (v, v))
