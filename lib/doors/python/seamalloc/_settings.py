"""PyTorch's own settings of its allocator, under Seam: $PYTORCH_ALLOC_CONF, set_allocator_settings, caching turned off.

PyTorch reads the variables when something first asks for a setting, and then compares "backend" with the name of the allocator in force: with any
but its own that is an internal error. So they are read before Seam goes in.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from types import ModuleType

from . import _told
from ._library import Error

VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
UNCACHED = "PYTORCH_NO_CUDA_MEMORY_CACHING"  # set at all, as for PyTorch
ASYNC = "cudaMallocAsync"

# PyTorch's functions that take settings, by its version.
SETTERS = ("_accelerator_setAllocatorSettings", "_cuda_cudaCachingAllocator_set_allocator_settings")

# Settings that go on to mean something, beside those of pinned memory where that is PyTorch's own as before.
MEANT = {"class": {"per_process_memory_fraction", "throw_on_cudamalloc_oom"}, "pluggable": set()}


def entries(text: str) -> list[tuple[str, str]]:
    """The keys and values of "key:value,key:[a:b,c:d]"."""
    found = re.findall(r"([^,:\[\]]+):(\[[^\]]*\]|[^,]*)", text.replace(" ", ""))
    return [(key, value) for key, value in found]


def _tell_ignored(text: str, door: str, pinned: bool) -> None:
    """Tells which settings in it mean nothing to Seam."""
    keys = [key for key, _ in entries(text) if (pinned or not key.startswith("pinned_")) and key not in MEANT[door]]
    if keys:
        verb = "means" if len(keys) == 1 else "mean"
        _told.warn(f"PyTorch's settings: {', '.join(dict.fromkeys(keys))} {verb} nothing to Seam ({door} door); what does is in SEAM_CONF")


def environment() -> str:
    """What the variables say."""
    return ",".join(filter(None, (os.environ.get(name) for name in VARIABLES)))


def is_uncached() -> bool:
    """Whether the environment turns caching off."""
    return UNCACHED in os.environ


def read(module: ModuleType) -> None:
    """Has PyTorch read its variables, while its own allocator is in force. Raises Error, in PyTorch's words, where one is malformed."""
    newest = getattr(module._C, "_accelerator_getAllocatorSettings", str)
    setter = next((getattr(module._C, name) for name in SETTERS if hasattr(module._C, name)), None)
    try:
        if setter is not None:
            setter(newest())
    except (RuntimeError, ValueError) as failure:
        raise Error(f"PyTorch refuses its settings ({' or '.join(VARIABLES)}): {failure}") from None


def _take(own: Callable[[str], None], door: str, pinned: bool, text: str) -> None:
    other = [value for key, value in entries(text) if key == "backend" and value != "native"]
    if other:
        raise Error(f"Seam is PyTorch's allocator: it is too late for backend:{other[0]}")
    own(re.sub(r"(^|,)\s*backend\s*:\s*native\s*(?=,|$)", "", text).lstrip(","))
    _tell_ignored(text, door, pinned)


def _enable_caching(own: Callable[[bool], None], value: bool) -> None:
    if not value:
        raise Error("caching cannot be turned off with the pluggable door: take the class door, or do without seamalloc.enable()")
    own(value)


def tell(door: str, pinned: bool) -> None:
    """Tells what of the environment means nothing, or turns caching off."""
    _tell_ignored(environment(), door, pinned)
    if is_uncached():
        _told.warn(f"{UNCACHED} is set: caching is off, every tensor is an allocation of the CUDA runtime, and Seam serves none")


def extend(module: ModuleType, door: str, pinned: bool) -> None:
    """Has settings that are given later taken as those of the environment are. For a door that has gone in."""
    for name in SETTERS:
        if hasattr(module._C, name):
            setattr(module._C, name, functools.partial(_take, getattr(module._C, name), door, pinned))
    if door == "pluggable":
        name = "_cuda_cudaCachingAllocator_enable"
        setattr(module._C, name, functools.partial(_enable_caching, getattr(module._C, name)))
