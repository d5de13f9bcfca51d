"""The page of several classes in a real browser: decisions, flips and files are Python's."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from browser_page import said
from report_pages import iris
from taupath import QuantileSVC
from taupath.report import write_report

NAMES = ["Barolo", "Grignolino", "Barbera"]
HOSTILE = "</script><script>window.hacked = 1</script>"


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    data = load_wine()
    rng = np.random.default_rng(0)
    X = scale(data.data[:, :6]) + 0.9 * rng.standard_normal((178, 6))
    order = rng.permutation(178)
    train, test = order[:89], order[89:]
    model = QuantileSVC(C=0.1).fit(X[train], data.target[train])
    file = tmp_path_factory.mktemp("several") / "wine.html"
    columns = {"bottle": [f"B{i}" for i in range(89)]} | {f"m{j}": X[test, j % 6] for j in range(9)}
    write_report(
        file,
        model,
        X[test],
        data.target[test],
        class_names=NAMES,
        columns=columns,
        target_name="cultivar",
        files=("wine.tau", "wine.csv"),
    )
    return file, model, X[test], data.target[test]


def costs_of(row: int, times: float, base: np.ndarray | None = None) -> np.ndarray:
    """Return costs where mistakes on one class cost more."""
    costs = 1.0 - np.eye(3) if base is None else base.copy()
    kept = costs[row, row]
    costs[row] *= times
    costs[row, row] = kept
    return costs


def shown_counts(page: Any) -> np.ndarray:
    return np.array([[page.number(f"#cell-{i}-{j}") for j in range(3)] for i in range(3)])


def counts_of(y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return np.array([[((y == i) & (predicted == j)).sum() for j in range(3)] for i in range(3)])


@pytest.mark.parametrize("row", [0, 1, 2])
def test_decisions_are_those_of_predict_while_one_class_costs_more(wine, open_page, row):
    file, model, X, y = wine
    page = open_page(file)
    page.choose("#row", str(row))
    base = np.array([[0.0, 2.0, 1.5], [1.0, -0.5, 3.0], [0.7, 1.0, 0.0]])
    for i in range(3):
        for j in range(3):
            page.type(f"#cost-{i}-{j}", base[i, j])
    for times in (1.0, 1.7, 4.0, 12.5, 100.0):
        page.type("#times", times)
        costs = costs_of(row, times, base)
        predicted = model.predict(X, cost_matrix=costs)
        assert_counts = counts_of(y, predicted)
        np.testing.assert_array_equal(shown_counts(page), assert_counts)
        cost = costs[y, predicted]
        assert f"costs {said_of(cost.mean())} per case" in page.text("#headline")
        blind = min(costs[y, j].mean() for j in range(3))
        assert page.text("#headline").endswith(f"{said_of(blind)} per case.")
        legend = page.tab.locator("figure", has_text="How much of each class").locator(".value")
        for j in range(3):
            share = 100.0 * assert_counts[j, j] / assert_counts[j].sum()
            assert said(legend.nth(j).inner_text().rstrip(" %")) == pytest.approx(share, abs=0.051)


def said_of(value: float) -> str:
    return f"{float(f'{value:.3g}'):g}".replace("-", "\u2212")


def test_cases_that_change_within_a_range_are_those_of_predict(wine, open_page):
    file, model, X, _ = wine
    page = open_page(file)
    page.choose("#row", "1")
    page.type("#times-low", 2.0)
    page.type("#times-high", 20.0)
    along = np.geomspace(2.0, 20.0 * (1.0 - 1e-12), 2001)
    decided = np.array([model.predict(X, cost_matrix=costs_of(1, times)) for times in along])
    changes = np.flatnonzero((decided != decided[0]).any(axis=0))
    assert 5 < len(changes) < len(X) - 5
    assert page.text("#flips").startswith(f"{len(changes)} cases change")
    while page.tab.is_visible("#flips-table-more"):
        page.click("#flips-table-more")
    rows = [r.split("\t") for r in page.tab.locator("#flips-table tbody tr").all_inner_texts()]
    assert sorted(int(cells[0]) - 1 for cells in rows) == changes.tolist()
    for cells in rows:
        i = int(cells[0]) - 1
        first, *others = cells[2].split(" → ")
        assert first == NAMES[decided[0, i]]
        steps = np.flatnonzero(np.diff(decided[:, i]))
        assert len(others) == len(steps)
        for text, step in zip(others, steps, strict=True):
            name, when = text.split(" from ×")
            assert name == NAMES[decided[step + 1, i]]
            assert float(when) == pytest.approx(along[step], rel=1e-2)


def test_the_range_must_be_in_order_and_costs_must_be_numbers(wine, open_page):
    page = open_page(wine[0])
    before = page.text("#flips")
    page.type("#times-low", 50.0)
    assert "must not be larger" in page.text("#which")
    assert page.text("#flips") == before
    page.fill("#cost-0-1", "")
    assert page.tab.get_attribute("#cost-0-1", "aria-invalid") == "true"
    assert "Barolo taken for Grignolino: enter a number" in page.text(".first")
    page.click("#reset-costs")
    assert page.field("#cost-0-1") == 1.0


def test_settings_are_in_the_address_and_survive_a_reload(wine, open_page):
    file, model, X, y = wine
    page = open_page(file)
    page.type("#cost-0-1", 7.5)
    page.choose("#row", "2")
    page.type("#times", 3.0)
    page.type("#times-high", 30.0)
    page.click("#all-columns")
    page.tab.wait_for_url("**columns=all")
    assert page.tab.evaluate("location.hash") == (
        "#costs=0,7.5,1,1,0,1,1,1,0&row=2&times=3&range=1,30&columns=all"
    )
    again = open_page(file, page.tab.evaluate("location.hash"))
    assert again.field("#cost-0-1") == 7.5
    assert again.tab.input_value("#row") == "2"
    assert (again.field("#times"), again.field("#times-high")) == (3.0, 30.0)
    assert "Show 8 columns only" in again.text("#all-columns")
    base = 1.0 - np.eye(3)
    base[0, 1] = 7.5
    predicted = model.predict(X, cost_matrix=costs_of(2, 3.0, base))
    np.testing.assert_array_equal(shown_counts(again), counts_of(y, predicted))


@pytest.mark.parametrize(
    "fragment",
    [
        "#costs=1,2&row=9&times=0.5&range=9,2",
        "#costs=a,b,c,d,e,f,g,h,i&row=<img src=x onerror=alert(1)>&times=1e999&range=,",
        "#" + "costs=1," * 2000,
        "#%E0%A4%A&=&&times",
    ],
)
def test_an_edited_address_is_ignored(wine, open_page, fragment):
    page = open_page(wine[0], fragment)
    assert page.tab.locator("img").count() == 0
    assert [page.field(f"#cost-0-{j}") for j in range(3)] == [0.0, 1.0, 1.0]
    assert (page.field("#times"), page.tab.input_value("#row")) == (1.0, "0")
    assert (page.field("#times-low"), page.field("#times-high")) == (1.0, 10.0)


def test_saved_files_hold_the_decisions_and_the_costs(wine, open_page, tmp_path):
    file, model, X, y = wine
    page = open_page(file, "#row=1&times=6")
    costs = costs_of(1, 6.0)
    with page.tab.expect_download() as waiting:
        page.click("#save-decisions")
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    predicted = model.predict(X, cost_matrix=costs)
    assert [row["decision"] for row in rows] == [NAMES[j] for j in predicted]
    assert [row["cultivar"] for row in rows] == [NAMES[j] for j in y]
    assert [row["bottle"] for row in rows] == [f"B{i}" for i in range(len(y))]
    proba = [[float(row[f"probability of {name}"]) for name in NAMES] for row in rows]
    np.testing.assert_array_equal(proba, model.predict_proba(X))
    with page.tab.expect_download() as waiting:
        page.click("#save-costs")
    lines = Path(waiting.value.path()).read_text(encoding="utf-8").split()
    assert lines[0] == "Barolo,Grignolino,Barbera"
    np.testing.assert_array_equal(
        [line.split(",") for line in lines[1:]], costs.astype(int).astype(str)
    )
    assert page.text("#command") == (
        "taupath predict wine.tau wine.csv --cost-matrix costs.csv -o decisions.csv"
    )
    assert "cost_matrix=[[0, 1, 1], [6, 0, 6], [1, 1, 0]]" in page.text("#python")


def test_keys_move_the_factor_and_controls_have_names(wine, open_page):
    page = open_page(wine[0])
    page.tab.focus("#times-slider")
    for key, times in (("End", 100.0), ("Home", 1.0), ("PageUp", 3.16), ("ArrowRight", 3.98)):
        page.press(key)
        assert page.field("#times") == pytest.approx(times, rel=2e-3), key
    assert page.tab.get_attribute("#times-slider", "aria-valuetext").startswith("3.98 times: Of 89")
    unnamed = page.tab.evaluate(
        """[...document.querySelectorAll('input, select, button')]
           .filter(e => !(e.labels?.length || e.getAttribute('aria-label') || e.innerText.trim()))
           .map(e => e.id)"""
    )
    assert unnamed == []
    assert (
        page.tab.get_attribute("#cost-0-1", "aria-label")
        == "Cost where Barolo is taken for Grignolino"
    )


def test_a_constant_decision_is_said(wine, open_page):
    page = open_page(wine[0], "#costs=0,1,1,1000,0,1000,1,1,0")
    assert "every case is taken for Grignolino" in page.text("#constant")
    page = open_page(wine[0])
    assert not page.tab.is_visible("#constant")


def test_worse_than_deciding_without_looking_is_said(wine, open_page):
    file, model, X, y = wine
    costs = costs_of(0, 10.0)
    mean = costs[y, model.predict(X, cost_matrix=costs)].mean()
    blind = min(costs[y, j].mean() for j in range(3))
    assert mean > blind
    page = open_page(file, "#times=10")
    assert "does worse than deciding without looking" in page.text("#constant")
    assert f"would have cost {mean - blind:.2g} less" in page.text("#constant")


def test_aggregates_give_nearly_the_same_counts_without_any_case(wine, open_page, tmp_path):
    _, model, X, y = wine
    file = tmp_path / "aggregates.html"
    write_report(file, model, X, y, class_names=NAMES, cases=False)
    page = open_page(file)
    assert page.tab.locator("#mistakes-table, #flips-table, #save-decisions").count() == 0
    assert "aggregates only" in page.text("#holds")
    assert "rounded to 100ths" in page.text(".first")
    for row, times in ((0, 1.0), (1, 4.0), (2, 30.0)):
        page.choose("#row", str(row))
        page.type("#times", times)
        counts = shown_counts(page)
        exact = counts_of(y, model.predict(X, cost_matrix=costs_of(row, times)))
        np.testing.assert_array_equal(counts.sum(axis=1), exact.sum(axis=1))
        assert np.abs(counts - exact).sum() <= 6


def test_hostile_class_names_are_text(open_page, tmp_path):
    model, X, y = iris()
    file = tmp_path / "hostile.html"
    names = [HOSTILE, HOSTILE + "2", "c"]
    write_report(file, model, X, y, class_names=names, target_name=HOSTILE)
    page = open_page(file)
    assert page.tab.evaluate("window.hacked") is None
    assert HOSTILE in page.text("#matrix")
    assert HOSTILE in page.text("#flips")
