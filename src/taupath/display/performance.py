"""TPR, TNR and accuracy along the path: the paper's Figure 2."""

from typing import Any, Self

import numpy as np

from taupath.display.drawing import (
    INK,
    NEGATIVE,
    POSITIVE,
    TAU_LABEL,
    axes_for,
    check_matplotlib,
    label_ends,
)
from taupath.estimators.pipelines import name_of
from taupath.outcomes.rates import Rates, rates_of_estimator, rates_of_predictions


class PerformanceDisplay:
    """True positive rate, true negative rate and accuracy for every τ.

    They are step functions of τ, and every step is drawn.

    Parameters
    ----------
    taus : ndarray of shape (n_pieces + 1,)
        Where any of them changes, from 0 to 1.
    tpr, tnr, accuracy : ndarray of shape (n_pieces,)
        Their values from one τ to the next.
    estimator_name : str, optional
        Title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    lines_ : list of matplotlib StepPatch
        TPR, TNR, accuracy.
    labels_ : list of matplotlib Annotation
        Their names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from taupath import QuantileSVC
    >>> from taupath.display import PerformanceDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant, 1 is benign
    >>> model = QuantileSVC(C=0.1, pos_label=0).fit(scale(X), y)
    >>> PerformanceDisplay.from_estimator(model, scale(X), y)
    <...>
    """

    def __init__(
        self,
        taus: np.ndarray,
        tpr: np.ndarray,
        tnr: np.ndarray,
        accuracy: np.ndarray,
        *,
        estimator_name: str | None = None,
    ) -> None:
        self.taus, self.tpr, self.tnr, self.accuracy = taus, tpr, tnr, accuracy
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the performance of a classifier's predictions at each τ.

        Parameters
        ----------
        estimator, X, y, sample_weight, pos_label, ax
            As in `RocDisplay.from_estimator`.
        name : str, optional
            Title; by default there is none.
        **kwargs
            Style of the three lines (`matplotlib.axes.Axes.stairs`).

        Returns
        -------
        PerformanceDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        rates = rates_of_estimator(estimator, X, y, sample_weight, pos_label)
        return cls._of(rates, name or name_of(estimator)).plot(ax=ax, name=name, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the performance of deciding for the positive class at a probability of τ or more.

        Parameters
        ----------
        y_true, y_proba, pos_label
            As in `RocDisplay.from_predictions`.
        sample_weight, name, ax, **kwargs
            As in `from_estimator`.

        Returns
        -------
        PerformanceDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        rates = rates_of_predictions(y_true, y_proba, sample_weight, pos_label)
        return cls._of(rates, name).plot(ax=ax, name=name, **kwargs)

    @classmethod
    def _of(cls, rates: Rates, name: str | None) -> Self:
        taus, true_positive, false_positive = rates.pieces()
        true_negative = rates.n_negative - false_positive
        return cls(
            taus,
            true_positive / rates.n_positive,
            true_negative / rates.n_negative,
            (true_positive + true_negative) / (rates.n_positive + rates.n_negative),
            estimator_name=name,
        )

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax, name, **kwargs
            As in `from_estimator`.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = ax, _ = axes_for(ax, type(self).__name__)
        curves = (
            ("TPR", self.tpr, POSITIVE),
            ("TNR", self.tnr, NEGATIVE),
            ("accuracy", self.accuracy, INK),
        )
        self.lines_ = [
            ax.stairs(
                values,
                self.taus,
                **{"baseline": None, "color": color, "linewidth": 1.8, "label": text, **kwargs},
            )
            for text, values, color in curves
        ]
        least = min(float(values.min()) for _, values, _ in curves)
        bottom = np.floor(10.0 * least) / 10.0
        ax.set(xlim=(0.0, 1.0), xlabel=TAU_LABEL, ylabel="TPR, TNR and accuracy")
        ax.set_ylim(bottom - 0.02 * (1.0 - bottom), 1.0 + 0.02 * (1.0 - bottom))
        self.labels_ = label_ends(
            ax,
            1.0,
            [values[-1] for _, values, _ in curves],
            [text for text, _, _ in curves],
            [line.get_edgecolor() for line in self.lines_],
        )
        if name is not None:
            ax.set_title(name)
        return self
