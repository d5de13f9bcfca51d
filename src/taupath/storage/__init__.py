"""Model files: one file, no code inside, readable by other programs.

Knows every room below that has something to store. Nothing read from a file is trusted.
"""

from taupath.storage.model_files import load, save

__all__ = ["load", "save"]
