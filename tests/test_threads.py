"""Many threads read a path at a time, and a process that is forked while they do reads it, too."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from taupath._core._kernel_rows import CachedRows

import taupath
from lazily import Lazily
from taupath.engine import reading
from taupath.engine.readers import ReadersLock, made_once
from taupath.paths import crossings, kernel_data

pytestmark = pytest.mark.core
N = 80
THREADS = 6
# Seconds after which a child counts as hanging: each takes well below one.
PATIENCE = 120.0

RNG = np.random.default_rng(7)
X = RNG.standard_normal((N, 3))
NEW = RNG.standard_normal((15, 3))
TARGET = np.sin(2.0 * X[:, 0]) + 0.4 * RNG.standard_normal(N)
LABEL = (TARGET > 0.0).astype(int)
TAUS = np.linspace(0.03, 0.97, 13)


def rbf(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return a kernel of full rank."""
    return np.exp(-((A[:, np.newaxis] - B) ** 2).sum(axis=2))


K = rbf(X, X)
# the cache has room for 24 rows, and for the free points
FEW_ROWS = {"kernel": "precomputed", "cache_size": 1.01 * 8e-6 * N * 24}

PATHS = Lazily(
    {
        "classification": lambda: taupath.quantile_path(K, LABEL, C=3.0, **FEW_ROWS),
        "regression": lambda: taupath.quantile_regression_path(K, TARGET, C=0.3, **FEW_ROWS),
        "linear": lambda: taupath.quantile_regression_path(X, TARGET, C=2.0, intercept="free"),
        "sparse": lambda: taupath.quantile_path(
            sparse.csr_array(RNG.random((60, 400)) * (RNG.random((60, 400)) < 0.05)),
            LABEL[:60],
            C=50.0,
        ),
        "simplified": lambda: PATHS["regression"].simplify(1e-3),
        "approximate": lambda: taupath.quantile_path(X, LABEL, method="approximate", tol=1e-4),
    }
)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Caches are small, and threads take turns often."""
    monkeypatch.setattr(kernel_data, "FEWEST_ROWS", 8)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def reads(path: taupath.SolutionPath) -> list[Callable[[], Any]]:
    """Return whatever can be read off a path, as functions."""
    new = {3: NEW, N: rbf(NEW, X)}.get(path.data.shape[1], path.data.X[:15])
    each = [lambda tau=tau: path.alpha(tau) for tau in TAUS[::2]]
    each += [lambda tau=tau: path.decision_function(new, tau) for tau in TAUS[1::2]]
    many = np.linspace(0.02, 0.98, 15)
    return [
        *each,
        lambda: path.decide_each(new, many),
        lambda: path.crossings(new).length,
        lambda: path.changes(new).when,
        lambda: path.values_at_nodes(new)[1],
        lambda: path.intercept(0.4),
        lambda: path.duality_gap(0.6),
        lambda: path.kkt_violation(0.35),
        lambda: path.certify(9).worst_gap,
    ]


def afresh(path: taupath.SolutionPath) -> taupath.SolutionPath:
    """Return a path that has nothing cached."""
    path = taupath.SolutionPath(path.solutions)
    solutions = getattr(path.solutions, "source", path.solutions)
    solutions.data.forget_shared()
    for piece in getattr(solutions, "pieces", ()):
        piece.forget_shared()
    return path


def read_by_many(path: taupath.SolutionPath) -> float:
    """Return the largest difference between what many threads read, and one alone before."""
    wanted = [np.asarray(read()) for read in reads(path)]
    path = afresh(path)
    asked = reads(path)
    at_once = threading.Barrier(THREADS)

    def work(seed: int) -> float:
        at_once.wait()
        worst = 0.0
        for k in np.random.default_rng(seed).permutation(len(asked)):
            found = np.asarray(asked[k]())
            same = found.shape == wanted[k].shape
            worst = max(worst, float(np.abs(found - wanted[k]).max()) if same else np.inf)
        return worst

    with ThreadPoolExecutor(THREADS) as pool:
        worst = max(pool.map(work, range(THREADS)))
    alone = [
        np.abs(np.asarray(read()) - one).max() for read, one in zip(asked, wanted, strict=True)
    ]
    return max(worst, float(max(alone)))


@pytest.mark.parametrize("name", PATHS)
def test_many_readers_read_what_one_does(name):
    path = afresh(PATHS[name])  # its cache has not grown yet
    if name in ("classification", "regression"):
        assert isinstance(path.data.rows, CachedRows)
        assert path.data.rows.n_slots < N
    assert read_by_many(path) < 1e-9


def test_many_readers_of_swept_nodes(monkeypatch):
    monkeypatch.setattr(crossings, "KEPT", 20_000)
    path = afresh(PATHS["regression"])
    assert not path._tracks.complete
    assert read_by_many(path) < 1e-9


class Watched:
    """A replay whose every call needs the lock."""

    def __init__(self, lock: ReadersLock, replay: Any, calls: list[str]) -> None:
        self._lock, self._replay, self._calls = lock, replay, calls

    def __getattr__(self, name: str) -> Any:
        assert self._lock.is_mine, name
        self._calls.append(name)
        return getattr(self._replay, name)


@pytest.mark.parametrize("name", ["classification", "regression", "linear", "sparse", "simplified"])
def test_whoever_reads_has_the_lock(name, monkeypatch):
    """Without it two readers do not only read wrong numbers: the core writes where it must not."""
    path, calls = PATHS[name], []
    data, replay = path.data, reading.Replay
    row = kernel_data.KernelData._signed_row

    def locked_row(self: Any, i: int) -> np.ndarray:
        assert self.lock.is_mine
        calls.append("row")
        return row(self, i)

    monkeypatch.setattr(kernel_data.KernelData, "_signed_row", locked_row)
    monkeypatch.setattr(reading, "Replay", lambda *made: Watched(data.lock, replay(*made), calls))
    blocks = reading.NodeBlocks
    monkeypatch.setattr(
        reading, "NodeBlocks", lambda *made: Watched(data.lock, blocks(*made), calls)
    )
    path = afresh(path)
    for read in reads(path):
        read()
    afresh(path)
    assert {"seek", "solution"} <= set(calls)
    assert name == "simplified" or {"sweep", "solve"} & set(calls)
    assert ("row" in calls) == (path.data.kernel is not None)


def test_many_users_of_an_estimator():
    model, new = taupath.QuantileSVC(C=3.0, **FEW_ROWS).fit(K, LABEL), rbf(NEW, X)
    wanted = model.predict_proba(new), model.predict(new, cost_fp=1, cost_fn=3)
    model.paths_[0] = model.path_ = afresh(model.path_)
    at_once = threading.Barrier(THREADS)

    def work(_):
        at_once.wait()
        return model.predict_proba(new), model.predict(new, cost_fp=1, cost_fn=3)

    with ThreadPoolExecutor(THREADS) as pool:
        for proba, label in pool.map(work, range(THREADS)):
            assert_allclose(proba, wanted[0], atol=1e-9)
            assert (label == wanted[1]).all()


def test_many_readers_make_the_tracks_once():
    path, made = afresh(PATHS["classification"]), []
    sweep = path.solutions.sweep
    path.solutions.sweep = lambda *how: made.append(how) or sweep(*how)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda _: path.crossings(rbf(NEW, X)), range(THREADS)))
    finally:
        del path.solutions.sweep
    assert len(made) == len(set(made))


# -- forks -----------------------------------------------------------------------------------------

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# Python 3.12 warns of forks beside threads, which is what is tested.
FORKED_WITH_THREADS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def in_child(check: Callable[[], bool]) -> int:
    """Start a forked process that ends with 0 if `check` returns True; return its number."""
    # that of coverage has a lock of its own, and another thread may have it
    tracer = sys.gettrace()
    sys.settrace(None)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if check() else 2
        finally:
            os._exit(code)
    sys.settrace(tracer)
    return pid


def ended_well(pid: int) -> bool:
    """Wait for a child; kill it if it hangs."""
    for _ in range(int(PATIENCE / 0.01)):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def ended_well_beside(
    thread: threading.Thread,
    busy: threading.Event,
    go_on: threading.Event,
    check: Callable[[], bool],
) -> bool:
    """Fork while a thread is busy, and look in the child; then let the thread go on to its end."""
    thread.start()
    busy.wait()
    ended = ended_well(in_child(check))
    go_on.set()
    thread.join()
    return ended


@contextmanager
def readers_running(path: taupath.SolutionPath) -> Iterator[None]:
    """Have threads that read the path all the time."""
    stop, asked = threading.Event(), reads(path)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        while not stop.is_set():
            asked[rng.integers(len(asked))]()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@forks
@FORKED_WITH_THREADS
@pytest.mark.parametrize("name", ["classification", "regression", "linear", "simplified"])
def test_children_forked_while_threads_read(name):
    path = PATHS[name]
    wanted = [np.asarray(read()) for read in reads(path)]

    def same() -> bool:
        pairs = zip(reads(path), wanted, strict=True)
        return all(np.abs(np.asarray(read()) - one).max() < 1e-9 for read, one in pairs)

    path = afresh(path)
    with readers_running(path):
        children = [in_child(same) for _ in range(6)]
        assert [ended_well(pid) for pid in children] == [True] * len(children)


@forks
@FORKED_WITH_THREADS
@pytest.mark.parametrize("n_rows", [5, 100])
def test_a_child_does_not_trust_what_was_half_changed(n_rows):
    """Fork while a thread sweeps over the path and has got as far as this many rows."""
    stuck, go_on, asked = threading.Event(), threading.Event(), []

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        if threading.current_thread().name == "reader":
            asked.append(len(A))
            if len(asked) == n_rows:
                stuck.set()
                go_on.wait()
        return rbf(A, B)

    settings = FEW_ROWS | {"kernel": kernel}
    path = taupath.quantile_regression_path(X, TARGET, C=0.3, **settings)
    wanted = path.values_at_nodes(NEW)[1]

    def same() -> bool:
        found = taupath.SolutionPath(path.solutions).values_at_nodes(NEW)[1]
        return bool(np.abs(found - wanted).max() < 1e-9)

    reader = threading.Thread(target=lambda: afresh(path).values_at_nodes(NEW), name="reader")
    assert ended_well_beside(reader, stuck, go_on, same)
    assert same()


class Shared:
    """Something that a lock protects."""

    forgot = False

    def forget_shared(self) -> None:
        self.forgot = True


@forks
def test_a_thread_that_forks_keeps_its_own_lock():
    shared = Shared()
    lock = ReadersLock(shared)

    def takes_it_again() -> bool:
        with lock:
            return not shared.forgot

    with lock:
        assert ended_well(in_child(takes_it_again))
    assert ended_well(in_child(takes_it_again))


@forks
@FORKED_WITH_THREADS
def test_a_child_forgets_what_another_thread_was_changing():
    shared, untouched = Shared(), Shared()
    lock, free = ReadersLock(shared), ReadersLock(untouched)
    taken, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            go_on.wait()

    def forgot() -> bool:
        with lock, free:
            return shared.forgot and not untouched.forgot

    assert ended_well_beside(threading.Thread(target=hold), taken, go_on, forgot)
    assert not shared.forgot


def test_what_is_made_once_waits_for_the_owners_lock():
    class Owner:
        def __init__(self) -> None:
            self.lock, self.made = ReadersLock(), 0

        @made_once
        def thing(self) -> object:
            """Something."""
            self.made += 1
            time.sleep(0.01)
            return object()

    owner, other = Owner(), Owner()
    with ThreadPoolExecutor(THREADS) as pool:
        things = list(pool.map(lambda _: owner.thing, range(THREADS)))
    assert owner.made == 1
    assert set(things) == {owner.thing}
    assert other.thing is not owner.thing
    assert Owner.thing.__doc__ == "Something."
