"""``taupath explain``: why rows of a file are decided as they are."""

import argparse
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING

from taupath.commands import Failed
from taupath.commands.files import load_model, read_data
from taupath.commands.options import (
    NewCommand,
    add_cost_options,
    add_data_options,
    add_model,
    taus_of,
)
from taupath.commands.printing import bar, print_json, print_lines, warn_of_costs

if TYPE_CHECKING:
    import numpy as np

    from taupath.models.model import Model
    from taupath.tables import Table

EXAMPLES = """examples:
  taupath explain model.tau new.csv --row 3 --cost-fp 1 --cost-fn 20
  taupath explain model.tau new.csv --row 3 --row 8 --json
"""


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="explain",
        help="explain the decisions on rows of a file",
        description=(
            "Explain the decisions on rows of a raw file: at which costs each of them flips and, "
            "for linear models, what each column adds to the decision function. Two classes only."
        ),
        epilog=EXAMPLES,
    )
    add_model(parser)
    parser.add_argument(
        "data", metavar="DATA", help="file with the same columns as in training, or -"
    )
    parser.add_argument(
        "--row",
        type=int,
        metavar="K",
        action="append",
        help="a row to explain: 1 is the first one below the header; repeatable; all rows if not "
        "given",
    )
    add_data_options(parser)
    add_cost_options(parser, tau_per_row=True)


def run(arguments: argparse.Namespace) -> None:
    """Explain and print."""
    model = load_model(arguments)
    if model.task != "classify" or len(model.labels) > 2:
        what = "regression" if model.task != "classify" else f"model of {len(model.labels)} classes"
        raise Failed(f"{arguments.model} is a {what}: only models of two classes can be explained")
    if model.estimator.costs_in_training_:
        warn_of_costs(arguments.model)
    used = model.preparation.column_names or []
    kept = [name for name in model.preparation.keep if name not in used]
    table = read_data(arguments, arguments.data, kept)
    rows = _rows(arguments, model, table)
    chosen = table.take(rows, settle=False)
    with bar("explaining", arguments):
        found = model.explain(chosen, taus_of(arguments, chosen))
    if arguments.json:
        each = zip(rows.tolist(), found, strict=True)
        print_json({"rows": [{"row": row + 1, **asdict(one)} for row, one in each]})
        return
    known = [(name, chosen.cells(name)) for name in kept if name in (table.names or ())]
    for k, (row, one) in enumerate(zip(rows.tolist(), found, strict=True)):
        named = "".join(f", {name} {cells[k]}" for name, cells in known)
        first, *others = str(one).split("\n")
        print_lines(*([""] if k else []), f"Row {row + 1}{named}: {first}", *others)


def _rows(arguments: argparse.Namespace, model: "Model", table: "Table") -> "np.ndarray":
    """Return the rows to explain, without those that get no prediction."""
    import numpy as np

    from taupath.tables.messages import counted

    rows = np.arange(table.n_rows)
    if arguments.row is not None:
        rows = np.array(list(dict.fromkeys(arguments.row))) - 1
        for row in rows.tolist():
            if not 0 <= row < table.n_rows:
                there = counted(table.n_rows, "row")
                raise Failed(f"--row {row + 1}: {table.source} has {there}, the first is 1")
    if model.preparation.missing != "drop":
        return rows
    missing = model.preparation.incomplete(table)[rows]
    if missing.all():
        raise Failed(f"{table.source}: each of these rows has missing cells, and gets no decision")
    if missing.any():
        warnings.warn(
            f"{table.source}: nothing to explain in {int(missing.sum())} of {len(rows)} rows, "
            "which have missing cells",
            stacklevel=2,
        )
    return np.asarray(rows[~missing])
