"""The command line: ``taupath COMMAND``.

Exit status: 0 done, 1 failed (the reason is on standard error), 2 wrong usage, 129 the terminal is
gone, 130 interrupted, 143 ended by another program.
"""

import argparse
import contextlib
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from types import FrameType
from typing import Any

from taupath.commands import (
    Failed,
    certify,
    demo,
    evaluate,
    explain,
    fit,
    operate,
    predict,
    report,
    reproduce,
    simplify,
)
from taupath.commands.options import new_command

COMMANDS = (
    demo,
    fit,
    predict,
    explain,
    evaluate,
    operate,
    report,
    certify,
    simplify,
    reproduce,
)
# Characters of an error: about ten lines of a terminal.
LONGEST_COMPLAINT = 800
# Signals that end a process, which is to remove its temporary files before.
ENDING = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)


class _Ended(KeyboardInterrupt):
    """A signal asks the process to end. Whoever cleans up after Ctrl-C does so now, too."""

    def __init__(self, number: int) -> None:
        self.number = number


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; wrong usage raises ``SystemExit(2)``.

    `argv` are the arguments without the program's name, by default those of the process.
    """
    _replace_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without τ shows a question mark
    try:
        arguments = _parser().parse_args(argv)
        with _signals():
            status = _run(arguments)
    except BrokenPipeError:  # as in _run, for the help and the version
        return 1
    except OSError as error:
        _complain(_message(error))
        return 1
    finally:
        _flush()
    return status


def _run(arguments: argparse.Namespace) -> int:
    """Run one command and return its exit status."""
    try:
        if arguments.json and sys.stdout is None:
            raise Failed("--json: standard output is closed; redirect it to a file")
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            arguments.run(arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
    except _Ended as ended:
        _complain(f"ended by {signal.Signals(ended.number).name}")
        return 128 + ended.number
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:  # the reader of our output is gone
        return 1
    except Exception as error:
        if arguments.debug:
            from taupath.tables.messages import printable_lines

            _say(printable_lines(traceback.format_exc()))
        else:
            _complain(_message(error))
        return 1
    return 0


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turn signals that end the process into exceptions, so that temporary files are removed."""

    def end(number: int, _: FrameType | None) -> None:
        raise _Ended(number)

    replaced = []
    with contextlib.suppress(ValueError):  # only the main thread may
        for number in ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one: leave that
                signal.signal(number, end)
                replaced.append(number)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


def _replace_closed_streams() -> None:
    """Give closed standard streams a place: else the next file that is opened would take it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):  # then it stays closed
                os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:  # print would take standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # until the process ends


def _flush() -> None:
    """Write what is left; where that fails, nobody wants it, and the interpreter must not try."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # a stream that is closed is a ValueError
            with contextlib.suppress(OSError, ValueError):  # then there is nothing left to do
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _message(error: Exception) -> str:
    """Return one line that says what was wrong, and where."""
    if isinstance(error, OSError) and error.strerror:
        where = "standard output" if error.filename is None else error.filename
        return f"{where}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "not enough memory"
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        return f"no {text}"
    expected = (Failed, ArithmeticError, ImportError, LookupError, OSError, RuntimeError)
    if isinstance(error, (*expected, TypeError, ValueError)):
        return text
    return f"{type(error).__name__}: {text}; --debug shows where"


def _warn(message: Any, *_: Any, **__: Any) -> None:
    _complain(f"warning: {' '.join(str(message).split())}")


def _complain(text: str) -> None:
    """Print a line on standard error, with escapes for control characters."""
    from taupath.tables.messages import cut, printable

    _say(f"taupath: {cut(printable(text), LONGEST_COMPLAINT)}\n")


def _say(text: str) -> None:
    """Write on standard error, unless that is gone."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints have escapes for control characters, as names of files have."""

    def error(self, message: str) -> Any:
        if not message.isprintable():
            from taupath.tables.messages import printable

            message = printable(message)
        message = message[:LONGEST_COMPLAINT]
        self.exit(2, f"{self.prog}: error: {message}\nusage: {self.prog} --help\n")


class _Version(argparse.Action):
    """Print the version, looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"taupath {version('taupath')}", flush=True)
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="taupath",
        description="Train an SVM once, for every ratio of misclassification costs.",
        epilog="`taupath COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON instead of text")
    shared.add_argument("--debug", action="store_true", help="show where an error comes from")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(partial(new_command, commands, shared, command.run))
    return parser


if __name__ == "__main__":
    sys.exit(main())
