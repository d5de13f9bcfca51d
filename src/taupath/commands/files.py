"""Files that commands read and write: data, models, matrices of costs, and outputs."""

import argparse
import os
import stat
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taupath.choices import names_of_unnamed
from taupath.commands import Failed
from taupath.commands.printing import bar

if TYPE_CHECKING:
    import numpy as np

    from taupath.models.model import Model
    from taupath.paths.certificate import Certificate
    from taupath.tables import Table


def read_data(arguments: argparse.Namespace, file: str, as_text: Sequence[str] = ()) -> "Table":
    """Return the table in a file; the columns in `as_text` stay text, as written."""
    from taupath.tables import read_table

    with bar(f"reading {file}", arguments, unit="rows") as progress:
        return read_table(
            file,
            format=arguments.format,
            delimiter=arguments.delimiter,
            as_text=as_text,
            max_bytes=arguments.max_bytes,
            max_features=arguments.max_features,
            progress=progress,
        )


def read_rows(arguments: argparse.Namespace, model: "Model", file: str) -> "Table":
    """Return the rows of a file that a model can be judged by."""
    from taupath.tables.messages import counted

    table = read_data(arguments, file)
    rows = model.preparation.usable(table)
    left_out = table.n_rows - rows.n_rows
    if left_out:
        warnings.warn(
            f"{table.source}: {counted(left_out, 'row')} without truth or with missing cells left "
            "out",
            stacklevel=2,
        )
    return rows


def load_model(arguments: argparse.Namespace) -> "Model":
    """Return the model in the file that is asked for, with the column of the truth if it is named.

    The file was written by ``taupath fit``, or in Python from a pipeline or an estimator. A path
    alone cannot read raw files.
    """
    file, target = arguments.model, getattr(arguments, "target", None)
    from taupath.estimators.classifier import QuantileSVC
    from taupath.estimators.regressor import QuantileSVR
    from taupath.models.model import Model
    from taupath.storage import load

    limit: dict[str, Any] = (
        {} if arguments.max_bytes is None else {"max_bytes": arguments.max_bytes}
    )
    model = load(file, **limit)
    if not isinstance(model, Model | QuantileSVC | QuantileSVR):
        raise Failed(
            f"{file} holds a {type(model).__name__} without the preparation of raw files; use "
            "taupath.load in Python, or train with `taupath fit`"
        )
    if not isinstance(model, Model):
        from taupath.models.from_sklearn import model_of  # imports much of scikit-learn

        try:
            model = model_of(model)
        except ValueError as error:
            raise Failed(f"{file}: {error}") from None
    if target is None:
        return model
    return replace(model, preparation=model.preparation.with_target(target))


def read_cost_matrix(file: str, labels: list[Any]) -> "np.ndarray":
    """Return costs in the order of the labels; columns with their names may be in any order."""
    import numpy as np

    from taupath.tables import read_table

    table = read_table(file, format="csv")
    names = table.names or []
    wanted = [str(label) for label in labels]
    unnamed = names_of_unnamed(len(labels))
    numeric = not any(isinstance(label, str) for label in labels)
    if numeric and names == unnamed and table.n_rows == len(labels) + 1:
        head = [float(table.numbers(name)[0]) for name in names]  # labels that are numbers
        if sorted(head) == sorted(map(float, labels)):
            names = [wanted[[float(label) for label in labels].index(value)] for value in head]
            costs = np.column_stack([table.numbers(name)[1:] for name in unnamed])
            return _in_order(costs, names, wanted)
    if table.n_rows != len(labels) or len(names) != len(labels):
        raise Failed(
            f"{file} must have {len(labels)} rows and columns, one for each of "
            f"{', '.join(wanted)}; it has {table.n_rows} and {len(names)}"
        )
    costs = np.column_stack([table.column(name) for name in names])
    if costs.dtype.kind != "f":
        raise Failed(f"{file} must hold numbers only, under the labels as column names")
    if names == unnamed:  # without a header
        names = wanted
    elif sorted(names) != sorted(wanted):
        raise Failed(
            f"the columns of {file} are {', '.join(names)}; they must be the classes "
            f"{', '.join(wanted)}"
        )
    return _in_order(costs, names, wanted)


def _in_order(costs: "np.ndarray", names: list[str], wanted: list[str]) -> "np.ndarray":
    """Return costs with their rows and columns in the wanted order of names."""
    import numpy as np

    order = [names.index(name) for name in wanted]
    return np.asarray(costs[np.ix_(order, order)])


def check_output(*files: str | None, inputs: Sequence[str | None] = ()) -> None:
    """Refuse a file that cannot be written, before any long work is done for it.

    It must not be one of the `inputs`, whose content would be lost, nor may two be the same.
    """
    taken = {_identity(other, 0): other for other in filter(None, inputs)}
    taken.pop(None, None)
    for file in filter(None, files):
        identity = _identity(file, 1)
        if identity in taken:
            what = "standard output" if file == "-" else file
            raise Failed(
                f"{what} is the same file as {taken[identity]}, which this command needs: writing "
                "would replace it; give another name"
            )
        if identity is not None:
            taken[identity] = file
        if file == "-":
            if sys.stdout is None:
                raise Failed("standard output is closed; give the name of a file: -o FILE")
            continue
        folder = Path(file).resolve().parent
        if Path(file).is_dir():
            raise Failed(f"{file} is a folder; give the name of a file in it")
        if not folder.is_dir():
            raise Failed(f"cannot write {file}: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise Failed(f"cannot write {file}: the folder {folder} may not be written to")


def _identity(file: str, stream: int) -> tuple[int, int] | str | None:
    """Return what all names of a file have in common, None if it cannot be replaced.

    "-" stands for the standard stream of this number, which may be a file, too. A device or a pipe
    is not replaced by writing to it.
    """
    try:
        found = os.fstat(stream) if file == "-" else os.stat(file)
    except FileNotFoundError:
        return os.path.realpath(file)
    except (OSError, ValueError):  # whoever opens it says what is wrong with it
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def check_certificate(
    certificate: "Certificate", output: str, arguments: argparse.Namespace
) -> None:
    """Refuse to write a model whose certificate does not hold, unless that is asked for."""
    from taupath.commands.printing import certificate_lines

    if certificate.holds():
        return
    found = " ".join(line.strip() for line in certificate_lines(certificate))
    found = found.replace("certificate DOES NOT HOLD", "the certificate does not hold")
    if not arguments.allow_inexact:
        raise Failed(
            f"{found}; {output} was not written: add --allow-inexact if this is exact enough"
        )
    warnings.warn(found, stacklevel=2)


def check_table_output(file: str | None) -> None:
    """Refuse an output whose name does not tell its format, before any long work is done."""
    from taupath.tables.formats import format_to_write

    if file is not None:
        format_to_write(file)
