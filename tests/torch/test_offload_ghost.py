#!/usr/bin/env python3
"""test_offload_ghost.py LIBRARY PACKAGE: offloading through the swap engine of a pool, on the ghost GPU (tests/torch/with_torch --emulated), where kernels compute nothing. As TAP."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
LIBRARY, PACKAGE = (str(Path(path).resolve()) for path in sys.argv[1:3])
sys.path[:0] = [PACKAGE, str(Path(__file__).resolve().parents[1] / "support")]
os.environ.update(SEAM_LIBRARY=LIBRARY, FAKECUDART_KERNELS="skip")

import seamalloc  # noqa: E402
import torch  # noqa: E402
from tap import end, ok  # noqa: E402

MIB = 1 << 20
CUDA = ctypes.CDLL("libcuda.so.1")
CUDA.fakecuda_violation_text.restype = ctypes.c_char_p
CUDA.fakecuda_violations.restype = ctypes.c_uint64
CUDA.fakecuda_fail_at.argtypes = [ctypes.c_uint64, ctypes.c_int]


def iterate(prefetch: str = "plan") -> dict[str, int]:
    """What one iteration adds to the figures."""
    before = seamalloc.offload_stats()
    x = torch.ones(MIB, device="cuda", requires_grad=True)
    with seamalloc.offload_activations(prefetch=prefetch):
        y = x
        for _ in range(8):
            y = (y * 2).sin().exp()
    y.sum().backward()
    del y
    torch.cuda.synchronize()
    gc.collect()
    return {name: value - before[name] for name, value in seamalloc.offload_stats().items()}


def is_clean() -> bool:
    return bool(CUDA.fakecuda_violations() == 0) and seamalloc.offload_stats()["tickets"] == 0


def test_periods() -> None:
    found = [iterate() for _ in range(5)]
    ok(all(one["outs"] == one["ins"] == found[0]["outs"] > 8 and one["planned"] == 0 for one in found[:2]), "two iterations on demand", str(found[:2]))
    ok(found[2]["plans"] == 1, "the third has a plan", str(found[2]))
    ok(found[3] == found[4] and found[4]["demanded"] == 0, "from then on nothing is on demand", str(found[4]))
    ok(is_clean(), "no violation, no ticket", CUDA.fakecuda_violation_text().decode())


def test_numbers() -> None:
    """Copies move contents here, kernels do not make any."""
    tensor = torch.arange(MIB, dtype=torch.int32).to("cuda")
    view, wanted = tensor[5:], tensor.cpu()
    away = seamalloc.offload([tensor, view])
    ok(away.is_away and tensor.untyped_storage().nbytes() == 0, "a tensor leaves")
    torch.empty(4 * MIB, dtype=torch.uint8, device="cuda").zero_()
    away.onload()
    ok(torch.equal(tensor.cpu(), wanted) and torch.equal(view.cpu(), wanted[5:]) and is_clean(), "and comes back with its contents, its view too")


def test_streams() -> None:
    """Saved on one stream, used on it in backward; the block's memory is of another."""
    side = torch.cuda.Stream()
    for _ in range(4):
        with torch.cuda.stream(side), seamalloc.offload_activations():
            x = torch.ones(MIB, device="cuda", requires_grad=True)
            y = (x * 2).sin().exp()
        torch.cuda.current_stream().wait_stream(side)
        y.sum().backward()
    torch.cuda.synchronize()
    del x, y
    gc.collect()
    ok(is_clean(), "streams of the program's own", CUDA.fakecuda_violation_text().decode())


def test_capture() -> None:
    x = torch.ones(MIB, device="cuda", requires_grad=True)
    before = seamalloc.offload_stats()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with seamalloc.offload_activations():
            y = (x * 2).sin().exp()
        y.sum().backward()
    del y
    graph.replay()
    torch.cuda.synchronize()
    gc.collect()
    ok(seamalloc.offload_stats()["outs"] == before["outs"] and is_clean(), "in a capture everything stays", CUDA.fakecuda_violation_text().decode())
    tensor = torch.ones(MIB, device="cuda")
    away = seamalloc.offload(tensor)
    ok(away.is_away, "and behind it tensors leave again")
    del away


def test_refused() -> None:
    """In a process with hardly any pinned memory to be had."""
    found = iterate("demand")
    ok(found["refusals"] > 0 and found["outs"] < 3, "without pinned memory activations stay", str(found))
    ok("for want of pinned memory" in seamalloc.report() and f"{found['refusals']} times" in seamalloc.report(), "the report says so", seamalloc.report())
    ok(is_clean(), "no violation", CUDA.fakecuda_violation_text().decode())


def test_failures() -> None:
    """Each driver call that concerns memory, in turn."""
    said: dict[str, int] = {}
    for number in range(1, 40):
        CUDA.fakecuda_fail_at(number, 2)  # out of memory
        try:
            iterate("demand")
            text = "went on"
        except (RuntimeError, seamalloc.Error) as failure:
            text = type(failure).__name__
        CUDA.fakecuda_fail_at(0, 0)
        gc.collect()
        torch.cuda.synchronize()
        said[text] = said.get(text, 0) + 1
    ok(is_clean(), "calls that fail leave nothing behind", f"{said} {seamalloc.offload_stats()} {CUDA.fakecuda_violation_text().decode()}")
    print(f"# {said}")


def main() -> int:
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    if part == "refused":
        test_refused()
        return end()
    if part:
        seamalloc.enable(door=part)
    for test in (test_periods, test_numbers, test_streams, test_capture, test_failures):
        test()
    if not part:
        for more, conf in (("pluggable", ""), ("refused", "host_capacity_bytes:64K")):
            command = [sys.executable, "-W", "ignore", __file__, LIBRARY, PACKAGE, more]
            done = subprocess.run(command, env=dict(os.environ, SEAM_CONF=conf), capture_output=True, text=True, check=False)
            ok(done.returncode == 0, f"the same: {more}", done.stdout + done.stderr)
    return end()


if __name__ == "__main__":
    sys.exit(main())
