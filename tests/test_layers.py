"""Imports go from upper rooms to lower ones only, wherever in a file they stand."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("rooms", ROOT / "tools" / "rooms.py")
rooms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(rooms)


@pytest.fixture(scope="module")
def graph():
    return rooms.imports()


def order():
    """Return the rooms in the order of the table of the page for contributors, upper ones first."""
    text = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    table = re.search(r"^\| room \|.*?\n\n", text, re.DOTALL | re.MULTILINE)[0]
    return [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:] if line]


def test_no_module_imports_itself_by_way_of_others(graph):
    assert not rooms.cycle(graph)


def test_no_room_imports_itself_by_way_of_others(graph):
    assert not rooms.cycle(rooms.between_rooms(graph))


def test_imports_go_down_the_table_of_the_page_for_contributors(graph):
    row = {name: k for k, names in enumerate(order()) for name in names}
    between = rooms.between_rooms(graph)
    assert set(row) == set(between) - {"taupath"}
    upward = [
        (one, other) for one in row for other in between[one] if row.get(other, -1) < row[one]
    ]
    assert not upward


def test_only_its_command_imports_the_reproduction(graph):
    users = {name for name, used in rooms.between_rooms(graph).items() if "reproduce" in used}
    assert users == {"commands"}


def test_the_engine_knows_nothing_of_training_data(graph):
    assert rooms.between_rooms(graph)["engine"] <= {"_core", "exceptions", "progress"}


def test_the_core_imports_nothing_but_itself():
    files = [
        file for kind in ("pyx", "pxd") for file in (rooms.PACKAGE / "_core").glob(f"*.{kind}")
    ]
    assert len(files) > 20
    found = {
        name
        for file in files
        for name in re.findall(
            r"^\s*(?:from|c?import) (taupath[\w.]*)", file.read_text("utf-8"), re.MULTILINE
        )
    }
    assert found and all(name.startswith("taupath._core") for name in found)


def test_the_picture_of_the_rooms_is_up_to_date(graph):
    assert rooms.PICTURE.read_text("utf-8") == rooms.picture(graph), "run python tools/rooms.py"


@pytest.mark.parametrize(
    "statement",
    [
        "from taupath.upper.one import f",
        "def f():\n    from taupath.upper import one",
        "class A:\n    def f(self):\n        import taupath.upper.one as one",
        "if False:\n    from taupath.upper.one import *",
    ],
)
def test_a_cycle_is_seen_wherever_the_import_stands(tmp_path, statement):
    package = tmp_path / "taupath"
    for name in ("lower", "upper"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "upper" / "one.py").write_text("from taupath.lower.two import g\n")
    (package / "lower" / "two.py").write_text("g = 1\n")
    assert not rooms.cycle(rooms.imports(package))
    (package / "lower" / "two.py").write_text(statement + "\n")
    found = rooms.cycle(rooms.imports(package))
    assert set(found) == {"taupath.lower.two", "taupath.upper.one"}
    assert rooms.cycle(rooms.between_rooms(rooms.imports(package)))
