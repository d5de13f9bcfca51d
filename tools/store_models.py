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
from taupath.storage.container import VERSION

FOLDER = Path(__file__).parent.parent / "tests" / "stored"


def main() -> None:
    """Write a file for each kind of model, and beside it what it predicts."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(24, 3)), 3)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=24) > 0.0, "yes", "no")
    z = np.round(X[:, 1] + rng.normal(size=24), 3)
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
        truth["trained"] = {"X": X.tolist(), "y": (z if "quantiles" in name else y).tolist()}
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
