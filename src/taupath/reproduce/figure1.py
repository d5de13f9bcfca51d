"""The paper's Figure 1: the decision boundary at low, middle and high τ."""

from dataclasses import astuple, dataclass

import numpy as np

from taupath.display import BoundaryDisplay
from taupath.estimators.classifier import QuantileSVC
from taupath.reproduce.context import Check, Context, new_figure
from taupath.reproduce.text_tables import table

SHOWN_TAUS = (0.05, 0.5, 0.95)
LAM = 1e-3


@dataclass(frozen=True)
class Boundary:
    """The boundary w.x + b = 0 at one τ, and the training samples it has on the wrong side."""

    tau: float
    w1: float
    w2: float
    b: float
    missed_positive: int
    missed_negative: int


def two_clouds(n_each: int = 60, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return two overlapping Gaussian classes in the plane; labels -1 and +1."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1, 1], n_each)
    return rng.standard_normal((2 * n_each, 2)) + np.outer(y, [1.3, 1.0]), y


def measure(model: QuantileSVC, X: np.ndarray, y: np.ndarray) -> list[Boundary]:
    """Return the boundaries of a linear model."""
    found = []
    for tau in SHOWN_TAUS:
        positive = model.predict(X, tau=tau) > 0
        missed = int((~positive & (y > 0)).sum()), int((positive & (y < 0)).sum())
        w1, w2 = model.path_.coef(tau).tolist()
        found.append(Boundary(tau, w1, w2, float(model.path_.intercept(tau)), *missed))
    return found


def reproduce(context: Context) -> list[Check]:
    """Fit one path, draw three of its boundaries; print, write figure1.csv and figure1.png."""
    X, y = two_clouds()
    model = QuantileSVC(lam=LAM).fit(X, y)
    found = measure(model, X, y)
    low, middle, high = found
    n = len(y) // 2
    columns = [
        ("τ", [f"{each.tau:g}" for each in found]),
        ("w", [f"({each.w1:.3f}, {each.w2:.3f})" for each in found]),
        ("b", [f"{each.b:.3f}" for each in found]),
        ("blue squares missed", [f"{each.missed_positive} of {n}" for each in found]),
        ("red dots missed", [f"{each.missed_negative} of {n}" for each in found]),
    ]
    context.say_all(table(f"Made-up data, {len(y)} samples, λ = {LAM:g}", columns))
    missed = [
        f"τ = {each.tau:g}: missed squares {each.missed_positive}, dots {each.missed_negative}"
        for each in found
    ]
    checks = [
        Check.that(
            "at low τ all blue squares are right, at the cost of a few red dots",
            missed[0],
            low.missed_positive == 0 < low.missed_negative,
        ),
        Check.that(
            "at τ = ½ the classifier is well balanced",
            missed[1],
            abs(middle.missed_positive - middle.missed_negative) <= 0.05 * n,
        ),
        Check.that(
            "at high τ the converse",
            missed[2],
            high.missed_negative == 0 < high.missed_positive,
        ),
    ]
    context.say_checks(checks)
    figure = new_figure(10.0, 3.4)
    for ax, each in zip(figure.subplots(1, 3, sharex=True, sharey=True), found, strict=True):
        BoundaryDisplay.from_estimator(
            model, X, y, taus=each.tau, ax=ax, labels=False, legend=False
        )
        ax.set_title(rf"$\tau$ = {each.tau:g}")
        ax.set(xlabel="", ylabel="", aspect="equal")
    head = ["τ", "w1", "w2", "b", "positives missed", "negatives missed"]
    context.write("figure1", head, map(astuple, found), figure)
    return checks
