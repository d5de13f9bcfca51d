"""Test modules can be imported on every system, and importing them takes no time."""

import importlib.util
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import taupath

HERE = Path(__file__).parent
ROOM = Path(taupath.__file__).parent
WORK = tuple(str(ROOM / room) + os.sep for room in ("engine", "approximate"))
MODULES = sorted(HERE.glob("*.py"))

POSIX_ONLY = {
    os: "fork geteuid getuid getpgid killpg mkfifo nice sched_getaffinity setsid statvfs sysconf",
    signal: "SIGALRM SIGCONT SIGKILL SIGPROF SIGSTOP SIGUSR1 ITIMER_PROF ITIMER_REAL setitimer",
}
POSIX_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios")


def execute(file: Path) -> None:
    """Execute a module, again if it has been imported already."""
    spec = importlib.util.spec_from_file_location(f"again_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """All that test modules import is imported, so that only they themselves are executed."""
    for file in MODULES:
        execute(file)


def test_none_needs_what_only_posix_has(monkeypatch):
    for module, names in POSIX_ONLY.items():
        for name in names.split():
            monkeypatch.delattr(module, name, raising=False)
    for name in POSIX_MODULES:
        monkeypatch.setitem(sys.modules, name, None)
    for file in MODULES:
        execute(file)


def test_none_fits_a_model_on_import():
    fits: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(WORK):
            fits.append(f"{file.name}: {frame.f_code.co_qualname}")

    for file in MODULES:
        sys.setprofile(note)
        try:
            execute(file)
        finally:
            sys.setprofile(None)
    assert fits == []
