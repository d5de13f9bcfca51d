"""Reports in a real browser: the numbers on the page are Python's, however it is operated."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import mean_pinball_loss

from report_pages import breast_cancer, confusion, iris, moons, payload_of, unpacked, wiggly
from taupath.display.rates import rates_of_estimator
from taupath.report import write_report

# Chromium sets itself apart from the rest of the machine, which root may not ask for.
FLAGS = ["--no-sandbox"] if os.geteuid() == 0 else []
# Milliseconds; only against hanging, for the machine may be busy.
HANGS = 300_000
LONG = "a-name-without-any-place-to-break-it-" * 3
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


def missing(what: str) -> None:
    """Skip for want of something, but not where everything has to be there."""
    message = f"reports are tested in a browser: {what}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("the package playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing("there is no chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS, timeout=HANGS)
        yield running
        running.close()


class Page:
    """A report that is open, with what went wrong and what was asked for."""

    def __init__(self, browser: Any, file: Path, **settings: Any) -> None:
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, **settings}
        )
        self.context.set_default_timeout(HANGS)
        self.tab = self.context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        self.tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.address = file.resolve().as_uri()
        self.tab.goto(self.address)
        self.settle()

    def settle(self) -> None:
        """Wait until what follows a change is drawn."""
        self.tab.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def text(self, selector: str) -> str:
        return str(self.tab.inner_text(selector))

    def number(self, selector: str) -> float:
        return said(self.text(selector))

    def type(self, selector: str, value: float) -> None:
        self.tab.fill(selector, repr(float(value)))

    def confusion(self) -> dict[str, int]:
        return {name: int(self.number(f"#{name}")) for name in ("tn", "fp", "fn", "tp")}

    def field(self, selector: str) -> float:
        return float(self.tab.input_value(selector))


def said(text: str) -> float:
    """Return the number a page says, shares for percentages."""
    number = text.replace("\u2212", "-").replace("\u202f", "").replace("%", "").strip()
    return float(number) / (100.0 if "%" in text else 1.0)


@pytest.fixture
def open_page(browser: Any) -> Iterator[Any]:
    """Open reports; afterwards nothing may have gone wrong, nor been fetched."""
    pages: list[Page] = []

    def open_one(file: Path, **settings: Any) -> Page:
        pages.append(Page(browser, file, **settings))
        return pages[-1]

    yield open_one
    for page in pages:
        page.context.close()
        assert page.wrong == []
        assert page.requests == [page.address]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def cancer(folder: Path) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    model, X, y, names = breast_cancer()
    file = folder / "cancer.html"
    write_report(
        file, model, X, y, **names, provenance={"C": "0.1"}, certificate=model.path_.certify(20)
    )
    return file, model, X, y


@pytest.fixture(scope="module")
def two_moons(folder: Path) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    model, X, y = moons()
    file = folder / "moons.html"
    write_report(file, model, X, y)
    return file, model, X, y


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


def taus_to_try(file: Path) -> np.ndarray:
    """Return twenty τ, half of them within 1e-12 of a change."""
    changes = unpacked(payload_of(file)["events"]["when"])
    inside = changes[(changes > 1e-6) & (changes < 1.0 - 1e-6)]
    near = inside[np.linspace(0, len(inside) - 1, 5).astype(int)]
    others = [0.0, 1.0, 0.5, 1.0 / 3.0, *np.random.default_rng(0).uniform(size=6)]
    return np.concatenate((near - 1e-12, near + 1e-12, others))


# -- two classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["cancer", "two_moons"])
def test_numbers_are_those_of_python_at_any_tau(which, request, open_page):
    file, model, X, y = request.getfixturevalue(which)
    page = open_page(file)
    n, share = len(y), float((y == y.max()).mean())
    for tau in taus_to_try(file):
        page.type("#tau-field", tau)
        counts = confusion(y, model.predict(X, tau=tau))
        assert page.confusion() == counts, tau
        tpr = counts["tp"] / (counts["tp"] + counts["fn"])
        tnr = counts["tn"] / (counts["tn"] + counts["fp"])
        assert abs(page.number("#metric-tpr") - tpr) <= 5.1e-5
        assert abs(page.number("#metric-tnr") - tnr) <= 5.1e-5
        assert abs(page.number("#metric-accuracy") - (counts["tp"] + counts["tn"]) / n) <= 5.1e-5
        if counts["tp"] + counts["fp"]:
            precision = counts["tp"] / (counts["tp"] + counts["fp"])
            assert abs(page.number("#metric-precision") - precision) <= 5.1e-5
        cost = 2.0 * (tau * counts["fp"] + (1.0 - tau) * counts["fn"]) / n
        assert_allclose(page.number("#metric-cost"), cost, rtol=6e-3, atol=1e-15)
        if tau < 1.0:
            benefit = share * tpr - tau / (1.0 - tau) * (1.0 - share) * (1.0 - tnr)
            assert_allclose(page.number("#metric-benefit"), benefit, rtol=6e-3, atol=1e-12)
        headline = page.text("#headline").replace("\u202f", "")
        assert headline.startswith(f"Of {n} cases, {counts['fp']} false alarm")
        assert f"and {counts['fn']} miss" in headline


def test_a_probability_of_exactly_tau_is_positive_on_the_page_as_in_python(folder, open_page):
    model, X, y, names = breast_cancer(monotone=True)
    file = folder / "monotone.html"
    write_report(file, model, X, y, **names)
    page = open_page(file)
    proba = model.predict_proba(X)[:, 1]
    for tau in np.sort(proba[(proba > 0.01) & (proba < 0.99)])[::6]:
        page.type("#tau-field", tau)
        assert page.confusion() == confusion(y, model.predict(X, tau=tau)), tau


def test_costs_decide_tau_and_tau_decides_costs(cancer, open_page):
    file, model, X, y = cancer
    page = open_page(file)
    page.type("#cost-fp", 5.0)
    assert page.field("#tau-field") == pytest.approx(5.0 / 6.0, abs=1e-6)
    assert page.confusion() == confusion(y, model.predict(X, cost_fp=5.0, cost_fn=1.0))
    page.type("#cost-fn", 20.0)
    assert page.confusion() == confusion(y, model.predict(X, cost_fp=5.0, cost_fn=20.0))
    page.type("#tau-field", 0.6)
    assert page.field("#cost-fp") == pytest.approx(15.0)
    assert page.field("#cost-fn") == pytest.approx(10.0)
    assert float(page.tab.input_value("#tau")) == 0.6


def test_costs_that_make_no_sense_are_named_and_change_nothing(cancer, open_page):
    page = open_page(cancer[0])
    before = page.text("#headline")
    page.tab.fill("#cost-fp", "-1")
    assert page.tab.get_attribute("#cost-fp", "aria-invalid") == "true"
    page.tab.fill("#cost-fp", "")
    assert page.text("#headline") == before
    page.tab.fill("#cost-fp", "1")
    assert page.tab.get_attribute("#cost-fp", "aria-invalid") is None
    page.tab.fill("#cost-fn", "0")
    page.tab.fill("#cost-fp", "0")
    assert "has to cost something" in page.text(".controls")


def test_held_costs_stay_and_the_best_tau_costs_least(cancer, open_page):
    file, model, X, y = cancer
    page = open_page(file)
    page.type("#cost-fp", 1.0)
    page.type("#cost-fn", 7.0)
    page.tab.click("#use-best")
    assert page.tab.is_checked("#hold")
    assert (page.field("#cost-fp"), page.field("#cost-fn")) == (1.0, 7.0)
    _, found, false_alarms = rates_of_estimator(model, X, y).pieces()
    costs = (false_alarms + 7.0 * ((y > 0).sum() - found)) / len(y)
    assert page.number("#metric-cost") == pytest.approx(costs.min(), rel=6e-3)
    assert "no other τ costs less" in page.text("#headline")
    assert page.tab.is_disabled("#use-best")
    page.type("#tau-field", 0.9)
    counts = confusion(y, model.predict(X, tau=0.9))
    cost = (counts["fp"] + 7.0 * counts["fn"]) / len(y)
    assert page.number("#metric-cost") == pytest.approx(cost, rel=6e-3)
    assert "the best τ for these costs" in page.text("#headline")


def test_prevalence_of_the_deployment_reweights_everything_but_rates(cancer, open_page):
    file, model, X, y = cancer
    page = open_page(file)
    page.type("#tau-field", 0.3)
    page.type("#prevalence", 5.0)
    counts = confusion(y, model.predict(X, tau=0.3))
    tpr = counts["tp"] / (counts["tp"] + counts["fn"])
    fpr = counts["fp"] / (counts["tn"] + counts["fp"])
    assert page.number("#metric-tpr") == pytest.approx(tpr, abs=5.1e-5)
    assert page.number("#fp") == pytest.approx(950.0 * fpr, abs=0.051)
    assert page.number("#fn") == pytest.approx(50.0 * (1.0 - tpr), abs=0.051)
    accuracy = 0.05 * tpr + 0.95 * (1.0 - fpr)
    assert page.number("#metric-accuracy") == pytest.approx(accuracy, abs=5.1e-5)
    precision = 0.05 * tpr / (0.05 * tpr + 0.95 * fpr)
    assert page.number("#metric-precision") == pytest.approx(precision, abs=5.1e-5)
    cost = 2.0 * (0.3 * 0.95 * fpr + 0.7 * 0.05 * (1.0 - tpr))
    assert page.number("#metric-cost") == pytest.approx(cost, rel=6e-3)
    benefit = 0.05 * tpr - 3.0 / 7.0 * 0.95 * fpr
    assert page.number("#metric-benefit") == pytest.approx(benefit, rel=6e-3)
    assert "Of 1000 cases with 5.0 % malignant" in page.text("#headline")
    # the τ these costs ask for where the classes have other shares
    share = (y > 0).mean()
    alarm, miss = 0.3 * 0.95 / (1.0 - share), 0.7 * 0.05 / share
    page.tab.click("#use-asked")
    assert page.field("#tau-field") == pytest.approx(alarm / (alarm + miss), abs=1e-6)
    page.tab.click("#reset-prevalence")
    assert page.confusion()["tp"] + page.confusion()["fn"] == (y > 0).sum()


def test_the_table_holds_the_mistakes_of_this_tau(two_moons, open_page):
    file, model, X, y = two_moons
    page = open_page(file)
    for tau in taus_to_try(file)[[1, 6, 2, 7, 13]]:  # on either side of two changes, and elsewhere
        page.type("#tau-field", tau)
        page.settle()
        while page.tab.is_visible("#more"):
            page.tab.click("#more")
        rows = page.tab.locator("#mistakes-table tbody tr").all_inner_texts()
        cells = [row.split("\t") for row in rows]
        wrong = np.flatnonzero(model.predict(X, tau=tau) != y)
        assert sorted(int(cell[0]) - 1 for cell in cells) == wrong.tolist()
        f, proba = model.decision_function(X, tau=tau), model.predict_proba(X)[:, 1]
        for cell in cells:
            i = int(cell[0]) - 1
            assert cell[1] == ("miss" if y[i] else "false alarm")
            assert said(cell[2]) == pytest.approx(proba[i], abs=5.1e-4)
            assert said(cell[3]) == pytest.approx(f[i], abs=0.02)
    page.tab.select_option("#kind", "misses")
    assert set(page.tab.locator("#mistakes-table .tag").all_inner_texts()) == {"miss"}


def test_coefficients_and_mistakes_on_the_charts_are_those_of_python(cancer, two_moons, open_page):
    file, model, _, _ = cancer
    page = open_page(file)
    page.type("#tau-field", 0.37)
    page.settle()
    legend = page.tab.locator("figure", has_text="Weight of each feature").locator(".legend li")
    coef = model.path_.coef(0.37)
    names = breast_cancer()[3]["feature_names"].tolist()
    assert legend.count() == 8
    for k in range(8):
        name, value = (legend.nth(k).locator(part).inner_text() for part in (".name", ".value"))
        assert said(value) == pytest.approx(coef[names.index(name)], abs=2e-3)
    file, model, X, y = two_moons
    page = open_page(file)
    page.type("#tau-field", 0.62)
    page.settle()
    boundary = page.tab.locator("figure", has_text="Decision boundary")
    wrong = int((model.predict(X, tau=0.62) != y).sum())
    assert boundary.locator(".dot.wrong").count() == wrong + 1  # and one in the legend


def test_a_pressed_pointer_moves_tau_along_a_chart(cancer, open_page):
    page = open_page(cancer[0])
    svg = page.tab.locator("figure", has_text="Rates along τ").locator("svg.follow")
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    page.tab.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    page.tab.mouse.down()
    first = page.field("#tau-field")
    page.tab.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.5 * box["height"])
    page.tab.mouse.up()
    second = page.field("#tau-field")
    assert 0.1 < first < 0.4 < 0.6 < second < 0.8


# -- keys, and those who listen --------------------------------------------------------------------


def test_the_slider_obeys_keys(cancer, open_page):
    page = open_page(cancer[0])
    page.tab.focus("#tau")
    for key, tau in (
        ("ArrowRight", 0.51),
        ("ArrowUp", 0.52),
        ("ArrowLeft", 0.51),
        ("Shift+ArrowRight", 0.511),
        ("PageDown", 0.411),
        ("PageUp", 0.511),
        ("End", 1.0),
        ("Home", 0.0),
    ):
        page.tab.keyboard.press(key)
        assert page.field("#tau-field") == pytest.approx(tau, abs=1e-9), key
    assert page.tab.get_attribute("#tau", "aria-valuetext").startswith("0: Of 285 cases")


def test_buttons_go_from_change_to_change(cancer, open_page):
    file, model, X, _ = cancer
    page = open_page(file)
    page.tab.focus("#next")
    before = page.field("#tau-field")
    page.tab.keyboard.press("Enter")
    after = page.field("#tau-field")
    assert after > before
    assert (model.predict(X, tau=before) != model.predict(X, tau=after)).sum() >= 1
    page.tab.focus("#previous")
    page.tab.keyboard.press("Enter")
    assert page.field("#tau-field") < after
    page.tab.focus("#tau")
    page.tab.keyboard.press("End")
    for _ in range(3):
        page.tab.click("#next")
    assert page.field("#tau-field") <= 1.0


def test_all_controls_are_reached_by_tab_and_have_names(cancer, open_page):
    page = open_page(cancer[0])
    reached = []
    for _ in range(20):
        page.tab.keyboard.press("Tab")
        reached.append(page.tab.evaluate("document.activeElement.id"))
    order = ["theme", "cost-fp", "cost-fn", "prevalence", "tau", "tau-field", "use-best", "hold"]
    assert list(dict.fromkeys(name for name in reached if name in order)) == order
    unnamed = page.tab.evaluate(
        """[...document.querySelectorAll('input, select, button')]
           .filter(e => !(e.labels?.length || e.getAttribute('aria-label') || e.innerText.trim()))
           .map(e => e.id)"""
    )
    assert unnamed == []


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


def test_changes_are_announced_once_things_rest(cancer, open_page):
    page = open_page(cancer[0])
    page.type("#tau-field", 0.25)
    page.tab.locator("#spoken", has_text="τ 0.25").wait_for(state="attached")
    assert page.tab.get_attribute("#spoken", "aria-live") == "polite"
    assert "false alarm" in page.tab.text_content("#spoken")


# -- colours, screens, paper -----------------------------------------------------------------------


def brightness(page: Page) -> float:
    color = page.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    return float(np.mean([int(part) for part in re.findall(r"\d+", color)[:3]]))


def test_light_and_dark_follow_the_system_until_the_reader_chooses(cancer, open_page):
    light = open_page(cancer[0], color_scheme="light")
    dark = open_page(cancer[0], color_scheme="dark")
    assert brightness(light) > 200.0
    assert brightness(dark) < 60.0
    dark.tab.click("#theme")
    assert brightness(dark) > 200.0
    light.tab.emulate_media(color_scheme="dark")
    light.tab.locator("html[data-theme=dark]").wait_for(state="attached")
    assert brightness(light) < 60.0


def test_paper_is_light_and_has_no_buttons(cancer, open_page):
    page = open_page(cancer[0], color_scheme="dark")
    page.tab.emulate_media(media="print", color_scheme="dark")
    assert brightness(page) > 250.0
    assert not page.tab.is_visible("#use-best")
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
        page.settle()
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
    page.tab.select_option("#fan", "2")
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
    page.tab.click("#reset-costs")
    assert page.field("#cost-0-1") == 1.0
