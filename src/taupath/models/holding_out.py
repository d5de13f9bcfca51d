"""Results on rows that were held out of training."""

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from taupath.models.model import with_columns
from taupath.models.training import fitted
from taupath.outcomes.held_out import HeldOut, Outcomes, joined, outcomes_of
from taupath.preparation import Preparation
from taupath.tables import Table
from taupath.tables.messages import quoted


def hold_out(
    table: Table,
    preparation: Preparation,
    how: dict[str, Any],
    options: dict[str, Any],
    *,
    cv: int | None = None,
    costs: Mapping[str, Any] | None = None,
    folds: int | None = None,
    share: float | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> HeldOut:
    """Return how models of some rows of a table do on its other rows.

    Everything is learned without the rows that are judged: scales, fills for missing cells,
    categories, C and paths. Only the columns and their kinds are taken from all rows.

    Either each of some `folds` is held out once, or a `share` of the rows is. `how` are arguments
    of `Preparation.learn`; the others are as in `train`. `progress` is called after each part.
    """
    started = time.perf_counter()
    splits = _splits(preparation, preparation.response(table), folds, share)
    how = {**how, "target": preparation.target, "drop": preparation.drop, "trusted": True}
    parts: list[Outcomes] = []
    for known, judged in splits:
        learned_from, rest = table.take(known, settle=False), table.take(judged, settle=False)
        own = Preparation.learn(learned_from, **how)
        X, y = own.features(learned_from), own.response(learned_from)
        estimator, *_ = fitted(X, y, own.task, options, cv, with_columns(costs or {}, learned_from))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # one model may not know a rare category
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
    """Return the rows to learn from and those to judge, for each time that rows are held out."""
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
                f"class {quoted(classes[fewest])} has {counts[fewest]} rows, too few to hold out "
                f"some in {folds or 2} parts"
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
