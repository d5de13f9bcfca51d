"""What commands print: text, JSON for programs, and progress."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from taupath.progress import Display

if TYPE_CHECKING:
    from taupath.paths.certificate import Certificate


def bar(what: str, arguments: argparse.Namespace, unit: str = "") -> Display:
    """Return a display of progress, which shows nothing with ``--json``."""
    return Display(what, unit, quiet=arguments.json)


def print_json(found: dict[str, Any]) -> None:
    """Print JSON, for other programs."""
    # arrays and numbers of numpy are the only other types
    text = json.dumps(found, ensure_ascii=False, indent=1, default=lambda value: value.tolist())
    sys.stdout.write(text + "\n")


def print_lines(*lines: str) -> None:
    """Print text, with escapes for control characters, such as in the names of columns."""
    from taupath.tables.messages import printable

    for line in lines:
        print(printable(line))


def certificate_lines(certificate: "Certificate") -> list[str]:
    """Return a certificate in words."""
    verdict = "holds" if certificate.holds() else "DOES NOT HOLD"
    if certificate.continuum:
        return [
            f"certificate {verdict}: for every value, from {certificate.n_checked} nodes,",
            f"  duality gap ≤ {certificate.worst_gap:.1e} of the objective at w = 0 "
            f"(near {certificate.tau_gap:.4f}), asked for was {certificate.tol:g}",
        ]
    extent = "every kink and every midpoint" if certificate.complete else "evenly along the path"
    return [
        f"certificate {verdict}: at {certificate.n_checked} values ({extent}),",
        f"  relative duality gap ≤ {certificate.worst_gap:.1e} (at {certificate.tau_gap:.4f}), "
        f"optimality conditions within {certificate.worst_kkt:.1e} "
        f"(at {certificate.tau_kkt:.4f})",
    ]


def readable_size(n_bytes: float) -> str:
    """Return a readable size: 3.2 kB, 15 MB."""
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= one:
            return f"{n_bytes / one:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"
