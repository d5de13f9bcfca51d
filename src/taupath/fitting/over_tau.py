"""Paths over τ: arguments are checked once, and the method is chosen."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taupath.approximate.array_libraries import library_for
from taupath.approximate.kernel_solutions import solve_at_kernel_nodes
from taupath.approximate.kernel_source import KernelSource, located
from taupath.approximate.solutions import solve_at_nodes
from taupath.approximate.training_data import StoredData
from taupath.choices import METHODS
from taupath.cluster.entry import cluster_solver
from taupath.fitting.doubts import warn_of_inexact
from taupath.fitting.method import TOO_FEW_FOR_TRIALS, Choice, choose_by_cost, forecast_of
from taupath.fitting.reach import check_reach
from taupath.paths.intercept import fixed_intercept, make_intercept
from taupath.paths.jobs import Job, label_responses, target_responses
from taupath.paths.kernel_data import FEWEST_ROWS, MEGABYTE, KernelData
from taupath.paths.options import Options, make_training_data
from taupath.paths.path import SolutionPath
from taupath.paths.training_data import Responses
from taupath.paths.walked import Walked
from taupath.progress import Progress, Tell, telling
from taupath.validation import (
    check_choice,
    check_features,
    check_n_jobs,
    check_positive,
    check_progress,
    check_range,
    is_dask,
)

# Finds the exact solutions of a job.
Walk = Callable[..., Walked]


@dataclass(frozen=True)
class Request:
    """Users' arguments on how to find a path over τ; the kernel is checked with the data."""

    options: Options
    tau_range: tuple[float, float]
    in_two_threads: bool
    method: str
    tol: float
    progress: Progress | None
    device: str | None  # where kernels of approximate paths are computed

    @classmethod
    def checked(
        cls,
        options: Options,
        tau_range: Any,
        n_jobs: Any,
        method: Any,
        tol: Any,
        progress: Any,
        device: Any = None,
    ) -> "Request":
        """Return the request with these arguments of a user."""
        fixed_intercept(options.intercept)
        check_positive(options.cache_size, "cache_size")
        library_for(device)
        progress, in_two_threads = check_progress(progress), check_n_jobs(n_jobs) > 1
        tol, method = check_positive(tol, "tol"), check_choice(method, "method", METHODS)
        tau_range = check_range(tau_range)
        return cls(options, tau_range, in_two_threads, method, tol, progress, device)


def path_over_tau(
    X: Any,
    y: Any,
    sample_weight: Any,
    request: Request,
    labelled: bool,
    make_job: Callable[[int, Any], Job],
    walk: Walk,
) -> SolutionPath:
    """Return the path of a job by the requested method.

    `labelled` tells whether y holds labels of two classes, not numbers. `make_job` returns the
    job, given the number of samples and the classes (None for numbers); `walk` finds its exact
    solutions.
    """
    options, tau_range, tol = request.options, request.tau_range, request.tol
    if is_dask(X, y, sample_weight):
        solver = cluster_solver(request.method, options.kernel)
        to_nodes = telling(request.progress, "nodes", "τ")
        return SolutionPath(
            solver.solve_on_cluster(
                X, y, sample_weight, labelled, make_job, options.intercept, tau_range, tol, to_nodes
            )
        )
    linear = isinstance(options.kernel, str) and options.kernel == "linear"
    source: KernelSource | None = getattr(X, "source", None)
    if source is None and request.method == "approximate" and not linear:
        source, X, y, sample_weight = located(request.device, X, y, sample_weight)
    X = check_features(X, single=linear and request.method != "exact")
    source = source or KernelSource(X, library_for(request.device))
    n_samples, classes = X.shape[0], None
    if labelled:
        classes, responses = label_responses(y, n_samples, sample_weight)
    else:
        responses = target_responses(y, n_samples, sample_weight)
    job, choice = make_job(n_samples, classes), Choice(request.method, "")
    if request.method == "auto":
        choice = _chosen(X, responses, request, job, walk)
    path = _by(choice.method, X, responses, request, job, walk, source)
    if choice.why:
        path.method_reason = choice.why
        say = getattr(request.progress, "say", None)
        if say is not None:
            say(f"{choice.method} path: {choice.why}")
    return path


def _by(
    method: str,
    X: Any,
    responses: Responses,
    request: Request,
    job: Job,
    walk: Walk,
    source: KernelSource,
) -> SolutionPath:
    """Return the path that this method finds; `source` computes kernels of approximate ones."""
    options, tau_range, tol = request.options, request.tau_range, request.tol
    linear = isinstance(options.kernel, str) and options.kernel == "linear"
    to_nodes = telling(request.progress, "nodes", "τ")
    if method == "approximate" and not linear:
        return _with_kernel(X, responses, request, job, to_nodes, source)
    if method == "approximate":
        stored = StoredData(X, responses, make_intercept(options.intercept, X))
        check_reach(job.C, stored)
        return SolutionPath(solve_at_nodes(job, stored, tau_range, tol, to_nodes))
    data = make_training_data(X.astype(np.float64, copy=False), responses, options)
    to_kinks = telling(request.progress, "kinks", "τ")
    check_reach(job.C, data)
    walked = walk(job, data.distinct, tau_range, to_kinks, request.in_two_threads).on(data)
    warn_of_inexact(walked)
    return SolutionPath(walked)


def _chosen(X: Any, responses: Responses, request: Request, job: Job, walk: Walk) -> Choice:
    """Return the method that "auto" stands for, and why."""
    n_samples, options = X.shape[0], request.options
    if n_samples <= TOO_FEW_FOR_TRIALS:
        return Choice("exact", f"{n_samples} samples are few")
    # evenly spaced in the order of what is predicted, so that every class keeps its share
    order = np.argsort(responses.sign * responses.target, kind="stable")
    indefinite = False

    def some(samples: int) -> Walked:
        """Return the path of so many samples, with the same C."""
        nonlocal indefinite
        chosen = np.sort(order[np.linspace(0, n_samples - 1, samples).astype(int)])
        rows = X[chosen].astype(np.float64, copy=False)
        rows = rows[:, chosen] if options.kernel == "precomputed" else rows
        part = Responses(*(each[chosen] for each in responses))
        data = make_training_data(rows, part, options, known=True).distinct
        indefinite = indefinite or data.indefinite
        return walk(job, data, request.tau_range)

    linear = isinstance(options.kernel, str) and options.kernel == "linear"
    found = forecast_of(some, n_samples, X.shape[1] + 1 if linear else math.inf)
    if indefinite:
        return Choice("exact", "there is no approximate path with an indefinite kernel")
    if found is None:
        return Choice("exact", "how long it takes cannot be predicted")
    return choose_by_cost(found)


def _with_kernel(
    X: Any,
    responses: Responses,
    request: Request,
    job: Job,
    progress: Tell | None,
    source: KernelSource,
) -> SolutionPath:
    """Return an approximate path with a kernel."""
    options = request.options
    budget = MEGABYTE * options.cache_size
    if not source.library.on_host:  # nothing large is kept in the memory of the host
        options = replace(options, cache_size=8.0 * FEWEST_ROWS * X.shape[0] / MEGABYTE)
    data = make_training_data(X, responses, options, known=True)
    assert isinstance(data, KernelData)
    check_reach(job.C, data)
    tau_range, tol = request.tau_range, request.tol
    return SolutionPath(solve_at_kernel_nodes(job, data, tau_range, tol, source, budget, progress))
