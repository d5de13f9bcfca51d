"""``taupath report``: a page to play with."""

import argparse
import os
from typing import Any

from taupath.commands.common import (
    Failed,
    add_data_options,
    check_output,
    duration,
    load_model,
    positive_of,
    print_json,
    print_lines,
    read_rows,
    text_of,
)

__all__ = ["add"]


def add(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Add the command to a parser."""
    parser = commands.add_parser(
        "report",
        parents=parents,
        help="write a page to try costs on",
        description=(
            "Write one HTML file, to be opened in any browser without a network, that shows how "
            "the model does on a file: move the slider or set the two costs, and see what follows."
        ),
        epilog="example:\n  taupath report model.tau test.csv -o report.html",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="written by `taupath fit`")
    parser.add_argument("data", metavar="DATA", help="file with the truth in it; or -")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="page to write")
    parser.add_argument("--title", help="of the page")
    add_data_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Evaluate and write the page."""
    check_output(arguments.output)
    from taupath.commands.progress import Bar
    from taupath.evaluation import truth_of
    from taupath.report import write_report
    from taupath.training import name_of

    model = load_model(arguments.model)
    table = read_rows(arguments, model, arguments.data)
    X, y = truth_of(model, table)
    preparation = model.preparation
    if model.task == "classify" and len(set(y.tolist())) < 2:
        raise Failed(f"{table.source} has rows of one class only; a report needs some of each")
    if model.task == "classify" and model.estimator.paths_[0].tau_range != (0.0, 1.0):
        raise Failed(f"{arguments.model} knows a part of [0, 1] only; a report needs all costs")
    with Bar("computing", arguments):
        write_report(
            arguments.output,
            model.estimator,
            X,
            y,
            class_names=[str(label) for label in model.labels] or None,
            feature_names=preparation.feature_names,
            columns=table.to_show() or None,
            title=arguments.title or f"{os.path.basename(arguments.model)} on {name_of(table)}",
            provenance=provenance(model),
            certificate=certificate(model),
        )
    size, positive = os.path.getsize(arguments.output), positive_of(model)
    if arguments.json:
        found = {"output": arguments.output, "bytes": size, "rows": int(X.shape[0])}
        print_json({**found, "positive": positive})
        return
    if positive is not None:
        print_lines(f"positive class: {positive}")
    print_lines(f"{arguments.output} ({text_of(size)}): open it in a browser")


def provenance(model: Any) -> dict[str, str]:
    """Return how a model was trained, line by line."""
    trained = model.trained
    approximate = trained.get("method") == "approximate" and trained.get("tol") is not None
    shown = {
        "trained on": f"{trained.get('file')}, {trained.get('rows')} rows",
        "features": trained.get("features"),
        "kernel": trained.get("kernel"),
        "C": f"{trained['C']:g}" if "C" in trained else None,
        "intercept": trained.get("intercept"),
        "nodes" if approximate else "kinks": trained.get("kinks"),
        "duality gap within": f"{trained['tol']:g}" if approximate else None,
        "time to train": duration(trained["seconds"]) if "seconds" in trained else None,
        "taupath": trained.get("taupath"),
    }
    return {name: str(value) for name, value in shown.items() if value is not None}


def certificate(model: Any) -> Any:
    """Return the certificate that was computed after training, None if there is none."""
    from taupath.certificate import Certificate

    found = dict(model.trained.get("certificate") or {})
    found.pop("holds", None)
    try:
        return Certificate(**found) if found else None
    except TypeError:
        return None
