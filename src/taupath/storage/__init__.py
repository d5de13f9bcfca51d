"""Model files: one file, no code inside, readable by other programs."""

import os
from typing import Any

from taupath.exceptions import ModelFileError
from taupath.storage.container import read_container, write_container

__all__ = ["load", "save"]


def save(model: Any, file: "str | os.PathLike[str]", data: bool | None = None) -> None:
    """Write a path, a fitted estimator, a fitted pipeline or a trained model to a file.

    A pipeline that was fitted on a data frame is stored with what its steps have learned, as
    numbers and text; nothing is pickled. `load` returns a `Model` of raw columns, and the commands
    ``taupath predict``, ``evaluate`` and ``report`` read it.

    Parameters
    ----------
    model : SolutionPath, QuantileSVC, QuantileSVR, FrozenClassifier, Model or Pipeline
        What to store. The last step of a pipeline is one of the estimators. The others are
        `StandardScaler`, `MinMaxScaler`, `RobustScaler`, `MaxAbsScaler`, `SimpleImputer`,
        `OneHotEncoder`, `ColumnTransformer` and `Pipeline` of these, or ``"passthrough"``.
    file : path
        Where to. A file of that name is replaced, or stays as it is if anything goes wrong.
    data : bool or None
        Whether the file is to hold the training data. None: where nothing can be predicted
        without them, for exact paths and for kernels.

    Raises
    ------
    ValueError
        If a step of a pipeline cannot be stored, such as `PCA` or a transformer of your own. The
        message names it.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    from taupath.estimators.classifier import QuantileSVC
    from taupath.estimators.frozen_classifier import FrozenClassifier
    from taupath.estimators.regressor import QuantileSVR
    from taupath.models.from_sklearn import model_of
    from taupath.models.model import Model
    from taupath.paths.path import SolutionPath
    from taupath.storage.arrays import ArraysToWrite
    from taupath.storage.estimators import pack_estimator
    from taupath.storage.held_out import pack_held_out
    from taupath.storage.paths import pack_path

    shelf = ArraysToWrite()
    if isinstance(model, Pipeline):
        model = model_of(model)
    if isinstance(model, SolutionPath):
        content = pack_path(model, shelf, data)
    elif isinstance(model, Model):
        content = {
            **pack_estimator(model.estimator, shelf, data),
            "preparation": model.preparation.state(),
            "trained": model.trained,
            "held_out": pack_held_out(model.held_out, shelf),
        }
    else:
        if not isinstance(model, QuantileSVC | QuantileSVR | FrozenClassifier):
            advice = "its best_estimator_, " if hasattr(model, "best_estimator_") else ""
            raise TypeError(
                f"a {type(model).__name__} cannot be stored; give {advice}a path, a QuantileSVC, a "
                "QuantileSVR, a Pipeline that ends in one, or a Model"
            )
        check_is_fitted(model)
        content = pack_estimator(model, shelf, data)
    write_container(file, content, shelf.arrays)


def load(file: "str | os.PathLike[str]") -> Any:
    """Return the path, the estimator or the trained model that a file holds.

    Nothing in a file is run, and its checksum is compared first: a file that was cut off or altered
    is refused.

    Parameters
    ----------
    file : path
        A file that ``save`` wrote, by this version of taupath or an earlier one.

    Returns
    -------
    SolutionPath, QuantileSVC, QuantileSVR, FrozenClassifier or Model
        What was stored; its numbers are the same as before. A `Model` is what ``taupath fit`` or
        `save` of a pipeline wrote: it predicts for data frames and raw files.

    Raises
    ------
    ModelFileError
        For a file that is something else, damaged, or of a later version.
    OSError
        If it cannot be read.
    """
    content, arrays = read_container(file)
    from taupath.models.model import Model
    from taupath.preparation import Preparation
    from taupath.storage.arrays import StoredArrays
    from taupath.storage.estimators import check_model, unpack_estimator
    from taupath.storage.held_out import unpack_held_out
    from taupath.storage.paths import unpack_path

    try:
        taken = StoredArrays(arrays)
        if "path" in content:
            return unpack_path(content, taken)
        estimator = unpack_estimator(content, taken)
        if "preparation" not in content:
            return estimator
        preparation = Preparation.from_state(content["preparation"])
        held_out = unpack_held_out(content.get("held_out"), taken, estimator)
        return check_model(Model(estimator, preparation, content["trained"], held_out))
    except ModelFileError as error:
        raise ModelFileError(f"{file} is damaged: {error}") from None
    except MemoryError:
        raise ModelFileError(f"{file} holds more than fits into memory") from None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{file} is damaged: {error}") from error
