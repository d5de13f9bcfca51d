"""Write small model files of the present version of the format, for tests to read for ever.

    python tools/store_models.py

Run it once when the version is raised. Files of earlier versions are left alone.
"""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

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
        else:
            values = model.predict_interval(X[:5], 0.8)
        truth["values"] = values.tolist()
        file.with_suffix(".json").write_text(json.dumps(truth) + "\n")


if __name__ == "__main__":
    main()
