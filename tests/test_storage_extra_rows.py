"""Files of paths and estimators with L1 penalties and constraints."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from damage import ANYTHING, altered, flipped
from extra_rows import problem
from hostile import places
from lazily import Lazily
from taupath.storage.container import read_container, write_container

X, Y, TAUS = problem(3)
RESPONSE = X[:, 0] + np.random.default_rng(3).standard_normal(len(X))
GROUP = np.where(np.arange(len(X)) % 3 > 0, "east", "west")
WEIGHT = np.arange(len(X)) % 3 + 0.0
NAMES = list("abcdef")
TABLE = pd.DataFrame(X, columns=NAMES)
RULES = [
    tp.Fair(GROUP, 0.02),
    tp.NonNegative(["a", "e"]),
    tp.Monotone("d", -1),
    tp.Bound(np.arange(6.0), upper=2.0, intercept=0.5),
]


def paths():
    """Return functions that make paths."""
    return {
        "l1": lambda: tp.quantile_path(X, Y, C=0.7, l1=0.3),
        "all kinds": lambda: tp.quantile_path(TABLE, Y, C=0.7, l1=0.3, constraints=RULES),
        "sparse": lambda: tp.quantile_path(
            sp.csr_array(X), Y, l1=0.3, intercept="none", sample_weight=WEIGHT, n_jobs=2
        ),
        "quantiles": lambda: tp.quantile_regression_path(X, RESPONSE, l1=0.3),
        "constrained quantiles": lambda: tp.quantile_regression_path(
            X, RESPONSE, C=4.0, constraints=[tp.NonNegative()], tau_range=(0.3, 0.8)
        ),
        "constant": lambda: tp.quantile_regression_path(X, np.zeros(len(X)), l1=0.3),
        "sparsity": lambda: tp.sparsity_path(X, Y, 0.3, 0.7),
        "fairness": lambda: tp.fairness_path(X, Y, GROUP, 0.3, 0.7, l1=0.1),
    }


PATHS = Lazily(paths())


@pytest.mark.parametrize("name", list(PATHS))
def test_a_path_comes_back_number_for_number(name, tmp_path):
    path = PATHS[name]
    path.save(tmp_path / "one.tau")
    other = tp.load(tmp_path / "one.tau")
    assert repr(other) == repr(path) and other.counters == path.counters
    assert_array_equal(other.taus, path.taus)
    for at in np.linspace(*path.tau_range, 7):
        assert_array_equal(other.coef(at), path.coef(at))
        assert_array_equal(other.alpha(at), path.alpha(at))
        assert other.duality_gap(at) == path.duality_gap(at)
    other.save(tmp_path / "two.tau")
    assert (tmp_path / "one.tau").read_bytes() == (tmp_path / "two.tau").read_bytes()


def test_an_estimator_comes_back_and_fits_the_same_again(tmp_path):
    model = tp.QuantileSVC(C=0.7, l1=0.3, constraints=RULES).fit(TABLE, Y)
    model.save(tmp_path / "model.tau")
    other = tp.load(tmp_path / "model.tau")
    assert_array_equal(other.predict_proba(TABLE), model.predict_proba(TABLE))
    assert other.l1 == 0.3 and [type(one) for one in other.constraints] == [
        type(one) for one in RULES
    ]
    assert_array_equal(other.constraints[0].group, GROUP == "west")
    again = clone(other).fit(TABLE, Y)
    assert_allclose(again.path_.coef(0.3), model.path_.coef(0.3), rtol=0, atol=1e-12)


def test_regressors_with_constraints_come_back(tmp_path):
    model = tp.QuantileSVR(l1=0.3, constraints=tp.Monotone(0), intercept="none", conformal=3)
    model.fit(X, RESPONSE)
    model.save(tmp_path / "model.tau")
    other = tp.load(tmp_path / "model.tau")
    assert_array_equal(other.predict_interval(X, 0.8), model.predict_interval(X, 0.8))
    assert other.constraints == [tp.Monotone(0)]


def test_pipelines_with_a_penalty_come_back(tmp_path):
    model = make_pipeline(StandardScaler(), tp.QuantileSVC(l1=2.0)).fit(TABLE, Y)
    tp.save(model, tmp_path / "model.tau")
    other = tp.load(tmp_path / "model.tau")
    assert_allclose(other.predict_proba(TABLE), model.predict_proba(TABLE), rtol=0, atol=1e-12)
    assert other.estimator.n_nonzero() == model[-1].n_nonzero()
    assert other.estimator.path_.certify(max_points=50).holds()


def test_without_training_data_there_is_a_classifier_of_one_tau(tmp_path):
    model = tp.QuantileSVC(C=0.7, l1=0.3).fit(X, Y)
    with pytest.raises(ValueError, match="solutions with l1 or constraints are computed from them"):
        model.path_.save(tmp_path / "path.tau", data=False)
    model.at(0.3).save(tmp_path / "one.tau")
    other = tp.load(tmp_path / "one.tau")
    assert_array_equal(other.decision_function(X), model.decision_function(X, 0.3))
    assert_array_equal(other.coef_ == 0.0, [model.path_.coef(0.3) == 0.0])


def test_constraints_of_ones_own_are_refused(tmp_path):
    class Own(tp.NonNegative):
        pass

    model = tp.QuantileSVC(constraints=[Own()]).fit(X, Y)
    with pytest.raises(ValueError, match="Own cannot be stored in a model file; pickle it"):
        model.save(tmp_path / "model.tau")


@pytest.mark.parametrize("name", ["all kinds", "constrained quantiles", "fairness", "model"])
def test_altered_files_are_refused_in_one_line_or_read(name, tmp_path):
    model = tp.QuantileSVC(C=0.7, constraints=RULES).fit(TABLE, Y) if name == "model" else None
    (model or PATHS[name]).save(tmp_path / "good.tau")
    content, arrays = read_container(tmp_path / "good.tau")
    rng, refused, few = np.random.default_rng(0), 0, TABLE[:3] if model else X[:3]
    changes = [
        (altered(content, place, value), arrays)
        for place in places(content)
        for value in rng.choice(np.array(ANYTHING, dtype=object), 2, replace=False)
        if {"extra", "constraints", "l1_max", "rho_max"} & set(place)
    ] + [(content, flipped(arrays, rng)) for _ in range(60)]
    for k, (description, numbers) in enumerate(changes):
        file = tmp_path / f"{k}.tau"
        write_container(file, description, numbers)
        try:
            found = tp.load(file)
            with np.errstate(all="ignore"):  # numbers were changed, perhaps to huge ones
                found.decision_function(few, 0.5 * sum(getattr(found, "tau_range", (0.0, 1.0))))
        except tp.ModelFileError as error:
            assert len(str(error).splitlines()) == 1
            refused += 1
    assert refused > 20


def test_boxes_that_are_empty_and_other_matrices_are_refused(tmp_path):
    PATHS["l1"].save(tmp_path / "good.tau")
    content, arrays = read_container(tmp_path / "good.tau")
    extra = content["extra"]

    def load(**changed):
        write_container(tmp_path / "bad.tau", content, arrays | changed)
        return tp.load(tmp_path / "bad.tau")

    with pytest.raises(tp.ModelFileError, match="the boxes of extra rows are empty"):
        load(**{extra["upper0"]: -2.0 * arrays[extra["upper0"]].astype(float)})
    with pytest.raises(tp.ModelFileError, match="what they ask for, are not finite"):
        load(**{extra["rows"]["data"]: np.zeros(6)})
    with pytest.raises(tp.ModelFileError, match="do not fit its features"):
        content["extra"]["rows"]["n_features"] = 9
        load()
    content["extra"]["rows"]["n_features"], content["intercept"] = 7, "free"
    with pytest.raises(tp.ModelFileError, match="a kernel or a free intercept"):
        load()


def test_many_extra_rows_of_dense_samples_are_counted_before_they_are_made(tmp_path):
    PATHS["l1"].save(tmp_path / "good.tau")
    content, arrays = read_container(tmp_path / "good.tau")
    wide, n = 50_000, 100_000  # 40 GB as they are walked
    arrays = arrays | {
        content["X"]["dense"]: np.ones((len(X), wide), dtype=np.int8),
        content["extra"]["rows"]["indptr"]: np.arange(n + 1),
        content["extra"]["rows"]["indices"]: np.zeros(n, dtype=np.int32),
        content["extra"]["rows"]["data"]: np.ones(n),
    }
    content["extra"]["rows"]["n_features"] = wide + 1
    write_container(tmp_path / "bomb.tau", content, arrays)
    with pytest.raises(tp.ModelFileError, match="takes more memory than max_bytes"):
        tp.load(tmp_path / "bomb.tau")
