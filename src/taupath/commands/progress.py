"""A bar on the terminal for whatever takes more than a second."""

import argparse
import shutil
import sys
import time
from types import TracebackType

__all__ = ["Bar"]

PATIENCE = 1.0  # seconds before anything is shown
PAUSE = 0.1  # seconds between two states
WIDTH = 30


class Bar:
    """Progress on standard error; nothing where that is no terminal, or with ``--json``.

    It is called as ``bar(fraction, n_done)``.

    Parameters
    ----------
    what : str
        What is going on.
    arguments : Namespace
        Of the command line.
    """

    def __init__(self, what: str, arguments: argparse.Namespace) -> None:
        self._what = what
        self._silent = getattr(arguments, "json", False) or not sys.stderr.isatty()
        self._begin = time.monotonic()
        self._next = self._begin + PATIENCE
        self._shown = 0

    def __call__(self, fraction: float, n_done: int = 0) -> None:
        """Show how far it is."""
        now = time.monotonic()
        if self._silent or now < self._next:
            return
        self._next = now + PAUSE
        done = min(max(fraction, 0.0), 1.0)
        full = round(WIDTH * done)
        text = f"{self._what} {'█' * full}{'·' * (WIDTH - full)} {100 * done:3.0f} %"
        if n_done:
            text += f"  {n_done} kinks"
        text += f"  {now - self._begin:.0f} s"
        text = text[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text + " " * max(self._shown - len(text), 0))
        sys.stderr.flush()
        self._shown = len(text)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
