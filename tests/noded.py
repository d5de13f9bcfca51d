"""Paths whose records have nodes although they need none, so that their solutions are known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from taupath.engine import solver
from taupath.engine.record import Record

# Where solutions are kept, as parts of the kinks of each walk: the first two stretches touch.
PARTS = ((0.1, 0.25), (0.25, 0.35), (0.6, 0.7), (0.95, 1.0))


@contextmanager
def nodes_in(*parts: tuple[float, float]) -> Iterator[None]:
    """Let every walk take these parts of its kinks for wrong, and mend them."""
    audited = solver._Solver._audited

    def wrong(reader: Any, seen: Any) -> np.ndarray:
        record = reader.record
        kinks = np.unique(np.concatenate(([record.begin], record.t, [record.end])))
        at = np.round(np.array(parts) * (len(kinks) - 1)).astype(int)
        return np.insert(kinks[at[at[:, 0] < at[:, 1]]], 2, np.inf, axis=1)

    def doubting(self: Any, record: Record) -> Record:
        self.doubtful = [(record.begin, record.end)]
        record.doubtful = np.array(self.doubtful)
        return audited(self, record)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver._Solver, "_audited", doubting)
        patch.setattr(solver, "wrong_intervals", wrong)
        yield


def values_of(path: Any, seed: int = 0) -> np.ndarray:
    """Return kinks, their neighbours, midpoints and other values of a path's parameter."""
    kinks = path.taus
    begin, end = path.tau_range
    near = np.concatenate((np.nextafter(kinks, begin), np.nextafter(kinks, end)))
    drawn = np.random.default_rng(seed).uniform(begin, end, 40)
    values = np.concatenate((kinks, near, 0.5 * (kinks[1:] + kinks[:-1]), drawn))
    values = values[(values == begin) | (values >= begin + 1e-300)]  # no subnormal numbers
    return np.unique(values[values <= end])


def nodes_of(path: Any) -> list[Any]:
    """Return the nodes of all pieces."""
    return [piece.record.nodes for piece in path.solutions.pieces]
