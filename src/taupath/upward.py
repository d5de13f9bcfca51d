"""Methods of lower rooms whose work is done in a room above: `save`, `simplify` and `operate`.

A room must not import those above it, and a path or an estimator must have these methods all the
same. The package's `__init__`, which is above every room, says which functions do the work.
"""

from collections.abc import Callable
from typing import Any

_work: dict[str, Callable[..., Any]] = {}


def provide(**functions: Callable[..., Any]) -> None:
    """Register the functions that do the work."""
    _work.update(functions)


def save(model: Any, file: Any, data: bool | None = None) -> None:
    """Write a model to a file, see `taupath.storage.save`."""
    _work["save"](model, file, data)


def simplify(path: Any, tol: float) -> Any:
    """Return a path with fewer nodes, see `taupath.approximate.simplify.simplify`."""
    return _work["simplify"](path, tol)


def operate(model: Any, X: Any, y: Any, promises: dict[str, Any]) -> Any:
    """Return an operating point, see `taupath.operate`."""
    return _work["operate"](model, X, y, **promises)
