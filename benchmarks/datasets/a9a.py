"""The census data a9a: 32 561 × 123, sparse and binary, a quarter positive."""

from task import Task

from datasets.census import census_task


def load() -> Task:
    """Return the SVM with λ = 1e-3."""
    return census_task("a9a")
