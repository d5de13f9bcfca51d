"""Outcomes of predictions: the truth beside the predictions of a model at every τ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

from taupath.estimators.clipping import clipped
from taupath.estimators.costs import least_cost_class
from taupath.estimators.regressor import QuantileSVR
from taupath.outcomes.rates import Rates, decision_changes, probabilities_of_changes
from taupath.paths.crossings import Changes

# Quantiles whose losses are kept: every per cent, so that tables of any of them can be made.
HELD_OUT_QUANTILES = np.round(np.linspace(0.01, 0.99, 99), 2)
# Coverages of the central intervals that are judged.
COVERAGES = (0.5, 0.8, 0.9)


@dataclass(frozen=True)
class Outcomes:
    """The truth and the predictions for some rows, without their features.

    The truth is whether a row is positive, of several classes the position of its class, of a
    regression its number. Two classes have `changes`, several have `proba`, and a regression has
    `quantiles`: loss, D² and the share of the truth below, quantile by quantile.
    """

    truth: np.ndarray
    walked: tuple[float, float]  # the range of τ
    changes: Changes | None = None  # decisions at every τ, as in `Rates`
    least: float = 0.0  # the least probability; those of `changes` are exact lengths
    proba: np.ndarray | None = None  # (n_samples, n_classes)
    quantiles: dict[str, np.ndarray] | None = None
    coverage: dict[float, float] | None = None  # of central intervals, by their nominal coverage

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.truth)

    def rates(self) -> Rates:
        """Return true and false positives at every τ, for two classes."""
        assert self.changes is not None
        return Rates(self.truth, np.ones(self.n_rows), self.changes)

    def probabilities(self) -> np.ndarray:
        """Return the probability of each class; of two classes the positive one is last."""
        if self.proba is not None:
            return self.proba
        assert self.changes is not None
        positive = probabilities_of_changes(self.changes, self.walked)
        return clipped(np.column_stack((1.0 - positive, positive)), self.least)

    def decided(self, cost_matrix: Any = None) -> np.ndarray:
        """Return the position of the predicted class, for several classes."""
        assert self.proba is not None
        if cost_matrix is None:
            return np.asarray(self.proba.argmax(axis=1))
        return least_cost_class(self.proba, np.asarray(cost_matrix, dtype=float))


@dataclass(frozen=True)
class HeldOut:
    """Outcomes for rows that were held out when the model that predicts them was trained."""

    outcomes: Outcomes  # sorted by their values, so that no row is recognised by its position
    folds: int  # how many, each held out once; 0 if a single part was
    share: float  # of the rows, held out at a time
    seconds: float  # spent on it

    def in_words(self) -> str:
        """Return a sentence about how rows were held out."""
        n = self.outcomes.n_rows
        if self.folds:
            return (
                f"out-of-fold figures from training: {n} rows, each judged by a model that was "
                f"trained without it ({self.folds} folds)"
            )
        return (
            f"held-out figures from training: {n} rows, {self.share:.0%} of the file, judged by a "
            "model of the others; the stored model was trained on all"
        )


def outcomes_of(estimator: Any, X: Any, y: np.ndarray) -> Outcomes:
    """Return the outcomes of an estimator; y holds labels that it knows, or numbers."""
    walked = estimator._all_paths()[0].tau_range
    if isinstance(estimator, QuantileSVR):
        grid = HELD_OUT_QUANTILES[
            (walked[0] <= HELD_OUT_QUANTILES) & (walked[1] >= HELD_OUT_QUANTILES)
        ]
        predicted = estimator.predict(X, quantile=grid)
        return Outcomes(
            y,
            walked,
            quantiles=at_quantiles(y, predicted, grid),
            coverage=_covered(estimator, X, y),
        )
    if len(estimator.classes_) > 2:
        places = np.searchsorted(estimator.classes_, y)
        return Outcomes(places, walked, proba=estimator.predict_proba(X))
    changes = decision_changes(estimator, estimator._check_new(X))
    least = 0.0 if estimator._by_probability else estimator.clip_  # else changes have it already
    return Outcomes(y == estimator.pos_label_, walked, changes, least)


def at_quantiles(
    y: np.ndarray, predicted: np.ndarray, quantiles: np.ndarray, sample_weight: Any = None
) -> dict[str, np.ndarray]:
    """Return, for each quantile, its loss, D², and the share of the truth below it."""
    columns = list(zip(quantiles, predicted.T, strict=True))
    given = {"sample_weight": sample_weight}
    return {
        "quantile": np.asarray(quantiles),
        "pinball": np.array([mean_pinball_loss(y, f, alpha=q, **given) for q, f in columns]),
        "d2": np.array([d2_pinball_score(y, f, alpha=q, **given) for q, f in columns]),
        "below": np.array([np.average(y <= f, weights=sample_weight) for _, f in columns]),
    }


def _covered(estimator: QuantileSVR, X: Any, y: np.ndarray) -> dict[float, float] | None:
    """Return how often central intervals hold the truth, None if some quantiles are missing."""
    if estimator.path_.tau_range != (0.0, 1.0):
        return None
    found = {}
    for coverage in COVERAGES:
        low, high = estimator.predict_interval(X, coverage).T
        found[coverage] = float(((low <= y) & (y <= high)).mean())
    return found


def joined(parts: Sequence[Outcomes]) -> Outcomes:
    """Return the outcomes of several models, each for its own rows, sorted by their values."""
    truth, walked = np.concatenate([part.truth for part in parts]), parts[0].walked
    sizes = np.array([part.n_rows for part in parts])
    if parts[0].quantiles is not None:
        return _joined_quantiles(parts, truth, sizes)
    if parts[0].proba is not None:
        proba = np.concatenate([part.probabilities() for part in parts])
        order = np.lexsort((*proba.T, truth))
        return Outcomes(truth[order], walked, proba=proba[order])
    begin, who, when, change = (
        np.concatenate([part.changes[k] for part in parts if part.changes]) for k in range(4)
    )
    counts = [len(part.changes[1]) for part in parts if part.changes]
    who = who + np.repeat(np.cumsum(sizes) - sizes, counts)
    proba = np.concatenate([part.probabilities()[:, 1] for part in parts])
    order = np.lexsort((proba, truth))
    place = np.argsort(order)
    by_place = np.argsort(place[who], kind="stable")
    changes = Changes(begin[order], place[who][by_place], when[by_place], change[by_place])
    least = min(part.least for part in parts)
    return Outcomes(truth[order], walked, changes, least)


def _joined_quantiles(parts: Sequence[Outcomes], truth: np.ndarray, sizes: np.ndarray) -> Outcomes:
    tables = [part.quantiles for part in parts if part.quantiles]
    quantiles = tables[0]["quantile"]
    pinball, below = (
        np.average([table[name] for table in tables], axis=0, weights=sizes)
        for name in ("pinball", "below")
    )
    # D² is 1 - loss / least loss of a constant; the latter follows from the D² of any constant
    constant = np.full(len(truth), truth.max() + 1.0)
    known = at_quantiles(truth, np.tile(constant[:, np.newaxis], len(quantiles)), quantiles)
    least = known["pinball"] / (1.0 - known["d2"])
    coverages = [part.coverage for part in parts if part.coverage]
    coverage = None
    if coverages:
        coverage = {
            wanted: float(np.average([each[wanted] for each in coverages], weights=sizes))
            for wanted in coverages[0]
        }
    d2 = 1.0 - pinball / least
    columns = {"quantile": quantiles, "pinball": pinball, "d2": d2, "below": below}
    return Outcomes(np.sort(truth), parts[0].walked, quantiles=columns, coverage=coverage)
