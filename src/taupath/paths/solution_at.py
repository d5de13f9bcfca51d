"""The solution at one value of a path's parameter, with its own training samples."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from taupath.engine.readers import made_once
from taupath.engine.record import Solution
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.paths.certificate import Certificate, Measure, worst_of
from taupath.paths.jobs import Job
from taupath.paths.training_data import TrainingData


class SolutionAt:
    """The solution at one τ, or at one C of a path over C, after samples have left or joined.

    Returned by `SolutionPath.without` and `SolutionPath.with_rows`. Its samples are those that are
    left, in the order of the path, then the new ones.

    Attributes
    ----------
    tau : float
        The value of the path's parameter.
    n_samples : int
        Number of samples of this solution.
    """

    def __init__(
        self, job: Job, data: TrainingData, solution: Solution, value: float, least: float
    ) -> None:
        self.tau, self.n_samples = value, data.shape[0]
        self._job, self._data, self._solution, self._least = job, data, solution, least

    def __repr__(self) -> str:
        job = self._job
        return (
            f"<SolutionAt {job.symbol} = {self.tau:g} of {job.kind}, {self.n_samples} samples, "
            f"{job.settings}>"
        )

    @property
    def coef(self) -> np.ndarray:
        """The weights of the features, shape (n_features,), for the linear kernel."""
        return self._data.coef(self._solution)

    @property
    def intercept(self) -> float:
        """The intercept."""
        return self._data.intercept(self._solution)

    @property
    def alpha(self) -> np.ndarray:
        """The dual solution, shape (n_samples,), in the scale of `SolutionPath.alpha`.

        For classification 0 ≤ α_i ≤ c_i(τ), with this number of samples.
        """
        return self._job.alpha(self._data, self._solution, self.tau)

    @property
    def index_sets(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """L, M, R: samples in error, on the margin, and well classified."""
        status = self._solution.status
        upper, free, lower = (np.flatnonzero(status == one) for one in (UPPER, FREE, LOWER))
        return upper, free, lower

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x): x is classified as positive where it is ≥ 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel with the samples of this solution.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._data.decide(self._data.check_new(X), self._solution)

    @property
    def duality_gap(self) -> float:
        """Primal minus dual objective, relative, as `SolutionPath.duality_gap` has it."""
        return self._measured.gap

    @property
    def kkt_violation(self) -> float:
        """The largest violation of an optimality condition, as `SolutionPath.kkt_violation`."""
        return self._measured.kkt

    def certify(self) -> Certificate:
        """Return the gap and the violation as a certificate, computed from the samples alone."""
        return worst_of(np.array([self.tau]), [self._measured], True, True)

    @made_once
    def _measured(self) -> Measure:
        job, data = self._job, self._data
        solution = job.in_boxes(data, self._solution, self.tau)
        return data.measure(solution, job.line(data), job.to_t(self.tau), self._least)


def first_exact(candidates: Iterable[SolutionAt]) -> SolutionAt:
    """Return the first that is as exact as promised; if none is, the one with the least error."""
    best: SolutionAt | None = None
    for found in candidates:
        if found._measured.exact:
            return found
        if best is None or found._measured.error < best._measured.error:
            best = found
    assert best is not None
    return best
