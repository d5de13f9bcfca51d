"""The choice between exact and approximate paths."""

from typing import Any

from taupath.choices import METHODS
from taupath.validation import check_choice

# From this many samples on, method="auto" is approximate: with hundreds of features, the exact path
# of twice as many samples takes minutes.
MANY_SAMPLES = 20_000


def choose_method(method: Any, kernel: Any, n_samples: int) -> str:
    """Return "exact" or "approximate", for "auto" by the number of samples."""
    chosen = check_choice(method, "method", METHODS)
    linear = isinstance(kernel, str) and kernel == "linear"
    if chosen == "auto":
        chosen = "approximate" if linear and n_samples >= MANY_SAMPLES else "exact"
    return chosen
