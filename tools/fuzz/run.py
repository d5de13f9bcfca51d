"""The command: which problems to solve, and what to print."""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

from fuzz.checking import verbose
from fuzz.families import FAMILIES, RARE
from fuzz.results import MEANING, cases, good_enough, nothing_hidden, table
from fuzz.workers import Task, outcomes, work

DESCRIPTION = (
    "Solve random problems of many families, and judge every answer independently of the library."
)


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python tools/fuzz",
        description=DESCRIPTION,
        epilog=MEANING,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, help="stop after so many minutes (default 10)")
    parser.add_argument("--count", type=int, help="stop after so many problems of each family")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--family", nargs="+", choices=FAMILIES, metavar="NAME", help="only these")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--allow-inexact",
        action="store_true",
        help="fail only at silent answers, errors, and answers that differ when read again",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="tell about every problem")
    parser.add_argument("-o", "--output", type=Path, help="write all outcomes as JSON lines")
    parser.add_argument("--list", action="store_true", help="list the families")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.minutes is None and options.count is None:
        options.minutes = 10.0
    return options


def tasks(options: argparse.Namespace) -> Iterator[Task]:
    """Yield families and seeds: all families with one seed, then with the next."""
    finish = time.monotonic() + 60.0 * (options.minutes or float("inf"))
    seed = options.seed
    while options.count is None or seed < options.seed + options.count:
        for family in options.family or FAMILIES:
            if time.monotonic() >= finish:
                return
            if options.family or seed % RARE.get(family, 1) == 0:
                yield family, seed
        seed += 1


def main() -> int:
    """Run, and return the exit status."""
    options = arguments()
    if options.worker:
        work()
        return 0
    if options.list:
        for name, make in FAMILIES.items():
            print(f"{name:<22}{make.__doc__}")
        return 0
    found = []
    output = options.output and options.output.open("w", encoding="utf-8")
    for outcome in outcomes(tasks(options), options.jobs):
        found.append(outcome)
        if output:
            print(json.dumps(vars(outcome)), file=output, flush=True)
        if options.verbose or outcome.bad():
            print(verbose(outcome), flush=True)
    print(table(found))
    if not options.verbose:
        print(cases(found))
    return 0 if (nothing_hidden if options.allow_inexact else good_enough)(found) else 1
