"""Damaged and hostile model files are refused in one line, or read rightly, within limits."""

import ctypes
import faulthandler
import sys
from collections import Counter

import pytest

from hostile import Verdict, judge_all

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")


@pytest.fixture(scope="module")
def maker(tmp_path_factory):
    from models import Maker

    return Maker(tmp_path_factory.mktemp("good"), seed=20090618)


def judged(maker, cases, folder):
    return judge_all(maker, cases, folder, jobs=1)


def test_some_hundred_files(maker, tmp_path):
    verdicts = judged(maker, range(300), tmp_path)
    assert [verdict for verdict in verdicts if verdict.fails] == []
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    assert outcomes["refused"] > 150 and outcomes["read"] > 40


@pytest.mark.slow
def test_some_thousand_files(maker, tmp_path):
    assert [each for each in judged(maker, range(300, 4000), tmp_path) if each.fails] == []


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
            sum(range(10**8))
        if case == 5:
            faulthandler.disable()  # it is on purpose
            ctypes.string_at(0)
        return "wrong" if case == 6 else None


def test_what_goes_wrong_is_found(tmp_path):
    found: list[Verdict] = judged(Faulty(), range(8), tmp_path)
    outcomes = [(verdict.case, verdict.outcome) for verdict in found]
    assert outcomes[3] in ((3, "large"), (3, "slow"))  # on a busy machine it is both
    outcomes[3] = (3, "large")
    assert outcomes == [
        (0, "wrong error"),
        (1, "long message"),
        (2, "memory"),
        (3, "large"),
        (4, "slow"),
        (5, "crash or hang"),
        (6, "wrong"),
        (7, "read"),
    ]
