"""Decision boundaries of several τ over two features: the paper's Figure 1."""

from typing import Any, Self

import numpy as np
from scipy.ndimage import minimum_filter1d
from scipy.spatial import cKDTree

from taupath.choices import names_of_unnamed
from taupath.display.drawing import (
    FONT_SIZE,
    INK,
    NEGATIVE,
    POSITIVE,
    axes_for,
    check_matplotlib,
    shades,
)
from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.costs import check_tau_columns
from taupath.estimators.pipelines import last_step
from taupath.outcomes.inputs import (
    check_binary_classifier,
    column_names,
    columns_of,
    grid_around,
    positive_of,
)
from taupath.validation import check_integer

# Length of a label, as a fraction of the axes; also its distance from the edge, if there is room.
LABEL_ROOM = 0.12


class BoundaryDisplay:
    """Decision boundaries of several τ, with the samples.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n_grid, n_grid)
        The two features on a grid.
    responses : ndarray of shape (n_taus, n_grid, n_grid)
        The positive class is predicted where this is ≥ 0: f_τ(x) or, with ``monotone=True``, the
        probability minus τ.
    taus : ndarray of shape (n_taus,)
        The values of τ.
    X : ndarray of shape (n_samples, 2), optional
        Samples.
    positive : ndarray of bool of shape (n_samples,), optional
        Which of them are positive.
    classes : sequence of two labels, optional
        Names of the negative and the positive class in the legend.
    feature_names : sequence of two str, optional
        Labels of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    contours_ : list of matplotlib QuadContourSet
        The boundary of each τ, None where there is none within the grid.
    surface_ : matplotlib QuadContourSet
        The two sides, where there is one τ only; else None.
    samples_ : list of matplotlib PathCollection
        Negative and positive samples.
    """

    def __init__(
        self,
        xx0: np.ndarray,
        xx1: np.ndarray,
        responses: np.ndarray,
        taus: np.ndarray,
        *,
        X: np.ndarray | None = None,
        positive: np.ndarray | None = None,
        classes: Any = None,
        feature_names: Any = None,
    ) -> None:
        self.xx0, self.xx1, self.responses, self.taus = xx0, xx1, responses, taus
        self.X, self.positive, self.classes = X, positive, classes
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        taus: Any = (0.1, 0.3, 0.5, 0.7, 0.9),
        grid_resolution: int = 200,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the boundaries of a classifier.

        Parameters
        ----------
        estimator : QuantileSVC
            Fitted to two features and two classes; also as the last step of a pipeline, or in a
            search.
        X : array-like of shape (n_samples, 2)
            Samples: the grid spans them.
        y : array-like of shape (n_samples,), optional
            Their labels; without them, samples are not drawn.
        taus : float or array-like of shape (n_taus,)
            Whose boundaries to draw.
        grid_resolution : int, default=200
            Points of the grid along each feature.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs
            Arguments of `plot`.

        Returns
        -------
        BoundaryDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        check_binary_classifier(estimator)
        model, before = last_step(estimator)
        if not isinstance(model, QuantileSVC):
            raise TypeError(f"estimator must be a QuantileSVC, got {type(model).__name__}")
        if model.kernel == "precomputed":
            raise ValueError('kernel="precomputed" has no features to draw boundaries over')
        several = check_tau_columns(np.atleast_1d(taus))
        if len(several) == 0:
            raise ValueError("taus is empty")
        n_grid = check_integer(grid_resolution, "grid_resolution", least=2)
        samples = columns_of(X)
        if samples.shape[1] != 2:
            raise ValueError(
                f"X must have two features for boundaries to be drawn, got {samples.shape[1]}"
            )
        positive = None if y is None else positive_of(estimator, X, y)
        xx0, xx1, grid = grid_around(X, samples, n_grid)
        for step in before:
            grid = step.transform(grid)
        responses = model._towards * model.decision_function(grid, taus=several).T
        display = cls(
            xx0,
            xx1,
            responses.reshape(-1, *xx0.shape),
            several,
            X=samples,
            positive=positive,
            classes=sorted(model.classes_.tolist(), key=lambda c: c == model.pos_label_),
            feature_names=column_names(X),
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, labels: bool = True, legend: bool = True) -> Self:
        """Draw.

        One τ: its boundary, and the two sides in the colours of the classes. Several: the
        boundaries only.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        labels : bool, default=True
            Whether τ is written on the boundaries.
        legend : bool, default=True
            Whether there is a legend of the classes.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = ax, _ = axes_for(ax, type(self).__name__, (6.0, 4.8))
        one = len(self.taus) == 1
        self.surface_ = None
        if one:
            self.surface_ = ax.contourf(
                self.xx0,
                self.xx1,
                self.responses[0] >= 0.0,
                levels=[-0.5, 0.5, 1.5],
                colors=[NEGATIVE, POSITIVE],
                alpha=0.12,
            )
        self._plot_samples()
        self.contours_: list[Any] = []
        colors = [INK] if one else shades(self.taus)
        for response, color in zip(self.responses, colors, strict=True):
            if response.min() >= 0.0 or response.max() <= 0.0:
                self.contours_.append(None)
                continue
            contour = ax.contour(
                self.xx0, self.xx1, response, levels=[0.0], colors=[color], linewidths=2.0
            )
            self.contours_.append(contour)
        if labels:
            self._label()
        names = names_of_unnamed(2) if self.feature_names is None else self.feature_names
        ax.set(xlabel=names[0], ylabel=names[1])
        if legend and self.positive is not None:
            ax.legend(
                frameon=True,
                framealpha=0.9,
                edgecolor="none",
                fontsize=FONT_SIZE,
                title="class",
                title_fontsize=FONT_SIZE,
            )
        return self

    def _label(self) -> None:
        """Write each τ on its boundary, far from the other boundaries and from the edge."""
        import matplotlib.patheffects as effects

        corner = np.array([self.xx0[0, 0], self.xx1[0, 0]])
        size = np.array([self.xx0[-1, -1], self.xx1[-1, -1]]) - corner
        lines = [
            None if contour is None else (np.concatenate(contour.allsegs[0]) - corner) / size
            for contour in self.contours_
        ]
        length = max(int(LABEL_ROOM * len(self.xx0)), 1)  # of a label, in points of a line
        written = np.empty((0, 2))
        for k, line in enumerate(lines):
            if line is None:
                continue
            others = [other for j, other in enumerate(lines) if other is not None and j != k]
            # distance from other lines, all along the label; from other labels; from the edge
            away = minimum_filter1d(_distance(line, np.concatenate(others or [written])), length)
            room = 4.0 * np.minimum(away, 0.5 * LABEL_ROOM)
            room += np.minimum(_distance(line, written), 1.5 * LABEL_ROOM)
            room += np.minimum(np.minimum(line, 1.0 - line).min(axis=1), LABEL_ROOM)
            # among places that are about equally good, prefer the middle
            best = int((room - 0.2 * np.linalg.norm(line - 0.5, axis=1)).argmax())
            written = np.vstack((written, line[best]))
            for text in self.contours_[k].clabel(
                fmt=rf"$\tau$ = {self.taus[k]:g}",
                fontsize=FONT_SIZE,
                manual=[tuple(corner + size * line[best])],
            ):
                text.set_path_effects([effects.withStroke(linewidth=3.0, foreground="white")])

    def _plot_samples(self) -> None:
        self.samples_ = []
        if self.X is None or self.positive is None:
            return
        names = ("negative", "positive") if self.classes is None else self.classes
        for sign, marker, color in ((False, "o", NEGATIVE), (True, "s", POSITIVE)):
            own = self.X[self.positive == sign]
            self.samples_.append(
                self.ax_.scatter(
                    own[:, 0],
                    own[:, 1],
                    s=16,
                    marker=marker,
                    color=color,
                    alpha=0.6,
                    linewidth=0,
                    label=str(names[int(sign)]),
                )
            )


def _distance(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the distance of each point to the nearest of the others; infinity if there is none."""
    return np.asarray(
        cKDTree(others).query(points)[0] if len(others) else np.full(len(points), np.inf)
    )
