"""The study of quantiles and intervals: its building blocks are right, and its page is, too."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import mean_pinball_loss

FILE = Path(__file__).parents[1] / "docs" / "benchmarks" / "quantiles.json"


@pytest.fixture
def study(module):
    return module("questions.quantiles")


@pytest.fixture
def rows(module):
    return module("results").Results.read(FILE).rows


def test_the_loss_is_the_mean_over_levels_by_that_of_unconditional_quantiles(study):
    rng = np.random.default_rng(0)
    y_train, y = rng.normal(size=80), rng.normal(size=30)
    quantiles = np.sort(rng.normal(size=(30, len(study.LEVELS))), axis=1)
    alone = np.tile(np.quantile(y_train, study.LEVELS), (30, 1))
    ours, constant = (
        np.mean(
            [
                mean_pinball_loss(y, column, alpha=level)
                for level, column in zip(study.LEVELS, found.T, strict=True)
            ]
        )
        for found in (quantiles, alone)
    )
    row = study.judged(y_train, y, study.Predicted(quantiles))
    assert_allclose(row["loss"], ours / constant)
    assert study.judged(y_train, y, study.Predicted(alone))["loss"] == 1.0


def test_intervals_end_at_the_levels_that_leave_as_much_on_both_sides(study):
    quantiles = np.tile(study.LEVELS, (4, 1))
    assert_allclose(study.ends(quantiles, 0.8), [[0.1, 0.9]] * 4)
    assert_allclose(study.ends(quantiles, 0.9), [[0.05, 0.95]] * 4)
    y = np.array([0.07, 0.5, 0.92, 2.0])
    row = study.judged(y, y, study.Predicted(quantiles))
    assert row["within"] == [1, 3] and row["n"] == 4
    assert_allclose(np.array(row["width"]) * y.std(), [0.8, 0.9])


def test_levels_that_are_fitted_on_their_own_are_sorted(study):
    class Crossing:
        def __init__(self, level):
            self.level = level

        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.full(len(X), -self.level)

    found = study.by_levels(np.ones((3, 1)), np.ones(3), np.ones((2, 1)), Crossing).quantiles
    assert_allclose(found, np.tile(np.sort(-study.LEVELS), (2, 1)))


def test_a_first_fit_that_warns_is_noted(study):
    X = np.linspace(-3.0, 3.0, 80)[:, np.newaxis]
    found = study.by_path(X, np.sin(2.0 * X[:, 0]), X[:5])
    assert found.warned
    assert study.judged(X[:, 0], X[:5, 0], found)["warned"]
    assert not study.by_path(X, X[:, 0], X[:5]).warned


def test_every_method_has_judged_every_sample_once(study, rows):
    assert {row["task"] for row in rows} == set(study.SETS) and len(study.SETS) == 8
    sizes = {"engel": 235, "mcycle": 133, "GAGurine": 314, "geyser": 299}
    sizes |= {"crabs": 200, "birthwt": 189, "diabetes": 442, "Boston": 506}
    for method in study.METHODS:
        for task, size in sizes.items():
            own = [row for row in rows if (row["solver"], row["task"]) == (method, task)]
            assert sorted(row["split"] for row in own) == list(range(study.N_SPLITS))
            assert sum(row["n"] for row in own) == size


def test_the_page_on_quantiles_says_what_the_results_say(study, rows):
    loss = {method: study.mean_loss(rows, method) for method in study.METHODS}
    ours = loss[study.OURS]
    rivals = [each for each in study.METHODS if each not in (*study.VARIANTS, *study.FIRST)]
    assert all(ours < loss[each] for each in rivals)
    assert ours < 1.01 * min(loss[each] for each in study.VARIANTS)

    def by_set(method):
        return {task: study.of(rows, method, task) for task in study.SETS}

    def verdicts(method):
        pairs = zip(by_set(study.OURS).items(), by_set(method).values(), strict=True)
        return {task: study.verdict(own, its, study.TEST_SHARE) for (task, own), its in pairs}

    for method in rivals:
        found = verdicts(method)
        assert found["crabs"] == 1
        if method != "regression":
            assert list(found.values()).count(0) >= 5
    trees = ("forest", "forest, tuned", "boosting", "boosting, tuned")
    assert all(verdicts(each)["GAGurine"] == -1 for each in trees)
    assert loss["forest, tuned"] < 1.02 * ours
    mean = {method: {t: each.mean() for t, each in by_set(method).items()} for method in loss}
    assert all(mean[each]["birthwt"] < mean["default"]["birthwt"] for each in rivals[:2])
    assert all(mean[each]["engel"] < mean["default"]["engel"] for each in ("linear", "rbf"))

    for k in range(len(study.COVERAGES)):
        held = [study.coverage(rows, study.OURS, task, k)[1] for task in study.SETS]
        plain = [study.coverage(rows, study.OURS, task, k, "plain")[1] for task in study.SETS]
        assert all(held) and 3 <= plain.count(False) <= 4

    assert 1.2 < loss["first linear"] / ours < 1.25 and 1.45 < loss["first rbf"] / ours < 1.55
    bad, said = (
        np.concatenate(each)
        for each in zip(*(study.warned(rows, m) for m in study.FIRST), strict=True)
    )
    assert said[bad].mean() > 0.9 and said[~bad].mean() < 0.2
