"""Damaged and hostile files are refused in one line, or read correctly, within limits."""

import ctypes
import faulthandler
import re
import subprocess
import sys
import time

import pytest

from hostile import PROGRAM, judge_all

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
# Seconds of CPU: only against what grows out of bounds, for how fast a machine is says nothing.
GENEROUS = 30.0


def outcomes(kind, count, seed, folder):
    """Run the program in a process of its own, and return how often it found each outcome."""
    asked = {"kind": kind, "count": count, "seed": seed, "jobs": 1, "seconds": GENEROUS}
    options = [f"--{name}={value}" for name, value in asked.items()]
    found = subprocess.run(
        [sys.executable, PROGRAM, *options], cwd=folder, capture_output=True, text=True
    )
    assert (found.returncode, found.stderr) == (0, ""), found.stdout + found.stderr
    summary = found.stdout.splitlines()[0]
    assert summary.startswith(f"{count} files: ")
    return {name: int(number) for number, name in re.findall(r"(\d+) ([a-z ]+)", summary)}


def test_some_hundred_models(tmp_path):
    found = outcomes("model", 200, 20090618, tmp_path)
    assert found["refused"] > 100 and found["read"] > 25


def test_some_tables(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    found = outcomes("table", 50, 20090618, tmp_path)
    assert found["refused"] > 20 and found["read"] > 5


class Faulty:
    """A maker of files that are none, whose reader does what it should not."""

    refusals, complaints = (KeyError,), (LookupError,)

    def make(self, case, file):
        file.write_bytes(b"")
        return "nothing"

    def load(self, file):
        return file

    def read(self, case, loaded):
        if case == 0:
            raise ZeroDivisionError
        if case == 1:
            raise LookupError("one\ntwo")
        if case == 2:
            return str(len(bytearray(2 << 30)))
        if case == 3:
            bytearray(b"x") * (950 << 20)
        if case == 4:
            until = time.process_time() + 1.1
            while time.process_time() < until:
                pass
        if case == 5:
            faulthandler.disable()  # it is on purpose
            ctypes.string_at(0)
        return "wrong" if case == 6 else None


def test_what_goes_wrong_is_found(tmp_path):
    found = judge_all(Faulty(), range(8), tmp_path, jobs=1, most_seconds=1.0)
    assert [(verdict.case, verdict.outcome) for verdict in found] == [
        (0, "wrong error"),
        (1, "long message"),
        (2, "memory"),
        (3, "large"),
        (4, "slow"),
        (5, "crash or hang"),
        (6, "wrong"),
        (7, "read"),
    ]
