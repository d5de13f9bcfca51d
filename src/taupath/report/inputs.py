"""What a report is made from, checked: a fitted estimator, its cases, and text to show."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.pipelines import feature_names_of, last_step
from taupath.estimators.regressor import QuantileSVR
from taupath.outcomes.inputs import check_probabilities, column_names
from taupath.paths.certificate import Certificate
from taupath.report.linear_weights import Weights, find_weights

__all__ = [
    "Case",
    "Cells",
    "check_case",
    "check_certificate",
    "check_compare",
    "check_files",
    "check_provenance",
    "make_cells",
]

# Characters of a cell in the table of mistakes, and of all of them: what goes beyond is cut off.
LONGEST_CELL = 120
MOST_CHARACTERS = 1_500_000
# Without columns of the user's own: that many columns of X are in the file.
MOST_COLUMNS = 30


@dataclass(frozen=True)
class Case:
    """A fitted model and the data it is looked at with.

    Attributes
    ----------
    model : QuantileSVC or QuantileSVR
        The last step of what was given.
    before : list
        What transforms X for it.
    given : array-like
        X as it was given.
    samples : array-like
        X as the model takes it, with the names of its columns where it has any.
    X : ndarray or sparse array of shape (n_samples, n_features)
        The same, checked.
    y : ndarray of shape (n_samples,)
        Labels or numbers.
    feature_names : list of str
        Of the features the model takes.
    class_names : list of str
        One for each class; empty for regression.
    target_name : str or None
        What y is called.
    columns : dict from str to sequences, or None
        What else is known of each case, as the user gave it.
    """

    model: Any
    before: list[Any]
    given: Any
    samples: Any
    X: Any
    y: np.ndarray
    feature_names: list[str]
    class_names: list[str]
    target_name: str | None
    columns: dict[str, Any] | None

    @cached_property
    def weights(self) -> Weights | None:
        """The weights of the features, for the linear kernel."""
        known = {**self.given_columns(), **(self.columns or {})}
        names, n = list(known), len(self.feature_names)
        in_place = len(self.given_columns()) == n

        def raw(j: int) -> np.ndarray | None:
            name = self.feature_names[j]
            for candidate in (name, name.rsplit("__", 1)[-1], names[j] if in_place else None):
                if candidate in known:
                    return _numbers(known[candidate])
            return None

        return find_weights(self.model, self.path_X, self.feature_names, raw)

    def given_columns(self) -> dict[str, Any]:
        """Return the columns of X as they were given; none if it is sparse or a kernel matrix."""
        given = self.given
        if self.model.kernel == "precomputed" or hasattr(given, "tocsr") or np.ndim(given) != 2:
            return {}
        names = self.given_names()
        if hasattr(given, "iloc"):
            return {name: given.iloc[:, j].to_numpy() for j, name in enumerate(names)}
        if hasattr(given, "get_column"):
            return {name: given[:, j].to_numpy() for j, name in enumerate(names)}
        return dict(zip(names, np.asarray(given).T, strict=True))

    def transform(self, samples: Any) -> Any:
        """Return other samples as the model takes them."""
        return _transformed(self.model, self.before, samples)[1]

    @property
    def path_X(self) -> Any:
        """X as the path of two classes, or of regression, takes it."""
        return self.columns_for_path(self.X)

    def columns_for_path(self, X: Any) -> Any:
        """Return checked samples as the path takes them."""
        if isinstance(self.model, QuantileSVC):
            return self.model._columns(X, self.model._members[0])
        return X

    def given_names(self) -> list[str]:
        """Return names of the columns as they were given."""
        names = column_names(self.given)
        n = np.shape(self.given)[1]
        if names is None:
            names = self.feature_names
        return names if len(names) == n else [f"feature {j}" for j in range(n)]


class Cells:
    """Columns about each case; those of the cases that a page carries become text.

    Parameters
    ----------
    names : list of str
        Heads of the columns.
    columns : list of sequences
        One value for each case in each.
    features : list of bool
        Which columns features were made from: the others tell who or what a case is.
    """

    def __init__(self, names: list[str], columns: list[Any], features: list[bool]) -> None:
        self.names, self.columns, self.features = names, columns, features
        self._known: tuple[np.ndarray, list[list[str]]] | None = None

    def affordable(self, rows: np.ndarray) -> np.ndarray:
        """Return as many of the first of these rows as their text has room for."""
        if not self.columns:
            return rows
        # a cell takes three characters at least: no need to look at more rows than that allows
        rows = rows[: MOST_CHARACTERS // (3 * len(self.columns)) + 1]
        length = np.zeros(len(rows), dtype=np.int64)
        for texts in self._texts(rows):
            length += [len(text) + 3 for text in texts]
        return rows[: max(int(np.searchsorted(np.cumsum(length), MOST_CHARACTERS)), 1)]

    def payload(self, rows: np.ndarray) -> list[dict[str, Any]]:
        """Return what the page carries of these rows."""
        return [
            {
                "name": name,
                "numeric": _numbers(column) is not None,
                "feature": feature,
                "texts": texts,
            }
            for name, column, feature, texts in zip(
                self.names, self.columns, self.features, self._texts(rows), strict=True
            )
        ]

    def _texts(self, rows: np.ndarray) -> list[list[str]]:
        """Return the text of each column for some rows; those asked for last are known."""
        if self._known is not None:
            known, texts = self._known
            if np.array_equal(known[: len(rows)], rows):
                return [column[: len(rows)] for column in texts]
        texts = [[_cell(value) for value in _some(column, rows)] for column in self.columns]
        self._known = rows, texts
        return texts


def check_case(
    estimator: Any,
    X: Any,
    y: Any,
    class_names: Any,
    feature_names: Any,
    target_name: Any = None,
    columns: Any = None,
) -> Case:
    """Return estimator and data, or say what is wrong with them."""
    if not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator must be a fitted QuantileSVC or QuantileSVR, got {type(estimator).__name__}"
        )
    model, before = last_step(estimator)
    if not isinstance(model, (QuantileSVC, QuantileSVR)):
        raise TypeError(
            f"estimator must be a fitted QuantileSVC or QuantileSVR, got {type(model).__name__}"
        )
    check_is_fitted(model)
    walked = model._all_paths()[0].tau_range
    if walked != (0.0, 1.0):
        raise ValueError(
            f"a report needs every τ, but the estimator knows those in {list(walked)} only; fit it "
            "without tau_range"
        )
    given = X
    samples, X = _transformed(model, before, given)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, got shape {labels.shape}")
    if len(labels) != X.shape[0]:
        raise ValueError(f"y has {len(labels)} values, X has {X.shape[0]} rows")
    return Case(
        model,
        before,
        given,
        samples,
        X,
        labels,
        feature_names_of(model, before, _texts(feature_names, "feature_names")),
        _class_names(model, _texts(class_names, "class_names")),
        _target_name(target_name, y),
        _check_columns(columns, X.shape[0]),
    )


def _transformed(model: Any, before: list[Any], samples: Any) -> tuple[Any, Any]:
    """Return samples as the model takes them, and the same checked."""
    for step in before:
        samples = step.transform(samples)
    checked = validate_data(model, samples, accept_sparse="csr", dtype=np.float64, reset=False)
    return samples, checked


def _check_columns(columns: Any, n: int) -> dict[str, Any] | None:
    """Return what the user gave about each case, with one value per row."""
    if columns is None:
        return None
    if not isinstance(columns, Mapping):
        raise TypeError(
            "columns must be a dict from names to sequences of one value per row, "
            f"got {type(columns).__name__}"
        )
    for name, values in columns.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise TypeError(f"columns[{name!r}] must be a sequence of one value per row of X")
        if len(values) != n:
            raise ValueError(f"columns[{name!r}] has {len(values)} values, X has {n} rows")
    return {str(name): values for name, values in columns.items()}


def make_cells(case: Case) -> Cells:
    """Return the columns that are shown with each case.

    First those that are no features, then features by their largest weights. Without columns of
    the user's own, those of X.
    """
    columns = case.given_columns() if case.columns is None else case.columns
    made = _features_by_column(case.feature_names)
    sizes = {name: _size(made.get(name), case) for name in columns}
    order = {name: -np.inf if size is None else -size for name, size in sizes.items()}
    names = sorted(columns, key=order.__getitem__)
    if case.columns is None:
        names = names[:MOST_COLUMNS]
    return Cells(
        names, [columns[name] for name in names], [sizes[name] is not None for name in names]
    )


def _features_by_column(feature_names: list[str]) -> dict[str, list[int]]:
    """Return which features may be made from a column, by what the column may be called.

    Our own preparation calls them ``column=category`` and ``column (missing)``, scikit-learn
    ``transformer__column_category``.
    """
    found: dict[str, list[int]] = {}
    for j, feature in enumerate(feature_names):
        own = feature.rsplit("__", 1)[-1]
        columns = {feature, own, feature.split(" (missing)", 1)[0]}
        columns.update(feature[:k] for k, letter in enumerate(feature) if letter == "=")
        columns.update(own[:k] for k, letter in enumerate(own) if letter == "_")
        for column in columns:
            found.setdefault(column, []).append(j)
    return found


def _size(made: list[int] | None, case: Case) -> float | None:
    """Return the largest weight of the features made from a column; None if there are none."""
    if not made:  # all columns of X are features
        return None if case.columns is not None else 0.0
    if case.weights is None:
        return 0.0
    return float(case.weights.sizes[made].max())


def _numbers(values: Any) -> np.ndarray | None:
    """Return numbers as doubles, None if these are none."""
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype.kind in "fiub" and array.ndim == 1 else None


def check_compare(compare: Any, case: Case) -> dict[str, np.ndarray]:
    """Return the probabilities of all classes that other classifiers give the same cases.

    One array of shape (n_samples, n_classes) for each, its columns in the order of the model's
    ``classes_``.
    """
    if compare is None:
        return {}
    if not isinstance(compare, Mapping):
        raise TypeError(
            f"compare must be a dict from names to fitted classifiers, got {type(compare).__name__}"
        )
    if isinstance(case.model, QuantileSVR):
        raise ValueError("compare is for classifiers, not for a QuantileSVR")
    found = {}
    classes = case.model.classes_.tolist()
    for name, other in compare.items():
        if not hasattr(other, "predict_proba"):
            raise TypeError(
                f"compare[{name!r}]: {type(other).__name__} has no predict_proba, and without "
                "probabilities it cannot decide at other costs; a CalibratedClassifierCV around it "
                "has them"
            )
        check_is_fitted(other)
        known = np.asarray(other.classes_).tolist()
        if set(known) != set(classes):
            raise ValueError(
                f"compare[{name!r}] knows the classes {known}, the estimator {classes}"
            )
        proba = np.asarray(other.predict_proba(case.given), dtype=np.float64)
        proba = proba[:, [known.index(label) for label in classes]]
        for column in proba.T:
            check_probabilities(column, len(case.y))
        found[str(name)] = proba
    return found


def check_provenance(provenance: Any) -> list[list[str]]:
    """Return how the model was trained, as pairs of text."""
    if provenance is None:
        return []
    if not isinstance(provenance, Mapping):
        raise TypeError(f"provenance must be a dict, got {type(provenance).__name__}")
    return [[str(name), str(value)] for name, value in provenance.items()]


def check_files(files: Any) -> dict[str, list[str]] | None:
    """Return the names of two files as a shell and as Python take them."""
    if files is None:
        return None
    if len(files) != 2 or not all(isinstance(file, str) for file in files):
        raise TypeError(f"files must be the names of a model's file and a data file, got {files!r}")
    return {"shell": [shlex.quote(file) for file in files], "python": [repr(f) for f in files]}


def check_certificate(certificate: Any) -> dict[str, Any] | None:
    """Return a certificate as numbers."""
    if certificate is None:
        return None
    if not isinstance(certificate, Certificate):
        raise TypeError(
            f"certificate must be a taupath.Certificate, got {type(certificate).__name__}"
        )
    return {
        "gap": float(certificate.worst_gap),
        "gapTau": float(certificate.tau_gap),
        "kkt": float(certificate.worst_kkt),
        "kktTau": float(certificate.tau_kkt),
        "checked": int(certificate.n_checked),
        "complete": bool(certificate.complete),
        "continuum": bool(certificate.continuum),
        "holds": certificate.holds(),
        "tol": None if certificate.tol is None else float(certificate.tol),
    }


def _texts(values: Any, name: str) -> list[str] | None:
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be a sequence of names, got {values!r}")
    return [str(value) for value in values]


def _target_name(name: Any, y: Any) -> str | None:
    """Return what y is called: as given, or as a series of a data frame calls itself."""
    if name is None:
        name = getattr(y, "name", None)
    elif not isinstance(name, str):
        raise TypeError(f"target_name must be text, got {type(name).__name__}")
    return None if name is None else str(name)


def _class_names(model: Any, names: list[str] | None) -> list[str]:
    if isinstance(model, QuantileSVR):
        if names is not None:
            raise ValueError("class_names is for a classifier, not for a QuantileSVR")
        return []
    classes = [str(label) for label in model.classes_]
    if names is None:  # "0" alone would not be understood within a sentence
        bare = model.classes_.dtype.kind in "fiu"
        return [f"class {label}" for label in classes] if bare else classes
    if len(names) != len(classes):
        raise ValueError(
            f"class_names has {len(names)} names, the estimator {len(classes)} classes: "
            f"{', '.join(classes)}"
        )
    return names


def _some(column: Any, rows: np.ndarray) -> list[Any]:
    """Return some values of a column, as Python has them."""
    if hasattr(column, "to_numpy"):
        column = column.to_numpy()
    if isinstance(column, np.ndarray):
        dates = column.dtype.kind in "mM"  # which `tolist` turns into whole numbers
        return list(column[rows] if dates else column[rows].tolist())
    return [column[i] for i in rows.tolist()]


def _cell(value: Any) -> str:
    """Return the text of a value; nothing for what is missing."""
    if value is None or (isinstance(value, (float, np.floating)) and value != value):
        return ""
    text = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
