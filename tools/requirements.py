"""Print the requirements named in pyproject.toml, one per line.

Usage: ``python tools/requirements.py [--oldest] GROUP...`` where a group is ``build`` (the build
system's), ``run`` (the package's own) or one of the optional extras. With ``--oldest`` each is
pinned to its lower bound.
"""

import re
import sys
import tomllib
from pathlib import Path


def requirements(groups: list[str]) -> list[str]:
    """Return the requirements of the given groups in the order of the groups."""
    with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
        table = tomllib.load(file)
    known = {
        "build": table["build-system"]["requires"],
        "run": table["project"]["dependencies"],
        **table["project"]["optional-dependencies"],
    }
    return [requirement for group in groups for requirement in known[group]]


def oldest(requirement: str) -> str:
    """Return a requirement that only the lower bound of the given one meets."""
    pinned, bounds = re.subn(r">=\s*", "==", requirement)
    if bounds != 1:
        raise ValueError(f"a requirement must have one lower bound, name>=version: {requirement}")
    return pinned


if __name__ == "__main__":
    words = sys.argv[1:]
    groups = [word for word in words if word != "--oldest"]
    wanted = requirements(groups)
    print("\n".join(map(oldest, wanted) if "--oldest" in words else wanted))
