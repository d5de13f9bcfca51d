"""The positive class is the user's choice; what scikit-learn fixes stays as it is."""

import json
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from display_models import X_NEW, X_PLANE, Y_NEW, Y_PLANE, X, Y, plane
from report_pages import payload_of
from taupath import QuantileSVC, QuantileSVCCV
from taupath.display import (
    BoundaryDisplay,
    DecisionCurveDisplay,
    PerformanceDisplay,
    ReliabilityDisplay,
    RocDisplay,
)
from taupath.report import write_report

matplotlib.use("Agg")

# every τ is tried
pytestmark = pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")

STORED = Path(__file__).parent / "stored"
TAUS = (0.0, 0.1, 0.35, 0.5, 0.8, 1.0)


def turned(y):
    """Return labels in the other order: "no", now the larger one, is positive by default."""
    return np.where(y == "no", "z no", "yes")


def back(labels):
    return np.where(labels == "z no", "no", labels)


@cache
def no():
    return QuantileSVC(C=0.5, pos_label="no").fit(X, Y)


def test_by_default_it_is_the_larger_label():
    for labels, larger in ((Y, "yes"), (Y == "yes", True), (np.where(Y == "yes", 7, -3), 7)):
        model = QuantileSVC().fit(X, labels)
        assert model.pos_label is None
        assert model.pos_label_ == larger and type(model.pos_label_) is type(larger)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("monotone", [False, True])
def test_costs_and_tau_refer_to_it(kernel, monotone):
    Z, W = (X @ X.T, X_NEW @ X.T) if kernel == "precomputed" else (X, X_NEW)
    given = {"C": 3.0, "kernel": kernel, "monotone": monotone}
    model = QuantileSVC(**given, pos_label="no").fit(Z, Y)
    twin = QuantileSVC(**given).fit(Z, turned(Y))
    assert model.pos_label_ == "no"
    assert_array_equal(model.classes_, ["no", "yes"])
    assert_array_equal(model.path_.taus, twin.path_.taus)
    assert_array_equal(model.crossing_interval(W), twin.crossing_interval(W))
    each = np.random.default_rng(0).uniform(size=len(W))
    for tau in (*TAUS, each):
        assert_array_equal(model.predict(W, tau=tau), back(twin.predict(W, tau=tau)))
    for cost_fp, cost_fn in ((1, 20), (20, 1), (each, 0.3)):
        assert_array_equal(
            model.predict(W, cost_fp=cost_fp, cost_fn=cost_fn),
            back(twin.predict(W, cost_fp=cost_fp, cost_fn=cost_fn)),
        )
    with pytest.raises(ValueError, match="walked range"):
        QuantileSVC(pos_label="no", tau_range=(0.0, 0.4)).fit(X, Y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("monotone", [False, True])
def test_columns_and_signs_follow_the_order_of_the_classes(kernel, monotone):
    given = {"C": 3.0, "kernel": kernel, "monotone": monotone}
    model = QuantileSVC(**given, pos_label="no").fit(X, Y)
    twin = QuantileSVC(**given).fit(X, turned(Y))
    assert_array_equal(model.predict_proba(X_NEW), twin.predict_proba(X_NEW)[:, ::-1])
    for tau in TAUS:
        decided = model.decision_function(X_NEW, tau=tau)
        assert_array_equal(decided, -twin.decision_function(X_NEW, tau=tau))
        assert_array_equal(model.predict(X_NEW, tau=tau) == "yes", decided > 0.0)
    # whatever is positive, scores order samples alike
    other = QuantileSVC(**given).fit(X, Y)
    for ask in (other.decision_function, model.decision_function):
        assert roc_auc_score(Y_NEW == "yes", ask(X_NEW)) > 0.6
    assert cross_val_score(model, X, Y, scoring="roc_auc").mean() > 0.6


def test_cost_matrices_stay_in_the_order_of_the_classes():
    # rows: truly "no", truly "yes"; a false positive is a "yes" that is taken for "no"
    matrix = np.array([[0.0, 1.0], [3.0, 0.0]])
    expected = no().predict(X_NEW, cost_fp=3.0, cost_fn=1.0)
    assert_array_equal(no().predict(X_NEW, cost_matrix=matrix), expected)
    assert_array_equal(
        no().predict(X_NEW, cost_matrix=np.tile(matrix, (len(X_NEW), 1, 1))), expected
    )
    assert np.all(no().predict(X_NEW, cost_matrix=[[0.0, 1.0], [0.0, 1.0]]) == "no")
    assert np.all(no().predict(X_NEW, cost_matrix=[[1.0, 0.0], [1.0, 0.0]]) == "yes")
    inside_out = no().predict(X_NEW, cost_matrix=[[1.0, 0.0], [0.0, 1.0]])
    assert_array_equal(inside_out == "no", no().predict_proba(X_NEW)[:, 0] < 0.5)


def test_exactly_zero_decides_for_it():
    model = QuantileSVC(intercept="none", pos_label="no").fit(X, Y)
    nothing = np.zeros((1, X.shape[1]))
    assert model.decision_function(nothing) == 0.0
    for classifier in (model, model.at(0.5)):
        assert classifier.predict(nothing) == ["no"]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_tau_alone_keeps_it(kernel):
    model = QuantileSVC(kernel=kernel, pos_label="no").fit(X, Y)
    for tau in TAUS:
        alone = model.at(tau)
        assert alone.pos_label_ == "no"
        assert_array_equal(alone.predict(X_NEW), model.predict(X_NEW, tau=tau))
        assert_allclose(
            alone.decision_function(X_NEW),
            model.decision_function(X_NEW, tau),
            rtol=0,
            atol=1e-12,
        )


@pytest.mark.parametrize("C", [0.01, 0.1])
def test_a_dearer_miss_of_a_malignant_tumour_leaves_fewer_of_them(C):
    X, y = load_breast_cancer(return_X_y=True)
    malignant = 0
    learn, test, y_learn, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = make_pipeline(StandardScaler(), QuantileSVC(C=C, pos_label=malignant))
    model.fit(learn, y_learn)
    misses, alarms = [], []
    for cost in (0.05, 1, 20, 100):
        predicted = model[-1].predict(model[0].transform(test), cost_fp=1, cost_fn=cost)
        misses.append(int(((predicted != malignant) & (y_test == malignant)).sum()))
        alarms.append(int(((predicted == malignant) & (y_test != malignant)).sum()))
    assert misses == sorted(misses, reverse=True) and misses[0] > misses[1] > misses[2]
    assert misses[-1] == 0
    assert alarms == sorted(alarms) and alarms[-1] > alarms[0]


# --- choice of C ---------------------------------------------------------------------------------


def test_losses_of_the_choice_of_C_refer_to_it():
    Cs = [0.01, 0.1, 1.0]
    model = QuantileSVCCV(Cs, cv=3, method="exact", pos_label="no").fit(X, Y)
    twin = QuantileSVCCV(Cs, cv=3, method="exact").fit(X, turned(Y))
    assert model.pos_label_ == "no"
    assert_array_equal(model.probabilities_, twin.probabilities_)
    assert_allclose(model.brier_, twin.brier_)
    assert_array_equal(model.loss(TAUS), twin.loss(TAUS))
    assert [model.best_candidate(tau)["C"] for tau in TAUS] == [
        twin.best_candidate(tau)["C"] for tau in TAUS
    ]
    # counted by hand: a positive sample that is missed costs 2 (1 - τ)
    truth, proba, tau = model._truth == "no", model.probabilities_[0], 0.2
    missed, alarms = truth & (proba < tau), ~truth & (proba >= tau)
    assert missed.any() or alarms.any()
    assert model.loss(tau)[0] == pytest.approx(np.mean(1.6 * missed + 0.4 * alarms))


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text", "numbers", "truth values"])
@pytest.mark.parametrize("choice", [QuantileSVC(C=0.5), QuantileSVCCV([0.1, 1.0], cv=3)])
def test_files_keep_it(choice, kind, tmp_path):
    y = {"text": Y, "numbers": np.where(Y == "yes", 4, -1), "truth values": Y == "yes"}[kind]
    smaller = min(y.tolist())
    model = choice.set_params(pos_label=np.unique(y)[0]).fit(X, y)  # a numpy scalar
    model.save(tmp_path / "model.tau")
    again = tp.load(tmp_path / "model.tau")
    assert again.pos_label_ == again.pos_label == smaller
    assert_array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))
    costs = {"cost_fp": 1, "cost_fn": 8}
    assert_array_equal(again.predict(X_NEW, **costs), model.predict(X_NEW, **costs))
    assert again.simplify(1e-3).pos_label_ == smaller
    # the parameter may have been changed since: what counts is what was fitted
    again.set_params(pos_label=None).save(tmp_path / "model.tau")
    again = tp.load(tmp_path / "model.tau")
    assert again.pos_label is None and again.pos_label_ == smaller


def test_several_classes_have_none_in_their_files(tmp_path):
    model = QuantileSVC().fit(*load_iris(return_X_y=True))
    model.save(tmp_path / "model.tau")
    assert not hasattr(tp.load(tmp_path / "model.tau"), "pos_label_")


@pytest.mark.parametrize("name", ["v1-classifier", "v2-classifier", "v2-approximate-classifier"])
def test_files_from_before_there_was_a_choice_have_the_larger_label(name):
    model = tp.load(STORED / f"{name}.tau")
    if len(model.classes_) > 2:
        assert not hasattr(model, "pos_label_")
        return
    assert model.pos_label_ == model.classes_[1]
    X = np.array(json.loads((STORED / f"{name}.json").read_text())["X"])
    assert_array_equal(model.predict(X) == model.pos_label_, model.decision_function(X) >= 0.0)


# --- displays and the report ---------------------------------------------------------------------


@pytest.mark.usefixtures("no_figures_left")
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("wrapped", [False, True])
def test_displays_draw_rates_of_it(wrapped, monotone):
    def made(y, **given):
        model = QuantileSVC(C=0.5, monotone=monotone, **given)
        return (make_pipeline(StandardScaler(), model) if wrapped else model).fit(X, y)

    model, twin = made(Y, pos_label="no"), made(turned(Y))
    for kind, names in (
        (PerformanceDisplay, ("taus", "tpr", "tnr", "accuracy")),
        (RocDisplay, ("fpr", "tpr", "taus", "roc_auc")),
        (DecisionCurveDisplay, ("thresholds", "net_benefit", "treat_all")),
        (ReliabilityDisplay, ("prob_true", "prob_pred", "interval", "counts")),
    ):
        display = kind.from_estimator(model, X_NEW, Y_NEW)
        same = kind.from_estimator(twin, X_NEW, turned(Y_NEW))
        named = kind.from_estimator(model, X_NEW, Y_NEW, pos_label="no")
        for name in names:
            assert_array_equal(getattr(display, name), getattr(same, name))
            assert_array_equal(getattr(named, name), getattr(same, name))
        with pytest.raises(ValueError, match=r"fitted with 'no'.* fit it with pos_label='yes'"):
            kind.from_estimator(model, X_NEW, Y_NEW, pos_label="yes")
        with pytest.raises(ValueError, match="pos_label='maybe' is not a label"):
            kind.from_estimator(model, X_NEW, Y_NEW, pos_label="maybe")


@pytest.mark.usefixtures("no_figures_left")
def test_displays_of_other_classifiers_take_it_as_an_argument():
    other = LogisticRegression().fit(X, Y)
    proba = other.predict_proba(X_NEW)
    for kind, name in (
        (PerformanceDisplay, "tpr"),
        (RocDisplay, "tpr"),
        (DecisionCurveDisplay, "net_benefit"),
        (ReliabilityDisplay, "prob_true"),
    ):
        for column, label in enumerate(other.classes_):
            display = kind.from_estimator(other, X_NEW, Y_NEW, pos_label=label)
            same = kind.from_predictions(Y_NEW, proba[:, column], pos_label=label)
            assert_array_equal(getattr(display, name), getattr(same, name))
        default = kind.from_estimator(other, X_NEW, Y_NEW)
        assert_array_equal(getattr(default, name), getattr(same, name))


@pytest.mark.usefixtures("no_figures_left")
@pytest.mark.parametrize("monotone", [False, True])
def test_boundaries_are_drawn_around_it(monotone):
    given = plane().get_params() | {"monotone": monotone}
    model = QuantileSVC(**given | {"pos_label": 0}).fit(X_PLANE, Y_PLANE)
    twin = QuantileSVC(**given).fit(X_PLANE, 1 - Y_PLANE)
    taus = (0.3, 0.6)
    display = BoundaryDisplay.from_estimator(model, X_PLANE, Y_PLANE, taus=taus)
    same = BoundaryDisplay.from_estimator(twin, X_PLANE, 1 - Y_PLANE, taus=taus)
    assert_array_equal(display.responses, same.responses)
    assert_array_equal(display.positive, same.positive)
    assert [each.get_label() for each in display.samples_] == ["1", "0"]


@pytest.mark.parametrize("monotone", [False, True])
def test_the_report_counts_it(monotone, tmp_path):
    given = {"C": 0.5, "monotone": monotone}
    model = QuantileSVC(**given, pos_label="no").fit(X, Y)
    twin = QuantileSVC(**given).fit(X, turned(Y))
    files = tmp_path / "a.html", tmp_path / "b.html"
    write_report(files[0], model, X_NEW, Y_NEW, class_names=["healthy", "ill"])
    write_report(files[1], twin, X_NEW, turned(Y_NEW), class_names=["ill", "healthy"])
    payload, same = (payload_of(file) for file in files)
    assert payload["classes"] == ["ill", "healthy"]  # the positive one last
    assert payload == same


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [QuantileSVC, QuantileSVCCV])
def test_a_label_that_is_not_there_is_refused(kind):
    for label in ("maybe", 1, ["no"], float("nan")):
        with pytest.raises(ValueError, match=r"pos_label=.* is not a label of y.* 'no' and 'yes'"):
            kind(pos_label=label).fit(X, Y)


def test_it_is_for_two_classes():
    iris = load_iris(return_X_y=True)
    for kind in (QuantileSVC(pos_label=2), QuantileSVCCV([1.0], cv=3, pos_label=2)):
        with pytest.raises(ValueError, match="pos_label=2 is for two classes, y has 3"):
            kind.fit(*iris)
    model = QuantileSVC().fit(X, Y)
    assert not hasattr(model.fit(*iris), "pos_label_")  # a second fit forgets the first


def test_searches_and_clones_keep_it():
    search = GridSearchCV(QuantileSVC(pos_label="no"), {"C": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.best_estimator_.pos_label_ == "no"
