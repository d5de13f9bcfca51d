"""`save` and `load`: which kinds of things a model file can hold, and who packs each of them."""

import os
from typing import Any

from sklearn.pipeline import Pipeline

from taupath.estimators.combined import CombinedClassifier
from taupath.estimators.regressor_selection import QuantileSVRCV
from taupath.exceptions import ModelFileError
from taupath.models.model import Model
from taupath.paths.path import SolutionPath
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.budget import Budget, TooMuchMemory
from taupath.storage.container import read_container, write_container
from taupath.storage.estimators import ESTIMATORS, Kind, pack_estimator, unpack_estimator
from taupath.storage.models import pack_model, unpack_model
from taupath.storage.paths import pack_path, unpack_path

# Most characters of an error that quotes a file.
LONGEST_MESSAGE = 300
# By the member of the description that tells the kind. The first one present decides: a model's
# description has the members of its estimator, too.
_KINDS = {
    "path": Kind(SolutionPath, pack_path, unpack_path),
    "preparation": Kind(Model, pack_model, unpack_model),
    "estimator": Kind(
        tuple(kind.types for kind in ESTIMATORS.values()), pack_estimator, unpack_estimator
    ),
}

# Members that a description may lack, as they are to be read: versions 1 and 2 have none of them,
# and `training` is left out of files with data. What a preparation's own earlier versions lack is
# known to `Preparation.from_state`.
_IF_ABSENT = {
    "positive": 1,  # there was no choice: it was the larger label
    "costs_in_training": False,  # there were none
    "training": None,  # no fingerprints of training rows
    "intervals": None,  # of probabilities
    "held_out": None,
    "operating_point": None,
}


def save(model: Any, file: "str | os.PathLike[str]", data: bool | None = None) -> None:
    """Write a path, a fitted estimator, a fitted pipeline or a trained model to a file.

    A pipeline that was fitted on a data frame is stored with what its steps have learned, as
    numbers and text; nothing is pickled. `load` returns a `Model` of raw columns, and the commands
    ``taupath predict``, ``evaluate`` and ``report`` read it.

    Parameters
    ----------
    model : SolutionPath, QuantileSVC, QuantileSVR, FrozenClassifier, Model or Pipeline
        What to store. A `QuantileSVRCV`, and a `QuantileSVCCV` with ``combine="best"``, is stored
        as its `best_estimator_`, a pipeline unless ``standardize=False``. The last step of a
        pipeline is one of the estimators. The others are
        `StandardScaler`, `MinMaxScaler`, `RobustScaler`, `MaxAbsScaler`, `SimpleImputer`,
        `OneHotEncoder`, `ColumnTransformer` and `Pipeline` of these, or ``"passthrough"``.
    file : path
        Where to write. An existing file of that name is replaced; if anything goes wrong, it is
        left as it was.
    data : bool or None
        Whether the file is to hold the training data. None: only if predictions need them, as
        those of exact paths and of kernels do.

    Raises
    ------
    ValueError
        If a step of a pipeline cannot be stored, such as `PCA` or a transformer of your own. The
        message names it.
    """
    if isinstance(model, QuantileSVRCV | CombinedClassifier) and hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if isinstance(model, Pipeline):
        from taupath.models.from_sklearn import model_of  # imports much of scikit-learn

        model = model_of(model)
    kind = next((kind for kind in _KINDS.values() if isinstance(model, kind.types)), None)
    if kind is None:
        advice = "its best_estimator_, " if hasattr(model, "best_estimator_") else ""
        raise TypeError(
            f"a {type(model).__name__} cannot be stored; give {advice}a path, a QuantileSVC, a "
            "QuantileSVR, a Pipeline that ends in one, or a Model"
        )
    arrays = ArraysToWrite()
    write_container(file, kind.pack(model, arrays, data), arrays.by_name)


def load(file: "str | os.PathLike[str]", *, max_bytes: float | None = None) -> Any:
    """Return the path, the estimator or the trained model that a file holds.

    No code in a file is run. Its checksum is compared first: a file that was cut off or altered is
    refused.

    Parameters
    ----------
    file : path
        A file that ``save`` wrote, by this version of taupath or an earlier one.
    max_bytes : float, optional
        The most memory that loading the model, and then reading one of its paths, may take. A file
        that claims more is refused before the memory is taken. By default 800 MB, and 16 bytes more
        for each byte of the file. For kernels, rows that do not fit are computed when they are
        needed.

    Returns
    -------
    SolutionPath, QuantileSVC, QuantileSVR, FrozenClassifier or Model
        What was stored; its numbers are the same as before. A `Model` is what ``taupath fit`` or
        `save` of a pipeline wrote: it predicts for data frames and raw files. Its certificate,
        ``trained["certificate"]``, is the stored one, as is `SolutionPath.stated`: `load` does not
        compute it again.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, claims too much memory, or was written by a
        later version.
    OSError
        If it cannot be read.
    """
    budget = Budget(file, max_bytes)
    try:
        content, arrays = read_container(file, budget)
        return _unpack(file, content, StoredArrays(arrays, budget))
    except MemoryError:
        raise ModelFileError(f"{file} holds more than fits into memory") from None


def _unpack(file: Any, content: dict[str, Any], arrays: StoredArrays) -> Any:
    """Return what a file holds; anything that goes wrong is the file's fault."""
    member = next((member for member in _KINDS if member in content), "estimator")
    try:
        return _KINDS[member].unpack({**_IF_ABSENT, **content}, arrays)
    except TooMuchMemory:
        raise
    except ModelFileError as error:
        raise ModelFileError(f"{file} is damaged: {_one_line(error)}") from None
    except KeyError as error:
        raise ModelFileError(f"{file} is damaged: {error.args[0]!r:.60} is missing") from error
    except (AttributeError, IndexError) as error:
        raise ModelFileError(f"{file} is damaged: it describes no model") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ModelFileError(f"{file} is damaged: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    """Return the message of an error, which may quote the file, short and printable."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(error)[:LONGEST_MESSAGE])
    return shown + "…" * (len(str(error)) > LONGEST_MESSAGE)
