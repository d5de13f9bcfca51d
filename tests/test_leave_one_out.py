"""Samples left out, forgotten and added: equal to refits, certified, or refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.model_selection import LeaveOneOut
from sklearn.preprocessing import StandardScaler

import taupath
from real_data import load_dense
from taupath.engine import moves
from taupath.engine.box_solver import BoxSolver
from taupath.engine.problem import Box
from taupath.engine.stepping import rounded
from taupath.estimators import out_of_fold

# Raised targets of the refits move their decisions by about that much, relative to 1 + |f|; of
# refits with targets as given, decisions are those of samples left out up to rounding.
SAME, EXACT = 1e-9, 1e-12
SAMPLES = 90


def drawn(X, y, n=SAMPLES):
    """Return some of the samples."""
    some = np.random.default_rng(3).permutation(len(y))[:n]
    return np.ascontiguousarray(X[some]), y[some]


def load(name, request):
    """Return features and labels of a set of two classes."""
    if name == "breast cancer":
        data = load_breast_cancer()
        return drawn(StandardScaler().fit_transform(data.data), data.target)
    if name == "iris":
        data = load_iris()
        return drawn(data.data[50:], data.target[50:])
    if name == "wine":
        data = load_wine()
        two = data.target < 2
        return drawn(StandardScaler().fit_transform(data.data[two]), data.target[two])
    return drawn(*load_dense(name, request.getfixturevalue("data_dir")))


def refit(X, y, without, tau, **given):
    """Return the exact path near τ of all samples but some."""
    kept = np.setdiff1d(np.arange(len(y)), without)
    return taupath.quantile_path(X[kept], y[kept], tau_range=(tau, tau + 1e-6), **given)


def exact_decisions(path, X, tau):
    """Return decisions at τ, solved in extended precision with targets as given."""
    data = path.data.distinct
    box = path.job.line(data).at(tau)
    near = path.data.merge_theta(path.solutions.solution(tau).theta)
    found = rounded(BoxSolver(data.rows).solve(box, near, 1e-20), box)
    w, multiplier = data.uncentred(found.w, found.multiplier, 0.0)
    return data.decide(X, found._replace(w=w, multiplier=multiplier))


def off(one, other):
    """Return the largest distance, relative to 1 + |f|."""
    return float((np.abs(one - other) / (1.0 + np.abs(other))).max(initial=0.0))


def small():
    """Return samples that share many values, some of them copies of others."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(40, 3)).astype(float)
    y = (X @ [1.0, -1.0, 0.5] + rng.normal(size=40) > 0.0).astype(int)
    return np.vstack((X, X[:6], X[:3])), np.append(y, [*y[:6], *y[:3]])


@pytest.mark.parametrize(
    "name", ["breast cancer", "iris", "wine", "heart_scale", "diabetes", "fourclass", "ionosphere"]
)
@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_leave_one_out_equals_refits(name, kernel, intercept, request):
    X, y = load(name, request)
    given = {"C": 1.0, "kernel": kernel, "intercept": intercept, "gamma": 1.0 / X.shape[1]}
    path = taupath.quantile_path(X, y, **given)
    for tau in (0.27, 0.62):
        found = path.leave_one_out(tau)
        some = range(0, len(y), 5)
        refits = [exact_decisions(refit(X, y, [i], tau, **given), X[[i]], tau)[0] for i in some]
        assert off(found[some], np.array(refits)) <= EXACT
        rested = path.alpha(tau) == 0.0
        assert off(found[rested], path.decision_function(X, tau)[rested]) <= SAME


@pytest.mark.parametrize("intercept", ["augmented", "free"])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_of_several_copies_leaves_the_others(intercept, weighted):
    X, y = small()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    path = taupath.quantile_path(X, y, C=0.3, intercept=intercept, sample_weight=weight)
    found = path.leave_one_out(0.4)
    for i in range(0, len(y), 2):
        own = None if weight is None else np.delete(weight, i)
        other = taupath.quantile_path(
            np.delete(X, i, axis=0), np.delete(y, i), C=0.3, intercept=intercept, sample_weight=own
        )
        assert off(found[[i]], other.decision_function(X[[i]], 0.4)) <= SAME


@pytest.mark.parametrize("intercept", ["augmented", "free"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_forgetting_and_adding_rows_equals_a_refit(kernel, intercept):
    X, y = load("breast cancer", None)
    X, y = np.vstack((X, X[:8])), np.append(y, y[:8])
    rng = np.random.default_rng(2)
    weight = rng.uniform(0.5, 2.0, len(y))
    given = {"C": 2.0, "kernel": kernel, "gamma": 0.05, "intercept": intercept}
    path = taupath.quantile_path(X, y, sample_weight=weight, **given)
    some = rng.choice(len(y), 12, replace=False)
    kept = np.setdiff1d(np.arange(len(y)), some)
    part = taupath.quantile_path(X[kept], y[kept], sample_weight=weight[kept], **given)
    for tau in (0.2, 0.55):
        fewer = path.without(some, tau)
        more = part.with_rows(X[some], y[some], tau, weight[some])
        assert fewer.n_samples == len(kept) and more.n_samples == len(y)
        assert fewer.certify().holds() and more.certify().holds()
        assert fewer.duality_gap == fewer.certify().worst_gap <= 1e-9
        assert fewer.kkt_violation == fewer.certify().worst_kkt <= 1e-7
        assert off(fewer.decision_function(X), part.decision_function(X, tau)) <= SAME
        assert off(more.decision_function(X), path.decision_function(X, tau)) <= SAME
        assert np.abs(fewer.alpha - part.alpha(tau)).max() <= SAME
        assert np.abs(more.alpha - path.alpha(tau)[np.append(kept, some)]).max() <= SAME
        for mine, theirs in zip(fewer.index_sets, part.index_sets(tau), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        if kernel == "linear":
            assert off(fewer.coef, part.coef(tau)) <= SAME
        else:
            with pytest.raises(AttributeError, match="linear kernel"):
                _ = fewer.coef
        assert off(np.array([fewer.intercept]), np.array([part.intercept(tau)])) <= SAME


def test_rows_are_numbers_or_a_mask_and_none_is_the_path():
    X, y = load("iris", None)
    path = taupath.quantile_path(X, y)
    mask = np.zeros(len(y), dtype=bool)
    mask[[3, 8]] = True
    one, other = path.without([3, 8, 3], 0.5), path.without(mask, 0.5)
    np.testing.assert_array_equal(one.coef, other.coef)
    assert off(path.without([], 0.5).coef, path.coef(0.5)) <= SAME
    assert repr(one) == "<SolutionAt τ = 0.5 of classification, 88 samples, C=1>"
    restored = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(restored.decision_function(X), one.decision_function(X))


def test_sparse_rows_and_kernel_matrices_are_taken_as_they_are():
    X, y = load("breast cancer", None)
    dense = taupath.quantile_path(X, y)
    sparse = taupath.quantile_path(sp.csr_array(X), y)
    matrix = taupath.quantile_path(X @ X.T, y, kernel="precomputed")
    some, kept = np.array([1, 5, 9]), np.setdiff1d(np.arange(len(y)), [1, 5, 9])
    for other in (sparse, matrix):
        assert off(other.leave_one_out(0.4), dense.leave_one_out(0.4)) <= SAME
    fewer = dense.without(some, 0.4).decision_function(X)
    assert off(sparse.without(some, 0.4).decision_function(sp.csr_array(X)), fewer) <= SAME
    assert off(matrix.without(some, 0.4).decision_function((X @ X.T)[:, kept]), fewer) <= SAME
    part = taupath.quantile_path(sp.csr_array(X[kept]), y[kept])
    more = part.with_rows(X[some], y[some], 0.4)
    assert off(more.decision_function(X), dense.decision_function(X, 0.4)) <= SAME
    with pytest.raises(ValueError, match="with_rows needs features: a precomputed kernel"):
        matrix.with_rows(X[:2], y[:2], 0.4)


@pytest.mark.parametrize("given", [{}, {"intercept": "free"}, {"kernel": "rbf", "gamma": 0.1}])
def test_quantile_regression(given):
    data = load_diabetes()
    X, y = drawn(StandardScaler().fit_transform(data.data), data.target)
    path = taupath.quantile_regression_path(X, y, C=5.0, **given)
    some, kept = np.arange(0, 90, 15), np.setdiff1d(np.arange(90), np.arange(0, 90, 15))
    part = taupath.quantile_regression_path(X[kept], y[kept], C=5.0, **given)
    for tau in (0.1, 0.8):
        fewer, more = path.without(some, tau), part.with_rows(X[some], y[some], tau)
        assert fewer.certify().holds() and more.certify().holds()
        assert off(fewer.decision_function(X), part.decision_function(X, tau)) <= SAME
        assert off(more.decision_function(X), path.decision_function(X, tau)) <= SAME
        left_out = path.leave_one_out(tau)
        for i in range(0, 90, 9):
            assert off(left_out[[i]], path.without([i], tau).decision_function(X[[i]])) <= 1e-12


def test_paths_over_C():
    X, y = load("wine", None)
    path = taupath.regularization_path(X, y, tau=0.4, C_max=2.0)
    found = path.leave_one_out([0.02, 1.5])
    for k, C in enumerate((0.02, 1.5)):
        same = taupath.quantile_path(X, y, C=C)
        assert off(found[:, k], same.leave_one_out(0.4)) <= 1e-8
        assert path.without([0, 4], C).certify().holds()
    np.testing.assert_array_equal(path.loo_error([0.02]), [path.loo_error(0.02)])
    costs = np.where(path.data.sign > 0.0, 1.2, 0.8) * ((found[:, 1] >= 0) != (y == 1))
    assert path.loo_cost(1.5) == pytest.approx(costs.mean(), abs=1e-15)
    with pytest.raises(TypeError, match="are for paths over tau"):
        path.loo_cost(cost_fp=1.0, cost_fn=2.0)


@pytest.mark.parametrize("intercept", ["augmented", "free"])
@pytest.mark.parametrize("name", ["iris", "breast cancer", "diabetes"])
def test_errors_and_costs_are_those_of_the_decisions(name, intercept, request):
    X, y = load(name, request)
    weight = np.random.default_rng(5).uniform(0.0, 2.0, len(y))
    path = taupath.quantile_path(X, y, C=0.2, intercept=intercept, sample_weight=weight)
    taus = np.array([0.08, 0.4, 0.5, 0.93])
    positive = path.data.sign > 0.0
    wrong = (path.leave_one_out(taus) >= 0.0) != positive[:, np.newaxis]
    expected = np.average(wrong, axis=0, weights=weight)
    np.testing.assert_allclose(path.loo_error(taus), expected, rtol=1e-12)
    cost = np.where(positive[:, np.newaxis], 2.0 * (1.0 - taus), 2.0 * taus)
    expected = np.average(cost * wrong, axis=0, weights=weight)
    np.testing.assert_allclose(path.loo_cost(taus), expected, rtol=1e-12)
    fp, fn = 3.0 * taus, 3.0 * (1.0 - taus)
    np.testing.assert_allclose(path.loo_cost(cost_fp=fp, cost_fn=fn), 1.5 * expected, rtol=1e-12)
    assert path.loo_cost(cost_fp=fp[1], cost_fn=fn[1]) == pytest.approx(1.5 * expected[1])
    assert isinstance(path.loo_error(0.4), float)


def test_the_last_sample_of_a_class_has_no_decision_and_counts_as_an_error():
    X = np.array([[0.0], [1.0], [2.0], [5.0]])
    path = taupath.quantile_path(X, [0, 0, 0, 1])
    np.testing.assert_array_equal(np.isnan(path.leave_one_out(0.5)), [False] * 3 + [True])
    assert path.loo_error(0.5) >= 0.25
    with pytest.raises(ValueError, match="rows leaves no sample of class 1"):
        path.without([3], 0.5)


@pytest.mark.parametrize("tau", [0.0, 1e-9, 1.0])
@pytest.mark.parametrize("intercept", ["augmented", "free"])
def test_ends_of_the_path(intercept, tau):
    X, y = load("iris", None)
    path = taupath.quantile_path(X, y, intercept=intercept)
    found = path.leave_one_out(tau)
    assert np.isfinite(found).all()
    for i in (0, 7):
        assert path.without([i], tau).kkt_violation <= 1e-7


def margins_anew(known, points, lower, upper):
    """Return what `margins_with_other_boxes` has to, each problem solved on its own."""
    solver, box, own = BoxSolver(known.rows), known.box, []
    for point, low, high in zip(points, lower, upper, strict=True):
        lowers, uppers = box.lower.copy(), box.upper.copy()
        lowers[point], uppers[point] = low, high
        found = solver.solve(Box(lowers, uppers, box.target), known.theta, 1e-18)
        own.append(float(known.rows.exact_products(found.w)[point]))
    return np.array(own)


@pytest.mark.parametrize("trusted", [0.0, -1.0])
def test_what_moves_do_not_find_is_solved_anew(trusted, monkeypatch):
    X, y = load("iris", None)
    path = taupath.quantile_path(X, y)
    usual = path.leave_one_out(0.3), path.without([2, 5], 0.3).coef
    monkeypatch.setattr(moves, "TRUSTED_GAP", trusted)
    assert off(path.leave_one_out(0.3), usual[0]) <= SAME
    assert off(path.without([2, 5], 0.3).coef, usual[1]) <= SAME


def test_a_start_that_is_no_solution_is_not_trusted():
    X, y = load("iris", None)
    path = taupath.quantile_path(X, y)
    rows, n = path.data.rows, len(y)
    box = Box(np.zeros(n), np.ones(n), np.ones(n))
    for status in (np.ones(n, dtype=np.int8), np.zeros(n, dtype=np.int8)):
        known = moves.Known(rows, box, box.target, status, np.full(n, 0.5))
        assert not known.moves().right
        points, empty = np.array([1, 60]), np.zeros(2)
        _, own = moves.margins_with_other_boxes(known, points, empty, empty)
        assert off(own, margins_anew(known, points, empty, empty)) <= 1e-12


def test_ill_conditioned_features():
    X, y = load("wine", None)
    X = X * np.logspace(-4, 4, X.shape[1])
    path = taupath.quantile_path(X, y, C=0.1)
    for i in (0, 11, 40):
        assert path.without([i], 0.5).certify().holds()
    assert np.isfinite(path.leave_one_out(0.5)).all()


NOT_SUPPORTED = {
    "approximate": lambda X, y: taupath.quantile_path(X, y, method="approximate"),
    "simplified": lambda X, y: taupath.quantile_path(X, y).simplify(0.1),
    "l1": lambda X, y: taupath.quantile_path(X, y, l1=0.5),
}


@pytest.mark.parametrize("kind", NOT_SUPPORTED)
def test_other_paths_say_that_it_is_not_available(kind):
    X, y = load("iris", None)
    path = NOT_SUPPORTED[kind](X, y)
    calls = {
        "leave_one_out": (0.5,),
        "loo_error": (0.5,),
        "loo_cost": (0.5,),
        "without": ([0], 0.5),
        "with_rows": (X[:1], y[:1], 0.5),
    }
    for name, arguments in calls.items():
        with pytest.raises(ValueError, match=f"^{name} (needs an exact path|is not available)"):
            getattr(path, name)(*arguments)


def test_only_classification_has_errors():
    X, y = load("iris", None)
    path = taupath.quantile_regression_path(X, y.astype(float))
    for name in ("loo_error", "loo_cost"):
        with pytest.raises(ValueError, match=f"{name} is for classification"):
            getattr(path, name)(0.5)


def test_an_indefinite_kernel_is_refused():
    X, y = load("iris", None)
    with pytest.warns(taupath.IndefiniteKernelWarning):
        path = taupath.quantile_path(X @ X.T - 20.0 * np.eye(90), y, kernel="precomputed")
    with pytest.raises(ValueError, match="leave_one_out needs a positive semidefinite kernel"):
        path.leave_one_out(0.5)


def test_a_search_can_hold_out_every_sample_by_itself():
    X, y = drawn(*load("iris", None), n=40)
    given = {"Cs": [0.1, 1.0], "kernel": "linear", "combine": "best", "standardize": False}
    given["method"] = "exact"
    weight = np.ones(40)
    weight[7] = 0.0  # absent
    model = taupath.QuantileSVCCV(cv="loo", **given).fit(X, y, weight)
    kept = np.arange(40) != 7
    other = taupath.QuantileSVCCV(cv=LeaveOneOut(), **given).fit(X[kept], y[kept])
    np.testing.assert_array_equal(model.brier_, other.brier_)
    assert model.brier_.shape == (2, 39)
    # a probability that was held out is that of a path of all other samples
    rest = np.arange(40) != 3
    alone = taupath.QuantileSVC(C=0.1).fit(X[rest & kept], y[rest & kept])
    assert model.probabilities_[0][3] == pytest.approx(alone.predict_proba(X[[3]])[0, 1])


def test_holding_out_every_sample_is_for_few_of_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(out_of_fold.MOST_LEFT_OUT + 1, 2))
    with pytest.raises(ValueError, match="cv='loo' is for at most 300 samples, there are 301"):
        taupath.QuantileSVCCV(cv="loo").fit(X, X[:, 0] > 0.0)
    with pytest.raises(ValueError, match="cv leaves a training fold no samples of class True"):
        taupath.QuantileSVCCV(cv="loo").fit(X[:9], np.arange(9) == 2)
    with pytest.raises(ValueError, match="cv must be a number of folds, 'loo'"):
        taupath.QuantileSVCCV(cv="LOO").fit(X[:9], X[:9, 0] > 0.0)


def test_bad_input():
    X, y = load("iris", None)
    path = taupath.quantile_path(X, y, tau_range=(0.2, 0.8))
    for call in (path.leave_one_out, path.loo_error, path.loo_cost):
        with pytest.raises(ValueError, match=r"tau must lie in the walked range \[0.2, 0.8\]"):
            call(0.1)
    with pytest.raises(ValueError, match="tau must lie in"):
        path.without([0], 0.9)
    for rows, message in (
        ([90], r"rows has 90, the samples are 0, ..., 89"),
        ([-1], r"rows has -1"),
        ([True, False], "rows has 2 entries, the path has 90 samples"),
        (range(90), "rows leaves no sample of a weight above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            path.without(rows, 0.5)
    with pytest.raises(TypeError, match="rows must be numbers of samples"):
        path.without([0.5], 0.5)
    with pytest.raises(ValueError, match="X has 3 features, the path was made with 4"):
        path.with_rows(X[:2, :3], y[:2], 0.5)
    with pytest.raises(ValueError, match="y has the label 7, the path was trained on"):
        path.with_rows(X[:2], [1, 7], 0.5)
    with pytest.raises(ValueError, match="y has 3 labels, X has 2 rows"):
        path.with_rows(X[:2], y[:3], 0.5)
    with pytest.raises(ValueError, match="sample_weight is negative"):
        path.with_rows(X[:2], y[:2], 0.5, [1.0, -1.0])
    with pytest.raises(TypeError, match="must be given together"):
        path.loo_cost(cost_fp=1.0)
    with pytest.raises(TypeError, match="not both"):
        path.loo_cost(0.5, cost_fp=1.0, cost_fn=1.0)
    for bad in (-1.0, np.nan, [[1.0]]):
        with pytest.raises(ValueError, match="cost_fn must be finite numbers of at least 0"):
            path.loo_cost(cost_fp=1.0, cost_fn=bad)
    with pytest.raises(ValueError, match="must not both be 0"):
        path.loo_cost(cost_fp=0.0, cost_fn=0.0)
    with pytest.raises(ValueError, match="must have one length"):
        path.loo_cost(cost_fp=[1.0, 2.0], cost_fn=[1.0, 2.0, 3.0])


def test_rows_of_a_tiny_kernel_are_forgotten_exactly():
    """There θ can go far beyond its bound without any margin that shows it."""
    X = np.array([[0.2], [-0.2], [0.0], [0.0], [0.2], [-0.2], [0.1], [0.1]])
    y = np.array([1, -1, -1, 1, -1, 1, -1, 1])
    path = taupath.quantile_path(X, y, C=250.0, kernel="poly", gamma=0.1)
    assert path.without([0], 1e-9).certify().holds()
    X = np.array([-1.0, -2.0, 0.0, -2.0, -2.0, -1.0, 1.0, -2.0, 0.0, 2.0])[:, np.newaxis]
    y, weight = np.repeat((-1, 1, -1), (5, 1, 4)), [1, 1, 1, 1, 1, 0.5, 0.5, 0, 0.5, 1]
    how = {"kernel": "poly", "gamma": 0.1, "intercept": "free", "sample_weight": weight}
    path = taupath.quantile_path(X, y, C=14.385886051406594, **how)
    assert path.without([0], 0.9999999999506058).certify().holds()
