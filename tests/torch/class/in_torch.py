#!/usr/bin/env python3
"""in_torch.py BUILD_MODULE_FOLDER CLASS_LIBRARY VIZ_FOLDER: the allocator class in PyTorch itself, as TAP.

Run by test_class.py with PyTorch's Python and the fake CUDA runtime loaded first, so `device="cuda"` is the emulated one: memory is real, kernels are
not there. Everything is what a user would write.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import warnings
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[1], str(Path(__file__).resolve().parents[2] / "support")]
warnings.simplefilter("ignore")

import torch  # noqa: E402

import build  # noqa: E402
from tap import end, ok  # noqa: E402

LIBRARY, FOLDER = Path(sys.argv[2]), Path(sys.argv[3])
MIB = 1 << 20
MINOR = int(torch.__version__.split(".")[1])


def mib(number: int) -> torch.Tensor:
    """A tensor of so many MiB."""
    return torch.empty(number * MIB, dtype=torch.uint8, device="cuda")


def check_figures() -> None:
    """memory_stats, memory_summary and what is made of them."""
    tensor = mib(12)
    stats = torch.cuda.memory_stats()
    keys = [f"{name}.{part}.{figure}" for name in ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes",
            "active_bytes", "inactive_split_bytes", "requested_bytes") for part in ("all", "small_pool", "large_pool")
            for figure in ("current", "peak", "allocated", "freed")]  # fmt: skip
    keys += [f"{name}.{figure}" for name in ("oversize_allocations", "oversize_segments") for figure in ("current", "peak", "allocated", "freed")]
    keys += ["num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free", "max_split_size"]
    ok(all(key in stats for key in keys), f"memory_stats has every key; missing: {[key for key in keys if key not in stats]}")
    ok(torch.cuda.memory_allocated() >= 12 * MIB and torch.cuda.memory_reserved() >= torch.cuda.memory_allocated(), "memory is counted")
    ok("Allocated memory" in torch.cuda.memory_summary(), "memory_summary is printed")
    before = torch.cuda.max_memory_allocated()
    del tensor
    torch.cuda.reset_peak_memory_stats()
    ok(torch.cuda.max_memory_allocated() < before, "peaks can be reset")
    ok(torch.accelerator.memory_allocated() == torch.cuda.memory_allocated(), "torch.accelerator sees the same allocator")
    free, total = torch.cuda.mem_get_info()
    ok(0 < free <= total, "the device's memory is known")
    if MINOR >= 10:
        ok(torch.accelerator.get_memory_info() == (free, total), "torch.accelerator knows it too")
    ok(("num_oom_rejections" in stats) == (MINOR >= 12), "so are rejections, where PyTorch has them")


def check_errors() -> None:
    """What the user sees when there is too little."""
    try:
        mib(1 << 25)
    except torch.cuda.OutOfMemoryError as error:
        ok("Tried to allocate 32768.00 GiB. GPU 0 has a total capacity of 8.00 GiB" in str(error), "out of memory is PyTorch's own error, with a text")
    else:
        ok(False, "out of memory is PyTorch's own error, with a text")
    torch.cuda.set_per_process_memory_fraction(0.25)
    try:
        mib(4096)
        ok(False, "half the device is too much for a quarter of it")
    except torch.cuda.OutOfMemoryError:
        ok(torch.cuda.get_per_process_memory_fraction() == 0.25, "half the device is too much for a quarter of it")
    torch.cuda.set_per_process_memory_fraction(1.0)
    ok(mib(4096).numel() == 4096 * MIB, "and not for all of it")
    torch.cuda.empty_cache()


def check_pools() -> None:
    """MemPool and CUDA graphs."""
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = mib(5)
    outside = mib(5)
    shown = pool.snapshot()
    ok(len(shown) == 1 and shown[0]["address"] == inside.data_ptr(), "a MemPool has its own memory")
    ok(all(segment["address"] != outside.data_ptr() for segment in shown), "and no other's")
    stats = torch.cuda.memory_stats()
    held = stats.get(f"reserved_bytes_by_private_pools.{pool.id[0]}_{pool.id[1]}.all.current")
    ok(held == (shown[0]["total_size"] if MINOR >= 13 else None), f"memory_stats tells what it holds: {held}")
    del inside, pool
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = mib(6)
    pools = {segment["segment_pool_id"] for segment in torch.cuda.memory_snapshot()}
    ok(tuple(graph.pool()) in pools, "a graph has a pool")
    graph.replay()
    del captured, graph
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    ok({segment["segment_pool_id"] for segment in torch.cuda.memory_snapshot()} <= {(0, 0)}, "which goes with it")


def check_foreign() -> None:
    """A MemPool over an allocator of the program's own."""
    runtime = ctypes.CDLL(os.environ["LD_PRELOAD"])  # the wheel has another, which sees no device
    given: dict[int, int] = {}

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
    def alloc(size: int, _device: int, _stream: int | None) -> int | None:
        address = ctypes.c_void_p()
        if size > 100 * MIB or runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size)) != 0 or address.value is None:
            return None
        given[address.value] = size
        return address.value

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
    def free(address: int, _size: int, _device: int, _stream: int | None) -> None:
        del given[address]
        runtime.cudaFree(ctypes.c_void_p(address))

    torch.cuda.empty_cache()
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in (alloc, free)]
    owner = torch._C._cuda_customAllocator(*addresses)  # until 2.10 a MemPool does not keep it
    pool = torch.cuda.MemPool(owner)
    with torch.cuda.use_mem_pool(pool):
        inside = [mib(30), mib(30), torch.empty(1000, dtype=torch.uint8, device="cuda")]
    outside = mib(30)
    ok(sorted(given.values()) == [2 * MIB, 30 * MIB, 30 * MIB], f"it is asked for segments: {given}")
    ok(all(any(start <= tensor.data_ptr() < start + size for start, size in given.items()) for tensor in inside), "where the tensors lie")
    ok(outside.data_ptr() not in given, "and no other's")
    ok(torch.cuda.memory_allocated() - allocated == 90 * MIB + 1024, "what is allocated is counted")
    total = sum(segment["total_size"] for segment in torch.cuda.memory_snapshot())
    ok(torch.cuda.memory_reserved() == total >= reserved + 92 * MIB, "what is reserved too, and shown")
    ok({segment["address"] for segment in pool.snapshot()} == set(given), "the pool's segments are the allocator's")
    side, driver = torch.cuda.Stream(), ctypes.CDLL("libcuda.so.1")
    driver.fakecuda_work.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64]
    held, address = inside[0].data_ptr(), inside[1].data_ptr()
    inside[0].record_stream(side)
    ok(driver.fakecuda_work(side.cuda_stream, held, 30 * MIB, 1, 10**10) == 0, "a stream works on one of them")
    del inside[:2]
    with torch.cuda.use_mem_pool(pool):
        again = [mib(30), mib(30)]
        ok(again[0].data_ptr() == address, "what is freed serves the pool again")
        ok(again[1].data_ptr() != held, "but not what a stream still uses")
        try:
            mib(200)
            ok(False, "out of memory is the allocator's to say")
        except torch.cuda.OutOfMemoryError:
            ok(len(given) >= 1, "out of memory is the allocator's to say")
    del inside, outside, again
    torch.cuda.synchronize()
    del pool
    torch.cuda.empty_cache()
    helper = torch.cuda.MemPool(owner, use_on_oom=True)
    with torch.cuda.use_mem_pool(helper):
        address = mib(30).data_ptr()
    torch.cuda.set_per_process_memory_fraction(16 * MIB / torch.cuda.mem_get_info()[1])
    helped = mib(30)
    ok(helped.data_ptr() == address, "a pool that helps serves others before they run out of memory")
    torch.cuda.set_per_process_memory_fraction(1.0)
    ok(mib(30).data_ptr() not in given, "and only then")
    del helped, helper
    torch.cuda.empty_cache()
    ok(given == {} and torch.cuda.memory_allocated() == allocated, f"everything goes back in the end: {given}")


def check_streams() -> None:
    """record_stream, raw memory, contiguous memory."""
    stream = torch.cuda.Stream()
    tensor = mib(3)
    tensor.record_stream(stream)
    del tensor
    torch.cuda.synchronize()
    address = torch.cuda.caching_allocator_alloc(1024, 0, stream)
    ok(address % 512 == 0, "raw memory can be asked for")
    torch.cuda.caching_allocator_delete(address)
    with build.contiguous():
        ok(mib(80).numel() == 80 * MIB, "contiguous memory too")


def check_history() -> None:
    """A snapshot as users make it, opened by PyTorch's viewer."""
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    torch.cuda.memory._record_memory_history(max_entries=1000)
    tensors = [mib(number) for number in range(1, 20)]
    del tensors[::2]
    path = FOLDER / "in_torch.pickle"
    torch.cuda.memory._dump_snapshot(str(path))
    torch.cuda.memory._record_memory_history(enabled=None)
    snapshot = pickle.loads(path.read_bytes())
    total = sum(segment["total_size"] for segment in snapshot["segments"])
    ok(total == torch.cuda.memory_reserved(), "segments are all that is reserved")
    actions = [entry["action"] for entry in snapshot["device_traces"][0]]
    ok(actions.count("alloc") == 19 and actions.count("free_requested") == 10, f"the history has every request and free: {actions}")
    mapped = [entry["size"] for entry in snapshot["device_traces"][0] if entry["action"] == "segment_map"]
    ok(sum(mapped) == torch.cuda.memory_reserved() - before > 0, "and all memory that came")
    names = {frame["name"] for entry in snapshot["device_traces"][0] for frame in entry.get("frames", [])}
    ok("mib" in names, "with the lines of the program")
    if MINOR >= 15:
        torch.cuda.memory._record_memory_history(record_pinned_host_memory=True)
        pinned = torch.empty(MIB, dtype=torch.uint8, pin_memory=True)
        host = torch.cuda.memory._snapshot()
        torch.cuda.memory._record_memory_history(enabled=None)
        ok(pinned.is_pinned() and "alloc" in {entry["action"] for entry in host["host_traces"]}, "pinned memory is in it, where it is asked for")
        ok(sum(segment["total_size"] for segment in host["host_segments"]) >= MIB, "with its segments")
    viz = torch.cuda._memory_viz
    ok("active_allocated" in viz.segments(snapshot, format_flamegraph=str), "segments are drawn")
    ok("total_reserved" in viz.segsum(snapshot) and len(viz.trace_plot(snapshot)) > 1000, "the viewer opens it")


def first(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """A graph whose result outlives it."""
    scratch = inputs.pop().clone()
    return [torch.empty_like(scratch).copy_(scratch)]


def second(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """A graph behind it."""
    return [inputs.pop().clone().clone()]


def third(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Another one behind it, which is captured when the first has been replayed: its memory must not be the first's."""
    given = inputs.pop()
    return [given.clone(), given.clone()]


def little(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """A graph that asks for less memory than its input takes."""
    return [inputs.pop()[:600].clone()]


def caller() -> tuple:
    """Calls functions by graphs of one pool, captured as they come: what torch.compile(mode="reduce-overhead") does, without a compiler."""
    from torch._inductor import config, cudagraph_trees as trees

    config.triton.fast_path_cudagraph_asserts = config.triton.slow_path_cudagraph_asserts = True
    torch._foreach_copy_ = lambda to, of: [a.copy_(b) for a, b in zip(to, of)]  # would be a kernel
    graphs = {}

    def call(function, results: int, given: torch.Tensor) -> list[torch.Tensor]:
        if function in graphs:
            return graphs[function]([given])
        graphs[function], out = trees.cudagraphify(function, [given], device_index=0, is_backward=False, is_inference=True, stack_traces=[""] * results)
        return out

    return trees, call


def begin(trees, given: torch.Tensor, step: int) -> None:
    """An iteration, with its number in all of its input."""
    given.copy_(torch.full((given.numel(),), step, dtype=torch.uint8))
    trees.mark_step_begin()


def check_graph_inputs() -> None:
    """A graph's inputs are copied to where they were when it was captured, which is in its pool, but not asked for by the capture."""
    trees, call = caller()
    given, wrong = mib(3), []
    for step in range(5):
        begin(trees, given, step)
        result = call(little, 1, given)
        torch.cuda.synchronize()
        wrong += [step] if int(result[0][599]) != step else []
        del result
        torch.cuda.empty_cache()
    ok(not wrong, f"a graph's inputs stay where they are: {wrong}")
    del call
    trees.reset_cudagraph_trees()


def check_graph_trees() -> None:
    """Graphs of one pool leave each other's memory alone."""
    trees, call = caller()
    given, wrong = mib(3), []
    for step in range(8):
        begin(trees, given, step)
        result = call(first, 1, given)
        behind = call(second, 1, result[0]) if step < 3 or step == 7 else call(third, 2, result[0])
        torch.cuda.synchronize()
        wrong += [(step, int(tensor[at])) for tensor in result + behind for at in (0, 2 * MIB) if int(tensor[at]) != step]
        del result, behind
    ok(not wrong, f"graphs of one pool leave each other's results alone: {wrong}")
    ok(trees.get_manager(0).debug_checkpointing_counter > 0, "they went back to a checkpoint")
    trees.reset_cudagraph_trees()
    del call
    torch.cuda.empty_cache()
    ok({segment["segment_pool_id"] for segment in torch.cuda.memory_snapshot()} <= {(0, 0)}, "their pool goes with them")


def main() -> int:
    """All checks."""
    build.find_or_build = lambda: LIBRARY
    build.install()
    ok(torch.cuda.get_allocator_backend() == "seam", "Seam is PyTorch's allocator")
    for check in (check_figures, check_errors, check_pools, check_foreign, check_streams, check_history, check_graph_inputs, check_graph_trees):
        check()
    try:
        build.install()
        ok(True, "installing again changes nothing")
    except build.BuildError as error:
        ok(False, f"installing again changes nothing: {error}")
    return end()


if __name__ == "__main__":
    sys.exit(main())
