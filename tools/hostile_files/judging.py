"""Read hostile files in processes with limits, and tell what became of each."""

import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol

from taupath import ConstantDecisionWarning

# Bytes that a file may take in memory, with everything that the process has loaded.
MOST_BYTES = 1 << 30
# Seconds by the clock after which a process counts as hanging: machines may be busy.
HANGS_AFTER = 300.0
# Files that one process judges, so that its memory stays its own.
AT_A_TIME = 100
# Longest message that counts as one line.
LONGEST_LINE = 600


class Maker(Protocol):
    """What makes hostile files and reads them."""

    refusals: tuple[type[Exception], ...]  # of `load`
    complaints: tuple[type[Exception], ...]  # of `read`

    def make(self, case: int, file: Path) -> str:
        """Write the file of a case and return what is wrong with it."""

    def load(self, file: Path) -> Any:
        """Return what a file holds, or raise one of the refusals."""

    def read(self, case: int, loaded: Any) -> str | None:
        """Read from what was loaded; return what is wrong with the numbers, if anything."""


@dataclass
class Verdict:
    """What became of one file."""

    case: int
    what: str  # what is wrong with the file
    outcome: str  # "refused", "refused when read", "read", or the kind of failure
    message: str = ""
    seconds: float = 0.0  # of CPU, for loading or for reading, whichever takes longer
    size: int = 0  # bytes in memory at most

    @property
    def fails(self) -> bool:
        """Whether that should not have happened."""
        return self.outcome not in ("refused", "refused when read", "read")


def judge_all(
    maker: Maker,
    cases: Iterable[int],
    folder: Path,
    jobs: int,
    most_seconds: float,
    keep: Path | None = None,
) -> list[Verdict]:
    """Return the verdicts on all cases, in order. Files of failures are copied to `keep`.

    Loading a file may take `most_seconds` of CPU, and so may reading from it.
    """
    waiting = list(cases)
    parts = [waiting[k : k + AT_A_TIME] for k in range(0, len(waiting), AT_A_TIME)][::-1]
    running: dict[int, _Process] = {}
    verdicts: list[Verdict] = []
    while parts or running:
        while parts and len(running) < jobs:
            process = _Process(maker, parts.pop(), folder, most_seconds)
            running[process.pipe] = process
        ready = select.select(list(running), [], [], 1.0)[0]
        for process in list(running.values()):
            found, over = process.listen(process.pipe in ready)
            for verdict in found:
                verdicts.append(verdict)
                if verdict.fails and keep is not None:
                    keep.mkdir(exist_ok=True)
                    maker.make(verdict.case, keep / f"{verdict.case}.file")
            if over:
                del running[process.pipe]
                os.close(process.pipe)
                if process.cases:
                    parts.append(process.cases)
    return sorted(verdicts, key=lambda verdict: verdict.case)


class _Process:
    """A process that judges some cases, one after the other, and tells through a pipe."""

    def __init__(self, maker: Maker, cases: list[int], folder: Path, most_seconds: float) -> None:
        self.cases, self._text, self._heard = list(cases), b"", time.monotonic()
        self.pipe, writing = os.pipe()
        sys.stdout.flush()
        with warnings.catch_warnings():  # of threads, which the process does not use
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            _judge_some(maker, cases, folder, most_seconds, writing)
        os.close(writing)

    def listen(self, ready: bool) -> tuple[list[Verdict], bool]:
        """Return new verdicts, and whether the process is over."""
        found, over = [], False
        if ready:
            text = os.read(self.pipe, 1 << 20)
            self._text += text
            over = not text
            *lines, self._text = self._text.split(b"\n")
            found = [Verdict(**json.loads(line)) for line in lines]
            self.cases = self.cases[len(found) :]
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > HANGS_AFTER:
            os.kill(self.pid, signal.SIGKILL)
            over = True
        if over:
            _, status = os.waitpid(self.pid, 0)
            if self.cases and status != 0:  # it ended in the middle of one
                how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "exit"
                found.append(Verdict(self.cases.pop(0), "?", "crash or hang", how))
        return found, over


def _judge_some(
    maker: Maker, cases: list[int], folder: Path, most_seconds: float, pipe: int
) -> NoReturn:
    """Judge some cases up to the first failure, after which memory may be gone, and exit."""
    warnings.simplefilter("error")  # a warning that is not expected is a wrong error
    warnings.simplefilter("default", ConstantDecisionWarning)  # which says the truth
    try:
        _limit_memory()
        for case in cases:
            verdict = judge(maker, case, folder / f"{os.getpid()}.file", most_seconds)
            os.write(pipe, json.dumps(asdict(verdict)).encode() + b"\n")
            if verdict.fails:
                break
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def judge(maker: Maker, case: int, file: Path, most_seconds: float) -> Verdict:
    """Return the verdict on one case."""
    verdict = Verdict(case, maker.make(case, file), "read")
    _forget_peak()
    try:
        _load_and_read(maker, file, verdict)
    except MemoryError:
        verdict.outcome = "memory"
    except BaseException as error:
        verdict.outcome, verdict.message = "wrong error", f"{type(error).__name__}: {error}"[:2000]
    verdict.size = _peak()
    file.unlink(missing_ok=True)
    if not verdict.fails:
        if "\n" in verdict.message or len(verdict.message) > LONGEST_LINE:
            verdict.outcome = "long message"
        elif verdict.size > MOST_BYTES:
            verdict.outcome = "large"
        elif verdict.seconds > most_seconds:
            verdict.outcome = "slow"
    return verdict


def _load_and_read(maker: Maker, file: Path, verdict: Verdict) -> None:
    """Write into the verdict what becomes of a file, and how long it takes."""
    started = time.process_time()
    try:
        loaded = maker.load(file)
    except maker.refusals as error:
        verdict.outcome, verdict.message = "refused", str(error)
        return
    finally:
        verdict.seconds = time.process_time() - started
    started = time.process_time()
    try:
        wrong = maker.read(verdict.case, loaded)
        if wrong is not None:
            verdict.outcome, verdict.message = "wrong", wrong
    except maker.complaints as error:
        verdict.outcome, verdict.message = "refused when read", str(error)
    finally:
        verdict.seconds = max(verdict.seconds, time.process_time() - started)


def write(made: bytes | tuple[int, dict[int, bytes]], file: Path) -> None:
    """Write a file, given by its bytes, or with holes: by its size and what is at some places."""
    if isinstance(made, bytes):
        file.write_bytes(made)
        return
    size, pieces = made
    with file.open("wb") as stream:
        stream.truncate(size)
        for place, piece in pieces.items():
            stream.seek(place)
            stream.write(piece)


def report(verdicts: list[Verdict]) -> int:
    """Print what became of all files and return 1 if there were failures, else 0."""
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    print(
        f"{len(verdicts)} files: " + ", ".join(f"{n} {name}" for name, n in outcomes.most_common())
    )
    by_what: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        by_what.setdefault(verdict.what.partition(":")[0], Counter())[verdict.outcome] += 1
    for what, counts in sorted(by_what.items()):
        print(f"  {what}: {_listed(counts)}")
    slowest = max(verdicts, key=lambda verdict: verdict.seconds)
    largest = max(verdicts, key=lambda verdict: verdict.size)
    print(f"longest: {slowest.seconds:.2f} s of CPU (case {slowest.case}, {slowest.what})")
    print(f"largest: {largest.size / 2**20:.0f} MiB (case {largest.case}, {largest.what})")
    failures = [verdict for verdict in verdicts if verdict.fails]
    for verdict in failures[:50]:
        shown = verdict.message[:300].replace("\n", " ")
        print(f"case {verdict.case}, {verdict.what}: {verdict.outcome}: {shown}")
    return int(bool(failures))


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.most_common())


def _limit_memory() -> None:
    """Let this process allocate MOST_BYTES more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _forget_peak() -> None:
    """Measure the largest size in memory from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Return the largest size in memory, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])
