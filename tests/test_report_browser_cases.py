"""Reports of two classes in a real browser: cases that flip, one case, other classifiers, files."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from browser_page import Page, said
from report_pages import confusion, moons, write_moons
from taupath import QuantileSVC
from taupath.report import write_report

FORMULA = "=HYPERLINK(0)"


class Raw:
    """A page of raw columns, and what it was written from."""

    def __init__(self, file: Path, **options: Any) -> None:
        data = load_breast_cancer(as_frame=True)
        y = pd.Series(np.where(data.target == 0, "malignant", "benign"), name="diagnosis")
        X = data.data
        self.model = make_pipeline(StandardScaler(), QuantileSVC(C=0.1)).fit(X[::2], y[::2])
        other = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2])
        self.X, self.y = X[1::2].reset_index(drop=True), y[1::2].reset_index(drop=True)
        self.proba = other.predict_proba(self.X)[:, 1]
        self.truth = np.where(self.y == "malignant", 1, 0)
        self.names = [FORMULA, "-5.5", *(f'P "{i}", ward' for i in range(2, len(self.y)))]
        self.file = file
        columns = {"name": self.names, **self.X}
        told = {"columns": columns, "compare": {"logistic regression": other}}
        write_report(file, self.model, self.X, self.y, **told, **options)

    def decided(self, tau: float) -> np.ndarray:
        scaled = self.model[0].transform(self.X)
        return np.where(self.model[-1].predict(scaled, tau=tau) == "malignant", 1, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def raw(folder: Path) -> Raw:
    return Raw(folder / "raw.html")


def set_costs(page: Page, fp: float, fn: float) -> None:
    page.type("#cost-fp", fp)
    page.type("#cost-fn", fn)


def rows_of(page: Page, table: str) -> list[list[str]]:
    """Return all cells of a table of cases."""
    while page.tab.is_visible(f"#{table}-more"):
        page.click(f"#{table}-more")
    return [row.split("\t") for row in page.tab.locator(f"#{table} tbody tr").all_inner_texts()]


def throughout(model: Any, X: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return who is positive at every τ in [low, high], and who at none: by predictions alone."""
    from taupath.outcomes.rates import sign_changes

    when = sign_changes(model, X)[2]
    edges = np.unique(np.concatenate(([low, high], when[(when > low) & (when < high)])))
    taus = np.concatenate((edges, 0.5 * (edges[1:] + edges[:-1])))
    decided = np.array([model.predict(X, tau=tau) == model.pos_label_ for tau in taus])
    return decided.all(axis=0), ~decided.any(axis=0)


# -- a range of costs ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
@pytest.mark.parametrize("which", ["raw", "moons"])
def test_cases_that_flip_within_a_range_are_those_of_python(which, raw, folder, open_page):
    if which == "raw":
        file, model, X = raw.file, raw.model[-1], raw.model[0].transform(raw.X)
    else:
        file, model, X, _ = write_moons(folder)
    page = open_page(file)
    for low, high in ((5.0, 50.0), (0.2, 3.0), (1.0, 1.0), (0.0, 1000.0)):
        page.type("#worth-low", low)
        page.type("#worth-high", high)
        always, never = throughout(model, X, 1.0 / (1.0 + high), 1.0 / (1.0 + low))
        change = ~always & ~never
        summary = page.text("#flips").replace("\u202f", "")
        assert summary.startswith(f"{change.sum()} case")
        assert f"other {len(X) - change.sum()} is the same throughout" in summary
        assert f": {always.sum()} always" in summary and f", {never.sum()} never" in summary
        for name, group in (("always", always), ("never", never), ("change", change)):
            page.choose("#flip-list", name)
            listed = [int(cells[0]) - 1 for cells in rows_of(page, "flips-table")]
            assert sorted(listed) == np.flatnonzero(group).tolist()


def test_flips_are_counted_over_all_cases_where_some_are_carried(folder, open_page, monkeypatch):
    monkeypatch.setattr("taupath.report.binary_payload.MOST_LISTED", 40)
    monkeypatch.setattr("taupath.report.binary_payload.FEWEST_LISTED", 40)
    model, X, y = moons()  # some cases change several times
    file = folder / "some.html"
    write_report(file, model, X, y)
    page = open_page(file)
    for low, high in ((0.5, 2.0), (0.05, 30.0), (3.0, 4.0)):
        page.type("#worth-high", high)
        page.type("#worth-low", low)
        always, never = throughout(model, X, 1.0 / (1.0 + high), 1.0 / (1.0 + low))
        assert page.text("#flips").startswith(f"{(~always & ~never).sum()} case")


# -- one case --------------------------------------------------------------------------------------


def test_a_case_tells_where_it_flips_and_what_turns_it_in_raw_units(raw, open_page):
    page = open_page(raw.file)
    set_costs(page, 1.0, 10.0)
    page.click("#flips-table button >> nth=0")
    row = int(page.field("#case-row")) - 1
    assert page.text("#case-text").startswith(f"Row {row + 1}: really {raw.y[row]}")
    times = float(re.search(r"a miss is worth ([\d.]+) false alarms", page.text("#case-flips"))[1])
    tau = 1.0 / (1.0 + times)
    assert raw.decided(tau * 0.98)[row] == 1 and raw.decided(tau * 1.02)[row] == 0
    # weights at the turning point times distances from the mean, column by column
    scaled = raw.model[0].transform(raw.X)
    coef = raw.model[-1].path_.coef(tau)
    parts = coef * (scaled[row] - scaled.mean(axis=0))
    shown = [
        text.split("\t") for text in page.tab.locator("#parts-table tbody tr").all_inner_texts()
    ]
    assert len(shown) == 11
    for name, value, mean, towards, part in shown[:-1]:
        j = list(raw.X.columns).index(name)
        assert float(value) == pytest.approx(raw.X.iloc[row, j], rel=1e-5)
        assert float(mean) == pytest.approx(raw.X.iloc[:, j].mean(), rel=1e-3)
        assert said(part) == pytest.approx(parts[j], abs=4e-3)
        assert towards == ("malignant" if parts[j] > 0.0 else "benign")
    average = raw.model[-1].path_.decision_function(scaled.mean(axis=0)[None], tau)[0]
    total = average + sum(said(cells[-1]) for cells in shown)
    assert total == pytest.approx(0.0, abs=1e-2)  # there it is undecided
    largest = sorted(np.abs(parts), reverse=True)[:10]
    assert np.allclose([abs(said(cells[-1])) for cells in shown[:-1]], largest, atol=4e-3)


def test_a_row_that_is_not_there_is_named(raw, open_page):
    page = open_page(raw.file)
    page.type("#case-row", 3)
    assert page.text("#case-text").startswith("Row 3:")
    page.fill("#case-row", "9999")
    assert "a number from 1 to 284" in page.text("#case")


def test_kernels_have_no_weights_to_tell_of_but_flips(folder, open_page):
    file = write_moons(folder)[0]
    page = open_page(file, "#case=7")
    assert "linear models only" in page.text("#case-parts")
    assert page.tab.locator("#case svg[role=img] path.line").count() >= 1
    assert "Row 7" in page.text("#case-text")


# -- columns ---------------------------------------------------------------------------------------


def test_columns_are_shown_by_weight_and_there_is_a_cue_for_more(raw, open_page):
    page = open_page(raw.file)
    heads = page.tab.locator("#mistakes-table th").all_inner_texts()
    assert heads[4] == "name" and len(heads) == 4 + 8
    assert page.text("#all-columns") == "23 more columns, largest weights first"
    page.click("#all-columns")
    assert len(page.tab.locator("#mistakes-table th").all_inner_texts()) == 4 + 31
    assert len(page.tab.locator("#flips-table th").all_inner_texts()) == 5 + 31
    assert page.tab.get_attribute("#all-columns", "aria-expanded") == "true"
    page.click("#weights summary")
    first = page.tab.locator("#weights-table tbody tr").first.inner_text().split("\t")
    coef = raw.model[-1].path_.coef(0.5) * raw.model[0].transform(raw.X).std(axis=0)
    j = int(np.abs(coef).argmax())
    assert first[0] == raw.X.columns[j]
    assert said(first[1]) == pytest.approx(coef[j], abs=2e-3)
    assert said(first[3]) == pytest.approx(coef[j] / raw.X.iloc[:, j].std(ddof=0), rel=2e-2)


# -- beside other classifiers ----------------------------------------------------------------------


def test_another_classifier_is_cut_at_tau_and_compared_at_the_same_costs(raw, open_page):
    page = open_page(raw.file)
    n = len(raw.y)
    for fp, fn in ((1.0, 1.0), (1.0, 20.0), (30.0, 1.0)):
        set_costs(page, fp, fn)
        tau = fp / (fp + fn)
        ways = [raw.decided(tau), np.where(raw.proba >= tau, 1, 0)]
        ways.append(np.full(n, int(fp * (raw.truth == 0).sum() < fn * raw.truth.sum())))
        table = [
            text.split("\t") for text in page.tab.locator("#scores tbody tr").all_inner_texts()
        ]
        costs = []
        for k, way in enumerate(ways):
            counts = confusion(raw.truth, way) if len(set(way)) > 1 else None
            fp_count = int(((raw.truth == 0) & (way == 1)).sum())
            fn_count = int(((raw.truth == 1) & (way == 0)).sum())
            assert counts is None or (counts["fp"], counts["fn"]) == (fp_count, fn_count)
            assert int(table[1][k + 1]) == fn_count
            assert int(table[2][k + 1]) == fp_count
            costs.append((fp * fp_count + fn * fn_count) / n)
            assert said(table[3][k + 1]) == pytest.approx(costs[-1], rel=6e-3)
        versus = page.text("#versus")
        apart = int((ways[0] != ways[1]).sum())
        assert f"They decide {apart} case" in versus or (apart == 0 and "every case" in versus)
        if costs[1] != costs[0]:
            assert ("more" if costs[1] > costs[0] else "less") + " per case" in versus
    chart = page.tab.locator("figure", has_text="Cost relative to deciding")
    assert chart.locator("path.other").count() == 2  # and one in the legend
    assert "logistic regression" in chart.locator(".legend").inner_text()
    least = min(30.0 * (raw.truth == 0).sum(), raw.truth.sum()) / n
    legend = chart.locator(".legend .value").all_inner_texts()
    assert said(legend[0]) == pytest.approx(costs[0] / least, abs=6e-4)
    assert said(legend[1]) == pytest.approx(costs[1] / least, abs=6e-4)


# -- taking it along -------------------------------------------------------------------------------


def test_decisions_are_saved_as_python_makes_them_and_no_cell_is_a_formula(raw, open_page):
    page = open_page(raw.file)
    set_costs(page, 1.0, 8.0)
    with page.tab.expect_download() as download:
        page.click("#save-decisions")
    assert download.value.suggested_filename == "decisions.csv"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    heads, *rows = csv.reader(io.StringIO(text))
    assert heads == ["row", "name", "diagnosis", "decision", "probability of malignant"]
    assert [int(row[0]) for row in rows] == list(range(1, len(raw.y) + 1))
    assert [row[1] for row in rows] == ["'" + FORMULA, *raw.names[1:]]
    assert [row[2] for row in rows] == raw.y.tolist()
    decided = np.where(raw.decided(1.0 / 9.0) == 1, "malignant", "benign")
    assert [row[3] for row in rows] == decided.tolist()
    proba = raw.model.predict_proba(raw.X)[:, 1]
    np.testing.assert_array_equal([float(row[4]) for row in rows], proba)


def test_the_python_line_and_the_command_are_for_these_costs(raw, folder, open_page):
    page = open_page(raw.file)
    set_costs(page, 2.5, 8.0)
    line = page.text("#python")
    assert line == "model.predict(X, cost_fp=2.5, cost_fn=8)"
    scaled = raw.model[0].transform(raw.X)
    decided = eval(line, {"model": raw.model[-1], "X": scaled})
    assert page.confusion() == confusion(raw.truth, np.where(decided == "malignant", 1, 0))
    assert page.text("#command") == (
        "taupath predict model.tau data.csv --cost-fp 2.5 --cost-fn 8 -o decisions.csv"
    )
    page.click("#command-copy")
    page.tab.locator("#command-copy", has_text=re.compile("Copied|Ctrl")).wait_for()
    file = folder / "named.html"
    Raw(file, files=("my model.tau", "it's.csv"))
    page = open_page(file)
    assert "predict 'my model.tau' 'it'\"'\"'s.csv' --cost-fp 1" in page.text("#command")
    assert page.text("#python").startswith("tp.load('my model.tau').predict(\"it's.csv\", ")


# -- without cases, and what vouches for the model -------------------------------------------------


def test_a_page_of_aggregates_works_without_cases(folder, open_page):
    file = folder / "aggregates.html"
    raw = Raw(file, cases=False)
    page = open_page(file)
    assert "aggregates only" in page.text("#holds")
    set_costs(page, 1.0, 20.0)
    assert page.confusion() == confusion(raw.truth, raw.decided(1.0 / 21.0))
    assert page.tab.locator("#mistakes-table, #flips-table, #case, #save-decisions").count() == 0
    page.type("#worth-low", 5.0)
    page.type("#worth-high", 50.0)
    change = (raw.decided(1.0 / 6.0) != raw.decided(1.0 / 51.0)).sum()
    found = int(re.match(r"At least (\d+) cases? change", page.text("#flips"))[1])
    assert found <= change
    assert "--cost-fn 20" in page.text("#command")


def test_the_certificate_of_an_approximate_path_does_not_contradict_itself(folder, open_page):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = QuantileSVC(C=0.1, method="approximate", tol=1e-2).fit(X[::2], y[::2])
    certificate = model.path_.certify()
    assert certificate.continuum and certificate.worst_kkt > 0.1
    file = folder / "approximate.html"
    write_report(file, model, X[1::2], y[1::2], certificate=certificate)
    page = open_page(file)
    text = page.text("#origin")
    assert "violated" not in text and "Optimality conditions" not in text
    gap = said(re.search(r"within ([\d.]+ %) of the best possible", text)[1])
    assert gap == pytest.approx(certificate.worst_gap, abs=6e-5)
