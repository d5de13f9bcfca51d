"""The exact SVM for every misclassification cost at once."""

from importlib.metadata import version as _version

from taupath.certificate import Certificate
from taupath.classification import quantile_path, regularization_path
from taupath.classifier import QuantileSVC
from taupath.exceptions import IndefiniteKernelWarning, WalkFailed
from taupath.path import SolutionPath
from taupath.regression import quantile_regression_path
from taupath.regressor import QuantileSVR
from taupath.selection import QuantileSVCCV

__version__ = _version("taupath")

__all__ = [
    "Certificate",
    "IndefiniteKernelWarning",
    "QuantileSVC",
    "QuantileSVCCV",
    "QuantileSVR",
    "SolutionPath",
    "WalkFailed",
    "__version__",
    "quantile_path",
    "quantile_regression_path",
    "regularization_path",
]
