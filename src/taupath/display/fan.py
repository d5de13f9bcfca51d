"""A fan of quantiles: the distribution of y that a quantile regression predicts."""

from typing import Any, Self

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_consistent_length

from taupath.choices import names_of_unnamed
from taupath.display.drawing import INK, POSITIVE, axes_for, check_matplotlib, label_ends
from taupath.estimators.costs import check_tau_columns
from taupath.estimators.pipelines import last_step
from taupath.estimators.regressor import QuantileSVR
from taupath.outcomes.inputs import as_frame_of, column_names, columns_of
from taupath.validation import check_integer, check_numbers, check_targets

FAN_QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)


class QuantileFanDisplay:
    """Several quantiles as bands, darker towards the median.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Horizontal positions, increasing.
    values : ndarray of shape (n_points, n_quantiles)
        The quantiles there.
    quantiles : ndarray of shape (n_quantiles,)
        Which ones, increasing.
    x_samples, y_samples : ndarray of shape (n_samples,), optional
        Samples to be drawn with them.
    x_label, y_label : str, optional
        Labels of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    bands_ : list of matplotlib PolyCollection
        From each quantile to the next.
    lines_ : list of matplotlib Line2D
        The quantiles.
    samples_ : matplotlib PathCollection
        The samples, None without.
    labels_ : list of matplotlib Annotation
        Names of the quantiles.
    """

    def __init__(
        self,
        x: np.ndarray,
        values: np.ndarray,
        quantiles: np.ndarray,
        *,
        x_samples: np.ndarray | None = None,
        y_samples: np.ndarray | None = None,
        x_label: str | None = None,
        y_label: str | None = None,
    ) -> None:
        self.x, self.values, self.quantiles = x, values, quantiles
        self.x_samples, self.y_samples = x_samples, y_samples
        self.x_label, self.y_label = x_label, y_label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        feature: int | str | None = None,
        quantiles: Any = FAN_QUANTILES,
        grid_resolution: int = 200,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the quantiles that a regressor predicts.

        Parameters
        ----------
        estimator : QuantileSVR
            Fitted; also as the last step of a pipeline, or in a search.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples. Of one feature, the fan spans their range; of several, see `feature`.
        y : array-like of shape (n_samples,), optional
            What is to be predicted; drawn with the fan. With `feature`, the samples also differ
            from the fan in their other features.
        feature : int or str, optional
            Of several features, the one to be varied, while the others stay at their medians. By
            default none is: the samples are put in the order of their predicted medians.
        quantiles : array-like of shape (n_quantiles,)
            At least two, in [0, 1].
        grid_resolution : int, default=200
            Points along a feature.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs
            Arguments of `plot`.

        Returns
        -------
        QuantileFanDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        if not is_regressor(estimator):
            raise ValueError(
                f"Expected 'estimator' to be a regressor. Got {type(estimator).__name__} instead."
            )
        model, before = last_step(estimator)
        if not isinstance(model, QuantileSVR):
            raise TypeError(f"estimator must be a QuantileSVR, got {type(model).__name__}")
        levels = _check_quantiles(quantiles)
        targets = None
        if y is not None:
            check_consistent_length(X, y)
            targets = check_targets(y, np.asarray(y).size)

        def predict(samples: Any) -> np.ndarray:
            for step in before:
                samples = step.transform(samples)
            return model.predict(samples, quantile=levels)

        if feature is None and (getattr(X, "ndim", 2) != 2 or np.shape(X)[1] != 1):
            return cls.from_predictions(targets, predict(X), levels, ax=ax, **kwargs)

        samples, names = columns_of(X), column_names(X)
        j = _column(feature, names, samples.shape[1])
        n_grid = check_integer(grid_resolution, "grid_resolution", least=2)
        x = np.linspace(samples[:, j].min(), samples[:, j].max(), n_grid)
        grid = np.tile(np.median(samples, axis=0), (n_grid, 1))
        grid[:, j] = x
        label = (names or names_of_unnamed(samples.shape[1]))[j]
        display = cls(
            x,
            predict(as_frame_of(X, grid)),
            levels,
            x_samples=None if targets is None else samples[:, j],
            y_samples=targets,
            x_label=label if len(grid[0]) == 1 else f"{label} (other features at their medians)",
        )
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_quantiles: Any,
        quantiles: Any = FAN_QUANTILES,
        *,
        x: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw given quantiles.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or None
            What was to be predicted; drawn with the fan.
        y_quantiles : array-like of shape (n_samples, n_quantiles)
            Predicted quantiles.
        quantiles : array-like of shape (n_quantiles,)
            Which ones these are, increasing.
        x : array-like of shape (n_samples,), optional
            Horizontal positions. By default samples are put in the order of their medians, or of
            the quantile that is closest.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs
            Arguments of `plot`.

        Returns
        -------
        QuantileFanDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_predictions")
        levels = _check_quantiles(quantiles)
        values = check_numbers(y_quantiles, "y_quantiles")
        if values.ndim != 2 or values.shape[1] != len(levels) or len(values) == 0:
            raise ValueError(
                f"y_quantiles must have shape (n_samples, {len(levels)}), got {values.shape}"
            )
        n = len(values)
        targets = None if y_true is None else check_targets(y_true, n)
        middle = np.abs(levels - 0.5).argmin()
        label = f"samples in the order of their {_say(levels[middle])}"
        if x is None:
            order = np.argsort(values[:, middle], kind="stable")
            places = np.arange(1.0, n + 1.0)
        else:
            given = check_numbers(x, "x")
            if given.shape != (n,):
                raise ValueError(f"x must have shape ({n},), got {given.shape}")
            order = np.argsort(given, kind="stable")
            places, label = given[order], "x"
        display = cls(
            places,
            values[order],
            levels,
            x_samples=None if targets is None else places,
            y_samples=None if targets is None else targets[order],
            x_label=label,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, color: Any = POSITIVE, labels: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        color : matplotlib colour
            Of the bands, which are more or less transparent.
        labels : bool, default=True
            Whether the quantiles are written beside their ends.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = ax, _ = axes_for(ax, type(self).__name__)
        self.samples_ = None
        if self.x_samples is not None and self.y_samples is not None:
            self.samples_ = ax.scatter(
                self.x_samples, self.y_samples, s=9, color=INK, alpha=0.45, linewidth=0, zorder=1.5
            )
        q = self.quantiles
        closeness = 1.0 - np.abs(q[1:] + q[:-1] - 1.0)  # 1 at the median, 0 at the ends
        self.bands_ = [
            ax.fill_between(
                self.x,
                self.values[:, k],
                self.values[:, k + 1],
                color=color,
                alpha=0.1 + 0.4 * closeness[k],
                linewidth=0,
            )
            for k in range(len(q) - 1)
        ]
        self.lines_ = []
        for k, level in enumerate(q):
            thick = 2.0 if level == 0.5 else 0.5
            self.lines_ += ax.plot(self.x, self.values[:, k], color=color, linewidth=thick)
        ax.set(xlim=self.x[[0, -1]], xlabel=self.x_label or "x", ylabel=self.y_label or "y")
        ax.set_ylim(ax.get_ylim())
        self.labels_ = []
        if labels:
            texts, end = [_say(level) for level in q], float(self.x[-1])
            self.labels_ = label_ends(ax, end, self.values[-1], texts, [color] * len(q))
        return self


def _say(quantile: float) -> str:
    """Return the name of a quantile."""
    return "median" if quantile == 0.5 else f"{100 * quantile:g} %"


def _check_quantiles(quantiles: Any) -> np.ndarray:
    levels = check_tau_columns(quantiles, "quantiles")
    if len(levels) < 2:
        raise ValueError(f"quantiles must be two or more, got {quantiles!r}")
    if not (np.diff(levels) > 0.0).all():
        raise ValueError(f"quantiles must increase, got {quantiles!r}")
    return levels


def _column(feature: Any, names: list[str] | None, n_features: int) -> int:
    """Return the position of a feature that is given by position or by name."""
    if feature is None:
        return 0
    if isinstance(feature, str):
        if names is None or feature not in names:
            raise ValueError(f"feature={feature!r} is not a column of X")
        return names.index(feature)
    if isinstance(feature, bool) or not isinstance(feature, (int, np.integer)):
        raise TypeError(f"feature must be a position or a name, got {feature!r}")
    if not 0 <= feature < n_features:
        raise ValueError(f"feature={feature} is not a column of X, which has {n_features}")
    return int(feature)
