"""The walk from outside: interruption, progress, counters."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import taupath
import verify

pytestmark = pytest.mark.core

COUNTERS = {
    "kinks",
    "start_events",
    "rows_evaluated",
    "zero_length_steps",
    "refactorizations",
    "repairs",
}


def gaussian(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    return rng.normal(size=(n, d)) + 0.3 * y[:, None], y


# --- interruption --------------------------------------------------------------------------------

# Uninterrupted, this takes many seconds. Ctrl-C comes when the walk is under way and the process
# has worked for another 50 ms, however long a busy machine takes for that.
LONG_WALK = """
import signal
import numpy as np
import taupath

signal.signal(signal.SIGINT, signal.default_int_handler)  # which jobs in the background ignore
signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(signal.SIGINT))
n = 100_000
rng = np.random.default_rng(0)
y = np.where(rng.random(n) < 0.5, 1, -1)
X = rng.normal(size=(n, 20)) + 0.3 * y[:, None]
reached = 0

def report(fraction, n_events):
    global reached
    if reached == 0:
        signal.setitimer(signal.ITIMER_PROF, 0.05)
    reached = n_events

try:
    taupath.quantile_path(X, y, lam=10.0 / n, progress=report)
except KeyboardInterrupt:
    fine = taupath.quantile_path(X[:50], y[:50]).certify().holds()
    print("interrupted", reached, "still works" if fine else "broken", flush=True)
else:
    print("finished", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent the POSIX way")
def test_ctrl_c_stops_a_walk_on_its_way():
    command = [sys.executable, "-c", LONG_WALK]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    outcome, reached, after = done.stdout.strip().split(" ", 2)
    assert outcome == "interrupted"
    assert 0 < int(reached) < 20_000  # noticed on the way: the whole path has half a million kinks
    assert after == "still works"


class Stop(Exception):
    """Raised by a callback that has seen enough."""


@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_exception_in_the_callback_ends_the_walk(after):
    X, y = gaussian(400, 6)
    calls = []

    def report(fraction: float, n_events: int) -> None:
        calls.append(n_events)
        if len(calls) == after:
            raise Stop(f"after {n_events} events")

    with pytest.raises(Stop, match=r"after \d+ events"):
        taupath.quantile_path(X, y, C=1.0, progress=report)
    assert len(calls) == after
    # nothing of it is left behind
    assert taupath.quantile_path(X, y, C=1.0).certify(200).holds()


# --- progress ------------------------------------------------------------------------------------


def reports(**arguments: Any) -> tuple[taupath.SolutionPath, np.ndarray, np.ndarray]:
    """Walk, and return the path with all fractions and event numbers that were reported."""
    calls: list[tuple[float, int]] = []
    path = taupath.quantile_path(**arguments, progress=lambda *said: calls.append(said))
    fractions, n_events = zip(*calls, strict=True)
    return path, np.array(fractions), np.array(n_events)


@pytest.mark.parametrize("tau_range", [(0.0, 1.0), (0.1, 0.9), (0.0, 0.3)])
def test_progress_grows_from_nothing_to_one(tau_range):
    X, y = gaussian(600, 8)
    path, fractions, n_events = reports(X=X, y=y, tau_range=tau_range)
    assert len(fractions) > 3
    assert np.all(np.diff(fractions) >= 0.0) and np.all(np.diff(n_events) >= 0)
    assert 0.0 <= fractions[0] < 0.9 and n_events[0] < n_events[-1]
    assert fractions[-1] == 1.0
    assert n_events[-1] == path.counters["kinks"]


def test_progress_is_reported_for_the_smallest_problem_too():
    _, fractions, _ = reports(X=[[0.0], [1.0]], y=[0, 1])
    assert fractions[-1] == 1.0


def test_a_callback_changes_nothing():
    X, y = gaussian(200, 5)
    path, _, _ = reports(X=X, y=y)
    plain = taupath.quantile_path(X, y)
    np.testing.assert_array_equal(path.taus, plain.taus)
    assert path.counters == plain.counters


# --- counters ------------------------------------------------------------------------------------

PROBLEMS = {
    "few features": lambda: gaussian(150, 4),
    "many features": lambda: gaussian(60, 100),
    "sparse": lambda: (sparse.random(120, 90, 0.1, random_state=0), gaussian(120, 1)[1]),
    "lattice": lambda: (np.round(gaussian(80, 3)[0]), gaussian(80, 3)[1]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_counters_fit_the_path(name):
    X, y = PROBLEMS[name]()
    path = taupath.quantile_path(X, y)
    counters = path.counters
    assert counters.keys() >= COUNTERS
    assert all(type(count) is int and count >= 0 for count in counters.values())
    # Several events may fall on one τ; a kink without an event is an end of the range.
    assert path.n_kinks == len(path.taus) <= counters["kinks"] + 2
    assert counters["kinks"] <= path.n_kinks + counters["zero_length_steps"] + 2
    assert counters["rows_evaluated"] > 0
    assert counters["refactorizations"] >= 2  # the start and the walk have one each
    assert counters["repairs"] == 0
    rank = np.linalg.matrix_rank(
        np.column_stack([X.toarray() if sparse.issparse(X) else X, np.ones(len(y))])
    )
    assert 0 < counters["max_free"] <= rank


def test_every_kink_moves_one_sample_where_rows_are_independent():
    X, y = gaussian(25, 40)
    path = taupath.quantile_path(X, y, C=0.3)
    assert path.n_kinks == path.counters["kinks"] + 2
    middles = (path.taus[1:] + path.taus[:-1]) / 2.0
    sets = [path.index_sets(tau) for tau in middles]
    for before, after in pairwise(sets):
        moved = [set(one) ^ set(other) for one, other in zip(before, after, strict=True)]
        assert sorted(map(len, moved)) == [0, 1, 1]
        assert len(set.union(*moved)) == 1
        assert len(moved[1]) == 1  # to the margin or away from it, never past it


def test_few_rows_are_looked_at_for_a_kink():
    # With deadlines, a kink costs a small part of the rows; without them, all of them.
    n = 4000
    X, y = gaussian(n, 10)
    counters = taupath.quantile_path(X, y, lam=10.0 / n).counters
    assert counters["kinks"] > n
    assert counters["rows_evaluated"] < 0.05 * n * counters["kinks"]


def test_a_record_takes_a_few_bytes_for_a_kink():
    X, y = gaussian(300, 60)
    path = taupath.quantile_path(X, y, C=0.1)
    assert path.nbytes <= 32 * path.counters["kinks"] + 32 * len(y)


def test_a_long_walk_through_many_refreshes_stays_exact():
    # Some thousands of events, far more than between two checks of all points.
    X, y = gaussian(1500, 12)
    path = taupath.quantile_path(X, y, C=1.0)
    assert path.counters["kinks"] > 5000
    taus = verify.kinks_and_midpoints(path.taus, at_most=300)
    verify.assert_certified(path, X, y, 1.0, taus)
