"""Tables in files: delimited text, LIBSVM format, Parquet and NumPy archives, compressed or not.

Parquet needs pyarrow: ``pip install pyarrow``.
"""

from taupath.tables.reading import read_table
from taupath.tables.table import Table, TableError
from taupath.tables.writing import write_table

__all__ = ["Table", "TableError", "read_table", "write_table"]
