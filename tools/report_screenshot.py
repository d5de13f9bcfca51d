"""Take the picture of the report that README and documentation show: docs/figures/report.png.

The report is that of `taupath demo`. Needs playwright and an installed Chromium, as the tests of
the report do.
"""

import argparse
import contextlib
import io
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from taupath import cli

FILE = Path(__file__).parents[1] / "docs" / "figures" / "report.png"
SIZE = {"width": 1100, "height": 860}
# A missed cancer is as bad as this many false alarms.
MISS = 20


def main(arguments: list[str] | None = None) -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=FILE, help="file to write")
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
        page.screenshot(path=output)
        browser.close()


if __name__ == "__main__":
    main()
