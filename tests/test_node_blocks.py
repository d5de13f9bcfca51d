"""Solutions from blocks of nodes equal those found one by one."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import taupath as tp
from taupath.engine import node_blocks, reading
from taupath.engine.node_blocks import NodeBlocks
from taupath.paths.walked import WalkedPiece

pytestmark = pytest.mark.core

draw = np.random.default_rng(7)
X = draw.normal(size=(90, 4))
WIDE = np.hstack((X, draw.normal(size=(90, 140))))
SPARSE = sparse.csr_array(WIDE * (draw.uniform(size=WIDE.shape) < 0.1))
LONG = sparse.csr_array(draw.normal(size=(90, 4000)) * (draw.uniform(size=(90, 4000)) < 0.01))
Y = np.where(X[:, 0] + draw.normal(size=90) > 0.0, 1, -1)
RESPONSE = X[:, 0] ** 3 + draw.normal(size=90)
RBF = {"kernel": "rbf", "gamma": 0.5}

PATHS = {
    "rbf": lambda: tp.quantile_path(X, Y, **RBF),
    "rbf, free intercept": lambda: tp.quantile_path(X, Y, C=10.0, intercept="free", **RBF),
    "rbf, no intercept": lambda: tp.quantile_path(X, Y, intercept="none", **RBF),
    "dense": lambda: tp.quantile_path(WIDE, Y, C=0.1),
    "dense, free intercept": lambda: tp.quantile_path(WIDE, Y, C=0.1, intercept="free"),
    "sparse": lambda: tp.quantile_path(SPARSE, Y, intercept="none"),
    "many columns": lambda: tp.quantile_path(LONG, Y),
    "regression": lambda: tp.quantile_regression_path(X, RESPONSE, intercept="free", **RBF),
    "over C": lambda: tp.regularization_path(X, Y, 0.3, C_max=100.0, **RBF),
}


def pieces(path):
    return [piece for piece in path.solutions.pieces if isinstance(piece, WalkedPiece)]


def assert_same(found, wanted, lengths):
    for one, other in zip(found[:3], wanted[:3], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            scale = max(float(np.abs(other).max(initial=0.0)), 1.0)
            assert_allclose(one, other, rtol=0, atol=1e-9 * scale)
    terms = 0.0
    if wanted.theta is not None:  # ‖Δw‖² is rounded up by 1e-14 of its terms
        terms = np.abs(np.diff(wanted.theta, axis=0)) @ lengths
    assert np.all(np.abs(found.travel - wanted.travel) <= 1e-6 * (terms + 0.1))


@pytest.fixture
def refused(monkeypatch):
    """Count the blocks that are left to be solved one by one."""
    counts, solve = [], NodeBlocks.solve

    def counted(self, *given):
        found = solve(self, *given)
        counts.append(found is None)
        return found

    monkeypatch.setattr(NodeBlocks, "solve", counted)
    return counts


@pytest.mark.parametrize("at_a_time", [2, 64])
@pytest.mark.parametrize("name", PATHS)
def test_blocks_find_what_single_nodes_find(name, at_a_time, refused, monkeypatch):
    monkeypatch.setattr(reading, "NODES_AT_A_TIME", at_a_time)
    for piece in pieces(PATHS[name]()):
        reader, (t, over) = piece._reader, piece._nodes
        for way in (slice(None), slice(None, None, -1)):
            for with_w in (True, False):
                given = over[way].copy(), t[way].copy(), with_w, not with_w
                assert_same(reader.sweep(*given), reader._one_by_one(*given), reader.lengths)
    assert len(refused) > 4
    # at the ends of a path, where all boxes close, few points are free or none
    assert np.mean(refused) < 0.1 if at_a_time == 2 else sum(refused) <= 4


def test_a_block_has_few_events_unless_they_are_at_one_node():
    positions = np.concatenate((np.arange(100), [1000, 1001, 3000], np.arange(3001, 3600, 7)))
    blocks = list(reading._blocks_of(positions))
    assert blocks[0][0] == 0 and blocks[-1][1] == len(positions) - 1
    assert all(one[1] == other[0] for one, other in itertools.pairwise(blocks))
    for first, last in blocks:
        few = positions[last] - positions[first] <= reading.EVENTS_AT_A_TIME
        assert last == first + 1 or (few and last - first <= reading.NODES_AT_A_TIME)
    assert list(reading._blocks_of(positions[:1])) == [(0, 0)]


@pytest.mark.parametrize(
    ("limit", "value"), [("LEAST_PIVOT", 1.0), ("MOST_NOISE", 0.0), ("MOST_NOISE", np.nan)]
)
def test_what_is_ill_conditioned_is_solved_one_by_one(limit, value, refused, monkeypatch):
    monkeypatch.setattr(node_blocks, limit, value)
    (piece,) = pieces(PATHS["rbf"]())
    t, over = piece._nodes
    reader = piece._reader
    found = reader.sweep(over, t, True, True)
    assert np.mean(refused) > 0.9
    assert_same(found, reader._one_by_one(over, t, True, True), reader.lengths)


def test_nearly_equal_rows_and_long_ones_are_read_as_exactly_as_others():
    near = np.vstack((X[:45], X[:45] + 1e-7 * draw.normal(size=(45, 4))))
    for C in (1.0, 1e4):
        path = tp.quantile_path(near, Y, C=C, **RBF)
        taus = path.taus[1:-1:9]
        values = path.values_at_nodes(X[:7])
        at = np.searchsorted(values[0], taus)
        exact = path.decision_function(X[:7], taus)
        assert_allclose(values[1][:, at], exact, rtol=0, atol=1e-9 * max(1.0, np.abs(exact).max()))


def test_kernel_rows_that_are_not_kept_are_swept_alike():
    path = PATHS["rbf"]()
    wanted = path.crossings(X[:9]).length
    small = tp.quantile_path(X, Y, **RBF)
    small.data._in_memory = False
    assert_allclose(small.crossings(X[:9]).length, wanted, rtol=0, atol=1e-12)
