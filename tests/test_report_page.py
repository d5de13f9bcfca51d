"""The page of a report as a file: it is whole, safe, and written at once."""

import base64
import hashlib
import html
import os
import re
from pathlib import Path

import numpy as np
import pytest

from report_pages import (
    breast_cancer,
    moons,
    payload_of,
)
from systems import IS_ROOT
from taupath.report import write_report
from taupath.report.assembly import SCRIPTS
from taupath.report.encoding import packed, to_json
from taupath.tables.messages import printable

HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    "\"'&<!--\u2028{{data}}"
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "report.html"


# -- the page -------------------------------------------------------------------------------------


def page_of(file):
    model, X, y, names = breast_cancer()
    write_report(file, model, X, y, **names)
    return file.read_text(encoding="utf-8")


def test_the_page_of_the_demo_is_small(file):
    assert len(page_of(file).encode()) < 500_000


def test_the_page_names_nothing_outside_itself(file):
    page = page_of(file)
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of SVG, never fetched
    assert not re.search(r"<(?:link|img|iframe|object|embed)\b", page)
    assert not re.search(r"\b(?:src|srcset)=", page)
    assert "@import" not in page and "url(#" in page and "url(h" not in page


def test_the_policy_allows_the_style_and_the_script_that_are_there_and_no_others(file):
    page = page_of(file)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(script) == 1
    for name, text in (("style-src", style), ("script-src", script[0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_hostile_text_stays_text(file):
    model, X, y = moons()
    write_report(
        file,
        model,
        X,
        y,
        class_names=[HOSTILE, HOSTILE + "2"],
        feature_names=[HOSTILE, "b"],
        columns={HOSTILE: [HOSTILE] * len(y)},
        provenance={HOSTILE: HOSTILE},
        title=HOSTILE,
    )
    page = file.read_text(encoding="utf-8")
    assert page.count("<script") == 2  # the data and the code
    assert page.count("</script") == 2
    assert "<img" not in page
    assert "<!--" not in page
    payload = payload_of(file)
    shown = printable(HOSTILE)
    assert payload["classes"][0] == payload["title"] == shown
    assert payload["provenance"] == [[shown, shown]]


def test_lone_surrogates_do_not_stop_the_report(file):
    model, X, y = moons()
    write_report(file, model, X, y, title="a \ud800 b", class_names=["\udcff", "c"])
    assert "<title>a \\ud800 b</title>" in file.read_text(encoding="utf-8")


def test_json_has_no_angle_bracket_and_refuses_what_is_no_number():
    assert "<" not in to_json({"a": "</script><!--"})
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"a": float("nan")})


def test_packed_refuses_types_the_page_does_not_know():
    with pytest.raises(ValueError, match=r"kind must be one of .*, got 'c16'"):
        packed(np.ones(2), "c16")


def test_every_script_of_the_package_is_on_a_page():
    folder = Path(__file__).parents[1] / "src" / "taupath" / "report" / "page"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.js")}
    assert {name for names in SCRIPTS.values() for name in names} == there


# -- writing ---------------------------------------------------------------------------------------


def test_a_report_replaces_the_old_one_and_keeps_its_rights(file):
    model, X, y = moons()
    file.write_text("old")
    file.chmod(0o640)
    write_report(str(file), model, X, y)
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert file.stat().st_mode & 0o777 == 0o640
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_a_failure_leaves_the_old_file_and_nothing_else(file, monkeypatch, broken):
    model, X, y = moons()
    file.write_text("old")

    def fail(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="the disk is full"):
        write_report(file, model, X, y)
    assert file.read_text() == "old"
    assert os.listdir(file.parent) == [file.name]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    model, X, y = moons()
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        write_report(tmp_path / "nowhere" / "report.html", model, X, y)


def test_a_folder_in_the_place_of_the_file_is_an_error(tmp_path):
    model, X, y = moons()
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        write_report(tmp_path / "report.html", model, X, y)
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.skipif(os.name != "posix" or IS_ROOT, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_an_error(tmp_path):
    model, X, y = moons()
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            write_report(tmp_path / "report.html", model, X, y)
    finally:
        tmp_path.chmod(0o700)
