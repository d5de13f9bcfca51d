"""A report in a real browser, for tests that operate it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from systems import IS_ROOT

# Chromium sets itself apart from the rest of the machine, which root may not ask for.
FLAGS = ["--no-sandbox"] if IS_ROOT else []
# Milliseconds; only against hanging, for the machine may be busy.
HANGS = 300_000


def missing(what: str) -> None:
    """Skip for want of something, but not where everything has to be there."""
    message = f"reports are tested in a browser: {what}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def running_browser() -> Iterator[Any]:
    """Start Chromium, and end it afterwards."""
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

    def __init__(self, browser: Any, file: Path, fragment: str = "", **settings: Any) -> None:
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
        self.tab.goto(self.address + fragment)
        self.settle()

    # Whatever is done to a page is drawn in a later frame: what reads it next must not come before.

    def settle(self) -> None:
        """Wait until what follows a change is drawn."""
        self.tab.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def text(self, selector: str) -> str:
        return str(self.tab.inner_text(selector))

    def number(self, selector: str) -> float:
        return said(self.text(selector))

    def fill(self, selector: str, text: str) -> None:
        self.tab.fill(selector, text)
        self.settle()

    def type(self, selector: str, value: float) -> None:
        self.fill(selector, repr(float(value)))

    def click(self, selector: str) -> None:
        self.tab.click(selector)
        self.settle()

    def choose(self, selector: str, option: str) -> None:
        self.tab.select_option(selector, option)
        self.settle()

    def press(self, key: str) -> None:
        self.tab.keyboard.press(key)
        self.settle()

    def confusion(self) -> dict[str, int]:
        return {name: int(self.number(f"#{name}")) for name in ("tn", "fp", "fn", "tp")}

    def field(self, selector: str) -> float:
        return float(self.tab.input_value(selector))


def said(text: str) -> float:
    """Return the number a page says, shares for percentages."""
    number = text.replace("\u2212", "-").replace("\u202f", "").replace("%", "").strip()
    return float(number) / (100.0 if "%" in text else 1.0)
