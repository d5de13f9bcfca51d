"""How long the RBF paths of a search will take, and which of its candidates are affordable."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from taupath.estimators.candidates import Candidate
from taupath.progress import duration

# CPU seconds of an RBF path of 4000 samples with C = 1, and the power of the number of samples
# that they grow with. Measured with 20 features: 0.22 s for 800 samples, 1.8 s for 2000 and 7.6 s
# for 4000. Paths with larger C took up to twice as long.
RBF_SECONDS, RBF_GROWTH, RBF_LARGE_C = 7.6, 2.2, 2.0
RBF_SAMPLES = 4000
# What a fold that is judged with a kernel matrix takes, as part of an exact path of as many
# samples. Measured: 0.01 to 0.03 for 3200 and 6400 samples. For 800 it was up to a tenth, when
# neither matters.
QUICK_SHARE = 1.0 / 60.0
# CPU seconds that the RBF paths of an automatic grid may take: a search that nobody has set up
# should be over within minutes.
MOST_RBF_SECONDS = 300.0
# How to try all of a grid.
TRY_ALL = "set kernel=['linear', 'rbf'] to try all"


class Affordable(NamedTuple):
    """The candidates to try, and what to tell about those that are not."""

    candidates: list[Candidate]
    left_out: list[str]


class PathSizes(NamedTuple):
    """The numbers of samples of all paths of a candidate, and how many kernel matrices fit."""

    final: list[int]
    of_folds: list[int]
    matrices: int


def path_sizes(y: np.ndarray, trained_on: Sequence[Any], multi_class: str) -> list[int]:
    """Return the number of samples of each path of a candidate, in all its fits together.

    `trained_on` has the samples of each fit, as they are taken from y.
    """
    found = []
    for which in trained_on:
        counts = np.unique(y[which], return_counts=True)[1].tolist()
        if len(counts) > 2 and multi_class == "ovr":
            found += [sum(counts)] * len(counts)
        else:
            found += [sum(pair) for pair in combinations(counts, 2)]
    return found


def rbf_seconds(candidates: Sequence[Candidate], sizes: PathSizes) -> float:
    """Return the CPU seconds that the RBF paths of some candidates will take, roughly."""
    rbf = [each for each in candidates if each.kernel == "rbf"]
    quick = len({each.gamma for each in rbf}) <= sizes.matrices
    final, of_folds = (
        RBF_SECONDS * sum(float((size / RBF_SAMPLES) ** RBF_GROWTH) for size in each)
        for each in (sizes.final, sizes.of_folds)
    )
    one = final + (QUICK_SHARE if quick else 1.0) * of_folds
    return sum(one * (1.0 if each.C <= 1.0 else RBF_LARGE_C) for each in rbf)


def affordable(grid: Sequence[Candidate], sizes: PathSizes, thinned: Sequence[str]) -> Affordable:
    """Return the candidates whose RBF paths together take up to MOST_RBF_SECONDS.

    If all take longer, only the least of the `thinned` parameters ("gamma", "C") are tried, one
    parameter after the other; if that is not enough, no RBF kernel.
    """
    others = [each for each in grid if each.kernel != "rbf"]
    kept = rbf = [each for each in grid if each.kernel == "rbf"]
    for name in thinned:
        if rbf_seconds(kept, sizes) > MOST_RBF_SECONDS:
            least = min(getattr(each, name) for each in kept)
            kept = [each for each in kept if getattr(each, name) == least]
    if kept == rbf and rbf_seconds(kept, sizes) <= MOST_RBF_SECONDS:
        return Affordable(list(grid), [])
    in_all, still = (duration(rbf_seconds(each, sizes)) for each in (rbf, kept))
    if rbf_seconds(kept, sizes) > MOST_RBF_SECONDS:
        few = "" if kept == rbf else f", and {still} with {_in_words(kept)} alone"
        why = f"it would take about {in_all} of CPU time{few}"
        return Affordable(others, [f"The RBF kernel is left out: {why}; {TRY_ALL}"])
    said = (
        f"The RBF kernel is tried with {_in_words(kept)} only: about {still} of CPU time instead "
        f"of {in_all}; {TRY_ALL}"
    )
    return Affordable([*others, *kept], [said])


def _in_words(candidates: Sequence[Candidate]) -> str:
    """Return the values of γ and C of some candidates."""
    gammas = dict.fromkeys(f"{each.gamma:.3g}" for each in candidates)
    Cs = dict.fromkeys(f"{each.C:g}" for each in candidates)
    return f"γ = {', '.join(gammas)} and C = {', '.join(Cs)}"
