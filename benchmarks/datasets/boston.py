"""The Boston data: house prices, 506 × 13."""

from task import Task

from datasets.tables import regression_task


def load(C: float = 1.0) -> Task:
    """Return quantile regression with a free intercept."""
    return regression_task("Boston", C)
