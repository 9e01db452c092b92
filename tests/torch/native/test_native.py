"""PyTorch's memory interface on the emulated device: statistics, snapshots, streams, pools, graphs, out of memory.

Called once for each allocator configuration. Prints TAP.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")

import torch

from tap import end, ok

MIB = 1 << 20
EXPANDABLE = "expandable_segments:True" in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
# Before 2.13 it finds out by a call, which fails here, whether memory can have fabric handles; since then it asks for the device's attribute.
TRIES_FABRIC = EXPANDABLE and int(torch.__version__.split(".")[1]) < 13

driver = ctypes.CDLL("libcuda.so.1")
driver.fakecuda_work.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64]
driver.fakecuda_violations.restype = ctypes.c_uint64
driver.fakecuda_violation_text.restype = ctypes.c_char_p
driver.fakecuda_calls.restype = ctypes.c_uint64
driver.fakecuda_calls.argtypes = [ctypes.c_char_p]


def raised(kind: type[BaseException], work: Callable[[], object]) -> str:
    """The text of the error that the work ends in; empty: it does not."""
    try:
        work()
    except kind as error:
        return str(error)
    return ""


def block(size: int) -> torch.Tensor:
    """Memory on the device, of that many bytes."""
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def stat(name: str) -> int:
    """A number of torch.cuda.memory_stats()."""
    return int(torch.cuda.memory_stats()[name])


def part_statistics() -> None:
    """Segments of 2 MiB, 20 MiB, or of the request's size; granules of 2 and 20 MiB."""
    small, large = block(MIB), block(30 * MIB)
    ok(stat("allocated_bytes.all.current") == 31 * MIB, "what is allocated is counted")
    expected = (2 + 40) * MIB if EXPANDABLE else (2 + 30) * MIB
    ok(stat("reserved_bytes.all.current") == expected, f"and what is reserved: {expected // MIB} MiB")
    name = b"mem_create" if EXPANDABLE else b"direct_alloc"
    ok(driver.fakecuda_calls(name) == (3 + TRIES_FABRIC if EXPANDABLE else 2), "the driver was asked for just that")
    del small, large
    ok(stat("allocated_bytes.all.current") == 0, "nothing is allocated in the end")
    torch.cuda.empty_cache()
    ok(torch.cuda.memory_reserved() == 0, "nor reserved, after empty_cache")
    free, total = torch.cuda.mem_get_info()
    ok(free == total == 1024 * MIB, "the device is empty")


def part_snapshot() -> None:
    """Segments, blocks and a history."""
    torch.cuda.memory._record_memory_history()
    kept, gone = block(3 * MIB), block(5 * MIB)
    address = gone.data_ptr()
    del gone
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(None)
    segments = snapshot["segments"]
    ok(all(segment["is_expandable"] == EXPANDABLE for segment in segments), "segments are of their kind")
    ok(all(sum(b["size"] for b in s["blocks"]) == s["total_size"] for s in segments), "blocks fill their segments")
    actions = [(entry["action"], entry["size"]) for entry in snapshot["device_traces"][0] if entry["addr"] == address]
    ok(("alloc", 5 * MIB) in actions and ("free_completed", 5 * MIB) in actions, "the history tells both ends of a block")
    del kept


def part_streams() -> None:
    """record_stream keeps a block until the other stream has passed."""
    other = torch.cuda.Stream()
    shared = block(MIB)
    shared.record_stream(other)
    address = shared.data_ptr()
    ok(driver.fakecuda_work(other.cuda_stream, address, MIB, 1, 10**10) == 0, "work is pending")
    del shared
    ok(stat("active_bytes.all.current") - stat("allocated_bytes.all.current") == MIB, "its block waits")
    ok(block(MIB).data_ptr() != address, "and is not given out")
    other.synchronize()
    ok(block(MIB).data_ptr() == address, "until the work is done")


def part_memory() -> None:
    """Copies are real; kernels are refused."""
    values = torch.arange(1000, dtype=torch.float32)
    device = values.cuda()
    ok(torch.equal(device.cpu(), values), "a copy there and back")
    pinned = values.pin_memory()
    ok(pinned.is_pinned() and torch.equal(pinned.to("cuda", non_blocking=True).cpu(), values), "and from pinned memory")
    ok("not supported" in raised(RuntimeError, lambda: device + 1), "a kernel is refused")


def part_out_of_memory() -> None:
    """A caught error, after which all is well."""
    held = block(600 * MIB)
    text = raised(torch.cuda.OutOfMemoryError, lambda: block(600 * MIB))
    ok("Tried to allocate 600.00 MiB" in text, "out of memory is the user's error")
    ok(stat("num_ooms") == 1, "and is counted")
    del held
    torch.cuda.empty_cache()
    ok(block(600 * MIB).numel() == 600 * MIB, "afterwards there is memory again")
    torch.cuda.empty_cache()


def part_pools() -> None:
    """Private pools, and those of graphs."""
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = block(3 * MIB)
    ids = {s["segment_pool_id"] for s in torch.cuda.memory_snapshot() if s["allocated_size"]}
    ok(ids == {pool.id}, "a pool's memory is its own")
    del inside, pool
    os.environ["FAKECUDART_KERNELS"] = "skip"  # 2.11 begins a capture with kernels, for random numbers
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = block(MIB)
        address = captured.data_ptr()
        del captured
    graph.replay()
    kept = [block(MIB) for _ in range(4)]
    ok(address not in {b.data_ptr() for b in kept}, "a graph's memory serves nobody else")
    del graph, kept
    torch.cuda.empty_cache()
    ok(torch.cuda.memory_reserved() == 0, "until the graph is gone")


def main() -> int:
    """All parts, on one device of 1 GiB."""
    for part in (part_statistics, part_snapshot, part_streams, part_memory, part_out_of_memory, part_pools):
        part()
    wrong = driver.fakecuda_violations()
    ok(wrong == 0, f"the device has nothing to object: {driver.fakecuda_violation_text().decode()}")
    return end()


if __name__ == "__main__":
    raise SystemExit(main())
