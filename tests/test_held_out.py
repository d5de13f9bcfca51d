"""Held-out figures: each row is judged by a model that knows nothing of it."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import KFold, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from damage import ANYTHING, altered, entries, flipped
from taupath import cli
from taupath.display.rates import rates_of_estimator
from taupath.estimators.training_rows import share_seen
from taupath.exceptions import ModelFileError
from taupath.models import training
from taupath.models.evaluation import scores_of
from taupath.models.from_sklearn import model_of
from taupath.models.holding_out import hold_out
from taupath.models.model import Model
from taupath.models.training import train
from taupath.outcomes.held_out import joined, outcomes_of
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
    real = training._choose_for_classes

    def choose(X, y, *how):
        seen.append(len(y))
        return real(X, y, *how)

    monkeypatch.setattr(training, "_choose_for_classes", choose)
    monkeypatch.setattr(training, "CS", np.array([0.01, 1.0]))
    found = held_out(table_of(X, y), cv=2, folds=3)
    assert seen == [60, 60, 60]
    total = np.zeros((2, len(TAUS)))
    for known, judged in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[known])
        model = tp.QuantileSVCCV([0.01, 1.0], cv=2).fit(scaler.transform(X[known]), y[known])
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
    for place in entries(content["held_out"], ("held_out",)):
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


# -- commands ----------------------------------------------------------------------------------


def run(*arguments):
    return cli.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two halves of the breast cancer data, and models of the first."""
    folder = tmp_path_factory.mktemp("held")
    data = load_breast_cancer()
    for name, rows in (("train.csv", slice(0, None, 2)), ("test.csv", slice(1, None, 2))):
        with open(folder / name, "w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["a", "b", "c", "d", "tumour"])
            labels = data.target_names[data.target]
            for row, label in zip(data.data[rows, :4].tolist(), labels[rows], strict=True):
                writer.writerow([*row, label])
    how = ("--positive", "malignant", "--C", "1", "--points", "5")
    for name, option in (("folds", ("--folds", 4)), ("part", ("--holdout", 0.3)), ("bare", ())):
        assert run("fit", folder / "train.csv", "-o", folder / f"{name}.tau", *how, *option) == 0
    return folder


def test_fit_says_what_was_held_out_and_what_the_model_is_of(folder, tmp_path, capsys):
    train = folder / "train.csv"
    how = ("--positive", "malignant", "--points", "5")
    assert run("fit", train, "-o", tmp_path / "m.tau", "--folds", "3", *how) == 0
    said = capsys.readouterr().out
    assert "3 folds held out in " in said and "trained on all rows" in said
    assert run("fit", train, "-o", tmp_path / "m.tau", "--holdout", "0.3", *how, "--json") == 0
    told = json.loads(capsys.readouterr().out)["held out"]
    assert (told["folds"], told["share"]) == (0, 0.3)
    with pytest.raises(SystemExit):
        run("fit", train, "-o", tmp_path / "m.tau", "--folds", "3", "--holdout", "0.3")
    assert "not allowed with" in capsys.readouterr().err
    assert run("fit", train, "-o", tmp_path / "m.tau", "--holdout", "3") == 1
    assert "must lie between 0 and 1, got 3.0" in capsys.readouterr().err


def test_evaluate_without_data_shows_what_was_held_out(folder, capsys):
    assert run("evaluate", folder / "folds.tau") == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("out-of-fold figures from training: 285 rows")
    assert run("evaluate", folder / "folds.tau", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["held_out"] and found["rows"] == 285
    rates = tp.load(folder / "folds.tau").held_out.outcomes.rates()
    assert np.array_equal(found["at"]["tp"], rates.at(np.array(found["at"]["tau"]))[0])
    assert run("evaluate", folder / "part.tau") == 0
    said = capsys.readouterr().out
    assert said.startswith("held-out figures from training: 86 rows, 30% of the file")
    assert "the stored model was trained on all" in said
    assert run("evaluate", folder / "bare.tau") == 1
    assert "train with --folds 5 or --holdout 0.3" in capsys.readouterr().err


def test_the_training_file_is_recognised(folder, capsys):
    assert run("evaluate", folder / "bare.tau", folder / "train.csv") == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == (
        "100 % of these rows were used to train the model; the figures are in-sample and too good"
    )
    assert run("evaluate", folder / "bare.tau", folder / "test.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["share_trained_on"], found["note"], found["held_out"]) == (0.0, None, False)


def test_for_the_training_file_held_out_figures_are_shown_instead(folder, capsys):
    assert run("evaluate", folder / "folds.tau", "--json") == 0
    alone = json.loads(capsys.readouterr().out)
    assert run("evaluate", folder / "folds.tau", folder / "train.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["at"] == alone["at"] and found["held_out"]
    assert found["share_trained_on"] == 1.0
    assert found["note"].startswith("100 % of the rows of ")
    assert run("evaluate", folder / "folds.tau", folder / "test.csv", "--json") == 0
    other = json.loads(capsys.readouterr().out)
    assert other["at"] != alone["at"] and not other["held_out"]


def test_steps_and_pictures_of_what_was_held_out(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    files = ("-o", tmp_path / "steps.csv", "--picture", tmp_path / "p.svg")
    assert run("evaluate", folder / "folds.tau", "--cost-fp", 2, "--cost-fn", 9, *files) == 0
    rates = tp.load(folder / "folds.tau").held_out.outcomes.rates()
    with open(tmp_path / "steps.csv") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows[:: len(rows) // 5]:
        true, false = rates.at(np.array([0.5 * (float(row["tau_from"]) + float(row["tau_to"]))]))
        assert (float(row["tp"]), float(row["fp"])) == (true[0], false[0])
        assert float(row["cost"]) == 2.0 * false[0] + 9.0 * (rates.n_positive - true[0])
    assert (tmp_path / "p.svg").read_bytes().startswith(b"<?xml")
    capsys.readouterr()


def test_simplifying_keeps_the_figures(folder, tmp_path, capsys):
    assert run("simplify", folder / "folds.tau", "-o", tmp_path / "small.tau", "--tol", "1e-3") == 0
    capsys.readouterr()
    assert run("evaluate", tmp_path / "small.tau", "--json") == 0
    small = json.loads(capsys.readouterr().out)
    assert run("evaluate", folder / "folds.tau", "--json") == 0
    assert small["at"] == json.loads(capsys.readouterr().out)["at"]
    assert run("evaluate", tmp_path / "small.tau", folder / "train.csv") == 0
    assert capsys.readouterr().out.startswith("100 % of the rows of ")


@pytest.mark.filterwarnings("always::taupath.ConstantDecisionWarning")
def test_a_constant_decision_is_said(folder, tmp_path, capsys):
    model = tmp_path / "weak.tau"
    options = ("--positive", "malignant", "--C", "0.1", "--points", "5")
    assert run("fit", folder / "train.csv", "-o", model, *options) == 0
    capsys.readouterr()
    assert run("evaluate", model, folder / "test.csv") == 0
    out, err = capsys.readouterr()
    assert "the model decides benign for every row, those of training included" in out
    assert err == ""
    assert run("evaluate", model, folder / "test.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    for tau, alarms, label in zip(
        found["at"]["tau"],
        np.add(found["at"]["tp"], found["at"]["fp"]),
        found["constant"],
        strict=True,
    ):
        assert (label == "benign") == (alarms == 0), tau
    for data in ("test.csv", "train.csv"):
        out = tmp_path / "out.csv"
        costs = ("--cost-fp", 99, "--cost-fn", 1)
        assert run("predict", model, folder / data, *costs, "-o", out) == 0
        _, err = capsys.readouterr()
        assert err.count("warning: at τ = 0.99 the model decides 'benign' for every case") == 1
    assert run("predict", folder / "bare.tau", folder / "test.csv", "-o", out) == 0
    assert "warning" not in capsys.readouterr().err


def test_a_loaded_model_has_the_table_of_the_command_in_python(folder, capsys):
    test = folder / "test.csv"
    assert run("evaluate", folder / "bare.tau", test, "--json") == 0
    shown = json.loads(capsys.readouterr().out)["at"]
    model = tp.load(folder / "bare.tau")
    frame = pd.read_csv(test)
    for X, y in ((test, None), (frame, None), (frame.drop(columns="tumour"), frame["tumour"])):
        found = tp.evaluate(model, X, y)
        assert list(found) == list(shown)
        assert all(np.allclose(found[name], shown[name], rtol=0, atol=0) for name in found)
    assert pd.DataFrame(found).shape == (13, 14)
    assert (share_seen(model, test), share_seen(model, folder / "train.csv")) == (0.0, 1.0)


def test_a_saved_pipeline_is_evaluated_honestly_on_raw_files(folder, tmp_path, capsys):
    frame = pd.read_csv(folder / "train.csv")
    X, y = frame.drop(columns="tumour"), frame["tumour"]
    piped = make_pipeline(StandardScaler(), tp.QuantileSVC(pos_label="malignant")).fit(X, y)
    tp.save(piped, tmp_path / "piped.tau")
    where = (tmp_path / "piped.tau", folder / "train.csv", "--target", "tumour")
    assert run("evaluate", *where, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["share_trained_on"] == 1.0 and "in-sample" in found["note"]
    expected = tp.evaluate(piped, X, y)
    assert found["at"]["fn"] == expected["fn"].tolist()
    assert found["at"]["cost"] == expected["cost"].tolist()


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
