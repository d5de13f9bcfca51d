"""Draw the picture of the README, once for light and once for dark pages: `make picture`.

Two measurements of scikit-learn's breast cancer data, one fit on half of the cases: boundaries for
three pairs of costs, and what every τ does on the other half.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from taupath import QuantileSVC

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
COLUMNS = ["mean texture", "mean concave points"]

# τ, and what it stands for
COSTS = [
    (0.1, "a miss costs 9\nfalse alarms"),
    (0.5, "both cost\nthe same"),
    (0.9, "a false alarm\ncosts 9 misses"),
]
SIDES = ["left", "center", "right"]  # where their words are
STYLES = {
    "light": {"ink": "#1f2328", "faint": "#8c959f", "taus": ["#b35900", "#6e40aa", "#0a7d6e"]},
    "dark": {"ink": "#e6edf3", "faint": "#7d8590", "taus": ["#ffa657", "#d2a8ff", "#56d4c0"]},
}
CLASSES = {"light": ["#5b8db8", "#c0455a"], "dark": ["#6ca6d9", "#f0788c"]}


class Case:
    """The data, and one fit of half of them."""

    def __init__(self) -> None:
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        self.X, self.ill = X[COLUMNS].to_numpy(), y.to_numpy() == 0
        train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=0)
        self.scaler = StandardScaler().fit(self.X[train])
        self.model = QuantileSVC(C=1.0).fit(self.scaler.transform(self.X[train]), self.ill[train])
        self.test = test

    def flagged(self, tau: np.ndarray) -> np.ndarray:
        """Return whether each case that was left out is taken for ill, a column for each τ."""
        path = self.model.path_
        return path.decision_function(self.scaler.transform(self.X[self.test]), tau) >= 0.0

    def rates(self, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of the ill that are found, and of the healthy that are left alone."""
        flagged, ill = self.flagged(tau), self.ill[self.test]
        return flagged[ill].mean(axis=0), 1.0 - flagged[~ill].mean(axis=0)

    def line(self, tau: float, x: np.ndarray) -> np.ndarray:
        """Return where on the second axis the boundary is."""
        (a, b), c = self.model.path_.coef(tau), self.model.path_.intercept(tau)
        scaled = (x - self.scaler.mean_[0]) / self.scaler.scale_[0]
        return -(a * scaled + c) / b * self.scaler.scale_[1] + self.scaler.mean_[1]


def draw_boundaries(ax: Axes, case: Case, style: dict, classes: list[str]) -> None:
    """Draw cases, many boundaries, and those of the three pairs of costs."""
    test = case.test
    for is_ill, name, marker in ((False, "benign", "o"), (True, "malignant", "^")):
        of_class = test[case.ill[test] == is_ill]
        ax.scatter(
            *case.X[of_class].T, s=14, marker=marker, color=classes[is_ill], lw=0, alpha=0.75,
            label=name,
        )  # fmt: skip
    low, high = case.X.min(axis=0), case.X.max(axis=0)
    x = np.array([low[0] - 1.0, high[0] + 1.0])
    for tau in np.linspace(0.02, 0.98, 25):
        ax.plot(x, case.line(tau, x), color=style["faint"], lw=0.6, alpha=0.6, zorder=1)
    for (tau, _), color in zip(COSTS, style["taus"], strict=True):
        ax.plot(x, case.line(tau, x), color=color, lw=2.4, zorder=3)
    ax.set(xlim=x, ylim=(low[1] - 0.008, 0.175), xlabel=COLUMNS[0], ylabel=COLUMNS[1])
    ax.set_title("One fit: a boundary for every cost")
    ax.legend(loc="upper right", frameon=False, handletextpad=0.2)


def draw_rates(ax: Axes, case: Case, style: dict, classes: list[str]) -> None:
    """Draw both rates along τ, and mark the three pairs of costs."""
    kinks = case.model.path_.taus
    taus = np.sort(np.concatenate([kinks, 0.5 * (kinks[1:] + kinks[:-1])]))
    for rate, color in zip(case.rates(taus), classes[::-1], strict=True):
        ax.plot(taus, 100.0 * rate, color=color, lw=1.8)
    for (tau, words), color, side in zip(COSTS, style["taus"], SIDES, strict=True):
        found, cleared = (100.0 * rate[0] for rate in case.rates(np.array([tau])))
        ax.plot([tau, tau], [44.0, 103.0], color=color, lw=2.4, zorder=1)
        ax.plot([tau, tau], [found, cleared], "o", color=color, ms=6)
        words = f"{words}:\n{found:.0f} % found,\n{cleared:.0f} % cleared"
        place = {"left": tau - 0.02, "center": tau, "right": tau + 0.03}[side]
        ax.text(place, 42.0, words, color=color, ha=side, va="top", linespacing=1.35)
    ax.text(0.13, 74.0, "benign: cleared", color=classes[0])
    ax.text(0.53, 62.0, "malignant: found", color=classes[1])
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 103.0), ylabel="% of the cases left out of the fit")
    ax.set_xlabel("τ = cost of a false alarm / (false alarm + miss)")
    ax.set_title("What each of them does to new cases")


def draw(case: Case, name: str) -> Figure:
    """Return the picture in the style of this name."""
    style, classes = STYLES[name], CLASSES[name]
    ink = style["ink"]
    settings = {
        "font.family": "DejaVu Sans",
        "font.size": 10.0,
        "axes.titlesize": 12.0,
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "taupath",  # the same file every time
        "axes.spines.top": False,
        "axes.spines.right": False,
        **{f"{key}.color": ink for key in ("text", "xtick", "ytick")},
        **{f"axes.{key}color": ink for key in ("edge", "label", "title")},
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=(9.6, 3.9), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_boundaries(left, case, style, classes)
        draw_rates(right, case, style, classes)
    return figure


def main(arguments: list[str] | None = None) -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, help="folder to write to")
    folder = parser.parse_args(arguments).output
    case = Case()
    for name in STYLES:
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "taupath"}):
            draw(case, name).savefig(
                folder / f"costs-{name}.svg", transparent=True, metadata={"Date": None}
            )


if __name__ == "__main__":
    main()
