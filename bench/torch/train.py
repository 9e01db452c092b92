#!/usr/bin/env python3
"""One training run under one allocator: a line of JSON with its losses, its memory and its speed.

In a process of its own, because an allocator is chosen before the first use of CUDA. bench/torch/run.py makes a table of many.

Exit status: 0 done (also when it ran out of memory: the line says so), 1 it failed, 2 wrong usage, 77 no GPU or no PyTorch.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import time
from typing import Any

ALLOCATORS = ("native", "expandable", "class", "pluggable")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="train", description="One training run under one allocator.")
    add = parser.add_argument
    add("case", help="a name of cases.py")
    add("--allocator", choices=ALLOCATORS, default="native", help="class, pluggable: Seam's two doors (default: native)")
    add("--plan", choices=("off", "auto"), default="auto", help="Seam learns the program's period (default: auto)")
    add("--steps", type=int, default=30, help="training steps (default: 30)")
    add("--warm-up", type=int, default=15, help="steps before time is taken (default: 15)")
    add("--batch", type=int, help="sequences in a batch (default: the case's)")
    add("--seed", type=int, default=1, help="of weights and tokens (default: 1)")
    add("--limit", type=float, metavar="GIB", help="memory that the process may take")
    add("--trace", metavar="FILE", help="Seam's recording of the run (.seamtrace)")
    add("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: a rehearsal of the program, without an allocator")
    return parser.parse_args()


def missing(arguments: argparse.Namespace) -> str:
    """What this machine lacks, or an empty text."""
    for name in ("torch", "transformers"):
        if importlib.util.find_spec(name) is None:
            return f"Python lacks {name}"
    if arguments.device == "cpu":
        return ""
    import torch

    return "" if torch.cuda.is_available() else "PyTorch sees no GPU"


def uses_seam(arguments: argparse.Namespace) -> bool:
    """Whether the run has one of Seam's doors."""
    return arguments.device == "cuda" and arguments.allocator in ("class", "pluggable")


def choose_allocator(arguments: argparse.Namespace) -> None:
    """Before the first use of CUDA."""
    if arguments.device == "cuda" and arguments.allocator == "expandable":
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    if uses_seam(arguments):
        import seamalloc

        seamalloc.enable(door=arguments.allocator, plan=arguments.plan)


def memory(arguments: argparse.Namespace) -> dict[str, Any]:
    """The allocator's figures, whoever it is: peaks since the start, and what the device says is in use now."""
    import torch

    found: dict[str, Any] = {}
    if arguments.device == "cpu":
        return found
    if arguments.allocator != "pluggable":
        stats = torch.cuda.memory_stats()
        found["peak_allocated_bytes"] = stats["allocated_bytes.all.peak"]
        found["peak_requested_bytes"] = stats["requested_bytes.all.peak"]
        found["peak_reserved_bytes"] = stats["reserved_bytes.all.peak"]
        found["retries"] = stats["num_alloc_retries"]
    if uses_seam(arguments):
        import seamalloc

        stats = seamalloc.stats()
        found["seam"] = stats
        found.setdefault("peak_allocated_bytes", stats["live_bytes_peak"])
        found["peak_reserved_bytes"] = stats["reserved_bytes_peak"]
    free, total = torch.cuda.mem_get_info()
    found["device_used_bytes"] = total - free
    return found


def step_once(model: Any, optimizer: Any, ids: Any) -> Any:
    """One training step; the loss stays on the device."""
    optimizer.zero_grad(set_to_none=True)
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    return loss.detach()


def train(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    """The run. What is measured goes into `result` step by step, so that it is there also after a failure."""
    import torch

    import cases

    case = cases.CASES[arguments.case]
    batch = arguments.batch or case.batch
    cuda = arguments.device == "cuda"
    if cuda and arguments.limit:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, arguments.limit * (1 << 30) / total))
    torch.use_deterministic_algorithms(True, warn_only=True)
    model = cases.build(case, arguments.device, arguments.seed)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, foreach=True if cuda else None)
    data = cases.batches(case, batch, arguments.device, arguments.seed)
    losses, seconds, tokens = [], [], 0
    for step in range(arguments.steps):
        ids = next(data)
        started = time.perf_counter()
        losses.append(step_once(model, optimizer, ids).item())
        if cuda:
            torch.cuda.synchronize()
        if step >= arguments.warm_up:
            seconds.append(time.perf_counter() - started)
            tokens += ids.numel()
        if uses_seam(arguments):
            import seamalloc

            seamalloc.step()
        result["steps"], result["losses"] = step + 1, [float.hex(loss) for loss in losses]
    result["batch"] = batch
    result["last_loss"] = losses[-1]
    if seconds:
        result["step_ms"] = 1e3 * statistics.median(seconds)
        result["tokens_per_s"] = tokens / sum(seconds)


def main() -> int:
    """Runs and prints one line."""
    arguments = parse()
    lack = missing(arguments)
    if lack:
        print(f"train: {lack}", file=sys.stderr)
        return 77
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import cases

    if arguments.case not in cases.CASES:
        print(f"train: no case {arguments.case}; there are {', '.join(cases.CASES)}", file=sys.stderr)
        return 2
    choose_allocator(arguments)
    import torch

    result: dict[str, Any] = {
        "case": arguments.case, "allocator": arguments.allocator, "plan": arguments.plan, "torch": torch.__version__,
        "out_of_memory": False,
    }  # fmt: skip
    try:
        train(arguments, result)
    except torch.OutOfMemoryError as error:
        result["out_of_memory"] = True
        result["message"] = str(error).splitlines()[0]
    result |= memory(arguments)
    if arguments.trace:
        import seamalloc

        seamalloc.trace(arguments.trace)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
