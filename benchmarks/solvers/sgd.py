"""`sklearn.linear_model.SGDClassifier`: stochastic gradients, each τ begun where the last ended."""

from collections.abc import Sequence

from task import Answer, Task

from solvers.base import Solver, fit_quietly, passes, with_ones

MOST_PASSES = 10_000


class Sgd(Solver):
    """The intercept is a column of ones here, so that it is regularised as the task says."""

    name = "SGDClassifier"
    package, module = "scikit-learn", "sklearn"
    tolerances = tuple(10.0**-k for k in range(1, 7))

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Fit one model after the other, with a warm start."""
        from sklearn.linear_model import SGDClassifier

        X, answers = with_ones(task.X), []
        model = SGDClassifier(
            loss="hinge",
            alpha=1.0 / (task.n_samples * task.C),
            fit_intercept=False,
            tol=tolerance,
            max_iter=passes(task, MOST_PASSES),
            random_state=0,
            warm_start=True,
        )
        for tau in taus:
            model.set_params(class_weight=task.class_weight(tau))
            fit_quietly(model, X, task.y)
            answers.append(Answer(w=model.coef_[0].copy()))
        return answers


SOLVER = Sgd()
