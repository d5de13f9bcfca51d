"""Why a case is decided as it is: flips are where decisions change, and parts add up to f."""

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris

import taupath as tp
from display_models import X_NEW, Y_NEW, X, Y, wiggly
from report_pages import payload_of, unpacked
from taupath import QuantileSVC
from taupath.estimators.explanation import Explanation, Flip, Part, _flips
from taupath.report import write_report

GRID = np.linspace(0.0, 1.0, 2001)[1:-1]
ROUNDING = 1e-12  # of sums of a few dozen terms of size 1


def decided_at(found, taus):
    """Return the decisions that the flips of an explanation stand for."""
    if not found.flips:
        return np.full(len(taus), found.decision)
    first = found.positive if found.flips[0].to == found.negative else found.negative
    labels = np.array([first, *(flip.to for flip in found.flips)])
    return labels[np.searchsorted([flip.tau for flip in found.flips], taus, side="left")]


def wide(**parameters):
    """Return a linear model with many crossing boundaries, and other cases."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(160, 25))
    y = np.where(features[:, 0] + 2.0 * rng.normal(size=160) > 0.5, "b", "a")
    return QuantileSVC(**{"C": 0.3, **parameters}).fit(features[:80], y[:80]), features[80:]


MODELS = {
    "linear": lambda: (QuantileSVC(C=0.5).fit(X, Y), X_NEW),
    "other class": lambda: (QuantileSVC(C=0.5, pos_label="no").fit(X, Y), X_NEW),
    "free intercept": lambda: (QuantileSVC(C=0.5, intercept="free").fit(X, Y), X_NEW),
    "no intercept": lambda: (QuantileSVC(C=0.5, intercept="none").fit(X, Y), X_NEW),
    "many crossings": wide,
    "crossings, other class": lambda: wide(pos_label="a"),
    "approximate": lambda: wide(method="approximate"),
    "sparse": lambda: (
        QuantileSVC(C=0.5).fit(sparse.csr_array(X * (X > 0)), Y),
        sparse.csr_array(X_NEW * (X_NEW > 0)),
    ),
    "more features than rows": lambda: (
        QuantileSVC(C=0.05).fit(np.tile(X[:40], 20) ** np.repeat([1, 3], 30), Y[:40]),
        np.tile(X_NEW, 20) ** np.repeat([1, 3], 30),
    ),
    "chosen C": lambda: (
        tp.QuantileSVCCV(
            Cs=[0.1, 1.0], cv=3, kernel="linear", combine="best", standardize=False
        ).fit(X, Y),
        X_NEW,
    ),
}
OTHERS = {
    "rbf": lambda: (wiggly(), X_NEW),
    "monotone": lambda: wide(monotone=True),
    "part of the path": lambda: wide(tau_range=(0.2, 0.7)),
}


@cache
def made(name):
    return (MODELS | OTHERS)[name]()


# -- parts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tau", [0.0, 0.13, 0.5, 1.0])
def test_parts_add_up_to_the_decision_function(name, tau):
    model, new = made(name)
    towards = 1.0 if model.pos_label_ == model.classes_[1] else -1.0
    f = towards * model.decision_function(new, tau)
    for found, value, label in zip(
        model.explain(new, tau), f, model.predict(new, taus=[tau])[:, 0], strict=True
    ):
        terms = [found.base, *(part.adds for part in found.parts)]
        assert found.f == value
        assert abs(math.fsum(terms) - value) <= ROUNDING * sum(map(abs, terms))
        sizes = [abs(part.adds) for part in found.parts]
        assert sizes == sorted(sizes, reverse=True) and 0.0 not in sizes
        assert found.decision == label == (found.positive if value >= 0.0 else found.negative)
        assert (found.positive == model.pos_label_) and found.tau == tau


def test_a_part_is_the_weight_times_the_value():
    model, new = made("other class")
    (found,) = model.explain(new[:1], 0.3)
    weight = -model.at(0.3).coef_[0]  # those of `at` are towards the larger label
    for part in found.parts:
        j = int(part.name.removeprefix("x")) - 1
        assert (part.value, part.reference) == (new[0, j], 0.0)
        assert part.adds == pytest.approx(weight[j] * new[0, j], abs=ROUNDING)
    assert len(found.parts) == 3
    # a case at its reference has no parts: only the base is left
    (nothing,) = model.explain(np.zeros((1, 3)), 0.3)
    assert nothing.parts == () and nothing.base == nothing.f == found.base


def test_names_are_those_of_the_data_frame():
    frame = pd.DataFrame(X, columns=["age", "dose", "amount"])
    model = QuantileSVC(C=0.5).fit(frame, Y)
    (found,) = model.explain(frame[:1])
    assert {part.name: part.value for part in found.parts} == frame.iloc[0].to_dict()


def test_sparse_samples_have_the_parts_of_dense_ones():
    model, new = made("sparse")
    dense = QuantileSVC(C=0.5).fit(X * (X > 0), Y)
    pairs = zip(model.explain(new), dense.explain(new.toarray()), strict=True)
    assert any(len(one.parts) < 3 for one in model.explain(new))
    for one, other in pairs:
        assert [part.name for part in one.parts] == [part.name for part in other.parts]
        mine, others = ([part.adds for part in each.parts] for each in (one, other))
        assert_allclose(mine, others, atol=1e-9)


@pytest.mark.parametrize("name", ["rbf", "monotone"])
def test_without_a_single_linear_function_there_are_no_parts(name):
    model, new = made(name)
    (found,) = model.explain(new[:1])
    assert found.parts is None and found.base is None
    assert "only where one linear function decides" in str(found)


# -- flips -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
def test_flips_are_where_predictions_change(name):
    model, new = made(name)
    begin, end = model._walked
    grid = GRID[(begin <= GRID) & (end >= GRID)]
    labels = model.predict(new, taus=grid)
    explained = model.explain(new)
    n_flips = 0
    for found, own in zip(explained, labels, strict=True):
        taus = np.array([flip.tau for flip in found.flips])
        assert (np.diff(taus) > 0.0).all() and ((taus > begin) & (taus < end)).all()
        assert [flip.worth for flip in found.flips] == [(1.0 - tau) / tau for tau in taus]
        sure = (np.abs(np.subtract.outer(grid, taus)) > 1e-9).all(axis=1)
        assert (decided_at(found, grid) == own)[sure].all()
        n_flips += len(taus)
    assert n_flips > len(explained) // 2
    if name in ("many crossings", "crossings, other class", "rbf"):
        assert max(len(found.flips) for found in explained) >= 3


def test_f_is_zero_at_a_flip_and_changes_its_sign_there():
    model, new = made("many crossings")
    for i, found in enumerate(model.explain(new[:30])):
        for flip in found.flips:
            around = [flip.tau - 1e-7, flip.tau, flip.tau + 1e-7]
            before, at, after = model.decision_function(new[[i]], taus=around)[0]
            assert abs(at) < 1e-9 and abs(before) < 1e-3
            assert (after >= 0.0) == (flip.to == "b") != (before >= 0.0)


@pytest.mark.parametrize("name", ["linear", "monotone", "rbf"])
def test_the_probability_is_the_length_of_the_positive_pieces(name):
    model, new = made(name)
    proba = model.predict_proba(new)[:, 1]
    for found, p in zip(model.explain(new), proba, strict=True):
        edges = [0.0, *(flip.tau for flip in found.flips), 1.0]
        middles = 0.5 * (np.array(edges[1:]) + edges[:-1])
        positive = decided_at(found, middles) == found.positive
        length = np.clip(np.diff(edges) @ positive, model.clip_, 1.0 - model.clip_)
        assert found.probability == p == pytest.approx(length, abs=1e-12)


def test_two_changes_with_nothing_between_them_are_none():
    labels = np.array(["no", "yes"])
    model = SimpleNamespace(
        _walked=(0.0, 1.0),
        _names=None,
        _labels=lambda positive: labels[positive.astype(int)],
    )
    twice = np.nextafter(0.3, 0.0)
    assert _flips(model, True, [0.3, twice]) == ()
    assert _flips(model, True, [0.3, twice, 0.6]) == (Flip(0.6, 0.4 / 0.6, "no"),)
    assert _flips(model, False, [0.25, 1.0]) == (Flip(0.25, 3.0, "yes"),)


def test_the_report_has_the_same_flips(tmp_path):
    model, new = made("rbf")
    write_report(tmp_path / "page.html", model, new, Y_NEW)
    cases = payload_of(tmp_path / "page.html")["cases"]
    rows, starts, changes = (unpacked(cases[k]) for k in ("rows", "changeStarts", "changes"))
    explained = model.explain(new)
    assert len(rows) == len(explained)
    for k, row in enumerate(rows):
        own = changes[starts[k] : starts[k + 1]]
        own = own[(own > 0.0) & (own < 1.0)].tolist()  # as the page's `flips`
        assert [flip.tau for flip in explained[row].flips] == own
    assert max(np.diff(starts)) >= 3


# -- costs -------------------------------------------------------------------------------------


def test_costs_and_a_tau_for_each_sample_decide_as_predict_does():
    model, new = made("many crossings")
    cost_fn = np.linspace(0.1, 30.0, len(new))
    explained = model.explain(new, cost_fp=2.0, cost_fn=cost_fn)
    assert [one.decision for one in explained] == model.predict(
        new, cost_fp=2.0, cost_fn=cost_fn
    ).tolist()
    assert_allclose([one.tau for one in explained], 2.0 / (2.0 + cost_fn))
    for i in (0, 40, 79):  # the parts are those of each sample's own τ
        (alone,) = model.explain(new[[i]], explained[i].tau)
        assert alone.parts == explained[i].parts and alone.base == explained[i].base
    by_default = QuantileSVC(C=0.5, tau=0.2).fit(X, Y).explain(X_NEW[:2])
    assert [one.tau for one in by_default] == [0.2, 0.2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tau": 1.5}, "tau"),
        ({"tau": float("nan")}, "tau"),
        ({"tau": "half"}, "tau"),
        ({"tau": [0.1, 0.2]}, r"tau must be a number or have shape \(90,\)"),
        ({"tau": 0.5, "cost_fp": 1, "cost_fn": 2}, "tau or costs, not both"),
        ({"cost_fp": 1}, "cost_fn is missing"),
        ({"cost_fp": -1, "cost_fn": 1}, "cost_fp must not be negative"),
    ],
)
def test_costs_that_mean_nothing_are_refused(given, message):
    kind = TypeError if given.get("tau") == "half" else ValueError
    with pytest.raises(kind, match=message):
        made("linear")[0].explain(X_NEW, **given)


def test_a_tau_outside_the_walked_range_is_refused():
    model, new = made("part of the path")
    with pytest.raises(ValueError, match="tau"):
        model.explain(new, 0.1)


def test_it_says_so_where_all_training_samples_get_the_same_decision():
    rng = np.random.default_rng(0)
    y = np.where(rng.integers(0, 2, 300), "yes", "no")
    features = rng.normal(size=(300, 2)) + 0.4 * (y == "yes")[:, np.newaxis]
    model = QuantileSVC(C=0.01).fit(features, y)
    assert (model.decision_function(features, 0.05) >= 0.0).all()
    found = model.explain(features[:1], 0.05)[0]
    assert found.constant == "yes"
    assert "decides yes for every case that it was trained on" in str(found)
    # where a mistake costs nothing, the same decision for all is right
    for tau in (0.0, 1.0):
        assert model.explain(features[:1], tau)[0].constant is None
    other = made("linear")[0].explain(X_NEW, 0.4)[0]
    assert other.constant is None and "every case" not in str(other)


def test_several_classes_and_regressions_are_refused():
    data, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="explain is for two classes, not 3"):
        QuantileSVC(C=0.1).fit(data[::3], y[::3]).explain(data)
    assert not hasattr(tp.QuantileSVR(), "explain")


# -- the text ----------------------------------------------------------------------------------


def explanation(**other):
    given = {
        "positive": "ill",
        "negative": "well",
        "probability": 0.25,
        "tau": 0.2,
        "decision": "ill",
        "constant": None,
        "flips": (Flip(0.25, 3.0, "well"),),
        "tau_range": (0.0, 1.0),
        "f": 0.25,
        "base": -0.5,
        "parts": (Part("age", 61.0, 45.5, 1.0), Part("job", "nurse", "no category", -0.25)),
    }
    return Explanation(**given | other)


def test_the_text_is_plain():
    assert str(explanation()).split("\n") == [
        "ill at τ = 0.2, where a miss is worth 4 false alarms. Probability of ill: 25.0 %.",
        "It flips where a miss is worth 3 false alarms (τ = 0.25): ill if a miss is worth more, "
        "well if less.",
        "Contributions to f (ill if f ≥ 0):",
        "                    this case    reference    adds",
        "  all at reference                          -0.500",
        "  age                      61         45.5  +1.000",
        "  job                   nurse  no category  -0.250",
        "  f                                         +0.250",
        "A reference is the value at which a feature is 0 as trained: the mean, if features are "
        "standardised.",
    ]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"flips": ()}, "It is ill whatever the costs."),
        ({"flips": (), "tau_range": (0.1, 0.6)}, "It is ill at every τ from 0.1 to 0.6."),
        (
            {"flips": (Flip(0.25, 3.0, "ill"),)},
            "It flips once: to ill where a miss is worth 3 false alarms (τ = 0.25); from expensive "
            "misses to expensive false alarms.",
        ),
        (
            {"flips": (Flip(0.25, 3.0, "well"), Flip(0.5, 1.0, "ill"), Flip(0.75, 1 / 3, "well"))},
            "It flips 3 times: to well where a miss is worth 3 false alarms (τ = 0.25); to ill "
            "where a miss is worth 1 false alarm (τ = 0.5); to well where a false alarm is worth "
            "3 misses (τ = 0.75); from expensive misses to expensive false alarms.",
        ),
        ({"tau": 0.0}, "at τ = 0, where false alarms cost nothing."),
        ({"tau": 1.0}, "at τ = 1, where misses cost nothing."),
        ({"tau": 1 / 5001}, "where a miss is worth 5000 false alarms."),
        ({"parts": (Part("age", None, 45.5, 1.0),)}, "  age                 missing"),
        (
            {"parts": tuple(Part(f"x{k}", 1.0, 0.0, 0.125) for k in range(13))},
            "  3 more                                  +0.375",
        ),
    ],
)
def test_the_text_of_other_cases(other, said):
    assert said in str(explanation(**other))


def test_the_text_shows_no_control_characters_and_no_forged_lines():
    nasty = "a\x1b[31m\nIt is well whatever the costs. " + "x" * 200
    shown = str(
        explanation(
            positive=nasty,
            decision=nasty,
            constant=nasty,
            parts=(Part(nasty, nasty, nasty, 1.0), Part("", "  ", "b", 1.0)),
        )
    )
    lines = shown.split("\n")
    assert all(line.isprintable() and len(line) < 240 for line in lines)
    assert not any(line.startswith("It is well") for line in lines)
