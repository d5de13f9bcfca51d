"""Source distribution and wheel: built from the last commit, installed where nothing else is."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

import taupath

ROOT = Path(__file__).parents[1]
# At the top of a source distribution, besides src/: see tools/slim_sdist.py.
TOP = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"} | {
    *("meson.build", "meson.options", "tools/slim_sdist.py"),
}
pytestmark = pytest.mark.slow


def run(*command, cwd=ROOT):
    """Return what a command prints; it knows nothing of the environment that the tests run in."""
    ours = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    environment = {key: value for key, value in os.environ.items() if key not in ours}
    # The checkout may belong to someone else, as it does in containers.
    owned = {"KEY_0": "safe.directory", "VALUE_0": "*", "COUNT": "1"}
    environment |= {f"GIT_CONFIG_{key}": value for key, value in owned.items()}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def committed():
    """Return the files of the package in the last commit, as paths below src/."""
    listed = run("git", "ls-tree", "-r", "--name-only", "HEAD", "--", "src").split()
    return {name.removeprefix("src/") for name in listed}


def check_source(sdist):
    with tarfile.open(sdist) as archive:
        names = {member.name for member in archive if member.isfile()}
    (root,) = {name.split("/")[0] for name in names}
    assert root == f"taupath-{taupath.__version__}"
    assert {name.removeprefix(f"{root}/") for name in names} == TOP | {
        f"src/{name}" for name in committed()
    }


def check_wheel(wheel):
    archive = zipfile.ZipFile(wheel)
    package = {name for name in archive.namelist() if ".dist-info/" not in name}
    compiled = {
        re.sub(r"\.[^/]*$", "", name) for name in package if re.search(r"\.(so|pyd)$", name)
    }
    sources = committed()
    written = {name.removesuffix(".pyx") for name in sources if name.endswith(".pyx")}
    assert compiled == written | {"taupath/_core/_shared"}  # what Cython adds to all of them
    others = {name for name in package if not re.search(r"\.(so|pyd)$", name)}
    assert others == {name for name in sources if not re.search(r"\.(pyx|pxd|build)$", name)}
    assert {"taupath/py.typed", "taupath/report/page/page.html"} <= others
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return archive.read(name)


def check_metadata(raw):
    found = Metadata.from_email(raw, validate=True)
    with (ROOT / "pyproject.toml").open("rb") as stream:
        project = tomllib.load(stream)["project"]
    assert str(found.version) == project["version"] == taupath.__version__
    assert found.license_expression == project["license"]
    assert found.license_files == project["license-files"]
    assert found.classifiers == project["classifiers"]
    assert str(found.requires_python) == project["requires-python"]
    assert email.message_from_bytes(raw)["Description-Content-Type"].startswith("text/markdown")
    assert found.description.strip() == run("git", "show", "HEAD:README.md").strip()


def test_what_is_released_builds_installs_and_runs(tmp_path):
    pytest.importorskip("build", reason="`build` is not installed")
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("a source distribution is made of a commit, and this is no checkout")
    python, made = sys.executable, tmp_path / "dist"
    run(python, "-m", "build", "--no-isolation", "--sdist", "--outdir", made)
    (sdist,) = made.iterdir()
    check_source(sdist)
    # The wheel is made of that alone, in an environment with what it says that it needs.
    run(python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", made, sdist, cwd=tmp_path)
    (wheel,) = made.glob("*.whl")
    check_metadata(check_wheel(wheel))

    run(python, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    bin = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(bin / "python", "-m", "pip", "install", wheel, cwd=tmp_path)
    run(bin / "python", "-m", "pip", "check", cwd=tmp_path)
    assert taupath.__version__ in run(bin / "taupath", "--version", cwd=tmp_path)
    assert "demo" in run(bin / "taupath", "--help", cwd=tmp_path)
    assert "violated by more than" in run(bin / "taupath", "demo", cwd=tmp_path)
    assert (tmp_path / "taupath-demo.html").stat().st_size > 100_000
    example = re.search(
        r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.S | re.M
    )
    (tmp_path / "example.py").write_text(example[1] + "\nprint(tp.__file__)\n", "utf-8")
    assert str(tmp_path / "venv") in run(bin / "python", "-W", "error", "example.py", cwd=tmp_path)
