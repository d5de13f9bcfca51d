"""Reports of two classes: aggregates, other classifiers, raw units, and the command."""

import json
import re
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from report_pages import breast_cancer, confusion, iris, moons, payload_of, unpacked, wiggly
from taupath import QuantileSVC
from taupath.cli import main
from taupath.estimators.explanation import WITH_COSTS
from taupath.report import write_report
from taupath.report.inputs import ModelAndData
from taupath.report.listed_cases import features_by_column
from taupath.report.writing import write_outcomes
from test_report import counts_at

PLANTED = "Erika Mustermann 1964-08-12"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "report.html"


@pytest.fixture(scope="module")
def raw():
    """Return a pipeline, other cases in raw units, and what the positive class is."""
    data = load_breast_cancer(as_frame=True)
    y = pd.Series(np.where(data.target == 0, "malignant", "benign"), name="diagnosis")
    model = make_pipeline(StandardScaler(), QuantileSVC(C=0.1)).fit(data.data[::2], y[::2])
    return model, data.data[1::2].reset_index(drop=True), y[1::2].reset_index(drop=True)


def arrays_of(payload):
    """Return all arrays that a page carries."""
    if isinstance(payload, dict):
        if set(payload) == {"type", "bytes"}:
            return [unpacked(payload)]
        return [array for part in payload.values() for array in arrays_of(part)]
    if isinstance(payload, list):
        if payload and all(isinstance(part, float) for part in payload):
            return [np.array(payload)]
        return [array for part in payload for array in arrays_of(part)]
    return []


# -- nothing of single cases -----------------------------------------------------------------------


def test_without_cases_nothing_of_any_case_is_in_the_file(file, raw):
    model, X, y = raw
    X = X.copy()
    X.iloc[0, 0] = 13.5791357913
    names = [PLANTED, *[f"patient {i}" for i in range(1, len(y))]]
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    told = {"columns": {"name": names, **X}, "compare": {"logistic": logistic}}
    write_report(file, model, X, y, **told)
    page = file.read_text(encoding="utf-8")
    assert PLANTED in page and "13.5791" in page  # they would be found
    with_cases = payload_of(file)
    write_report(file, model, X, y, **told, cases=False)
    page, payload = file.read_text(encoding="utf-8"), payload_of(file)
    assert PLANTED not in page and "patient 17" not in page
    assert payload["cases"] is None and payload["boundary"] is None and payload["repeats"] is None
    assert "13.5791" not in page
    own = X.to_numpy().ravel()
    own = np.concatenate((own, model[0].transform(X).ravel()))
    own = np.concatenate((own, own.astype(np.float32)))
    exact = unpacked(with_cases["events"]["when"])
    exact = np.concatenate((exact, logistic.predict_proba(X).ravel()))
    inside = exact[(exact > 0.0) & (exact < 1.0)]
    for array in arrays_of(payload):
        # fewer than one number for each case, or a function of the model, and none of these
        assert not np.isin(array, own[own != own.round(4)]).any()
        assert not np.isin(array, inside).any()
    assert any(np.isin(array, inside).any() for array in arrays_of(with_cases))
    assert "aggregates only" in re.search(r'<p class="holds"[^>]*>([^<]*)<', page)[1]


def test_aggregates_are_exact_at_ratios_with_two_digits(file):
    model, X, y, _ = breast_cancer()
    write_report(file, model, X, y, cases=False)
    payload = payload_of(file)
    ratios = [(1, 1), (1, 500), (500, 1), (1, 20), (3, 7), (10, 1), (1, 1.5), (2.3, 1), (46, 20)]
    ratios += [(1, 37), (99, 1), (1, 8700), (25, 75)]
    taus = [fp / (fp + fn) for fp, fn in ratios]
    for (fp, fn), counts in zip(ratios, counts_at(payload, taus), strict=True):
        assert counts == confusion(y, model.predict(X, cost_fp=fp, cost_fn=fn)), (fp, fn)
    assert payload["nodes"] > 700


def test_every_page_says_what_it_holds(file, raw):
    def said():
        return re.search(r'id="holds">([^<]*)<', file.read_text(encoding="utf-8"))[1]

    model, X, y = raw
    write_report(file, model, X, y)
    assert said().startswith(f"This file holds {len(y)} cases with 30 columns each")
    fitted, samples, labels = moons()
    write_report(file, fitted, samples, labels, columns={"id": list(range(len(labels)))})
    assert said().startswith("This file holds 150 cases with 1 column each")
    for fitted, samples, labels in (iris(), wiggly()):
        write_report(file, fitted, samples, labels)
        assert re.match(r"This file holds \d+ cases with \d columns? each", said())


def test_a_page_from_truth_and_decisions_alone_has_the_same_counts(file):
    model, X, y = moons(intercept="free")
    write_report(file, model, X, y, cases=False)
    whole = payload_of(file)
    from taupath.outcomes.rates import sign_changes

    changes = sign_changes(model, np.asarray(X))
    told = {"class_names": ["no", "yes"], "title": "held out", "about": "Out of fold."}
    write_outcomes(file, y == 1, changes, **told)
    payload = payload_of(file)
    assert payload["cases"] is None and payload["coefficients"] is None
    assert payload["counts"] == whole["counts"] and payload["events"] == whole["events"]
    assert payload["classes"] == ["no", "yes"] and payload["about"] == "Out of fold."
    assert payload["withCosts"] is None and payload["constant"] is None
    assert payload["reliability"]["counts"] == whole["reliability"]["counts"]
    assert_allclose(payload["reliability"]["brier"], whole["reliability"]["brier"], atol=1e-9)
    write_outcomes(file, y == 1, changes, **told, with_costs=True)
    assert payload_of(file)["withCosts"] == f"The model {WITH_COSTS}."
    with pytest.raises(ValueError, match="cases of both classes"):
        write_outcomes(file, np.ones(len(y)), changes, **told)


# -- other classifiers -----------------------------------------------------------------------------


@pytest.mark.parametrize("pos_label", ["malignant", "benign"])
def test_other_classifiers_decide_by_their_probability_of_the_positive_class(file, raw, pos_label):
    _, X, y = raw
    pipeline = make_pipeline(StandardScaler(), QuantileSVC(C=0.1, pos_label=pos_label))
    model = pipeline.fit(X[::2], y[::2])
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2])
    write_report(file, model, X, y, compare={"logistic": logistic})
    payload = payload_of(file)
    assert payload["classes"][1] == pos_label
    (other,) = payload["compare"]
    proba = logistic.predict_proba(X)[:, list(logistic.classes_).index(pos_label)]
    truth = np.where(y == pos_label, 1, 0)
    taus = [0.01, 0.2, 0.5, 0.77, 0.99]
    both = counts_at({"counts": payload["counts"], "events": other["both"]}, taus)
    for tau, counts, joint in zip(taus, counts_at(payload | other, taus), both, strict=True):
        own = np.where(model[-1].predict(model[0].transform(X), tau=tau) == pos_label, 1, 0)
        decided = np.where(proba >= tau, 1, 0)
        assert counts == confusion(truth, decided)
        assert joint == confusion(truth, own * decided)
        (ours,) = counts_at(payload, [tau])
        assert ours == confusion(truth, own)
    assert other["name"] == "logistic"
    assert other["brier"] == pytest.approx(np.mean((proba - truth) ** 2))


def test_classifiers_that_cannot_be_compared_are_refused(file):
    model, X, y = moons()
    for compare, error, message in (
        ({"svm": LinearSVC().fit(X, y)}, TypeError, "LinearSVC has no predict_proba"),
        ({"new": LogisticRegression()}, NotFittedError, "not fitted"),
        ({"other": LogisticRegression().fit(X, y + 1)}, ValueError, r"knows the classes \[1, 2\]"),
        (LogisticRegression().fit(X, y), TypeError, "compare must be a dict"),
    ):
        with pytest.raises(error, match=message):
            write_report(file, model, X, y, compare=compare)
    fitted, samples, labels = wiggly()
    with pytest.raises(ValueError, match="compare is for classifiers"):
        write_report(file, fitted, samples, labels, compare={"a": LogisticRegression().fit(X, y)})
    assert not file.exists()


# -- raw units -------------------------------------------------------------------------------------


def test_weights_are_told_per_standard_deviation_and_per_raw_unit(file, raw):
    model, X, y = raw
    write_report(file, model, X, y)
    payload = payload_of(file)
    weights, names = payload["coefficients"], list(X.columns)
    functions = {name: unpacked(part) for name, part in weights["functions"].items()}
    assert_allclose(weights["means"], X[weights["names"]].mean())
    assert_allclose(weights["deviations"], X[weights["names"]].std(ddof=0))
    for i, name in enumerate(weights["names"]):
        some = slice(functions["starts"][i], functions["starts"][i + 1])
        nodes = functions["nodes"][functions["at"][some]]
        drawn = np.interp(0.3, nodes, functions["values"][some]) / weights["deviations"][i]
        per_unit = model[-1].path_.coef(0.3)[names.index(name)] / model[0].scale_[names.index(name)]
        assert abs(drawn - per_unit) * weights["deviations"][i] <= 2e-3
    assert payload["target"] == "diagnosis"
    features = unpacked(payload["cases"]["features"]).reshape(-1, 30)
    rows = unpacked(payload["cases"]["rows"])
    assert_allclose(features, X[weights["names"]].to_numpy()[rows], rtol=1e-6)


def test_columns_come_by_weight_after_those_that_are_no_features(file, raw):
    model, X, y = raw
    scaled = pd.DataFrame(model[0].transform(X), columns=X.columns)
    ids = [f"P{i}" for i in range(len(y))]
    told = {"feature_names": list(X.columns), "columns": {**X, "patient": ids}}
    write_report(file, model[-1], scaled.to_numpy(), y, **told)
    payload = payload_of(file)
    columns = payload["cases"]["columns"]
    assert [column["name"] for column in columns[:1]] == ["patient"]
    assert [column["name"] for column in columns[1:]] == payload["coefficients"]["names"]
    assert [column["feature"] for column in columns] == [False] + [True] * 30
    largest = np.abs([model[-1].path_.coef(tau) for tau in np.linspace(0, 1, 201)]).max(axis=0)
    order = X.columns[np.argsort(-largest * scaled.to_numpy().std(axis=0))]
    assert payload["coefficients"]["names"][:5] == list(order[:5])
    # raw units are found from the columns that features were made from
    assert_allclose(payload["coefficients"]["means"], X[payload["coefficients"]["names"]].mean())


def test_columns_are_found_by_the_names_of_their_features():
    names = ["age", "job=miner", "job=a=b", "job (missing)", "cat__home_own", "num__age_at", "id2"]
    expected = {"age": [0, 5], "job": [1, 2, 3], "home": [4], "id": None, "job=a": [2]}
    made = features_by_column(names, expected)
    assert {column: made.get(column) for column in expected} == expected


def test_long_names_take_no_time():
    start = time.process_time()
    for mark in "=_":
        made = features_by_column([mark * 100_000, f"a{mark}" * 100_000], ["a", "b" * 99])
        assert made == {"a": [1]} if mark == "=" else made.get("a") == [1]
    assert time.process_time() - start < 0.5


def test_a_wide_table_is_looked_at_once(file, raw, monkeypatch):
    model, X, y = raw
    looked = []
    real = ModelAndData.given_columns
    monkeypatch.setattr(ModelAndData, "given_columns", lambda case: looked.append(1) or real(case))
    reduced = make_pipeline(PCA(3), QuantileSVC(pos_label=model[-1].pos_label_)).fit(X, y)
    write_report(file, reduced, X, y)  # no feature is called like a column
    assert len(looked) < 10 < X.shape[1]
    assert [column["feature"] for column in payload_of(file)["cases"]["columns"]] == [True] * 30


def test_a_part_of_all_costs_is_refused(file):
    X, y = moons()[1:3]
    model = QuantileSVC(tau_range=(0.2, 0.8)).fit(X, y)
    with pytest.raises(ValueError, match=r"has only those in \[0\.2, 0\.8\]"):
        write_report(file, model, X, y)


def test_filled_cells_and_columns_that_are_no_affine_function_are_told_apart(file):
    rng = np.random.default_rng(0)
    size, odd = rng.normal(50.0, 10.0, 120), rng.uniform(0.0, 5.0, 120)
    y = (size + 4.0 * odd + rng.normal(0.0, 8.0, 120) > 60.0).astype(int)
    X = np.column_stack(((size - 50.0) / -10.0, odd**2))  # one turned round, one bent
    model = QuantileSVC().fit(X, y)
    shown = size.copy()
    shown[3] = np.nan  # filled in with what X has there
    told = {"feature_names": ["size", "odd"], "columns": {"size": shown, "odd": odd}}
    write_report(file, model, X, y, **told)
    weights = payload_of(file)["coefficients"]
    by_name = dict(zip(weights["names"], weights["means"], strict=True))
    assert by_name["size"] == pytest.approx(size.mean())
    assert by_name["odd"] == pytest.approx((odd**2).mean())
    features = unpacked(payload_of(file)["cases"]["features"]).reshape(-1, 2)
    column = features[:, weights["names"].index("size")]
    assert_allclose(np.sort(column), np.sort(size), rtol=1e-6)
    functions = {name: unpacked(part) for name, part in weights["functions"].items()}
    i = weights["names"].index("size")
    some = slice(functions["starts"][i], functions["starts"][i + 1])
    value = np.interp(0.5, functions["nodes"][functions["at"][some]], functions["values"][some])
    assert value == pytest.approx(model.path_.coef(0.5)[0] * -0.1 * size.std(), rel=1e-2)


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a folder with files, a model of them, and the frame it was made from."""
    folder = tmp_path_factory.mktemp("files")
    data = load_breast_cancer(as_frame=True)
    frame = data.data.iloc[:, :6].assign(
        ward=np.where(np.arange(569) % 3 == 0, "north", "south"),
        diagnosis=np.where(data.target == 0, "malignant", "</script>"),
    )
    frame["patient"] = [f"patient-{i:04d}" for i in range(569)]
    frame[::2].to_csv(folder / "train.csv", index=False)
    frame[1::2].to_csv(folder / "test.csv", index=False)
    options = ["--target", "diagnosis", "--positive", "malignant", "--keep-id", "patient"]
    model = folder / "model.tau"
    assert main(["fit", str(folder / "train.csv"), *options, "-o", str(model)]) == 0
    return folder, frame


def report(folder, *options, data="test.csv"):
    page = folder / "page.html"
    page.unlink(missing_ok=True)
    code = main(
        ["report", str(folder / "model.tau"), str(folder / data), "-o", str(page), *options]
    )
    return code, page


def test_the_command_names_the_target_and_shows_raw_columns(fitted, capsys):
    folder, frame = fitted
    code, page = report(folder)
    assert code == 0
    payload = payload_of(page)
    assert payload["target"] == "diagnosis"
    assert payload["classes"] == ["</script>", "malignant"]
    columns = {column["name"]: column for column in payload["cases"]["columns"]}
    assert next(iter(columns)) == "patient" and not columns["patient"]["feature"]
    assert set(columns) == set(frame.columns) - {"diagnosis"}
    rows = unpacked(payload["cases"]["rows"])
    shown = np.array(columns["mean radius"]["texts"], dtype=float)
    assert_allclose(shown, frame["mean radius"].to_numpy()[1::2][rows], rtol=1e-5)
    assert_array_equal(columns["patient"]["texts"], frame["patient"].to_numpy()[1::2][rows])
    assert payload["files"]["shell"] == ["model.tau", "test.csv"]
    weights = dict(
        zip(payload["coefficients"]["names"], payload["coefficients"]["means"], strict=True)
    )
    assert weights["mean radius"] == pytest.approx(frame["mean radius"][1::2].mean())
    page = page.read_text(encoding="utf-8")
    assert page.count("</script") == page.count("<script") == 2
    assert "positive class: malignant" in capsys.readouterr().out


def test_the_command_leaves_cases_out(fitted):
    folder, _ = fitted
    code, page = report(folder, "--no-cases", "--compare", "logistic")
    assert code == 0
    text = page.read_text(encoding="utf-8")
    assert "patient-" not in text and "aggregates only" in text
    assert payload_of(page)["cases"] is None


def test_the_command_compares_with_logistic_regression_of_the_training_data(fitted):
    folder, frame = fitted
    code, page = report(folder, "--compare", "logistic")
    assert code == 0
    payload = payload_of(page)
    (other,) = payload["compare"]
    assert other["name"] == "logistic regression"
    features = pd.get_dummies(frame.drop(columns=["diagnosis", "patient"]), dtype=float)
    numbers = features.columns[:6]
    scaler = StandardScaler().fit(features.loc[::2, numbers])
    features[numbers] = scaler.transform(features[numbers])
    truth = np.where(frame["diagnosis"] == "malignant", 1, 0)
    logistic = LogisticRegression(max_iter=10_000).fit(features[::2], truth[::2])
    proba = logistic.predict_proba(features[1::2])[:, 1]
    assert other["brier"] == pytest.approx(np.mean((proba - truth[1::2]) ** 2), abs=1e-4)
    taus = [0.05, 0.5, 0.9]
    for tau, counts in zip(taus, counts_at(payload | other, taus), strict=True):
        expected = confusion(truth[1::2], np.where(proba >= tau, 1, 0))
        assert all(abs(counts[name] - expected[name]) <= 1 for name in counts)


def test_what_cannot_be_compared_or_shown_is_said(fitted, tmp_path, capsys):
    folder, _ = fitted
    small = tmp_path / "model.tau"
    assert main(["simplify", str(folder / "model.tau"), "--tol", "1e-3", "-o", str(small)]) == 0
    page = str(tmp_path / "page.html")
    capsys.readouterr()
    test = str(folder / "test.csv")
    assert main(["report", str(small), test, "--compare", "logistic", "-o", page]) == 1
    assert "holds no training data to fit logistic regression to" in capsys.readouterr().err
    assert main(["report", str(folder / "model.tau"), "-o", page]) == 1
    error = capsys.readouterr().err
    assert "give DATA, or train with --folds 5 or --holdout 0.3" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "page.html").exists()


def test_training_rows_are_recognised(fitted):
    folder, _ = fitted
    assert payload_of(report(folder)[1])["seen"] is None
    assert "in-sample" in payload_of(report(folder, data="train.csv")[1])["seen"]


def test_held_out_results_are_shown_without_data(tmp_path, fitted, capsys):
    folder, frame = fitted
    model, page = tmp_path / "model.tau", tmp_path / "page.html"
    options = ["--target", "diagnosis", "--positive", "malignant", "--keep-id", "patient"]
    train = str(folder / "train.csv")
    assert main(["fit", train, *options, "--folds", "4", "-o", str(model)]) == 0
    assert main(["report", str(model), "-o", str(page), "--json"]) == 0
    payload = payload_of(page)
    assert payload["cases"] is None and payload["seen"] is None
    assert payload["classes"] == ["</script>", "malignant"]
    truth = frame["diagnosis"][::2] == "malignant"
    assert payload["counts"] == [int((~truth).sum()), int(truth.sum())]
    assert "4 folds" in payload["about"]
    capsys.readouterr()
    assert main(["evaluate", str(model), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["at"]
    for k, counts in enumerate(counts_at(payload, told["tau"])):
        assert {name: told[name][k] for name in counts} == counts
    assert main(["report", str(model), "--compare", "logistic", "-o", str(page)]) == 1
    assert "--compare needs DATA" in capsys.readouterr().err
