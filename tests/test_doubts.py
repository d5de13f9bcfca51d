"""Fitting warns of what a walk had difficulties with and could not mend."""

import numpy as np
import pytest

import taupath
from taupath.fitting import doubts
from taupath.paths.certificate import Measure
from taupath.paths.walked import Walked

RNG = np.random.default_rng(4)
X = RNG.standard_normal((60, 3))
Y = (X[:, 0] + RNG.standard_normal(60) > 0.0).astype(int)

FITS = {
    "classification": lambda: taupath.quantile_path(X, Y),
    "regression": lambda: taupath.quantile_regression_path(X, X[:, 1] + RNG.standard_normal(60)),
    "over C": lambda: taupath.regularization_path(X, Y, C_max=2.0),
    "estimator": lambda: taupath.QuantileSVC().fit(X, Y),
}


@pytest.fixture
def looked_at(monkeypatch):
    """Say of which intervals walks are in doubt, and how wrong; return what is looked at."""

    def doubt(intervals, gap, kkt):
        looked_at = []

        def measure(self, value):
            looked_at.append(value)
            return Measure(gap, kkt, 1.0, 1.0)

        monkeypatch.setattr(Walked, "doubtful", np.array(intervals).reshape(-1, 2))
        monkeypatch.setattr(Walked, "measure", measure)
        return looked_at

    return doubt


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize(("gap", "kkt"), [(2e-9, 0.0), (0.0, 2e-7)])
def test_what_is_wrong_where_a_walk_was_in_doubt_is_told(name, gap, kkt, looked_at):
    points = looked_at([[0.2, 0.4]], gap, kkt)
    with pytest.warns(taupath.InexactPathWarning, match="not as exact as promised: at [τC] =") as w:
        FITS[name]()
    assert len(w) == 1 and w[0].filename == __file__
    assert 0 < len(points) <= doubts.MOST_LOOKED_AT
    assert any(0.2 <= value <= 0.4 for value in points)


def test_what_is_right_is_not_told(looked_at):
    assert looked_at([[0.2, 0.4]], 0.9e-9, 0.9e-7) == []
    for fit in FITS.values():
        fit()  # a warning would be an error


def test_nothing_is_looked_at_without_doubt(looked_at):
    points = looked_at([], 1.0, 1.0)
    for fit in FITS.values():
        fit()
    assert points == []


def test_commands_say_it_once(looked_at, command_files, tmp_path, capsys):
    from taupath.cli import main

    looked_at([[0.2, 0.4]], 1.0, 1.0)
    output = tmp_path / "model.tau"
    assert main(["fit", str(command_files / "iris.csv"), "-o", str(output)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "the certificate does not hold" in said[0]
    assert "was not written: add --allow-inexact" in said[0]
    assert not output.exists()
