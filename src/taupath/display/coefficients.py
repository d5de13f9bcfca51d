"""Coefficients of the features along the path."""

from typing import Any, Self

import numpy as np

from taupath.display.drawing import GREY, PALETTE, TAU_LABEL, axes_for, check_matplotlib, label_ends
from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.pipelines import feature_names_of, last_step
from taupath.estimators.regressor import QuantileSVR
from taupath.outcomes.inputs import check_binary_classifier
from taupath.paths.path import SolutionPath
from taupath.validation import check_integer


class CoefficientDisplay:
    """Coefficients of the features over τ, for the linear kernel.

    They are linear between nodes, and all nodes are drawn.

    Parameters
    ----------
    taus : ndarray of shape (n_nodes,)
        The kinks; twice where coefficients jump.
    coef : ndarray of shape (n_shown, n_nodes)
        Coefficients, those of the feature with the largest one first.
    feature_names : sequence of n_shown str
        Names of these features.
    tau_label : str, optional
        Label of the horizontal axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    lines_ : list of matplotlib Line2D
        One for each feature, the labelled ones first.
    labels_ : list of matplotlib Annotation
        Their names.
    """

    def __init__(
        self, taus: np.ndarray, coef: np.ndarray, feature_names: Any, *, tau_label: str = TAU_LABEL
    ) -> None:
        self.taus, self.coef, self.feature_names = taus, coef, list(feature_names)
        self.tau_label = tau_label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Any = None,
        max_features: int = 100,
        n_labels: int = 6,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coefficients of a classifier or a regressor.

        Parameters
        ----------
        estimator : QuantileSVC or QuantileSVR
            Fitted, with ``kernel="linear"``; also as the last step of a pipeline, or in a search.
        feature_names : sequence of str, optional
            Names of all features; by default those that `fit` was given.
        max_features : int, default=100
            How many features are shown at most: those with the largest coefficients at any τ.
        n_labels : int, default=6
            How many of these are labelled.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs
            Arguments of `plot`.

        Returns
        -------
        CoefficientDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        model, before = last_step(estimator)
        if isinstance(model, QuantileSVC):
            check_binary_classifier(model)
        elif not isinstance(model, QuantileSVR):
            raise TypeError(
                f"estimator must be a QuantileSVC or a QuantileSVR, got {type(model).__name__}"
            )
        if not hasattr(model, "path_"):
            raise ValueError("a combined model has no coefficients; fit it with combine='best'")
        if model.kernel != "linear":
            raise ValueError(f'kernel={model.kernel!r} has no coefficients, only "linear" has')
        check_integer(max_features, "max_features", least=1)
        check_integer(n_labels, "n_labels", least=0)
        names = feature_names_of(model, before, feature_names)
        taus, coef, shown = largest_coefficients(model.path_, model.n_features_in_, max_features)
        label = TAU_LABEL if isinstance(model, QuantileSVC) else r"quantile $\tau$"
        display = cls(taus, coef, [names[j] for j in shown], tau_label=label)
        return display.plot(ax=ax, n_labels=n_labels, **kwargs)

    def plot(self, ax: Any = None, *, n_labels: int = 6) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        n_labels : int, default=6
            How many features are labelled, those with the largest coefficients; the others are
            grey.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = ax, _ = axes_for(ax, type(self).__name__, (7.0, 4.4))
        ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
        n_labels = min(n_labels, len(self.coef))
        self.lines_ = []
        for k, coef in enumerate(self.coef):
            style: dict[str, Any] = {"color": GREY, "linewidth": 0.7, "alpha": 0.5, "zorder": 2}
            if k < n_labels:
                # with more labels than colours, use the colours again, dashed
                dashed = k // len(PALETTE) % 2 == 1
                style = {"color": PALETTE[k % len(PALETTE)], "linewidth": 1.8, "zorder": 3}
                style |= {"linestyle": "--" if dashed else "-", "label": self.feature_names[k]}
            self.lines_ += ax.plot(self.taus, coef, **style)
        begin, end = float(self.taus[0]), float(self.taus[-1])
        ax.set(xlim=(begin, end), xlabel=self.tau_label, ylabel="coefficient")
        ax.set_ylim(ax.get_ylim())
        self._label(n_labels)
        return self

    def _label(self, n_labels: int) -> None:
        """Write names beside the ends of their lines.

        At an end where costs vanish all coefficients are 0 and lines meet. So labels lead to where,
        over the last tenth, the lines are furthest apart.
        """
        top = self.coef[:n_labels]
        self.labels_: list[Any] = []
        if n_labels == 0:
            return
        begin, end = float(self.taus[0]), float(self.taus[-1])
        spread = np.where(self.taus >= end - 0.1 * (end - begin), np.ptp(top, axis=0), -1.0)
        where = int(spread.argmax())
        self.labels_ = label_ends(
            self.ax_,
            end,
            top[:, where].tolist(),
            self.feature_names[:n_labels],
            [line.get_color() for line in self.lines_[:n_labels]],
            x_from=float(self.taus[where]),
        )


def largest_coefficients(
    path: SolutionPath, n_features: int, n_shown: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes, the largest coefficients there, and the features that these belong to."""
    size = np.zeros(n_features)
    for _, coef in path.coefficients_at_nodes():
        np.maximum(size, np.abs(coef).max(axis=0), out=size)
    shown = np.argsort(-size, kind="stable")[:n_shown]
    parts = [(taus, coef[:, shown].T) for taus, coef in path.coefficients_at_nodes()]
    taus = np.concatenate([part for part, _ in parts])
    return taus, np.concatenate([part for _, part in parts], axis=1), shown
