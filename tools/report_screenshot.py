"""Take the pictures of reports that README and documentation show, in docs/figures.

report.png is that of `taupath demo`, frontier.png the section on what equal treatment would cost.
Needs playwright and an installed Chromium, as the tests of the report do.
"""

import argparse
import contextlib
import io
import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from taupath import QuantileSVC, cli, fairness_path
from taupath.report import write_report

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
SIZE = {"width": 1100, "height": 860}
# A missed cancer is as bad as this many false alarms.
MISS = 20
# Where the slider of the path over fairness stands, of 200.
RHO = 60


def main(arguments: list[str] | None = None) -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=FIGURES, help="folder to write to")
    output = parser.parse_args(arguments).output
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "demo.html"
        with contextlib.redirect_stdout(io.StringIO()):
            status = cli.main(["demo", "-o", str(page_file)])
        if status:
            raise SystemExit(status)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(page_file.as_uri())
        page.fill("#cost-fn", str(MISS))
        page.keyboard.press("Tab")
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
        page.screenshot(path=output / "report.png")
        write_fair_report(page_file)
        page.goto(page_file.as_uri())
        page.fill("#frontiers input[type=range]", str(RHO))
        page.evaluate("document.activeElement.blur()")
        page.locator("#frontiers .frontier").screenshot(path=output / "frontier.png")
        browser.close()


def write_fair_report(file: Path) -> None:
    """Write a report on half of the breast cancer data, with the path over fairness."""
    data = load_breast_cancer()
    X, y = scale(data.data), np.where(data.target == 0, "malignant", "benign")
    group = np.where(X[:, 0] > 0.0, "large nuclei", "small nuclei")
    model = QuantileSVC(C=0.1, pos_label="malignant").fit(X[::2], y[::2])
    frontiers = {"Equal treatment": fairness_path(X[::2], y[::2], group[::2], tau=0.5, C=0.1)}
    write_report(file, model, X[1::2], y[1::2], frontiers=frontiers, group=group[1::2])


if __name__ == "__main__":
    main()
