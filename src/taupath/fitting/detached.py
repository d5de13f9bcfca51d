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
from taupath.paths.training_data import TrainingData
from taupath.paths.walked import Walked
from taupath.validation import check_features

NEEDED = (
    "this needs the training data, which the path was stored without: give them to "
    "path.attach(X, y) or path.certify(X, y), or store the path with data=True"
)


class FunctionsOnly(ByFunctions):
    """Decision functions of an approximate or a simplified path with the linear kernel.

    They predict as they did with the training data; all else needs `attach`. `stated` is the stored
    certificate. `smoothings` make θ from w and the data; a path that was simplified from an exact
    one has none.
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
        """Bytes of the functions and the smoothings."""
        return super().nbytes + sum(8 + each.centre.nbytes for each in self.smoothings or ())

    def _refuse(self, *given: Any, **named: Any) -> Any:
        """Raise an error: this needs training data."""
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
        if constant.bias:  # that of a free intercept depends on X
            w[:, -1] *= self.data.constant.bias / constant.bias
        responses = self.job.responses(y, X.shape[0], sample_weight)
        if self.smoothings is not None:
            return self._at_nodes(StoredData(X, responses, constant), w, self.smoothings)
        source = WALK[self.job.kind](self.job, TrainingData(X, responses, constant), self.range)
        return AtKinks(source, self.kinks, self.tol, w)

    def _at_nodes(self, data: StoredData, w: np.ndarray, smoothings: list[Smoothing]) -> AtNodes:
        """Return the nodes whose θ are made from w and these data."""
        row_sums = data.row_sums()
        summary = row_sums.summary()
        gap_bound = gap_bound_on(self.job, data, summary)
        nodes = []
        for tau, w_k, smoothing in zip(self.kinks.tolist(), w, smoothings, strict=True):
            node = Node(tau, w_k, smoothing, 0.0, np.ones(2))
            if data.constant.free:  # θ must be balanced on these very data to bound the gap
                iterate = Iterate(w_k, row_sums.rows.products(w_k))
                sums = row_sums.update(iterate.margin, smoothing, afresh=True)
                node = DualPoint(summary, gap_bound, sums).evaluate(tau, iterate, smoothing).node
            nodes.append(node)
        functions = NodeList(nodes, data.constant.bias)
        return AtNodes(self.job, data, functions, self.counters, self.tol, gap_bound)


# How the exact solutions of each job are found again.
WALK: dict[str, Callable[[Any, TrainingData, tuple[float, float]], Walked]] = {
    QuantileClassification.kind: walk_classification,
    Regularization.kind: lambda job, data, _: walk_regularization(job, data),
    QuantileRegression.kind: walk_regression,
}
