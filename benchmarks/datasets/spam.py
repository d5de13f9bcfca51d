"""The paper's spam data: term counts, 2500 × 48784, sparse."""

from datasets.paper import paper_task
from task import Task


def load() -> Task:
    """Return the paper's problem."""
    return paper_task("spam")
