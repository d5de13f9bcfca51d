"""The display of the command line: nothing with ``--json``."""

import argparse

from taupath.progress import Display

__all__ = ["Bar"]


class Bar(Display):
    """Progress on standard error; nothing if that is no terminal, or with ``--json``.

    Parameters
    ----------
    what : str
        What is going on.
    arguments : Namespace
        Of the command line.
    unit : str
        What is counted.
    """

    def __init__(self, what: str, arguments: argparse.Namespace, unit: str = "") -> None:
        super().__init__(what, unit, quiet=getattr(arguments, "json", False))
