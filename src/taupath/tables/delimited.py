"""Text with cells between commas, tabs, semicolons, pipes or blanks.

Cells are converted block by block, so that a long file is never held as a list of all its cells.
"""

import codecs
import csv
import io
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

import numpy as np

from taupath.tables.cells import as_numbers, as_text, is_missing, parse_number
from taupath.tables.messages import counted
from taupath.tables.table import Table, TableError, check_names

Progress = Callable[[float, int], None]

# If two fit equally well, the first is taken: semicolons may separate numbers with decimal commas.
SEPARATORS = "\t;|,"
# Stands for any number of blanks and tabs. It is taken only if no other separator fits.
BLANKS = " "
# Rows from which the separator and the header are guessed.
LINES_LOOKED_AT = 100
# Cells converted at a time, which bounds the memory for cells as text.
CELLS_PER_BLOCK = 1 << 18


def check_text(data: bytes, source: str) -> None:
    """Raise a `TableError` unless a file is text in UTF-8, with or without a byte order mark."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TableError(f"{source}: the text is in UTF-16; save it as UTF-8")
    zero = data.find(b"\0")
    if zero >= 0:
        line = data.count(b"\n", 0, zero) + 1
        raise TableError(f"{source}, line {line}: there is a zero byte; this is not a text file")
    try:
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{source}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8; "
            "save the file in that encoding"
        ) from None


def read_delimited(
    data: bytes,
    source: str,
    *,
    separator: str | None = None,
    as_text: Collection[str] = (),
    progress: Progress | None = None,
) -> Table:
    """Return the table in a delimited text.

    The first line is a header unless all its cells are numbers or missing. If it has numbers and
    text, it is a header unless one of the numbers is not a plain integer (names may be years), or
    one of the texts occurs again below in the same column. Without a header, columns are called x1,
    x2, and so on.

    `separator` is one character; a blank stands for any number of blanks and tabs. By default it is
    a tab, a semicolon, a pipe or a comma, whichever fits the first lines, or else blanks. Columns
    of `as_text` stay as they are written. A `TableError` tells the line of rows with different
    lengths and of quotes that do not end.
    """
    check_text(data, source)
    rows = _Rows(data, source, separator or _find_separator(data))
    first_rows = rows.first(LINES_LOOKED_AT)
    if not first_rows:
        raise TableError(f"{source}: the file is empty")
    head, *below = first_rows
    has_header = _is_header(head, below)
    if has_header and not below:
        raise TableError(f"{source}: there is a header but no row below it")
    if has_header and rows.separator == BLANKS and _has_row_names(head, below):
        head = ["", *head]
    names = [cell.strip() if has_header else "" for cell in head]
    names = [name or f"x{i}" for i, name in enumerate(names, 1)]
    check_names(source, names)
    text = {column for column, name in enumerate(names) if name in as_text}
    blocks = partial(_blocks, rows, len(head), has_header, progress)
    columns, lines = _read_columns(blocks, len(head), text)
    unnamed = [name for name, cell in zip(names, head, strict=True) if not cell.strip()]
    return Table(
        source,
        columns=dict(zip(names, columns, strict=True)),
        lines=lines,
        unnamed=unnamed if has_header else (),
    )


class _Rows:
    """The rows of a text that are not blank."""

    def __init__(self, data: bytes, source: str, separator: str) -> None:
        self.data = data
        self.source = source
        self.separator = separator

    def first(self, n_rows: int) -> list[list[str]]:
        """Return up to `n_rows` rows, which may differ in length."""
        return [row for _, row in itertools.islice(self, n_rows)]

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line on which each row starts, and its cells."""
        text: Iterable[str] = io.TextIOWrapper(
            io.BytesIO(self.data), encoding="utf-8-sig", newline=""
        )
        if self.separator == BLANKS:
            text = (line.strip().replace("\t", " ") + "\n" for line in text)
        reader = csv.reader(
            text,
            delimiter=self.separator,
            skipinitialspace=self.separator != "\t",
            strict=True,
        )
        line = 1
        try:
            for row in reader:
                if len(row) > 1 or (row and (row[0] and not row[0].isspace())):
                    yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            raise TableError(f"{self.source}, line {line}: {_explained(error)}") from None


# Yields rows in blocks, with their lines, from the first one each time it is called.
_Blocks = Callable[[], Iterator[tuple[list[int], list[list[str]]]]]


def _blocks(
    rows: _Rows, width: int, skip_first: bool, progress: Progress | None
) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield the rows below the header in blocks, with their lines; all must have `width` cells."""
    lines: list[int] = []
    block: list[list[str]] = []
    n_rows = 0
    n_lines = rows.data.count(b"\n") + 1
    at_a_time = CELLS_PER_BLOCK // width + 1
    for line, row in itertools.islice(rows, int(skip_first), None):
        if len(row) != width:
            raise TableError(
                f"{rows.source}, line {line}: it has {counted(len(row), 'cell')}, but the first "
                f"line has {width}; quote cells that contain {rows.separator!r}"
            )
        lines.append(line)
        block.append(row)
        if len(block) == at_a_time:
            yield lines, block
            n_rows += at_a_time
            if progress is not None:
                progress(min(line / n_lines, 1.0), n_rows)
            lines, block = [], []
    if block:
        yield lines, block


def _read_columns(
    blocks: _Blocks, width: int, text: set[int]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return all columns, those of `text` as text, and the line of each row."""
    known: dict[str, str] = {}
    lines: list[int] = []
    parts: list[list[np.ndarray]] = [[] for _ in range(width)]
    read_again: set[int] = set()  # columns that begin with numbers and go on with text
    for block_lines, block in blocks():
        for column, cells in enumerate(zip(*block, strict=True)):
            if column in read_again:
                continue
            values = None if column in text else as_numbers(cells)
            if values is None:
                if column not in text:
                    text.add(column)
                    if any(not np.isnan(part).all() for part in parts[column]):
                        read_again.add(column)
                        parts[column] = []
                        continue
                    blank = [np.full(len(part), None, dtype=object) for part in parts[column]]
                    parts[column] = blank
                values = as_text(cells, known)
            parts[column].append(values)
        lines.extend(block_lines)
    if read_again:
        for _, block in blocks():
            columns = list(zip(*block, strict=True))
            for column in read_again:
                parts[column].append(as_text(columns[column], known))
    return [np.concatenate(part) for part in parts], np.array(lines, dtype=np.intp)


def _find_separator(data: bytes) -> str:
    """Return the separator that cuts the first lines into the same, largest number of cells."""
    best, most = ",", 1
    for separator in SEPARATORS:
        try:
            widths = {len(row) for row in _Rows(data, "", separator).first(LINES_LOOKED_AT)}
        except TableError:
            continue
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = separator, width
    if most > 1:
        return best
    first_line = data.lstrip().partition(b"\n")[0]
    counts = {separator: first_line.count(separator.encode()) for separator in ",;\t|"}
    best = max(counts, key=lambda separator: counts[separator])
    others = counts[","] + counts[";"] + counts["|"]
    return BLANKS if not others and _are_blanks(data) else best


def _are_blanks(data: bytes) -> bool:
    """Return whether blanks cut the first lines into the same number of cells, two or more."""
    try:
        head, *below = _Rows(data, "", BLANKS).first(LINES_LOOKED_AT)
    except (TableError, ValueError):
        return False
    widths = {len(row) for row in below} or {len(head)}
    return max(widths) > 1 and (widths == {len(head)} or _has_row_names(head, below))


def _has_row_names(head: list[str], below: list[list[str]]) -> bool:
    """Return whether each row has a cell more than the header, as R writes tables."""
    return len(head) > 1 and bool(below) and all(len(row) == len(head) + 1 for row in below)


def _is_header(head: list[str], below: list[list[str]]) -> bool:
    """Return whether the first line holds names; see `read_delimited` for the rule."""
    cells = [cell.strip() for cell in head]
    numbers = [cell for cell in cells if parse_number(cell) is not None]
    texts = [
        (column, cell)
        for column, cell in enumerate(cells)
        if parse_number(cell) is None and not is_missing(cell)
    ]
    if not texts:
        return not numbers
    if not numbers:
        return True
    plain = all(cell.isdecimal() for cell in numbers)
    again = any(
        column < len(row) and row[column].strip() == cell for column, cell in texts for row in below
    )
    return plain and not again


def _explained(error: csv.Error) -> str:
    """Return what an error of the csv module means."""
    message = str(error)
    if "unexpected end of data" in message:
        return "a quoted cell begins here and never ends"
    if "expected after" in message:
        return "text follows the closing quote of a cell; double quotes inside quoted cells"
    if "field larger" in message:
        return f"a cell is longer than {csv.field_size_limit()} characters; is a quote missing?"
    return message
