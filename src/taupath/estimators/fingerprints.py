"""Fingerprints of training rows, by which rows that a model was trained on are recognised.

A fingerprint is a 64-bit hash of a row's features in single precision, so that the last digits,
which differ between machines and orders of operations, do not matter.

A model file without training data holds the smallest fingerprints, which are a random sample of the
rows. They cannot be turned back into rows, but anyone who has a row of the sample can check that it
was among the training rows. The salt comes from the training data, so that
fingerprints of two models cannot be compared. ``save(file, data=False)`` leaves them out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.estimators.pipelines import last_step
from taupath.paths.blocks import slices

# The most fingerprints in a file, 8 bytes each: enough to estimate the share of known rows to 2 %.
# The other rows of large training sets leave no trace.
MOST_ROWS = 1024
# Entries hashed at a time: their 64-bit hashes take 256 kB, which fit in the cache.
HASHED_AT_A_TIME = 1 << 15
# Rows that the salt is made from: enough to differ between data sets, few enough to cost nothing.
SALTED_BY = 1000
# Standard deviations by which the share of known rows must exceed that of new cases that happen to
# equal a training row. With four, one evaluation in 30 000 is taken for in-sample by chance.
BEYOND_CHANCE = 4.0
# Below this share of known rows there is no warning: measures change by less than their noise.
WORTH_SAYING = 0.01
# From this share of known rows on, measures count as in-sample: most of them are.
IN_SAMPLE = 0.5


@dataclass(frozen=True)
class TrainingRows:
    """Fingerprints of the rows that a model was trained on.

    `twins` estimates the probability that a new case equals a training row: the share of training
    rows that equal another one, counting one more of either kind.
    """

    salt: int  # of the hash, 64 bits
    limit: int  # the largest fingerprint that is kept
    marks: np.ndarray  # the fingerprints, increasing
    twins: float
    whole: int | None = None  # sum of all rows' fingerprints modulo 2⁶⁴, None if not known

    @classmethod
    def of(cls, parts: list[Any]) -> "TrainingRows":
        """Return the fingerprints of the rows in some matrices."""
        step = -(-parts[0].shape[0] // SALTED_BY)
        salt = int(fingerprints(parts[0][::step], 0).sum(dtype=np.uint64))
        found = np.concatenate([fingerprints(X, salt) for X in parts])
        marks, counts = np.unique(found, return_counts=True)
        twins = float((counts[counts > 1].sum() + 1) / (counts.sum() + 2))
        return cls(salt, 2**64 - 1, marks, twins, int(found.sum(dtype=np.uint64)))

    def some(self) -> "TrainingRows":
        """Return the fingerprints that a file keeps."""
        if len(self.marks) <= MOST_ROWS:
            return self
        marks = self.marks[:MOST_ROWS]
        return TrainingRows(self.salt, int(marks[-1]), marks, self.twins, self.whole)

    def share(self, X: Any) -> float | None:
        """Return the share of rows that were trained on, None if that cannot be told.

        Corrected for new cases that equal a training row by chance, a share `twins` of them. The
        training rows as a whole are recognised in any case, by the sum of their fingerprints.
        """
        marks = fingerprints(X, self.salt)
        if len(self.marks) > 1 and int(marks.sum(dtype=np.uint64)) == self.whole:
            return 1.0
        marks = marks[marks <= np.uint64(self.limit)]
        if len(marks) == 0:
            return None
        deviation = np.sqrt(self.twins * (1.0 - self.twins) / len(marks))
        by_chance = self.twins + BEYOND_CHANCE * deviation
        if by_chance >= 1.0:
            return None
        known = float(np.isin(marks, self.marks).mean())
        return (known - self.twins) / (1.0 - self.twins) if known > by_chance else 0.0


def fingerprints(X: Any, salt: int) -> np.ndarray:
    """Return a 64-bit hash of each row, the same for dense and sparse matrices."""
    n, n_features = X.shape
    keys = _mixed(np.arange(n_features + 1, dtype=np.uint64) + np.uint64(salt))
    own, keys = keys[0], keys[1:]
    if sp.issparse(X):
        X = X.tocsr()
        total = np.zeros(len(X.data) + 1, dtype=np.uint64)
        for some in slices(len(X.data), HASHED_AT_A_TIME):
            total[some.start + 1 : some.stop + 1] = _hashes(X.data[some], keys[X.indices[some]])
        np.cumsum(total, out=total)  # modulo 2⁶⁴, as differences are
        return _mixed(total[X.indptr[1:]] - total[X.indptr[:-1]] + own)
    found = np.empty(n, dtype=np.uint64)
    for some in slices(n, HASHED_AT_A_TIME // n_features):
        found[some] = _hashes(X[some], keys).sum(axis=1, dtype=np.uint64)
    return _mixed(found + own)


def _hashes(values: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return a hash for each value, given the key of its column; 0 for 0."""
    with np.errstate(over="ignore", under="ignore"):  # float32 tells rows apart well enough
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    bits = np.where(bits == np.uint32(1 << 31), np.uint32(0), bits)  # a negative zero is zero
    mixed = _mixed(bits.astype(np.uint64) ^ keys)
    mixed[bits == 0] = 0
    return mixed


def _mixed(words: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each word (the finaliser of SplitMix64)."""
    words = words ^ (words >> np.uint64(30))
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words


def rows_of(estimator: Any) -> TrainingRows | None:
    """Return the fingerprints of an estimator's training rows, None if they are not known."""
    known: TrainingRows | None = getattr(estimator, "_training_rows", None)
    if known is not None:
        return known
    estimator = getattr(estimator, "estimators_", [estimator])[0]  # all have the same rows
    kept = [path.data for path in estimator._all_paths()]
    members = getattr(estimator, "_members", [None])
    there = all(each.at_hand for each in kept)
    if not there or (estimator.kernel == "precomputed" and members[0] is not None):
        return None
    if members[0] is None:
        return TrainingRows.of([kept[0].X])
    # a path for each pair of classes: take every row once
    parts, seen = [], np.empty(0, dtype=np.int64)
    for own, each in zip(members, kept, strict=True):
        parts.append(each.X[~np.isin(own, seen)])
        seen = np.union1d(seen, own)
    return TrainingRows.of([part for part in parts if part.shape[0]])


def share_seen(estimator: Any, X: Any) -> float | None:
    """Return the share of some rows that a model was trained on, None if it cannot be told.

    The model may be the last step of a pipeline, or in a search; X is what `predict` takes.
    Different cases with equal features are allowed for: see `TrainingRows.share`.
    """
    if hasattr(estimator, "preparation"):  # a model of raw data
        _, X = estimator._prepared(X)
        estimator = estimator.estimator
    model, before = last_step(estimator)
    for step in before:
        X = step.transform(X)
    if not hasattr(model, "_all_paths"):
        return None
    known = rows_of(model)
    return None if known is None else known.share(model._check_new(X).features)


def in_words(share: float | None) -> str | None:
    """Return a warning about measures on rows of which this share was trained on, or None."""
    if share is None or share < WORTH_SAYING:
        return None
    seen = f"{100.0 * share:.0f} % of these rows were used to train the model; "
    if share >= IN_SAMPLE:
        return seen + "the figures are in-sample and too good"
    return seen + "they make the figures look better than they are"
