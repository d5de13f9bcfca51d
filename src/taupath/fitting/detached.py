"""Solutions without training data: decision functions at nodes, and what was certified of them."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from taupath.approximate.all_rows import Iterate
from taupath.approximate.dual_point import DualPoint
from taupath.approximate.gap_bound import GapBound
from taupath.approximate.interpolation import DualNodeList, Interpolation, NodeList
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.row_sums import RowSummary
from taupath.approximate.simplify import AtKinks
from taupath.approximate.solutions import AtNodes, ByFunctions, Certified, gap_bound_on
from taupath.approximate.training_data import AbsentData, StoredData
from taupath.fitting.walks import walk_classification, walk_regression, walk_regularization
from taupath.paths.certificate import Certificate
from taupath.paths.intercept import make_intercept
from taupath.paths.jobs import Job, QuantileClassification, QuantileRegression, Regularization
from taupath.paths.options import Options, make_training_data
from taupath.paths.training_data import Responses, TrainingData
from taupath.paths.walked import Walked
from taupath.validation import Checked, check_features

NEEDED = (
    "this needs the training data, which the path was stored without: give them to "
    "path.attach(X, y) or path.certify(X, y), or store the path with data=True"
)


class FunctionsOnly(ByFunctions):
    """Decision functions of an approximate or a simplified path with the linear kernel.

    They predict as they did with the training data; all else needs `attach`. `stated` is the stored
    certificate. `smoothings` make θ from w and the data; if there are none, `fractions` of the
    boxes do. A path that was simplified from an exact one has neither.
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
        fractions: np.ndarray | None = None,
    ) -> None:
        super().__init__(job, data, functions, counters, tol)
        self.stated, self.smoothings, self.fractions = stated, smoothings, fractions

    @property
    def solved_for(self) -> bool:
        """Whether the nodes were solved for, not taken from an exact path."""
        return self.smoothings is not None or self.fractions is not None

    @property
    def nbytes(self) -> int:
        """Bytes of the functions and the smoothings."""
        own = 0 if self.fractions is None else self.fractions.nbytes
        return super().nbytes + own + sum(8 + each.centre.nbytes for each in self.smoothings or ())

    def _refuse(self, *given: Any, **named: Any) -> Any:
        """Raise an error: this needs training data."""
        raise ValueError(NEEDED)

    solution = measure = session = end = take = _refuse
    gap_bound = property(_refuse)

    def attach(self, X: Any, y: Any, sample_weight: Any) -> Certified:
        """Return the same functions with their training data, and θ found from these."""
        X = check_features(X, single=self.solved_for)
        if X.shape != self.data.shape:
            n, d = self.data.shape
            raise ValueError(
                f"the path was trained on {n} samples with {d} features, X has "
                f"{X.shape[0]} with {X.shape[1]}"
            )
        return self.with_data(Checked(X), self.job.responses(y, X.shape[0], sample_weight))

    def with_data(self, given: Checked, responses: Responses) -> Certified:
        """Return the same functions with these data, of as many samples and features."""
        X = given.features
        kind, w = self.data.constant.kind, self.functions.w.copy()
        data = (
            StoredData(X, responses, make_intercept(kind, X))
            if self.solved_for
            else make_training_data(X, responses, Options(intercept=kind))
        )
        if data.constant.bias:  # that of a free intercept depends on X
            w[:, -1] *= self.data.constant.bias / data.constant.bias
        if isinstance(data, StoredData):
            return self._at_nodes(data, w)
        source = WALK[self.job.kind](self.job, data.distinct, self.range).on(data)
        return AtKinks(source, self.kinks, self.tol, w)

    def _at_nodes(self, data: StoredData, w: np.ndarray) -> AtNodes:
        """Return the nodes, whose θ are made from w and these data or are within their boxes."""
        gap_bound = gap_bound_on(self.job, data)
        functions: NodeList | DualNodeList
        if self.fractions is not None:
            functions = DualNodeList(self.kinks, w, self.fractions, data.constant.bias)
            return AtNodes(self.job, data, functions, self.counters, self.tol, gap_bound)
        nodes = [
            Node(tau, w_k, smoothing, 0.0, np.ones(2))
            for tau, w_k, smoothing in zip(
                self.kinks.tolist(), w, self.smoothings or (), strict=True
            )
        ]
        # with a free intercept, θ must be balanced on these very data to bound the gap
        functions = (
            _BalancedLater(nodes, data, gap_bound)
            if data.constant.free
            else NodeList(nodes, data.constant.bias)
        )
        return AtNodes(self.job, data, functions, self.counters, self.tol, gap_bound)


class _BalancedLater(NodeList):
    """Nodes whose θ are balanced when they are asked for, which takes a product with all rows."""

    def __init__(self, nodes: Sequence[Node], data: StoredData, gap_bound: GapBound) -> None:
        super().__init__(nodes, data.constant.bias)
        self._data, self._gap_bound = data, gap_bound
        self._balanced: dict[int, Node] = {}

    @cached_property
    def _summary(self) -> RowSummary:
        return self._data.row_sums().summary()

    def __getitem__(self, k: int) -> Node:
        """Return the node with this number."""
        if k not in self._balanced:
            node, row_sums = super().__getitem__(k), self._data.row_sums()
            iterate = Iterate(node.w, row_sums.rows.products(node.w))
            sums = row_sums.update(iterate.margin, node.smoothing, afresh=True)
            dual = DualPoint(self._summary, self._gap_bound, sums)
            self._balanced[k] = dual.evaluate(node.tau, iterate, node.smoothing).node
        return self._balanced[k]


# How the exact solutions of each job are found again.
WALK: dict[str, Callable[[Any, TrainingData, tuple[float, float]], Walked]] = {
    QuantileClassification.kind: walk_classification,
    Regularization.kind: lambda job, data, _: walk_regularization(job, data),
    QuantileRegression.kind: walk_regression,
}
