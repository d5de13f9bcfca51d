"""Paths without training data: decision functions at nodes, and what was certified of them."""

from typing import Any

import numpy as np

from taupath.approximate.all_rows import Iterate
from taupath.approximate.dual_point import DualPoint
from taupath.approximate.gap_bound import Boxes, GapBound, SampleLosses
from taupath.approximate.interpolation import Chords, Lines
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.path import (
    ApproximateClassificationPath,
    ApproximatePath,
    ApproximateRegressionPath,
    ByFunctions,
)
from taupath.approximate.simplify import (
    Thinned,
    simplified,
)
from taupath.approximate.training_data import AbsentSamples, StoredSamples
from taupath.engine.problem import quantile_classification, quantile_regression
from taupath.fitting.classification import Labels, quantile_path, regularization_path
from taupath.fitting.regression import quantile_regression_path
from taupath.paths.certificate import Certificate
from taupath.paths.intercept import Intercept, make_intercept
from taupath.paths.jobs import ClassificationPath, RegressionPath, RegularizationPath
from taupath.paths.path import SolutionPath
from taupath.paths.training_data import Solution
from taupath.validation import check_features, check_targets, check_weight

__all__ = [
    "DetachedClassificationPath",
    "DetachedPath",
    "DetachedRegressionPath",
    "DetachedRegularizationPath",
]

NEEDED = (
    "this path was stored without its training data, which this takes: give them to "
    "path.attach(X, y) or path.certify(X, y), or store the path with data=True"
)


class DetachedPath(ByFunctions):
    """An approximate or a simplified path of the linear kernel without its training data.

    It predicts as it did with them. What is computed from the data (`alpha`, `index_sets`, gaps)
    takes `attach`.

    Attributes
    ----------
    stated : Certificate
        What was certified when there were data. `certify` computes it again, from data.
    """

    def __init__(
        self,
        samples: AbsentSamples,
        lines: Lines,
        tol: float,
        stated: Certificate,
        smoothings: list[Smoothing] | None,
        **about: Any,
    ) -> None:
        self._samples, self._stretches = samples, [lines]
        self.taus, self.counters = lines.nodes, lines.counters
        self.taus.flags.writeable = False
        self.tol, self.stated, self._smoothings = tol, stated, smoothings
        self.__dict__.update(about)  # what the path is asked for with: C, classes, ...

    def __repr__(self) -> str:
        return super().__repr__()[:-1] + ", without training data>"

    @property
    def nbytes(self) -> int:
        """Bytes of the nodes and of what is kept of them."""
        return super().nbytes + sum(8 + each.centre.nbytes for each in self._smoothings or ())

    def _solution(self, value: float) -> Solution:
        raise ValueError(NEEDED)

    def _continuum(self) -> GapBound:
        raise ValueError(NEEDED)

    def certify(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Bound the gap of every solution of the path, from the data that are given.

        Parameters
        ----------
        X, y, sample_weight
            What the path was trained on. Of other data with as many rows it is certified how far
            from optimal the path is for these.

        Returns
        -------
        Certificate
            As that of an `ApproximatePath`. The primal side is this path; θ are found from the
            data.
        """
        if y is None:
            raise ValueError(NEEDED)
        return self.attach(X, y, sample_weight).certify()

    def attach(self, X: Any, y: Any, sample_weight: Any = None) -> ApproximatePath:
        """Return the path with its training data.

        For a simplified path the exact one is walked again, for its θ.

        Parameters
        ----------
        X, y, sample_weight
            What the path was trained on.

        Returns
        -------
        ApproximatePath
            The same functions, with everything that takes data.
        """
        X = check_features(X, single=True)
        if X.shape != self._samples.shape:
            n, d = self._samples.shape
            raise ValueError(
                f"the path was trained on {n} samples with {d} features, X has "
                f"{X.shape[0]} with {X.shape[1]}"
            )
        constant = make_intercept(self._samples.constant.kind, X)
        w = self._stretches[0].w.copy()
        if constant.bias:  # of a free intercept, it depends on X
            w[:, -1] *= self._samples.constant.bias / constant.bias
        if self._smoothings is not None:
            return self._chords_on(X, y, sample_weight, constant, w)
        source = self._walk(X, y, sample_weight)
        path = simplified(source, self.taus, self.tol)
        path._stretches = [_Kept(source, self.taus, w)]
        return path

    def _walk(self, X: Any, y: Any, sample_weight: Any) -> SolutionPath:
        """Return the exact path on these data."""
        raise NotImplementedError

    def _asked(self, sample_weight: Any) -> dict[str, Any]:
        """Return what any path is asked for with."""
        return {"intercept": self._samples.constant.kind, "sample_weight": sample_weight}

    def _chords_on(
        self, X: Any, y: Any, sample_weight: Any, constant: Intercept, w: np.ndarray
    ) -> ApproximatePath:
        """Return the path whose θ are made from w."""
        raise NotImplementedError

    def _chords(
        self,
        samples: StoredSamples,
        target: np.ndarray,
        weight: np.ndarray,
        boxes: Boxes,
        w: np.ndarray,
    ) -> Chords:
        assert self._smoothings is not None
        free, part = samples.constant.free, samples.row_sums(target, weight)
        summary, losses = part.summary(), SampleLosses(target, weight, part.sign)
        continuum = GapBound(summary, losses, boxes, free)
        nodes = []
        for tau, w_k, smoothing in zip(self.taus.tolist(), w, self._smoothings, strict=True):
            node = Node(tau, w_k, smoothing, 0.0, np.ones(2))
            if free:  # of these very data: θ that are not in balance bound nothing
                place = Iterate(w_k, part.rows.products(w_k))
                sums = part.update(place.margin, smoothing, afresh=True)
                node, *_ = DualPoint(summary, continuum, sums).evaluate(tau, place, smoothing)
            nodes.append(node)
        return Chords(samples, continuum, losses, nodes, self.counters)


class _Kept(Thinned):
    """θ of a path that was walked again, and w as they were stored."""

    def __init__(self, source: SolutionPath, nodes: np.ndarray, w: np.ndarray) -> None:
        super().__init__(source, nodes)
        self._w = dict(zip(nodes.tolist(), w, strict=True))

    def at(self, node: float) -> Solution:
        """Return the solution at a node."""
        status, theta, _, multiplier = super().at(node)
        return status, theta, self._w[node], multiplier


class DetachedClassificationPath(DetachedPath, ClassificationPath):
    """The asymmetric-cost SVM for every τ, without training data."""

    def _labels(self, X: Any, y: Any, sample_weight: Any) -> Labels:
        return _same_classes(Labels(X, y, sample_weight), self.classes)

    def _walk(self, X: Any, y: Any, sample_weight: Any) -> SolutionPath:
        self._labels(X, y, sample_weight)
        return quantile_path(X, y, C=self.C, tau_range=self.tau_range, **self._asked(sample_weight))

    def _chords_on(
        self, X: Any, y: Any, sample_weight: Any, constant: Intercept, w: np.ndarray
    ) -> ApproximatePath:
        labels = self._labels(X, y, sample_weight)
        line = quantile_classification(labels.positive, labels.weight, self.C)
        samples = StoredSamples(X, labels.sign, constant)
        boxes = Boxes.of_classification(self.C)
        chords = self._chords(samples, line.target0, labels.weight, boxes, w)
        return ApproximateClassificationPath(
            samples, line, labels.weight, [chords], labels.classes, C=self.C, tol=self.tol
        )


class DetachedRegularizationPath(DetachedPath, RegularizationPath):
    """The SVM for every C up to a largest one, without training data."""

    def _walk(self, X: Any, y: Any, sample_weight: Any) -> SolutionPath:
        _same_classes(Labels(X, y, sample_weight), self.classes)
        C_max = self.tau_range[1]
        return regularization_path(X, y, self.tau, C_max=C_max, **self._asked(sample_weight))


class DetachedRegressionPath(DetachedPath, RegressionPath):
    """Quantile regression for every τ, without training data."""

    def _walk(self, X: Any, y: Any, sample_weight: Any) -> SolutionPath:
        walked = self.tau_range
        return quantile_regression_path(
            X, y, C=self.C, tau_range=walked, **self._asked(sample_weight)
        )

    def _chords_on(
        self, X: Any, y: Any, sample_weight: Any, constant: Intercept, w: np.ndarray
    ) -> ApproximatePath:
        targets = check_targets(y, X.shape[0])
        weight = check_weight(sample_weight, len(targets))
        line = quantile_regression(targets, weight, self.C)
        samples = StoredSamples(X, np.ones(len(targets)), constant)
        chords = self._chords(samples, targets, weight, Boxes.of_regression(self.C), w)
        return ApproximateRegressionPath(samples, line, weight, [chords], C=self.C, tol=self.tol)


def _same_classes(labels: Labels, classes: np.ndarray) -> Labels:
    if not np.array_equal(labels.classes, classes):
        raise ValueError(
            f"y has the classes {labels.classes.tolist()}, the path was trained on "
            f"{classes.tolist()}"
        )
    return labels
