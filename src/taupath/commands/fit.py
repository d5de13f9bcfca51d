"""``taupath fit``: train on a file, write a model."""

import argparse
import contextlib
import os
from typing import TYPE_CHECKING, Any

from taupath.choices import COMBINE, INTERCEPTS, METHODS, MISSING, TASKS, UNSEEN
from taupath.commands import Failed
from taupath.commands.files import check_certificate, check_output, read_data
from taupath.commands.options import (
    PREDICTION,
    NewCommand,
    add_data_options,
    costs_or_columns,
    with_costs,
)
from taupath.commands.printing import bar, certificate_lines, print_json, print_lines
from taupath.progress import duration

if TYPE_CHECKING:
    from taupath.models.model import Model
    from taupath.preparation import Preparation
    from taupath.tables import Table

EXAMPLES = """examples:
  taupath fit train.csv -o model.tau --target churned --positive yes --cv
  taupath fit raw.csv -o model.tau --missing impute --keep-id customer --drop name
  taupath fit a1a.svm -o model.tau --C 0.1
  taupath fit houses.parquet -o prices.tau --task regress --target price --kernel rbf
  taupath fit payments.csv -o model.tau --target fraud --cost-fp 4 --cost-fn amount
  zcat big.csv.gz | taupath fit - -o model.tau --method auto --tol 1e-4
"""

# Classes that are listed by name.
MOST_LISTED_CLASSES = 30
# Options that `Preparation.learn` and the estimator take under the same name, unchanged.
OF_PREPARATION = ("target", "task", "positive", "drop", "missing", "flag_missing", "unseen")
OF_ESTIMATOR = (
    "C",
    "lam",
    "kernel",
    "combine",
    "degree",
    "coef0",
    "intercept",
    "method",
    "tol",
    "l1",
)
# Options that take numbers or words, which the estimator checks.
NUMBERS_OR_WORDS = ("gamma", "clip")


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="fit",
        help="train on a file, for every ratio of costs at once",
        description=(
            "Train an SVM for every ratio of misclassification costs (or, with --task regress, for "
            "all quantiles) and write one model file, which also says how columns become features. "
            "Numeric columns are standardized, text columns one-hot encoded. The model file holds "
            "the training data, unless --method is approximate and the kernel linear."
        ),
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "train", metavar="TRAIN", help="LIBSVM, CSV, TSV, Parquet or .npz file, or -"
    )
    parser.add_argument(
        "-o", "--output", metavar="MODEL", required=True, help="model file to write"
    )
    add_data_options(parser)
    data = parser.add_argument_group("data")
    data.add_argument(
        "--task", choices=TASKS, default="classify", help="predict a class (default) or a number"
    )
    data.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column to predict: name or number (default: the one called target, class, label "
        "or y, else the last one)",
    )
    data.add_argument(
        "--positive",
        metavar="LABEL",
        help="the positive class: --cost-fn is the price of missing it (two classes; default: 1, "
        "yes or true, else the later label)",
    )
    data.add_argument(
        "--drop",
        "--ignore",
        metavar="COLUMN",
        action="append",
        default=[],
        help="leave a column out; repeatable",
    )
    data.add_argument(
        "--keep-id",
        metavar="COLUMN",
        action="append",
        default=[],
        help="not a feature, but copied to the output of `taupath predict`; repeatable",
    )
    data.add_argument(
        "--missing",
        choices=MISSING,
        default="error",
        help="missing cells: error refuses them (default); impute fills in the median of a "
        "numeric column or the most frequent category of a text column; drop leaves out the row",
    )
    data.add_argument(
        "--flag-missing",
        action="store_true",
        help="with --missing impute: one more feature for each column with missing cells, 1 if "
        "the cell is missing",
    )
    data.add_argument(
        "--unseen",
        choices=UNSEEN,
        default="ignore",
        help="categories in new data that training did not have: ignored, with a warning "
        "(default), or refused",
    )
    data.add_argument(
        "--standardize",
        action=argparse.BooleanOptionalAction,
        help="give numeric columns mean 0 and standard deviation 1; those of a sparse matrix are "
        "not shifted (the default, except for LIBSVM and .npz files without --cv)",
    )
    honest = parser.add_argument_group("held-out figures").add_mutually_exclusive_group()
    honest.add_argument(
        "--folds",
        type=int,
        metavar="N",
        help="judge each row by a model that was trained without its fold, and store the results "
        "for `evaluate` and `report`; the model itself is trained on all rows",
    )
    honest.add_argument(
        "--holdout",
        type=float,
        metavar="SHARE",
        help="the same, but judge only this share of the rows, such as 0.3",
    )
    costs = parser.add_argument_group("costs in training (two classes)")
    for option, what in (("--cost-fp", "a false alarm"), ("--cost-fn", "a miss")):
        costs.add_argument(
            option,
            metavar="COST",
            help=f"what {what} costs: a number, or the name of a column with one for each row; "
            "costs given to `predict` then multiply these (default: no costs in training)",
        )
    svm = parser.add_argument_group("support vector machine")
    size = svm.add_mutually_exclusive_group()
    size.add_argument("--C", type=float, metavar="C", help="weight of the loss (default 1)")
    size.add_argument("--lam", type=float, metavar="L", help="λ = 1 / (n C), instead of C")
    size.add_argument(
        "--cv",
        type=int,
        nargs="?",
        const=5,
        metavar="FOLDS",
        help="cross-validation (default 5 folds): combine classifiers with several kernels, C and "
        "γ, judged by held-out rows; for regression, choose C",
    )
    svm.add_argument(
        "--l1",
        type=float,
        metavar="L1",
        help="weight of an L1 penalty: at each τ, features of little use get a weight of exactly 0 "
        "(exact paths with the linear kernel)",
    )
    svm.add_argument(
        "--combine",
        choices=COMBINE,
        help="with --cv, how candidates become one model: a weighted sum of their logits (stack, "
        "the default), the best of them, or the best for each τ (per_tau)",
    )
    svm.add_argument(
        "--kernel",
        choices=("linear", "rbf", "poly", "sigmoid"),
        help="default linear; with --cv, linear and RBF for classifiers",
    )
    svm.add_argument(
        "--gamma",
        help="of the kernel: scale (the default), auto or a number; with --cv also grid (the "
        "default for classifiers): several multiples of scale",
    )
    svm.add_argument("--degree", type=int, default=3, help="of the poly kernel")
    svm.add_argument("--coef0", type=float, default=0.0, help="of the poly and sigmoid kernels")
    svm.add_argument(
        "--intercept",
        choices=INTERCEPTS,
        help="augmented: regularised like a feature (default for classify); free: not regularised "
        "(default for regress)",
    )
    svm.add_argument(
        "--method",
        choices=METHODS,
        default="exact",
        help="approximate: within --tol of optimal at every τ, for many rows; with the linear "
        "kernel the model file holds no training data. auto: exact if that is predicted to take a "
        "minute at most",
    )
    svm.add_argument(
        "--tol",
        type=float,
        metavar="T",
        help="for approximate paths: largest duality gap allowed, as a fraction of the objective "
        "at w = 0 and τ = ½ (default 1e-3)",
    )
    svm.add_argument(
        "--tau-range",
        type=float,
        nargs=2,
        metavar=("A", "B"),
        help="compute only this part of [0, 1]",
    )
    svm.add_argument(
        "--monotone",
        action="store_true",
        help="decide positive where the probability is at least τ",
    )
    svm.add_argument(
        "--clip",
        metavar="P",
        help="least probability: laplace (the default), which is 1 / (n + k) for n rows and k "
        "classes, or a number; 0 for none",
    )
    svm.add_argument(
        "--conformal",
        type=int,
        metavar="FOLDS",
        help="for regression: intervals that keep their coverage on new data, from so many folds",
    )
    parser.add_argument(
        "--points",
        type=int,
        default=100,
        metavar="N",
        help="check the result against the data at this many values of τ (default 100)",
    )
    parser.add_argument(
        "--allow-inexact",
        action="store_true",
        help="write the model even if its certificate does not hold; without this, "
        "nothing is written, and the exit status is 1",
    )
    parser.add_argument(
        "--n-jobs",
        type=int,
        metavar="N",
        help="number of processes if there are several paths, or of threads (two at most) if there "
        "is one",
    )


def run(arguments: argparse.Namespace) -> None:
    """Train, write the model, print what came out."""
    check_output(arguments.output, inputs=(arguments.train,))
    _check_options(arguments)
    from taupath.models.training import train
    from taupath.preparation import Preparation
    from taupath.tables.messages import counted, quoted, readable_size

    table = read_data(arguments, arguments.train)
    # LIBSVM files are mostly scaled already; but the values that cross-validation tries are for
    # standardized features
    usual = table.names is not None or arguments.cv is not None
    asked = {name: getattr(arguments, name) for name in OF_PREPARATION} | {
        "keep": arguments.keep_id,
        "standardize": usual if arguments.standardize is None else arguments.standardize,
    }
    costs = costs_or_columns(arguments, table)
    notes = []
    if arguments.missing == "drop":
        n_rows, table = table.n_rows, with_costs(table, costs)
        if table.n_rows < n_rows:
            notes = [f"left out: {counted(n_rows - table.n_rows, 'row')} with missing costs"]
    preparation = Preparation.learn(table, **asked)
    notes += preparation.notes
    with bar("training", arguments) as progress:
        model, certificate = train(
            preparation.usable(table),
            preparation,
            _options(arguments),
            cv=arguments.cv,
            costs=costs,
            points=arguments.points,
            progress=progress,
        )
    check_certificate(certificate, arguments.output, arguments)
    if arguments.folds is not None or arguments.holdout is not None:
        model = _with_held_out(arguments, model, preparation.usable(table), asked)
    model.save(arguments.output)
    trained = model.trained
    size = os.path.getsize(arguments.output)
    if arguments.json:
        about = {
            "positive": getattr(model, "pos_label_", None),
            "why positive": preparation.why_positive or None,
            "notes": notes,
        }
        print_json({"model": arguments.output, "bytes": size, **about, **trained})
        return
    target = f", to predict {quoted(preparation.target)}" if preparation.target else ""
    chosen = trained["cross-validation"]
    how = f" (cross-validated in {duration(chosen['seconds'])})" if chosen else ""
    print_lines(
        f"{trained['file']}: {trained['rows']} rows, {trained['features']} features{target}",
        *_classes_in_words(preparation),
        *_scaling_in_words(arguments, preparation),
        *notes,
        f"{_chosen_in_words(trained)}{how}, {trained['intercept']} intercept",
        *(chosen or {}).get("left out", ()),
        *_costs_in_words(trained),
        *_method_in_words(model),
        paths_in_words(trained),
        *_features_in_words(model),
        *_held_out_in_words(model),
        *certificate_lines(certificate),
        f"written to {arguments.output} ({readable_size(size)})",
    )


def _method_in_words(model: "Model") -> list[str]:
    """Return what --method auto picked, and why."""
    reasons = [path.method_reason for path in model.estimator._all_paths()]
    return [f"--method auto: {model.trained['method']}; {why}" for why in reasons if why][:1]


def _chosen_in_words(trained: dict[str, Any]) -> str:
    """Return C and kernel, or what a combined model consists of."""
    if "combined" in trained:
        return str(trained["combined"])
    l1 = f", l1 = {trained['l1']:g}" if "l1" in trained else ""
    return f"C = {trained['C']:g}{l1}, {trained['kernel']} kernel"


def _features_in_words(model: "Model") -> list[str]:
    """Return how many features a model with an L1 penalty uses."""
    if "l1" not in model.trained:
        return []
    estimator = model.estimator
    used = f"{estimator.n_nonzero()} of {model.trained['features']}"
    tau = estimator.quantile if model.task == "regress" else estimator.tau
    return [f"{used} features have a weight at τ = {tau:g}"]


def _with_held_out(
    arguments: argparse.Namespace, model: "Model", table: "Table", asked: dict[str, Any]
) -> "Model":
    """Return the model with its results on held-out rows."""
    from dataclasses import replace

    from taupath.models.holding_out import hold_out

    with bar("holding rows out", arguments, unit="rows") as progress:
        held_out = hold_out(
            table,
            model.preparation,
            asked,
            _options(arguments),
            cv=arguments.cv,
            costs=model.trained.get("costs"),
            folds=arguments.folds,
            share=arguments.holdout,
            progress=progress,
        )
    about = {name: getattr(held_out, name) for name in ("folds", "share", "seconds")}
    return replace(model, trained={**model.trained, "held out": about}, held_out=held_out)


def _held_out_in_words(model: "Model") -> list[str]:
    """Return how rows were held out, and how long that took."""
    held_out = model.held_out
    if held_out is None:
        return []
    what = f"{held_out.folds} folds" if held_out.folds else f"{held_out.share:.0%} of the rows"
    anew = ", C chosen again each time" if model.trained.get("cross-validation") else ""
    return [
        f"{what} held out in {duration(held_out.seconds)}{anew}, for `taupath evaluate MODEL`; the "
        "model in the file was trained on all rows"
    ]


def _check_options(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if arguments.points < 2:
        raise Failed("--points must be at least 2")
    if arguments.tol is not None and arguments.method == "exact":
        raise Failed(
            "--tol is for approximate paths: add --method approximate or auto, or leave it out"
        )
    for name in ("folds", "cv", "conformal"):
        n_folds = getattr(arguments, name)
        if n_folds is not None and n_folds < 2:
            raise Failed(f"--{name} must be at least 2, got {n_folds}")
    if arguments.n_jobs == 0:
        raise Failed("--n-jobs must not be 0: give a number of processes, or -1 for all processors")
    if arguments.holdout is not None and not 0.0 < arguments.holdout < 1.0:
        raise Failed(f"--holdout must lie between 0 and 1, got {arguments.holdout}")
    if arguments.combine is not None and (arguments.cv is None or arguments.task == "regress"):
        raise Failed("--combine goes with --cv and --task classify")
    if arguments.l1 is not None and arguments.cv is not None:
        raise Failed("--l1 goes without --cv: give --C, or leave one of them out")
    if arguments.flag_missing and arguments.missing != "impute":
        raise Failed("--flag-missing goes with --missing impute")
    if arguments.task == "classify" and PREDICTION in arguments.keep_id:
        raise Failed(
            f"column {PREDICTION!r} cannot be kept: `taupath predict` writes its decisions under "
            "that name"
        )


def _classes_in_words(preparation: "Preparation") -> list[str]:
    """Return the classes; of two, which one is positive and why."""
    classes = preparation.classes
    if classes is None:
        return []
    from taupath.tables.messages import shown

    names = [shown(label) for label in classes]
    if len(names) > MOST_LISTED_CLASSES:
        more = len(names) - MOST_LISTED_CLASSES
        return [f"classes: {', '.join(names[:MOST_LISTED_CLASSES])} and {more} more"]
    if len(names) > 2:
        return [f"classes: {', '.join(names[:-1])} and {names[-1]}"]
    return [f"positive class: {names[1]} ({preparation.why_positive}); negative: {names[0]}"]


def _scaling_in_words(arguments: argparse.Namespace, preparation: "Preparation") -> list[str]:
    """Return whether columns were standardized, and the option that turns it off."""
    from taupath.preparation.matrices import MatrixFeatures
    from taupath.tables.messages import counted

    hint = "" if arguments.standardize else " (--no-standardize uses them as they are)"
    columns = preparation.columns
    if isinstance(columns, MatrixFeatures):
        if columns.scale is None:
            return []
        return [f"standardized: {columns.n_features} features{hint}"]
    n_numbers = sum(feature.part == "number" for feature in columns.features)
    if arguments.standardize is False or not n_numbers:
        return []
    return [f"standardized: {counted(n_numbers, 'numeric column')}{hint}"]


def _costs_in_words(trained: dict[str, Any]) -> list[str]:
    """Return the costs in training, and what they mean for predictions."""
    from taupath.models.training_record import costs_in_words

    said = costs_in_words(trained)
    if not said:
        return []
    return [
        f"costs in training: {said}; decisions at τ = 0.5, the default, have the lowest expected "
        "cost, and costs given to `predict` multiply these"
    ]


def paths_in_words(trained: dict[str, Any]) -> str:
    """Return how long the path is, and how long it took."""
    from taupath.tables.messages import readable_size

    kind = "exact path: {} kinks" if trained["method"] == "exact" else "approximate path: {} nodes"
    return (
        f"{kind.format(trained['kinks'])} in {duration(trained['seconds'])}, "
        f"record of {readable_size(trained['record bytes'])}"
    )


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the estimator that were given."""
    given = {name: getattr(arguments, name) for name in (*OF_ESTIMATOR, *NUMBERS_OR_WORDS)}
    for name in NUMBERS_OR_WORDS:
        with contextlib.suppress(TypeError, ValueError):  # a word or nothing
            given[name] = float(given[name])
    given |= {
        "tau_range": None if arguments.tau_range is None else tuple(arguments.tau_range),
        "monotone": arguments.monotone or None,
        "conformal": arguments.conformal,
        "n_jobs": arguments.n_jobs,
    }
    if given["l1"]:  # needs an intercept that is part of w; regression has a free one by default
        given["intercept"] = given["intercept"] or "augmented"
    if arguments.cv is None or arguments.task == "regress":  # otherwise several are tried
        given["kernel"], given["gamma"] = given["kernel"] or "linear", given["gamma"] or "scale"
    return {name: value for name, value in given.items() if value is not None}
