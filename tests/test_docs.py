"""Everything that README, documentation and examples show is run, and what it prints compared.

Of each page, in a folder of its own and in the order of the page: ``python`` blocks are run, and
what they print is compared where a ``text`` block follows; ``pycon`` blocks are doctests; and
``console`` blocks are commands, whose output is compared where the block shows any. "..." stands
for anything. The README is also read as a newcomer would: see `test_docs_reader.py`.
"""

import contextlib
import doctest
import importlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets

import taupath
from taupath import cli
from taupath.estimators import out_of_fold

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
PACKAGE = Path(taupath.__file__).parent
MODULES = [
    ".".join(("taupath", *file.relative_to(PACKAGE).with_suffix("").parts))
    for file in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in file.read_text("utf-8")
]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
BLOCK = re.compile(
    r"^( *)```(python|pycon|console)\n(.*?)^\1```$(?:\n\n\1```text\n(.*?)^\1```$)?",
    re.DOTALL | re.MULTILINE,
)
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name_of(file):
    return str(file.relative_to(ROOT))


def blocks_of(page):
    """Return kind and source of each block to run, and what it is said to print."""
    found = BLOCK.findall(page.read_text("utf-8"))
    return [
        (kind, textwrap.dedent(source), textwrap.dedent(text)) for _, kind, source, text in found
    ]


def run_command(command):
    """Return exit status and output of a command; that of `taupath` alone needs no new process."""
    command = command.replace("\\\n", " ")
    if command.startswith("taupath ") and not set(command) & set("|<>&;$"):
        said = io.StringIO()
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")  # printed, as they are for a reader
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


def check_printed(wanted, found, what):
    same = doctest.OutputChecker().check_output(wanted, found, SAME)
    assert same, f"{what}\nwanted:\n{wanted}\nfound:\n{found}"


def run_python(source, names, page, wanted):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(source, f"<{page}>", "exec"), names)
    if wanted:
        check_printed(wanted, said.getvalue(), page)


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
        if wanted.strip():
            check_printed(wanted, found, f"{page}: {command}")
        assert "warning:" not in found or "warning:" in wanted, f"{page}: {command}{found}"


def run_page(page):
    """Run all blocks of a page; return its names."""
    names = {"__name__": "__main__"}
    for kind, source, text in blocks_of(page):
        if kind == "python":
            run_python(source, names, name_of(page), text)
        elif kind == "pycon":
            run_doctest(source, names, name_of(page))
        else:
            run_console(source, name_of(page))
    return names


class Fits:
    """Every two-class fit while a page or an example runs, and whether cancers were its data."""

    def __init__(self, monkeypatch):
        self.found, self.cancers = [], False
        load, follow = sklearn.datasets.load_breast_cancer, taupath.QuantileSVC._follow
        fit_quickly = out_of_fold.fit_quickly

        def noticed(*args, **kwargs):
            self.cancers = True
            return load(*args, **kwargs)

        def fitted_quickly(*args):  # a fold's model, which no one gets to see
            kept = len(self.found)
            fit_quickly(*args)
            del self.found[kept:]

        def followed(model, X, y, *args, **kwargs):
            result = follow(model, X, y, *args, **kwargs)
            if len(model.classes_) == 2 and model.kernel != "precomputed":
                self.found.append((model, X, np.asarray(y)))
            return result

        monkeypatch.setattr(sklearn.datasets, "load_breast_cancer", noticed)
        monkeypatch.setattr(taupath.QuantileSVC, "_follow", followed)
        monkeypatch.setattr(out_of_fold, "fit_quickly", fitted_quickly)

    def check_direction(self):
        """Assert that misses of the positive class fall when a miss costs more.

        And that it is the right class: 37 % of the breast cancer cases are malignant, 63 % benign.
        """
        for model, X, y in self.found:
            positive = y == model.pos_label_
            if self.cancers:
                assert positive.mean() < 0.58, "benign is positive"
            low, high = model.tau_range
            if (low, high) != (0.0, 1.0):
                continue
            with warnings.catch_warnings():
                # extreme costs may well decide the same for all
                warnings.simplefilter("ignore", taupath.ConstantDecisionWarning)
                decided = [model.predict(X, tau=tau) for tau in (0.95, 0.5, 0.05)]
            flagged = [labels == model.pos_label_ for labels in decided]
            missed = [int(np.sum(positive & ~each)) for each in flagged]
            assert missed[0] >= missed[1] >= missed[2], missed
            assert missed[0] > missed[2] or not missed[0]


@pytest.mark.parametrize("page", PAGES[1:], ids=name_of)  # README: see `test_docs_reader.py`
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    fits = Fits(monkeypatch)
    run_page(page)
    fits.check_direction()


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_docstrings_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    fits = Fits(monkeypatch)
    failed, tried = doctest.testmod(importlib.import_module(module), optionflags=SAME)
    assert tried and not failed
    fits.check_direction()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def test_the_wrong_direction_is_noticed(monkeypatch):
    fits = Fits(monkeypatch)
    X, y = sklearn.datasets.load_breast_cancer(return_X_y=True)
    taupath.QuantileSVC(C=0.1).fit(X[:, :2], 1 - y)
    fits.check_direction()
    taupath.QuantileSVC(C=0.1).fit(X[:, :2], y)  # 1 is benign
    with pytest.raises(AssertionError, match="benign is positive"):
        fits.check_direction()


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=name_of)
def test_the_first_example_misses_fewer_cancers_when_a_miss_costs_more(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    first = next(source for kind, source, _ in blocks_of(page) if kind == "python")
    exec(first, names)
    data = sklearn.datasets.load_breast_cancer()
    malignant = data.target_names[data.target] == "malignant"  # by scikit-learn's own names
    missed = []
    for cost_fn in (1, 5, 20):
        decided = names["model"].predict(data.data, cost_fp=1, cost_fn=cost_fn)
        missed.append(int(np.sum(malignant & (decided != "malignant"))))
    assert missed[0] > missed[1] >= missed[2], missed
    assert set(decided) == {"malignant", "benign"}


def test_there_is_something_to_run():
    kinds = {kind for page in PAGES for kind, _, _ in blocks_of(page)}
    assert kinds == {"python", "pycon", "console"}
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_runs_and_draws(example, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    fits = Fits(monkeypatch)
    try:
        runpy.run_path(str(example), run_name="__main__")
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
        assert plt.get_fignums()
        fits.check_direction()
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


# Options of several commands, which the page explains once.
SHARED_OPTIONS = {"--help", "--json", "--debug", "--format", "--delimiter"}
SHARED_OPTIONS |= {"--max-bytes", "--max-features"}


def test_the_page_of_the_command_line_has_every_command_and_option():
    text = (DOCS / "command_line.md").read_text("utf-8")
    parser = cli._parser()
    (commands,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))
    for command, its_parser in commands.items():
        section = re.search(rf"^## `taupath {command}`\n(.*?)(?=^## |\Z)", text, re.S | re.M)
        assert section, command
        for action in its_parser._actions:
            for option in action.option_strings[-1:]:
                shared = option in SHARED_OPTIONS
                assert f"`{option}" in (text if shared else section[1]), (command, option)
