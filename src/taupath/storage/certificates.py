"""Certificates: what was measured when a file was written. Nobody has measured it again."""

import math
from dataclasses import MISSING, asdict, fields
from typing import Any, get_type_hints

from taupath.exceptions import ModelFileError
from taupath.paths.certificate import Certificate

# How JSON holds what is no number.
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def pack_certificate(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as JSON can hold it."""
    return numbers_as_json(asdict(certificate))


def numbers_as_json(found: dict[str, Any]) -> dict[str, Any]:
    """Return a dict with its numbers as JSON can hold them: those that are not finite as text."""
    return {
        name: repr(float(value)) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in found.items()
    }


def unpack_certificate(found: Any) -> Certificate:
    """Return the certificate of a description; what later versions have added may be missing."""
    known = {field.name: field for field in fields(Certificate)}
    if not isinstance(found, dict) or not found.keys() <= known.keys():
        raise ModelFileError("the certificate of a path is missing")
    if any(field.default is MISSING and name not in found for name, field in known.items()):
        raise ModelFileError("the certificate of a path is missing")
    hints = get_type_hints(Certificate)
    return Certificate(**{name: _value(hints[name], value) for name, value in found.items()})


def _value(kind: Any, value: Any) -> Any:
    """Return a value of this type: `float`, `int`, `bool`, or one of these or None."""
    if isinstance(value, str) and kind in (float, float | None) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if not (type(value) is kind or (value is None and kind == kind | None)):
        inner = [each for each in (float, int, bool) if kind == each | None]
        if type(value) not in inner:
            raise ModelFileError("the certificate of a path holds values of the wrong type")
    return value
