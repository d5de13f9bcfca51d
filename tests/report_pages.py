"""What tests of reports share: models, and what a written page carries."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

from taupath import QuantileSVC, QuantileSVR
from taupath.commands.breast_cancer import standardized_halves
from taupath.report import write_report

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def payload_of(file: Path) -> dict[str, Any]:
    """Return the data of a page as the browser reads them."""
    found = DATA.findall(file.read_text(encoding="utf-8"))
    assert len(found) == 1
    return json.loads(found[0])


def unpacked(packed: dict[str, str]) -> np.ndarray:
    """Return an array the page carries."""
    return np.frombuffer(base64.b64decode(packed["bytes"]), dtype=f"<{packed['type']}")


def functions_of(packed: dict[str, Any], taus: np.ndarray) -> np.ndarray:
    """Return functions the page carries as sums of a few, at some τ without a jump."""
    nodes, scales = unpacked(packed["taus"]), unpacked(packed["scales"])
    basis = unpacked(packed["basis"]).reshape(len(scales), -1).astype(float)
    weights = unpacked(packed["weights"]).reshape(-1, len(scales)) * scales
    return weights @ np.array([np.interp(taus, nodes, row) for row in basis])


def breast_cancer(**parameters: Any) -> tuple[QuantileSVC, np.ndarray, np.ndarray, dict[str, Any]]:
    """Return the model of the demo, other cases, and names."""
    X_train, X, y_train, y = standardized_halves()
    model = QuantileSVC(**{"C": 0.1, **parameters}).fit(X_train, y_train)
    names = load_breast_cancer().feature_names
    return model, X, y, {"class_names": ["benign", "malignant"], "feature_names": names}


def moons(**parameters: Any) -> tuple[QuantileSVC, np.ndarray, np.ndarray]:
    """Return an RBF model over two features, whose boundaries cross, and other cases."""
    X, y = make_moons(300, noise=0.35, random_state=0)
    model = QuantileSVC(**{"C": 2.0, "kernel": "rbf", "gamma": 1.5, **parameters})
    return model.fit(X[:150], y[:150]), X[150:], y[150:]


def iris(**parameters: Any) -> tuple[QuantileSVC, np.ndarray, np.ndarray]:
    """Return a model of three classes and other cases."""
    X, y = load_iris(return_X_y=True)
    return QuantileSVC(**parameters).fit(X[::2, :2], y[::2]), X[1::2, :2], y[1::2]


def wiggly(n_features: int = 1, **parameters: Any) -> tuple[QuantileSVR, np.ndarray, np.ndarray]:
    """Return a quantile regression whose quantiles would cross, and other cases."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (240, n_features))
    y = np.sin(X[:, 0]) + (0.1 + 0.1 * X[:, 0]) * rng.standard_normal(240)
    model = QuantileSVR(**{"C": 5.0, "kernel": "rbf", "gamma": 1.0, **parameters})
    return model.fit(X[:120], y[:120]), X[120:], y[120:]


def write_cancer(folder: Path) -> tuple[Path, QuantileSVC, np.ndarray, np.ndarray]:
    """Write the page of the demo's model, and return it with model and cases."""
    model, X, y, names = breast_cancer()
    file, certificate = folder / "cancer.html", model.path_.certify(20)
    write_report(file, model, X, y, **names, provenance={"C": "0.1"}, certificate=certificate)
    return file, model, X, y


def write_moons(folder: Path) -> tuple[Path, QuantileSVC, np.ndarray, np.ndarray]:
    """Write the page of a model over two features, and return it with model and cases."""
    model, X, y = moons()
    file = folder / "moons.html"
    write_report(file, model, X, y)
    return file, model, X, y


def confusion(y: np.ndarray, predicted: np.ndarray) -> dict[str, int]:
    """Return the four counts of a classifier whose larger label is positive."""
    truth, said = y == y.max(), predicted == y.max()
    return {
        "tn": int((~truth & ~said).sum()),
        "fp": int((~truth & said).sum()),
        "fn": int((truth & ~said).sum()),
        "tp": int((truth & said).sum()),
    }
