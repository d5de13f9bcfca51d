"""What a report is made from, checked: a fitted estimator, its cases, and text to show."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from taupath.choices import names_of_unnamed
from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.pipelines import feature_names_of, last_step
from taupath.estimators.regressor import QuantileSVR
from taupath.outcomes.inputs import check_probabilities, column_names
from taupath.paths.certificate import Certificate
from taupath.report.linear_weights import Weights, find_weights
from taupath.validation import one_column


@dataclass(frozen=True)
class ModelAndData:
    """A fitted model and the cases it is judged by."""

    model: Any  # QuantileSVC or QuantileSVR, the last step of what was given
    before: list[Any]  # the steps that transform X for it
    given: Any  # X as it was given
    samples: Any  # X as the model takes it, with the names of its columns if it has any
    X: Any  # the same as paths take it, checked
    y: np.ndarray  # labels or numbers
    feature_names: list[str]  # of the features that the model takes
    class_names: list[str]  # one for each class; empty for regression
    target_name: str | None  # what y is called
    columns: dict[str, Any] | None  # the user's own columns about each case

    @cached_property
    def weights(self) -> Weights | None:
        """The weights of the features, for the linear kernel."""
        given = self.given_columns()
        known = {**given, **(self.columns or {})}
        same_number = len(given) == len(self.feature_names)
        in_place = list(given) if same_number else self.feature_names

        def raw(j: int) -> np.ndarray | None:
            name = self.feature_names[j]
            for candidate in (name, name.rsplit("__", 1)[-1], in_place[j]):
                if candidate in known:
                    return as_numbers(known[candidate])
            return None

        return find_weights(self.model, self.X, self.feature_names, raw)

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

    def given_names(self) -> list[str]:
        """Return the names of the columns as they were given."""
        names = column_names(self.given)
        n = np.shape(self.given)[1]
        if names is None:
            names = self.feature_names
        return names if len(names) == n else names_of_unnamed(n)

    def transform(self, samples: Any) -> Any:
        """Return other samples as the model takes them."""
        return _transformed(self.model, self.before, samples)[1]


def as_numbers(values: Any) -> np.ndarray | None:
    """Return a column of numbers as doubles, None if it holds something else."""
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype.kind in "fiub" and array.ndim == 1 else None


def check_source(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    class_names: Any,
    feature_names: Any,
    target_name: Any,
    columns: Any,
) -> ModelAndData:
    """Return the last step of an estimator and its data, checked."""
    model, before = last_step(estimator) if hasattr(estimator, "fit") else (estimator, [])
    if not isinstance(model, (QuantileSVC, QuantileSVR)):
        raise TypeError(
            f"estimator must be a fitted QuantileSVC or QuantileSVR, got {type(model).__name__}"
        )
    check_is_fitted(model)
    walked = model._all_paths()[0].tau_range
    if walked != (0.0, 1.0):
        raise ValueError(
            f"a report needs every τ, but the estimator has only those in {list(walked)}; fit it "
            "without tau_range"
        )
    samples, checked = _transformed(model, before, X)
    n_samples = checked.shape[0]
    return ModelAndData(
        model=model,
        before=before,
        given=X,
        samples=samples,
        X=checked,
        y=one_column(np.asarray(y), n_samples, "values"),
        feature_names=feature_names_of(model, before, _texts(feature_names, "feature_names")),
        class_names=_class_names(model, _texts(class_names, "class_names")),
        target_name=_target_name(target_name, y),
        columns=_check_columns(columns, n_samples),
    )


def _transformed(model: Any, before: list[Any], samples: Any) -> tuple[Any, Any]:
    """Return samples as the model takes them, and the same checked."""
    for step in before:
        samples = step.transform(samples)
    checked = validate_data(model, samples, accept_sparse="csr", dtype=np.float64, reset=False)
    scaler = getattr(model, "scaler_", None)
    return samples, checked if scaler is None else scaler.transform(checked)


def _check_columns(columns: Any, n: int) -> dict[str, Any] | None:
    """Return the user's columns about each case, checked."""
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


def check_compare(compare: Any, source: ModelAndData) -> dict[str, np.ndarray]:
    """Return the probabilities of other classifiers, columns in the order of ``classes_``."""
    if compare is None:
        return {}
    if not isinstance(compare, Mapping):
        raise TypeError(
            f"compare must be a dict from names to fitted classifiers, got {type(compare).__name__}"
        )
    if isinstance(source.model, QuantileSVR):
        raise ValueError("compare is for classifiers, not for a QuantileSVR")
    found = {}
    classes = source.model.classes_.tolist()
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
        proba = np.asarray(other.predict_proba(source.given), dtype=np.float64)
        proba = proba[:, [known.index(label) for label in classes]]
        for column in proba.T:
            check_probabilities(column, len(source.y))
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
    """Return the names of two files, quoted for a shell and for Python."""
    if files is None:
        return None
    if len(files) != 2 or not all(isinstance(file, str) for file in files):
        raise TypeError(f"files must be the names of a model's file and a data file, got {files!r}")
    # what is copied into a shell must not hold what cannot be seen
    usual = ("model.tau", "data.csv")
    files = [own if own.isprintable() else other for own, other in zip(files, usual, strict=True)]
    return {"shell": [shlex.quote(file) for file in files], "python": [repr(f) for f in files]}


def check_certificate(certificate: Any, stored: bool = False) -> dict[str, Any] | None:
    """Return a certificate as numbers, None where there are none."""
    if certificate is None:
        return None
    if not isinstance(certificate, Certificate):
        raise TypeError(
            f"certificate must be a taupath.Certificate, got {type(certificate).__name__}"
        )
    numbers = {
        "gap": float(certificate.worst_gap),
        "gapTau": float(certificate.tau_gap),
        "kkt": float(certificate.worst_kkt),
        "kktTau": float(certificate.tau_kkt),
        "tol": np.nan if certificate.tol is None else float(certificate.tol),
    }
    return {
        # JSON has no other numbers
        **{name: number if np.isfinite(number) else None for name, number in numbers.items()},
        "stored": bool(stored),
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


def _target_name(name: Any, y: Any) -> str | None:
    """Return what y is called: as given, or the name of the series."""
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
