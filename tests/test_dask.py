"""Rows on a Dask cluster of real worker processes: the same certificate, whatever happens there."""

from __future__ import annotations

import pickle
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import taupath
from approximation import Job, some_taus
from clusters import Here, cluster_of, cluster_path, in_chunks
from taupath.approximate.solutions import AtNodes, gap_bound_on
from taupath.approximate.training_data import StoredData
from test_approximate import INTERCEPTS, classification, regression

TOL = 3e-2


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes."""
    with cluster_of(2) as client:
        yield client


def small(intercept: str = "none", n: int = 300) -> Job:
    return classification(intercept, n=n)


def _first_of_them(block: np.ndarray, dtype: Any, block_info: Any = None) -> np.ndarray:
    first = bool(block_info) and block_info[0]["chunk-location"][0] == 0
    return block.astype(dtype) if first else block


# --- the certificate -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "intercept"),
    [
        (classification, "augmented"),
        pytest.param(classification, "free", marks=pytest.mark.slow),  # see the next test
        (regression, "none"),
    ],
)
def test_the_certificate_is_that_of_one_process_and_holds(client, make, intercept):
    job = make(intercept)
    path, one = cluster_path(job), job.path(method="approximate", tol=TOL)
    certificate = path.certify()
    assert certificate.continuum
    assert certificate.complete
    assert certificate.worst_gap <= TOL
    # the same nodes, up to rounding and the lengths of steps
    assert abs(path.n_kinks - one.n_kinks) <= 3
    assert abs(path.counters["newton_steps"] - one.counters["newton_steps"]) <= 10
    exact, here = job.path(), Here(path)
    for tau in np.random.default_rng(0).uniform(0.0, 1.0, 12):
        assert job.gap(here, tau) <= certificate.worst_gap
        best = job.primal(tau, exact.coef(tau), exact.intercept(tau))
        ours = job.primal(tau, path.coef(tau), path.intercept(tau))
        assert -1e-9 * job.rest() <= ours - best <= certificate.worst_gap * job.rest()


def test_nodes_of_one_process_get_the_same_certificate_from_the_cluster(client):
    """Very same nodes, judged here and there."""
    job = classification("free")
    path = cluster_path(job)
    one = job.path(method="approximate", tol=TOL)
    there = path.solutions
    data = StoredData(one.data.X, one.data.responses, path.data.constant)
    continuum = gap_bound_on(path.job, data)
    nodes = AtNodes(path.job, data, there.functions, there.counters, TOL, continuum)
    one = taupath.SolutionPath(nodes)
    here, there = one.certify(), path.certify()
    assert_allclose(there.worst_gap, here.worst_gap, rtol=1e-9)
    assert_allclose(there.worst_kkt, here.worst_kkt, rtol=1e-9)
    assert (there.tau_kkt, there.n_checked) == (here.tau_kkt, here.n_checked)
    for tau in (0.0, 0.3, float(path.taus[2]), 1.0):
        assert_allclose(path.duality_gap(tau), job.gap(Here(path), tau), rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("rows", [300, (1, 7, 292), pytest.param(30, marks=pytest.mark.slow)])
def test_chunks_do_not_matter_beyond_rounding(client, rows):
    job = small()
    path, one = cluster_path(job, rows), job.path(method="approximate", tol=TOL)
    assert path.certify().worst_gap <= TOL
    assert_allclose(path.coef(0.3), one.coef(0.3), atol=0.02)
    assert path.counters["partitions"] == len(in_chunks(job, rows)[0].chunks[0])


@pytest.mark.slow
def test_the_number_of_workers_does_not_matter(client):
    job = small()
    two = cluster_path(job, 60)
    for n_workers in (1, 3):
        with cluster_of(n_workers):
            other = cluster_path(job, 60)
        assert_allclose(other.taus, two.taus, rtol=1e-9)
        assert_allclose(other.coef(0.3), two.coef(0.3), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("make", [classification, regression])
def test_no_gap_exceeds_the_certificate_of_a_small_tolerance(client, make, intercept):
    job = make(intercept)
    path = cluster_path(job, 77, tol=1e-3)
    bound = path.certify().worst_gap
    assert bound <= 1e-3
    worst = max(job.gap(Here(path), float(tau)) for tau in some_taus(path, 60))
    assert 0.2e-3 <= worst <= bound


def test_many_features_are_certified(client):
    """More than are factored: by conjugate gradients, a round for each of their steps."""
    job = classification(n=60, d=600, C=0.01)
    path = cluster_path(job, 20, tol=0.1)
    bound = path.certify().worst_gap
    assert bound <= 0.1
    assert all(job.gap(Here(path), tau) <= bound for tau in (0.1, 0.5, 0.77))


def test_a_part_of_the_range_and_progress(client):
    calls = []
    path = cluster_path(
        small(), tau_range=(0.2, 0.4), progress=lambda part, nodes: calls.append((part, nodes))
    )
    assert path.tau_range == (0.2, 0.4)
    assert calls[-1] == (1.0, path.n_kinks)


# --- what travels --------------------------------------------------------------------------------


def test_only_vectors_as_long_as_w_and_sums_travel(client):
    """Ten times the rows cost no more bytes for each round."""
    d, counted = 5, []
    for n in (300, 3000):
        job = classification("none", n=n, C=300 / n)
        path = cluster_path(job, n // 3)
        counted.append(path.counters)
        assert path.counters["partitions"] == 3
    for counters in counted:
        per_round = counters["bytes_received"] / counters["rounds"] / 3
        # at most totals, sums and a matrix, slopes at seven lengths, losses of two chords
        assert per_round <= 8 * (2 * d + 10 + d * d + 3 + 14 + 2 * 4 * 9)
        assert counters["bytes_sent"] / counters["rounds"] / 3 <= 8 * 4 * d + 2000
        assert counters["rounds"] <= 12 * counters["nodes"] + 4 * counters["newton_steps"]
    assert counted[1]["bytes_received"] < 3 * counted[0]["bytes_received"]


def test_more_partitions_than_are_added_up_here_are_added_up_there(client):
    path = cluster_path(small(), 10, tol=0.1)  # 30 partitions, sums of 8 and less
    other = cluster_path(small(), 100, tol=0.1)
    assert_allclose(path.coef(0.4), other.coef(0.4), rtol=1e-6)
    assert path.counters["bytes_received"] < 3 * other.counters["bytes_received"]


def test_long_requests_are_sent_once(client, monkeypatch):
    monkeypatch.setattr("taupath.cluster.rounds.SHARED_BYTES", 0)
    shared = cluster_path(small(), 50, tol=0.1)
    monkeypatch.undo()
    copied = cluster_path(small(), 50, tol=0.1)
    assert_allclose(shared.coef(0.4), copied.coef(0.4), rtol=1e-9)
    assert shared.counters["bytes_sent"] * 6 == copied.counters["bytes_sent"]


# --- what may lie there --------------------------------------------------------------------------


def test_empty_partitions_and_those_of_one_class_are_fine(client):
    job = small()
    order = np.argsort(job.y, kind="stable")
    sorted_job = Job(job.X[order], job.y[order], intercept="none")
    negative = int((job.y < 0).sum())
    chunks = (0, negative - 20, 0, 20, 300 - negative, 0)
    path = cluster_path(sorted_job, chunks, tol=0.1)
    assert path.certify().worst_gap <= 0.1
    assert path.alpha(0.3).shape == (300,)
    one = job.path(method="approximate", tol=0.1)
    assert_allclose(path.coef(0.3), one.coef(0.3), atol=0.05)


def test_blocks_of_float32_stay_so_beside_others_of_float64(client):
    job = small()
    X, y = in_chunks(job, 150)
    mixed = X.map_blocks(_first_of_them, np.float32, dtype=np.float64)
    path = taupath.quantile_path(mixed, y, intercept="none", method="approximate", tol=TOL)
    rounded = Job(np.vstack((job.X[:150].astype(np.float32), job.X[150:])), job.y, intercept="none")
    bound = path.certify().worst_gap
    assert bound <= TOL
    assert all(rounded.gap(Here(path), tau) <= bound for tau in (0.1, 0.4, 0.8))


def test_sparse_blocks_are_used_as_they_are(client):
    job = small()
    X, y = in_chunks(job, 100)
    path = taupath.quantile_path(
        X.map_blocks(sparse.csr_array), y, intercept="none", method="approximate", tol=0.1
    )
    dense = cluster_path(job, 100, tol=0.1)
    assert_allclose(path.taus, dense.taus, rtol=1e-6)
    assert_allclose(path.coef(0.3), dense.coef(0.3), rtol=1e-6)


def test_columns_in_chunks_are_put_together_and_y_is_cut_like_X(client):
    job = small()
    X = da.from_array(job.X, chunks=(100, 2))
    weight = np.ones(300)
    path = taupath.quantile_path(
        X,
        da.from_array(job.y, chunks=77),
        intercept="none",
        sample_weight=weight,
        method="auto",
        tol=0.1,
    )
    assert_array_equal(path.taus, cluster_path(job, 100, tol=0.1).taus)


def test_weights_count(client):
    job = small()
    weight = np.random.default_rng(0).choice([0.0, 1.0, 3.0], 300)
    weight[:100] = 0.0  # a whole partition
    weighted = Job(job.X, job.y, 1.0, weight, "none")
    path = cluster_path(weighted, 100)
    bound = path.certify().worst_gap
    assert all(weighted.gap(Here(path), tau) <= bound <= TOL for tau in (0.2, 0.5, 0.9))


def test_data_frames_are_counted_and_labels_may_be_text(client):
    job = small(n=200)
    frame = pd.DataFrame(job.X, columns=list("abcde"))
    frame["label"] = np.where(job.y > 0, "yes", "no")
    table = dd.from_pandas(frame, npartitions=3)
    path = taupath.quantile_path(
        table[list("abcde")], table["label"], intercept="none", method="approximate", tol=0.1
    )
    assert_array_equal(path.classes, ["no", "yes"])
    assert_allclose(path.coef(0.3), cluster_path(job, 100, tol=0.1).coef(0.3), atol=0.02)
    decisions = path.decision_function(table[list("abcde")], 0.3)
    assert_allclose(decisions.compute(), job.X @ path.coef(0.3), rtol=1e-9, atol=1e-12)


# --- the face ------------------------------------------------------------------------------------


def test_the_path_has_the_face_of_others(client):
    job = classification("augmented")
    path = cluster_path(job, tol=0.1)
    assert isinstance(path, taupath.SolutionPath)
    assert path.method == "approximate"
    assert "gaps within 0.1" in repr(path)
    assert path.counters["nodes"] == path.n_kinks == len(path.taus)
    expected = job.X @ path.coef(0.3) + path.intercept(0.3)
    assert_allclose(path.decision_function(job.X, 0.3), expected, rtol=1e-9, atol=1e-12)
    X, _ = in_chunks(job, 70)
    lazy = path.decision_function(X, 0.3)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == X.chunks[:1]
    assert_allclose(lazy.compute(), expected, rtol=1e-9, atol=1e-12)
    several = path.decision_function(X, [0.2, 0.3])
    assert several.shape == (300, 2)
    assert_allclose(several.compute()[:, 1], expected, rtol=1e-9, atol=1e-12)
    for columns in (path.decision_function(X, taus=[0.2, 0.3]).compute(), several.compute()):
        here = path.decision_function(job.X, taus=[0.2, 0.3])
        assert_allclose(columns, here, rtol=1e-9, atol=1e-12)
    assert np.all(path.crossings(job.X[:20]).length <= 1.0)
    L, M, R = (one.compute() for one in path.index_sets(0.3))
    assert_array_equal(np.sort(np.concatenate((L, M, R))), np.arange(300))
    alpha = path.alpha(0.3)
    assert isinstance(alpha, da.Array)
    here = alpha.compute()
    assert np.all(here[R] == 0.0)
    assert_allclose(here[L], 2 * np.where(job.y[L] > 0, 0.7, 0.3) / 300, rtol=1e-12)
    assert 0.0 < path.kkt_violation(0.3) <= 4.0
    short = path.simplify(0.5)
    assert short.n_kinks < path.n_kinks
    assert short.certify().worst_gap <= 0.5


def test_a_pickled_path_needs_no_cluster_until_rows_are_asked_for(client):
    job = small()
    path = cluster_path(job, tol=0.1)
    assert len(pickle.dumps(path)) < 20_000
    again = pickle.loads(pickle.dumps(path))
    assert_array_equal(again.coef(0.3), path.coef(0.3))
    assert_array_equal(again.decision_function(job.X, 0.3), path.decision_function(job.X, 0.3))
    for ask in (again.certify, lambda: again.alpha(0.3)):
        with pytest.raises(ValueError, match=r"left on the cluster: path\.attach\(X, y\)"):
            ask()
    X, y = in_chunks(job, 100)
    assert again.attach(X, y).certify() == path.certify()
    with pytest.raises(ValueError, match=r"X has shape \(200, 5\), the path was made with"):
        again.attach(X[:200], y[:200])
    again.attach(X, 2 * y)
    with pytest.raises(ValueError, match="y has the classes"):
        again.certify()


def test_a_file_holds_functions_and_certificate_but_no_rows(client, tmp_path):
    job = small("free")
    path = cluster_path(job, tol=0.1)
    path.save(tmp_path / "path.tau")
    assert (tmp_path / "path.tau").stat().st_size < 20_000
    stored = taupath.load(tmp_path / "path.tau")
    taus = np.linspace(0.0, 1.0, 7)
    assert_array_equal(stored.decision_function(job.X, taus), path.decision_function(job.X, taus))
    assert stored.stated == path.certify()
    # certified once more, in one process, by the data themselves
    assert_allclose(stored.certify(job.X, job.y).worst_gap, stored.stated.worst_gap, rtol=1e-6)
    with pytest.raises(ValueError, match="data=True: the rows of this path are on a cluster"):
        path.save(tmp_path / "other.tau", data=True)
    assert [file.name for file in tmp_path.iterdir()] == ["path.tau"]


# --- bad input -----------------------------------------------------------------------------------


def refuse(match: str, X: Any, y: Any, error: type[Exception] = ValueError, **kw: Any) -> None:
    with pytest.raises(error, match=match):
        taupath.quantile_path(X, y, **{"method": "approximate", "tol": 0.1, **kw})


def test_unknown_chunk_sizes_are_refused_with_what_to_call(client):
    X, y = in_chunks(small(), 100)
    refuse(r"X has chunks of unknown sizes: call X\.compute_chunk_sizes\(\)", X[y > 0], y)
    refuse(r"y has chunks of unknown sizes: call y\.compute_chunk_sizes\(\)", X, y[y > 0])


def test_what_does_not_fit_together_is_refused(client):
    X, y = in_chunks(small(), 100)
    refuse("y has 200 values, X has 300 rows", X, y[:200])
    refuse("sample_weight has 200 values", X, y, sample_weight=np.ones(200))
    refuse("X must have two dimensions", X[:, 0], y)
    refuse(r"X is empty: shape \(0, 5\)", X[:0], y[:0])
    refuse("y must have one dimension", X, X)
    refuse("y or sample_weight is a Dask collection, X is a ndarray", small().X, y, TypeError)
    refuse("X must be a Dask array or data frame, got Delayed", dask.delayed(1), y, TypeError)


def test_the_exact_method_and_kernels_are_refused(client):
    X, y = in_chunks(small(), 100)
    refuse("method='exact' needs all rows in one place.*method='approximate'", X, y, method="exact")
    refuse("Dask collections are for kernel='linear', got kernel='rbf'", X, y, kernel="rbf")
    refuse("method must be one of", X, y, method="fast")
    refuse("intercept must be one of", X, y, intercept="some")
    refuse("C=1.0 and lam=1.0 contradict", X, y, C=1.0, lam=1.0)


def test_a_bad_value_is_found_with_its_partition(client):
    job = small()
    X, y = in_chunks(job, 100)
    bad = job.X.copy()
    bad[203, 1] = np.nan
    where = r"X contains nan \(first at \[3, 1\]\).*, in partition 2, which begins at row 200"
    refuse(where, da.from_array(bad, chunks=(100, 5)), y)
    weight = np.ones(300)
    weight[150] = -1.0
    refuse(r"sample_weight is negative: -1.0 at \[50\], in partition 1", X, y, sample_weight=weight)
    words = X.astype(str)
    refuse("X must hold real numbers, got dtype <U.*in partition 0", words, y, TypeError)
    labels = job.y.astype(float)
    labels[299] = np.inf
    refuse(r"y contains inf \(first at \[99\]\).*, in partition 2", X, labels)
    with pytest.raises(ValueError, match=r"y contains inf .* in partition 2"):
        taupath.quantile_regression_path(X, da.from_array(labels, chunks=100), method="auto")
    wrong = da.Array(X.__dask_graph__(), X.name, ((100, 100, 90), (5,)), dtype=float)
    refuse(r"X has shape \(100, 5\) where its chunks say \(90, 5\), in partition 2", wrong, y[:290])


def test_labels_of_other_than_two_classes_are_refused(client):
    job = small()
    X, _ = in_chunks(job, 100)
    refuse(r"exactly two classes, got 3: 0, 1, 2", X, da.from_array(np.arange(300) // 100))
    refuse(r"exactly two classes, got 1: 7", X, da.full(300, 7, chunks=100))
    text = da.from_array(job.y, chunks=100).map_blocks(_first_of_them, str, dtype=object)
    refuse("y holds text in some partitions and numbers in others", X, text, TypeError)
    weight = np.where(job.y > 0, 0.0, 1.0)
    refuse("sample_weight is zero for every sample of class 1", X, job.y, sample_weight=weight)
    refuse("sample_weight is zero for every sample$", X, job.y, sample_weight=np.zeros(300))


def test_a_tolerance_below_rounding_is_refused_with_the_least_one(client):
    X, y = in_chunks(small(), 100)
    with pytest.raises(ValueError, match=r"tol=1e-15 is less .* the least is .* at least that$"):
        taupath.quantile_path(X, y, method="approximate", tol=1e-15)


def test_without_a_client_the_error_says_how_to_make_one():
    code = (
        "import dask.array as da, taupath\n"
        "try: taupath.quantile_path(da.ones((9, 2), chunks=3), [0, 1, 1] * 3, method='auto')\n"
        "except ValueError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert "make a client first, client = distributed.Client()" in said.stdout


def test_importing_taupath_does_not_import_dask_and_its_lack_is_explained():
    code = (
        "import sys, numpy as np, taupath\n"
        "taupath.quantile_path(np.eye(2), [0, 1]), taupath.QuantileSVC\n"
        "assert not {'dask', 'distributed'} & set(sys.modules)\n"
        "import dask.array as da\n"
        "sys.modules['distributed'] = None\n"
        "try: taupath.quantile_path(da.ones((9, 2), chunks=3), [0, 1, 1] * 3, method='auto')\n"
        "except ImportError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    needed, command = said.stdout.strip().split("; install it with: ")
    assert needed == "Dask collections need distributed"
    python = [sys.executable, "-m", "pip"]
    assert shlex.split(command) == [*python, "install", "dask[array]", "distributed"]
