"""Exact solutions of each job on training data: which walks to take, and with how many threads."""

from collections.abc import Callable, Sequence

import numpy as np

from taupath._core._rows import Rows
from taupath.approximate.interpolation import index_sets
from taupath.approximate.solutions import node_solver
from taupath.approximate.training_data import StoredData
from taupath.engine.problem import Line
from taupath.engine.record import Record, Solution
from taupath.engine.solver import Guess, solve_path
from taupath.engine.tolerances import RAISE
from taupath.engine.two_threads import Leg, Meeting, progress_of_two, walk_in_two, walk_together
from taupath.exceptions import WalkFailed
from taupath.paths.certificate import Units, typical_size
from taupath.paths.frontiers import Frontier
from taupath.paths.intercept import centre_of
from taupath.paths.jobs import QuantileClassification, QuantileRegression, Regularization, Way
from taupath.paths.training_data import TrainingData
from taupath.paths.walked import Walked, WalkedPiece, constant_piece
from taupath.progress import Tell

# With at least this many samples and at most this many features, the middle of a path is guessed so
# that a second walk can begin there. Otherwise the guess takes longer than the walk it saves.
ENOUGH_SAMPLES, FEW_FEATURES = 2000, 2000
# Gap of the guess, relative to the objective at w = 0: small enough that few index sets are wrong.
GUESSED_WITHIN = 1e-4
# For progress: part of C_max below which kinks are no longer dense on a logarithmic scale.
SMALL_C = 1e-5
# The scale of y is at least this part of the typical |y|, so that raising the targets by a part of
# it shows above rounding.
LEAST_UNIT = 1e-6
# If C is so large that functions pass through the samples, raised targets cost C times their
# number: they are raised by less, down to this part of RAISE. If a walk then fails because ties are
# not told apart, they are raised by this factor more.
LEAST_RAISE = 1e-4
RAISE_MORE = 100.0


def walk_classification(
    job: QuantileClassification,
    data: TrainingData,
    tau_range: tuple[float, float] = (0.0, 1.0),
    progress: Tell | None = None,
    in_two_threads: bool = False,
) -> Walked:
    """Return the solutions over τ; two threads, if asked for, walk and meet on the way."""
    line, (begin, end) = job.line(data), tau_range
    rows, order = data.rows_to_walk()
    others = rows.sharing() if in_two_threads else None
    mirrored = all(1.0 - (1.0 - t) == t for t in tau_range)
    n_samples, n_features = data.shape
    linear = data.kernel is None and data.extra is None
    can_guess = linear and n_features <= FEW_FEATURES and n_samples >= ENOUGH_SAMPLES
    if others is None or not (mirrored or can_guess):
        walks = [Leg(False, solve_path(rows, line, begin, end, order, progress))]
    else:
        # the first walk begins where few boxes are open: its start is quick there
        flipped = mirrored and 2 * int((data.sign > 0.0).sum()) > n_samples
        if flipped:
            line, begin, end = line.reversed(), 1.0 - end, 1.0 - begin
        guess_at = _guess_at(job, data, flipped) if can_guess else None
        walks = walk_in_two(rows, others, line, begin, end, order, progress, guess_at)
        if flipped:
            walks = [Leg(not backward, record) for backward, record in walks[::-1]]
    pieces = [WalkedPiece(job, data, Way(backward), record) for backward, record in walks]
    return Walked(job, data, pieces)


def _guess_at(
    job: QuantileClassification, data: TrainingData, flipped: bool
) -> Callable[[float], Guess]:
    """Return a function that guesses solutions at t of the line, or of the reversed one."""

    def guess(t: float) -> Guess:
        stored = StoredData(data.X, data.responses, data.constant)
        solver = node_solver(job, stored)
        node = solver.solve_from_zero(1.0 - t if flipped else t, GUESSED_WITHIN).node
        theta, low, high = stored.row_sums().dual_at(node, job.boxes)
        return Guess(index_sets(low, high), theta)

    return guess


def walk_regularization(
    job: Regularization, data: TrainingData, progress: Tell | None = None
) -> Walked:
    """Return the solutions over C."""
    rows, order = data.rows_to_walk()
    line, tell = job.line(data), progress and _along_C(progress, job)
    record = solve_path(rows, line, 0.0, 1.0, order, tell)
    return Walked(job, data, [WalkedPiece(job, data, Way(), record)])


def walk_frontier(
    job: Frontier, data: TrainingData, begin: Solution, progress: Tell | None = None
) -> Walked:
    """Return the solutions over a parameter of the extra rows, from that where the walk begins."""
    rows, order = data.rows_to_walk()
    guess = Guess(begin.status, begin.theta)
    record = solve_path(rows, job.line(data), 0.0, 1.0, order, progress, guess=guess)
    return Walked(job, data, [WalkedPiece(job, data, Way(), record)])


def _along_C(tell: Tell, job: Regularization) -> Tell:
    """Return the progress callback of a walk over C, whose kinks crowd where C is small."""

    def report(fraction: float, n_events: int, t: float | None) -> None:
        done = np.log1p(fraction / SMALL_C) / np.log1p(1.0 / SMALL_C)
        tell(float(done), n_events, None if t is None else job.from_t(t))

    return report


def walk_regression(
    job: QuantileRegression,
    data: TrainingData,
    tau_range: tuple[float, float] = (0.0, 1.0),
    progress: Tell | None = None,
    in_two_threads: bool = False,
) -> Walked:
    """Return the solutions over τ, from walks that begin at either end and meet in the middle."""
    begin, end = tau_range
    constant = constant_piece(data, begin, end)
    if constant is not None:
        return Walked(job, data, [constant])
    rows, order = data.rows_to_walk()
    others = rows.sharing() if in_two_threads else None
    centre = _centre(data)
    unit = unit_of(data.units, data.target, data.weight, centre)
    strength = job.C / unit * float(data.weight.max()) * float(rows.squared_norms().max())
    rise = RAISE / min(max(strength, 1.0), 1.0 / LEAST_RAISE)
    ranges = {True: (begin, min(end, 0.5)), False: (1.0 - end, min(1.0 - begin, 0.5))}
    if data.extra is not None and not data.extra.mirrored:  # only θ itself keeps to their signs
        ranges = {False: (1.0 - end, _at_least(1.0 - begin, begin))}
    ranges = {turned: part for turned, part in ranges.items() if part[0] < part[1]}
    halves_at_once = len(ranges) == 2 and others is not None
    report = progress_of_two(progress, (0.5, 0.5))
    pieces: list[WalkedPiece] = []

    def walk(turned: bool, rows: Rows, meeting: Meeting | None) -> WalkedPiece:
        way = Way(backward=not turned, turned=turned, unit=unit, rise=rise, centre=centre)
        line = job.line_to_walk(data, way)
        if halves_at_once:
            own = report(not turned)
        else:
            own = _part_of(progress, turned, tau_range, pieces)
        raised_by, record = _walk(rows, line, ranges[turned], order, own, rise, meeting)
        return WalkedPiece(job, data, way._replace(rise=raised_by), record)

    if halves_at_once:
        from_both = (lambda at: walk(True, rows, at), lambda at: walk(False, others, at))
        return Walked(job, data, walk_together(from_both))
    for turned in ranges:
        pieces.append(walk(turned, rows, None))
    return Walked(job, data, pieces)


def _walk(
    rows: Rows,
    line: Line,
    ends: tuple[float, float],
    order: np.ndarray | None,
    progress: Tell | None,
    rise: float,
    meeting: Meeting | None,
) -> tuple[float, Record]:
    """Return by how much the targets were raised, and the record of the walk."""
    while True:
        try:
            met = meeting.reached if meeting else None
            return rise, solve_path(rows, line, *ends, order, progress, met, rise=rise)
        except WalkFailed:
            if rise >= RAISE:
                raise
            rise = min(RAISE_MORE * rise, RAISE)


def _at_least(t: float, begin: float) -> float:
    """Return t, or the next number if 1 - t is above `begin` by rounding."""
    return t if 1.0 - t <= begin else float(np.nextafter(t, 1.0))


def _centre(data: TrainingData) -> float:
    """Return what to subtract from y: its median if that is large and costs nothing, else 0."""
    present = data.target[data.weight > 0.0]
    return float(centre_of(present, 1.0)) if data.centred else 0.0


def unit_of(units: Units, target: np.ndarray, weight: np.ndarray, centre: float = 0.0) -> float:
    """Return the scale on which targets vary; a few outliers do not matter."""
    present = weight > 0.0
    spread = float(units.spread[present].mean())
    return max(spread, LEAST_UNIT * typical_size(np.abs(target[present] - centre))) or 1.0


def _part_of(
    progress: Tell | None,
    turned: bool,
    tau_range: tuple[float, float],
    walked: Sequence[WalkedPiece],
) -> Tell | None:
    """Return the progress callback of one half of the path."""
    if progress is None:
        return None
    whole, (begin, end) = progress, tau_range
    before = sum(piece.counters["kinks"] for piece in walked)
    middle = min(max(0.5, begin), end)
    done = 0.0 if turned else (middle - begin) / (end - begin)
    share = ((middle - begin) if turned else (end - middle)) / (end - begin)

    def report(fraction: float, n_events: int, t: float | None) -> None:
        at = t if turned or t is None else 1.0 - t
        whole(done + share * fraction, before + n_events, at)

    return report
