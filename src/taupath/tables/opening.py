"""The content of a file or of standard input, decompressed, within a limit of its size."""

import bz2
import contextlib
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from taupath.tables.delimited import check_text
from taupath.tables.formats import COMPRESSIONS
from taupath.tables.limits import LONGEST_PIPE, bytes_allowed, refuse_size
from taupath.tables.messages import one_line
from taupath.tables.table import TableError

# Bytes that are read or decompressed at a time, and that a decompressor is given at a time: it
# copies what follows the end of a part, and parts may be tiny.
AT_A_TIME = 1 << 20
GIVEN_AT_A_TIME = 1 << 14
# Zeros that may follow the end of a compressed file: tapes and some programs fill up blocks.
MOST_PADDING = 1 << 16

# How compressed files, NumPy archives and Parquet files begin.
_BINARY = (b"\x1f\x8b", b"BZh", b"PK", b"PAR1")
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")


class Content(NamedTuple):
    """What a file holds: a stream that can be read from any place, and the bytes allowed."""

    stream: IO[bytes]
    most: int
    source: str

    def head(self) -> bytes:
        """Return the first bytes."""
        self.stream.seek(0)
        return self.stream.read(AT_A_TIME)

    def text(self) -> bytes:
        """Return all bytes of a text, which is refused at its first zero byte."""
        self.stream.seek(0)
        return _gathered(pieces(self.stream), self.most, self.source)


@contextmanager
def opened(name: str, source: str, max_bytes: int | None) -> Iterator[Content]:
    """Open a file, or standard input if its name is "-", and decompress it if need be."""
    if name.lower().endswith(_SPREADSHEETS):
        raise TableError(f"{source}: spreadsheets are not read; save the sheet as CSV")
    with _explained(source), contextlib.ExitStack() as closing:
        raw = _standard_input(source) if name == "-" else closing.enter_context(open(name, "rb"))
        stored = _stored_bytes(raw)
        if stored is None:  # a pipe
            most = LONGEST_PIPE if max_bytes is None else max_bytes
            raw = io.BytesIO(_gathered(pieces(raw), most, source))
            stored = len(raw.getbuffer())
        elif max_bytes is not None and stored > max_bytes:
            refuse_size(source, f"{stored} bytes", max_bytes)
        most = max(bytes_allowed(stored, max_bytes), stored)
        yield Content(_decompressed(raw, name, source, most), most, source)


def _standard_input(source: str) -> Any:
    if sys.stdin is None:
        raise TableError(f"{source}: it is closed; give the name of a file, or pipe one in")
    return sys.stdin.buffer


@contextmanager
def _explained(source: str) -> Iterator[None]:
    """Turn errors of the system into errors about the file."""
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"{source}: there is no such file") from None
    except IsADirectoryError:
        raise TableError(f"{source}: this is a folder, not a file") from None
    except TableError:
        raise
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or one_line(error)
        raise TableError(f"{source}: the file cannot be read: {reason}") from error


def _stored_bytes(stream: Any) -> int | None:
    """Return the bytes that a file takes on the disk, None for a pipe or a device.

    Holes in a file take none, but are read as zeros. Some file systems do not say.
    """
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):  # not a file of the system
        return None
    if not stat.S_ISREG(found.st_mode) or not stream.seekable() or stream.tell() != 0:
        return None
    return min(found.st_size, 512 * getattr(found, "st_blocks", 0) or found.st_size)


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what a stream holds, piece by piece."""
    while piece := stream.read(AT_A_TIME):
        yield piece


def _gathered(parts: Iterator[bytes], most: int, source: str) -> bytes:
    """Return all parts as one, unless they are too large or a text that is none.

    The latter is noticed at the first zero byte: a device or a hole in a file has no end of them.
    """
    found = io.BytesIO()
    size, binary = 0, False
    for piece in parts:
        binary = binary or (size == 0 and piece.startswith(_BINARY))
        size += found.write(piece)
        if not binary and b"\0" in piece:
            check_text(found.getvalue(), source)
        if size > most:
            refuse_size(source, f"more than {most} bytes", most)
    return found.getvalue()


def _decompressed(raw: IO[bytes], name: str, source: str, most: int) -> IO[bytes]:
    """Return the content of a compressed file, and another file unchanged."""
    head = raw.read(3)
    raw.seek(0)
    engine = _Gzip if head[:2] == b"\x1f\x8b" else bz2.BZ2Decompressor if head == b"BZh" else None
    if engine is None:
        if head and name.lower().endswith(COMPRESSIONS):
            raise TableError(f"{source}: it is not compressed, although its name says so")
        return raw
    try:
        return io.BytesIO(_gathered(_inflated(raw, engine), most, source))
    except (EOFError, OSError, ValueError, zlib.error) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(
            f"{source}: the compressed file is cut short or damaged: {one_line(error)}"
        ) from error


class _Gzip:
    """A decompressor of gzip with the interface of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._engine = zlib.decompressobj(wbits=31)  # 31: with the header and checksum of gzip

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._engine.decompress(self._engine.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._engine.eof

    @property
    def needs_input(self) -> bool:
        return not self._engine.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._engine.unused_data


def _inflated(raw: IO[bytes], new_engine: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the content of compressed parts, which may follow each other, piece by piece."""
    data = raw.read(GIVEN_AT_A_TIME)
    while data:
        engine = new_engine()
        while not engine.eof:
            piece = engine.decompress(data, AT_A_TIME)
            if not piece and not data:
                raise EOFError("the end is missing")
            yield piece
            data = raw.read(GIVEN_AT_A_TIME) if engine.needs_input and not engine.eof else b""
        data = _after_padding(engine.unused_data, raw)


def _after_padding(data: bytes, raw: IO[bytes]) -> bytes:
    """Return what follows the end of a part and zeros that may come after it."""
    padding = 0
    while True:
        data = data or raw.read(GIVEN_AT_A_TIME)
        rest = data.lstrip(b"\0")
        padding += len(data) - len(rest)
        if padding > MOST_PADDING:
            raise ValueError("there are zeros after the end")
        if rest or not data:
            return rest
        data = b""
