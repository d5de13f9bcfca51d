"""What the benchmarks share with the reproduction of the paper, under one short name."""

from taupath.reproduce.measuring import Stopwatch, Work, machine, n_threads, work
from taupath.reproduce.text_tables import error, number, table, work_columns

__all__ = [
    "Stopwatch",
    "Work",
    "error",
    "machine",
    "n_threads",
    "number",
    "table",
    "work",
    "work_columns",
]
