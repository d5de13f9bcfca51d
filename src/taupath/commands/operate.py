"""``taupath operate``: the τ at which a promise about new rows holds."""

import argparse
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from taupath.commands import Failed
from taupath.commands.files import load_model, read_rows
from taupath.commands.options import NewCommand, add_data_options, add_model, add_target_option
from taupath.commands.printing import bar, print_json, print_lines

if TYPE_CHECKING:
    from taupath.outcomes.operating import OperatingPoint

EXAMPLES = """examples:
  taupath operate model.tau held_out.csv --max-fpr 0.05
  taupath operate model.tau held_out.csv --min-recall 0.95 --delta 0.1
  taupath operate model.tau held_out.csv --max-alarms-per 5/1000
  taupath operate model.tau held_out.csv --abstain 1 --cost-fp 10 --cost-fn 50
  taupath operate model.tau held_out.csv --max-fpr 0.05 --save
  taupath operate model.tau --max-fpr 0.05     (trained with --folds or --holdout)
"""


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="operate",
        help="find the τ at which a promise about new rows holds",
        description=(
            "Find the τ at which a promise about new rows holds, with a confidence of 1 - delta, "
            "from rows that the model was not trained on. Training rows are recognised and "
            "refused. Without a file, use the rows that `taupath fit --folds` or `--holdout` held "
            "out; the promise is then not guaranteed. The exit status is 1 if no τ keeps the "
            "promise."
        ),
        epilog=EXAMPLES,
    )
    add_model(parser)
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="?",
        help="file with the truth in it that the model was not trained on, or -",
    )
    parser.add_argument(
        "--save",
        action="store_true",
        help="store the operating point in MODEL, for `predict --operating-point` and `report`",
    )
    add_data_options(parser)
    add_target_option(parser)
    group = parser.add_argument_group("promises (one or several)")
    group.add_argument(
        "--max-fpr", type=float, metavar="P", help="at most this share of negative rows is flagged"
    )
    group.add_argument(
        "--min-recall",
        type=float,
        metavar="P",
        help="at least this share of positive rows is flagged",
    )
    group.add_argument(
        "--min-precision",
        type=float,
        metavar="P",
        help="at least this share of flagged rows is positive",
    )
    group.add_argument(
        "--max-alarms-per",
        type=_rate,
        metavar="K/N",
        help="at most K in N rows are flagged; or a share, such as 0.005",
    )
    group.add_argument(
        "--abstain",
        type=float,
        metavar="COST",
        help="leave rows undecided where that costs less than deciding",
    )
    group.add_argument(
        "--cost-fp", type=float, metavar="A", help="with --abstain: a false alarm (default 1)"
    )
    group.add_argument(
        "--cost-fn", type=float, metavar="B", help="with --abstain: a miss (default 1)"
    )
    group.add_argument(
        "--delta",
        type=float,
        metavar="D",
        help="probability with which the promise may fail (default 0.05)",
    )


def _rate(text: str) -> Any:
    """Return K/N as a pair of numbers, or a number."""
    parts = text.split("/")
    if len(parts) > 2:
        raise ValueError(text)
    numbers = tuple(map(float, parts))
    return numbers[0] if len(numbers) == 1 else numbers


_rate.__name__ = "rate"  # as the parser calls it in an error

PROMISES = ("max_fpr", "min_recall", "min_precision", "max_alarms_per", "abstain")


def run(arguments: argparse.Namespace) -> None:
    """Find the operating point and print it."""
    asked = (*PROMISES, "cost_fp", "cost_fn", "delta")
    promises = {name: getattr(arguments, name) for name in asked}
    promises = {name: value for name, value in promises.items() if value is not None}
    if not promises.keys() & set(PROMISES):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in PROMISES)
        raise Failed(f"nothing is promised: give one of {options}")
    from taupath.models.operating import operate
    from taupath.tables.messages import shown

    model = load_model(arguments)
    if model.task != "classify" or len(model.labels) != 2:
        raise Failed(f"`operate` needs a classifier of two classes, which {arguments.model} is not")
    if arguments.data is None:
        if model.held_out is None:
            raise Failed(
                f"{arguments.model} has no held-out rows: give a file that it was not trained on, "
                "or train with --folds 5 or --holdout 0.3"
            )
        source, n_rows = arguments.model, model.held_out.outcomes.n_rows
        point = operate(model, **promises)
    else:
        table = read_rows(arguments, model, arguments.data)
        source, n_rows = table.source, table.n_rows
        with bar("finding τ", arguments):
            point = operate(model, table, **promises)
    if arguments.save:
        _store(arguments, point)
    if arguments.json:
        print_json({"source": source, "rows": n_rows, "positive": model.labels[1], **asdict(point)})
        return
    print_lines(
        f"{source}: {n_rows} rows; {shown(model.labels[1])} is positive",
        point.promise,
        point.seen(),
    )
    if arguments.save:
        print_lines(f"to use it: taupath predict {arguments.model} FILE --operating-point")
    elif point.tau_low == point.tau:
        print_lines(f"to use it: taupath predict {arguments.model} FILE --tau {point.tau!r}")


def _store(arguments: argparse.Namespace, point: "OperatingPoint") -> None:
    """Write the model back to its file, with the operating point added."""
    from taupath.models.model import Model
    from taupath.storage import load

    limit = {} if arguments.max_bytes is None else {"max_bytes": arguments.max_bytes}
    stored = load(arguments.model, **limit)
    if not isinstance(stored, Model):
        raise Failed(
            f"{arguments.model} was saved in Python without columns and cannot store an operating "
            f"point: use predict --tau {point.tau!r}"
        )
    replace(stored, operating_point=point).save(arguments.model)
