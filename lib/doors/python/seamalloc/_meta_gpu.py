"""What torch.cuda answers where the GPUs are of _meta.py: the names of the asked GPU, memory as it was asked for, streams and events that keep no order.

PyTorch's own functions in Python stay; what they call in C is answered here, in builds that have it and in builds that do not.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ._meta import Meta

CUDA = "13.0"  # what a PyTorch without CUDA says it was built with, for programs that want one
EVENT_MS = 1.0  # between two events
CAPTURING = 2  # the number of the stream of a graph that is captured


def ignored(*_: Any, **__: Any) -> None:
    """Does nothing."""


def _lacking(name: str) -> Any:
    """Of torch._C, what a PyTorch without CUDA does not have."""
    if name.startswith("_cuda_"):
        return ignored
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}")


class Stream:
    """One of any device. All are alike."""

    def __init__(self, device: Any = None, priority: int = 0, stream_id: int = 1, **_: Any) -> None:
        self.device = torch.device("cuda", torch.cuda._utils._get_device_index(device, optional=True))
        self.device_index, self.stream_id, self.priority, self.cuda_stream = self.device.index, stream_id, priority, stream_id

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None:
        """Nothing is waited for."""

    def wait_stream(self, stream: Any) -> None:
        """As synchronize()."""

    def wait_event(self, event: Any) -> None:
        """As synchronize()."""

    def record_event(self, event: Any = None) -> Any:
        return event or Event()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device_index, self.stream_id))

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class Event:
    """A moment that has been."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.cuda_event = 0

    def record(self, stream: Any = None) -> None:
        """It has been."""

    def wait(self, stream: Any = None) -> None:
        """As record()."""

    def synchronize(self) -> None:
        """As record()."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Any) -> float:
        return EVENT_MS


class Graph:
    """A captured graph: its operators run once, while they are captured. A replay asks for nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: (0, 1) if name == "pool" else None


class Generator(torch._C.Generator):
    """Of random numbers, which nobody draws."""

    def __new__(cls, device: Any = "cpu") -> Any:
        return super().__new__(cls, "cpu")


class _Streams:
    """The current ones."""

    def __init__(self) -> None:
        self.current: dict[int, Stream] = {}

    def default(self, device: Any = None) -> Stream:
        return Stream(device, stream_id=0)

    def get(self, device: Any = None) -> Stream:
        default = self.default(device)
        return self.current.get(default.device_index, default)

    def set(self, stream: Stream | None) -> None:
        if stream is not None:
            self.current[stream.device_index] = stream

    @contextlib.contextmanager
    def use(self, stream: Stream | None) -> Iterator[None]:
        before = self.get(stream.device if stream is not None else None)
        self.set(stream)
        try:
            yield
        finally:
            self.set(before)


def _properties(machine: Any) -> Any:
    major, minor = (int(number) for number in machine["compute_capability"].split("."))
    return types.SimpleNamespace(
        name=machine["full_name"], major=major, minor=minor, total_memory=machine["memory_bytes"], multi_processor_count=machine["multiprocessors"],
        max_threads_per_multi_processor=machine["threads_per_multiprocessor"], shared_memory_per_block=49152, shared_memory_per_block_optin=machine["shared_bytes_per_block"],
        shared_memory_per_multiprocessor=machine["shared_bytes_per_multiprocessor"], L2_cache_size=machine["l2_bytes"], warp_size=32, regs_per_multiprocessor=65536,
        is_integrated=0, is_multi_gpu_board=0, gcnArchName="", uuid="",
    )  # fmt: skip


def _answers(meta: Meta) -> dict[str, Callable[..., Any]]:
    """Of torch._C."""
    history = meta.history
    count = len(meta.gpus)

    def exchange(device: int) -> int:
        before = meta.current
        meta.current = device if device >= 0 else before
        return before

    def reset(device: int) -> None:
        history.most[device] = history.held[device]

    from . import _meta

    return {
        "_cuda_getDeviceCount": lambda: count,
        "_cuda_getDevice": lambda: meta.current,
        "_cuda_setDevice": exchange,
        "_cuda_exchangeDevice": exchange,
        "_cuda_maybeExchangeDevice": exchange,
        "_cuda_memoryStats": history.stats,
        "_cuda_resetPeakMemoryStats": reset,
        "_cuda_memorySnapshot": lambda *_: {"segments": [], "device_traces": history.entries},
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_getCublasWorkspaceSize": lambda: _meta.blas_workspace(meta.machine),
        "_cuda_canDeviceAccessPeer": lambda *_: True,
        "_cuda_hasPrimaryContext": lambda device: True,
        "_cuda_isCurrentStreamCapturing": lambda: False,
        "_cuda_isHistoryEnabled": lambda: True,
        "_cuda_getArchFlags": lambda: f"sm_{meta.machine['compute_capability'].replace('.', '')}",
        "_cuda_getCompiledVersion": lambda: 13000,
        "_cuda_getCurrentRawStream": lambda device: 0,
        "_cuda_get_sync_debug_mode": lambda: 0,
    }


def install(meta: Meta) -> None:
    """For the rest of the process."""
    cuda: Any = torch.cuda
    if not torch.backends.cuda.is_built():
        torch._C._ensureCUDADeviceGuardSet()  # type: ignore[attr-defined]  # one that does nothing
    answers = _answers(meta)
    for name, answer in answers.items():
        setattr(torch._C, name, answer)
    # Modules have some of the functions by their own names.
    for module in (torch._C, *(module for name, module in sys.modules.items() if name.startswith("torch.cuda"))):
        for name, known in list(vars(module).items()):
            if name.startswith("_cuda_") and callable(known):
                setattr(module, name, answers.get(name, ignored))
    torch._C.__getattr__ = _lacking  # type: ignore[method-assign, assignment]
    cuda._exchange_device, cuda._maybe_exchange_device = answers["_cuda_exchangeDevice"], answers["_cuda_maybeExchangeDevice"]
    cuda._lazy_init = cuda.init = lambda: None
    cuda._is_in_bad_fork = lambda: False
    cuda._initialized = True
    cuda._cached_device_count = len(meta.gpus)
    cuda.device_count = lambda: len(meta.gpus)
    cuda.is_available = lambda: True
    properties = _properties(meta.machine)
    cuda.get_device_properties = cuda._get_device_properties = lambda device=None: properties
    cuda.mem_get_info = cuda.memory.mem_get_info = lambda device=None: (meta.machine["memory_bytes"] - meta.history.held[meta.current], meta.machine["memory_bytes"])
    cuda.default_generators = tuple(torch.Generator() for _ in meta.gpus)
    torch.Generator = Generator  # type: ignore[misc]
    streams = _Streams()
    cuda.current_stream, cuda.default_stream, cuda.set_stream, cuda.stream = streams.get, streams.default, streams.set, streams.use
    for module in (cuda, cuda.streams):
        module.Stream, module.Event = Stream, Event
    for module in (cuda, cuda.graphs):
        module.CUDAGraph = Graph
        module.graph = lambda *args, **kwargs: streams.use(kwargs.get("stream") or Stream(stream_id=CAPTURING))
    cuda.graph_pool_handle = lambda: (0, 1)
    of_any = {"is_available": cuda.is_available, "device_count": cuda.device_count, "current_accelerator": lambda check_available=False: torch.device("cuda"),
              "current_device_index": cuda.current_device, "set_device_index": cuda.set_device, "synchronize": ignored, "current_stream": streams.get, "set_stream": streams.set}  # fmt: skip
    for name, answer in of_any.items():
        if hasattr(torch, "accelerator") and hasattr(torch.accelerator, name):
            setattr(torch.accelerator, name, answer)
    if torch.version.cuda is None:
        torch.version.cuda = CUDA
