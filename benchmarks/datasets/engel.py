"""The data of Engel: food expenditure against income, 235 × 1."""

from task import Task

from datasets.tables import regression_task


def load(C: float = 1.0) -> Task:
    """Return quantile regression with a free intercept."""
    return regression_task("engel", C)
