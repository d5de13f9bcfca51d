"""`sklearn.svm.SVC`: LIBSVM, sequential minimal optimisation, with a free intercept."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from task import Answer, Task

from solvers.base import Solver, fit_quietly

# Steps of two θ each, at most, times samples: without a limit tight tolerances may take for ever.
MOST_WORK = 3_000_000_000


class Svc(Solver):
    """No warm start is offered."""

    name = "SVC (LIBSVM)"
    package, module = "scikit-learn", "sklearn"
    kernels = ("linear", "rbf")
    intercepts = ("free",)
    tolerances = tuple(10.0**-k for k in range(1, 11))

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Fit once for each τ."""
        from sklearn.svm import SVC

        answers = []
        for tau in taus:
            model = SVC(
                kernel=task.kernel,
                gamma=task.gamma or "scale",
                C=task.C,
                tol=tolerance,
                cache_size=500,
                max_iter=MOST_WORK // task.n_samples,
                class_weight=task.class_weight(tau),
            )
            fit_quietly(model, task.X, task.y)
            answers.append(Answer(theta=svc_dual(model, task.n_samples)))
        return answers


def svc_dual(model: Any, n_samples: int) -> np.ndarray:
    """Return θ of a fitted SVC."""
    theta = np.zeros(n_samples)
    theta[model.support_] = np.abs(model.dual_coef_[0])
    return theta


SOLVER = Svc()
