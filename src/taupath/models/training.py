"""Training on a prepared table, with its certificate."""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.utils.class_weight import compute_sample_weight

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.regressor import QuantileSVR
from taupath.estimators.selection import QuantileSVCCV
from taupath.fitting.method import choose_method
from taupath.models.model import Model
from taupath.outcomes.held_out import HeldOut, Outcomes, joined, outcomes_of
from taupath.paths.certificate import Certificate
from taupath.preparation import Preparation
from taupath.progress import share_of
from taupath.tables import Table, TableError

__all__ = [
    "certificate_of",
    "differences",
    "has_data",
    "hold_out",
    "name_of",
    "simplified",
    "train",
]

# Values of C to choose from.
CS = np.logspace(-4.0, 4.0, 9)
# Quantiles whose losses decide on the C of a regression.
QUANTILES = np.linspace(0.1, 0.9, 9)
# As part of its largest entry, how far a row may be from that of training: scaling is redone.
SAME = 1e-12


def train(
    table: Table,
    preparation: Preparation,
    options: dict[str, Any],
    *,
    cv: int | None = None,
    points: int = 100,
    progress: Callable[[float, int], None] | None = None,
) -> tuple[Model, Certificate]:
    """Return a model of the table, and the certificate of its paths.

    Parameters
    ----------
    table : Table
        What to learn from.
    preparation : Preparation
        Learnt from the same table.
    options : dict
        Parameters of `QuantileSVC` or `QuantileSVR`.
    cv : int, optional
        Number of folds to choose C with.
    points : int
        Values of τ at which the result is checked.
    progress : callable, optional
        Called as ``progress(fraction, n_events)``.
    """
    X, y = preparation.features(table), preparation.response(table)
    estimator, chosen, seconds = _fitted(X, y, preparation.task, options, cv, progress)
    certificate = certificate_of(estimator, points)
    return (
        Model(
            estimator,
            preparation,
            {
                "file": name_of(table),
                "rows": int(X.shape[0]),
                "features": int(X.shape[1]),
                "task": preparation.task,
                "C": float(estimator._all_paths()[0].C),
                "kernel": estimator.kernel,
                "intercept": estimator.intercept,
                "seconds": seconds,
                **_about_paths(estimator, certificate),
                "cross-validation": chosen,
                "taupath": version("taupath"),
            },
        ),
        certificate,
    )


def _fitted(
    X: Any,
    y: np.ndarray,
    task: str,
    options: dict[str, Any],
    cv: int | None,
    progress: Callable[[float, int], None] | None = None,
) -> tuple[QuantileSVC | QuantileSVR, dict[str, Any] | None, float]:
    """Return a fitted estimator, the losses that its C was chosen by, and seconds without that."""
    started = time.perf_counter()
    chosen = None
    most = 1.0 - 1.0 / (len(CS) * (cv or 0) + 2)  # of the work, with cross-validation: its share
    if task == "classify":
        if "conformal" in options:
            raise ValueError("conformal is for regression, not for classification")
        if "tau_range" in options:
            begin, end = options["tau_range"]
            options = {**options, "tau": min(max(0.5, begin), end)}
        if cv is not None:
            chosen, options = _choose_for_classes(X, y, options, cv, share_of(progress, 0.0, most))
        estimator: QuantileSVC | QuantileSVR = QuantileSVC(**options)
    else:
        for name in ("lam", "monotone", "n_jobs", "tau_range"):
            if options.get(name) is not None:
                raise ValueError(f"{name} is for classification, not for regression")
        if cv is not None:
            chosen, options = _choose_for_quantiles(
                X, y, options, cv, share_of(progress, 0.0, most)
            )
        estimator = QuantileSVR(**options)
    begun = time.perf_counter()
    if chosen is not None:
        chosen["seconds"] = begun - started
    estimator._progress = progress if cv is None else share_of(progress, most, 1.0 - most)
    estimator.fit(X, y)
    estimator._progress = None
    return estimator, chosen, time.perf_counter() - begun


def hold_out(
    table: Table,
    preparation: Preparation,
    how: dict[str, Any],
    options: dict[str, Any],
    *,
    cv: int | None = None,
    folds: int | None = None,
    share: float | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> HeldOut:
    """Return how models of some rows of a table do on its other rows.

    All that is learned is learned without the rows that are judged: scales, fills for missing
    cells, categories, C and paths. Only which columns there are, and of what kind, is not.

    Parameters
    ----------
    table : Table
        What to learn from.
    preparation : Preparation
        Learnt from the same table.
    how : dict
        What `Preparation.learn` was asked for.
    options, cv
        As for `train`.
    folds : int, optional
        Number of parts, each of which is held out once.
    share : float, optional
        Instead: share of the rows that are held out, once.
    progress : callable, optional
        Called as ``progress(fraction, n_rows)`` after each part.
    """
    started = time.perf_counter()
    splits = _splits(preparation, preparation.response(table), folds, share)
    how = {**how, "target": preparation.target, "drop": preparation.drop, "trusted": True}
    parts: list[Outcomes] = []
    for known, judged in splits:
        learned_from, rest = table.take(known, settle=False), table.take(judged, settle=False)
        own = Preparation.learn(learned_from, **how)
        X, y = own.features(learned_from), own.response(learned_from)
        estimator, *_ = _fitted(X, y, own.task, options, cv)
        with warnings.catch_warnings():  # a rare category may be unseen by one of the models
            warnings.simplefilter("ignore", UserWarning)
            X = own.features(rest, unseen="ignore")
        parts.append(outcomes_of(estimator, X, own.response(rest)))
        if progress is not None:
            progress(len(parts) / len(splits), sum(part.n_rows for part in parts))
    return HeldOut(
        joined(parts),
        folds=folds or 0,
        share=1.0 / folds if folds else float(share or 0.0),
        seconds=time.perf_counter() - started,
    )


def _splits(
    preparation: Preparation, y: np.ndarray, folds: int | None, share: float | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to learn from and those to judge, as often as some are held out."""
    classes = preparation.classes
    if share is not None and not 0.0 < share < 1.0:
        raise ValueError(f"the share of rows to hold out must lie between 0 and 1, got {share!r}")
    if folds is not None and not 2 <= folds <= len(y):
        raise ValueError(f"folds must be between 2 and the number of rows, {len(y)}; got {folds}")
    if classes is not None:
        counts = np.bincount(y, minlength=len(classes))
        fewest = int(counts.argmin())
        if counts[fewest] < (folds or 2):
            raise ValueError(
                f"class {classes[fewest]!r} has {counts[fewest]} rows, too few to hold out some in "
                f"{folds or 2} parts"
            )
    how: dict[str, Any] = {"random_state": 0}
    if folds is not None:
        kind = KFold if classes is None else StratifiedKFold
        return list(kind(folds, shuffle=True, **how).split(y, y))
    kind = ShuffleSplit if classes is None else StratifiedShuffleSplit
    try:
        return list(kind(1, test_size=share, **how).split(y, y))
    except ValueError:
        of_each = "" if classes is None else " of each class"
        raise ValueError(
            f"of {len(y)} rows a share of {share!r} cannot be held out: both parts need rows"
            f"{of_each}"
        ) from None


def name_of(table: Table) -> str:
    """Return what to call a table: its file without folders."""
    return "standard input" if table.source.startswith("<") else Path(table.source).name


def _choose_for_classes(
    X: Any, y: np.ndarray, options: dict[str, Any], folds: int, progress: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the losses of all C and the options with the best one."""
    search = QuantileSVCCV(CS, cv=folds, **options)
    search._progress = progress
    search.fit(X, y)
    losses = {"Cs": search.Cs_.tolist(), "Brier score": search.brier_.mean(axis=1).tolist()}
    return losses, {**options, "C": search.C_}


def _choose_for_quantiles(
    X: Any, y: np.ndarray, options: dict[str, Any], folds: int, progress: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    splits = list(KFold(folds, shuffle=True, random_state=0).split(X))
    method = choose_method(options.get("method", "exact"), options["kernel"], X.shape[0])
    losses = np.zeros(len(CS))
    done, n = 0, len(splits) * len(CS)
    for learn, test in splits:  # fold after fold: paths of large C take longer
        for c, C in enumerate(CS):
            model = QuantileSVR(**{**options, "C": float(C), "method": method})
            model._progress = share_of(progress, done / n, 1.0 / n)
            predicted = model.fit(X[learn], y[learn]).predict(X[test], quantile=QUANTILES)
            losses[c] += sum(
                len(test) * mean_pinball_loss(y[test], predicted[:, k], alpha=tau)
                for k, tau in enumerate(QUANTILES)
            )
            done += 1
    losses /= len(y) * len(QUANTILES)
    best = float(CS[int(np.argmin(losses))])
    return {"Cs": CS.tolist(), "pinball loss": losses.tolist()}, {**options, "C": best}


def _about_paths(estimator: QuantileSVC | QuantileSVR, certificate: Certificate) -> dict[str, Any]:
    """Return what is said of the paths of an estimator."""
    return {
        "method": estimator.method_,
        "tol": certificate.tol,
        "kinks": int(np.sum(estimator.n_iter_)),
        "record bytes": sum(path.nbytes for path in estimator._all_paths()),
        "certificate": {**asdict(certificate), "holds": certificate.holds()},
    }


def simplified(model: Model, tol: float) -> tuple[Model, Certificate]:
    """Return a model with fewer nodes, whose gaps are at most `tol`, and its certificate."""
    estimator = model.estimator.simplify(tol)
    certificate = certificate_of(estimator, None)
    trained = {**model.trained, **_about_paths(estimator, certificate)}
    return replace(model, estimator=estimator, trained=trained), certificate


def certificate_of(
    estimator: QuantileSVC | QuantileSVR, points: int | None, X: Any = None, y: Any = None
) -> Certificate:
    """Return the worst of all paths of an estimator; X and y are for those without data."""
    if X is not None and not estimator._all_paths()[0].has_data:
        found = [
            path.certify(X if own is None else X[own], *given)
            for path, (own, *given) in zip(
                estimator._all_paths(), _training_sets(estimator, y), strict=True
            )
        ]
    else:
        found = [path.certify(points) for path in estimator._all_paths()]
    gap = max(found, key=lambda each: each.worst_gap)
    kkt = max(found, key=lambda each: each.worst_kkt)
    return Certificate(
        worst_gap=gap.worst_gap,
        tau_gap=gap.tau_gap,
        worst_kkt=kkt.worst_kkt,
        tau_kkt=kkt.tau_kkt,
        n_checked=sum(each.n_checked for each in found),
        complete=all(each.complete for each in found),
        continuum=all(each.continuum for each in found),
        tol=max((each.tol for each in found if each.tol is not None), default=None),
    )


def _training_sets(
    estimator: QuantileSVC | QuantileSVR, y: np.ndarray
) -> Iterator[tuple[np.ndarray | None, np.ndarray, np.ndarray | None]]:
    """Yield which samples (None: all) each path was trained on, with what response and weight."""
    if isinstance(estimator, QuantileSVR):
        yield None, y, None
        return
    weight = None
    if estimator.class_weight is not None:
        weight = compute_sample_weight(estimator.class_weight, y)
    for classes, positive in estimator._tasks():
        own = estimator._members_of(y, classes)
        labels = (y == estimator.classes_[positive]).astype(int)
        if own is None:
            yield None, labels, weight
        else:
            yield own, labels[own], None if weight is None else weight[own]


def has_data(model: Model) -> bool:
    """Return whether a model knows what it was trained on."""
    return bool(model.estimator._all_paths()[0].has_data)


def differences(model: Model, table: Table) -> str | None:
    """Return in what a table differs from that of training, None if it does not."""
    X = model.preparation.features(table)
    if not model.preparation.has_response(table):
        return "there is nothing to be predicted in it"
    try:
        y = model.preparation.response(table)
    except TableError as error:
        return str(error)
    rows = model.trained.get("rows")
    if X.shape[0] != rows:
        return f"it has {X.shape[0]} rows, training had {rows}"
    estimator = model.estimator
    if not has_data(model):
        return None  # its certificate will tell
    if isinstance(estimator, QuantileSVR):
        members: list[np.ndarray | None] = [None]
        truth = [(y, estimator.path_.data.target)]
    else:
        members, truth = estimator._members, []
        for (_, positive), own, path in zip(
            estimator._tasks(), members, estimator.paths_, strict=True
        ):
            labels = y if own is None else y[own]
            truth.append((np.where(labels == positive, 1.0, -1.0), path.data.sign))
    for own, (response, known), path in zip(members, truth, estimator._all_paths(), strict=True):
        order = np.arange(X.shape[0]) if own is None else own
        wrong = _first_difference(X[order], path.data.X)
        if wrong is None and not np.array_equal(response, known):
            wrong = int((response != known).argmax())
        if wrong is not None:
            return f"row {int(order[wrong]) + 1} is another one"
    return None


def _first_difference(X: Any, known: Any) -> int | None:
    """Return the first row that is not the same, None if all are."""
    off = abs(X - known)
    largest = max(float(abs(known).max()), float(np.finfo(float).tiny))
    rows = off.max(axis=1)
    rows = np.asarray(rows.todense() if hasattr(rows, "todense") else rows).ravel()
    wrong = np.flatnonzero(rows > SAME * largest)
    return int(wrong[0]) if len(wrong) else None
