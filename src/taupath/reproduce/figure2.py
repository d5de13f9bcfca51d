"""The paper's Figure 2: TPR, TNR and accuracy on the test part, for every τ."""

from dataclasses import dataclass

import numpy as np

from taupath.datasets import PaperData
from taupath.display import PerformanceDisplay
from taupath.display.drawing import TAU_LABEL
from taupath.estimators.classifier import QuantileSVC
from taupath.reproduce.context import Check, Context, new_figure
from taupath.reproduce.text_tables import percent, table

# Where accuracy on spam should be very stable; the paper names (0, 0.9].
MIDDLE = (0.1, 0.9)
# Accuracy that moves by no more than this is flat.
FLAT_RATES = 0.01
# A rate that goes the wrong way by no more than this, or by one sample, still agrees "mostly".
SMALL = 0.02
SHOWN = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class Curves:
    """Rates on the test part as steps over τ, and what the checks need besides."""

    name: str
    display: PerformanceDisplay
    n_positive: int
    n_negative: int
    accuracy_at_ends: tuple[float, float]  # at τ = 0 and at τ = 1 themselves
    share_everywhere: float  # of the positive class, in all three parts together
    accuracy_everywhere: float  # at τ = 0, on all three parts together
    on_margin: dict[float, float]  # share of the training samples on the margin, by τ

    @property
    def share(self) -> float:
        """Share of the positive class in the test part."""
        return self.n_positive / (self.n_positive + self.n_negative)

    def at(self, tau: float) -> tuple[float, float, float]:
        """Return TPR, TNR and accuracy at τ; where two steps meet, those of the first."""
        steps = self.display
        k = min(max(int(np.searchsorted(steps.taus, tau)) - 1, 0), len(steps.tpr) - 1)
        return float(steps.tpr[k]), float(steps.tnr[k]), float(steps.accuracy[k])

    def longest_step(self) -> tuple[float, float]:
        """Return the longest stretch of τ over which no prediction changes."""
        begin, end = self.display.taus[:-1], self.display.taus[1:]
        k = int(np.argmax(end - begin))
        return float(begin[k]), float(end[k])

    def middle(self) -> tuple[float, float]:
        """Return the least and the greatest accuracy for τ in the middle."""
        begin, end = self.display.taus[:-1], self.display.taus[1:]
        inside = (end > MIDDLE[0]) & (begin < MIDDLE[1])
        own = self.display.accuracy[inside]
        return float(own.min()), float(own.max())


def largest_reversal(falling: np.ndarray) -> float:
    """Return the largest rise above the lowest value so far of a sequence that should fall."""
    return float(np.max(falling - np.minimum.accumulate(falling)))


def measure(data: PaperData, ax: object) -> Curves:
    """Fit the whole path at the paper's λ, and draw the rates on the test part."""
    model = QuantileSVC(lam=data.lam).fit(data.X_train, data.y_train)
    display = PerformanceDisplay.from_estimator(
        model, data.X_test, data.y_test, ax=ax, name=data.name
    )
    X = (data.X_train, data.X_valid, data.X_test)
    y = np.concatenate((data.y_train, data.y_valid, data.y_test))
    at_zero = np.concatenate([model.predict(part, tau=0.0) for part in X])
    ends = [float((model.predict(data.X_test, tau=t) == data.y_test).mean()) for t in (0.0, 1.0)]
    return Curves(
        name=data.name,
        display=display,
        n_positive=int((data.y_test > 0).sum()),
        n_negative=int((data.y_test < 0).sum()),
        accuracy_at_ends=(ends[0], ends[1]),
        share_everywhere=float((y > 0).mean()),
        accuracy_everywhere=float((at_zero == y).mean()),
        on_margin={
            tau: len(model.path_.index_sets(tau)[1]) / len(data.y_train) for tau in SHOWN[:-1]
        },
    )


def reproduce(context: Context) -> list[Check]:
    """Draw the sets that are there; print, write figure2.csv and figure2.png."""
    sets = context.sets
    figure = new_figure(4.2 * len(sets), 3.4)
    axes = figure.subplots(1, len(sets), squeeze=False)[0]
    curves = [measure(data, ax) for data, ax in zip(sets, axes, strict=True)]
    for k, ax in enumerate(axes):
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_xlabel(r"$\tau$")
        if k:
            ax.set_ylabel("")
    figure.supxlabel(TAU_LABEL, fontsize=9)
    for each in curves:
        context.say_all(_rates(each))
    checks = [check for each in curves for check in _checks(each)]
    context.say_checks(checks)
    rows = [
        [each.name, *line]
        for each in curves
        for line in zip(
            each.display.taus[:-1],
            each.display.taus[1:],
            each.display.tpr,
            each.display.tnr,
            each.display.accuracy,
            strict=True,
        )
    ]
    head = ["data", "τ from", "τ to", "TPR", "TNR", "accuracy"]
    context.write("figure2", head, rows, figure)
    return checks


def _rates(curves: Curves) -> list[str]:
    rates = [curves.at(tau) for tau in SHOWN]
    margin = [curves.on_margin.get(tau) for tau in SHOWN]
    columns = [
        ("τ", [f"{tau:g}" for tau in SHOWN]),
        ("TPR", [percent(rate[0]) for rate in rates]),
        ("TNR", [percent(rate[1]) for rate in rates]),
        ("accuracy", [percent(rate[2]) for rate in rates]),
        ("on the margin", ["-" if part is None else percent(part, 2) for part in margin]),
    ]
    n = curves.n_positive + curves.n_negative
    title = (
        f"{curves.name}: {n} test samples, {len(curves.display.tpr)} steps; beside the rates, "
        "the share of training samples on the margin"
    )
    return table(title, columns)


def _monotone(reversal: float, n_samples: int) -> str:
    """Return the verdict on a rate that should never turn back."""
    if reversal == 0.0:
        return "agrees"
    return "mostly" if reversal <= max(SMALL, 1.0 / n_samples) + 1e-12 else "differs"


def _checks(curves: Curves) -> list[Check]:
    """Return the paper's statements about Figure 2, for one set."""
    name, display = curves.name, curves.display
    ends = curves.accuracy_at_ends
    tpr, tnr = largest_reversal(display.tpr), largest_reversal(-display.tnr)
    wrong = int((np.diff(display.tpr) > 0).sum()), int((np.diff(display.tnr) < 0).sum())
    n_steps = int((np.diff(display.tpr) != 0).sum()), int((np.diff(display.tnr) != 0).sum())
    checks = [
        Check.that(
            f"{name}: at τ = 0 all samples are taken for positive, at τ = 1 for negative, and "
            "accuracy is the share of these",
            f"accuracy {percent(ends[0], 2)} at 0 and {percent(ends[1], 2)} at 1; the test part is "
            f"{percent(curves.share, 2)} positive",
            ends[0] == curves.share and abs(ends[0] + ends[1] - 1.0) < 1e-12,
        ),
        Check(
            f"{name}: TPR falls along τ, not necessarily strictly",
            f"{wrong[0]} of its {n_steps[0]} steps go up; it is never more than {percent(tpr, 2)} "
            f"({round(tpr * curves.n_positive)} of {curves.n_positive}) above its lowest so far",
            _monotone(tpr, curves.n_positive),
        ),
        Check(
            f"{name}: TNR rises along τ",
            f"{wrong[1]} of its {n_steps[1]} steps go down; it is never more than "
            f"{percent(tnr, 2)} ({round(tnr * curves.n_negative)} of {curves.n_negative}) below "
            "its highest so far",
            _monotone(tnr, curves.n_negative),
        ),
    ]
    if name == "splice":
        checks.append(
            Check.that(
                "splice: 5.5 % are positive, and accuracy at τ = 0 is 5.5 %",
                f"of all three parts {percent(curves.share_everywhere, 2)} are positive, and "
                f"accuracy at τ = 0 is {percent(curves.accuracy_everywhere, 2)} there",
                abs(curves.accuracy_everywhere - 0.055) < 5e-4,
            )
        )
    if name == "spam":
        low, high = curves.middle()
        begin, end = curves.longest_step()
        checks.append(
            Check.that(
                "spam: accuracy is very stable for intermediate τ",
                f"for τ from {MIDDLE[0]:g} to {MIDDLE[1]:g} it lies between {percent(low, 2)} and "
                f"{percent(high, 2)}; from {begin:.4f} to {end:.4f} no prediction changes at all",
                high - low <= FLAT_RATES,
            )
        )
        margin = curves.on_margin
        inside = [margin[tau] for tau in SHOWN if MIDDLE[0] <= tau <= MIDDLE[1]]
        checks.append(
            Check.that(
                "spam: 0.28 % of the training samples are on the margin at τ = 0, about 0.32 % "
                "for τ in (0, 0.9]",
                f"{percent(margin[0.0], 2)} at τ = 0, {percent(min(inside), 2)} to "
                f"{percent(max(inside), 2)} for τ from {MIDDLE[0]:g} to {MIDDLE[1]:g}",
                max(inside) < 0.01,
            )
        )
    return checks
