"""What the package asks of PyTorch, which is imported no sooner than that."""

from __future__ import annotations

import ctypes
import os
import sys
from types import ModuleType

from ._library import Error


def torch() -> ModuleType:
    """PyTorch with CUDA in it. Raises Error."""
    try:
        import torch as module
    except ImportError as failure:
        raise Error(f"PyTorch cannot be imported: {failure}") from None
    if module.version.cuda is None:
        raise Error(f"PyTorch {module.__version__} was built without CUDA: there is no device memory to manage")
    return module


def is_emulated() -> bool:
    """Whether SEAM_CONF asks for an emulated device, which needs no driver."""
    return any(entry.strip().startswith("backend:emu") for entry in os.environ.get("SEAM_CONF", "").split(","))


def require_device(module: ModuleType) -> None:
    """Raises Error where there is no driver or no GPU. Asks without initialising CUDA, where NVML is there to ask."""
    if is_emulated():
        return
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise Error("there is no NVIDIA driver on this machine (libcuda.so.1 was not found)") from None
    if module.cuda.device_count() == 0:
        raise Error("there is no GPU that CUDA can use (CUDA_VISIBLE_DEVICES hides all, or the driver does not work)")


def require_fresh(module: ModuleType) -> None:
    """Raises Error if PyTorch has made its allocator ready, which it then does not let a pluggable one replace, tensors or none."""
    if module.cuda.is_initialized():
        raise Error("too late for the pluggable door: CUDA is in use already; call seamalloc.enable() before anything uses the GPU")


def current_device() -> int:
    """PyTorch's current device, if it uses CUDA already; else 0."""
    module = sys.modules.get("torch")
    if module is None or not module.cuda.is_initialized():
        return 0
    return int(module.cuda.current_device())
