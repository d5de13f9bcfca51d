"""What a walk does with points that rounding has put on the wrong side, and with many doubts."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from taupath._core._walk import Walk

import taupath as tp
from taupath.engine.record import State
from taupath.engine.status import FREE, LOWER

pytestmark = pytest.mark.core


def moving(reader):
    """Return t between two kinks, the solution there, and the rates of margins, some negative."""
    kinks = reader.record.t
    for begin, end in pairwise(kinks[len(kinks) // 3 :]):
        t, later = 0.75 * begin + 0.25 * end, 0.25 * begin + 0.75 * end
        here, there = reader.solution(t), reader.solution(later)
        rate = reader.rows.products(there.w - here.w) / (later - t)
        if ((here.status == LOWER) & (rate < -0.1)).sum() > 1:
            return t, here, rate
    raise AssertionError("w rests everywhere")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("first", [0, 1])
def test_the_latest_of_several_enters_first(seed, first):
    """In any other order, the margins of the others move farther to the wrong side."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0.0, 1, -1)
    reader = tp.quantile_path(X, y, C=1.0).solutions.pieces[0]._reader
    t, here, rate = moving(reader)
    margin, target = reader.rows.products(here.w), reader.line.target0.copy()
    coming = np.flatnonzero((here.status == LOWER) & (rate < 0.0))[:2]
    late = np.full(2, 1e-11) / np.abs(rate).max()
    late[first] *= 10.0
    target[coming] = margin[coming] - late * rate[coming]
    free = np.flatnonzero(here.status == FREE).astype(np.int32)
    state = State(t, here.status, free, here.theta[free].astype(np.longdouble))
    line = replace(reader.line, target0=target, target1=target)
    walk = Walk(reader.rows, line, state, 1.0, None, False)
    assert walk.right
    walk.run(1)
    assert walk.events[1][0] == coming[first]


def test_many_doubts_stay_apart():
    """Joined, they would make nearly all kinks doubtful, each of which is then looked at again."""
    rng = np.random.default_rng(2)
    points = rng.integers(-2, 3, (1500, 4)).astype(float)
    y = (points @ rng.standard_normal(4) + 2 * rng.standard_normal(1500) > 0).astype(int)
    path = tp.quantile_path(points + 1e-7 * rng.standard_normal((1500, 4)), y, C=1.0)
    doubtful = path.solutions.pieces[0].record.doubtful
    assert len(doubtful) > 16
    in_doubt = sum(((path.taus >= a) & (path.taus <= b)).mean() for a, b in doubtful)
    assert in_doubt < 0.5
    assert path.certify(max_points=200).holds()
