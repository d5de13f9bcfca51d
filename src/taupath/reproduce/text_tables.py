"""Tables of columns, and how numbers are written in them."""

from collections.abc import Sequence

from taupath.reproduce.measuring import Work


def work_columns(works: Sequence[Work]) -> list[tuple[str, list[str]]]:
    """Return the columns of a table about these walks."""
    return [
        ("rows per kink", [f"{work.rows_per_event:.1f}" for work in works]),
        ("mean free set", [f"{work.mean_free:.1f}" for work in works]),
        ("refactorisations", [str(work.refactorizations) for work in works]),
        ("repairs", [str(work.repairs) for work in works]),
        ("bytes", [str(work.nbytes) for work in works]),
    ]


def table(title: str, columns: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the lines of a table of columns, each a head and its cells, flush right.

    The first column is flush left.
    """
    padded = []
    for k, (head, cells) in enumerate(columns):
        width = max(map(len, (head, *cells)))
        padded.append([cell.rjust(width) if k else cell.ljust(width) for cell in (head, *cells)])
    return [title, *("  ".join(cells) for cells in zip(*padded, strict=True))]


def number(value: float | None) -> str:
    """Write a measured number with three digits or more; a dash for one not measured."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100.0 else f"{value:.3g}"


def error(value: float | None) -> str:
    """Write how large an error is; a dash for one not measured."""
    return "-" if value is None else f"{value:.1e}"


def percent(value: float, digits: int = 1) -> str:
    """Write a share in per cent."""
    return f"{100.0 * value:.{digits}f} %"
