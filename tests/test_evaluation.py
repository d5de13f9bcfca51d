"""Evaluations: mistakes and costs are those of the decisions, also between the τ that are shown."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import taupath as tp
from taupath import QuantileSVC, QuantileSVR
from taupath.models.certifying import certificate_of
from taupath.models.evaluation import pieces_of
from taupath.outcomes.rates import rates_of_estimator
from taupath.paths.certificate import Certificate


def two_classes(n=80, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + shift * y[:, np.newaxis], y


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
def test_costs_of_every_piece_are_those_of_its_decisions():
    X, y = two_classes()
    model = QuantileSVC().fit(X, y)
    pieces = pieces_of(rates_of_estimator(model, X, y), (0.1, 0.8), (3.0, 60.0))
    assert (pieces["tau_from"][0], pieces["tau_to"][-1]) == (0.1, 0.8)
    assert len(pieces["tau_from"]) > 20
    for k, (begin, end) in enumerate(zip(pieces["tau_from"], pieces["tau_to"], strict=True)):
        predicted = model.predict(X, tau=0.5 * (begin + end))
        alarms, misses = np.sum((predicted == 1) & (y == 0)), np.sum((predicted == 0) & (y == 1))
        assert pieces["cost"][k] == pytest.approx(3.0 * alarms + 60.0 * misses)
    assert "cost" not in pieces_of(rates_of_estimator(model, X, y), (0.1, 0.8))


def by_hand(model, X, y, tau, cost_fp, cost_fn, weight):
    decided = model.predict(X, tau=tau)
    positive, other = decided == model.classes_[1], decided == model.classes_[0]
    truth = y == model.classes_[1]
    tp, fp, fn, tn = (
        weight[each].sum()
        for each in (positive & truth, positive & ~truth, other & truth, other & ~truth)
    )
    cost = cost_fp * fp + cost_fn * fn
    return {
        "tau": tau,
        "cost_fp": cost_fp,
        "cost_fn": cost_fn,
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "tpr": tp / (tp + fn),
        "tnr": tn / (tn + fp),
        "precision": tp / (tp + fp) if tp + fp else np.nan,
        "accuracy": (tp + tn) / weight.sum(),
        "cost": cost,
        "cost_per_case": cost / weight.sum(),
        "cost_without_model": min(cost_fp * (fp + tn), cost_fn * (tp + fn)),
    }


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
@pytest.mark.parametrize("weighted", [False, True])
def test_the_table_is_that_of_predict(weighted):
    X, y = two_classes()
    model = QuantileSVC().fit(X, y)
    weight = np.random.default_rng(1).uniform(size=80) if weighted else None
    shown = np.ones(80) if weight is None else weight
    found = tp.evaluate(model, X, y, sample_weight=weight)
    assert len(found["tau"]) == 13
    for k, tau in enumerate(found["tau"]):
        cheaper = min(tau, 1.0 - tau)
        expected = by_hand(model, X, y, tau, tau / cheaper, (1.0 - tau) / cheaper, shown)
        row = {name: column[k] for name, column in found.items()}
        assert list(row) == list(expected)
        assert row == pytest.approx(expected, nan_ok=True)


def test_costs_of_all_rows_are_in_the_unit_that_was_given():
    X, y = two_classes(shift=2.5)
    model = QuantileSVC().fit(X, y)
    found = tp.evaluate(model, X, y, cost_fp=3.0, cost_fn=12.0)
    assert found["tau"] == [3.0 / 15.0]
    decided = model.predict(X, cost_fp=3.0, cost_fn=12.0)
    each = np.where(decided == y, 0.0, np.where(y == 1, 12.0, 3.0))
    assert found["cost"] == pytest.approx([each.sum()])
    assert found["cost_per_case"] == pytest.approx([each.mean()])
    several = tp.evaluate(model, X, y, taus=[0.1, 3.0 / 15.0, 0.7], cost_fp=3.0, cost_fn=12.0)
    assert several["cost"][1] == found["cost"][0]
    assert several["cost"] == pytest.approx(3.0 * several["fp"] + 12.0 * several["fn"])
    assert len(set(several["cost_without_model"])) == 1


def test_misses_fall_when_a_miss_costs_more():
    data = load_breast_cancer()
    X, malignant = scale(data.data), data.target == 0
    model = QuantileSVC(C=0.1).fit(X[::2], malignant[::2])
    found = tp.evaluate(model, X[1::2], malignant[1::2], taus=[1 / 21, 1 / 6, 0.5, 5 / 6])
    assert (np.diff(found["fn"]) >= 0).all() and found["fn"][0] < found["fn"][-1]
    # the same with malignant as the label that comes first
    model = QuantileSVC(C=0.1, pos_label="malignant").fit(
        X[::2], data.target_names[data.target][::2]
    )
    same = tp.evaluate(
        model, X[1::2], data.target_names[data.target][1::2], taus=[1 / 21, 1 / 6, 0.5, 5 / 6]
    )
    assert same["fn"].tolist() == found["fn"].tolist()


def test_where_a_mistake_costs_nothing_costs_are_finite():
    X, y = two_classes()
    found = tp.evaluate(QuantileSVC().fit(X, y), X, y, taus=[0.0, 1.0])
    assert found["cost_fp"].tolist() == [0.0, 1.0] and found["cost_fn"].tolist() == [1.0, 0.0]
    assert found["cost"].tolist() == [0.0, 0.0]


def test_pipelines_searches_and_other_classifiers_are_evaluated():
    X, y = two_classes()
    scaled = scale(X)
    expected = tp.evaluate(QuantileSVC().fit(scaled, y), scaled, y)
    piped = make_pipeline(StandardScaler(), QuantileSVC()).fit(X, y)
    for model in (piped, GridSearchCV(piped, {"quantilesvc__C": [1.0]}, cv=2).fit(X, y)):
        found = tp.evaluate(model, X, y)
        assert all(np.array_equal(found[name], expected[name], True) for name in expected)
    chosen = tp.QuantileSVCCV(
        Cs=[1.0], cv=2, kernel="linear", combine="best", standardize=False
    ).fit(scaled, y)
    assert np.array_equal(tp.evaluate(chosen, scaled, y)["cost"], expected["cost"])
    foreign = tp.evaluate(LogisticRegression().fit(X, y), X, y, taus=[0.3])
    assert foreign["tp"] == np.sum(
        (LogisticRegression().fit(X, y).predict_proba(X)[:, 1] >= 0.3) & y
    )


def test_part_of_a_path_is_evaluated_where_it_is_known():
    X, y = two_classes()
    model = QuantileSVC(tau_range=(0.2, 0.6)).fit(X, y)
    assert tp.evaluate(model, X, y)["tau"] == pytest.approx([1 / 3, 1 / 2])
    with pytest.raises(ValueError, match=r"taus must lie in the walked range \[0.2, 0.6\]"):
        tp.evaluate(model, X, y, taus=[0.7])


def test_what_cannot_be_evaluated_is_refused():
    X, y = two_classes()
    model = QuantileSVC().fit(X, y)
    with pytest.raises(ValueError, match="taus must be one-dimensional"):
        tp.evaluate(model, X, y, taus=0.5)
    with pytest.raises(ValueError, match=r"taus must lie in \[0, 1\], got 2"):
        tp.evaluate(model, X, y, taus=[2.0])
    with pytest.raises(ValueError, match="cost_fn is missing"):
        tp.evaluate(model, X, y, cost_fp=1.0)
    with pytest.raises(ValueError, match="cost_fp must be a number"):
        tp.evaluate(model, X, y, cost_fp=np.ones(80), cost_fn=1.0)
    with pytest.raises(ValueError, match="Got 3 classes"):
        tp.evaluate(QuantileSVC().fit(X, np.arange(80) % 3), X, np.arange(80) % 3)
    with pytest.raises(ValueError, match="costs are for classifiers"):
        tp.evaluate(QuantileSVR().fit(X, X[:, 0]), X, X[:, 0], cost_fp=1, cost_fn=1)


def test_losses_of_quantiles_and_the_share_below_them():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(60, 1))
    y = X[:, 0] + rng.exponential(size=60)
    model = QuantileSVR(C=10.0).fit(X, y)
    quantiles = np.array([0.1, 0.5, 0.9])
    found = tp.evaluate(model, X, y, taus=quantiles)
    predicted = model.predict(X, quantile=quantiles)
    off = y[:, np.newaxis] - predicted
    assert_allclose(found["below"], (off <= 0.0).mean(axis=0))
    assert found["below"][0] < 0.3 < 0.7 < found["below"][2]
    loss = np.where(off > 0.0, quantiles * off, (quantiles - 1.0) * off).mean(axis=0)
    assert_allclose(found["pinball"], loss)
    constant = np.quantile(y, quantiles, method="inverted_cdf")
    off = y[:, np.newaxis] - constant
    least = np.where(off > 0.0, quantiles * off, (quantiles - 1.0) * off).mean(axis=0)
    assert_allclose(found["d2"], 1.0 - loss / least, atol=2e-3)
    twice = tp.evaluate(model, np.vstack((X, X[:10])), np.append(y, y[:10]), taus=quantiles)
    weight = np.ones(60)
    weight[:10] = 2.0
    weighted = tp.evaluate(model, X, y, taus=quantiles, sample_weight=weight)
    assert_allclose(weighted["pinball"], twice["pinball"])
    assert_allclose(weighted["below"], twice["below"])


class Judged:
    """A path with a certificate of its own."""

    def __init__(self, gap: float, kkt: float, complete: bool) -> None:
        self.found = Certificate(gap, 2 * gap, kkt, 2 * kkt, 7, complete)

    def certify(self, points: int | None) -> Certificate:
        return self.found


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_the_certificate_of_several_paths_is_the_worst_of_all(order):
    paths = [Judged(1e-3, 1e-6, True), Judged(1e-2, 1e-7, False), Judged(1e-4, 1e-5, True)]
    model = QuantileSVC()
    model.paths_ = [paths[k] for k in order]
    found = certificate_of(model, 5)
    assert (found.worst_gap, found.tau_gap) == (1e-2, 2e-2)
    assert (found.worst_kkt, found.tau_kkt) == (1e-5, 2e-5)
    assert (found.n_checked, found.complete) == (21, False)
