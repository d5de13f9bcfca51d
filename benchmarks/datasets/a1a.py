"""The census data a1a: 1605 × 119, sparse and binary, a quarter positive."""

from task import Task

from datasets.census import census_task


def load() -> Task:
    """Return the SVM with λ = 1e-3."""
    return census_task("a1a")
