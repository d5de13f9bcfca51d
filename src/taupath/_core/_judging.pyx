"""One pass over all points that says how far a solution is from optimal.

Sums are taken in blocks, so that rounding hardly adds up.
"""

from libc.math cimport NAN, fabs

import numpy as np

from taupath._core._rows cimport BLOCK
from taupath._core._status cimport FREE, UPPER


def judge(line, double t, const signed char[::1] status, const double[::1] theta,
          const double[::1] margin, const double[::1] length, double at_bound, double narrowest):
    """Judge θ and w, where `margin` are the <z_i, w>, at t on an `engine.problem.Line`.

    Points that are not free count as being at their bounds. If any margin or θ is not a finite
    number, none of the sums and maxima is a number.

    Parameters
    ----------
    length : ndarray
        The lengths of the z_i.
    at_bound : float
        A θ this close to a bound, relative to the width of its box, has no room there.
    narrowest : float
        Least width that θ beyond its bounds is relative to.

    Returns
    -------
    theta : ndarray
        θ with bound points at their bounds.
    losses : float
        Σ max(h_i (p_i - m_i), l_i (p_i - m_i)).
    slack : float
        The largest |p_i - m_i|.
    gap : float
        What the points add to the duality gap, θ being cut to its box.
    moved : float
        At most the length by which cutting θ moves Σ θ_i z_i.
    violation : float
        The largest distance from its target of a point whose θ has room to close it, in units of
        the target, or of 1 if that is larger.
    beyond : float
        The largest distance of θ from its box, in widths.
    """
    cdef const double[::1] lower0 = line.lower0, lower1 = line.lower1
    cdef const double[::1] upper0 = line.upper0, upper1 = line.upper1
    cdef const double[::1] target0 = line.target0, target1 = line.target1
    cdef Py_ssize_t i, b, n = theta.shape[0], block = BLOCK
    cdef double low, high, short, width, at, unit, off, loss, lost, rest = 1.0 - t
    cdef double losses = 0.0, gap = 0.0, moved = 0.0, doubt = 0.0
    cdef double slack = 0.0, violation = 0.0, beyond = 0.0
    out = np.empty(n)
    cdef double[::1] meant = out
    with nogil:
        for b in range((n + block - 1) // block):
            loss = 0.0
            lost = 0.0
            for i in range(b * block, min((b + 1) * block, n)):
                low = lower0[i] * rest + lower1[i] * t
                high = upper0[i] * rest + upper1[i] * t
                at = target0[i] * rest + target1[i] * t
                short = at - margin[i]
                unit = max(fabs(at), 1.0)
                at = theta[i] if status[i] == FREE else high if status[i] == UPPER else low
                meant[i] = at
                doubt = doubt + (short - short) + (at - at)
                width = high - low
                if at < high - at_bound * width:
                    violation = max(violation, short / unit)
                if at > low + at_bound * width:
                    violation = max(violation, -short / unit)
                off = max(max(low - at, at - high), 0.0)
                if off > 0.0:
                    beyond = max(beyond, off / max(width, narrowest))
                    moved = moved + off * length[i]
                    at = max(low, min(at, high))
                slack = max(slack, fabs(short))
                loss = loss + max(high * short, low * short)
                lost = lost + max((high - at) * short, (low - at) * short)
            losses = losses + loss
            gap = gap + lost
    if doubt != 0.0:
        losses = gap = moved = slack = violation = beyond = NAN
    return out, losses, slack, gap, moved, violation, beyond
