"""Lemma 2.2 by simulation: f_τ(x) ≥ 0 becomes η(x) ≥ τ as n grows and λ falls.

x is uniform on [0, 1] and η(x) = P(Y = 1 | x) = 1/2 + 2/5 sin 2πx. The kernel is an RBF, whose
functions can approximate any continuous one; λ = 1 / (10 √n), so that λ → 0 while nλ → ∞. The
distance of a path to the truth is the measure of the symmetric difference of {x : f_τ(x) ≥ 0} and
{x : η(x) ≥ τ}, averaged over τ: over x on a fine grid, over τ exactly.
"""

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from taupath.display.drawing import GREY, INK, PALETTE, POSITIVE
from taupath.fitting.classification import quantile_path
from taupath.paths.blocks import slices
from taupath.paths.path import SolutionPath
from taupath.reproduce.context import Check, Context, new_figure
from taupath.reproduce.text_tables import table

SIZES = (50, 100, 200, 400, 800, 1600)
N_SEEDS = 5
GAMMA = 30.0
N_GRID = 200
# Grid points evaluated at a time.
SAMPLES_AT_A_TIME = 50


@dataclass(frozen=True)
class Row:
    """One path: the sample it was fitted to, and how far it is from the truth."""

    n_samples: int
    seed: int
    lam: float
    kinks: int
    distance: float


def eta(x: np.ndarray) -> np.ndarray:
    """Return P(Y = 1 | x)."""
    return np.asarray(0.5 + 0.4 * np.sin(2.0 * np.pi * x))


def draw(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a sample: X of shape (n_samples, 1), and labels -1 and +1."""
    rng = np.random.default_rng([seed, n_samples])
    x = rng.uniform(size=n_samples)
    return x[:, None], np.where(rng.uniform(size=n_samples) < eta(x), 1, -1)


def regularization(n_samples: int) -> float:
    """Return λ."""
    return float(0.1 / np.sqrt(n_samples))


def simulated_path(n_samples: int, seed: int) -> SolutionPath:
    """Return the whole path of a sample."""
    X, y = draw(n_samples, seed)
    return quantile_path(X, y, lam=regularization(n_samples), kernel="rbf", gamma=GAMMA)


def distance(path: SolutionPath, x: np.ndarray) -> float:
    """Return the mean over x of the length of {τ : f_τ(x) ≥ 0} beside {τ : τ ≤ η(x)}.

    With A the length of {τ ≤ η(x) : f_τ(x) ≥ 0} and B that of {τ : f_τ(x) ≥ 0}, the symmetric
    difference has the length η + B - 2A.
    """
    total = 0.0
    for some in slices(len(x), SAMPLES_AT_A_TIME):
        taus, values = path.values_at_nodes(x[some, None])
        truth = eta(x[some])
        low, high = _positive_part(taus, values)
        all_of_it = (high - low).sum(axis=1)
        below = np.maximum(np.minimum(high, truth[:, None]) - low, 0.0).sum(axis=1)
        total += float((truth + all_of_it - 2.0 * below).sum())
    return total / len(x)


def _positive_part(taus: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each sample and each pair of neighbouring nodes, where f ≥ 0 between them."""
    begin, end = np.broadcast_arrays(taus[:-1], taus[1:], values[:, 1:])[:2]
    before, after = values[:, :-1], values[:, 1:]
    falls, rises = (before >= 0.0) & (after < 0.0), (before < 0.0) & (after >= 0.0)
    fall = np.where(falls | rises, before - after, 1.0)
    crossing = begin + (end - begin) * before / fall
    low = np.where(rises, crossing, begin)
    high = np.where(falls, crossing, np.where((before < 0.0) & ~rises, begin, end))
    return low, high


def measure(
    sizes: tuple[int, ...] = SIZES, n_seeds: int = N_SEEDS, n_grid: int = N_GRID
) -> list[Row]:
    """Return the distance of the path of every size and every seed."""
    grid = (np.arange(n_grid) + 0.5) / n_grid
    rows = []
    for n_samples in sizes:
        for seed in range(n_seeds):
            path, lam = simulated_path(n_samples, seed), regularization(n_samples)
            rows.append(Row(n_samples, seed, lam, path.n_kinks, distance(path, grid)))
    return rows


def reproduce(context: Context) -> list[Check]:
    """Simulate; print, write lemma.csv and lemma.png."""
    rows = measure()
    sizes = sorted({row.n_samples for row in rows})
    by_size = {n: np.array([r.distance for r in rows if r.n_samples == n]) for n in sizes}
    means = np.array([by_size[n].mean() for n in sizes])
    columns = [
        ("n", [str(n) for n in sizes]),
        ("λ", [f"{regularization(n):.4f}" for n in sizes]),
        ("distance, mean", [f"{mean:.4f}" for mean in means]),
        ("least", [f"{by_size[n].min():.4f}" for n in sizes]),
        ("greatest", [f"{by_size[n].max():.4f}" for n in sizes]),
    ]
    n_seeds = len(by_size[sizes[0]])
    title = (
        f"Measure of {{f_τ ≥ 0}} beside {{η ≥ τ}}, averaged over τ; {n_seeds} samples of each "
        f"size, RBF, γ = {GAMMA:g}"
    )
    context.say_all(table(title, columns))
    slope = float(np.polyfit(np.log(sizes), np.log(means), 1)[0])
    falls = bool((np.diff(means) < 0.0).all())
    checks = [
        Check.that(
            "sign f_τ approaches sign(η - τ) as n → ∞ and λ → 0",
            f"the mean distance falls {'with every step' if falls else 'mostly'} from "
            f"{means[0]:.4f} at n = {sizes[0]} to {means[-1]:.4f} at n = {sizes[-1]}, about as "
            f"n^{slope:.2f}",
            falls,
        )
    ]
    context.say_checks(checks)
    figure = new_figure(12.0, 3.2)
    *planes, last = figure.subplots(1, 4)
    for ax, n_samples in zip(planes, (sizes[0], sizes[len(sizes) // 2], sizes[-1]), strict=True):
        _draw_plane(ax, n_samples)
    _draw_distances(last, rows, sizes, means, slope)
    context.write("lemma", ["n", "seed", "λ", "kinks", "distance"], map(astuple, rows), figure)
    return checks


def _draw_plane(ax: Any, n_samples: int) -> None:
    """Draw where f_τ(x) ≥ 0 in the plane of x and τ, with the curve τ = η(x)."""
    grid, taus = np.linspace(0.0, 1.0, 301), np.linspace(0.0, 1.0, 301)
    path = simulated_path(n_samples, seed=0)
    nodes, values = path.values_at_nodes(grid[:, None])
    decisions = np.array([np.interp(taus, nodes, value) for value in values]).T
    ax.contourf(
        grid, taus, decisions >= 0.0, levels=[-0.5, 0.5, 1.5], colors=["white", POSITIVE], alpha=0.3
    )
    ax.plot(grid, eta(grid), color=INK, linewidth=1.5)
    ax.text(0.62, 0.55, r"$\eta(x)$", color=INK)
    ax.text(0.05, 0.08, r"$f_\tau(x) \geq 0$", color=POSITIVE)
    ax.set(xlabel="x", ylabel=r"$\tau$", title=f"n = {n_samples}", xlim=(0, 1), ylim=(0, 1))


def _draw_distances(
    ax: Any, rows: list[Row], sizes: list[int], means: np.ndarray, slope: float
) -> None:
    ax.plot(
        [row.n_samples for row in rows],
        [row.distance for row in rows],
        "o",
        color=GREY,
        markersize=3,
        label="one sample",
    )
    ax.plot(
        sizes, means, color=PALETTE[0], linewidth=1.8, label=rf"mean, about $n^{{{slope:.2f}}}$"
    )
    ax.set(xscale="log", yscale="log", xlabel="n", title="distance to the truth")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)
