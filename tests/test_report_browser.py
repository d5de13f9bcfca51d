"""Reports in a real browser: the numbers on the page are Python's, however it is operated."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss

from browser_page import Page, said
from report_pages import iris, moons, wiggly, write_cancer, write_moons
from taupath.report import write_report

LONG = "a-name-without-any-place-to-break-it-" * 3
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def cancer(folder: Path) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    return write_cancer(folder)


@pytest.fixture(scope="module")
def two_moons(folder: Path) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    return write_moons(folder)


@pytest.fixture(scope="module")
def fan(folder: Path) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    model, X, y = wiggly()
    file = folder / "fan.html"
    write_report(file, model, X, y)
    return file, model, X, y


@pytest.fixture(scope="module")
def irises(folder: Path) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    model, X, y = iris()
    file = folder / "iris.html"
    write_report(file, model, X, y, class_names=["setosa", "versicolor", "virginica"])
    return file, model, X, y


# -- all pages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["cancer", "two_moons", "fan", "irises"])
def test_charts_have_a_name_and_a_description(which, request, open_page):
    page = open_page(request.getfixturevalue(which)[0])
    charts = page.tab.evaluate(
        """[...document.querySelectorAll('svg[role=img]')].map(svg =>
             svg.getAttribute('aria-labelledby').split(' ')
                .map(id => document.getElementById(id).textContent))"""
    )
    assert len(charts) >= 3
    assert all(title and len(description) > 20 for title, description in charts)
    assert page.tab.locator("h1").count() == 1


@pytest.mark.parametrize("which", ["cancer", "fan", "irises"])
def test_every_field_has_a_label(which, request, open_page):
    page = open_page(request.getfixturevalue(which)[0])
    named, labels = page.tab.evaluate(
        """[[...document.querySelectorAll('input, select')].map(field =>
               [field.id, field.labels.length > 0 || field.hasAttribute('aria-label')]),
            [...document.querySelectorAll('label')].map(label =>
               [label.textContent, label.control !== null])]"""
    )
    assert len(named) >= 4
    assert all(has for _, has in named + labels), named + labels


# -- colours, screens, paper -----------------------------------------------------------------------


def brightness(page: Page) -> float:
    color = page.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    return float(np.mean([int(part) for part in re.findall(r"\d+", color)[:3]]))


def test_light_and_dark_follow_the_system_until_the_reader_chooses(cancer, open_page):
    light = open_page(cancer[0], color_scheme="light")
    dark = open_page(cancer[0], color_scheme="dark")
    assert brightness(light) > 200.0
    assert brightness(dark) < 60.0
    dark.click("#theme")
    assert brightness(dark) > 200.0
    light.tab.emulate_media(color_scheme="dark")
    light.tab.locator("html[data-theme=dark]").wait_for(state="attached")
    assert brightness(light) < 60.0


def test_paper_is_light_and_has_no_buttons(cancer, open_page):
    page = open_page(cancer[0], color_scheme="dark")
    page.tab.emulate_media(media="print", color_scheme="dark")
    assert brightness(page) > 250.0
    assert not page.tab.is_visible("#theme")
    assert not page.tab.is_visible("#next")
    assert page.tab.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("which", ["cancer", "two_moons", "fan", "irises"])
def test_a_narrow_screen_never_scrolls_sideways(which, request, open_page):
    page = open_page(request.getfixturevalue(which)[0], viewport={"width": 375, "height": 812})
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 375


def test_long_names_fit_a_narrow_screen(folder, open_page):
    model, X, y = moons()
    file = folder / "long.html"
    write_report(
        file,
        model,
        X,
        y,
        class_names=[LONG, LONG + "2"],
        feature_names=[LONG, "b"],
        columns={LONG: [LONG] * len(y)},
        provenance={LONG: LONG},
        title=LONG,
    )
    page = open_page(file, viewport={"width": 375, "height": 812})
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 375


def test_hostile_text_is_shown_as_it_is(folder, open_page):
    model, X, y = moons()
    file = folder / "hostile.html"
    write_report(
        file,
        model,
        X,
        y,
        class_names=[HOSTILE, HOSTILE + "2"],
        feature_names=[HOSTILE, "b"],
        columns={HOSTILE: [HOSTILE] * len(y)},
        provenance={HOSTILE: HOSTILE},
        title=HOSTILE,
    )
    page = open_page(file)
    assert page.text("h1") == HOSTILE
    assert page.tab.title() == HOSTILE
    assert page.tab.evaluate("window.hacked") is None
    assert page.tab.locator("img").count() == 0
    assert HOSTILE in page.text("#matrix")
    assert HOSTILE in page.text("#mistakes-table")
    assert HOSTILE in page.text("#origin")


# -- regression and several classes ----------------------------------------------------------------


def test_quantiles_are_those_of_python_at_any_tau(fan, open_page):
    file, model, X, y = fan
    page = open_page(file)
    taus = np.concatenate((np.linspace(0.02, 0.98, 12), np.random.default_rng(1).uniform(size=8)))
    for tau in taus:
        page.type("#tau-field", tau)
        predicted = model.predict(X, quantile=tau)
        above = int((y > predicted + 1e-9).sum())
        assert page.text("#metric-above") == f"{above} of {len(y)}"
        assert page.number("#metric-share") == pytest.approx(1.0 - above / len(y), abs=5.1e-5)
        loss = mean_pinball_loss(y, predicted, alpha=tau)
        assert page.number("#metric-loss") == pytest.approx(loss, rel=2e-3, abs=2e-4)
        for row in page.tab.locator("#mistakes-table tbody tr").all_inner_texts():
            cells = row.split("\t")
            i = int(cells[0]) - 1
            assert said(cells[3]) == pytest.approx(predicted[i], abs=3e-3 * np.ptp(y))
            assert cells[1] == ("too high" if predicted[i] > y[i] else "too low")


def test_intervals_contain_what_python_says(fan, open_page):
    file, model, X, y = fan
    page = open_page(file)
    for coverage in (0.5, 0.8, 0.93):
        page.type("#coverage", 100.0 * coverage)
        low, high = model.predict_interval(X, coverage=coverage).T
        inside = ((y >= low - 1e-9) & (y <= high + 1e-9)).mean()
        assert page.number("#metric-covered") == pytest.approx(inside, abs=5.1e-5)
        assert page.number("#metric-width") == pytest.approx((high - low).mean(), rel=2e-3)


def test_costs_of_being_off_decide_the_quantile(fan, open_page):
    page = open_page(fan[0])
    page.type("#cost-under", 3.0)
    assert page.field("#tau-field") == pytest.approx(0.75)
    page.type("#tau-field", 0.2)
    assert page.field("#cost-under") == pytest.approx(0.8)
    assert page.field("#cost-over") == pytest.approx(3.2)


def test_fans_over_any_feature_are_drawn(folder, open_page):
    model, X, y = wiggly(3)
    file = folder / "fans.html"
    write_report(file, model, X, y, feature_names=["a", "b", "c"])
    page = open_page(file)
    chart = page.tab.locator("figure", has_text="Predicted quantiles")
    assert chart.locator("path.range").count() == 1
    page.choose("#fan", "2")
    assert chart.locator("path.quantile").count() >= 4
    assert (
        "b (the others at their medians)"
        in chart.locator("svg.follow, svg[role=img]").text_content()
    )


def test_any_cost_matrix_decides_as_python_does(irises, open_page):
    file, model, X, y = irises
    page = open_page(file)
    rng = np.random.default_rng(0)
    for costs in (1.0 - np.eye(3), *rng.uniform(0.0, 5.0, (6, 3, 3)).round(3)):
        for i in range(3):
            for j in range(3):
                page.type(f"#cost-{i}-{j}", costs[i, j])
        predicted = model.predict(X, cost_matrix=costs)
        for i in range(3):
            for j in range(3):
                count = int(((y == i) & (predicted == j)).sum())
                assert page.number(f"#cell-{i}-{j}") == count
        mistaken = int((predicted != y).sum())
        assert f"Of {len(y)} cases, {mistaken} " in page.text("#headline")
    page.click("#reset-costs")
    assert page.field("#cost-0-1") == 1.0
