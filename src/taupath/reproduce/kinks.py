"""Kinks against n, beside n log n.

The paper: "We found empirically that the number of kinks increases with the size of training set,
n, but is bounded by n log(n)." Kinks are counted on growing parts of its three sets, at the paper's
λ, and on the simulated samples of `lemma` with an RBF kernel, which the paper did not have.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from taupath.datasets import PaperData
from taupath.display.drawing import GREY, PALETTE
from taupath.fitting.classification import quantile_path
from taupath.reproduce import lemma
from taupath.reproduce.context import Check, Context, new_figure
from taupath.reproduce.text_tables import table
from taupath.reproduce.timing import PAPER_TIMES

# Samples in the smallest part, and random orders of the samples that parts are taken from.
SMALLEST_PART = 20
N_ORDERS = 3
SIMULATED = "simulated, RBF"


@dataclass(frozen=True)
class Count:
    """The kinks of one path."""

    name: str
    n_samples: int
    order: int
    kinks: int

    @property
    def bound(self) -> float:
        """The paper's n log n."""
        return float(self.n_samples * np.log(self.n_samples))


def sizes_up_to(n_samples: int) -> list[int]:
    """Return n_samples and its halves, the smallest first."""
    sizes = []
    while n_samples >= SMALLEST_PART:
        sizes.append(n_samples)
        n_samples = (n_samples + 1) // 2
    return sizes[::-1]


def measure(data: PaperData, n_orders: int = N_ORDERS) -> Iterator[Count]:
    """Count the kinks of growing parts of the training samples; the last part is all of them."""
    n = len(data.y_train)
    for order in range(n_orders):
        rows = np.random.default_rng(order).permutation(n)
        for size in sizes_up_to(n):
            if size == n and order:
                continue  # the same path in another order
            some = np.sort(rows[:size])
            y = data.y_train[some]
            if len(np.unique(y)) == 2:
                path = quantile_path(data.X_train[some], y, lam=data.lam)
                yield Count(data.name, size, order, path.n_kinks)


def simulated(
    sizes: tuple[int, ...] = lemma.SIZES[:-1], n_seeds: int = N_ORDERS
) -> Iterator[Count]:
    """Count the kinks of simulated samples with an RBF kernel."""
    for n_samples in sizes:
        for seed in range(n_seeds):
            yield Count(SIMULATED, n_samples, seed, lemma.simulated_path(n_samples, seed).n_kinks)


def reproduce(context: Context) -> list[Check]:
    """Count; print, write kinks.csv and kinks.png."""
    counts = {data.name: list(measure(data)) for data in context.sets}
    counts[SIMULATED] = list(simulated())
    for name, own in counts.items():
        context.say_all(_report(name, own))
    checks = [_check(name, own) for name, own in counts.items()]
    context.say_checks(checks)
    figure = new_figure(9.0, 3.8)
    _draw(figure.subplots(1, 2), counts)
    rows = [(*astuple(count), count.bound) for own in counts.values() for count in own]
    context.write("kinks", ["data", "n", "order", "kinks", "n log n"], rows, figure)
    return checks


def _by_size(own: list[Count]) -> dict[int, np.ndarray]:
    sizes = sorted({count.n_samples for count in own})
    return {n: np.array([c.kinks for c in own if c.n_samples == n]) for n in sizes}


def _report(name: str, own: list[Count]) -> list[str]:
    by_size = _by_size(own)
    paper = PAPER_TIMES.get(name)
    papers = [
        f"({paper.kinks})" if paper is not None and paper.n_samples == n else "-" for n in by_size
    ]
    columns = [
        ("n", [str(n) for n in by_size]),
        ("kinks, mean", [f"{kinks.mean():.0f}" for kinks in by_size.values()]),
        ("least", [str(kinks.min()) for kinks in by_size.values()]),
        ("greatest", [str(kinks.max()) for kinks in by_size.values()]),
        ("(paper)", papers),
        ("per sample", [f"{kinks.mean() / n:.2f}" for n, kinks in by_size.items()]),
        ("n log n", [f"{n * np.log(n):.0f}" for n in by_size]),
        ("as part of n log n", [f"{k.mean() / (n * np.log(n)):.2f}" for n, k in by_size.items()]),
    ]
    return table(name, columns)


def _check(name: str, own: list[Count]) -> Check:
    worst = max(own, key=lambda count: count.kinks / count.bound)
    means = {n: kinks.mean() for n, kinks in _by_size(own).items()}
    grows = bool((np.diff(list(means.values())) > 0).all())
    growth = ""
    if len(means) > 1:
        slope = np.polyfit(np.log(list(means)), np.log(list(means.values())), 1)[0]
        growth = f", about as n^{slope:.2f}"
    statement = f"{name}: kinks increase with n and are bounded by n log n"
    if name == SIMULATED:
        statement = "kinks are bounded by n log n (said of the three sets, not of kernels)"
    below_on_average = all(mean <= n * np.log(n) for n, mean in means.items())
    verdict = "differs"
    if grows and below_on_average:
        verdict = "agrees" if worst.kinks <= worst.bound else "mostly"
    return Check(
        statement,
        f"{'they increase' if grows else 'they do not always increase'}{growth}, and are "
        f"at most {worst.kinks / worst.bound:.2f} n log n (n = {worst.n_samples})",
        verdict,
    )


def _draw(axes: Any, counts: dict[str, list[Count]]) -> None:
    left, right = axes
    for k, (name, own) in enumerate(counts.items()):
        by_size = _by_size(own)
        sizes = np.array(list(by_size))
        means = np.array([kinks.mean() for kinks in by_size.values()])
        style = {"color": PALETTE[k], "linewidth": 1.6, "marker": "o", "markersize": 3.5}
        left.plot(sizes, means, label=name, **style)
        right.plot(sizes, means / (sizes * np.log(sizes)), label=name, **style)
        if name in PAPER_TIMES:
            paper = PAPER_TIMES[name]
            left.plot(paper.n_samples, paper.kinks, "D", color=PALETTE[k], fillstyle="none")
            part = paper.kinks / (paper.n_samples * np.log(paper.n_samples))
            right.plot(paper.n_samples, part, "D", color=PALETTE[k], fillstyle="none")
    n = np.geomspace(
        SMALLEST_PART, max(count.n_samples for own in counts.values() for count in own)
    )
    left.plot(n, n * np.log(n), color=GREY, linestyle="--", linewidth=1.0, label="n log n")
    right.axhline(1.0, color=GREY, linestyle="--", linewidth=1.0)
    left.plot([], [], "D", color=GREY, fillstyle="none", label="the paper's")
    left.set(xscale="log", yscale="log", xlabel="n", title="kinks")
    right.set(xscale="log", xlabel="n", title="kinks / (n log n)")
    right.set_ylim(bottom=0.0)
    left.legend(frameon=False, fontsize=9)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
