"""Files of approximate and simplified paths: with their training data, and without."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import taupath as tp
from approximation import Job, assert_bounded
from damage import ANYTHING, altered, flipped
from hostile import places
from lazily import Lazily
from taupath.storage.container import read_container, write_container

rng = np.random.default_rng(5)
X = rng.standard_normal((160, 4))
Y = np.where(X[:, 0] + rng.standard_normal(160) > 0.0, 1, -1)
RESPONSE = X[:, 0] + (0.5 + np.abs(X[:, 1])) * rng.standard_normal(160)
WEIGHT = rng.integers(0, 3, 160).astype(float)
TEXT = np.where(Y > 0, "ill", "well")[::-1].copy()
SINGLE = X.astype(np.float32)
SPARSE = sp.csr_array(np.where(np.abs(SINGLE) > 0.7, SINGLE, np.float32(0.0)))
WIDE = rng.standard_normal((30, 80))
WIDE_Y = np.where(WIDE[:, 0] + rng.standard_normal(30) > 0.0, 1, -1)
QUICK = {"method": "approximate", "tol": 1e-3}


def jobs():
    """Return functions that make paths, each with what it is trained on."""
    return {
        "approximate": lambda: (tp.quantile_path(X, Y, **QUICK), X, Y),
        "free": lambda: (tp.quantile_path(X, Y, intercept="free", **QUICK), X, Y),
        "none": lambda: (tp.quantile_path(X, Y, intercept="none", **QUICK), X, Y),
        "part": lambda: (tp.quantile_path(X, Y, tau_range=(0.2, 0.7), **QUICK), X, Y),
        "weights": lambda: (tp.quantile_path(X, Y, sample_weight=WEIGHT, **QUICK), X, Y, WEIGHT),
        "text": lambda: (tp.quantile_path(X, TEXT, **QUICK), X, TEXT),
        "single": lambda: (tp.quantile_path(SINGLE, Y, **QUICK), SINGLE, Y),
        "sparse single": lambda: (tp.quantile_path(SPARSE, Y, **QUICK), SPARSE, Y),
        "regression": lambda: (tp.quantile_regression_path(X, RESPONSE, **QUICK), X, RESPONSE),
        "free regression": lambda: (
            tp.quantile_regression_path(X, RESPONSE, intercept="free", **QUICK),
            X,
            RESPONSE,
        ),
        "wide": lambda: (tp.quantile_path(WIDE, WIDE_Y, **QUICK), WIDE, WIDE_Y),
        "wide, sparse, single": lambda: (
            tp.quantile_path(sp.csr_array(WIDE.astype(np.float32)), WIDE_Y, **QUICK),
            sp.csr_array(WIDE.astype(np.float32)),
            WIDE_Y,
        ),
        "simplified": lambda: (tp.quantile_path(X, Y).simplify(1e-4), X, Y),
        "simplified, free": lambda: (tp.quantile_path(X, Y, intercept="free").simplify(1e-4), X, Y),
        "simplified, weights": lambda: (
            tp.quantile_path(X, Y, sample_weight=WEIGHT, n_jobs=2).simplify(1e-4),
            X,
            Y,
            WEIGHT,
        ),
        "simplified part": lambda: (
            tp.quantile_path(X, Y, tau_range=(0.2, 0.7)).simplify(1e-4),
            X,
            Y,
        ),
        "simplified regression": lambda: (
            tp.quantile_regression_path(X, RESPONSE).simplify(1e-4),
            X,
            RESPONSE,
        ),
        "over C": lambda: (tp.regularization_path(X, Y, 0.3, C_max=10.0).simplify(1e-4), X, Y),
        "sparse simplified": lambda: (tp.quantile_path(SPARSE, Y).simplify(1e-4), SPARSE, Y),
    }


MADE = Lazily(jobs())
KERNELS = Lazily(
    {
        "rbf": lambda: tp.quantile_path(X, Y, kernel="rbf").simplify(1e-4),
        "rbf, free": lambda: tp.quantile_path(X, Y, kernel="rbf", intercept="free").simplify(1e-4),
        "rbf regression": lambda: tp.quantile_regression_path(X, RESPONSE, kernel="rbf").simplify(
            1e-4
        ),
        "rbf over C": lambda: tp.regularization_path(X, Y, kernel="rbf", C_max=5.0).simplify(1e-4),
    }
)


def stored(path, file, **how):
    path.save(file, **how)
    return tp.load(file)


@pytest.fixture(params=list(MADE))
def case(request):
    return MADE[request.param]


def values_of(path):
    return np.linspace(*path.tau_range, 7)


# -- without training data ---------------------------------------------------------------------


def test_without_data_a_path_predicts_the_same(case, tmp_path):
    path, features, *_ = case
    other = stored(path, tmp_path / "path.tau")
    assert_array_equal(other.taus, path.taus)
    assert other.tau_range == path.tau_range
    assert (other.n_kinks, other.tol, other.method) == (path.n_kinks, path.tol, "approximate")
    assert other.counters == path.counters
    assert other.nbytes > other.taus.nbytes
    for tau in values_of(path):  # those of a simplified path are computed each time
        assert_allclose(other.coef(tau), path.coef(tau), rtol=1e-12, atol=1e-13)
        assert_allclose(other.intercept(tau), path.intercept(tau), rtol=1e-12, atol=1e-13)
    values = values_of(path)
    assert_allclose(
        other.decision_function(features, values),
        path.decision_function(features, values),
        rtol=1e-12,
        atol=1e-12,
    )
    assert_allclose(other.crossings(features).length, path.crossings(features).length, atol=1e-9)
    assert "without training data" in repr(other)
    if hasattr(path, "classes"):
        assert_array_equal(other.classes, path.classes)


def test_without_data_nothing_of_them_is_in_the_file(case, tmp_path):
    path, features, *_ = case
    path.save(tmp_path / "path.tau")
    _, arrays = read_container(tmp_path / "path.tau")
    assert {name.split(".")[0] for name in arrays} <= {"nodes", "w", "width", "centre", "fractions"}
    entry = (features.data if sp.issparse(features) else features.ravel())[3]
    assert entry.tobytes() not in (tmp_path / "path.tau").read_bytes()


def test_the_certificate_is_found_again_from_data_that_are_given(case, tmp_path):
    path, *data = case
    other = stored(path, tmp_path / "path.tau")
    truth = path.certify()
    assert other.stated == truth
    again = other.certify(*data)
    assert again.continuum and again.holds()
    assert again.worst_gap == pytest.approx(truth.worst_gap, rel=1e-6)
    attached = other.attach(*data)
    for tau in values_of(path):
        assert_allclose(attached.alpha(tau), path.alpha(tau), atol=1e-12)
        assert_array_equal(attached.coef(tau), other.coef(tau))


@pytest.mark.parametrize(
    "ask",
    [
        lambda path: path.certify(),
        lambda path: path.certify(100),
        lambda path: path.alpha(0.5),
        lambda path: path.index_sets(0.5),
        lambda path: path.duality_gap(0.5),
        lambda path: path.kkt_violation(0.5),
        lambda path: path.simplify(0.1),
    ],
)
@pytest.mark.parametrize("name", ["approximate", "simplified"])
def test_what_takes_data_says_so(name, ask, tmp_path):
    path = stored(MADE[name][0], tmp_path / "path.tau")
    with pytest.raises(ValueError, match=r"needs the training data.*path\.attach\(X, y\)"):
        ask(path)


@pytest.mark.parametrize("name", ["approximate", "free", "simplified", "simplified, free"])
def test_other_data_are_not_certified(name, tmp_path):
    path = stored(MADE[name][0], tmp_path / "path.tau")
    turned = X * np.array([1.0, -1.0, 1.0, 1.0]) + 0.3
    certificate = path.certify(turned, Y)
    assert not certificate.holds()
    # and what is said of them is true of them
    intercept = "free" if "free" in name else "augmented"
    attached = path.attach(turned, Y)
    assert_bounded(Job(turned, Y, intercept=intercept), attached, 100)
    # the functions are still those of the file, also at some of the nodes only
    kept = np.array([0, 2, len(path.taus) - 1])
    for other in (attached, tp.SolutionPath(attached.solutions.take(kept, 1.0))):
        for tau in path.taus[kept]:
            assert_array_equal(other.coef(tau), path.coef(tau))
            assert_allclose(other.intercept(tau), path.intercept(tau), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["approximate", "simplified"])
def test_data_that_do_not_fit_are_refused(name, tmp_path):
    path = stored(MADE[name][0], tmp_path / "path.tau")
    with pytest.raises(ValueError, match="trained on 160 samples with 4 features, X has 80 with 4"):
        path.certify(X[:80], Y[:80])
    with pytest.raises(ValueError, match=r"y has the classes \[0, 1\].*trained on \[-1, 1\]"):
        path.certify(X, (Y > 0).astype(int))


def test_a_file_may_say_anything_but_gets_no_false_certificate(tmp_path):
    for name, job in {
        "free": Job(X, Y, intercept="free"),
        "approximate": Job(X, Y),
        "free regression": Job(X, RESPONSE, intercept="free", regression=True),
    }.items():
        MADE[name][0].save(tmp_path / "path.tau")
        content, arrays = read_container(tmp_path / "path.tau")
        changed = {
            key: array * np.random.default_rng(1).uniform(0.3, 3.0, array.shape)
            if key.startswith(("w", "centre"))
            else array
            for key, array in arrays.items()
        }
        write_container(tmp_path / "path.tau", content, changed)
        path = tp.load(tmp_path / "path.tau")
        assert not path.certify(job.X, job.y).holds()
        assert_bounded(job, path.attach(job.X, job.y), 100)


def test_a_file_without_data_is_small_where_samples_are_many(tmp_path):
    many = np.random.default_rng(0).standard_normal((2000, 5))
    y = np.where(many[:, 0] + many[:, 1] ** 2 > 0.5, 1, -1)
    path = tp.quantile_path(many, y, C=0.1)
    path.save(tmp_path / "exact.tau")
    path.simplify(1e-4).save(tmp_path / "small.tau")
    exact, small = ((tmp_path / f"{name}.tau").stat().st_size for name in ("exact", "small"))
    assert small < 0.1 * exact


@pytest.mark.slow
def test_the_file_of_splice_shrinks_to_a_tenth(paper_data, tmp_path):
    data = paper_data("splice")
    path = tp.quantile_path(data.X_train, data.y_train, lam=data.lam)
    path.save(tmp_path / "exact.tau")
    path.simplify(1e-6).save(tmp_path / "small.tau")
    exact, small = ((tmp_path / f"{name}.tau").stat().st_size for name in ("exact", "small"))
    assert small <= 0.1 * exact


# -- with training data ------------------------------------------------------------------------


def test_with_data_a_path_comes_back(case, tmp_path):
    path, *_ = case
    back(path, tmp_path / "path.tau")


@pytest.mark.parametrize("name", KERNELS)
def test_a_simplified_path_with_a_kernel_comes_back(name, tmp_path):
    path = KERNELS[name]
    other = back(path, tmp_path / "path.tau")
    assert_allclose(
        other.decision_function(X, values_of(path)),
        path.decision_function(X, values_of(path)),
        atol=1e-9,
    )
    tp.SolutionPath(path.solutions.source).save(tmp_path / "exact.tau")
    path.simplify(1e-2).save(tmp_path / "small.tau")
    exact, small = ((tmp_path / f"{name}.tau").stat().st_size for name in ("exact", "small"))
    assert small < exact


def back(path, file):
    """Assert that a path comes back with its data, and return it."""
    other = stored(path, file, data=True)
    assert type(other) is type(path)
    assert repr(other) == repr(path)
    assert other.data.X.dtype == path.data.X.dtype
    assert_array_equal(other.taus, path.taus)
    truth, found = path.certify(), other.certify()
    assert found.holds()
    assert found.worst_gap == pytest.approx(truth.worst_gap, rel=1e-6)
    for tau in values_of(path):
        scale = np.abs(path.alpha(tau)).max()
        assert_allclose(other.alpha(tau), path.alpha(tau), atol=1e-9 * scale)
    return other


@pytest.mark.parametrize("data", [True, None])
def test_what_was_loaded_can_be_saved_again_and_is_the_same_file(case, data, tmp_path):
    path, *_ = case
    path.save(tmp_path / "one.tau", data=data)
    tp.load(tmp_path / "one.tau").save(tmp_path / "two.tau", data=data)
    one, two = (json.dumps(read_container(tmp_path / f"{name}.tau")[0]) for name in ("one", "two"))
    assert one == two or data  # a certificate may differ in its last digits
    assert (tmp_path / "one.tau").stat().st_size == pytest.approx(
        (tmp_path / "two.tau").stat().st_size, abs=64
    )


# -- what cannot be ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: tp.quantile_path(X, Y), r"computed from them; store path\.simplify\(tol\)"),
        (lambda: KERNELS["rbf"], "functions are sums over training samples"),
    ],
)
def test_paths_that_need_their_data_are_not_stored_without(make, says, tmp_path):
    path = make()
    with pytest.raises(ValueError, match=says):
        path.save(tmp_path / "path.tau", data=False)
    assert list(tmp_path.iterdir()) == []


def test_data_that_are_not_there_are_not_stored(tmp_path):
    path = stored(MADE["simplified"][0], tmp_path / "path.tau")
    with pytest.raises(ValueError, match=r"no training data; use path\.attach\(X, y\) first"):
        path.save(tmp_path / "other.tau", data=True)
    path.attach(X, Y).save(tmp_path / "other.tau", data=True)
    assert tp.load(tmp_path / "other.tau").certify().holds()


FEW, ROUGH = slice(None, 50), {"method": "approximate", "tol": 1e-2}
DAMAGED = Lazily(
    {
        "approximate": lambda: (tp.quantile_path(X[FEW], Y[FEW], intercept="free", **ROUGH), None),
        "approximate with data": lambda: (
            tp.quantile_path(X[FEW], Y[FEW], sample_weight=1.0 + WEIGHT[FEW], **ROUGH),
            True,
        ),
        "sparse with data": lambda: (tp.quantile_path(SPARSE[FEW], Y[FEW], **ROUGH), True),
        "regression": lambda: (tp.quantile_regression_path(X[FEW], RESPONSE[FEW], **ROUGH), True),
        "simplified": lambda: (tp.quantile_path(X[FEW], Y[FEW]).simplify(1e-2), None),
        "simplified with data": lambda: (tp.quantile_path(X[FEW], Y[FEW]).simplify(1e-2), True),
        "over C": lambda: (tp.regularization_path(X[FEW], Y[FEW], C_max=5.0).simplify(1e-2), None),
        "kernel": lambda: (tp.quantile_path(X[FEW], Y[FEW], kernel="rbf").simplify(1e-2), None),
    }
)


@pytest.mark.parametrize("kind", DAMAGED)
def test_descriptions_with_anything_in_any_place_are_refused_or_harmless(kind, tmp_path):
    path, data = DAMAGED[kind]
    path.save(tmp_path / "one.tau", data=data)
    content, arrays = read_container(tmp_path / "one.tau")
    refused = 0
    for place in places(content):
        for value in ANYTHING:
            write_container(tmp_path / "other.tau", altered(content, place, value), arrays)
            try:
                other = tp.load(tmp_path / "other.tau")
            except tp.ModelFileError as error:
                assert "\n" not in str(error)
                refused += 1
                continue
            other.decision_function(X[:3], 0.5 * sum(other.tau_range))
            repr(other)
    assert refused > len(content)


@pytest.mark.core
@pytest.mark.parametrize("kind", DAMAGED)
def test_numbers_altered_with_their_checksum_never_crash(kind, tmp_path):
    path, data = DAMAGED[kind]
    path.save(tmp_path / "one.tau", data=data)
    content, arrays = read_container(tmp_path / "one.tau")
    rng = np.random.default_rng(3)
    loaded = 0
    for _ in range(80):
        write_container(tmp_path / "other.tau", content, flipped(arrays, rng))
        try:
            other = tp.load(tmp_path / "other.tau")
        except tp.ModelFileError:
            continue
        loaded += 1
        try:
            with np.errstate(all="ignore"):  # damaged numbers
                other.crossings(X[:5])
                if data or kind == "kernel":
                    other.certify()
                elif kind == "approximate":
                    other.certify(X[FEW], Y[FEW])
        except (ValueError, RuntimeError):
            pass
    assert loaded  # or nothing was tried


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"samples": 0}, "cannot have 0 samples"),
        ({"features": 5}, "do not fit its features"),
        ({"bias": 2.0}, "intercept of a path cannot be"),
        ({"intercept": "free", "bias": -1.0}, "bias must be finite and above 0"),
        ({"tol": 0.0}, "tol must be finite and above 0"),
        ({"certificate": {}}, "certificate of a path is missing"),
        ({"counters": {"nodes": -1}}, "a counter is negative"),
        ({"classes": {"dtype": "<i8", "values": [1, 2, 3]}}, "two classes, not 3"),
        ({"path": "functions of nothing"}, "unknown kind"),
        ({"data": {"X": None}}, "description of a matrix is missing"),
    ],
)
def test_what_cannot_be_is_named(change, says, tmp_path):
    MADE["approximate"][0].save(tmp_path / "path.tau")
    content, arrays = read_container(tmp_path / "path.tau")
    write_container(tmp_path / "path.tau", content | change, arrays)
    with pytest.raises(tp.ModelFileError, match=says):
        tp.load(tmp_path / "path.tau")


@pytest.mark.parametrize("name", ["nodes", "w", "width", "centre"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_numbers_that_cannot_be_are_refused(name, value, tmp_path):
    MADE["approximate"][0].save(tmp_path / "path.tau")
    content, arrays = read_container(tmp_path / "path.tau")
    (key,) = [key for key in arrays if key.split(".")[0] == name]
    arrays = arrays | {key: np.full(arrays[key].shape, value)}
    write_container(tmp_path / "path.tau", content, arrays)
    if value == -1.0 and name in ("w", "centre"):  # why not
        assert not tp.load(tmp_path / "path.tau").certify(X, Y).holds()
        return
    with pytest.raises(tp.ModelFileError):
        tp.load(tmp_path / "path.tau")


def test_certify_takes_both_x_and_y_or_neither():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    path = tp.quantile_path(X, y)
    for given in ({"X": X}, {"sample_weight": np.ones(len(y))}, {"y": y}):
        with pytest.raises(TypeError, match="takes both X and y"):
            path.certify(**given)
    with pytest.raises(AttributeError, match="'Cs'"):
        path.Cs  # noqa: B018  # the access is what is tested
