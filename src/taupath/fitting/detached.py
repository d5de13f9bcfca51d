"""Solutions without training data: decision functions at nodes, and what was certified of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath.approximate.all_rows import Iterate
from taupath.approximate.dual_point import DualPoint
from taupath.approximate.interpolation import Interpolation, NodeList
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.simplify import AtKinks
from taupath.approximate.solutions import AtNodes, ByFunctions, Certified, gap_bound_on
from taupath.approximate.training_data import AbsentData, StoredData
from taupath.fitting.walks import walk_classification, walk_regression, walk_regularization
from taupath.paths.certificate import Certificate
from taupath.paths.intercept import make_intercept
from taupath.paths.jobs import Job, QuantileClassification, QuantileRegression, Regularization
from taupath.paths.training_data import (
    TrainingData,
)
from taupath.paths.walked import Walked
from taupath.validation import check_features

NEEDED = (
    "this path was stored without its training data, which this takes: give them to "
    "path.attach(X, y) or path.certify(X, y), or store the path with data=True"
)


class FunctionsOnly(ByFunctions):
    """Decision functions of an approximate or a simplified path with the linear kernel.

    They predict as they did with the training data. What is computed from these takes `attach`.

    `stated` is what was certified when there were data. `smoothings` make θ from w and data; there
    are none for a path that was simplified from an exact one.
    """

    stated: Certificate

    def __init__(
        self,
        job: Job,
        data: AbsentData,
        functions: Interpolation,
        counters: dict[str, int],
        tol: float,
        stated: Certificate,
        smoothings: list[Smoothing] | None,
    ) -> None:
        super().__init__(job, data, functions, counters, tol)
        self.stated, self.smoothings = stated, smoothings

    @property
    def nbytes(self) -> int:
        """Bytes of the nodes and of what is kept of them."""
        of_smoothings = sum(8 + each.centre.nbytes for each in self.smoothings or ())
        return super().nbytes + of_smoothings

    def _refuse(self, *given: Any, **named: Any) -> Any:
        """Refuse: this takes training data."""
        raise ValueError(NEEDED)

    solution = measure = session = end = take = _refuse
    gap_bound = property(_refuse)

    def attach(self, X: Any, y: Any, sample_weight: Any) -> Certified:
        """Return the same functions with their training data, and θ found from these."""
        X = check_features(X, single=self.smoothings is not None)
        if X.shape != self.data.shape:
            n, d = self.data.shape
            raise ValueError(
                f"the path was trained on {n} samples with {d} features, X has "
                f"{X.shape[0]} with {X.shape[1]}"
            )
        constant = make_intercept(self.data.constant.kind, X)
        w = self.functions.w.copy()
        if constant.bias:  # of a free intercept, it depends on X
            w[:, -1] *= self.data.constant.bias / constant.bias
        responses = self.job.responses(y, X.shape[0], sample_weight)
        if self.smoothings is not None:
            return self._at_nodes(StoredData(X, responses, constant), w, self.smoothings)
        source = WALK[self.job.kind](self.job, TrainingData(X, responses, constant), self.range)
        return AtKinks(source, self.kinks, self.tol, w)

    def _at_nodes(self, data: StoredData, w: np.ndarray, smoothings: list[Smoothing]) -> AtNodes:
        """Return the nodes whose θ are made from w and these data."""
        gap_bound, free, part = gap_bound_on(self.job, data), data.constant.free, data.row_sums()
        summary = part.summary()
        nodes = []
        for tau, w_k, smoothing in zip(self.kinks.tolist(), w, smoothings, strict=True):
            node = Node(tau, w_k, smoothing, 0.0, np.ones(2))
            if free:  # of these very data: θ that are not in balance bound nothing
                place = Iterate(w_k, part.rows.products(w_k))
                sums = part.update(place.margin, smoothing, afresh=True)
                node = DualPoint(summary, gap_bound, sums).evaluate(tau, place, smoothing).node
            nodes.append(node)
        node_list = NodeList(nodes, data.constant.bias)
        return AtNodes(self.job, data, node_list, self.counters, self.tol, gap_bound)


def _walk_over_C(job: Any, data: TrainingData, walked: tuple[float, float]) -> Walked:
    return walk_regularization(job, data)


# How the exact solutions of each job are found again.
WALK: dict[str, Callable[[Any, TrainingData, tuple[float, float]], Walked]] = {
    QuantileClassification.kind: walk_classification,
    Regularization.kind: _walk_over_C,
    QuantileRegression.kind: walk_regression,
}
