"""``taupath demo``: a whole path on data that ships with scikit-learn."""

import argparse
from typing import Any

from taupath.commands.common import check_output, print_json

__all__ = ["add"]


def add(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Add the command to a parser."""
    parser = commands.add_parser(
        "demo",
        parents=parents,
        help="fit a whole path on data that ships with scikit-learn",
        description=(
            "Fit the SVMs of all costs to half of scikit-learn's breast cancer data, then print "
            "how they do on the other half as the price of a missed cancer falls from 20 false "
            "alarms to a twentieth of one, and the certificate that the fit is exact. A report to "
            "play with is written beside."
        ),
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="taupath-demo.html", help="the report"
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="write the two halves there, as train.csv and test.csv, to try other commands on",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the lines as they become known."""
    check_output(arguments.output)
    from taupath.commands.breast_cancer import figures, report, write_halves

    if arguments.data is not None:
        write_halves(arguments.data)
    if arguments.json:
        print_json(figures(arguments.output))
        return
    for line in report(arguments.output):
        print(line, flush=True)
