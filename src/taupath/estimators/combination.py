"""Combine the probabilities of several paths into one, fitted to held-out samples."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from taupath.estimators.costs import weight_below

# Ridge penalty on the distance of weights from equal ones, added to the total log-loss.
RIDGE = 1.0
# Paths are left out as long as the total log-loss of the others, with weights fitted anew, exceeds
# that of all paths by at most this. Akaike's criterion charges twice this for a weight.
NOT_MISSED = 0.5


def shrunk(proba: np.ndarray, n_samples: float) -> np.ndarray:
    """Return probabilities shrunk as if one more sample of each class had been seen (Laplace).

    The last axis holds the classes. None of them is 0 or 1 any more.
    """
    return np.asarray((n_samples * proba + 1.0) / (n_samples + proba.shape[-1]))


@dataclass(frozen=True)
class Stack:
    """softmax(Σ_m w_m log p_mk + b_k), of probabilities p_mk by several paths.

    For two classes it is the logistic function of Σ_m w_m logit(p_m) + b.
    """

    weights: np.ndarray  # w, not negative
    intercept: np.ndarray  # b, the first one is 0
    n_samples: float  # as in `shrunk`

    def proba(self, each: np.ndarray) -> np.ndarray:
        """Return probabilities of shape (n, n_classes) from those of shape (n_paths, n, n_classes).

        Of two classes, the positive one is last.
        """
        return np.asarray(softmax(self._score(np.log(shrunk(each, self.n_samples))), axis=1))

    def _score(self, log_proba: np.ndarray) -> np.ndarray:
        return np.asarray(np.tensordot(self.weights, log_proba, axes=1) + self.intercept)


def fit_stack(
    each: np.ndarray, truth: np.ndarray, weight: np.ndarray, start: np.ndarray | None = None
) -> Stack:
    """Return the stack with the least log-loss, its weights shrunk towards equal ones.

    `each` holds the probabilities that each path predicts for held-out samples, of shape (n_paths,
    n, n_classes), `truth` the class of each sample, and `weight` how often it counts. The weights
    and all intercepts but the first are looked for near `start`.
    """
    n_paths, _, n_classes = each.shape
    n_samples = float(weight.sum())
    log_proba = np.log(shrunk(each, n_samples))
    own = np.eye(n_classes)[truth]
    equal = np.full(n_paths, 1.0 / n_paths)

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        weights, intercept = parameters[:n_paths], np.append(0.0, parameters[n_paths:])
        found = log_softmax(np.tensordot(weights, log_proba, axes=1) + intercept, axis=1)
        off = weight[:, np.newaxis] * (np.exp(found) - own)
        away = weights - equal
        value = -float(weight @ (own * found).sum(axis=1)) + 0.5 * RIDGE * float(away @ away)
        slope = np.tensordot(log_proba, off, axes=([1, 2], [0, 1])) + RIDGE * away
        return value, np.append(slope, off.sum(axis=0)[1:])

    found = minimize(
        objective,
        np.append(equal, np.zeros(n_classes - 1)) if start is None else start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n_paths + [(None, None)] * (n_classes - 1),
    )
    return Stack(found.x[:n_paths], np.append(0.0, found.x[n_paths:]), n_samples)


class Chosen(NamedTuple):
    """The indices of the paths that are used, and how they are combined."""

    which: np.ndarray
    stack: Stack


def choose_stack(each: np.ndarray, truth: np.ndarray, weight: np.ndarray) -> Chosen:
    """Return a stack without the paths that do not improve it."""

    def log_loss(stack: Stack, which: np.ndarray) -> float:
        proba = stack.proba(each[which])
        return -float(weight @ np.log(proba[np.arange(len(truth)), truth]))

    which = np.arange(len(each))
    stack = fit_stack(each, truth, weight)
    most = log_loss(stack, which) + NOT_MISSED
    for candidate in np.argsort(stack.weights, kind="stable").tolist():
        fewer = which[which != candidate]
        if len(fewer) == 0:
            break
        near = np.append(stack.weights[which != candidate], stack.intercept[1:])
        other = fit_stack(each[fewer], truth, weight, near)
        if log_loss(other, fewer) <= most:
            which, stack = fewer, other
    return Chosen(which, stack)


# -- one path for each τ ---------------------------------------------------------------------------

# Log-odds of the τ for which a path is chosen, evenly spaced; any other τ uses the path of the
# nearest one.
CHOSEN_AT = np.linspace(-4.5, 4.5, 91)
# Standard deviation of the Gaussian that smooths costs over the log-odds of τ. Without it, a
# handful of samples decide: at τ = 1/51 a miss is worth 50 false alarms.
SMOOTHED_OVER = 0.7


@dataclass(frozen=True)
class PerTau:
    """The length of {τ : p_m(τ) ≥ τ}, where m(τ) is the path chosen for τ. Two classes only."""

    which: np.ndarray  # m, for each piece of [0, 1]
    edges: np.ndarray  # of the pieces, from 0 to 1
    n_samples: float

    def proba(self, each: np.ndarray) -> np.ndarray:
        """Return probabilities of shape (n, 2), see `Stack.proba`."""
        begin, end = self.edges[:-1], self.edges[1:]
        inside = each[self.which, :, 1] - begin[:, np.newaxis]
        length = np.clip(inside, 0.0, (end - begin)[:, np.newaxis]).sum(axis=0)
        return shrunk(np.column_stack((1.0 - length, length)), self.n_samples)


def choose_per_tau(
    each: np.ndarray, truth: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, PerTau]:
    """Return the paths that are used, and for each τ the one with the least smoothed cost."""
    taus = expit(CHOSEN_AT)
    positive = truth == 1
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    costs = []
    for proba in each[:, :, 1]:
        missed = weight_below(proba[positive], weight[positive], taus)
        alarms = n_negative - weight_below(proba[~positive], weight[~positive], taus)
        costs.append((1.0 - taus) * missed + taus * alarms)
    relative = np.array(costs) / np.minimum(taus * n_negative, (1.0 - taus) * n_positive)
    near = np.exp(-0.5 * (np.subtract.outer(CHOSEN_AT, CHOSEN_AT) / SMOOTHED_OVER) ** 2)
    best = (relative @ near / near.sum(axis=0)).argmin(axis=0)
    change = np.flatnonzero(np.diff(best)) + 1
    between = expit(0.5 * (CHOSEN_AT[change - 1] + CHOSEN_AT[change]))
    needed, which = np.unique(best[np.append(0, change)], return_inverse=True)
    edges = np.concatenate(([0.0], between, [1.0]))
    return needed, PerTau(which, edges, float(weight.sum()))
