"""One SVM with an RBF kernel by other libraries for GPUs: cuML and TorchKM, if they are installed.

With an intercept that costs nothing, each minimises

    P(u, b) = ½ uᵀK u + C Σ max(0, 1 - y_i (K u + b)_i)

and returns u, b and what it says about itself. TorchKM cross-validates in any case: with two folds
here, which is the least it takes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Found(NamedTuple):
    """Coefficients of a decision function K u + b, and the iterations or whatever is reported."""

    u: np.ndarray
    b: float
    says: dict[str, Any]


def _host(array: Any) -> np.ndarray:
    """Return an array of NumPy or CuPy as one of NumPy."""
    return np.asarray(array.get() if hasattr(array, "get") else array)


def cuml_svc(X: np.ndarray, y: np.ndarray, C: float, gamma: float, device: str) -> Found:
    """Fit cuML's SVC, which runs on a GPU whatever the device."""
    from cuml.svm import SVC

    model = SVC(kernel="rbf", C=C, gamma=gamma, tol=1e-3, cache_size=20_000.0)
    model.fit(X, np.where(y > 0, 1.0, 0.0))
    u = np.zeros(len(y))
    u[_host(model.support_).astype(int).ravel()] = _host(model.dual_coef_).ravel()
    return Found(u, float(_host(model.intercept_).ravel()[0]), {"tol": 1e-3})


def torchkm_svc(X: np.ndarray, y: np.ndarray, C: float, gamma: float, device: str) -> Found:
    """Fit TorchKM's SVC, whose kernel is exp(-2 σ |x - x'|²), with its default tolerance."""
    from torchkm import TorchKMSVC

    model = TorchKMSVC(kernel="rbf", Cs=[C], nC=1, cv=2, rbf_sigma=0.5 * gamma, device=device)
    model.fit(X, y)
    says = {"tol": model.tol, "converged": bool(np.all(model.converged_))}
    return Found(np.asarray(model.alpha_), float(model.intercept_), says)


PEERS: dict[str, Callable[[np.ndarray, np.ndarray, float, float, str], Found]] = {
    "cuml": cuml_svc,
    "torchkm": torchkm_svc,
}
