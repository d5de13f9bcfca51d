"""Rounds on a Dask cluster: a request goes to all partitions, the sum of their replies comes back.

No wait is endless. It goes on while tasks finish or live workers are busy; if nothing happens for
the time of `taupath.timeout` in Dask's configuration, an error is raised.
"""

import pickle
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from time import monotonic
from typing import Any
from uuid import uuid4

import dask
import distributed
from dask.utils import parse_timedelta

from taupath.cluster.requests import Reply, Request, Setup, add, answer
from taupath.exceptions import ClusterFailed

# Seconds without any event after which the cluster counts as lost. Dask notices a dead worker at
# once, an unreachable one after five minutes (worker-ttl); until then its tasks count as running
# only while it is heard from.
TIMEOUT = 60.0
# Limit on one task of workers that report that they are busy, in units of the timeout: a reply
# takes seconds, but a partition may have to be read and computed first.
MAX_TASK_TIMEOUTS = 100.0
# Seconds between two looks at the tasks, and for one reply of the scheduler.
POLL, SCHEDULER_TIMEOUT = 1.0, 10.0
# Replies that one task adds up, so that only their sum is passed on.
FAN = 8
# A request whose copies for all partitions would take more bytes than this is sent once, and
# workers pass it on.
SHARED_BYTES = 1 << 18
# Further attempts at a task that failed for another reason than the death of its worker.
RETRIES = 2


def current_client() -> "distributed.Client":
    """Return the current client, which must be connected and synchronous."""
    try:
        client = distributed.default_client()
    except ValueError:
        raise ValueError(
            "X is a Dask collection, and there is no cluster to work on: make a client first, "
            "client = distributed.Client() for one on this machine or "
            "distributed.Client('tcp://scheduler:8786') for one that is running; or pass "
            "X.compute()"
        ) from None
    if client.asynchronous:
        raise ValueError(
            "the Dask client is asynchronous, which paths are not: make another one, "
            "distributed.Client(client.scheduler.address), and call from a thread"
        )
    if client.status != "running":
        raise ClusterFailed(_gone(client))
    return client


def _gone(client: "distributed.Client") -> str:
    return (
        f"the connection to the Dask cluster at {_address(client)} is {client.status}: "
        "make a new client and call again; nothing is left of this call"
    )


def _address(client: "distributed.Client") -> str:
    scheduler = client.scheduler
    return str(scheduler.address) if scheduler is not None else "an unknown address"


class Rounds:
    """Partitions kept on a cluster as futures, in the order of the rows; counters of the traffic.

    `setup` has to be set before any request except a survey. Counted are requests, bytes that left
    and reached this process, and how often a row was multiplied or added.
    """

    def __init__(self, client: "distributed.Client", partitions: Sequence[Any]) -> None:
        self.client, self.partitions = client, partitions
        self.setup: Setup | None = None
        self.rounds = self.bytes_sent = self.bytes_received = self.visits = 0
        self._token = uuid4().hex

    @property
    def depth(self) -> int:
        """The number of additions that a reply goes through."""
        levels, left = 1, len(self.partitions)
        while left > FAN:
            levels, left = levels + 1, -(-left // FAN)
        return FAN * levels

    def ask(self, request: Request, referred: frozenset[int] = frozenset()) -> Reply:
        """Return the sum of the replies of all partitions.

        `referred` are the numbers of margins that may be asked for again.
        """
        told = (request, self.setup, referred)
        size = len(pickle.dumps(told, protocol=5))
        self.rounds += 1
        shared = size * len(self.partitions) > SHARED_BYTES
        kind = type(request).__name__.lower()
        replies: list[Reply] = guarded(self.client, self._send, told, kind, shared)
        self.bytes_sent += size if shared else size * len(self.partitions)
        self.bytes_received += sum(reply.nbytes for reply in replies)
        reply = add(replies)
        self.visits += int(reply.sums.pop("visits", 0))
        return reply

    def _send(self, told: Any, kind: str, shared: bool) -> list[Reply]:
        """Return the replies, or sums of groups of them, in the order of partitions."""
        client, n = self.client, len(self.partitions)

        def keys(what: str, number: int) -> list[str]:
            return [f"taupath-{what}-{self._token}-{self.rounds}-{k}" for k in range(number)]

        if shared:
            # a task, not scattered data: it can be run again if its worker dies
            told = client.submit(_same, told, key=keys("request", 1)[0], pure=False)
        settings = {"pure": False, "retries": RETRIES}
        level = client.map(answer, self.partitions, told=told, key=keys(kind, n), **settings)
        every, height = list(level), 0
        while len(level) > FAN:
            groups = [level[first : first + FAN] for first in range(0, len(level), FAN)]
            height += 1
            level = client.map(add, groups, key=keys(f"sum{height}", len(groups)), **settings)
            every += level
        found: list[Reply] = outcomes(client, level, every)
        return found


def _same(told: Any) -> Any:
    return told


def guarded(client: "distributed.Client", do: Any, *args: Any) -> Any:
    """Return do(*args); turn errors of a cluster into `ClusterFailed`, with what to do."""
    try:
        return do(*args)
    except distributed.KilledWorker as error:
        raise ClusterFailed(
            f"workers of the Dask cluster at {_address(client)} died, several times in a row: "
            "most often for want of memory; make chunks smaller, give workers more memory or take "
            f"more of them ({error})"
        ) from error
    except CancelledError as error:
        if client.status != "running":
            raise ClusterFailed(_gone(client)) from error
        raise ClusterFailed(
            f"the Dask cluster at {_address(client)} has forgotten the rows: it was restarted, or "
            "they had been scattered to a worker that died. Read them from files, or pass arrays "
            "that can be computed again, and call again"
        ) from error
    except ClusterFailed:
        raise
    except Exception as error:
        if client.status == "running":
            raise
        raise ClusterFailed(_gone(client)) from error


def outcomes(
    client: "distributed.Client", futures: Sequence[Any], watched: Sequence[Any]
) -> list[Any]:
    """Return the results of futures, waiting as long as any of those watched make progress."""

    async def gather() -> list[Any]:
        found: list[Any] = await client.gather(list(futures), asynchronous=True)
        return found

    limit = float(parse_timedelta(dask.config.get("taupath.timeout", TIMEOUT)))
    begun = since = looked = monotonic()
    done, seen = -1, {}  # type: int, dict[str, float]
    while True:
        try:
            look = min(POLL, 0.5 * limit)
            distributed.wait(futures, timeout=look)
            failed = [one for one in futures if one.status == "error"]
            found: list[Any] = client.sync(gather, callback_timeout=look) if not failed else []
        except TimeoutError:
            pass
        else:
            if failed:
                failed[0].result(timeout=SCHEDULER_TIMEOUT)
            return found
        now = monotonic()
        finished = sum(one.status == "finished" for one in watched)
        if finished > done:
            done, begun, since, looked = finished, now, now, now
        if now - looked < 0.5 * limit:
            continue
        looked = now
        n_workers, n_busy, seen = _at_work(client, seen, 0.5 * limit)
        if n_busy and now - begun < MAX_TASK_TIMEOUTS * limit:
            since = now
        elif now - since >= limit:
            raise ClusterFailed(
                f"nothing has happened for {now - begun:.0f} s on the Dask cluster at "
                f"{_address(client)}: {n_workers} workers, {n_busy} of them at work, {finished} of "
                f"{len(watched)} tasks done. Check that workers are running and call again; "
                "dask.config.set({'taupath.timeout': '10min'}) waits longer"
            )


def _at_work(
    client: "distributed.Client", before: dict[str, float], limit: float
) -> tuple[int, int, dict[str, float]]:
    """Return the number of workers, how many of them are busy, and when each was last seen.

    A worker that has not been heard from since `before` is not busy, whatever its tasks.
    """
    scheduler, patience = client.scheduler, min(SCHEDULER_TIMEOUT, limit)
    workers: dict[str, Any] = {}
    processing: dict[str, Any] = {}
    # if the scheduler does not reply, no worker is known to be busy
    with suppress(TimeoutError, OSError):
        workers = client.sync(scheduler.identity, callback_timeout=patience)["workers"]
        processing = client.sync(scheduler.processing, workers=None, callback_timeout=patience)
    seen = {address: worker["last_seen"] for address, worker in workers.items()}
    busy = [
        address
        for address, last in seen.items()
        if processing.get(address) and last > before.get(address, 0.0)
    ]
    return len(workers), len(busy), seen
