"""device.py: what the tests here share: the allocator they run under, its figures, memory, and work that is pending."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import sys
import unittest
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")

import torch

ALLOCATOR = sys.argv[1] if len(sys.argv) > 1 else ""
MINOR = int(torch.__version__.split(".")[1])
MIB = 1 << 20
LIMIT_BYTES = 1 << 30
LONG_NS = 10**10
GPU_CYCLES = 50_000_000


def emulator() -> ctypes.CDLL | None:
    """The controls of the emulated device; None on a GPU."""
    if "libcudart" not in os.environ.get("LD_PRELOAD", ""):
        return None
    library = ctypes.CDLL("libcuda.so.1")
    library.fakecuda_work.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64]
    library.fakecuda_violations.restype = ctypes.c_uint64
    library.fakecuda_violation_text.restype = ctypes.c_char_p
    library.fakecuda_device_of.argtypes = [ctypes.c_uint64]
    return library


EMULATOR = emulator()


def install() -> None:
    """Before the first use of CUDA."""
    if ALLOCATOR not in ("native", "class", "pluggable"):
        raise SystemExit(f"usage: {sys.argv[0]} native|class|pluggable [TEST...]")
    if ALLOCATOR != "native":
        import seamalloc

        seamalloc.enable(door=ALLOCATOR)


def only(*allocators: str) -> Callable[[Any], Any]:
    """For what the others do not offer, or do otherwise."""

    def wrap(test: Any) -> Any:
        test = unittest.skipIf(ALLOCATOR not in allocators, f"not with {ALLOCATOR}")(test)
        test.only = allocators
        return test

    return wrap


def differs(*allocators: str) -> Callable[[Any], Any]:
    """The test says what PyTorch's own allocator does; under these it must fail: they are different by intention."""

    def wrap(test: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(test)
        def run(self: unittest.TestCase) -> None:
            if ALLOCATOR not in allocators:
                test(self)
                return
            try:
                test(self)
            except AssertionError:
                return
            raise AssertionError(f"{ALLOCATOR} is as PyTorch's own: names.py says that it differs")

        run.differs = allocators  # type: ignore[attr-defined]
        return run

    return wrap


def since(minor: int, *allocators: str) -> Callable[[Any], Any]:
    """For what PyTorch has had since this minor of 2, or has done right under these allocators."""

    def wrap(test: Any) -> Any:
        test = unittest.skipIf(MINOR < minor and ALLOCATOR in (allocators or (ALLOCATOR,)), f"since PyTorch 2.{minor}")(test)
        test.since = minor
        return test

    return wrap


def offered(owner: object, name: str) -> Callable[[Any], Any]:
    """For what PyTorch has under this name, or has not yet."""
    return unittest.skipUnless(hasattr(owner, name), f"PyTorch {torch.__version__} has no {name}")


def block(count: int, unit: int = MIB) -> torch.Tensor:
    """Memory on the device."""
    return torch.empty(count * unit, dtype=torch.uint8, device="cuda")


def allocated() -> int:
    """Bytes in tensors, by whoever counts them."""
    if ALLOCATOR == "pluggable":
        import seamalloc

        return seamalloc.stats()["live_bytes"]
    return torch.cuda.memory_allocated()


def reserved() -> int:
    """Bytes taken from the device."""
    if ALLOCATOR == "pluggable":
        import seamalloc

        return seamalloc.stats()["reserved_bytes"]
    return torch.cuda.memory_reserved()


def stat(name: str) -> int:
    """A number of torch.cuda.memory_stats()."""
    return int(torch.cuda.memory_stats()[name])


def work(stream: torch.cuda.Stream, *touched: torch.Tensor) -> None:
    """The stream is busy for a while, with these tensors."""
    if EMULATOR is None:
        with torch.cuda.stream(stream):
            torch.cuda._sleep(GPU_CYCLES)
            for tensor in touched:
                tensor.zero_()
        return
    for tensor in touched or (None,):
        at, size = (tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor is not None else (0, 0)
        if EMULATOR.fakecuda_work(stream.cuda_stream, at, size, 1, LONG_NS) != 0:
            raise RuntimeError("the device took no work")


def segments(pool: tuple[int, int]) -> list[dict[str, Any]]:
    """What the allocator shows of a pool."""
    return [segment for segment in torch.cuda.memory_snapshot() if tuple(segment["segment_pool_id"]) == tuple(pool)]


def live(pool: tuple[int, int]) -> dict[int, int]:
    """A pool's blocks that are in use: sizes by address."""
    return {b["address"]: b["size"] for s in segments(pool) for b in s["blocks"] if b["state"] == "active_allocated"}


@contextmanager
def limited(count: int) -> Iterator[None]:
    """This process may have so many MiB beyond what it has; nothing is cached before and after."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((reserved() + count * MIB) / total)
    try:
        yield
    finally:
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(LIMIT_BYTES / total)


class DeviceTest(unittest.TestCase):
    """A test that begins and ends with no memory, and gives the device no cause for complaint."""

    def setUp(self) -> None:
        torch.cuda.init()
        torch.cuda.set_per_process_memory_fraction(LIMIT_BYTES / torch.cuda.get_device_properties(0).total_memory)
        self.clean()
        self.allocated_before = allocated()

    def tearDown(self) -> None:
        self.clean()
        self.assertEqual(allocated(), self.allocated_before, "no tensor is left")
        if EMULATOR is not None:
            self.assertEqual(EMULATOR.fakecuda_violations(), 0, EMULATOR.fakecuda_violation_text())

    def clean(self) -> None:
        """Whatever is free goes back to the device."""
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def shortage(self, call: Callable[[], object]) -> str:
        """The call runs out of memory; the error's text."""
        with self.assertRaises(torch.OutOfMemoryError) as caught:
            call()
        return str(caught.exception)
