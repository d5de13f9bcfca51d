"""Reports of several classes and of regression: what pages carry, and how much work that takes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.metrics import mean_pinball_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import taupath.paths.crossings
from report_pages import functions_of, iris, payload_of, unpacked, wiggly
from taupath import QuantileSVC, QuantileSVR
from taupath.cli import main
from taupath.paths.walked import WalkedPiece
from taupath.report import low_rank, quantile_payload, write_report
from taupath.report.several_payload import to_hundredths

PLANTED = "Zbigniew-Planted"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "report.html"


# -- several classes -------------------------------------------------------------------------------


def test_hundredths_add_up_and_are_close():
    proba = np.random.default_rng(0).dirichlet(np.ones(4), size=200)
    parts = to_hundredths(proba)
    assert_array_equal(parts.sum(axis=1), 100)
    assert np.abs(parts / 100.0 - proba).max() < 0.01
    assert_array_equal(to_hundredths(np.array([[0.0, 1.0], [0.25, 0.75]])), [[0, 100], [25, 75]])


def test_aggregates_of_several_classes_hold_counts_only(file):
    model, X, y = iris()
    columns = {"patient": [PLANTED] * len(y), "width": 1234.5 + X[:, 0]}
    write_report(file, model, X, y, columns=columns, cases=False)
    page = file.read_text(encoding="utf-8")
    assert PLANTED not in page and "1239" not in page and "aggregates only" in page
    payload = payload_of(file)
    assert payload["cases"] is None
    truth, alike = unpacked(payload["truth"]), unpacked(payload["alike"])
    groups = unpacked(payload["proba"]).reshape(-1, 3)
    assert alike.sum() == payload["count"] == len(y)
    assert_array_equal(np.bincount(truth, alike), np.bincount(y))
    # groups are in an order of their own, not in that of the rows
    assert_array_equal(np.lexsort((*groups.T[::-1], truth)), np.arange(len(truth)))


# -- regression ------------------------------------------------------------------------------------


def test_aggregates_of_a_regression_have_right_shares_at_thousandths(file):
    model, X, y = wiggly()
    columns = {"patient": [PLANTED] * len(y), "width": 1234.5 + X[:, 0]}
    write_report(file, model, X, y, columns=columns, cases=False, target_name="speed")
    page = file.read_text(encoding="utf-8")
    assert PLANTED not in page and "1239" not in page and "aggregates only" in page
    payload = payload_of(file)
    assert payload["cases"] is None and payload["functions"] is None and payload["fans"] is None
    assert payload["target"] == "speed"
    below, up_to = unpacked(payload["below"]), unpacked(payload["upTo"])
    for tau in (0.001, 0.05, 0.25, 0.5, 0.777, 0.9, 0.999):
        predicted = model.predict(X, quantile=tau)
        assert np.searchsorted(below, tau, side="right") == (y <= predicted + 1e-9).sum()
        assert np.searchsorted(up_to, tau, side="left") == (y < predicted - 1e-9).sum()
    write_report(file, model, X, y)
    exact = unpacked(payload_of(file)["below"])
    inside = exact[(exact > 0.0) & (exact < 1.0)]
    assert not np.isin(inside, below).any()  # no exact number of any case


def test_the_same_number_for_all_cases_is_the_best_there_is(file):
    model, X, y = wiggly()
    write_report(file, model, X, y)
    constant = {name: unpacked(part) for name, part in payload_of(file)["constant"].items()}
    for tau in (0.1, 0.5, 0.83):
        over, under = (np.interp(tau, constant["taus"], constant[k]) for k in ("over", "under"))
        found = (1.0 - tau) * over + tau * under
        tried = y[:, None] - y[None]  # one of the values of y is always among the best
        loss = np.maximum(tau * tried, (tau - 1.0) * tried).mean(axis=0)
        assert found == pytest.approx(loss.min(), rel=1e-3)


def houses():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(5.0, 1.0, 240),
            "area": rng.uniform(40.0, 200.0, 240),
            "town": rng.choice(["A", "B", "C"], 240, p=[0.2, 0.5, 0.3]),
            "rooms": rng.integers(1, 7, 240),
        }
    )
    price = 3.0 * frame["area"] + 20.0 * frame["rooms"] + 30.0 * (frame["town"] == "B")
    return frame, (price + 20.0 * rng.standard_normal(240)).rename("price")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_quantiles_over_columns_are_in_raw_units_and_the_important_ones_first(file, kernel):
    frame, price = houses()
    before = make_column_transformer(
        (StandardScaler(), ["noise", "area", "rooms"]), (OneHotEncoder(), ["town"])
    )
    model = make_pipeline(before, QuantileSVR(C=10.0, kernel=kernel)).fit(frame, price)
    write_report(file, model, frame, price)
    payload = payload_of(file)
    assert payload["target"] == "price"
    fans = payload["fans"]
    assert fans["names"] == ["area", "rooms", "noise"] and fans["columns"] == 4
    x = unpacked(fans["x"]).reshape(3, -1)
    assert_allclose(x[0, [0, -1]], np.quantile(frame["area"], [0.01, 0.99]))
    rows = unpacked(payload["cases"]["rows"])
    points = unpacked(fans["points"]).reshape(3, -1)
    assert_allclose(points[1], frame["rooms"].to_numpy()[rows])
    typical = frame.iloc[[0] * 2].assign(
        noise=frame["noise"].median(), rooms=frame["rooms"].median(), town="B", area=x[0, [7, 60]]
    )
    exact = model[-1].path_.decision_function(before.transform(typical), 0.7)
    drawn = functions_of(payload["functions"], np.array([0.7]))[len(price) + np.array([7, 60]), 0]
    assert_allclose(drawn, exact, atol=2e-3 * np.ptp(price))


def test_the_command_line_shows_raw_units_and_names(tmp_path):
    frame, price = houses()
    frame.assign(price=price).to_csv(tmp_path / "houses.csv", index=False)
    model, page = str(tmp_path / "model.tau"), tmp_path / "page.html"
    data = str(tmp_path / "houses.csv")
    assert main(["fit", data, "--task", "regress", "--target", "price", "-o", model]) == 0
    assert main(["report", model, data, "-o", str(page)]) == 0
    payload = payload_of(page)
    assert payload["target"] == "price"
    assert payload["fans"]["names"] == ["area", "rooms", "noise"]
    x = unpacked(payload["fans"]["x"]).reshape(3, -1)
    assert_allclose(x[0, [0, -1]], np.quantile(frame["area"], [0.01, 0.99]))
    assert [column["name"] for column in payload["cases"]["columns"]][:2] == ["area", "rooms"]
    assert main(["report", model, data, "--no-cases", "-o", str(page)]) == 0
    assert payload_of(page)["cases"] is None


@pytest.mark.parametrize("kind", ["missing", "only text", "polars"])
def test_columns_that_are_no_numbers_do_not_stop_the_report(file, kind):
    frame, price = houses()
    columns = ["area", "town"]
    if kind == "missing":
        frame.loc[::7, "noise"] = np.nan
        from sklearn.impute import SimpleImputer

        number = (make_pipeline(SimpleImputer(), StandardScaler()), ["noise", "area"])
        before = make_column_transformer(number, (OneHotEncoder(), ["town"]))
        columns = ["noise", "area", "town"]
    elif kind == "only text":
        before = make_column_transformer((OneHotEncoder(), ["town"]))
        columns = ["town"]
    else:
        before = make_column_transformer((StandardScaler(), ["area"]), (OneHotEncoder(), ["town"]))
    X = frame[columns]
    if kind == "polars":
        import polars as pl

        X = pl.DataFrame({name: X[name].to_numpy() for name in columns})
    model = make_pipeline(before, QuantileSVR(C=1.0)).fit(X, price)
    write_report(file, model, X, price)
    fans = payload_of(file)["fans"]
    if kind == "only text":
        assert fans is None
    else:
        assert fans["names"][0] == "area" and fans["mixed"]


# -- work ------------------------------------------------------------------------------------------


@pytest.fixture
def work(monkeypatch):
    """Count nodes solved for, and values of functions that are computed."""
    done = {"nodes": 0, "values": 0}
    sweep, values_at = WalkedPiece.sweep, taupath.paths.crossings.Tracks.values_at

    def counted_sweep(self, first, last, with_theta):
        done["nodes"] += last - first
        return sweep(self, first, last, with_theta)

    def counted_values(self, features, kept):
        values = values_at(self, features, kept)
        done["values"] += values.size
        return values

    monkeypatch.setattr(WalkedPiece, "sweep", counted_sweep)
    monkeypatch.setattr(taupath.paths.crossings.Tracks, "values_at", counted_values)
    return done


def test_a_report_of_wide_sparse_samples_solves_for_each_node_once(file, work):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((300, 2000)) * (rng.random((300, 2000)) < 0.02))
    y = np.asarray(X[:, :40].sum(axis=1)).ravel() + 0.3 * rng.standard_normal(300) > 0.4
    model = QuantileSVC(C=10.0).fit(X[:200], y[:200])
    work["nodes"] = 0
    write_report(file, model, X[200:], y[200:])
    nodes = len(model.path_.kept_nodes)
    assert len(model.path_._tracks.edges) == nodes
    assert nodes <= work["nodes"] <= 1.1 * nodes + 10


def test_functions_of_many_cases_are_computed_at_few_nodes(file, work, monkeypatch):
    monkeypatch.setattr(low_rank, "MOST_MEASURED", 200_000)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 4))
    y = X @ [1.0, 0.5, 0.2, 0.0] + (1.0 + 0.3 * X[:, 0] ** 2) * rng.standard_normal(2000)
    model = QuantileSVR(C=1.0).fit(X, y)
    work["nodes"] = 0
    write_report(file, model, X, y)
    n_nodes = len(model.path_.kept_nodes)
    n_functions = 1000 + 4 * 81
    payload = payload_of(file)
    assert work["nodes"] <= 1.1 * n_nodes + 10
    assert work["values"] < 0.6 * n_functions * n_nodes
    assert payload["functions"]["error"] <= 1.2e-3
    taus = np.linspace(0.0, 1.0, 301)
    rows = unpacked(payload["cases"]["rows"])[::20]
    exact = model.path_.decision_function(X[rows], taus)
    drawn = functions_of(payload["functions"], taus)[: len(unpacked(payload["cases"]["rows"]))]
    off = np.abs(drawn[::20] - exact).max()
    assert off <= payload["functions"]["error"] * np.ptp(model.path_.values_at_nodes(X)[1]) * 1.05


def test_aggregates_of_a_regression_do_not_give_away_what_was_to_be_predicted(file):
    model, X, y = wiggly()
    write_report(file, model, X, y, cases=False)
    payload = payload_of(file)
    constant = {name: unpacked(values) for name, values in payload["constant"].items()}
    means = {name: unpacked(payload["means"][name]) for name in ("over", "under", "quantile")}
    mean = (means["quantile"] - means["over"] + means["under"]).mean()
    told = constant["over"] - constant["under"] + mean
    assert len(told) <= len(y) // 5 + 1
    assert np.abs(told[:, None] - y).min(axis=0).max() > 1e-3 * np.ptp(y)
    assert np.abs(told - y.min()).min() > 1e-4 * np.ptp(y)
    for tau in (0.1, 0.5, 0.8):
        over, under = (
            np.interp(tau, constant["taus"], constant[name]) for name in ("over", "under")
        )
        best = mean_pinball_loss(y, np.full(len(y), np.quantile(y, tau)), alpha=tau)
        assert (1.0 - tau) * over + tau * under == pytest.approx(best, rel=0.03)
    with pytest.raises(ValueError, match="aggregates of fewer than 10 cases"):
        write_report(file, model, X[:9], y[:9], cases=False)


@pytest.mark.parametrize("kind", [QuantileSVC, QuantileSVR])
@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_aggregates_do_not_name_a_category_of_a_single_case(file, kind, as_given):
    rng = np.random.default_rng(0)
    X = np.column_stack((np.arange(40) % 2, np.arange(40) == 5, rng.normal(size=40))).astype(float)
    y = (X[:, 0] + X[:, 2] > 0.5).astype(float)
    given = as_given(X)
    names = ["name=Smith", f"name={PLANTED}", "age"]
    write_report(
        file, kind(kernel="linear").fit(given, y), given, y, feature_names=names, cases=False
    )
    assert PLANTED not in file.read_text(encoding="utf-8")
    assert sorted(payload_of(file)["coefficients"]["names"]) == ["age", "name=Smith"]


def test_the_error_of_the_means_that_is_stated_holds_on_a_path_with_many_kinks(file, monkeypatch):
    monkeypatch.setattr(quantile_payload, "MEAN_VALUES", 0)  # as few cells as there may be
    rng = np.random.default_rng(2)
    X = rng.normal(size=(800, 6)) @ rng.normal(size=(6, 6))
    y = X[:, 0] + (1.0 + np.abs(X[:, 1])) * rng.standard_t(3, 800)
    model = QuantileSVR(C=1.0).fit(X, y)
    write_report(file, model, X, y)
    means = payload_of(file)["means"]
    assert means["usual"] < means["error"]
    for tau in (0.01, 0.013, 0.02, 0.3, 0.5, 0.9, 0.977, 0.985, 0.99):
        predicted = model.predict(X, quantile=tau)
        for name, exact in (
            ("over", np.maximum(predicted - y, 0.0).mean()),
            ("under", np.maximum(y - predicted, 0.0).mean()),
            ("quantile", predicted.mean()),
        ):
            found = np.interp(tau, unpacked(means["taus"]), unpacked(means[name]))
            assert abs(found - exact) <= means["error"], (tau, name)


@pytest.mark.parametrize("measured", [2_000_000, 0])
def test_an_error_that_was_measured_on_a_sample_is_no_bound(file, monkeypatch, measured):
    monkeypatch.setattr(low_rank, "MOST_MEASURED", measured)
    model, X, y = wiggly()
    write_report(file, model, X, y)
    assert payload_of(file)["functions"]["sampled"] == (measured == 0)


def test_huge_numbers_of_a_column_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.standard_normal(40).tolist()
    table, model, page = (str(tmp_path / name) for name in ("rows.csv", "model.tau", "page.html"))
    lines = [f"{1e45 * x!r},{'yes' if x + 0.5 * rng.standard_normal() > 0 else 'no'}" for x in a]
    (tmp_path / "rows.csv").write_text("\n".join(["a,target", *lines]))
    assert main(["fit", table, "-o", model]) == 0
    assert main(["report", model, table, "-o", page]) == 0
    cases = payload_of(tmp_path / "page.html")["cases"]
    assert_allclose(unpacked(cases["features"]), 1e45 * np.array(a)[unpacked(cases["rows"])])
