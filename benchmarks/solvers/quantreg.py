"""statsmodels' `QuantReg`: reweighted least squares; a fit includes a covariance matrix."""

import warnings
from collections.abc import Sequence

import numpy as np
from task import Answer, Task

from solvers.base import Solver, with_ones


class StatsmodelsQuantiles(Solver):
    """Without a penalty. No warm start is offered."""

    name = "statsmodels QuantReg"
    package = module = "statsmodels"
    tolerances = (1e-3, 1e-6, 1e-9, 1e-12)
    kinds = ("regression",)
    intercepts = ("augmented", "free")
    minimises = "linear programme"

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Fit once for each τ."""
        from statsmodels.regression.quantile_regression import QuantReg
        from statsmodels.tools.sm_exceptions import ConvergenceWarning, IterationLimitWarning

        X, answers = with_ones(task.X), []
        for tau in taus:
            with warnings.catch_warnings():  # what it has reached by then is judged
                warnings.simplefilter("ignore", IterationLimitWarning)
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", RuntimeWarning)
                found = QuantReg(task.y, X).fit(q=tau, p_tol=tolerance, max_iter=10_000)
            answers.append(Answer(w=np.asarray(found.params)))
        return answers


SOLVER = StatsmodelsQuantiles()
