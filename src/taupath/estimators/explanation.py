"""Why a case is decided as it is: where its decision flips, and what each feature adds to f."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupath.paths.crossings import Changes
from taupath.validation import Checked

# Parts that the text shows one by one; the others are added up.
MOST_SHOWN = 10
# Characters of a name, a label or a cell that the text shows before it cuts.
LONGEST_CELL = 40
# Why a decision is called constant: the end of a sentence.
BY_TRAINING = " that it was trained on: it does not tell cases apart"
BY_HELD_OUT = ": for those held out in training, telling them apart did not pay"
# What costs in training mean for all that follows: the rest of a sentence about the model.
WITH_COSTS = (
    "was trained with costs: costs given now multiply those, so the same ones would count twice, "
    "and its probabilities are shares of the expected cost"
)


@dataclass(frozen=True)
class Flip:
    """A change of the decision along τ.

    Attributes
    ----------
    tau : float
        The last τ before the change.
    worth : float
        How many false alarms a miss is worth there: (1 - τ) / τ.
    to : label
        The decision where τ is larger, that is, where a miss is worth less.
    """

    tau: float
    worth: float
    to: Any


@dataclass(frozen=True)
class Part:
    """What a feature, or a column of raw data, adds to f_τ(x).

    Attributes
    ----------
    name : str
        Of the feature, or of the column, whose features are added up.
    value : float, str or None
        That of this case; None where the cell is missing.
    reference : float or str
        The value at which it adds nothing: where the feature is 0 as trained.
    adds : float
        Its weight times its value as trained. Above 0, it speaks for the positive class.
    """

    name: str
    value: Any
    reference: Any
    adds: float


@dataclass(frozen=True)
class Explanation:
    """Why a case is decided as it is; ``print`` shows it in words.

    Attributes
    ----------
    positive, negative : label
        The two classes.
    probability : float
        Of the positive class.
    tau : float
        The τ of the decision.
    decision : label
        The decision at τ.
    constant : label or None
        The decision about every sample at τ, if the model does not tell cases apart at these costs.
    flips : tuple of Flip
        All changes of the decision, in the order of τ: exact, over the whole path.
    tau_range : pair of float
        The walked range of τ: flips elsewhere are not known.
    f : float
        What decides: for the positive class if it is at least 0. It is f_τ(x), or the probability
        minus τ where probabilities decide.
    base : float or None
        f_τ of a case with all features at their references: f is `base` plus all `adds`.
    parts : tuple of Part or None
        Those that add anything, the largest first. None unless the sign of one linear function
        decides, that is, with another kernel or with ``monotone=True``.
    why_constant : str
        Why the decision is called `constant`: it is for all training samples, or telling held-out
        ones apart did not pay. The end of a sentence.
    """

    positive: Any
    negative: Any
    probability: float
    tau: float
    decision: Any
    constant: Any
    flips: tuple[Flip, ...]
    tau_range: tuple[float, float]
    f: float
    base: float | None
    parts: tuple[Part, ...] | None
    why_constant: str = BY_TRAINING

    def __str__(self) -> str:
        decided, positive = _text(self.decision), _text(self.positive)
        lines = [
            f"{decided} at τ = {self.tau:.3g}, where {_costs(self.tau)}. "
            f"Probability of {positive}: {100.0 * self.probability:.1f} %."
        ]
        if self.constant is not None:
            lines.append(
                f"At these costs the model decides {_text(self.constant)} for every case"
                f"{self.why_constant}."
            )
        lines.append(self._flips_in_words())
        if self.parts is None:
            lines.append(
                "Contributions of features are known only where one linear function decides."
            )
        else:
            lines += self._table(self.parts)
        return "\n".join(lines)

    def _flips_in_words(self) -> str:
        if not self.flips:
            begin, end = self.tau_range
            whole = (begin, end) == (0.0, 1.0)
            where = "whatever the costs" if whole else f"at every τ from {begin:g} to {end:g}"
            return f"It is {_text(self.decision)} {where}."
        if len(self.flips) == 1 and self.flips[0].to == self.negative:
            (flip,) = self.flips
            return (
                f"It flips where {_costs(flip.tau)} (τ = {flip.tau:.3g}): {_text(self.positive)} "
                f"if a miss is worth more, {_text(self.negative)} if less."
            )
        each = "; ".join(
            f"to {_text(flip.to)} where {_costs(flip.tau)} (τ = {flip.tau:.3g})"
            for flip in self.flips
        )
        times = "once" if len(self.flips) == 1 else f"{len(self.flips)} times"
        return f"It flips {times}: {each}; from expensive misses to expensive false alarms."

    def _table(self, parts: Sequence[Part]) -> list[str]:
        top, others = parts[:MOST_SHOWN], parts[MOST_SHOWN:]
        rows = [("", "this case", "reference", "adds")]
        rows.append(("all at reference", "", "", f"{self.base:+.3f}"))
        rows += [
            (_text(part.name), _text(part.value), _text(part.reference), f"{part.adds:+.3f}")
            for part in top
        ]
        if others:
            rest = sum(part.adds for part in others)
            rows.append((f"{len(others)} more", "", "", f"{rest:+.3f}"))
        rows.append(("f", "", "", f"{self.f:+.3f}"))
        first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
        return [
            f"Contributions to f ({_text(self.positive)} if f ≥ 0):",
            *(
                "  ".join((f"  {name:<{first}}", *map(str.rjust, cells, widths)))
                for name, *cells in rows
            ),
            "A reference is the value at which a feature is 0 as trained: the mean, if features "
            "are standardised.",
        ]


def _costs(tau: float) -> str:
    """Return what the mistakes are worth at τ, in words."""
    if tau == 0.0:
        return "false alarms cost nothing"
    if tau == 1.0:
        return "misses cost nothing"
    if tau <= 0.5:
        return f"a miss is worth {_counted((1.0 - tau) / tau, 'false alarm')}"
    return f"a false alarm is worth {_counted(tau / (1.0 - tau), 'miss', 'es')}"


def _counted(number: float, what: str, plural: str = "s") -> str:
    text = f"{number:.0f}" if number >= 1000.0 else f"{number:.3g}"
    return f"{text} {what}{'' if text == '1' else plural}"


def _text(value: Any) -> str:
    """Return a name, a label or a cell on one line; in quotes if it could pass for another text."""
    if value is None:
        return "missing"
    if isinstance(value, float):
        return f"{value:.5g}"
    text = str(value)
    if not text or not text.isprintable() or " ".join(text.split()) != text:
        text = repr(text)
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


# -- from a classifier -----------------------------------------------------------------------------

# Given a row, the features that are not 0, their values and what they add: the parts.
PartsOf = Callable[[int, np.ndarray, np.ndarray, np.ndarray], Sequence[Part]]


def parts_of_features(names: Sequence[str], scaler: Any = None) -> PartsOf:
    """Return a function that makes a part of each feature, in units before scaling."""
    n = len(names)
    scale = np.ones(n) if scaler is None else scaler.scale_
    mean = scaler.mean_ if scaler is not None and scaler.with_mean else np.zeros(n)

    def parts_of(_: int, which: np.ndarray, values: np.ndarray, adds: np.ndarray) -> list[Part]:
        raw = values * scale[which] + mean[which]
        found = zip(which.tolist(), raw.tolist(), mean[which].tolist(), adds.tolist(), strict=True)
        return [Part(names[j], value, reference, add) for j, value, reference, add in found]

    return parts_of


def explain(model: Any, X: Checked, taus: np.ndarray, parts_of: PartsOf) -> list[Explanation]:
    """Return an explanation of each checked sample, by a classifier of two classes.

    `taus` is a checked τ for all samples (no dimension), or one for each.
    """
    proba = model._proba(X)[:, model._positive]
    f = model._decide(X, taus)
    decided = model._labels(f >= 0.0)
    each = np.broadcast_to(taus, X.shape[0])
    # where one of the mistakes costs nothing, the same decision for all is right
    constant = {
        tau: model._constant_at(tau) if 0.0 < tau < 1.0 else None
        for tau in np.unique(each).tolist()
    }
    if model._by_probability:
        flips = [_flips(model, True, [tau]) for tau in model._positive_up_to(X).tolist()]
    else:
        flips = list(_flips_by_sign(model, model._sign_changes(X)))
    linear = not model._by_probability and hasattr(model, "coef_")
    parts = _linear_parts(model, X, each, parts_of) if linear else [(None, None)] * len(f)
    positive, negative = (
        label_of(model, model._labels(np.array(which))) for which in (True, False)
    )
    return [
        Explanation(
            positive=positive,
            negative=negative,
            probability=float(proba[i]),
            tau=float(each[i]),
            decision=label_of(model, decided[i]),
            constant=label_of(model, constant[each[i]]),
            flips=flips[i],
            tau_range=model._walked,
            f=float(f[i]),
            base=parts[i][0],
            parts=parts[i][1],
            why_constant=model._why_constant[1],
        )
        for i in range(len(f))
    ]


def label_of(model: Any, label: Any) -> Any:
    """Return a label of `classes_` as the user knows it."""
    if label is None:
        return None
    return np.asarray(label).item() if model._names is None else model._names[int(label)]


def _flips_by_sign(model: Any, changes: Changes) -> Iterator[tuple[Flip, ...]]:
    """Yield the flips of each sample."""
    order = np.argsort(changes.who, kind="stable")  # those of one sample stay in the order of τ
    ends = np.searchsorted(changes.who[order], np.arange(len(changes.begin) + 1))
    for i, begin in enumerate(changes.begin.tolist()):
        yield _flips(model, begin, changes.when[order[ends[i] : ends[i + 1]]].tolist())


def _flips(model: Any, begin: bool, when: Sequence[float]) -> tuple[Flip, ...]:
    """Return the changes within the range, of a decision that is positive at first or not."""
    first, last = model._walked
    found: list[Flip] = []
    for k, tau in enumerate(when):
        if found and tau <= found[-1].tau:
            found.pop()  # no τ lies between the two
            continue
        positive = begin == (k % 2 == 1)
        to = label_of(model, model._labels(np.array(positive)))
        found.append(Flip(tau, (1.0 - tau) / tau if tau > 0.0 else np.inf, to))
    return tuple(flip for flip in found if first < flip.tau < last)


def _linear_parts(
    model: Any, X: Checked, taus: np.ndarray, parts_of: PartsOf
) -> list[tuple[float, tuple[Part, ...]]]:
    """Return the constant of each sample's function, and the parts that are not 0."""
    found: list[Any] = [None] * X.shape[0]
    for tau in np.unique(taus):
        base, weights = model.path_.parts(tau)
        for i in np.flatnonzero(taus == tau).tolist():
            which, values = _entries(X.features, i)
            adds = weights["coef"][which] * values
            parts = [part for part in parts_of(i, which, values, adds) if part.adds != 0.0]
            found[i] = base, tuple(sorted(parts, key=lambda part: -abs(part.adds)))
    return found


def _entries(X: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of a row that are stored, and their values."""
    if isinstance(X, np.ndarray):
        return np.arange(X.shape[1]), X[i]
    own = slice(X.indptr[i], X.indptr[i + 1])
    return X.indices[own], X.data[own]
