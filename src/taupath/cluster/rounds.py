"""Rounds on a Dask cluster: a request to all partitions, the sum of their answers back.

Every wait ends. As long as tasks are finished, or live workers are at work, it goes on; where
nothing happens for the time of `taupath.timeout` in Dask's configuration, it is an error.
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

__all__ = ["Rounds", "current_client", "guarded", "outcomes"]

# Seconds without anything happening, after which a cluster is given up. A worker that has died is
# noticed at once, one that cannot be reached after five minutes (Dask's worker-ttl); until then
# its tasks count as being worked on only if it has been heard of.
TIMEOUT = 60.0
# Of that: how long a task may take on workers that are there and say that they work.
LONGEST = 100.0
# Seconds between looks, and for one answer of the scheduler.
LOOK, ANSWER = 1.0, 10.0
# Answers that are added up by one task where there are more of them, so that only sums travel on.
FAN = 8
# Bytes of one request to all partitions, beyond which one copy is sent for workers to pass on.
SHARED = 1 << 18
# How often a task is run again that has failed for another reason than the death of its worker.
RETRIES = 2


def current_client() -> "distributed.Client":
    """Return the client that is in use, connected and not asynchronous."""
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
    """Partitions that are kept on a cluster, and what was sent to and fro.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    partitions : sequence of Future
        Of `Partition`, in the order of the rows.

    Attributes
    ----------
    setup : Setup or None
        What makes rows of partitions; to be set before anything but a survey is asked.
    rounds, bytes_sent, bytes_received, visits : int
        Requests, bytes that went out with them and that came back here, and how often a row was
        multiplied or added.
    """

    def __init__(self, client: "distributed.Client", partitions: Sequence[Any]) -> None:
        self.client, self.partitions = client, partitions
        self.setup: Setup | None = None
        self.rounds = self.bytes_sent = self.bytes_received = self.visits = 0
        self._token = uuid4().hex

    @property
    def depth(self) -> int:
        """How many additions an answer goes through."""
        levels, left = 1, len(self.partitions)
        while left > FAN:
            levels, left = levels + 1, -(-left // FAN)
        return FAN * levels

    def ask(self, request: Request, wanted: frozenset[int] = frozenset()) -> Reply:
        """Return the sum of the answers of all partitions.

        `wanted` are numbers of margins that will be asked for again.
        """
        told = (request, self.setup, wanted)
        size = len(pickle.dumps(told, protocol=5))
        self.rounds += 1
        shared = size * len(self.partitions) > SHARED
        kind = type(request).__name__.lower()
        replies: list[Reply] = guarded(self.client, self._send, told, kind, shared)
        self.bytes_sent += size if shared else size * len(self.partitions)
        self.bytes_received += sum(reply.nbytes for reply in replies)
        reply = add(replies)
        self.visits += int(reply.sums.pop("visits", 0))
        return reply

    def _send(self, told: Any, kind: str, shared: bool) -> list[Reply]:
        """Return the answers, or as many sums of them in the order of partitions."""
        client, n = self.client, len(self.partitions)

        def keys(what: str, number: int) -> list[str]:
            return [f"taupath-{what}-{self._token}-{self.rounds}-{k}" for k in range(number)]

        if shared:
            # one copy, that workers pass on; a task and not scattered: it can be made again
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
    """Return do(*args), with errors that say what has become of the cluster."""
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
    """Return the results of futures, as long as something happens to these or to those watched."""

    async def gather() -> list[Any]:
        found: list[Any] = await client.gather(list(futures), asynchronous=True)
        return found

    limit = float(parse_timedelta(dask.config.get("taupath.timeout", TIMEOUT)))
    begun = since = looked = monotonic()
    done, seen = -1, {}  # type: int, dict[str, float]
    while True:
        try:
            look = min(LOOK, 0.5 * limit)
            distributed.wait(futures, timeout=look)
            failed = [one for one in futures if one.status == "error"]
            found: list[Any] = client.sync(gather, callback_timeout=look) if not failed else []
        except TimeoutError:
            pass
        else:
            if failed:
                failed[0].result(timeout=ANSWER)
            return found
        now = monotonic()
        finished = sum(one.status == "finished" for one in watched)
        if finished > done:
            done, begun, since, looked = finished, now, now, now
        if now - looked < 0.5 * limit:
            continue
        looked = now
        n_workers, n_busy, seen = _at_work(client, seen, 0.5 * limit)
        if n_busy and now - begun < LONGEST * limit:
            since = now
        elif now - since >= limit:
            raise ClusterFailed(
                f"nothing has happened for {now - begun:.0f} s on the Dask cluster at "
                f"{_address(client)}: {n_workers} workers, {n_busy} of them at work, {finished} of "
                f"{len(watched)} tasks done. See to it that workers are running and call again; "
                "dask.config.set({'taupath.timeout': '10min'}) waits longer"
            )


def _at_work(
    client: "distributed.Client", before: dict[str, float], limit: float
) -> tuple[int, int, dict[str, float]]:
    """Return how many workers there are, how many of them have tasks, and when each was seen.

    Those that have not been heard of since `before` are not at work, whatever they have.
    """
    scheduler, patience = client.scheduler, min(ANSWER, limit)
    workers: dict[str, Any] = {}
    processing: dict[str, Any] = {}
    # no answer is an answer, too: then nobody is known to be at work
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
