"""The paper's Table 2: a whole path beside one LIBLINEAR run, in one process and one thread.

What is measured, and how, is in `taupath.reproduce.timing`; `taupath reproduce table2` prints the
same. Here LIBLINEAR is required, and runs and sets can be chosen.

Needs the paper's data, in the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import os
import sys

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import liblinear  # noqa: F401
from common import machine, n_threads

from taupath.datasets import PAPER_NAMES, DataNotFound, load_paper
from taupath.reproduce.table2 import PACKAGES, as_json, measure, report

__all__ = ["as_json", "measure", "report"]


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="The paper's Table 2, measured here.")
    parser.add_argument("--datasets", nargs="+", choices=PAPER_NAMES, default=list(PAPER_NAMES))
    parser.add_argument("--repeats", type=int, help="runs of each job (default: by time)")
    parser.add_argument(
        "--reference",
        action="store_true",
        help="Algorithm 1 to its end on all data, not on diabetes only",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if arguments.repeats is not None and arguments.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {arguments.repeats}")
    if n_threads() > 1:
        print(f"table2: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    try:
        chosen = [load_paper(name) for name in arguments.datasets]
    except DataNotFound as missing:
        print(f"table2: {missing}", file=sys.stderr)
        return 1
    rows = []
    for data in chosen:
        print(f"measuring {data.name} ...", file=sys.stderr, flush=True)
        whole = arguments.reference or data.name == "diabetes"
        rows.append(measure(data, arguments.repeats, "whole" if whole else "skip"))
    about = machine(*PACKAGES)
    print(as_json(rows, about) if arguments.json else "\n".join(report(rows, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
