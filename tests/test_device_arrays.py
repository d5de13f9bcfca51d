"""Arrays on a device: paths are computed there, and searches share kernel matrices.

The device is one of array-api-strict, whose arrays NumPy cannot read.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import taupath as tp
from approximation import assert_bounded
from taupath.approximate import array_libraries, kernel_source
from taupath.approximate.array_libraries import Library
from taupath.estimators import classifier, selection
from taupath.estimators.parallel import run_all
from taupath.fitting import over_tau
from taupath.fitting.method import Choice
from test_approximate_kernels import KernelJob, classification, moons, regression
from test_devices import elsewhere

DEVICE = Library(array_api_strict, array_api_strict.Device("device1"))
HOW: dict[str, Any] = {"kernel": "rbf", "gamma": 0.5, "method": "approximate", "tol": 1e-2}


def on(name: str, array: Any) -> Any:
    """Return an array on the device of this name."""
    return array_api_strict.asarray(np.asarray(array), device=array_api_strict.Device(name))


def on_a_device(library: Library) -> bool:
    return library.device == array_api_strict.Device("device1")


# --- paths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["augmented", "free"])
@pytest.mark.parametrize("make", [classification, regression])
def test_a_path_of_arrays_on_a_device_is_computed_there_and_certified(make, intercept):
    job = make(intercept)
    X, y = np.vstack((job.X, job.X[:9])), np.append(job.y, job.y[:9])  # with copies
    weight = np.random.default_rng(0).choice([0.0, 1.0, 3.0], len(y))
    job = KernelJob(X, y, intercept=intercept, regression=job.regression, weight=weight)
    follow = tp.quantile_regression_path if job.regression else tp.quantile_path
    path = follow(
        elsewhere(X), elsewhere(y), sample_weight=elsewhere(weight), intercept=intercept, **HOW
    )
    assert on_a_device(path.solutions.library)
    assert path.certify().holds()
    assert_bounded(job, path, n=30)
    other = pickle.loads(pickle.dumps(path))  # where there may be no device
    assert other.solutions.library.on_host and other.certify().holds()
    assert_array_equal(other.decision_function(X, 0.3), path.decision_function(X, 0.3))


def by_hand(A: Any, B: Any) -> Any:
    """Return a kernel of arrays of any library."""
    return (1.0 + A @ B.T) ** 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed", by_hand])
def test_kernels_of_arrays_on_a_device_are_those_on_the_host(kernel, dtype):
    X, y = moons(60)
    X = X.astype(dtype)
    X = rbf_kernel(X).astype(dtype) if kernel == "precomputed" else X
    how = HOW | {"kernel": kernel, "degree": 2, "coef0": 1.0}
    if kernel == "precomputed":
        X = (X + X.T) / 2 + 1e-6 * np.eye(60, dtype=dtype)  # rounding makes it indefinite
    path = tp.quantile_path(elsewhere(X), y, **how)
    there, here = path.solutions.matrix, path.data.between(slice(None), slice(None))
    assert on_a_device(there.library)
    assert_allclose(there.library.fetch(there.whole()), here, rtol=1e-12)
    assert path.certify().holds()


def test_features_on_a_device_are_not_sent_back(monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((60, 40)), moons(60)[1]
    given, sent, send = elsewhere(X), [], Library.send
    monkeypatch.setattr(Library, "send", lambda own, a: sent.append(a.size) or send(own, a))
    tp.quantile_path(given, y, **HOW)
    assert max(sent) < X.size / 10


def test_device_auto_follows_the_array():
    X, y = moons(60)
    path = tp.quantile_path(elsewhere(X), y, device="auto", **HOW)
    assert on_a_device(path.solutions.library)


def test_arrays_in_different_places_are_refused():
    X, y = moons(60)
    for given, other, match in (
        (elsewhere(X), on("device2", y), r"^y lies on .*device2.* but X on .*device1.*move"),
        (X, elsewhere(y), r"^y lies on .*device1.* but X on the host: move"),
    ):
        with pytest.raises(ValueError, match=match):
            tp.quantile_path(given, other, **HOW)
        with pytest.raises(ValueError, match=match):
            tp.QuantileSVC(**HOW).fit(given, other)
    with pytest.raises(ValueError, match=r"^sample_weight lies on .*device2"):
        tp.quantile_path(elsewhere(X), y, sample_weight=on("device2", np.ones(60)), **HOW)
    with pytest.raises(ValueError, match=r"^device='cpu' but X lies on .*leave device out"):
        tp.quantile_path(elsewhere(X), y, device="cpu", **HOW)


@pytest.mark.parametrize(
    ("kernel", "error", "match"),
    [
        (lambda A, B: np.ones((A.shape[0], B.shape[0])), TypeError, "ndarray on the host: compute"),
        (lambda A, B: by_hand(A, B)[:, :-1], ValueError, r"shape \(60, 59\), expected \(60, 60\)"),
        (lambda A, B: by_hand(A, B) + np.inf, ValueError, "NaN or infinity"),
        (lambda A, B: 1j * by_hand(A, B), TypeError, r"real matrix .* got dtype .*complex128"),
    ],
)
def test_what_a_kernel_returns_for_arrays_on_a_device_is_checked(kernel, error, match):
    X, y = moons(60)

    def only_there(A: Any, B: Any) -> Any:
        return by_hand(A, B) if isinstance(A, np.ndarray) else kernel(A, B)

    with pytest.raises(error, match=match):
        tp.quantile_path(elsewhere(X), y, **HOW | {"kernel": only_there})


# --- estimators -----------------------------------------------------------------------------------


def test_estimators_are_fitted_to_arrays_on_a_device():
    X, y = moons(60)
    weight = np.random.default_rng(0).choice([1.0, 3.0], 60)
    given = elsewhere(X), elsewhere(y), elsewhere(weight)
    model = tp.QuantileSVC(**HOW).fit(*given)
    assert on_a_device(model.path_.solutions.library)
    assert_allclose(
        model.predict_proba(X), tp.QuantileSVC(**HOW).fit(X, y, weight).predict_proba(X), atol=1e-5
    )
    assert pickle.loads(pickle.dumps(model)).score(X, y) == model.score(X, y)
    assert clone(model).fit(X, y).path_.solutions.library.on_host
    with pytest.raises(TypeError, match="X is an array that NumPy cannot read"):
        model.predict(given[0])
    intervals = tp.QuantileSVR(**HOW, conformal=3)
    there, here = (
        clone(intervals).fit(*given).predict_interval(X),
        clone(intervals).fit(X, y, weight).predict_interval(X),
    )
    assert_allclose(there, here, atol=1e-3)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_all_paths_of_several_classes_are_computed_on_the_device(multi_class):
    X, y = moons(60)
    labels = np.where(X[:, 0] > 0.8, "c", np.where(y > 0, "a", "b"))
    model = tp.QuantileSVC(multi_class=multi_class, n_jobs=2, **HOW).fit(elsewhere(X), labels)
    assert all(on_a_device(path.solutions.library) for path in model.paths_)
    other = tp.QuantileSVC(multi_class=multi_class, **HOW).fit(X, labels)
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("store", [np.asarray, csr_array])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed", by_hand])
def test_kernels_of_arrays_on_the_host_are_computed_on_a_device(kernel, store, monkeypatch):
    monkeypatch.setattr(array_libraries, "_library_of_gpu", lambda: DEVICE)
    X, y = moons(60)
    X, y = np.vstack((X, X[:9])), np.append(y, y[:9])  # with copies
    X = store(rbf_kernel(X) if kernel == "precomputed" else X)

    def of_any(A: Any, B: Any) -> Any:
        return by_hand(A, B) if isinstance(A, np.ndarray) else by_hand(A.toarray(), B.toarray())

    how = HOW | {"kernel": of_any if kernel == by_hand else kernel}
    path = tp.quantile_path(X, y, device="cuda", **how)
    there, distinct = path.solutions.matrix, path.data.distinct
    assert on_a_device(there.library)
    here = distinct.between(slice(None), slice(None))
    assert_allclose(there.library.fetch(there.whole()), here, rtol=1e-12)
    assert path.certify().holds()


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (tp.QuantileSVC, {"method": "approximate"}),
        (tp.QuantileSVC, {"method": "auto"}),
        (tp.QuantileSVCCV, {"method": "approximate", "Cs": [1.0], "cv": 3}),
    ],
)
def test_paths_of_arrays_on_the_host_are_computed_one_by_one_on_a_device(kind, more, monkeypatch):
    monkeypatch.setattr(array_libraries, "_library_of_gpu", lambda: DEVICE)
    monkeypatch.setattr(over_tau, "_chosen", lambda *_: Choice("approximate", "for tests"))
    seen, original = [], run_all

    def noted(function: Any, jobs: Any, n_jobs: Any, progress: Any) -> Any:
        seen.append(n_jobs)
        return original(function, jobs, 1, progress)

    for module in (classifier, selection):
        monkeypatch.setattr(module, "run_all", noted)
    X, y = moons(60)
    how = HOW | {"n_jobs": 2} | more
    labels = np.where(X[:, 0] > 0.8, "c", np.where(y > 0, "a", "b"))
    model = kind(**how, device="cuda").fit(X, labels)
    assert all(on_a_device(path.solutions.library) for path in model.paths_)
    assert set(seen) <= {1, None}
    seen.clear()
    kind(**how).fit(X, labels)
    assert 2 in seen


# --- searches -------------------------------------------------------------------------------------


class Counted:
    """Counts the entries of kernel matrices that are computed on a device."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entries = 0
        original = kernel_source.device_block

        def counted(*given: Any) -> Any:
            block = original(*given)

            def computed(one: Any, other: Any) -> Any:
                found = block(one, other)
                self.entries += found.shape[0] * found.shape[1]
                return found

            return computed

        monkeypatch.setattr(kernel_source, "device_block", counted)


SEARCH: dict[str, Any] = {**HOW, "gamma": [0.3, 0.5], "Cs": [1.0, 3.0], "cv": 3, "tol": 0.1}
# 60 samples in three folds: a matrix of 40 for each fold and candidate, and those of all samples.
ALL, PART = 60**2, 40**2


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", [tp.QuantileSVCCV, tp.QuantileSVRCV])
def test_folds_and_values_of_C_share_kernel_matrices_on_a_device(kind, standardize, monkeypatch):
    X, y = moons(60)
    search = kind(**SEARCH, standardize=standardize)
    if kind is tp.QuantileSVCCV:
        search.set_params(combine="best")
    counted = Counted(monkeypatch)
    shared = clone(search).set_params(n_jobs=2).fit(elsewhere(X), elsewhere(y))
    found, counted.entries = counted.entries, 0
    # a matrix of all samples and one of a fold do not fit, but two of a fold do
    alone = clone(search).set_params(cache_size=1e-6 * 8 * 1.3 * ALL).fit(elsewhere(X), y)
    # where folds are standardised one by one, of each fold for each γ; and of all samples
    by_fold = kind is tp.QuantileSVRCV and standardize
    assert counted.entries == (found if by_fold else 3 * 4 * PART + ALL)
    assert found == (2 * 3 * PART + ALL if by_fold else 2 * ALL)
    here = clone(search).fit(X, y)
    for model in (shared, alone):
        assert model.C_ == here.C_ and model.gamma_ == here.gamma_
        assert on_a_device(model.path_.solutions.library)
        assert_allclose(model.predict(X), here.predict(X), atol=1e-4)
        assert model.path_.certify().holds()


@dataclass
class Polynomial:
    """A kernel without a hash, since it can be compared."""

    degree: int

    def __call__(self, A: Any, B: Any) -> Any:
        return (1.0 + A @ B.T) ** self.degree


@pytest.mark.parametrize("kind", [tp.QuantileSVCCV, tp.QuantileSVRCV])
def test_a_kernel_without_a_hash_is_shared_by_folds_on_a_device(kind, monkeypatch):
    X, y = moons(60)
    counted = Counted(monkeypatch)
    how = SEARCH | {"kernel": Polynomial(2), "standardize": False}
    model = kind(**how).fit(elsewhere(X), y)
    assert counted.entries == ALL
    assert_allclose(model.predict(X), kind(**how).fit(X, y).predict(X), atol=1e-4)


def test_a_precomputed_kernel_on_a_device_is_shared_by_folds(monkeypatch):
    X, y = moons(60)
    how = SEARCH | {"kernel": "precomputed", "combine": "best"}
    counted = Counted(monkeypatch)
    model = tp.QuantileSVCCV(**how).fit(elsewhere(rbf_kernel(X)), y)
    assert counted.entries == ALL
    assert_allclose(
        model.predict_proba(rbf_kernel(X)),
        tp.QuantileSVCCV(**how).fit(rbf_kernel(X), y).predict_proba(rbf_kernel(X)),
        atol=1e-6,
    )


def test_paths_of_folds_do_not_keep_their_kernel_matrices(monkeypatch):
    kept, original = [], tp.QuantileSVRCV._search

    def search(*given: Any) -> Any:
        found = original(*given)
        kept.extend(fold.path for own in found[1] for fold in own)
        return found

    monkeypatch.setattr(tp.QuantileSVRCV, "_search", search)
    X, y = moons(60)
    model = tp.QuantileSVRCV(**SEARCH).fit(X, y)
    assert len(kept) == 3 * len(model.candidates_)
    assert not any("matrix" in vars(path.solutions) for path in kept)
