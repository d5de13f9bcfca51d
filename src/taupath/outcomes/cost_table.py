"""Tables as text: numbers of mistakes and their cost at each price of a miss."""

from collections.abc import Mapping, Sequence
from typing import Any

# Names of true positives, false negatives, true negatives and false positives.
NAMES = ("found", "missed", "cleared", "false alarms")


def cost_table(
    columns: Mapping[str, Any], own_costs: bool, marked: Any = None, names: Sequence[str] = NAMES
) -> list[str]:
    """Return a table of mistakes and costs, with a line for each price of a miss.

    `columns` are what `taupath.evaluate` returns. With `own_costs`, each line has costs of its own,
    so the cost without a model differs from line to line and is shown. `marked` lines begin with a
    star.
    """
    found, missed, cleared, alarms = names
    n_positive, n_negative = columns["tp"] + columns["fn"], columns["tn"] + columns["fp"]
    table = {
        "miss : alarm": ([ratio_of(tau) for tau in columns["tau"]], "{}"),
        "τ": (columns["tau"], "{:.3f}"),
        found: (_shares(columns["tp"], n_positive), "{}"),
        missed: (columns["fn"], "{:.0f}"),
        cleared: (_shares(columns["tn"], n_negative), "{}"),
        alarms: (columns["fp"], "{:.0f}"),
        "cost": (map(amount, columns["cost"]), "{}"),
    }
    if own_costs:
        without = columns["cost_without_model"]
        table["without model"] = (map(amount, without), "{}")
        pairs = zip(columns["cost"], without, strict=True)
        table["saved"] = ([f"{1.0 - a / b:.0%}" if b else "–" for a, b in pairs], "{}")
    return table_lines(table, marked)


def ratio_of(tau: float) -> str:
    """Return the ratio of the costs of a miss and of a false alarm at τ, the smaller one as 1."""
    if tau in (0.0, 1.0):
        return "1 : 0" if tau == 0.0 else "0 : 1"
    miss = (1.0 - tau) / tau
    return f"{miss:.4g} : 1" if miss >= 1.0 else f"1 : {1.0 / miss:.4g}"


def _shares(part: Any, whole: Any) -> list[str]:
    return [f"{a:.0f} ({a / b:4.0%})" for a, b in zip(part, whole, strict=True)]


def amount(cost: float) -> str:
    """Return a cost as text; large ones have no exponent."""
    return f"{cost:.0f}" if abs(cost) >= 1000.0 else f"{cost:.4g}"


def table_lines(columns: Mapping[str, tuple[Any, str]], marked: Any = None) -> list[str]:
    """Return the lines of a table, columns aligned to the right; marked rows begin with a star."""
    cells = [
        [name, *("–" if value != value else form.format(value) for value in values)]
        for name, (values, form) in columns.items()
    ]
    widths = [max(map(len, column)) for column in cells]
    lines = []
    for k, row in enumerate(zip(*cells, strict=True)):
        star = "*" if marked is not None and k > 0 and marked[k - 1] else " "
        lines.append(f"{star} " + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)))
    return lines
