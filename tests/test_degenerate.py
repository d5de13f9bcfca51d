"""Ties, dependent rows and wild scales: small random problems, the whole path of each certified."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import problems
from problems import Problem, assert_whole_path, drawn, made, make_problem

pytestmark = pytest.mark.core


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


# Found by searches like those below, and kept: what a change must not bring back.
REMEMBERED = {
    "three points on a line, fewer dimensions than points": Problem(
        column(0.35, 0.82, 0.33), np.array([-1, 1, 1]), intercept="none"
    ),
    "nothing but zeros": Problem(column(0, 0), np.array([-1, 1]), intercept="none"),
    "a large box shows an error of the margin at the start": Problem(
        column(1.0876284102496572, 0.6735875350615288, 0.8365686883494448, -0.9382674478224041),
        np.array([-1, 1, 1, 1]),
        C=100.0,
    ),
    "a lattice in a large box": Problem(
        np.array([[0, 0], [2, 0], [1, -2], [0, -1], [-2, 1], [0, -2], [-1, 2]], dtype=float),
        np.array([-1, 1, -1, 1, -1, 1, 1]),
        C=100.0,
    ),
    "a sample of weight zero that changes sides": Problem(
        column(0.18905338179353307, -0.5227484414807474, -0.41306354339189344),
        np.array([1, -1, -1]),
        weight=np.array([1.0, 0.0, 2.0]),
    ),
    "copies on a line, with a factor that wears off": Problem(
        np.repeat(column(0.12573, -0.132105, 0.640423, 0.1049), [4, 3, 3, 2], axis=0),
        np.repeat([-1, -1, 1, -1], [4, 3, 3, 2]),
        C=10.0,
    ),
    "an exchange at the start, in a large box": make_problem(
        "constant_columns", "coin", "no_weight", 2476, 10, 6, 4.0, is_sparse=True
    ),
    "another one": make_problem(
        "constant_columns", "one_of_a_class", "no_weight", 1838, 15, 5, 2.3799873045950797
    ),
    "dual variables in double precision do not fix w": Problem(
        column(345584.19206478604, 821618.1435011583), np.array([1, -1])
    ),
    "a kink between two doubles near one": Problem(
        column(2040919.1213851825, -2555665.0313141816), np.array([1, -1]), C=100.0
    ),
    "a kink between two doubles in the middle": Problem(
        column(-1738266.398496882, -1336642.7931811325), np.array([1, -1]), C=1e-4
    ),
    "a sum that cancels from 1e10 to 1e-6": make_problem(
        "lattice_of_wild_scale", "contradictory", "no_weight", 412, 10, 1, 3.6207989280862583
    ),
    "a small rate that is no rounding": make_problem(
        "large_columns", "one_of_a_class", "no_weight", 3643, 14, 1, 3.0, is_sparse=True
    ),
    "a lattice in a larger box": Problem(
        np.array([[0, -2], [2, 2], [3, 1], [0, -3], [3, 0]], dtype=float),
        np.array([-1, -1, -1, -1, 1]),
        C=1e4,
    ),
    "large columns, one of a class": make_problem(
        "large_columns", "one_of_a_class", "no_weight", 199, 13, 3, -1.0
    ),
}


@pytest.mark.parametrize("name", REMEMBERED)
def test_problems_that_were_wrong_once_are_certified(name):
    assert_whole_path(REMEMBERED[name])


@given(drawn())
@settings(max_examples=150)
def test_integer_lattices_are_certified(problem):
    assert_whole_path(problem)


@given(made("lattice", "cube", "one_hot", "gaussian"))
@settings(max_examples=60)
def test_lattices_and_one_hot_data_are_certified(problem):
    assert_whole_path(problem)


@given(made("duplicates", "equal_rows"))
@settings(max_examples=40)
def test_duplicates_are_certified(problem):
    assert_whole_path(problem)


@given(made("duplicates", "equal_rows", "cube", labels=("contradictory",)))
@settings(max_examples=40)
def test_contradictory_duplicates_are_certified(problem):
    assert_whole_path(problem)


@given(made("constant_columns", "zero_columns", "zero_rows"))
@settings(max_examples=60)
def test_constant_columns_zero_columns_and_zero_rows_are_certified(problem):
    assert_whole_path(problem)


@given(made("on_a_line", "on_a_line_through_the_origin"))
@settings(max_examples=60)
def test_points_on_one_line_are_certified(problem):
    assert_whole_path(problem)


@given(made("more_columns_than_rows"))
@settings(max_examples=30)
def test_more_features_than_samples_are_certified(problem):
    assert_whole_path(problem)


@given(made("gaussian", "lattice", "columns_of_wild_scale", max_n=2))
@settings(max_examples=40)
def test_two_samples_are_certified(problem):
    assert_whole_path(problem)


@given(made("gaussian", "lattice", labels=("one_of_a_class",)))
@settings(max_examples=40)
def test_one_sample_of_a_class_is_certified(problem):
    assert_whole_path(problem)


@given(
    made("large_columns", "small_columns", "columns_of_wild_scale", "lattice_of_wild_scale"),
)
@settings(max_examples=100)
def test_columns_of_wild_scale_are_certified(problem):
    assert_whole_path(problem)


# More dimensions than the factor keeps a basis for: the other half of the core.


@given(made("gaussian", "lattice", "cube", "duplicates", "one_hot", max_n=60, max_d=90))
@settings(max_examples=25)
def test_many_columns_are_certified(problem):
    assert_whole_path(problem, at_most=200)


@given(made("on_a_line", "zero_rows", "zero_columns", "constant_columns", max_n=60, max_d=90))
@settings(max_examples=15)
def test_many_columns_of_low_rank_are_certified(problem):
    assert_whole_path(problem, at_most=200)


@pytest.mark.parametrize("intercept", ["augmented", "none"])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_all_corners_of_a_cube_are_certified(C, is_sparse, intercept):
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * 5)).reshape(5, -1).T
    y = np.where(corners.sum(axis=1) % 3 == 0, 1, -1)
    assert_whole_path(Problem(corners, y, C, None, intercept, is_sparse))


@pytest.mark.parametrize("copies", [1, 2, 25])
@pytest.mark.parametrize("intercept", ["augmented", "none"])
def test_many_copies_of_two_points_are_certified(copies, intercept):
    X = np.repeat([[1.0, 2.0], [2.0, 0.0]], 2 * copies, axis=0)
    y = np.tile([-1, 1], 2 * copies)  # both labels at either point
    for C in (0.01, 1.0, 100.0):
        assert_whole_path(Problem(X, y, C, None, intercept))


@pytest.mark.slow
@given(drawn())
@settings(max_examples=3000)
def test_thousands_of_integer_lattices_are_certified(problem):
    assert_whole_path(problem)


WILD = ("large_columns", "columns_of_wild_scale", "lattice_of_wild_scale")
TAME = tuple(kind for kind in problems.KINDS if kind not in WILD)


@pytest.mark.slow
@given(made(*TAME))
@settings(max_examples=3000)
def test_thousands_of_problems_of_every_kind_are_certified(problem):
    assert_whole_path(problem)


@pytest.mark.slow
@given(made("large_columns", "columns_of_wild_scale", log10_C=st.floats(-4.0, 0.0)))
@settings(max_examples=1500)
def test_thousands_of_problems_of_wild_scale_are_certified(problem):
    assert_whole_path(problem)


@pytest.mark.slow
@given(made(*TAME, max_n=80, max_d=100))
@settings(max_examples=300)
def test_hundreds_of_larger_problems_are_certified(problem):
    assert_whole_path(problem, at_most=200)


# --- more free points than there are dimensions for ----------------------------------------------


def full_rank_problem(seed: int, n: int, d: int) -> Problem:
    """Return a problem whose free points soon span all there is, so that points are exchanged."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3)
    if kind == 0:
        X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2.0, 2.0, d)
    elif kind == 1:
        X = rng.integers(-2, 3, (n, d)).astype(float)
    else:
        rank = -(-d // 4)
        X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    noise = rng.choice([0.1, 3.0]) * np.abs(X).mean() * np.sqrt(d)
    y = np.where(X @ rng.standard_normal(d) + noise * rng.standard_normal(n) > 0.0, 1, -1)
    intercept = str(rng.choice(["augmented", "none"]))
    return Problem(X, y, C=10.0 ** rng.uniform(-3.0, 2.0), intercept=intercept)


@pytest.mark.parametrize("d", [5, 129, 160])
@pytest.mark.parametrize("seed", range(6))
def test_exchanges_need_no_repair(seed, d):
    path = assert_whole_path(full_rank_problem(seed, 400, d), at_most=60)
    assert path.counters["repairs"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 30, 128, 129, 200, 600])
@pytest.mark.parametrize("seed", range(100, 110))
def test_more_exchanges_need_no_repair(seed, d):
    path = assert_whole_path(full_rank_problem(seed, 1200, d), at_most=100)
    assert path.counters["repairs"] == 0
