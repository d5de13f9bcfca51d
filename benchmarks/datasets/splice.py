"""The paper's splice data: DNA, one-hot, 10 000 × 804, sparse."""

from task import Task

from datasets.paper import paper_task


def load() -> Task:
    """Return the paper's problem."""
    return paper_task("splice")
