"""Lint the scripts of the reports with oxlint, joined as a page holds them.

Usage: ``python tools/lint_scripts.py``. The files share one scope, so only a joined script shows
which names are undefined and which are unused. Findings are given for the files they come from.
A top-level name may be unused on some pages, but not on all pages that hold its file.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from taupath.report.assembly import SCRIPTS

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "taupath" / "report" / "page"
JOINED = ROOT / "build" / "lint"
OPENING = '"use strict";\n(() => {\n'
CLOSING = "})();\n"

Finding = tuple[str, int, int, str]  # file, line, column, message


def join(names: list[str]) -> tuple[str, list[tuple[str, int]]]:
    """Return the joined script, and the file and line that each of its lines comes from."""
    texts = {name: (SOURCES / name).read_text(encoding="utf-8") for name in names}
    origins = [
        (name, number)
        for name, text in texts.items()
        for number in range(1, len(text.splitlines()) + 1)
    ]
    return OPENING + "".join(texts.values()) + CLOSING, origins


def findings(page: str, origins: list[tuple[str, int]], report: dict[str, Any]) -> set[Finding]:
    """Return what oxlint reports about one page."""
    found = set()
    for finding in report["diagnostics"]:
        if Path(finding["filename"]).stem == page:
            place = finding["labels"][0]["span"]
            name, number = origins[place["line"] - 1 - OPENING.count("\n")]
            found.add((name, number, place["column"], f"{finding['code']}: {finding['message']}"))
    return found


def main() -> int:
    """Print all findings; the exit status is 1 when there are any."""
    JOINED.mkdir(parents=True, exist_ok=True)
    origins = {}
    for page, names in SCRIPTS.items():
        script, origins[page] = join(names)
        (JOINED / f"{page}.js").write_text(script, encoding="utf-8")
    command = ["oxlint", "--config", str(ROOT / ".oxlintrc.json"), "--format", "json"]
    files = [str(JOINED / f"{page}.js") for page in SCRIPTS]
    output = subprocess.run([*command, *files], stdout=subprocess.PIPE, check=False).stdout
    report = json.loads(output)
    counts = Counter(f for page in SCRIPTS for f in findings(page, origins[page], report))
    holding = Counter(name for names in SCRIPTS.values() for name in names)
    wrong = sorted(
        finding
        for finding, count in counts.items()
        if "no-unused-vars" not in finding[3] or count == holding[finding[0]]
    )
    there = sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.js"))
    wrong += [(name, 1, 1, "on no page") for name in there if not holding[name]]
    for name, line, column, message in wrong:
        print(f"src/taupath/report/page/{name}:{line}:{column}: {message}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
