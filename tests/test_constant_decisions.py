"""A model that decides the same for all cases says so; one that does not says nothing."""

import warnings

import numpy as np
import pytest

import taupath as tp
from taupath.estimators import constant_decisions
from taupath.estimators.constant_decisions import ConstantDecisions


def overlapping(n=300, seed=0):
    """Two classes that a line tells apart a little: at high and low τ it does not."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + 0.4 * y[:, np.newaxis], y


def constant_by_hand(model, X, tau):
    decided = model.decision_function(X, tau=tau) >= 0.0
    return bool(decided[0]) if decided.all() or not decided.any() else None


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"kernel": "rbf"},
        {"monotone": True},
        {"method": "approximate"},
        {"tau_range": (0.2, 0.9)},
    ],
)
def test_predict_warns_where_and_only_where_all_training_rows_are_decided_alike(how):
    X, y = overlapping()
    model = tp.QuantileSVC(C=0.01, **how).fit(X, y)
    found = set()
    for tau in np.random.default_rng(0).uniform(*model.path_.tau_range, size=60):
        expected = constant_by_hand(model, X, tau)
        found.add(expected)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.predict(X, tau=tau)
            model.predict(X[:1], cost_fp=tau, cost_fn=1.0 - tau)  # a small batch is no reason
        kinds = [each.category for each in caught]
        assert kinds == [tp.ConstantDecisionWarning] * (0 if expected is None else 2)
    assert found == {True, False, None}


def test_the_warning_names_the_decision_and_points_to_the_caller():
    X, y = overlapping()
    model = tp.QuantileSVC(C=0.01).fit(X, np.where(y == 1, "ill", "healthy"))
    with pytest.warns(
        tp.ConstantDecisionWarning, match="decides 'healthy' for every case"
    ) as found:
        model.predict(X[:5], tau=0.95)
    assert found[0].filename == __file__


def test_where_one_mistake_costs_nothing_there_is_nothing_to_warn_of():
    X, y = overlapping()
    model = tp.QuantileSVC(C=0.01).fit(X, y)
    assert (model.predict(X, cost_fp=0, cost_fn=1) == 1).all()
    assert (model.predict(X, cost_fp=1, cost_fn=0) == 0).all()


def test_costs_of_single_cases_and_several_classes_do_not_warn():
    X, y = overlapping()
    model = tp.QuantileSVC(C=0.01).fit(X, y)
    model.predict(X, tau=np.full(len(X), 0.95))
    several = tp.QuantileSVC(C=0.01).fit(X, np.arange(len(X)) % 3)
    several.predict(X[:1])


def test_what_is_known_saves_looking(monkeypatch):
    X, y = overlapping()
    model = tp.QuantileSVC(C=0.01).fit(X, y)
    looked = []
    real = constant_decisions._constant

    def counted(path, tau, monotone):
        looked.append(tau)
        return real(path, tau, monotone)

    monkeypatch.setattr(constant_decisions, "_constant", counted)
    for tau in np.random.default_rng(1).uniform(0.01, 0.99, size=500):
        model._constant_at(tau)
    assert len(looked) < 40
    looked.clear()
    for _ in range(100):
        model.predict(X[:1], tau=0.5)
    assert len(looked) == 0


def test_the_range_has_the_borders():
    X, y = overlapping()
    model = tp.QuantileSVC(C=0.01).fit(X, y)
    low, high = ConstantDecisions().range(model.path_, False)
    step = 2 * constant_decisions.BORDER_ACCURACY
    assert 0.0 < low < high < 1.0
    assert constant_by_hand(model, X, low) is True
    assert constant_by_hand(model, X, low + step) is None
    assert constant_by_hand(model, X, high) is False
    assert constant_by_hand(model, X, high - step) is None
    part = tp.QuantileSVC(C=0.01, tau_range=(0.45, 0.55)).fit(X, y)
    assert ConstantDecisions().range(part.path_, False) == (-np.inf, np.inf)


def test_a_range_that_is_constant_throughout_has_an_end(tmp_path):
    X, y = overlapping()
    for walked, expected in (((0.0, 0.05), (0.05, np.inf)), ((0.95, 1.0), (-np.inf, 0.95))):
        model = tp.QuantileSVC(C=0.01, tau_range=walked, tau=walked[0]).fit(X, y)
        assert ConstantDecisions().range(model.path_, False) == expected
        model.simplify(1e-4).save(tmp_path / "model.tau")  # which looks for the range
        assert tp.load(tmp_path / "model.tau")._constant_at(0.5 * sum(walked)) is not None


def test_a_path_without_any_middle():
    X, y = np.zeros((20, 1)), np.arange(20) % 2
    model = tp.QuantileSVC().fit(X, y)
    low, high = ConstantDecisions().range(model.path_, False)
    assert high - low <= constant_decisions.BORDER_ACCURACY
    with pytest.warns(tp.ConstantDecisionWarning):
        model.predict(X)


def test_a_file_without_data_warns_the_same(tmp_path):
    X, y = overlapping()
    model = tp.QuantileSVC(C=0.01).fit(X, y).simplify(1e-4)
    model.save(tmp_path / "model.tau")
    loaded = tp.load(tmp_path / "model.tau")
    taus = np.linspace(0.01, 0.99, 99)
    expected = [model._constant_at(tau) for tau in taus]
    assert [loaded._constant_at(tau) for tau in taus] == expected
    assert set(expected) == {None, 0, 1}
    model.save(tmp_path / "bare.tau", data=False)
    bare = tp.load(tmp_path / "bare.tau")
    assert all(bare._constant_at(tau) is None for tau in taus)  # it cannot know


def test_refitting_forgets():
    X, y = overlapping()
    model = tp.QuantileSVC(C=0.01).fit(X, y)
    with pytest.warns(tp.ConstantDecisionWarning):
        model.predict(X, tau=0.8)
    model.set_params(C=100.0).fit(X + 5.0 * y[:, np.newaxis], y)
    model.predict(X + 5.0 * y[:, np.newaxis], tau=0.8)
