"""The reproduction of the paper, on a small made-up data folder and on the paper's data."""

import builtins
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import taupath.reproduce.algorithm1
import taupath.reproduce.paper_data
import taupath.reproduce.targets
from made_up_papers import overlapping, read_csv, write_made_up
from taupath import quantile_path
from taupath.choices import REPRODUCED
from taupath.datasets import DataNotFound, load_paper
from taupath.reproduce import (
    algorithm1,
    kinks,
    lemma,
    run,
    table1,
    table2,
    timing,
)
from taupath.reproduce.context import write_csv
from taupath.reproduce.judge import Problem


@pytest.fixture
def folder(tmp_path):
    return write_made_up(tmp_path)


@pytest.fixture
def no_openml(monkeypatch):
    """OpenML is out of reach, without asking the network."""
    monkeypatch.setattr(
        taupath.reproduce.paper_data, "_fetch_into", lambda into: into.append(OSError("no network"))
    )
    monkeypatch.delenv("TAUPATH_DATA", raising=False)


@pytest.fixture
def short(monkeypatch):
    """Simulations and repetitions as small as they can be."""
    monkeypatch.setattr(lemma, "SIZES", (20, 40, 80))
    monkeypatch.setattr(lemma.measure, "__defaults__", ((20, 40, 80), 2, 20))
    monkeypatch.setattr(kinks.simulated, "__defaults__", ((20, 40), 2))
    monkeypatch.setattr(timing, "MOST_RUNS", 2)
    monkeypatch.setattr(algorithm1, "LONGEST", 0.0)


# --- all of it, on the made-up folder ------------------------------------------------------------


def test_all_parts_write_their_files_and_name_what_is_missing(folder, no_openml, short, tmp_path):
    lines = []
    output = tmp_path / "made" / "here"
    run("all", data=folder, output=output, say=lines.append)
    parts = [name for name in REPRODUCED if name != "all"]
    assert {file.name for file in output.iterdir()} == {
        f"{part}.{kind}" for part in parts for kind in ("csv", "png")
    }
    assert all((output / f"{part}.png").read_bytes()[:4] == b"\x89PNG" for part in parts)
    text = "\n".join(lines)
    assert text.count("left out: splice") == 1  # data are read once
    assert "C_elegans_acc_100000" in text
    assert "(2776)" in text and "(13.4 %)" in text  # the paper's
    assert {row["data"] for row in read_csv(output / "figure2.csv")} == {"diabetes", "spam"}
    assert {row["data"] for row in read_csv(output / "kinks.csv")} == {
        "diabetes",
        "spam",
        kinks.SIMULATED,
    }


@pytest.mark.parametrize("which", ["figure1", "lemma"])
def test_without_data_simulations_are_still_made(which, no_openml, short, tmp_path):
    run(which, data=None, output=tmp_path, say=lambda _: None)
    assert (tmp_path / f"{which}.png").is_file() and (tmp_path / f"{which}.csv").is_file()


@pytest.mark.parametrize("which", ["table1", "table2", "figure2", "kinks"])
def test_without_data_the_message_says_where_to_get_them(which, no_openml, tmp_path):
    with pytest.raises(DataNotFound) as caught:
        run(which, data=tmp_path, output=tmp_path / "out", say=lambda _: None)
    message = str(caught.value)
    for word in ("TAUPATH_DATA", "--data", "UCI", "ECML/PKDD 2006", "acceptor sites"):
        assert word in message


def test_an_unknown_part_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(ValueError, match=r"one of table1, .*, all; got 'table3'"):
        run("table3", data=None, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_the_message_says_how_to_install_it(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="-m pip install matplotlib"):
        run("figure1", data=None, output=tmp_path / "out")


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path):
    file = tmp_path / "some.csv"
    write_csv(file, ["a"], [[np.float64(0.1)], [None]])
    assert file.read_text() == 'a\n0.1\n""\n'

    def rows():
        yield [1]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_csv(file, ["a"], rows())
    assert "0.1" in file.read_text() and list(tmp_path.iterdir()) == [file]


# --- data ----------------------------------------------------------------------------------------


def test_diabetes_from_openml_are_scaled_and_cut_like_the_file(monkeypatch, data_dir):
    raw = np.loadtxt(data_dir / "diabetes" / "pima-indians-diabetes.csv", delimiter=",")
    label = np.where(raw[:, 8] > 0, "tested_positive", "tested_negative")
    monkeypatch.setattr(
        "sklearn.datasets.fetch_openml",
        lambda *_, **__: SimpleNamespace(data=raw[:, :8], target=label),
    )
    found = taupath.reproduce.paper_data.diabetes_from_openml(lambda _: None)
    stored = load_paper("diabetes", data_dir)
    for part in ("train", "valid", "test"):
        assert_array_equal(getattr(found, f"y_{part}"), getattr(stored, f"y_{part}"))
        # the file has six digits
        assert_allclose(getattr(found, f"X_{part}"), getattr(stored, f"X_{part}"), atol=1e-6)


def test_openml_is_not_waited_for_longer_than_the_limit(monkeypatch):
    import threading

    never = threading.Event()
    monkeypatch.setattr(taupath.reproduce.paper_data, "_fetch_into", lambda _: never.wait())
    said = []
    assert taupath.reproduce.paper_data.diabetes_from_openml(said.append, seconds=0.01) is None
    never.set()
    assert "did not answer" in said[0]


def test_without_a_network_openml_is_said_to_fail_and_nothing_is_raised(monkeypatch, tmp_path):
    def fail(*_, **__):
        raise OSError("no such host")

    monkeypatch.setattr("socket.getaddrinfo", fail)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))  # nothing is cached there
    said = []
    assert taupath.reproduce.paper_data.diabetes_from_openml(said.append) is None
    assert "URLError" in said[0] and "no such host" in said[0]


# --- Table 1 -------------------------------------------------------------------------------------


def test_validation_accuracy_is_that_of_a_path_over_tau_at_each_lambda(folder):
    data = load_paper("spam", folder)
    row = table1.measure(data)
    for lam in table1.LAMBDAS:
        path = quantile_path(data.X_train, data.y_train, lam=lam)
        right = (path.decision_function(data.X_valid, 0.5) >= 0.0) == (data.y_valid > 0)
        assert row.at(lam) == pytest.approx(right.mean())
    best = max(row.at(lam) for lam in table1.LAMBDAS)
    assert row.chosen == max(lam for lam in table1.LAMBDAS if row.at(lam) == best)
    assert row.sizes == (30, 30, 30) and row.zeros == 0.0


def test_table1_of_the_paper_s_data(paper_data):
    for name in ("diabetes", "spam"):
        row = table1.measure(paper_data(name))
        paper = table1.PAPER[name]
        assert row.sizes == paper.sizes and row.n_features == paper.n_features
    assert round(row.zeros, 3) == paper.zeros == 0.997
    assert row.at(paper.lam) == pytest.approx(0.9312)


@pytest.mark.slow
def test_on_splice_the_lambda_of_the_paper_is_chosen(paper_data):
    row = table1.measure(paper_data("splice"))
    assert row.chosen == pytest.approx(1e-2)
    assert row.zeros == pytest.approx(0.75) and row.sizes == (10_000, 10_000, 10_000)


# --- Table 2 -------------------------------------------------------------------------------------


@pytest.fixture
def problem():
    X, y = overlapping(120, 3, seed=7)
    return Problem(X, y.astype(float), 1e-2)


def test_algorithm_1_is_walked_to_its_end_where_parts_say_it_is_short(problem, monkeypatch):
    monkeypatch.setattr(algorithm1, "LONGEST", np.inf)
    path = quantile_path(problem.X, problem.y, lam=problem.lam)
    found = algorithm1.measure_algorithm1(problem, path, [0.2, 0.8])
    assert found.seconds > 0.0 and found.estimate > 0.0 and found.best_guess == found.seconds
    assert found.gap < 1e-8 and found.n_kinks > 100
    n_kinks = min(algorithm1.N_KINKS, (path.n_kinks - 1) // algorithm1.N_PARTS)
    assert found.walked == n_kinks * algorithm1.N_PARTS


def test_algorithm_1_is_extrapolated_where_it_would_take_long(problem, monkeypatch):
    path = quantile_path(problem.X, problem.y, lam=problem.lam)
    monkeypatch.setattr(algorithm1, "LONGEST", 0.0)
    found = algorithm1.measure_algorithm1(problem, path, [0.5])
    assert found.seconds is None and found.gap is None and found.n_kinks is None
    assert found.best_guess == found.estimate > 0.0


def test_the_estimate_is_the_start_and_parts_per_kink(problem, monkeypatch):
    class Watch(algorithm1.Stopwatch):
        """Two seconds for the start, a half for a walk without kinks, 0.5 or 3.5 for a part."""

        def best(self, job):
            assert self.runs(job) == 1
            if job.startswith("part"):
                return 0.5 + 3.0 * (int(job.split()[1]) % 2)
            return {"start": 2.0, "nothing": 0.5}[job]

    monkeypatch.setattr(algorithm1, "Stopwatch", Watch)
    monkeypatch.setattr(algorithm1, "LONGEST", 0.0)
    path = quantile_path(problem.X, problem.y, lam=problem.lam)
    found = algorithm1.measure_algorithm1(problem, path, [0.5])
    n_parts = algorithm1.N_PARTS
    in_a_part = found.walked / n_parts
    assert found.estimate == pytest.approx(2.0 + 1.5 / in_a_part * path.n_kinks)
    error = 1.5 / in_a_part / np.sqrt(n_parts - 1) * path.n_kinks
    assert found.uncertainty == pytest.approx(error)


def test_how_much_of_algorithm_1_is_checked(problem):
    assert algorithm1.measure_algorithm1(problem, None, [], "skip") == algorithm1.Algorithm1()
    with pytest.raises(ValueError, match="auto, whole, skip; got 'some'"):
        algorithm1.measure_algorithm1(problem, None, [], "some")


def test_table2_without_liblinear_says_so(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "liblinear", None)
    row = table2.measure(load_paper("spam", folder), repeats=1)
    assert row.liblinear is None and row.liblinear_gap is None and row.path_gap < 1e-9
    assert timing.ratios(row) == dict.fromkeys(("path", "recover", "lbfgsb", "algorithm1"))
    lines = table2.report([row], {"threads": "1"})
    assert "not installed" in lines[2]
    assert lines[6].count("not installed") == 4
    assert "(2369)" in lines[6]


def test_table2_runs_one_thread(folder, no_openml, short, monkeypatch, tmp_path):
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    lines = []
    run("table2", data=folder, output=tmp_path / "out", say=lines.append)
    assert any("threads: 1," in line for line in lines)
    assert any("extrapolated from parts with" in line for line in lines)
    rows = read_csv(tmp_path / "out" / "table2.csv")
    kinks_of = {row["data"]: row for row in rows if row["quantity"] == "kinks"}
    assert kinks_of["spam"]["paper"] == "6660"
    data = load_paper("spam", folder)
    path = quantile_path(data.X_train, data.y_train, lam=data.lam)
    assert int(kinks_of["spam"]["measured"]) == path.n_kinks
