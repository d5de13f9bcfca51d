"""The subcommands of ``taupath``, one file each.

Knows every other room. Must not import numpy, or anything that does, before a command runs: the
command line starts quickly.
"""

__all__ = ["Failed"]


class Failed(Exception):
    """A command cannot do what it was asked for; the message says why."""
