"""Memory that CUDA kernels take inside an operator and give back with it, by rule: temporaries, and the workspaces of cuBLAS.

Rules are there for what is large and follows from the arguments. Left out: scratch of scans, top-k and argsort; partial sums of norm kernels; the split accumulators of
flash attention's forward for few heads; cuDNN's workspaces; everything of NCCL. Held to a recording from a GPU by tests/tools/test_recorded.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

aten = torch.ops.aten

Temporaries = tuple[list[int], list[int]]  # taken before the outputs, and behind them; all end with the operator


@dataclass(frozen=True)
class Gpu:
    """What sizes depend on."""

    multiprocessors: int = 132
    threads: int = 2048  # of a multiprocessor


H100 = Gpu()


def _round_up(value: int, multiple: int) -> int:
    return math.ceil(value / multiple) * multiple


def _sort_bytes(count: int) -> int:
    """Scratch of a radix sort of pairs of 64-bit numbers: a second copy of both and histograms (their size as recorded)."""
    return 16 * count + 7679


def _flash_backward(_gpu: Gpu, _grad: torch.Tensor, query: torch.Tensor, key: torch.Tensor, *_: Any) -> Temporaries:
    """The row sums of dO*O, dQ accumulated in fp32, and dK, dV for every query head where key heads are shared."""
    batch, heads, queries, width = query.shape
    rows = _round_up(queries, 128)
    columns = _round_up(width, 32 if width <= 128 else 64)
    after = [4 * batch * heads * rows, 4 * batch * rows * heads * columns]
    if key.shape[1] != heads:
        expanded = batch * key.shape[2] * heads * width * query.element_size()
        after += [expanded, expanded]
    return [], after


def _embedding_backward(_gpu: Gpu, grad: torch.Tensor, indices: torch.Tensor, num_weights: int, *_: Any) -> Temporaries:
    """Sorted indices, segments of equal ones, and an fp32 partial sum for each segment of at most ten rows."""
    count = indices.numel()
    if count <= 3072:
        return [], []  # a kernel without a sort
    segments = min(count, num_weights)
    partials = count // 10 + segments
    return [8 * count, 8 * count, _sort_bytes(count)], [8 * count, 8, 8 * segments, 8 * segments, 8, 8 * partials, 4 * partials * grad.shape[-1]]


def _index_put(_gpu: Gpu, _self: Any, indices: list[Any], _values: Any, accumulate: bool = False, *_: Any) -> Temporaries:
    """An accumulating index_put sorts its indices to be deterministic: linear ones, their order, and both sorted."""
    count = max((index.numel() for index in indices if index is not None), default=0)
    return ([8 * count] * 4 + [_sort_bytes(count)], []) if accumulate and count else ([], [])


def _sum(gpu: Gpu, input: torch.Tensor, dims: list[int], *_: Any) -> Temporaries:
    """A sum over leading dimensions, such as a bias's gradient, with its staging buffer and semaphores.

    PyTorch's reduction gives every thread up to four neighbouring outputs and the block's rows parts of the inputs. Where a thread would still have 256 inputs, several
    blocks share an output through global memory, and the buffer has a slot for each output, block and lane: far more than is used, but this is what it asks for.
    """
    kept = input.shape[len(dims) :]
    leading = sorted(dim % max(input.dim(), 1) for dim in dims) == list(range(len(dims)))
    if not leading or not kept or not input.is_contiguous() or not input.is_floating_point():
        return [], []
    outputs, inputs = math.prod(kept), math.prod(input.shape[: len(dims)])
    vector = math.gcd(kept[-1], 4)
    limit = 512 // vector
    columns, rows = _power_below(outputs // vector, limit), _power_below(inputs, limit)
    height = min(rows, limit // min(columns, 32))
    width = min(columns, limit // height)
    per_thread, grid = math.ceil(inputs / height), math.ceil(outputs / vector / width)
    target = gpu.multiprocessors * (gpu.threads // (width * height))
    if per_thread < 256 or grid > target:
        return [], []
    sharing = max(min(math.ceil(target / grid), math.ceil(per_thread / 16)), math.ceil(per_thread / 256))
    return ([], [4 * outputs * sharing * width * vector, 4 * grid]) if sharing > 1 else ([], [])


def _loss(_gpu: Gpu, input: torch.Tensor, target: torch.Tensor, reduction: int = 1, *_: Any) -> Temporaries:
    """The loss of each element, before its mean or sum."""
    return [], [max(input.numel(), target.numel()) * input.element_size()] if reduction else []


def _power_below(value: int, limit: int) -> int:
    """The greatest power of two that is neither above the value nor above the limit."""
    return min(1 << max(value.bit_length() - 1, 0), limit)


TEMPORARIES: dict[Any, Callable[..., Temporaries]] = {
    aten._scaled_dot_product_flash_attention_backward: _flash_backward,
    aten.embedding_dense_backward: _embedding_backward,
    aten.index_put: _index_put,
    aten.index_put_: _index_put,
    aten.mse_loss: _loss,
    aten.smooth_l1_loss: _loss,
    aten.sum: _sum,
    aten.mean: _sum,
}


def temporaries(operator: Any, args: tuple[Any, ...], gpu: Gpu = H100) -> Temporaries:
    """Bytes that the CUDA kernel of this call takes and gives back, zero sizes left out."""
    rule = TEMPORARIES.get(operator.overloadpacket)
    before, after = rule(gpu, *args) if rule and len(args) > 1 else ([], [])
    return [size for size in before if size], [size for size in after if size]
