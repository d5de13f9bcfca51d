"""``taupath predict``: decisions, probabilities or quantiles for the rows of a file."""

import argparse
from typing import TYPE_CHECKING, Any

from taupath.commands.common import (
    Failed,
    add_cost_options,
    add_data_options,
    check_output,
    load_model,
    print_json,
    print_lines,
    read_data,
    taus_of,
)

if TYPE_CHECKING:
    import numpy as np

    from taupath.model import Model
    from taupath.tables import Table

__all__ = ["add", "read_matrix"]

EXAMPLES = """examples:
  taupath predict model.tau new.csv --cost-fp 1 --cost-fn 20
  taupath predict model.tau new.csv --cost-fn amount --cost-fp 5 -o decisions.csv
  taupath predict model.tau new.csv --proba -o probabilities.parquet
  taupath predict prices.tau new.csv --quantiles 0.1 0.5 0.9
"""


def add(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Add the command to a parser."""
    parser = commands.add_parser(
        "predict",
        parents=parents,
        help="decide on the rows of a file, for costs chosen now",
        description="Predict for the rows of a raw file, one line of CSV (or Parquet) for each.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="written by `taupath fit`")
    parser.add_argument("data", metavar="DATA", help="file with the columns of training; or -")
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="-", help=".csv, .csv.gz or .parquet"
    )
    add_data_options(parser)
    add_cost_options(parser, per_row=True)
    more = parser.add_argument_group("more of a classifier")
    more.add_argument("--proba", action="store_true", help="probability of each class")
    more.add_argument(
        "--cost-matrix",
        metavar="FILE",
        help="CSV, a row for each true class and a column for each predicted one: decide for the "
        "least expected cost",
    )
    regression = parser.add_argument_group("regression")
    regression.add_argument("--quantiles", type=float, nargs="+", metavar="Q")
    regression.add_argument(
        "--coverage", type=float, metavar="P", help="interval that covers with this probability"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Predict and write."""
    check_output(arguments.output)
    from taupath.commands.progress import Bar
    from taupath.tables import write_table

    model = load_model(arguments.model)
    table = read_data(arguments, arguments.data)
    X = model.preparation.features(table)
    with Bar("predicting", arguments):
        if model.task == "classify":
            columns = _decisions(arguments, model, table, X)
        else:
            columns = _quantiles(arguments, model, X)
    if arguments.json and arguments.output == "-":
        print_json({"rows": table.n_rows, "columns": columns})
        return
    write_table(arguments.output, columns)
    if arguments.output != "-":
        if arguments.json:
            print_json({"rows": table.n_rows, "output": arguments.output})
        else:
            print_lines(f"{table.n_rows} rows written to {arguments.output}")


def _decisions(
    arguments: argparse.Namespace, model: "Model", table: "Table", X: Any
) -> "dict[str, np.ndarray]":
    import numpy as np

    if arguments.quantiles is not None or arguments.coverage is not None:
        raise Failed(
            f"{arguments.model} is a classifier: --quantiles and --coverage are for others"
        )
    estimator, labels = model.estimator, model.labels
    tau = taus_of(arguments, table)
    matrix = None
    if arguments.cost_matrix is not None:
        if tau is not None:
            raise Failed("give --cost-matrix or costs, not both")
        matrix = read_matrix(arguments.cost_matrix, labels)
    if tau is not None and len(labels) > 2:
        raise Failed(f"{arguments.model} has {len(labels)} classes: give a --cost-matrix instead")
    codes = estimator.predict(X, tau=tau, cost_matrix=matrix)
    columns = {"prediction": np.array(labels)[codes]}
    if arguments.proba:
        proba = estimator.predict_proba(X)
        columns |= {f"p({label})": proba[:, k] for k, label in enumerate(labels)}
    return columns


def _quantiles(arguments: argparse.Namespace, model: "Model", X: Any) -> "dict[str, np.ndarray]":
    unfit = (arguments.tau, arguments.cost_fp, arguments.cost_fn, arguments.cost_matrix)
    if arguments.proba or any(option is not None for option in unfit):
        raise Failed(f"{arguments.model} is a regression: give --quantiles or --coverage")
    estimator = model.estimator
    columns: dict[str, np.ndarray] = {}
    if arguments.quantiles is not None or arguments.coverage is None:
        quantiles = arguments.quantiles or [0.5]
        values = estimator.predict(X, quantile=quantiles)
        columns |= {f"q{q:g}": values[:, k] for k, q in enumerate(quantiles)}
    if arguments.coverage is not None:
        interval = estimator.predict_interval(X, arguments.coverage)
        columns |= {"lower": interval[:, 0], "upper": interval[:, 1]}
    return columns


def read_matrix(file: str, labels: list[Any]) -> "np.ndarray":
    """Return costs in the order of the labels; columns with their names may be in any order."""
    import numpy as np

    from taupath.tables import read_table

    table = read_table(file, format="csv")
    names = table.names or []
    if table.n_rows != len(labels) or len(names) != len(labels):
        raise Failed(
            f"{file} must have {len(labels)} rows and columns, one for each of "
            f"{', '.join(map(str, labels))}; it has {table.n_rows} and {len(names)}"
        )
    costs = np.column_stack([table.column(name) for name in names])
    if costs.dtype.kind != "f":
        raise Failed(f"{file} must hold numbers only, under the labels as column names")
    if sorted(names) == sorted(map(str, labels)):
        order = [names.index(str(label)) for label in labels]
        costs = costs[np.ix_(order, order)]
    return np.asarray(costs)
