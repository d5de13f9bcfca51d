"""Samples are looked at for NaN and infinity once, however many doors they go through."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.utils.validation as theirs

import taupath.validation as ours
from taupath import QuantileSVC, QuantileSVCCV, QuantileSVR, quantile_path
from taupath.outcomes.rates import rates_of_estimator

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
NUMBERS = X[:, 0] + 0.3 * RNG.normal(size=60)
NEW = RNG.normal(size=(25, 3))
TAUS = np.linspace(0.1, 0.9, 25)


@cache
def svc(**given):
    return QuantileSVC(**given).fit(X, Y)


@cache
def svr():
    return QuantileSVR().fit(X, NUMBERS)


@pytest.fixture
def passes(monkeypatch):
    """Return the sizes of all X whose values were looked at, by this package and scikit-learn."""
    seen = []
    for given in ({}, {"monotone": True}, {"kernel": "rbf"}):  # before anything is counted
        svc(**given)
    svr()
    check_size, check_array = ours._check_size, theirs._assert_all_finite

    def counted(values, name, *rest):
        if name == "X":
            seen.append(values.size)
        return check_size(values, name, *rest)

    def counted_there(values, *args, input_name="", **kwargs):
        if input_name == "X" and not kwargs.get("allow_nan"):
            seen.append(values.size)
        return check_array(values, *args, input_name=input_name, **kwargs)

    monkeypatch.setattr(ours, "_check_size", counted)
    monkeypatch.setattr(theirs, "_assert_all_finite", counted_there)
    return seen


ASKED = {
    "one τ": lambda X: svc().predict(X),
    "a τ for each": lambda X: svc().predict(X, tau=TAUS),
    "columns": lambda X: svc().predict(X, taus=TAUS),
    "costs": lambda X: svc().predict(X, cost_fp=1.0, cost_fn=TAUS),
    "a matrix": lambda X: svc().predict(X, cost_matrix=[[0, 1], [3, 0]]),
    "probabilities": lambda X: svc().predict_proba(X),
    "intervals of τ": lambda X: svc().crossing_interval(X),
    "monotone": lambda X: svc(monotone=True).predict(X, tau=0.3),
    "a kernel": lambda X: svc(kernel="rbf").predict(X, taus=TAUS),
    "one classifier": lambda X: svc().at(0.3).predict(X),
    "rates": lambda X: rates_of_estimator(svc(), X, np.arange(len(NEW)) % 2),
    "some quantiles": lambda X: svr().predict(X, quantile=[0.1, 0.5, 0.9]),
    "many quantiles": lambda X: svr().predict(X, quantile=TAUS),
    "an interval": lambda X: svr().predict_interval(X),
    "a distribution": lambda X: svr().cdf(X, 0.0),
    "draws": lambda X: svr().sample(X, n=3, random_state=0),
    "many draws": lambda X: svr().sample(X, n=20, random_state=0),
}


@pytest.mark.parametrize("what", ASKED)
def test_samples_to_predict_are_checked_once(what, passes):
    ASKED[what](NEW)
    assert passes == [NEW.size]


def test_sparse_samples_to_predict_are_checked_once(passes):
    svc().predict(sp.csr_array(NEW), tau=TAUS)
    assert passes == [NEW.size]


FITTED = {
    "two classes": lambda: QuantileSVC().fit(X, Y),
    "a kernel": lambda: QuantileSVC(kernel="rbf").fit(X, Y),
    "several classes": lambda: QuantileSVC().fit(X, np.arange(60) % 3),
    "approximate": lambda: QuantileSVC(method="approximate").fit(X, Y),
    "cross-validation": lambda: QuantileSVCCV([0.1, 1.0], cv=3).fit(X, Y),
    "quantiles": lambda: QuantileSVR().fit(X, NUMBERS),
    "conformal": lambda: QuantileSVR(conformal=3).fit(X, NUMBERS),
}


@pytest.mark.parametrize("what", FITTED)
def test_samples_to_train_on_are_checked_once(what, passes):
    FITTED[what]()
    assert passes == [X.size]


@pytest.mark.parametrize("name", ["decision_function", "decide_each"])
def test_paths_check_what_users_give_them(name, passes):
    ask = getattr(svc().path_, name)
    ask(NEW, 0.3 if name == "decision_function" else TAUS)
    assert passes == [NEW.size]
    with pytest.raises(ValueError, match=r"X contains nan \(first at \[2, 1\]\)"):
        ask(np.where(np.arange(75).reshape(25, 3) == 7, np.nan, NEW), 0.3)


@pytest.mark.parametrize("fitted", [svc, lambda: svc().at(0.4), svr])
@pytest.mark.parametrize(("bad", "message"), [(np.nan, "NaN"), (-np.inf, "inf"), (1e70, "1e\\+70")])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_one_check_finds_what_the_others_did(fitted, bad, message, form):
    wrong = NEW.copy()
    wrong[3, 2] = bad
    with pytest.raises(ValueError, match=message):
        fitted().predict(form(wrong))


def test_what_is_checked_is_stored_as_it_has_to_be():
    columns = ours.Checked(X)[:, [2, 0]]
    assert columns.shape == (60, 2)
    assert ours.check_features(columns).flags.c_contiguous
    doubles = ours.check_features(ours.Checked(X.astype(np.float32)))
    assert doubles.dtype == np.float64
    kept = ours.check_features(ours.Checked(X.astype(np.float32)), single=True)
    assert kept.dtype == np.float32
    thin = ours.check_features(ours.Checked(sp.csr_array(X))[:, [2, 0, 1]])
    assert thin.has_canonical_format
    path = quantile_path(ours.Checked(X), Y)
    assert np.array_equal(path.taus, quantile_path(X, Y).taus)
