"""Several τ: `tau` has one value per row, `taus` one per column, and errors say which is meant."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from display_models import X_NEW, Y_NEW, X, Y
from taupath import QuantileSVC, QuantileSVCCV

TAUS = [0.7, 0.0, 0.35, 1.0]

# every τ is tried
pytestmark = pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")


@pytest.mark.parametrize("given", [{}, {"kernel": "rbf"}, {"monotone": True}, {"pos_label": "no"}])
@pytest.mark.parametrize("kind", [QuantileSVC, QuantileSVCCV])
def test_taus_are_columns_of_estimators(kind, given):
    model = (QuantileSVC() if kind is QuantileSVC else kind([1.0], cv=3)).set_params(**given)
    model.fit(X, Y)
    labels, decided = model.predict(X_NEW, taus=TAUS), model.decision_function(X_NEW, taus=TAUS)
    assert labels.shape == decided.shape == (len(X_NEW), len(TAUS))
    for k, tau in enumerate(TAUS):
        assert_array_equal(labels[:, k], model.predict(X_NEW, tau=tau))
        expected = model.decision_function(X_NEW, tau=tau)
        assert_allclose(decided[:, k], expected, rtol=0, atol=1e-12)
    # as many values as there are rows, and still columns
    square = model.predict(X_NEW[:4], taus=TAUS)
    assert_array_equal(square, labels[:4])
    assert_array_equal(model.predict(X_NEW[:4], tau=TAUS), np.diag(square))
    assert model.predict(X_NEW, taus=[0.5]).shape == (len(X_NEW), 1)
    assert model.predict(X_NEW, taus=[]).shape == (len(X_NEW), 0)


PATHS = {
    "classification": lambda: tp.quantile_path(X, Y),
    "rbf": lambda: tp.quantile_path(X, Y, kernel="rbf"),
    "regression": lambda: tp.quantile_regression_path(X, X[:, 0] + X[:, 1]),
    "over C": lambda: tp.regularization_path(X, Y, C_max=2.0),
    "simplified": lambda: tp.quantile_path(X, Y).simplify(1e-3),
}


@pytest.mark.parametrize("kind", PATHS)
def test_taus_are_columns_of_paths(kind):
    path = PATHS[kind]()
    for new in (X_NEW, sparse.csr_array(X_NEW)):
        columns = path.decision_function(new, taus=TAUS)
        assert columns.shape == (len(X_NEW), len(TAUS))
        assert_array_equal(columns, path.decision_function(new, TAUS))
        for k, tau in enumerate(TAUS):
            assert_allclose(columns[:, k], path.decision_function(new, tau), rtol=0, atol=1e-12)
    with pytest.raises(TypeError, match="give tau or taus, not both"):
        path.decision_function(X_NEW, 0.5, taus=TAUS)
    with pytest.raises(TypeError, match="for several give taus"):
        path.decision_function(X_NEW)


def test_they_go_through_a_pipeline():
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), QuantileSVC().set_predict_request(taus=True))
        found = pipe.fit(X, Y).predict(X_NEW, taus=TAUS)
    assert found.shape == (len(X_NEW), len(TAUS))


def test_a_wrong_length_says_which_of_the_two_is_meant():
    model = QuantileSVC().fit(X, Y)
    rows = r"have shape \(90,\), got shape \(3,\): an array has one value per row; "
    for ask in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=rows + "for one column per value use taus="):
            ask(X_NEW, tau=[0.1, 0.5, 0.9])
        columns = r"taus must be one-dimensional, one value per column, got shape \(\)"
        with pytest.raises(ValueError, match=columns):
            ask(X_NEW, taus=0.5)
        with pytest.raises(ValueError, match=r"one value per column, got shape \(1, 2\)"):
            ask(X_NEW, taus=[[0.1, 0.5]])
        with pytest.raises(ValueError, match=r"taus must lie in \[0, 1\], got 1.5"):
            ask(X_NEW, taus=[0.5, 1.5])
        with pytest.raises(ValueError, match="tau"):
            ask(X_NEW, tau=0.5, taus=[0.5])
    for name in ("cost_fp", "cost_fn"):  # of costs there are no columns
        costs = {"cost_fp": 1, "cost_fn": 1, name: [1, 2]}
        with pytest.raises(ValueError, match=r"got shape \(2,\): an array has one value per row$"):
            model.predict(X_NEW, **costs)
    with pytest.raises(ValueError, match="walked range"):
        QuantileSVC(tau_range=(0.2, 0.8)).fit(X, Y).predict(X_NEW, taus=[0.5, 0.9])


def test_paths_say_the_reverse():
    path = QuantileSVC().fit(X, Y).path_
    rows = r"tau must have shape \(90,\), one value per row, got \(3,\); for one column per value"
    with pytest.raises(ValueError, match=rows + " use decision_function with taus="):
        path.decide_each(X_NEW, [0.1, 0.5, 0.9])
    with pytest.raises(ValueError, match=r"got shape \(90, 1\); for one value per row use decide_"):
        path.decision_function(X_NEW, np.full((90, 1), 0.5))
    with pytest.raises(ValueError, match=r"taus must be one-dimensional, one value per column"):
        path.decision_function(X_NEW, taus=0.5)


def test_one_tau_is_a_number():
    model = QuantileSVC().fit(X, Y)
    with pytest.raises(ValueError, match=r"tau must be a number, got shape \(2,\)"):
        model.at([0.1, 0.2])
    with pytest.raises(ValueError, match=r"tau must be a number, got shape \(2,\)"):
        QuantileSVC(tau=[0.1, 0.2]).fit(X, Y)
    iris = load_iris(return_X_y=True)
    several = QuantileSVC().fit(*iris)
    for ask in (several.predict, several.decision_function):
        with pytest.raises(ValueError, match="for two classes"):
            ask(iris[0], taus=[0.5])


def test_decisions_in_columns_are_those_of_the_rates():
    model = QuantileSVC().fit(X, Y)
    misses = ((model.predict(X_NEW, taus=[0.1, 0.9]) == "no") & (Y_NEW == "yes")[:, None]).sum(0)
    assert misses[0] < misses[1]  # the dearer a false alarm, the more misses


@pytest.mark.parametrize(
    "given",
    [
        {"tau": 0.9},
        {"tau": np.nan},
        {"tau": np.linspace(0.1, 0.5, 90)},
        {"taus": [0.5, np.nan]},
        {"cost_fp": 9.0, "cost_fn": 1.0},
        {"cost_matrix": [[0.0, 9.0], [1.0, 0.0]]},
    ],
)
def test_a_rule_by_probabilities_refuses_what_was_not_walked(given):
    model = QuantileSVC(monotone=True, tau_range=(0.2, 0.8)).fit(X, Y)
    with pytest.raises(ValueError, match=r"must lie in the walked range \[0.2, 0.8\], got"):
        model.predict(X_NEW, **given)
