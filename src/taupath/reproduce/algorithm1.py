"""How long the paper's Algorithm 1 takes: measured if it is quick, else estimated from parts.

Its cost per event rises and falls with the size of the margin set, so the beginning alone says
little. The parts are spread evenly over the kinks of the whole path. Each starts at the exact
solution of the engine and goes on as printed.
"""

from dataclasses import dataclass, replace

import numpy as np

from taupath.paths.path import SolutionPath
from taupath.reference import ReferencePath, ReferenceStalled, dual_path_finding
from taupath.reproduce.judge import Problem
from taupath.reproduce.measuring import Stopwatch

# "auto" walks the whole path if the estimate is no longer than this many seconds.
LONGEST = 20.0
HOW = ("auto", "whole", "skip")
# Parts to walk, and kinks in each: enough for a standard error of some per cent.
N_PARTS, N_KINKS = 24, 15


@dataclass(frozen=True)
class Algorithm1:
    """What Algorithm 1 takes for a whole path.

    Attributes
    ----------
    seconds : float or None
        CPU seconds of the walk from end to end; None if it was not walked or did not get there.
    estimate : float or None
        The same from the parts: seconds of the start, plus the number of kinks of the exact path
        times the seconds per kink in the parts, without the cost of a walk that meets no kink.
        None if no parts could be walked.
    uncertainty : float or None
        The standard error of the estimate: seconds per kink differ from part to part.
    walked : int
        Kinks of the exact path within the parts.
    n_kinks : int or None
        Kinks that the walk found.
    gap : float or None
        Its worst relative duality gap at the paper's τ.
    stalled : str or None
        Why the walk did not get to the end.
    """

    seconds: float | None = None
    estimate: float | None = None
    uncertainty: float | None = None
    walked: int = 0
    n_kinks: int | None = None
    gap: float | None = None
    stalled: str | None = None

    @property
    def best_guess(self) -> float | None:
        """Seconds as measured, else as estimated."""
        return self.estimate if self.seconds is None else self.seconds


def measure_algorithm1(
    problem: Problem, path: SolutionPath, taus: list[float], how: str = "auto"
) -> Algorithm1:
    """Measure Algorithm 1 on data whose exact path is known; `taus` are where it is judged.

    `how` is "auto" (parts first, and the whole walk if that is quick), "whole", or "skip".
    """
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(HOW)}; got {how!r}")
    if how == "skip":
        return Algorithm1()
    parts = None if how == "whole" else _by_parts(problem, path)
    by_parts = (
        Algorithm1()
        if parts is None
        else Algorithm1(None, parts.estimate, parts.uncertainty, parts.walked)
    )
    if how == "auto" and (parts is None or parts.estimate > LONGEST):
        return by_parts
    watch = Stopwatch()
    try:
        found: ReferencePath = watch.time(
            "walk", dual_path_finding, problem.X, problem.y, problem.lam
        )
    except ReferenceStalled as stalled:
        return replace(by_parts, stalled=str(stalled))
    return replace(
        by_parts,
        seconds=watch.best("walk"),
        n_kinks=found.n_kinks,
        gap=problem.worst(found.alpha, taus).gap,
    )


@dataclass(frozen=True)
class _Parts:
    """Seconds of the whole walk as the parts say, their standard error, and kinks in the parts."""

    estimate: float
    uncertainty: float
    walked: int


def _by_parts(problem: Problem, path: SolutionPath) -> _Parts | None:
    """Walk some parts; None where none could be walked."""
    watch, taus = Stopwatch(), path.taus
    between = 0.5 * (taus[1:] + taus[:-1])  # index sets are never in doubt there
    n_kinks = min(N_KINKS, max(len(between) // N_PARTS, 1))
    arguments = (problem.X, problem.y, problem.lam)

    def walk(job: str, first: int, last: int) -> bool:
        """Walk from one of these midpoints to another; return whether it got there."""
        begin, end = float(between[first]), float(between[last])
        if last == first:
            end = 0.5 * (begin + float(taus[first + 1]))  # no kink: what a walk costs at least
        if not begin < end:
            return False
        start = path.alpha(begin), path.index_sets(begin)
        try:
            watch.time(job, dual_path_finding, *arguments, tau_range=(begin, end), start=start)
        except ReferenceStalled:
            return False
        return True

    try:
        watch.time("start", dual_path_finding, *arguments, tau_range=(0.0, float(taus[1])))
    except ReferenceStalled:
        return None
    first_of_last = len(between) - 1 - n_kinks
    if first_of_last < 0 or not walk("nothing", len(between) // 2, len(between) // 2):
        return None
    parts = []
    for k in range(N_PARTS):
        first = k * first_of_last // (N_PARTS - 1)
        if walk(f"part {k}", first, first + n_kinks):
            parts.append(max(watch.best(f"part {k}") - watch.best("nothing"), 0.0) / n_kinks)
    if len(parts) < 2:
        return None
    per_kink, spread = float(np.mean(parts)), float(np.std(parts, ddof=1))
    return _Parts(
        watch.best("start") + per_kink * path.n_kinks,
        spread / len(parts) ** 0.5 * path.n_kinks,
        len(parts) * n_kinks,
    )
