"""Segments for PyTorch's native allocator, which torch.cuda.MemPool() lets use another source."""

from __future__ import annotations

import functools

from . import _torch
from ._library import address


def mempool_allocator(contiguous: bool = False) -> object:
    """An allocator for torch.cuda.MemPool(): Seam gives the segments (2 MiB, 20 MiB or more) that PyTorch's own allocator cuts up in this pool.

    Seam need not be enabled, and is not by this: torch.cuda.memory_stats(), snapshots and graphs go on to work, as it is PyTorch's allocator that
    serves. What it gives: free memory that is scattered over segments given back is stitched for the next segment. What it does not: what lies
    unused inside a segment is PyTorch's, no plan is used, and expandable segments do not work in it. contiguous: every segment is one physical
    allocation, as registration with NCCL or RDMA needs; then nothing is stitched.
    """
    return _allocator(bool(contiguous))


@functools.cache
def _allocator(contiguous: bool) -> object:
    """One of each kind, kept for good: until PyTorch 2.10 a MemPool has its allocator's address only, and does not keep it."""
    module = _torch.torch()
    alloc = "seam_torch_segment_alloc_contiguous" if contiguous else "seam_torch_segment_alloc"
    return module._C._cuda_customAllocator(address(alloc), address("seam_torch_segment_free"))
