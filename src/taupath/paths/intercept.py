"""The intercept: none, a feature like the others, or one whose weight costs nothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.choices import INTERCEPTS
from taupath.paths.blocks import slices
from taupath.validation import check_choice

# Entries of X that are squared at a time, so that the squares take 8 MB at most.
ENTRIES_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class Intercept:
    """The constant part of the decision function.

    A constant feature `bias` is appended to every sample, 0 for none. If `free`, its weight costs
    nothing: then Σ sign_i θ_i = 0, and the size of the feature affects nothing but rounding.
    """

    bias: float
    free: bool = False

    @property
    def kind(self) -> str:
        """The user's name of this kind of intercept."""
        if self.free:
            return "free"
        return "augmented" if self.bias else "none"


def make_intercept(intercept: Any, X: "np.ndarray | sp.csr_array") -> Intercept:
    """Return the intercept of this kind for the linear kernel with features X."""
    constant = fixed_intercept(intercept)
    if constant is not None:
        return constant
    values = (X if isinstance(X, np.ndarray) else X.data).ravel()
    squares = sum(
        float(np.square(values[some], dtype=np.float64).sum())
        for some in slices(len(values), ENTRIES_AT_A_TIME)
    )
    return free_intercept(squares / X.shape[0])


def fixed_intercept(intercept: Any) -> Intercept | None:
    """Return the intercept of this kind; None if it is free, since its feature depends on X."""
    choice = check_choice(intercept, "intercept", INTERCEPTS)
    return {"augmented": Intercept(1.0), "none": Intercept(0.0)}.get(choice)


def free_intercept(mean_square: float) -> Intercept:
    """Return a free intercept whose feature is as large as the samples are long."""
    return Intercept(float(np.sqrt(max(mean_square, 0.0))) or 1.0, free=True)
