"""Text from data as messages, pages and terminals show it: short, on one line, nothing hidden.

Every text that comes from a file passes one of these functions before it is shown: a terminal obeys
control characters, and marks for the direction of writing change the order of what follows.
"""

import json
import shlex
from collections.abc import Iterable
from typing import Any

from taupath.tables.cells import parse_number

# Characters of a cell, and of what another package says, that a message shows before it cuts.
LONGEST_QUOTE = 60
LONGEST_ERROR = 200
# Names that a message lists before it counts the rest.
MOST_NAMED = 10


def quoted(cell: object) -> str:
    """Return a cell, a label or a name in quotes if it is text, cut if it is long."""
    if not isinstance(cell, str):
        return cut(repr(cell), LONGEST_QUOTE)
    return repr(cut(cell, LONGEST_QUOTE))


def option(name: str, value: object) -> str:
    """Return an option of the command line with a value, quoted for the shell."""
    text = cut(printable(str(value)), LONGEST_QUOTE)
    between = "=" if text.startswith("-") and parse_number(text) is None else " "
    return f"{name}{between}{shlex.quote(text)}"


def printable(text: str) -> str:
    """Return text for one line, with escapes in place of characters that cannot be seen."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """Return text of several lines, with escapes in place of characters that cannot be seen."""
    return "\n".join(map(printable, text.split("\n")))


def shown(label: object) -> str:
    """Return a label or a name within a sentence: in quotes if it could pass for something else."""
    text = str(label)
    plain = text.isprintable() and len(text) <= LONGEST_QUOTE and " ".join(text.split()) == text
    return text if plain and text else quoted(text)


def to_json(content: object, **options: Any) -> str:
    """Return JSON in which only characters that can be seen are not escaped."""
    text = json.dumps(content, ensure_ascii=False, **options)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def listed(names: Iterable[object]) -> str:
    """Return names in quotes, separated by commas; long ones are cut, and so are many."""
    names = list(names)
    shown = ", ".join(quoted(name) for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def readable_size(n_bytes: float) -> str:
    """Return a readable size: 3.2 kB, 15 MB."""
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= one:
            return f"{n_bytes / one:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"


def counted(number: int, what: str) -> str:
    """Return a number of things: 1 row, 2 rows."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def one_line(error: object) -> str:
    """Return what another package says about a file, as one line that can be printed."""
    text = " ".join(str(error).split()) or type(error).__name__
    return cut(printable(text), LONGEST_ERROR)


def cut(text: str, length: int) -> str:
    """Return the first characters of a text, with an ellipsis if there are more."""
    return text if len(text) <= length else text[: length - 1] + "…"
