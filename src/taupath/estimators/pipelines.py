"""The estimator inside pipelines and searches, its positive class and its feature names."""

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from taupath.choices import names_of_unnamed
from taupath.validation import shown


def last_step(estimator: Any) -> tuple[Any, list[Any]]:
    """Return the estimator inside pipelines and searches, and the steps that transform X for it."""
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
    """Return the positive class of a classifier of two classes.

    By default the estimator's `pos_label_`, or else the larger label. A given `pos_label` must
    agree with the former.
    """
    own = getattr(last_step(estimator)[0], "pos_label_", None)
    classes = estimator.classes_.tolist()
    if pos_label is None:
        return classes[1] if own is None else own
    if pos_label not in classes:
        raise ValueError(
            f"pos_label={shown(pos_label)} is not a label of the estimator, which has "
            f"{', '.join(map(shown, classes[:5]))}"
        )
    if own is not None and pos_label != own:
        raise ValueError(
            f"pos_label={pos_label!r}, but the estimator was fitted with {own!r} as its positive "
            f"class; fit it with pos_label={pos_label!r}"
        )
    return pos_label


def name_of(estimator: Any) -> str:
    """Return the name of an estimator: the class of its last step."""
    return type(last_step(estimator)[0]).__name__


def feature_names_of(model: Any, before: list[Any], feature_names: Any) -> list[str]:
    """Return the names of all features of a path: as given, as in `fit`, or of the last step."""
    n = model.n_features_in_
    if feature_names is not None:
        names = [str(name) for name in feature_names]
        if len(names) != n:
            raise ValueError(f"feature_names has {len(names)} names, the estimator {n} features")
        return names
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    if before:
        try:
            return [str(name) for name in before[-1].get_feature_names_out()]
        except (AttributeError, ValueError, NotFittedError):
            pass  # this step gives its features no names
    return names_of_unnamed(n)
