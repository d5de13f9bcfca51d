"""Leave in a source distribution what builds and describes the package, and nothing else.

Run by meson, in the folder that it is about to pack. Tests, benchmarks, documentation and the
Makefile that drives them belong together, and are in the repository.
"""

import os
import shutil
from pathlib import Path

KEPT = {
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "meson.build",
    "meson.options",
    "pyproject.toml",
    "src",
    "tools",
}


def main() -> None:
    """Remove the others."""
    root = Path(os.environ["MESON_DIST_ROOT"])
    own = Path(__file__).name
    unwanted = [entry for entry in root.iterdir() if entry.name not in KEPT]
    unwanted += [entry for entry in (root / "tools").iterdir() if entry.name != own]
    for entry in unwanted:
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


if __name__ == "__main__":
    main()
