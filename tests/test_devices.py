"""Arrays of other libraries, and devices: paths are the same, and refusals say what to do."""

from __future__ import annotations

from typing import Any

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import taupath as tp
from approximation import assert_bounded
from taupath.approximate import kernel_systems as ks
from taupath.approximate.array_libraries import ON_DEVICE, TO_NUMPY, Library
from taupath.approximate.kernel_matrix import KernelMatrix
from taupath.approximate.kernel_solutions import solve_at_kernel_nodes
from taupath.approximate.kernel_source import KernelSource, device_block
from taupath.paths.jobs import (
    Job,
    QuantileClassification,
    QuantileRegression,
    label_responses,
    target_responses,
)
from taupath.paths.kernels import Kernel
from taupath.paths.options import Options, make_training_data
from taupath.paths.path import SolutionPath
from test_approximate_kernels import HARD, INTERCEPTS, classification, hard, moons

APPROXIMATE: dict[str, Any] = {"kernel": "rbf", "gamma": 0.5, "method": "approximate"}


HOST = array_api_strict.Device("CPU_DEVICE")
# A library with devices that need no hardware.
ON_DEVICE["array_api_strict"] = lambda array: getattr(array, "device", HOST) != HOST
TO_NUMPY["array_api_strict"] = lambda array: np.asarray(array.to_device(HOST))


class OnDevice:
    """An array that only its own library can read, as those of CuPy are."""

    def __init__(self, array: np.ndarray) -> None:
        self.shape, self.ndim, self.dtype = array.shape, array.ndim, array.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("on a device")

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")


def elsewhere(array: np.ndarray) -> Any:
    """Return an array on another device than the host."""
    return array_api_strict.asarray(array, device=array_api_strict.Device("device1"))


# --- features and labels of other libraries -------------------------------------------------------


@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_arrays_on_the_host_are_taken_from_any_library(method):
    X, y = moons(80)
    given = (array_api_strict.asarray(X), array_api_strict.asarray(y))
    how = APPROXIMATE | {"method": method}
    one, other = tp.quantile_path(X, y, **how), tp.quantile_path(*given, **how)
    assert_array_equal(one.taus, other.taus)
    assert_array_equal(other.decision_function(given[0], 0.3), one.decision_function(X, 0.3))
    one, other = tp.QuantileSVC(**how).fit(X, y), tp.QuantileSVC(**how).fit(*given)
    assert_array_equal(other.predict_proba(given[0]), one.predict_proba(X))


def test_a_tensor_on_the_host_is_taken():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    X, y = moons(80)
    path = tp.quantile_path(torch.asarray(X), torch.asarray(y), **APPROXIMATE)
    assert path.certify().holds()
    with pytest.raises(TypeError, match=r"X is an array that NumPy cannot read.*detach"):
        tp.quantile_path(torch.asarray(X).requires_grad_(), y, **APPROXIMATE)


@pytest.mark.parametrize("move", [OnDevice, elsewhere])
def test_arrays_on_a_device_are_refused_with_what_to_do(move):
    X, y = moons(80)
    refused = r"{} is an array that NumPy cannot read.*cupy\.asnumpy.*approximate"
    model = tp.QuantileSVC().fit(X, y)
    for call, name in {
        lambda: tp.quantile_path(move(X), y, kernel="rbf"): "X",
        lambda: tp.quantile_path(move(X), y, method="approximate"): "X",
        lambda: tp.quantile_path(move(X), y, kernel="rbf", method="auto"): "X",
        lambda: tp.quantile_path(X, move(y)): "y",
        lambda: tp.quantile_regression_path(X, move(y.astype(float))): "y",
        lambda: tp.quantile_path(X, y, sample_weight=move(np.ones(80))): "sample_weight",
        lambda: tp.QuantileSVC().fit(move(X), y): "X",
        lambda: tp.QuantileSVC().fit(X, move(y)): "y",
        lambda: tp.QuantileSVCCV().fit(move(X), y): "X",
        lambda: model.predict(move(X)): "X",
        lambda: tp.quantile_path(
            X, y, kernel=lambda A, B: move(A @ B.T), method="approximate"
        ): "what the kernel returned",
    }.items():
        with pytest.raises(TypeError, match=refused.format(name)):
            call()


def test_a_kernel_in_half_precision_is_refused():
    X, y = moons(80)
    with pytest.raises(TypeError, match=r"float16.*float32 or float64"):
        tp.quantile_path(
            X, y, kernel=lambda A, B: rbf_kernel(A, B).astype(np.float16), method="approximate"
        )


# --- kernels computed by other libraries ----------------------------------------------------------


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("function", ["rbf", "poly", "sigmoid", "precomputed", laplacian_kernel])
def test_blocks_and_products_are_the_same_with_any_array_library(function, kept):
    X, _ = moons(60)
    kernel = Kernel(function, 0.5, 2, 1.0)
    K = kernel(X, X) if function != "precomputed" else rbf_kernel(X)
    given = K if function == "precomputed" else X
    library = Library(array_api_strict)
    budget = 1e9 if kept else 8.0 * 60 * 20
    matrix = KernelMatrix(60, device_block(kernel, given, library), budget, library)
    rng = np.random.default_rng(0)
    coef, members = rng.standard_normal((2, 60)), np.array([3, 10, 40])
    assert_allclose(matrix.times(coef), coef @ K, atol=1e-12)
    assert_allclose(matrix.combine(members, coef[:, :3]), coef[:, :3] @ K[members], atol=1e-12)
    if function in ("rbf", "precomputed"):
        solved = ks.KernelSystems(matrix).solve(members, 1.0, np.full(3, 0.5), coef[:1, :3].T)
        system = K[np.ix_(members, members)] + 1.0 + 0.5 * np.eye(3)
        assert_allclose(system @ solved, coef[:1, :3].T, atol=1e-12)


@pytest.mark.parametrize("budget", [1e9, 8.0 * 150 * 100])
def test_a_path_is_the_same_with_any_array_library(budget, monkeypatch):
    monkeypatch.setattr(ks, "SINGLE_FROM", np.inf)  # so that only the order of sums differs
    job = classification()
    classes, responses = label_responses(job.y, len(job.y), None)
    options = Options("rbf", gamma=job.gamma, cache_size=1.0)
    paths = [
        SolutionPath(
            solve_at_kernel_nodes(
                QuantileClassification(1.0, classes),
                make_training_data(job.X, responses, options),
                (0.0, 1.0),
                1e-3,
                KernelSource(job.X, library),
                budget,
                None,
            )
        )
        for library in (Library(), Library(array_api_strict))
    ]
    assert_bounded(job, paths[1], n=50)
    assert paths[0].n_kinks == paths[1].n_kinks  # rounding moves nodes only a little
    taus = np.linspace(0.0, 1.0, 11)
    one, other = (path.decision_function(job.X, taus) for path in paths)
    far = sum(np.sqrt(2.0 * path.certify().worst_gap * job.rest()) for path in paths)
    assert np.abs(one - other).max() <= np.sqrt(2.0) * far


@pytest.mark.parametrize("failures", [1, 2])
def test_a_device_without_enough_memory_gets_tiles_once(failures, monkeypatch):
    job, left = classification(), failures
    _, responses = label_responses(job.y, len(job.y), None)
    data = make_training_data(job.X, responses, Options("rbf", gamma=job.gamma, cache_size=1.0))

    def full(*_: Any) -> None:
        nonlocal left
        left -= 1
        raise MemoryError

    def solve() -> Any:
        source = KernelSource(job.X, Library(array_api_strict))
        how = QuantileClassification(1.0, np.array([-1, 1]))
        return solve_at_kernel_nodes(how, data, (0.0, 1.0), 1e-2, source, 1e6, None)

    original = KernelMatrix.combine
    monkeypatch.setattr(
        KernelMatrix, "combine", lambda *given: full() if left else original(*given)
    )
    if failures == 2:
        with pytest.raises(MemoryError, match=r"cache_size=1 \(MB\), and again with 0\.1"):
            solve()
    else:
        found = solve()
        assert not found.matrix.kept
        assert_bounded(job, SolutionPath(found), n=20)


def test_a_matrix_in_single_precision_is_certified_in_double_precision():
    job = classification()
    classes, responses = label_responses(job.y, len(job.y), None)
    data = make_training_data(job.X, responses, Options("rbf", gamma=job.gamma, cache_size=1.0))
    n = len(job.y)
    found = solve_at_kernel_nodes(
        QuantileClassification(1.0, classes),
        data,
        (0.0, 1.0),
        1e-3,
        KernelSource(job.X, Library(array_api_strict)),
        6.0 * n * n,  # too little for double precision
        None,
    )
    assert found.matrix.entry == 4
    assert found.counters["refreshed"] >= found.counters["nodes"]
    path = SolutionPath(found)
    assert path.certify().holds()
    assert_bounded(job, path, n=50)


# --- the certificate, however the matrix is stored ------------------------------------------------

# Bytes for each entry of the kernel matrix: kept in float64, in float32, or computed in tiles.
STORED = {"float64": 20.0, "float32": 6.0, "tiles": 2.0}


@pytest.mark.slow
@pytest.mark.parametrize("library", [Library(), Library(array_api_strict)], ids=["numpy", "strict"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("stored", STORED)
def test_no_gap_at_500_random_tau_exceeds_the_certificate(stored, name, intercept, library):
    if library.on_host and stored == "float32":
        pytest.skip("on the host a matrix is kept in float64 only")
    job = hard(name, intercept)
    how: Job = QuantileRegression(job.C)
    if job.regression:
        responses = target_responses(job.y, len(job.y), job.weight)
    else:
        classes, responses = label_responses(job.y, len(job.y), job.weight)
        how = QuantileClassification(job.C, classes)
    options = Options("rbf", gamma=job.gamma, cache_size=1.0, intercept=intercept)
    data = make_training_data(job.X, responses, options)
    n = data.distinct.shape[0]
    found = solve_at_kernel_nodes(
        how, data, (0.0, 1.0), 1e-2, KernelSource(job.X, library), STORED[stored] * n * n, None
    )
    assert found.matrix.entry == {"float64": 8, "float32": 4, "tiles": 0}[stored]
    assert SolutionPath(found).certify().worst_gap <= 1e-2
    assert_bounded(job, SolutionPath(found), n=500)


# --- devices that are not there ---


def test_an_unknown_device_is_refused_with_the_known_ones():
    X, y = moons()
    with pytest.raises(ValueError, match=r"device.*'cpu'.*'cuda'"):
        tp.quantile_path(X, y, kernel="rbf", method="approximate", device="gpu")


def test_a_gpu_that_is_not_there_is_refused_with_what_to_do():
    X, y = moons()
    try:
        path = tp.quantile_path(X, y, kernel="rbf", method="approximate", device="cuda")
    except ValueError as error:
        assert "taupath[gpu]" in str(error) and "device='cpu'" in str(error)
    else:  # there is one
        assert path.certify().holds()
    assert tp.quantile_path(X, y, kernel="rbf", method="approximate", device="auto").tol == 1e-3
