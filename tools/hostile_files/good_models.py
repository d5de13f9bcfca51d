"""Small models of every kind that a file can hold, as they should be."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import taupath as tp


def good_models() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Return models by name, each with some samples to predict and how it is saved."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(30, 3)), 3)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0.0, "yes", "no")
    three = np.array(["a", "b", "c"])[np.arange(30) % 3]
    z = np.round(X[:, 1] + rng.normal(size=30), 3)
    sparse = sp.csr_array(np.where(X > 0.3, X, 0.0))
    gram = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    weight = np.linspace(0.0, 2.0, 30)
    few, rough = X[:4], {"method": "approximate", "tol": 1e-2}
    exact = tp.quantile_path(X, y, C=0.7)
    two = tp.QuantileSVC(C=0.5, class_weight="balanced").fit(X, y)
    by_kernel = tp.QuantileSVC(kernel="rbf", monotone=True).fit(X, y)
    paths = {
        "exact": (exact, few, {}),
        "weights": (tp.quantile_path(X, y, sample_weight=weight, n_jobs=2), few, {}),
        "part": (tp.quantile_path(X, y, tau_range=(0.3, 0.6), intercept="free"), few, {}),
        "sparse": (tp.quantile_path(sparse, y), few, {}),
        "more free than columns": (more_free_than_columns(), np.ones((2, 7)), {}),
        "rbf": (tp.quantile_path(X, y, kernel="rbf", intercept="free"), few, {}),
        "poly": (tp.quantile_path(X, y, kernel="poly", degree=2, coef0=1.0, C=0.01), few, {}),
        "precomputed": (tp.quantile_path(gram, y, kernel="precomputed"), gram[:2], {}),
        "over C": (tp.regularization_path(X, y, C_max=2.0), few, {}),
        "regression": (tp.quantile_regression_path(X, z, C=3.0, intercept="free"), few, {}),
        "rbf regression": (tp.quantile_regression_path(X, z, kernel="rbf"), few, {}),
        "constant": (tp.quantile_regression_path(X, np.ones(30), intercept="free"), few, {}),
        "simplified": (exact.simplify(1e-2), few, {}),
        "simplified with data": (exact.simplify(1e-2), few, {"data": True}),
        "simplified rbf": (by_kernel.path_.simplify(1e-2), few, {}),
        "simplified over C": (tp.regularization_path(X, y, C_max=2.0).simplify(1e-2), few, {}),
        "approximate": (tp.quantile_path(X, y, **rough), few, {}),
        "approximate with data": (
            tp.quantile_path(sparse, y, intercept="free", **rough),
            few,
            {"data": True},
        ),
        "approximate regression": (
            tp.quantile_regression_path(X.astype(np.float32), z, **rough),
            few,
            {"data": True},
        ),
    }
    easy = np.where(X[:, 0] > 0.0, 1, -1)
    paths |= {
        "approximate rbf": (tp.quantile_path(X, y, kernel="rbf", **rough), few, {}),
        "approximate rbf regression": (
            tp.quantile_regression_path(X, z, kernel="rbf", intercept="free", **rough),
            few,
            {},
        ),
        "support vectors": (
            tp.quantile_path(X, easy, kernel="rbf", tau_range=(0.4, 0.6), C=10.0, **rough),
            few,
            {},
        ),
        "support vectors precomputed": (
            tp.quantile_path(gram, y, kernel="precomputed", **rough),
            gram[:2],
            {"data": False},
        ),
    }
    group = np.arange(30) % 2
    rules = [tp.Fair(group, 0.1), tp.NonNegative([0]), tp.Bound(np.ones(3), upper=2.0)]
    paths |= {
        "extra rows": (tp.quantile_path(X, y, C=0.7, l1=0.3, constraints=rules), few, {}),
        "sparse extra rows": (tp.quantile_path(sparse, y, l1=0.3, intercept="none"), few, {}),
        "extra rows of a regression": (
            tp.quantile_regression_path(X, z, constraints=[tp.Monotone([1])]),
            few,
            {},
        ),
        "over a penalty": (tp.sparsity_path(X, y), few, {}),
        "over a covariance": (tp.fairness_path(X, y, group), few, {}),
    }
    estimators = {
        "classifier": (two, few, {}),
        "constrained": (tp.QuantileSVC(C=0.7, l1=0.3, constraints=rules).fit(X, y), few, {}),
        "rbf classifier": (by_kernel, few, {}),
        "pairs": (tp.QuantileSVC().fit(X, three), few, {}),
        "against the rest": (tp.QuantileSVC(multi_class="ovr").fit(sparse, three), few, {}),
        "pairs precomputed": (
            tp.QuantileSVC(kernel="precomputed").fit(gram, three),
            gram[:2],
            {},
        ),
        "approximate classifier": (tp.QuantileSVC(**rough).fit(X, y), few, {}),
        "approximate rbf classifier": (tp.QuantileSVC(kernel="rbf", **rough).fit(X, y), few, {}),
        "stack": (tp.QuantileSVCCV(cv=3).fit(X, y), few, {}),
        "stack of pairs": (
            tp.QuantileSVCCV([1.0], cv=3, kernel="linear").fit(sparse, three),
            few,
            {},
        ),
        "per tau": (tp.QuantileSVCCV(cv=3, combine="per_tau").fit(X, y), few, {}),
        "regressor": (tp.QuantileSVR(conformal=3).fit(X, z), few, {}),
        "rbf regressor": (tp.QuantileSVR(kernel="rbf").fit(X, z), few, {}),
        "of one tau": (two.at(0.3), few, {}),
        "rbf of one tau": (by_kernel.at(0.3), few, {}),
    }
    return paths | estimators | _with_preparation(X, y, z)


def more_free_than_columns() -> Any:
    """Return a path whose record has more free points than its rows have columns, by rounding."""
    rng = np.random.default_rng(1953)
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 40))
    rng.integers(0, 5)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 8, d)
    y = rng.integers(0, 2, n)
    y[0], y[-1] = 0, 1
    with warnings.catch_warnings():  # nor is it quite exact
        warnings.simplefilter("ignore", tp.InexactPathWarning)
        return tp.quantile_path(X, y, C=1e5)


def _with_preparation(
    X: np.ndarray, y: np.ndarray, z: np.ndarray
) -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    from taupath.models.holding_out import hold_out
    from taupath.models.training import train
    from taupath.preparation import Preparation
    from taupath.tables import as_table

    job = np.array(["cook", "nurse", "smith"])[np.arange(len(X)) % 3]
    columns = {"age": X[:, 0].tolist(), "job": job.tolist(), "dose": X[:, 1].tolist()}
    few = {name: values[:4] for name, values in columns.items()}
    found = {}
    for task, response in (("classify", y), ("regress", z)):
        table = as_table({**columns, "target": response.tolist()})
        preparation = Preparation.learn(table, target="target", task=task, standardize=True)
        options = {"kernel": "linear"}
        model, _ = train(table, preparation, options)
        held_out = hold_out(table, preparation, {"task": task}, options, folds=2)
        model = replace(model, held_out=held_out)
        if task == "classify":
            model = replace(model, operating_point=model.operate(min_recall=0.2, delta=0.5))
        found[f"{task} columns"] = (model, few, {})
    return found


def save_all(folder: Path) -> tuple[dict[str, Path], dict[str, Any]]:
    """Save a model of every kind; returns the files, and samples to predict, by name."""
    files, samples = {}, {}
    for name, (model, few, how) in good_models().items():
        files[name], samples[name] = folder / f"{name}.tau", few
        tp.save(model, files[name], **how)
    return files, samples
