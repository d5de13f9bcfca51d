"""What the RBF paths of a search will take, and what is left out if that is too long."""

import numpy as np
import pytest

import taupath as tp
from taupath.estimators.candidates import Candidate, make_grid
from taupath.estimators.search_time import (
    MOST_RBF_SECONDS,
    PathSizes,
    affordable,
    path_sizes,
    rbf_seconds,
)

GRID = make_grid(["linear"], [], (0.01, 1.0)) + make_grid(["rbf"], [0.05, 0.2], (1.0, 10.0))
BOTH = ("gamma", "C")


def of_folds(n, matrices=0):
    """Return the sizes of the paths of five folds and of the final fit."""
    return PathSizes([n], [n * 4 // 5] * 5, matrices)


def paths(*sizes):
    return PathSizes(list(sizes), [], 0)


def test_times_are_those_measured():
    one = [Candidate("rbf", 0.05, 1.0)]
    for n, seconds in ((800, 0.22), (2000, 1.8), (4000, 7.6)):
        assert rbf_seconds(one, paths(n)) == pytest.approx(seconds, rel=0.1)
    assert rbf_seconds([Candidate("rbf", 0.05, 10.0)], paths(4000, 4000)) == pytest.approx(4 * 7.6)
    assert rbf_seconds([Candidate("linear", None, 1.0)], paths(4000)) == 0.0


def test_paths_are_counted_with_their_samples():
    y = np.repeat(["a", "b", "c"], (10, 20, 30))
    assert path_sizes(y[:30], [slice(None), np.arange(5, 25)], "ovo") == [30, 20]
    assert sorted(path_sizes(y, [slice(None)], "ovo")) == [30, 40, 50]
    assert path_sizes(y, [slice(None)], "ovr") == [60, 60, 60]


def test_the_grid_is_thinned_before_the_kernel_is_left_out():
    linear = [each for each in GRID if each.kernel == "linear"]
    expected = {
        4000: ([0.05, 0.2], [1.0, 10.0]),
        6000: ([0.05], [1.0, 10.0]),
        9000: ([0.05], [1.0]),
        20_000: ([], []),
    }
    for n, (gammas, Cs) in expected.items():
        found, left_out = affordable(GRID, of_folds(n), BOTH)
        assert found == linear + make_grid(["rbf"], gammas, Cs)
        assert rbf_seconds(found, of_folds(n)) <= MOST_RBF_SECONDS
        assert len(left_out) == (0 if n == 4000 else 1)


def test_five_folds_take_little_where_their_matrices_fit_and_a_hundred_do_not():
    two = make_grid(["rbf"], [0.05, 0.2], (1.0,))
    final, five = rbf_seconds(two, paths(9000)), rbf_seconds(two, of_folds(9000, matrices=2))
    assert 1.02 * final < five < 1.1 * final
    assert rbf_seconds(two, of_folds(9000, matrices=1)) > 4.0 * final
    assert rbf_seconds(two[:1], of_folds(9000, matrices=1)) == pytest.approx(0.5 * five)
    assert rbf_seconds(two, PathSizes([9000], [8910] * 100, 2)) > 2.0 * final
    assert affordable(GRID, of_folds(9000, matrices=2), BOTH).left_out == []


def test_what_is_left_out_is_said_with_its_time():
    (thinned,) = affordable(GRID, of_folds(6000), BOTH).left_out
    assert thinned == (
        "The RBF kernel is tried with γ = 0.05 and C = 1, 10 only: about 4 min of CPU time instead "
        "of 8 min; set kernel=['linear', 'rbf'] to try all"
    )
    (none,) = affordable(GRID, of_folds(20_000), BOTH).left_out
    assert none.startswith("The RBF kernel is left out: it would take about 106 min")
    assert "with γ = 0.05 and C = 1 alone" in none


def test_values_that_were_given_are_not_thinned():
    assert affordable(GRID, of_folds(6000), ["C"]).candidates[2:] == make_grid(
        ["rbf"], [0.05, 0.2], (1.0,)
    )
    found, (said,) = affordable(GRID, of_folds(6000), [])
    assert {each.kernel for each in found} == {"linear"}
    assert "alone" not in said


def searched(monkeypatch, most, **how):
    monkeypatch.setattr("taupath.estimators.search_time.MOST_RBF_SECONDS", most)
    X = np.random.default_rng(0).normal(size=(60, 3))
    return tp.QuantileSVCCV(cv=3, **how).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.5)


def tried_with_rbf(model):
    return [(each["gamma"], each["C"]) for each in model.candidates_ if each["kernel"] == "rbf"]


def test_a_search_tries_what_is_affordable(monkeypatch):
    whole = searched(monkeypatch, 300.0)
    assert whole.left_out_ == []
    small, large = sorted({gamma for gamma, _ in tried_with_rbf(whole)})
    assert tried_with_rbf(whole) == [(small, 1.0), (small, 10.0), (large, 10.0)]
    assert len(tried_with_rbf(searched(monkeypatch, 300.0, combine="best"))) == 4
    sizes = PathSizes([60], [40, 40, 40], 2)
    # one candidate with C = 1 can be afforded
    least = 1.5 * rbf_seconds([Candidate("rbf", 1.0, 1.0)], sizes)
    thinned = searched(monkeypatch, least)
    assert tried_with_rbf(thinned) == [min(tried_with_rbf(whole))]
    assert len(thinned.left_out_) == 1
    given = searched(monkeypatch, least, gamma=[0.1, 0.7])
    assert tried_with_rbf(given) == []
    named = searched(monkeypatch, 0.0, kernel=["linear", "rbf"])
    assert len(tried_with_rbf(named)) == 3
    assert named.left_out_ == []


class Listener:
    """A display of progress that keeps what is said."""

    def __init__(self):
        self.said = []

    def __call__(self, fraction, n_done):
        pass

    def say(self, line):
        self.said.append(line)


@pytest.mark.parametrize("most", [0.0, 300.0])
def test_it_says_before_a_long_search_what_it_will_take(monkeypatch, most):
    monkeypatch.setattr("taupath.estimators.search_time.MOST_RBF_SECONDS", most)
    monkeypatch.setattr("taupath.estimators.selection.LONG", 0.0)
    X = np.random.default_rng(0).normal(size=(60, 3))
    model, heard = tp.QuantileSVCCV(cv=3), Listener()
    model._progress = heard
    model.fit(X, X[:, 0] > 0.0)
    (line,) = heard.said
    if most == 0.0:
        assert heard.said == model.left_out_
    else:
        assert line.startswith("The RBF paths will take about ")
