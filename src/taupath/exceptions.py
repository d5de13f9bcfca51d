"""Errors and warnings of the package, and how to get a package that is missing."""

import shlex
import sys


def install_command(*packages: str) -> str:
    """Return the command that installs packages for the Python that is running."""
    return shlex.join([sys.executable or "python", "-m", "pip", "install", *packages])


class WalkFailed(RuntimeError):
    """The path could not be finished.

    Parameters
    ----------
    reason : str
        What happened.
    t : float
        Where on the path.
    """

    def __init__(self, reason: str, t: float) -> None:
        super().__init__(f"{reason} at {t!r}; please report this with the data")
        self.reason = reason
        self.t = t


class IndefiniteKernelWarning(UserWarning):
    """A kernel matrix has negative eigenvalues: the problem has no optimum to follow."""


class ConstantDecisionWarning(UserWarning):
    """At these costs a classifier decides the same for all cases, even those of training."""


class ModelFileError(ValueError):
    """A file is not a model file, is damaged, or was written by a later version."""


class ClusterFailed(RuntimeError):
    """A Dask cluster is gone, or no longer answers."""
