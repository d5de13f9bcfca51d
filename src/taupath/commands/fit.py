"""``taupath fit``: train on a file, write a model."""

import argparse
import os
from typing import Any

from taupath.commands.common import (
    Failed,
    add_data_options,
    certificate_lines,
    check_output,
    in_words,
    print_json,
    print_lines,
    read_data,
    text_of,
)

__all__ = ["add"]

EXAMPLES = """examples:
  taupath fit train.csv -o model.tau --target churned --standardize --cv
  taupath fit a1a.svm -o model.tau --C 0.1
  taupath fit houses.parquet -o prices.tau --task regress --target price --kernel rbf
  zcat big.csv.gz | taupath fit - -o model.tau --method auto --tol 1e-4
"""


def add(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Add the command to a parser."""
    parser = commands.add_parser(
        "fit",
        parents=parents,
        help="train on a file for every cost at once, and write a model",
        description=(
            "Train the SVM of every misclassification cost (or, with --task regress, all "
            "quantiles) on a file and write it, with what has been done to the columns, to one "
            "model file. Text columns are one-hot encoded. The model file holds the training data, "
            "except for --method approximate."
        ),
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("train", metavar="TRAIN", help="libsvm, CSV, TSV, Parquet or .npz; or -")
    parser.add_argument(
        "-o", "--output", metavar="MODEL", required=True, help="model file to write"
    )
    add_data_options(parser)
    data = parser.add_argument_group("data")
    data.add_argument("--task", choices=("classify", "regress"), default="classify")
    data.add_argument("--target", metavar="COLUMN", help="what is to be predicted: name or number")
    data.add_argument("--positive", metavar="LABEL", help="the positive class (two classes)")
    data.add_argument(
        "--ignore", metavar="COLUMN", action="append", default=[], help="leave it out; repeatable"
    )
    data.add_argument(
        "--standardize", action="store_true", help="mean 0 and deviation 1 for numeric columns"
    )
    svm = parser.add_argument_group("support vector machine")
    size = svm.add_mutually_exclusive_group()
    size.add_argument("--C", type=float, metavar="C", help="weight of the loss (default 1)")
    size.add_argument("--lam", type=float, metavar="L", help="λ = 1 / (n C) instead")
    size.add_argument(
        "--cv",
        type=int,
        nargs="?",
        const=5,
        metavar="FOLDS",
        help="choose C by cross-validation, over all costs (default 5 folds)",
    )
    svm.add_argument("--kernel", choices=("linear", "rbf", "poly", "sigmoid"), default="linear")
    svm.add_argument("--gamma", default="scale", help="of the kernel: scale, auto or a number")
    svm.add_argument("--degree", type=int, default=3, help="of the poly kernel")
    svm.add_argument("--coef0", type=float, default=0.0, help="of the poly and sigmoid kernels")
    svm.add_argument(
        "--intercept",
        choices=("augmented", "free", "none"),
        help="augmented: regularised like a feature (default for classify); free: not regularised "
        "(default for regress)",
    )
    svm.add_argument(
        "--method",
        choices=("exact", "approximate", "auto"),
        default="exact",
        help="approximate: within --tol of optimal at every τ, for many rows and the linear "
        "kernel; such a model file holds no training data. auto: that from 20 000 rows on",
    )
    svm.add_argument(
        "--tol",
        type=float,
        default=1e-3,
        metavar="T",
        help="of approximate paths: largest duality gap, as part of the objective at w = 0 and "
        "τ = ½ (default 1e-3)",
    )
    svm.add_argument(
        "--tau-range", type=float, nargs=2, metavar=("A", "B"), help="only this part of [0, 1]"
    )
    svm.add_argument(
        "--monotone",
        action="store_true",
        help="predict positive where the probability is at least τ",
    )
    svm.add_argument(
        "--conformal",
        type=int,
        metavar="FOLDS",
        help="regress: intervals whose coverage holds, by held-out folds",
    )
    parser.add_argument(
        "--points",
        type=int,
        default=100,
        metavar="N",
        help="values of τ at which the result is checked against the data (default 100)",
    )
    parser.add_argument("--n-jobs", type=int, metavar="N", help="processes for several paths")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Train, say what came out, write it."""
    check_output(arguments.output)
    if arguments.points < 2:
        raise Failed("--points must be at least 2")
    from taupath.commands.progress import Bar
    from taupath.preparation import Preparation
    from taupath.training import train

    table = read_data(arguments, arguments.train)
    preparation = Preparation.learn(
        table,
        target=arguments.target,
        task=arguments.task,
        standardize=arguments.standardize,
        positive=arguments.positive,
        drop=arguments.ignore,
    )
    with Bar("training", arguments) as bar:
        model, certificate = train(
            table,
            preparation,
            _options(arguments),
            cv=arguments.cv,
            points=arguments.points,
            progress=bar,
        )
    model.save(arguments.output)
    trained = model.trained
    size = os.path.getsize(arguments.output)
    if arguments.json:
        print_json({"model": arguments.output, "bytes": size, **trained})
        return
    classes = f", {in_words(model.labels)}" if model.task == "classify" else ""
    target = f", to predict {preparation.target!r}" if preparation.target else ""
    print_lines(
        f"{trained['file']}: {trained['rows']} rows, {trained['features']} features"
        f"{target}{classes}",
        f"C = {trained['C']:g}{' (cross-validated)' if arguments.cv else ''}, "
        f"{trained['kernel']} kernel, {trained['intercept']} intercept",
        paths_in_words(trained),
        *certificate_lines(certificate),
        f"written to {arguments.output} ({text_of(size)})",
    )


def paths_in_words(trained: dict[str, Any]) -> str:
    """Return how long the path is, and how long it took."""
    kind = "exact path: {} kinks" if trained["method"] == "exact" else "approximate path: {} nodes"
    return (
        f"{kind.format(trained['kinks'])} in {trained['seconds']:.2g} s, "
        f"record of {text_of(trained['record bytes'])}"
    )


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the estimator that were given."""
    try:
        gamma: Any = float(arguments.gamma)
    except ValueError:
        gamma = arguments.gamma
    given = {
        "C": arguments.C,
        "lam": arguments.lam,
        "kernel": arguments.kernel,
        "gamma": gamma,
        "degree": arguments.degree,
        "coef0": arguments.coef0,
        "intercept": arguments.intercept,
        "tau_range": None if arguments.tau_range is None else tuple(arguments.tau_range),
        "method": arguments.method,
        "tol": arguments.tol,
        "monotone": arguments.monotone or None,
        "conformal": arguments.conformal,
        "n_jobs": arguments.n_jobs,
    }
    return {name: value for name, value in given.items() if value is not None}
