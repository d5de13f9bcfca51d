"""Conformal intervals of QuantileSVR: they hold what they promise, one within the other."""

import pickle
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, ShuffleSplit

from taupath import ModelFileError, QuantileSVR, load
from taupath.estimators.conformal import _levels

FOLDS = 4
# follows its training samples closely
GIVEN = {"C": 100.0, "kernel": "rbf", "gamma": 20.0}


def fans(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.3 * (1.0 + X[:, 0]) * rng.normal(size=n)


X, Y = fans(50, 0)
NEW, _ = fans(30, 1)


@cache
def fitted():
    return QuantileSVR(**GIVEN, conformal=FOLDS).fit(X, Y)


def drawn_folds(n):
    return list(KFold(FOLDS, shuffle=True, random_state=0).split(np.empty(n)))


def distances(X, Y, level, weight=None, model=None):
    """Return how far samples are outside of intervals of a path that has not seen them."""
    weight = np.ones(len(Y)) if weight is None else weight
    model = QuantileSVR(**GIVEN) if model is None else model
    far = np.empty((len(Y), len(level)))
    for train, test in drawn_folds(len(Y)):
        path = model.fit(X[train], Y[train], sample_weight=weight[train])
        low, high = (path.predict(X[test], quantile=0.5 + side * level) for side in (-0.5, 0.5))
        far[test] = np.maximum(low - Y[test, None], Y[test, None] - high)
    return far


# -- what they promise -----------------------------------------------------------------------------


@pytest.mark.slow
def test_they_cover_what_is_to_come_where_the_path_follows_its_samples():
    wanted = np.array([0.5, 0.8, 0.9])
    plain, moved = [], []
    for seed in range(4):
        Z, z = fans(550, 10 + seed)
        model = QuantileSVR(**GIVEN, conformal=10).fit(Z[:150], z[:150])
        path = QuantileSVR(**GIVEN).fit(Z[:150], z[:150])
        for shares, each in ((plain, path), (moved, model)):
            ends = [each.predict_interval(Z[150:], coverage).T for coverage in wanted]
            shares.append([np.mean((low <= z[150:]) & (z[150:] <= high)) for low, high in ends])
    # three deviations of the mean of 4 calibrations with 150 samples, and of 1600 to come
    chance = 3.0 * np.sqrt(wanted * (1.0 - wanted) * (1.0 / 600 + 1.0 / 1600))
    assert np.all(np.mean(plain, axis=0) < wanted - 2.0 * chance)
    assert np.all(np.abs(np.mean(moved, axis=0) - wanted) < chance)


def test_they_hold_their_share_of_held_out_samples_and_no_narrower_ones_do():
    found = fitted().calibration_
    far = distances(X, Y, found.level)
    inside = (far <= found.step + 1e-9).sum(axis=0)
    assert_allclose(found.share, inside / 50)
    assert found.n_effective == pytest.approx(50)
    for coverage in (0.03, 0.5, 0.8, 0.9, 0.98):
        level, step = found.at(coverage)
        k = int(np.flatnonzero(found.level == level)[0])
        assert step == found.step[k]
        needed = int(np.ceil(51 * coverage))
        assert inside[k] >= needed
        assert k == 0 or inside[k - 1] < needed


def test_steps_are_those_of_conformal_quantile_regression_as_long_as_these_grow():
    found = fitted().calibration_
    assert_allclose(found.level, np.append(np.arange(1, 51) / 51, 1.0))
    far = np.sort(distances(X, Y, found.level), axis=0)
    ranks = np.minimum(np.arange(1, 52), 50)
    alone = far[ranks - 1, np.arange(51)]
    assert_allclose(found.step, np.maximum(np.maximum.accumulate(alone), 0.0), rtol=0, atol=1e-9)
    assert np.mean(np.diff(alone) < 0.0) > 0.1  # by themselves, steps shrink now and then


def test_steps_of_many_samples_count_the_one_to_come():
    many, responses = fans(450, 2)
    smooth = QuantileSVR(C=0.1)
    found = QuantileSVR(C=0.1, conformal=FOLDS).fit(many, responses).calibration_
    assert len(found.level) < 450
    far = np.sort(distances(many, responses, found.level, model=smooth), axis=0)
    # of 450 samples and one to come, so many must lie within
    ranks = np.minimum(np.ceil(451 * found.level - 1e-9).astype(int), 450)
    alone = far[ranks - 1, np.arange(len(ranks))]
    assert_allclose(found.step, np.maximum(np.maximum.accumulate(alone), 0.0), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "given", [GIVEN, {"C": 0.01}, {"C": 1e4, "kernel": "rbf", "gamma": 9.0}, {"intercept": "none"}]
)
def test_one_lies_within_the_other_and_none_is_inside_out(given):
    model = QuantileSVR(**given, conformal=5).fit(X, Y)
    coverages = np.linspace(0.005, 0.995, 23)
    ends = np.array([model.predict_interval(NEW, coverage) for coverage in coverages])
    assert ends.shape == (23, 30, 2)
    assert np.all(ends[:, :, 0] <= ends[:, :, 1])
    finite = coverages <= 50 / 51
    assert np.all(np.diff(ends[finite, :, 0], axis=0) <= 1e-9)
    assert np.all(np.diff(ends[finite, :, 1], axis=0) >= -1e-9)
    # more than fifty samples can tell
    assert np.all(ends[~finite] == [-np.inf, np.inf])
    assert np.isfinite(ends[finite]).all()


def test_nothing_else_changes():
    plain = QuantileSVR(**GIVEN).fit(X, Y)
    assert plain.calibration_ is None
    q = [0.1, 0.5, 0.9]
    assert_array_equal(fitted().predict(NEW, q), plain.predict(NEW, q))
    assert_array_equal(fitted().cdf(NEW, 0.5), plain.cdf(NEW, 0.5))
    assert_array_equal(
        fitted().sample(NEW, 3, random_state=0), plain.sample(NEW, 3, random_state=0)
    )
    assert fitted().score(X, Y) == plain.score(X, Y)
    assert_array_equal(plain.predict_interval(NEW, 0.8), plain.predict(NEW, [0.5 - 0.4, 0.5 + 0.4]))
    level, step = fitted().calibration_.at(0.8)
    base = plain.predict(NEW, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    assert_array_equal(fitted().predict_interval(NEW, 0.8), base + np.array([-step, step]))


def test_a_path_that_is_far_off_is_moved_far():
    Z, z = fans(200, 3)
    given = {"C": 1e-6, "intercept": "augmented"}
    off = QuantileSVR(**given).fit(Z, z + 100.0)
    assert np.all(off.predict_interval(Z, 0.8)[:, 1] < 1.0)
    low, high = QuantileSVR(**given, conformal=10).fit(Z, z + 100.0).predict_interval(Z, 0.8).T
    assert 0.75 <= np.mean((low <= z + 100.0) & (z + 100.0 <= high)) <= 0.9


def test_intervals_that_cover_too_much_are_made_narrower():
    # four values in five are the same: its quantiles alone cover that much, without a step
    Z, _ = fans(200, 7)
    z = np.tile([-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 20)
    level, step = QuantileSVR(C=0.01, conformal=10).fit(Z, z).calibration_.at(0.78)
    assert level < 0.7
    assert step < 1e-9


# -- samples in other forms ------------------------------------------------------------------------


def test_weight_zero_is_absence():
    weight = np.ones(80)
    weight[::4] = 0.0
    Z, z = fans(80, 4)
    weighted = QuantileSVR(**GIVEN, conformal=FOLDS).fit(Z, z, sample_weight=weight)
    without = QuantileSVR(**GIVEN, conformal=FOLDS).fit(Z[weight > 0.0], z[weight > 0.0])
    for coverage in (0.4, 0.8):
        assert_allclose(
            weighted.predict_interval(NEW, coverage),
            without.predict_interval(NEW, coverage),
            rtol=0,
            atol=1e-6,
        )


def test_shares_are_those_of_the_weight():
    weight = np.random.default_rng(5).uniform(0.2, 3.0, size=50)
    found = QuantileSVR(**GIVEN, conformal=FOLDS).fit(X, Y, sample_weight=weight).calibration_
    far = distances(X, Y, found.level, weight)
    inside = weight @ (far <= found.step + 1e-9) / weight.sum()
    assert_allclose(found.share, inside)
    assert found.n_effective == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    for coverage in (0.5, 0.9):
        level, _ = found.at(coverage)
        k = int(np.flatnonzero(found.level == level)[0])
        wanted = coverage * (1.0 + 1.0 / found.n_effective)
        assert inside[k] >= wanted - 1e-12
        assert inside[k - 1] < wanted


def test_the_unit_of_weights_does_not_matter():
    weight = np.random.default_rng(6).uniform(0.2, 3.0, size=50)
    one = QuantileSVR(C=10.0, kernel="rbf", conformal=FOLDS).fit(X, Y, sample_weight=weight)
    other = QuantileSVR(C=1.0, kernel="rbf", conformal=FOLDS).fit(X, Y, sample_weight=10 * weight)
    assert_allclose(
        one.predict_interval(NEW, 0.8), other.predict_interval(NEW, 0.8), rtol=0, atol=1e-6
    )


def test_kernel_matrices_and_sparse_samples_give_the_same():
    expected = fitted().predict_interval(NEW, 0.8)
    matrix = QuantileSVR(C=100.0, kernel="precomputed", conformal=FOLDS)
    matrix.fit(rbf_kernel(X, gamma=20.0), Y)
    found = matrix.predict_interval(rbf_kernel(NEW, X, gamma=20.0), 0.8)
    assert_allclose(found, expected, rtol=0, atol=1e-6)
    thin = QuantileSVR(**GIVEN, conformal=FOLDS).fit(sparse.csr_array(X), Y)
    found = thin.predict_interval(sparse.csr_array(NEW), 0.8)
    assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_folds_can_be_told():
    expected = fitted().calibration_
    for told in (KFold(FOLDS, shuffle=True, random_state=0), drawn_folds(50)):
        found = QuantileSVR(**GIVEN, conformal=told).fit(X, Y).calibration_
        assert_allclose(found.step, expected.step, rtol=0, atol=1e-9)
        assert_array_equal(found.share, expected.share)
    # one part held out, once
    single = ShuffleSplit(1, test_size=20, random_state=0)
    assert QuantileSVR(conformal=single).fit(X, Y).calibration_.n_effective == pytest.approx(20)
    # indices are those of all samples, whatever their weights
    weight = np.r_[np.zeros(10), np.ones(40)]
    halves = [(np.arange(25), np.arange(25, 50)), (np.arange(25, 50), np.arange(25))]
    found = QuantileSVR(conformal=halves).fit(X, Y, sample_weight=weight).calibration_
    assert found.n_effective == pytest.approx(40)


def test_they_can_be_cloned_and_kept():
    again = clone(fitted())
    assert again.get_params()["conformal"] == FOLDS
    assert not hasattr(again, "calibration_")
    kept = pickle.loads(pickle.dumps(fitted()))
    assert_array_equal(kept.predict_interval(NEW, 0.7), fitted().predict_interval(NEW, 0.7))
    # a second fit without it forgets
    assert clone(fitted()).fit(X, Y).set_params(conformal=None).fit(X, Y).calibration_ is None


@pytest.mark.parametrize(("last", "kept"), [([np.inf, np.inf], True), ([np.inf, np.nan], False)])
def test_steps_may_be_infinite_in_a_file(tmp_path, last, kept):
    model = pickle.loads(pickle.dumps(fitted()))
    model.calibration_.step[-2:] = last
    model.save(tmp_path / "model.tau")
    if kept:
        assert_array_equal(load(tmp_path / "model.tau").calibration_.step[-2:], last)
    else:
        with pytest.raises(ModelFileError, match="calibration of a regressor is out of range"):
            load(tmp_path / "model.tau")


@pytest.mark.parametrize("n", [401, 5000, 300_000])
def test_many_samples_share_levels_that_tell_large_coverages_apart(n):
    level = _levels(float(n))
    assert len(level) < 405
    assert np.all(np.diff(level) > 0.0)
    assert level[-1] == 1.0
    assert np.all(np.diff(np.append(0.0, level)) <= 1.0 / 300 + 1e-12)
    rest = 1.0 - level[(level > 0.99) & (level < 1.0)]
    assert rest[-1] == pytest.approx(1.0 / (n + 1))
    assert np.all(rest[:-1] / rest[1:] < 1.2)


# -- what makes no sense ---------------------------------------------------------------------------

BAD = {
    "one fold": (1, "conformal must be an integer of at least 2 or None, got 1"),
    "no fold": (0, "conformal must be an integer of at least 2 or None, got 0"),
    "a truth value": (True, "conformal must be an integer of at least 2 or None, got True"),
    "more folds than samples": (51, "conformal=51 asks for more folds .* n_samples=50"),
    "half a fold": (2.5, "conformal must be None, a number of folds, .* got 2.5"),
    "a word": ("many", "conformal must be None, a number of folds, .* got 'many'"),
    "an empty list": ([], "conformal must give for each fold"),
    "nothing held out": ([(np.arange(50), [])], "conformal must give .* got 1 folds"),
}


@pytest.mark.parametrize("name", BAD)
def test_folds_that_make_no_sense_are_refused(name):
    conformal, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        QuantileSVR(conformal=conformal).fit(X, Y)


def test_samples_without_weight_are_no_samples_for_folds():
    weight = np.r_[np.ones(3), np.zeros(47)]
    with pytest.raises(ValueError, match="n_samples=3"):
        QuantileSVR(conformal=4).fit(X, Y, sample_weight=weight)
