"""python -m seamalloc [--door D] [--plan P] [--conf C] [--report] (SCRIPT | -m MODULE) ARGUMENT...: a program under Seam, unchanged.

python -m seamalloc what-if ...: whether a program fits on a GPU that is not there (_what_if.py). A script of that name is ./what-if.

python -m seamalloc calibrate: how fast the GPU here is, for what-if (_calibrate.py).

The Pythons that it starts are under Seam too, when they import PyTorch: torchrun's workers (-m torch.distributed.run), processes of
multiprocessing.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import seamalloc

from . import _calibrate, _enable, _program, _startup, _what_if


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the program with its arguments: SCRIPT ARGUMENT... or -m MODULE ARGUMENT..."""
    parser = argparse.ArgumentParser(
        prog="python -m seamalloc",
        usage="%(prog)s [options] (SCRIPT | -m MODULE) ARGUMENT...",
        description="Runs a Python program, and those that it starts, with Seam as PyTorch's allocator.",
        epilog="python -m seamalloc what-if --help: whether a program fits on a GPU that is not there.",
        allow_abbrev=False,
    )
    parser.add_argument("--door", default="auto", help="auto, class or pluggable: see seamalloc.enable()")
    parser.add_argument("--plan", help="auto (the default), off, or the path of a plan")
    parser.add_argument("--conf", help="key:value,... as in SEAM_CONF")
    parser.add_argument("--report", action="store_true", help="prints seamalloc.report() at the end, on standard error")
    return _program.split(parser, ("--door", "--plan", "--conf"), arguments)


def hand_on(options: argparse.Namespace) -> None:
    """Sets the environment of the processes that the program starts."""
    given = {
        _startup.DOOR: options.door,
        _startup.PLAN: os.path.abspath(options.plan) if options.plan not in (None, *_enable.MODES) else options.plan,
        _startup.CONF: options.conf,
        _startup.REPORT: "1" if options.report else None,
        "SEAM_LIBRARY": os.path.abspath(os.environ["SEAM_LIBRARY"]) if os.path.exists(os.environ.get("SEAM_LIBRARY", "")) else None,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parent / "_children"), os.environ.get("PYTHONPATH", "")])),
    }
    os.environ.update({name: value for name, value in given.items() if value is not None})


def main(arguments: list[str]) -> None:
    with _program.reading():
        if arguments[:1] == ["what-if"]:
            sys.exit(_what_if.main(arguments[1:]))
        if arguments[:1] == ["calibrate"]:
            sys.exit(_calibrate.main(arguments[1:]))
        options, program = parse(arguments)
    try:
        seamalloc.enable(door=options.door, plan=options.plan, conf=options.conf)
    except seamalloc.Error as failure:
        sys.exit(f"seamalloc: {failure}")
    hand_on(options)
    try:
        _program.run(program)
    finally:
        if options.report:
            print(seamalloc.report(), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
