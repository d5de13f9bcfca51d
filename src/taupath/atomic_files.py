"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

# Characters of the name of a file that are part of that of its temporary file: with four bytes
# each, the latter is within the 255 bytes that file systems allow.
LONGEST_NAME = 50


@contextlib.contextmanager
def replacing(file: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file that takes the place of `file` when the block ends well.

    It is in the same folder, and is flushed to the disk before it is renamed. If the block raises
    an exception, it is removed, and `file` stays as it was. A link is followed. `options` are those
    of `open`, such as ``newline`` and ``encoding``.
    """
    target = Path(os.path.realpath(file))
    if target.is_dir():
        raise IsADirectoryError(f"{file} is a folder; give the name of a file in it")
    if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced
        with open(target, mode, **options) as stream:
            yield stream
        return
    # The name is known before there is a file, so that a signal at any moment finds it to remove.
    name = target.parent / f".{target.name[:LONGEST_NAME]}.{secrets.token_hex(6)}"
    try:
        with open(_new_file(name, file), mode, **options) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _permissions(target))
        os.replace(name, target)
    except BaseException as error:
        name.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.strerror and error.filename in (None, str(name)):
            raise OSError(error.errno, error.strerror, os.fspath(file)) from error
        raise
    _sync_folder(target.parent)


def _new_file(name: Path, file: str | os.PathLike[str]) -> int:
    """Create a file that only its owner may read; `file` is what an error calls it."""
    try:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no folder {name.parent} to write {file} in") from None
    except OSError as error:
        raise type(error)(f"cannot write {file}: {error.strerror}") from None


def _permissions(target: Path) -> int:
    """Return the permissions of the file to replace, or those of a new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Flush the new name to the disk, if the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
