"""All ways to probabilities, side by side."""

import numpy as np

from calibrators.base import Found
from calibrators.path import by_path
from calibrators.scikit_learn import by_calibration
from calibrators.venn_abers import by_venn_abers, installed

__all__ = ["METHODS", "PEERS", "VENN_ABERS", "all_methods"]

PEERS = ("sigmoid", "isotonic")
VENN_ABERS = "venn-abers"
METHODS = ("path", "recalibrated", *PEERS, *([VENN_ABERS] if installed() else []))


def all_methods(kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> dict[str, Found]:
    """Return what each method finds; "recalibrated" and "venn-abers" only for two classes."""
    found = by_path(kernel, X, y, X_test)
    found |= {peer: by_calibration(peer, kernel, X, y, X_test) for peer in PEERS}
    if VENN_ABERS in METHODS and len(np.unique(y)) == 2:
        found[VENN_ABERS] = by_venn_abers(kernel, X, y, X_test)
    return found
