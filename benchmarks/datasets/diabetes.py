"""The paper's diabetes data, 668 × 8; with a γ, standardised and with the RBF kernel."""

from dataclasses import replace

from task import Task

from datasets.paper import paper_task


def load(gamma: float = 0.0, intercept: str = "augmented") -> Task:
    """Return the paper's problem, or the one with the kernel exp(-γ |x - x'|²)."""
    task = replace(paper_task("diabetes"), intercept=intercept)
    if not gamma:
        return task if intercept == "augmented" else task.with_free_intercept()
    X = (task.X - task.X.mean(axis=0)) / task.X.std(axis=0)
    return replace(task, name="diabetes, RBF", X=X, kernel="rbf", gamma=gamma)
