"""One HTML file from its parts: the scripts, the style and the frame in `page/`, and the data.

The charts are a few hundred lines of JavaScript of our own. They need little (steps, lines and
points that follow a slider) and unusual things (exact steps at every τ, labels for screen readers,
light, dark and paper). A charting library would take up more space than everything else in most
reports, and its licence would have to travel with it.
"""

import base64
import hashlib
import re
from html import escape
from importlib.resources import files
from typing import Any

from taupath.report.encoding import to_json

# In the order in which they run: each uses what comes before it.
SHARED = (
    "elements.js",
    "numbers.js",
    "functions.js",
    "scales.js",
    "chart.js",
    "address.js",
    "fields.js",
    "layout.js",
    "export.js",
    "common_charts.js",
    "case_table.js",
)
OWN = {
    "binary": (
        "counts.js",
        "charts.js",
        "boundary_chart.js",
        "frontier.js",
        "case_lists.js",
        "one_case.js",
        "main.js",
    ),
    "quantiles": ("quantiles.js", "charts.js", "main.js"),
    "several": ("decisions.js", "one_class.js", "main.js"),
}
# The scripts of each kind of page, as paths within `page/`.
SCRIPTS = {
    kind: [*(f"shared/{name}" for name in SHARED), *(f"{kind}/{name}" for name in names)]
    for kind, names in OWN.items()
}


def assemble_page(payload: dict[str, Any]) -> str:
    """Return the HTML of a report.

    The page loads nothing, and its content security policy allows no other script and no other
    style than those it was written with.
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
    # in one pass: placeholders within what is filled in are never replaced
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("page.html"))


def _read(name: str) -> str:
    return files("taupath.report").joinpath("page", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
