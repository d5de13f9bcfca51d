"""Everything that README, documentation and examples show is run, and what it prints compared.

Of each page, in a folder of its own and in the order of the page: ``python`` blocks are run,
``pycon`` blocks are doctests, and ``console`` blocks are commands, whose output is compared where
the block shows any. "..." stands for anything, in both.
"""

import ast
import contextlib
import doctest
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import taupath
from taupath import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
BLOCK = re.compile(r"^( *)```(python|pycon|console)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name_of(file):
    return str(file.relative_to(ROOT))


def blocks_of(page):
    """Return kind and source of each block to run."""
    found = BLOCK.findall(page.read_text("utf-8"))
    return [(kind, textwrap.dedent(source)) for _, kind, source in found]


def run_command(command):
    """Return exit status and output of a command; that of `taupath` alone needs no new process."""
    if command.startswith("taupath ") and not set(command) & set("|<>&;$"):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = cli.main(shlex.split(command)[1:])
        return status, said.getvalue()
    places = (str(Path(sys.executable).parent), os.environ.get("PATH", ""))
    done = subprocess.run(
        command,
        shell=True,
        env={**os.environ, "PATH": os.pathsep.join(places), "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=900,
    )
    return done.returncode, done.stdout


def run_doctest(source, names, page):
    test = doctest.DocTestParser().get_doctest(source, {}, page, page, 0)
    test.globs = names  # `get_doctest` has made a copy
    said = []
    failed, tried = doctest.DocTestRunner(optionflags=SAME).run(
        test, out=said.append, clear_globs=False
    )
    assert tried, f"{page}: a pycon block without >>>"
    assert not failed, "".join(said)


def run_console(source, page):
    command, *others = re.split(r"^\$ ", source, flags=re.MULTILINE)
    assert command == "" and others, f"{page}: a console block must begin with a command, $ ..."
    for other in others:
        command, wanted = re.match(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", other, re.DOTALL).groups()
        status, found = run_command(command)
        assert status == 0, f"{page}: {command}{found}"
        assert not wanted.strip() or doctest.OutputChecker().check_output(wanted, found, SAME), (
            f"{page}: {command}wanted:\n{wanted}\nfound:\n{found}"
        )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {"__name__": "__main__"}
    for kind, source in blocks_of(page):
        if kind == "python":
            exec(compile(source, f"<{name_of(page)}>", "exec"), names)
        elif kind == "pycon":
            run_doctest(source, names, name_of(page))
        else:
            run_console(source, name_of(page))


def test_there_is_something_to_run():
    kinds = {kind for page in PAGES for kind, _ in blocks_of(page)}
    assert kinds == {"python", "pycon", "console"}
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_runs_and_draws(example, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    try:
        runpy.run_path(str(example), run_name="__main__")
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
        assert plt.get_fignums()
    finally:
        plt.close("all")


def test_the_picture_of_the_readme_says_what_it_would_say_today(tmp_path):
    """Text in it is text: words, numbers and the ticks of the axes."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    draw = runpy.run_path(str(ROOT / "tools" / "readme_picture.py"))["main"]
    draw(["-o", str(tmp_path)])
    drawn = sorted(tmp_path.iterdir())
    assert [file.name for file in drawn] == ["costs-dark.svg", "costs-light.svg"]
    alternative = re.search(r'alt="(.*?)"', (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[1]
    for file in drawn:
        said = re.findall(r">([^<>]*)</t(?:ext|span)>", file.read_text("utf-8"))
        kept = (DOCS / "figures" / file.name).read_text("utf-8")
        assert said == re.findall(r">([^<>]*)</t(?:ext|span)>", kept)
        percentages = [int(n) for n in re.findall(r"(\d+) % (?:found|cleared)", " ".join(said))]
        assert percentages == [int(n) for n in re.findall(r"(\d+) %", alternative)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_only_make_targets_that_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = page.read_text("utf-8")
    named = set(re.findall(r"`make ([a-z-]+)", text)) | set(
        re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)
    )
    assert named <= targets


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_only_files_that_exist(page):
    text = page.read_text("utf-8")
    linked = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) + re.findall(r'src(?:set)?="([^"]+)"', text)
    linked = [link for link in linked if ":" not in link]
    made = [link for link in linked if "gallery/" in link]  # by `make docs`, from an example
    for link in linked:
        assert link in made or (page.parent / link).exists(), link
    examples = {file.stem for file in EXAMPLES}
    for link in made:
        named = re.search(r"plot_\w+?(?=_\d\d\d|\.|$)", link)
        assert named is None or named[0] in examples, link
    for program in re.findall(r"`(?:python )?((?:benchmarks|tools|examples)/\S+?\.py)", text):
        assert (ROOT / program).exists(), program


def test_the_reference_has_every_public_name():
    import taupath.display
    import taupath.preparation
    import taupath.report
    import taupath.tables

    described = set()
    for page in sorted((DOCS / "reference").glob("*.rst")):
        described |= set(re.findall(r"auto\w+:: ([\w.]+)", page.read_text("utf-8")))
    modules = (
        taupath,
        taupath.display,
        taupath.preparation,
        taupath.report,
        taupath.tables,
    )
    public = {f"{module.__name__}.{name}" for module in modules for name in module.__all__}
    assert public - described == {"taupath.__version__"}


def test_the_page_of_the_command_line_has_every_command_and_option():
    text = (DOCS / "command_line.md").read_text("utf-8")
    parser = cli._parser()
    (commands,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))
    for command, its_parser in commands.items():
        section = re.search(rf"^## `taupath {command}`\n(.*?)(?=^## |\Z)", text, re.S | re.M)
        assert section, command
        for action in its_parser._actions:
            for option in action.option_strings[-1:]:
                shared = option in ("--help", "--json", "--debug", "--format")
                assert f"`{option}" in (text if shared else section[1]), (command, option)


def floors():
    """Return the number of the row of each module in the table of the page for contributors."""
    text = (DOCS / "contributing.md").read_text("utf-8")
    table = re.search(r"^\| floor \|.*?\n\n", text, re.DOTALL | re.MULTILINE)[0]
    rows = [line.split("|")[2] for line in table.splitlines()[2:] if line]
    return {name: k for k, row in enumerate(rows) for name in re.findall(r"`(\w+)`", row)}


def imported_by(file):
    """Return the modules of the package that a file imports when it is imported itself."""
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("taupath."):
            found.add(node.module.split(".")[1])
    return found


def test_imports_go_the_way_that_the_page_for_contributors_says():
    floor, package = floors(), Path(taupath.__file__).parent
    assert all((package / f"{name}.py").exists() or (package / name).is_dir() for name in floor)
    upward = [
        (str(file.relative_to(package)), other)
        for file in package.rglob("*.py")
        for own in [file.relative_to(package).with_suffix("").parts[0]]
        for other in imported_by(file)
        if own in floor and other in floor and floor[other] < floor[own]
    ]
    assert not upward
