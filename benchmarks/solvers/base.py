"""What a solver is: its name, what it needs, what it can do, and how it answers."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from task import Answer, Task

__all__ = ["Failed", "Path", "Solver"]

# From loose to tight: most solvers are given these.
USUAL = tuple(10.0**-k for k in range(1, 13))

# Entries of X, once for every pass, that a solver by passes may look at: some seconds.
MOST_VISITS = 2_000_000_000


class Failed(RuntimeError):
    """A solver says itself that it has not found what it was asked for."""


@dataclass(frozen=True)
class Path:
    """All solutions of a task: how many pieces, and the answer at any τ."""

    n_pieces: int
    at: Callable[[float], Answer]
    mean_free: float | None = None


class Solver:
    """One solver.

    Attributes
    ----------
    name : str
        As it is written in tables.
    package, module : str
        The distribution that it needs, and what is imported of it.
    tolerances : tuple of float
        Settings to choose among, from loose to tight; one that says nothing is the only one of a
        solver without such a setting.
    kinds, kernels, intercepts : tuple of str
        The tasks that it solves, by attributes of `Task`.
    most_samples : int
        Beyond these it is not tried.
    most_entries : float
        Nor with more entries of X, zeros included.
    minimises : {"task", "linear programme"}
        Whether it regularises as the task says, or not at all.
    follows : bool
        Whether it follows the path, and takes about as long for one τ as for all.
    """

    name: str
    package: str
    module: str
    tolerances: tuple[float, ...] = USUAL
    kinds: tuple[str, ...] = ("classification",)
    kernels: tuple[str, ...] = ("linear",)
    intercepts: tuple[str, ...] = ("augmented",)
    most_samples: int = 10**9
    most_entries: float = np.inf
    minimises: str = "task"
    follows: bool = False

    def missing(self) -> str | None:
        """Return what to install, or None where all is there."""
        return None if find_spec(self.module) else f"{self.package} is not installed"

    def refuses(self, task: Task) -> str | None:
        """Return why this task is not for this solver, or None."""
        for what, known in (
            (task.kind, self.kinds),
            (f"{task.kernel} kernel", [f"{kernel} kernel" for kernel in self.kernels]),
            (f"{task.intercept} intercept", [f"{kind} intercept" for kind in self.intercepts]),
        ):
            if what not in known:
                return f"no {what}"
        if task.n_samples > self.most_samples:
            return f"not tried beyond {self.most_samples} samples"
        if task.n_samples * task.n_features > self.most_entries:
            return f"not tried with more than {self.most_entries:.0e} entries of X"
        return None

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Return the answers at these τ, in increasing order, from X and y on."""
        raise NotImplementedError

    def path(self, task: Task) -> Path | None:
        """Return all solutions; None of a solver for one τ at a time."""
        return None


def with_ones(X: Any) -> Any:
    """Return X with a column of ones, the augmented intercept."""
    if isinstance(X, np.ndarray):
        return np.column_stack((X, np.ones(len(X))))
    from scipy.sparse import csr_matrix, hstack

    return hstack((X, csr_matrix(np.ones((X.shape[0], 1)))), format="csr")


def passes(task: Task, most: int) -> int:
    """Return how many passes over the data are allowed: `most`, or fewer for large data."""
    entries = task.X.size if isinstance(task.X, np.ndarray) else task.X.nnz
    return int(min(most, max(1000, MOST_VISITS // entries)))


def fit_quietly(model: Any, X: Any, y: np.ndarray) -> Any:
    """Fit an estimator of scikit-learn; where it gives up, what it has reached is judged."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)
