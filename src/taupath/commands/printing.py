"""What commands print: text, JSON for programs, and progress."""

import argparse
import sys
import warnings
from typing import TYPE_CHECKING, Any

from taupath.progress import Display

if TYPE_CHECKING:
    from taupath.paths.certificate import Certificate


def bar(what: str, arguments: argparse.Namespace, unit: str = "") -> Display:
    """Return a display of progress, which shows nothing with ``--json``."""
    from taupath.tables.messages import printable

    return Display(printable(what), unit, quiet=arguments.json)


def warn_of_costs(file: str) -> None:
    """Warn that a model was trained with costs of each case."""
    from taupath.estimators.explanation import WITH_COSTS

    warnings.warn(f"{file} {WITH_COSTS}", stacklevel=3)


def print_json(found: dict[str, Any]) -> None:
    """Print JSON, for other programs."""
    from taupath.tables.messages import to_json

    # arrays and numbers of numpy are the only other types
    sys.stdout.write(to_json(found, indent=1, default=lambda value: value.tolist()) + "\n")


def print_lines(*lines: str) -> None:
    """Print text, with escapes for control characters, such as in the names of columns."""
    from taupath.tables.messages import printable

    for line in lines:
        print(printable(line), flush=True)


def certificate_lines(certificate: "Certificate") -> list[str]:
    """Return a certificate in words."""
    verdict = "holds" if certificate.holds() else "DOES NOT HOLD"
    if certificate.continuum:
        return [
            f"certificate {verdict}: for every value, from {certificate.n_checked} nodes,",
            f"  duality gap ≤ {certificate.worst_gap:.1e} of the objective at w = 0 "
            f"(near {certificate.tau_gap:.4f}), requested: {certificate.tol:g}",
        ]
    # so ill-conditioned that rounding alone may explain it
    condition = getattr(certificate, "condition", None)
    beyond = (
        ""
        if getattr(certificate, "promised", None) is not False
        else (f"; condition {condition:.1e}, above the limit up to which exactness is promised")
    )
    extent = "every kink and every midpoint" if certificate.complete else "evenly along the path"
    return [
        f"certificate {verdict}: at {certificate.n_checked} values ({extent}),",
        f"  relative duality gap ≤ {certificate.worst_gap:.1e} (at {certificate.tau_gap:.4f}), "
        f"optimality conditions within {certificate.worst_kkt:.1e} "
        f"(at {certificate.tau_kkt:.4f}){beyond}",
    ]
