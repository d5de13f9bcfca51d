"""LIBSVM format: one line ``label index:value index:value …`` for each row, indices from one.

scikit-learn reads the file. If it fails, or accepts what it should not, the lines are checked one
by one to find the wrong one.
"""

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from taupath.choices import SPARSE_COLUMNS
from taupath.tables.cells import parse_number
from taupath.tables.delimited import Progress, check_text
from taupath.tables.limits import HIGHEST_INDEX, too_many_features
from taupath.tables.messages import one_line, quoted
from taupath.tables.table import Table, TableError

if TYPE_CHECKING:
    import scipy.sparse as sp

# Bytes read at a time (8 MB): between them progress is shown and Ctrl-C is noticed.
PIECE = 1 << 23

_BOM = b"\xef\xbb\xbf"
_FEATURE = re.compile(rb"(?:\d+|qid):\S+")


def looks_like_libsvm(data: bytes) -> bool:
    """Return whether most of the first lines have a label and features."""
    lines = [content.split() for _, content in _contents(data[: 1 << 16].removeprefix(_BOM))][:20]
    alike = [len(line) > 1 and all(map(_FEATURE.fullmatch, line[1:3])) for line in lines]
    return sum(alike) * 2 > len(lines)


def read_libsvm(
    data: bytes,
    source: str,
    *,
    max_features: int = SPARSE_COLUMNS,
    progress: Progress | None = None,
) -> Table:
    """Return the matrix and the labels in a text of LIBSVM format.

    Comments from ``#`` to the end of a line and query numbers ``qid:…`` are left out. A
    `TableError` names the first line with a label or a feature that is not a finite number, or with
    indices that do not increase from one or are above `max_features`.
    """
    import scipy.sparse as sp

    check_text(data, source)
    data = data.removeprefix(_BOM)
    n_before = n_rows = begin = 0
    matrices, labels = [], []
    while begin < len(data):
        end = data.find(b"\n", begin + PIECE) + 1 or len(data)
        piece, begin = data[begin:end], end
        matrix, label = _read_piece(piece, source, n_before, max_features)
        matrices.append(matrix)
        labels.append(label)
        n_before += piece.count(b"\n")
        n_rows += len(label)
        if progress is not None and end < len(data):
            progress(end / len(data), n_rows)
    if n_rows == 0:
        raise TableError(f"{source}: the file is empty")
    if not any(matrix.nnz for matrix in matrices):
        raise TableError(f"{source}: there are labels but no features 'index:value'")
    width = max(matrix.shape[1] for matrix in matrices if matrix.nnz)
    for matrix in matrices:
        matrix.resize(matrix.shape[0], width)
    matrix = sp.csr_array(sp.vstack(matrices, format="csr")) if len(matrices) > 1 else matrices[0]
    return Table(source, matrix=matrix, labels=np.concatenate(labels), lines=_lines(data, n_rows))


def _read_piece(
    piece: bytes, source: str, n_before: int, most: int
) -> "tuple[sp.csr_array, np.ndarray]":
    """Return matrix and labels of the lines after the first `n_before`."""
    import scipy.sparse as sp
    from sklearn.datasets import load_svmlight_file

    try:
        matrix, labels = load_svmlight_file(io.BytesIO(piece), dtype=np.float64, zero_based=False)
    except (ValueError, OverflowError) as error:
        _check_lines(piece, source, n_before, most)
        raise TableError(f"{source}: it cannot be read: {one_line(error)}") from error
    # Python's float() accepts 1_000, NaN and infinity.
    finite = np.isfinite(matrix.data).all() and np.isfinite(labels).all()
    if b"_" in piece or matrix.shape[1] > most or not finite:
        _check_lines(piece, source, n_before, most)
    return sp.csr_array(matrix), labels


def _contents(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number, from one, and the content of each line that has any besides a comment."""
    for number, line in enumerate(data.split(b"\n"), 1):
        content = line.partition(b"#")[0].strip()
        if content:
            yield number, content


def _lines(data: bytes, n_rows: int) -> np.ndarray | None:
    """Return the line of each row, None if each line is a row."""
    if n_rows == data.count(b"\n") + (not data.endswith(b"\n")):
        return None
    return np.fromiter((number for number, _ in _contents(data)), dtype=np.intp, count=n_rows)


def _check_lines(piece: bytes, source: str, n_before: int, most: int) -> None:
    """Raise an error about the first line that is wrong, if there is one."""
    for number, content in _contents(piece):
        reason = _wrong([token.decode() for token in content.split()], most)
        if reason is not None:
            raise TableError(f"{source}, line {n_before + number}: {reason}")


def _wrong(tokens: list[str], most: int) -> str | None:
    """Return what is wrong with a line, or None."""
    label, *features = tokens
    reason = _wrong_label(label)
    if reason is not None:
        return reason
    if features and features[0].startswith("qid:"):
        features = features[1:]
    previous = 0
    for feature in features:
        index, colon, value = feature.partition(":")
        if not colon:
            return f"{quoted(feature)} is not a feature 'index:value'"
        if not (index.isascii() and index.isdecimal()):
            return f"{quoted(feature)}: the index is not a whole number"
        digits = index.lstrip("0")
        if not digits:
            return f"{quoted(feature)}: features are counted from one; add one to every index"
        if len(digits) > len(str(HIGHEST_INDEX)):
            return f"{quoted(feature)}: the index is above {HIGHEST_INDEX}, the last possible"
        if int(digits) > most:
            return too_many_features(int(digits), most)
        if int(digits) <= previous:
            return f"{quoted(feature)}: the index comes after {previous}; indices must increase"
        previous = int(digits)
        number = parse_number(value)
        if number is None or not np.isfinite(number):
            reason = "is not a number" if number is None else "is not finite"
            return f"feature {index}: {quoted(value)} {reason}"
    return None


def _wrong_label(label: str) -> str | None:
    """Return what is wrong with a label, or None."""
    number = parse_number(label)
    if number is not None:
        return None if np.isfinite(number) else f"the label {quoted(label)} is not finite"
    if ":" in label:
        return f"the label is missing before {quoted(label)}; write 0 where it is not known"
    if "," in label and all(parse_number(part) is not None for part in label.split(",")):
        return f"there are several labels, {quoted(label)}, where there must be one"
    return f"the label {quoted(label)} is not a number"
