"""Operating points of models: which rows they are found on, which are refused, and the command."""

import contextlib
import dataclasses
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from command_files import refusal, run, write_halves
from report_pages import payload_of
from taupath.storage.container import read_container, write_container


@pytest.fixture(scope="module")
def cancer():
    """Breast cancer data in two halves: X and y to train on, X and y that are held out."""
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(y == 0, "malignant", "benign")
    X = StandardScaler().fit_transform(X)
    return X[::2], y[::2], X[1::2], y[1::2]


def fitted(cancer, C=0.1, **options):
    return tp.QuantileSVC(C=C, pos_label="malignant", **options).fit(*cancer[:2])


def counted(model, X, y, point):
    """Return the counts of decisions as `predict` makes them."""
    flagged = model.predict(X, tau=point.tau) == "malignant"
    undecided = (model.predict(X, tau=point.tau_low) == "malignant") & ~flagged
    truth, negative = y == "malignant", ~flagged & ~undecided
    each = {
        "tp": flagged & truth,
        "fp": flagged & ~truth,
        "fn": negative & truth,
        "tn": negative & ~truth,
        "undecided_positive": undecided & truth,
        "undecided_negative": undecided & ~truth,
    }
    return {name: int(rows.sum()) for name, rows in each.items()}


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("kernel", "C"), [("linear", 0.1), ("rbf", 1.0)])
@pytest.mark.parametrize(
    "promise",
    [
        {"max_fpr": 0.05},
        {"min_recall": 0.9},
        {"min_precision": 0.85},
        {"max_alarms_per": (45, 100)},
        {"abstain": 0.1, "cost_fn": 2.0},
        {"abstain": 0.2, "max_fpr": 0.05, "min_recall": 0.9},
    ],
)
def test_counts_are_those_of_predict_and_promises_hold_on_the_rows(
    cancer, monotone, kernel, C, promise
):
    *_, X, y = cancer
    model = fitted(cancer, C, monotone=monotone, kernel=kernel)
    point = model.operate(X, y, **promise)
    assert point.guaranteed and point.counts == counted(model, X, y, point)
    n, delta = point.counts, 0.05 / max(len(promise.keys() - {"abstain", "cost_fn"}), 1)
    truth = y == "malignant"
    if "max_fpr" in promise:
        assert binom.cdf(n["fp"], (~truth).sum(), 0.05) <= delta
    if "min_recall" in promise:
        assert binom.cdf(n["fn"], truth.sum(), 0.1) <= delta
    if "max_alarms_per" in promise:
        assert binom.cdf(n["tp"] + n["fp"], len(y), 0.45) <= delta
    if "min_precision" in promise:
        assert binom.sf(n["tp"] - 1, n["tp"] + n["fp"], 0.85) <= delta


def test_a_promise_about_false_alarms_is_kept_by_models_of_real_data():
    # Half of the data trains, the rest is what new rows are drawn from: its rate is the true one.
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:, :6]
    model = tp.QuantileSVC(C=0.1, pos_label=0).fit(X[::2], y[::2])
    X, y = X[1::2], y[1::2]
    rng, broken, draws, delta = np.random.default_rng(0), 0, 200, 0.2
    for _ in range(draws):
        drawn = rng.integers(len(y), size=250)
        tau = model.operate(X[drawn], y[drawn], max_fpr=0.1, delta=delta).tau
        broken += (model.predict(X, tau=tau)[y == 1] == 0).mean() > 0.1
    assert 0 < broken <= binom.ppf(0.999, draws, delta)


def test_pipelines_searches_and_other_classifiers_have_operating_points(cancer):
    X, y, X_new, y_new = cancer
    alone = fitted(cancer).operate(X_new, y_new, max_fpr=0.1)
    svc = tp.QuantileSVC(C=0.1, pos_label="malignant")
    scaled = make_pipeline(StandardScaler(with_mean=False, with_std=False), svc).fit(X, y)
    assert tp.operate(scaled, X_new, y_new, max_fpr=0.1) == alone
    search = GridSearchCV(svc, {"C": [0.1]}, cv=2).fit(X, y)
    assert tp.operate(search, X_new, y_new, max_fpr=0.1) == alone
    logistic = LogisticRegression().fit(X, y)
    point = tp.operate(logistic, X_new, y_new, max_fpr=0.1)
    p = logistic.predict_proba(X_new)[:, 1]
    assert point.counts["fp"] == ((p >= point.tau) & (y_new == "benign")).sum()
    assert "cannot be checked" in point.promise
    with pytest.raises(ValueError, match="285 of these 285 rows were used to train the model"):
        tp.operate(scaled, X, y, max_fpr=0.1)


def test_the_smaller_label_may_be_positive_and_part_of_the_path_is_enough(cancer):
    *_, X, y = cancer
    part = fitted(cancer, tau_range=(0.2, 0.9))
    point = part.operate(X, y, max_fpr=0.1)
    assert 0.2 <= point.tau <= 0.9 and point.counts == counted(part, X, y, point)
    with pytest.raises(tp.NoOperatingPoint, match=r"missed at every τ above 0\.2"):
        part.operate(X, y, min_recall=0.95)
    with pytest.raises(ValueError, match=r"the path has those from 0\.2 to 0\.9"):
        part.operate(X, y, abstain=0.05)
    swapped = tp.QuantileSVC(C=0.1, pos_label="benign").fit(*cancer[:2])
    point = swapped.operate(X, y, min_recall=0.9)
    assert (
        point.counts["fn"] == (swapped.predict(X, tau=point.tau)[y == "benign"] != "benign").sum()
    )


def test_one_class_is_enough_if_the_promise_is_about_it(cancer):
    *_, X, y = cancer
    model, benign = fitted(cancer), y == "benign"
    point = model.operate(X[benign], y[benign], max_fpr=0.05)
    assert point.counts["tp"] + point.counts["fn"] == 0
    with pytest.raises(tp.NoOperatingPoint, match="59 held-out positive rows, there are 0"):
        model.operate(X[benign], y[benign], min_recall=0.95)


def test_training_rows_are_refused_even_if_they_are_few(cancer):
    X, y, X_new, y_new = cancer
    model = fitted(cancer)
    for number in (285, 60, 12, 1):
        mixed = np.vstack((X[:number], X_new)), np.append(y[:number], y_new)
        said = f"^{number} of these {number + 284} rows were used to train the model.*leave these"
        with pytest.raises(ValueError, match=said):
            model.operate(*mixed, max_fpr=0.1)


@pytest.mark.parametrize(("n", "known"), [(50, 12), (200, 5), (1000, 1)])
def test_rows_of_continuous_features_are_never_equal_by_chance(n, known):
    rng = np.random.default_rng(0)
    X, held = rng.standard_normal((n, 3)), rng.standard_normal((300, 3))
    y, truth = (each[:, 0] + rng.standard_normal(len(each)) > 0.5 for each in (X, held))
    model = tp.QuantileSVC(C=0.1).fit(X, y)
    assert model.operate(held, truth, max_fpr=0.2).guaranteed
    with pytest.raises(ValueError, match=f"^{known} of these {300 + known} rows were used to"):
        model.operate(np.vstack((held, X[:known])), np.append(truth, y[:known]), max_fpr=0.2)


def test_rows_of_discrete_features_that_are_equal_by_chance_are_accepted():
    accepted = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, values, width = rng.integers((20, 3, 1), (200, 30, 6))
        X, held = (rng.integers(0, values, (each, width)).astype(float) for each in (n, 300))
        y, truth = (each[:, 0] + rng.standard_normal(len(each)) > values / 2 for each in (X, held))
        model = tp.QuantileSVC(C=0.1).fit(X, y)
        with contextlib.suppress(tp.NoOperatingPoint):  # a refusal is fine, too
            accepted += model.operate(held, truth, max_fpr=0.5).guaranteed
    assert accepted > 30  # a ValueError would have been raised above


def test_out_of_fold_rows_serve_without_a_guarantee(cancer):
    X, y, X_new, y_new = cancer
    model = tp.QuantileSVCCV(
        [0.01, 0.1], cv=4, combine="best", kernel="linear", pos_label="malignant"
    ).fit(X, y)
    point = model.operate(max_fpr=0.1)
    assert not point.guaranteed and "Not guaranteed" in point.promise
    proba = model.probabilities_[list(model.Cs_).index(model.C_)]
    truth = model._truth == "malignant"
    assert point.counts["fp"] == ((proba >= point.tau) & ~truth).sum()
    assert sum(point.counts.values()) == len(y)
    assert model.operate(X_new, y_new, max_fpr=0.1).guaranteed
    with pytest.raises(ValueError, match="use operate with other rows, or without any"):
        model.operate(X, y, max_fpr=0.1)
    weighted = tp.QuantileSVCCV(Cs=[0.1], cv=2).fit(X, y, np.linspace(1, 2, len(y)))
    with pytest.raises(ValueError, match="have weights"):
        weighted.operate(max_fpr=0.1)


def test_what_is_not_for_operating_points_is_refused(cancer):
    X, _, X_new, y_new = cancer
    model = fitted(cancer)
    with pytest.raises(ValueError, match="X is missing"):
        model.operate(max_fpr=0.1)
    with pytest.raises(ValueError, match="y is missing"):
        model.operate(X_new, max_fpr=0.1)
    with pytest.raises(ValueError, match="y is given without X"):
        model.operate(y=y_new, max_fpr=0.1)
    with pytest.raises(ValueError, match="labels that the estimator was not fitted with: 'x'"):
        model.operate(X_new, np.full(len(y_new), "x"), max_fpr=0.1)
    with pytest.raises(ValueError, match="y has 3 labels"):
        model.operate(X_new, y_new[:3], max_fpr=0.1)
    with pytest.raises(TypeError, match="sample_weight"):
        model.operate(X_new, y_new, max_fpr=0.1, sample_weight=np.ones(len(y_new)))
    flowers = load_iris()
    several = tp.QuantileSVC().fit(flowers.data, flowers.target)
    with pytest.raises(ValueError, match="Got 3 classes"):
        several.operate(flowers.data, flowers.target, max_fpr=0.1)
    with pytest.raises(ValueError, match="Got NoneType"):
        tp.operate(None, X_new, y_new, max_fpr=0.1)
    with pytest.raises(ValueError, match="cost_fp and cost_fn are for two classes, not 3"):
        several.predict(flowers.data, cost_fp=1, cost_fn=2)
    numbers = tp.QuantileSVR().fit(X[:50], X[:50, 0])
    assert not hasattr(numbers, "operate")
    with pytest.raises(ValueError, match="Got QuantileSVR"):
        tp.operate(numbers, X, X[:, 0], max_fpr=0.1)


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two halves of the breast cancer data, and models of the first."""
    folder = write_halves(tmp_path_factory.mktemp("operate"))
    how = ("--positive", "malignant", "--C", "1", "--points", "5")
    for name, option in (("folds", ("--folds", 4)), ("bare", ())):
        assert run("fit", folder / "train.csv", "-o", folder / f"{name}.tau", *how, *option) == 0
    return folder


def test_the_command_finds_what_python_finds(folder, capsys):
    capsys.readouterr()
    model, test = tp.load(folder / "bare.tau"), folder / "test.csv"
    point = model.operate(test, max_fpr=0.1, delta=0.1)
    assert run("operate", folder / "bare.tau", test, "--max-fpr", ".1", "--delta", ".1") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{test}: 284 rows; malignant is positive"
    assert said[1:3] == str(point).splitlines()
    assert said[3].endswith(f"--tau {point.tau!r}")
    labels = np.loadtxt(test, delimiter=",", skiprows=1, usecols=4, dtype=str)
    flagged = model.predict(test, tau=point.tau) == "malignant"
    assert point.counts["fp"] == (flagged & (labels == "benign")).sum()
    how = ("--max-alarms-per", "45/100", "--min-recall", "0.6", "--json")
    assert run("operate", folder / "bare.tau", test, *how) == 0
    found = json.loads(capsys.readouterr().out)
    point = model.operate(test, max_alarms_per=(45, 100), min_recall=0.6)
    assert (found["tau"], found["counts"]) == (point.tau, point.counts)
    assert (found["guaranteed"], found["positive"], found["rows"]) == (True, "malignant", 284)
    how = ("--abstain", "1", "--cost-fp", "5", "--cost-fn", "20")
    assert run("operate", folder / "bare.tau", test, *how) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[1].startswith("With rows undecided between τ = 0.05 and 0.8")
    assert "--tau" not in said  # there are two


def test_the_command_uses_what_was_held_out_in_training(folder, capsys):
    capsys.readouterr()
    assert run("operate", folder / "folds.tau", "--max-fpr", "0.1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert not found["guaranteed"] and found["rows"] == 285
    point = tp.load(folder / "folds.tau").operate(max_fpr=0.1)
    assert found["tau"] == point.tau and found["promise"] == point.promise


def test_the_command_says_what_is_wrong(folder, capsys):
    bare, folds, test = folder / "bare.tau", folder / "folds.tau", folder / "test.csv"
    capsys.readouterr()
    said = refusal(capsys, "operate", bare, test)
    assert "nothing is promised: give one of --max-fpr" in said
    assert "has no held-out rows" in refusal(capsys, "operate", bare, "--max-fpr", "0.1")
    said = refusal(capsys, "operate", bare, folder / "train.csv", "--max-fpr", "0.1")
    assert "285 of these 285 rows were used to train the model" in said
    said = refusal(capsys, "operate", folds, folder / "train.csv", "--max-fpr", "0.1")
    assert said.rstrip().endswith("or without any")
    said = refusal(capsys, "operate", bare, test, "--max-fpr", "0.001")
    assert "needs at least 2995 held-out negative rows" in said
    assert "between 0 and 1" in refusal(capsys, "operate", bare, test, "--max-fpr", "5")
    for wrong in ("x", "1/2/3"):
        with pytest.raises(SystemExit):
            run("operate", bare, test, "--max-alarms-per", wrong)
        assert "invalid rate value" in capsys.readouterr().err


# --- in files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize(
    "how", [("--max-fpr", "0.1"), ("--abstain", "1", "--cost-fp", "5", "--cost-fn", "20")]
)
def test_a_file_keeps_its_operating_point_and_predict_decides_there(
    folder, tmp_path, capsys, method, how
):
    file, test = tmp_path / "model.tau", folder / "test.csv"
    fit = ("--positive", "malignant", "--points", "5", "--method", method)
    assert run("fit", folder / "train.csv", "-o", file, *fit) == 0
    before = tp.load(file)
    assert before.operating_point is None
    assert "has no operating point" in refusal_of(capsys, "predict", file, test)
    assert run("operate", file, test, *how, "--save", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    after = tp.load(file)
    point = after.operating_point
    assert dataclasses.asdict(point) == {name: found[name] for name in dataclasses.asdict(point)}
    assert_array_equal(after.predict_proba(str(test)), before.predict_proba(str(test)))
    assert after.trained == before.trained
    assert run("predict", file, test, "--operating-point", "--json", "--proba") == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    flagged = before.predict(str(test), tau=point.tau) == "malignant"
    left = (before.predict(str(test), tau=point.tau_low) == "malignant") & ~flagged
    assert left.any() == ("--abstain" in how)
    expected = np.where(left, None, np.where(flagged, "malignant", "benign"))
    assert columns["prediction"] == expected.tolist()
    assert columns["p(malignant)"] == after.predict_proba(str(test))[:, 1].tolist()
    said = refusal_of(capsys, "predict", file, test, "--tau", "0.2")
    assert "give --operating-point or costs, not both" in said
    assert run("report", file, test, "-o", tmp_path / "report.html") == 0
    shown = dict(payload_of(tmp_path / "report.html")["provenance"])
    assert shown["operating point"] == f"{point.promise} {point.seen()}"
    # a new one takes the place of the old one
    assert run("operate", file, test, "--min-recall", "0.8", "--save") == 0
    assert capsys.readouterr().out.rstrip().endswith("--operating-point")
    assert tp.load(file).operating_point.promise != point.promise


def test_combined_models_keep_their_operating_points(folder, tmp_path, capsys):
    file, test = tmp_path / "model.tau", folder / "test.csv"
    how = ("--positive", "malignant", "--points", "5", "--cv", 3)
    assert run("fit", folder / "train.csv", "-o", file, *how) == 0
    assert run("operate", file, test, "--max-fpr", "0.1", "--save") == 0
    model = tp.load(file)
    assert run("predict", file, test, "--operating-point", "-o", tmp_path / "out.csv") == 0
    decided = np.loadtxt(tmp_path / "out.csv", skiprows=1, dtype=str)
    assert_array_equal(decided, model.predict(str(test), tau=model.operating_point.tau))


def test_a_smaller_model_has_no_operating_point_of_another(folder, tmp_path, capsys):
    file, small = tmp_path / "model.tau", tmp_path / "small.tau"
    how = ("--positive", "malignant", "--points", "5")
    assert run("fit", folder / "train.csv", "-o", file, *how) == 0
    for said in (False, True):
        capsys.readouterr()
        assert run("simplify", file, "-o", small, "--tol", "0.01") == 0
        assert ("the operating point is left out" in capsys.readouterr().out) == said
        assert tp.load(small).operating_point is None
        assert run("operate", file, folder / "test.csv", "--max-fpr", "0.1", "--save") == 0


def test_it_is_said_where_the_model_decides_the_same_for_every_case(cancer):
    X, y, X_new, y_new = (part[:, :2] if part.ndim > 1 else part for part in cancer)
    model = tp.QuantileSVCCV([0.1], cv=3, kernel="linear", pos_label="malignant").fit(X, y)
    model.constant_above_ = 0.6
    point = model.operate(X_new, y_new, max_alarms_per=0.02)
    assert point.tau > 0.6 and point.counts["tp"] + point.counts["fp"] == 0
    assert "the model decides benign for every case: for those held out" in point.promise
    point = model.operate(X_new, y_new, max_fpr=0.3)
    assert point.tau < 0.6 and "every case" not in point.promise
    assert "every case" in model.operate(max_alarms_per=0.02).promise


def test_rows_that_were_held_out_several_times_promise_nothing(cancer):
    X, y = cancer[0][:, :3], cancer[1]
    folds = list(StratifiedKFold(3).split(X, y))
    once, twice = (
        tp.QuantileSVCCV([1.0], kernel="linear", cv=cv).fit(X, y) for cv in (folds, folds * 2)
    )
    assert not once.operate(max_fpr=0.1).guaranteed
    with pytest.raises(ValueError, match="cv held out some rows several times"):
        twice.operate(max_fpr=0.1)


def refusal_of(capsys, *arguments):
    capsys.readouterr()
    return refusal(capsys, *arguments, "--operating-point")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tau", 1.5, "outside of the path"),
        ("tau", -0.1, "outside of the path"),
        ("tau_low", 0.999, "outside of the path"),
        ("tau", "0.5", "tau must be a real number"),
        ("tau", True, "tau must be a real number"),
        ("promise", "line\nline", "not a sentence"),
        ("promise", "x" * 1001, "not a sentence"),
        ("promise", None, "not a sentence"),
        ("guaranteed", 1, "confidence of an operating point"),
        ("delta", 0.0, "confidence of an operating point"),
        ("cost_bound", -1.0, "cannot be bounded by"),
        ("cost_bound", "much", "cost_bound must be a real number"),
        ("counts", {}, "counts of an operating point"),
        ("counts", {"tp": -1}, "counts of an operating point"),
        ("counts", [1, 2], "counts of an operating point"),
    ],
)
def test_operating_points_of_hostile_files_are_refused(
    folder, tmp_path, capsys, name, value, message
):
    file = tmp_path / "model.tau"
    model = tp.load(folder / "bare.tau")
    point = model.operate(str(folder / "test.csv"), max_fpr=0.1)
    dataclasses.replace(model, operating_point=point).save(file)
    content, arrays = read_container(file)
    content["operating_point"][name] = value
    write_container(file, content, arrays)
    with pytest.raises(tp.ModelFileError, match=message) as caught:
        tp.load(file)
    assert "\n" not in str(caught.value)
    content["operating_point"] = "τ"
    write_container(file, content, arrays)
    with pytest.raises(tp.ModelFileError, match="two classes has an operating point"):
        tp.load(file)
