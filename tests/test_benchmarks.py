"""The benchmarks: the judge is right, and reports say what was measured. No seconds here."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import oracles
import verify

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    """A function that imports a benchmark by name, as `python benchmarks/name.py` would."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    return importlib.import_module


@pytest.fixture
def hand_problem(module):
    """Two points with a path known by hand: see `oracles.hand_solution`."""
    return module("judge").Problem(oracles.HAND_X, oracles.HAND_Y, oracles.HAND_LAM)


def test_judge_agrees_with_values_found_by_hand(hand_problem):
    # α = (1/5, 1/5) makes w = (2, 0), so the margins are 2 and 0; both boxes are 1/2 wide.
    # P = 1/20 · 4 + 1/2 · 1 = 7/10, D = 2/5 - 1/20 · 4 = 1/5.
    wrong = np.array([0.2, 0.2])
    found = hand_problem.judge(0.5, wrong)
    assert_allclose([found.primal, found.dual, found.gap, found.kkt], [0.7, 0.2, 5 / 7, 1.0])
    # The best w is (2, -1): P = 1/20 · 5 = 1/4.
    pair = hand_problem.judge(0.5, wrong, np.array([2.0, -1.0]))
    assert_allclose([pair.primal, pair.dual, pair.gap], [0.25, 0.2, 0.2])


@pytest.mark.parametrize("tau", [0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0])
def test_judge_finds_nothing_wrong_with_the_optimum(hand_problem, tau):
    # At τ = 0 and τ = 1 one box has no width, and its margin is not 1.
    found = hand_problem.judge(tau, oracles.hand_solution(tau)[0])
    assert found.gap <= 1e-14
    assert found.kkt <= 1e-14


def test_judge_counts_how_far_a_dual_variable_is_outside_its_box(hand_problem):
    optimum = oracles.hand_solution(0.9)[0]
    assert hand_problem.judge(0.9, optimum + np.array([0.1, 0.0])).kkt >= 0.1


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_judge_agrees_with_the_judge_of_the_tests(module, storage):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((30, 3)), np.resize([1.0, -1.0, -1.0], 30)
    problem = module("judge").Problem(storage(X), y, 0.01)
    for tau in (0.0, 0.2, 0.7):
        alpha = rng.uniform(0.0, 1.0, 30) * problem.box(tau)
        w = rng.standard_normal(4)
        for weights in (None, w):
            found = problem.judge(tau, alpha, weights)
            other = verify.verdict(X, y, None, tau, alpha, weights=weights, lam=0.01)
            assert_allclose(found.gap, other.relative_gap, rtol=1e-12)
            assert_allclose(found.kkt, other.kkt_violation, rtol=1e-12)
            assert_allclose(found.primal - found.dual, found.gap * found.primal, rtol=1e-9)


def test_worst_is_the_worst_of_all(hand_problem):
    def off_at_one_tau(tau):
        return oracles.hand_solution(tau)[0] * (0.9 if tau == 0.4 else 1.0)

    alone = hand_problem.judge(0.4, off_at_one_tau(0.4))
    assert hand_problem.worst(off_at_one_tau, [0.1, 0.4, 0.9]) == alone


def test_sampled_points_keep_both_ends(module):
    sample = module("judge").kinks_and_midpoints
    kinks = np.linspace(0.0, 1.0, 101)
    assert len(sample(kinks, 1000)) == 201
    some = sample(kinks, 20)
    assert len(some) == 20 and some[0] == 0.0 and some[-1] == 1.0
    assert np.all(np.diff(some) > 0.0)


def test_tables_are_aligned(module):
    title, *lines = module("common").table("title", [("a", ["b", "long"]), ("head", ["1", "22"])])
    assert title == "title"
    assert lines == ["a     head", "b        1", "long    22"]


def test_growth_reports_one_line_for_each_size(module):
    growth = module("growth")
    rows = [growth.measure(n, repeats=1, n_judged=20) for n in (40, 80)]
    assert all(row.kinks > row.n_samples and row.gap < 1e-3 for row in rows)
    _, head, *lines = growth.report(rows, {"processor": "some"})[:4]
    assert {len(line) for line in lines} == {len(head)}
    assert [line.split()[:2] for line in lines] == [["40", "1"], ["80", "2"]]


def test_table2_reports_the_diabetes_data(module, paper_data):
    pytest.importorskip("liblinear", reason="LIBLINEAR is not installed")
    table2 = module("table2")
    row = table2.measure(paper_data("diabetes"), repeats=1)
    assert row.path_gap <= 1e-9 and row.path_kkt <= 1e-7
    assert row.path_gap < row.lbfgsb_gap < 1e-2
    assert row.path_gap < row.liblinear_gap < 1e-1

    lines = table2.report([row], {"processor": "some"})
    for block in "\n".join(lines).split("\n\n")[:-1]:
        title, head, line = block.split("\n")
        assert len(head) == len(line), title
        assert line.split()[0] == "diabetes"
    assert "(2776)" in lines[6]

    read = json.loads(table2.as_json([row], {"processor": "some"}))
    assert read["rows"][0]["kinks"] == row.kinks
    assert read["rows"][0]["ratios"]["path"] == pytest.approx(row.path / row.liblinear)
    assert read["rows"][0]["reference"] is None
