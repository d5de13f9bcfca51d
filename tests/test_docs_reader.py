"""The README as a newcomer reads it: block after block, and what it promises is there.

The slow tests begin with a fresh clone of the last commit and with either way of installing, and
run each block in a process of its own.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest

from test_docs import ROOT, Fits, blocks_of, check_printed, run_command, run_page

README = ROOT / "README.md"
INSTALL = "make demo"
ACTIVATE = ". .venv/bin/activate"


def shell(command, folder, timeout=300):
    """Return what a command prints, in an environment that knows nothing of the tests'."""
    ours = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS")
    environment = {key: value for key, value in os.environ.items() if key not in ours}
    environment |= {"PYTHONIOENCODING": "utf-8", "MPLBACKEND": "agg"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def read_on(activate, folder):
    """Run the blocks of the README in their order, after one way of installing."""
    for kind, source, text in blocks_of(README):
        if kind == "python":
            (folder / "block.py").write_text(source, "utf-8")
            found = shell(f"{activate} && python -W error block.py", folder)
            check_printed(text, found, "README.md")
        else:
            assert kind == "console" and not re.search(r"^[^$]", source, re.MULTILINE)
            for command in re.findall(r"^\$ (.*)$", source, re.MULTILINE):
                found = shell(f"{activate} && {command}", folder)
                assert "warning" not in found.lower(), found


def check_written(run, folder):
    """Assert that what the README promises is there, and that misses fall as they cost more."""
    for page in ("taupath-demo.html", "report.html"):
        assert (folder / page).stat().st_size > 100_000
    command = "taupath predict model.tau test.csv --cost-fp 1 --cost-fn 1 -o equal.csv"
    run(command)
    truth, decided, equal = (
        [line.rsplit(",", 1)[-1] for line in (folder / name).read_text("utf-8").splitlines()[1:]]
        for name in ("test.csv", "decisions.csv", "equal.csv")
    )
    missed, missed_before = (
        sum(pair == ("malignant", "benign") for pair in zip(truth, found, strict=True))
        for found in (decided, equal)
    )
    assert missed < missed_before < 20  # of 106


def test_the_blocks_of_the_readme_work_in_their_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    fits = Fits(monkeypatch)
    run_page(README)
    fits.check_direction()
    check_written(run_command, tmp_path)


def test_the_readme_names_the_first_commands():
    blocks = re.findall(r"^```sh\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    commands = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    assert commands == [INSTALL, "make test", ACTIVATE]


@pytest.fixture
def clone(tmp_path):
    """A clone of the last commit."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("there is nothing to clone: this is no checkout")
    shell(f'git -c safe.directory="*" clone -q "{ROOT}" clone', tmp_path)
    return tmp_path / "clone"


@pytest.mark.slow
def test_a_reader_who_has_typed_make_demo_can_go_on(clone):
    shell(f'{INSTALL} PYTHON="{sys.executable}"', clone, timeout=1500)
    read_on(ACTIVATE, clone)
    check_written(lambda command: shell(f"{ACTIVATE} && {command}", clone), clone)


@pytest.mark.slow
def test_a_reader_with_an_environment_of_their_own_can_go_on(clone):
    shell(f'"{sys.executable}" -m venv own', clone)
    activate = ". own/bin/activate"
    shell(f"{activate} && pip install -q .", clone, timeout=1500)
    read_on(activate, clone)
    check_written(lambda command: shell(f"{activate} && {command}", clone), clone)
