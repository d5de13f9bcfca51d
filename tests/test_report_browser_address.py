"""Reports in a real browser: settings in the address, and what an edited one can do: nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser_page import Page
from report_pages import confusion, moons, write_cancer
from taupath.report import write_report

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def cancer(folder: Path) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    return write_cancer(folder)


def wait_for_address(page: Page, part: str) -> str:
    page.tab.wait_for_function("part => location.hash.includes(part)", arg=part)
    return str(page.tab.evaluate("location.hash"))


def settings_of(page: Page) -> dict[str, Any]:
    """Return what the reader may have set."""
    page.settle()
    fields = ("cost-fp", "cost-fn", "prevalence", "worth-low", "worth-high", "case-row")
    return {
        **{name: float(page.tab.input_value(f"#{name}") or "nan") for name in fields},
        "kind": page.tab.input_value("#kind"),
        "list": page.tab.input_value("#flip-list"),
        "adapt": page.tab.is_checked("#adapt"),
        "columns": page.tab.locator("#mistakes-table th").count(),
        "headline": page.text("#headline"),
        "flips": page.text("#flips"),
    }


@pytest.fixture(scope="module")
def usual(cancer: tuple[Path, Any, np.ndarray, np.ndarray], browser: Any) -> dict[str, Any]:
    """What is set on a page that is opened without a fragment."""
    page = Page(browser, cancer[0])
    found = settings_of(page)
    page.context.close()
    return found


def test_a_reload_and_a_sent_link_keep_all_settings(cancer, open_page):
    file, model, X, y = cancer
    page = open_page(file)
    usual = settings_of(page)
    assert page.tab.evaluate("location.hash") == ""
    page.type("#cost-fp", 2.0)
    page.type("#cost-fn", 90.0)
    page.type("#prevalence", 12.0)
    page.click("#adapt")
    page.type("#worth-low", 5.0)
    page.type("#worth-high", 50.0)
    page.type("#case-row", 126)
    page.choose("#kind", "misses")
    page.choose("#flip-list", "never")
    page.click("#all-columns")
    chosen = settings_of(page)
    assert all(chosen[name] != usual[name] for name in chosen)
    link = wait_for_address(page, "columns=all")
    assert link.startswith("#fp=2&fn=90&share=0.12&adapt=1&range=5,50&case=126")
    page.tab.reload()
    assert settings_of(page) == chosen
    assert settings_of(open_page(file, link)) == chosen
    # another link, put into the same tab, has its own settings and the usual ones besides
    page.tab.evaluate("location.hash = '#fp=1&fn=7'")
    page.tab.wait_for_function("document.getElementById('cost-fn').value === '7'")
    page.settle()
    assert page.confusion() == confusion(y, model.predict(X, cost_fp=1, cost_fn=7))
    assert not page.tab.is_checked("#adapt")
    assert page.tab.input_value("#kind") == "all"


@pytest.mark.parametrize(
    "fragment",
    [
        "#fp=<img src=x onerror=window.hacked=1>&fn=<script>window.hacked=1</script>",
        "#fp=-1&fn=2",
        "#fp=0&fn=0",
        "#fp=1e999&fn=1",
        "#fp=NaN&fn=Infinity",
        "#fp=0x10&fn=1",
        "#fp=1",
        "#share=2&adapt=yes&range=1&case=0&show=constructor&list=__proto__&columns=<b>",
        "#share=1&range=5,x&case=1.5",
        "#range=-5,50&case=999999",
        "#__proto__=1&constructor=2&toString=3",
        "#javascript:window.hacked=1",
        "#main",
        "#%E0%A4%A&fp=%00&fn=%FF",
        "#fp=1&fn=20&" + "x=1&" * 5000,
    ],
)
def test_an_edited_fragment_is_ignored(cancer, open_page, usual, fragment):
    page = open_page(cancer[0], fragment)
    np.testing.assert_equal(settings_of(page), usual)
    assert page.tab.evaluate("window.hacked") is None
    assert page.tab.locator("img").count() == 0


def test_what_is_wrong_in_a_fragment_does_not_spoil_the_rest(cancer, open_page):
    page = open_page(cancer[0], "#fp=1&fn=20&range=x&case=126&show=evil")
    assert (page.field("#cost-fp"), page.field("#cost-fn")) == (1.0, 20.0)
    assert page.text("#case-text").startswith("Row 126:")
    assert page.tab.input_value("#kind") == "all"


def test_the_skip_link_leaves_the_settings_alone(cancer, open_page):
    page = open_page(cancer[0], "#fp=1&fn=20")
    page.tab.focus(".skip")
    page.press("Enter")
    assert page.tab.evaluate("document.activeElement.id") == "main"
    assert page.tab.evaluate("location.hash") == "#fp=1&fn=20"


def test_labels_that_are_markup_stay_text_everywhere(folder, open_page):
    model, X, y = moons()
    labels = np.where(y == 1, HOSTILE, "</script>")
    fitted = type(model)(C=2.0, kernel="rbf", gamma=1.5).fit(X, labels)
    file = folder / "labels.html"
    write_report(
        file,
        fitted,
        X,
        labels,
        target_name=HOSTILE,
        columns={HOSTILE: [HOSTILE] * len(y)},
        compare={HOSTILE: type(model)().fit(X, labels)},
        files=(HOSTILE, HOSTILE),
        title=HOSTILE,
    )
    page = open_page(file, "#fp=1&fn=3&case=5")
    assert page.tab.evaluate("window.hacked") is None
    assert page.tab.locator("img").count() == 0
    assert page.tab.locator("script").count() == 2
    for place in (
        "#headline",
        "#matrix",
        "#scores",
        "#versus",
        "#flips-table",
        "#case",
        "#command",
    ):
        assert "</script>" in page.text(place), place
    assert (
        page.tab.locator("figure", has_text="ROC curve").locator("text", has_text="script").count()
    )
