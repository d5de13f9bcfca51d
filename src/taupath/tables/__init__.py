"""Tables in files: delimited text, LIBSVM format, Parquet and NumPy archives, compressed or not.

Data frames and columns by name become tables, too. Parquet needs pyarrow:
``pip install pyarrow``.
"""

from taupath.tables.frames import as_table
from taupath.tables.reading import read_table
from taupath.tables.table import Table, TableError
from taupath.tables.writing import write_table

__all__ = ["Table", "TableError", "as_table", "read_table", "write_table"]
