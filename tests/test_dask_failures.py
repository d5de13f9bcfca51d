"""A cluster during a fit: workers die, or all of it goes away. No wait is endless."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import distributed
import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import taupath
from clusters import Here, cluster_of, cluster_path, in_chunks
from systems import KILL
from taupath.cluster import rounds
from test_approximate import classification

# How long a test waits for what must come to an end by itself; only against hanging.
HANGS = 600.0


@pytest.fixture
def client() -> Iterator[Any]:
    """Two worker processes, which are started again when they die; others for each test."""
    # a task may see one worker die, not Dask's three: that takes long
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), cluster_of(2) as client:
        client.wait_for_workers(2, timeout=HANGS)
        yield client


def at_node(number: int, do: Callable[[], object]) -> Callable[[float, int], None]:
    """Return a progress callback that does something once, when there are so many nodes."""

    def progress(_: float, nodes: int) -> None:
        if nodes == number:
            do()

    return progress


def ends(fit: Callable[[], Any]) -> BaseException | None:
    """Run in a thread that must end, and return what it ended with."""
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            fit()
            ended.append(None)
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANGS)
    assert ended, f"still waiting after {HANGS} s"
    return ended[0]


def made_there(n: int, d: int, rows: int) -> tuple[da.Array, da.Array]:
    """Return X and y that workers make."""
    X = da.random.default_rng(0).standard_normal((n, d), chunks=(rows, d), dtype=np.float32)
    return X, da.where(X[:, 0] + X[:, 1] > 0.5, 1, -1)


def pids(client: Any) -> dict[str, int]:
    return dict(client.run(os.getpid))


# --- a worker dies -------------------------------------------------------------------------------


def test_a_worker_killed_during_a_fit_costs_no_more_than_time(client):
    job = classification("none")
    undisturbed = cluster_path(job, 50)
    before = pids(client)
    victim = next(iter(before.values()))
    path = cluster_path(job, 50, progress=at_node(4, lambda: os.kill(victim, KILL)))
    assert victim not in pids(client).values()
    bound = path.certify().worst_gap
    assert bound <= path.tol
    # margins were computed again from w: only rounding differs
    assert_allclose(path.taus, undisturbed.taus, rtol=1e-6)
    assert_allclose(path.coef(0.3), undisturbed.coef(0.3), rtol=1e-5)
    assert all(job.gap(Here(path), tau) <= bound for tau in (0.2, 0.6))


@pytest.mark.slow
def test_a_worker_killed_within_a_round_costs_no_more_than_time(client):
    """At any moment, not between two requests: partitions take a while to answer."""
    X, y = made_there(400_000, 5, 50_000)
    victims: list[int] = []

    def kill() -> None:
        victims.append(next(iter(client.run(os.getpid).values())))
        os.kill(victims[0], KILL)

    killer = threading.Thread(target=kill)
    path = taupath.quantile_path(
        X, y, lam=1e-2, method="auto", tol=0.05, progress=at_node(3, killer.start)
    )
    killer.join(HANGS)
    assert victims
    assert path.certify().worst_gap <= 0.05


def test_workers_that_die_again_and_again_are_an_error_that_names_memory(client):
    X, y = in_chunks(classification(n=100), 50)
    deadly = X.map_blocks(_die, dtype=float, meta=np.empty((0, 0)))
    error = ends(lambda: taupath.quantile_path(deadly, y, method="auto"))
    assert isinstance(error, taupath.ClusterFailed)
    assert "died, several times in a row: most often for want of memory" in str(error)


def _die(block: np.ndarray) -> np.ndarray:
    os.kill(os.getpid(), KILL)
    return block


def test_an_error_of_the_users_own_tasks_is_passed_on(client):
    X, y = in_chunks(classification(n=100), 50)
    broken = X.map_blocks(_break, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ZeroDivisionError):
        taupath.quantile_path(broken, y, method="auto")


def _break(block: np.ndarray) -> float:
    return 1 / 0


# --- the cluster goes away -----------------------------------------------------------------------


def test_without_workers_there_is_an_error_after_the_time_limit():
    with cluster_of(0), dask.config.set({"taupath.timeout": "1s"}):
        error = ends(lambda: cluster_path(classification(n=60), 30))
    assert isinstance(error, taupath.ClusterFailed)
    assert "0 workers, 0 of them at work" in str(error)
    assert "taupath.timeout" in str(error)


@pytest.mark.skipif(os.name != "posix", reason="processes are stopped the POSIX way")
def test_workers_that_stand_still_are_an_error_after_the_time_limit(client):
    """Stopped, not dead: they have tasks, and are not heard of."""
    stopped = list(pids(client).values())

    def stop() -> None:
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)

    try:
        with dask.config.set({"taupath.timeout": "4s"}):
            error = ends(lambda: cluster_path(classification(n=60), 30, progress=at_node(3, stop)))
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    assert isinstance(error, taupath.ClusterFailed)
    assert re.search(r"nothing has happened for \d+ s .* 0 of them at work", str(error))


def test_a_long_task_is_not_taken_for_a_cluster_that_stands_still(client, monkeypatch, tmp_path):
    """Time passes here when workers have been seen at work, however long that takes them."""
    limit, done = 60.0, tmp_path / "done"
    clock = [0.0]
    at_work = rounds._at_work

    def busy(client: Any, before: dict[str, float], _: float) -> Any:
        found = at_work(client, before, HANGS)
        while not found[1]:  # a busy machine: they have not been heard of since
            found = at_work(client, before, HANGS)
        clock[0] += 2.0 * limit
        if clock[0] > 20.0 * limit:
            done.touch()
        return found

    def tick() -> float:
        clock[0] += 0.5 * limit
        return clock[0]

    monkeypatch.setattr(rounds, "_at_work", busy)
    monkeypatch.setattr(rounds, "monotonic", tick)
    X, y = in_chunks(classification("none", n=60), 30)
    slow = X.map_blocks(_wait_for, done, dtype=float, meta=np.empty((0, 0)))
    settings = {"intercept": "none", "method": "auto", "tol": 0.1}
    with dask.config.set({"taupath.timeout": f"{limit} s"}):
        error = ends(lambda: taupath.quantile_path(slow, y, **settings))
    assert error is None
    assert done.exists()


def _wait_for(block: np.ndarray, file: Path) -> np.ndarray:
    while not file.exists():
        threading.Event().wait(0.05)
    return block


def test_a_client_that_is_closed_is_an_error(client):
    with distributed.Client(client.scheduler.address) as other:
        error = ends(lambda: cluster_path(classification(), 100, progress=at_node(3, other.close)))
    assert isinstance(error, taupath.ClusterFailed)
    assert "make a new client and call again" in str(error)


def test_a_cluster_that_is_closed_is_an_error():
    with cluster_of(1) as client:
        close = client.cluster.close
        error = ends(lambda: cluster_path(classification(), 100, progress=at_node(3, close)))
    assert isinstance(error, taupath.ClusterFailed)
    assert "make a new client and call again" in str(error)


def test_rows_that_were_scattered_and_lost_are_an_error(client):
    job = classification("none", n=100)
    y = in_chunks(job, 50)[1]
    holder, pid = next(iter(pids(client).items()))
    blocks = client.scatter([job.X[:50], job.X[50:]], workers=[holder])
    kept = da.concatenate([da.from_delayed(b, (50, 5), float) for b in blocks])
    os.kill(pid, KILL)
    error = ends(lambda: taupath.quantile_path(kept, y, method="auto"))
    assert isinstance(error, taupath.ClusterFailed)
    assert "has forgotten the rows" in str(error)


# --- more than fits ------------------------------------------------------------------------------


@pytest.mark.slow
def test_data_larger_than_the_memory_of_one_worker():
    """Made on the workers, never here; no worker exceeds its limit, so none is started again."""
    limit, n, d = 500_000_000, 1_090_000, 120
    with cluster_of(4, memory_limit=limit) as client:
        X, y = made_there(n, d, 45_500)
        assert X.nbytes > limit
        before = pids(client)
        path = taupath.quantile_path(X, y, lam=1.0, method="auto", tol=0.3, tau_range=(0.48, 0.52))
        assert pids(client) == before
        workers = client.scheduler_info()["workers"].values()
        assert all(worker["metrics"]["memory"] < limit for worker in workers)
        assert path.certify().worst_gap <= 0.3
    assert f"{n} samples" in repr(path)


# --- joblib --------------------------------------------------------------------------------------


def three_classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    return rng.standard_normal((90, 2)) + y[:, None], y


@pytest.mark.parametrize(
    "backend", ["dask", "threading", pytest.param("loky", marks=pytest.mark.slow)]
)
def test_paths_of_classes_and_folds_go_through_joblib(client, backend):
    X, y = three_classes()
    plain = taupath.QuantileSVC(C=0.1).fit(X, y)
    search = taupath.QuantileSVCCV(
        Cs=[0.01, 0.1], cv=2, kernel="linear", combine="best", standardize=False
    ).fit(X, y == 2)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        ran = _tasks_run(client)
        several = taupath.QuantileSVC(C=0.1, n_jobs=2).fit(X, y)
        searched = taupath.QuantileSVCCV(
            Cs=[0.01, 0.1], cv=2, n_jobs=2, kernel="linear", combine="best", standardize=False
        ).fit(X, y == 2)
        if backend == "dask":
            assert _tasks_run(client) > ran
    assert_array_equal(several.predict(X), plain.predict(X))
    assert_array_equal(several.predict_proba(X), plain.predict_proba(X))
    assert searched.C_ == search.C_


def _tasks_run(client: Any) -> int:
    return int(client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter))
