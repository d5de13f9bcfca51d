"""Costs in training: what τ and probabilities then mean, and how costs are passed on."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from command_files import columns_of, in_process, refusal, run, write_halves
from display_models import X_NEW, Y_NEW, X, Y
from taupath import ModelFileError, QuantileSVC, QuantileSVCCV, load, make_cost_scorer
from taupath.storage.container import read_container, write_container

RNG = np.random.default_rng(11)
FP, FN = RNG.uniform(0.1, 3.0, size=len(Y)), RNG.uniform(0.1, 9.0, size=len(Y))
HOLED = np.where(np.arange(len(Y)) == 5, np.nan, FN)
NEW_FP, NEW_FN = RNG.uniform(0.1, 3.0, len(Y_NEW)), RNG.uniform(0.1, 9.0, len(Y_NEW))


def probability(model, X):
    return model.predict_proba(X)[:, model.classes_.tolist().index(model.pos_label_)]


# --- what is estimated ---------------------------------------------------------------------------


def cells(n_cells, n, rng):
    """Return a feature for each cell, its number, and labels and costs with known means in it."""
    cell = rng.integers(n_cells, size=n)
    eta = np.linspace(0.1, 0.9, n_cells)
    miss, alarm = np.linspace(8.0, 1.0, n_cells), np.linspace(1.0, 3.0, n_cells)
    y = (rng.uniform(size=n) < eta[cell]).astype(int)
    cost_fn = miss[cell] * rng.exponential(size=n)
    cost_fp = alarm[cell] * rng.uniform(0.5, 1.5, size=n)
    return np.eye(n_cells)[cell], cell, y, cost_fp, cost_fn, (eta, miss, alarm)


def test_the_crossing_is_the_share_of_the_cost_of_missing_it():
    features, cell, y, cost_fp, cost_fn, _ = cells(5, 400, np.random.default_rng(0))
    model = QuantileSVC(intercept="none").fit(features, y, cost_fp=cost_fp, cost_fn=cost_fn)
    missed = np.bincount(cell, np.where(y == 1, cost_fn, 0.0))
    flagged = np.bincount(cell, np.where(y == 1, 0.0, cost_fp))
    assert_allclose(probability(model, np.eye(5)), missed / (missed + flagged), atol=1e-9)


def test_on_a_simulated_truth_probabilities_approach_the_formula_and_costs_divide_out():
    features, _, y, cost_fp, cost_fn, truth = cells(5, 40_000, np.random.default_rng(1))
    eta, miss, alarm = truth
    model = QuantileSVC(intercept="none").fit(features, y, cost_fp=cost_fp, cost_fn=cost_fn)
    found = probability(model, np.eye(5))
    expected = miss * eta / (miss * eta + alarm * (1.0 - eta))
    assert np.abs(expected - eta).max() > 0.2  # it is not the probability of the class
    assert_allclose(found, expected, atol=0.02)
    back = alarm * found / (alarm * found + miss * (1.0 - found))
    assert_allclose(back, eta, atol=0.02)
    # the decision without costs is the cheapest one in each cell, and others are factors
    cheapest = (miss * eta >= alarm * (1.0 - eta)).astype(int)
    assert_array_equal(model.predict(np.eye(5)), cheapest)
    dearer = (miss * eta >= 3.0 * alarm * (1.0 - eta)).astype(int)
    assert (dearer != cheapest).any()
    assert_array_equal(model.predict(np.eye(5), cost_fp=3, cost_fn=1), dearer)


def test_costs_are_weights_in_units_of_their_mean():
    for pos_label in ("yes", "no"):
        model = QuantileSVC(pos_label=pos_label).fit(X, Y, cost_fp=FP, cost_fn=FN)
        cost = np.where(pos_label == Y, FN, FP)
        same = QuantileSVC(pos_label=pos_label).fit(X, Y, cost / cost.mean())
        assert_allclose(probability(model, X_NEW), probability(same, X_NEW), atol=1e-9)
        cents = QuantileSVC(pos_label=pos_label).fit(X, Y, cost_fp=100 * FP, cost_fn=100 * FN)
        assert_allclose(probability(cents, X_NEW), probability(model, X_NEW), atol=1e-9)
        assert model.costs_in_training_
        assert not same.costs_in_training_


def test_equal_costs_change_nothing_and_weights_are_copies():
    plain = QuantileSVC().fit(X, Y)
    equal = QuantileSVC().fit(X, Y, cost_fp=7, cost_fn=np.full(len(Y), 7.0))
    assert_allclose(probability(equal, X_NEW), probability(plain, X_NEW), atol=1e-12)
    twice = np.random.default_rng(3).integers(1, 3, size=len(Y))
    weighted = QuantileSVC().fit(X, Y, twice, cost_fp=FP, cost_fn=FN)
    rows = np.repeat(np.arange(len(Y)), twice)
    copied = QuantileSVC().fit(X[rows], Y[rows], cost_fp=FP[rows], cost_fn=FN[rows])
    assert_allclose(probability(weighted, X_NEW), probability(copied, X_NEW), atol=1e-8)


def test_a_mistake_that_costs_nothing_does_not_count():
    free = np.where(np.arange(len(Y)) % 3 == 0, 0.0, FN)
    counted = (Y == "no") | (free > 0.0)
    model = QuantileSVC(lam=None).fit(X, Y, cost_fp=FP, cost_fn=free)
    cost = np.where(Y == "yes", free, FP)
    fewer = QuantileSVC().fit(X[counted], Y[counted], cost[counted] / cost.mean())
    assert_allclose(probability(model, X_NEW), probability(fewer, X_NEW), atol=1e-9)


# --- scikit-learn --------------------------------------------------------------------------------


def test_costs_are_routed_through_pipelines_and_folds():
    direct = QuantileSVC().fit(StandardScaler().fit_transform(X), Y, cost_fp=FP, cost_fn=FN)
    new = StandardScaler().fit(X).transform(X_NEW)
    pipe = make_pipeline(StandardScaler(), QuantileSVC())
    pipe.fit(X, Y, quantilesvc__cost_fp=FP, quantilesvc__cost_fn=FN)
    assert_array_equal(pipe.predict_proba(X_NEW), direct.predict_proba(new))
    costs = {"cost_fp": FP, "cost_fn": FN}
    with config_context(enable_metadata_routing=True):
        asks = QuantileSVC().set_fit_request(cost_fp=True, cost_fn=True)
        pipe = make_pipeline(StandardScaler(), asks).fit(X, Y, **costs)
        assert_array_equal(pipe.predict_proba(X_NEW), direct.predict_proba(new))
        asks.set_score_request(cost_fp=True, cost_fn=True)
        scorer = make_cost_scorer().set_score_request(cost_fp=True, cost_fn=True)
        folds = StratifiedKFold(3)
        found = cross_validate(asks, X, Y, params=costs, cv=folds)["test_score"]
        same = cross_validate(asks, X, Y, params=costs, cv=folds, scoring=scorer)["test_score"]
    assert_array_equal(found, same)
    for score, (learn, test) in zip(found, folds.split(X, Y), strict=True):
        model = QuantileSVC().fit(X[learn], Y[learn], cost_fp=FP[learn], cost_fn=FN[learn])
        wrong = model.predict(X[test]) != Y[test]
        cost = np.where(wrong, np.where(Y[test] == "yes", FN[test], FP[test]), 0.0).mean()
        assert score == pytest.approx(-cost)


def test_cross_validation_weighs_training_and_losses_by_costs():
    cost = np.where(Y == "yes", FN, FP)
    search = {"Cs": [0.01, 1.0], "cv": 3, "method": "exact"}
    model = QuantileSVCCV(**search).fit(X, Y, cost_fp=FP, cost_fn=FN)
    same = QuantileSVCCV(**search).fit(X, Y, cost / cost.mean())
    assert_allclose(model.brier_, same.brier_)
    assert_allclose(model.predict_proba(X_NEW), same.predict_proba(X_NEW), atol=1e-9)
    assert model.costs_in_training_


def test_a_model_with_costs_in_it_is_judged_by_its_own_decisions():
    model = QuantileSVC().fit(X, Y, cost_fp=FP, cost_fn=FN)
    wrong = model.predict(X_NEW) != Y_NEW
    cost = np.where(wrong, np.where(Y_NEW == "yes", NEW_FN, NEW_FP), 0.0).mean()
    assert model.score(X_NEW, Y_NEW, cost_fp=NEW_FP, cost_fn=NEW_FN) == pytest.approx(-cost)
    assert make_cost_scorer(NEW_FP, NEW_FN)(model, X_NEW, Y_NEW) == pytest.approx(-cost)


def test_savings_are_shares_of_the_cheaper_constant_decision():
    model = QuantileSVC().fit(X, Y)
    score = make_cost_scorer(NEW_FP, NEW_FN, savings=True)(model, X_NEW, Y_NEW)
    cost = -make_cost_scorer(NEW_FP, NEW_FN)(model, X_NEW, Y_NEW)
    constant = min(NEW_FN[Y_NEW == "yes"].sum(), NEW_FP[Y_NEW == "no"].sum()) / len(Y_NEW)
    assert score == pytest.approx(1.0 - cost / constant)
    always = DummyClassifier(strategy="constant", constant="yes").fit(X, Y)
    assert make_cost_scorer(1, 1e3, savings=True)(always, X_NEW, Y_NEW) == pytest.approx(0.0)
    some = Y_NEW == "no"
    with pytest.raises(ValueError, match="nothing to save"):
        make_cost_scorer(1, 1, savings=True)(model, X_NEW[some], Y_NEW[some])


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fp", "fn", "message"),
    [
        (1, None, "cost_fp and cost_fn go together, cost_fn is missing"),
        (None, FN, "cost_fp and cost_fn go together, cost_fp is missing"),
        (1, -FN, r"cost_fn must not be negative, got -[\d.]+ \(first at \[0\]\)"),
        (-1, 1, "cost_fp must not be negative"),
        (1, HOLED, r"cost_fn must be finite, got nan \(first at \[5\]\)"),
        (np.inf, FN, "cost_fp must be finite, got inf; if .* never be made, give cost_fn=0"),
        (1, FN[:-1], r"cost_fn must be a number or have shape \(120,\)"),
        (FP[:, np.newaxis], 1, r"cost_fp must be a number or have shape \(120,\)"),
        (0, FN, "cost_fp is 0 for every negative sample"),
        (1, np.where(Y == "yes", 0.0, FN), "cost_fn is 0 for every positive sample"),
        (0, 0, "cost_fp is 0 for every negative sample"),
        (1e300, 1e-300, "cost_fn is too small compared with the largest cost"),
    ],
)
@pytest.mark.parametrize("estimator", [QuantileSVC(), QuantileSVCCV([1.0], cv=3)])
def test_costs_that_make_no_sense_are_refused_by_name(estimator, fp, fn, message):
    with pytest.raises(ValueError, match=message) as caught:
        estimator.fit(X, Y, cost_fp=fp, cost_fn=fn)
    assert "\n" not in str(caught.value)
    assert not hasattr(estimator, "classes_")


def test_costs_are_numbers_of_two_classes():
    with pytest.raises(TypeError, match="cost_fn must be a number"):
        QuantileSVC().fit(X, Y, cost_fp=1, cost_fn="amount")
    with pytest.raises(ValueError, match="cost_fp and cost_fn are for two classes, y has 3"):
        QuantileSVC().fit(*load_iris(return_X_y=True), cost_fp=1, cost_fn=2)


# --- files and commands --------------------------------------------------------------------------


def test_a_file_remembers_that_costs_were_in_training(tmp_path):
    file = tmp_path / "model.tau"
    QuantileSVC().fit(X, Y, cost_fp=FP, cost_fn=FN).save(file)
    assert load(file).costs_in_training_
    content, arrays = read_container(file)
    write_container(file, {**content, "costs_in_training": "yes"}, arrays)
    with pytest.raises(ModelFileError, match="costs_in_training is neither true nor false"):
        load(file)
    del content["costs_in_training"]
    write_container(file, content, arrays)
    assert not load(file).costs_in_training_


@pytest.fixture(scope="module")
def payments(tmp_path_factory):
    """A folder with two files that have a column of amounts."""
    folder = write_halves(tmp_path_factory.mktemp("payments"))
    for name in ("train.csv", "test.csv"):
        lines = (folder / name).read_text().split()
        amounts = np.random.default_rng(len(lines)).uniform(1.0, 50.0, len(lines) - 1).round(2)
        rows = [f"{line},{amount}" for line, amount in zip(lines[1:], amounts, strict=True)]
        (folder / name).write_text("\n".join([f"{lines[0]},amount", *rows]))
    return folder


COSTS = ("--cost-fp", 4, "--cost-fn", "amount")
LABELS = ("malignant", "benign")


@pytest.mark.filterwarnings("default:.*was trained with costs:UserWarning")  # is printed
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_the_command_trains_with_a_column_of_costs(payments, tmp_path, capsys, method):
    command = in_process(capsys)
    file, train = tmp_path / "model.tau", payments / "train.csv"
    options = ("--target", "tumour", "--positive", "malignant", "--drop", "amount")
    how = ("--method", method, "--folds", 3)
    said = command("fit", train, "-o", file, *options, *COSTS, *how)
    assert "costs in training: cost_fp = 4, cost_fn = amount; decisions at τ = 0.5" in said
    model = load(file)
    assert model.trained["costs"] == {"cost_fp": 4.0, "cost_fn": "amount"}
    table = np.genfromtxt(train, delimiter=",", names=True, dtype=None, encoding=None)
    features = np.column_stack([table[name] for name in "abcd"])
    own_features = StandardScaler().fit_transform(features)
    own = QuantileSVC(method=method, pos_label="malignant")
    own.fit(own_features, table["tumour"], cost_fp=4, cost_fn=table["amount"])
    found, expected = model.predict_proba(str(train)), own.predict_proba(own_features)
    assert_allclose(found, expected, atol=1e-6)
    assert "certificate holds" in command("certify", file, train)
    # decisions at τ = ½ have the costs in them; giving them again is a mistake
    decided = columns_of(command("predict", file, payments / "test.csv"))["prediction"]
    assert_array_equal(decided, model.predict(str(payments / "test.csv")))
    for name, *more in (("predict", *COSTS), ("explain", "--row", 1)):
        assert run(name, file, payments / "test.csv", *more) == 0
        assert "was trained with costs: costs given now multiply those" in capsys.readouterr().err


def test_the_command_refuses_costs_by_their_name(payments, tmp_path, capsys):
    train, file = payments / "train.csv", tmp_path / "model.tau"
    for options, message in (
        (("--cost-fp", 4), "give both --cost-fp and --cost-fn"),
        (("--cost-fp", 4, "--cost-fn", "price"), "--cost-fn must be a number or a column of"),
        (("--cost-fp", -4, "--cost-fn", "amount"), "cost_fp must not be negative, got -4.0"),
        (("--cost-fp", 4, "--cost-fn", "inf"), "cost_fn must be finite, got inf"),
        (("--cost-fp", 4, "--cost-fn", "tumour"), "is not a number"),
        ((*COSTS, "--task", "regress", "--target", "a"), "cost_fp is for classification"),
    ):
        said = refusal(capsys, "fit", train, "-o", file, "--target", "tumour", *options)
        assert message in said
    assert not file.exists()
    header, first, second, *rest = train.read_text().split()
    negative = tmp_path / "negative.csv"
    negative.write_text("\n".join([header, first, f"{second.rpartition(',')[0]},-3", *rest]))
    assert header.endswith(",amount")
    place = "negative.csv, line 3, column 'amount': a cost must not be negative, got -3"
    assert place in refusal(capsys, "fit", negative, "-o", file, "--target", "tumour", *COSTS)
    assert run("fit", train, "-o", file, "--target", "tumour") == 0
    capsys.readouterr()
    assert place in refusal(capsys, "predict", file, negative, *COSTS)


def with_holes(file, holes, to):
    """Write a file whose last cell is empty in some rows, and those rows alone left out."""
    header, *rows = file.read_text().split()
    holed = [row.rpartition(",")[0] + "," if k in holes else row for k, row in enumerate(rows)]
    (to / "holed.csv").write_text("\n".join([header, *holed]))
    rest = [row for k, row in enumerate(rows) if k not in holes]
    (to / "rest.csv").write_text("\n".join([header, *rest]))
    return to / "holed.csv", to / "rest.csv"


def test_rows_with_missing_costs_are_dropped_if_missing_cells_are(payments, tmp_path, capsys):
    holed, rest = with_holes(payments / "train.csv", {3, 10, 40}, tmp_path)
    command, options = in_process(capsys), ("--target", "tumour", "--drop", "amount", *COSTS)
    drop, files = ("--missing", "drop", "--holdout", 0.3), [tmp_path / "a.tau", tmp_path / "b.tau"]
    assert "left out: 3 rows with missing costs" in command(
        "fit", holed, "-o", files[0], *options, *drop
    )
    assert "left out" not in command("fit", rest, "-o", files[1], *options, *drop)
    proba = [load(file).predict_proba(str(payments / "test.csv")) for file in files]
    assert_array_equal(*proba)
    notes = json.loads(command("fit", holed, "-o", files[0], *options, *drop, "--json"))["notes"]
    assert notes[0] == "left out: 3 rows with missing costs"
    for missing in ("error", "impute"):
        said = refusal(capsys, "fit", holed, "-o", files[0], *options, "--missing", missing)
        assert "column 'amount': the cell is missing" in said
    empty, _ = with_holes(payments / "train.csv", set(range(1000)), tmp_path)
    said = refusal(capsys, "fit", empty, "-o", files[0], *options, *drop)
    assert "column 'amount': the cell is missing" in said


def cost_of(decided, table, fp, fn):
    truth, alarm = table["tumour"] == "malignant", decided == "malignant"
    return (fp * (alarm & ~truth)).sum() + (fn * (truth & ~alarm)).sum()


@pytest.mark.parametrize("trained", [True, False])
def test_an_evaluation_adds_up_the_costs_of_each_row(payments, tmp_path, capsys, trained):
    command, file, test = in_process(capsys), tmp_path / "model.tau", payments / "test.csv"
    options = ("--target", "tumour", "--positive", "malignant", "--drop", "amount")
    command("fit", payments / "train.csv", "-o", file, *options, *(COSTS if trained else ()))
    table = np.genfromtxt(test, delimiter=",", names=True, dtype=None, encoding=None)
    amount = table["amount"]
    model = load(file)
    decided = model.predict(str(test), **({} if trained else {"cost_fp": 4, "cost_fn": "amount"}))
    expected = cost_of(decided, table, 4, amount)
    constant = [cost_of(np.full(len(table), each), table, 4, amount) for each in LABELS]
    found = json.loads(command("evaluate", file, test, *COSTS, "--json"))
    assert found["costs"] == {"cost_fp": 4.0, "cost_fn": "amount"}
    rows = found["amounts"]
    assert [each["cost"] for each in rows.values()] == pytest.approx([expected, *constant])
    saved = 1.0 - expected / min(constant)
    assert rows["model"]["saved"] == pytest.approx(saved)
    said = command("evaluate", file, test, *COSTS)
    assert f"{saved:.1%}" in said
    assert "with cost_fp = 4, cost_fn = amount" in said
    if trained:  # its own costs need not be given, and others may be
        assert command("evaluate", file, test) == said
        assert "made at τ = 0.5" in said
        other = json.loads(
            command("evaluate", file, test, "--cost-fp", 1, "--cost-fn", 2, "--json")
        )
        assert other["amounts"]["model"]["cost"] == cost_of(decided, table, 1, 2)
    command("evaluate", file, test, *COSTS, "-o", tmp_path / "steps.csv")
    assert "tau_from" in (tmp_path / "steps.csv").read_text()


@pytest.mark.filterwarnings("default:.*missing costs left out:UserWarning")  # is printed
def test_an_evaluation_says_what_is_wrong_with_costs(payments, tmp_path, capsys):
    command, file, test = in_process(capsys), tmp_path / "model.tau", payments / "test.csv"
    options = ("--target", "tumour", "--drop", "amount", "--missing", "drop", *COSTS)
    command("fit", payments / "train.csv", "-o", file, *options)
    without = tmp_path / "without.csv"
    without.write_text("\n".join(row.rpartition(",")[0] for row in test.read_text().split()))
    said = refusal(capsys, "evaluate", file, without)
    assert "--cost-fn must be a number or a column of" in said
    assert "got 'amount'" in said
    assert "give both" in refusal(capsys, "evaluate", file, test, "--cost-fp", 4)
    holed, rest = with_holes(test, {1, 5}, tmp_path)
    assert run("evaluate", file, holed) == 0
    found, error = capsys.readouterr()
    assert "2 rows with missing costs left out" in error
    assert found.partition("\n")[2] == command("evaluate", file, rest).partition("\n")[2]


@pytest.mark.filterwarnings("default:.*was trained with costs:UserWarning")  # is printed
def test_held_out_figures_have_no_amounts(payments, tmp_path, capsys):
    command, file, train = in_process(capsys), tmp_path / "model.tau", payments / "train.csv"
    how = ("--target", "tumour", "--drop", "amount", *COSTS, "--folds", 3)
    command("fit", train, "-o", file, *how)
    for data in ((), (train,)):
        assert run("evaluate", file, *data) == 0
        out, error = capsys.readouterr()
        assert "was trained with costs" in error
        assert "miss : alarm" in out
    said = refusal(capsys, "evaluate", file, train, *COSTS)
    assert "held-out figures" in said


def test_a_record_with_costs_that_are_none_is_refused(payments, tmp_path, capsys):
    file = tmp_path / "model.tau"
    in_process(capsys)("fit", payments / "train.csv", "-o", file, "--target", "tumour", *COSTS)
    content, arrays = read_container(file)
    for costs in ({"cost_fp": [1.0]}, {"price": 1.0}, "amount"):
        content["trained"]["costs"] = costs
        write_container(file, content, arrays)
        with pytest.raises(ModelFileError, match="record of the training"):
            load(file)
