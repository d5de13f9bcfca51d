"""``taupath evaluate``: how a model does on a file, for every cost."""

import argparse
from typing import TYPE_CHECKING, Any

from taupath.commands.common import (
    Failed,
    add_cost_options,
    add_data_options,
    check_output,
    check_table_output,
    load_model,
    print_json,
    print_lines,
    read_rows,
    taus_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from taupath.model import Model

__all__ = ["add"]

EXAMPLES = """examples:
  taupath evaluate model.tau test.csv
  taupath evaluate model.tau test.csv --cost-fp 1 --cost-fn 20 --picture curves.png
  taupath evaluate model.tau test.csv -o steps.csv
"""


def add(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Add the command to a parser."""
    parser = commands.add_parser(
        "evaluate",
        parents=parents,
        help="rates and costs on a file, exact for every cost",
        description=(
            "Compare predictions with the truth in a file: rates and expected cost along τ (for a "
            "regression, losses and coverage along the quantile). The table shows some τ; -o "
            "writes every piece of [0, 1] on which decisions stay the same."
        ),
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="written by `taupath fit`")
    parser.add_argument("data", metavar="DATA", help="file with the truth in it; or -")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=".csv, .tsv, .json, .jsonl or .parquet with all τ"
    )
    parser.add_argument("--picture", metavar="FILE", help=".png, .svg or .pdf (needs matplotlib)")
    add_data_options(parser)
    add_cost_options(parser, per_row=False)
    parser.add_argument("--cost-matrix", metavar="FILE", help="of three classes or more, as CSV")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Evaluate, print, write."""
    check_output(arguments.output, arguments.picture)
    check_table_output(arguments.output)
    from taupath.commands.progress import Bar
    from taupath.evaluation import truth_of
    from taupath.tables import write_table

    model = load_model(arguments.model)
    table = read_rows(arguments, model, arguments.data)
    X, y = truth_of(model, table)
    if model.task == "classify" and len(model.labels) > 2:
        for option, file in (("-o", arguments.output), ("--picture", arguments.picture)):
            if file is not None:
                raise Failed(f"{option} is for two classes and for regressions")
    with Bar("evaluating", arguments):
        if model.task == "regress":
            found, steps, lines = _regression(arguments, model, X, y)
        elif len(model.labels) > 2:
            found, steps, lines = _several_classes(arguments, model, X, y)
        else:
            found, steps, lines = _two_classes(arguments, model, X, y, table.source)
        if arguments.picture is not None:
            _draw(arguments, model, X, y)
    if arguments.output is not None:
        write_table(arguments.output, steps)
    if arguments.output == "-":
        return  # a table alone, for the next program
    if arguments.json:
        print_json({"rows": table.n_rows, **found})
        return
    print_lines(f"{table.source}: {table.n_rows} rows", *lines)
    for file in (arguments.output, arguments.picture):
        if file is not None:
            print_lines(f"written: {file}")


def _two_classes(
    arguments: argparse.Namespace, model: "Model", X: Any, y: "np.ndarray", source: str
) -> tuple[dict[str, Any], Any, list[str]]:
    import numpy as np

    from taupath.evaluation import TAUS, at_taus, mean_cost, pieces_of, rates_of, scores_of

    if len(np.unique(y)) < 2:
        raise Failed(f"{source} has rows of one class only; rates need some of each")
    if arguments.cost_matrix is not None:
        raise Failed("--cost-matrix is for three classes or more: give --cost-fp and --cost-fn")
    asked = taus_of(arguments)
    begin, end = model.estimator.path_.tau_range
    taus = [tau for tau in TAUS if begin <= tau <= end]
    if asked is not None:
        if not begin <= asked <= end:
            raise Failed(f"τ = {asked:g} lies outside of [{begin:g}, {end:g}]")
        taus = sorted({*taus, asked})
    rates = rates_of(model, X, y)
    columns, scores = at_taus(rates, taus), scores_of(model, X, y)
    lines = [
        f"positive is {model.labels[1]}: {rates.n_positive:.0f} of "
        f"{rates.n_positive + rates.n_negative:.0f}",
        "",
        *_table_lines(
            {
                "τ": (columns["tau"], "{:.3g}"),
                "TPR": (columns["tpr"], "{:.4f}"),
                "TNR": (columns["tnr"], "{:.4f}"),
                "precision": (columns["precision"], "{:.4f}"),
                "accuracy": (columns["accuracy"], "{:.4f}"),
                "false alarms": (columns["fp"], "{:.0f}"),
                "misses": (columns["fn"], "{:.0f}"),
                "cost per row": (columns["cost"], "{:.5f}"),
            },
            None if asked is None else columns["tau"] == asked,
        ),
        "",
        "cost: a false alarm costs τ, a miss 1 - τ"
        + ("" if asked is None else "; * are the costs you asked for"),
        f"probabilities: Brier score {scores['brier']:.4f}, log-loss {scores['log_loss']:.4f}",
    ]
    found = {"positive": model.labels[1], "at": columns, **scores}
    if arguments.cost_fp is not None:
        costs = float(arguments.cost_fp), float(arguments.cost_fn)
        found["cost"] = mean_cost(rates, float(asked), *costs)
        lines.append(
            f"at {costs[0]:g} for a false alarm and {costs[1]:g} for a miss: "
            f"{found['cost']:.5g} per row"
        )
    return _without_nan(found), pieces_of(rates, (begin, end)), lines


def _several_classes(
    arguments: argparse.Namespace, model: "Model", X: Any, y: "np.ndarray"
) -> tuple[dict[str, Any], Any, list[str]]:
    from taupath.commands.predict import read_matrix
    from taupath.evaluation import of_classes, scores_of

    if taus_of(arguments) is not None:
        raise Failed(f"{arguments.model} has {len(model.labels)} classes: give a --cost-matrix")
    costs = None
    if arguments.cost_matrix is not None:
        costs = read_matrix(arguments.cost_matrix, model.labels)
    found = of_classes(model, X, y, costs) | scores_of(model, X, y)
    labels = [str(label) for label in model.labels]
    columns = {
        "true \\ predicted": (labels, "{}"),
        **{name: (found["confusion"][:, k], "{}") for k, name in enumerate(labels)},
    }
    lines = ["", *_table_lines(columns), "", f"accuracy {found['accuracy']:.4f}"]
    if costs is not None:
        lines.append(f"mean cost {found['cost']:.5g}")
    lines.append(
        f"probabilities: Brier score {found['brier']:.4f}, log-loss {found['log_loss']:.4f}"
    )
    return found | {"labels": model.labels}, None, lines


def _regression(
    arguments: argparse.Namespace, model: "Model", X: Any, y: "np.ndarray"
) -> tuple[dict[str, Any], Any, list[str]]:
    import numpy as np

    from taupath.evaluation import TAUS, at_quantiles, coverages

    unfit = (arguments.tau, arguments.cost_fp, arguments.cost_fn, arguments.cost_matrix)
    if any(option is not None for option in unfit):
        raise Failed(f"{arguments.model} is a regression: costs are for classifiers")
    begin, end = model.estimator.path_.tau_range
    inside = [tau for tau in TAUS if begin <= tau <= end]
    columns = at_quantiles(model, X, y, inside)
    lines = [
        "",
        *_table_lines(
            {
                "quantile": (columns["quantile"], "{:.3g}"),
                "pinball loss": (columns["pinball"], "{:.5g}"),
                "D²": (columns["d2"], "{:.4f}"),
                "share below": (columns["below"], "{:.4f}"),
            }
        ),
        "",
    ]
    found: dict[str, Any] = {"at": columns}
    if (begin, end) == (0.0, 1.0):
        covered = coverages(model, X, y)
        found["coverage"] = {str(wanted): share for wanted, share in covered.items()}
        shares = (f"{share:.1%} (of {wanted:.0%})" for wanted, share in covered.items())
        lines.append("central intervals cover " + ", ".join(shares))
    grid = np.round(np.linspace(0.01, 0.99, 99), 2)
    grid = grid[(grid >= begin) & (grid <= end)]
    return found, at_quantiles(model, X, y, grid), lines


def _draw(arguments: argparse.Namespace, model: "Model", X: Any, y: "np.ndarray") -> None:
    from pathlib import Path

    from taupath.atomic import replacing
    from taupath.display.drawing import check_matplotlib

    kind = Path(arguments.picture).suffix.lstrip(".").lower()
    if kind not in ("png", "svg", "pdf"):
        raise Failed(f"--picture must end in .png, .svg or .pdf, got {arguments.picture!r}")
    check_matplotlib("taupath evaluate --picture")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    if model.task == "classify":
        from taupath.display import PerformanceDisplay

        PerformanceDisplay.from_estimator(model.estimator, X, y, ax=axes)
    else:
        from taupath.evaluation import at_quantiles

        columns = at_quantiles(model, X, y, [k / 100 for k in range(1, 100)])
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axes.plot(columns["quantile"], columns["below"])
        axes.set(xlabel="quantile", ylabel="share of the truth below", aspect="equal")
    with replacing(arguments.picture) as stream:
        figure.savefig(stream, format=kind, dpi=150)


def _table_lines(columns: "Mapping[str, tuple[Any, str]]", marked: Any = None) -> list[str]:
    """Return a table, its columns flush right; marked rows begin with a star."""
    cells = [
        [name, *("–" if value != value else form.format(value) for value in values)]
        for name, (values, form) in columns.items()
    ]
    widths = [max(map(len, column)) for column in cells]
    lines = []
    for k, row in enumerate(zip(*cells, strict=True)):
        star = "*" if marked is not None and k > 0 and marked[k - 1] else " "
        lines.append(f"{star} " + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)))
    return lines


def _without_nan(found: dict[str, Any]) -> dict[str, Any]:
    """Return the same with None where a measure is not defined: JSON knows no other way."""
    at = {
        name: [None if value != value else float(value) for value in column]
        for name, column in found["at"].items()
    }
    return {**found, "at": at}
