"""Data sets of the paper and of the benchmarks, read from a local folder.

Nothing is downloaded. The folder is the argument ``data_dir`` or, without it, the environment
variable ``TAUPATH_DATA``.
"""

import bz2
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

__all__ = [
    "PAPER_NAMES",
    "ClassificationData",
    "DataNotFound",
    "PaperData",
    "classification_names",
    "load_classification",
    "load_paper",
    "load_svm",
    "split_diabetes",
]

ENVIRONMENT_VARIABLE = "TAUPATH_DATA"

PathLike = str | os.PathLike[str]
Matrix = Any  # np.ndarray or scipy.sparse.csr_matrix, float64


class DataNotFound(FileNotFoundError):
    """A data file, or the folder that should hold it, does not exist."""


@dataclass(frozen=True)
class PaperData:
    """One data set of the paper's Table 1, cut in three.

    Attributes
    ----------
    name : str
        "diabetes", "spam" or "splice".
    lam : float
        The paper's regularisation λ for these data.
    X_train, X_valid, X_test : ndarray or csr_matrix of shape (n_samples, n_features)
        Features in float64, without a bias column: dense for diabetes, CSR for spam and splice.
    y_train, y_valid, y_test : ndarray of shape (n_samples,)
        Labels -1 and +1.
    """

    name: str
    lam: float
    X_train: Matrix
    y_train: np.ndarray
    X_valid: Matrix
    y_valid: np.ndarray
    X_test: Matrix
    y_test: np.ndarray


@dataclass(frozen=True)
class ClassificationData:
    """One data set of the folder ``classification``.

    Attributes
    ----------
    name : str
        The file name without ``.svm``.
    X : csr_matrix of shape (n_samples, n_features)
        Features in float64, as stored.
    y : ndarray of shape (n_samples,)
        Labels: -1 and +1 where there are two classes, else the integers of the file.
    X_test, y_test : csr_matrix and ndarray, or None
        The test part, with as many columns as ``X``, where the folder has one.
    """

    name: str
    X: sp.csr_matrix
    y: np.ndarray
    X_test: sp.csr_matrix | None
    y_test: np.ndarray | None


def load_paper(name: str, data_dir: PathLike | None = None) -> PaperData:
    """Return one of the three data sets of the paper's Table 1.

    The paper states sizes and λ but neither its scaling nor its splits, so these are ours:

    - diabetes, 668/50/50: columns scaled to [-1, 1], rows shuffled. Label +1 is healthy.
    - spam, 2500/2500/2500: term counts, one inbox each; words unknown to the first are dropped.
    - splice, 10⁴/10⁴/10⁴: 201 nucleotides around worm acceptor sites, one-hot encoded, 5.5 %
      positive, rows shuffled.

    Parameters
    ----------
    name : {"diabetes", "spam", "splice"}
        Which data set.
    data_dir : path, optional
        Folder with the data; by default the one named by ``TAUPATH_DATA``.

    Returns
    -------
    PaperData
        Training, validation and test part, and λ.

    Raises
    ------
    DataNotFound
        If a file is missing or no folder is given.
    ValueError
        If there is no data set of that name.
    """
    if name not in _PAPER_LOADERS:
        raise ValueError(f"name must be one of {', '.join(PAPER_NAMES)}; got {name!r}")
    return _PAPER_LOADERS[name](_folder(data_dir))


def load_classification(name: str, data_dir: PathLike | None = None) -> ClassificationData:
    """Return one data set of the folder ``classification``, with its test part if there is one.

    Parameters
    ----------
    name : str
        File name without ``.svm``, such as "a9a" or "heart_scale".
    data_dir : path, optional
        Folder with the data; by default the one named by ``TAUPATH_DATA``.

    Returns
    -------
    ClassificationData
        Features as stored; two-class labels as -1 and +1.

    Raises
    ------
    DataNotFound
        If the file is missing or no folder is given.
    """
    folder = _folder(data_dir) / "classification"
    X, y = load_svm(_existing(folder / f"{name}.svm"))
    test_file = folder / f"{name}.t.svm"
    if not test_file.is_file():
        return ClassificationData(name, X, _two_class_signs(y), None, None)
    X_test, y_test = load_svm(test_file)
    n_features = max(X.shape[1], X_test.shape[1])
    return ClassificationData(
        name,
        _with_columns(X, n_features),
        _two_class_signs(y),
        _with_columns(X_test, n_features),
        _two_class_signs(y_test),
    )


def classification_names(data_dir: PathLike | None = None) -> list[str]:
    """Return the names that `load_classification` finds, in alphabetical order."""
    folder = _folder(data_dir) / "classification"
    if not folder.is_dir():
        raise DataNotFound(_missing("folder classification", folder.parent))
    names = (file.name.removesuffix(".svm") for file in folder.glob("*.svm"))
    return sorted(name for name in names if not name.endswith(".t"))


def load_svm(file: PathLike, n_features: int | None = None) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return features and integer labels of a file in LIBSVM format.

    Parameters
    ----------
    file : path
        Text file; features are counted from one.
    n_features : int, optional
        Number of columns wanted: higher features are dropped, absent ones are zero. By default
        the highest feature of the file.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features)
        Features in float64.
    y : ndarray of shape (n_samples,)
        Labels as integers.

    Raises
    ------
    DataNotFound
        If there is no such file.
    """
    X, y = load_svmlight_file(str(_existing(Path(file))), dtype=np.float64, zero_based=False)
    X = sp.csr_matrix(X)
    if n_features is not None:
        X = _with_columns(X, n_features)
    return X, y.astype(np.int64)


def split_diabetes(X: np.ndarray, y: np.ndarray) -> PaperData:
    """Return the 768 scaled diabetes samples, in the order of the UCI table, shuffled and cut."""
    order = np.random.default_rng(0).permutation(768)
    return _cut_in_three("diabetes", 1e-3, X[order], y[order], 668, 718)


def _load_diabetes(folder: Path) -> PaperData:
    X, y = load_svm(folder / "diabetes" / "diabetes_scale.svm", n_features=8)
    return split_diabetes(X.toarray(), y)


def _load_spam(folder: Path) -> PaperData:
    files = [folder / "spam" / f"task_a_u{inbox:02}_eval_lab.tf" for inbox in range(3)]
    X_train, y_train = load_svm(files[0])
    X_valid, y_valid = load_svm(files[1], n_features=X_train.shape[1])
    X_test, y_test = load_svm(files[2], n_features=X_train.shape[1])
    return PaperData("spam", 1e-6, X_train, y_train, X_valid, y_valid, X_test, y_test)


def _load_splice(folder: Path) -> PaperData:
    n_positive, n_negative = 1650, 28350
    X, y = _read_splice_sites(
        _existing(folder / "splice" / "C_elegans_acc_100000.fasta.bz2"), n_positive, n_negative
    )
    order = np.random.default_rng(0).permutation(n_positive + n_negative)
    return _cut_in_three("splice", 1e-2, X[order], y[order], 10_000, 20_000)


_PAPER_LOADERS: dict[str, Callable[[Path], PaperData]] = {
    "diabetes": _load_diabetes,
    "spam": _load_spam,
    "splice": _load_splice,
}
PAPER_NAMES = tuple(_PAPER_LOADERS)


def _read_splice_sites(
    file: Path, n_positive: int, n_negative: int
) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return the first `n_positive` positive sites, then the first `n_negative` negative ones."""
    window = slice(98, 299)  # 201 letters; the invariant AG of an acceptor site ends in the middle
    wanted = {1: n_positive, -1: n_negative}
    found: dict[int, list[bytes]] = {1: [], -1: []}
    with bz2.open(file) as lines:
        for header in lines:
            letters = next(lines).strip()
            label = int(header.rsplit(b"label=", 1)[1])
            if len(found[label]) < wanted[label]:
                found[label].append(letters[window])
            elif all(len(found[sign]) == wanted[sign] for sign in found):
                break
    y = np.repeat([1, -1], [len(found[1]), len(found[-1])])
    return _one_hot(found[1] + found[-1]), y


def _one_hot(sequences: list[bytes]) -> sp.csr_matrix:
    """Encode each letter as four columns A, C, G, T; any other letter as four zeros."""
    letters = np.frombuffer(b"".join(sequences), dtype=np.uint8).reshape(len(sequences), -1)
    code = np.full(256, -1)
    code[list(b"ACGT")] = range(4)
    row, position = np.nonzero(code[letters] >= 0)
    column = 4 * position + code[letters[row, position]]
    shape = (letters.shape[0], 4 * letters.shape[1])
    return sp.csr_matrix((np.ones(row.size), (row, column)), shape=shape)


def _cut_in_three(
    name: str, lam: float, X: Matrix, y: np.ndarray, first: int, second: int
) -> PaperData:
    train, valid, test = slice(0, first), slice(first, second), slice(second, None)
    return PaperData(name, lam, X[train], y[train], X[valid], y[valid], X[test], y[test])


def _two_class_signs(y: np.ndarray) -> np.ndarray:
    """Map two label values to -1 and +1, the larger to +1; leave more than two alone."""
    values = np.unique(y)
    return np.where(y == values[1], 1, -1) if values.size == 2 else y


def _with_columns(X: sp.csr_matrix, n_features: int) -> sp.csr_matrix:
    """Return X with higher columns dropped or zero columns appended."""
    if X.shape[1] >= n_features:
        return X[:, :n_features]
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def _folder(data_dir: PathLike | None) -> Path:
    """Return the data folder, which must exist."""
    chosen = data_dir if data_dir is not None else os.environ.get(ENVIRONMENT_VARIABLE)
    if not chosen:
        raise DataNotFound(
            f"no data folder is given: set the environment variable {ENVIRONMENT_VARIABLE} "
            "or pass data_dir"
        )
    folder = Path(chosen)
    if not folder.is_dir():
        raise DataNotFound(
            f"the data folder {folder} does not exist: set {ENVIRONMENT_VARIABLE} or pass data_dir"
        )
    return folder


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise DataNotFound(_missing(f"file {file.name}", file.parent))
    return file


def _missing(what: str, folder: Path) -> str:
    return (
        f"the {what} is missing in the folder {folder}: set {ENVIRONMENT_VARIABLE} "
        "to the folder that holds the data, or pass data_dir"
    )
