"""Print the requirements named in pyproject.toml, one per line.

Usage: ``python tools/requirements.py GROUP...`` where a group is ``build`` (the build system's),
``run`` (the package's own) or one of the optional extras.
"""

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


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
