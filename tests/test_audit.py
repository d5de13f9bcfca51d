"""Records damaged on purpose are found and mended; walks that always fail are stepped over."""

from dataclasses import replace
from itertools import pairwise
from threading import Event

import numpy as np
import pytest
from numpy.testing import assert_allclose

import taupath as tp
from noded import nodes_of, values_of
from taupath.engine import audit, reading, solver
from taupath.engine import two_threads as together
from taupath.engine.audit import mend, wrong_intervals
from taupath.engine.box_solver import BoxSolver
from taupath.engine.reading import Reader
from taupath.engine.record import Nodes
from taupath.engine.solver import solve_path
from taupath.engine.status import AFTER, BEFORE, FREE, LOWER, UPPER, Outcome
from taupath.engine.stepping import Stepper
from taupath.engine.two_threads import walk_in_two
from taupath.paths.walked import WalkedPiece
from taupath.storage.records import _check_moves

pytestmark = pytest.mark.core

rng = np.random.default_rng(4)
X = rng.normal(size=(34, 3))
Y = np.where(X[:, 0] + rng.normal(size=34) > 0.0, 1, -1)
RESPONSE = X[:, 0] + rng.normal(size=34)

JOBS = {
    "augmented": lambda **how: tp.quantile_path(X, Y, **how),
    "free": lambda **how: tp.quantile_path(X, Y, intercept="free", **how),
    "rbf": lambda **how: tp.quantile_path(X, Y, kernel="rbf", gamma=0.5, **how),
    "regression": lambda **how: tp.quantile_regression_path(X, RESPONSE, **how),
}


# -- damages: each returns events, and between which two t they are wrong ------------------------


def with_events(record, t, index, move, where):
    order = np.argsort(t, kind="stable")
    changed = replace(record, t=t[order], index=index[order], move=move[order])
    return changed, where


def removed(record, part=0.4, stays=(LOWER, FREE, UPPER)):
    """A point that leaves a set and comes back to it stays there."""
    pairs = []
    first = int(part * len(record.t))
    last = first + len(record.t) // 2
    for k in range(first, last):
        later = np.flatnonzero(record.index[k + 1 : last] == record.index[k]) + k + 1
        before = BEFORE[record.move[k]]
        if len(later) and AFTER[record.move[later[0]]] == before and before in stays:
            pairs.append([k, later[0]])
    pair = max(pairs, key=lambda pair: record.t[pair[1]] - record.t[pair[0]])
    kept = np.delete(np.arange(len(record.t)), pair)
    events = record.t[kept], record.index[kept], record.move[kept]
    return with_events(record, *events, tuple(record.t[pair]))


def stays_free(record, part=0.4):
    """Its θ leaves the box, and no margin says so."""
    return removed(record, part, stays=(FREE,))


def moved(record, part=0.4):
    """A point leaves its set three kinks too late."""
    for k in range(int(part * len(record.t)), len(record.t)):
        if record.index[k] not in record.index[k + 1 : k + 4]:
            t = record.t.copy()
            t[k] = 0.5 * (t[k + 3] + t[k + 2])
            return with_events(record, t, record.index, record.move, (record.t[k], t[k]))
    raise AssertionError("no such point")


def swapped(record, part=0.4):
    """A point at its lower bound is at its upper one for a while."""
    k = int(part * len(record.t))
    where = 0.5 * (record.t[k - 1] + record.t[k]), 0.5 * (record.t[k + 4] + record.t[k + 3])
    status = audit._sets(record, k)
    status[record.index[k : k + 4]] = FREE
    point = np.flatnonzero(status != FREE)[0]
    there, back = (4, 5) if status[point] == LOWER else (5, 4)
    t = np.append(record.t, where)
    index = np.append(record.index, [point, point]).astype(np.int32)
    move = np.append(record.move, [there, back]).astype(np.int8)
    return with_events(record, t, index, move, where)


DAMAGES = [removed, stays_free, moved, swapped]


ALL_ALONG = np.array([[0.0, 1.0]])


def reader(name="augmented"):
    """Return a function that makes a reader of a path's first walk, with changes of its record."""
    piece = JOBS[name]().solutions.pieces[0]

    def read(record=piece.record, **changes):
        return Reader(piece.data.rows, piece.line, piece._given, replace(record, **changes))

    return read


def stepper(read):
    """Return what solves single problems of the line that was walked."""
    return Stepper(BoxSolver(read.rows), read.line)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", JOBS)
def test_what_is_wrong_is_found_and_nothing_else(name, damage):
    read = reader(name)
    inside = np.array([[0.02, 0.98]])
    assert len(wrong_intervals(read(doubtful=inside), [])) == 0
    damaged, (begin, end) = damage(read().record)
    found = wrong_intervals(read(damaged, doubtful=inside), [])
    # intervals reach from kink to kink, and not all kinks are where they should be
    kinks = np.unique(damaged.t)
    assert found[0, 0] >= kinks[np.searchsorted(kinks, begin, side="right") - 1]
    last = kinks[np.searchsorted(kinks, end)]
    assert found[-1, 1] <= last
    assert (found[:, 1] - found[:, 0]).sum() > 0.2 * (end - begin)
    assert (found[1:, 0] > found[:-1, 1]).all()
    # what nobody doubts is not looked at
    elsewhere = read(damaged, doubtful=np.array([[last + 1e-9, 0.98]]))
    assert len(wrong_intervals(elsewhere, [])) == 0
    at_one_place = read(damaged, doubtful=np.full((1, 2), found[0, :2].mean()))
    assert len(wrong_intervals(at_one_place, [])) == 1


def test_what_is_wrong_only_near_an_end_is_found():
    """A point becomes free a little too late: most of the interval up to there is right."""
    read = reader()
    record = read().record
    before, kink, after = record.t[:-2], record.t[1:-1], record.t[2:]
    delay = np.minimum(0.1 * (kink - before), 0.5 * (after - kink))
    k = 1 + int(np.where(AFTER[record.move[1:-1]] == FREE, delay, 0.0).argmax())
    t = record.t.copy()
    t[k] += delay[k - 1]
    found = wrong_intervals(read(t=t, doubtful=np.full((1, 2), t[k])), [])
    np.testing.assert_array_equal(found[:, :2], [t[k - 1 : k + 1]])


def test_many_intervals_are_looked_at_in_portions(monkeypatch):
    read = reader()
    damaged = read(swapped(read().record)[0], doubtful=ALL_ALONG)
    whole = wrong_intervals(damaged, [])
    monkeypatch.setattr(audit, "TOGETHER", 3)
    in_portions = wrong_intervals(damaged, [])
    np.testing.assert_array_equal(in_portions[:, :2], whole[:, :2])
    assert_allclose(in_portions[:, 2], whole[:, 2], rtol=1e-12)


def test_what_has_nodes_is_not_looked_at_again():
    read = reader()
    damaged = read(swapped(read().record)[0], doubtful=ALL_ALONG)
    wrong = wrong_intervals(damaged, [])
    _, nodes = mend(damaged, wrong, stepper(damaged), 7)
    assert {node.stretch for node in nodes} == {7}
    assert (nodes[0].t, nodes[-1].t) == tuple(wrong[0, :2])
    assert len(wrong_intervals(damaged, nodes)) == 0
    fewer = wrong_intervals(damaged, nodes[:-1])
    assert len(fewer) == 1 and fewer[0, 0] >= nodes[-2].t


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", JOBS)
def test_paths_with_damaged_records_are_mended(name, damage, monkeypatch):
    plain = JOBS[name]()
    audited = solver._Solver._audited

    def damaging(self, record):
        one, first = damage(record, 0.1)
        two, second = swapped(one, 0.8)
        self.doubtful = [first, second]
        two.doubtful = np.array(self.doubtful)
        return audited(self, two)

    monkeypatch.setattr(solver._Solver, "_audited", damaging)
    path = JOBS[name]()
    assert path.counters["repairs"] >= 2 * len(path.solutions.pieces)
    for piece, nodes in zip(path.solutions.pieces, nodes_of(path), strict=True):
        assert len(np.unique(nodes.stretch)) >= 2
        _check_moves(piece.record.status, piece.record.index, piece.record.move)
        assert (np.diff(piece.record.t) >= 0.0).all()
    for value in values_of(path)[::9]:
        assert path.duality_gap(value) < 1e-9, value
        assert path.kkt_violation(value) < 1e-7, value
    inner = 0.5 * (path.taus[1:] + path.taus[:-1])
    assert_allclose(path.decision_function(X, inner), plain.decision_function(X, inner), atol=1e-6)


def test_an_interval_stays_as_it_is_if_nodes_are_no_better():
    read = reader()
    damaged = read(swapped(read().record)[0], doubtful=ALL_ALONG)
    wrong, line, record = wrong_intervals(damaged, []), damaged.line, damaged.record
    other = replace(line, target0=3.0 * line.target0, target1=3.0 * line.target1)
    events, nodes = mend(damaged, wrong, Stepper(BoxSolver(damaged.rows), other), 0)
    assert nodes == []
    for found, before in zip(events, (record.t, record.index, record.move), strict=True):
        np.testing.assert_array_equal(found, before)


def test_stretches_that_touch_are_mended_one_by_one():
    read = reader()()
    record, kinks = read.record, np.unique(read.record.t)
    wrong = np.insert(kinks[[[10, 14], [14, 15], [15, 22]]], 2, np.inf, axis=1)
    events, nodes = mend(read, wrong, stepper(read), 0)
    mended = replace(record, t=events.t, index=events.point, move=events.move)
    _check_moves(mended.status, mended.index, mended.move)
    kept = Nodes.of(nodes, True)
    assert (np.diff(kept.stretch) >= 0).all()
    assert [int(k) for k in np.unique(kept.stretch)] == [0, 1, 2]
    for t in np.linspace(wrong[0, 0], wrong[-1, 1], 200):
        one, two = kept.around(float(t))
        assert kept.stretch[one] == kept.stretch[two]
        assert kept.t[one] <= t <= kept.t[two]


# -- walks that fail -----------------------------------------------------------------------------


@pytest.fixture
def no_walk_succeeds(monkeypatch):
    """Let every walk that matters say that it is wrong, before its first event."""
    run = solver._Solver._run

    def failing(self, walk, report=False, limit=None):
        return Outcome.WRONG if report else run(self, walk, report, limit)

    monkeypatch.setattr(solver._Solver, "_run", failing)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", JOBS)
def test_walks_that_always_fail_are_stepped_over(name, n_jobs, no_walk_succeeds):
    path = JOBS[name](n_jobs=n_jobs)
    assert path.counters["repairs"] > 3
    assert path.tau_range == (0.0, 1.0)
    for piece, nodes in zip(path.solutions.pieces, nodes_of(path), strict=True):
        assert len(np.unique(nodes.stretch)) == 1  # each part joins the one before
        assert (nodes.t[0], nodes.t[-1]) == (piece.record.begin, piece.record.end) or n_jobs == 2
        assert nodes.t[0] == piece.record.begin and nodes.t[-1] >= piece.record.end
        assert (np.diff(nodes.t) > 0.0).all()
    for value in values_of(path)[::15]:
        assert path.duality_gap(value) < 1e-9, value
        assert path.kkt_violation(value) < 1e-7, value


def test_nodes_count_against_the_budget(no_walk_succeeds, monkeypatch):
    monkeypatch.setattr(solver, "EVENTS_PER_SAMPLE", -30)  # which leaves none of 1000
    with pytest.raises(tp.WalkFailed, match="events per sample"):
        JOBS["augmented"]()


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("guessed", [False, True])
def test_each_of_two_walks_covers_its_own_end(late, guessed, monkeypatch):
    """However slow it is: where t is small it keeps more digits than the other."""
    piece = JOBS["augmented"]().solutions.pieces[0]
    rows, line = piece.data.rows, piece.job.line_to_walk(piece.data, piece.way)
    middle = solve_path(rows, line, 0.0, 0.5)
    status = middle.status.copy()
    for point, move in zip(middle.index, middle.move, strict=True):
        status[point] = AFTER[move]
    free = status == FREE
    theta = np.where(status == UPPER, line.upper(0.5), line.lower(0.5))
    theta[free] = 0.5 * line.upper(0.5)[free]
    guess = (lambda t: solver.Guess(status, theta)) if guessed else None
    done = Event()

    def in_turn(which, *given):
        back = which is others
        if back == late:
            assert done.wait(20.0)
        found = solve_path(which, *given)
        if back != late:
            done.set()
        return found

    others = rows.sharing()
    monkeypatch.setattr(together, "solve_path", in_turn)
    legs = walk_in_two(rows, others, line, 0.0, 1.0, None, None, guess)
    ends = [
        (1.0 - leg.record.end, 1.0 - leg.record.begin)
        if leg.backward
        else (leg.record.begin, leg.record.end)
        for leg in legs
    ]
    assert (ends[0][0], ends[-1][1]) == (0.0, 1.0)
    assert all(one[1] == two[0] for one, two in pairwise(ends))
    assert not legs[0].backward and ends[0][1] >= 2.0**-12
    # the end is the other thread's, which begins there or in the middle
    assert ends[-1][0] <= 1.0 - 2.0**-12 and legs[-1].backward != guessed
    assert len(piece.record.t) <= sum(len(leg.record.t) for leg in legs) + 5


# -- records of earlier versions, which were not audited -----------------------------------------


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_an_old_record_has_wrong_is_solved_anew(name, damage):
    piece = JOBS[name]().solutions.pieces[0]
    damaged, (begin, end) = damage(piece.record)
    old = WalkedPiece(piece.job, piece.data, piece.way, replace(damaged, doubtful=None))
    by_sets = []
    for t in begin + np.array([0.1, 0.5, 0.8]) * (end - begin):
        by_sets.append(old._reader.error(old._reader.by_index_sets(t)[0], t))
        found, right = old._reader.solution(t), piece._reader.solution(t)
        assert old._reader.error(found, t) <= 1e-9
        assert_allclose(found.w, right.w, rtol=0.0, atol=1e-7)
        for one, two in zip(found, old._reader.solution(t), strict=True):
            np.testing.assert_array_equal(one, two)
    assert max(by_sets) > 1e-6 or damage is not swapped
    for t in (0.5 * begin, 0.99 * begin, end + 0.2 * (1.0 - end)):  # where it is right
        for one, two in zip(old._solve(t), piece._solve(t), strict=True):
            assert_allclose(one, two, rtol=0.0, atol=1e-12)


def wrong_all_along() -> tuple[WalkedPiece, WalkedPiece]:
    """Return a piece, and one whose record has no events and a point on the wrong side."""
    piece = JOBS["augmented"]().solutions.pieces[0]
    status = piece.record.status
    point = np.flatnonzero(status != FREE)[0]
    wrong = replace(
        piece.record,
        t=np.zeros(0),
        index=np.zeros(0, dtype=np.int32),
        move=np.zeros(0, dtype=np.int8),
        status=np.where(np.arange(34) == point, LOWER + UPPER - status, status).astype(np.int8),
        doubtful=None,
    )
    return piece, WalkedPiece(piece.job, piece.data, piece.way, wrong)


def test_a_record_that_is_wrong_all_along_is_solved_anew():
    piece, old = wrong_all_along()
    for value in (0.1, 0.6, 0.99):
        assert old._reader.error(old._reader.solution(value), value) <= 1e-9
        assert_allclose(old.solution(value).w, piece.solution(value).w, atol=1e-8)


def test_a_record_that_is_far_off_is_not_solved_anew_if_it_is_large(monkeypatch):
    _, old = wrong_all_along()
    monkeypatch.setattr(reading, "FAR_OFF", 0.0)
    monkeypatch.setattr(
        reading, "ENTRIES_IF_FAR_OFF", old._reader.rows.n_rows
    )  # less than one look
    by_sets, solve = old._reader.by_index_sets(0.6)[0], BoxSolver.solve
    calls = []
    monkeypatch.setattr(BoxSolver, "solve", lambda *given: calls.append(1) or solve(*given))
    assert_allclose(old._reader.solution(0.6).theta, by_sets.theta, atol=0.0)
    assert not calls


def test_what_is_read_leaves_room_for_the_rounding_that_a_certificate_adds(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    path = tp.quantile_path(X, X[:, 0] > rng.standard_normal(40))
    solved, error = [], Reader._wrong
    monkeypatch.setattr(Reader, "_wrong", lambda *given: max(error(*given), 0.95e-9))
    monkeypatch.setattr(Reader, "_solved_anew", lambda *given: solved.append(given))
    path.alpha(0.4)
    assert solved


def test_an_outlier_does_not_hide_errors_of_what_is_read():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = X[:, 0] + rng.standard_normal(60)
    units = []
    for outlier in (10.0, 1e7):
        y[0] = outlier
        path = tp.quantile_regression_path(X, y, C=1.0)
        piece = path.solutions.pieces[0]
        reader = piece._reader
        units.append(reader._measured(reader.solution(0.5), 0.5)[1])
    assert units[1] < 100.0 * units[0]  # its own loss grows 1e6 times
