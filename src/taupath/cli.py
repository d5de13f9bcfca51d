"""The command line: ``taupath COMMAND``.

Exit status: 0 done, 1 failed (the reason is on standard error), 2 wrong usage, 130 interrupted.
"""

import argparse
import io
import sys
from collections.abc import Sequence

import taupath

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; by default those of the process.

    Returns
    -------
    int
        0, 1 or 130; wrong usage leaves through ``SystemExit(2)``, as argparse does.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without τ gets a question mark
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except KeyboardInterrupt:
        print("taupath: interrupted", file=sys.stderr)
        return 130
    except (ValueError, TypeError, RuntimeError, OSError) as error:
        print(f"taupath: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taupath",
        description="Train an SVM for every misclassification cost at once.",
        epilog="`taupath COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action="version", version=f"taupath {taupath.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    demo = commands.add_parser(
        "demo",
        help="fit a whole path on data that ships with scikit-learn",
        description=(
            "Fit the SVMs of all costs to half of scikit-learn's breast cancer data, then print "
            "how they do on the other half as the price of a missed cancer falls from 20 false "
            "alarms to a twentieth of one, and the certificate that the fit is exact."
        ),
    )
    demo.set_defaults(run=_demo)
    return parser


def _demo(_: argparse.Namespace) -> None:
    from taupath.demo import report  # scikit-learn's data only where they are needed

    for line in report():
        print(line)


if __name__ == "__main__":
    sys.exit(main())
