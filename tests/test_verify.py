"""The judge itself: it accepts what is right and refuses every kind of wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import oracles
import verify

C = 1.0 / (2 * oracles.HAND_LAM)


@dataclass
class HandPath:
    """The example solved by hand, with errors put in on request."""

    alpha_error: tuple[float, float] = (0.0, 0.0)
    coef_error: float = 0.0
    intercept_error: float = 0.0
    sets: tuple[list[int], list[int], list[int]] | None = None

    def alpha(self, tau):
        return oracles.hand_solution(tau)[0] + self.alpha_error

    def coef(self, tau):
        return np.array([oracles.hand_solution(tau)[1] + self.coef_error])

    def intercept(self, tau):
        return oracles.hand_solution(tau)[2] + self.intercept_error

    def index_sets(self, tau):
        k = int(np.searchsorted(oracles.HAND_TAUS[1:-1], tau))
        return tuple(np.array(s, dtype=int) for s in self.sets or oracles.HAND_SETS[k])


def judge(path, tau=0.1, **kw):
    verify.assert_certified(path, oracles.HAND_X, oracles.HAND_Y, C, tau, **kw)


def test_accepts_the_hand_solved_path():
    judge(HandPath(), verify.kinks_and_midpoints(oracles.HAND_TAUS), gap=1e-14, kkt=1e-13)


def test_lam_and_c_name_the_same_problem():
    X, y = oracles.HAND_X, oracles.HAND_Y
    alpha = oracles.hand_solution(0.4)[0] * 0.9
    by_c = verify.verdict(X, y, C, 0.4, alpha)
    by_lam = verify.verdict(X, y, None, 0.4, alpha, lam=oracles.HAND_LAM)
    assert by_lam.relative_gap == pytest.approx(by_c.relative_gap, rel=1e-12)
    assert by_c.relative_gap > 1e-3


def test_objectives_are_the_two_sides_of_the_paper():
    X, y = oracles.HAND_X, oracles.HAND_Y
    alpha = oracles.hand_solution(0.5)[0]
    found = verify.verdict(X, y, C, 0.5, alpha)
    assert found.dual * oracles.HAND_LAM == pytest.approx(
        -oracles.dual_objective(X, y, C, alpha), rel=1e-14
    )
    assert found.dual == pytest.approx(2.5, rel=1e-14)  # |w|^2 = 5, by hand: no slack, P = 5 / 2
    assert found.primal == pytest.approx(2.5, rel=1e-14)


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        (HandPath(alpha_error=(0.0, 1e-3)), "leaves its box"),  # sample 1 is at its upper bound
        (HandPath(alpha_error=(-1.0, 0.0)), "leaves its box"),
        (HandPath(alpha_error=(0.0, -1e-3)), "relative gap"),
        (HandPath(alpha_error=(1e-3, 0.0)), "relative gap"),
        (HandPath(coef_error=1e-3), "relative gap"),
        (HandPath(intercept_error=1e-3), "relative gap"),
        (HandPath(coef_error=np.nan), "not finite"),
        (HandPath(sets=([1], [0], [0])), "tau"),  # one sample twice
        (HandPath(sets=([1], [], [])), "tau"),  # one sample missing
        (HandPath(sets=([0, 1], [], [])), "L has a dual variable"),
        (HandPath(sets=([], [0, 1], [])), "M is off the margin"),
        (HandPath(sets=([], [0], [1])), "R has a dual variable"),
    ],
)
def test_refuses(path, complaint):
    with pytest.raises(AssertionError, match=complaint):
        judge(path)


def test_small_errors_pass_the_gap_but_not_the_margins():
    # A gap of second order in the error of w would let it pass; the margins do not.
    path = HandPath(alpha_error=(1e-6, 0.0))
    found = verify.verdict(oracles.HAND_X, oracles.HAND_Y, C, 0.1, path.alpha(0.1))
    assert found.relative_gap < 1e-4
    assert found.kkt_violation == pytest.approx(2e-5, rel=1e-6)  # Q_11 / lam times the error
    with pytest.raises(AssertionError, match="coef and alpha disagree"):
        judge(path, gap=1e-3)
    with pytest.raises(AssertionError, match="KKT violation"):
        judge(HandPath(alpha_error=(1e-6, 0.0), coef_error=1e-5, intercept_error=1e-5), gap=1e-3)


def test_a_sample_whose_box_has_closed_is_free_to_have_any_margin():
    found = verify.verdict(oracles.HAND_X, oracles.HAND_Y, C, 0.0, oracles.hand_solution(0.0)[0])
    assert found.margins[1] == pytest.approx(-0.5)
    assert found.kkt_violation < 1e-14


def test_weights_beside_alpha_count():
    found = verify.verdict(
        oracles.HAND_X,
        oracles.HAND_Y,
        C,
        0.4,
        oracles.hand_solution(0.4)[0],
        weights=[2.0, -0.5],  # the bias is -1
    )
    plain = (found.primal - found.dual) / found.primal
    assert found.relative_gap == pytest.approx(plain, rel=1e-12)
    assert found.weights_error == pytest.approx(0.5)


def test_dense_csr_and_extended_precision_agree():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 2
    weight = rng.uniform(0.5, 2.0, 12)
    alpha = rng.uniform(0.0, 0.4, 12) / 12
    kw = {"sample_weight": weight}
    dense = verify.verdict(X, y, 3.0, 0.4, alpha, **kw)
    csr = verify.verdict(sparse.csr_matrix(X), y, 3.0, 0.4, alpha, **kw)
    extended = verify.verdict(X, y, 3.0, 0.4, alpha, dtype=np.longdouble, **kw)
    for other in (csr, extended):
        assert other.relative_gap == pytest.approx(dense.relative_gap, rel=1e-12)
        assert other.kkt_violation == pytest.approx(dense.kkt_violation, rel=1e-12)
        assert_allclose(np.asarray(other.margins, float), dense.margins, rtol=1e-12)
    assert extended.weights.dtype == np.longdouble


def test_sample_weights_widen_the_boxes():
    found = verify.verdict(
        oracles.HAND_X, oracles.HAND_Y, C, 0.25, np.zeros(2), sample_weight=[1.0, 3.0]
    )
    assert_allclose(found.upper, [2 * C * 0.75, 2 * C * 0.25 * 3.0])
    assert found.widest == 6 * C


def test_the_greater_label_is_positive():
    assert_allclose(verify.signed(["b", "a", "b"]), [1, -1, 1])
    assert_allclose(verify.signed([0, 1]), [-1, 1])


def test_kinks_and_midpoints_keep_the_ends_and_the_limit():
    taus = np.linspace(0.2, 0.9, 5001)
    some = verify.kinks_and_midpoints(taus, at_most=300)
    assert len(some) == 300
    assert (some[0], some[-1]) == (0.2, 0.9)
    assert len(verify.kinks_and_midpoints(taus[:5])) == 9
