"""Solutions are the same to the last digit whatever was read before."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from taupath._core._replay import Replay

import taupath as tp
from noded import PARTS, nodes_in, values_of
from taupath.engine.problem import Line
from taupath.engine.record import Record
from taupath.engine.rows import make_rows
from taupath.engine.status import FREE, LOWER

pytestmark = pytest.mark.core

rng = np.random.default_rng(5)
X = rng.normal(size=(50, 3))
LATTICE = rng.integers(-1, 2, (50, 2)) + 1e-9 * rng.normal(size=(50, 2))
Y = np.where(X[:, 0] + rng.normal(size=50) > 0.0, 1, -1)
RESPONSE = X[:, 0] ** 3 + rng.normal(size=50)
POLY = {"kernel": "poly", "degree": 5, "gamma": 0.1, "coef0": 1.0}


def noded():
    with nodes_in(*PARTS):
        return tp.quantile_path(X, Y, intercept="free")


JOBS = {
    "augmented": lambda: tp.quantile_path(X, Y),
    "free": lambda: tp.quantile_path(X, Y, intercept="free"),
    "near lattice": lambda: tp.quantile_path(LATTICE, Y, C=1e4),
    "many columns": lambda: tp.quantile_path(np.hstack([X, rng.normal(size=(50, 60))]), Y, C=0.1),
    "rbf": lambda: tp.quantile_path(X, Y, kernel="rbf", gamma=0.5, intercept="free"),
    "poly": lambda: tp.quantile_regression_path(X, RESPONSE, C=400.0, intercept="free", **POLY),
    "over C": lambda: tp.regularization_path(X, Y, 0.3, C_max=100.0),
    "nodes": noded,
}


def read(path, value):
    """Return all numbers of a solution as bytes."""
    found = path.solutions.solution(float(value))
    return tuple(np.asarray(part).tobytes() for part in found), path.duality_gap(value)


@pytest.mark.parametrize("name", JOBS)
def test_any_order_of_reads_finds_the_same(name):
    path = JOBS[name]()
    copy = pickle.dumps(path)
    draw = np.random.default_rng(0)
    values = draw.choice(values_of(path), 30)
    alone = {value: read(pickle.loads(copy), value) for value in values}
    everything = len(path.solutions.nodes)
    for order in (values, np.sort(values), np.sort(values)[::-1], draw.permutation(values)):
        for k, value in enumerate(order):
            assert read(path, value) == alone[value], value
            if k % 10 == 5:  # a sweep leaves a factor behind that depends on where it began
                first = int(draw.integers(0, everything - 2))
                path.solutions.sweep(first, min(first + 7, everything), k % 20 == 5)


def test_neighbours_of_each_kink_in_any_order():
    path = JOBS["augmented"]()
    copy = pickle.dumps(path)
    for kink in path.taus[10:-10:15]:
        near = [np.nextafter(kink, 0.0), kink, np.nextafter(kink, 1.0)]
        alone = [read(pickle.loads(copy), value) for value in near]
        assert [read(path, value) for value in near[::-1]][::-1] == alone
        assert [read(path, value) for value in near] == alone


def of_copies():
    """Return rows, a line and a record in which two equal rows, 0 and 3, are free at a time."""
    points = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 0.0], [-1.0, 3.0]])
    rows = make_rows(points, np.ones(5), 0.0)
    nothing, wide, ones = np.zeros(5), np.full(5, 10.0), np.ones(5)
    line = Line(nothing, nothing, wide, wide, ones, ones)
    status = np.array([FREE, LOWER, LOWER, LOWER, LOWER], dtype=np.int8)
    index = np.array([1, *[3, 0, 0, 3] * 9], dtype=np.int32)
    move = np.array([0, *[0, 2, 0, 2] * 9], dtype=np.int8)
    t = np.linspace(0.01, 0.99, len(index))
    record = Record(0.0, 1.0, status, np.zeros(1, dtype=np.int32), t, index, move)
    return rows, line, record


def test_a_dependent_free_point_changes_nothing_for_others():
    rows, line, record = of_copies()
    positions = np.arange(len(record.t) + 1)
    targets = np.ones(5)

    def at(replay, position):
        replay.seek(position)
        status, theta, w, _ = replay.solution(0.5, targets)
        return status.tobytes(), theta.tobytes(), w.tobytes()

    alone = [at(Replay(rows, line, record), position) for position in positions]
    draw = np.random.default_rng(1)
    replay = Replay(rows, line, record)
    for order in (positions, positions[::-1], *(draw.permutation(positions) for _ in range(10))):
        for position in order:
            assert at(replay, position) == alone[position], position
            if draw.random() < 0.2:
                some = np.sort(draw.choice(positions, 4, replace=False))
                w, theta = np.empty((4, 2)), np.empty((4, 5))
                replay.sweep(some, np.full(4, 0.5), w, theta, np.empty(4))
                for k, position_of_k in enumerate(some):
                    wanted = np.frombuffer(alone[position_of_k][2])
                    assert_allclose(w[k], wanted, atol=1e-12)


def test_a_sweep_finds_the_same_wherever_it_begins():
    path = JOBS["free"]()
    n = len(path.solutions.nodes)
    theta, w = (path.solutions.sweep(0, n, with_theta) for with_theta in (True, False))
    for first in (1, n // 3, n // 2, n - 3):
        part = path.solutions.sweep(first, n, True)
        assert_allclose(part.theta, theta.theta[first:], atol=1e-12)
        assert_allclose(part.travel, theta.travel[first:], atol=1e-12)
        part = path.solutions.sweep(first, n, False)
        assert_allclose(part.w, w.w[first:], atol=1e-12)


def test_only_some_index_sets():
    """A record of few index sets has the solutions at their values."""
    path = JOBS["augmented"]()
    (piece,) = path.solutions.pieces
    values = path.taus[5::40]
    few = type(piece)(piece.job, piece.data, piece.way, piece.only_at(values))
    assert len(few.record.t) < len(piece.record.t)
    for value in values:
        assert_allclose(few.solution(value).theta, piece.solution(value).theta, atol=1e-9)
    assert replace(few.record, doubtful=None).until(0.5).end == 0.5
    assert_array_equal(few.record.status, piece.record.status)
