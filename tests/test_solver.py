"""What the solver does when a walk has gone wrong, and with many sparse columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from taupath._core._walk import Walk

import taupath
import verify
from problems import every_sample_a_point
from taupath.engine import solver
from taupath.engine.problem import Line
from taupath.engine.rows import FAR_APART, make_rows
from taupath.engine.status import FREE, LOWER, UPPER, Outcome
from taupath.paths.jobs import QuantileClassification
from taupath.paths.training_data import Responses

pytestmark = pytest.mark.core


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    return X, np.where(X @ [1.0, -1.0, 0.5, 0.0] + rng.standard_normal(80) > 0.0, 1, -1)


@pytest.fixture
def made(data):
    X, y = data
    line = QuantileClassification(1.0, np.unique(y)).boxes.line(
        Responses(np.where(y > 0, 1.0, -1.0), np.ones(80), np.ones(80))
    )
    return solver._Solver(make_rows(X, y, 1.0), line, line, 0.0, 1.0)


def test_a_walk_comes_back_to_a_solution(made):
    line = made.line
    walk = Walk(made.rows, line, made._start(), 1.0)
    assert walk.run(200) == Outcome.MORE
    state = solver.State(*walk.rewind())
    assert 0 < walk.n_events == walk.n_checked_events < 200 and 0.0 < state.t < walk.t
    assert_array_equal(np.sort(state.free), np.flatnonzero(state.status == FREE))
    theta = made._theta(line, state)
    w = made.rows.exact_combination(theta)
    slack = made.rows.exact_products(w) - line.target(state.t)
    assert_allclose(slack[state.free], 0.0, rtol=0, atol=1e-9)
    assert np.all(slack[state.status == LOWER] > -1e-9)
    assert np.all(slack[state.status == UPPER] < 1e-9)


@pytest.mark.parametrize("way", ["_correct", "_solved"])
def test_a_solution_is_found_again_from_a_wrong_one(made, way):
    line = made.line
    right = made._walk(line, made._start(), 0.3, [], "start_events")
    status = right.status.copy()
    bound = np.flatnonzero(status != FREE)[:10]
    status[bound] = np.where(status[bound] == LOWER, UPPER, LOWER)
    wrong = solver.State(0.3, status, right.free, 0.5 * right.theta)
    found = made._correct(line, wrong) if way == "_correct" else made._solved(line, 0.3, wrong)
    assert_array_equal(found.status, right.status)
    assert_array_equal(np.sort(found.free), np.sort(right.free))
    assert found.t == right.t == 0.3
    theta = made._theta(line, found).astype(float)
    assert_allclose(theta, made._theta(line, right).astype(float), atol=1e-8)


def test_a_walk_that_goes_wrong_is_walked_again_with_care(data, monkeypatch):
    X, y = data
    right = taupath.quantile_path(X, y)
    run, wrong = solver._Solver._run, []

    def once_wrong(self, walk, report=False, limit=None):
        if report and not wrong:
            wrong.append(walk.run(70))
            return Outcome.WRONG
        return run(self, walk, report, limit)

    monkeypatch.setattr(solver._Solver, "_run", once_wrong)
    path = taupath.quantile_path(X, y)
    assert wrong and path.counters["rewinds"] == 1
    (piece,), (same,) = path.solutions.pieces, right.solutions.pieces
    assert_array_equal(piece.record.index, same.record.index)
    assert_array_equal(piece.record.move, same.record.move)
    assert_allclose(path.taus, right.taus, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("ones", [True, False])
def test_many_sparse_columns_are_rearranged_without_a_trace(ones):
    rng = np.random.default_rng(1)
    X = sparse.random(60, FAR_APART + 10, density=0.01, random_state=2, format="csr")
    if ones:
        X.data[:] = 1.0
    y = np.where(rng.random(60) < 0.5, 1, -1)
    path = taupath.quantile_path(X, y, C=10.0)
    taus = verify.kinks_and_midpoints(path.taus, 100)
    verify.assert_certified(path, X, y, 10.0, taus)


@pytest.mark.parametrize("used", [1, 700, FAR_APART + 5])
def test_columns_without_entries_are_left_out_of_the_walk(used):
    X = sparse.random(80, used, density=0.05, random_state=4, format="lil")
    X[0, used - 1] = 3.0
    X = sparse.csr_array(sparse.hstack([sparse.csr_array((80, FAR_APART)), X]))
    rows = make_rows(X, np.ones(80), 1.0, rearranged=True)
    # w is not kept with nodes: its columns are not those of X
    assert solver.MOST_STORED_COLUMNS < rows.n_cols <= max(used, FAR_APART + 1) + 1
    assert_array_equal(rows.squared_norms(), make_rows(X, np.ones(80), 1.0).squared_norms())


@pytest.mark.parametrize("large", [1.0, 0.1, 1e39])
def test_entries_are_walked_with_as_they_are(large):
    X = sparse.csr_array(np.where(np.arange(60).reshape(20, 3) % 4 == 0, large, 2.5))
    plain = make_rows(X, np.ones(20), 1.0)
    short = make_rows(X, np.ones(20), 1.0, rearranged=True)
    everyone = np.arange(20, dtype=np.int32)
    assert_array_equal(short.block(everyone), plain.block(everyone))


@pytest.mark.parametrize("kind", ["gauss", "lattice", "one point", "sparse"])
@pytest.mark.parametrize("C", [1e-4, 0.1, 100.0])
def test_a_guessed_start_is_the_start(kind, C, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((600, 3))
    y = np.where(X[:, 0] + rng.standard_normal(600) > 0.0, 1, -1)
    if kind == "lattice":
        X = np.round(X)
    elif kind == "one point":
        X[:] = X[0]
    elif kind == "sparse":
        X = sparse.csr_array(np.where(np.abs(X) < 0.7, 0.0, X))
    with every_sample_a_point():
        plain = taupath.quantile_path(X, y, C=C, tau_range=(0.0, 0.01))
    guessed = []
    guess = solver._Solver._guess_at_zero

    def watched(self, line):
        guessed.append(guess(self, line))
        return guessed[-1]

    monkeypatch.setattr(solver, "GUESSED_FROM", 50)
    monkeypatch.setattr(solver, "GUESSED_BY", 20)
    monkeypatch.setattr(solver._Solver, "_guess_at_zero", watched)
    with every_sample_a_point():
        path = taupath.quantile_path(X, y, C=C, tau_range=(0.0, 0.01))
    assert len(guessed) == 1
    if C == 100.0:
        assert guessed[0] is not None
    taus = verify.kinks_and_midpoints(path.taus, 60)
    verify.assert_certified(path, X, y, C, taus)
    for tau in taus:
        assert_allclose(path.coef(tau), plain.coef(tau), rtol=0, atol=1e-7)


def test_a_start_is_walked_to_where_lower_bounds_are_not_zero(data):
    X, y = data
    rows = make_rows(np.vstack([X, np.eye(4)]), np.append(y, np.ones(4)), 0.0)
    one, most = np.where(y > 0, 2.0, 0.0), np.full(4, 5.0)
    lower, upper = np.append(np.zeros(80), -most), np.append(one, most)
    target = np.append(np.ones(80), np.zeros(4))
    line = Line(lower, lower, upper, upper, target, target)
    made = solver._Solver(rows, line, line.raised(1e-10), 0.0, 1.0)
    state = made._start()
    theta = made._theta(line, state)
    w = rows.exact_combination(theta)
    short = target - rows.exact_products(w).astype(float)
    at = theta.astype(float)
    gap = np.maximum((upper - at) * short, (lower - at) * short).sum()
    assert 0.0 <= gap < 1e-7 and np.abs(w).max() > 0.1
    assert np.all(theta >= lower) and np.all(theta <= upper)
    assert made.counters["rewinds"] == 0  # no single problem had to be solved
