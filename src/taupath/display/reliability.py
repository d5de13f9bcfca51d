"""Reliability diagram: observed shares of the positive class against predicted probabilities."""

from typing import Any, Self

import numpy as np

from taupath.display.drawing import (
    FONT_SIZE,
    GREY,
    INK,
    axes_for,
    check_matplotlib,
    draw_curve,
    drawn_lines,
)
from taupath.estimators.pipelines import name_of
from taupath.outcomes.inputs import (
    check_binary_classifier,
    check_probabilities,
    find_positive,
    positive_of,
    positive_probability,
)
from taupath.outcomes.reliability import reliability_bins

# Where the counts are drawn, in units of the vertical axis: below the curve, which begins at 0.
BAND = (-0.28, -0.08)
# The most bars that counts are written on; with more, they would overlap.
MOST_LABELS = 12


class ReliabilityDisplay:
    """Share of the positive class against its predicted probability, bin by bin.

    Parameters
    ----------
    prob_true, prob_pred : ndarray of shape (n_bins,)
        Share of positive samples, and mean predicted probability, in each bin with samples.
    interval : ndarray of shape (n_bins, 2)
        95 % interval of the share (Wilson's).
    counts : ndarray of int of shape (n_bins,)
        Samples in each of these bins.
    edges : ndarray of shape (n_bins, 2)
        Where each of them begins and ends.
    estimator_name : str, optional
        Name in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    line_, diagonal_ : matplotlib Line2D
        The curve, and the diagonal of perfect calibration.
    errorbars_ : matplotlib LineCollection
        The intervals.
    bars_ : matplotlib BarContainer
        The counts, relative to the largest one, in a band below; None without.
    bar_labels_ : list of matplotlib Text
        The counts as numbers, if there is room.
    """

    def __init__(
        self,
        prob_true: np.ndarray,
        prob_pred: np.ndarray,
        interval: np.ndarray,
        counts: np.ndarray,
        edges: np.ndarray,
        *,
        estimator_name: str | None = None,
    ) -> None:
        self.prob_true, self.prob_pred, self.interval = prob_true, prob_pred, interval
        self.counts, self.edges = counts, edges
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        histogram: bool = True,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of a classifier's probabilities.

        Parameters
        ----------
        estimator : classifier of two classes with `predict_proba`
            Fitted.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples, preferably ones that it was not fitted to.
        y : array-like of shape (n_samples,)
            Their labels.
        n_bins : int, default=10
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of the same width, or with the same number of samples.
        histogram : bool, default=True
            Whether counts are drawn below.
        pos_label, name, ax, **kwargs
            As in `RocDisplay.from_estimator`.

        Returns
        -------
        ReliabilityDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        check_binary_classifier(estimator)
        positive = positive_of(estimator, X, y, pos_label)
        proba = positive_probability(estimator, X, pos_label)
        display = cls(
            *reliability_bins(positive, proba, n_bins, strategy),
            estimator_name=name or name_of(estimator),
        )
        return display.plot(ax=ax, histogram=histogram, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        histogram: bool = True,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of given probabilities.

        Parameters
        ----------
        y_true, y_proba, pos_label
            As in `RocDisplay.from_predictions`.
        n_bins, strategy, histogram, name, ax, **kwargs
            As in `from_estimator`.

        Returns
        -------
        ReliabilityDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        positive = find_positive(y_true, pos_label)
        proba = check_probabilities(y_proba, len(positive))
        display = cls(*reliability_bins(positive, proba, n_bins, strategy), estimator_name=name)
        return display.plot(ax=ax, histogram=histogram, **kwargs)

    def plot(
        self, ax: Any = None, *, name: str | None = None, histogram: bool = True, **kwargs: Any
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax, name, histogram, **kwargs
            As in `from_estimator`; the name is by default that of the display.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = ax, _ = axes_for(ax, type(self).__name__, (5.0, 5.4))
        name = self.estimator_name if name is None else name
        drawn = drawn_lines(ax)
        self.diagonal_ = drawn.get("perfectly calibrated")
        if self.diagonal_ is None:
            (self.diagonal_,) = ax.plot(
                [0, 1], [0, 1], color=GREY, linestyle=":", label="perfectly calibrated"
            )
        style = {"linewidth": 1.4, "marker": "o", "markersize": 5, "label": name or "classifier"}
        self.line_ = draw_curve(ax, self.prob_pred, self.prob_true, kwargs, **style)
        color = self.line_.get_color()
        self.errorbars_ = ax.vlines(
            self.prob_pred, *self.interval.T, color=color, alpha=0.45, linewidth=1.2
        )
        ax.set(xlim=(-0.02, 1.02), xlabel="predicted probability")
        ax.set_ylabel("share of positive samples")
        ax.set_ylim(min(ax.get_ylim()[0], -0.02) if len(drawn) else -0.02, 1.02)
        ax.legend(loc="upper left", frameon=False, fontsize=FONT_SIZE)
        self.bars_ = None
        self.bar_labels_: list[Any] = []
        if histogram:
            self._plot_counts(color)
        return self

    def _plot_counts(self, color: Any) -> None:
        ax = self.ax_
        low, high = BAND
        self.bars_ = ax.bar(
            self.edges[:, 0],
            (high - low) * self.counts / self.counts.max(),
            np.maximum(np.diff(self.edges, axis=1)[:, 0], 0.004),
            bottom=low,
            align="edge",
            color=color,
            alpha=0.3,
            edgecolor="white",
        )
        if len(self.counts) <= MOST_LABELS:
            self.bar_labels_ = ax.bar_label(
                self.bars_, [f"{n:d}" for n in self.counts], padding=1, fontsize=7, color=INK
            )
        ax.text(-0.03, low, "samples", rotation=90, ha="right", va="bottom", fontsize=FONT_SIZE - 1)
        ax.set_ylim(low, 1.02)
        ax.set_yticks(np.linspace(0.0, 1.0, 6))
        ax.spines["left"].set_bounds(0.0, 1.02)
