"""The size of the house: files and rooms stay small enough to be read, and all are installed."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "taupath"
SOURCES = sorted(
    file
    for kind in ("py", "pyx", "pxd", "js", "css", "html")
    for file in PACKAGE.rglob(f"*.{kind}")
)
# Of a file: longer, and it serves two purposes.
MOST_LINES = 500
# At the package's root: what is in no room.
MOST_AT_ROOT = 10

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="needs the sources")


def listed() -> set[str]:
    """Return the files that `meson.build` installs, room by room."""
    text = (PACKAGE / "meson.build").read_text(encoding="utf-8")
    rooms = ast.literal_eval(re.search(r"^rooms = (\{.*?^\})", text, re.M | re.S)[1])
    return {Path(room, name).as_posix() for room, names in rooms.items() for name in names}


def test_no_file_is_longer_than_can_be_read_at_once():
    lengths = {file: len(file.read_bytes().splitlines()) for file in SOURCES}
    assert len(lengths) > 100
    assert {file.name: n for file, n in lengths.items() if n > MOST_LINES} == {}


def test_most_modules_are_in_a_room():
    assert len([file for file in SOURCES if file.parent == PACKAGE]) <= MOST_AT_ROOT


def test_every_file_is_installed_and_every_installed_file_is_there():
    here = {file.relative_to(PACKAGE).as_posix() for file in SOURCES}
    here = {file for file in here if not file.startswith("_core/")} | {"py.typed"}
    assert listed() == here


def test_every_compiled_module_is_built():
    text = (PACKAGE / "_core" / "meson.build").read_text(encoding="utf-8")
    modules = ast.literal_eval(re.search(r"^core_modules = (\[.*?\])", text, re.M | re.S)[1])
    assert set(modules) == {file.stem for file in SOURCES if file.suffix == ".pyx"}


def test_no_test_file_is_longer_than_can_be_read_at_once():
    lengths = {
        file.name: len(file.read_bytes().splitlines())
        for file in Path(__file__).parent.glob("*.py")
    }
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def numbers(file):
    """Yield the names and values of a module's constants that are numbers."""
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = (
                zip(target.elts, value.elts, strict=True)
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                else [(target, value)]
            )
            for name, number in pairs:
                try:
                    found = eval(compile(ast.Expression(number), "", "eval"), {})
                except Exception:
                    continue
                if isinstance(name, ast.Name) and name.id.isupper() and type(found) in (int, float):
                    yield name.id, found


def test_no_number_has_the_name_of_another_one():
    values = {}
    for file in PACKAGE.rglob("*.py"):
        for name, value in numbers(file):
            values.setdefault(name, set()).add(value)
    assert len(values) > 100
    assert not {name: each for name, each in values.items() if len(each) > 1}
