"""Drawing that the displays share: axes, colours, curves, and labels that do not overlap."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from taupath.exceptions import install_command

# Okabe and Ito's colours, which the colour-blind can tell apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
POSITIVE, NEGATIVE = PALETTE[:2]
INK, GREY = "#222222", "#8c8c8c"

TAU_LABEL = r"$\tau$ = cost of a false positive / (that + cost of a false negative)"

# The `gid` by which curves are counted, so that each one in the same axes gets another colour.
CURVE = "taupath curve"
FONT_SIZE = 9
# Height of a line of text, in units of the font size.
LINE_HEIGHT = 1.35


def check_matplotlib(who: str) -> None:
    """Raise a readable error if matplotlib is missing."""
    try:
        import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError(
            f"{who} needs matplotlib; install it with: {install_command('matplotlib')}"
        ) from error


def axes_for(ax: Any, who: str, size: tuple[float, float] = (6.0, 4.2)) -> tuple[Any, Any]:
    """Return the axes to draw on and their figure; new ones, without a box, if `ax` is None."""
    check_matplotlib(f"{who}.plot")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
    return ax, ax.figure


def drawn_lines(ax: Any) -> dict[str, Any]:
    """Return the lines in these axes, by label."""
    return {line.get_label(): line for line in ax.get_lines()}


def draw_curve(
    ax: Any, x: np.ndarray, y: np.ndarray, given: dict[str, Any], **defaults: Any
) -> Any:
    """Return a new curve, in a colour that no other one in these axes has yet.

    A style that the user has given, under any alias, overrides the defaults.
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    n_drawn = sum(line.get_gid() == CURVE for line in ax.get_lines())
    style = {"color": PALETTE[n_drawn % len(PALETTE)], "linewidth": 1.8, "gid": CURVE, "zorder": 3}
    (line,) = ax.plot(x, y, **(style | defaults | normalize_kwargs(given, Line2D)))
    return line


def shades(values: np.ndarray) -> np.ndarray:
    """Return colours of an ordered quantity in [0, 1]: dark for 0, never too light to be seen."""
    import matplotlib as mpl

    return np.asarray(mpl.colormaps["viridis"](0.88 * np.asarray(values)))


def label_ends(
    ax: Any,
    x: float,
    heights: Sequence[float],
    texts: Sequence[str],
    colors: Sequence[Any],
    x_from: float | None = None,
) -> list[Any]:
    """Write labels to the right of x, as close to their heights as possible without overlap.

    A thin line leads to each label from its height at `x_from`, by default x itself. The limits of
    the axes must be final.
    """
    low, high = ax.get_ylim()
    points = ax.get_window_extent().height * 72.0 / ax.figure.dpi
    line = LINE_HEIGHT * FONT_SIZE / points * (high - low)
    order = np.argsort(heights, kind="stable")
    # positions at least one line apart, with the least sum of squared shifts
    stack = line * np.arange(len(order))
    top = max(high - (stack[-1] if len(order) else 0.0), low)
    free = IsotonicRegression(y_min=low, y_max=top)
    positions = free.fit_transform(np.arange(len(order)), np.asarray(heights)[order] - stack)
    left, right = ax.get_xlim()
    gap = 0.02 * (right - left)
    x_from = x if x_from is None else x_from
    written: list[Any] = [None] * len(order)
    for k, y in zip(order, positions + stack, strict=True):
        leader = {"arrowstyle": "-", "linewidth": 0.6, "color": colors[k], "relpos": (0.0, 0.5)}
        written[k] = ax.annotate(
            texts[k],
            (x_from, heights[k]),
            xytext=(x + gap, y),
            va="center",
            color=colors[k],
            fontsize=FONT_SIZE,
            annotation_clip=False,
            arrowprops=leader | {"shrinkA": 1.0, "shrinkB": 0.0, "zorder": 2.5},
        )
    return written
