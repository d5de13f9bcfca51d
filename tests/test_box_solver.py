"""Single problems in extended precision: against solutions known by construction, and exactly."""

from fractions import Fraction

import numpy as np
import piqp
import pytest
from scipy import sparse
from taupath._core._kernel_rows import MatrixRows

from platforms import needs_extended_sums
from taupath.engine import free_set
from taupath.engine.box_solver import BoxSolver
from taupath.engine.free_set import EXTENDED
from taupath.engine.problem import Box
from taupath.engine.rows import make_rows

pytestmark = pytest.mark.core

exactly = np.vectorize(lambda x: Fraction(*x.as_integer_ratio()), otypes=[object])


class Problem:
    """Rows z_i = sign_i [x_i, bias], bounds, and targets that make a chosen θ optimal.

    Slacks of points at their lower bounds are positive, those at their upper ones negative.
    """

    def __init__(self, X, seed=0, balanced=False, dual=False, store=np.ascontiguousarray, bias=1.0):
        rng = np.random.default_rng(seed)
        n = len(X)
        self.sign = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        self.Z = self.sign[:, None] * np.column_stack([X, np.full(n, 0.0 if balanced else bias)])
        lower, upper = -rng.uniform(0.0, 1.0, n), rng.uniform(0.5, 2.0, n)
        side = rng.integers(0, 3, n)
        theta = np.select([side == 0, side == 1], [lower, 0.5 * (lower + upper)], upper)
        if balanced:  # the last point makes up for the others, whatever its box
            theta[-1] = -self.sign[-1] * (self.sign[:-1] @ theta[:-1])
            side[-1], lower[-1], upper[-1] = 1, theta[-1] - 1.0, theta[-1] + 1.0
        beyond = np.select([side == 0, side == 2], [1.0, -1.0], 0.0) * rng.uniform(0.1, 1.0, n)
        level = 0.7 * self.sign if balanced else 0.0
        self.balanced, self.theta, self.w = balanced, theta, self.Z.T @ theta
        self.box = Box(lower, upper, self.Z @ self.w + level - beyond)
        if dual:
            # a Gram matrix is what is given: it is rounded, and targets fit it
            gram = self.Z @ self.Z.T
            self.rows = MatrixRows(gram, self.sign.astype(np.int8), float(balanced), balanced)
            self.box = self.box._replace(target=gram @ theta + level - beyond)
        else:
            self.Z = self.Z if bias else self.Z[:, :-1]
            self.w = self.Z.T @ theta
            self.rows = make_rows(store(X), self.sign, bias, balanced=balanced)

    def solved(self, start=None, tol=1e-14):
        start = self.box.lower if start is None else start
        return BoxSolver(self.rows).solve(self.box, np.asarray(start, float), tol)


def assert_exact(problem, found, tol):
    """Assert, in fractions, that a solution is in its box, balanced, and has no more gap."""
    theta = exactly(found.theta)
    lower, upper, target = (exactly(end) for end in problem.box[:3])
    assert (theta >= lower).all() and (theta <= upper).all()
    sign = exactly(problem.sign)
    if problem.balanced:
        assert abs(sign @ theta) <= Fraction(1e-17) * sum(abs(theta))
    Z = exactly(problem.Z)
    margin = Z @ (theta @ Z)
    if problem.balanced:
        margin = margin + sign * exactly(found.multiplier)
    slack = margin - target
    gap = np.maximum((upper - theta) * -slack, (theta - lower) * slack).sum()
    # rounding of each product, in extended precision, is what may be missing
    rounding = np.abs(Z) @ (np.abs(theta) @ np.abs(Z)) @ (upper - lower) * Fraction(2.0**-58)
    assert gap <= tol * Fraction(float(found.objective)) + rounding
    assert abs(gap - exactly(found.gap)) <= rounding


KINDS = {
    "gaussian": lambda rng: rng.normal(size=(40, 5)),
    "more columns": lambda rng: rng.normal(size=(15, 30)),
    "scales": lambda rng: rng.normal(size=(30, 4)) * [1e-5, 1.0, 1e3, 1e6],
    "columns of 16 orders": lambda rng: rng.normal(size=(30, 6)) * 10.0 ** np.linspace(-8, 8, 6),
    "rows of 12 orders": lambda rng: rng.normal(size=(30, 3)) * 10.0 ** rng.uniform(-6, 6, (30, 1)),
    "powers": lambda rng: rng.uniform(-1, 1, (40, 1)) ** np.arange(1, 12),
    "lattice": lambda rng: rng.integers(-2, 3, (40, 3)).astype(float),
    "near lattice": lambda rng: rng.integers(-2, 3, (40, 2)) + 1e-9 * rng.normal(size=(40, 2)),
    "copies": lambda rng: np.repeat(rng.normal(size=(6, 3)), 5, axis=0),
    "near copies": lambda rng: (
        np.repeat(rng.normal(size=(6, 3)), 5, axis=0) + 1e-10 * rng.normal(size=(30, 3))
    ),
    "one column": lambda rng: rng.normal(size=(25, 1)),
    "zero rows": lambda rng: rng.normal(size=(20, 3)) * (np.arange(20) % 4 > 0)[:, None],
}


@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
@pytest.mark.parametrize("kind", KINDS)
def test_solutions_are_those_that_problems_were_made_for(kind, balanced):
    problem = Problem(KINDS[kind](np.random.default_rng(1)), balanced=balanced)
    found = problem.solved()
    assert_exact(problem, found, 1e-14)
    # w is unique: ½‖w - w'‖² is at most the gap
    w = problem.rows.shifted(problem.w, 0.7) if balanced else problem.w
    scale = np.sqrt(found.objective)
    np.testing.assert_allclose(found.w.astype(float), w, rtol=0.0, atol=1e-6 * scale)
    np.testing.assert_allclose(
        (problem.rows.products(found.w.astype(float)) - problem.box.target),
        found.slack.astype(float),
        rtol=0.0,
        atol=1e-9 * np.abs(problem.Z).max() * scale,
    )


@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
@pytest.mark.parametrize("kind", ["gaussian", "copies", "zero rows", "more columns"])
def test_rows_of_a_kernel(kind, balanced):
    problem = Problem(KINDS[kind](np.random.default_rng(2)), balanced=balanced, dual=True)
    found = problem.solved()
    margin = problem.rows.products(problem.rows.combine(problem.theta))
    assert found.gap <= 1e-14 * found.objective
    np.testing.assert_allclose(
        problem.rows.products(problem.rows.combine(found.theta.astype(float))),
        margin,
        atol=1e-6 * np.sqrt(found.objective),
    )


@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
def test_many_columns_are_solved_by_their_products(balanced, monkeypatch):
    X = np.random.default_rng(3).normal(size=(30, 4))
    problem = Problem(X, balanced=balanced)
    by_vectors = problem.solved()
    monkeypatch.setattr(free_set, "MOST_COLUMNS_OF_VECTORS", 4)
    found = problem.solved()
    assert_exact(problem, found, 1e-14)
    np.testing.assert_allclose(found.w.astype(float), by_vectors.w.astype(float), atol=1e-8)
    stored = Problem(X, balanced=balanced, store=sparse.csr_array)
    np.testing.assert_allclose(
        stored.solved().w.astype(float), by_vectors.w.astype(float), atol=1e-8
    )


@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
def test_another_solver_finds_no_better_point(balanced):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(14, 3))
    problem = Problem(X, balanced=balanced)
    target = rng.normal(size=14)
    lower, upper = -rng.uniform(0.0, 1.0, 14), rng.uniform(0.0, 1.0, 14)
    problem.box = Box(lower, upper, target)
    found = problem.solved()

    other = piqp.DenseSolver()
    other.settings.eps_abs = other.settings.eps_rel = 1e-12
    equal = (problem.sign[np.newaxis], np.zeros(1)) if balanced else (None, None)
    other.setup(problem.Z @ problem.Z.T, -target, *equal, x_l=lower, x_u=upper)
    assert other.solve() == piqp.PIQP_SOLVED

    def objective(theta):
        w = problem.Z.T @ theta
        return 0.5 * w @ w - target @ theta

    reached, theirs = (objective(x) for x in (found.theta.astype(float), other.result.x))
    assert reached <= theirs + 1e-10
    assert reached == pytest.approx(theirs, abs=1e-8)


@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
def test_any_start_leads_there_and_a_near_one_at_once(balanced):
    problem = Problem(np.random.default_rng(5).normal(size=(40, 5)), balanced=balanced)
    rng = np.random.default_rng(6)
    lower, upper = problem.box.lower, problem.box.upper
    for start in (lower, upper, rng.uniform(lower, upper), rng.normal(size=40) * 100.0):
        found = problem.solved(start)
        assert_exact(problem, found, 1e-14)
        np.testing.assert_allclose(found.theta.astype(float) @ problem.Z, problem.w, atol=1e-6)
    solver = BoxSolver(problem.rows)
    solver.solve(problem.box, problem.theta, 1e-14)
    near = solver.n_steps
    solver.solve(problem.box, lower, 1e-14)
    assert 5 * near < solver.n_steps - near


@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
def test_free_points_that_depend_on_each_other(balanced):
    """Four equal rows, all free: θ moves along them without a change of w."""
    X = np.repeat([[1.0, 2.0], [-1.0, 0.5]], 4, axis=0)
    problem = Problem(X, balanced=balanced)
    sign = problem.sign if balanced else 0.0
    target = problem.Z @ (problem.Z.T @ problem.theta) + 0.3 * sign
    problem.box = Box(np.full(8, -5.0), np.full(8, 5.0), target)
    start = problem.theta + np.random.default_rng(0).uniform(-0.1, 0.1, 8)
    found = problem.solved(start)
    assert_exact(problem, found, 1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_a_constant(kind):
    """Some of them are zero: their θ go to a bound without a change of w."""
    problem = Problem(KINDS[kind](np.random.default_rng(1)), bias=0.0)
    found = problem.solved()
    assert_exact(problem, found, 1e-14)
    scale = np.sqrt(found.objective)
    np.testing.assert_allclose(found.w.astype(float), problem.w, rtol=0.0, atol=1e-6 * scale)


def svm(X, C, balanced):
    """Return a problem of classes that overlap, with boxes 0 … C."""
    problem = Problem(X, balanced=balanced)
    n = len(X)
    problem.box = Box(np.zeros(n), np.full(n, C), np.ones(n))
    return problem


@needs_extended_sums
@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("kind", ["columns of 16 orders", "rows of 12 orders", "powers", "smooth"])
def test_hard_problems_are_solved_in_few_steps(kind, C, balanced):
    rng = np.random.default_rng(3)
    if kind == "smooth":  # singular values fall by 10 orders
        X = rng.normal(size=(60, 30)) * np.geomspace(1.0, 1e-10, 30)
    else:
        X = KINDS[kind](rng)
    problem = svm(X, C, balanced)
    solver = BoxSolver(problem.rows)
    found = solver.solve(problem.box, problem.box.lower, 1e-12)
    assert_exact(problem, found, 1e-12)
    assert solver.n_steps < 10 * len(X)
    # from there to a problem nearby
    near = problem.box._replace(upper=1.001 * problem.box.upper)
    bound = found.theta >= problem.box.upper
    before = solver.n_steps
    found = solver.solve(near, np.where(bound, near.upper, found.theta), 1e-12)
    assert solver.n_steps - before < len(X)
    problem.box = near
    assert_exact(problem, found, 1e-12)


@needs_extended_sums
def test_w_does_not_remember_how_large_it_was():
    """From θ whose w is many orders larger than that of the solution."""
    n = 12
    X, sign = 3.0 * np.random.default_rng(0).normal(size=(n, 8)), np.tile([1.0, -1.0], n // 2)
    gram = np.outer(sign, sign) * (1.0 + X @ X.T / 8.0) ** 7
    rows = MatrixRows(gram, sign.astype(np.int8))
    box = Box(np.zeros(n), np.full(n, 1e4), np.ones(n))
    found = BoxSolver(rows).solve(box, box.upper, 1e-12)
    off = gram.astype(EXTENDED) @ found.theta - found.w
    assert (np.abs(off) <= 1e-17 * (np.abs(gram) @ np.abs(found.theta))).all()


def test_boxes_of_wild_widths():
    rng = np.random.default_rng(7)
    problem = Problem(rng.normal(size=(30, 3)))
    width = 10.0 ** rng.uniform(-9, 9, 30)
    width[:3] = 0.0
    problem.box = Box(np.zeros(30), width, np.ones(30))
    assert_exact(problem, problem.solved(tol=1e-12), 1e-12)


@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
@pytest.mark.parametrize("dual", [False, True], ids=["", "kernel"])
def test_rates_are_those_between_two_solutions(balanced, dual):
    problem = Problem(np.random.default_rng(8).normal(size=(20, 4)), balanced=balanced, dual=dual)
    # no more free points than are independent
    problem.box = problem.box._replace(target=np.random.default_rng(10).normal(size=20))
    solver, box = BoxSolver(problem.rows), problem.box
    one = problem.solved(tol=1e-18)
    # where bounds grow by 1e-6 of this rate, index sets stay
    rate = np.random.default_rng(9).normal(size=20)
    near = box._replace(lower=box.lower + 1e-6 * rate, upper=box.upper + 1e-6 * rate)
    two = solver.solve(near, one.theta, 1e-18)
    free = np.flatnonzero((one.theta > box.lower) & (one.theta < box.upper))
    assert 1 < len(free) <= 5
    slack_rate, theta_rate = solver.rates(free, rate)
    np.testing.assert_allclose(1e6 * (two.theta - one.theta).astype(float), theta_rate, atol=1e-5)
    np.testing.assert_allclose(1e6 * (two.slack - one.slack).astype(float), slack_rate, atol=1e-5)
    np.testing.assert_allclose(slack_rate[free], 0.0, atol=1e-9)
