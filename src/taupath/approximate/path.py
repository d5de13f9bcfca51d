"""Paths whose solutions are not exact but certified, for every value of the parameter."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.interpolation import Chords, Lines
from taupath.paths.certificate import Certificate, Measure
from taupath.paths.jobs import ClassificationPath, RegressionPath
from taupath.paths.path import SolutionPath
from taupath.paths.training_data import Solution

__all__ = [
    "ApproximateClassificationPath",
    "ApproximatePath",
    "ApproximateRegressionPath",
    "ByFunctions",
    "ByNodes",
]


class ApproximatePath(SolutionPath):
    """Solutions at nodes; between two of them, w and α are interpolated linearly.

    Gaps are measured in units of the objective at w = 0 and τ = ½, where that of every solution is
    at most twice as much.

    Attributes
    ----------
    method : str
        "approximate".
    tol : float
        What no gap exceeds.
    taus : ndarray
        The nodes.
    counters : dict
        What it took to find them: ``nodes``, ``newton_steps``, ``row_visits`` (rows multiplied or
        added, in all), ``halved`` (chords that were found to be too long).
    """

    method = "approximate"
    tol: float
    # what `certify` has found last
    _certified: Certificate | None = None

    def __repr__(self) -> str:
        n, d = self._samples.shape
        begin, end = self.tau_range
        return (
            f"<{type(self).__name__} of {n} samples and {d} features, {self._settings()}: "
            f"{self.n_kinks} nodes over {self._symbol} in [{begin:g}, {end:g}], "
            f"gaps within {self.tol:g}>"
        )

    def _continuum(self) -> GapBound:
        raise NotImplementedError

    def _end(self, k: int) -> tuple[PrimalDualPoint, float]:
        """Return node k as the end of chords, from the data, and its violation of a condition."""
        raise NotImplementedError

    def duality_gap(self, tau: float) -> float:
        """Return primal minus dual objective at τ, from the data.

        As part of the objective at w = 0 and τ = ½.
        """
        found = self._measure(self._check(tau))
        return (found.primal - found.dual) / self._continuum().unit

    def certify(self, max_points: int | None = None) -> Certificate:
        """Bound the gap of every solution of the path, from the data.

        Along a chord the gap is a quadratic, apart from samples that pass the margin, and these
        are bounded from above: the result holds for all τ, not only for some that were looked at.
        It includes what rounding can do.

        Parameters
        ----------
        max_points : int or None
            Not used: all nodes and all chords are looked at.

        Returns
        -------
        Certificate
            `worst_gap` bounds the gaps at all τ, in units of the objective at w = 0 and τ = ½;
            `worst_kkt` is the largest violation at a node.
        """
        continuum = self._continuum()
        begin, kkt = self._end(0)
        worst, worst_kkt = (-np.inf, 0.0), (kkt, float(self.taus[0]))
        for k in range(1, len(self.taus)):
            end, kkt = self._end(k)
            worst = max(worst, continuum.bound(begin, end))
            worst_kkt = max(worst_kkt, (kkt, float(self.taus[k])))
            begin = end
        scale = continuum.rounding.largest_target or 1.0
        self._certified = Certificate(
            worst_gap=worst[0],
            tau_gap=float(self._from_t(worst[1])),
            worst_kkt=worst_kkt[0] / scale,
            tau_kkt=worst_kkt[1],
            n_checked=len(self.taus),
            complete=True,
            continuum=True,
            tol=self.tol,
        )
        return self._certified

    def _from_t(self, t: float) -> float:
        return t


class ByFunctions(ApproximatePath):
    """Decision functions that are read off w at nodes."""

    _stretches: Sequence[Lines]  # type: ignore[assignment]  # lines in place of walks

    def _function(self, value: float) -> Solution:
        w = self._stretches[0].weights(value)
        none = np.empty(0)
        return none, none, w, 0.0


class ByNodes(ByFunctions):
    """Nodes that were solved for; θ is made from w."""

    _stretches: Sequence[Chords]

    def _continuum(self) -> GapBound:
        return self._stretches[0].continuum

    def _end(self, k: int) -> tuple[PrimalDualPoint, float]:
        return self._stretches[0].end(k)

    def take(self, kept: np.ndarray, tol: float) -> "ByNodes":
        """Return the path through these nodes, whose gaps have been found to be within `tol`."""
        other = copy.copy(self)
        other._certified = None
        other._stretches = [self._stretches[0].take(kept)]
        other.taus, other.tol = self.taus[kept], tol
        other.taus.flags.writeable = False
        return other

    def _measure(self, value: float) -> Measure:
        # θ at the ends of its box is so exactly, and stays so
        solution = self._solution(value)
        return self._samples.measure(solution, self._line, self._to_t(value))


class ApproximateClassificationPath(ByNodes, ClassificationPath):
    """The asymmetric-cost SVM for every τ, made by `quantile_path` with method="approximate"."""

    def __init__(self, *args: Any, C: float, tol: float) -> None:
        super().__init__(*args, C=C)
        self.tol = tol


class ApproximateRegressionPath(ByNodes, RegressionPath):
    """Quantile regression for every τ, made by `quantile_regression_path` likewise."""

    def __init__(self, *args: Any, C: float, tol: float) -> None:
        super().__init__(*args, C=C)
        self.tol = tol
