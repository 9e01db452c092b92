"""Seam becomes PyTorch's allocator: by the class built for this PyTorch, or by the pluggable functions."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import importlib
import os
import threading
from collections.abc import Iterator
from types import ModuleType

from . import _settings, _told, _torch, _views
from ._library import ERROR_BYTES, Error, address, check, library

DOORS = ("auto", "class", "pluggable")
MODES = ("auto", "off")  # of plans: what else is said is the path of one

LOST = (
    "without it torch.cuda.memory_allocated(), memory_reserved(), memory_stats(), memory_summary(), memory snapshots and history, MemPool "
    "and IPC raise; seamalloc.stats() and seamalloc.snapshot() are there instead"
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
    if _settings.is_uncached():
        raise Error(f"{_settings.UNCACHED} is set, and caching cannot be turned off with the pluggable door: take the class door, or go without Seam")
    _torch.require_fresh(module)
    allocator = pluggable_allocator(module)
    try:
        module._C._cuda_changeCurrentAllocator(allocator)
    except RuntimeError as failure:
        raise Error(f"PyTorch does not take another allocator any more: {failure}") from None
    _kept.append(allocator)


def _install_class(module: ModuleType, pinned: bool) -> None:
    """The library that the class is linked to is loaded by now. The class is in, and stays, where pinned memory cannot be had: that is told."""
    build = importlib.import_module("seamalloc.build")
    try:
        build.install()
    except build.BuildError as failure:
        raise Error(str(failure)) from failure
    except Exception as failure:  # whatever a compiler and a loader may do: the other door is there
        raise Error(f"{type(failure).__name__}: {failure}") from failure
    _views.extend(module)
    try:
        if pinned:
            build.pin()
    except build.BuildError as failure:
        _told.warn(f"pinned host memory stays PyTorch's own: {failure}")


def _install(module: ModuleType, door: str, pinned: bool) -> tuple[str, str]:
    """Returns the door that was installed, and why it is not the class if it was to be."""
    if door == "pluggable":
        _install_pluggable(module)
        return "pluggable", ""
    try:
        _install_class(module, pinned)
        return "class", ""
    except Error as failure:
        if door == "class":
            raise Error(f"the class door cannot be installed: {failure}") from failure
        why = str(failure).splitlines()[0]
    try:
        _install_pluggable(module)
    except Error as failure:
        raise Error(f"{failure} (and the class door cannot be installed: {why})") from failure
    return "pluggable", why


def _require_own(module: ModuleType) -> None:
    """Raises Error unless the allocator in force is PyTorch's own, which alone is replaced."""
    backend = module._C._cuda_getAllocatorBackend()
    if backend == _settings.ASYNC:
        raise Error(f"backend:{backend} is asked for ({' or '.join(_settings.VARIABLES)}), which is another allocator: take it out, or go without Seam")
    if backend != "native":
        raise Error(f"PyTorch's allocator was replaced already, by one that is called {backend!r}")


@dataclasses.dataclass(frozen=True)
class _Choice:
    """What enable() was asked for; None: nothing."""

    plan: str | None = None
    conf: str | None = None

    def over(self, other: _Choice) -> _Choice:
        """This, and what the other says of which this says nothing."""
        return _Choice(*(theirs if mine is None else mine for mine, theirs in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def apply(self) -> None:
        """The configuration of pools to come. Raises Error."""
        is_file = self.plan is not None and self.plan not in MODES
        entries = [f"plan:{self.plan}" if self.plan in MODES else "", self.conf or ""]
        error = ctypes.create_string_buffer(ERROR_BYTES)
        check(library().seam_torch_configure(",".join(filter(None, entries)).encode(), error, ERROR_BYTES), "the configuration is refused", error.value)
        path = os.fsencode(self.plan or "") if is_file else None
        check(library().seam_torch_plan_file(path, error, ERROR_BYTES), f"the plan {self.plan} cannot be used", error.value)


_choice = _Choice()  # _lock. In effect


def _configure(wanted: _Choice) -> None:
    """All of it takes effect, or nothing and Error."""
    global _choice
    if wanted == _choice:
        return
    try:
        wanted.apply()
    except Error:
        with contextlib.suppress(Error):
            _choice.apply()
        raise
    _choice = wanted


def _text(name: str, value: object) -> str | None:
    """An argument of enable()."""
    if value is None:
        return None
    if isinstance(value, os.PathLike) and name == "plan":
        value = os.fsdecode(value)
    if not isinstance(value, str) or "\0" in value:
        raise Error(f"{name}={value!r}: it is to be a text")
    return value


def enable(door: str = "auto", plan: str | os.PathLike[str] | None = None, conf: str | None = None, pinned: bool | None = None) -> None:
    """Makes Seam PyTorch's allocator for CUDA memory. To be called before CUDA memory is allocated; PyTorch is imported if it was not.

    door: "class" is the whole of it, compiled for the PyTorch in use; "pluggable" needs no compiler and lacks what `seamalloc.enable`'s warning
    names; "auto" is the class, or, with a warning, the other. plan: "auto", the default, learns what every iteration asks for and serves that from
    a plan; a path is a plan made before (`seam plan`), for the first device used, and others are learnt; "off". conf: "key:value,...", as in $SEAM_CONF, over which it wins.
    pinned: whether pinned host memory (pin_memory=True) is Seam's too, exact and within the control group's limit; it is with the class, for good, and never with the other door.

    What is not given stays as it is. Calling it again changes plan and conf if they are given and no memory was asked for yet; after that, and for
    another door, it raises. Raises seamalloc.Error, and changes nothing, if it is too late, there is no GPU or no driver, PyTorch or the library is
    missing or does not match, another allocator is asked for or in force, or an argument is wrong.
    """
    global _door
    if door not in DOORS:
        raise Error(f"there is no door {door!r}: it is one of {', '.join(DOORS)}")
    wanted = _Choice(_text("plan", plan), _text("conf", conf))
    if pinned and door == "pluggable":
        raise Error("pinned memory is PyTorch's own with the pluggable door; seamalloc.host_empty() makes tensors in Seam's")
    library()
    with _lock:
        if _door is not None:
            if door not in ("auto", _door):
                raise Error(f"Seam is enabled already, by the {_door} door")
            if not _in_force():
                raise Error("another allocator has replaced Seam since it was enabled")
            _pin_again(pinned)
            _configure(wanted.over(_choice))
            return
        module = _torch.torch()
        _require_own(module)
        _torch.require_device(module)
        _settings.read(module)
        _configure(wanted)
        try:
            _door, why = _install(module, door, pinned is not False)
        except Error:
            with contextlib.suppress(Error):
                _configure(_Choice())
            raise
        _settings.extend(module, _door, is_pinned())
    if why:
        _told.warn(f"the pluggable door is used, as the class door is not there ({why}); {LOST}")
    _settings.tell(_door, is_pinned())


def _pin_again(pinned: bool | None) -> None:
    """For a door that is in. With the lock."""
    if pinned is None or pinned == is_pinned():
        return
    if not pinned:
        raise Error("pinned memory is Seam's already, and PyTorch has no way back")
    if _door != "class":
        raise Error("pinned memory can be Seam's with the class door alone")
    build = importlib.import_module("seamalloc.build")
    try:
        build.pin()
    except build.BuildError as failure:
        raise Error(str(failure)) from failure


def is_pinned() -> bool:
    """Whether PyTorch's pinned memory is Seam's."""
    return _door == "class" and importlib.import_module("seamalloc.build").is_pinned()


def _in_force() -> bool:
    """Whether PyTorch's allocator is the one that enable() installed."""
    if _door is None:
        return False
    module = _torch.torch()
    if _door == "class":
        return bool(module._C._cuda_getAllocatorBackend() == "seam")
    return module._C._cuda_getAllocator() is _kept[0]


def learns() -> bool:
    """Whether plans are to be learnt: not if enable() or the environment says so."""
    texts = [os.environ.get("SEAM_CONF", ""), f"plan:{_choice.plan}", _choice.conf or ""]
    said = [value.strip() for text in texts for key, _, value in (entry.partition(":") for entry in text.split(",")) if key.strip() == "plan"]
    return next((value for value in reversed(said) if value in (*MODES, "inline")), "auto") != "off"


def enabled_door() -> str | None:
    """The door by which Seam is PyTorch's allocator: "class", "pluggable"; None if it is not, or not any more."""
    return _door if _in_force() else None


@contextlib.contextmanager
def contiguous() -> Iterator[None]:
    """CUDA tensors that this thread makes in the block lie each in one physical allocation, which NCCL and RDMA can register.

    Raises Error without the class door: a pool of torch.cuda.MemPool(seamalloc.mempool_allocator(contiguous=True)) has such memory with any.
    """
    if enabled_door() != "class":
        raise Error("contiguous memory needs the class door (seamalloc.enable(door=\"class\")), or a pool: seamalloc.mempool_allocator(contiguous=True)")
    with importlib.import_module("seamalloc.build").contiguous():
        yield


def is_enabled() -> bool:
    """Whether Seam is PyTorch's allocator in this process: enable() has made it that, and nobody has replaced it since."""
    return _in_force()
