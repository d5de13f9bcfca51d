"""Plots on logarithmic scales, as SVG that a page takes in: legible on light and dark ground."""

import io
import re

import solvers
from showing import Plot

__all__ = ["svg"]

# As light as they are dark: all have a contrast of three at least to white and to black.
COLOURS = ("#0a7fc4", "#d95f02", "#12936f", "#c2629a", "#a87b00")
COLOURS += ("#7b6fd6", "#7f7f7f", "#c0504d", "#5e8c31", "#8a6d3b")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Stands for the colour of the page's text, and is replaced by it.
INK = "#010203"
SIZE = (7.4, 3.7)


def svg(plot: Plot, prefix: str) -> str:
    """Return the picture of a plot; `prefix` keeps its names apart from those of others."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": prefix,
        "font.family": "sans-serif",
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=SIZE, layout="constrained")
        figure.patch.set_alpha(0.0)
        ax = figure.subplots()
        ax.patch.set_alpha(0.0)
        looks = _looks(list(plot.series))
        for name, points in plot.series.items():
            ax.plot(*zip(*points, strict=True), label=name, **looks[name])
            guessed = plot.guessed.get(name, ())
            if guessed:  # hollow, and not joined by a whole line
                hollow = {"markerfacecolor": "none", "linestyle": ":", "linewidth": 1.0}
                far = [points[-1], *guessed]
                ax.plot(*zip(*far, strict=True), markevery=slice(1, None), **looks[name] | hollow)
        ax.set(xscale="log", yscale="log", xlabel=plot.x, ylabel=plot.y, title=plot.title)
        heights = [y for points in plot.series.values() for _, y in points]
        if heights and max(heights) < 10.0 * min(heights):  # else powers of ten are enough
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter("{x:g}")
        ax.grid(which="major", color="#7f7f7f", alpha=0.3, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _for_a_page(text.getvalue(), plot, prefix)


def _looks(names: list[str]) -> dict[str, dict[str, object]]:
    """Return how each line looks: solvers the same in all plots, others unlike each other."""
    found = {name: _look(name) for name in names}
    if len({str(look) for look in found.values()}) < len(names):  # not all are solvers
        found = {name: _numbered(k) for k, name in enumerate(names)}
    return found


def _look(name: str) -> dict[str, object]:
    """Return how the line of a solver looks, the same in all plots; ours is the thickest."""
    known = [solvers.load(each).name for each in solvers.NAMES]
    # the longest name that it begins with: "taupath, approximate" is not "taupath"
    own = max((each for each in known if name.startswith(each)), key=len, default=name)
    return _numbered(known.index(own) if own in known else len(known))


def _numbered(k: int) -> dict[str, object]:
    again = k >= len(COLOURS)  # dashed, and not in our colour
    return {
        "color": COLOURS[k - len(COLOURS) + 1 if again else k],
        "marker": MARKERS[k % len(MARKERS)],
        "linestyle": "--" if again else "-",
        "linewidth": 2.4 if k == 0 else 1.4,
        "markersize": 5,
    }


def _for_a_page(picture: str, plot: Plot, prefix: str) -> str:
    """Return the element alone, with names of its own, the page's ink, and a name for readers."""
    picture = re.sub(r"<metadata>.*?</metadata>", "", picture[picture.index("<svg") :], flags=re.S)
    picture = re.sub(r'\bid="', f'id="{prefix}-', picture)
    picture = picture.replace('href="#', f'href="#{prefix}-').replace("url(#", f"url(#{prefix}-")
    picture = picture.replace(INK, "currentColor")
    label = f'role="img" aria-label="{plot.title}: {plot.y} against {plot.x}"'
    width = 'style="width: 100%; height: auto; max-width: 52rem"'
    picture = re.sub(r'<svg ([^>]*?)width="[^"]*"', rf"<svg {label} {width} \1", picture, count=1)
    return re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", picture, count=1)
