"""The exact SVM for every misclassification cost at once."""

from importlib.metadata import version as _version

from taupath.certificate import Certificate
from taupath.classification import quantile_path
from taupath.exceptions import WalkFailed
from taupath.path import SolutionPath

__version__ = _version("taupath")

__all__ = ["Certificate", "SolutionPath", "WalkFailed", "__version__", "quantile_path"]
