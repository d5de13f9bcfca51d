"""The bar of the command line: only on a terminal, and gone in the end."""

import argparse
import io
import sys
import time

import pytest

from taupath.commands import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "PAUSE", 0.01)


def shown(stream, monkeypatch, json=False, calls=((0.5, 120),)):
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.Bar("training", argparse.Namespace(json=json)) as bar:
        for call in calls:
            bar(*call)
        end = time.monotonic() + 10.0
        while isinstance(stream, Terminal) and not json and "training" not in stream.getvalue():
            assert time.monotonic() < end
            time.sleep(0.005)
    return stream.getvalue()


def test_a_terminal_is_told_how_far_it_is_and_left_clean(impatient, monkeypatch):
    said = shown(Terminal(), monkeypatch)
    assert "training" in said
    assert " 50 %  120  0 s" in said
    line = said.rsplit("\r", 2)
    assert line[1].strip() == "" and line[2] == ""


def test_whoever_does_not_know_how_far_it_is_is_told_the_time(impatient, monkeypatch):
    said = shown(Terminal(), monkeypatch, calls=())
    assert "training … 0 s" in said
    assert "%" not in said


def test_nothing_is_shown_elsewhere_or_for_machines(impatient, monkeypatch):
    assert shown(io.StringIO(), monkeypatch) == ""
    assert shown(Terminal(), monkeypatch, json=True) == ""


def test_what_is_quick_is_not_shown(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.Bar("training", argparse.Namespace()) as bar:
        bar(0.5)
    assert stream.getvalue() == ""
