"""Fitted scikit-learn transformers as `ColumnFeatures`: each feature comes from one raw column.

Transformers are not run but translated: from what they have learned, each of their outputs is
described in terms of its raw column.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from taupath.preparation.columns import ColumnFeatures, Feature, NumberColumn, TextColumn
from taupath.tables.cells import is_missing, show_number
from taupath.tables.frames import is_nothing
from taupath.tables.messages import quoted

STORED = (
    "StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, SimpleImputer, OneHotEncoder, "
    "ColumnTransformer and Pipeline"
)


@dataclass(frozen=True)
class _Cells:
    """Cells of a raw column: the number x has become (x − shift) / scale."""

    name: str
    fill: Any = None  # what a missing cell counts as, in raw units
    shift: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True)
class _Missing:
    """1 where a cell is missing (or present), 0 elsewhere; `cells` says what is filled in."""

    cells: _Cells
    part: str = "missing"
    shift: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True)
class _Category:
    """1 where a cell is of a category, rare, or missing, 0 elsewhere."""

    column: TextColumn
    part: str
    category: str | None = None
    shift: float = 0.0
    scale: float = 1.0


_Made = _Cells | _Missing | _Category


def translated(steps: Sequence[tuple[str, Any]], names: Sequence[str]) -> ColumnFeatures:
    """Return the features that fitted transformers, one after the other, make of raw columns.

    `steps` are those of a `Pipeline` without the last one, `names` those of the raw columns. A
    `ValueError` names the step that cannot be stored.
    """
    made = _through_all(steps, [_Cells(name) for name in names])
    if not made:
        raise ValueError("the pipeline makes no features")
    return _collected(made)


class StepNotStored(ValueError):
    """A step cannot be stored; `path` names it, then the steps that hold it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.path: list[str] = []
        self.kind = ""

    def __str__(self) -> str:
        """Return which step it is, and why."""
        return f"step {' in '.join(self.path)} ({self.kind}) cannot be stored: {self.args[0]}"


def _through_all(steps: Sequence[tuple[str, Any]], made: list[_Made]) -> list[_Made]:
    for name, transformer in steps:
        made = _through(name, transformer, made)
    return made


def _through(name: str, transformer: Any, made: list[_Made]) -> list[_Made]:
    """Return what a transformer of this name makes of columns."""
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return made
    try:
        translate = _TRANSLATIONS.get(type(transformer))  # a subclass may do something else
        if translate is None:
            raise StepNotStored(
                f"a model file holds {STORED}; apply this step to the data before the pipeline, or "
                "pickle the pipeline where you trust the file"
            )
        return translate(transformer, made)
    except StepNotStored as error:
        error.path.append(repr(name))
        error.kind = error.kind or type(transformer).__name__
        raise


def _columns(transformer: ColumnTransformer, made: list[_Made]) -> list[_Made]:
    names = list(getattr(transformer, "feature_names_in_", ()))
    weights = transformer.transformer_weights or {}
    found: list[_Made] = []
    for name, part, columns in transformer.transformers_:
        places = _places(columns, names, len(made))
        if not places or (isinstance(part, str) and part == "drop"):
            continue
        weight = float(weights.get(name, 1.0))
        if not weight > 0.0:
            raise StepNotStored(f"the weight of {quoted(name)} must be above 0")
        own = _through(name, part, [made[place] for place in places])
        found += [_scaled(one, 0.0, 1.0 / weight) for one in own] if weight != 1.0 else own
    return found


def _places(columns: Any, names: list[str], n_columns: int) -> list[int]:
    """Return which columns a `ColumnTransformer` gives to a transformer."""
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        if isinstance(start, str) or isinstance(stop, str):  # both ends belong to it
            start = names.index(start) if isinstance(start, str) else start
            stop = names.index(stop) + 1 if isinstance(stop, str) else stop
        return list(range(n_columns)[start : stop : columns.step])
    chosen = [columns] if np.ndim(columns) == 0 else list(columns)
    if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
        return [int(place) for place in np.flatnonzero(chosen)]
    return [
        names.index(one) if isinstance(one, str) else range(n_columns)[int(one)] for one in chosen
    ]


def _function(transformer: FunctionTransformer, made: list[_Made]) -> list[_Made]:
    if transformer.func is not None:
        raise StepNotStored(
            "it is a Python function, and a model file holds no code; apply it to the data before "
            "the pipeline"
        )
    return made


# -- scalers -----------------------------------------------------------------------------------


def _affine(scaler: Any, made: list[_Made]) -> list[_Made]:
    if getattr(scaler, "clip", False):
        raise StepNotStored("clip=True is not stored; train with clip=False")
    zeros, ones = np.zeros(len(made)), np.ones(len(made))
    if isinstance(scaler, MinMaxScaler):
        shifts, scales = -scaler.min_ / scaler.scale_, 1.0 / scaler.scale_
    elif isinstance(scaler, StandardScaler):
        shifts = scaler.mean_ if scaler.with_mean else zeros
        scales = scaler.scale_ if scaler.with_std else ones
    elif isinstance(scaler, RobustScaler):
        shifts = scaler.center_ if scaler.with_centering else zeros
        scales = scaler.scale_ if scaler.with_scaling else ones
    else:
        shifts, scales = zeros, scaler.scale_
    found = zip(made, shifts.tolist(), scales.tolist(), strict=True)
    return [_scaled(one, shift, scale) for one, shift, scale in found]


def _scaled(one: _Made, shift: float, scale: float) -> _Made:
    """Return (y − shift) / scale of a column y."""
    return replace(one, shift=one.shift + one.scale * shift, scale=one.scale * scale)


# -- missing cells -----------------------------------------------------------------------------


def _imputed(imputer: SimpleImputer, made: list[_Made]) -> list[_Made]:
    if not is_nothing(imputer.missing_values):
        raise StepNotStored(
            f"missing_values={imputer.missing_values!r} is not stored; write missing cells as NaN "
            "and train with missing_values=numpy.nan"
        )
    filled = [
        _filled(one, value) for one, value in zip(made, imputer.statistics_.tolist(), strict=True)
    ]
    empty = [not imputer.keep_empty_features and _is_nan(value) for value in imputer.statistics_]
    found = [one for one, none in zip(filled, empty, strict=True) if not none]
    if imputer.add_indicator:
        flagged = [filled[place] for place in imputer.indicator_.features_]
        # what an earlier step has filled in is never missing here, and was not in training
        found += [_Missing(one) for one in flagged if isinstance(one, _Cells)]
    return found


def _filled(one: _Made, value: Any) -> _Made:
    """Return a column with a value in place of missing cells."""
    if not isinstance(one, _Cells) or one.fill is not None:
        return one  # nothing is missing
    if isinstance(value, int | float) and not isinstance(value, bool):
        # a column without any value in training leaves at most a flag: the fill does not matter
        number = 0.0 if _is_nan(value) else float(value)
        return replace(one, fill=number * one.scale + one.shift)
    return replace(one, fill=_text(value, one.name))


# -- categories --------------------------------------------------------------------------------


def _one_hot(encoder: OneHotEncoder, made: list[_Made]) -> list[_Made]:
    infrequent = getattr(encoder, "infrequent_categories_", [None] * len(made))
    dropped = encoder.drop_idx_ if encoder.drop_idx_ is not None else [None] * len(made)
    found: list[_Made] = []
    for one, categories, rare, drop in zip(
        made, encoder.categories_, infrequent, dropped, strict=True
    ):
        if (one.shift, one.scale) != (0.0, 1.0) or isinstance(one, _Category):
            raise StepNotStored("it encodes what was scaled or encoded before; encode raw columns")
        places = [place for place in range(len(categories)) if place != drop]
        if isinstance(one, _Missing):
            parts = ("missing" if categories[place] else "present" for place in places)
            found += [replace(one, part=part) for part in parts]
        else:
            found += _encoded(encoder, one, categories.tolist(), rare, drop)
    return found


def _encoded(
    encoder: OneHotEncoder,
    one: _Cells,
    categories: list[Any],
    rare: np.ndarray | None,
    drop: int | None,
) -> list[_Made]:
    """Return the features of a raw column's categories, without the one to drop."""
    texts = [None if is_nothing(value) else _text(value, one.name) for value in categories]
    # cells that read NA or are empty are missing in every file
    missing = [k for k, text in enumerate(texts) if text is None or is_missing(text)]
    imputed = one.fill is not None and not (isinstance(one.fill, str) and is_missing(one.fill))
    if missing and imputed:
        kind = repr(categories[missing[0]])
        raise StepNotStored(
            f"missing cells of column {quoted(one.name)} were filled in before, but not those with "
            f"{kind}, which have become a category; fill in these, with missing_values={kind}, or "
            "write all missing cells as NaN"
        )
    if len(missing) > 1:
        raise StepNotStored(
            f"column {quoted(one.name)} has several kinds of missing cells in its categories, "
            "which a file cannot tell apart: None, NaN, or text such as 'NA'; write all of them as "
            "NaN"
        )
    known = {k: text for k, text in enumerate(texts) if text is not None and k not in missing}
    if len(set(known.values())) < len(known):
        raise StepNotStored(f"column {quoted(one.name)} has categories that differ in blanks alone")
    if not known:
        raise StepNotStored(f"column {quoted(one.name)} has missing cells only")
    group = [k for k, value in enumerate(categories) if rare is not None and _among(value, rare)]
    unseen = "error" if encoder.handle_unknown == "error" else "ignore"
    if group and encoder.handle_unknown in ("infrequent_if_exist", "warn"):
        unseen = "rare"
    fill = one.fill if one.fill is None or isinstance(one.fill, str) else show_number(one.fill)
    filled = [k for k, text in known.items() if text == fill] or missing
    if not filled:
        how = unseen
    elif filled[0] in group:
        how = "rare"
    else:
        how = "ignore" if filled == missing else "fill"
    column = TextColumn(
        one.name,
        tuple(text for k, text in known.items() if k not in group),
        unseen,
        how,
        fill if how == "fill" else None,
        tuple(text for k, text in known.items() if k in group),
    )
    made: list[_Made] = [
        _Category(column, "category", known[k]) if k in known else _Category(column, "missing")
        for k in range(len(texts))
        if k not in group and k != drop
    ]
    return made if not group or drop in group else [*made, _Category(column, "rare")]


def _text(value: Any, name: str) -> str:
    """Return a value of a column as a file has it."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return show_number(value)
    kind = type(value).__name__
    raise StepNotStored(f"column {quoted(name)} has {kind} values; use text, numbers or Booleans")


def _among(value: Any, values: np.ndarray) -> bool:
    return any(value == one or (is_nothing(value) and is_nothing(one)) for one in values)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


# -- features ----------------------------------------------------------------------------------


def _collected(made: list[_Made]) -> ColumnFeatures:
    """Return features and the columns that they are made of."""
    columns: list[NumberColumn | TextColumn] = []
    features: list[Feature | None] = [None] * len(made)
    taken: set[tuple[int, str, str | None]] = set()
    # flags last: they are read from columns that other features need anyway
    for j in sorted(range(len(made)), key=lambda j: isinstance(made[j], _Missing)):
        one = made[j]
        part, category, wanted = "number", None, _column_of(one, columns)
        if not isinstance(one, _Cells):
            part = one.part
            category = one.category if isinstance(one, _Category) else None
        # no two features take the same part of a column
        places = (k for k, column in enumerate(columns) if column == wanted)
        place = next((k for k in places if (k, part, category) not in taken), len(columns))
        if place == len(columns):
            columns.append(wanted)
        taken.add((place, part, category))
        features[j] = Feature(place, part, category, one.shift, one.scale)
    return ColumnFeatures(columns, [feature for feature in features if feature is not None])


def _column_of(one: _Made, columns: list[NumberColumn | TextColumn]) -> NumberColumn | TextColumn:
    """Return how the column is read that a feature is made of."""
    if isinstance(one, _Category):
        return one.column
    cells = one.cells if isinstance(one, _Missing) else one
    if not isinstance(cells.fill, str):
        return NumberColumn(cells.name, cells.fill)
    for column in columns:
        if column.name == cells.name and isinstance(column, TextColumn):
            return column
    raise ValueError(
        f"column {quoted(cells.name)} holds text that is used as a number; encode it by a "
        "OneHotEncoder"
    )


_TRANSLATIONS: dict[type, Callable[..., list[_Made]]] = {
    Pipeline: lambda pipeline, made: _through_all(pipeline.steps, made),
    ColumnTransformer: _columns,
    FunctionTransformer: _function,
    StandardScaler: _affine,
    RobustScaler: _affine,
    MaxAbsScaler: _affine,
    MinMaxScaler: _affine,
    SimpleImputer: _imputed,
    OneHotEncoder: _one_hot,
}
