"""Replies of partitions add up to what one process finds with all rows."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("distributed", reason="needs dask and distributed")

from taupath.approximate.node import Node, Smoothing
from taupath.approximate.row_sums import RowSummary, RowSums
from taupath.cluster import requests
from taupath.engine.rows import make_rows
from taupath.paths.jobs import QuantileClassification

N, D, BIAS = 90, 3, 1.5
SMOOTHING, BOX = Smoothing(0.8, np.array([0.4, 0.7])), np.array([1.5, 0.25])


def whole_and_parts(regression: bool) -> tuple[RowSums, list[requests.Partition], requests.Setup]:
    rng = np.random.default_rng(3)
    X, weight = rng.standard_normal((N, D)), rng.random(N)
    y = rng.standard_normal(N) if regression else np.where(np.arange(N) < 40, "no", "yes")
    classes = None if regression else np.array(["no", "yes"])
    sign = np.ones(N) if regression else np.where(y == "yes", 1.0, -1.0)
    whole = RowSums(make_rows(X, sign, BIAS), y if regression else np.ones(N), weight)
    parts = [slice(0, 30), slice(30, 70), slice(70, 90)]  # the last has one class only
    partitions = [requests.Partition(X[some], y[some], weight[some]) for some in parts]
    return whole, partitions, requests.Setup(BIAS, classes)


def ask(partitions, setup, request, referred=frozenset(range(9))) -> requests.Reply:
    replies = [requests.answer(each, (request, setup, referred)) for each in partitions]
    total = requests.add(replies)
    del total.sums["visits"]  # as `Rounds` does, which counts them
    return total


@pytest.mark.parametrize("regression", [False, True])
def test_the_summary_is_that_of_all_rows_with_deeper_sums(regression):
    whole, partitions, setup = whole_and_parts(regression)
    reply = ask(partitions, setup, requests.Summarize())
    found, expected = requests.as_summary(reply, 3, depth=8), whole.summary()
    for name in (each.name for each in fields(RowSummary)):
        if name not in ("sum_depth", "loss_depth"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12)
    assert found.one_class is regression
    for name in ("sum_depth", "loss_depth"):
        # the rows of the largest partition, one sum of them, and the sums of partitions
        assert getattr(found, name) == 40 + 1 + 8


def test_dual_points_slopes_and_losses_add_up():
    whole, partitions, setup = whole_and_parts(regression=False)
    rng = np.random.default_rng(4)
    w, step = rng.standard_normal((2, D + 1))
    margin, rate = whole.rows.products(w), whole.rows.products(step)
    expected = whole.update(margin, SMOOTHING)
    here, way = requests.MarginRef(0, w), requests.MarginRef(1, step)
    dual = requests.DualRef(here, SMOOTHING, BOX)
    reply = ask(partitions, setup, requests.UpdateDual(dual, afresh=False, hessian=True))
    assert_allclose(reply.sums["rows"], expected.rows, atol=1e-12)
    assert_allclose(reply.sums["scalars"], expected.scalars, atol=1e-12)
    assert reply.sums["n_inner"] == expected.n_inner
    hessian = np.zeros((D + 1, D + 1))
    whole.set_curvature(BOX, SMOOTHING.width)
    whole.add_hessian(hessian)
    assert_allclose(np.tril(reply.sums["hessian"]), np.tril(hessian), atol=1e-12)
    # margins at the end of the step are made of kept ones, or from w by whoever has lost them
    end = requests.MarginRef(2, w + 0.5 * step, ((0, 1.0), (1, 0.5)))
    search = requests.LineSearch(dual, way, (0.0, 0.5), None, hessian=False)
    slopes = ask(partitions, setup, search).sums["slopes"]
    for found, length in zip(slopes, (0.0, 0.5), strict=True):
        assert_allclose(found, whole.slope(margin, rate, length, SMOOTHING, BOX), atol=1e-12)
    partitions[1].keep_only(frozenset())
    losses = ask(partitions, setup, requests.ChordLosses(here, end, 4)).sums["losses"]
    assert_allclose(losses, whole.along(margin, margin + 0.5 * rate, 4), atol=1e-12)
    narrower = Smoothing(0.5, np.array([0.5, 0.5]))
    change = np.zeros(D + 1)
    whole.add_change(margin, SMOOTHING, narrower, BOX, change)
    reply = ask(partitions, setup, requests.ChangeSmoothing(dual, narrower))
    assert_allclose(reply.sums["change"], change, atol=1e-12)


def test_the_sums_of_a_node_add_up_and_its_violation_is_the_largest():
    whole, partitions, setup = whole_and_parts(regression=False)
    w = np.random.default_rng(5).standard_normal(D + 1)
    node = Node(0.3, w, SMOOTHING, 0.0, np.array([1.0, 0.8]))
    boxes = QuantileClassification(2.0, np.array([-1, 1])).boxes
    margin = whole.rows.products(w)
    expected = whole.sums_at(node, boxes, margin)
    reply = ask(partitions, setup, requests.AtNode(node, requests.MarginRef(0, w), boxes))
    assert_allclose(reply.sums["v"], expected.v, atol=1e-12)
    assert_allclose(reply.sums["target_product"], expected.target_product, rtol=1e-12)
    assert_allclose(reply.peaks["violation"], expected.violation, rtol=1e-12)
    # by hand: whoever could move towards its target, by how far it is away
    own = (whole.sign < 0).astype(int)
    fraction = np.clip(SMOOTHING.centre[own] + (1.0 - margin) / SMOOTHING.width, 0.0, 1.0)
    fraction *= np.array([1.0, 0.8])[own]
    off = np.where(
        margin < 1.0, (fraction < 1.0) * (1.0 - margin), (fraction > 0.0) * (margin - 1.0)
    )
    assert_allclose(expected.violation, off.max(), rtol=1e-12)
