"""Words that options take, and names of columns without names, for library and command line.

The command line needs them before it knows what to do, so nothing heavy is imported here.
"""

# How a path is found.
METHODS = ("exact", "approximate", "auto")
# Where kernels of approximate paths are computed.
DEVICES = ("auto", "cpu", "cuda")
# How a search combines its candidates.
COMBINE = ("stack", "best", "per_tau")
# The least probability that Laplace's rule of succession allows for.
LAPLACE = "laplace"
# Kinds of intercepts.
INTERCEPTS = ("augmented", "free", "none")
# Formats that tables are read from.
FORMATS = ("libsvm", "csv", "tsv", "parquet", "npz")
# What the responses are: classes or numbers.
TASKS = ("classify", "regress")
# What is done about missing cells: an error, fill them in, or leave their rows out.
MISSING = ("error", "impute", "drop")
# What is done about categories that training did not have.
UNSEEN = ("ignore", "error")
# Parts of the paper that `taupath reproduce` computes again.
REPRODUCED = ("table1", "table2", "figure1", "figure2", "lemma", "kinks", "all")
# Columns that a sparse matrix in a file may have by default: a model holds numbers for each of
# them, even if one row alone has a value there.
SPARSE_COLUMNS = 10_000_000


def names_of_unnamed(n_columns: int) -> list[str]:
    """Return what columns without names are called: x1, x2, ..."""
    return [f"x{j}" for j in range(1, n_columns + 1)]
