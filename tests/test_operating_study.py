"""The study of promises: what it draws and counts, and what its page says."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom


def test_rows_that_are_drawn_keep_all_their_changes(module):
    operating = module("questions.operating")
    begin = np.array([True, False, True])
    who, when, change = np.array([0, 2, 2, 2]), np.array([0.3, 0.2, 0.5, 0.7]), [-1, -1, 1, -1]
    changes = operating.Changes(begin, who, when, np.array(change))
    truth = np.array([True, False, False])
    drawing = operating.Drawing(operating.Outcomes(truth, (0.0, 1.0), changes))
    rows = np.array([2, 0, 2, 1])
    drawn = drawing.of(rows)
    assert drawn.truth.tolist() == [False, True, False, False]
    wanted = np.array([1.0 - 0.3 - 0.3, 0.3, 1.0 - 0.3 - 0.3, 0.0])
    assert_allclose(drawn.probabilities()[:, 1], wanted)
    assert_allclose(drawing.of(np.arange(3)).rates().at(np.array([0.1, 0.6])), [[1, 0], [1, 1]])


def test_the_rival_keeps_a_promise_on_the_rows_that_it_sees(module):
    operating = module("questions.operating")
    rng = np.random.default_rng(9)
    truth = rng.uniform(size=400) < 0.5
    proba = np.clip(0.25 + 0.5 * truth + rng.normal(scale=0.2, size=400), 0.0, 1.0)
    for promise in operating.PROMISES:
        found = operating.rates(truth, proba >= operating.tuned_threshold(promise, proba, truth))
        assert operating.kept(promise, found) and operating.gained(promise, found) > 0.3


def test_promises_on_simulated_data(module, monkeypatch):
    operating = module("questions.operating")
    rows = []
    monkeypatch.setattr(operating, "RIVALS", {"tuned": operating.tuned_threshold})
    monkeypatch.setattr(operating, "find_spec", lambda name: True)
    monkeypatch.setattr(operating, "MET_LATER", 300)
    operating.measure(module("run").QUICK, rows.append)
    assert {(row["task"], row["splits"]) for row in rows} == {("logistic", 3)}
    assert {row["promise"] for row in rows} == set(operating.PROMISES) and len(rows) == 9
    assert all(0 <= row["broken"] + row["none"] <= 3 for row in rows)
    assert 0.2 < operating.of(rows, "operate", "max_fpr", "gain")[0] < 0.9
    assert len(operating.tables(rows)["means"].columns[0][1]) == 9


def test_splits_are_counted_by_what_was_found(module):
    operating = module("questions.operating")
    kept, broken = ({"max_fpr": fpr, "min_recall": 0.6} for fpr in (0.1, 0.11))
    found = operating.judged("max_fpr", [kept, None, broken, broken])
    assert found == {"splits": 4, "none": 1, "broken": 2, "gain": pytest.approx(0.45)}
    assert binom.sf(1000 * operating.by_chance(1000), 1000, operating.DELTA) <= 0.01


def test_the_page_on_promises_says_what_the_results_say(module):
    operating = module("questions.operating")
    file = Path(__file__).parents[1] / "docs" / "benchmarks" / "operating.json"
    rows = module("results").Results.read(file).rows
    assert len({row["task"] for row in rows}) == 10 and {row["splits"] for row in rows} == {1000}
    tasks = [row["task"] for row in rows if row["solver"] == "operate"][::3]

    def share(method, promise, name="broken"):
        return operating.of(rows, method, promise, name)

    def gain(method, promise):
        return dict(zip(tasks, operating.of(rows, method, promise, "gain"), strict=True))

    def mean_gain(method, promise):
        return np.mean(list(gain(method, promise).values()))

    for promise in operating.PROMISES:
        for ours in ("operate", "monotone"):
            assert share(ours, promise).max() < operating.DELTA
        assert 0.29 < share("tuned", promise).mean() < 0.41
        assert share("mapie", promise).max() < 0.005
        assert mean_gain("monotone", promise) > mean_gain("operate", promise)
        lost = {
            task
            for task, own in gain("monotone", promise).items()
            if own < max(gain(each, promise)[task] for each in ("mapie", "mapie, fixed"))
        }
        assert lost == ({"rings"} if promise == "min_precision" else set())
    fixed, own = gain("mapie, fixed", "max_fpr"), gain("operate", "max_fpr")
    assert {task for task in tasks if fixed[task] > own[task]} == {"australian", "heart_scale"}
    more = gain("monotone", "max_fpr")["heart_scale"] - own["heart_scale"]
    assert round(100.0 * more) == 6  # points of recall
    assert 0.3 < 1.0 - mean_gain("mapie", "max_fpr") / mean_gain("operate", "max_fpr") < 0.34
    for promise in ("max_fpr", "min_recall"):
        assert 0.0 < mean_gain("operate", promise) - mean_gain("mapie, fixed", promise) < 0.02
    assert share("mapie, fixed", "min_precision", "none").mean() > 0.5
    assert share("operate", "min_precision", "none")[tasks.index("rings")] > 0.95
