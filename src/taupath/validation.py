"""Checks of what users pass in: each error names the argument and the offending value."""

import math
import numbers
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = [
    "check_C",
    "check_choice",
    "check_features",
    "check_labels",
    "check_levels",
    "check_n_jobs",
    "check_new_features",
    "check_positive",
    "check_progress",
    "check_range",
    "check_real",
    "check_some_weights",
    "check_targets",
    "check_two_classes",
    "check_weight",
    "check_weighted_classes",
    "check_within",
    "find_labels",
    "first_not_finite",
    "one_or_several",
    "regularization_to_C",
    "slices",
]

MAX_ROWS = 2**31 - 2
# Features, weights and C up to this size: their product, with the feature squared, and sums of
# such products over all samples and features still fit a double.
LARGEST = 1e60


def check_features(X: Any, single: bool = False) -> "np.ndarray | sp.csr_array":
    """Return X as C-contiguous float64 or as CSR with sorted unique int32 indices.

    Copies only where storage or precision has to change. With `single`, float32 stays float32.
    """
    if sp.issparse(X):
        return _check_sparse(X, single)
    array = _as_real(X, "X")
    if array.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (n_samples, n_features), got shape {array.shape}"
        )
    _check_size(array.shape)
    with np.errstate(over="ignore"):  # a long double may become infinite, which is found below
        array = np.ascontiguousarray(array, dtype=_precision(array.dtype, single))
    _check_size_of_values(array, "X")
    return array


def _precision(dtype: np.dtype, single: bool) -> type:
    return np.float32 if single and dtype == np.float32 else np.float64


def _check_sparse(X: Any, single: bool) -> "sp.csr_array":
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {X.shape}")
    _check_real_dtype(X.dtype, "X")
    _check_size(X.shape)
    if X.shape[1] > MAX_ROWS:
        raise ValueError(f"X has {X.shape[1]} features, more than {MAX_ROWS}")
    try:
        csr = sp.csr_array(X, dtype=_precision(X.dtype, single))
        csr.check_format(full_check=True)  # the core trusts the indices
    except ValueError as error:
        raise ValueError(f"X is not a valid sparse matrix: {error}") from None
    if not csr.has_canonical_format:
        csr = csr.copy()  # the caller's matrix stays as it is
        csr.sum_duplicates()
    _check_size_of_values(csr.data, "X", lambda k: _place_in_csr(csr, k))
    return csr


def _place_in_csr(csr: "sp.csr_array", k: int) -> tuple[int, int]:
    """Return row and column of the k-th stored entry."""
    return int(np.searchsorted(csr.indptr, k, side="right")) - 1, int(csr.indices[k])


def _as_real(values: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers: {error}") from None
    _check_real_dtype(array.dtype, name)
    return array


def _check_real_dtype(dtype: np.dtype, name: str) -> None:
    if dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {dtype}")


def _check_size(shape: tuple[int, ...]) -> None:
    if shape[0] == 0 or shape[1] == 0:
        raise ValueError(f"X is empty: shape {shape}")
    if shape[0] > MAX_ROWS:
        raise ValueError(f"X has {shape[0]} rows, more than {MAX_ROWS}")


def _check_size_of_values(
    values: np.ndarray,
    name: str,
    place_of: Callable[[int], tuple[int, int]] | None = None,
) -> None:
    """Refuse NaN, infinity and what is too large to be squared and summed.

    `place_of` turns the position of an entry of one-dimensional `values` into one that the user
    knows.
    """
    # the comparison is not true of NaN either; no float32 is too large
    fine = np.isfinite(values) if values.dtype == np.float32 else np.abs(values) <= LARGEST
    if fine.all():
        return
    at = tuple(int(k) for k in np.argwhere(~fine)[0])
    value = float(values[at])
    if place_of is not None:
        at = place_of(at[0])
    place = ", ".join(str(k) for k in at)
    why = "" if not math.isfinite(value) else f", larger than {LARGEST:g} in absolute value"
    raise ValueError(f"{name} contains {value}{why} (first at [{place}])")


def check_new_features(
    X: Any, n_features: int, single: bool = False
) -> "np.ndarray | sp.csr_array":
    """Return X checked, with the number of features of the training data."""
    checked = check_features(X, single)
    if checked.shape[1] != n_features:
        raise ValueError(f"X has {checked.shape[1]} features, the path was made with {n_features}")
    return checked


def check_labels(y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the two classes (sorted) and which samples have the second, positive one."""
    labels, classes = find_labels(y, n_samples)
    check_two_classes(classes)
    return classes, labels == classes[1]


def find_labels(y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of all samples, and each label once, sorted."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, got shape {labels.shape}")
    if len(labels) != n_samples:
        raise ValueError(f"y has {len(labels)} labels, X has {n_samples} rows")
    if labels.dtype.kind == "c":
        raise TypeError(f"y must hold labels, got dtype {labels.dtype}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        at = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(f"y contains {labels[at]} (first at [{at}])")
    try:
        classes = np.unique(labels)
    except TypeError:
        raise TypeError("y mixes labels that cannot be sorted, such as numbers and text") from None
    return labels, classes


def check_two_classes(classes: np.ndarray) -> None:
    """Refuse all but two."""
    if len(classes) != 2:
        shown = ", ".join(repr(c) for c in classes[:5].tolist())
        more = ", ..." if len(classes) > 5 else ""
        raise ValueError(f"y must have exactly two classes, got {len(classes)}: {shown}{more}")


def check_weight(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return one weight per sample, ones for None."""
    weight = check_some_weights(sample_weight, n_samples)
    if not (weight > 0).any():
        raise ValueError("sample_weight is zero for every sample")
    return weight


def check_some_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return the weights of some samples, which may all be zero; ones for None."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = _as_real(sample_weight, "sample_weight").astype(np.float64)
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}, expected ({n_samples},)")
    _check_size_of_values(weight, "sample_weight")
    if (weight < 0).any():
        at = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(f"sample_weight is negative: {weight[at]} at [{at}]")
    return weight


def check_weighted_classes(weight: np.ndarray, classes: np.ndarray, positive: np.ndarray) -> None:
    """Refuse weights that leave one class only: weight 0 means absence."""
    for label, members in zip(classes.tolist(), (~positive, positive), strict=True):
        if not (weight[members] > 0).any():
            raise ValueError(f"sample_weight is zero for every sample of class {label!r}")


def check_real(value: Any, name: str) -> float:
    """Return a number that is real and no truth value."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    return float(value)


def check_positive(value: Any, name: str) -> float:
    """Return a finite number above zero."""
    number = check_real(value, name)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be finite and above 0, got {value!r}")
    return number


def _check_C(C: float, given: str) -> float:
    """Refuse a C out of all proportion."""
    if not 1.0 / LARGEST <= C <= LARGEST:
        raise ValueError(f"{given} must lie between {1.0 / LARGEST:g} and {LARGEST:g}, got {C!r}")
    return C


def check_C(C: Any, name: str = "C") -> float:
    """Return a C that numbers can be computed with."""
    return _check_C(check_positive(C, name), name)


def regularization_to_C(C: Any, lam: Any, n_samples: int) -> float:
    """Return C; from λ as 1 / (n λ). Giving both is an error unless they mean the same."""
    if lam is None:
        return check_C(1.0 if C is None else C)
    from_lam = 1.0 / n_samples / check_positive(lam, "lam")
    _check_C(from_lam, f"lam={lam!r} means C = 1/(n lam), which")
    if C is not None and not math.isclose(check_positive(C, "C"), from_lam, rel_tol=1e-9):
        raise ValueError(
            f"C={C!r} and lam={lam!r} contradict each other: lam means C = 1/(n lam) = "
            f"{from_lam!r}; give one of them"
        )
    return from_lam


def check_range(tau_range: Any, name: str = "tau_range") -> tuple[float, float]:
    """Return the two ends of a stretch within [0, 1]."""
    try:
        begin, end = tau_range
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair of numbers, got {tau_range!r}") from None
    begin, end = check_real(begin, name), check_real(end, name)
    if not 0.0 <= begin < end <= 1.0:
        raise ValueError(f"{name} must satisfy 0 <= a < b <= 1, got {tau_range!r}")
    return begin, end


def check_within(value: Any, name: str, walked: tuple[float, float]) -> float:
    """Return the parameter of a path if it lies within the walked stretch."""
    number = check_real(value, name)
    begin, end = walked
    if not begin <= number <= end:
        raise ValueError(f"{name} must lie in the walked range [{begin:g}, {end:g}], got {value!r}")
    return number


def check_choice(
    value: Any, name: str, choices: tuple[str, ...], or_else: str | None = None
) -> str:
    """Return one of `choices`; `or_else` says what else the caller would have taken."""
    expected = ", ".join(map(repr, choices)) + (f" or {or_else}" if or_else else "")
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {expected}, got {value!r}")
    if value not in choices:
        raise ValueError(f"{name} must be one of {expected}, got {value!r}")
    return value


def check_targets(y: Any, n_samples: int) -> np.ndarray:
    """Return the numbers to be predicted."""
    targets = _as_real(y, "y").astype(np.float64)
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim != 1:
        raise ValueError(f"y must have one dimension, got shape {targets.shape}")
    if len(targets) != n_samples:
        raise ValueError(f"y has {len(targets)} values, X has {n_samples} rows")
    _check_size_of_values(targets, "y")
    return targets


def first_not_finite(values: np.ndarray) -> tuple[int, ...] | None:
    """Return where an array first is infinite or no number, None if nowhere."""
    finite = np.isfinite(values)
    if finite.all():
        return None
    return tuple(int(k) for k in np.unravel_index(int(finite.argmin()), values.shape))


def check_verbose(verbose: Any) -> bool:
    """Return whether progress is to be shown."""
    if not isinstance(verbose, (bool, int, np.integer, np.bool_)) or verbose < 0:
        raise ValueError(f"verbose must be 0 or 1, got {verbose!r}")
    return bool(verbose)


def check_progress(progress: Any) -> Any:
    """Return something to call, or None."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable or None, got {progress!r}")
    return progress


def check_levels(level: Any, n_samples: int) -> np.ndarray:
    """Return one level for each sample."""
    levels = _as_real(level, "level").astype(np.float64)
    if levels.ndim > 1 or (levels.ndim == 1 and len(levels) != n_samples):
        raise ValueError(
            f"level must be a number or have shape ({n_samples},), got shape {levels.shape}"
        )
    if np.isnan(levels).any():
        raise ValueError("level must not be NaN")
    return np.array(np.broadcast_to(levels, (n_samples,)))


def one_or_several(value: Any, several: Any, name: str) -> Any:
    """Return the value of the path's parameter that was asked for, or an array of several."""
    if value is None and several is None:
        raise TypeError(f"{name} must be a real number, got None; for several give taus")
    if value is not None and several is not None:
        raise TypeError("give tau or taus, not both")
    if several is not None:
        if np.ndim(several) != 1:
            raise ValueError(
                f"taus must be one-dimensional, one value per column, got shape {np.shape(several)}"
            )
        return np.asarray(several)
    if np.ndim(value) > 1:
        raise ValueError(
            f"{name} must be a number or have one dimension, one value per column, got shape "
            f"{np.shape(value)}; for one value per row use decide_each"
        )
    return value if np.ndim(value) == 0 else np.asarray(value)


def slices(length: int, step: int) -> list[slice]:
    """Return slices of at most `step` that together cover `length`."""
    return [slice(first, min(first + step, length)) for first in range(0, length, step)]


def check_n_jobs(n_jobs: Any) -> int:
    """Return how many jobs there may be at a time; -1 is as many as there are processors."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None, -1 or a number of jobs, got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max((os.cpu_count() or 1) + 1 + int(n_jobs), 1)
