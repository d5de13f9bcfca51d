"""What the census data have in common."""

from task import Task, narrow

from taupath.datasets import load_classification

LAM = 1e-3


def census_task(name: str) -> Task:
    """Return the task of one of the sets."""
    data = load_classification(name)
    C = 1.0 / (data.X.shape[0] * LAM)
    return Task(name, "classification", narrow(data.X), data.y.astype(float), C)
