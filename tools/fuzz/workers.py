"""Processes that check problems, so that a crash or a hang is an outcome like any other."""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fuzz.checking import Outcome, check

# Seconds that a problem may take. The slowest take about five, and more where others use the cores.
LIMIT = 300.0
# Each process uses one core.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

Task = tuple[str, int]  # a family and a seed


class Worker:
    """A process that checks one problem after the other."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent), "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            text=True,
        )
        self.task: Task | None = None
        self.begun = 0.0

    def give(self, task: Task) -> None:
        """Hand over a problem."""
        self.task, self.begun = task, time.monotonic()
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()

    def take(self) -> Outcome:
        """Return the outcome that is ready; if the process has died, this is the outcome."""
        line = self.process.stdout.readline()
        task, self.task = self.task, None
        if line:
            return Outcome(**json.loads(line))
        status = self.process.wait()
        return Outcome(*task, kind="crash", message=f"the process ended with status {status}")

    @property
    def late(self) -> bool:
        """Whether the problem takes too long."""
        return self.task is not None and time.monotonic() > self.begun + LIMIT

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def work() -> None:
    """Check the problems that come on the standard input, one after the other."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no answer
    for line in sys.stdin:
        print(json.dumps(check(*json.loads(line))), file=answers, flush=True)


def outcomes(tasks: Iterator[Task], jobs: int) -> Iterator[Outcome]:
    """Yield the outcomes of all problems, as they come."""
    workers = [Worker() for _ in range(jobs)]
    try:
        while True:
            for k, worker in enumerate(workers):
                if worker.task is None and (task := next(tasks, None)):
                    if worker.process.poll() is not None:
                        worker.stop()
                        workers[k] = worker = Worker()
                    worker.give(task)
            busy = [worker for worker in workers if worker.task]
            if not busy:
                return
            with selectors.DefaultSelector() as ready:
                for worker in busy:
                    ready.register(worker.process.stdout, selectors.EVENT_READ, worker)
                for key, _ in ready.select(timeout=1.0):
                    yield key.data.take()
            for worker in busy:
                if worker.late:
                    task, worker.task = worker.task, None
                    worker.stop()
                    yield Outcome(*task, kind="hang", message=f"no answer in {LIMIT:g} s")
    finally:
        for worker in workers:
            worker.stop()
