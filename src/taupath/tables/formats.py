"""Formats of tables, recognised by the names of files."""

import os
from collections.abc import Collection
from pathlib import Path

from taupath.tables.table import TableError

# Formats that tables are written in.
WRITTEN = ("csv", "tsv", "json", "jsonl", "parquet")
COMPRESSIONS = (".gz", ".bz2")

_EXTENSIONS = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".tf": "libsvm",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".json": "json",
    ".jsonl": "jsonl",
}


def format_of(name: str, among: Collection[str]) -> str | None:
    """Return the format that the extension of a file stands for, None if it is not among these."""
    path = Path(name)
    if path.suffix.lower() in COMPRESSIONS:
        path = path.with_suffix("")
    format = _EXTENSIONS.get(path.suffix.lower())
    return format if format in among else None


def format_to_write(file: str | os.PathLike[str]) -> str:
    """Return the format that the name of a file asks for; CSV for standard output and devices."""
    name = os.fspath(file)
    if name == "-" or (os.path.exists(name) and not os.path.isfile(name)):
        return "csv"
    format = format_of(name, WRITTEN)
    if format is None or (format == "parquet" and name.lower().endswith(COMPRESSIONS)):
        raise TableError(
            f"{file}: tables are written to .csv, .tsv, .json, .jsonl (each also .gz or .bz2) or "
            ".parquet files; give one of these names"
        )
    return format
