"""Tensors in Seam's pinned host memory, exact, with either door or none. Not here: making PyTorch's own pinned memory Seam's (enable(pinned=True))."""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import TYPE_CHECKING, Any

from . import _torch
from ._figures import host_text
from ._library import Error, check, library, pool, pools

if TYPE_CHECKING:
    import torch

NO_STREAM = ctypes.c_void_p(-1)  # SEAM_NO_STREAM
UNSUPPORTED = 10  # SEAM_UNSUPPORTED


def _give_back(device: int, ptr: int) -> None:
    """PyTorch does not tell which streams copy to or from the memory: whatever any device has been given may."""
    # Where one cannot be waited for, in a capture say, the memory stays: a graph may copy again.
    if all(library().seam_device_wait(made) == 0 for made in pools()):
        library().seam_host_free(pool(device), ptr)


def host_empty(shape: int | tuple[int, ...], dtype: torch.dtype | None = None) -> torch.Tensor:
    """An uninitialised tensor of the CPU in page-locked memory of exactly its size, rounded up to 512 bytes.

    Where enable() has made pinned memory Seam's, this is torch.empty(..., pin_memory=True). Elsewhere the memory is the C API's, and the last reference to it waits for the
    device, as PyTorch does not say which streams use it: for buffers that live long. Raises Error where there is no GPU, or the memory is not to be had.
    """
    from ._enable import is_pinned

    module: Any = _torch.torch()
    dtype = dtype or module.get_default_dtype()
    if is_pinned():
        made: torch.Tensor = module.empty(shape, dtype=dtype, pin_memory=True)
        return made
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    count = math.prod(sizes)
    if any(size < 0 for size in sizes):
        raise Error(f"{sizes} is no shape")
    if count == 0:
        return module.empty(sizes, dtype=dtype)
    _torch.require_device(module)
    if not _torch.is_emulated():
        module.cuda.init()  # else a tensor does not know that it is pinned
    device, ptr = _torch.current_device(), ctypes.c_void_p()
    nbytes = count * dtype.itemsize
    rc = library().seam_host_alloc(pool(device), nbytes, NO_STREAM, ctypes.byref(ptr))
    check(rc, f"{nbytes} bytes of pinned memory ({host_text(device)})")
    buffer = (ctypes.c_byte * nbytes).from_address(ptr.value or 0)
    weakref.finalize(buffer, _give_back, device, ptr.value).atexit = False
    return module.frombuffer(buffer, dtype=dtype).view(sizes)


def host_prepare(nbytes: int, wait: bool = False) -> None:
    """Pins host memory ahead in the background, until `nbytes` are pinned in all: for a program that will want much, while it loads its weights say.

    A request that comes meanwhile waits for one chunk at most. report() says how far it came. wait: returns when it is done. Raises Error where pinned memory is not stitched
    (SEAM_CONF=host_stitch:1), and, when it waits, where memory runs out.
    """
    if not 0 <= nbytes < 1 << 63:
        raise Error(f"{nbytes} bytes cannot be pinned")
    _torch.require_device(_torch.torch())
    device = _torch.current_device()
    rc = library().seam_host_prepare(pool(device), nbytes, wait)
    if rc == UNSUPPORTED:
        raise Error(f"pinned memory is made ahead where it is stitched: SEAM_CONF=host_stitch:1 ({host_text(device)})")
    check(rc, f"{nbytes} bytes of pinned memory ahead ({host_text(device)})")
