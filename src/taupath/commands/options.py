"""Options that several commands share, and what they ask for."""

import argparse
import re
import shutil
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from taupath.choices import FORMATS, SPARSE_COLUMNS
from taupath.commands import Failed

if TYPE_CHECKING:
    from taupath.tables import Table

# Given to the `add` of a command: called with its name, help, description and epilog.
NewCommand = Callable[..., argparse.ArgumentParser]
# Column of the decisions in the output of `taupath predict`.
PREDICTION = "prediction"
# The most characters in a line of a description: longer lines are hard to read.
WIDEST = 100


def new_command(
    commands: Any,
    shared: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace], None],
    **about: str,
) -> argparse.ArgumentParser:
    """Return the parser of a new command; `about` has its name, help, description and epilog."""
    width = min(shutil.get_terminal_size().columns, WIDEST) - 2
    about["description"] = textwrap.fill(about["description"], width)
    parser: argparse.ArgumentParser = commands.add_parser(
        parents=[shared],
        formatter_class=argparse.RawDescriptionHelpFormatter,  # examples keep their lines
        **about,
    )
    parser.set_defaults(run=run)
    return parser


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model file to read."""
    parser.add_argument("model", metavar="MODEL", help="model file, written by `taupath fit`")


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading a data file."""
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="format of the data file; recognised by its name or content if not given",
    )
    parser.add_argument(
        "--delimiter",
        metavar="CHAR",
        help="what separates the cells of a text file: a character, or tab, comma, semicolon, "
        "pipe or space; recognised if not given",
    )
    parser.add_argument(
        "--max-features",
        type=int,
        default=SPARSE_COLUMNS,
        metavar="N",
        help="largest number of columns of a sparse matrix (LIBSVM, .npz), that is, its highest "
        f"index (default {SPARSE_COLUMNS})",
    )
    add_limit(parser)


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Add the option for the memory that a file may ask for."""
    parser.add_argument(
        "--max-bytes",
        type=size,
        metavar="SIZE",
        help="largest table or model to read, such as 20GB; by default one that fits the size of "
        "its file, so that no small file fills the memory",
    )


def size(text: str) -> int:
    """Return the bytes that a size such as 500MB or 20GB stands for."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) *([kMGT]?)i?B?", text, re.ASCII | re.IGNORECASE)
    bytes_of = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    number = round(float(found[1]) * bytes_of[found[2].upper()]) if found else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500MB or 20GB")
    return number


def add_target_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the column that holds the truth."""
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="column with the truth; needed for models saved in Python, which do not know it",
    )


def add_cost_options(parser: argparse.ArgumentParser, tau_per_row: bool) -> None:
    """Add τ and costs, which may be columns of the data; τ only if `tau_per_row`."""
    note = "; or the name of a column with one for each row"
    group = parser.add_argument_group("costs (two classes)")
    group.add_argument(
        "--tau", metavar="T", help=f"cost_fp / (cost_fp + cost_fn){note if tau_per_row else ''}"
    )
    group.add_argument("--cost-fp", metavar="A", help=f"what a false alarm costs{note}")
    group.add_argument("--cost-fn", metavar="B", help=f"what a miss costs{note}")


def costs_given(arguments: argparse.Namespace) -> bool:
    """Return whether any option about costs was given."""
    given = (arguments.tau, arguments.cost_fp, arguments.cost_fn, arguments.cost_matrix)
    return any(option is not None for option in given)


def taus_of(arguments: argparse.Namespace, table: "Table | None" = None) -> Any:
    """Return the τ that the options ask for: None, a number, or one for each row of the table."""
    from taupath.estimators.costs import costs_to_tau

    costs = (arguments.cost_fp, arguments.cost_fn)
    if arguments.tau is not None:
        if costs != (None, None):
            raise Failed("give --tau or costs, not both")
        return _number_or_column(arguments.tau, "--tau", table)
    if costs == (None, None):
        return None
    if None in costs:
        raise Failed("give both --cost-fp and --cost-fn")
    fp = _number_or_column(arguments.cost_fp, "--cost-fp", table)
    fn = _number_or_column(arguments.cost_fn, "--cost-fn", table)
    taus = costs_to_tau(fp, fn, 0 if table is None else table.n_rows)
    return float(taus) if taus.ndim == 0 else taus


def costs_or_columns(arguments: argparse.Namespace, table: "Table") -> dict[str, Any] | None:
    """Return the costs that were given: numbers, or names of columns; None if there are none."""
    costs = {"cost_fp": arguments.cost_fp, "cost_fn": arguments.cost_fn}
    given = {name: text for name, text in costs.items() if text is not None}
    if not given:
        return None
    if len(given) < 2:
        raise Failed("give both --cost-fp and --cost-fn")
    found = {}
    for name, text in given.items():
        found[name] = _number_or_name(text, f"--{name.replace('_', '-')}", table)
    return found


def with_costs(table: "Table", costs: dict[str, Any] | None) -> "Table":
    """Return the rows of a table that have a cell in each column of costs.

    An empty column changes nothing: whoever reads it refuses it.
    """
    import numpy as np

    from taupath.tables.table import missing_in

    for cost in (costs or {}).values():
        missing = missing_in(table.cells(cost)) if isinstance(cost, str) else np.array(False)
        if missing.any() and not missing.all():
            table = table.take(~missing)
    return table


def _number_or_column(text: str, option: str, table: "Table | None") -> Any:
    """Return a number, or those of a column."""
    found = _number_or_name(text, option, table)
    if table is None or isinstance(found, float):
        return found
    from taupath.models.model import column_of

    return column_of(option.removeprefix("--").replace("-", "_"), found, table)


def _number_or_name(text: str, option: str, table: "Table | None") -> float | str:
    """Return a number, or the name of a column of the table."""
    try:
        return float(text)
    except ValueError:
        pass
    from taupath.tables.messages import quoted

    if table is None:
        raise Failed(f"{option} must be a number, got {quoted(text)}")
    if text not in (table.names or ()):
        raise Failed(f"{option} must be a number or a column of {table.source}, got {quoted(text)}")
    return text
