"""The solvers of the benchmarks, a file for each, behind the interface of `solvers.base`."""

from importlib import import_module

from solvers.base import Solver

__all__ = ["NAMES", "load", "load_all"]

NAMES = (
    "taupath",
    "approximate",
    "liblinear",
    "linear_svc",
    "svc",
    "sgd",
    "piqp",
    "clarabel",
    "daqp",
    "ppopt",
    "quantile_regressor",
    "quantreg",
)


def load(name: str) -> Solver:
    """Return a solver by the name of its file.

    Raises
    ------
    ValueError
        If there is no such file.
    """
    if name not in NAMES:
        raise ValueError(f"there is no solver {name!r}; there are {', '.join(NAMES)}")
    return import_module(f"solvers.{name}").SOLVER


def load_all() -> list[Solver]:
    """Return all solvers."""
    return [load(name) for name in NAMES]
