"""python -m seamalloc calibrate [--json]: how fast the GPU of this machine is, and its copies, and its processor, in some ten seconds. For what-if.

What is printed as JSON is what `seam machines --json` has of that GPU, with what was measured in its place:
  tflops, tf32_tflops, fp32_tflops   a product of a large model's size
  memory_gbs                         a copy in the GPU's memory, read and written
  pcie_up_gbs, pcie_down_gbs         copies of page-locked memory alone, and pcie_gbs, the slower one; pcie_up_both_gbs, pcie_down_both_gbs: at the same time
  cpu_step_gparameters               parameters in a second that AdamW steps on the processor, in 10^9
  memory_bytes, context_bytes        the GPU's, and what of it an allocator cannot have: this process's context and kernels, and what others hold now
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from . import _what_if

MEASURED_SECONDS = 0.5  # each
ROUNDS = (5, 200)  # at least, at most
TICK_SECONDS = 5e-7  # an event's resolution: nothing takes less
PRODUCT = (8192, 4096, 4096)  # tokens, and a width of models of 7 billion parameters
COPIED_BYTES = 1 << 28
STEPPED = 1 << 26  # parameters: more than caches hold


def rate(amount: float, once: Callable[[], None]) -> float:
    """Of what work on the GPU does, so much each time, in a second: the median."""
    import torch

    taken: list[float] = []
    began = time.monotonic()
    while len(taken) <= ROUNDS[0] or (time.monotonic() - began < MEASURED_SECONDS and len(taken) < ROUNDS[1]):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        once()
        end.record()
        end.synchronize()
        taken.append(max(start.elapsed_time(end) / 1e3, TICK_SECONDS))
    return amount / statistics.median(taken[1:])  # the first one loads its kernels


def products(kind: Any) -> float:
    """TFLOP/s of a product."""
    import torch

    rows, inner, columns = PRODUCT
    a, b = torch.ones(rows, inner, device="cuda", dtype=kind), torch.ones(inner, columns, device="cuda", dtype=kind)
    out = torch.empty(rows, columns, device="cuda", dtype=kind)
    return rate(2 * rows * inner * columns / 1e12, lambda: torch.mm(a, b, out=out))


def all_products(has_tf32: bool) -> dict[str, float]:
    import torch

    matmul: Any = torch.backends.cuda.matmul
    matmul.allow_tf32 = False
    found = {"tflops": products(torch.bfloat16 if has_tf32 else torch.float16), "fp32_tflops": products(torch.float32)}  # both came with the same GPUs
    if has_tf32:
        matmul.allow_tf32 = True
        found["tf32_tflops"] = products(torch.float32)
    return found


def copies() -> dict[str, float]:
    """GB/s of copies with the host."""
    import torch

    device = [torch.empty(COPIED_BYTES, dtype=torch.uint8, device="cuda") for _ in range(2)]
    host = [torch.empty(COPIED_BYTES, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    amount = COPIED_BYTES / 1e9
    beside = torch.cuda.Stream()

    def up() -> None:
        device[0].copy_(host[0], non_blocking=True)

    def down() -> None:
        host[1].copy_(device[1], non_blocking=True)

    def while_busy(work: Callable[[], None], other: Callable[[], None]) -> float:
        def once() -> None:
            with torch.cuda.stream(beside):
                for _ in range(2):  # the other direction is busy until this one has ended
                    other()
            work()

        found = rate(amount, once)
        torch.cuda.synchronize()
        return found

    alone, both = (rate(amount, up), rate(amount, down)), (while_busy(up, down), while_busy(down, up))
    return {"pcie_gbs": min(alone), "pcie_up_gbs": alone[0], "pcie_down_gbs": alone[1], "pcie_up_both_gbs": both[0], "pcie_down_both_gbs": both[1]}


def cpu_step() -> float:
    """Parameters a second of AdamW on the processor, in 10^9."""
    import torch

    parameter = torch.nn.Parameter(torch.ones(STEPPED))
    parameter.grad = torch.ones(STEPPED)
    optimizer = torch.optim.AdamW([parameter], fused=True)
    taken = []
    for _ in range(ROUNDS[0]):
        began = time.monotonic()
        optimizer.step()
        taken.append(time.monotonic() - began)
    return STEPPED / 1e9 / statistics.median(taken[1:])


def measure() -> dict[str, Any]:
    """The machine."""
    import torch

    properties = torch.cuda.get_device_properties(0)
    found: dict[str, Any] = {"gpu": properties.name, "full_name": properties.name, "compute_capability": f"{properties.major}.{properties.minor}", "nvlink_gbs": None}
    try:
        found = _what_if.ask_tool(["machines", "--json", properties.name])[0]
    except _what_if.NoAnswer as why:
        print(f"calibrate: what-if cannot take this GPU's place: {why}", file=sys.stderr)
    source = torch.ones(COPIED_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    speeds = {**all_products(properties.major >= 8), "memory_gbs": rate(2 * COPIED_BYTES / 1e9, lambda: target.copy_(source)), **copies(), "cpu_step_gparameters": cpu_step()}
    free, total = torch.cuda.mem_get_info()
    found.update({name: float(f"{value:.4g}") for name, value in speeds.items()})
    found.update(memory_bytes=total, context_bytes=total - free - torch.cuda.memory_reserved(), measured=True)
    found.update(dict.fromkeys(("memory_source", "speed_source"), f"measured by seamalloc calibrate, PyTorch {torch.__version__}"))
    return found


def main(arguments: list[str]) -> int:
    """The command. Its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m seamalloc calibrate",
        description="Measures how fast the GPU of this machine is, for `python -m seamalloc what-if`, in some ten seconds. Nothing else should run there.",
        epilog="python -m seamalloc calibrate --json >here.json; python -m seamalloc what-if --gpu here.json train.py",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="the machine as JSON, for what-if --gpu FILE.json")
    options = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        print("calibrate: PyTorch is not installed here", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("calibrate: there is no GPU here that PyTorch can use", file=sys.stderr)
        return 2
    try:
        machine = measure()
    except (RuntimeError, _what_if.build.BuildError) as failure:
        print(f"calibrate: {str(failure).splitlines()[0]}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps([machine], indent=1))
    else:
        print("\n".join(f"{name:<24}{value}" for name, value in machine.items()))
    return 0
