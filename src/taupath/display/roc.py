"""The ROC curve that the path traces, with the point of least cost."""

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
from taupath.estimators.costs import costs_to_tau
from taupath.estimators.pipelines import name_of
from taupath.outcomes.rates import Rates, rates_of_estimator, rates_of_predictions
from taupath.validation import check_real

# Costs are equal if they differ by less, relatively: the rounding of two products and a sum.
SAME_COST = 1e-12


class RocDisplay:
    """False and true positive rates at every τ from 0 to 1; nothing is sampled.

    Parameters
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        The rates, from (1, 1), where all samples are predicted positive, to (0, 0).
    taus : ndarray of shape (n_points,)
        A τ for each point: the middle of the interval with these rates, 0 and 1 at the ends.
    roc_auc : float, optional
        Area under the curve.
    cost_fp, cost_fn : float, optional
        What a false positive and a false negative cost: the best point for these is marked.
    prevalence : float, optional
        Share of the positive class where the costs are to be paid; needed with costs.
    estimator_name : str, optional
        Name in the legend.

    Attributes
    ----------
    expected_cost : ndarray of shape (n_points,)
        Cost per sample at each point, if costs are given: cost_fp (1 - prevalence) FPR +
        cost_fn prevalence (1 - TPR).
    best : int
        The point where it is least; of several, the one whose τ is closest to that of the costs.
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    line_, chance_line_ : matplotlib Line2D
        The curve and the diagonal.
    best_point_, cost_line_, best_label_ : matplotlib artists
        The best point, the line of points that cost the same, and the text; None without costs.
    """

    def __init__(
        self,
        fpr: np.ndarray,
        tpr: np.ndarray,
        taus: np.ndarray,
        *,
        roc_auc: float | None = None,
        cost_fp: float | None = None,
        cost_fn: float | None = None,
        prevalence: float | None = None,
        estimator_name: str | None = None,
    ) -> None:
        self.fpr, self.tpr, self.taus, self.roc_auc = fpr, tpr, taus, roc_auc
        self.cost_fp, self.cost_fn, self.prevalence = cost_fp, cost_fn, prevalence
        self.estimator_name = estimator_name
        self.expected_cost: np.ndarray | None = None
        self.best: int | None = None
        tau = _check_costs(cost_fp, cost_fn, prevalence)
        if tau is not None:
            per_fp, per_fn = self._rates_of_cost()
            self.expected_cost = per_fp * fpr + per_fn * (1.0 - tpr)
            least = self.expected_cost <= self.expected_cost.min() * (1.0 + SAME_COST)
            self.best = int(np.where(least, np.abs(taus - tau), np.inf).argmin())

    def _rates_of_cost(self) -> tuple[float, float]:
        """Return the cost per sample at a false positive rate, or a false negative rate, of 1."""
        assert self.cost_fp is not None and self.cost_fn is not None
        assert self.prevalence is not None
        return self.cost_fp * (1.0 - self.prevalence), self.cost_fn * self.prevalence

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        cost_fp: float | None = None,
        cost_fn: float | None = None,
        prevalence: float | None = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a classifier's predictions at each τ.

        Parameters
        ----------
        estimator : QuantileSVC, or another classifier of two classes with `predict_proba`
            Fitted; also as the last step of a pipeline, or in a search. It decides as in `predict`:
            positive where f_τ(x) ≥ 0 or, with ``monotone=True`` and for other classifiers, where
            the probability is at least τ.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        cost_fp, cost_fn : float, optional
            What a false positive and a false negative cost: the best point for these is marked.
        prevalence : float, optional
            Share of the positive class where the costs are to be paid; by default that of y.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.
        pos_label : optional
            The positive class; by default that of the estimator, its `pos_label_`, or else the
            larger label.
        name : str, optional
            Name in the legend; by default the class of the estimator.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs
            Style of the curve (`matplotlib.lines.Line2D`).

        Returns
        -------
        RocDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        rates = rates_of_estimator(estimator, X, y, sample_weight, pos_label)
        display = cls._of(rates, cost_fp, cost_fn, prevalence, name or name_of(estimator))
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        cost_fp: float | None = None,
        cost_fn: float | None = None,
        prevalence: float | None = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of deciding for the positive class where its probability is at least τ.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels of two classes.
        y_proba : array-like of shape (n_samples,)
            Probability of the positive class.
        cost_fp, cost_fn, prevalence, sample_weight, name, ax, **kwargs
            As in `from_estimator`.
        pos_label : optional
            The positive class; by default the larger label.

        Returns
        -------
        RocDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        rates = rates_of_predictions(y_true, y_proba, sample_weight, pos_label)
        return cls._of(rates, cost_fp, cost_fn, prevalence, name).plot(ax=ax, **kwargs)

    @classmethod
    def _of(
        cls, rates: Rates, cost_fp: Any, cost_fn: Any, prevalence: Any, name: str | None
    ) -> Self:
        edges, true_positive, false_positive = rates.pieces()
        tpr = np.concatenate(([1.0], true_positive / rates.n_positive, [0.0]))
        fpr = np.concatenate(([1.0], false_positive / rates.n_negative, [0.0]))
        if prevalence is None and not (cost_fp is None and cost_fn is None):
            prevalence = rates.prevalence
        return cls(
            fpr,
            tpr,
            np.concatenate(([0.0], 0.5 * (edges[1:] + edges[:-1]), [1.0])),
            roc_auc=float(0.5 * np.sum((fpr[:-1] - fpr[1:]) * (tpr[:-1] + tpr[1:]))),
            cost_fp=cost_fp,
            cost_fn=cost_fn,
            prevalence=prevalence,
            estimator_name=name,
        )

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax, name, **kwargs
            As in `from_estimator`; the name is by default that of the display.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = ax, _ = axes_for(ax, type(self).__name__, (5.0, 4.8))
        name = self.estimator_name if name is None else name
        area = None if self.roc_auc is None else f"area {self.roc_auc:.3f}"
        label = ", ".join(part for part in (name, area) if part) or None
        self.chance_line_ = drawn_lines(ax).get("_chance")
        if self.chance_line_ is None:
            (self.chance_line_,) = ax.plot(
                [0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":", label="_chance"
            )
        self.line_ = draw_curve(ax, self.fpr, self.tpr, kwargs, label=label)
        ax.set(
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            xlabel="false positive rate",
            ylabel="true positive rate",
            aspect="equal",
        )
        self.best_point_ = self.cost_line_ = self.best_label_ = None
        if self.best is not None:
            self._mark_best(self.best)
        if label is not None:
            ax.legend(loc="lower right", frameon=False, fontsize=FONT_SIZE)
        return self

    def _mark_best(self, best: int) -> None:
        ax, color = self.ax_, self.line_.get_color()
        assert self.expected_cost is not None
        x, y = self.fpr[best], self.tpr[best]
        (self.best_point_,) = ax.plot(
            x, y, "o", color=color, markeredgecolor="white", markersize=8, zorder=4, clip_on=False
        )
        per_fp, per_fn = self._rates_of_cost()
        line = {"color": color, "linewidth": 0.8, "linestyle": (0, (6, 3)), "zorder": 2}
        if per_fn > 0.0:
            self.cost_line_ = ax.axline((x, y), slope=per_fp / per_fn, **line)
        else:
            self.cost_line_ = ax.axvline(x, **line)
        self.best_label_ = ax.annotate(
            f"least cost {self.expected_cost[best]:.3g} per sample\n"
            rf"$\tau$ = {self.taus[best]:.3f}, FPR {x:.3f}, TPR {y:.3f}",
            (x, y),
            xytext=(14, -10) if x < 0.5 else (-14, -10),
            textcoords="offset points",
            ha="left" if x < 0.5 else "right",
            va="top",
            color=INK,
            fontsize=FONT_SIZE,
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.5},
            zorder=3.5,
        )


def _check_costs(cost_fp: Any, cost_fn: Any, prevalence: Any) -> float | None:
    """Return the τ of the costs, None if there are none."""
    if cost_fp is None and cost_fn is None:
        if prevalence is not None:
            raise ValueError("prevalence goes with cost_fp and cost_fn, which are missing")
        return None
    for name, cost in (("cost_fp", cost_fp), ("cost_fn", cost_fn)):
        if cost is not None:
            check_real(cost, name)
    tau = float(costs_to_tau(cost_fp, cost_fn, 1))
    if prevalence is None or not 0.0 <= check_real(prevalence, "prevalence") <= 1.0:
        raise ValueError(f"prevalence must lie in [0, 1], got {prevalence!r}")
    return tau
