"""Write small model files of the present version of the format, for tests to read for ever.

    python tools/store_models.py

Run it once when the version is raised. Files of earlier versions are left alone.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import taupath
from taupath.engine.record import Nodes
from taupath.storage.container import VERSION

FOLDER = Path(__file__).parent.parent / "tests" / "stored"
# What is added to columns so that a free intercept centres one of them.
ROUGH = {"method": "approximate", "tol": 1e-2}
FAR = np.array([0.0, 100.0, 0.0])


def main() -> None:
    """Write a file for each kind of model, and beside it what it predicts."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(24, 3)), 3)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=24) > 0.0, "yes", "no")
    z = np.round(X[:, 1] + rng.normal(size=24), 3)
    side = np.where(X[:, 0] > 0.0, "yes", "no")  # with few support vectors
    sparse = sp.csr_array(np.where(X > 0.5, X, 0.0))
    models = {
        "path": taupath.quantile_path(sparse, y, C=0.7),
        "kernel": taupath.quantile_path(X, y, kernel="rbf", intercept="free"),
        "C-path": taupath.regularization_path(X, y, C_max=2.0),
        "quantiles": taupath.quantile_regression_path(X, z, C=3.0, intercept="free"),
        "classifier": taupath.QuantileSVC(C=0.5, class_weight="balanced").fit(X, y),
        "regressor": taupath.QuantileSVR(C=2.0, conformal=3).fit(X, z),
        "approximate": taupath.quantile_path(X, y, method="approximate", intercept="free"),
        "simplified": taupath.quantile_path(X, y).simplify(1e-3),
        "simplified-C-path": taupath.regularization_path(X, y, C_max=2.0).simplify(1e-3),
        "simplified-kernel": taupath.quantile_path(X, y, kernel="rbf").simplify(1e-3),
        "approximate-quantiles": taupath.quantile_regression_path(X, z, method="approximate"),
        "approximate-classifier": taupath.QuantileSVC(method="approximate").fit(X, y),
        "positive": taupath.QuantileSVC(C=0.5, pos_label="no").fit(X, y),
        "copies": taupath.quantile_path(np.round(X), y, C=0.7),
        "centred-quantiles": taupath.quantile_regression_path(
            X + FAR, z + 100.0, C=3.0, intercept="free"
        ),
        "nodes": path_with_nodes(),
        "kernel-nodes": taupath.quantile_path(X, y, kernel="rbf", **ROUGH),
        "kernel-nodes-quantiles": taupath.quantile_regression_path(
            X, z, kernel="rbf", intercept="free", **ROUGH
        ),
        "extra-rows": taupath.QuantileSVC(
            l1=0.2, constraints=[taupath.Fair(np.arange(24) % 2, 0.05), taupath.NonNegative([1])]
        ).fit(X, y),
        "sparsity": taupath.sparsity_path(X, y),
        "support-vectors": taupath.quantile_path(
            X, side, C=10.0, tau_range=(0.1, 0.9), kernel="rbf", **ROUGH
        ),
    }
    # and a file with training data of float32
    with_data = {
        "approximate-data": taupath.quantile_path(
            sparse.astype(np.float32), y, method="approximate"
        )
    }
    for name, model in (models | with_data).items():
        file = FOLDER / f"v{VERSION}-{name}.tau"
        model.save(file, data=True if name in with_data else None)
        truth = {"X": X[:5].tolist(), "taus": [0.1, 0.4, 0.9]}
        if name == "nodes":  # at a node, and between two
            first, second = nodes_of(model).t[:2].tolist()
            truth["taus"] = [0.1, first, 0.5 * (first + second), 0.9]
        response = side if name == "support-vectors" else z if "quantiles" in name else y
        truth["trained"] = {"X": X.tolist(), "y": response.tolist()}
        if isinstance(model, taupath.SolutionPath):
            values = model.decision_function(X[:5], truth["taus"])
        elif hasattr(model, "predict_proba"):
            values = model.predict_proba(X[:5])
            truth["positive"] = model.pos_label_
        else:
            values = model.predict_interval(X[:5], 0.8)
        truth["values"] = values.tolist()
        file.with_suffix(".json").write_text(json.dumps(truth) + "\n")
    store_pipelines(X, y, z)


def path_with_nodes() -> taupath.SolutionPath:
    """Return the path of the first of some hard problems that has nodes, and is exact all along."""
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(14, 3)), 1)
        X[:, 2] = 1.0
        X[7:] = X[:7] + [1e-9, 1e-9, 0.0] * rng.normal(size=(7, 3))
        path = taupath.quantile_path(X, np.arange(14) % 2, C=10.0 ** rng.uniform(4.0, 8.0))
        if nodes_of(path) is not None and path.certify().holds():
            return path
    raise RuntimeError("no problem has nodes")


def nodes_of(path: taupath.SolutionPath) -> Nodes | None:
    """Return the nodes of the first walk of a path."""
    nodes: Nodes | None = path.solutions.pieces[0].record.nodes
    return nodes


def store_pipelines(X: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
    """Write a pipeline of each kind, and beside it what it predicts for some raw columns."""
    job = np.array(["cook", "nurse", "smith"])[np.arange(len(X)) % 3]
    frame = pd.DataFrame({"age": X[:, 0], "job": job, "dose": X[:, 1], "smoker": X[:, 2] > 0.0})
    frame.loc[[1, 7], "age"] = np.nan
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age"]),
        (OneHotEncoder(handle_unknown="ignore", drop="first"), ["job", "smoker"]),
        (MinMaxScaler(), ["dose"]),
    )
    few = frame[:5]
    classifier = make_pipeline(columns, taupath.QuantileSVC(C=0.5, pos_label="no")).fit(frame, y)
    proba = classifier.predict_proba(few)
    labels = classifier.predict(few, cost_fp=1, cost_fn=3)
    found = {f"p({label})": p for label, p in zip(classifier.classes_, proba.T, strict=True)}
    store_pipeline("pipeline", classifier, few, {"prediction": labels} | found)
    regressor = make_pipeline(columns, taupath.QuantileSVR(C=2.0)).fit(frame, z)
    names = ("q0.1", "q0.5", "lower", "upper")
    values = regressor.predict(few, quantile=[0.1, 0.5, 0.1, 0.9])
    found = dict(zip(names, values.T, strict=True))
    store_pipeline("pipeline-quantiles", regressor, few, found)


def store_pipeline(
    name: str, pipeline: Pipeline, few: pd.DataFrame, predicted: dict[str, np.ndarray]
) -> None:
    """Write one pipeline."""
    file = FOLDER / f"v{VERSION}-{name}.tau"
    taupath.save(pipeline, file)
    columns = {column: few[column].replace({np.nan: None}).tolist() for column in few}
    truth = {
        "columns": columns,
        "predicted": {name: values.tolist() for name, values in predicted.items()},
    }
    file.with_suffix(".json").write_text(json.dumps(truth) + "\n")


if __name__ == "__main__":
    main()
