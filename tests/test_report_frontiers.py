"""The report's section on fewer columns and equal treatment: its counts are Python's."""

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import taupath as tp
from browser_page import Page
from taupath.report import write_report

DATA = load_breast_cancer()
X, Y = scale(DATA.data), np.where(DATA.target == 0, "malignant", "benign")
GROUP = np.where(X[:, 0] > 0.0, "large", "small")
HALF, REST = np.arange(0, 569, 2), np.arange(1, 569, 2)
TAU = 0.3


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    model = tp.QuantileSVC(C=0.1, pos_label="malignant").fit(X[HALF], Y[HALF])
    frontiers = {
        "Fewer columns": tp.sparsity_path(X[HALF], Y[HALF], TAU, 0.1),
        "Equal treatment": tp.fairness_path(X[HALF], Y[HALF], GROUP[HALF], TAU, 0.1),
    }
    write_report(file, model, X[REST], Y[REST], frontiers=frontiers, group=GROUP[REST])
    return file, list(frontiers.values())


def test_the_counts_are_those_of_the_decisions(written):
    file, paths = written
    found = re.search(r'id="data"[^>]*>(.*?)</script>', file.read_text("utf-8"), re.S)
    parts = json.loads(found[1])["frontiers"]
    malignant = Y[REST] == "malignant"
    for part, path in zip(parts, paths, strict=True):
        assert part["worstGap"] <= 1e-9
        for k in (0, 57, 130, 200):
            value = part["end"] * (k / 200) ** part["power"]
            taken = path.decision_function(X[REST], value) >= 0.0
            assert part["alarms"][k] == np.sum(taken & ~malignant)
            assert part["found"][k] == np.sum(taken & malignant)
            assert part["features"][k] == path.n_nonzero(value)
            for share, one in zip(part["shares"], part["groups"], strict=True):
                own = GROUP[REST] == one
                assert share[k] == pytest.approx(taken[own].mean(), abs=1e-4)
        assert part["tau"] == TAU


def test_the_other_class_can_be_the_positive_one(tmp_path):
    model = tp.QuantileSVC(C=0.1, pos_label="benign").fit(X[HALF], Y[HALF])
    path = tp.sparsity_path(X[HALF], Y[HALF], TAU, 0.1)
    write_report(tmp_path / "r.html", model, X[REST], Y[REST], frontiers={"a": path}, cases=False)
    text = (tmp_path / "r.html").read_text("utf-8")
    (part,) = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', text, re.S)[1])["frontiers"]
    taken, benign = path.decision_function(X[REST], 0.0) < 0.0, Y[REST] == "benign"
    assert part["found"][0] == np.sum(taken & benign)
    assert part["alarms"][0] == np.sum(taken & ~benign)
    assert part["tau"] == pytest.approx(1.0 - TAU)
    assert part["shares"] is None


def test_the_section_follows_its_slider(written, open_page):
    page: Page = open_page(written[0])
    section = page.tab.locator("#frontiers")
    assert section.locator(".frontier").count() == 2
    text = section.locator(".frontier-now").first
    assert text.text_content().startswith("30 columns")
    slider = section.locator("input[type=range]").first
    slider.focus()
    page.tab.keyboard.press("End")
    assert text.text_content().startswith("0 columns")
    assert section.locator("svg[role=img]").count() == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: {"frontiers": "all"}, "frontiers must be a dict"),
        (lambda: {"frontiers": {"a": tp.quantile_path(X, Y)}}, "sparsity_path or fairness_path"),
        (
            lambda: {"frontiers": {"a": tp.sparsity_path(X, Y == "benign", 0.5, 0.01)}},
            "knows the classes",
        ),
        (lambda: {"frontiers": {"a": tp.sparsity_path(X[:, :3], Y, 0.5, 0.01)}}, "has 3 features"),
        (lambda: {"group": GROUP}, "group is for frontiers"),
        (
            lambda: {
                "frontiers": {"a": tp.sparsity_path(X, Y, 0.5, 0.01)},
                "group": np.arange(569),
            },
            "two values",
        ),
    ],
)
def test_bad_input_is_named(given, message, tmp_path):
    model = make_pipeline(StandardScaler(), tp.QuantileSVC(C=0.01)).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match=message):
        write_report(tmp_path / "report.html", model, X, Y, **given())


def test_frontiers_are_for_two_classes(tmp_path):
    with pytest.raises(ValueError, match="two classes"):
        write_report(
            tmp_path / "report.html",
            tp.QuantileSVR().fit(X, X[:, 0]),
            X,
            X[:, 0],
            frontiers={"a": tp.sparsity_path(X, Y, 0.5, 0.01)},
        )
