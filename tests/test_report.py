"""Reports: what a page carries is what the estimators say, and nothing of it can become markup."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mean_pinball_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from report_pages import (
    breast_cancer,
    confusion,
    functions_of,
    iris,
    moons,
    payload_of,
    unpacked,
    wiggly,
)
from taupath import QuantileSVC, QuantileSVR
from taupath.report import write_report


@pytest.fixture
def file(tmp_path):
    return tmp_path / "report.html"


def counts_at(payload, taus):
    """Return the confusion matrix of the page at some τ, from its events."""
    events = payload["events"]
    when = unpacked(events["when"])
    assert (np.diff(when) > 0.0).all()
    false_alarms, found = (
        events["begin"][k] + np.append(0, np.cumsum(unpacked(events[name]), dtype=np.int64))
        for k, name in enumerate(("alarms", "found"))
    )
    negative, positive = payload["counts"]
    for tau in taus:
        k = np.searchsorted(when, tau, side="left")
        yield {
            "tn": negative - false_alarms[k],
            "fp": false_alarms[k],
            "fn": positive - found[k],
            "tp": found[k],
        }


# -- what pages carry ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("make", [lambda **p: breast_cancer(**p)[:3], moons])
def test_counts_are_those_of_predict_next_to_every_change(file, make, monotone):
    model, X, y = make(monotone=monotone)
    write_report(file, model, X, y)
    payload = payload_of(file)
    changes = unpacked(payload["events"]["when"])
    inside = changes[(changes > 1e-9) & (changes < 1.0 - 1e-9)][::5]
    taus = np.concatenate(([0.0, 1.0], inside - 1e-12, inside + 1e-12))
    for tau, counts in zip(taus, counts_at(payload, taus), strict=True):
        assert counts == confusion(y, model.predict(X, tau=tau)), tau


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
def test_each_case_changes_where_its_own_prediction_does(file):
    model, X, y = moons(intercept="free")
    write_report(file, model, X, y)
    cases = payload_of(file)["cases"]
    rows, begin = unpacked(cases["rows"]), unpacked(cases["begin"])
    starts, changes = unpacked(cases["changeStarts"]), unpacked(cases["changes"])
    assert_array_equal(np.sort(rows), np.arange(len(y)))
    for tau in np.linspace(0.003, 0.997, 40):
        passed = [np.searchsorted(changes[a:b], tau, side="left") for a, b in pairwise(starts)]
        decided = (begin + np.array(passed)) % 2
        assert_array_equal(decided, model.predict(X[rows], tau=tau))


def test_probabilities_keep_every_bit(file):
    model, X, y, names = breast_cancer()
    write_report(file, model, X, y, **names)
    cases = payload_of(file)["cases"]
    proba = model.predict_proba(X)[:, 1]
    assert_array_equal(unpacked(cases["proba"]), proba[unpacked(cases["rows"])])


@pytest.mark.parametrize("make", [lambda: breast_cancer()[:3], moons])
def test_functions_are_within_the_error_the_page_states(file, make):
    model, X, y = make()
    write_report(file, model, X, y)
    cases = payload_of(file)["cases"]
    taus = np.linspace(0.0, 1.0, 211)
    exact = model.path_.decision_function(X[unpacked(cases["rows"])], taus)
    _, values = model.path_.values_at_nodes(X)
    error = np.abs(functions_of(cases["functions"], taus) - exact).max()
    assert error <= cases["functions"]["error"] * np.ptp(values) * (1 + 1e-6)
    assert cases["functions"]["error"] < 5e-3


def test_coefficients_are_within_the_tolerance_the_page_states(file):
    model, X, y, names = breast_cancer()
    write_report(file, model, X, y, **names)
    coefficients = payload_of(file)["coefficients"]
    functions = {name: unpacked(part) for name, part in coefficients["functions"].items()}
    order = [list(names["feature_names"]).index(name) for name in coefficients["names"]]
    taus = np.linspace(0.0, 1.0, 211)
    exact = np.array([model.path_.coef(tau) * X.std(axis=0) for tau in taus])[:, order].T
    assert sorted(order) == list(range(30))
    for i, row in enumerate(exact):
        some = slice(functions["starts"][i], functions["starts"][i + 1])
        nodes = functions["nodes"][functions["at"][some]]
        drawn = np.interp(taus, nodes, functions["values"][some])
        assert np.abs(drawn - row).max() <= coefficients["tolerance"] * np.ptp(exact) * 1.1


def test_boundary_grid_is_the_decision_function(file):
    model, X, y = moons()
    write_report(file, model, X, y, feature_names=["width", "height"])
    boundary = payload_of(file)["boundary"]
    grid = np.meshgrid(
        *(np.linspace(boundary["low"][j], boundary["high"][j], boundary["size"]) for j in (0, 1))
    )
    points = np.column_stack([part.ravel() for part in grid])
    exact = model.decision_function(points, tau=0.3)
    drawn = functions_of(boundary["functions"], np.array([0.3]))[:, 0]
    _, values = model.path_.values_at_nodes(points)
    assert np.abs(drawn - exact).max() <= boundary["functions"]["error"] * np.ptp(values) * 1.001
    assert boundary["names"] == ["width", "height"]


def test_monotone_boundary_is_that_of_probabilities(file):
    model, X, y = moons(monotone=True)
    write_report(file, model, X, y)
    boundary = payload_of(file)["boundary"]
    assert boundary["functions"] is None
    corner = model.predict_proba([boundary["low"]])[0, 1]
    assert_allclose(unpacked(boundary["proba"])[0], corner, atol=1e-6)


def test_quantile_shares_are_those_of_predict(file):
    model, X, y = wiggly()
    write_report(file, model, X, y)
    payload = payload_of(file)
    below, up_to = unpacked(payload["below"]), unpacked(payload["upTo"])
    for tau in np.linspace(0.013, 0.987, 21):
        predicted = model.predict(X, quantile=tau)
        assert np.searchsorted(below, tau, side="right") == (y <= predicted + 1e-9).sum()
        assert np.searchsorted(up_to, tau, side="left") == (y < predicted - 1e-9).sum()


def test_mean_losses_are_within_the_error_the_page_states(file):
    model, X, y = wiggly()
    write_report(file, model, X, y)
    means = payload_of(file)["means"]
    nodes = unpacked(means["taus"])
    part = {name: unpacked(means[name]) for name in ("over", "under", "quantile")}
    for tau in np.linspace(0.01, 0.99, 25):
        over, under = (np.interp(tau, nodes, part[name]) for name in ("over", "under"))
        predicted = model.predict(X, quantile=tau)
        exact = mean_pinball_loss(y, predicted, alpha=tau)
        assert abs((1.0 - tau) * over + tau * under - exact) <= means["error"]
    assert means["error"] <= 5e-3 * np.ptp(y)


def test_probabilities_of_several_classes_keep_every_bit(file):
    model, X, y = iris()
    write_report(file, model, X, y, class_names=["a", "b", "c"])
    payload = payload_of(file)
    proba = unpacked(payload["proba"]).reshape(-1, 3)
    assert_array_equal(proba, model.predict_proba(X))
    assert_array_equal(unpacked(payload["truth"]), y)
    assert len(payload["reliability"]) == 3


def test_columns_provenance_and_certificate_are_shown(file):
    model, X, y, names = breast_cancer()
    certificate = model.path_.certify(50)
    write_report(
        file,
        model,
        X,
        y,
        **names,
        columns={"patient": [f"P{i}" for i in range(len(y))], "size": X[:, 0]},
        provenance={"kernel": "linear", "C": 0.1},
        certificate=certificate,
        title="Tumours",
    )
    payload = payload_of(file)
    columns, rows = payload["cases"]["columns"], unpacked(payload["cases"]["rows"])
    assert [(c["name"], c["numeric"]) for c in columns] == [("patient", False), ("size", True)]
    assert columns[0]["texts"] == [f"P{i}" for i in rows]
    assert payload["provenance"] == [["kernel", "linear"], ["C", "0.1"]]
    assert payload["certificate"]["gap"] == certificate.worst_gap
    assert payload["certificate"]["complete"] is False
    assert "<title>Tumours</title>" in file.read_text(encoding="utf-8")


def test_the_worst_mistakes_come_first(file):
    model, X, y, _ = breast_cancer()
    write_report(file, model, X, y)
    rows = unpacked(payload_of(file)["cases"]["rows"])
    wrong = np.where(y > 0, 1.0, 0.0) - model.predict_proba(X)[:, 1]
    assert (np.diff(np.abs(wrong)[rows]) <= 0.0).all()


def test_of_many_cases_all_are_counted_and_the_most_wrong_are_carried(file, monkeypatch):
    monkeypatch.setattr("taupath.report.binary_payload.MOST_LISTED", 60)
    monkeypatch.setattr("taupath.report.binary_payload.FEWEST_LISTED", 60)
    model, X, y, _ = breast_cancer()
    write_report(file, model, X, y)
    payload = payload_of(file)
    rows, proba = unpacked(payload["cases"]["rows"]), model.predict_proba(X)[:, 1]
    assert sum(payload["counts"]) == len(y)
    assert len(rows) == 60
    for own, wrong in ((y > 0, 1.0 - proba), (y < 0, proba)):
        carried = own & np.isin(np.arange(len(y)), rows)
        assert wrong[carried].min() >= wrong[own & ~carried].max()
    taus = np.linspace(0.0, 1.0, 31)
    for tau, counts in zip(taus, counts_at(payload, taus), strict=True):
        assert counts == confusion(y, model.predict(X, tau=tau))


@pytest.mark.slow
def test_twenty_thousand_cases_stay_below_five_megabytes(file):
    X, y = make_classification(24000, 20, flip_y=0.1, random_state=0)
    model = QuantileSVC(C=0.01).fit(X[:4000], y[:4000])
    columns = {f"column {j}": X[4000:, j] for j in range(20)}
    write_report(file, model, X[4000:], y[4000:], columns=columns)
    assert file.stat().st_size <= 5e6
    assert sum(payload_of(file)["counts"]) == 20000


def test_long_columns_are_carried_for_fewer_cases(file, monkeypatch):
    monkeypatch.setattr("taupath.report.listed_cases.MOST_CHARACTERS", 5000)
    model, X, y, _ = breast_cancer()
    write_report(file, model, X, y, columns={"text": ["x" * 500] * len(y)})
    cases = payload_of(file)["cases"]
    assert len(unpacked(cases["rows"])) == len(cases["columns"][0]["texts"]) == 40
    assert cases["columns"][0]["texts"][0] == "x" * 119 + "…"


# -- what estimators and data may be ---------------------------------------------------------------


def test_sparse_rows_give_the_same_page_as_dense_ones(tmp_path):
    model, X, y, names = breast_cancer()
    columns = {"row": np.arange(len(y))}
    for kind, rows in (("dense", X), ("sparse", sparse.csr_array(X))):
        write_report(tmp_path / kind, model, rows, y, **names, columns=columns)
    dense, csr = (payload_of(tmp_path / kind) for kind in ("dense", "sparse"))
    assert dense["counts"] == csr["counts"]
    assert_allclose(unpacked(dense["events"]["when"]), unpacked(csr["events"]["when"]), atol=1e-9)


def test_pipelines_searches_and_data_frames_are_taken(file):
    _, X, y = moons()
    frame = pd.DataFrame(X, columns=["width", "height"])
    pipeline = make_pipeline(StandardScaler(), QuantileSVC(kernel="rbf"))
    search = GridSearchCV(pipeline, {"quantilesvc__C": [0.5, 1.0]}, cv=2).fit(frame, y)
    write_report(file, search, frame, y)
    payload = payload_of(file)
    assert payload["boundary"]["names"] == ["width", "height"]
    assert [column["name"] for column in payload["cases"]["columns"]] == ["width", "height"]
    (counts,) = counts_at(payload, [0.37])
    best = search.best_estimator_
    said = best[-1].predict(best[0].transform(frame), tau=0.37)
    assert counts == confusion(y, said)


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("kind", ["binary", "monotone", "several", "quantiles"])
def test_models_fitted_to_data_frames_know_the_names(file, frame_of, kind):
    X, y = iris()[1:]
    frame = frame_of({"width": X[:, 0], "height": X[:, 1]})
    if kind == "quantiles":
        model, target = QuantileSVR(kernel="rbf"), X[:, 1]
    else:
        model = QuantileSVC(kernel="rbf", monotone=kind == "monotone")
        target = y if kind == "several" else y > 0
    write_report(file, model.fit(frame, target), frame, target)
    payload = payload_of(file)
    assert [column["name"] for column in payload["cases"]["columns"]] == ["width", "height"]
    if kind in ("binary", "monotone"):
        assert payload["boundary"]["names"] == ["width", "height"]
        assert payload["classes"] == ["False", "True"]


def test_precomputed_kernels_have_no_features_to_show(file):
    _, X, y = moons()
    K = rbf_kernel(X, gamma=1.5)
    fitted = QuantileSVC(kernel="precomputed").fit(K, y)
    write_report(file, fitted, K, y)
    payload = payload_of(file)
    assert payload["boundary"] is None
    assert payload["coefficients"] is None
    assert payload["cases"]["columns"] == []


def test_several_features_have_a_fan_each(file):
    model, X, y = wiggly(3)
    write_report(file, model, X, y, feature_names=["a", "b", "c"])
    payload = payload_of(file)
    fans = payload["fans"]
    assert fans["names"][0] == "a"  # which y depends on
    assert sorted(fans["names"]) == ["a", "b", "c"]
    x = unpacked(fans["x"]).reshape(3, -1)
    functions = functions_of(payload["functions"], np.array([0.25]))[len(y) :, 0]
    for k, name in enumerate(fans["names"]):
        sample = np.median(X, axis=0)
        sample["abc".index(name)] = x[k, 40]
        exact = model.path_.decision_function(sample[None], 0.25)[0]
        assert abs(functions[k * fans["size"] + 40] - exact) <= 1e-2 * np.ptp(y)


def test_sparse_regression_is_shown_in_the_order_of_medians(file):
    model, X, y = wiggly(kernel="linear")
    write_report(file, model, sparse.csr_array(X), y)
    assert payload_of(file)["fans"] is None


# -- bad input -------------------------------------------------------------------------------------


def test_unfitted_estimators_are_refused(file):
    _, X, y = moons()
    for estimator in (QuantileSVC(), QuantileSVR(), make_pipeline(QuantileSVC())):
        with pytest.raises(NotFittedError):
            write_report(file, estimator, X, y)
    assert not file.exists()


def test_other_estimators_are_refused(file):
    _, X, y = moons()
    with pytest.raises(TypeError, match="QuantileSVC or QuantileSVR, got LogisticRegression"):
        write_report(file, LogisticRegression().fit(X, y), X, y)
    with pytest.raises(TypeError, match="QuantileSVC or QuantileSVR, got str"):
        write_report(file, "model", X, y)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"y": [0, 1]}, ValueError, "y has 2 values, X has 150 rows"),
        ({"y": [0] * 150}, ValueError, "exactly two classes"),
        ({"y": [3, 4] * 75}, ValueError, "not fitted with: 3, 4"),
        ({"y": [[0, 1]] * 150}, ValueError, "y must have one dimension"),
        ({"X": np.ones((150, 3))}, ValueError, "3 features"),
        ({"X": np.full((150, 2), np.nan)}, ValueError, "NaN"),
        ({"class_names": ["a"]}, ValueError, "class_names has 1 names, the estimator 2 classes"),
        ({"class_names": "ab"}, TypeError, "class_names must be a sequence of names"),
        ({"feature_names": ["a"]}, ValueError, "feature_names has 1 names"),
        ({"columns": [1, 2]}, TypeError, "columns must be a dict"),
        ({"columns": {"a": [1]}}, ValueError, r"columns\['a'\] has 1 values, X has 150 rows"),
        ({"columns": {"a": "text"}}, TypeError, r"columns\['a'\] must be a sequence"),
        ({"provenance": "trained"}, TypeError, "provenance must be a dict"),
        ({"certificate": 1e-9}, TypeError, "certificate must be a taupath.Certificate"),
    ],
)
def test_bad_arguments_are_named_and_nothing_is_written(file, changed, error, message):
    model, X, y = moons()
    arguments = {"X": X, "y": y, **changed}
    with pytest.raises(error, match=message):
        write_report(file, model, **arguments)
    assert not file.exists()


def test_class_names_of_a_regression_are_refused(file):
    model, X, y = wiggly()
    with pytest.raises(ValueError, match="class_names is for a classifier"):
        write_report(file, model, X, y, class_names=["a", "b"])


def test_unknown_labels_of_several_classes_are_named(file):
    model, X, y = iris()
    with pytest.raises(ValueError, match="not fitted with: 7"):
        write_report(file, model, X, np.where(y == 1, 7, y))
