"""Fit one problem, and check all that its path says."""

import os
import pickle
import tempfile
import threading
import time
import traceback
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fuzz.families import make_problem
from fuzz.judge import DECIDED, GAP, Answer, Judge
from fuzz.problem import REGULARIZATION, Problem

# Kinks that are judged, each with a point between it and the next one, and points anywhere.
KINKS, ANYWHERE = 24, 8
# Points that are read again in another order, and how many problems pass between two that are
# also read by several threads, and between two that are also saved and loaded.
READ_AGAIN, THREADS_EVERY, SAVED_EVERY, READERS = 8, 16, 8, 4


@dataclass
class Outcome:
    """What became of one problem."""

    family: str
    seed: int
    kind: str = "ok"  # ok, inexact, silent, WalkFailed, exception, crash, hang
    gap: float = 0.0  # the largest one, relative to a robust scale
    plain_gap: float = 0.0  # at the same place, relative to the primal objective
    outside: float = 0.0
    off: float = 0.0
    floor: float = 0.0  # at the same place: the gap that rounding can cause
    where: float = 0.0  # the parameter there
    explained: bool = False  # by rounding, with some room
    rounded: bool = False  # the exact solution, rounded to doubles, may be as far off
    certified: float = 0.0  # the gap and the violation that the certificate says
    certified_kkt: float = 0.0
    condition: float | None = None  # what the certificate says of it, if anything
    promised: bool = False  # inexact, but not so according to this condition
    holds: bool = True
    holds_by_default: bool = True
    refused: bool = False  # the certificate says no, and the judge sees nothing
    # what was read twice and differed, and by how much of the largest number
    different: dict[str, float] = field(default_factory=dict)
    warned: list[str] = field(default_factory=list)
    message: str = ""
    seconds: float = 0.0
    kinks: int = 0
    problem: str = ""

    def bad(self) -> bool:
        """Return whether it is told at once."""
        return self.kind not in ("ok", "inexact") or max(self.different.values(), default=0) > GAP


def check(family: str, seed: int) -> dict[str, Any]:
    """Fit the problem, judge its path, and return the outcome as a dictionary."""
    outcome = Outcome(family, seed)
    began = time.process_time()
    try:
        problem = make_problem(family, seed)
        outcome.problem = problem.describe()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            examine(problem, outcome, np.random.default_rng(seed))
        outcome.warned = sorted({f"{w.category.__name__}: {w.message}"[:200] for w in caught})
        for w in caught:
            if w.category is RuntimeWarning:  # NumPy's, of what is not a number
                outcome.kind = "exception"
                outcome.message = f"RuntimeWarning: {w.message} ({place(w.filename, w.lineno)})"
    except Exception as error:  # whatever it is, it is reported
        name = type(error).__name__
        outcome.kind = "WalkFailed" if name == "WalkFailed" else "exception"
        last = traceback.extract_tb(error.__traceback__)[-1]
        outcome.message = f"{name}: {error} ({place(last.filename, last.lineno)})"
    outcome.seconds = time.process_time() - began
    return asdict(outcome)


def place(filename: str, line: int | None) -> str:
    """Return where something happened, in short."""
    return f"{os.path.basename(filename)}:{line}"


def examine(problem: Problem, outcome: Outcome, rng: np.random.Generator) -> None:
    """Fit the problem and write what is found into the outcome."""
    path = problem.fit()
    outcome.kinks = path.n_kinks
    certificate = path.certify(max_points=None)
    outcome.certified, outcome.certified_kkt = certificate.worst_gap, certificate.worst_kkt
    outcome.holds = bool(certificate.holds())
    outcome.condition = getattr(certificate, "condition", None)
    # With few kinks the default looks at all of them, too.
    few = 2 * path.n_kinks - 1 <= 4000
    outcome.holds_by_default = outcome.holds if few else bool(path.certify().holds())

    values = places(path.taus, certificate, rng)
    begin, end = path.tau_range
    middle = end if problem.job == REGULARIZATION else 0.5 * (begin + end)
    answer = Answer.read(path, problem, values)
    answer.decisions = path.decision_function(problem.X, values).T
    verdict = Judge(problem).judge(answer, Answer.read(path, problem, np.array([middle])))
    badness = verdict.badness
    unexplained = ~verdict.explained()
    # the worst that rounding does not explain, or the worst of all
    worst = int(np.argmax(np.where(unexplained, badness, 0.0) if unexplained.any() else badness))
    outcome.where = float(values[worst])
    for name in ("gap", "plain_gap", "outside", "off", "floor"):
        setattr(outcome, name, float(getattr(verdict, name)[worst]))
    outcome.explained = not unexplained.any()
    outcome.rounded = bool(verdict.explained(1.0).all())
    if badness.max() > 1.0:
        said = outcome.holds or outcome.holds_by_default
        outcome.kind = "silent" if said and not outcome.explained else "inexact"
        outcome.promised = bool(getattr(certificate, "promised", False))
    outcome.refused = not outcome.holds and outcome.kind == "ok"
    if verdict.decided.max() > DECIDED:
        outcome.different["decisions"] = float(verdict.decided.max())
    again(path, problem, answer, outcome, rng)


def places(kinks: np.ndarray, certificate: Any, rng: np.random.Generator) -> np.ndarray:
    """Return where to judge: kinks from all parts of the path, between them, and anywhere."""
    which = np.arange(len(kinks))
    if len(kinks) > KINKS:
        edges = np.linspace(0, len(kinks), KINKS + 1).astype(int)
        which = np.r_[0, rng.integers(edges[:-1], edges[1:]), len(kinks) - 1]
    after = kinks[np.minimum(which + 1, len(kinks) - 1)]
    between = kinks[which] + rng.choice([0.5, 0.5, 1e-3, 0.999], len(which)) * (
        after - kinks[which]
    )
    anywhere = rng.uniform(kinks[0], kinks[-1], ANYWHERE)
    worst = [certificate.tau_gap, certificate.tau_kkt]
    found = np.unique(np.concatenate([kinks[which], between, anywhere, worst]))
    return found[(found >= kinks[0]) & (found <= kinks[-1])]


def again(
    path: Any, problem: Problem, answer: Answer, outcome: Outcome, rng: np.random.Generator
) -> None:
    """Read some solutions again: in another order, by several threads, from a file."""
    stored = pickle.dumps(path)
    some = rng.permutation(len(answer.values))[:READ_AGAIN]
    others = {"order": read_again(pickle.loads(stored), problem, answer, some)}
    if outcome.seed % THREADS_EVERY == 0:
        others["threads"] = threads_again(pickle.loads(stored), problem, answer, rng)
    if outcome.seed % SAVED_EVERY == 0:
        import taupath

        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "path.tau")
            path.save(file)
            others["file"] = read_again(taupath.load(file), problem, answer, some)
    outcome.different |= {name: value for name, value in others.items() if value}


def read_again(path: Any, problem: Problem, answer: Answer, order: np.ndarray) -> float:
    """Return by how much another reading in this order differs."""
    return Answer.read(path, problem, answer.values[order]).distance(answer.some(order))


def threads_again(path: Any, problem: Problem, answer: Answer, rng: np.random.Generator) -> float:
    """Return by how much the readings of several threads differ; an error is infinitely much."""
    distances = [np.inf] * READERS

    def read(k: int, order: np.ndarray) -> None:
        distances[k] = read_again(path, problem, answer, order)

    orders = [rng.permutation(len(answer.values)) for _ in range(READERS)]
    readers = [threading.Thread(target=read, args=each) for each in enumerate(orders)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    return max(distances)


def verbose(o: Outcome) -> str:
    """Return an outcome in a few lines."""
    remarks = [o.kind]
    if o.gap > GAP and o.explained:
        remarks.append("rounding" if o.rounded else "explained by rounding")
    if o.refused:
        remarks.append("refused")
    remarks += [f"{what} differs by {size:.0e}" for what, size in o.different.items()]
    lines = [
        f"{o.family} {o.seed}: {', '.join(remarks)}",
        f"{o.problem}; {o.kinks} kinks, {o.seconds:.2f} s",
        f"judge at {o.where!r}: gap {o.gap:.1e} (of the objective {o.plain_gap:.1e}, rounding "
        f"{o.floor:.1e}), outside {o.outside:.1e}, w off {o.off:.1e}",
        f"certificate: gap {o.certified:.1e}, violation {o.certified_kkt:.1e}, condition "
        f"{o.condition}, holds {o.holds}, by default {o.holds_by_default}",
    ]
    return "\n  ".join(lines + [o.message] * bool(o.message) + o.warned)
