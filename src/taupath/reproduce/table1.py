"""The paper's Table 1: sizes, sparsity, and λ chosen by validation accuracy at τ = ½."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taupath.datasets import PaperData
from taupath.display.drawing import GREY, INK, PALETTE
from taupath.fitting.classification import regularization_path
from taupath.reproduce.context import Context, new_figure
from taupath.reproduce.text_tables import percent, table

# The paper's candidates, and values in between for the picture.
LAMBDAS = [10.0**k for k in range(-6, 0)]
PER_DECADE = 8

# Of the CSV file: a line for each set and each λ.
HEAD = ["data", "train", "validation", "test", "features", "features (paper)", "zeros"]
HEAD += ["zeros (paper)", "λ chosen", "λ (paper)", "λ", "validation accuracy"]


@dataclass(frozen=True)
class PaperRow:
    """A row of the paper's Table 1."""

    sizes: tuple[int, int, int]
    n_features: int
    zeros: float
    lam: float


PAPER = {
    "diabetes": PaperRow((668, 50, 50), 8, 0.134, 1e-3),
    "spam": PaperRow((2500, 2500, 2500), 48784, 0.997, 1e-6),
    "splice": PaperRow((10_000, 10_000, 10_000), 804, 0.75, 1e-2),
}


@dataclass(frozen=True)
class Row:
    """One data set as it is here."""

    name: str
    sizes: tuple[int, ...]  # samples to train, to validate and to test
    n_features: int  # without the bias
    zeros: float  # share of all entries of the three parts
    lambdas: np.ndarray
    accuracy: np.ndarray  # validation accuracy at τ = ½, for each λ

    def at(self, lam: float) -> float:
        """Return the validation accuracy at one of the paper's candidates."""
        return float(self.accuracy[np.argmin(np.abs(np.log(self.lambdas / lam)))])

    @property
    def chosen(self) -> float:
        """The candidate with the highest accuracy; of equals the largest, the simplest function."""
        return max(LAMBDAS, key=lambda lam: (self.at(lam), lam))


def measure(data: PaperData) -> Row:
    """Return the row of one data set. All λ come from one path over C = 1 / (nλ)."""
    parts = (data.X_train, data.X_valid, data.X_test)
    n_entries = sum(X.shape[0] * X.shape[1] for X in parts)
    n_filled = sum(int(np.count_nonzero(X if isinstance(X, np.ndarray) else X.data)) for X in parts)
    lambdas = np.geomspace(LAMBDAS[0], LAMBDAS[-1], (len(LAMBDAS) - 1) * PER_DECADE + 1)
    costs = 1.0 / (len(data.y_train) * lambdas)
    path = regularization_path(data.X_train, data.y_train, tau=0.5, C_max=float(costs.max()))
    decisions = path.decision_function(data.X_valid, np.minimum(costs, path.taus[-1]))
    accuracy = ((decisions >= 0.0) == (data.y_valid > 0)[:, None]).mean(axis=0)
    return Row(
        name=data.name,
        sizes=tuple(X.shape[0] for X in parts),
        n_features=data.X_train.shape[1],
        zeros=1.0 - n_filled / n_entries,
        lambdas=lambdas,
        accuracy=accuracy,
    )


def reproduce(context: Context) -> list[Row]:
    """Measure all sets; print, write table1.csv and table1.png."""
    rows = [measure(data) for data in context.sets]
    context.say_all(_report(rows))
    figure = new_figure(3.2 * len(rows), 2.9)
    for ax, row in zip(figure.subplots(1, len(rows), squeeze=False)[0], rows, strict=True):
        _draw(ax, row)
    figure.supxlabel("square: the best of the six candidates; dashed: the paper's λ", fontsize=9)
    figure.supylabel(r"validation accuracy at $\tau$ = ½", fontsize=9)
    context.write("table1", HEAD, [line for row in rows for line in _lines(row)], figure)
    return rows


def _lines(row: Row) -> list[list[Any]]:
    paper = PAPER[row.name]
    about = [row.name, *row.sizes, row.n_features, paper.n_features, row.zeros, paper.zeros]
    return [[*about, row.chosen, paper.lam, lam, row.at(lam)] for lam in LAMBDAS]


def _report(rows: list[Row]) -> list[str]:
    papers = [PAPER[row.name] for row in rows]
    names = ("data", [row.name for row in rows])
    sizes = [
        names,
        ("train/valid./test", ["/".join(map(str, row.sizes)) for row in rows]),
        ("(paper)", [f"({'/'.join(map(str, paper.sizes))})" for paper in papers]),
        ("features", [str(row.n_features) for row in rows]),
        ("(paper)", [f"({paper.n_features})" for paper in papers]),
        ("zeros", [percent(row.zeros) for row in rows]),
        ("(paper)", [f"({percent(paper.zeros)})" for paper in papers]),
        ("λ chosen", [f"{row.chosen:.0e}" for row in rows]),
        ("(paper)", [f"({paper.lam:.0e})" for paper in papers]),
    ]
    choice = [
        names,
        *((f"λ = {lam:.0e}", [percent(row.at(lam), 2) for row in rows]) for lam in LAMBDAS),
        ("samples that the paper's λ costs", [_costs(row) for row in rows]),
    ]
    return [
        *table("Data sets (in brackets the paper's)", sizes),
        "",
        *table("Validation accuracy of the SVM with equal costs, τ = ½", choice),
    ]


def _costs(row: Row) -> str:
    """Return how many more validation samples are wrong with the paper's λ than with the best."""
    lost = (row.at(row.chosen) - row.at(PAPER[row.name].lam)) * row.sizes[1]
    return f"{lost:.0f} of {row.sizes[1]}"


def _draw(ax: Any, row: Row) -> None:
    paper = PAPER[row.name].lam
    ax.plot(row.lambdas, row.accuracy, color=PALETTE[0], linewidth=1.5)
    ax.plot(LAMBDAS, [row.at(lam) for lam in LAMBDAS], "o", color=PALETTE[0], markersize=4)
    ax.axvline(paper, color=GREY, linewidth=0.9, linestyle="--")
    ax.plot(row.chosen, row.at(row.chosen), "s", color=INK, markersize=7, fillstyle="none")
    ax.set(xscale="log", xlabel="λ", title=row.name)
    ax.spines[["top", "right"]].set_visible(False)
