"""How large a table may become: a small file must not fill the memory.

Files say how large their content is, and compressed ones grow when they are read. Every such size
is compared with these limits before anything is made of it.
"""

from typing import NoReturn

from taupath.tables.messages import readable_size
from taupath.tables.table import TableError

# By default a table may have this many bytes, and GROWTH more for each byte of its file. Real
# tables rarely shrink to less than a thirtieth; a file made to fill the memory, to a thousandth.
ALWAYS_ALLOWED = 64_000_000
GROWTH = 32
# By default a pipe, whose end is not known, may have this many bytes.
LONGEST_PIPE = 8_000_000_000
# Features are counted by 32-bit integers in the compiled core.
HIGHEST_INDEX = 2**31 - 1


def bytes_allowed(stored: int, asked: int | None) -> int:
    """Return how many bytes the content of a file of `stored` bytes may have."""
    return ALWAYS_ALLOWED + GROWTH * stored if asked is None else asked


def refuse_size(source: str, size: str, most: int) -> NoReturn:
    """Raise an error about a table with more than `most` bytes; `size` says how many it has."""
    raise TableError(
        f"{source}: the table has {size}, more than the {readable_size(most)} allowed for this "
        "file; if you trust it, allow more: --max-bytes 20GB, or max_bytes in Python"
    )


def check_features(source: str, n_features: int, most: int) -> None:
    """Refuse a matrix with too many columns."""
    if n_features > most:
        raise TableError(f"{source}: {too_many_features(n_features, most)}")


def too_many_features(n_features: int, most: int) -> str:
    """Return that there are too many features, and what to do."""
    if n_features > HIGHEST_INDEX:
        return f"feature {n_features} is above {HIGHEST_INDEX}, the last one possible"
    return (
        f"feature {n_features} is above {most}, the last one allowed; if it is no mistake, allow "
        f"more: --max-features {n_features}, or max_features in Python"
    )
