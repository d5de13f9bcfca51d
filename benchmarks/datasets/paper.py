"""What the paper's three data sets have in common: λ as in its Table 1, the training part."""

from task import Task, narrow

from taupath.datasets import load_paper


def paper_task(name: str) -> Task:
    """Return the task of one of the paper's sets."""
    data = load_paper(name)
    C = 1.0 / (data.X_train.shape[0] * data.lam)
    return Task(name, "classification", narrow(data.X_train), data.y_train.astype(float), C)
