"""`sklearn.svm.LinearSVC`: LIBLINEAR again, with as many passes as it takes."""

from collections.abc import Sequence

import numpy as np
from task import Answer, Task

from solvers.base import Solver, fit_quietly, passes

# Passes over the data, at most; scikit-learn's default of 1000 stops it short of tight tolerances.
MOST_PASSES = 100_000


class LinearSvc(Solver):
    """No warm start is offered. Features are handed over at every fit."""

    name = "LinearSVC"
    package, module = "scikit-learn", "sklearn"
    tolerances = tuple(10.0**-k for k in range(1, 9))

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Fit once for each τ."""
        from sklearn.svm import LinearSVC

        answers = []
        for tau in taus:
            model = LinearSVC(
                loss="hinge",
                C=task.C,
                tol=tolerance,
                max_iter=passes(task, MOST_PASSES),
                class_weight=task.class_weight(tau),
                random_state=0,
            )
            fit_quietly(model, task.X, task.y)
            answers.append(Answer(w=np.append(model.coef_[0], model.intercept_)))
        return answers


SOLVER = LinearSvc()
