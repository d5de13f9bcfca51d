"""What several commands share: options, messages, models and numbers to read."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from taupath.progress import duration

if TYPE_CHECKING:
    from taupath.models.model import Model
    from taupath.paths.certificate import Certificate
    from taupath.tables import Table

__all__ = [
    "Failed",
    "add_cost_options",
    "add_data_options",
    "add_target_option",
    "certificate_lines",
    "check_output",
    "check_table_output",
    "duration",
    "in_words",
    "load_model",
    "positive_of",
    "print_json",
    "print_lines",
    "read_data",
    "read_rows",
    "taus_of",
    "text_of",
]


class Failed(Exception):
    """A command cannot do what it was asked for; the message says why."""


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add what reading a data file takes."""
    parser.add_argument(
        "--format",
        choices=("libsvm", "csv", "tsv", "parquet", "npz"),
        help="format of the data file; recognised by its name or content if not given",
    )
    parser.add_argument(
        "--delimiter",
        metavar="CHAR",
        help="what separates the cells of a text file: a character, or tab, comma, semicolon, "
        "pipe or space; recognised if not given",
    )


def add_cost_options(parser: argparse.ArgumentParser, per_row: bool) -> None:
    """Add τ or costs; `per_row` where a column of the data can hold them."""
    note = "; or the name of a column with one for each row" if per_row else ""
    group = parser.add_argument_group("costs (two classes)")
    group.add_argument("--tau", metavar="T", help=f"cost_fp / (cost_fp + cost_fn){note}")
    group.add_argument("--cost-fp", metavar="A", help=f"what a false alarm costs{note}")
    group.add_argument("--cost-fn", metavar="B", help=f"what a miss costs{note}")


def read_data(arguments: argparse.Namespace, file: str, as_text: Sequence[str] = ()) -> "Table":
    """Return the table in a file; columns of `as_text` are read as they are written."""
    from taupath.commands.progress import Bar
    from taupath.tables import read_table

    with Bar(f"reading {file}", arguments, unit="rows") as bar:
        return read_table(
            file,
            format=arguments.format,
            delimiter=arguments.delimiter,
            as_text=as_text,
            progress=bar,
        )


def read_rows(arguments: argparse.Namespace, model: "Model", file: str) -> "Table":
    """Return the rows of a file that a model can be compared with."""
    import warnings

    from taupath.tables.messages import counted

    table = read_data(arguments, file)
    rows = model.preparation.usable(table)
    left_out = table.n_rows - rows.n_rows
    if left_out:
        what = counted(left_out, "row")
        warnings.warn(
            f"{table.source}: {what} without truth or with missing cells left out", stacklevel=2
        )
    return rows


def add_target_option(parser: argparse.ArgumentParser) -> None:
    """Add which column holds the truth."""
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="column with the truth; needed for models saved in Python, which do not know it",
    )


def load_model(file: str, target: str | None = None) -> "Model":
    """Return the model in a file; `target` is where its data have the truth.

    It was written by ``taupath fit``, or in Python: a pipeline or an estimator. A path alone is
    no model of raw files.
    """
    from dataclasses import replace

    from taupath.estimators.classifier import QuantileSVC
    from taupath.estimators.regressor import QuantileSVR
    from taupath.models.model import Model
    from taupath.storage import load

    model = load(file)
    if not isinstance(model, Model | QuantileSVC | QuantileSVR):
        raise Failed(
            f"{file} holds a {type(model).__name__} without the preparation of raw files; use "
            "taupath.load in Python, or train with `taupath fit`"
        )
    if not isinstance(model, Model):
        from taupath.models.from_sklearn import model_of  # takes a while, and is rarely needed

        try:
            model = model_of(model)
        except ValueError as error:
            raise Failed(f"{file}: {error}") from None
    if target is None:
        return model
    return replace(model, preparation=model.preparation.with_target(target))


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


def _number_or_column(text: str, option: str, table: "Table | None") -> Any:
    try:
        return float(text)
    except ValueError:
        pass
    if table is None:
        raise Failed(f"{option} must be a number, got {text!r}")
    if text not in (table.names or ()):
        raise Failed(f"{option} must be a number or a column of {table.source}, got {text!r}")
    return table.numbers(text)


def check_output(*files: str | None, inputs: Sequence[str | None] = ()) -> None:
    """Refuse a file that cannot be written, before anything long is done for it.

    Nor may it be one of the files that are read, whose content would be lost.
    """
    import os
    from pathlib import Path

    for file in files:
        if file is None or file == "-":
            continue
        folder = Path(file).resolve().parent
        if Path(file).is_dir():
            raise Failed(f"{file} is a folder; give the name of a file in it")
        if not folder.is_dir():
            raise Failed(f"cannot write {file}: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise Failed(f"cannot write {file}: the folder {folder} may not be written to")
        for other in inputs:
            there = other is not None and Path(file).exists() and Path(other).exists()
            if there and Path(file).samefile(str(other)):
                raise Failed(f"{file} would replace what this command reads; give another name")


def check_table_output(file: str | None) -> None:
    """Refuse a table whose name tells no format, before anything long is done for it."""
    from taupath.tables.formats import format_to_write

    if file is not None:
        format_to_write(file)


def print_json(found: dict[str, Any]) -> None:
    """Print for machines."""
    json.dump(found, sys.stdout, ensure_ascii=False, indent=1, default=_plain)
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    return value.tolist()  # arrays and numbers of numpy


def print_lines(*lines: str) -> None:
    """Print for people; control characters, of names in a file perhaps, as escapes."""
    from taupath.tables.messages import printable

    for line in lines:
        print(printable(line))


def certificate_lines(certificate: "Certificate") -> list[str]:
    """Return what a certificate says."""
    if certificate.continuum:
        verdict = "holds" if certificate.holds() else "DOES NOT HOLD"
        return [
            f"certificate {verdict}: for every value, from {certificate.n_checked} nodes,",
            f"  duality gap ≤ {certificate.worst_gap:.1e} of the objective at w = 0 "
            f"(near {certificate.tau_gap:.4f}), asked for was {certificate.tol:g}",
        ]
    extent = "every kink and every midpoint" if certificate.complete else "evenly along the path"
    verdict = "holds" if certificate.holds() else "DOES NOT HOLD"
    return [
        f"certificate {verdict}: at {certificate.n_checked} values ({extent}),",
        f"  relative duality gap ≤ {certificate.worst_gap:.1e} (at {certificate.tau_gap:.4f}), "
        f"optimality conditions within {certificate.worst_kkt:.1e} "
        f"(at {certificate.tau_kkt:.4f})",
    ]


def text_of(n_bytes: float) -> str:
    """Return a size for people."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"


def in_words(labels: Sequence[Any]) -> str:
    """Return labels in a row."""
    shown = [str(label) for label in labels]
    return ", ".join(shown[:-1]) + " and " + shown[-1]


def positive_of(model: "Model") -> Any:
    """Return the positive class of a model, None if it has not just two."""
    return model.labels[1] if len(model.labels) == 2 else None
