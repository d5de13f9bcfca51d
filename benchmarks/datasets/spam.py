"""The paper's spam data: term counts, 2500 × 48784, sparse."""

from task import Task

from datasets.paper import paper_task


def load() -> Task:
    """Return the paper's problem."""
    return paper_task("spam")
