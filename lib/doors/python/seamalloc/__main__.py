"""python -m seamalloc [--door D] [--plan P] [--conf C] (SCRIPT | -m MODULE) ARGUMENT...: a program under Seam, unchanged."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

import seamalloc


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m seamalloc", description="Runs a Python program with Seam as PyTorch's allocator.")
    parser.add_argument("--door", default="auto", help="auto, class or pluggable: see seamalloc.enable()")
    parser.add_argument("--plan", default="off", help="off, auto, or the path of a plan")
    parser.add_argument("--conf", default="", help="key:value,... as in SEAM_CONF")
    parser.add_argument("--report", action="store_true", help="prints seamalloc.report() at the end, on standard error")
    parser.add_argument("-m", dest="module", metavar="MODULE", help="a module, as python -m runs it, instead of a script")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="SCRIPT ARGUMENT...")
    options = parser.parse_args(arguments)
    if options.module is None and not options.rest:
        parser.error("what is to be run? A script, or -m MODULE")
    return options


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    try:
        seamalloc.enable(door=options.door, plan=options.plan, conf=options.conf)
    except seamalloc.Error as failure:
        sys.exit(f"seamalloc: {failure}")
    try:
        if options.module is not None:
            sys.argv = [options.module, *options.rest]
            runpy.run_module(options.module, run_name="__main__", alter_sys=True)
        else:
            sys.argv = options.rest
            sys.path[0] = os.path.dirname(os.path.abspath(options.rest[0]))
            runpy.run_path(options.rest[0], run_name="__main__")
    finally:
        if options.report:
            print(seamalloc.report(), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
