"""The benchmarks: the judge is right, and reports say what was measured. No seconds here."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.svm import SVC

import oracles
import verify


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


@pytest.mark.parametrize("tau", [0.0, 0.2, 0.7])
def test_judge_of_boxes_agrees_with_that_of_the_paper_s_problem(module, tau):
    judge = module("judge")
    rng = np.random.default_rng(6)
    X, y, lam = rng.standard_normal((30, 3)), np.resize([1.0, -1.0, -1.0], 30), 0.01
    problem = judge.Problem(X, y, lam)
    alpha = rng.uniform(0.0, 1.0, 30) * problem.box(tau)
    paper_s = problem.judge(tau, alpha)
    found = judge.classification(judge.linear(X), y, 1.0 / (30 * lam), tau).judge(alpha / lam)
    assert_allclose([found.gap, found.kkt], [paper_s.gap, paper_s.kkt], rtol=1e-12)
    assert_allclose([lam * found.primal, lam * found.dual], [paper_s.primal, paper_s.dual])


def test_judge_of_regression_agrees_with_values_found_by_hand(module):
    # One sample x = 0, y = 2, so that f = b = θ, with C = 4: the best b is min(2, 4τ).
    judge = module("judge")
    gram, y = judge.linear(np.zeros((1, 1))), np.array([2.0])
    for tau in (0.1, 0.25, 0.5, 0.9):
        best = judge.regression(gram, y, 4.0, tau).judge(np.array([min(2.0, 4.0 * tau)]))
        assert max(best.gap, best.kkt) <= 1e-15
    # θ = 1 at τ = 1/2: P = 1/2 + 2 · 1, D = 2 · 1 - 1/2, and y is missed by half of it.
    off = judge.regression(gram, y, 4.0, 0.5).judge(np.array([1.0]))
    assert_allclose([off.primal, off.dual, off.gap, off.kkt], [2.5, 1.5, 0.4, 0.5])
    # θ = 3 is outside of the box [-2, 2] by a quarter of its width.
    assert judge.regression(gram, y, 4.0, 0.5).judge(np.array([3.0])).kkt >= 0.25


def test_judge_of_regression_finds_unequal_objectives(module):
    judge = module("judge")
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((20, 2)), rng.standard_normal(20)
    theta = 3.0 * (rng.uniform(0.0, 1.0, 20) - 0.7)
    found = judge.regression(judge.linear(X), y, 3.0, 0.3).judge(theta)
    w = np.append(X.T @ theta, theta.sum())
    residual = y - X @ w[:-1] - w[-1]
    loss = np.maximum(0.3 * residual, -0.7 * residual).sum()
    assert_allclose(found.primal, 0.5 * w @ w + 3.0 * loss)
    assert_allclose(found.dual, y @ theta - 0.5 * w @ w)
    assert_allclose(found.gap, (found.primal - found.dual) / found.primal)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_judge_takes_the_best_free_intercept(module, kind):
    judge = module("judge")
    rng = np.random.default_rng(8)
    f, y = rng.standard_normal(31), rng.standard_normal(31)
    y = np.where(y > 0.5, 1.0, -1.0) if kind == "classification" else y
    problem = getattr(judge, kind)(judge.linear(np.ones((31, 1))), y, 2.0, 0.3, True)

    def loss(b):
        short = problem.target - problem.sign * (f + b)
        return np.where(short > 0.0, problem.upper * short, problem.lower * short).sum()

    found = loss(problem.best_intercept(f))
    assert found <= min(loss(b) for b in np.linspace(-5.0, 5.0, 2001))


def test_judge_finds_nothing_wrong_where_nothing_is_lost(module):
    # One class costs nothing, and a free intercept satisfies the other: P = D = 0.
    judge = module("judge")
    y = np.array([1.0, 1.0, -1.0])
    found = judge.classification(judge.linear(np.eye(3)), y, 2.0, 0.0, True).judge(np.zeros(3))
    assert (found.gap, found.kkt, found.primal, found.dual) == (0.0, 0.0, 0.0, 0.0)


def test_judge_finds_little_wrong_with_svc(module):
    # LIBSVM solves the problem with a free intercept, with a kernel rounded to single precision.
    judge = module("judge")
    rng = np.random.default_rng(9)
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0.4, 1.0, -1.0)
    model = SVC(C=3.0, gamma=0.5, class_weight={1: 1.4, -1: 0.6}, tol=1e-10).fit(X, y)
    theta = np.zeros(60)
    theta[model.support_] = np.abs(model.dual_coef_[0])
    problem = judge.classification(judge.rbf(X, 0.5), y, 3.0, 0.3, True)
    found = problem.judge(theta)
    assert found.gap <= 1e-7 and found.kkt <= 1e-6
    # The intercept that is regularised, and a sum that is not zero, are something else.
    assert judge.classification(judge.rbf(X, 0.5), y, 3.0, 0.3).judge(theta).kkt > 1e-4
    assert problem.judge(np.where(y > 0.0, theta, 0.0)).kkt > 1.0


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
    rows = growth.measure([80, 40], repeats=2, n_judged=20)
    assert [row.runs for row in rows] == [2, 2]
    assert all(row.kinks > row.n_samples and row.gap < 1e-3 for row in rows)
    _, head, *lines = growth.report(rows, {"processor": "some"})[:4]
    assert {len(line) for line in lines} == {len(head)}
    assert [line.split()[:2] for line in lines] == [["40", "1"], ["80", "2"]]


def test_table2_reports_the_diabetes_data(module, paper_data):
    pytest.importorskip("liblinear", reason="LIBLINEAR is not installed")
    table2 = module("table2")
    row = table2.measure(paper_data("diabetes"), repeats=1, algorithm1="skip")
    assert row.path_gap <= 1e-9 and row.path_kkt <= 1e-7
    assert row.path_gap < row.lbfgsb_gap < 1e-2
    assert row.path_gap < row.liblinear_gap < 1e-1

    lines = table2.report([row], {"processor": "some"})
    for block in "\n".join(lines).split("\n\n")[:-1]:
        title, head, line = block.split("\n")
        assert len(head) == len(line), title
        assert line.split()[0] == "diabetes"
    assert "(2776)" in lines[6] and "not installed" not in lines[6]
    assert lines[6].split()[3] == "-"  # Algorithm 1 was not run

    read = json.loads(table2.as_json([row], {"processor": "some"}))
    assert read["rows"][0]["kinks"] == row.kinks
    assert read["rows"][0]["ratios"]["path"] == pytest.approx(row.path / row.liblinear)
    assert read["rows"][0]["algorithm1"]["seconds"] is None


def test_the_path_over_C_is_judged_beside_grids(module, tmp_path):
    question = module("questions.regularization")
    rows = module("run").ask("regularization", module("run").QUICK, tmp_path).rows
    paths, peers = rows[:2], rows[2:]
    assert [row["intercept"] for row in paths] == list(question.INTERCEPTS)
    for path in paths:
        assert path["solver"] == question.WHOLE and path["solutions"] > 40
        assert path["gap"] <= 1e-8 and path["kkt"] <= 1e-8
        # Of a peer's estimated points there is no verdict.
        assert all("gap" not in peer or path["gap"] < peer["gap"] < 1e-2 for peer in peers)
    kinks = [path["solutions"] for path in paths]
    assert [row["solutions"] for row in peers] == [4, *kinks]
    assert [bool(row.get("estimated")) for row in peers] == [False, True, True]
    assert peers[-1]["seconds"] == pytest.approx(peers[0]["seconds"] * kinks[-1] / 4)
    (shown,) = question.tables(rows).values()
    assert {len(cells) for _, cells in shown.columns} == {5}
    seconds = dict(shown.columns)["seconds"]
    assert ["≈" in cell for cell in seconds] == [bool(row.get("estimated")) for row in rows]


def test_wide_data_are_measured_beside_their_exact_paths(module, monkeypatch):
    approximate = module("approximate")
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 50)), np.tile([-1, 1], 10)
    monkeypatch.setitem(approximate.WIDE, "dense", lambda: (X, y, 1.0))
    row = approximate.measure_wide("dense", 1e-2, 1)
    assert row.bound <= 1e-2
    assert row.kinks > 0 and row.passes > 0
    assert "dense" in "\n".join(approximate.report_wide([row], 1e-2))


def test_the_report_on_approximate_paths_says_what_was_measured(module, monkeypatch):
    pytest.importorskip("liblinear", reason="LIBLINEAR is not installed")
    approximate = module("approximate")
    X, y, _ = approximate.gaussian_task(400)
    monkeypatch.setitem(approximate.SETS, "200k", (lambda: (X, y, 1e-2), (0.5,)))
    row = approximate.measure("200k", 1e-2, 1, with_liblinear=True)
    assert (row.n_samples, row.n_features, row.runs) == (400, 30, 1)
    assert 0.0 < row.gap <= row.bound <= 1e-2
    assert row.row_visits >= row.nodes * 400
    lines = "\n".join(approximate.report([row], {"processor": "any"}))
    assert "200k" in lines
    assert f"{row.bound:.1e}" in lines
    alone = approximate.measure("200k", 1e-2, 1, with_liblinear=False)
    assert approximate.ratio(alone) is None


def test_exact_kernel_paths_are_measured_beside_svc(module):
    lines = module("kernels").exact([80, 120], 1)
    assert (
        "Exact paths" in lines[0] and len([x for x in lines if x.startswith(("80 ", "120 "))]) == 2
    )


@pytest.mark.parametrize("beyond", [1.0, 1e-3])
def test_a_gap_beyond_the_bound_is_found_in_hard_cases(module, monkeypatch, capsys, beyond):
    checks = module("gpu_checks")
    monkeypatch.setattr(checks, "HARD", {"usual": checks.HARD["usual"]})
    judged = checks.largest_gap
    monkeypatch.setattr(checks, "largest_gap", lambda *given: judged(*given) / beyond)
    monkeypatch.setattr("sys.argv", ["x", "--device", "cpu", "--rows", "600", "--judge", "10"])
    assert checks.main() == (beyond < 1.0)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 3 and {row["fine"] for row in rows} == {beyond == 1.0}


def test_the_report_on_kernels_says_what_was_measured(module, monkeypatch):
    kernels = module("kernels")
    X, y, gamma = kernels.banana(300)
    monkeypatch.setitem(kernels.SETS, "banana", lambda: (X, y, gamma))
    row = kernels.measure("banana", 1e-2, 1, grid=True)
    assert (row.n_samples, row.n_features, row.runs) == (300, 5, 1)
    assert 0.0 < row.gap <= row.bound <= 1e-2
    assert row.grid > 0.0
    lines = "\n".join(kernels.report([row], {"processor": "any"}))
    assert "banana" in lines and f"{row.bound:.1e}" in lines


def test_the_benchmark_for_gpus_runs_without_one(module, monkeypatch):
    gpu = module("gpu")
    monkeypatch.setitem(gpu.SETS, "100k", (lambda: gpu.smooth(300), 1e-2))
    found = gpu.measure("100k", None, "cpu", 1.0)
    assert found["holds"] and found["library"] == "numpy"
    assert (found["n"], found["d"], found["tol"]) == (300, 20, 1e-2)
    assert gpu.sparse_binary(50)[0].sum() == 50 * 12


def test_peers_on_gpus_are_judged_at_one_tau(module, monkeypatch, capsys):
    gpu = module("gpu")

    def svc(X, y, C, gamma, device):
        model = SVC(C=C, gamma=gamma, tol=1e-4).fit(X, y)
        u = np.zeros(len(y))
        u[model.support_] = model.dual_coef_[0]
        return u, float(model.intercept_[0]), {"tol": 1e-4}

    def zero(X, y, C, gamma, device):
        return np.zeros(len(y)), 0.0, {}

    monkeypatch.setitem(gpu.SETS, "10k", (lambda: gpu.smooth(300), 1e-2))
    # by names of packages; the last one is not installed
    monkeypatch.setattr(gpu, "PEERS", {"sklearn": svc, "numpy": zero, "no_such_package": svc})
    gpu.measure_peers("10k", "cpu", 10.0)
    printed = capsys.readouterr()
    ours, sklearn, none = map(json.loads, printed.out.splitlines())
    assert "no_such_package is left out" in printed.err
    assert 0.0 <= ours["gap"] <= 1e-2 + 1e-5 and 0.0 <= sklearn["gap"] <= 1e-4
    assert none["objective"] == 1.0 and none["gap"] > 0.1
    assert sklearn["objective"] <= ours["objective"] + 1e-5


def test_files_of_simplified_paths_are_measured(module, monkeypatch, data_dir):
    pytest.importorskip("liblinear", reason="LIBLINEAR is not installed")
    approximate = module("approximate")
    monkeypatch.setenv("TAUPATH_DATA", str(data_dir))
    found = approximate.measure_files("diabetes")
    assert found.nodes < 0.5 * found.kinks
    assert found.simplified < found.with_data < found.exact
    lines = "\n".join(approximate.report_files([found]))
    assert str(found.exact) in lines and str(found.simplified) in lines


def test_the_sparse_set_is_like_w8a(module):
    pytest.importorskip("liblinear", reason="LIBLINEAR is not installed")
    X, y, lam = module("approximate").sparse_classes(2000)
    assert X.shape == (2000, 300)
    assert X.has_canonical_format
    assert_allclose(X.nnz / 600_000, 0.04)
    assert set(X.data) == {1.0}
    assert_allclose((y > 0).mean(), 0.03, atol=0.002)
    assert lam == 1 / 2000


# -- remarks and limits ----------------------------------------------------------------------------


class Drawn:
    """A path through given values of f at given τ."""

    def __init__(self, taus, values):
        self.values = np.asarray(taus), np.asarray(values)

    def values_at_nodes(self, X):
        return self.values


def test_only_kinks_that_change_the_slope_are_counted(module):
    turns = module("remarks").turns
    taus = [0.0, 0.3, 0.5, 1.0]
    straight, bent = [1.0, 0.7, 0.5, 0.0], [1.0, 0.7, 0.6, 0.0]
    assert turns(Drawn(taus, [straight, straight]), np.zeros(2)) == (0, 2)
    assert turns(Drawn(taus, [straight, bent]), np.zeros(2)) == (2, 2)


def test_remarks_say_what_is_missing(module, monkeypatch, capsys):
    monkeypatch.delenv("TAUPATH_DATA", raising=False)
    remarks = module("remarks")
    monkeypatch.setattr(remarks, "simulated", lambda: None)
    remarks.main([])
    assert "set TAUPATH_DATA" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::taupath.InexactPathWarning")  # what is missed is counted
def test_limits_compare_gaps_that_are_missed_with_rounding(module):
    limits = module("limits")
    # gap, condition, and whether that promises the gap
    outcomes = iter(
        [(1e-12, 10.0, True), (3e-9, 1e3, True), (1e-12, 1e9, False), (2.2e-7, 1e9, False)]
    )

    def make(rng):
        found = dict(zip(("worst_gap", "condition", "promised"), next(outcomes), strict=True))
        return SimpleNamespace(certify=lambda points: SimpleNamespace(**found))

    assert limits.count(make, 4) == (
        "2 of 4 above 1e-09, 1 of these with a condition that promises it; the worst 2.2e-07, at "
        "most 27272.7 times what rounding can cost"
    )
    for kind in limits.KINDS.values():
        assert kind(np.random.default_rng(0)).n_kinks > 2


# -- clusters --------------------------------------------------------------------------------------


def test_the_report_on_clusters_has_rounds_and_bytes_for_each(module):
    distributed = pytest.importorskip("distributed", reason="needs dask and distributed")
    cluster = module("cluster")
    X, y = cluster.classes(200, 4, 2)
    alone = cluster.measure(X, y, 0.1, 0, None)
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as there,
        distributed.Client(there) as client,
    ):
        row = cluster.measure(X, y, 0.1, 1, client)
    assert (alone.rounds, alone.partitions, row.partitions) == (0, 1, 2)
    assert abs(row.nodes - alone.nodes) <= 2
    lines = "\n".join(cluster.report([alone, row], {"processor": "any"}))
    assert str(row.rounds) in lines
    assert "none" in lines
