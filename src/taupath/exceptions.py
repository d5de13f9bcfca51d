"""Errors and warnings of the package, and how to get a package that is missing."""

import inspect
import shlex
import sys


def install_command(*packages: str) -> str:
    """Return the command that installs packages for the Python that is running."""
    return shlex.join([sys.executable or "python", "-m", "pip", "install", *packages])


def levels_to_the_caller() -> int:
    """Return the `stacklevel` at which a warning points to the first caller outside the package."""
    package = __name__.partition(".")[0]
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level


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


class InexactPathWarning(UserWarning):
    """An exact path is not as exact as promised; its certificate says how far it is off."""


class ConstantDecisionWarning(UserWarning):
    """At these costs a classifier decides the same for all cases, even those of training."""


class MissedPatternWarning(UserWarning):
    """A quantile regression misses a pattern in its training samples: the kernel or C is unsuited.

    Samples that are close in X lie on the same side of the predicted quantiles more often than by
    chance.
    """


class ModelFileError(ValueError):
    """A file is not a model file, is damaged, or was written by a later version."""


class NoOperatingPoint(ValueError):
    """No τ keeps the promises that were asked for.

    Parameters
    ----------
    reason : str
        Why.
    rows_needed : int, optional
        If there are too few rows: how many of those that the promise is about are needed at least.
    """

    def __init__(self, reason: str, rows_needed: int | None = None) -> None:
        super().__init__(reason)
        self.rows_needed = rows_needed


class ClusterFailed(RuntimeError):
    """A Dask cluster is gone, or no longer answers."""
