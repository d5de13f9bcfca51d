"""Tables in files, damaged and hostile, given to the commands of taupath."""

import contextlib
import csv
import io
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
import table_damages as damages
from judging import write
from table_bombs import BOMBS

from taupath import cli
from taupath.preparation import Preparation
from taupath.tables import Table, TableError, read_table

# The shares of files that are bombs, and that are harmless, rather than damaged.
BOMBS_SHARE, HARMLESS_SHARE = 0.07, 0.05
# Rows of the good tables: enough to train on. Many classes have many pairs, each with its path.
ROWS = 30
MOST_CLASSES = 5


class Maker:
    """Makes tables from good ones, reads them, and trains on them by the command line."""

    refusals = (TableError,)
    complaints = (TableError,)

    def __init__(self, folder: Path, seed: int) -> None:
        self.seed, self.folder = seed, folder
        rng = np.random.default_rng(0)
        self.X = np.round(rng.normal(size=(ROWS, 3)), 6)
        self.y = (self.X[:, 0] + 0.5 * rng.normal(size=ROWS) > 0).astype(int)
        self.texts = _texts(self.X, self.y)
        self.binaries = _binaries(self.X, self.y)
        self._format: str | None = None
        with contextlib.redirect_stdout(io.StringIO()):  # everything is imported before the limits
            file = folder / "warm.csv"
            file.write_bytes(self.texts["comma"])
            for command in _commands(file, folder):
                assert cli.main(command) == 0

    def _drawn(self, case: int) -> tuple[str, Callable[..., Any], np.random.Generator]:
        """Return the good table of a case and its damage; "" and a bomb, or an odd archive."""
        rng = np.random.default_rng([self.seed, case])
        share = rng.random()
        if share < BOMBS_SHARE:
            return "", damages.pick(rng, BOMBS), rng
        names = [*self.texts, *self.binaries, "odd archive"]
        name = damages.pick(rng, names)
        if name == "odd archive":
            return name, damages.odd_archive, rng
        if share < BOMBS_SHARE + HARMLESS_SHARE:
            kinds = damages.HARMLESS if name in self.texts else damages.HARMLESS[:1]
        else:
            kinds = damages.ANY + (damages.OF_TEXT * 2 if name in self.texts else ())
        return name, damages.pick(rng, kinds), rng

    def make(self, case: int, file: Path) -> str:
        """Write the file of a case and return what is wrong with it."""
        name, damage, rng = self._drawn(case)
        self._format = None
        if not name:
            made = damage(rng)
        elif damage is damages.odd_archive:
            made = damage(self.X, self.y, rng)
        elif name in self.texts:
            packing = damages.pick(rng, damages.PACKINGS)
            if rng.random() < 0.3 and damage not in damages.HARMLESS:  # what is packed is damaged
                damage = damages.pick(rng, damages.ANY)
                made = damage(packing(self.texts[name], rng), rng)
            else:
                made = packing(damage(self.texts[name], rng), rng)
        else:
            made = damage(self.binaries[name], rng)
        if damage not in damages.HARMLESS and rng.random() < 0.2:
            formats = ("csv", "tsv", "libsvm", "npz", "parquet")
            self._format = damages.pick(rng, formats)
        write(made, file)
        return f"{damage.__name__}: {name or 'bomb'}"

    def load(self, file: Path) -> tuple[Path, Table]:
        """Return the table in a file."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return file, read_table(file, format=self._format)

    def read(self, case: int, loaded: tuple[Path, Table]) -> str | None:
        """Train by the commands; return what is wrong, if anything."""
        file, table = loaded
        name, damage, _ = self._drawn(case)
        if damage in damages.HARMLESS:
            wrong = self._difference(name, table)
            if wrong is not None:
                return wrong
        if not _is_small(table):  # right, but a second is not enough to train on it
            return _prepare(table)
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            return _run_all(file, self._format, folder, table.n_rows)
        finally:
            shutil.rmtree(folder)

    def _difference(self, name: str, table: Table) -> str | None:
        """Return how a table differs from what was written."""
        if table.names is None:
            X: Any = table.matrix
            X = X.toarray() if sp.issparse(X) else X
            y = table.labels
        else:
            X = np.column_stack([table.numbers(name) for name in ("a", "b", "c")])
            y = (table.column("target") == "yes").astype(int)
        if not np.array_equal(X, self.X):
            return f"{name}: features differ"
        return None if y is None or np.array_equal(y, self.y) else f"{name}: labels differ"


def _texts(X: np.ndarray, y: np.ndarray) -> dict[str, bytes]:
    rows = [
        [*map(repr, row), "yes" if label else "no"]
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    head = ["a", "b", "c", "target"]
    found = {
        name: "\n".join(mark.join(cells) for cells in (head, *rows)).encode() + b"\n"
        for name, mark in (
            ("comma", ","),
            ("tab", "\t"),
            ("semicolon", ";"),
            ("pipe", "|"),
            ("blank", " "),
        )
    }
    lines = (
        f"{label} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1))
        for row, label in zip(X.tolist(), y, strict=True)
    )
    return {**found, "libsvm": "\n".join(lines).encode() + b"\n"}


def _binaries(X: np.ndarray, y: np.ndarray) -> dict[str, bytes]:
    found = {}
    for name, save in (("dense", np.savez), ("deflated", np.savez_compressed)):
        stream = io.BytesIO()
        save(stream, X=X, y=y)
        found[name] = stream.getvalue()
    stream = io.BytesIO()
    sp.save_npz(stream, sp.csr_array(X))
    found["sparse"] = stream.getvalue()
    labels = pa.array(["yes" if label else "no" for label in y])
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    for name, compression in (("parquet", "none"), ("snappy", "snappy"), ("parquet gzip", "gzip")):
        stream = io.BytesIO()
        table = pa.table(
            {**columns, "target": labels.dictionary_encode() if name == "snappy" else labels}
        )
        pq.write_table(table, stream, compression=compression)
        found[name] = stream.getvalue()
    stream = io.BytesIO()
    when = pa.array(np.arange(len(y)), pa.timestamp("s"))
    lists = pa.array([[1.0]] * len(y))
    table = pa.table(
        {**columns, "target": labels, "when": when, "lists": lists, "nothing": pa.nulls(len(y))}
    )
    pq.write_table(table, stream, row_group_size=7)
    return {**found, "odd columns": stream.getvalue()}


def _is_small(table: Table) -> bool:
    """Return whether a second is enough to train on a table, perhaps for several classes."""
    if table.matrix is not None:
        width, labels = table.matrix.shape[1], table.labels
    else:
        names = table.names or []
        width, labels = len(names), table.to_show().get("target", table.to_show().get(names[-1]))
    few = labels is None or len(set(labels.tolist())) <= MOST_CLASSES
    return table.n_rows <= 4 * ROWS and width <= 50 and few


def _prepare(table: Table) -> str | None:
    """Make features of a table; return what is wrong with them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preparation = Preparation.learn(table, standardize=True)
        X = preparation.features(table)
    values = X if isinstance(X, np.ndarray) else X.data
    return None if np.isfinite(values).all() else "features are not finite"


def _commands(file: Path, folder: Path) -> list[list[str]]:
    model = str(folder / "model.tau")
    return [
        ["fit", str(file), "-o", model],
        ["predict", model, str(file), "--proba", "-o", str(folder / "out.csv")],
        ["report", model, str(file), "-o", str(folder / "page.html")],
    ]


def _run_all(file: Path, format: str | None, folder: Path, n_rows: int) -> str | None:
    """Train, predict and report; return what is wrong with what the commands say or write."""
    for command in _commands(file, folder):
        if format is not None:
            command += ["--format", format]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main(command)
        told = out.getvalue() + err.getvalue()
        if not told.replace("\n", "").isprintable():
            return f"{command[0]} printed a control character"
        complaints = [line for line in err.getvalue().splitlines() if "warning: " not in line]
        if max(map(len, told.splitlines()), default=0) > 1000:
            return f"{command[0]} printed a long line"
        if status == 1 and len(complaints) == 1 and complaints[0].startswith("taupath: "):
            if "--debug" in complaints[0]:
                return f"{command[0]}: {complaints[0]}"
            left = set(os.listdir(folder)) - {"model.tau", "out.csv"}
            return f"left behind: {left}" if left else None
        if status != 0 or complaints:
            return f"{command[0]} ended with {status}: {err.getvalue()[:300]}"
    with (folder / "out.csv").open(newline="", encoding="utf-8") as stream:
        found = sum(1 for _ in csv.reader(stream)) - 1
    return None if found == n_rows else f"{found} predictions for {n_rows} rows"
