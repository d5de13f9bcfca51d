"""``taupath evaluate``: how a model does on a file, for every cost."""

import argparse
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from taupath.commands import Failed
from taupath.commands.files import (
    check_output,
    check_table_output,
    load_model,
    read_cost_matrix,
    read_rows,
)
from taupath.commands.options import (
    NewCommand,
    add_cost_options,
    add_data_options,
    add_model,
    add_target_option,
    costs_given,
    costs_or_columns,
    taus_of,
    with_costs,
)
from taupath.commands.printing import bar, print_json, print_lines, warn_of_costs

if TYPE_CHECKING:
    import numpy as np

    from taupath.models.model import Model
    from taupath.outcomes.held_out import Outcomes
    from taupath.tables import Table

EXAMPLES = """examples:
  taupath evaluate model.tau test.csv
  taupath evaluate model.tau test.csv --cost-fp 1 --cost-fn 20 --picture curves.png
  taupath evaluate model.tau test.csv --cost-fp 4 --cost-fn amount
  taupath evaluate model.tau test.csv -o steps.csv
  taupath evaluate model.tau        (trained with --folds or --holdout)
"""


class _Evaluation(NamedTuple):
    """What is found: for JSON, as a table over τ or the quantile, and as lines to print."""

    found: dict[str, Any]
    steps: "dict[str, np.ndarray]"
    lines: list[str]


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="evaluate",
        help="count mistakes and costs on a file, for every price of a miss",
        description=(
            "Compare decisions with the truth in a file: what is found and missed, and what the "
            "mistakes cost, for every price of a miss (for a regression, losses and coverage at "
            "each quantile). Without a file, or with the training file, show the held-out figures "
            "that `taupath fit --folds` or `--holdout` has stored. The table shows some prices; -o "
            "writes every interval of τ on which decisions stay the same. If a cost is a column of "
            "the file, or costs were given in training, the table shows what the decisions for "
            "these costs cost in all."
        ),
        epilog=EXAMPLES,
    )
    add_model(parser)
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="?",
        help="file with the truth in it, or -; without it, the figures stored at training",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write all τ: .csv, .tsv, .json, .jsonl or .parquet"
    )
    parser.add_argument(
        "--picture", metavar="FILE", help="draw the curves: .png, .svg or .pdf (needs matplotlib)"
    )
    add_data_options(parser)
    add_target_option(parser)
    add_cost_options(parser, tau_per_row=False)
    parser.add_argument(
        "--cost-matrix", metavar="FILE", help="CSV file with the costs, for three classes or more"
    )


def run(arguments: argparse.Namespace) -> None:
    """Evaluate, print, write."""
    check_output(
        arguments.output,
        arguments.picture,
        inputs=(arguments.model, arguments.data, arguments.cost_matrix),
    )
    check_table_output(arguments.output)
    from taupath.tables import write_table

    model = load_model(arguments)
    if model.task == "classify" and len(model.labels) > 2:
        for option, file in (("-o", arguments.output), ("--picture", arguments.picture)):
            if file is not None:
                raise Failed(f"{option} is for two classes and for regressions")
    outcomes, about, amounts = _outcomes(arguments, model)
    if model.task == "classify" and model.estimator.costs_in_training_ and amounts is None:
        warn_of_costs(arguments.model)
    with bar("evaluating", arguments):
        if model.task == "regress":
            evaluation = _regression(arguments, outcomes)
        elif len(model.labels) > 2:
            evaluation = _several_classes(arguments, model, outcomes)
        elif amounts is not None:
            evaluation = _in_amounts(model, outcomes, amounts)
        else:
            evaluation = _two_classes(arguments, model, outcomes, about["source"])
        if arguments.picture is not None:
            _draw(arguments, outcomes)
    if arguments.output is not None:
        write_table(arguments.output, evaluation.steps)
    if arguments.output == "-":
        return  # only the table, for the next program in a pipe
    if arguments.json:
        print_json(about | evaluation.found)
        return
    print_lines(*filter(None, (about["note"], f"{about['source']}: {outcomes.n_rows} rows")))
    print_lines(*evaluation.lines)
    for file in (arguments.output, arguments.picture):
        if file is not None:
            print_lines(f"written: {file}")


def _outcomes(
    arguments: argparse.Namespace, model: "Model"
) -> "tuple[Outcomes, dict[str, Any], dict[str, Any] | None]":
    """Return the outcomes to judge, where they come from, and their amounts where costs differ."""
    from taupath.estimators.fingerprints import IN_SAMPLE, in_words, share_seen
    from taupath.models.evaluation import amounts_of, truth_of
    from taupath.models.model import with_columns
    from taupath.outcomes.held_out import outcomes_of

    held_out, share, amounts = model.held_out, None, None
    note: str | None
    if arguments.data is None:
        if held_out is None:
            raise Failed(
                f"{arguments.model} has no held-out figures: give a file with the truth in it, or "
                "train with --folds 5 or --holdout 0.3"
            )
        outcomes, source, note = held_out.outcomes, arguments.model, held_out.in_words()
    else:
        table = read_rows(arguments, model, arguments.data)
        costs = _costs_of_rows(arguments, model, table)
        if costs is not None and model.preparation.missing == "drop":
            table = _without_missing(table, costs)
        X, y = truth_of(model, table)
        with bar("evaluating", arguments):
            share = share_seen(model.estimator, X)
            if held_out is None or share is None or share < IN_SAMPLE:
                held_out, outcomes = None, outcomes_of(model.estimator, X, y)
                source, note = table.source, in_words(share)
                if costs is not None:
                    own = with_columns(costs, table)
                    amounts = {"costs": costs, **amounts_of(model.estimator, X, y, **own)}
            else:
                outcomes, source = held_out.outcomes, arguments.model
                if any(
                    isinstance(cost, str)
                    for cost in (costs_or_columns(arguments, table) or {}).values()
                ):
                    raise Failed(
                        f"held-out figures, which are shown for {table.source}, have no costs of "
                        "each row: give a file that the model was not trained on, or numbers"
                    )
                note = (
                    f"{100.0 * share:.0f} % of the rows of {table.source} were used to train the "
                    f"model; shown are the {held_out.in_words()}"
                )
    return (
        outcomes,
        {
            "source": source,
            "rows": outcomes.n_rows,
            "held_out": held_out is not None,
            "share_trained_on": share,
            "note": note,
        },
        amounts,
    )


def _costs_of_rows(
    arguments: argparse.Namespace, model: "Model", table: "Table"
) -> dict[str, Any] | None:
    """Return costs, or names of their columns, that decisions about each row are judged by.

    None if rows do not differ, so that decisions are judged at every τ. For a model that was
    trained with costs, these are the costs unless others are given.
    """
    if model.task != "classify" or len(model.labels) > 2 or arguments.tau is not None:
        return None
    given = costs_or_columns(arguments, table)
    if model.estimator.costs_in_training_:
        if given is not None or "costs" not in model.trained:
            return given
        trained = {name: str(cost) for name, cost in model.trained["costs"].items()}
        return costs_or_columns(argparse.Namespace(**trained), table)
    by_row = given is not None and any(isinstance(cost, str) for cost in given.values())
    return given if by_row else None


def _without_missing(table: "Table", costs: dict[str, Any]) -> "Table":
    """Return the rows whose costs are known; a warning says how many others there are."""
    from taupath.tables.messages import counted

    rows = with_costs(table, costs)
    if rows.n_rows < table.n_rows:
        left_out = counted(table.n_rows - rows.n_rows, "row")
        warnings.warn(f"{table.source}: {left_out} with missing costs left out", stacklevel=2)
    return rows


def _in_amounts(model: "Model", outcomes: "Outcomes", amounts: dict[str, Any]) -> _Evaluation:
    from taupath.models.evaluation import pieces_of
    from taupath.models.training_record import costs_in_words
    from taupath.outcomes.cost_table import amount, table_lines
    from taupath.tables.messages import shown

    negative, positive = map(shown, model.labels)
    columns = {
        "decisions": (["the model's", f"{positive} for all", f"{negative} for all"], "{}"),
        "found": (amounts["tp"], "{:.0f}"),
        "missed": (amounts["fn"], "{:.0f}"),
        "false alarms": (amounts["fp"], "{:.0f}"),
        "cost": (map(amount, amounts["cost"]), "{}"),
        "per row": (amounts["cost_per_case"], "{:.4g}"),
        "saved": (amounts["saved"], "{:.1%}"),
    }
    how = "for the costs of each row"
    if model.estimator.costs_in_training_:
        how = f"at τ = {model.estimator.tau:g}, with the costs that the model was trained with"
    lines = [
        f"{positive} is positive: {int(outcomes.truth.sum())} rows; "
        f"{negative}: {int((outcomes.truth == 0).sum())}",
        "",
        *table_lines(columns),
        "",
        f"the model's decisions are made {how}",
        f"cost: of all misses and false alarms, with {costs_in_words(amounts)}",
        "saved: compared with the cheaper of the last two",
    ]
    at = dict(
        zip(("model", "positive for all", "negative for all"), _rows_of(amounts), strict=True)
    )
    found = {"positive": model.labels[1], "costs": amounts["costs"], "amounts": at}
    return _Evaluation(found, pieces_of(outcomes.rates(), outcomes.walked), lines)


def _rows_of(amounts: dict[str, Any]) -> list[dict[str, float]]:
    """Return the rows of a table of amounts."""
    columns = {name: column for name, column in amounts.items() if name != "costs"}
    return [{name: float(column[k]) for name, column in columns.items()} for k in range(3)]


def _two_classes(
    arguments: argparse.Namespace, model: "Model", outcomes: "Outcomes", source: str
) -> _Evaluation:
    from taupath.models.evaluation import at_taus, pieces_of, scores_of, usual_taus
    from taupath.outcomes.cost_table import amount, cost_table
    from taupath.tables.messages import shown

    if not 0 < outcomes.truth.sum() < outcomes.n_rows:
        raise Failed(f"{source} has rows of one class only; some of each are needed")
    if arguments.cost_matrix is not None:
        raise Failed("--cost-matrix is for three classes or more: give --cost-fp and --cost-fn")
    asked = taus_of(arguments)
    begin, end = outcomes.walked
    taus = usual_taus(outcomes.walked)
    if asked is not None:
        if not begin <= asked <= end:
            raise Failed(f"τ = {asked:g} lies outside [{begin:g}, {end:g}]")
        taus = sorted({*taus, asked})
    costs = None
    if arguments.cost_fp is not None:
        costs = float(arguments.cost_fp), float(arguments.cost_fn)
    rates, scores = outcomes.rates(), scores_of(outcomes)
    columns = at_taus(rates, taus, costs)
    constant = _constant_at(model, columns)
    found: dict[str, Any] = {
        "positive": model.labels[1],
        "at": columns,
        "constant": constant,
        **scores,
    }
    lines = [
        f"{shown(model.labels[1])} is positive: {rates.n_positive:.0f} rows; "
        f"{shown(model.labels[0])}: {rates.n_negative:.0f}",
        "",
        *cost_table(columns, costs is None, None if asked is None else columns["tau"] == asked),
        "",
    ]
    if costs is None:
        lines += [
            "miss : alarm: what the two mistakes cost; decisions are made for these costs"
            + ("" if asked is None else " (*: what you asked for)"),
            "cost: of all misses and false alarms; without model: of the same decision for all",
        ]
    else:
        k = list(columns["tau"]).index(asked)
        found["cost"] = float(columns["cost_per_case"][k])
        alarms = costs[0] * rates.n_negative <= costs[1] * rates.n_positive
        lines += [
            "miss : alarm: costs that decisions are made for; *: yours",
            "cost: of all misses and false alarms, at your costs in every line",
            f"at {costs[0]:g} for a false alarm and {costs[1]:g} for a miss: {found['cost']:.5g} "
            f"per row, {amount(columns['cost'][k])} for all; without the model "
            f"{amount(columns['cost_without_model'][k])} "
            f"({shown(model.labels[int(alarms)])} for all)",
        ]
    if (columns["fn"][1:] < columns["fn"][:-1]).any():
        lines.append(
            "at some costs, more is missed although a miss costs more: boundaries of different "
            "costs cross (`taupath fit --monotone` rules that out)"
        )
    lines += _constant_lines(constant, columns["tau"], model.estimator._why_constant[1])
    lines.append(_scores_line(scores))
    return _Evaluation(_without_nan(found), pieces_of(rates, outcomes.walked, costs), lines)


def _constant_at(model: "Model", columns: dict[str, Any]) -> list[Any]:
    """Return for each τ the label that all rows get, including those of training, or None."""
    found: list[Any] = []
    alarms, silent = columns["tp"] + columns["fp"], columns["fn"] + columns["tn"]
    for k, tau in enumerate(columns["tau"]):
        label = None
        if alarms[k] == 0 or silent[k] == 0:
            label = model.estimator._constant_at(float(tau))
        found.append(None if label is None else model.labels[int(label)])
    return found


def _constant_lines(constant: list[Any], taus: Any, why: str) -> list[str]:
    """Return lines about the costs at which the model decides the same for all rows, and why."""
    from taupath.outcomes.cost_table import ratio_of
    from taupath.tables.messages import shown

    lines = []
    for label in dict.fromkeys(label for label in constant if label is not None):
        own = [float(tau) for tau, each in zip(taus, constant, strict=True) if each == label]
        ratios = ratio_of(own[0]) if len(own) == 1 else f"{ratio_of(own[0])} to {ratio_of(own[-1])}"
        lines.append(f"at {ratios} the model decides {shown(label)} for every case{why}")
    return lines


def _several_classes(
    arguments: argparse.Namespace, model: "Model", outcomes: "Outcomes"
) -> _Evaluation:
    from taupath.models.evaluation import of_classes, scores_of
    from taupath.outcomes.cost_table import table_lines
    from taupath.tables.messages import shown

    if taus_of(arguments) is not None:
        raise Failed(f"{arguments.model} has {len(model.labels)} classes: give a --cost-matrix")
    costs = None
    if arguments.cost_matrix is not None:
        costs = read_cost_matrix(arguments.cost_matrix, model.labels)
    found = of_classes(outcomes, costs) | scores_of(outcomes)
    labels = [shown(label) for label in model.labels]
    columns = {
        "true \\ predicted": (labels, "{}"),
        **{name: (found["confusion"][:, k], "{}") for k, name in enumerate(labels)},
    }
    lines = ["", *table_lines(columns), "", f"right: {found['accuracy']:.2%} of the rows"]
    if costs is not None:
        lines.append(f"mean cost {found['cost']:.5g} per row")
    decided = found["confusion"].any(axis=0)
    if decided.sum() == 1:
        lines.append(f"every row is predicted to be {labels[int(decided.argmax())]}")
    lines.append(_scores_line(found))
    return _Evaluation(found | {"labels": model.labels}, {}, lines)


def _scores_line(scores: dict[str, Any]) -> str:
    return f"probabilities: Brier score {scores['brier']:.4f}, log-loss {scores['log_loss']:.4f}"


def _regression(arguments: argparse.Namespace, outcomes: "Outcomes") -> _Evaluation:
    import numpy as np

    from taupath.models.evaluation import SHOWN_QUANTILES
    from taupath.outcomes.cost_table import table_lines

    if costs_given(arguments):
        raise Failed(f"{arguments.model} is a regression: costs are for classifiers")
    steps = outcomes.quantiles
    assert steps is not None
    shown = np.isin(steps["quantile"], SHOWN_QUANTILES)
    columns = {name: column[shown] for name, column in steps.items()}
    lines = [
        "",
        *table_lines(
            {
                "quantile": (columns["quantile"], "{:.3g}"),
                "pinball loss": (columns["pinball"], "{:.5g}"),
                "saved over a constant": (columns["d2"], "{:.1%}"),
                "truth below": (columns["below"], "{:.1%}"),
            }
        ),
        "",
    ]
    found: dict[str, Any] = {"at": columns}
    if outcomes.coverage is not None:
        found["coverage"] = {str(wanted): share for wanted, share in outcomes.coverage.items()}
        shares = (f"{share:.1%} (of {wanted:.0%})" for wanted, share in outcomes.coverage.items())
        lines.append("central intervals cover " + ", ".join(shares))
    return _Evaluation(_without_nan(found), steps, lines)


def _draw(arguments: argparse.Namespace, outcomes: "Outcomes") -> None:
    from pathlib import Path

    from taupath.atomic_files import replacing
    from taupath.display.drawing import check_matplotlib

    kind = Path(arguments.picture).suffix.lstrip(".").lower()
    if kind not in ("png", "svg", "pdf"):
        raise Failed(f"--picture must end in .png, .svg or .pdf, got {arguments.picture!r}")
    check_matplotlib("taupath evaluate --picture")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    if outcomes.quantiles is None:
        from taupath.display import PerformanceDisplay

        PerformanceDisplay._of(outcomes.rates(), None).plot(ax=axes)
    else:
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axes.plot(outcomes.quantiles["quantile"], outcomes.quantiles["below"])
        axes.set(xlabel="quantile", ylabel="share of the truth below", aspect="equal")
    with replacing(arguments.picture) as stream:
        figure.savefig(stream, format=kind, dpi=150)


def _without_nan(found: dict[str, Any]) -> dict[str, Any]:
    """Return the same with None where a measure is not defined: JSON has no NaN."""
    at = {
        name: [None if value != value else float(value) for value in column]
        for name, column in found["at"].items()
    }
    return {**found, "at": at}
