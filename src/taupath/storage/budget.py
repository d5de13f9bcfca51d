"""How much memory a model file may claim. It is counted before anything is allocated."""

import os
from typing import Any

import numpy as np

from taupath.exceptions import ModelFileError
from taupath.validation import check_positive

# What any file may take by default, and how much more for each byte that it takes on disk. A small
# file then stays below 1 GiB with all libraries. Whole numbers that are read into float64 take
# nine bytes for each one in the file, and a path about eight, so that large files have room.
ANY_FILE = 800_000_000
PER_STORED_BYTE = 16
# Largest sizes of JSON values in memory: of an object, of a list, of any other value, and of each
# character of text.
OBJECT, LIST, VALUE, CHARACTER = 250, 100, 40, 4
# Bytes that a path takes for each sample: its signs, targets and weights, bounds and targets at
# both ends of the line, raised targets of up to three walks. One walk takes half of it.
PER_SAMPLE = 200
# Bytes that reading a path takes for each column of its rows: w and sums of rows in double and in
# extended precision.
PER_COLUMN = 100
# Bytes for each pair of free points in the factor of a path, which has room for half as many more.
PER_PAIR = 16
# Columns up to which the factor keeps a basis of the free rows.
ORTHOGONAL_UP_TO = 128
# Copies of a kernel matrix while rows are made from it.
KERNEL_COPIES = 3


class TooMuchMemory(ModelFileError):
    """A file claims more memory than it is allowed."""


class Budget:
    """The memory that a file may still take.

    Parameters
    ----------
    file : path
        What errors name.
    max_bytes : float, optional
        The limit. By default it depends on the size of the file, see `ANY_FILE`.
    """

    def __init__(self, file: Any = "the file", max_bytes: float | None = None) -> None:
        self.file = file
        self._limit = None if max_bytes is None else check_positive(max_bytes, "max_bytes")
        self._stored = 0  # bytes of the file on disk
        self._taken = 0.0
        self._reading = 0.0  # what the path takes that takes most

    @property
    def limit(self) -> float:
        """The bytes that may be taken in all."""
        return ANY_FILE + PER_STORED_BYTE * self._stored if self._limit is None else self._limit

    @property
    def left(self) -> float:
        """The bytes that are left."""
        return self.limit - self._taken - self._reading

    def weigh(self, found: os.stat_result) -> None:
        """Take notice of the size of the file; holes in it do not count."""
        blocks = getattr(found, "st_blocks", 0)  # of 512 bytes; some systems do not tell
        self._stored = min(found.st_size, 512 * blocks) if blocks else found.st_size

    def take(self, n_bytes: float, what: str) -> None:
        """Count memory that is about to be taken, and kept."""
        self._taken += n_bytes
        self._check(n_bytes, what)

    def take_json(self, text: bytes, what: str) -> None:
        """Count what JSON values take at most."""
        values = text.count(b",") + text.count(b":")
        lists, objects = text.count(b"["), text.count(b"{")
        most = VALUE * values + LIST * lists + OBJECT * objects + CHARACTER * len(text)
        self.take(most, what)

    def read(self, n_bytes: float, what: str) -> None:
        """Count memory for reading a path; as much for all paths as the largest one takes."""
        more = max(n_bytes - self._reading, 0.0)
        self._reading += more
        self._check(n_bytes, what)

    def _check(self, n_bytes: float, what: str) -> None:
        if self._taken + self._reading > self.limit:
            raise TooMuchMemory(
                f"{self.file} takes more memory than max_bytes={self.limit:.3g} allows "
                f"({n_bytes:.3g} bytes are for {what}); if you trust it, load it with a larger "
                "max_bytes"
            )


def record_bytes(most_free: int, n_columns: int) -> float:
    """Return what reading a record takes: sums of rows, and the factor of its free points."""
    basis = 16 * min(n_columns, ORTHOGONAL_UP_TO)
    return float(PER_COLUMN * n_columns + PER_PAIR * most_free**2 + basis * most_free)


def array_bytes(array: np.ndarray, dtype: Any) -> int:
    """Return the bytes of an array as this dtype."""
    return int(array.size * np.dtype(dtype).itemsize)
