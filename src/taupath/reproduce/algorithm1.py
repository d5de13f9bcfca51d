"""How long the paper's Algorithm 1 takes: measured where it is short, else from parts of the walk.

Its cost per event grows and falls with the margin set, so that the beginning alone would tell
little. The parts are spread evenly over the kinks of the whole path; each begins with the exact
solution of the engine and goes on as printed.
"""

from dataclasses import dataclass

from taupath.path import SolutionPath
from taupath.reference import ReferencePath, ReferenceStalled, dual_path_finding
from taupath.reproduce.judge import Problem
from taupath.reproduce.measuring import Stopwatch

__all__ = ["HOW", "Algorithm1", "measure_algorithm1"]

# "auto": walk all of it if the parts say that this takes no longer than so many seconds.
LONGEST = 20.0
HOW = ("auto", "whole", "skip")
# Parts to walk, and kinks in each.
N_PARTS, N_KINKS = 12, 25


@dataclass(frozen=True)
class Algorithm1:
    """What Algorithm 1 takes for a whole path.

    Attributes
    ----------
    seconds : float or None
        CPU seconds of the walk from end to end; None where it was not walked or did not get there.
    estimate : float or None
        The same by the parts: seconds of the start, and seconds per kink of the exact path in the
        parts, times the number of these kinks. None where no part could be walked.
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
    """Measure Algorithm 1 beside a path that is known.

    Parameters
    ----------
    problem : Problem
        The data.
    path : SolutionPath
        The exact path of these data.
    taus : list of float
        Where to judge its solutions.
    how : {"auto", "whole", "skip"}
        Parts first, and all of it if that does not take long; all of it; nothing.

    Returns
    -------
    Algorithm1
    """
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(HOW)}; got {how!r}")
    if how == "skip":
        return Algorithm1()
    estimate, walked = (None, 0) if how == "whole" else _by_parts(problem, path)
    if how == "auto" and (estimate is None or estimate > LONGEST):
        return Algorithm1(estimate=estimate, walked=walked)
    watch = Stopwatch()
    try:
        found: ReferencePath = watch.time(
            "walk", dual_path_finding, problem.X, problem.y, problem.lam
        )
    except ReferenceStalled as stalled:
        return Algorithm1(estimate=estimate, walked=walked, stalled=str(stalled))
    return Algorithm1(
        seconds=watch.best("walk"),
        estimate=estimate,
        walked=walked,
        n_kinks=found.n_kinks,
        gap=problem.worst(found.alpha, taus).gap,
    )


def _by_parts(problem: Problem, path: SolutionPath) -> tuple[float | None, int]:
    """Return the estimate for the whole walk, and the kinks it rests on."""
    watch, taus, walked = Stopwatch(), path.taus, 0
    arguments = (problem.X, problem.y, problem.lam)
    try:
        watch.time("start", dual_path_finding, *arguments, tau_range=(0.0, float(taus[1])))
    except ReferenceStalled:
        return None, 0
    between = 0.5 * (taus[1:] + taus[:-1])  # index sets are never in doubt there
    n_kinks = min(N_KINKS, max(len(between) // N_PARTS, 1))
    for part in range(N_PARTS):
        first = part * (len(between) - 1 - n_kinks) // (N_PARTS - 1)
        last = first + n_kinks
        if first < 0 or not between[first] < between[last]:
            continue
        begin, end = float(between[first]), float(between[last])
        alpha = path.alpha(begin)
        try:
            watch.time("parts", dual_path_finding, *arguments, tau_range=(begin, end), alpha=alpha)
        except ReferenceStalled:  # its seconds are not counted, nor its kinks
            continue
        walked += n_kinks
    if not walked:
        return None, 0
    return watch.best("start") + watch.spent("parts") / walked * path.n_kinks, walked
