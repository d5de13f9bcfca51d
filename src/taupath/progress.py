"""Progress of long computations: a line on the terminal or in a notebook, with the time left."""

import shutil
import sys
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

# What users pass: called as progress(fraction, n_done).
Progress = Callable[[float, int], object]
# What solvers call: the same with the position on the path, None if there is no single one.
Tell = Callable[[float, int, float | None], None]

# Seconds before anything is shown: quick work needs no display.
PATIENCE = 1.0
# Seconds between two updates of the line: smooth, and cheap.
PAUSE = 0.2
# Seconds of work after which the time left is shown: the estimate is then within a factor of two.
EXPERIENCE = 2.0
# Characters of the bar.
WIDTH = 12


def duration(seconds: float) -> str:
    """Return a readable time: 30 ms, 0.3 s, 12 s, 16 min, 2 h 5 min."""
    if seconds < 0.1:
        return f"{1e3 * seconds:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def telling(progress: Any, unit: str, parameter: str) -> Tell | None:
    """Return what a solver calls to report its progress; None if `progress` is None.

    A user's function gets only the fraction and the count. A `Display` or a `Share` also gets the
    position on the path, what is counted (`unit`, such as kinks) and the name of the `parameter`.
    """
    if progress is None:
        return None
    if isinstance(progress, (Display, Share)):
        return partial(progress, unit=unit, parameter=parameter)
    return lambda fraction, n_done, at: progress(fraction, n_done)


class Display:
    """A line on standard error that shows progress and is erased at the end of a ``with`` block.

    It is shown only on a terminal or in a notebook: what is being done, the fraction, a count of
    some unit, and the time left. If the display is never called, it shows the elapsed time.
    """

    def __init__(self, what: str, unit: str = "", quiet: bool = False) -> None:
        self._what, self._unit = what, unit
        self.shown = not quiet and _is_watched(sys.stderr)
        self._state: tuple[float, str, str] | None = None
        self._first: tuple[float, float] | None = None  # when the first call came, and its fraction
        self._left: tuple[float, float] | None = None  # when it was estimated, and the seconds
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._width = 0

    def __call__(
        self,
        fraction: float,
        n_done: int = 0,
        at: float | None = None,
        unit: str | None = None,
        parameter: str = "",
    ) -> None:
        """Report the fraction done, the count so far, and the position on the path."""
        fraction, now = min(max(fraction, 0.0), 1.0), monotonic()
        if self._first is None:
            self._first = now, fraction
        since, begun = self._first
        if fraction > begun and now - since >= EXPERIENCE:
            self._left = now, (now - since) * (1.0 - fraction) / (fraction - begun)
        count = f"{n_done} {self._unit if unit is None else unit}".rstrip() if n_done else ""
        self._state = fraction, count, "" if at is None else f"{parameter} {at:.2f}"

    def say(self, line: str) -> None:
        """Write a line that is not erased."""
        if self.shown:
            with self._writing:
                self._write("")
                sys.stderr.write(line + "\n")
                sys.stderr.flush()

    def __enter__(self) -> "Display":
        self._begin = monotonic()
        self._thread = threading.Thread(target=self._show, name="taupath-progress", daemon=True)
        if self.shown:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            self._over.set()
            self._thread.join()
            self._write("")

    def _show(self) -> None:
        wait = PATIENCE
        while not self._over.wait(wait):
            with self._writing:
                self._write(self.text()[: shutil.get_terminal_size().columns - 1])
            wait = PAUSE

    def _write(self, text: str) -> None:
        """Replace the line."""
        if not text and not self._width:
            return
        line = "\r" + text + " " * (self._width - len(text)) + ("" if text else "\r")
        sys.stderr.write(line)
        sys.stderr.flush()
        self._width = len(text)

    def text(self) -> str:
        """Return the current line."""
        now = monotonic()
        elapsed = _whole(now - self._begin)
        if self._state is None:
            return f"{self._what} … {elapsed}"
        fraction, count, place = self._state
        full = round(WIDTH * fraction)
        time_of = elapsed
        if self._left is not None:
            estimated, seconds = self._left
            left = seconds - (now - estimated)
            if left > 0.0 and fraction < 1.0:
                time_of += f", about {_whole(max(left, 1.0))} left"
        bar = "█" * full + "·" * (WIDTH - full)
        parts = (f"{self._what} {bar} {100 * fraction:3.0f} %", count, place, time_of)
        return "  ".join(part for part in parts if part)


class Share:
    """Progress of a part of the work, which begins at a fraction of the whole and has a size."""

    def __init__(self, whole: Any, begin: float, size: float) -> None:
        self._whole, self._begin, self._size = whole, begin, size

    def __call__(self, fraction: float, n_done: int = 0, *where: Any, **what: Any) -> None:
        """Report the fraction of the part; users' functions get the fraction and the count only."""
        fraction = self._begin + self._size * fraction
        if isinstance(self._whole, (Display, Share)):
            self._whole(fraction, n_done, *where, **what)
        else:
            self._whole(fraction, n_done)


def share_of(progress: Any, begin: float, size: float) -> Share | None:
    """Return what a part of the work reports to; None if `progress` is None."""
    return None if progress is None else Share(progress, begin, size)


def _whole(seconds: float) -> str:
    """Return a time in whole seconds or more."""
    return f"{seconds:.0f} s" if seconds < 99.5 else duration(seconds)


def _is_watched(stream: Any) -> bool:
    """Return whether a person sees what is written: on a terminal, or in a notebook."""
    return stream is not None and (
        stream.isatty() or type(stream).__module__.split(".")[0] == "ipykernel"
    )
