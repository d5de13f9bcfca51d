"""A problem: the data and the arguments of one of the three functions that return a path."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

CLASSIFICATION, REGULARIZATION, REGRESSION = "classification", "regularization", "regression"


@dataclass
class Problem:
    """What is fitted: the job, X, y and the other arguments."""

    job: str
    X: Any  # ndarray or csr_array; the kernel matrix if `kernel` is "precomputed"
    y: np.ndarray
    C: float = 1.0  # C_max for the path over C
    tau: float = 0.5  # only for the path over C
    intercept: str = "augmented"
    weight: np.ndarray | None = None
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)  # tau_range, n_jobs, cache_size

    def fit(self) -> Any:
        """Return the path."""
        import taupath

        common: dict[str, Any] = {"intercept": self.intercept, "sample_weight": self.weight}
        if self.kernel != "linear":
            common["kernel"] = self.kernel
        if self.kernel in ("rbf", "poly"):
            common["gamma"] = self.gamma
        if self.kernel == "poly":
            common |= {"degree": self.degree, "coef0": self.coef0}
        common |= self.options
        if self.job == REGULARIZATION:
            return taupath.regularization_path(self.X, self.y, tau=self.tau, C_max=self.C, **common)
        if self.job == REGRESSION:
            return taupath.quantile_regression_path(self.X, self.y, C=self.C, **common)
        return taupath.quantile_path(self.X, self.y, C=self.C, **common)

    @property
    def dense(self) -> np.ndarray:
        """X as a dense array."""
        return self.X.toarray() if sparse.issparse(self.X) else np.asarray(self.X)

    def describe(self) -> str:
        """Return the problem in one line."""
        n, d = self.X.shape
        shape = f"{n} × {d}{' sparse' if sparse.issparse(self.X) else ''}"
        words = [self.job, shape, f"C={self.C:.3g}", self.intercept]
        if self.job == REGULARIZATION:
            words.append(f"tau={self.tau:.3g}")
        if self.kernel != "linear":
            words.append(self.kernel)
        if self.kernel in ("rbf", "poly"):
            words.append(f"gamma={self.gamma:.3g}")
        if self.kernel == "poly":
            words.append(f"degree={self.degree} coef0={self.coef0:g}")
        if self.weight is not None:
            words.append(f"weights {self.weight.min():.1e}…{self.weight.max():.1e}")
        words += [f"{name}={value}" for name, value in self.options.items()]
        return " ".join(words)
