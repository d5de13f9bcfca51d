"""The paper's splice data: DNA, one-hot, 10 000 × 804, sparse."""

from datasets.paper import paper_task
from task import Task


def load() -> Task:
    """Return the paper's problem."""
    return paper_task("splice")
