"""Command lines: a user's program on one, SCRIPT ARGUMENT... or -m MODULE ARGUMENT..., behind options of ours, and its run, as Python would run it; and how a command of ours ends that nobody reads."""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import signal
import sys
import sysconfig
from collections.abc import Iterator, Sequence

INSTALLED = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def split(parser: argparse.ArgumentParser, with_value: Sequence[str], arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The parser's options, of which some have a value, and the program with its arguments, which are all that stands behind its name."""
    count = 0
    options = []
    while count < len(arguments) and arguments[count].startswith("-") and arguments[count] != "-m":
        taken = 2 if arguments[count] in with_value else 1
        # Joined, for a value may begin with a dash: --find-batch "--batch-size={}".
        options.append("=".join(arguments[count : count + taken]))
        count += taken
    given = parser.parse_args(options)
    program = arguments[count:]
    if len(program) < (2 if program[:1] == ["-m"] else 1):
        parser.error("a program is missing: a script, or -m MODULE")
    return given, program


def is_own(path: str) -> bool:
    """Whether a file is the program's: not of Python, nor of a library that is installed for it."""
    return not path.startswith(INSTALLED)


def run(program: list[str]) -> None:
    """Runs it as __main__."""
    if program[0] == "-m":
        sys.argv = program[1:]
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = program
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
        runpy.run_path(program[0], run_name="__main__")


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Around a command of ours, which ends the process. Where nobody reads on what it prints, as behind `| head`, it ends without a word, as others end by SIGPIPE."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):  # what they still hold goes there at the end
            os.dup2(nowhere, stream.fileno())
        sys.exit(128 + signal.SIGPIPE)
