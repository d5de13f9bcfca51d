"""Names, cells and errors as messages show them: short, on one line, safe on a terminal."""

import shlex
from collections.abc import Iterable

from taupath.tables.cells import parse_number

# Characters of a cell, and of what another package says, that a message shows before it cuts.
LONGEST_QUOTE = 40
LONGEST_ERROR = 200
# Names that a message lists before it counts the rest.
MOST_NAMED = 10


def quoted(cell: str) -> str:
    """Return a cell in quotes, cut if it is long."""
    return repr(_cut(cell, LONGEST_QUOTE))


def option(name: str, value: object) -> str:
    """Return an option of the command line with a value, quoted for the shell."""
    text = str(value)
    between = "=" if text.startswith("-") and parse_number(text) is None else " "
    return f"{name}{between}{shlex.quote(text)}"


def printable(text: str) -> str:
    """Return text for a line on a terminal, with escapes in place of control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def listed(names: Iterable[object]) -> str:
    """Return names separated by commas, cut if there are many."""
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def counted(number: int, what: str) -> str:
    """Return a number of things: 1 row, 2 rows."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def one_line(error: Exception) -> str:
    """Return what another package says about a file, as one line that can be printed."""
    text = " ".join(str(error).split()) or type(error).__name__
    return _cut(printable(text), LONGEST_ERROR)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
