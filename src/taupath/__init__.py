"""The exact SVM for every misclassification cost at once."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from taupath import upward as _upward

if TYPE_CHECKING:
    from taupath.estimators.classifier import QuantileSVC
    from taupath.estimators.probability_intervals import ProbabilityIntervals
    from taupath.estimators.regressor import QuantileSVR
    from taupath.estimators.regressor_selection import QuantileSVRCV
    from taupath.estimators.scoring import make_cost_scorer
    from taupath.estimators.selection import QuantileSVCCV
    from taupath.exceptions import (
        ClusterFailed,
        ConstantDecisionWarning,
        IndefiniteKernelWarning,
        InexactPathWarning,
        MissedPatternWarning,
        ModelFileError,
        NoOperatingPoint,
        WalkFailed,
    )
    from taupath.fitting.classification import quantile_path, regularization_path
    from taupath.fitting.constraints import Bound, Fair, Monotone, NonNegative
    from taupath.fitting.frontiers import fairness_path, sparsity_path
    from taupath.fitting.regression import quantile_regression_path
    from taupath.models.evaluation import evaluate
    from taupath.models.model import Model
    from taupath.models.operating import operate
    from taupath.outcomes.operating import OperatingPoint
    from taupath.paths.certificate import Certificate
    from taupath.paths.path import SolutionPath
    from taupath.storage import load, save

    __version__: str

# Where each public name is. It is imported when it is first asked for: the command line starts
# without scikit-learn.
_HOMES = {
    "Bound": "fitting.constraints",
    "Certificate": "paths.certificate",
    "ClusterFailed": "exceptions",
    "ConstantDecisionWarning": "exceptions",
    "Fair": "fitting.constraints",
    "IndefiniteKernelWarning": "exceptions",
    "InexactPathWarning": "exceptions",
    "MissedPatternWarning": "exceptions",
    "Model": "models.model",
    "ModelFileError": "exceptions",
    "Monotone": "fitting.constraints",
    "NoOperatingPoint": "exceptions",
    "NonNegative": "fitting.constraints",
    "OperatingPoint": "outcomes.operating",
    "ProbabilityIntervals": "estimators.probability_intervals",
    "QuantileSVC": "estimators.classifier",
    "QuantileSVCCV": "estimators.selection",
    "QuantileSVR": "estimators.regressor",
    "QuantileSVRCV": "estimators.regressor_selection",
    "SolutionPath": "paths.path",
    "WalkFailed": "exceptions",
    "evaluate": "models.evaluation",
    "fairness_path": "fitting.frontiers",
    "load": "storage",
    "make_cost_scorer": "estimators.scoring",
    "operate": "models.operating",
    "quantile_path": "fitting.classification",
    "quantile_regression_path": "fitting.regression",
    "regularization_path": "fitting.classification",
    "save": "storage",
    "sparsity_path": "fitting.frontiers",
}

__all__ = [
    "Bound",
    "Certificate",
    "ClusterFailed",
    "ConstantDecisionWarning",
    "Fair",
    "IndefiniteKernelWarning",
    "InexactPathWarning",
    "MissedPatternWarning",
    "Model",
    "ModelFileError",
    "Monotone",
    "NoOperatingPoint",
    "NonNegative",
    "OperatingPoint",
    "ProbabilityIntervals",
    "QuantileSVC",
    "QuantileSVCCV",
    "QuantileSVR",
    "QuantileSVRCV",
    "SolutionPath",
    "WalkFailed",
    "__version__",
    "evaluate",
    "fairness_path",
    "load",
    "make_cost_scorer",
    "operate",
    "quantile_path",
    "quantile_regression_path",
    "regularization_path",
    "save",
    "sparsity_path",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("taupath")
    elif name in _HOMES:
        value = getattr(_import_module(f"taupath.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'taupath' has no attribute {name!r}")
    globals()[name] = value
    return value


def _save(*arguments: Any) -> None:
    from taupath.storage import save

    save(*arguments)


def _simplify(*arguments: Any) -> Any:
    from taupath.approximate.simplify import simplify

    return simplify(*arguments)


def _operate(*arguments: Any, **promises: Any) -> Any:
    from taupath.models.operating import operate

    return operate(*arguments, **promises)


_upward.provide(save=_save, simplify=_simplify, operate=_operate)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
