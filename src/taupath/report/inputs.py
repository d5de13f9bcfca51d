"""What a report is made from, checked: a fitted estimator, its cases, and text to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from taupath.certificate import Certificate
from taupath.classifier import QuantileSVC
from taupath.display.coefficients import feature_names_of
from taupath.display.inputs import column_names
from taupath.regressor import QuantileSVR
from taupath.steps import last_step

__all__ = ["Case", "Cells", "check_case", "check_cells", "check_certificate", "check_provenance"]

# Characters of a cell in the table of mistakes, and of all of them: what goes beyond is cut off.
LONGEST_CELL = 120
MOST_CHARACTERS = 1_500_000
# Without columns of the user's own: that many features are shown as such.
MOST_FEATURES_SHOWN = 8


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
    """

    model: Any
    before: list[Any]
    given: Any
    samples: Any
    X: Any
    y: np.ndarray
    feature_names: list[str]
    class_names: list[str]

    def transform(self, samples: Any) -> Any:
        """Return other samples as the model takes them."""
        for step in self.before:
            samples = step.transform(samples)
        return validate_data(
            self.model, samples, accept_sparse="csr", dtype=np.float64, reset=False
        )

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


@dataclass(frozen=True)
class Cells:
    """Columns of text about each case.

    Attributes
    ----------
    names : list of str
        Heads of the columns.
    texts : list of list of str
        One list per column, a text for each case.
    numeric : list of bool
        Which columns hold numbers.
    """

    names: list[str]
    texts: list[list[str]]
    numeric: list[bool]

    def affordable(self, rows: np.ndarray) -> np.ndarray:
        """Return as many of the first of these rows as their text has room for."""
        if not self.texts:
            return rows
        length = np.zeros(len(rows), dtype=np.int64)
        for column in self.texts:
            length += [len(column[i]) + 3 for i in rows]
        return rows[: max(int(np.searchsorted(np.cumsum(length), MOST_CHARACTERS)), 1)]

    def payload(self, rows: np.ndarray) -> list[dict[str, Any]]:
        """Return what the page carries of these rows."""
        return [
            {"name": name, "numeric": numeric, "texts": [column[i] for i in rows]}
            for name, column, numeric in zip(self.names, self.texts, self.numeric, strict=True)
        ]


def check_case(estimator: Any, X: Any, y: Any, class_names: Any, feature_names: Any) -> Case:
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
    given = samples = X
    for step in before:
        samples = step.transform(samples)
    X = validate_data(model, samples, accept_sparse="csr", dtype=np.float64, reset=False)
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
    )


def check_cells(columns: Any, case: Case) -> Cells:
    """Return the columns to show with each case; some features where none are given."""
    n = case.X.shape[0]
    if columns is None:
        return _features_as_cells(case)
    if not isinstance(columns, Mapping):
        raise TypeError(
            "columns must be a dict from names to sequences of one value per row, "
            f"got {type(columns).__name__}"
        )
    names, texts, numeric = [], [], []
    for name, values in columns.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise TypeError(f"columns[{name!r}] must be a sequence of one value per row of X")
        if len(values) != n:
            raise ValueError(f"columns[{name!r}] has {len(values)} values, X has {n} rows")
        numeric.append(np.asarray(values).dtype.kind in "fiu")
        names.append(str(name))
        texts.append([_cell(value) for value in values])
    return Cells(names, texts, numeric)


def check_provenance(provenance: Any) -> list[list[str]]:
    """Return how the model was trained, as pairs of text."""
    if provenance is None:
        return []
    if not isinstance(provenance, Mapping):
        raise TypeError(f"provenance must be a dict, got {type(provenance).__name__}")
    return [[str(name), str(value)] for name, value in provenance.items()]


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
    }


def _texts(values: Any, name: str) -> list[str] | None:
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be a sequence of names, got {values!r}")
    return [str(value) for value in values]


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


def _cell(value: Any, digits: int = 6) -> str:
    """Return the text of a value; nothing for what is missing."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return ""
    text = f"{value:.{digits}g}" if isinstance(value, (float, np.floating)) else str(value)
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


def _features_as_cells(case: Case) -> Cells:
    """Return features as they were given, the ones with the largest coefficients first."""
    given = case.given
    if case.model.kernel == "precomputed" or hasattr(given, "tocsr") or np.ndim(given) != 2:
        return Cells([], [], [])
    names = case.given_names()
    order = np.arange(len(names))
    if case.model.kernel == "linear" and hasattr(case.model, "path_") and not case.before:
        order = np.argsort(-np.abs(case.model.path_.coef(0.5)), kind="stable")
    shown = order[:MOST_FEATURES_SHOWN].tolist()
    values = given.iloc[:, shown].to_numpy() if hasattr(given, "iloc") else None
    if values is None:
        array = given.to_numpy() if hasattr(given, "to_numpy") else np.asarray(given)
        values = array[:, shown]
    return Cells(
        [names[j] for j in shown],
        [[_cell(value, 4) for value in column] for column in values.T],
        [values.dtype.kind in "fiub"] * len(shown),
    )
