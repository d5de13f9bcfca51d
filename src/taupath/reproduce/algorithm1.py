"""How long the paper's Algorithm 1 takes: measured if it is quick, else extrapolated from parts.

Its cost per event depends on the size of the margin set, which changes along the path. The parts
are therefore spread evenly over the kinks. Each starts at the exact solution and walks as printed.
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
# Parts to walk, and kinks in each: enough for a standard error of a few per cent.
N_PARTS, N_KINKS = 24, 15


@dataclass(frozen=True)
class Algorithm1:
    """What Algorithm 1 takes for a whole path, in CPU seconds; None for what was not measured.

    The estimate is the seconds of the start, plus the number of kinks of the exact path times the
    seconds per kink in the parts, without the cost of a walk that meets no kink.
    """

    seconds: float | None = None  # of the walk from end to end
    estimate: float | None = None
    uncertainty: float | None = None  # standard error of the estimate
    walked: int = 0  # kinks of the exact path within the parts
    n_kinks: int | None = None  # that the walk found
    gap: float | None = None  # the worst relative duality gap at the paper's τ
    stalled: str | None = None  # why the walk did not reach the end

    @property
    def best_guess(self) -> float | None:
        """Seconds as measured, else as estimated."""
        return self.estimate if self.seconds is None else self.seconds


def measure_algorithm1(
    problem: Problem, path: SolutionPath, taus: list[float], how: str = "auto"
) -> Algorithm1:
    """Measure Algorithm 1 on data whose exact path is known; `taus` are where it is judged.

    `how` is "auto" (parts first, then the whole walk if the estimate is short), "whole" or "skip".
    """
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(HOW)}; got {how!r}")
    found = _by_parts(problem, path) if how == "auto" else Algorithm1()
    too_long = how == "auto" and (found.estimate is None or found.estimate > LONGEST)
    if how == "skip" or too_long:
        return found
    watch = Stopwatch()
    try:
        walked: ReferencePath = watch.time(
            "walk", dual_path_finding, problem.X, problem.y, problem.lam
        )
    except ReferenceStalled as stalled:
        return replace(found, stalled=str(stalled))
    gap = problem.worst(walked.alpha, taus).gap
    return replace(found, seconds=watch.best("walk"), n_kinks=walked.n_kinks, gap=gap)


def _by_parts(problem: Problem, path: SolutionPath) -> Algorithm1:
    """Return an estimate from some parts; there is none if fewer than two could be walked."""
    watch, taus = Stopwatch(), path.taus
    between = 0.5 * (taus[1:] + taus[:-1])  # index sets are never in doubt there
    n_kinks = min(N_KINKS, max(len(between) // N_PARTS, 1))
    arguments = (problem.X, problem.y, problem.lam)

    def walk(job: str, first: int, last: int) -> bool:
        """Walk from one of these midpoints to another; return whether the walk reached it."""
        begin, end = float(between[first]), float(between[last])
        if last == first:
            end = 0.5 * (begin + float(taus[first + 1]))  # no kink: the fixed cost of a walk
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
        return Algorithm1()
    first_of_last = len(between) - 1 - n_kinks
    if first_of_last < 0 or not walk("nothing", len(between) // 2, len(between) // 2):
        return Algorithm1()
    parts = []
    for k in range(N_PARTS):
        first = k * first_of_last // (N_PARTS - 1)
        if walk(f"part {k}", first, first + n_kinks):
            parts.append(max(watch.best(f"part {k}") - watch.best("nothing"), 0.0) / n_kinks)
    if len(parts) < 2:
        return Algorithm1()
    per_kink, spread = float(np.mean(parts)), float(np.std(parts, ddof=1))
    return Algorithm1(
        None,
        watch.best("start") + per_kink * path.n_kinks,
        spread / len(parts) ** 0.5 * path.n_kinks,
        len(parts) * n_kinks,
    )
