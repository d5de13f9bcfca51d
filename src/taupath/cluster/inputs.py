"""Checks users' Dask collections, and makes partitions of them on the workers."""

import math
import warnings
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import dask.array as da
import distributed
import numpy as np
from dask import delayed, is_dask_collection
from dask.delayed import Delayed

from taupath.cluster.requests import Partition, Reply, Survey
from taupath.cluster.rounds import Rounds, guarded, outcomes
from taupath.validation import (
    check_features,
    check_some_weights,
    check_targets,
    check_two_classes,
    find_labels,
    refuse_masked,
)


class PartitionedData:
    """X, y and weights in the same partitions of rows; only lengths of data frames are computed.

    `labels` tells whether y holds labels, not numbers. y and `sample_weight` may also be arrays.
    """

    def __init__(
        self, X: Any, y: Any, sample_weight: Any, labels: bool, client: "distributed.Client"
    ) -> None:
        if not is_dask_collection(X):
            raise TypeError(
                f"y or sample_weight is a Dask collection, X is a {type(X).__name__}: pass X as "
                "one, too (dask.array.from_array(X, chunks=...)), or compute the others"
            )
        self.labels = labels
        self.X = as_array(X, "X", client)
        if self.X.ndim != 2:
            raise ValueError(
                f"X must have two dimensions (n_samples, n_features), got shape {self.X.shape}"
            )
        if 0 in self.X.shape:
            raise ValueError(f"X is empty: shape {self.X.shape}")
        if self.X.numblocks[1] > 1:
            self.X = self.X.rechunk({1: -1})
        self.rows: tuple[int, ...] = self.X.chunks[0]
        # delayed once only: another call may make another graph with the same keys
        self._blocks = [self.X.to_delayed()[:, 0], self._beside(y, "y", client).to_delayed()]
        if sample_weight is None:
            self._blocks.append([None] * len(self.rows))
        else:
            weight = self._beside(sample_weight, "sample_weight", client)
            self._blocks.append(weight.to_delayed())

    def _beside(self, values: Any, name: str, client: "distributed.Client") -> Any:
        """Return values, one for each row, in the partitions of X."""
        lazy = is_dask_collection(values)
        refuse_masked(values, name)
        array = as_array(values, name, client) if lazy else np.asarray(values)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got shape {array.shape}")
        if len(array) != self.X.shape[0]:
            raise ValueError(f"{name} has {len(array)} values, X has {self.X.shape[0]} rows")
        chunks = self.X.chunks[:1]
        if isinstance(array, np.ndarray):
            return da.from_array(array, chunks=chunks)
        return array if array.chunks == chunks else array.rechunk(chunks)

    def partitions(self) -> list[Any]:
        """Return a delayed `Partition` for each chunk that has rows."""
        token, d = uuid4().hex, self.X.shape[1]
        make = delayed(make_partition, pure=False)
        first, made = 0, []
        for k, n in enumerate(self.rows):
            if n:
                chunks = (column[k] for column in self._blocks)
                where = f"partition {k}, which begins at row {first}"
                key = f"taupath-partition-{token}-{k}"
                made.append(make(*chunks, (n, d), self.labels, where, dask_key_name=key))
            first += n
        return made

    def rounds(self, client: "distributed.Client") -> Rounds:
        """Return the partitions, which stay on the cluster as long as the result."""
        return Rounds(client, guarded(client, client.compute, self.partitions()))


def as_array(values: Any, name: str, client: "distributed.Client | None") -> Any:
    """Return a Dask array; with a client, its chunk sizes are known (data frames are counted)."""
    if isinstance(values, da.Array):
        unknown = any(math.isnan(n) for chunks in values.chunks for n in chunks)
        if client is not None and unknown:
            raise ValueError(
                f"{name} has chunks of unknown sizes: call {name}.compute_chunk_sizes() first, or "
                "pass the data frame that it was made from"
            )
        return values
    # a delayed object has every attribute
    if isinstance(values, Delayed) or not hasattr(values, "to_dask_array"):
        raise TypeError(
            f"{name} must be a Dask array or data frame, got {type(values).__name__}; "
            "the rows of bags and delayed objects are not known"
        )
    lengths = None
    if client is not None:
        counted = client.compute([delayed(len)(part) for part in values.to_delayed()])
        lengths = guarded(client, outcomes, client, counted, counted)
    with warnings.catch_warnings():
        # text labels become objects, as they should
        warnings.filterwarnings("ignore", "Dask currently has limited support for converting")
        return values.to_dask_array(lengths=lengths)


def make_partition(
    X: Any, y: Any, weight: Any, shape: tuple[int, int], labels: bool, where: str
) -> Partition:
    """Return the rows of one chunk, checked: a task that workers run.

    Errors are kept for `check_survey`: raised here, they would look like failures of Dask.
    """
    try:
        if tuple(X.shape) != shape:
            raise ValueError(f"X has shape {tuple(X.shape)} where its chunks say {shape}")
        X = check_features(X, single=True)
        weight = check_some_weights(weight, shape[0])
        y = find_labels(y, shape[0])[0] if labels else check_targets(y, shape[0])
        return Partition(X, y, weight, where)
    except (TypeError, ValueError) as error:
        kind = "TypeError" if isinstance(error, TypeError) else "ValueError"
        return Partition(None, None, None, where, f"{kind}: {error}, in {where}")


def check_survey(rounds: Rounds, labels: bool) -> tuple[Reply, np.ndarray | None]:
    """Raise what is wrong with a partition; else return the replies, and the two classes."""
    reply = rounds.ask(Survey(labels))
    for trouble, _ in reply.notes:
        if trouble is not None:
            kind, _, message = trouble.partition(": ")
            raise (TypeError if kind == "TypeError" else ValueError)(message)
    return reply, _classes([found for _, found in reply.notes]) if labels else None


def _classes(found: Sequence[np.ndarray]) -> np.ndarray:
    kinds = {one.dtype.kind in "US" for one in found if one.dtype.kind != "O"}
    if len(kinds) > 1:
        raise TypeError("y holds text in some partitions and numbers in others")
    try:
        classes = np.unique(np.concatenate(found))
    except TypeError:
        raise TypeError("y mixes labels that cannot be sorted, such as numbers and text") from None
    check_two_classes(classes)
    return classes
