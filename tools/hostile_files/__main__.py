"""Make damaged and hostile files, and check that each is refused or read rightly.

    python tools/hostile_files --kind model --count 10000 --seed 0

Each file is read by a process of its own memory limit. It must be refused in one line, by an error
of taupath, or be read to finite numbers, within a second of CPU and 1 GiB. Any other outcome is a
failure: it is printed, its file is kept, and the exit status is 1. Case k of a seed is always the
same file.
"""

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from judging import judge_all, report

# Modules that make the files of each kind and read them.
KINDS = {"model": "models", "table": "tables"}


def main() -> int:
    """Judge the files and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--kind", choices=sorted(KINDS), default="model")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="number of a single case")
    parser.add_argument("--seconds", type=float, default=1.0, help="of CPU that a file may take")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--keep", default="hostile", help="folder for the files of failures")
    arguments = parser.parse_args()
    kind = importlib.import_module(KINDS[arguments.kind])
    cases = range(arguments.count) if arguments.only is None else [arguments.only]
    with tempfile.TemporaryDirectory() as folder:
        maker = kind.Maker(Path(folder), arguments.seed)
        verdicts = judge_all(
            maker, cases, Path(folder), arguments.jobs, arguments.seconds, Path(arguments.keep)
        )
    return report(verdicts)


if __name__ == "__main__":
    sys.exit(main())
