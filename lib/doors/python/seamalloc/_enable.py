"""Seam becomes PyTorch's allocator: by the class built for this PyTorch, or by the pluggable functions."""

from __future__ import annotations

import ctypes
import contextlib
import importlib
import threading
import warnings
from collections.abc import Iterator
from types import ModuleType

from . import _torch, _views
from ._library import ERROR_BYTES, Error, address, check, library

DOORS = ("auto", "class", "pluggable")

LOST = (
    "without it PyTorch has no torch.cuda.memory_stats(), memory_summary(), memory snapshots and history, MemPool, "
    "or IPC; seamalloc.stats() and seamalloc.snapshot() are there instead"
)

# PyTorch's setters, and what they take.
SETTERS = {
    "set_init_fn": "seam_torch_init",
    "set_reset_fn": "seam_torch_reset",
    "set_memory_fraction_fn": "seam_torch_memory_fraction",
    "set_base_alloc_fn": "seam_torch_base_alloc",
    "set_record_stream_fn": "seam_torch_record_stream",
    "set_begin_allocate_to_pool": "seam_torch_begin_pool",
    "set_end_allocate_to_pool_fn": "seam_torch_end_pool",
    "set_release_pool": "seam_torch_release_pool",
}

_lock = threading.Lock()
_door: str | None = None  # _lock. The one that is installed
_kept: list[object] = []  # _lock. PyTorch's objects: they live as long as the process


def pluggable_allocator(module: ModuleType) -> object:
    """A CUDAPluggableAllocator with every hook set, not installed. Raises Error if this PyTorch lacks a hook: memory would be unsafe."""
    allocator = module._C._cuda_customAllocator(address("seam_torch_alloc"), address("seam_torch_free"))
    for setter, function in SETTERS.items():
        if not hasattr(allocator, setter):
            raise Error(f"PyTorch {module.__version__} has no {setter} for pluggable allocators: it is not supported")
        getattr(allocator, setter)(address(function))
    return allocator


def _install_pluggable(module: ModuleType) -> None:
    allocator = pluggable_allocator(module)
    try:
        module._C._cuda_changeCurrentAllocator(allocator)
    except RuntimeError as failure:
        raise Error(f"PyTorch does not take another allocator any more: {failure}") from None
    _kept.append(allocator)


def _install_class() -> None:
    """The library that the class is linked to is loaded by now."""
    build = importlib.import_module("seamalloc.build")
    try:
        build.install()
    except build.BuildError as failure:
        raise Error(str(failure)) from failure
    except Exception as failure:  # whatever a compiler and a loader may do: the other door is there
        raise Error(f"{type(failure).__name__}: {failure}") from failure


def _install(module: ModuleType, door: str) -> str:
    """Returns the door that was installed."""
    if door != "pluggable":
        try:
            _install_class()
            _views.extend(module)
            return "class"
        except Error as failure:
            if door == "class":
                raise Error(f"the class door cannot be installed: {failure}") from failure
            first_line = str(failure).splitlines()[0]
            warnings.warn(f"seamalloc: the pluggable door is used, as the class door is not there ({first_line}); {LOST}", stacklevel=4)
    _install_pluggable(module)
    return "pluggable"


def _configure(plan: str, conf: str) -> None:
    learns = plan in ("off", "auto")
    entries = [entry for entry in (f"plan:{plan}" if plan == "auto" else "", conf) if entry]
    error = ctypes.create_string_buffer(ERROR_BYTES)
    check(library().seam_torch_configure(",".join(entries).encode(), error), "the configuration is refused", error.value)
    path = None if learns else plan.encode()
    check(library().seam_torch_plan_file(path, error), f"the plan {plan} cannot be used", error.value)


def enable(door: str = "auto", plan: str = "off", conf: str = "") -> None:
    """Makes Seam PyTorch's allocator for CUDA memory. To be called before CUDA is used; PyTorch is imported if it was not.

    door: "class" is the whole of it, compiled for the PyTorch in use; "pluggable" needs no compiler and lacks what `seamalloc.enable`'s warning
    names; "auto" is the class, or, with a warning, the other. plan: "auto" learns what every iteration asks for and serves that from a plan; a
    path is a plan made before (`seam plan`), for the first device used; "off". conf: "key:value,...", as in $SEAM_CONF, over which it wins.

    Calling it again with the same door, or "auto", does nothing. Raises seamalloc.Error, and changes nothing, if it is too late, there is no GPU or no
    driver, PyTorch or the library is missing or does not match, or the configuration is wrong.
    """
    global _door
    if door not in DOORS:
        raise Error(f"there is no door {door!r}: it is one of {', '.join(DOORS)}")
    library()
    with _lock:
        if _door is not None:
            if door in ("auto", _door):
                return
            raise Error(f"Seam is enabled already, by the {_door} door")
        module = _torch.torch()
        _torch.require_fresh(module)
        _torch.require_device(module)
        _configure(plan, conf)
        _door = _install(module, door)


def enabled_door() -> str | None:
    """The door that enable() installed: "class", "pluggable", or None."""
    return _door


@contextlib.contextmanager
def contiguous() -> Iterator[None]:
    """CUDA tensors that this thread makes in the block lie each in one physical allocation, which NCCL and RDMA can register.

    Raises Error without the class door: a pool of torch.cuda.MemPool(seamalloc.mempool_allocator(contiguous=True)) has such memory with any.
    """
    if _door != "class":
        raise Error("contiguous memory needs the class door (seamalloc.enable(door=\"class\")), or a pool: seamalloc.mempool_allocator(contiguous=True)")
    with importlib.import_module("seamalloc.build").contiguous():
        yield


def is_enabled() -> bool:
    """Whether enable() has made Seam PyTorch's allocator in this process."""
    return _door is not None
