"""The state of features: JSON types for a model file, and features made from them again.

A state may come from a file that is damaged or malicious, so nothing in it is trusted.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from taupath.choices import UNSEEN
from taupath.preparation.checked_json import (
    take,
    take_choice,
    take_dict,
    take_kind,
    take_number,
    take_numbers,
    take_texts,
    take_whole,
)
from taupath.preparation.columns import PARTS, ColumnFeatures, Feature, NumberColumn, TextColumn
from taupath.preparation.matrices import MatrixFeatures

# Columns are counted by 32-bit integers in the compiled core.
MOST_FEATURES = 2**31 - 1
# What errors call the parts of a state.
FEATURES = "the preparation's features"
COLUMN = "a column of the preparation"
FEATURE = "a feature of the preparation"


def feature_state(features: ColumnFeatures | MatrixFeatures) -> dict[str, Any]:
    """Return features in JSON types, from which `features_from_state` makes them again."""
    if isinstance(features, MatrixFeatures):
        return {
            "kind": "matrix",
            "n_features": features.n_features,
            "sparse": features.sparse,
            "shift": None if features.shift is None else features.shift.tolist(),
            "scale": None if features.scale is None else features.scale.tolist(),
        }
    return {
        "kind": "columns",
        "columns": [
            {
                **asdict(column),
                "kind": "text",
                "categories": list(column.categories),
                "rare": list(column.rare),
            }
            if isinstance(column, TextColumn)
            else {**asdict(column), "kind": "number"}
            for column in features.columns
        ],
        "features": [asdict(feature) for feature in features.features],
    }


def features_from_state(state: Any, version: int) -> ColumnFeatures | MatrixFeatures:
    """Return the features of a state; version 1 does not tell columns and features apart."""
    if take_kind(state, FEATURES, ("columns", "matrix")) == "matrix":
        return _matrix(state)
    keys = {"kind", "columns"} if version == 1 else {"kind", "columns", "features"}
    found = take(take_dict(state, FEATURES, keys)["columns"], FEATURES, list)
    if not found:
        raise ValueError(f"{FEATURES}: there is no column")
    if version == 1:
        return _from_version_1(found)
    columns = [_column(column) for column in found]
    features = [
        _feature(feature, columns)
        for feature in take(state["features"], f"{FEATURES}: features", list)
    ]
    parts = {(feature.column, feature.part, feature.category) for feature in features}
    if not features or len(parts) < len(features):
        raise ValueError(f"{FEATURES}: there is none, or two are the same")
    return ColumnFeatures(columns, features)


def _from_version_1(found: list[Any]) -> ColumnFeatures:
    columns: list[NumberColumn | TextColumn] = []
    features = []
    for k, column in enumerate(found):
        if take_kind(column, COLUMN, ("number", "categories")) == "number":
            take_dict(column, COLUMN, {"kind", "name", "shift", "scale"})
            columns.append(NumberColumn(take(column["name"], f"{COLUMN}: name", str)))
            features.append(Feature(k, "number", None, *_affine(column, COLUMN)))
        else:
            take_dict(column, COLUMN, {"kind", "name", "categories"})
            categories, _ = _categories(column)
            name = take(column["name"], f"{COLUMN}: name", str)
            columns.append(TextColumn(name, categories, unseen="error"))
            features.extend(Feature(k, "category", category) for category in categories)
    take_texts([column.name for column in columns], f"{FEATURES}: names")
    return ColumnFeatures(columns, features)


def _matrix(state: dict[str, Any]) -> MatrixFeatures:
    take_dict(state, FEATURES, {"kind", "n_features", "sparse", "shift", "scale"})
    n_features = take_whole(state["n_features"], f"{FEATURES}: n_features", 1, MOST_FEATURES)
    sparse = take(state["sparse"], f"{FEATURES}: sparse", bool)
    shift, scale = state["shift"], state["scale"]
    if sparse and shift is not None:
        raise ValueError(f"{FEATURES}: sparse features cannot have a shift")
    if shift is not None:
        shift = np.array(take_numbers(shift, f"{FEATURES}: shift", n_features))
    if scale is not None:
        scale = np.array(take_numbers(scale, f"{FEATURES}: scale", n_features, positive=True))
    return MatrixFeatures(n_features, sparse, shift, scale)


def _column(state: Any) -> NumberColumn | TextColumn:
    if take_kind(state, COLUMN, ("number", "text")) == "number":
        take_dict(state, COLUMN, {"kind", "name", "fill"})
        fill = None if state["fill"] is None else take_number(state["fill"], f"{COLUMN}: fill")
        return NumberColumn(take(state["name"], f"{COLUMN}: name", str), fill)
    take_dict(state, COLUMN, {"kind", "name", "categories", "unseen", "missing", "fill", "rare"})
    categories, rare = _categories(state)
    fill = state["fill"]
    choices = ("error", "ignore", "fill", "rare")
    missing = take_choice(state["missing"], f"{COLUMN}: missing", choices)
    if fill not in categories if missing == "fill" else fill is not None:
        raise ValueError(f"{COLUMN}: what missing cells are filled with is none of its categories")
    return TextColumn(
        take(state["name"], f"{COLUMN}: name", str),
        categories,
        take_choice(state["unseen"], f"{COLUMN}: unseen", (*UNSEEN, "rare")),
        missing,
        fill,
        rare,
    )


def _feature(state: Any, columns: Sequence[NumberColumn | TextColumn]) -> Feature:
    take_dict(state, FEATURE, {"column", "part", "category", "shift", "scale"})
    place = take_whole(state["column"], f"{FEATURE}: column", 0, len(columns) - 1)
    part = take_choice(state["part"], f"{FEATURE}: part", PARTS)
    column, category = columns[place], state["category"]
    if part in (("number",) if isinstance(column, TextColumn) else ("category", "rare")):
        raise ValueError(f"{FEATURE}: its column has no {part}")
    categories = column.categories if isinstance(column, TextColumn) else ()
    if category not in categories if part == "category" else category is not None:
        raise ValueError(f"{FEATURE}: the category is none of its column")
    feature = Feature(place, part, category, *_affine(state, FEATURE))
    if part != "number" and not (math.isfinite(feature.of(0.0)) and math.isfinite(feature.of(1.0))):
        raise ValueError(f"{FEATURE}: shift or scale is too large or too small")
    return feature


def _categories(state: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the categories of a column, and its rare ones."""
    categories = take_texts(state["categories"], f"{COLUMN}: categories")
    rare = take_texts(state.get("rare", []), f"{COLUMN}: rare")
    if not categories and not rare:
        raise ValueError(f"{COLUMN}: there are no categories")
    take_texts([*categories, *rare], f"{COLUMN}: categories and rare ones")
    return tuple(categories), tuple(rare)


def _affine(state: dict[str, Any], what: str) -> tuple[float, float]:
    shift = take_number(state["shift"], f"{what}: shift")
    return shift, take_number(state["scale"], f"{what}: scale", positive=True)
