"""After a walk that met difficulties: check the solutions there, and warn if they are inexact."""

import warnings

import numpy as np

from taupath.engine.tolerances import EXACT_GAP, EXACT_KKT
from taupath.exceptions import InexactPathWarning, levels_to_the_caller
from taupath.paths.certificate import where_to_check, worst_of
from taupath.paths.walked import Walked

# Solutions that are looked at, at most: next to nothing beside a walk that has met difficulties.
MOST_LOOKED_AT = 32
# Solutions this close to an end of the path, as part of its length, are nearly the same: a few will
# do, however many kinks there are.
NEXT_TO_AN_END, MOST_NEXT_TO_AN_END = 1e-10, 8


def warn_of_inexact(walked: Walked) -> None:
    """Warn if solutions where the walk met difficulties are not as exact as promised.

    Where it met none nothing is looked at: `certify` does that.
    """
    doubtful = walked.doubtful
    if doubtful is None or len(doubtful) == 0 or walked.data.indefinite:  # warned of elsewhere
        return
    points, *_ = where_to_check(walked.kinks, 2, doubtful)
    begin, end = walked.kinks[0], walked.kinks[-1]
    outer = np.minimum(points - begin, end - points) <= NEXT_TO_AN_END * (end - begin)
    points = np.concatenate([points[~outer], _some(points[outer], MOST_NEXT_TO_AN_END)])
    points = _some(np.sort(points), MOST_LOOKED_AT)
    found = worst_of(points, [walked.measure(float(value)) for value in points], False, True)
    if not found.holds():
        name, wrong = walked.job.symbol, []
        if not found.worst_gap <= EXACT_GAP:
            wrong.append(
                f"at {name} = {found.tau_gap:.6g} the relative duality gap is "
                f"{found.worst_gap:.1e} instead of at most {EXACT_GAP:g}"
            )
        if not found.worst_kkt <= EXACT_KKT:
            wrong.append(
                f"at {name} = {found.tau_kkt:.6g} an optimality condition is off by "
                f"{found.worst_kkt:.1e} instead of at most {EXACT_KKT:g}"
            )
        warnings.warn(
            f"the path is not as exact as promised: {', and '.join(wrong)}; certify() checks all "
            "of it. A smaller C or features of similar scales help",
            InexactPathWarning,
            stacklevel=levels_to_the_caller(),
        )


def _some(points: np.ndarray, most: int) -> np.ndarray:
    """Return at most so many of the points, evenly spaced."""
    chosen = np.linspace(0, len(points) - 1, min(len(points), most)).astype(int)
    return np.asarray(points[chosen])
