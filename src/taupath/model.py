"""A trained model: an estimator, how raw files become its features, and how it was trained."""

import os
from dataclasses import dataclass, field
from typing import Any

from taupath.classifier import QuantileSVC
from taupath.outcomes import HeldOut
from taupath.preparation import Preparation

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """What ``taupath fit`` writes and the other commands read.

    Attributes
    ----------
    estimator : QuantileSVC or QuantileSVR
        Fitted. A classifier's labels are 0, 1, ...: places in ``preparation.classes``.
    preparation : Preparation
        Scaling, encoding and the names of columns: raw files in, features out.
    trained : dict
        How it was trained, for people to read.
    held_out : HeldOut or None
        How models of some rows did on the others, where that was asked for at training.
    """

    estimator: Any  # which of the two, `task` says
    preparation: Preparation
    trained: dict[str, Any] = field(default_factory=dict)
    held_out: HeldOut | None = None

    @property
    def task(self) -> str:
        """Whether it is to "classify" or to "regress"."""
        return "classify" if isinstance(self.estimator, QuantileSVC) else "regress"

    @property
    def labels(self) -> list[Any]:
        """The labels of a classifier as the file had them, in the order of its classes."""
        return list(self.preparation.classes or ())

    def save(self, file: str | os.PathLike[str], data: bool | None = None) -> None:
        """Write the model to a file that `taupath.load` reads; `data` as in `QuantileSVC.save`."""
        from taupath.storage import save  # which knows all kinds of models

        save(self, file, data)
