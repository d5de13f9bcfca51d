"""What the page carries of paths over an L1 penalty or over fairness: outcomes along each."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from taupath.estimators.regressor import QuantileSVR
from taupath.outcomes.frontiers import frontier_of, outcomes_along
from taupath.paths.frontiers import Sparsity
from taupath.paths.path import SolutionPath
from taupath.report.inputs import ModelAndData
from taupath.validation import shown

# Outcomes are given at so many values. They are dense where an L1 penalty is small: most features
# leave there.
N_VALUES = 201
SPARSE_POWER = 3.0


def check_frontiers(frontiers: Any, group: Any, source: ModelAndData) -> dict[str, SolutionPath]:
    """Return paths over λ₁ or ρ by their names, checked against the model's data."""
    if frontiers is None:
        if group is not None:
            raise ValueError("group is for frontiers, and none are given")
        return {}
    if not isinstance(frontiers, Mapping):
        raise TypeError(
            "frontiers must be a dict from names to paths of sparsity_path or fairness_path, got "
            f"{type(frontiers).__name__}"
        )
    model = source.model
    if isinstance(model, QuantileSVR) or len(model.classes_) != 2:
        raise ValueError("frontiers are for classifiers of two classes")
    for name, path in frontiers.items():
        classes = frontier_of(path).classes
        if not np.array_equal(classes, model.classes_):
            raise ValueError(
                f"frontiers[{shown(name)}] knows the classes {classes.tolist()}, the estimator "
                f"{model.classes_.tolist()}"
            )
        if path.data.shape[1] != source.X.shape[1]:
            raise ValueError(
                f"frontiers[{shown(name)}] has {path.data.shape[1]} features, the estimator "
                f"{source.X.shape[1]}"
            )
    return {str(name): path for name, path in frontiers.items()}


def frontiers_payload(
    frontiers: dict[str, SolutionPath], group: Any, source: ModelAndData
) -> list[dict[str, Any]]:
    """Return the outcomes of decisions about the cases of the page along each path."""
    return [_payload(name, path, group, source) for name, path in frontiers.items()]


def _payload(name: str, path: SolutionPath, group: Any, source: ModelAndData) -> dict[str, Any]:
    job = frontier_of(path)
    sparse, end = isinstance(job, Sparsity), path.tau_range[1]
    power = SPARSE_POWER if sparse else 1.0
    values = end * np.linspace(0.0, 1.0, N_VALUES) ** power
    found = outcomes_along(path, source.X, source.y, group, values=values)
    larger = np.count_nonzero(source.y == job.classes[1])
    alarms, hits, tau = found.false_alarms, found.found, job.tau
    if source.model.pos_label_ != job.classes[1]:  # the page's positive class is the other one
        alarms, hits, tau = larger - hits, len(source.y) - larger - alarms, 1.0 - tau
    shares = found.shares
    if shares is not None and source.model.pos_label_ != job.classes[1]:
        shares = 1.0 - shares
    return {
        "name": name,
        "symbol": job.symbol,
        "sparse": sparse,
        "tau": tau,
        "end": end,
        "power": power,
        "alarms": alarms.astype(int).tolist(),
        "found": hits.astype(int).tolist(),
        "features": found.n_features.tolist(),
        "shares": None if shares is None else shares.round(4).tolist(),
        "groups": None if shares is None else [str(value) for value in np.unique(group)],
        "worstGap": float(path.certify(max_points=N_VALUES).worst_gap),
    }
