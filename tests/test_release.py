"""Version, citation, workflows and requirements: what a release says of itself is true."""

import importlib.util
import re
import shutil
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import taupath
from taupath import cli

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
with (ROOT / "pyproject.toml").open("rb") as stream:
    TABLE = tomllib.load(stream)
PROJECT = TABLE["project"]


def tool(name):
    """Return a script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- version ---------------------------------------------------------------------------------------


def test_there_is_one_version(capsys):
    version = PROJECT["version"]
    assert taupath.__version__ == version
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main(["--version"])
    assert capsys.readouterr().out.split() == ["taupath", version]
    options = re.search(r"^project\(.*?^\)", (ROOT / "meson.build").read_text(), re.S | re.M)[0]
    assert not re.search(r"^ *version:", options, re.MULTILINE)


def test_the_changelog_begins_with_this_version():
    titles = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    if "dev" in PROJECT["version"]:
        assert titles[0] == "[Unreleased]"
    else:
        assert re.fullmatch(rf"\[{re.escape(PROJECT['version'])}\] - \d{{4}}-\d\d-\d\d", titles[0])


def test_a_tag_must_be_the_version(capsys):
    version = tool("version")
    version.main(["--tag", f"v{PROJECT['version']}"])
    assert capsys.readouterr().out.strip() == PROJECT["version"]
    with pytest.raises(SystemExit, match=r"the tag is v9\.9, but pyproject\.toml has version"):
        version.main(["--tag", "v9.9"])


# -- citation --------------------------------------------------------------------------------------

# Of the Citation File Format 1.2.0: what a file must have, and what it may have.
MUST = {"authors", "cff-version", "message", "title"}
MAY = {"abstract", "commit", "contact", "date-released", "doi", "identifiers", "keywords"} | {
    *("license", "license-url", "preferred-citation", "references", "repository", "url"),
    *("repository-artifact", "repository-code", "type", "version"),
}


def test_the_citation_is_that_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert set(citation) >= MUST and set(citation) <= MUST | MAY
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]
    assert ("date-released" in citation) == ("dev" not in PROJECT["version"])
    (paper,) = citation["references"]
    assert {"type", "title", "authors", "year"} <= set(paper)
    assert [person["family-names"] for person in paper["authors"]] == [
        *("Yu", "Vishwanathan", "Zhang"),
    ]


# -- requirements ----------------------------------------------------------------------------------


def test_every_requirement_has_one_lower_bound_that_can_be_pinned():
    requirements = tool("requirements")
    groups = ["build", "run", *PROJECT["optional-dependencies"]]
    groups.remove("dev")  # this package with the other extras
    for requirement in requirements.requirements(groups):
        assert re.match(r"[\w-]+(\[\w+\])?==[\d.]+(;|$)", requirements.oldest(requirement))
    assert requirements.oldest("numpy>=1.25") == "numpy==1.25"
    for wrong in ("numpy", "numpy>=1,>=2"):
        with pytest.raises(ValueError, match=f"must have one lower bound.*: {wrong}$"):
            requirements.oldest(wrong)


# -- conda -----------------------------------------------------------------------------------------


def as_conda(requirements):
    """Return requirements as conda writes them: a space before the version, no capitals."""
    return [re.sub(r"(?=[<>=])", " ", each, count=1).lower() for each in requirements]


def test_the_conda_recipe_says_what_the_package_says():
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text("utf-8"))
    assert recipe["schema_version"] == 1
    assert recipe["package"] == {"name": PROJECT["name"], "version": "${{ version }}"}
    assert recipe["context"] == {"version": PROJECT["version"]}
    assert (ROOT / "recipe" / recipe["source"]["path"] / "pyproject.toml").samefile(
        ROOT / "pyproject.toml"
    )
    build, needs = recipe["build"], recipe["requirements"]
    ((command, function),) = PROJECT["scripts"].items()
    assert build["python"]["entry_points"] == [f"{command} = {function}"]
    least = PROJECT["requires-python"].removeprefix(">=")
    assert build["skip"] == f'match(python, "<{least}")'
    assert needs["host"] == ["python", "pip", *as_conda(TABLE["build-system"]["requires"])]
    assert needs["run"] == ["python", *as_conda(PROJECT["dependencies"])]
    about = recipe["about"]
    assert about["summary"] == PROJECT["description"]
    assert about["license"] == PROJECT["license"]
    assert [about["license_file"]] == PROJECT["license-files"]
    imported, commands = recipe["tests"]
    assert imported["python"]["imports"] == [PROJECT["name"]]
    assert f"{command} --version" in commands["script"]


# -- first contact ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_the_root_files_lead_somewhere(name):
    text = (ROOT / name).read_text("utf-8")
    assert text.startswith("# ")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (ROOT / target).exists(), target


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_demo_says_what_it_does_and_how_to_call_the_command(tmp_path):
    """From a fresh clone: nothing is made, only told."""
    command = ["make", "--dry-run", "--directory", ROOT, "demo", f"VENV={tmp_path}/new"]
    told = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    said = re.findall(r'^echo "(.*)"$', told, re.MULTILINE)
    assert re.search("this is done once.* minutes", said[0])
    assert [bool(re.match("set-up: ", each)) for each in said] == [True] * 4 + [False] * 2
    assert f"{tmp_path}/new/bin/taupath --help" in said[-2]
    assert f". {tmp_path}/new/bin/activate" in said[-1]


# -- workflows -------------------------------------------------------------------------------------


def jobs_of(workflow):
    return yaml.safe_load(workflow.read_text("utf-8"))["jobs"]


def steps_of(workflow):
    return [step for job in jobs_of(workflow).values() for step in job["steps"]]


def pythons():
    """Return the versions that classifiers name."""
    found = [re.fullmatch(r".* :: (3\.\d+)", each) for each in PROJECT["classifiers"]]
    return [match[1] for match in found if match]


def test_there_are_workflows():
    assert [workflow.stem for workflow in WORKFLOWS] == ["release", "tests"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_names_only_what_exists(workflow):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = jobs_of(workflow)
    for job in named.values():
        needed = job.get("needs", [])
        assert set(needed) <= set(named), needed
    for step in steps_of(workflow):
        assert ("run" in step) != ("uses" in step), step
        assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./]+", step.get("uses", "a/b@c")), step
        run = step.get("run", "")
        assert set(re.findall(r"\bmake ([a-z-]+)", run)) <= targets, run
        for script in re.findall(r"(?<!\S)((?:\.ci|tools|benchmarks)/\S+)", run):
            assert (ROOT / script).exists(), script
        for extra in re.findall(r"\.\[([\w,]+)\]", run):
            assert set(extra.split(",")) <= set(PROJECT["optional-dependencies"]), run


def test_every_supported_python_is_tested_and_gets_wheels():
    supported = pythons()
    assert PROJECT["requires-python"] == f">={supported[0]}"
    jobs = jobs_of(ROOT / ".github" / "workflows" / "tests.yml")
    assert jobs["tests"]["strategy"]["matrix"]["python"] == supported
    assert set(jobs["windows"]["strategy"]["matrix"]["python"]) <= set(supported)
    wheels = [f"cp{version.replace('.', '')}-*" for version in supported]
    assert TABLE["tool"]["cibuildwheel"]["build"] == wheels


def test_only_the_job_that_publishes_may_identify_itself_and_none_has_a_password():
    for workflow in WORKFLOWS:
        text = workflow.read_text("utf-8")
        assert "secrets." not in text
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
        rights = {name: job.get("permissions") for name, job in jobs_of(workflow).items()}
        assert rights.pop("publish", {"id-token": "write"}) == {"id-token": "write"}
        assert not any(rights.values())
    publish = jobs_of(ROOT / ".github" / "workflows" / "release.yml")["publish"]
    assert publish["if"] == "github.ref_type == 'tag'"


def test_a_release_has_a_bill_of_materials_that_is_not_published():
    jobs = jobs_of(ROOT / ".github" / "workflows" / "release.yml")
    runs = [step.get("run", "") for step in jobs["source"]["steps"]]
    assert "make dist sbom" in runs
    uploads = [step["with"] for step in jobs["source"]["steps"] if "upload" in step.get("uses", "")]
    (listed,) = [each for each in uploads if each["path"] == "dist/*.cdx.json"]
    (published,) = [step["with"]["pattern"] for step in jobs["publish"]["steps"] if "with" in step]
    assert not fnmatch(listed["name"], published)
    recipe = re.search(
        r"^sbom:.*\n(?:\t.*\n)+", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    assert "cyclonedx-py environment" in recipe[0] and "-o dist/taupath.cdx.json" in recipe[0]


def test_tests_of_wheels_select_some():
    command = TABLE["tool"]["cibuildwheel"]["test-command"]
    assert "{project}/tests" in command
    marks = {mark.split(":")[0] for mark in TABLE["tool"]["pytest"]["ini_options"]["markers"]}
    (selected,) = re.findall(r'-m "([^"]*)"', command)
    assert set(re.findall(r"\w+", selected)) - {"and", "not"} <= marks
