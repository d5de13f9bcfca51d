"""What `taupath fit` writes, in Python: data frames, columns and raw files give equal numbers."""

import csv
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    get_scorer,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import taupath as tp
from taupath import cli
from taupath.tables import TableError, as_table

JOBS = ("clerk", "smith", "nurse")


def run(*arguments):
    return cli.main([str(argument) for argument in arguments])


def people(n=90, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(45.0, 12.0, n).round(2)
    job = np.array(JOBS)[rng.integers(0, 3, n)]
    dose = rng.integers(0, 6, n)
    signal = 0.08 * (age - 45.0) + 0.6 * (dose - 2.5) + (job == "nurse") + rng.normal(0, 0.7, n)
    return pd.DataFrame(
        {
            "age": age,
            "job": job,
            "dose": dose,
            "amount": rng.uniform(1.0, 50.0, n).round(1),
            "state": np.where(signal > 0.3, "ill", "well"),
            "grade": np.array(["c", "a", "b"])[np.digitize(signal, [-0.5, 0.8])],
            "wage": (20.0 + 4.0 * signal).round(3),
        }
    )


def written(path):
    with open(path, newline="") as stream:
        header, *rows = csv.reader(stream)
    return dict(zip(header, zip(*rows, strict=True), strict=True))


FEATURES = ["age", "job", "dose", "amount"]
FITS = {
    "two": ("--target", "state", "--positive", "ill"),
    "three": ("--target", "grade"),
    "wages": ("--target", "wage", "--task", "regress"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    people(40, seed=1).to_csv(folder / "new.csv", index=False)
    for name, options in FITS.items():
        people()[[*FEATURES, options[1]]].to_csv(folder / "train.csv", index=False)
        assert run("fit", folder / "train.csv", "-o", folder / f"{name}.tau", *options) == 0
    return folder


def forms(folder):
    """Return the same rows as a file, data frames and columns in another order."""
    frame = people(40, seed=1)
    return {
        "file": folder / "new.csv",
        "name": str(folder / "new.csv"),
        "pandas": frame,
        "pandas, turned round": frame[frame.columns[::-1]].assign(more=1.0),
        "pandas, categories": frame.astype({"job": "category", "dose": "Int64"}),
        "polars": pl.from_pandas(frame),
        "dict": {name: frame[name].tolist() for name in ("job", "amount", "dose", "age")},
        "table": as_table(frame),
    }


def predict(folder, model, *options):
    out = folder / "out.csv"
    assert run("predict", folder / f"{model}.tau", folder / "new.csv", "-o", out, *options) == 0
    return written(out)


# -- equal numbers -----------------------------------------------------------------------------


def test_two_classes_predict_as_the_command_line_does(folder, capsys):
    model = tp.load(folder / "two.tau")
    assert model.classes_.tolist() == ["ill", "well"]
    assert model.pos_label_ == "ill"
    plain = predict(folder, "two", "--proba")
    costly = predict(folder, "two", "--cost-fp", "1", "--cost-fn", "20")
    by_row = predict(folder, "two", "--cost-fp", "5", "--cost-fn", "amount")
    amount = people(40, seed=1)["amount"]
    for name, rows in forms(folder).items():
        assert model.predict(rows).tolist() == list(plain["prediction"]), name
        proba = model.predict_proba(rows)
        assert proba[:, 0].tolist() == [float(p) for p in plain["p(ill)"]], name
        assert proba[:, 1].tolist() == [float(p) for p in plain["p(well)"]], name
        labels = model.predict(rows, cost_fp=1, cost_fn=20)
        assert labels.tolist() == list(costly["prediction"]), name
        assert model.predict(rows, tau=1 / 21).tolist() == labels.tolist()
        for cost in ("amount", amount):
            labels = model.predict(rows, cost_fp=5, cost_fn=cost)
            assert labels.tolist() == list(by_row["prediction"]), name
    assert costly["prediction"].count("ill") > plain["prediction"].count("ill")


def test_three_classes_predict_as_the_command_line_does(folder, capsys):
    model = tp.load(folder / "three.tau")
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert not hasattr(model, "pos_label_") and not hasattr(model, "path_")
    costs = pd.DataFrame([[0, 1, 9], [2, 0, 1], [5, 1, 0]], columns=list("abc"))
    costs.to_csv(folder / "costs.csv", index=False)
    plain = predict(folder, "three", "--proba")
    costly = predict(folder, "three", "--cost-matrix", folder / "costs.csv")
    for rows in forms(folder).values():
        assert model.predict(rows).tolist() == list(plain["prediction"])
        for label, p in zip(model.classes_, model.predict_proba(rows).T, strict=True):
            assert p.tolist() == [float(text) for text in plain[f"p({label})"]]
        labels = model.predict(rows, cost_matrix=costs)
        assert labels.tolist() == list(costly["prediction"])
    assert plain["prediction"] != costly["prediction"]
    with pytest.raises(ValueError, match="two classes"):
        model.predict(rows, tau=0.2)


def test_quantiles_and_intervals_are_those_of_the_command_line(folder, capsys):
    model = tp.load(folder / "wages.tau")
    found = predict(folder, "wages", "--quantiles", "0.1", "0.5", "0.9", "--coverage", "0.8")
    for rows in forms(folder).values():
        values = model.predict(rows, quantile=[0.1, 0.5, 0.9])
        for name, column in zip(("q0.1", "q0.5", "q0.9"), values.T, strict=True):
            assert column.tolist() == [float(text) for text in found[name]]
        interval = model.predict_interval(rows, 0.8)
        assert interval[:, 0].tolist() == [float(text) for text in found["lower"]]
        assert interval[:, 1].tolist() == [float(text) for text in found["upper"]]
        np.testing.assert_allclose(model.predict(rows), values[:, 1], rtol=1e-12)


def test_a_cost_matrix_is_in_the_order_of_the_classes(folder):
    model, rows = tp.load(folder / "two.tau"), folder / "new.csv"
    assert model.labels == ["well", "ill"]  # the estimator's order is another one
    # an ill one taken for well costs 20
    by_matrix = model.predict(rows, cost_matrix=[[0, 20], [1, 0]])
    assert by_matrix.tolist() == model.predict(rows, cost_fp=1, cost_fn=20).tolist()
    with pytest.raises(ValueError, match="cost_matrix must have shape"):
        model.predict(rows, cost_matrix=[[0, 1, 2]] * 3)


def test_the_sign_of_decisions_follows_the_classes(folder):
    model, rows = tp.load(folder / "two.tau"), folder / "new.csv"
    for tau in (None, 0.2, "share"):
        data = as_table(rows) if tau != "share" else people(40, 1).assign(share=0.3)
        f = model.decision_function(data, tau=tau)
        expected = np.where(f > 0, "well", "ill")
        assert model.predict(data, tau=tau).tolist() == expected.tolist()
    path = model.path_.decision_function(model.preparation.features(as_table(rows)), 0.5)
    np.testing.assert_array_equal(model.decision_function(rows, 0.5), -path)
    first_and_last = model.crossing_interval(rows)
    ill = model.predict_proba(rows)[:, 0]
    inside = (first_and_last[:, 0] <= ill + 1e-12) & (ill <= first_and_last[:, 1] + 1e-12)
    assert inside.all()


def test_intervals_come_from_the_rows_that_were_held_out(folder):
    rows = folder / "new.csv"
    with pytest.raises(ValueError, match="come from out-of-fold samples"):
        tp.load(folder / "two.tau").predict_proba_interval(rows)
    people()[[*FEATURES, "state"]].to_csv(folder / "train.csv", index=False)
    options = (*FITS["two"], "--folds", "3")
    assert run("fit", folder / "train.csv", "-o", folder / "folds.tau", *options) == 0
    model = tp.load(folder / "folds.tau")
    outcomes, ill = model.held_out.outcomes, model.predict_proba(rows)[:, 0]
    own = tp.ProbabilityIntervals()
    own.fit(outcomes.probabilities()[:, 1], outcomes.truth, out_of_fold=True)
    np.testing.assert_array_equal(model.predict_proba_interval(rows, 0.8), own.interval(ill, 0.8))


def test_scores_are_those_of_the_estimators(folder):
    frame = people(40, seed=1)
    two, three, wages = (tp.load(folder / f"{name}.tau") for name in FITS)
    for model, truth in ((two, frame["state"]), (three, frame["grade"])):
        expected = (model.predict(frame) == truth).mean()
        for y in (truth, truth.tolist(), pl.Series(truth.tolist()), truth.to_numpy(), None):
            assert model.score(frame, y) == expected
        weight = np.arange(40.0)
        right = model.predict(frame) == truth
        assert model.score(frame, truth, weight) == pytest.approx(np.average(right, weights=weight))
        assert model.score(folder / "new.csv") == expected
    X = wages.preparation.features(as_table(frame))
    assert wages.score(frame, frame["wage"]) == wages.estimator.score(X, frame["wage"])
    assert wages.score(folder / "new.csv") == wages.score(frame, frame["wage"])


def test_a_model_of_a_matrix_takes_arrays(tmp_path, capsys):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=50) > 0).astype(int)
    np.savez(tmp_path / "train.npz", X=X, y=y)
    assert run("fit", tmp_path / "train.npz", "-o", tmp_path / "m.tau") == 0
    model = tp.load(tmp_path / "m.tau")
    alone = tp.QuantileSVC().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X, tau=0.3), alone.predict(X, tau=0.3))
    np.testing.assert_array_equal(model.predict(tmp_path / "train.npz"), alone.predict(X))
    assert model.predict(X).dtype.kind == "i"
    assert model.score(X, y) == alone.score(X, y) == model.score(tmp_path / "train.npz")
    assert model.n_features_in_ == 4 and not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match="3 features, the model 4"):
        model.predict(X[:, :3])


def test_warnings_name_the_label_not_its_code(folder):
    model = tp.load(folder / "two.tau")
    with pytest.warns(tp.ConstantDecisionWarning, match="decides 'ill' for every case"):
        assert set(model.predict(people(), tau=1e-6)) == {"ill"}


def test_several_taus_give_a_column_each(folder):
    model, frame = tp.load(folder / "two.tau"), people(40, seed=1)
    found = model.predict(frame, taus=[0.3, 0.5, 0.6])
    for column, tau in zip(found.T, (0.3, 0.5, 0.6), strict=True):
        assert column.tolist() == model.predict(frame, tau=tau).tolist()
    functions = model.decision_function(frame, taus=[0.3, 0.6])
    for column, tau in zip(functions.T, (0.3, 0.6), strict=True):
        assert_allclose(column, model.decision_function(frame, tau=tau), atol=1e-12)


def test_scores_for_costs_are_minus_the_mean_cost(folder):
    model, frame = tp.load(folder / "two.tau"), people(40, seed=1)
    truth = (frame["state"] == "ill").to_numpy()
    for cost in (3.0, "amount", frame["amount"]):
        each = frame["amount"].to_numpy() if not isinstance(cost, float) else np.full(40, cost)
        found = model.score(frame, frame["state"], cost_fp=1.0, cost_fn=cost)
        ill = model.predict(frame, cost_fp=1.0, cost_fn=cost) == "ill"
        expected = -np.mean((ill & ~truth) + each * (truth & ~ill))
        assert found == pytest.approx(expected, rel=1e-12)
        assert found == model.score(folder / "new.csv", cost_fp=1.0, cost_fn=cost)


def test_evaluate_takes_models_and_raw_data(folder, capsys):
    frame = people(40, seed=1)
    two, wages = tp.load(folder / "two.tau"), tp.load(folder / "wages.tau")
    found = tp.evaluate(two, frame, frame["state"], taus=[0.3, 0.5])
    for k, tau in enumerate((0.3, 0.5)):
        ill = two.predict(frame, tau=tau) == "ill"
        assert found["fn"][k] == (~ill & (frame["state"] == "ill")).sum()
        assert found["fp"][k] == (ill & (frame["state"] == "well")).sum()
    again = tp.evaluate(two, folder / "new.csv", None, taus=[0.3, 0.5])
    assert all((again[name] == found[name]).all() for name in found)
    quantiles = tp.evaluate(wages, frame, frame["wage"], taus=[0.2, 0.7])
    below = (frame["wage"].to_numpy()[:, None] <= wages.predict(frame, quantile=[0.2, 0.7])).mean(0)
    np.testing.assert_array_equal(quantiles["below"], below)
    with pytest.raises(TableError, match="y has 3 values, but there are 40 rows"):
        tp.evaluate(two, frame, ["ill", "well", "ill"])


def test_a_column_may_be_called_y(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    inside = np.where(frame["x"] > frame["y"], "in", "out")
    estimator = tp.QuantileSVC().fit(frame, inside)
    tp.save(make_pipeline(StandardScaler(), estimator).fit(frame, inside), tmp_path / "model.tau")
    model = tp.load(tmp_path / "model.tau")
    assert model.score(frame, inside) > 0.9


# -- a fitted classifier of scikit-learn -------------------------------------------------------


def test_scikit_learn_takes_it_for_what_it_is(folder):
    two, three, wages = (tp.load(folder / f"{name}.tau") for name in FITS)
    for model in (two, three, wages):
        check_is_fitted(model)
        assert is_classifier(model) == (model is not wages)
        assert is_regressor(model) == (model is wages)
        assert model.feature_names_in_.tolist() == FEATURES
        assert model.n_features_in_ == 4
        assert "Model" in repr(model) and len(repr(model)) < 100
    assert not hasattr(wages, "predict_proba") and not hasattr(wages, "classes_")
    assert not hasattr(two, "predict_interval") and hasattr(two, "path_")
    with pytest.raises(TypeError, match="cannot be fitted again"):
        two.fit(people(), people()["state"])


def test_metrics_and_displays_of_scikit_learn_take_it(folder):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model, frame = tp.load(folder / "two.tau"), people(40, seed=1)
    truth = frame["state"]
    roc = RocCurveDisplay.from_estimator(model, frame, truth, pos_label="ill")
    ill = model.predict_proba(frame)[:, 0]
    pairs = [(p > q) + 0.5 * (p == q) for p in ill[truth == "ill"] for q in ill[truth == "well"]]
    assert roc.roc_auc == pytest.approx(np.mean(pairs))
    PrecisionRecallDisplay.from_estimator(model, frame, truth, pos_label="ill")
    CalibrationDisplay.from_estimator(model, frame, truth, pos_label="ill", n_bins=3)
    matrix = ConfusionMatrixDisplay.from_estimator(model, frame, truth).confusion_matrix
    assert np.trace(matrix) == round(model.score(frame, truth) * 40)
    plt.close("all")
    assert get_scorer("accuracy")(model, frame, truth) == model.score(frame, truth)
    assert get_scorer("neg_log_loss")(model, frame, truth) < 0
    columns = frame[FEATURES]
    found = permutation_importance(model, columns, truth, n_repeats=2, random_state=0)
    assert found.importances_mean.shape == (4,)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model), cv=2).fit(columns, truth)
    assert calibrated.predict_proba(columns).shape == (40, 2)


def test_it_can_be_pickled_and_saved_again(folder, tmp_path):
    frame = people(40, seed=1)
    for name in FITS:
        model = tp.load(folder / f"{name}.tau")
        tp.save(model, tmp_path / "again.tau")
        for other in (tp.load(tmp_path / "again.tau"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(other.predict(frame), model.predict(frame))


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.drop(columns="dose"), "the data frame: columns of the model are missing: "),
        (lambda f: f.assign(age=["old"] * len(f)), "row 1, column 'age': 'old' is not a number"),
        (lambda f: f.assign(age=np.nan), "row 1, column 'age': the cell is missing"),
        (lambda f: f.assign(age=np.inf), "row 1, column 'age': the value is infinite"),
        (lambda f: f.assign(age=pd.Timestamp("2020-01-01")), "it holds values of type datetime64"),
        (lambda f: f.assign(age=[[1.0]] * len(f)), "it holds values of type list"),
        (lambda f: pd.concat([f, f["age"]], axis=1), "several columns have the same name: 'age'"),
        (lambda f: f[[]], "there are no columns"),
        (lambda f: f.to_numpy(), "takes columns by name: 'age', 'job', 'dose', 'amount'; give a"),
        (lambda f: {"age": [1.0], "job": ["clerk", "clerk"]}, "columns differ in length"),
        (lambda f: {"age": np.ones((5, 1))}, "column 'age': it must have one dimension"),
        (lambda f: "no such file.csv", "no such file.csv: there is no such file"),
    ],
)
def test_bad_data_are_refused_with_a_reason(folder, change, said):
    model = tp.load(folder / "two.tau")
    with pytest.raises(TableError) as caught:
        model.predict(change(people(5)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_column_is_named(folder):
    model = tp.load(folder / "two.tau")
    with pytest.raises(TableError, match="are missing: 'dose', 'amount'; the data frame has 'age'"):
        model.predict(people(5).drop(columns=["dose", "amount"]))


def test_options_of_the_other_task_are_refused(folder):
    two, wages = tp.load(folder / "two.tau"), tp.load(folder / "wages.tau")
    with pytest.raises(ValueError, match="quantile is for regressions"):
        two.predict(people(5), quantile=0.2)
    with pytest.raises(ValueError, match="cost_fp is for classifiers"):
        wages.predict(people(5), cost_fp=1, cost_fn=2)
    with pytest.raises(ValueError, match="costs are for classifiers"):
        wages.score(people(5), cost_fp=1, cost_fn=2)
    with pytest.raises(ValueError, match="give one of tau"):
        two.predict(people(5), tau=0.1, cost_fp=1, cost_fn=2)
    with pytest.raises(TableError, match="there is no column 'prize'"):
        two.predict(people(5), cost_fp=1, cost_fn="prize")
    with pytest.raises(TableError, match=r"column 'job': .* is not a number"):
        two.predict(people(5), cost_fp=1, cost_fn="job")
    with pytest.raises(TableError, match="the label 'dead' is not one of the model's classes"):
        two.score(people(5), ["dead"] * 5)
    with pytest.raises(TableError, match="no column 'state'"):
        two.score(people(5).drop(columns="state"))


def test_values_that_training_did_not_have_count_as_no_category(folder):
    model, frame = tp.load(folder / "two.tau"), people(5)
    other = frame.assign(job="pilot")
    with pytest.warns(UserWarning, match=r"column 'job' in 5 of 5 rows \(first 'pilot'\)"):
        found = model.predict_proba(other)
    X = model.preparation.features(as_table(frame))
    X[:, [name.startswith("job=") for name in model.preparation.feature_names]] = 0.0
    order = [model.labels.index(label) for label in model.classes_]
    np.testing.assert_array_equal(found, model.estimator.predict_proba(X)[:, order])
