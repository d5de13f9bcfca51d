"""Approximate paths with kernels in model files: with all samples, or with support vectors only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

import taupath as tp
from approximation import assert_bounded
from damage import ANYTHING, altered, flipped
from hostile import places
from lazily import Lazily
from taupath.storage.container import read_container, write_container
from test_approximate_kernels import KernelJob, moons

X, Y = moons(120)
RESPONSE = X[:, 0] + np.random.default_rng(1).standard_normal(120)
WEIGHT = np.random.default_rng(2).choice([0.0, 0.3, 1.0, 2.0], 120)
HOW: dict[str, Any] = {"kernel": "rbf", "gamma": 0.5, "method": "approximate", "tol": 1e-2}
MIDDLE: dict[str, Any] = {**HOW, "tau_range": (0.4, 0.6)}
K = rbf_kernel(X, gamma=0.5)
COARSE = np.round(X)
# nearly separable: in the middle of the path, few samples are support vectors
EASY = np.random.default_rng(3).standard_normal((120, 2))
SIDE = np.where(EASY[:, 0] + 0.3 * np.sin(3.0 * EASY[:, 1]) > 0.0, 1, -1)
EASY_K, ROUND = rbf_kernel(EASY, gamma=0.5), np.round(EASY, 1)

WHOLE = Lazily(
    {
        "augmented": lambda: (tp.quantile_path(X, Y, **HOW), X, Y),
        "none": lambda: (tp.quantile_path(X, Y, intercept="none", **HOW), X, Y),
        "free": lambda: (tp.quantile_path(X, Y, intercept="free", **HOW), X, Y),
        "sparse": lambda: (tp.quantile_path(sp.csr_array(COARSE), Y, **HOW), COARSE, Y),
        "copies": lambda: (tp.quantile_path(COARSE, Y, **HOW), COARSE, Y),
        "regression": lambda: (tp.quantile_regression_path(X, RESPONSE, **HOW), X, RESPONSE),
        "free regression": lambda: (
            tp.quantile_regression_path(X, RESPONSE, intercept="free", **HOW),
            X,
            RESPONSE,
        ),
        "poly": lambda: (
            tp.quantile_path(X, Y, **{**HOW, "kernel": "poly"}, degree=2, coef0=1.0),
            X,
            Y,
        ),
        "precomputed": lambda: (
            tp.quantile_path(K, Y, **{**HOW, "kernel": "precomputed"}),
            K,
            Y,
        ),
    }
)
PARTS = Lazily(
    {
        "augmented": lambda: (tp.quantile_path(EASY, SIDE, **MIDDLE), EASY, SIDE),
        "free": lambda: (tp.quantile_path(EASY, SIDE, intercept="free", **MIDDLE), EASY, SIDE),
        "weights": lambda: (tp.quantile_path(X, Y, sample_weight=WEIGHT, **HOW), X, Y, WEIGHT),
        "weights, regression": lambda: (
            tp.quantile_regression_path(X, RESPONSE, sample_weight=WEIGHT, **HOW),
            X,
            RESPONSE,
            WEIGHT,
        ),
        "copies": lambda: (tp.quantile_path(ROUND, SIDE, **MIDDLE), ROUND, SIDE),
        "sparse": lambda: (tp.quantile_path(sp.csr_array(ROUND), SIDE, **MIDDLE), ROUND, SIDE),
        "precomputed": lambda: (
            tp.quantile_path(EASY_K, SIDE, **{**MIDDLE, "kernel": "precomputed"}),
            EASY_K,
            SIDE,
        ),
    }
)


def stored(model, file, **how):
    model.save(file, **how)
    return tp.load(file)


def assert_predicts_the_same(other, path, features):
    values = np.linspace(*path.tau_range, 7)
    assert_allclose(
        other.decision_function(features, values),
        path.decision_function(features, values),
        rtol=0.0,
        atol=1e-14 * max(np.abs(path.decision_function(features, values)).max(), 1.0),
    )
    assert_allclose(other.crossings(features).length, path.crossings(features).length, atol=1e-12)
    for one, two in zip(other.parts(values[3]), path.parts(values[3]), strict=True):
        if isinstance(one, dict):
            assert_array_equal(one["support"], two["support"])
            assert_array_equal(one["dual_coef"], two["dual_coef"])
        else:
            assert one == two
    assert (other.n_kinks, other.tol, other.counters) == (path.n_kinks, path.tol, path.counters)


# -- with all samples ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WHOLE)
def test_a_path_comes_back_as_it_was(name, tmp_path):
    path, features, *_ = WHOLE[name]
    other = stored(path, tmp_path / "path.tau")
    assert other.has_data
    assert repr(other) == repr(path)
    assert_predicts_the_same(other, path, features[:20])
    for tau in np.linspace(0.0, 1.0, 7):
        assert_array_equal(other.alpha(tau), path.alpha(tau))
        for one, two in zip(other.index_sets(tau), path.index_sets(tau), strict=True):
            assert_array_equal(one, two)
    assert other.certify() == path.certify()
    assert other.simplify(0.1).n_kinks < other.n_kinks
    other.save(tmp_path / "again.tau")
    again, first = (read_container(tmp_path / f"{each}.tau")[0] for each in ("again", "path"))
    assert again == first


def test_the_file_is_much_smaller_than_the_solutions_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    many = rng.standard_normal((1000, 2))
    y = np.where(many[:, 0] * many[:, 1] + 0.5 * rng.standard_normal(1000) > 0.0, 1, -1)
    path = tp.quantile_path(many, y, kernel="rbf", method="approximate", tol=1e-2)
    path.save(tmp_path / "path.tau")
    assert (tmp_path / "path.tau").stat().st_size < 0.5 * path.nbytes


# -- with support vectors only ---------------------------------------------------------------------


@pytest.mark.parametrize("name", PARTS)
def test_samples_that_no_solution_needs_are_left_out(name, tmp_path):
    path, features, *given = PARTS[name]
    other = stored(path, tmp_path / "path.tau")
    assert not other.has_data
    assert "without training data" in repr(other)
    assert_predicts_the_same(other, path, features[:20])
    assert other.stated == path.certify()
    content, arrays = read_container(tmp_path / "path.tau")
    support = arrays[content["support"]]
    assert 0 < len(support) < 0.9 * len(np.unique(np.column_stack((features, given[0])), axis=0))
    kept = content["support_vectors"]
    if name == "precomputed":
        assert kept is None
    elif name == "sparse":
        assert len(arrays[kept["indptr"]]) == len(support) + 1
    else:
        assert_array_equal(arrays[kept["dense"]], features[support])
    other.save(tmp_path / "again.tau")
    assert read_container(tmp_path / "again.tau")[0] == content


@pytest.mark.parametrize("name", PARTS)
def test_given_data_give_back_the_rest(name, tmp_path):
    path, *given = PARTS[name]
    other = stored(path, tmp_path / "path.tau")
    assert other.certify(*given).worst_gap == pytest.approx(path.certify().worst_gap, rel=1e-9)
    attached = other.attach(*given)
    for tau in np.linspace(*path.tau_range, 5):
        assert_allclose(attached.alpha(tau), path.alpha(tau), rtol=1e-14)
    whole = stored(path, tmp_path / "path.tau", data=True)
    assert whole.has_data
    assert whole.certify() == path.certify()


@pytest.mark.parametrize(
    "ask",
    [
        lambda path: path.certify(),
        lambda path: path.alpha(0.5),
        lambda path: path.duality_gap(0.5),
        lambda path: path.simplify(0.1),
    ],
)
def test_what_takes_data_says_so(ask, tmp_path):
    path = stored(PARTS["augmented"][0], tmp_path / "path.tau")
    with pytest.raises(ValueError, match=r"needs the training data.*path\.attach\(X, y\)"):
        ask(path)


def test_data_that_do_not_fit_are_refused(tmp_path):
    path = stored(PARTS["augmented"][0], tmp_path / "path.tau")
    with pytest.raises(ValueError, match="trained on 120 samples with 2 features, X has 80"):
        path.certify(EASY[:80], SIDE[:80])
    with pytest.raises(ValueError, match=r"row \d+ of X is not the support vector"):
        path.certify(EASY[::-1], SIDE)
    with pytest.raises(ValueError, match=r"no training data; use path\.attach\(X, y\) first"):
        path.save(tmp_path / "other.tau", data=True)


@pytest.mark.parametrize("form", [WHOLE, PARTS])
def test_support_vectors_are_training_data(form, tmp_path):
    with pytest.raises(ValueError, match=r"data=False.*sums over support vectors"):
        form["augmented"][0].save(tmp_path / "path.tau", data=False)
    path = form["precomputed"][0]
    other = stored(path, tmp_path / "path.tau", data=False)
    assert_predicts_the_same(other, path, (K if form is WHOLE else EASY_K)[:5])


# -- honest certificates ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["augmented", "free", "free regression"])
def test_a_file_may_say_anything_but_gets_no_false_certificate(name, tmp_path):
    path, features, response = WHOLE[name]
    path.save(tmp_path / "path.tau")
    content, arrays = read_container(tmp_path / "path.tau")
    rng = np.random.default_rng(1)
    changed = {
        key: array * rng.uniform(0.3, 3.0, array.shape)
        if key.startswith(("theta_common", "theta_others", "beta_common", "intercepts"))
        else array
        for key, array in arrays.items()
    }
    write_container(tmp_path / "path.tau", content, changed)
    intercept = "free" if "free" in name else "augmented"
    other = tp.load(tmp_path / "path.tau")
    job = KernelJob(features, response, intercept=intercept, regression="regression" in name)
    assert not other.certify().holds()
    assert_bounded(job, other, 60)


@pytest.mark.parametrize("intercept", ["augmented", "free"])
def test_other_labels_are_certified_as_they_are(intercept, tmp_path):
    part = stored(PARTS[intercept][0], tmp_path / "path.tau")
    turned = np.where(np.arange(120) % 3 == 0, -SIDE, SIDE)
    attached = part.attach(EASY, turned)
    assert not attached.certify().holds()
    job = KernelJob(EASY, turned, intercept=intercept)
    for tau in np.linspace(0.4, 0.6, 9):
        assert job.gap(attached, tau) <= attached.certify().worst_gap


# -- estimators ------------------------------------------------------------------------------------


def test_estimators_come_back(tmp_path):
    model = tp.QuantileSVC(**HOW).fit(X, Y)
    other = stored(model, tmp_path / "model.tau")
    assert other.method_ == "approximate"
    assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    assert_array_equal(other.predict(X, cost_fp=1, cost_fn=3), model.predict(X, tau=0.25))
    regressor = tp.QuantileSVR(conformal=3, **HOW).fit(X, RESPONSE)
    again = stored(regressor, tmp_path / "model.tau")
    assert_array_equal(again.predict_interval(X, 0.8), regressor.predict_interval(X, 0.8))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_several_classes_come_back(kernel, tmp_path):
    three = np.digitize(X[:, 0], [-0.5, 0.7])
    given = K if kernel == "precomputed" else X
    model = tp.QuantileSVC(**{**HOW, "kernel": kernel}).fit(given, three)
    other = stored(model, tmp_path / "model.tau")
    assert_array_equal(other.predict_proba(given), model.predict_proba(given))
    if kernel == "precomputed":
        other = stored(model, tmp_path / "model.tau", data=False)
        assert not other.paths_[0].has_data
        assert_array_equal(other.predict_proba(given), model.predict_proba(given))


def test_all_parts_of_a_combined_classifier_have_their_data_if_one_has(tmp_path):
    how = {"kernel": ["linear", "rbf"], "gamma": 0.5, "cv": 3, "method": "approximate"}
    mixed = X[:, 0] + X[:, 1] * X[:, 2] + np.random.default_rng(4).standard_normal(120) > 0.0
    model = tp.QuantileSVCCV([0.1, 1.0], tol=1e-2, **how).fit(X, mixed)
    assert {each.kernel for each in model.estimators_} == {"linear", "rbf"}
    other = stored(model, tmp_path / "model.tau")
    assert all(path.has_data for path in other.paths_)
    assert all(path.certify().holds() for path in other.paths_)
    assert_array_equal(other.predict_proba(X), model.predict_proba(X))


# -- damaged files ---------------------------------------------------------------------------------

FEW = slice(None, 30)
DAMAGED = Lazily(
    {
        "whole": lambda: tp.quantile_path(X[FEW], Y[FEW], intercept="free", **HOW),
        "part": lambda: tp.quantile_path(EASY[FEW], SIDE[FEW], **MIDDLE),
        "regression": lambda: tp.quantile_regression_path(X[FEW], RESPONSE[FEW], **HOW),
    }
)


@pytest.mark.parametrize("kind", DAMAGED)
def test_descriptions_with_anything_in_any_place_are_refused_or_harmless(kind, tmp_path):
    DAMAGED[kind].save(tmp_path / "one.tau")
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
            other.decision_function(X[:3, : other.data.shape[1]], 0.5 * sum(other.tau_range))
            repr(other)
    assert refused > len(content)


@pytest.mark.parametrize("kind", DAMAGED)
def test_numbers_altered_with_their_checksum_never_crash(kind, tmp_path):
    DAMAGED[kind].save(tmp_path / "one.tau")
    content, arrays = read_container(tmp_path / "one.tau")
    rng = np.random.default_rng(3)
    loaded = 0
    for _ in range(60):
        write_container(tmp_path / "other.tau", content, flipped(arrays, rng))
        try:
            other = tp.load(tmp_path / "other.tau")
        except tp.ModelFileError:
            continue
        loaded += 1
        try:
            with np.errstate(all="ignore"):  # damaged numbers
                other.crossings(X[:5, : other.data.shape[1]])
                if other.has_data:
                    other.certify()
        except (ValueError, RuntimeError):
            pass
    assert loaded  # or nothing was tried


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("augmented", {"samples": 7}, "other samples or features than it says"),
        ("augmented", {"kernel": "linear"}, "stored in another way"),
        ("augmented", {"distinct": 3}, "not 3 different ones"),
        ("augmented", {"path": "kernel nodes of regularization"}, "not solved at nodes"),
        ("augmented", {"theta": None}, "solutions at nodes is missing"),
        ("augmented", {"tol": 0.0}, "tol must be finite and above 0"),
        ("augmented", {"certificate": {}}, "certificate of a path is missing"),
        ("part", {"samples": 0}, "cannot have 0 samples"),
        ("part", {"samples": 5}, "support vectors are not in order"),
        ("part", {"features": 5}, "support vectors have another shape"),
        ("part", {"kernel": "precomputed"}, "not square"),
    ],
)
def test_what_cannot_be_is_named(name, change, says, tmp_path):
    path = PARTS["augmented"][0] if name == "part" else WHOLE[name][0]
    path.save(tmp_path / "path.tau")
    content, arrays = read_container(tmp_path / "path.tau")
    write_container(tmp_path / "path.tau", content | change, arrays)
    with pytest.raises(tp.ModelFileError, match=says):
        tp.load(tmp_path / "path.tau")


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("nodes", np.nan),
        ("intercepts", np.inf),
        ("travel", -1.0),
        ("theta_common", np.nan),
        ("beta_others", 1e80),
        ("beta_which", 3),
        ("support", -1),
        ("sign", 2),
    ],
)
def test_numbers_that_cannot_be_are_refused(array, value, tmp_path):
    PARTS["augmented"][0].save(tmp_path / "path.tau")
    content, arrays = read_container(tmp_path / "path.tau")
    name = next(each for each in arrays if each.startswith(array))
    changed = arrays[name].copy()
    changed = changed.astype(np.float64) if isinstance(value, float) else changed
    changed.flat[0] = value
    write_container(tmp_path / "path.tau", content, {**arrays, name: changed})
    with pytest.raises(tp.ModelFileError):
        tp.load(tmp_path / "path.tau")


def test_a_small_file_cannot_claim_much_memory(tmp_path):
    PARTS["augmented"][0].save(tmp_path / "path.tau")
    with pytest.raises(tp.ModelFileError, match="max_bytes"):
        tp.load(tmp_path / "path.tau", max_bytes=20_000)


def test_an_indefinite_kernel_is_refused(tmp_path):
    tp.quantile_path(K, Y, **{**HOW, "kernel": "precomputed"}).save(tmp_path / "path.tau")
    content, arrays = read_container(tmp_path / "path.tau")
    name = content["X"]["dense"]
    write_container(tmp_path / "path.tau", content, {**arrays, name: -arrays[name]})
    with pytest.raises(tp.ModelFileError, match="not positive semidefinite"):
        tp.load(tmp_path / "path.tau")
