"""The page of regression in a real browser: names, settings, files, and aggregates only."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from report_pages import wiggly
from taupath import QuantileSVR
from taupath.report import write_report


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.uniform(0.0, 10.0, (300, 10)) * np.geomspace(1.0, 500.0, 10)
    price = X[:, 9] / 50.0 + (0.5 + 0.02 * X[:, 5]) * rng.standard_normal(300)
    model = make_pipeline(StandardScaler(), QuantileSVR(C=5.0)).fit(X[:150], price[:150])
    file = tmp_path_factory.mktemp("quantiles") / "houses.html"
    columns = {"street": [f"S{i}" for i in range(150)]}
    columns |= {f"m{j}": X[150:, j] for j in range(10)}
    write_report(
        file,
        model,
        X[150:],
        price[150:],
        columns=columns,
        target_name="price",
        feature_names=[f"m{j}" for j in range(10)],
        files=("houses.tau", "new houses.csv"),
    )
    return file, model, X[150:], price[150:]


def test_target_and_columns_have_their_names_and_units(houses, open_page):
    file, _, X, _ = houses
    page = open_page(file)
    assert "quantile of price" in page.text("#headline")
    chart = page.tab.locator("figure", has_text="Predicted quantiles of price")
    assert chart.locator("svg[role=img] text.label").all_text_contents() == [
        "cases, from the smallest predicted median to the largest",
        "price",
    ]
    options = page.tab.locator("#fan option").all_inner_texts()
    assert options[1].startswith("m9 (the others at their medians")
    assert "8 of 11 columns" in chart.inner_text()
    page.choose("#fan", "1")
    ticks = chart.locator("svg[role=img] .axes text").all_text_contents()
    assert max(float(t) for t in ticks if t.isdigit()) > 0.5 * X[:, 9].max()  # not a z-score
    heads = page.tab.locator("#mistakes-table th").all_inner_texts()
    assert heads[:7] == [
        "row",
        "prediction is",
        "actual price",
        "predicted",
        "off by",
        "street",
        "m9",
    ]
    assert "3 more columns, largest weights first" in page.text("#all-columns")
    page.click("#all-columns")
    assert page.tab.locator("#mistakes-table th").count() == 16


def test_costs_are_compared_with_the_best_single_number(houses, open_page):
    file, model, X, y = houses
    page = open_page(file, "#over=1&under=3")
    predicted = model.predict(X, quantile=0.75)
    over, under = np.maximum(predicted - y, 0.0).mean(), np.maximum(y - predicted, 0.0).mean()
    same = np.quantile(y, 0.75, method="inverted_cdf")
    blind = (np.maximum(same - y, 0.0) + 3.0 * np.maximum(y - same, 0.0)).mean()
    text = page.text("#headline")
    said = [
        float(part.split(" ")[0].rstrip("."))
        for part in text.split(" cost")[2:4]
        for part in [part.removeprefix("s ").strip()]
    ]
    assert said[0] == pytest.approx(over + 3.0 * under, rel=1e-2)
    assert said[1] == pytest.approx(blind, rel=1e-2)


def test_settings_are_in_the_address_and_survive_a_reload(houses, open_page):
    page = open_page(houses[0])
    page.type("#cost-over", 2.0)
    page.type("#cost-under", 6.0)
    page.type("#coverage", 90.0)
    page.choose("#fan", "2")
    page.click("#all-columns")
    page.tab.wait_for_url("**columns=all")
    fragment = page.tab.evaluate("location.hash")
    assert fragment == "#over=2&under=6&interval=90&fan=2&columns=all"
    again = open_page(houses[0], fragment)
    assert again.field("#tau-field") == 0.75
    assert (again.field("#cost-over"), again.field("#coverage")) == (2.0, 90.0)
    assert again.tab.input_value("#fan") == "2"
    assert "Show 8 columns only" in again.text("#all-columns")


@pytest.mark.parametrize(
    "fragment", ["#over=-1&under=x&interval=100&fan=99", "#over=0&under=0", "#<b>"]
)
def test_an_edited_address_is_ignored(houses, open_page, fragment):
    page = open_page(houses[0], fragment)
    assert (page.field("#cost-over"), page.field("#cost-under")) == (1.0, 1.0)
    assert (page.field("#coverage"), page.tab.input_value("#fan")) == (80.0, "0")


def test_saved_quantiles_are_those_of_predict(houses, open_page):
    file, model, X, y = houses
    page = open_page(file, "#over=1&under=3")
    with page.tab.expect_download() as waiting:
        page.click("#save-quantiles")
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["row"] for row in rows] == [str(i + 1) for i in range(len(y))]
    assert [row["street"] for row in rows] == [f"S{i}" for i in range(len(y))]
    np.testing.assert_allclose([float(row["price"]) for row in rows], y)
    exact = model.predict(X, quantile=[0.1, 0.75, 0.9])
    saved = [[float(row[f"quantile {tau}"]) for tau in (0.1, 0.75, 0.9)] for row in rows]
    np.testing.assert_allclose(saved, exact, atol=2e-3 * np.ptp(exact))
    assert page.text("#command") == (
        "taupath predict houses.tau 'new houses.csv' --quantiles 0.1 0.75 0.9 -o quantiles.csv"
    )
    assert "quantile=[0.1, 0.75, 0.9]" in page.text("#python")


def test_aggregates_show_the_same_numbers_without_any_case(open_page, tmp_path):
    model, X, y = wiggly()
    file = tmp_path / "aggregates.html"
    write_report(file, model, X, y, cases=False, target_name="speed")
    page = open_page(file)
    assert "aggregates only" in page.text("#holds")
    assert page.tab.locator("#mistakes-table, #save-quantiles, #fan").count() == 0
    assert page.tab.locator("figure", has_text="Mean predicted quantile of speed").count() == 1
    for tau in (0.1, 0.5, 0.93):
        page.type("#tau-field", tau)
        above = int((y > model.predict(X, quantile=tau) + 1e-9).sum())
        assert page.text("#metric-above") == f"{above} of {len(y)}"
    page.type("#coverage", 80.0)
    low, high = model.predict_interval(X, coverage=0.8).T
    inside = ((y >= low - 1e-9) & (y <= high + 1e-9)).mean()
    assert page.number("#metric-covered") == pytest.approx(inside, abs=5.1e-5)


def test_a_narrow_screen_never_scrolls_sideways(houses, open_page):
    page = open_page(houses[0], "#fan=1", viewport={"width": 375, "height": 812})
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 375
