"""What can be reproduced, by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from taupath.choices import REPRODUCED
from taupath.datasets import PathLike
from taupath.display.drawing import check_matplotlib
from taupath.reproduce import figure1, figure2, kinks, lemma, table1, table2
from taupath.reproduce.context import Context

# In the order in which "all" makes them: the longest comes last.
_PARTS: dict[str, tuple[str, Callable[[Context], Any]]] = {
    "table1": ("Table 1: data sets and λ", table1.reproduce),
    "figure1": ("Figure 1: decision boundaries and τ", figure1.reproduce),
    "figure2": ("Figure 2: TPR, TNR and accuracy along τ", figure2.reproduce),
    "lemma": ("Lemma 2.2 by simulation", lemma.reproduce),
    "kinks": ("Kinks against n", kinks.reproduce),
    "table2": ("Table 2: times and kinks", table2.reproduce),
}


def run(
    which: str,
    *,
    data: PathLike | None = None,
    output: Path,
    say: Callable[[str], None] = print,
) -> None:
    """Reproduce a part of the paper, or "all" of it.

    Each part prints its numbers beside the paper's by `say`, and writes a picture and a table of
    its name to the folder `output`: ``table1.png``, ``table1.csv``, and so on. `data` is the folder
    with the paper's data, by default the one named by ``TAUPATH_DATA``. Sets that are not there are
    left out, with a word about where to get them; if data are needed and there are none, that is a
    `DataNotFound`. "figure1" and "lemma" need no data.
    """
    if which not in REPRODUCED:
        raise ValueError(f"which must be one of {', '.join(REPRODUCED)}; got {which!r}")
    check_matplotlib("reproduce")
    context = Context(data, Path(output), say)
    context.output.mkdir(parents=True, exist_ok=True)
    for name in _PARTS if which == "all" else (which,):
        title, reproduce = _PARTS[name]
        context.say_all([title, "=" * len(title)])
        reproduce(context)
        context.say_all([f"written: {context.output / name}.png, {context.output / name}.csv"])
