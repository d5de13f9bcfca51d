"""A small made-up folder of the paper's data."""

import csv

import numpy as np
from sklearn.datasets import dump_svmlight_file

from taupath.datasets import PaperData


def overlapping(n_samples, n_features, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.uniform(size=n_samples) < 0.6, 1, -1)
    X = rng.standard_normal((n_samples, n_features)) + 0.4 * y[:, None]
    return np.clip(X / 3.0, -1.0, 1.0), y


def write_made_up(folder):
    """Write diabetes and spam, both made up; spam has 30 samples in each part."""
    (folder / "diabetes").mkdir()
    (folder / "spam").mkdir()
    X, y = overlapping(768, 8, seed=0)
    dump_svmlight_file(X, y, str(folder / "diabetes" / "diabetes_scale.svm"), zero_based=False)
    for inbox in range(3):
        X, y = overlapping(30, 5, seed=1 + inbox)
        file = folder / "spam" / f"task_a_u{inbox:02}_eval_lab.tf"
        dump_svmlight_file(np.abs(X), y, str(file), zero_based=False)
    return folder


def read_csv(file):
    with file.open() as lines:
        return list(csv.DictReader(lines))


def small(data, n_samples):
    """The same set with fewer training samples."""
    return PaperData(
        data.name,
        data.lam,
        data.X_train[:n_samples],
        data.y_train[:n_samples],
        data.X_valid,
        data.y_valid,
        data.X_test,
        data.y_test,
    )
