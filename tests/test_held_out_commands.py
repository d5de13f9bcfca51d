"""Held-out figures on the command line: fit stores them, evaluate shows them."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from command_files import run, write_halves
from taupath.estimators.fingerprints import share_seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two halves of the breast cancer data, and models of the first."""
    folder = write_halves(tmp_path_factory.mktemp("held"))
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


@pytest.mark.filterwarnings("always::taupath.ConstantDecisionWarning")  # it is to be printed
def test_a_constant_decision_is_said(folder, tmp_path, capsys):
    model = tmp_path / "weak.tau"
    options = ("--positive", "malignant", "--C", "0.1", "--points", "5")
    assert run("fit", folder / "train.csv", "-o", model, *options) == 0
    capsys.readouterr()
    assert run("evaluate", model, folder / "test.csv") == 0
    out, err = capsys.readouterr()
    assert "the model decides benign for every case that it was trained on: it does not" in out
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
