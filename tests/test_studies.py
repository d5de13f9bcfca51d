"""The studies of probabilities, costs and coverage: their building blocks are right."""

import importlib
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def study(monkeypatch):
    """A function that imports a study by name, from its file."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")

    def load(name):
        spec = importlib.util.spec_from_file_location(f"study_{name}", BENCHMARKS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return load


# -- probabilities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("which", range(4))
def test_eta_of_a_simulator_is_the_share_of_positives(study, which):
    simulator = study("datasets/simulated").SIMULATORS[which]
    n = 200_000
    X, y = simulator.draw(np.random.default_rng(1), n)
    eta = simulator.eta(X)
    assert ((eta >= 0.0) & (eta <= 1.0)).all()
    for bin_of in (np.minimum((10 * eta).astype(int), 9), (X[:, 0] > 0.5) + 2 * (X[:, 1] > 0.0)):
        for k in np.unique(bin_of):
            here = bin_of == k
            deviation = np.sqrt((eta[here] * (1.0 - eta[here])).sum()) / here.sum()
            assert abs(y[here].mean() - eta[here].mean()) <= 4.5 * deviation + 1e-12


def test_eta_agrees_with_groups_that_were_drawn_first(study):
    # `draw` goes by η itself; here the hidden group is drawn, then x, as the names say.
    simulated = study("datasets/simulated")
    rng, n = np.random.default_rng(2), 200_000
    group = rng.integers(3, size=n)
    X = rng.standard_normal((n, 5))
    X[:, 0] += simulated.GROUP_AT[group]
    check_shares(simulated.stairs_eta(X), rng.uniform(size=n) < simulated.GROUP_SHARE[group])
    narrow = rng.uniform(size=n) < simulated.NARROW_SHARE
    X = rng.standard_normal((n, 2)) * np.where(narrow, 1.0, simulated.WIDE)[:, np.newaxis]
    check_shares(simulated.rings_eta(X), narrow)


def test_eta_of_three_classes_is_the_share_of_each(study):
    simulated = study("datasets/simulated")
    X, y = simulated.three_draw(np.random.default_rng(3), 200_000)
    eta = simulated.three_eta(X)
    assert_allclose(eta.sum(axis=1), 1.0)
    for k in range(3):
        check_shares(eta[:, k], y == k)
        assert_allclose(np.cov(X[y == k].T), simulated.COVARIANCES[k], atol=0.05)


def check_shares(eta, positive):
    """Assert that within bins of η, the share of positives is η up to chance."""
    bins = np.minimum((10 * eta).astype(int), 9)
    for k in np.unique(bins):
        here = bins == k
        deviation = np.sqrt((eta[here] * (1.0 - eta[here])).sum()) / here.sum()
        assert abs(positive[here].mean() - eta[here].mean()) <= 4.5 * deviation + 1e-12


def test_scores_are_those_of_scikit_learn(study):
    probability = study("questions/probability")
    rng = np.random.default_rng(4)
    y, p = rng.integers(2, size=50), rng.uniform(size=50)
    proba, truth = np.column_stack((1.0 - p, p)), y[:, np.newaxis] == [0, 1]
    assert_allclose(probability.brier(proba, truth), brier_score_loss(y, p))
    assert_allclose(probability.log_loss(proba, truth), sklearn_log_loss(y, p))


def test_log_loss_of_a_certain_error_is_that_of_the_clip(study):
    probability = study("questions/probability")
    truth = np.array([[True, False]])
    assert_allclose(probability.log_loss(np.array([[0.0, 1.0]]), truth), -np.log(1e-6))


def test_recalibration_undoes_a_change_of_the_logit(module):
    recalibrate = module("calibrators.path").recalibrate
    rng = np.random.default_rng(5)
    eta = rng.uniform(0.02, 0.98, 100_000)
    truth = rng.uniform(size=len(eta)) < eta
    distorted = 1.0 / (1.0 + np.exp(-(0.5 * np.log(eta / (1.0 - eta)) - 0.3)))
    assert_allclose(recalibrate(distorted, truth, distorted), eta, atol=0.02)


def test_venn_abers_probabilities_are_those_of_one_fold_where_all_folds_agree(module, monkeypatch):
    venn_abers = module("calibrators.venn_abers")
    if not venn_abers.installed():
        pytest.skip("venn-abers is not installed")
    # five folds of the same samples: the mean of equal pairs is p1 / (p1 + 1 - p0)
    rng = np.random.default_rng(6)
    block = rng.standard_normal((30, 2))
    labels = (block[:, 0] + rng.standard_normal(30) > 0.0).astype(int)
    X, y = np.tile(block, (5, 1)), np.tile(labels, 5)

    class Folds:
        def split(self, X, y):
            every = np.arange(150)
            return [(every[every // 30 != k], every[every // 30 == k]) for k in range(5)]

    monkeypatch.setattr(venn_abers, "outer_folds", Folds)
    model = venn_abers.VennAbersSVC(venn_abers.SVC(kernel="linear")).fit(X, y)
    found = model.predict_proba(block)
    svm, calibrator = model.folds_[0]
    p0, p1 = calibrator.predict_proba(venn_abers._scores(svm, block))[1].T
    assert np.all((p0 <= p1) & (p0 >= 0.0) & (p1 <= 1.0)) and np.any(p0 < p1)
    assert_allclose(found[:, 1], p1 / (1.0 - p0 + p1))
    assert_allclose(found.sum(axis=1), 1.0)
    # more to the right is more probable, and on the whole as many as there are positives
    order = np.argsort(svm.decision_function(block))
    assert np.all(np.diff(found[order, 1]) >= -1e-12)
    assert abs(found[:, 1].mean() - labels.mean()) < 0.05


def test_standing_counts_rows(study):
    probability = study("questions/probability")
    rows = [
        {"task": f"{k}, linear", "solver": who, "brier": score}
        for k, ours in enumerate((0.9, 1.01, 1.1))
        for who, score in (("path", ours), ("sigmoid", 1.0))
    ]
    found = probability.standing(rows, "brier", "path", "sigmoid")
    assert found == {"better": 1, "within 2 % or better": 2, "rows": 3}
    # of three classes not every method has a score
    assert probability.standing(rows, "brier", "recalibrated", "sigmoid")["rows"] == 0
    assert probability.standing(rows, "brier", "path", "venn-abers")["rows"] == 0


def test_a_small_simulation_reports_every_method(module, tmp_path):
    rows = module("run").ask("probability", module("run").QUICK, tmp_path).rows
    probability = module("questions.probability")
    of_two, of_three = (
        [row for row in rows if row.get("part") == part] for part in ("simulated", "three")
    )
    assert [row["solver"] for row in of_two] == list(probability.METHODS)
    assert [row["solver"] for row in of_three] == list(probability.THREE_METHODS)
    assert all(0.0 < row["distance"] < 0.5 and row["n"] == 40 for row in of_two)
    assert all(0.0 < row["bayes"] < row["error"] < 0.7 for row in of_three)
    assert not [row for row in rows if "failed" in str(row.get("note"))]
    tables = probability.tables(rows)
    assert list(tables) == ["simulated", "three"]
    for table in tables.values():
        assert {len(cells) for _, cells in table.columns} == {1}
    assert dict(tables["simulated"].columns)["path"] == [f"{of_two[0]['distance']:.4f}"]


def test_scores_of_real_data_are_shown_beside_each_other(study):
    probability = study("questions/probability")
    told = {"part": "real", "task": "some, linear", "n": 9, "d": 2, "log_loss": 0.5, "exact": 0.0}
    rows = [{**told, "solver": who, "brier": 0.1} for who in probability.METHODS]
    shown = probability.tables(rows)["real"]
    assert dict(shown.columns)["Brier, path"] == ["0.1000"]
    assert "brier, path beside sigmoid: better 0, within 2 % or better 1, rows 1" in shown.notes


def test_columns_of_zeros_and_ones_are_left_alone(study):
    real = study("datasets/real")
    binary = np.eye(4)
    assert real.scaled(binary, binary)[0] is binary
    train, test = real.scaled(np.array([[0.0], [4.0]]), np.array([[2.0]]))
    assert_allclose(train, [[-1.0], [1.0]])
    assert_allclose(test, [[0.0]])


def test_large_sets_are_cut_and_small_ones_are_not(study, data_dir, monkeypatch):
    monkeypatch.setenv("TAUPATH_DATA", str(data_dir))
    real = study("datasets/real")
    assert len(real.load("a9a")[1]) == real.MOST_ROWS
    X, y = real.load("diabetes")
    assert X.shape == (768, 8)
    assert (y == 1).sum() == 500


# -- costs -----------------------------------------------------------------------------------------


def test_cost_counts_alarms_and_misses(study):
    positive = np.array([True, True, True, False, False])
    decided = np.array([True, False, False, True, False])
    # one alarm at 0.2 and two misses at 0.8
    assert_allclose(study("costs").realised_cost(positive, decided, 0.2), (0.2 + 1.6) / 5)


def test_refit_is_the_svm_of_the_path(study):
    costs = study("costs")
    rng = np.random.default_rng(6)
    X = rng.standard_normal((80, 3))
    y = X[:, 0] + rng.standard_normal(80) > 0.3
    model = costs.QuantileSVC(0.5).fit(X, y)
    for tau in (0.1, 0.5, 0.8):
        refit = costs.refit(X, y, 0.5, tau).set_params(tol=1e-8).fit(X, y)
        assert_allclose(refit.decision_function(X), model.decision_function(X, tau), atol=1e-3)


def test_costs_of_one_set(study, data_dir):
    costs = study("costs")
    row = costs.measure("heart_scale")
    assert row.agree > 0.99
    assert all(len(values) == len(costs.TAUS) for values in row.cost.values())
    assert row.mean("path") < row.mean("prior")
    assert any("heart_scale" in line for line in costs.report([row], {}))
    assert json.loads(costs.as_json([row], {}))["rows"][0]["name"] == "heart_scale"


def test_costs_of_decisions_are_shares_of_the_better_constant_decision(module):
    decisions = module("questions.decisions")
    truth = np.repeat([True, False], [10, 30])
    everybody, nobody = np.ones((40, 11), dtype=bool), np.zeros((40, 11), dtype=bool)
    half = np.tile(np.arange(40) % 2 == 0, (11, 1)).T
    found = {
        name: np.array(decisions.judged(truth, None, decided)["costs"])
        for name, decided in (("everybody", everybody), ("nobody", nobody), ("half", half))
    }
    assert_allclose(np.minimum(found["everybody"], found["nobody"]), 1.0)
    # at 1 : 1, five misses and 15 false alarms where flagging nobody has ten misses
    assert decisions.RATIOS[5] == 1.0
    assert_allclose(found["half"][5], 2.0)


def test_a_win_takes_more_than_chance(module):
    verdict = module("questions.decisions").verdict
    better, worse = np.array([0.4, 0.5, 0.4, 0.5]), np.array([0.8, 0.9, 0.9, 0.8])
    noisy = np.array([0.9, 0.1, 1.2, 0.2])
    assert [verdict(better, other) for other in (worse, noisy, better)] == [1, 0, 0]
    assert verdict(worse, better) == -1


def test_the_page_on_thresholds_says_what_the_results_say(module):
    decisions = module("questions.decisions")
    file = Path(__file__).parents[1] / "docs" / "benchmarks" / "decisions.json"
    rows = module("results").Results.read(file).rows
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    assert {row["split"] for row in rows} == set(range(10)) and len(tasks) == 11

    def mean(method, name):
        return np.mean([decisions.of(rows, method, task, name).mean() for task in tasks])

    def won_by(method, name):
        def verdict(task):
            both = (decisions.of(rows, who, task, name) for who in ("stack", method))
            return decisions.verdict(*both)

        return {task for task in tasks if verdict(task) < 0}

    others = [method for method in decisions.METHODS if method != "stack"]
    for name in ("cost", "extreme"):
        assert all(mean("stack", name) < mean(method, name) for method in others)
    for name in ("brier", "log-loss"):
        with_proba = [method for method in others if method != "refitted"]
        assert all(mean("stack", name) < mean(method, name) for method in with_proba)
    for method in ("boosting", "lightgbm"):
        off, error = decisions.difference(rows, method, "cost")
        assert 0.0 < off < error
    assert abs(mean("stack, linear", "cost") - mean("logistic", "cost")) < 0.01
    assert 0.99 < mean("plain", "cost") < 1.0 and mean("plain", "extreme") > 1.4
    assert won_by("boosting", "cost") == {"rings"}
    assert won_by("lightgbm", "cost") == {"rings", "australian"}
    assert won_by("boosting", "brier") == won_by("lightgbm", "brier") == {"dna.scale", "rings"}
    assert won_by("logistic", "extreme") == {"heart_scale"}
    assert max(decisions.of(rows, "stack", task, "extreme").mean() for task in tasks) < 1.006


def test_the_page_on_probabilities_says_what_the_results_say(module):
    file = Path(__file__).parents[1] / "docs" / "benchmarks" / "probability_intervals.json"
    rows = module("results").Results.read(file).rows
    assert {row["n"] for row in rows} == {300, 1000, 3000} and len(rows) == 36
    others = [row for row in rows if not row["chosen"]]

    def means(rows):
        names = ("score 80%", "score 90%", "score 95%")
        return [round(float(np.mean([row[name] for row in rows]))) for name in names]

    assert means(others) == [79, 89, 94]
    at_90 = [row["score 90%"] for row in others]
    assert [round(min(at_90)), round(max(at_90))] == [80, 93]
    assert len(at_90) == 21 and sum(abs(share - 90.0) <= 2.0 for share in at_90) == 9
    errors = [round(row["standard error"], 1) for row in others]
    assert [min(errors), max(errors)] == [0.7, 2.2]
    checkers = {row["n"]: row for row in others if row["task"] == "checkers"}
    assert [round(checkers[n]["score 90%"]) for n in (300, 3000)] == [80, 89]
    assert round(checkers[300]["error"], 2) == 0.2
    at_300 = {row["task"]: row for row in rows if row["n"] == 300}
    assert [round(at_300[name]["score 80%"]) for name in ("rare", "stairs")] == [84, 83]
    good = [row["eta 90%"] for row in rows if row["task"] not in ("checkers", "curved")]
    assert round(min(good)) == 66 and round(max(good)) == 91
    assert round(min(row["eta 90%"] for row in rows)) == 39


# -- coverage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [50, 299, 1878])
def test_band_holds_the_binomial_share(study, n):
    low, high = study("intervals").binomial_band(n, 0.8, 0.99)
    k_low, k_high = round(low * n), round(high * n)
    assert binom.cdf(k_high, n, 0.8) - binom.cdf(k_low - 1, n, 0.8) >= 0.99
    # no wider than it must be, on either side
    assert binom.cdf(k_low - 1, n, 0.8) < 0.005 <= binom.cdf(k_low, n, 0.8)
    assert binom.sf(k_high, n, 0.8) <= 0.005 < binom.sf(k_high - 1, n, 0.8)


def test_conformal_step_covers_what_it_is_made_from(study):
    coverage = study("intervals")
    rng = np.random.default_rng(7)
    y, interval = rng.standard_normal(99), np.tile([-0.1, 0.2], (99, 1))
    step = coverage.conformal_step(np.maximum(-0.1 - y, y - 0.2), 0.8)
    assert coverage.inside(y, interval + np.array([-step, step])).sum() == 80
    # an interval that is too wide is moved inwards
    assert coverage.conformal_step(np.maximum(-9.0 - y, y - 9.0), 0.8) < 0.0


def test_levels_are_the_coverage_a_sample_needs(study):
    coverage = study("intervals")
    rng = np.random.default_rng(9)
    X = rng.uniform(-1.0, 1.0, (60, 1))
    y = rng.standard_normal(60)
    model = coverage.QuantileSVR(kernel="rbf").fit(X[:40], y[:40])
    low, high = model.predict(X[40:], [0.0, 1.0]).T
    new = np.concatenate((0.9 * low[:10] + 0.1 * high[:10], high[10:] + 0.3))
    levels = coverage.level_of(model, X[40:], new)
    assert_allclose(levels[10:], 1.3)
    assert np.all(levels[:10] < 1.0)
    for i, (value, level) in enumerate(zip(new, levels, strict=True)):
        wider = coverage.at_level(model, X[40 + i : 41 + i], level + 1e-6)[0]
        narrower = coverage.at_level(model, X[40 + i : 41 + i], level - 1e-6)[0]
        assert wider[0] <= value <= wider[1]
        assert not narrower[0] <= value <= narrower[1]


def test_ends_of_an_interval_are_inside(study):
    interval = np.array([[0.0, 1.0]] * 4)
    found = study("intervals").inside(np.array([-0.1, 0.0, 1.0, 1.1]), interval)
    assert found.tolist() == [False, True, True, False]


def test_pinball_loss_is_that_of_scikit_learn(study):
    coverage = study("intervals")
    rng = np.random.default_rng(10)
    y, interval = rng.standard_normal(50), np.sort(rng.standard_normal((50, 2)), axis=1)
    both = [
        coverage.mean_pinball_loss(y, end, alpha=q)
        for q, end in zip(coverage.ENDS, interval.T, strict=True)
    ]
    assert_allclose(coverage.pinball(y, interval).mean(), np.mean(both))


def test_a_forest_knows_where_quantiles_are(study):
    study("intervals")
    forest = importlib.import_module("forest")
    if not forest.installed():
        pytest.skip("quantile-forest is not installed")
    rng = np.random.default_rng(11)
    X = rng.integers(2, size=(600, 1)).astype(float)
    y = rng.uniform(0.0, 1.0, 600) * (1.0 + 9.0 * X[:, 0])
    found = forest.forest_quantiles(X, y, np.array([[0.0], [1.0]]), (0.1, 0.9))
    assert_allclose(found, [[0.1, 0.9], [1.0, 9.0]], rtol=0.25)


def test_decreases_are_counted_in_rows(study):
    quantiles = np.array([[1.0, 2.0, 2.0], [3.0, 2.0, 1.9]])
    assert study("intervals").decreases(quantiles) == 2
    assert study("intervals").decreases(quantiles, 0.5) == 1


def test_sets_have_the_columns_they_should(study, data_dir):
    coverage = study("intervals")
    shapes = {name: coverage.read_table(name, data_dir)[0].shape for name in coverage.SETS}
    assert shapes == {
        "engel": (235, 1),
        "mcycle": (133, 1),
        "GAGurine": (314, 1),
        "geyser": (299, 1),
        "Boston": (506, 13),
        "crabs": (200, 6),
        "birthwt": (189, 9),
    }


def test_coverage_of_made_up_data(study, monkeypatch):
    coverage = study("intervals")
    monkeypatch.setattr(coverage, "CS", (0.1, 1.0))
    monkeypatch.setattr(coverage, "QUANTILES", [k / 10 for k in range(1, 10)])
    monkeypatch.setattr(coverage, "FOLDS", (5,))
    forest = coverage.KINDS[coverage.KINDS.index(coverage.RULES[-1]) + 1 :]
    monkeypatch.setattr(coverage, "KINDS", ("plain", "conformal 5", *coverage.RULES, *forest))
    rng = np.random.default_rng(8)
    X = rng.uniform(-1.0, 1.0, (60, 1))
    row = coverage.measure("noise", X, rng.standard_normal(60) * (1.5 + X[:, 0]))
    assert row.crossings == 0
    assert_allclose(row.coverage["plain"] + row.below + row.above, 1.0)
    assert set(row.coverage) == set(row.width) == set(row.loss) == set(coverage.KINDS)
    # that of the quantiles of y alone, about which nothing can be learnt here but its spread
    assert all(0.1 < loss < 0.4 for loss in row.loss.values())
    assert all(0.5 < share <= 1.0 for share in row.coverage.values())
    assert any("noise" in line for line in coverage.report([row], {}))
    assert json.loads(coverage.as_json([row], {}))["rows"][0]["crossings"] == 0
