"""Which features have a weight, and where along the path."""

from typing import Any, Self

import numpy as np

from taupath.choices import names_of_unnamed
from taupath.display.drawing import (
    FONT_SIZE,
    NEGATIVE,
    POSITIVE,
    TAU_LABEL,
    axes_for,
    check_matplotlib,
)
from taupath.estimators.pipelines import feature_names_of, last_step
from taupath.paths.path import SolutionPath
from taupath.validation import check_integer

# Height of a bar, of the height that there is for one feature.
BAR = 0.7
# Inches of the figure for each feature, and for the rest.
PER_FEATURE, FOR_THE_REST = 0.22, 1.0
# Names of parameters along the axis.
AXIS_LABELS = {"tau": TAU_LABEL, "l1": r"$\lambda_1$", "rho": r"$\rho$"}


class FeatureEntryDisplay:
    """Where along a sparse path each feature has a weight other than zero.

    One bar for each range, in one colour for positive weights and another for negative ones.

    Parameters
    ----------
    ranges : list of ndarrays of shape (n_ranges, 2)
        Of each feature that is shown, where its ranges begin and end.
    signs : list of ndarrays of shape (n_ranges,)
        The signs of the weights there.
    feature_names : sequence of str
        Names of these features.
    n_unused : int, default 0
        How many of all features never have a weight.
    limits : (float, float)
        Both ends of the path.
    label : str
        Label of the horizontal axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    bars_ : list of matplotlib collections
        The bars of each feature.
    """

    def __init__(
        self,
        ranges: list[np.ndarray],
        signs: list[np.ndarray],
        feature_names: Any,
        *,
        limits: tuple[float, float],
        label: str = TAU_LABEL,
        n_unused: int = 0,
    ) -> None:
        self.ranges, self.signs, self.feature_names = ranges, signs, list(feature_names)
        self.limits, self.label, self.n_unused = limits, label, n_unused

    @classmethod
    def from_path(
        cls, path: Any, *, feature_names: Any = None, max_features: int = 40, ax: Any = None
    ) -> Self:
        """Draw the features of a path with `l1` or constraints.

        Parameters
        ----------
        path : SolutionPath
            Over τ, over λ₁ or over ρ.
        feature_names : sequence of str, optional
            Names of all features; by default x1, x2, ...
        max_features : int, default=40
            How many features are shown at most: those that have a weight for longest.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        FeatureEntryDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_path")
        if not isinstance(path, SolutionPath):
            raise TypeError(f"path must be a SolutionPath, got {type(path).__name__}")
        n_features = path.data.shape[1]
        names = names_of_unnamed(n_features)
        if feature_names is not None:
            names = [str(name) for name in feature_names]
        if len(names) != n_features:
            raise ValueError(
                f"feature_names has {len(names)} names, the path {n_features} features"
            )
        return cls._of(path, names, max_features).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Any = None, max_features: int = 40, ax: Any = None
    ) -> Self:
        """Draw the features of an estimator with `l1` or constraints.

        Parameters
        ----------
        estimator : QuantileSVC or QuantileSVR
            Fitted, with one path; also as the last step of a pipeline, or in a search.
        feature_names, max_features, ax
            As in `from_path`; names are by default those that `fit` was given.

        Returns
        -------
        FeatureEntryDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        model, before = last_step(estimator)
        if not hasattr(model, "path_"):
            raise ValueError(
                f"{type(model).__name__} has no single path; give one of `paths_` to `from_path`"
            )
        names = feature_names_of(model, before, feature_names)
        return cls._of(model.path_, names, max_features).plot(ax=ax)

    @classmethod
    def _of(cls, path: SolutionPath, names: list[str], max_features: int) -> Self:
        check_integer(max_features, "max_features", least=1)
        ranges = path.nonzero_ranges()
        length = np.array([np.diff(own).sum() for own in ranges])
        shown = np.argsort(-length, kind="stable")[: min(max_features, np.count_nonzero(length))]
        signs = [
            np.sign([path.coef(float(middle))[j] for middle in ranges[j].mean(axis=1)])
            for j in shown
        ]
        return cls(
            [ranges[j] for j in shown],
            signs,
            [names[j] for j in shown],
            limits=path.tau_range,
            label=AXIS_LABELS.get(path.job.parameter, path.job.parameter),
            n_unused=int(np.count_nonzero(length == 0.0)),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        self
        """
        n = len(self.ranges)
        size = (7.0, FOR_THE_REST + PER_FEATURE * max(n, 3))
        self.ax_, self.figure_ = ax, _ = axes_for(ax, type(self).__name__, size)
        self.bars_ = []
        for k, (ranges, signs) in enumerate(zip(self.ranges, self.signs, strict=True)):
            pieces = [(begin, end - begin) for begin, end in ranges]
            colors = [POSITIVE if sign > 0.0 else NEGATIVE for sign in signs]
            self.bars_.append(ax.broken_barh(pieces, (k - 0.5 * BAR, BAR), facecolors=colors))
        ax.set_yticks(range(n), self.feature_names, fontsize=FONT_SIZE)
        ax.set(xlim=self.limits, ylim=(n - 0.5, -0.5), xlabel=self.label)
        if self.label == AXIS_LABELS["l1"]:
            # most happens where the penalty is small
            ax.set_xscale("function", functions=(np.cbrt, lambda value: value**3))
        unused = f"; {self.n_unused} features never have a weight" if self.n_unused else ""
        ax.set_title(
            f"blue: positive weights, orange: negative{unused}", fontsize=FONT_SIZE, loc="left"
        )
        return self
