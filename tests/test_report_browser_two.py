"""Reports of two classes in a real browser: the numbers on the page are Python's."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest

from browser_page import said
from report_pages import breast_cancer, confusion, payload_of, unpacked, write_cancer, write_moons
from taupath import QuantileSVCCV
from taupath.estimators.explanation import BY_HELD_OUT, WITH_COSTS
from taupath.outcomes.rates import rates_of_estimator
from taupath.report import write_report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def cancer(folder: Path) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    return write_cancer(folder)


@pytest.fixture(scope="module")
def two_moons(folder: Path) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    return write_moons(folder)


def taus_to_try(file: Path) -> np.ndarray:
    """Return twenty τ, half of them within 1e-12 of a change."""
    changes = unpacked(payload_of(file)["events"]["when"])
    inside = changes[(changes > 1e-6) & (changes < 1.0 - 1e-6)]
    near = inside[np.linspace(0, len(inside) - 1, 5).astype(int)]
    others = [0.0, 1.0, 0.5, 1.0 / 3.0, *np.random.default_rng(0).uniform(size=6)]
    return np.concatenate((near - 1e-12, near + 1e-12, others))


def costs_of(tau: float) -> tuple[float, float]:
    """Return the costs that τ stands for on the page: the smaller one stays 1."""
    if tau in (0.0, 1.0):
        return tau, 1.0 - tau
    return (1.0, (1.0 - tau) / tau) if tau <= 0.5 else (tau / (1.0 - tau), 1.0)


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
        alarm, miss = costs_of(tau)
        cost = (alarm * counts["fp"] + miss * counts["fn"]) / n
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
    page.type("#tau-field", 0.6)  # the smaller cost stays
    assert page.field("#cost-fp") == pytest.approx(7.5)
    assert page.field("#cost-fn") == pytest.approx(5.0)
    position = (np.log10(0.6 / 0.4) + 3.0) / 6.0
    assert float(page.tab.input_value("#tau")) == pytest.approx(position)


def test_costs_that_make_no_sense_are_named_and_change_nothing(cancer, open_page):
    page = open_page(cancer[0])
    before = page.text("#headline")
    page.fill("#cost-fp", "-1")
    assert page.tab.get_attribute("#cost-fp", "aria-invalid") == "true"
    page.fill("#cost-fp", "")
    assert page.text("#headline") == before
    page.fill("#cost-fp", "1")
    assert page.tab.get_attribute("#cost-fp", "aria-invalid") is None
    page.fill("#cost-fn", "0")
    page.fill("#cost-fp", "0")
    assert "has to cost something" in page.text(".controls")


def test_the_headline_tells_found_missed_cost_and_its_band(cancer, open_page):
    file, model, X, y = cancer
    page = open_page(file)
    page.type("#cost-fp", 3.0)
    page.type("#cost-fn", 60.0)
    counts = confusion(y, model.predict(X, cost_fp=3.0, cost_fn=60.0))
    n, n_positive, n_negative = len(y), int((y > 0).sum()), int((y < 0).sum())
    headline = page.text("#headline").replace("\u2212", "-")
    assert f"{counts['tp']} of {n_positive} malignant found" in headline
    total = 3.0 * counts["fp"] + 60.0 * counts["fn"]
    per_case, low, high, in_total, blind = (
        float(number)
        for number in re.search(
            r"costs ([\d.]+) per case \(95 %: ([\d.]+) to ([\d.]+)\), ([\d.]+) in total; "
            r"deciding without looking would cost ([\d.]+) per case",
            headline,
        ).groups()
    )
    assert per_case == pytest.approx(total / n, rel=6e-3)
    assert in_total == pytest.approx(total, rel=6e-3)
    assert blind == pytest.approx(min(3.0 * n_negative, 60.0 * n_positive) / n, rel=6e-3)
    # Wilson's intervals of both rates, put together by their squares
    below = above = 0.0
    for cost, count, among in ((3.0, counts["fp"], n_negative), (60.0, counts["fn"], n_positive)):
        interval = binomtest(count, among).proportion_ci(method="wilson")
        below += (cost * among / n * (count / among - interval.low)) ** 2
        above += (cost * among / n * (interval.high - count / among)) ** 2
    assert low == pytest.approx(total / n - np.sqrt(below), rel=0.06)
    assert high == pytest.approx(total / n + np.sqrt(above), rel=0.06)


def test_the_best_in_hindsight_is_a_note_with_its_uncertainty(cancer, open_page):
    file, model, X, y = cancer
    page = open_page(file)
    page.type("#cost-fp", 1.0)
    page.type("#cost-fn", 7.0)
    _, found, false_alarms = rates_of_estimator(model, X, y).pieces()
    costs = (false_alarms + 7.0 * ((y > 0).sum() - found)) / len(y)
    note = page.text("#hindsight").replace("\u2212", "-")
    least, gain, low, high = (
        float(number)
        for number in re.search(
            r"would have cost ([\d.]+) per case, ([\d.]+) less \(95 %: (-?[\d.]+) to ([\d.]+)\)",
            note,
        ).groups()
    )
    assert least == pytest.approx(costs.min(), rel=6e-3)
    assert gain == pytest.approx(page.number("#metric-cost") - costs.min(), rel=0.06)
    assert low < gain < high
    assert "on new cases expect less" in note
    assert page.tab.locator("button", has_text="best").count() == 0


def test_giving_every_case_the_same_answer_is_said(cancer, open_page):
    file, model, X, y = cancer
    page = open_page(file)
    told = set()
    for tau in (0.0, 0.0005, 0.001, 0.05, 0.5, 0.9, 1.0):
        page.type("#tau-field", tau)
        answers = set(model.predict(X, tau=tau).tolist())
        assert page.tab.is_visible("#constant") == (len(answers) == 1)
        if len(answers) == 1:
            answer = "malignant" if answers == {1} else "benign"
            assert f"every case the same answer: {answer}" in page.text("#constant")
        told.add(len(answers))
        counts, (alarm, miss) = confusion(y, model.predict(X, tau=tau)), costs_of(tau)
        cost = alarm * counts["fp"] + miss * counts["fn"]
        worse = cost > min(alarm * (y < 0).sum(), miss * (y > 0).sum())
        assert page.tab.is_visible("#worse") == (worse and len(answers) == 2)
    assert told == {1, 2}


@pytest.mark.parametrize("with_costs", [False, True])
def test_what_held_out_cases_and_costs_in_training_mean_is_said(with_costs, folder, open_page):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 4))
    y = rng.uniform(size=600) < 1.0 / (1.0 + np.exp(1.0 - 1.1 * X[:, 0] - 0.8 * X[:, 1]))
    costs = {"cost_fp": 4, "cost_fn": np.exp(rng.normal(1.0, 0.6, 300))} if with_costs else {}
    model = QuantileSVCCV(kernel="linear").fit(X[:300], y[:300], **costs)
    low, high = model.constant_below_, model.constant_above_
    assert 0.0 < low < high < 1.0
    file = folder / "held_out.html"
    write_report(file, model, X[300:], y[300:], class_names=["no", "yes"])
    page = open_page(file)
    for tau, answer in ((0.5 * low, "yes"), (0.5 * (low + high), None), (0.5 + 0.5 * high, "no")):
        page.type("#tau-field", tau)
        assert page.tab.is_visible("#constant") == (answer is not None)
        if answer is not None:
            why = f"{answer} for every case{BY_HELD_OUT}."
            assert page.text("#constant") == f"At these costs the model decides {why}"
    where = page.text("#constant-where")
    assert where.startswith("The model decides yes for every case where misses cost more than at 1")
    assert where.endswith(f"{BY_HELD_OUT}.")
    ratios = [float(number) for number in re.findall(r"1\s:\s([\d.]+)", where)]
    assert ratios[0] == pytest.approx((1.0 - low) / low, rel=0.01)
    if with_costs:
        assert page.text("#with-costs") == f"The model {WITH_COSTS}."
        assert "share of the expected cost that is due to missing yes" in page.text("#cost-note")
    else:
        assert page.tab.locator("#with-costs").count() == 0
        assert "probability of yes" in page.text("#cost-note")


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
    cost = 0.95 * fpr + 0.7 / 0.3 * 0.05 * (1.0 - tpr)
    assert page.number("#metric-cost") == pytest.approx(cost, rel=6e-3)
    benefit = 0.05 * tpr - 3.0 / 7.0 * 0.95 * fpr
    assert page.number("#metric-benefit") == pytest.approx(benefit, rel=6e-3)
    assert "Of 1000 cases with 5.0 % malignant" in page.text("#headline")
    # the τ that decides with these costs where the classes have other shares
    share = (y > 0).mean()
    alarm, miss = 0.3 * 0.95 / (1.0 - share), 0.7 * 0.05 / share
    page.click("#adapt")
    counts = confusion(y, model.predict(X, tau=alarm / (alarm + miss)))
    assert page.number("#fp") == pytest.approx(950.0 * counts["fp"] / (y < 0).sum(), abs=0.051)
    assert page.number("#fn") == pytest.approx(50.0 * counts["fn"] / (y > 0).sum(), abs=0.051)
    assert page.field("#tau-field") == pytest.approx(0.3)
    decides = float(re.search(r"--tau ([\d.]+)", page.text("#command"))[1])
    assert decides == pytest.approx(alarm / (alarm + miss))
    page.click("#reset-prevalence")
    assert page.confusion()["tp"] + page.confusion()["fn"] == (y > 0).sum()


def test_the_table_holds_the_mistakes_of_this_tau(two_moons, open_page):
    file, model, X, y = two_moons
    page = open_page(file)
    for tau in taus_to_try(file)[[1, 6, 2, 7, 13]]:  # on either side of two changes, and elsewhere
        page.type("#tau-field", tau)
        while page.tab.is_visible("#mistakes-table-more"):
            page.click("#mistakes-table-more")
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
    page.choose("#kind", "misses")
    assert set(page.tab.locator("#mistakes-table .tag").all_inner_texts()) == {"miss"}


def test_coefficients_and_mistakes_on_the_charts_are_those_of_python(cancer, two_moons, open_page):
    file, model, X, _ = cancer
    page = open_page(file)
    page.type("#tau-field", 0.37)
    legend = page.tab.locator("figure", has_text="Weight of each column").locator(".legend li")
    coef = model.path_.coef(0.37) * X.std(axis=0)
    names = breast_cancer()[3]["feature_names"].tolist()
    assert legend.count() == 8
    for k in range(8):
        name, value = (legend.nth(k).locator(part).inner_text() for part in (".name", ".value"))
        assert said(value) == pytest.approx(coef[names.index(name)], abs=2e-3)
    file, model, X, y = two_moons
    page = open_page(file)
    page.type("#tau-field", 0.62)
    boundary = page.tab.locator("figure", has_text="Decision boundary")
    wrong = int((model.predict(X, tau=0.62) != y).sum())
    assert boundary.locator(".dot.wrong").count() == wrong + 1  # and one in the legend
    # decisions that are adapted to another share of the classes are made at another τ
    page.type("#prevalence", 30)
    page.click("#adapt")
    tau = float(re.search(r"--tau (\S+)", page.tab.inner_text("#command")).group(1))
    wrong = int((model.predict(X, tau=tau) != y).sum())
    assert tau > 0.7 and boundary.locator(".dot.wrong").count() == wrong + 1


def test_a_pressed_pointer_moves_tau_along_a_chart(cancer, open_page):
    page = open_page(cancer[0])
    svg = page.tab.locator("figure", has_text="Rates along the costs").locator("svg.follow")
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    page.tab.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    page.tab.mouse.down()
    page.settle()
    first = page.field("#tau-field")
    page.tab.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.5 * box["height"])
    page.tab.mouse.up()
    page.settle()
    second = page.field("#tau-field")
    assert 0.002 < first < 0.1 < 0.9 < second < 0.998


# -- keys, and those who listen --------------------------------------------------------------------


def test_the_slider_obeys_keys(cancer, open_page):
    page = open_page(cancer[0])
    page.tab.focus("#tau")
    for key, alarm, miss in (
        ("ArrowRight", 1.5, 1),
        ("ArrowUp", 2, 1),
        ("ArrowLeft", 1.5, 1),
        ("ArrowLeft", 1, 1),
        ("ArrowLeft", 1, 1.5),
        ("Shift+ArrowLeft", 1, 1.53),
        ("ArrowLeft", 1, 2),
        ("PageDown", 1, 20),
        ("PageDown", 1, 200),
        ("ArrowDown", 1, 300),
        ("ArrowDown", 1, 400),
        ("ArrowDown", 1, 500),
        ("PageUp", 1, 50),
        ("End", 1000, 1),
        ("ArrowLeft", 900, 1),
        ("Home", 1, 1000),
    ):
        page.press(key)
        assert page.field("#cost-fp") == pytest.approx(alarm, rel=1e-6), key
        assert page.field("#cost-fn") == pytest.approx(miss, rel=1e-6), key
    valuetext = page.tab.get_attribute("#tau", "aria-valuetext")
    assert valuetext.replace("\u2009", "").startswith("1:1000, τ 0.000999: Of 285 cases")


def test_the_slider_is_logarithmic_and_reaches_1_to_500_either_way(cancer, open_page):
    file, model, X, y = cancer
    page = open_page(file)
    ticks = page.tab.locator(".scale span").all_inner_texts()
    labels = ["1:1000", "1:100", "1:10", "1:1", "10:1", "100:1", "1000:1"]
    assert [tick.replace("\u2009", "") for tick in ticks] == labels
    box = page.tab.locator("#tau").bounding_box()
    for fp, fn in ((1.0, 500.0), (500.0, 1.0), (1.0, 10.0)):
        page.type("#cost-fp", fp)
        page.type("#cost-fn", fn)
        position = (np.log10(fp / fn) + 3.0) / 6.0
        assert float(page.tab.input_value("#tau")) == pytest.approx(position, abs=1e-6)
        typed = page.confusion()
        assert typed == confusion(y, model.predict(X, cost_fp=fp, cost_fn=fn))
        # the same place by the pointer: a pixel is about 1.5 % of the ratio
        page.tab.mouse.click(box["x"] + 10 + position * (box["width"] - 20), box["y"] + 13)
        page.settle()
        assert page.field("#cost-fp") / page.field("#cost-fn") == pytest.approx(fp / fn, rel=0.05)


def test_buttons_go_from_change_to_change(cancer, open_page):
    file, model, X, _ = cancer
    page = open_page(file)
    page.tab.focus("#next")
    before = page.field("#tau-field")
    page.press("Enter")
    after = page.field("#tau-field")
    assert after > before
    assert (model.predict(X, tau=before) != model.predict(X, tau=after)).sum() >= 1
    page.tab.focus("#previous")
    page.press("Enter")
    assert page.field("#tau-field") < after
    page.tab.focus("#tau")
    page.press("End")
    for _ in range(3):
        page.click("#next")
    assert page.field("#tau-field") <= 1.0


def test_all_controls_are_reached_by_tab_and_have_names(cancer, open_page):
    page = open_page(cancer[0])
    reached = []
    for _ in range(60):
        page.press("Tab")
        reached.append(page.tab.evaluate("document.activeElement.id"))
    order = ["theme", "cost-fp", "cost-fn", "prevalence", "tau", "tau-field", "previous", "next"]
    order += ["worth-low", "worth-high", "flip-list", "flips-table", "kind", "mistakes-table"]
    order += ["case-row", "save-decisions", "command", "command-copy", "python", "python-copy"]
    assert list(dict.fromkeys(name for name in reached if name in order)) == order
    unnamed = page.tab.evaluate(
        """[...document.querySelectorAll('input, select, button, [tabindex="0"]')]
           .filter(e => !(e.labels?.length || e.getAttribute('aria-label') || e.innerText.trim()))
           .map(e => e.id)"""
    )
    assert unnamed == []


def test_changes_are_announced_once_things_rest(cancer, open_page):
    page = open_page(cancer[0])
    page.type("#tau-field", 0.25)
    page.tab.locator("#spoken", has_text="1\u2009:\u20093. Of 285").wait_for(state="attached")
    assert page.tab.get_attribute("#spoken", "aria-live") == "polite"
    assert "false alarm" in page.tab.text_content("#spoken")
