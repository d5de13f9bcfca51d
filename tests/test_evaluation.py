"""What evaluations say between the values of τ that they show, and of several paths."""

import numpy as np
import pytest

from taupath import QuantileSVC
from taupath.certificate import Certificate
from taupath.display.rates import rates_of_estimator
from taupath.evaluation import pieces_of
from taupath.training import certificate_of


def test_costs_at_both_ends_of_every_piece_are_those_of_its_decisions():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = rng.normal(size=(80, 2)) + y[:, np.newaxis]
    model = QuantileSVC().fit(X, y)
    pieces = pieces_of(rates_of_estimator(model, X, y), (0.1, 0.8))
    assert (pieces["tau_from"][0], pieces["tau_to"][-1]) == (0.1, 0.8)
    assert len(pieces["tau_from"]) > 20
    for k, (begin, end) in enumerate(zip(pieces["tau_from"], pieces["tau_to"], strict=True)):
        predicted = model.predict(X, tau=0.5 * (begin + end))
        alarms, misses = np.mean((predicted == 1) & (y == 0)), np.mean((predicted == 0) & (y == 1))
        assert pieces["cost_from"][k] == pytest.approx(begin * alarms + (1 - begin) * misses)
        assert pieces["cost_to"][k] == pytest.approx(end * alarms + (1 - end) * misses)


class Judged:
    """A path with a certificate of its own."""

    def __init__(self, gap: float, kkt: float, complete: bool) -> None:
        self.found = Certificate(gap, 2 * gap, kkt, 2 * kkt, 7, complete)

    def certify(self, points: int | None) -> Certificate:
        return self.found


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_the_certificate_of_several_paths_is_the_worst_of_all(order):
    paths = [Judged(1e-3, 1e-6, True), Judged(1e-2, 1e-7, False), Judged(1e-4, 1e-5, True)]
    model = QuantileSVC()
    model.paths_ = [paths[k] for k in order]
    found = certificate_of(model, 5)
    assert (found.worst_gap, found.tau_gap) == (1e-2, 2e-2)
    assert (found.worst_kkt, found.tau_kkt) == (1e-5, 2e-5)
    assert (found.n_checked, found.complete) == (21, False)
