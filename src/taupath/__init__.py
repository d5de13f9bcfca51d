"""The exact SVM for every misclassification cost at once."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taupath.certificate import Certificate
    from taupath.classification import quantile_path, regularization_path
    from taupath.classifier import QuantileSVC
    from taupath.evaluation import evaluate
    from taupath.exceptions import (
        ClusterFailed,
        ConstantDecisionWarning,
        IndefiniteKernelWarning,
        ModelFileError,
        WalkFailed,
    )
    from taupath.model import Model
    from taupath.path import SolutionPath
    from taupath.regression import quantile_regression_path
    from taupath.regressor import QuantileSVR
    from taupath.scoring import make_cost_scorer
    from taupath.selection import QuantileSVCCV
    from taupath.storage import load, save

    __version__: str

# Where each public name is. It is imported when it is first asked for: the command line starts
# without scikit-learn.
_HOMES = {
    "Certificate": "certificate",
    "ClusterFailed": "exceptions",
    "ConstantDecisionWarning": "exceptions",
    "IndefiniteKernelWarning": "exceptions",
    "Model": "model",
    "ModelFileError": "exceptions",
    "QuantileSVC": "classifier",
    "QuantileSVCCV": "selection",
    "QuantileSVR": "regressor",
    "SolutionPath": "path",
    "WalkFailed": "exceptions",
    "evaluate": "evaluation",
    "load": "storage",
    "make_cost_scorer": "scoring",
    "quantile_path": "classification",
    "quantile_regression_path": "regression",
    "regularization_path": "classification",
    "save": "storage",
}

__all__ = [
    "Certificate",
    "ClusterFailed",
    "ConstantDecisionWarning",
    "IndefiniteKernelWarning",
    "Model",
    "ModelFileError",
    "QuantileSVC",
    "QuantileSVCCV",
    "QuantileSVR",
    "SolutionPath",
    "WalkFailed",
    "__version__",
    "evaluate",
    "load",
    "make_cost_scorer",
    "quantile_path",
    "quantile_regression_path",
    "regularization_path",
    "save",
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
