"""The benchmarks against peers: solvers answer their tasks, and nobody is left out in silence."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import oracles

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
# Gaps that solvers reach at the tightest setting; the others reach 1e-6. LIBLINEAR stops after so
# many rounds, in an order that depends on what it has solved before in the same process.
REACHED = {"sgd": 0.3, "approximate": 1e-5, "liblinear": 1e-3}

SOLVERS = ["taupath", "approximate", "liblinear", "linear_svc", "svc", "sgd", "piqp", "clarabel"]
SOLVERS += ["daqp", "quantile_regressor", "quantreg"]
TASKS = {
    "linear": {"name": "gaussian", "n_samples": 40, "n_features": 3},
    "linear, free": {
        "name": "gaussian",
        "n_samples": 40,
        "n_features": 3,
        "intercept": "free",
    },
    "rbf, free": {
        "name": "gaussian",
        "n_samples": 40,
        "n_features": 3,
        "gamma": 0.3,
        "intercept": "free",
    },
    "regression": {"name": "quantiles", "n_samples": 50, "n_features": 2, "C": 10.0},
}


@pytest.fixture
def solver(module):
    """A function that returns a solver by name; without its package the test is skipped."""

    def load(name):
        found = module("solvers").load(name)
        if found.missing():
            pytest.skip(found.missing())
        return found

    return load


@pytest.fixture
def objective(module):
    """A function that returns the objective of one of the tasks."""

    def make(name):
        task = module("datasets").load(**TASKS[name])
        return module("objective").Objective(task, module("objective").follow(task))

    return make


# -- solvers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_finds_what_the_path_finds_in_every_task_it_takes(module, solver, objective, name):
    peer, taus, taken = solver(name), [0.2, 0.5, 0.9], 0
    for task_name in TASKS:
        judge = objective(task_name)
        if peer.refuses(judge.task):
            continue
        taken += 1
        answers = peer.grid(judge.task, taus, peer.tolerances[-1])
        assert len(answers) == len(taus)
        found = module("trial").judged(judge, peer, taus, answers)
        if peer.minimises == "task":
            assert found["gap"] <= REACHED.get(name, 1e-6), (task_name, found)
        else:  # without |w|²/2 the loss can only be less
            for tau, answer in zip(taus, answers, strict=True):
                path_s = module("solvers.taupath").answer(judge.task, judge.path, tau)
                theirs = judge.loss(tau, answer.w)
                ours = judge.loss(tau, judge.weights(tau, path_s))
                assert theirs <= ours * (1.0 + 1e-6)
                assert theirs >= 0.9 * ours
    assert taken


@pytest.mark.slow
def test_ppopt_finds_all_pieces_of_the_path(module, solver):
    peer = solver("ppopt")
    task = module("datasets").load("gaussian", n_samples=12, n_features=2)
    judge = module("objective").Objective(task, module("objective").follow(task))
    path = peer.path(task)
    assert path.n_pieces == judge.path.n_kinks - 1
    assert max(judge.judge(tau, path.at(tau)).gap for tau in (0.05, 0.3, 0.5, 0.8)) <= 1e-9


def test_a_solver_without_its_package_says_what_to_install(module, monkeypatch):
    peer = module("solvers").load("piqp")
    monkeypatch.setattr(type(peer), "module", "no_such_module")
    rows = []
    task = module("datasets").load(**TASKS["linear"])
    assert module("trial").enter([peer], task, rows.append) == []
    assert rows[0]["solver"] == "PIQP"
    assert rows[0]["note"] == "PIQP is not installed"


def test_a_solver_says_which_tasks_it_does_not_take(module):
    load, tasks = module("solvers").load, module("datasets").load
    rbf, regression = tasks(**TASKS["rbf, free"]), tasks(**TASKS["regression"])
    assert load("liblinear").refuses(rbf) == "no rbf kernel"
    assert load("svc").refuses(regression) == "no regression"
    assert load("svc").refuses(tasks(**TASKS["linear"])) == "no augmented intercept"
    many = tasks("gaussian", n_samples=1001, n_features=1)
    assert load("daqp").refuses(many) == "not tried beyond 1000 samples"
    kernel = tasks("gaussian", n_samples=1001, n_features=1, gamma=1.0)
    assert load("piqp").refuses(kernel) == "not tried beyond 1000 samples with a kernel"


@pytest.mark.parametrize("what", ["datasets", "solvers", "questions"])
def test_an_unknown_name_lists_the_known_ones(module, what):
    known = module(what).NAMES
    with pytest.raises(ValueError, match=f"'nobody'; there are {known[0]}"):
        module(what).load("nobody")


def test_every_file_is_listed(module):
    for what in ("datasets", "solvers", "questions"):
        files = {file.stem for file in (BENCHMARKS / what).glob("*.py")}
        shared = {"__init__", "base", "quadratic", "paper", "census", "tables", "real", "simulated"}
        listed = module(what).NAMES + (module(what).MORE if what == "questions" else ())
        assert files - shared == set(listed)


# -- the objective ---------------------------------------------------------------------------------


@pytest.fixture
def by_hand(module):
    """The two points of `oracles.hand_solution`."""
    C = 1.0 / (2 * oracles.HAND_LAM)
    task = module("task").Task("hand", "classification", oracles.HAND_X, oracles.HAND_Y * 1.0, C)
    return module("objective").Objective(task, module("objective").follow(task))


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_the_objective_finds_nothing_wrong_with_a_solution_by_hand(module, by_hand, tau):
    Answer = module("task").Answer
    alpha, w, b = oracles.hand_solution(tau)
    for answer in (Answer(theta=alpha / oracles.HAND_LAM), Answer(w=np.array([w, b]))):
        found = by_hand.judge(tau, answer)
        assert found.gap <= 1e-9 and found.kkt <= 1e-7


def test_the_objective_has_the_residual_of_an_answer_that_is_off(module, by_hand):
    # At τ = 1/2, θ = (2, 2) makes w = (2, 0): margins are 2 and 0, all boxes [0, 5].
    found = by_hand.judge(0.5, module("task").Answer(theta=np.array([2.0, 2.0])))
    assert_allclose(found.gap, 5.0 / 7.0)
    # the first θ would fall by 5 to its bound 0, the second rise by 5 to 5
    assert_allclose(found.kkt, 3.0 / 5.0)


def test_an_interior_point_is_not_blamed_for_being_inside(module, by_hand):
    # θ_1 = h - 1e-6 with a margin that is short: the strict violation is as large as that
    alpha = oracles.hand_solution(0.9)[0] / oracles.HAND_LAM
    inside = alpha - np.array([1e-6, 0.0])
    assert by_hand.at(0.9).judge(inside).kkt > 0.1
    assert by_hand.judge(0.9, module("task").Answer(theta=inside)).kkt < 1e-5


def test_weights_alone_cannot_be_judged_everywhere(module, objective):
    with pytest.raises(ValueError, match="linear classification only"):
        objective("rbf, free").judge(0.5, module("task").Answer(w=np.zeros(4)))


def test_an_excess_is_taken_from_the_least_loss(module, objective):
    judge = objective("regression")
    for loss in (3.0, 2.0, 2.5):
        judge.note(0.5, loss)
    assert_allclose(judge.excess(0.5, 3.0), 0.5)
    assert judge.excess(0.5, 2.0) == 0.0


# -- trials ----------------------------------------------------------------------------------------


def test_jobs_run_in_turn_until_they_have_taken_enough(module):
    calls = []
    jobs = {name: lambda name=name: calls.append(name) for name in "ab"}
    module("turns").rounds(jobs, enough=1e9, most_runs=3)
    assert calls == ["a", "b"] * 3
    calls.clear()
    module("turns").rounds(jobs, enough=0.0, most_runs=3)
    assert calls == ["a", "b"]


def test_a_job_that_fails_is_not_run_again_and_hinders_nobody(module):
    calls = []

    def fails():
        calls.append("fails")
        raise ArithmeticError("no")

    results, seconds = module("trial").best_seconds(
        {"bad": fails, "good": lambda: calls.append("good") or 7},
        module("trial").Settings(enough=1e9, most_runs=2),
    )
    assert calls == ["fails", "good", "good"]
    assert isinstance(results["bad"], ArithmeticError)
    assert results["good"] == 7
    assert set(seconds) == {"good"}


def test_a_solver_is_set_tighter_until_the_gap_is_small_enough(module, solver, objective):
    trial = module("trial")
    rungs, trouble = trial.climb(
        solver("piqp"), objective("linear"), trial.Settings(longest=np.inf), 1e-6, (0.2, 0.5)
    )
    assert trouble == ""
    assert [rung.tolerance for rung in rungs] == sorted((r.tolerance for r in rungs), reverse=True)
    assert rungs[-1].gap <= 1e-6 < rungs[-2].gap
    assert trial.pick(rungs, 1e-6) is rungs[-1]
    assert trial.pick(rungs, 1e-30) is None


def test_a_solver_that_takes_too_long_is_not_set_tighter(module, solver, objective):
    trial, judge = module("trial"), objective("linear")
    rungs, trouble = trial.climb(solver("linear_svc"), judge, trial.Settings(longest=0.0))
    assert rungs == []
    assert trouble.endswith("s for one τ at 0.1")
    # who follows the path does so once, however long it takes
    rungs, _ = trial.climb(solver("taupath"), judge, trial.Settings(longest=0.0))
    assert len(rungs) == 1 and rungs[0].gap <= 1e-9


def test_passes_are_fewer_over_large_data(module):
    passes, load = module("solvers.base").passes, module("datasets").load
    assert passes(load("gaussian", n_samples=100, n_features=10), 10_000) == 10_000
    # 2e9 entries by 1e6 of them
    assert passes(load("gaussian", n_samples=100_000, n_features=10), 10_000) == 2000


def test_sparse_features_have_indices_that_every_solver_takes(module):
    X = sparse.csr_matrix(np.eye(3))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    found = module("task").narrow(X)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert_allclose(found.toarray(), np.eye(3))
    y = np.array([1.0, -1.0, 1.0])
    task = module("task").Task("sparse", "classification", found, y, 1.0)
    judge = module("objective").Objective(task, module("objective").follow(task))
    for name in ("taupath", "linear_svc", "sgd", "piqp", "clarabel"):
        peer = module("solvers").load(name)
        answers = peer.grid(task, [0.5], peer.tolerances[-1])
        assert judge.judge(0.5, answers[0]).gap <= REACHED.get(name, 1e-6), name


def test_a_failing_peer_leaves_a_row_and_the_others_go_on(module, monkeypatch):
    grid = module("questions.grid")
    svc = module("solvers").load("linear_svc")

    def broken(task, taus, tolerance):
        if task.n_samples > 20:
            raise RuntimeError("stalled")
        return [module("task").Answer(w=np.zeros(3)) for _ in taus]

    monkeypatch.setattr(svc, "grid", broken)
    rows = []
    task = module("datasets").load("gaussian", n_samples=30, n_features=2)
    candidates = [svc, module("solvers").load("taupath")]
    settings = replace(module("run").QUICK, longest=np.inf)
    grid.measure_task(task, candidates, settings, rows.append)
    said = [row["note"] for row in rows if row["solver"] == svc.name]
    assert said == ["not reached: RuntimeError: stalled"] * 3
    assert len([row for row in rows if "seconds" in row]) == 6


# -- the runner ------------------------------------------------------------------------------------


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), "--longest", "600", *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
        timeout=900,
    )


def check_results(module, folder, names):
    for name in names:
        results = module("results").Results.read(folder / f"{name}.json")
        assert results.quick and results.seconds > 0.0
        assert "processor" in results.machine and "taupath" in results.machine
        question = module("questions").load(name)
        for table in question.tables(results.rows).values():
            assert len({len(cells) for _, cells in table.columns}) == 1
        timed = [row for row in results.rows if "seconds" in row or "peak" in row]
        assert timed, name
        assert not [row for row in results.rows if str(row.get("note")).startswith("failed")]


def test_the_runner_measures_and_writes(module, tmp_path):
    done = run("--quick", "--question", "growth", "regression", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "s in all" in done.stdout and "taupath, whole path" in done.stdout
    check_results(module, tmp_path, ["growth", "regression"])


@pytest.mark.slow
def test_the_runner_measures_all_other_questions(module, tmp_path):
    names = ["path", "grid", "accuracy", "memory", "quality", "decisions", "operating"]
    names += ["quantiles"]
    done = run("--quick", "--question", *names, "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    check_results(module, tmp_path, names)
    rows = module("results").Results.read(tmp_path / "memory.json").rows
    assert all(0 < row["before"] <= row["peak"] < 2**31 for row in rows)


def test_the_runner_says_that_data_are_missing(module, monkeypatch, tmp_path):
    monkeypatch.delenv("TAUPATH_DATA", raising=False)
    rows = module("run").ask("table2", module("run").QUICK, tmp_path).rows
    assert [row["task"] for row in rows] == ["diabetes"]
    assert "set the environment variable TAUPATH_DATA" in rows[0]["note"]
    rows = []
    assert not list(module("trial").load_tasks([{"name": "engel"}], rows.append))
    assert "engel.csv is missing: set TAUPATH_DATA" in rows[0]["note"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--question", "nothing"], "invalid choice: 'nothing'"),
        (["--longest", "0"], "--longest must be positive, got 0"),
    ],
)
def test_the_runner_refuses_what_makes_no_sense(module, monkeypatch, capsys, arguments, said):
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        module("run").main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_question_that_breaks_keeps_its_rows(module, monkeypatch, tmp_path):
    def measure(settings, emit):
        emit({"task": "a", "solver": "b", "seconds": np.float64(1.0), "gap": np.inf})
        raise KeyError("lost")

    monkeypatch.setattr(module("questions").load("path"), "measure", measure)
    results = module("run").ask("path", module("run").QUICK, tmp_path)
    assert [row.get("note") for row in results.rows] == [None, "failed: KeyError: 'lost'"]
    stored = json.loads((tmp_path / "path.json").read_text("utf-8"))
    assert stored["rows"][0] == {"task": "a", "solver": "b", "seconds": 1.0, "gap": None}


def test_a_run_that_was_broken_off_goes_on(module, monkeypatch, tmp_path):
    measured = []

    def measure(settings, emit):
        for split in range(3):
            if ("a", "b", split) not in settings.done:
                measured.append(split)
                emit({"task": "a", "solver": "b", "split": split, "seconds": 1.0})
                if len(measured) == 2:
                    raise KeyError("lost")

    monkeypatch.setattr(module("questions").load("path"), "measure", measure)
    run = module("run")
    assert len(run.ask("path", run.QUICK, tmp_path).rows) == 3  # two, and a note
    results = run.ask("path", run.QUICK, tmp_path, resume=True)
    assert [row["split"] for row in results.rows] == measured == [0, 1, 2]
    assert results.seconds >= 2.0
    # rows of another kind of run are not kept
    run.ask("path", module("trial").Settings(), tmp_path, resume=True)
    assert measured == [0, 1, 2, 0, 1, 2]


# -- showing ---------------------------------------------------------------------------------------


def test_estimates_are_marked_and_gaps_beyond_the_accuracy_too(module):
    grid = module("questions.grid")
    row = {"task": "t", "solver": "PIQP", "accuracy": 1e-3, "tolerance": 1e-3}
    rows = [
        {**row, "points": 9, "seconds": 0.5, "gap": 2e-3, "kkt": 0.1},
        {**row, "points": 99, "seconds": 5.5, "estimated": True},
        {"task": "t", "solver": "DAQP", "note": "not tried"},
    ]
    table = grid.tables(rows)["t"]
    cells = {head: cell for head, (cell,) in table.columns}
    assert cells["1e-03: 9"] == "0.5 *"
    assert cells["1e-03: 99"] == "≈ 5.5"
    assert cells["1e-06: 9"] == "–"
    assert table.notes == ["DAQP: not tried"]
    assert not grid.plots(rows)  # nothing at the accuracy that is drawn
    drawn = grid.plots([{**row, "accuracy": 1e-6} for row in rows[:2]])["t"]
    assert drawn.series == {"PIQP": [(9, 0.5)]}
    assert drawn.guessed == {"PIQP": [(99, 5.5)]}


def test_a_plot_is_one_picture_with_names_of_its_own(module):
    Plot = module("showing").Plot
    series = {"taupath, whole path": [(10, 1.0), (1, 0.1)], "LIBLINEAR, 9 τ": [(1, 0.2), (10, 2.0)]}
    guessed = {"LIBLINEAR, 9 τ": [(100, 20.0)]}
    picture = module("drawing").svg(Plot("a plot", "n", "seconds", series, guessed), "one")
    root = ElementTree.fromstring(picture)
    names = [each.get("id") for each in root.iter() if each.get("id")]
    assert names and all(name.startswith("one-") for name in names)
    assert "currentColor" in picture and "#010203" not in picture
    text = " ".join("".join(each.itertext()) for each in root.iter())
    assert "LIBLINEAR, 9 τ" in text and "seconds" in text
    assert root.get("aria-label") == "a plot: seconds against n"


def test_a_solver_looks_the_same_whatever_is_said_of_it(module):
    look = module("drawing")._look
    assert look("taupath, whole path") == look("taupath")
    assert look("taupath, approximate, 9 τ") == look("taupath, approximate") != look("taupath")
    names = [module("solvers").load(name).name for name in module("solvers").NAMES]
    assert len({str(look(name)) for name in names}) == len(names)


def test_the_results_of_the_documentation_can_be_shown(module):
    folder = ROOT / "docs" / "benchmarks"
    for name in module("questions").NAMES:
        results = module("results").Results.read(folder / f"{name}.json")
        question = module("questions").load(name)
        tables = question.tables(results.rows)
        assert any(cells for table in tables.values() for _, cells in table.columns)
        for plot in list(question.plots(results.rows).values())[:1]:  # `make docs` draws all
            ElementTree.fromstring(module("drawing").svg(plot, name))
