"""What a path answers about its own samples left out, and about fewer or more of them."""

from typing import Any

import numpy as np

from taupath.paths.other_rows import (
    check_costs_of_path,
    check_exact,
    left_out_decisions,
    left_out_errors,
    with_more_rows,
    without_rows,
)
from taupath.paths.solution_at import SolutionAt
from taupath.paths.solutions import Solutions
from taupath.paths.walked import Walked
from taupath.validation import one_or_several


class LeavingOut:
    """Methods of `SolutionPath` for exact paths that have their training data."""

    solutions: Solutions

    def leave_one_out(self, tau: Any) -> np.ndarray:
        """Return f(x_i) of each training sample without sample i, exactly.

        C stays as it is, so λ = 1 / (n C) does not; so do γ and the other parameters of the kernel.
        Only samples with α_i ≠ 0 take work: each is followed out of the solution, at a few events.

        Parameters
        ----------
        tau : float or array-like of shape (n_taus,)
            One value of the path's parameter, or several, within `tau_range`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_taus)
            One column for each τ where several are asked for. NaN for the last sample of a class,
            without which there is nothing to fit. A sample of weight 0 is absent anyway.
        """
        walked = check_exact(self.solutions, "leave_one_out")
        several, values = self._values(walked, tau)
        found = [left_out_decisions(walked, value) for value in values]
        if not several:
            return found[0]
        return np.array(found).reshape(len(values), len(walked.data.sign)).T

    def loo_error(self, tau: Any) -> Any:
        """Return the share of training samples that the solutions without them decide wrongly.

        For classification. Weights count as numbers of copies, and a sample leaves with its whole
        weight. The last sample of a class counts as an error.

        Parameters
        ----------
        tau : float or array-like of shape (n_taus,)
            One value of the path's parameter, or several.

        Returns
        -------
        float or ndarray of shape (n_taus,)
        """
        walked = self._classification("loo_error")
        several, values = self._values(walked, tau)
        weight = walked.data.weight
        found = [np.average(left_out_errors(walked, value), weights=weight) for value in values]
        return np.array(found) if several else float(found[0])

    def loo_cost(self, tau: Any = None, *, cost_fp: Any = None, cost_fn: Any = None) -> Any:
        """Return the mean cost of decisions about training samples by the solutions without them.

        For classification. At τ a false positive costs 2 τ and a false negative 2 (1 - τ), as in
        training; or costs are given, and τ = cost_fp / (cost_fp + cost_fn).

        Parameters
        ----------
        tau : float or array-like of shape (n_taus,), optional
            One value of the path's parameter, or several.
        cost_fp, cost_fn : float or array-like of shape (n_costs,), optional
            Instead of `tau`: the costs of both mistakes, or several of them. For paths over τ.

        Returns
        -------
        float or ndarray of shape (n_taus,)
        """
        walked = self._classification("loo_cost")
        data = walked.data
        if tau is not None and (cost_fp is not None or cost_fn is not None):
            raise TypeError("give tau, or cost_fp and cost_fn, not both")
        if cost_fp is not None or cost_fn is not None:
            costs_fp, costs_fn = check_costs_of_path(walked.job, cost_fp, cost_fn)
            tau = costs_fp / (costs_fp + costs_fn)
            tau = float(tau) if tau.ndim == 0 else tau
        several, values = self._values(walked, tau)
        if cost_fp is None:
            own = np.array([walked.job.tau_at(value) for value in values])
            costs_fp, costs_fn = 2.0 * own, 2.0 * (1.0 - own)
        found = [
            np.average(
                np.where(data.sign > 0.0, fn, fp) * left_out_errors(walked, value),
                weights=data.weight,
            )
            for value, fp, fn in zip(
                values, np.atleast_1d(costs_fp), np.atleast_1d(costs_fn), strict=True
            )
        ]
        return np.array(found) if several else float(found[0])

    def without(self, rows: Any, tau: float) -> SolutionAt:
        """Return the solution at τ without some of the training samples, and no refit.

        C stays as it is, so λ = 1 / (n C) does not. The path itself does not change.

        Parameters
        ----------
        rows : array-like of int, or of bool of shape (n_samples,)
            The samples to forget: their numbers, or a mask.
        tau : float
            Within `tau_range`.

        Returns
        -------
        SolutionAt
            With its own certificate.
        """
        walked = check_exact(self.solutions, "without")
        return without_rows(walked, walked.check(tau), rows)

    def with_rows(self, X: Any, y: Any, tau: float, sample_weight: Any = None) -> SolutionAt:
        """Return the solution at τ with more training samples, and no refit.

        C stays as it is, so λ = 1 / (n C) does not. The path itself does not change.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            The new samples. Not available with a precomputed kernel.
        y : array-like of shape (n_new,)
            Their labels, which must be those of the path, or numbers.
        tau : float
            Within `tau_range`.
        sample_weight : array-like of shape (n_new,), optional
            As in training.

        Returns
        -------
        SolutionAt
            With its own certificate; the new samples come last.
        """
        walked = check_exact(self.solutions, "with_rows")
        return with_more_rows(walked, walked.check(tau), X, y, sample_weight)

    def _classification(self, name: str) -> Walked:
        walked = check_exact(self.solutions, name)
        if walked.job.classes is None:
            raise ValueError(f"{name} is for classification; use leave_one_out")
        return walked

    @staticmethod
    def _values(walked: Walked, tau: Any) -> tuple[bool, list[float]]:
        """Return whether several values of the parameter are asked for, and all of them."""
        asked = one_or_several(tau, None, walked.job.parameter)
        several = np.ndim(asked) > 0
        return several, [walked.check(value) for value in (asked if several else [asked])]
