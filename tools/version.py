"""Print the version of pyproject.toml; with ``--tag``, fail where a tag is not ``v`` and that."""

import argparse
import sys
import tomllib
from pathlib import Path


def version() -> str:
    """Return the version of pyproject.toml."""
    with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
        found: str = tomllib.load(file)["project"]["version"]
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print it, or say what is wrong with the tag."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="a tag to compare it with")
    tag = parser.parse_args(arguments).tag
    if tag is not None and tag != f"v{version()}":
        sys.exit(f"the tag is {tag}, but pyproject.toml has version {version()}: v{version()}")
    print(version())


if __name__ == "__main__":
    main()
