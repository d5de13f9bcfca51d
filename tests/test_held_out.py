"""Held-out figures: each row is judged by a model that knows nothing of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

import taupath as tp
from damage import ANYTHING, altered, flipped
from hostile import places
from taupath.exceptions import ModelFileError
from taupath.models import training
from taupath.models.evaluation import scores_of
from taupath.models.from_sklearn import model_of
from taupath.models.holding_out import hold_out
from taupath.models.model import Model
from taupath.models.training import train
from taupath.outcomes.held_out import joined, outcomes_of
from taupath.outcomes.rates import rates_of_estimator
from taupath.preparation import Preparation
from taupath.storage.container import read_container, write_container
from taupath.tables import Table

TAUS = np.linspace(0.05, 0.95, 19)


def two_classes(n=90, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) * [1.0, 5.0, 0.1] + shift * y[:, np.newaxis], y


def table_of(X, y):
    columns = {f"x{k}": column for k, column in enumerate(np.asarray(X, dtype=float).T)}
    return Table("made up", columns={**columns, "y": np.asarray(y, dtype=float)})


def held_out(table, options=None, how=None, **given):
    how = {"task": "classify", "standardize": True, **(how or {})}
    options = {"kernel": "linear", **(options or {})}
    return hold_out(table, Preparation.learn(table, **how), how, options, **given)


def same_counts(rates, expected):
    assert_allclose(rates.at(TAUS), expected)


# -- outcomes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how", [{}, {"kernel": "rbf"}, {"monotone": True}, {"tau_range": (0.3, 0.6)}, {"pos_label": 0}]
)
def test_outcomes_have_the_rates_and_probabilities_of_the_model(how):
    X, y = two_classes()
    model = tp.QuantileSVC(**({"tau": 0.4} | how)).fit(X[:60], y[:60])
    outcomes = outcomes_of(model, X[60:], y[60:])
    rates = rates_of_estimator(model, X[60:], y[60:])
    assert_allclose(outcomes.rates().at(TAUS), rates.at(TAUS))
    proba = model.predict_proba(X[60:])
    expected = proba if model.pos_label_ == 1 else proba[:, ::-1]
    assert_allclose(outcomes.probabilities(), expected, atol=1e-12)


def test_outcomes_of_several_classes_decide_as_the_model_does():
    X, y = load_iris(return_X_y=True)
    model = tp.QuantileSVC().fit(X[::2], y[::2])
    outcomes = outcomes_of(model, X[1::2], y[1::2])
    costs = np.array([[0, 1, 5], [1, 0, 9], [3, 1, 0]])
    assert np.array_equal(outcomes.decided(), model.predict(X[1::2]))
    assert np.array_equal(outcomes.decided(costs), model.predict(X[1::2], cost_matrix=costs))


@pytest.mark.parametrize("how", [{}, {"monotone": True}])
def test_parts_that_are_joined_count_as_the_whole_and_cannot_be_told_by_their_order(how):
    X, y = two_classes()
    model = tp.QuantileSVC(**how).fit(X, y)
    whole = outcomes_of(model, X, y)
    parts = joined([outcomes_of(model, X[some], y[some]) for some in np.split(np.arange(90), 3)])
    same_counts(parts.rates(), whole.rates().at(TAUS))
    assert scores_of(parts) == pytest.approx(scores_of(whole))
    shuffled = np.random.default_rng(0).permutation(90)
    other = joined([outcomes_of(model, X[shuffled], y[shuffled])])
    assert np.array_equal(other.truth, parts.truth)
    for one, another in zip(other.changes, parts.changes, strict=True):
        assert np.array_equal(one, another)


def test_parts_of_a_regression_that_are_joined_have_the_losses_of_the_whole():
    X, y = two_classes()
    y = X[:, 0] + np.random.default_rng(1).exponential(size=90)
    model = tp.QuantileSVR(C=10.0).fit(X, y)
    whole = outcomes_of(model, X, y)
    parts = joined([outcomes_of(model, X[some], y[some]) for some in (slice(50), slice(50, 90))])
    for name, column in whole.quantiles.items():
        assert_allclose(parts.quantiles[name], column, atol=1e-12)
    assert parts.coverage == pytest.approx(whole.coverage)


# -- holding out -------------------------------------------------------------------------------


def by_hand(X, y, splits, **how):
    """Return true and false positives of models whose features are scaled by their own rows."""
    total = np.zeros((2, len(TAUS)))
    for known, judged in splits:
        scaler = StandardScaler().fit(X[known])
        model = tp.QuantileSVC(**how).fit(scaler.transform(X[known]), y[known])
        rest = scaler.transform(X[judged])
        decided = np.array([model.decision_function(rest, tau) >= 0.0 for tau in TAUS])
        total += [decided[:, y[judged] == 1].sum(axis=1), decided[:, y[judged] == 0].sum(axis=1)]
    return total


def test_folds_are_those_of_models_trained_without_their_rows():
    X, y = two_classes()
    found = held_out(table_of(X, y), {"C": 0.3}, folds=4)
    splits = StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)
    same_counts(found.outcomes.rates(), by_hand(X, y, splits, C=0.3))
    assert (found.outcomes.n_rows, found.folds, found.share) == (90, 4, 0.25)
    assert found.seconds > 0.0


def test_a_part_that_is_held_out():
    X, y = two_classes()
    found = held_out(table_of(X, y), share=0.3)
    splits = StratifiedShuffleSplit(1, test_size=0.3, random_state=0).split(X, y)
    same_counts(found.outcomes.rates(), by_hand(X, y, splits))
    assert (found.outcomes.n_rows, found.folds, found.share) == (27, 0, 0.3)


def test_noise_is_not_predicted_out_of_fold_though_it_is_in_sample():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 60)), np.arange(120) % 2
    table = table_of(X, y)
    honest = scores_of(held_out(table, {"C": 10.0}, folds=5).outcomes)["brier"]
    preparation = Preparation.learn(table, standardize=True)
    model, _ = train(table, preparation, {"kernel": "linear", "C": 10.0}, points=2)
    features = preparation.features(table)
    flattering = scores_of(outcomes_of(model.estimator, features, y))["brier"]
    assert flattering < 0.15 < 0.3 < honest


def test_the_record_of_a_training_does_not_depend_on_who_writes_it():
    table = table_of(*two_classes())
    preparation = Preparation.learn(table)
    for options in ({}, {"method": "approximate", "tol": 0.01}):
        model, _ = train(table, preparation, {"kernel": "linear", **options}, points=2)
        record = model_of(model.estimator).trained
        assert record == {name: model.trained[name] for name in record}
        assert model.trained.keys() > record.keys() > {"rows", "C", "kinks", "tol", "taupath"}


def test_c_is_chosen_inside_of_each_fold(monkeypatch):
    X, y = two_classes()
    seen = []
    real = training._combined

    def choose(X, y, *how):
        seen.append(len(y))
        return real(X, y, *how)

    monkeypatch.setattr(training, "_combined", choose)
    found = held_out(table_of(X, y), cv=2, folds=3)
    assert seen == [60, 60, 60]
    total = np.zeros((2, len(TAUS)))
    for known, judged in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[known])
        model = tp.QuantileSVCCV(cv=2, standardize=False)
        model.fit(scaler.transform(X[known]), y[known])
        rates = rates_of_estimator(model, scaler.transform(X[judged]), y[judged])
        total += rates.at(TAUS)
    same_counts(found.outcomes.rates(), total)


def test_fills_and_categories_are_learned_inside_of_each_fold():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    age = rng.normal(size=60) + y
    age[[3, 10, 31]] = np.nan
    job = np.array([("clerk", "smith")[k % 2] for k in rng.integers(0, 2, 60)], dtype=object)
    job[7] = "nurse"  # unseen by the model that judges this row
    code = np.array([str(k % 3) for k in range(60)], dtype=object)
    code[5] = "x"  # without this row the column would look like numbers
    table = Table("made up", columns={"age": age, "job": job, "code": code, "ill": y.astype(float)})
    how = {"missing": "impute", "target": "ill"}
    found = held_out(table, {"C": 0.5}, how, folds=3)
    total = np.zeros((2, len(TAUS)))
    for known, judged in StratifiedKFold(3, shuffle=True, random_state=0).split(y, y):
        fill = np.median(age[known][~np.isnan(age[known])])

        def features(rows, known=known, fill=fill):
            numbers = np.where(np.isnan(age[rows]), fill, age[rows])[:, np.newaxis]
            filled = np.where(np.isnan(age[known]), fill, age[known])
            scaler = StandardScaler().fit(filled[:, np.newaxis])
            texts = [
                (column[rows] == name).astype(float)
                for column in (job, code)
                for name in sorted(set(column[known]))
            ]
            return np.column_stack((scaler.transform(numbers), *texts))

        model = tp.QuantileSVC(C=0.5).fit(features(known), y[known])
        total += rates_of_estimator(model, features(judged), y[judged]).at(TAUS)
    same_counts(found.outcomes.rates(), total)


def test_several_classes_and_a_regression():
    X, y = load_iris(return_X_y=True)
    found = held_out(table_of(X, y), folds=3).outcomes
    total = np.zeros((3, 3))
    for known, judged in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[known])
        model = tp.QuantileSVC().fit(scaler.transform(X[known]), y[known])
        np.add.at(total, (y[judged], model.predict(scaler.transform(X[judged]))), 1)
    counted = np.zeros((3, 3))
    np.add.at(counted, (found.truth, found.decided()), 1)
    assert np.array_equal(counted, total)
    size = X[:, 2]
    table = table_of(X[:, [0, 1, 3]], size)
    options = {"C": 5.0, "conformal": 3}
    found = held_out(table, options, {"task": "regress"}, folds=3).outcomes
    losses, covered = [], []
    for known, judged in KFold(3, shuffle=True, random_state=0).split(X):
        scaler = StandardScaler().fit(X[known][:, [0, 1, 3]])
        features = [scaler.transform(X[rows][:, [0, 1, 3]]) for rows in (known, judged)]
        model = tp.QuantileSVR(kernel="linear", **options).fit(features[0], size[known])
        off = size[judged] - model.predict(features[1], quantile=0.9)
        losses += np.where(off > 0.0, 0.9 * off, -0.1 * off).tolist()
        low, high = model.predict_interval(features[1], 0.8).T
        covered += ((low <= size[judged]) & (size[judged] <= high)).tolist()
    k = int(np.flatnonzero(found.quantiles["quantile"] == 0.9)[0])
    assert found.quantiles["pinball"][k] == pytest.approx(np.mean(losses))
    assert found.coverage[0.8] == pytest.approx(np.mean(covered))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"folds": 1}, "folds must be between 2 and the number of rows, 90; got 1"),
        ({"folds": 91}, "folds must be between 2"),
        ({"share": 0.0}, "must lie between 0 and 1, got 0.0"),
        ({"share": 1.0}, "must lie between 0 and 1"),
        ({"folds": 5}, "class 1 has 3 rows, too few to hold out some in 5 parts"),
    ],
)
def test_what_cannot_be_held_out_is_refused(given, message):
    X, _ = two_classes()
    with pytest.raises(ValueError, match=message):
        held_out(table_of(X, np.arange(90) < 3), **given)


def test_a_column_that_is_empty_in_one_part_is_left_out_there():
    X, y = two_classes()
    X[:, 2] = np.nan
    X[7, 2] = 5.0
    found = held_out(table_of(X, y), how={"missing": "impute"}, folds=5)
    assert found.outcomes.n_rows == len(y)


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_a_share_of_the_rows_that_leaves_a_part_without_a_class_is_refused(share):
    with pytest.raises(ValueError, match=f"a share of {share} cannot be held out: both parts need"):
        held_out(table_of(*two_classes()), share=share)


# -- files -------------------------------------------------------------------------------------


def stored_models():
    X, y = two_classes()
    iris = load_iris(return_X_y=True)
    tables = {
        "two": (table_of(X, y), {}, {}),
        "monotone": (table_of(X, y), {"monotone": True}, {}),
        "part": (table_of(X, y), {"tau_range": (0.2, 0.7)}, {}),
        "several": (table_of(*iris), {}, {}),
        "regression": (table_of(X, X[:, 0] ** 2), {"C": 3.0}, {"task": "regress"}),
    }
    for name, (table, options, how) in tables.items():
        how = {"task": "classify", "standardize": True, **how}
        preparation = Preparation.learn(table, **how)
        options = {"kernel": "linear", **options}
        model, _ = train(table, preparation, options, points=2)
        results = hold_out(table, preparation, how, options, folds=3)
        yield name, Model(model.estimator, preparation, model.trained, results)


@pytest.fixture(scope="module")
def models():
    return dict(stored_models())


@pytest.mark.parametrize("name", ["two", "monotone", "part", "several", "regression"])
def test_figures_are_stored_with_the_model(models, name, tmp_path):
    model = models[name]
    model.save(tmp_path / "model.tau")
    before, after = model.held_out, tp.load(tmp_path / "model.tau").held_out
    assert (after.folds, after.share, after.seconds) == (before.folds, before.share, before.seconds)
    one, other = before.outcomes, after.outcomes
    assert np.array_equal(one.truth, other.truth) and one.truth.dtype == other.truth.dtype
    assert (one.walked, one.coverage) == (other.walked, other.coverage)
    if one.changes is not None:
        assert all(np.array_equal(*pair) for pair in zip(one.changes, other.changes, strict=True))
        assert np.array_equal(one.probabilities(), other.probabilities())
    if one.proba is not None:
        assert np.array_equal(one.proba, other.proba)
    if one.quantiles is not None:
        assert all(np.array_equal(one.quantiles[k], other.quantiles[k]) for k in one.quantiles)
    assert "held_out" not in str(after.outcomes.truth)


@pytest.mark.parametrize("name", ["two", "several", "regression"])
def test_descriptions_and_numbers_altered_never_crash(models, name, tmp_path):
    models[name].save(tmp_path / "model.tau")
    content, arrays = read_container(tmp_path / "model.tau")
    refused = 0
    for place in places(content["held_out"], ("held_out",)):
        for value in ANYTHING:
            write_container(tmp_path / "other.tau", altered(content, place, value), arrays)
            try:
                loaded = tp.load(tmp_path / "other.tau").held_out
            except ModelFileError:
                refused += 1
            else:
                if loaded is not None and loaded.outcomes.changes is not None:
                    loaded.outcomes.rates().at(TAUS)
                    loaded.in_words()
    assert refused > 30
    rng = np.random.default_rng(0)
    names = [
        value
        for part in (content["held_out"], content["held_out"].get("changes", {}))
        for value in part.values()
        if isinstance(value, str)
    ]
    for _ in range(100):
        some = flipped({each: arrays[each] for each in names}, rng)
        write_container(tmp_path / "other.tau", content, {**arrays, **some})
        try:
            loaded = tp.load(tmp_path / "other.tau").held_out.outcomes
        except ModelFileError:
            continue
        if loaded.changes is not None:
            loaded.rates().at(TAUS)
        if loaded.quantiles is None:
            loaded.probabilities()
