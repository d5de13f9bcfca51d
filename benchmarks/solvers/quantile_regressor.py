"""`sklearn.linear_model.QuantileRegressor`: the linear programme, by HiGHS."""

from collections.abc import Sequence

import numpy as np
from task import Answer, Task

from solvers.base import Solver


class HighsQuantiles(Solver):
    """Without a penalty; its only one is the L1 norm. No warm start is offered."""

    name = "QuantileRegressor"
    package, module = "scikit-learn", "sklearn"
    tolerances = (0.0,)
    kinds = ("regression",)
    intercepts = ("augmented", "free")
    minimises = "linear programme"

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Fit once for each τ."""
        from sklearn.linear_model import QuantileRegressor

        answers = []
        for tau in taus:
            model = QuantileRegressor(quantile=tau, alpha=0.0, solver="highs").fit(task.X, task.y)
            answers.append(Answer(w=np.append(model.coef_, model.intercept_)))
        return answers


SOLVER = HighsQuantiles()
