"""Entries that are missing are refused by name and place, in whatever form they come."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import taupath

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
LABEL = np.arange(12) % 2
TARGET = RNG.normal(size=12)
MASK = np.zeros((12, 2), dtype=bool)
MASK[3, 1] = True
PLACE = r"masked entries \(first at \[3, 1\]\)"


def masked(values, mask):
    """Return a masked array, with something behind the mask."""
    array = np.ma.masked_array(values.astype(float), mask=mask)
    array.data[array.mask] = 1e6
    return array


FITS = {
    "quantile_path": lambda X, y, w=None: taupath.quantile_path(X, y, sample_weight=w),
    "approximate": lambda X, y, w=None: taupath.quantile_path(
        X, y, sample_weight=w, method="approximate"
    ),
    "regularization_path": lambda X, y, w=None: taupath.regularization_path(
        X, y, C_max=1.0, sample_weight=w
    ),
    "regression": lambda X, y, w=None: taupath.quantile_regression_path(X, y, sample_weight=w),
    "QuantileSVC": lambda X, y, w=None: taupath.QuantileSVC().fit(X, y, w),
    "QuantileSVCCV": lambda X, y, w=None: taupath.QuantileSVCCV([1.0], cv=2).fit(X, y, w),
    "QuantileSVR": lambda X, y, w=None: taupath.QuantileSVR().fit(X, y, w),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_masked_training_data(fit):
    with pytest.raises(ValueError, match=f"X has {PLACE}: leave out or fill in"):
        fit(masked(X, MASK), LABEL)
    with pytest.raises(ValueError, match=r"X has masked entries"):
        fit(list(masked(X, MASK)), LABEL)
    with pytest.raises(ValueError, match=r"y has masked entries \(first at \[3\]\)"):
        fit(X, masked(LABEL, MASK[:, 1]))
    with pytest.raises(ValueError, match=r"sample_weight has masked entries \(first at \[3\]\)"):
        fit(X, LABEL, masked(np.ones(12), MASK[:, 1]))
    fit(masked(X, False), masked(LABEL, False), masked(np.ones(12), False))


@pytest.mark.parametrize("masked_kind", [np.ma.masked_array, np.ma.array])
def test_masked_samples_to_predict(masked_kind):
    new = masked_kind(X, mask=MASK)
    path, classifier = taupath.quantile_path(X, LABEL), taupath.QuantileSVC().fit(X, LABEL)
    regressor = taupath.QuantileSVR().fit(X, TARGET)
    level = np.ma.masked_array(np.zeros(12), mask=MASK[:, 1])
    reads = [
        lambda: path.decision_function(new, 0.5),
        lambda: path.decide_each(new, np.full(12, 0.5)),
        lambda: path.crossings(new),
        lambda: path.changes(new),
        lambda: path.values_at_nodes(new),
        lambda: path.decide_each(X, level),
        lambda: path.crossings(X, level),
        lambda: path.decision_function(X, level),
        lambda: path.decision_function(X, taus=level),
        lambda: classifier.predict(new),
        lambda: classifier.predict(X, tau=level),
        lambda: classifier.predict(X, cost_fp=level, cost_fn=1.0),
        lambda: classifier.predict_proba(new),
        lambda: classifier.at(0.5).predict(new),
        lambda: classifier.score(X, np.ma.masked_array(LABEL, mask=MASK[:, 1])),
        lambda: regressor.predict(new),
        lambda: regressor.predict(X, level),
        lambda: regressor.cdf(X, level),
        lambda: regressor.score(X, level),
    ]
    for read in reads:
        with pytest.raises(ValueError, match=r"has masked entries \(first at \[3"):
            read()


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]"])
def test_columns_that_may_have_missing_entries(dtype):
    """They are numbers if none is missing, and else are refused at the first that is."""
    frame = pd.DataFrame(X, columns=["a", "b"]).astype(dtype)
    target, weight = pd.Series(TARGET).astype(dtype), pd.Series(np.ones(12)).astype(dtype)
    wanted = taupath.quantile_path(X, LABEL)
    assert_array_equal(taupath.quantile_path(frame, LABEL, sample_weight=weight).taus, wanted.taus)
    assert_array_equal(taupath.QuantileSVC().fit(frame, LABEL).path_.taus, wanted.taus)
    wanted = taupath.quantile_regression_path(X, TARGET)
    assert_array_equal(taupath.quantile_regression_path(frame, target).taus, wanted.taus)
    frame.iloc[3, 1] = target[3] = weight[3] = pd.NA
    for fit in (taupath.quantile_path, taupath.QuantileSVC().fit):
        with pytest.raises(ValueError, match=r"X contains (nan|NaN) \(first at \[3, 1\]\)"):
            fit(frame, LABEL)
    with pytest.raises(ValueError, match=r"y contains nan \(first at \[3\]\)"):
        taupath.quantile_regression_path(X, target)
    with pytest.raises(ValueError, match=r"sample_weight contains nan \(first at \[3\]\)"):
        taupath.quantile_path(X, LABEL, sample_weight=weight)
    with pytest.raises(ValueError, match="y contains NaN"):
        taupath.QuantileSVR().fit(X, target)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_labels_that_are_missing(missing):
    labels = np.array(["a", "b"] * 6, dtype=object)
    labels[3] = missing
    for fit in (taupath.quantile_path, taupath.QuantileSVC().fit):
        with pytest.raises((TypeError, ValueError), match=r"\by\b"):
            fit(X, labels)
