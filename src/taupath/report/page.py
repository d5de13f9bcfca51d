"""The page: its parts are files beside this one, put together into one that needs nothing else.

The charts are drawn by a few hundred lines of JavaScript of our own. What they need is little
(steps, lines and points that follow a slider) and unusual (exact steps at every τ, labels for
screen readers, light, dark and paper), while a charting library would take more room than all else
in most reports, and its licence would have to be carried along.
"""

import base64
import hashlib
from html import escape
from importlib.resources import files
from typing import Any

from taupath.report.encoding import to_json

__all__ = ["make_page"]

# In the order in which they are read: each uses what comes before it.
SHARED = (
    "data.js",
    "scales.js",
    "chart.js",
    "address.js",
    "parts.js",
    "sharing.js",
    "common_charts.js",
)
SCRIPTS = {
    "binary": (
        *SHARED,
        "binary_counts.js",
        "binary_charts.js",
        "boundary_chart.js",
        "binary_cases.js",
        "binary_case.js",
        "binary.js",
    ),
    "quantiles": (*SHARED, "quantiles.js"),
    "several": (*SHARED, "several.js"),
}


def make_page(payload: dict[str, Any]) -> str:
    """Return the HTML of a report.

    Nothing from outside is loaded, and the content security policy lets nothing else run than the
    script and the style that are there now.
    """
    style = _read("style.css")
    code = "\n".join(_read(name) for name in SCRIPTS[payload["kind"]])
    script = f'"use strict";\n(() => {{\n{code}\n}})();\n'
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; "
        f"style-src 'sha256-{_digest(style)}'; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": escape(policy, quote=True),
        "title": escape(str(payload["title"])),
        "holds": escape(payload["holds"]),
        "style": style,
        "data": to_json(payload),
        "script": script,
    }
    # one pass: what is put in is never searched for other places to put things in
    pieces = _read("page.html").split("{{")
    page = [pieces[0]]
    for piece in pieces[1:]:
        name, rest = piece.split("}}", 1)
        page += [parts[name], rest]
    return "".join(page)


def _read(name: str) -> str:
    return files("taupath.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
