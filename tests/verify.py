"""The one judge of the tests: optimality of a solution, from the original data alone.

It shares no code with the package. All of it is about one problem, in the scale of C::

    minimise   P(w) = 1/2 |w|^2 + sum_i h_i max(0, 1 - y_i f(x_i)),   f(x) = w.x + b
    maximise   D(theta) = sum_i theta_i - 1/2 |w(theta)|^2,           0 <= theta_i <= h_i

with ``h_i = 2 C (1 - tau) s_i`` for the positive class, ``2 C tau s_i`` for the negative one and
``s_i`` the sample weight (1 unless given); ``w(theta) = sum_i theta_i y_i z_i``, where z is x with
a 1 appended, so that b is the last entry of w and is regularised with it. Solutions come in the
paper's scale ``alpha = lam * theta``, ``lam = 1 / (n C)``, with ``c_i = lam * h_i``. Objectives
differ between the scales by the factor lam; the relative gap and the margins do not.

Any w and any theta in the box bound the optimum from above and below, so the gap may be taken
between w(theta) and theta or between a w given beside theta. The second is sharper in floating
point: where C is large, rounding theta alone moves w(theta) by more than a gap of 1e-9 allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[Any]

# A dual variable this close to an end of its box, relative to the widest box 2 C s, is at that end.
AT_BOUND = 1e-10
# A dual variable may leave its box by this much, relative to the widest box: rounding only.
OUT_OF_BOX = 1e-13


class Path(Protocol):
    """What a path has to offer to be judged."""

    def alpha(self, tau: float, /) -> Array: ...
    def coef(self, tau: float, /) -> Array: ...
    def intercept(self, tau: float, /) -> float: ...
    def index_sets(self, tau: float, /) -> tuple[Array, Array, Array]: ...


@dataclass(frozen=True)
class Verdict:
    """Everything about one solution at one tau.

    Attributes
    ----------
    box_violation
        How far theta leaves its box, relative to the widest box.
    primal, dual
        Objectives P and D in the scale of C. (In the paper's scale: times lam; and the paper
        minimises -D.)
    relative_gap
        (P - D) / P.
    kkt_violation
        The largest error of a margin y f(x), whose target is 1: below 1 at the lower end of the
        box, above 1 at the upper end, either way inside.
    weights
        The w of the primal objective and of the margins, the bias last.
    weights_error
        The largest entry of w - w(theta), in absolute value; 0 where w is w(theta).
    weights_rounding
        How much of that is due to alpha being rounded to double precision, at most.
    margins
        y_i f(x_i).
    theta, upper, widest
        Dual variables, the upper ends h of their boxes and the widest box, in the scale of C.
    """

    box_violation: float
    primal: float
    dual: float
    relative_gap: float
    kkt_violation: float
    weights: Array
    weights_error: float
    weights_rounding: float
    margins: Array
    theta: Array
    upper: Array
    widest: float


def signed(y: npt.ArrayLike) -> Array:
    """Return labels as -1 and +1, the greater label being positive."""
    labels = np.asarray(y)
    classes = np.unique(labels)
    assert len(classes) == 2, f"two classes are needed, got {classes}"
    return np.where(labels == classes[1], 1.0, -1.0)


def resolve_C(n_samples: int, C: float | None, lam: float | None) -> float:
    """Return C from exactly one of C and lam = 1/(n C)."""
    assert (C is None) != (lam is None), "give one of C and lam"
    if C is not None:
        return C
    assert lam is not None
    return 1.0 / (n_samples * lam)


def augmented(X: Any, bias: float = 1.0, dtype: type = np.float64) -> tuple[Any, Any]:
    """Return X with a last column for the bias, and the same in absolute values."""
    n = X.shape[0] if sparse.issparse(X) else len(X)
    if sparse.issparse(X) and dtype is np.float64:
        z = sparse.hstack([sparse.csr_array(X), np.full((n, 1), bias)], format="csr", dtype=dtype)
    else:
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
        z = np.column_stack([dense.astype(dtype), np.full(n, bias, dtype=dtype)])
    return z, abs(z)


def verdict(
    X: Any,
    y: npt.ArrayLike,
    C: float | None,
    tau: float,
    alpha: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    lam: float | None = None,
    sample_weight: npt.ArrayLike | None = None,
    bias: float = 1.0,
    dtype: type = np.float64,
    rows: tuple[Any, Any] | None = None,
) -> Verdict:
    """Recompute everything from the data.

    ``weights`` is a primal solution, bias last; without it w(theta) stands in. Without C, lam
    gives it. ``bias=0`` judges a path without intercept. ``dtype=numpy.longdouble`` recomputes in
    extended precision (small data only). ``rows`` is what :func:`augmented` returns, for callers
    that judge often.
    """
    sign: Array = signed(y).astype(dtype)
    n = len(sign)
    z, abs_z = augmented(X, bias, dtype) if rows is None else rows
    big_c = dtype(resolve_C(n, C, lam))
    share: Array = np.ones(n, dtype) if sample_weight is None else np.asarray(sample_weight, dtype)
    upper = 2 * big_c * share * np.where(sign > 0, 1 - dtype(tau), dtype(tau))
    widest = 2 * big_c * share.max()
    theta = np.asarray(alpha, dtype=dtype) * n * big_c
    assert theta.shape == (n,), f"alpha must have shape {(n,)}, got {theta.shape}"
    assert np.isfinite(theta).all(), "alpha is not finite"
    box_violation = max(np.max(-theta), np.max(theta - upper), 0) / widest

    w_theta = z.T @ (theta * sign)
    w = w_theta if weights is None else np.asarray(weights, dtype=dtype)
    assert w.shape == w_theta.shape, f"weights must have shape {w_theta.shape}, got {w.shape}"
    assert np.isfinite(w).all(), "weights are not finite"
    margins = sign * (z @ w)
    slack = np.maximum(0, 1 - margins)
    primal = (w @ w) / 2 + upper @ slack
    dual = theta.sum() - (w_theta @ w_theta) / 2
    # P - D = |w - w(theta)|^2 / 2 + sum_i [theta_i (margin_i - 1) + h_i slack_i], since
    # w.w(theta) = sum_i theta_i margin_i. No term is negative, so nothing large is subtracted.
    off = w - w_theta
    gap = (off @ off) / 2 + np.sum(theta * (margins - 1) + upper * slack)

    at_lower = theta <= AT_BOUND * widest
    at_upper = theta >= upper - AT_BOUND * widest
    too_low = np.where(at_upper, 0, np.maximum(0, 1 - margins))  # theta could still rise
    too_high = np.where(at_lower, 0, np.maximum(0, margins - 1))  # theta could still fall
    return Verdict(
        box_violation=float(box_violation),
        primal=float(primal),
        dual=float(dual),
        relative_gap=float(gap / primal),
        kkt_violation=float(max(too_low.max(), too_high.max())),
        weights=w,
        weights_error=float(np.max(np.abs(off))),
        weights_rounding=float(4 * np.finfo(np.float64).eps * (abs_z.T @ theta).max()),
        margins=margins,
        theta=theta,
        upper=upper,
        widest=float(widest),
    )


def duality_gap(
    X: Any, y: npt.ArrayLike, C: float | None, tau: float, alpha: Array, **kw: Any
) -> float:
    """Return (P - D) / P."""
    return verdict(X, y, C, tau, alpha, **kw).relative_gap


def kkt_violation(
    X: Any, y: npt.ArrayLike, C: float | None, tau: float, alpha: Array, **kw: Any
) -> float:
    """Return the largest error of a margin; margins are of unit scale."""
    return verdict(X, y, C, tau, alpha, **kw).kkt_violation


def assert_optimal(
    X: Any,
    y: npt.ArrayLike,
    C: float | None,
    tau: float,
    alpha: Array,
    *,
    gap: float = 1e-9,
    kkt: float = 1e-7,
    **kw: Any,
) -> Verdict:
    """Assert, one by one, that alpha is in its box, without a gap, and fits its margins."""
    found = verdict(X, y, C, tau, alpha, **kw)
    assert found.box_violation <= OUT_OF_BOX, (
        f"tau={tau!r}: theta leaves its box by {found.box_violation:.2e} of the widest box"
    )
    assert found.primal > 0, f"tau={tau!r}: primal objective {found.primal}"
    assert abs(found.relative_gap) <= gap, f"tau={tau!r}: relative gap {found.relative_gap:.2e}"
    # The same gap as a plain difference, to the rounding of the two objectives.
    plain = (found.primal - found.dual) / found.primal
    scale = 1 + found.theta.sum() / found.primal
    assert abs(plain) <= gap + 1e-12 * float(scale), f"tau={tau!r}: P - D is {plain:.2e} of P"
    assert found.kkt_violation <= kkt, f"tau={tau!r}: KKT violation {found.kkt_violation:.2e}"
    return found


def assert_index_sets(
    found: Verdict, sets: tuple[Array, Array, Array], tau: float, kkt: float = 1e-7
) -> None:
    """Assert that (L, M, R) part the samples and fit their dual variables and margins."""
    left, margin, right = (np.asarray(s) for s in sets)
    together = np.sort(np.concatenate([left, margin, right]))
    np.testing.assert_array_equal(together, np.arange(len(found.theta)), err_msg=f"tau={tau!r}")
    none = AT_BOUND * found.widest
    off = np.abs(found.theta - found.upper)[left]
    assert np.all(off <= none), f"tau={tau!r}: L has a dual variable {off.max():.2e} off its bound"
    assert np.all(found.theta[right] <= none), f"tau={tau!r}: R has a dual variable above 0"
    assert np.all(found.margins[left] <= 1 + kkt), f"tau={tau!r}: L has a margin above 1"
    assert np.all(found.margins[right] >= 1 - kkt), f"tau={tau!r}: R has a margin below 1"
    off = np.abs(found.margins[margin] - 1)
    assert np.all(off <= kkt), f"tau={tau!r}: M is off the margin by {off.max():.2e}"


def assert_certified(
    path: Path,
    X: Any,
    y: npt.ArrayLike,
    C: float | None,
    taus: npt.ArrayLike,
    gap: float = 1e-9,
    kkt: float = 1e-7,
    **kw: Any,
) -> None:
    """Assert at every one of these tau that a path is right in all it says.

    Dual solution, coefficients and intercept make an optimal pair, the coefficients follow from
    the dual solution, and the index sets fit. The keywords of :func:`verdict` are passed on.
    """
    kw["rows"] = augmented(X, kw.get("bias", 1.0), kw.get("dtype", np.float64))
    for tau in map(float, np.atleast_1d(np.asarray(taus, dtype=np.float64))):
        said = np.append(np.ravel(path.coef(tau)), path.intercept(tau))
        found = assert_optimal(X, y, C, tau, path.alpha(tau), weights=said, gap=gap, kkt=kkt, **kw)
        size = 1 + float(np.max(np.abs(said)))
        assert found.weights_error <= kkt * size + found.weights_rounding, (
            f"tau={tau!r}: coef and alpha disagree by {found.weights_error:.2e}"
        )
        assert_index_sets(found, path.index_sets(tau), tau, kkt)


def kinks_and_midpoints(taus: npt.ArrayLike, at_most: int = 2000, seed: int = 0) -> Array:
    """Return all kinks and the midpoints between them, or a sample that keeps both ends."""
    kinks = np.asarray(taus, dtype=np.float64)
    both = np.unique(np.concatenate([kinks, (kinks[:-1] + kinks[1:]) / 2]))
    if len(both) <= at_most:
        return both
    inner = np.random.default_rng(seed).choice(both[1:-1], at_most - 2, replace=False)
    return np.sort(np.concatenate([both[:1], inner, both[-1:]]))
