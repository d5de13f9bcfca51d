"""Fingerprints of training rows, by which rows that a model was trained on are recognised.

A fingerprint is a 64-bit hash of a row's features in single precision, so that the last digits,
which differ between machines and orders of operations, do not matter.

A model file without training data holds the smallest fingerprints, which are a random sample of the
rows. They cannot be turned back into rows, but anyone who has a row of the sample can check that it
was among the training rows. The salt comes from the training data, so that
fingerprints of two models cannot be compared. ``save(file, data=False)`` leaves them out.
"""

from dataclasses import dataclass, replace
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
# New cases may happen to equal training rows. They are taken for training rows if chance explains
# so many equal ones in at most one evaluation of 30 000, as beyond four standard deviations.
BY_CHANCE = 1.0 / 30_000.0
# Exponents that Chernoff's bound is minimised over: the least are for counts of 1e8 rows, with the
# largest only the largest possible count matters. They are so close that the bound does not suffer.
EXPONENTS = np.geomspace(1e-4, 40.0, 400)
# Below this share of known rows there is no warning: measures change by less than their noise.
WORTH_SAYING = 0.01
# From this share of known rows on, measures count as in-sample: most of them are.
IN_SAMPLE = 0.5


@dataclass(frozen=True)
class TrainingRows:
    """Fingerprints of the rows that a model was trained on.

    If rows are `apart`, new cases do not equal by chance those that occur once.
    """

    salt: int  # of the hash, 64 bits
    limit: int  # the largest fingerprint that is kept
    marks: np.ndarray  # the fingerprints, increasing
    twins: float  # the share of all rows that equal another one, counting one more of either kind
    whole: int | None = None  # sum of all rows' fingerprints modulo 2⁶⁴, None if not known
    counts: np.ndarray | None = None  # how many rows have each fingerprint; None in older files
    apart: bool = False

    @classmethod
    def of(cls, parts: list[Any]) -> "TrainingRows":
        """Return the fingerprints of the rows in some matrices."""
        step = -(-parts[0].shape[0] // SALTED_BY)
        salt = int(fingerprints(parts[0][::step], 0).sum(dtype=np.uint64))
        found = np.concatenate([fingerprints(X, salt) for X in parts])
        marks, counts = np.unique(found, return_counts=True)
        twins = float((counts[counts > 1].sum() + 1) / (counts.sum() + 2))
        whole = int(found.sum(dtype=np.uint64))
        return cls(salt, 2**64 - 1, marks, twins, whole, counts, _apart(parts, salt, found))

    def some(self) -> "TrainingRows":
        """Return the fingerprints that a file keeps."""
        if len(self.marks) <= MOST_ROWS:
            return self
        marks, counts = self.marks[:MOST_ROWS], self.counts
        some = None if counts is None else counts[:MOST_ROWS]
        return replace(self, limit=int(marks[-1]), marks=marks, counts=some)

    def share(self, X: Any) -> float | None:
        """Return the share of rows that were trained on, None if that cannot be told.

        Where rows are apart, every known one was trained on. Otherwise there must be more of them
        than chance explains, and a share `twins` of new cases is taken to equal a training row by
        chance. The training rows as a whole are recognised in any case, by the sum of their
        fingerprints.
        """
        found = fingerprints(X, self.salt)
        if len(self.marks) > 1 and int(found.sum(dtype=np.uint64)) == self.whole:
            return 1.0
        told, seen = found <= np.uint64(self.limit), np.isin(found, self.marks)
        n_told, n_seen = int(told.sum()), int(seen.sum())
        if n_told == 0 or n_seen == 0:
            return 0.0 if n_told > 0 else None
        if self.counts is None:
            return None
        if self.apart and _apart([X[~seen]], self.salt, found[~seen]):
            return float(np.isin(found, self.marks[self.counts == 1]).sum() / n_told)
        of_both = np.append(self.marks, found[told])
        size = np.bincount(
            np.unique(of_both, return_inverse=True)[1], np.append(self.counts, np.ones(n_told))
        )
        if explained_by_chance(n_seen, n_told, size) > BY_CHANCE:
            return None if explained_by_chance(n_told, n_told, size) > BY_CHANCE else 0.0
        return max(n_seen / n_told - self.twins, 1.0 / n_told) / (1.0 - self.twins)


def explained_by_chance(n_seen: int, n_new: int, size: np.ndarray) -> float:
    """Return a bound on the probability that so many new rows equal one of the others by chance.

    There are `size` equal rows of each kind, new ones and others together. By chance each row is
    new with the same probability q, whatever its kind. Of g equal rows the number of new ones is
    then binomial, and all of them count unless they are the whole g. The bound is Chernoff's.
    """
    g, number = np.unique(size[size > 1.0], return_counts=True)
    q, s = n_new / size.sum(), EXPONENTS[:, np.newaxis]
    # E exp(s · counted) = M^g - q^g (exp(s g) - 1) with M = 1 - q + q exp(s); r = q exp(s) / M
    log_M, log_r = np.log1p(q * np.expm1(s)), -np.log1p((1.0 / q - 1.0) * np.exp(-s))
    log_mean = g * log_M + np.log(np.exp(g * (log_r - s)) - np.expm1(g * log_r))
    return float(np.exp(min((log_mean @ number - n_seen * EXPONENTS).min(), 0.0)))


def _apart(parts: list[Any], salt: int, marks: np.ndarray) -> bool:
    """Return whether those of the rows that occur once cannot be met again by chance.

    `marks` are the fingerprints of all rows, which are given in several matrices.

    Where rows are equal by chance, as with a few discrete features, some occur twice (Good 1953),
    and more of them agree in half of their features. Here most rows occur once, none occurs twice,
    and no two different ones agree in all even features, or in all odd ones, nor in the first or
    the last half of them. Some may occur often, such as empty rows.
    """
    counts = np.unique(marks, return_counts=True)[1]
    if (counts == 2).any() or 2 * (counts == 1).sum() < len(marks):
        return False
    middle = parts[0].shape[1] // 2
    if middle == 0:
        return True

    def agree(half: slice) -> bool:
        found = np.concatenate([fingerprints(X[:, half], salt) for X in parts])
        return len(np.unique(found)) < len(counts)

    for one, other in (
        (slice(0, None, 2), slice(1, None, 2)),
        (slice(0, middle), slice(middle, None)),
    ):
        if agree(one) and agree(other):
            return False
    return True


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
