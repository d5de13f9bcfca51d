"""The training record: how a model was trained, as JSON can hold it."""

from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.regressor import QuantileSVR
from taupath.paths.certificate import Certificate
from taupath.progress import duration


def training_record(
    estimator: QuantileSVC | QuantileSVR, rows: int, certificate: Certificate | None = None
) -> dict[str, Any]:
    """Return the record of a fitted estimator; training adds what only it knows."""
    return {
        "rows": rows,
        **about_estimator(estimator),
        **about_paths(estimator, certificate),
        "taupath": version("taupath"),
    }


def about_estimator(estimator: QuantileSVC | QuantileSVR) -> dict[str, Any]:
    """Return the part of the record that describes the estimator."""
    models = getattr(estimator, "estimators_", [estimator])
    Cs = {float(path.C) for path in estimator._all_paths()}
    return {
        "features": int(estimator.n_features_in_),
        **({"C": Cs.pop()} if len(Cs) == 1 else {}),
        **({"l1": float(estimator.l1)} if getattr(estimator, "l1", 0.0) else {}),
        "kernel": " and ".join(dict.fromkeys(str(model.kernel) for model in models)),
        "intercept": estimator.intercept,
        **({"combined": in_words(estimator)} if hasattr(estimator, "estimators_") else {}),
    }


def in_words(estimator: Any) -> str:
    """Return what a combined model consists of, such as "stack of linear C=1, rbf C=1 γ=0.1"."""
    each = [
        f"{model.kernel} C={model.C:g}"
        + (
            ""
            if model.kernel == "linear" or isinstance(model.gamma, str)
            else f" γ={model.gamma:.3g}"
        )
        for model in estimator.estimators_
    ]
    return f"{estimator.combine} of {', '.join(each)}"


def about_paths(
    estimator: QuantileSVC | QuantileSVR, certificate: Certificate | None = None
) -> dict[str, Any]:
    """Return the part of the record that describes the paths."""
    found: dict[str, Any] = {
        "method": estimator.method_,
        "tol": estimator.tol if estimator.method_ == "approximate" else None,
        "kinks": int(np.sum(estimator.n_iter_)),
    }
    if certificate is None:
        return found
    return {
        **found,
        "tol": certificate.tol,
        "record bytes": sum(path.nbytes for path in estimator._all_paths()),
        "certificate": {**asdict(certificate), "holds": certificate.holds()},
    }


def provenance(record: dict[str, Any]) -> dict[str, str]:
    """Return a record as readable text, by the name of each entry."""
    approximate = record.get("method") == "approximate" and record.get("tol") is not None
    source = [str(record["file"])] if "file" in record else []
    shown = {
        "trained on": ", ".join([*source, f"{record.get('rows')} rows"]),
        "features": record.get("features"),
        "kernel": record.get("kernel"),
        "C": f"{record['C']:g}" if "C" in record else None,
        "L1 penalty": f"{record['l1']:g}" if "l1" in record else None,
        "combined": record.get("combined"),
        "costs in training": costs_in_words(record) or None,
        "intercept": record.get("intercept"),
        "nodes" if approximate else "kinks": record.get("kinks"),
        "duality gap within": f"{record['tol']:g}" if approximate else None,
        "time to train": duration(record["seconds"]) if "seconds" in record else None,
        "taupath": record.get("taupath"),
    }
    return {name: str(value) for name, value in shown.items() if value is not None}


def costs_in_words(record: dict[str, Any]) -> str:
    """Return the costs that a model was trained with; empty if there are none."""
    costs = record.get("costs") or {}
    return ", ".join(
        f"{name} = {cost if isinstance(cost, str) else format(cost, 'g')}"
        for name, cost in costs.items()
    )


def certificate_in(record: dict[str, Any]) -> Certificate | None:
    """Return the certificate that was computed after training, None if there is none."""
    found = dict(record.get("certificate") or {})
    found.pop("holds", None)
    try:
        return Certificate(**found) if found else None
    except TypeError:  # a certificate of another version
        return None
