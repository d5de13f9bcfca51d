"""The objective of the benchmarks: gap and KKT violation of any answer, computed here alone.

Classification minimises 1/2 |w|² + C Σ a_i(τ) max(0, 1 - y_i f(x_i)) with a = 2(1-τ) for the
positive class and 2τ for the other; quantile regression 1/2 |w|² + C Σ ρ_τ(y_i - f(x_i)). The
intercept counts as a weight where it is augmented.

An answer with θ certifies itself: `judge` computes the duality gap and the violation from X, y and
θ. One with w alone is judged beside the best θ that is known, that of the exact path: its duality
gap with it bounds how far w is from the optimum, whoever has found θ. Solvers of the linear
programme, without |w|²/2, are judged by their pinball loss, relative to the least that is known.

The KKT violation is that of the natural residual, so that interior point methods, whose θ comes
close to a bound without reaching it, are not blamed for that: with box width h - l and margin m,

    max_i |θ_i - clip(θ_i + (h_i - l_i) (p_i - m_i) / max |p|, l_i, h_i)| / (h_i - l_i).
"""

from dataclasses import dataclass, replace

import numpy as np
from judge import BoxProblem, Problem, Verdict, classification, linear, rbf, regression, worst
from task import Answer, Task

from taupath import SolutionPath, quantile_path, quantile_regression_path

__all__ = ["Objective", "follow", "worst"]


def follow(task: Task) -> SolutionPath:
    """Return the exact path of a task."""
    settings = {"kernel": task.kernel, "gamma": task.gamma or "scale", "intercept": task.intercept}
    run = quantile_path if task.kind == "classification" else quantile_regression_path
    return run(task.X, task.y, C=task.C, **settings)


@dataclass
class Objective:
    """The judge of one task, with the path whose θ stands beside answers that have none."""

    task: Task
    path: SolutionPath

    def __post_init__(self) -> None:
        X, gamma = self.task.X, self.task.gamma
        self._gram = linear(X) if self.task.kernel == "linear" else rbf(self.task.dense, gamma)
        self._least: dict[float, float] = {}

    def at(self, tau: float) -> BoxProblem:
        """Return the problem of one τ."""
        task = self.task
        make = classification if task.kind == "classification" else regression
        return make(self._gram, task.y, task.C, tau, task.intercept == "free")

    def best_theta(self, tau: float) -> np.ndarray:
        """Return θ of the path."""
        alpha = self.path.alpha(tau)
        return alpha * (self.task.n_samples * self.task.C) if self._classifies else alpha

    def judge(self, tau: float, answer: Answer) -> Verdict:
        """Judge an answer of the task itself."""
        task = self.task
        if answer.theta is not None:
            found = self.at(tau).judge(answer.theta)
            return replace(found, kkt=self.residual(tau, answer.theta, self._margin(tau, answer)))
        if not self._classifies or task.kernel != "linear" or task.intercept != "augmented":
            raise ValueError(f"{task.name}: w alone can be judged for linear classification only")
        lam = 1.0 / (task.n_samples * task.C)
        theta, w = self.best_theta(tau), answer.w
        found = Problem(task.X, task.y, lam).judge(tau, lam * theta, w)
        margin = task.y * (task.X @ w[:-1] + w[-1])
        return replace(found, kkt=self.residual(tau, theta, margin))

    def residual(self, tau: float, theta: np.ndarray, margin: np.ndarray) -> float:
        """Return the largest natural residual, as the head of this file says."""
        box = self.at(tau)
        width = box.upper - box.lower
        short = (box.target - margin) / np.abs(box.target).max()
        moved = np.clip(theta + width * short, box.lower, box.upper)
        return float(np.max(np.abs(theta - moved) / width))

    def _margin(self, tau: float, answer: Answer) -> np.ndarray:
        """Return e_i (f(x_i) + b) of θ."""
        signed = self.task.sign * answer.theta
        f, bias = self._gram(signed), signed.sum()
        if self.task.intercept == "free":
            bias = self.at(tau).best_intercept(f)
        return self.task.sign * (f + bias)

    def loss(self, tau: float, w: np.ndarray) -> float:
        """Return the pinball loss of w, the bias last."""
        residual = self.task.y - self.task.X @ w[:-1] - w[-1]
        return float(np.maximum(tau * residual, (tau - 1.0) * residual).sum())

    def weights(self, tau: float, answer: Answer) -> np.ndarray:
        """Return w of an answer of a linear task, the bias last."""
        if answer.w is not None:
            return answer.w
        signed = self.task.sign * answer.theta
        bias = signed.sum()
        if self.task.intercept == "free":
            bias = self.at(tau).best_intercept(self._gram(signed))
        return np.append(self.task.X.T @ signed, bias)

    def note(self, tau: float, loss: float) -> None:
        """Take note of a loss, which may be the least."""
        self._least[tau] = min(loss, self._least.get(tau, np.inf))

    def excess(self, tau: float, loss: float) -> float:
        """Return how far a loss exceeds the least that was noted, relative to it."""
        return loss / self._least[tau] - 1.0

    @property
    def _classifies(self) -> bool:
        return self.task.kind == "classification"
