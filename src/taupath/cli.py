"""The command line: ``taupath COMMAND``.

Exit status: 0 done, 1 failed (the reason is on standard error), 2 wrong usage, 130 interrupted.
"""

import argparse
import contextlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

from taupath.commands import (
    Failed,
    certify,
    demo,
    evaluate,
    fit,
    predict,
    report,
    reproduce,
    simplify,
)
from taupath.commands.options import new_command

COMMANDS = (demo, fit, predict, evaluate, report, certify, simplify, reproduce)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; wrong usage raises ``SystemExit(2)``.

    `argv` are the arguments without the program's name, by default those of the process.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without τ shows a question mark
    arguments = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            arguments.run(arguments)
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("taupath: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output is gone
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (
        Failed,
        ArithmeticError,
        ImportError,
        LookupError,
        MemoryError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        if arguments.debug:
            raise
        _complain(_message(error))
        return 1
    return 0


def _message(error: Exception) -> str:
    """Return one line that says what was wrong, and where."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "not enough memory"
    text = " ".join(str(error).split()) or type(error).__name__
    return f"no {text}" if isinstance(error, KeyError) else text


def _warn(message: Any, *_: Any, **__: Any) -> None:
    _complain(f"warning: {' '.join(str(message).split())}")


def _complain(text: str) -> None:
    """Print a line on standard error, with escapes for control characters."""
    from taupath.tables.messages import printable

    print(f"taupath: {printable(text)}", file=sys.stderr)


class _Version(argparse.Action):
    """Print the version, looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"taupath {version('taupath')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
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
