"""``taupath predict``: decisions, probabilities or quantiles for the rows of a file."""

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from taupath.choices import UNSEEN
from taupath.commands import Failed
from taupath.commands.files import (
    check_output,
    check_table_output,
    load_model,
    read_cost_matrix,
    read_data,
)
from taupath.commands.options import (
    PREDICTION,
    NewCommand,
    add_cost_options,
    add_data_options,
    add_model,
    costs_given,
    taus_of,
)
from taupath.commands.printing import bar, print_json, print_lines, warn_of_costs

if TYPE_CHECKING:
    import numpy as np

    from taupath.models.model import Model
    from taupath.tables import Table

EXAMPLES = """examples:
  taupath predict model.tau new.csv --cost-fp 1 --cost-fn 20
  taupath predict model.tau new.csv --cost-fn amount --cost-fp 5 -o decisions.csv
  taupath predict model.tau new.csv --proba -o probabilities.parquet
  taupath predict model.tau new.csv --operating-point
  taupath predict prices.tau new.csv --quantiles 0.1 0.5 0.9
"""


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="predict",
        help="make a decision for each row of a file, at the costs you give",
        description=(
            "Predict for each row of a raw file. The output has the same rows in the same order. "
            "Columns are found by their names; columns that the model does not know are ignored."
        ),
        epilog=EXAMPLES,
    )
    add_model(parser)
    parser.add_argument(
        "data", metavar="DATA", help="file with the same columns as in training, or -"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help=".csv, .tsv, .json, .jsonl (or these with .gz or .bz2) or .parquet; CSV on standard "
        "output if not given",
    )
    add_data_options(parser)
    parser.add_argument(
        "--keep-id",
        metavar="COLUMN",
        action="append",
        help="copy this column to the output, instead of those named in `fit`; repeatable",
    )
    parser.add_argument(
        "--missing",
        choices=("drop", "error"),
        help="rows with missing cells: drop leaves their predictions empty, error refuses them; "
        "by default as in `fit`",
    )
    parser.add_argument(
        "--unseen",
        choices=UNSEEN,
        help="categories that training did not have: ignored or refused; by default as in `fit`",
    )
    add_cost_options(parser, tau_per_row=True)
    more = parser.add_argument_group("classification")
    more.add_argument(
        "--operating-point",
        action="store_true",
        help="decide at the τ stored by `taupath operate --save`; rows that it leaves undecided "
        "get an empty cell",
    )
    more.add_argument(
        "--proba", action="store_true", help="also write the probability of each class"
    )
    more.add_argument(
        "--cost-matrix",
        metavar="FILE",
        help="CSV file with a row for each true class and a column for each decision: decide for "
        "the least expected cost",
    )
    regression = parser.add_argument_group("regression")
    regression.add_argument(
        "--quantiles", type=float, nargs="+", metavar="Q", help="these quantiles, each from 0 to 1"
    )
    regression.add_argument(
        "--coverage", type=float, metavar="P", help="interval with this coverage"
    )


def run(arguments: argparse.Namespace) -> None:
    """Predict and write."""
    check_output(arguments.output, inputs=(arguments.model, arguments.data, arguments.cost_matrix))
    check_table_output(arguments.output)

    model = load_model(arguments)
    keep = model.preparation.keep if arguments.keep_id is None else arguments.keep_id
    used = model.preparation.column_names or []
    table = read_data(arguments, arguments.data, [name for name in keep if name not in used])
    kept = _kept(arguments, table, keep)
    blank = _without_prediction(arguments, model, table)
    rows = table.take(~blank) if blank.any() else table
    X = model.preparation.features(rows, arguments.unseen)
    with bar("predicting", arguments):
        if model.task == "classify":
            columns = _decisions(arguments, model, rows, X)
        else:
            columns = _quantiles(arguments, model, X)
    both = [name for name in kept if name in columns]
    if both:
        from taupath.tables.messages import quoted

        raise Failed(
            f"column {quoted(both[0])} cannot be kept: a column of the output has that name"
        )
    columns = kept | {name: _spread(values, blank) for name, values in columns.items()}
    _write(arguments, model, columns, table.n_rows, int(blank.sum()))


def _write(
    arguments: argparse.Namespace,
    model: "Model",
    columns: "dict[str, np.ndarray]",
    n_rows: int,
    n_blank: int,
) -> None:
    """Write the predictions, and print which class is positive."""
    from taupath.tables import write_table
    from taupath.tables.messages import shown

    positive = getattr(model, "pos_label_", None)
    found = {"rows": n_rows, "without prediction": n_blank, "positive": positive}
    if arguments.json and arguments.output == "-":
        print_json({**found, "columns": columns})
        return
    if positive is not None and arguments.output == "-":
        print(f"positive class: {shown(positive)}", file=sys.stderr)
    write_table(arguments.output, columns)
    if arguments.output == "-":
        return
    if arguments.json:
        print_json({**found, "output": arguments.output})
        return
    about = "" if positive is None else f" (positive class: {shown(positive)})"
    print_lines(f"{n_rows} rows written to {arguments.output}{about}")


def _kept(
    arguments: argparse.Namespace, table: "Table", names: Sequence[str]
) -> "dict[str, np.ndarray]":
    """Return the columns to copy to the output, as they are written in the file."""
    from taupath.tables.messages import listed

    absent = [name for name in names if name not in (table.names or ())]
    if absent and arguments.keep_id is not None:
        raise Failed(f"{table.source} has no column {listed(absent)} to keep")
    if absent:
        warnings.warn(
            f"{table.source} has no column {listed(absent)}, which `fit` was asked to keep: "
            "the output goes without it",
            stacklevel=2,
        )
    return {name: _as_written(table.cells(name)) for name in names if name not in absent}


def _as_written(values: "np.ndarray") -> "np.ndarray":
    """Return the cells of a column as whole numbers if all are written so, else as text."""
    import numpy as np

    from taupath.tables.cells import show_number

    cells = values.tolist()
    if values.dtype != object:
        cells = [None if cell != cell else show_number(cell) for cell in cells]
    texts = [cell for cell in cells if cell is not None]
    # Whole numbers have up to 18 digits, which fit into the 64 bits of other programs.
    if all(cell.removeprefix("-").isdecimal() and len(cell) < 19 for cell in texts) and all(
        str(int(cell)) == cell for cell in texts
    ):
        cells = [None if cell is None else int(cell) for cell in cells]
    written = np.empty(len(cells), dtype=object)
    written[:] = cells
    return written


def _without_prediction(
    arguments: argparse.Namespace, model: "Model", table: "Table"
) -> "np.ndarray":
    """Return which rows get no prediction because cells are missing."""
    import numpy as np

    preparation = model.preparation
    if arguments.missing == "error":
        for name in preparation.column_names or ():
            table.column(name)  # refuses missing cells even if the model could fill them in
    if (arguments.missing or preparation.missing) != "drop":
        return np.zeros(table.n_rows, dtype=bool)
    missing = preparation.incomplete(table)
    if missing.all():
        raise Failed(
            f"{table.source}: each row has missing cells, so there is nothing to predict; train "
            "with --missing impute"
        )
    if missing.any():
        warnings.warn(
            f"{table.source}: no prediction for {int(missing.sum())} of {table.n_rows} rows, which "
            "have missing cells",
            stacklevel=2,
        )
    return missing


def _spread(values: "np.ndarray", blank: "np.ndarray") -> "np.ndarray":
    """Return values for all rows, with empty cells in rows without a prediction."""
    import numpy as np

    if not blank.any():
        return values
    spread = np.full(len(blank), None, dtype=object)
    spread[~blank] = values.tolist()
    return spread


def _decisions(
    arguments: argparse.Namespace, model: "Model", table: "Table", X: Any
) -> "dict[str, np.ndarray]":
    import numpy as np

    if arguments.quantiles is not None or arguments.coverage is not None:
        raise Failed(
            f"{arguments.model} is a classifier: --quantiles and --coverage are for regressions"
        )
    estimator, labels = model.estimator, model.labels
    tau = taus_of(arguments, table)
    matrix = None
    if arguments.cost_matrix is not None:
        if tau is not None:
            raise Failed("give --cost-matrix or costs, not both")
        matrix = read_cost_matrix(arguments.cost_matrix, labels)
    if arguments.operating_point:
        return _at_operating_point(arguments, model, X)
    if tau is not None and len(labels) > 2:
        raise Failed(f"{arguments.model} has {len(labels)} classes: give a --cost-matrix instead")
    if estimator.costs_in_training_ and (arguments.cost_fp, matrix) != (None, None):
        warn_of_costs(arguments.model)
    codes = estimator.predict(X, tau=tau, cost_matrix=matrix)
    return {PREDICTION: np.array(labels)[codes], **_probabilities(arguments, model, X)}


def _probabilities(
    arguments: argparse.Namespace, model: "Model", X: Any
) -> "dict[str, np.ndarray]":
    if not arguments.proba:
        return {}
    proba = model.estimator.predict_proba(X)
    return {f"p({label})": proba[:, k] for k, label in enumerate(model.labels)}


def _at_operating_point(
    arguments: argparse.Namespace, model: "Model", X: Any
) -> "dict[str, np.ndarray]":
    import numpy as np

    if costs_given(arguments):
        raise Failed("give --operating-point or costs, not both")
    point = model.operating_point
    if point is None:
        raise Failed(
            f"{arguments.model} has no operating point: store one, for example with `taupath "
            f"operate {arguments.model} FILE --max-fpr 0.05 --save`"
        )
    low, high = model.estimator.predict(X, taus=[point.tau_low, point.tau]).T
    decided = np.array(model.labels)[high].astype(object)
    decided[low != high] = None
    return {PREDICTION: decided, **_probabilities(arguments, model, X)}


def _quantiles(arguments: argparse.Namespace, model: "Model", X: Any) -> "dict[str, np.ndarray]":
    if arguments.proba or costs_given(arguments):
        raise Failed(f"{arguments.model} is a regression: give --quantiles or --coverage")
    from taupath.tables.cells import show_number

    estimator = model.estimator
    columns: dict[str, np.ndarray] = {}
    if arguments.quantiles is not None or arguments.coverage is None:
        quantiles = arguments.quantiles or [0.5]
        values = estimator.predict(X, quantile=quantiles)
        columns |= {f"q{show_number(q)}": values[:, k] for k, q in enumerate(quantiles)}
    if arguments.coverage is not None:
        interval = estimator.predict_interval(X, arguments.coverage)
        columns |= {"lower": interval[:, 0], "upper": interval[:, 1]}
    return columns
