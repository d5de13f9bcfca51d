"""``taupath demo``: a whole path on data that ships with scikit-learn."""

import argparse
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from taupath.commands.files import check_output
from taupath.commands.options import NewCommand
from taupath.commands.printing import print_json, print_lines

if TYPE_CHECKING:
    from taupath.commands.breast_cancer import BreastCancer
    from taupath.paths.certificate import Certificate

# What `--data` writes.
HALVES = ("train.csv", "test.csv")
# Names in the table for true positives, false negatives, true negatives and false positives.
CANCER_NAMES = ("cancers found", "missed", "healthy cleared", "false alarms")


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="demo",
        help="fit a whole path on data that ships with scikit-learn",
        description=(
            "Fit the SVMs for all costs to half of scikit-learn's breast cancer data. Print how "
            "they do on the other half as the price of a missed cancer falls from 20 false alarms "
            "to a twentieth of one, and a certificate that the fit is exact. Write a report, a "
            "page on which you can try costs."
        ),
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="taupath-demo.html", help="the report"
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="also write the two halves there, as train.csv and test.csv, for other commands",
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the lines as they become known."""
    data = arguments.data
    check_output(
        *(() if data is None else (os.path.join(data, half) for half in HALVES)), arguments.output
    )
    from taupath.commands.breast_cancer import BreastCancer, write_halves

    if arguments.data is not None:
        write_halves(arguments.data)
    demo = BreastCancer()
    if not arguments.json:
        for line in lines(demo, arguments.output):
            print_lines(line)
        return
    demo.write_report(arguments.output)
    print_json(
        {
            "kinks": demo.path.n_kinks,
            "bytes": demo.path.nbytes,
            "at": demo.at_cost_ratios(),
            "certificate": {"holds": demo.certificate.holds(), **asdict(demo.certificate)},
            "report": arguments.output,
        }
    )


def lines(demo: "BreastCancer", output: str) -> Iterator[str]:
    """Write the report, and yield the lines to print as they become known."""
    from taupath.outcomes.cost_table import cost_table

    n_train, n_features = demo.X_train.shape
    yield (
        f"Breast cancer data: {n_train} cases to learn from, {len(demo.y_test)} to test on "
        f"({(demo.y_test > 0).sum()} malignant), {n_features} features."
    )
    yield (
        f"The exact SVM for every τ in [0, 1] (C = {demo.path.C:g}): {demo.path.n_kinks} kinks "
        f"in {1e3 * demo.seconds:.0f} ms, {demo.path.nbytes / 1e3:.0f} kB."
    )
    yield ""
    yield "On the test cases, as a missed cancer costs less and less against a false alarm:"
    yield ""
    yield from cost_table(demo.at_cost_ratios(), own_costs=True, names=CANCER_NAMES)
    yield ""
    yield "miss : alarm is what the two mistakes cost; costs are those of all mistakes together."
    yield "Without model: the same decision for all, whichever is cheaper."
    yield ""
    yield from sentences_about(demo.certificate)
    demo.write_report(output)
    yield ""
    yield f"Try costs of your own: open {output} in a browser."


def sentences_about(certificate: "Certificate") -> Iterator[str]:
    """Yield a certificate in words."""
    extent = "every kink and every midpoint" if certificate.complete else "a sample of the path"
    yield f"Certificate, from the data, at {certificate.n_checked} values of τ ({extent}):"
    yield (
        f"the relative duality gap is at most {certificate.worst_gap:.1e} "
        f"(τ = {certificate.tau_gap:.4f}), and no optimality condition"
    )
    yield (
        f"is violated by more than {certificate.worst_kkt:.1e} of a margin "
        f"(τ = {certificate.tau_kkt:.4f})."
    )
