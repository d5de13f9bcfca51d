"""Tables in files: delimited text, LIBSVM format, Parquet and NumPy archives, compressed or not.

Parquet needs pyarrow, which comes with ``pip install taupath[parquet]``.
"""

from taupath.tables.reading import read_table
from taupath.tables.table import Table, TableError
from taupath.tables.writing import format_to_write, write_table

__all__ = ["Table", "TableError", "format_to_write", "read_table", "write_table"]
