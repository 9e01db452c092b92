"""How long operators take, and the workspace that products keep. Temporaries are of the package (seamalloc._kernels).

Times are estimates for a GPU of the H100 class: what they are good for is the ratio of host work to device work.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

aten = torch.ops.aten

# PyTorch takes it from the caching allocator at the first matrix product of a thread, and keeps it (not Hopper's 32
# MiB).
CUBLAS_WORKSPACE_BYTES = 4096 * 1024 * 2 + 16 * 1024 * 8
MATRIX_PRODUCTS = {aten.mm, aten.addmm, aten.bmm, aten.baddbmm}

HOST_NS = 6_000  # an eager operator on the host: dispatch, allocation and launch
VIEW_NS = 1_500  # one that launches nothing
KERNEL_NS = 2_500  # the shortest kernel
DEVICE_BYTES_PER_NS = 2_500.0
DEVICE_FLOPS_PER_NS = 400_000.0


def device_ns(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> int:
    """Estimated time on the device: arithmetic or memory traffic, whichever is longer."""
    tensors = [leaf for leaf in tree_leaves((args, kwargs, out)) if isinstance(leaf, torch.Tensor)]
    moved = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    counter = flop_registry.get(func.overloadpacket)
    flops = counter(*args, **kwargs, out_val=out) if counter else 0
    return max(KERNEL_NS, int(moved / DEVICE_BYTES_PER_NS), int(flops / DEVICE_FLOPS_PER_NS))
