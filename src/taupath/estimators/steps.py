"""The estimator within pipelines and searches, and which class it takes for positive."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

__all__ = ["last_step", "pos_label_of"]


def last_step(estimator: Any) -> tuple[Any, list[Any]]:
    """Return the estimator within pipelines and searches, and what transforms X for it."""
    check_is_fitted(estimator)
    before = []
    while True:
        if isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                before.append(estimator[:-1])
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator, before


def pos_label_of(estimator: Any, pos_label: Any = None) -> Any:
    """Return the positive class of a classifier of two classes, `pos_label` if that is given.

    Estimators of this package know theirs; of others it is the larger label.
    """
    own = getattr(last_step(estimator)[0], "pos_label_", None)
    classes = estimator.classes_.tolist()
    if pos_label is None:
        return classes[1] if own is None else own
    if pos_label not in classes:
        raise ValueError(
            f"pos_label={pos_label!r} is not a label of the estimator, which has {classes}"
        )
    if own is not None and pos_label != own:
        raise ValueError(
            f"pos_label={pos_label!r}, but the estimator was fitted with {own!r} as its positive "
            f"class; fit it with pos_label={pos_label!r}"
        )
    return pos_label
