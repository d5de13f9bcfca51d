"""Decisions about rows of raw data are explained in their columns, in Python and by the command."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import taupath as tp
from command_files import run
from display_models import X, Y
from taupath import QuantileSVC
from taupath.tables import as_table

ROUNDING = 1e-12  # of sums of a few terms of size 1
JOBS = ("clerk", "smith", "nurse")


def people(n, seed):
    rng = np.random.default_rng(seed)
    age, job, dose = rng.normal(45.0, 12.0, n), rng.integers(0, 3, n), rng.integers(0, 6, n)
    signal = 0.08 * (age - 45.0) + 0.6 * (dose - 2.5) + (job == 2) + rng.normal(0, 0.7, n)
    state = np.where(signal > 0.3, "ill", "well")
    frame = {"age": age.round(2), "job": np.array(JOBS)[job], "dose": dose, "state": state}
    return pd.DataFrame(frame)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explained")
    train, new = people(90, 0), people(30, 1)
    train["patient"] = [f"T{k}" for k in range(90)]
    new["patient"] = [f"N{k}" for k in range(30)]
    train.loc[::9, "age"] = None
    new.loc[[4, 7], "age"] = None
    train.to_csv(folder / "train.csv", index=False)
    new.to_csv(folder / "new.csv", index=False)
    fit = ("fit", folder / "train.csv", "--target", "state", "--positive", "ill")
    keep = ("--keep-id", "patient")
    flags = ("--missing", "impute", "--flag-missing")
    assert run(*fit, "-o", folder / "model.tau", *keep, *flags) == 0
    assert run(*fit, "-o", folder / "drop.tau", *keep, "--missing", "drop") == 0
    rbf = ("--kernel", "rbf", "--missing", "drop", "--drop", "patient")
    assert run(*fit, "-o", folder / "rbf.tau", *rbf) == 0
    return folder


def test_a_model_adds_up_the_features_of_a_column(folder):
    model, new = tp.load(folder / "model.tau"), pd.read_csv(folder / "new.csv")
    features = model.preparation.features(as_table(new))
    for tau in (0.1, 0.6):
        f = -model.decision_function(new, tau)  # "well" is the larger label
        by_feature = model.estimator.explain(features, tau)
        for i, found in enumerate(model.explain(new, tau)):
            assert (found.positive, found.negative) == ("ill", "well")
            assert found.decision == model.predict(new[i : i + 1], taus=[tau])[0, 0]
            assert found.f == pytest.approx(f[i], abs=ROUNDING)
            parts = {part.name: part for part in found.parts}
            assert parts.keys() <= {"age", "job", "dose"} and "job" in parts
            total = found.base + sum(part.adds for part in found.parts)
            assert total == pytest.approx(f[i], abs=ROUNDING)
            assert parts["job"].value == new["job"][i]
            assert parts["age"].value == (None if i in (4, 7) else new["age"][i])
            own = {name: 0.0 for name in parts}
            names = model.preparation.feature_names
            for part in by_feature[i].parts:
                named = names[int(part.name.removeprefix("x")) - 1]
                own[named.split("=")[0].split(" (")[0]] += part.adds
            assert own == pytest.approx({name: part.adds for name, part in parts.items()})
            assert found.flips == by_feature[i].flips


def test_the_reference_of_a_standardised_column_is_its_mean(folder):
    model = tp.load(folder / "model.tau")
    train = pd.read_csv(folder / "train.csv")
    filled = train["age"].fillna(train["age"].median())
    at_mean = {"age": [filled.mean()], "dose": [train["dose"].mean()], "job": ["smith"]}
    (found,) = model.explain(people(1, 5))
    reference = {part.name: part.reference for part in found.parts}
    assert reference["age"] == pytest.approx(filled.mean())
    assert reference["dose"] == pytest.approx(train["dose"].mean())
    assert reference["job"] == "no category"
    (at,) = model.explain(at_mean)
    adds = {part.name: part.adds for part in at.parts}
    assert adds.get("age", 0.0) == pytest.approx(0.0, abs=1e-9)
    assert adds["job"] != 0.0


def test_costs_may_be_columns(folder):
    model, new = tp.load(folder / "model.tau"), pd.read_csv(folder / "new.csv")
    new["miss"] = np.arange(1.0, 31.0)
    found = model.explain(new, cost_fp=2.0, cost_fn="miss")
    assert_allclose([one.tau for one in found], 2.0 / (2.0 + new["miss"]))


def test_a_pipeline_is_explained_by_its_last_step_or_in_raw_columns_once_saved(tmp_path):
    train, new = people(90, 0), people(20, 2)
    columns = ["age", "job", "dose"]
    steps = make_column_transformer((StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["job"]))
    last = QuantileSVC(C=0.5, pos_label="ill")
    pipeline = make_pipeline(steps, last).fit(train[columns], train["state"])
    tp.save(pipeline, tmp_path / "pipeline.tau")
    of_columns = tp.load(tmp_path / "pipeline.tau").explain(new, 0.2)
    of_features = pipeline[-1].explain(pipeline[:-1].transform(new[columns]), 0.2)
    f = -pipeline[-1].decision_function(pipeline[:-1].transform(new[columns]), 0.2)
    for one, other, value in zip(of_columns, of_features, f, strict=True):
        assert one.decision == other.decision and one.positive == other.positive == "ill"
        assert_allclose([flip.tau for flip in one.flips], [flip.tau for flip in other.flips])
        for each in (one, other):
            total = each.base + sum(part.adds for part in each.parts)
            assert total == pytest.approx(value, abs=ROUNDING)
        references = {part.name: part.reference for part in one.parts}
        assert references["age"] == pytest.approx(train["age"].mean())


def test_a_model_of_a_standardised_matrix_shows_raw_values(tmp_path):
    file = tmp_path / "matrix.npz"
    raw = X * [1.0, 10.0, 100.0] + [0.0, 5.0, 50.0]
    np.savez(file, X=raw, y=(Y == "yes").astype(int))
    assert run("fit", file, "-o", tmp_path / "m.tau", "--standardize") == 0
    model = tp.load(tmp_path / "m.tau")
    (found,) = model.explain(raw[:1], 0.3)
    assert {part.name for part in found.parts} == {"x1", "x2", "x3"}
    for part in found.parts:
        j = int(part.name[1:]) - 1
        assert part.value == pytest.approx(raw[0, j])
        assert part.reference == pytest.approx(raw[:, j].mean())
    total = found.base + sum(part.adds for part in found.parts)
    assert total == pytest.approx(model.decision_function(raw[:1], 0.3)[0], abs=ROUNDING)


# -- the command -------------------------------------------------------------------------------


def said_by(capsys, *arguments, status=0):
    capsys.readouterr()
    assert run("explain", *arguments) == status
    out, err = capsys.readouterr()
    return out if status == 0 else err


def test_the_command_prints_what_python_does(folder, capsys):
    costs = ("--cost-fp", 1, "--cost-fn", 20)
    found = tp.load(folder / "model.tau").explain(folder / "new.csv", cost_fp=1, cost_fn=20)
    said = said_by(capsys, folder / "model.tau", folder / "new.csv", "--row", 3, "--row", 5, *costs)
    assert said == f"Row 3, patient N2: {found[2]}\n\nRow 5, patient N4: {found[4]}\n"
    everything = said_by(capsys, folder / "model.tau", folder / "new.csv", *costs)
    assert [f"Row {k + 1}, patient N{k}: {one}" for k, one in enumerate(found)] == (
        everything.removesuffix("\n").split("\n\n")
    )
    rows = json.loads(said_by(capsys, folder / "model.tau", folder / "new.csv", "--json"))["rows"]
    plain = tp.load(folder / "model.tau").explain(folder / "new.csv")
    assert [row["row"] for row in rows] == list(range(1, 31))
    for row, one in zip(rows, plain, strict=True):
        assert (row["f"], row["tau"], row["decision"]) == (one.f, 0.5, one.decision)
        assert [flip["tau"] for flip in row["flips"]] == [flip.tau for flip in one.flips]
        assert [part["adds"] for part in row["parts"]] == [part.adds for part in one.parts]


def test_the_command_explains_kernels_by_their_flips_alone(folder, capsys):
    said = said_by(capsys, folder / "rbf.tau", folder / "new.csv", "--row", 1)
    assert "It flips" in said or "whatever the costs" in said
    assert said.endswith("known only where one linear function decides.\n")


@pytest.mark.parametrize("row", [0, -1, 31])
def test_the_command_refuses_rows_that_are_not_there(row, folder, capsys):
    said = said_by(capsys, folder / "model.tau", folder / "new.csv", "--row", row, status=1)
    assert f"--row {row}" in said and "has 30 rows, the first is 1" in said


@pytest.mark.filterwarnings("default:.*missing cells:UserWarning")  # it is to be printed
def test_the_command_leaves_out_rows_without_a_decision(folder, capsys):
    model, new = folder / "drop.tau", folder / "new.csv"
    assert run("explain", model, new, "--row", 4, "--row", 5) == 0
    out, err = capsys.readouterr()
    assert "Row 4" in out and "Row 5" not in out
    assert "nothing to explain in 1 of 2 rows, which have missing cells" in err
    assert "missing cells" in said_by(capsys, model, new, "--row", 5, status=1)


def test_the_command_refuses_other_models(folder, tmp_path, capsys):
    data, y = load_iris(return_X_y=True)
    tp.save(QuantileSVC(C=0.1).fit(data[::3], y[::3]), tmp_path / "iris.tau")
    said = said_by(capsys, tmp_path / "iris.tau", folder / "new.csv", status=1)
    assert "is a model of 3 classes: only models of two classes can be explained" in said
    tp.save(tp.QuantileSVR().fit(data[::3], data[::3, 0]), tmp_path / "r.tau")
    assert "is a regression" in said_by(capsys, tmp_path / "r.tau", folder / "new.csv", status=1)
    said = said_by(capsys, folder / "model.tau", folder / "new.csv", "--tau", 2, status=1)
    assert "tau" in said
