"""A bar on the terminal for whatever takes more than a second."""

import argparse
import shutil
import sys
import threading
import time
from types import TracebackType

__all__ = ["Bar"]

PATIENCE = 1.0  # seconds before anything is shown
PAUSE = 0.2  # seconds between two states
WIDTH = 30


class Bar:
    """Progress on standard error; nothing where that is no terminal, or with ``--json``.

    Within its ``with`` block it can be called as ``bar(fraction, n_done)``; whoever does not know
    how far it is does not, and then only the time goes by.

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
        self._state: tuple[float, int] | None = None
        self._over = threading.Event()
        self._shown = 0

    def __call__(self, fraction: float, n_done: int = 0) -> None:
        """Tell how far it is."""
        self._state = min(max(fraction, 0.0), 1.0), n_done

    def __enter__(self) -> "Bar":
        self._begin = time.monotonic()
        self._thread = threading.Thread(target=self._show, name="taupath-bar", daemon=True)
        if not self._silent:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._silent:
            return
        self._over.set()
        self._thread.join()
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()

    def _show(self) -> None:
        wait = PATIENCE
        while not self._over.wait(wait):
            text = self._text()[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write("\r" + text + " " * max(self._shown - len(text), 0))
            sys.stderr.flush()
            self._shown, wait = len(text), PAUSE

    def _text(self) -> str:
        seconds = f"{time.monotonic() - self._begin:.0f} s"
        if self._state is None:
            return f"{self._what} … {seconds}"
        fraction, n_done = self._state
        full = round(WIDTH * fraction)
        count = f"  {n_done}" if n_done else ""
        bar = "█" * full + "·" * (WIDTH - full)
        return f"{self._what} {bar} {100 * fraction:3.0f} %{count}  {seconds}"
