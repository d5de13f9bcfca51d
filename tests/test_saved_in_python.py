"""Estimators and pipelines saved in Python, used by the command line on raw files."""

import csv
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import dump_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import taupath as tp
from taupath import cli


def patients(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50.0, 12.0, n).round(1),
            "pulse": np.where(rng.random(n) < 0.1, np.nan, rng.normal(70.0, 9.0, n).round(0)),
            "ward": rng.choice(["east", "west", "north"], n),
            "smoker": rng.random(n) < 0.3,
        }
    )
    signal = 0.06 * (frame["age"] - 50.0) + (frame["ward"] == "east") + frame["smoker"] - 0.7
    signal += rng.normal(0.0, 0.6, n)
    grade = np.array(["high", "low", "mid"])[np.digitize(signal, [-0.4, 0.5])]
    return frame.assign(state=np.where(signal > 0.0, "ill", "well"), grade=grade, bill=signal)


FEATURES = ["age", "pulse", "ward", "smoker"]
TRAIN, NEW = patients(), patients(50, seed=1)


def prepared():
    return make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "pulse"]),
        (OneHotEncoder(handle_unknown="ignore"), ["ward"]),
        remainder="passthrough",
    )


def taupath(capsys, *arguments, status=0):
    """Run a command; return what it printed, or what it said was wrong."""
    capsys.readouterr()
    assert cli.main([str(argument) for argument in arguments]) == status
    said = capsys.readouterr()
    return said.out if status == 0 else said.err


def columns_of(file):
    with open(file, newline="") as stream:
        header, *rows = csv.reader(stream)
    return dict(zip(header, zip(*rows, strict=True), strict=True))


@pytest.fixture
def files(tmp_path):
    NEW.sample(frac=1.0, axis=1, random_state=0).to_csv(tmp_path / "new.csv", index=False)
    TRAIN.to_csv(tmp_path / "train.csv", index=False)
    return tmp_path


def check_two_classes(capsys, files, predictor, positive, target="state"):
    """Compare predict, evaluate, report and certify with Python's predictor on NEW."""
    model, new = files / "model.tau", files / "new.csv"
    costs = ("--cost-fp", 1, "--cost-fn", 3)
    taupath(capsys, "predict", model, new, "--proba", *costs, "-o", files / "o.csv")
    found = columns_of(files / "o.csv")
    labels, proba = predictor(cost_fp=1, cost_fn=3)
    assert list(found["prediction"]) == [str(label) for label in labels]
    for label, p in proba.items():
        column = np.array(found[f"p({label})"], dtype=float)
        np.testing.assert_allclose(column, p, rtol=1e-10, atol=1e-12)
    said = json.loads(taupath(capsys, "evaluate", model, new, "--target", target, "--json"))
    assert said["positive"] == positive
    truth, at = pd.read_csv(new)[target] == positive, said["at"]
    for tau, misses, alarms in zip(at["tau"], at["fn"], at["fp"], strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tp.ConstantDecisionWarning)  # every τ is tried
            decided = predictor(tau=tau)[0] == positive
        assert (misses, alarms) == ((truth & ~decided).sum(), (decided & ~truth).sum())
    page = files / "page.html"
    said = taupath(capsys, "report", model, new, "--target", target, "-o", page)
    assert f"positive class: {positive}" in said
    html = page.read_text()
    assert target in html
    assert "None" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    said = taupath(capsys, "certify", model, files / "train.csv", "--target", target)
    assert "was trained on these 120 rows" in said and "certificate holds" in said


@pytest.mark.parametrize("positive", ["ill", "well"])
def test_a_pipeline_goes_through_all_commands(capsys, files, positive):
    pipeline = make_pipeline(prepared(), tp.QuantileSVC(C=10.0, pos_label=positive))
    pipeline.fit(TRAIN[FEATURES], TRAIN["state"])
    tp.save(pipeline, files / "model.tau")

    def predictor(**how):
        proba = pipeline.predict_proba(NEW[FEATURES])
        return pipeline.predict(NEW[FEATURES], **how), dict(
            zip(pipeline.classes_, proba.T, strict=True)
        )

    check_two_classes(capsys, files, predictor, positive)


@pytest.mark.parametrize("positive", [False, True])
def test_an_estimator_goes_through_all_commands(capsys, files, positive):
    names = ["smoker", "age"]
    estimator = tp.QuantileSVC(C=10.0, pos_label=positive)
    estimator.fit(TRAIN[names], TRAIN["state"] == "ill")
    estimator.save(files / "model.tau")
    assert type(tp.load(files / "model.tau")) is tp.QuantileSVC
    NEW.assign(ill=NEW["state"] == "ill").to_csv(files / "new.csv", index=False)
    TRAIN.assign(ill=TRAIN["state"] == "ill").to_csv(files / "train.csv", index=False)

    def predictor(**how):
        proba = estimator.predict_proba(NEW[names])
        return estimator.predict(NEW[names], **how), dict(
            zip(estimator.classes_, proba.T, strict=True)
        )

    check_two_classes(capsys, files, predictor, positive, target="ill")


def test_several_classes_and_quantiles_go_through_all_commands(capsys, files):
    new, page, out = files / "new.csv", files / "page.html", files / "o.csv"
    pipeline = make_pipeline(prepared(), tp.QuantileSVC(C=0.1))
    pipeline.fit(TRAIN[FEATURES], TRAIN["grade"])
    tp.save(pipeline, files / "grades.tau")
    taupath(capsys, "predict", files / "grades.tau", new, "-o", out)
    assert list(columns_of(out)["prediction"]) == pipeline.predict(NEW[FEATURES]).tolist()
    said = taupath(capsys, "evaluate", files / "grades.tau", new, "--target", "grade", "--json")
    assert json.loads(said)["accuracy"] == pipeline.score(NEW[FEATURES], NEW["grade"])
    taupath(capsys, "report", files / "grades.tau", new, "--target", "grade", "-o", page)
    train = files / "train.csv"
    said = taupath(capsys, "certify", files / "grades.tau", train, "--target", "grade")
    assert "was trained on these 120 rows" in said

    names = ["age", "smoker"]
    tp.QuantileSVR(C=0.1).fit(TRAIN[names], TRAIN["bill"]).save(files / "bills.tau")
    alone = tp.load(files / "bills.tau")
    taupath(capsys, "predict", files / "bills.tau", new, "--quantiles", 0.2, 0.8, "-o", out)
    found = np.array([columns_of(out)[name] for name in ("q0.2", "q0.8")], dtype=float).T
    np.testing.assert_array_equal(found, alone.predict(NEW[names], quantile=[0.2, 0.8]))
    said = taupath(capsys, "evaluate", files / "bills.tau", new, "--target", "bill")
    assert "pinball" in said
    taupath(capsys, "report", files / "bills.tau", new, "--target", "bill", "-o", page)


def test_an_estimator_of_a_matrix_takes_matrices_and_files_without_names(capsys, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=60) > 0.0, 2, 1)
    model = tp.QuantileSVC(C=0.1).fit(X, y)
    model.save(tmp_path / "model.tau")
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    np.savetxt(tmp_path / "data.csv", np.column_stack([X, y]), delimiter=",")
    for name, options in (("data.svm", ()), ("data.npz", ()), ("data.csv", ("--target", "x4"))):
        file = tmp_path / name
        taupath(capsys, "predict", tmp_path / "model.tau", file, "-o", tmp_path / "o.csv")
        assert columns_of(tmp_path / "o.csv")["prediction"] == tuple(map(str, model.predict(X)))
        said = taupath(capsys, "evaluate", tmp_path / "model.tau", file, *options, "--json")
        at = json.loads(said)["at"]
        found = dict(zip(at["tau"], at["accuracy"], strict=True))
        assert found[0.5] == model.score(X, y)
    pd.DataFrame(X, columns=list("abc")).to_csv(tmp_path / "named.csv", index=False)
    said = taupath(capsys, "predict", tmp_path / "model.tau", tmp_path / "named.csv", status=1)
    assert "the model was learned from a matrix" in said


# -- what is wrong -----------------------------------------------------------------------------


def test_the_truth_must_be_named(capsys, files):
    tp.QuantileSVC().fit(TRAIN[["age"]], TRAIN["state"]).save(files / "model.tau")
    model, new, page = files / "model.tau", files / "new.csv", files / "page.html"
    for command in (("evaluate", model, new), ("report", model, new, "-o", page)):
        said = taupath(capsys, *command, status=1)
        assert "does not know which column holds the truth; name it: --target COLUMN" in said
        said = taupath(capsys, *command, "--target", "age", status=1)
        assert "column 'age' is a feature of the model, not its target" in said
        said = taupath(capsys, *command, "--target", "fate", status=1)
        assert "has no column 'fate': the truth is needed" in said
        said = taupath(capsys, *command, "--target", "grade", status=1)
        assert "is not one of the model's classes 'ill', 'well'" in said
    assert not page.exists()


def test_what_has_no_columns_is_refused(capsys, files):
    X, y = TRAIN[["age"]].to_numpy(), TRAIN["state"]
    alone = tp.QuantileSVC().fit(X, y)
    precomputed = tp.QuantileSVC(kernel="precomputed").fit(X @ X.T, y)
    for what, said in (
        (alone.path_, "SolutionPath without the preparation of raw files"),
        (alone.at(0.3), "FrozenClassifier without the preparation of raw files"),
        (precomputed, "its kernel is precomputed"),
    ):
        tp.save(what, files / "model.tau")
        assert said in taupath(capsys, "predict", files / "model.tau", files / "new.csv", status=1)


def test_bad_rows_are_named(capsys, files):
    pipeline = make_pipeline(StandardScaler(), tp.QuantileSVC())
    tp.save(pipeline.fit(TRAIN[["age", "smoker"]], TRAIN["state"]), files / "model.tau")
    model, bad = files / "model.tau", files / "bad.csv"
    for text, said in (
        ("age,smoker\n5,True\n,False\n", "line 3, column 'age': the cell is missing"),
        ("age,smoker\n5,maybe\n", "line 2, column 'smoker': 'maybe' is not a number"),
        ("age,fumeur\n5,True\n", "columns of the model are missing: 'smoker'"),
    ):
        bad.write_text(text)
        assert said in taupath(capsys, "predict", model, bad, status=1)


def test_a_combined_classifier_of_a_sparse_matrix_is_loaded_and_predicts(tmp_path):
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((60, 4)), 0.0)
    S, y = sparse.csr_matrix(X), X[:, 0] > 0.5 * rng.standard_normal(60)
    model = tp.QuantileSVCCV(combine="best").fit(S, y)
    tp.save(model, tmp_path / "model.tau")
    again = tp.load(tmp_path / "model.tau")
    # scikit-learn multiplies sparse columns by 1 / scale, a model of raw data divides by it
    np.testing.assert_allclose(again.predict_proba(S), model.predict_proba(S), rtol=1e-14)
    with pytest.raises(ValueError, match="takes columns by name: 'x1', 'x2', 'x3', 'x4'"):
        again.predict_proba(S[:, :2])
