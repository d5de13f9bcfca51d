"""Approximate paths with a kernel, stored without the samples that no solution needs."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.approximate.array_libraries import Library
from taupath.approximate.kernel_solutions import AT_THE_BOUND, AtKernelNodes, KernelNodes
from taupath.approximate.solutions import Certified
from taupath.approximate.support_vectors import SupportVectors
from taupath.fitting.detached import NEEDED
from taupath.paths.certificate import Certificate
from taupath.paths.jobs import Job
from taupath.paths.kernel_data import MEGABYTE, KernelData
from taupath.paths.options import Options, make_training_data
from taupath.paths.training_data import TrainingData
from taupath.validation import check_features

# Σ sign_i θ_i counts as zero up to this part of Σ |θ_i|: rounding leaves less.
BALANCED = 1e-13
# Largest difference of a feature from that of the stored support vector, relative to the largest
# feature: reading and scaling a column again may round the last digits differently.
SAME_VALUE = 1e-12


class SupportOnly(AtKernelNodes):
    """Solutions at nodes of which only the support vectors are at hand.

    They predict as they did with the training data; all else needs `attach`. `stated` is the stored
    certificate.
    """

    data: SupportVectors
    stated: Certificate

    def __init__(
        self,
        job: Job,
        data: SupportVectors,
        kept: KernelNodes,
        counters: dict[str, int],
        tol: float,
        stated: Certificate,
    ) -> None:
        super().__init__(job, data, kept, counters, tol, Library(), np.inf)
        self.stated = stated

    def _refuse(self, *given: Any, **named: Any) -> Any:
        """Raise an error: this needs training data."""
        raise ValueError(NEEDED)

    solution = measure = session = end = take = _refuse
    matrix = gap_bound = property(_refuse)

    def attach(self, X: Any, y: Any, sample_weight: Any) -> Certified:
        """Return the same solutions with their training data."""
        X, known = check_features(X), self.data
        if X.shape != known.shape:
            n, d = known.shape
            raise ValueError(
                f"the path was trained on {n} samples with {d} features, X has "
                f"{X.shape[0]} with {X.shape[1]}"
            )
        if not known.kernel.precomputed:
            self._check_support(X)
        responses = self.job.responses(y, X.shape[0], sample_weight)
        kernel = known.kernel
        options = Options(
            kernel.function, kernel.gamma, kernel.degree, kernel.coef0, known.constant.kind
        )
        data = make_training_data(X, responses, options, known=True)
        # of all samples, then of the distinct ones
        theta, beta = (
            np.zeros((len(self.kinks), X.shape[0])) for _ in (self.kept.theta, self.kept.beta)
        )
        sign = known.sign * responses.sign[known.support]
        theta[:, known.support] = sign * self.kept.theta
        beta[:, known.support] = sign * self.kept.beta
        kept = replace(self.kept, theta=data.merge_theta(theta), beta=data.merge_theta(beta))
        budget = MEGABYTE * options.cache_size
        return with_kernel_data(self.job, data, kept, self.counters, self.tol, budget)

    def _check_support(self, X: Any) -> None:
        """Refuse samples that are not those whose kernel the functions consist of."""
        off = abs(X[self.data.support] - self.data.X)
        largest = float(abs(self.data.X).max()) if self.data.X.shape[0] else 0.0
        rows: Any = off.max(axis=1) if len(self.data.support) else np.zeros(0)
        rows = np.asarray(rows.todense() if sp.issparse(rows) else rows).ravel()
        wrong = np.flatnonzero(~(rows <= SAME_VALUE * largest))
        if len(wrong):
            raise ValueError(
                f"row {int(self.data.support[wrong[0]]) + 1} of X is not the support vector that "
                "the path was stored with: these are different data, or in a different order"
            )


def with_kernel_data(
    job: Job,
    data: TrainingData,
    kept: KernelNodes,
    counters: dict[str, int],
    tol: float,
    budget: float,
) -> AtKernelNodes:
    """Return solutions at nodes of these data; their θ are made feasible if they are not."""
    distinct = data.distinct
    assert isinstance(data, KernelData) and isinstance(distinct, KernelData)
    if distinct.indefinite:
        raise ValueError("the kernel is not positive semidefinite: gaps have no bound")
    data.own_intercept = distinct.own_intercept = True
    nodes = zip(kept.theta, kept.taus.tolist(), strict=True)
    theta = np.array([feasible(row, distinct, job, value) for row, value in nodes])
    kept = replace(kept, theta=theta)
    return AtKernelNodes(job, data, kept, counters, tol, Library(), budget)


def feasible(theta: np.ndarray, data: TrainingData, job: Job, value: float) -> np.ndarray:
    """Return θ within its boxes, balanced if the intercept is free; as it is if it is that.

    Without this, a gap would bound nothing. Zero is in every box, so that the signs that outweigh
    the others can be scaled down.
    """
    line, t = job.line(data), job.to_t(value)
    lower, upper = line.lower(t), line.upper(t)
    near = AT_THE_BOUND * np.maximum(np.abs(lower), np.abs(upper))
    if (theta < lower - near).any() or (theta > upper + near).any():
        theta = np.clip(theta, lower, upper)
    if not data.constant.free:
        return theta
    signed = data.sign * theta
    above, below = float(signed[signed > 0.0].sum()), -float(signed[signed < 0.0].sum())
    if abs(above - below) <= BALANCED * (above + below):
        return theta
    heavier = signed > 0.0 if above > below else signed < 0.0
    factor = min(above, below) / max(above, below)
    return np.where(heavier, factor * theta, theta)
