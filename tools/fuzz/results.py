"""What came of all problems: a table, the cases to look into, and whether it is good enough."""

from collections.abc import Callable

from fuzz.checking import Outcome
from fuzz.families import FAMILIES

# Of all problems, so many may be inexact beyond the rounding of the answer, and none unexplained.
INEXACT = 0.005
# Cases that are listed of each kind.
LISTED = 50

Found = list[Outcome]


def _kind(*names: str) -> Callable[[Found], int]:
    return lambda found: sum(o.kind in names for o in found)


COLUMNS: dict[str, Callable[[Found], object]] = {
    "tries": len,
    "worst": lambda found: f"{max((o.gap for o in found), default=0.0):.0e}",
    "inexact": _kind("inexact"),
    "explained": lambda found: sum(o.kind == "inexact" and o.explained for o in found),
    "rounding": lambda found: sum(o.kind == "inexact" and o.rounded for o in found),
    "promised": lambda found: sum(o.promised for o in found),
    "refused": lambda found: sum(o.refused for o in found),
    "silent": _kind("silent"),
    "exception": _kind("exception", "crash", "hang"),
    "WalkFailed": _kind("WalkFailed"),
    "differ": lambda found: sum(bool(o.different) for o in found),
    "CPU s": lambda found: f"{sum(o.seconds for o in found):.1f}",
}
MEANING = """\
worst       the largest gap, relative to the scale of the problem
inexact     a gap above 1e-9, or α, w and b that do not belong together, and not silent
explained   of these: within 16 times the gap that rounding α, w and b to doubles can cause
rounding    of these: within this gap itself; no double is sure to be closer
promised    inexact, although by the condition that the certificate tells it should not be
refused     the certificate says no, but nothing is wrong
silent      inexact and not explained, and the certificate holds
exception   any error, crash or hang other than WalkFailed
differ      solutions that were read again, in another order, by threads or from a file, differ, or
            decisions differ from those of the same α, w and b"""


def table(found: Found) -> str:
    """Return the table of all families."""

    def line(name: str, entries: list[object]) -> str:
        return f"{name:<22}" + "".join(f"{entry:>11}" for entry in entries)

    lines = [line("family", list(COLUMNS))]
    rows = {family: [o for o in found if o.family == family] for family in FAMILIES}
    for name, own in [*rows.items(), ("all", found)]:
        if own:
            lines.append(line(name, [entry(own) for entry in COLUMNS.values()]))
    return "\n".join(lines)


def command(outcome: Outcome) -> str:
    """Return the command that tells about this problem."""
    return f"python tools/fuzz --family {outcome.family} --seed {outcome.seed} --count 1 -v"


def gap(outcome: Outcome) -> float:
    """Return the gap of an outcome."""
    return outcome.gap


def difference(outcome: Outcome) -> float:
    """Return by how much the numbers differ that were read again."""
    return max(outcome.different.values(), default=0.0)


def cases(found: Found) -> str:
    """Return the commands that reproduce what should not be."""
    kinds: dict[str, Callable[[Outcome], bool]] = {
        "silent": lambda o: o.kind == "silent",
        "exceptions": lambda o: o.kind not in ("ok", "inexact", "silent"),
        "inexact and not explained": lambda o: o.kind == "inexact" and not o.explained,
        "inexact but promised": lambda o: o.promised,
        "different when read again": lambda o: bool(o.different),
        "refused": lambda o: o.refused,
    }
    lines = []
    for name, is_one in kinds.items():
        size = difference if name.startswith("different") else gap
        own = sorted(filter(is_one, found), key=size, reverse=True)
        if own:
            lines.append(f"{name}: {len(own)}")
            lines += [f"  {size(o):.0e}  {command(o)}  {o.message}".rstrip() for o in own[:LISTED]]
    return "\n".join(lines)


def nothing_hidden(found: Found) -> bool:
    """Return whether nothing is wrong without a word, and nothing fails."""
    return bool(found) and all(o.kind in ("ok", "inexact") and not o.different for o in found)


def good_enough(found: Found) -> bool:
    """Return whether nothing is wrong without a word, and little is wrong at all."""
    inexact = [o for o in found if o.kind == "inexact" and not o.rounded]
    return (
        nothing_hidden(found)
        and not any(o.promised for o in found)
        and all(o.explained for o in inexact)
        # in a short run one is no share
        and len(inexact) <= max(1, INEXACT * len(found))
    )
