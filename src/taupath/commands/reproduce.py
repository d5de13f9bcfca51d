"""``taupath reproduce``: the tables and figures of the paper, from its data."""

import argparse
import sys
from pathlib import Path

from taupath.choices import REPRODUCED
from taupath.commands.options import NewCommand
from taupath.commands.printing import print_json, print_lines


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="reproduce",
        help="reproduce the paper's tables and figures",
        description=(
            "Compute the tables and figures of Yu, Vishwanathan & Zhang (UAI 2009) again, print "
            "them next to the paper's numbers, and write CSV files and pictures."
        ),
        epilog="example:\n  taupath reproduce table2 --data data -o out",
    )
    parser.add_argument("what", metavar="WHAT", choices=REPRODUCED, help=", ".join(REPRODUCED))
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with the data (default: the one named by TAUPATH_DATA)",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="reproduced", help="folder for the results"
    )


def run(arguments: argparse.Namespace) -> None:
    """Compute, print, write."""
    from taupath.reproduce import run as reproduce
    from taupath.tables.messages import printable_lines

    output = Path(arguments.output)

    def say(line: str) -> None:
        if arguments.json:
            print(printable_lines(line), file=sys.stderr, flush=True)
        else:
            print_lines(*line.split("\n"))

    reproduce(arguments.what, data=arguments.data, output=output, say=say)
    if arguments.json:
        print_json({"written": sorted(str(file) for file in output.iterdir())})
