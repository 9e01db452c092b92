#!/usr/bin/env python3
"""Records the allocations of real PyTorch training code as a .seamtrace, on a machine without a GPU.

Needs PyTorch, which `tools/setup --torch` installs into a virtual environment outside the repository; the script finds
that environment by itself. How it works, and what its traces lack: tools/modeltrace/recorder.py,
bench/traces/README.md.

Exit status: 0 done, 1 the trace could not be made or written, 2 wrong usage, 77 no PyTorch.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import pathlib
import sys
import time
import warnings
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from modeltrace import events

ENVIRONMENT = pathlib.Path(os.environ.get("SEAM_VENV") or pathlib.Path.home() / ".cache/seam/venv")
NEEDED = ("torch", "xxhash", "zstandard")


def find_torch() -> None:
    """Starts over under the environment's Python if this one lacks what is needed; ends with 77 if both do."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if not missing:
        return
    python = ENVIRONMENT / "bin/python"
    if python.exists() and pathlib.Path(sys.prefix).resolve() != ENVIRONMENT.resolve():
        os.execv(python, [str(python), *sys.argv])
    print(f"trace_model: Python lacks {', '.join(missing)}: run tools/setup --torch", file=sys.stderr)
    sys.exit(77)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see tools/trace_model.py --help\n")


def positive(text: str) -> int:
    """An argument that counts something."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def parse() -> argparse.Namespace:
    """The command line."""
    from modeltrace.models import MODELS
    from modeltrace.training import OPTIMIZERS

    parser = Parser(
        prog="trace_model", description="Record the allocations of PyTorch training code without a GPU."
    )
    add = parser.add_argument
    add("--model", required=True, choices=MODELS, help="which model")
    add("--layers", type=positive, help="number of layers (default: the model's)")
    add("--batch", type=positive, default=8, help="sequences in a micro-batch (default: 8)")
    add("--seq", type=positive, help="tokens in a sequence (default: the model's)")
    add("--iterations", type=positive, default=4, help="training iterations (default: 4)")
    add("--recompute", choices=("none", "full", "selective"), default="none", help="activation checkpointing of blocks")
    add("--lora", type=positive, default=0, metavar="RANK", help="train low-rank adapters of a frozen model")
    add("--dropout", type=float, default=0.1, help="GPT-2's dropout (default: 0.1)")
    add("--micro-batches", type=positive, default=1, help="gradient accumulation (default: 1)")
    add("--variable-length", choices=("no", "buckets", "wide"), default="no",
        help="length of each micro-batch: a quarter to all of --seq in quarters, or any from an eighth up")  # fmt: skip
    add("--optimizer", choices=OPTIMIZERS, default="adamw", help="default: adamw, which is adamw-foreach on CUDA")
    add("--clip", type=float, default=0.0, metavar="NORM", help="clip gradients to this norm")
    add("--eval-every", type=positive, default=0, metavar="K", help="evaluate one batch every K iterations")
    add("--dtype", choices=("bf16", "amp"), default="bf16", help="amp: weights in fp32, computed with in bf16")
    add("--seed", type=int, default=0, help="of lengths and of expert loads (default: 0)")
    add("-o", "--output", type=pathlib.Path, required=True, metavar="OUT.seamtrace[.zst]", help="compressed if .zst")
    arguments = parser.parse_args()
    arguments.shape = MODELS[arguments.model]
    if not arguments.output.name.endswith((".seamtrace", ".seamtrace.zst")):
        parser.error(f"{arguments.output}: the name must end in .seamtrace or .seamtrace.zst")
    if not arguments.output.parent.is_dir():
        parser.error(f"{arguments.output.parent}: no such directory")
    if arguments.shape.family == "gpt2" and (arguments.seq or 0) > arguments.shape.tokens:
        parser.error(f"--seq {arguments.seq}: {arguments.model} has {arguments.shape.tokens} positions")
    return arguments


def command_line() -> str:
    """How to make the trace again: the command without where its result went, which says nothing about it."""
    words = iter(sys.argv[1:])
    kept = [word for word in words if word not in ("-o", "--output") or next(words, None) is None]
    return " ".join(["trace_model", *(word for word in kept if not word.startswith("--output="))])


def summarize(trace: events.Trace, weights: int, seconds: float) -> str:
    """What a person checks first: sizes, counts, and whether steps are alike."""
    from modeltrace import events

    peak, at_steps = 0, []
    for event, live in events.live_bytes(trace):
        peak = max(peak, live)
        if event.kind == events.STEP:
            at_steps.append(live)
    mib = 1 << 20
    return (
        f"{len(trace.events)} events, {sum(e.kind == events.ALLOC for e in trace.events)} requests, "
        f"weights {weights / mib:.1f} MiB, peak live {peak} bytes ({peak / mib:.1f} MiB), live at each step's end "
        f"{', '.join(f'{live / mib:.1f}' for live in at_steps)} MiB, {seconds:.1f} s"
    )


def main() -> int:
    """Parses, records, checks, writes, and says what it wrote."""
    find_torch()
    warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
    arguments = parse()
    from modeltrace import events, training

    shape = arguments.shape
    shape = dataclasses.replace(shape, layers=arguments.layers or shape.layers)
    run = training.Run(
        shape=shape, batch=arguments.batch, tokens=arguments.seq or shape.tokens, iterations=arguments.iterations,
        recompute=arguments.recompute, lora=arguments.lora, dropout=arguments.dropout,
        micro_batches=arguments.micro_batches, vary=arguments.variable_length, optimizer=arguments.optimizer,
        clip=arguments.clip, eval_every=arguments.eval_every, dtype=arguments.dtype, seed=arguments.seed,
    )  # fmt: skip
    started = time.monotonic()
    try:
        trace, weights = training.trace(run, command_line())
        events.check(trace)
        events.write(trace, arguments.output)
    except (RuntimeError, OSError, events.TraceError) as error:
        print(f"trace_model: {error}".splitlines()[0], file=sys.stderr)
        return 1
    print(f"{arguments.output}: {summarize(trace, weights, time.monotonic() - started)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
