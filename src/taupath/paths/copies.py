"""Which samples are copies of one another: equal features, signs and targets."""

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from taupath.engine.readers import made_once
from taupath.paths.blocks import slices
from taupath.paths.training_data import Responses

# Entries of X that are hashed or compared at a time, so that they stay in the second-level cache.
COMPARED_AT_A_TIME = 1 << 16
# Factors of hashes, odd. Nobody knows them beforehand, so that no data can be made to collide; what
# is found does not depend on them.
_VALUES, _COLUMNS, _COLUMNS_AGAIN = (np.uint64(secrets.randbits(64) | 1) for _ in range(3))


@dataclass(frozen=True)
class Copies:
    """Groups of equal samples, in the order of their first ones."""

    group: np.ndarray  # of each sample
    first: np.ndarray  # the first sample of each group

    @made_once
    def _in_groups(self) -> tuple[np.ndarray, np.ndarray]:
        """The samples, one group after the other, and where each group begins."""
        order = np.argsort(self.group, kind="stable")
        return order, np.searchsorted(self.group[order], np.arange(len(self.first)))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over each group of values whose last axis runs over the samples."""
        order, begin = self._in_groups
        return np.asarray(np.add.reduceat(values[..., order], begin, axis=-1))

    def merged(self, responses: Responses) -> Responses:
        """Return the responses of the groups; weights are added up without rounding on the way."""
        order, begin = self._in_groups
        weight, ends = responses.weight[order].tolist(), [*begin.tolist(), len(order)]
        return Responses(
            responses.sign[self.first],
            responses.target[self.first],
            np.array([math.fsum(weight[one:other]) for one, other in pairwise(ends)]),
        )


def find_copies(X: Any, responses: Responses, *, square: bool = False) -> Copies | None:
    """Return the groups of equal samples; None if no two are equal.

    0.0 and -0.0 are equal, and so are a stored zero and one that a sparse matrix leaves out. If X
    is a kernel matrix (`square`), the columns of copies are equal, too.
    """
    sign, target = responses.sign, responses.target
    hashes = _row_hashes(X) + _scrambled(sign * target + 0.0, _VALUES)
    in_order = np.sort(hashes)
    if not (in_order[1:] == in_order[:-1]).any():
        return None
    rows_equal = _dense_rows_equal if isinstance(X, np.ndarray) else _sparse_rows_equal

    def equal(some: np.ndarray, others: np.ndarray) -> np.ndarray:
        found = (sign[some] == sign[others]) & (target[some] == target[others])
        found &= rows_equal(X, some, others)
        if square:
            found &= _dense_rows_equal(X.T, some, others)
        return np.asarray(found)

    first = _first_equal(hashes, equal)
    firsts = np.flatnonzero(first == np.arange(len(first)))
    if len(firsts) == len(first):
        return None
    return Copies(np.searchsorted(firsts, first), firsts)


def _first_equal(
    hashes: np.ndarray, equal: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the first sample that each is equal to, given hashes that equal ones share."""
    first = np.arange(len(hashes))
    left = np.argsort(hashes, kind="stable")
    while len(left):
        begins = np.append(True, hashes[left[1:]] != hashes[left[:-1]])
        leader = left[begins][np.cumsum(begins) - 1]
        others = np.flatnonzero(~begins)
        same = equal(left[others], leader[others])
        first[left[others[same]]] = leader[others[same]]
        left = left[others[~same]]  # collided with another sample
    return first


def _row_hashes(X: Any) -> np.ndarray:
    """Return a hash of each row: sums of products that wrap around."""
    dense = isinstance(X, np.ndarray)
    n_rows, n_columns = X.shape
    factors = _column_factors(np.arange(n_columns)) if dense else None
    hashes = np.empty(n_rows, dtype=np.uint64)
    for some in slices(n_rows, COMPARED_AT_A_TIME * n_rows // max(X.size, 1)):
        if dense:
            hashes[some] = _scrambled(X[some] + 0.0, _VALUES) @ factors
            continue
        ends = X.indptr[some.start : some.stop + 1]
        entries = slice(ends[0], ends[-1])
        terms = _scrambled(X.data[entries] + 0.0, _VALUES) * _column_factors(X.indices[entries])
        hashes[some] = np.diff(np.append(np.uint64(0), np.cumsum(terms))[ends - ends[0]])
    return hashes


def _column_factors(columns: np.ndarray) -> np.ndarray:
    """Return the factors that tell columns apart."""
    one_up = columns.astype(np.uint64) + np.uint64(1)
    return _scrambled(_scrambled(one_up, _COLUMNS), _COLUMNS_AGAIN)


def _scrambled(numbers: np.ndarray, factor: np.uint64) -> np.ndarray:
    """Return 64 bits for each number, 0 for 0, whose lower half depends on all of its bits."""
    bits = numbers.view(np.uint64) * factor
    bits ^= bits >> np.uint64(32)
    return np.asarray(bits)


def _dense_rows_equal(X: np.ndarray, some: np.ndarray, others: np.ndarray) -> np.ndarray:
    equal = np.empty(len(some), dtype=bool)
    for part in slices(len(some), COMPARED_AT_A_TIME // X.shape[1]):
        equal[part] = (X[some[part]] == X[others[part]]).all(axis=1)
    return equal


def _sparse_rows_equal(X: Any, some: np.ndarray, others: np.ndarray) -> np.ndarray:
    difference = X[some] - X[others]
    difference.eliminate_zeros()
    return np.asarray(np.diff(difference.indptr) == 0)
