"""``taupath report``: an interactive page about a model."""

import argparse
import os
import warnings
from typing import TYPE_CHECKING, Any

from taupath.commands import Failed
from taupath.commands.files import check_output, load_model, read_rows
from taupath.commands.options import NewCommand, add_data_options, add_model, add_target_option
from taupath.commands.printing import bar, certificate_lines, print_json, print_lines

if TYPE_CHECKING:
    from taupath.paths.certificate import Certificate
    from taupath.tables import Table

# Values of τ at which the certificate is computed again, as many as `fit` checks by default.
POINTS = 100


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="report",
        help="write a web page on which anybody can try costs",
        description=(
            "Write one HTML file that shows how the model does on a file. It opens in any browser "
            "and needs no network: set the two costs or move the slider, and see what happens."
        ),
        epilog="examples:\n"
        "  taupath report model.tau test.csv -o report.html\n"
        "  taupath report model.tau test.csv --compare logistic --no-cases -o report.html",
    )
    add_model(parser)
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="?",
        help="file with the truth in it, or -; not needed for a model of two classes that was "
        "trained with --folds or --holdout: its held-out results are shown",
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="page to write")
    parser.add_argument("--title", help="title of the page")
    parser.add_argument(
        "--no-cases",
        action="store_true",
        help="totals only: the page holds no row, value or name of any single case",
    )
    parser.add_argument(
        "--compare",
        choices=("logistic",),
        help="also show logistic regression, trained on the data that the model file holds and "
        "cut at τ (two classes)",
    )
    add_data_options(parser)
    add_target_option(parser)


def run(arguments: argparse.Namespace) -> None:
    """Evaluate and write the page."""
    check_output(arguments.output, inputs=(arguments.model, arguments.data))

    model = load_model(arguments)
    if model.task == "classify" and model.estimator.paths_[0].tau_range != (0.0, 1.0):
        raise Failed(f"{arguments.model} covers only a part of [0, 1]; a report needs all costs")
    if arguments.data is None:
        rows = _write_held_out(arguments, model)
    else:
        table = read_rows(arguments, model, arguments.data)
        rows = table.n_rows
        with bar("computing", arguments):
            _write(arguments, model, table)
    from taupath.tables.messages import readable_size, shown

    size, positive = os.path.getsize(arguments.output), getattr(model, "pos_label_", None)
    if arguments.json:
        print_json({"output": arguments.output, "bytes": size, "rows": rows, "positive": positive})
        return
    if positive is not None:
        print_lines(f"positive class: {shown(positive)}")
    print_lines(f"{arguments.output} ({readable_size(size)}): open it in a browser")


def _write(arguments: argparse.Namespace, model: Any, table: "Table") -> None:
    """Write the page of the rows of a table."""
    from taupath.models.evaluation import truth_of
    from taupath.models.training import name_of
    from taupath.report import write_report

    X, y = truth_of(model, table)
    preparation = model.preparation
    if model.task == "classify" and len(set(y.tolist())) < 2:
        raise Failed(f"{table.source} has rows of one class only; a report needs some of each")
    hidden = {preparation.target, *preparation.drop}
    columns = {name: cells for name, cells in table.to_show().items() if name not in hidden}
    write_report(
        arguments.output,
        model.estimator,
        X,
        y,
        class_names=[str(label) for label in model.labels] or None,
        feature_names=preparation.feature_names,
        columns=columns or None,
        title=arguments.title or f"{os.path.basename(arguments.model)} on {name_of(table)}",
        target_name=preparation.target,
        cases=not arguments.no_cases,
        compare=_others(arguments, model),
        **_origin(arguments, model),
    )


def _write_held_out(arguments: argparse.Namespace, model: Any) -> int:
    """Write the page of the rows that were held out in training, and return how many."""
    from taupath.report.writing import write_outcomes

    held_out = model.held_out
    if held_out is None:
        raise Failed(
            f"{arguments.model} holds no held-out results: give DATA, or train with --folds 5 or "
            "--holdout 0.3"
        )
    if arguments.compare is not None:
        raise Failed("--compare needs DATA: held-out results are of this model only")
    outcomes = held_out.outcomes
    if outcomes.changes is None:
        raise Failed("a report of held-out results is for two classes: give DATA")
    write_outcomes(
        arguments.output,
        outcomes.truth,
        outcomes.changes,
        class_names=[str(label) for label in model.labels],
        title=arguments.title or f"{os.path.basename(arguments.model)}: held-out results",
        about=held_out.in_words().capitalize() + ".",
        target_name=model.preparation.target,
        with_costs=model.estimator.costs_in_training_,
        least=outcomes.least,
        **_origin(arguments, model),
    )
    return int(outcomes.n_rows)


def _origin(arguments: argparse.Namespace, model: Any) -> dict[str, Any]:
    """Return where the model comes from: what the page can know of it, and what its file says.

    The certificate is computed again if the file holds the training data.
    """
    from taupath.models.certifying import certificate_of, has_data
    from taupath.models.training_record import (
        about_estimator,
        about_paths,
        certificate_in,
        provenance,
    )

    with_data = has_data(model)
    if with_data:
        certificate: Certificate | None = certificate_of(model.estimator, POINTS)
    else:
        certificate = certificate_in(model.trained)
    if certificate is not None and not certificate.holds():
        found = " ".join(line.strip() for line in certificate_lines(certificate))
        warnings.warn(f"{arguments.model}: {found}", stacklevel=2)
    known = {**about_estimator(model.estimator), **about_paths(model.estimator)}
    return {
        "files": _files(arguments),
        "provenance": provenance({**model.trained, **known}) | _promise(model),
        "certificate": certificate,
        "stored_certificate": not with_data,
    }


def _promise(model: Any) -> dict[str, str]:
    """Return the operating point of a model, as a line of its provenance."""
    point = model.operating_point
    return {} if point is None else {"operating point": f"{point.promise} {point.seen()}"}


def _files(arguments: argparse.Namespace) -> tuple[str, str]:
    """Return the file names that commands on the page show."""
    named = arguments.data is not None and arguments.data != "-"
    data = os.path.basename(arguments.data) if named else "data.csv"
    return os.path.basename(arguments.model), data


def _others(arguments: argparse.Namespace, model: Any) -> dict[str, Any] | None:
    """Return the classifiers to compare with: logistic regression on the training data."""
    if arguments.compare is None:
        return None
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline

    from taupath.models.certifying import has_data

    if model.task != "classify" or len(model.labels) != 2:
        raise Failed("--compare is for models of two classes")
    if not has_data(model):
        raise Failed(
            f"{arguments.model} holds no training data to fit logistic regression to (approximate "
            "and simplified models are stored without); fit it in Python and give it to "
            "write_report(compare=...)"
        )
    positive, path = model.estimator.pos_label_, model.estimator.paths_[0]
    (negative,) = (label for label in model.estimator.classes_ if label != positive)
    data, weight = path.data, path.data.weight
    weighted = len(weight) > 0 and bool(np.ptp(weight) > 0.0)
    labels = np.where(data.sign > 0.0, positive, negative)
    logistic = LogisticRegression(max_iter=10_000)
    logistic.fit(data.X, labels, sample_weight=weight / weight.mean() if weighted else None)
    scaler = getattr(model.estimator, "scaler_", None)
    if scaler is not None:
        logistic = Pipeline([("scaler", scaler), ("logistic", logistic)])
    return {"logistic regression": logistic}
