"""Checks of what users pass in. Each error names the argument, what was wrong, and where."""

import math
import numbers
import os
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

# Samples and features are numbered by int32, and their number plus one must also fit.
MAX_ROWS = 2**31 - 2
# Bounds on features, weights and C. C · weight · feature² is then at most 1e240, and sums of such
# products over all samples and features stay below the largest double, 1.8e308.
LARGEST = 1e60
SMALLEST_C = 1e-60
# Values of a parameter that a cross-validation tries at most: each takes a fit on every fold.
MOST_CANDIDATE_VALUES = 10_000
# Smaller features count as 0: their squares, 1e-200, still are normal numbers, which smaller ones
# are not, and they change no margin that anybody can see.
NO_FEATURE = 1e-100
# Characters of a user's value that a message shows, and entries of an array.
SHOWN, ENTRIES_SHOWN = 60, 5
# The default of C: an object of its own, so that it differs from a 1.0 that the user wrote.
DEFAULT_C = float("1.0")
# If C and 1 / (n λ) differ by less than this, relatively, only rounding sets them apart.
SAME_C = 1e-9
UNIT_INTERVAL = (0.0, 1.0)


@dataclass(frozen=True)
class Checked:
    """Features that `check_features` has returned: finite, and not checked for that again."""

    features: "np.ndarray | sp.csr_array"
    columns: "np.ndarray | None" = None  # names of the features, where there are any
    source: Any = None  # computes their kernels, see `approximate.kernel_source`

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of features."""
        n_samples, n_features = self.features.shape
        return n_samples, n_features

    def __getitem__(self, which: Any) -> "Checked":
        source = None if self.source is None else self.source[which]
        return Checked(self.features[which], self.columns, source)


def shown(value: Any) -> str:
    """Return how an error shows a user's value: in one line, and cut where it is long."""
    if isinstance(value, np.ndarray) and value.size > ENTRIES_SHOWN:
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    value = value.item() if isinstance(value, np.generic) else value
    try:
        text = " ".join(_SHORT.repr(value).split())
    except Exception:  # of a class of the user's
        text = f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = SHOWN


def refuse_masked(values: Any, name: str) -> None:
    """Raise if some entries are masked: NumPy would silently use what is behind the mask."""
    if isinstance(values, (list, tuple)):
        for part in values:
            if isinstance(part, np.ma.MaskedArray):
                refuse_masked(part, name)
    elif isinstance(values, np.ma.MaskedArray):
        at = _first(np.ma.getmaskarray(values))
        if at is not None:
            place = ", ".join(map(str, at))
            raise ValueError(
                f"{name} has masked entries (first at [{place}]): leave out or fill in what is "
                "missing"
            )


def on_host(values: Any, name: str) -> Any:
    """Return an array of another library as one of NumPy, and anything else as it is.

    An array in the memory of the host is not copied. One on a device is refused, as NumPy and the
    library do: whoever made it decides when it is copied.
    """
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return values
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        why = str(error).split(". ")[0].split("\n")[0].rstrip(".")
        raise TypeError(
            f"{name} is an array that NumPy cannot read ({why}): copy it to the host first, with "
            "cupy.asnumpy(array) or tensor.detach().cpu().numpy(); only fits with a kernel and "
            "method='approximate' take arrays on a GPU"
        ) from None


def is_dask(*values: Any) -> bool:
    """Return whether one of these is a Dask collection."""
    return any(hasattr(value, "__dask_graph__") for value in values)


def check_features(X: Any, single: bool = False) -> "np.ndarray | sp.csr_array":
    """Return X as C-contiguous float64 or as CSR with sorted, unique indices.

    Copies only where storage or precision has to change. With `single`, float32 stays float32.
    """
    known = isinstance(X, Checked)
    X = X.features if known else X
    if sp.issparse(X):
        return _check_sparse(X, single, known)
    array = _as_real(X, "X")
    if array.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (n_samples, n_features), got shape {array.shape}"
        )
    _check_shape(array.shape)
    with np.errstate(over="ignore"):  # a long double may become infinite, which is found below
        array = np.ascontiguousarray(array, dtype=_precision(array.dtype, single))
    if not known:
        tiny = _check_size(array, "X") < NO_FEATURE
        if array[tiny].any():
            array = np.where(tiny, 0.0, array)
    return array


def _check_sparse(X: Any, single: bool, known: bool) -> "sp.csr_array":
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {X.shape}")
    _check_real_dtype(X.dtype, "X")
    _check_shape(X.shape)
    try:
        csr = sp.csr_array(X, dtype=_precision(X.dtype, single))
        if not known:
            csr.check_format(full_check=True)  # the core trusts the indices
    except ValueError as error:
        raise ValueError(f"X is not a valid sparse matrix: {error}") from None
    if not csr.has_canonical_format:
        csr = csr.copy()  # the caller's matrix stays as it is
        csr.sum_duplicates()
    if not known:
        size = _check_size(csr.data, "X", lambda k: _place_in_csr(csr, k))
        if (size < NO_FEATURE).any():
            data = np.where(size < NO_FEATURE, 0.0, csr.data)
            csr = sp.csr_array((data, csr.indices, csr.indptr), shape=csr.shape, copy=True)
            csr.eliminate_zeros()
    return csr


def _place_in_csr(csr: "sp.csr_array", k: int) -> tuple[int, int]:
    """Return row and column of the k-th stored entry."""
    return int(np.searchsorted(csr.indptr, k, side="right")) - 1, int(csr.indices[k])


def _precision(dtype: np.dtype, single: bool) -> type:
    return np.float32 if single and dtype == np.float32 else np.float64


def _check_shape(shape: tuple[int, ...]) -> None:
    if 0 in shape:
        raise ValueError(f"X is empty: shape {shape}")
    for count, what in zip(shape, ("rows", "features"), strict=True):
        if count > MAX_ROWS:
            raise ValueError(f"X has {count} {what}, more than {MAX_ROWS}")


def check_new_features(
    X: Any, n_features: int, single: bool = False
) -> "np.ndarray | sp.csr_array":
    """Return X checked, with the number of features of the training data."""
    checked = check_features(X, single)
    if checked.shape[1] != n_features:
        raise ValueError(f"X has {checked.shape[1]} features, the path was made with {n_features}")
    return checked


def check_numbers(value: Any, name: str) -> np.ndarray:
    """Return a number (no dimension) or an array of numbers, finite or not, as float64."""
    refuse_masked(value, name)
    value = on_host(value, name)
    try:
        array = np.asarray(value)
        flag = array.dtype.kind == "b" and array.ndim == 0
        if value is not None and array.dtype.kind in "biufO" and not flag:  # None would become NaN
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise TypeError(f"{name} must be a number or an array of numbers, got {shown(value)}")


def _as_real(values: Any, name: str) -> np.ndarray:
    refuse_masked(values, name)
    values = on_host(values, name)
    try:
        array = np.asarray(values)
        columns = values.dtypes if hasattr(values, "columns") else [array.dtype]
        if array.dtype.kind == "O" and all(getattr(c, "kind", "O") in "fiub" for c in columns):
            # a data frame whose columns may have missing numbers, which NumPy takes for objects
            array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers: {error}") from None
    _check_real_dtype(array.dtype, name)
    return array


def _check_real_dtype(dtype: np.dtype, name: str) -> None:
    if dtype.kind not in "fiub":
        advice = ""
        if dtype.kind == "O":
            advice = ": turn text, missing values and numbers of other kinds into floats first"
        raise TypeError(f"{name} must hold real numbers, got dtype {dtype}{advice}")


def _check_size(
    values: np.ndarray, name: str, place_of: Callable[[int], tuple[int, ...]] | None = None
) -> np.ndarray:
    """Return absolute values; refuse NaN, infinity and numbers too large to be squared and summed.

    `place_of` turns the position of an entry into one that the user knows.
    """
    size = np.abs(values)
    # the comparison is false for NaN; no finite float32 is too large
    at = _first(~(np.isfinite(size) if size.dtype == np.float32 else size <= LARGEST))
    if at is None:
        return np.asarray(size)
    value = float(values[at])
    why, advice = f", larger than {LARGEST:g} in absolute value", "divide it by a constant"
    if not math.isfinite(value):
        why, advice = "", "leave out or fill in what is missing"
    place = ", ".join(map(str, at if place_of is None else place_of(at[0])))
    raise ValueError(f"{name} contains {value}{why} (first at [{place}]): {advice}")


def first_not_finite(values: np.ndarray) -> tuple[int, ...] | None:
    """Return the position of the first NaN or infinity in an array, None if there is none."""
    return _first(~np.isfinite(values))


def _first(mask: np.ndarray) -> tuple[int, ...] | None:
    """Return the position of the first true entry, None if there is none."""
    if not mask.any():
        return None
    return tuple(int(k) for k in np.unravel_index(int(mask.argmax()), mask.shape))


def check_labels(y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the two classes (sorted) and which samples have the second, positive one."""
    labels, classes = find_labels(y, n_samples)
    check_two_classes(classes)
    return classes, labels == classes[1]


def find_labels(y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of all samples, and each label once, sorted."""
    refuse_masked(y, "y")
    try:
        array = np.asarray(on_host(y, "y"))
    except ValueError as error:
        raise ValueError(f"y is not an array of labels: {error}") from None
    labels = one_column(array, n_samples, "labels")
    if labels.dtype.kind == "c":
        raise TypeError(f"y must hold labels, got dtype {labels.dtype}")
    at = first_not_finite(labels) if labels.dtype.kind == "f" else None
    if at is not None:
        raise ValueError(f"y contains {labels[at]} (first at [{at[0]}])")
    try:
        return labels, np.unique(labels)
    except TypeError:
        raise TypeError("y mixes labels that cannot be sorted, such as numbers and text") from None


def check_two_classes(classes: np.ndarray) -> None:
    """Raise unless there are exactly two classes."""
    if len(classes) != 2:
        some = ", ".join(shown(c) for c in classes[:5].tolist())
        more = ", ..." if len(classes) > 5 else ""
        raise ValueError(f"y must have exactly two classes, got {len(classes)}: {some}{more}")


def check_known_labels(present: np.ndarray, classes: np.ndarray) -> None:
    """Raise if some of these labels are not among the classes that an estimator was fitted with."""
    unknown = np.unique(present[~np.isin(present, classes)]).tolist()
    if unknown:
        some = ", ".join(map(shown, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise ValueError(f"y has labels that the estimator was not fitted with: {some}")


def check_targets(y: Any, n_samples: int) -> np.ndarray:
    """Return the numbers to be predicted, as float64."""
    targets = one_column(_as_real(y, "y").astype(np.float64), n_samples, "values")
    _check_size(targets, "y")
    return targets


def one_column(y: np.ndarray, n_samples: int, what: str) -> np.ndarray:
    """Return y with one dimension; two dimensions with a single column are accepted."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, got shape {y.shape}")
    if len(y) != n_samples:
        raise ValueError(f"y has {len(y)} {what}, X has {n_samples} rows")
    return y


def check_weight(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return one weight per sample, at least one of them above zero; ones for None."""
    weight = check_some_weights(sample_weight, n_samples)
    if not (weight > 0).any():
        raise ValueError("sample_weight is zero for every sample")
    return weight


def check_some_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return one weight per sample, possibly all zero; ones for None."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = _as_real(sample_weight, "sample_weight").astype(np.float64)
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}, expected ({n_samples},)")
    _check_size(weight, "sample_weight")
    at = _first(weight < 0)
    if at is not None:
        raise ValueError(f"sample_weight is negative: {weight[at]} at [{at[0]}]")
    return weight


def check_weighted_classes(weight: np.ndarray, classes: np.ndarray, positive: np.ndarray) -> None:
    """Raise if one of the classes has samples of weight 0 only: weight 0 means absence."""
    for label, members in zip(classes.tolist(), (~positive, positive), strict=True):
        if not (weight[members] > 0).any():
            raise ValueError(f"sample_weight is zero for every sample of class {shown(label)}")


def check_real(value: Any, name: str) -> float:
    """Return a real number; booleans are refused."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large for a float: {shown(value)}") from None


def check_positive(value: Any, name: str) -> float:
    """Return a finite number above zero."""
    number = check_real(value, name)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be finite and above 0, got {shown(value)}")
    return number


def check_integer(value: Any, name: str, least: int, or_else: str | None = None) -> int:
    """Return an integer of at least `least`; booleans are refused."""
    integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not integral or value < least:
        expected = f"an integer of at least {least}" + (f" or {or_else}" if or_else else "")
        raise ValueError(f"{name} must be {expected}, got {shown(value)}")
    return int(value)


def check_choice(
    value: Any, name: str, choices: tuple[str, ...], or_else: str | None = None
) -> str:
    """Return one of `choices`; `or_else` says what else the caller would have taken."""
    if isinstance(value, str) and value in choices:
        return value
    expected = ", ".join(map(repr, choices)) + (f" or {or_else}" if or_else else "")
    wrong = ValueError if isinstance(value, str) else TypeError
    raise wrong(f"{name} must be one of {expected}, got {shown(value)}")


def check_C(C: Any, name: str = "C") -> float:
    """Return a C that does not overflow in products with features and weights."""
    number = check_positive(C, name)
    if not SMALLEST_C <= number <= LARGEST:
        raise ValueError(f"{name} must lie between {SMALLEST_C:g} and {LARGEST:g}, got {shown(C)}")
    return number


def regularization_to_C(C: Any, lam: Any, n_samples: int, copied: bool = False) -> float:
    """Return C, or 1 / (n λ) if λ is given. Giving both is an error unless they agree.

    `DEFAULT_C` counts as not given. It is recognised by identity or, if C may have been `copied`
    (as parameters of estimators are), by its value.
    """
    if lam is None:
        return check_C(C)
    from_lam = 1.0 / n_samples / check_positive(lam, "lam")
    check_C(from_lam, f"lam={lam!r} means C = 1/(n lam), which")
    default = C is DEFAULT_C or (copied and C == DEFAULT_C)
    if not default and not math.isclose(check_positive(C, "C"), from_lam, rel_tol=SAME_C):
        raise ValueError(
            f"C={C!r} and lam={lam!r} contradict each other: lam means C = 1/(n lam) = "
            f"{from_lam!r}; give one of them"
        )
    return from_lam


def check_range(tau_range: Any, name: str = "tau_range") -> tuple[float, float]:
    """Return the two ends of an interval within [0, 1]."""
    try:
        begin, end = tau_range
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair of numbers, got {shown(tau_range)}") from None
    begin, end = check_real(begin, name), check_real(end, name)
    if not 0.0 <= begin < end <= 1.0:
        raise ValueError(f"{name} must satisfy 0 <= a < b <= 1, got {shown(tau_range)}")
    return begin, end


def check_within(value: Any, name: str, walked: tuple[float, float]) -> float:
    """Return the parameter of a path if it lies within the walked range."""
    number = check_real(value, name)
    if not walked[0] <= number <= walked[1]:
        raise _outside(name, walked, value)
    return number


def check_all_within(values: np.ndarray, name: str, walked: tuple[float, float]) -> np.ndarray:
    """Return an array of any shape if all its entries lie within the walked range."""
    inside = (values >= walked[0]) & (values <= walked[1])  # false for NaN
    if not inside.all():
        raise _outside(name, walked, float(values[~inside].flat[0]))
    return values


def _outside(name: str, walked: tuple[float, float], value: Any) -> ValueError:
    bounds = f"[{walked[0]:g}, {walked[1]:g}]"
    where = bounds if walked == UNIT_INTERVAL else f"the walked range {bounds}"
    return ValueError(f"{name} must lie in {where}, got {shown(value)}")


def one_or_several(value: Any, several: Any, name: str) -> Any:
    """Return the value of a path's parameter that was asked for, or an array of several."""
    if value is None and several is None:
        raise TypeError(f"{name} must be a real number, got None; for several give taus")
    if value is not None and several is not None:
        raise TypeError("give tau or taus, not both")
    if several is not None:
        array = check_numbers(several, "taus")
        if array.ndim != 1:
            raise ValueError(
                f"taus must be one-dimensional, one value per column, got shape {array.shape}"
            )
        return array
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        return value
    array = check_numbers(value, name)
    if array.ndim > 1:
        raise ValueError(
            f"{name} must be a number or have one dimension, one value per column, got shape "
            f"{array.shape}; for one value per row use decide_each"
        )
    return value if array.ndim == 0 else array


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


def check_verbose(verbose: Any) -> bool:
    """Return whether progress is to be shown."""
    if not isinstance(verbose, (int, np.integer, np.bool_)) or verbose < 0:
        raise ValueError(f"verbose must be 0 or 1, got {shown(verbose)}")
    return bool(verbose)


def check_progress(progress: Any) -> Any:
    """Return a callable, or None."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable or None, got {shown(progress)}")
    return progress


def check_n_jobs(n_jobs: Any) -> int:
    """Return how many jobs may run at a time; -1 means one for each processor."""
    if n_jobs is None:
        return 1
    integral = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if not integral or n_jobs == 0 or abs(n_jobs) > MAX_ROWS:
        raise ValueError(f"n_jobs must be None, -1 or a number of jobs, got {shown(n_jobs)}")
    return int(n_jobs) if n_jobs > 0 else max((os.cpu_count() or 1) + 1 + int(n_jobs), 1)
