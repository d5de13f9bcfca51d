"""The SVM for every misclassification cost (the paper's job), and for every C."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taupath.approximate.all_rows import LocalRows
from taupath.approximate.gap_bound import Boxes, GapBound, SampleLosses
from taupath.approximate.interpolation import Chords
from taupath.approximate.node_search import approximate_stretch, choose_method
from taupath.approximate.node_solver import NodeSolver
from taupath.approximate.path import ApproximateClassificationPath
from taupath.approximate.training_data import StoredSamples
from taupath.cluster import is_dask, jobs_for
from taupath.engine.problem import Line, quantile_classification, regularization
from taupath.engine.solver import RAISE, Guess, Record, solve_path
from taupath.engine.two_threads import walk_in_two
from taupath.paths.jobs import ClassificationPath, RegularizationPath
from taupath.paths.training_data import LinearSamples, make_samples
from taupath.paths.walked import Stretch
from taupath.progress import Progress, Tell, telling
from taupath.validation import (
    check_C,
    check_features,
    check_labels,
    check_n_jobs,
    check_positive,
    check_progress,
    check_range,
    check_real,
    check_weight,
    check_weighted_classes,
    regularization_to_C,
)

__all__ = ["TwoClasses", "quantile_path", "regularization_path"]

# With so many samples, and features, the middle of a path is guessed to begin a second walk there,
# up to this part of the objective at w = 0.
MANY_SAMPLES, FEW_FEATURES = 2000, 2000
GUESSED_WITHIN = 1e-4
# For progress: of C_max, how near to 0 kinks are still dense on a logarithmic scale.
SMALL_C = 1e-5
# The default of C, told apart from a 1.0 that somebody wrote beside `lam` by being this object.
_DEFAULT_C = float("1.0")


def quantile_path(
    X: Any,
    y: Any,
    C: float = _DEFAULT_C,
    lam: float | None = None,
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
) -> ClassificationPath:
    """Follow the exact solution of the asymmetric-cost SVM over τ.

    For every τ of `tau_range`, minimises

        λ/2 ‖w‖² + Σ c_i(τ) max(0, 1 - y_i wᵀx_i),   c_i = 2(1-τ)/n for y_i = +1, 2τ/n for -1.

    τ = cost_fp / (cost_fp + cost_fn), so that costs can be chosen after training; at τ = ½ this
    is the ordinary SVM.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features, dense or sparse. float64 in C order and CSR are used where they lie. With
        ``kernel="precomputed"`` the kernel matrix, shape (n_samples, n_samples). A Dask array or
        data frame stays on its cluster: for ``method="approximate"``, with y and `sample_weight`
        that are Dask collections or arrays.
    y : array-like of shape (n_samples,)
        Two classes; the larger label is the positive one.
    C : float, default 1.0
        1 / (n λ), as in scikit-learn.
    lam : float, optional
        λ; give this or C.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        As in `sklearn.svm.SVC`; a callable gets two matrices and returns the kernel of all pairs
        of their rows.
    gamma : {"scale", "auto"} or float
        Of "rbf", "poly" and "sigmoid". "scale" is 1 / (n_features X.var()), "auto"
        1 / n_features.
    degree, coef0 : float
        Of "poly", and "poly" and "sigmoid".
    intercept : {"augmented", "free", "none"}
        "augmented": a constant feature 1, regularised like the others (the paper's choice).
        "free": not regularised, as in LIBSVM and `sklearn.svm.SVC`.
        "none": the decision function passes through the origin.
    sample_weight : array-like of shape (n_samples,), optional
        Factors of c_i: weight 2 is two copies, weight 0 is absence.
    cache_size : float, default 1000
        Megabytes for the kernel matrix. Where it does not fit, its rows are computed when they
        are needed and the last ones kept.
    tau_range : pair of float
        Walk only this part of [0, 1].
    n_jobs : int, optional
        2 or more, or -1: walk with two threads, which meet on the way. More do not help.
    method : {"exact", "approximate", "auto"}
        "approximate", for the linear kernel and large data: solutions at some τ, interpolated
        linearly between them, with duality gaps of at most `tol` at every τ, certified. Features
        of float32 stay as they are. "auto" takes this from 20 000 samples on; ``path.method`` says
        which it was.
    tol : float, default 1e-3
        Of approximate paths: largest gap, as part of the objective at w = 0 and τ = ½.
    progress : callable, optional
        Called as ``progress(fraction, n_events)`` about ten times a second; of approximate paths
        after every node, with the number of nodes. `fraction` is the share of the work that is
        done, as far as can be told: with t seconds gone, about ``t * (1 - fraction) / fraction``
        are left.

    Returns
    -------
    ClassificationPath
        All solutions, with their certificates; of an approximate path, an
        `ApproximateClassificationPath`; of Dask collections, a `ClusterClassificationPath`.

    Raises
    ------
    ValueError, TypeError
        For arguments that make no problem; the message names argument and value.
    WalkFailed
        Where the walk could not be finished; this should not happen.
    ClusterFailed
        Where a Dask cluster went away, or nothing happens there any more.

    Warns
    -----
    IndefiniteKernelWarning
        For a kernel matrix with negative eigenvalues. The path is then that of the nearest matrix
        without; what it is worth with the given kernel, the certificate says.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> path = taupath.quantile_path(X, [0, 1, 0, 1], C=1.0)
    >>> bool(path.duality_gap(0.3) < 1e-12)
    True
    """
    progress, together = check_progress(progress), check_n_jobs(n_jobs) > 1
    tol = check_positive(tol, "tol")
    begin, end = check_range(tau_range)
    given_C = None if C is _DEFAULT_C else C
    if is_dask(X, y, sample_weight):
        path: ClassificationPath = jobs_for(method, kernel).classification_path(
            X,
            y,
            sample_weight,
            lambda n_samples: regularization_to_C(given_C, lam, n_samples),
            intercept,
            (begin, end),
            tol,
            telling(progress, "nodes", "τ"),
        )
        return path
    X = check_features(X, single=method != "exact")
    if choose_method(method, kernel, X.shape[0]) == "approximate":
        labels = Labels(X, y, sample_weight)
        C = regularization_to_C(given_C, lam, len(labels.weight))
        tell = telling(progress, "nodes", "τ")
        return _approximate_path(X, labels, C, intercept, (begin, end), tol, tell)
    data = TwoClasses(X, y, kernel, gamma, degree, coef0, intercept, sample_weight, cache_size)
    C = regularization_to_C(given_C, lam, len(data.weight))
    tell = telling(progress, "kinks", "τ")
    return data.quantile_path(C, lambda line: data.walk(line, begin, end, tell, together, C))


def _approximate_path(
    X: Any,
    labels: "Labels",
    C: float,
    intercept: Any,
    walked: tuple[float, float],
    tol: float,
    progress: Tell | None,
) -> ApproximateClassificationPath:
    line = quantile_classification(labels.positive, labels.weight, C)
    samples, chords = approximate_stretch(
        X,
        labels.sign,
        line.target0,
        labels.weight,
        Boxes.of_classification(C),
        intercept,
        walked,
        tol,
        progress,
    )
    return ApproximateClassificationPath(
        samples, line, labels.weight, [chords], labels.classes, C=C, tol=tol
    )


def regularization_path(
    X: Any,
    y: Any,
    tau: float = 0.5,
    *,
    C_max: float,
    kernel: str | Callable[[Any, Any], Any] = "linear",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    intercept: str = "augmented",
    sample_weight: Any = None,
    cache_size: float = 1000.0,
    progress: Progress | None = None,
) -> RegularizationPath:
    """Follow the exact solution of the SVM over C, from 0 to C_max, at a fixed τ.

    For every C, minimises

        ½ ‖w‖² + C Σ c_i max(0, 1 - y_i wᵀx_i),   c_i = 2(1-τ) for y_i = +1, 2τ for -1.

    Parameters
    ----------
    X, y, kernel, gamma, degree, coef0, intercept, sample_weight, cache_size, progress
        As in `quantile_path`.
    tau : float, default 0.5
        cost_fp / (cost_fp + cost_fn), strictly between 0 and 1. At ½ this is the ordinary SVM.
    C_max : float
        Where the path ends.

    Returns
    -------
    RegularizationPath
        The same face as that of `quantile_path`, with C as the parameter.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> path = taupath.regularization_path(X, [0, 1, 0, 1], C_max=10.0)
    >>> bool(path.duality_gap(2.5) < 1e-9)
    True
    """
    tell = telling(check_progress(progress), "kinks", "C")
    data = TwoClasses(X, y, kernel, gamma, degree, coef0, intercept, sample_weight, cache_size)
    tau = check_real(tau, "tau")
    if not 0.0 < tau < 1.0:
        raise ValueError(f"tau must lie strictly between 0 and 1, got {tau!r}")
    C_max = check_C(C_max, "C_max")

    def walk(line: Line) -> Record:
        ((_, record),) = data.walk(line, 0.0, 1.0, tell and _along_C(tell, C_max))
        return record

    return data.regularization_path(tau, C_max, walk)


def _along_C(tell: Tell, C_max: float) -> Tell:
    """Return what a walk over C reports to: its kinks crowd where C is small."""

    def report(fraction: float, n_events: int, t: float | None) -> None:
        done = np.log1p(fraction / SMALL_C) / np.log1p(1.0 / SMALL_C)
        tell(float(done), n_events, None if t is None else C_max * t)

    return report


class Labels:
    """What is asked of the samples, checked."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        n_samples = X.shape[0]
        self.classes, self.positive = check_labels(y, n_samples)
        self.weight = check_weight(sample_weight, n_samples)
        check_weighted_classes(self.weight, self.classes, self.positive)
        self.sign = np.where(self.positive, 1.0, -1.0)


class TwoClasses(Labels):
    """The arguments that all paths of classifiers share, checked, and the paths on them.

    A path needs a record of the line that it is on: from a walk, or from a file.
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
        super().__init__(features, y, sample_weight)
        self.samples = make_samples(
            features, self.sign, self.sign, intercept, kernel, gamma, degree, coef0, cache_size
        )

    def walk(
        self,
        line: Line,
        begin: float,
        end: float,
        progress: Tell | None,
        together: bool = False,
        C: float = 1.0,
    ) -> list[tuple[bool, Record]]:
        """Return what walks on the raised line recorded, and whether each came from its end."""
        rows, order = self.samples.rows_to_walk()
        others = rows.sharing() if together else None
        mirrored = all(1.0 - (1.0 - t) == t for t in (begin, end))
        if others is None or not (mirrored or self._can_guess()):
            return [(False, solve_path(rows, line, begin, end, order, progress))]
        # the first walk begins where few boxes are open: there the start is quick
        flipped = mirrored and 2 * int(self.positive.sum()) > len(self.positive)
        if flipped:
            line, begin, end = line.reversed(), 1.0 - end, 1.0 - begin
        guess_at = self._guess_at(C, flipped) if self._can_guess() else None
        walks = walk_in_two(rows, others, line, begin, end, order, progress, guess_at)
        return [(not back, record) for back, record in walks[::-1]] if flipped else walks

    def _can_guess(self) -> bool:
        """Return whether solutions in the middle of a path can be guessed in little time."""
        n_samples, n_features = self.samples.shape
        linear = isinstance(self.samples, LinearSamples)
        return linear and n_features <= FEW_FEATURES and n_samples >= MANY_SAMPLES

    def _guess_at(self, C: float, flipped: bool) -> Callable[[float], Guess]:
        """Return what guesses solutions on the line, or on the reversed one."""

        def guess(t: float) -> Guess:
            X, target = self.samples.X, np.ones(len(self.sign))
            samples = StoredSamples(X, self.sign, self.samples.constant)
            boxes, free = Boxes.of_classification(C), self.samples.constant.free
            rows = LocalRows(samples.row_sums(target, self.weight))
            losses = SampleLosses(target, self.weight, samples.rows.signs)
            continuum = GapBound(rows.summary, losses, boxes, free)
            solver = NodeSolver(rows, continuum, samples.constant.bias)
            node = solver.solve_from_zero(1.0 - t if flipped else t, GUESSED_WITHIN).node
            return Chords(samples, continuum, losses, [node, node], {}).at_node(0)

        return guess

    def quantile_path(
        self, C: float, walks_of: Callable[[Line], Sequence[tuple[bool, Record]]]
    ) -> ClassificationPath:
        """Return the path over τ."""
        line = quantile_classification(self.positive, self.weight, C)
        raised = line.raised(RAISE)
        stretches = [
            Stretch(
                self.samples,
                raised.reversed() if backward else raised,
                record,
                backward=backward,
            )
            for backward, record in walks_of(raised)
        ]
        return ClassificationPath(self.samples, line, self.weight, stretches, self.classes, C=C)

    def regularization_path(
        self, tau: float, C_max: float, record_of: Callable[[Line], Record]
    ) -> RegularizationPath:
        """Return the path over C."""
        line = regularization(self.positive, self.weight, tau, C_max)
        raised = line.raised(RAISE)
        stretch = Stretch(self.samples, raised, record_of(raised), scale=C_max)
        return RegularizationPath(self.samples, line, self.weight, [stretch], self.classes, tau=tau)
