"""What decisions cost along an L1 penalty, or along how fair they have to be."""

from typing import Any, Self

import numpy as np

from taupath.display.drawing import (
    FONT_SIZE,
    GREY,
    axes_for,
    check_matplotlib,
    draw_curve,
)
from taupath.outcomes.frontiers import frontier_of, outcomes_along
from taupath.paths.frontiers import Sparsity


class FrontierDisplay:
    """Cost of the decisions of a `sparsity_path` or a `fairness_path` along its parameter.

    Decisions change at single values of the parameter: nothing is sampled.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Values of λ₁ or ρ between which no decision changes, with both ends of the path.
    cost : ndarray of shape (n_values,)
        Cost per sample up to each of them, if a false positive costs 2τ and a false negative
        2(1 - τ): at τ = ½, the share of errors.
    tau : float
        The τ of the path.
    n_features : ndarray of shape (n_values,), optional
        Numbers of features with a weight other than zero, for a path over λ₁.
    shares : ndarray of shape (2, n_values), optional
        The shares of two groups that are taken for positive.
    name : str, optional
        Name in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    line_ : matplotlib Line2D
        The cost.
    other_line_ : matplotlib Line2D
        The number of features, on an axis of its own, or the difference of the two shares; None
        without.
    """

    def __init__(
        self,
        values: np.ndarray,
        cost: np.ndarray,
        tau: float,
        *,
        n_features: np.ndarray | None = None,
        shares: np.ndarray | None = None,
        name: str | None = None,
    ) -> None:
        self.values, self.cost, self.tau = values, cost, tau
        self.n_features, self.shares, self.name = n_features, shares, name

    @classmethod
    def from_path(
        cls,
        path: Any,
        X: Any,
        y: Any,
        *,
        group: Any = None,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what the decisions of a path about samples cost.

        Parameters
        ----------
        path : SolutionPath
            Of `sparsity_path` or `fairness_path`.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        group : array-like of shape (n_samples,), optional
            Two values: by how much the shares of these groups differ that are taken for positive
            is drawn, too.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.
        name : str, optional
            Name in the legend.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs
            Style of the curve (`matplotlib.lines.Line2D`).

        Returns
        -------
        FrontierDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_path")
        job = frontier_of(path)
        found = outcomes_along(path, X, y, group, sample_weight)
        display = cls(
            found.values,
            found.cost,
            job.tau,
            n_features=found.n_features if isinstance(job, Sparsity) else None,
            shares=found.shares,
            name=name,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax, **kwargs
            As in `from_path`.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = ax, _ = axes_for(ax, type(self).__name__)
        sparse = self.n_features is not None
        steps = {"drawstyle": "steps-pre"}
        label = self.name or "cost"
        self.line_ = draw_curve(ax, self.values, self.cost, kwargs, label=label, **steps)
        handles, self.other_line_ = [self.line_], None
        if self.shares is not None:
            difference = np.abs(self.shares[1] - self.shares[0])
            self.other_line_ = draw_curve(
                ax, self.values, difference, {}, label="difference of the groups", **steps
            )
            handles.append(self.other_line_)
        ax.set(
            xlabel=r"$\lambda_1$" if sparse else r"$\rho$ = largest covariance with the group",
            ylabel=rf"cost per sample at $\tau$ = {self.tau:g}",
        )
        ax.set_ylim(bottom=0.0)
        if sparse:
            # most happens where the penalty is small
            ax.set_xscale("function", functions=(np.cbrt, lambda value: value**3))
        ax.set_xlim(self.values[0], self.values[-1])
        if sparse:
            handles.append(self._draw_features(ax, steps))
        ax.legend(handles=handles, frameon=False, fontsize=FONT_SIZE)
        return self

    def _draw_features(self, ax: Any, steps: dict[str, str]) -> Any:
        """Return the number of features, drawn on an axis of its own."""
        other = ax.twinx()
        (line,) = other.plot(
            self.values, self.n_features, color=GREY, linewidth=1.2, label="features", **steps
        )
        other.set(ylabel="features with a weight")
        other.set_ylim(bottom=0.0)
        other.spines["top"].set_visible(False)
        self.other_line_ = self.other_line_ or line
        return line
