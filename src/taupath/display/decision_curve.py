"""Decision curve analysis: what a classifier is worth at each threshold probability."""

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
from taupath.estimators.costs import check_tau_columns
from taupath.estimators.pipelines import name_of
from taupath.outcomes.rates import Rates, rates_of_estimator, rates_of_predictions


class DecisionCurveDisplay:
    """Net benefit against threshold probability (Vickers & Elkin 2006).

    The threshold probability is τ: to treat from a probability of τ on means that a false positive
    costs τ / (1 - τ) of what a true positive is worth. Net benefit is in units of true positives
    per sample.

    Parameters
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        Values of τ, below 1.
    net_benefit : ndarray of shape (n_thresholds,)
        True positives minus τ / (1 - τ) times false positives, per sample.
    treat_all : ndarray of shape (n_thresholds,)
        The same if all samples are predicted positive. If none is, it is 0.
    estimator_name : str, optional
        Name in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    line_, all_line_, none_line_ : matplotlib Line2D
        The three curves.
    """

    def __init__(
        self,
        thresholds: np.ndarray,
        net_benefit: np.ndarray,
        treat_all: np.ndarray,
        *,
        estimator_name: str | None = None,
    ) -> None:
        self.thresholds, self.net_benefit, self.treat_all = thresholds, net_benefit, treat_all
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        thresholds: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the net benefit of a classifier's predictions at each τ.

        Parameters
        ----------
        estimator, X, y, sample_weight, pos_label, name, ax, **kwargs
            As in `RocDisplay.from_estimator`.
        thresholds : array-like of shape (n_thresholds,), optional
            In [0, 1); by default 0, 0.0025, ..., 0.99.

        Returns
        -------
        DecisionCurveDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        rates = rates_of_estimator(estimator, X, y, sample_weight, pos_label)
        return cls._of(rates, thresholds, name or name_of(estimator)).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        thresholds: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the net benefit of treating where the probability is at least τ.

        Parameters
        ----------
        y_true, y_proba, pos_label
            As in `RocDisplay.from_predictions`.
        thresholds, sample_weight, name, ax, **kwargs
            As in `from_estimator`.

        Returns
        -------
        DecisionCurveDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        rates = rates_of_predictions(y_true, y_proba, sample_weight, pos_label)
        return cls._of(rates, thresholds, name).plot(ax=ax, **kwargs)

    @classmethod
    def _of(cls, rates: Rates, thresholds: Any, name: str | None) -> Self:
        taus = _check_thresholds(thresholds)
        true_positive, false_positive = rates.at(taus)
        odds = taus / (1.0 - taus)
        return cls(
            taus,
            (true_positive - odds * false_positive) / (rates.n_positive + rates.n_negative),
            rates.prevalence - odds * (1.0 - rates.prevalence),
            estimator_name=name,
        )

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax, name, **kwargs
            As in `from_estimator`; the name is by default that of the display. Axes that have a
            decision curve already get one more.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = ax, _ = axes_for(ax, type(self).__name__)
        name = self.estimator_name if name is None else name
        drawn = drawn_lines(ax)
        if "treat all" in drawn:
            self.all_line_, self.none_line_ = drawn["treat all"], drawn["treat none"]
        else:
            (self.all_line_,) = ax.plot(
                self.thresholds, self.treat_all, color=GREY, linewidth=1.2, label="treat all"
            )
            self.none_line_ = ax.axhline(
                0.0, color=INK, linewidth=1.2, linestyle=":", label="treat none"
            )
        label = name or "classifier"
        self.line_ = draw_curve(ax, self.thresholds, self.net_benefit, kwargs, label=label)
        # "treat all" falls without bound; the part above zero matters
        top = max(float(self.net_benefit.max()), float(self.treat_all.max()), 1e-3)
        low = max(float(self.net_benefit.min()), -0.5 * top)
        ax.set(
            xlim=(0.0, 1.0),
            ylim=(min(-0.12 * top, 1.1 * low), 1.06 * top),
            xlabel=r"threshold probability $\tau$",
            ylabel="net benefit (true positives per sample)",
        )
        ax.legend(frameon=False, fontsize=FONT_SIZE)
        return self


def _check_thresholds(thresholds: Any) -> np.ndarray:
    if thresholds is None:
        return np.linspace(0.0, 0.99, 397)
    taus = np.sort(check_tau_columns(thresholds, "thresholds"))
    if len(taus) == 0:
        raise ValueError("thresholds is empty")
    if taus[-1] == 1.0:
        raise ValueError("thresholds must lie in [0, 1), got 1.0")
    return taus
