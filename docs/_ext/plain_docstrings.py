"""Docstrings are written for readers of the source: ‖y‖, |y| and C_ are no markup in them."""

import re
from typing import Any

# a bar, or the underscore at the end of a name, that reStructuredText would take for a link
_MARKUP = re.compile(r"\||(?<=\w)_(?=[\s,;.:)]|$)")
_LITERAL = re.compile(r"(``[^`]+``|`[^`]+`)")


def _escape(line: str) -> str:
    parts = _LITERAL.split(line)
    parts[::2] = [_MARKUP.sub(lambda found: "\\" + found[0], part) for part in parts[::2]]
    return "".join(parts)


def _process(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]):
    lines[:] = [line if ">>>" in line or ".. " in line else _escape(line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Have docstrings pass through here before numpydoc takes them apart."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
