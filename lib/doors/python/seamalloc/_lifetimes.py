"""When memory is taken and given back by operators on PyTorch's meta device, where tensors have shapes and no memory.

A storage that was not seen before is an allocation, and its death (a weak reference) the free, so lifetimes are the program's and autograd's. Views and in-place
operators bring no new storage. Kernels' temporaries are of _kernels.py.

What differs from CUDA and is mended here: under a dispatch mode autograd does not accumulate in place. Where the first operand of a sum inside backward dies before the next
operator, nobody else held it, and autograd (where gradients meet, or in formulas that scatter into zeros) would have written into it but for the mode.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import _kernels

aten = torch.ops.aten

# Out-of-place forms that autograd uses in place of the in-place ones while a dispatch mode is on.
IN_PLACE_ON_CUDA = {aten.add.Tensor, aten.index_put.default, aten.index_add.default, aten.scatter.src, aten.scatter_add.default}


@dataclasses.dataclass(eq=False)
class Block:
    """A live storage, or a temporary. `watch` is the weak reference whose callback is the free."""

    id: int
    size: int
    flags: int = 0
    device: int = 0
    watch: weakref.ref[Any] | None = None


def is_view(operator: Any) -> bool:
    """Whether the operator only gives a tensor another shape: no kernel runs."""
    return any(result.alias_info is not None and not result.alias_info.is_write for result in operator._schema.returns)


class Lifetimes:
    """The storages that live. A subclass writes down what take(), give() and undo() are told; one thread."""

    def __init__(self) -> None:
        self.live: dict[int, Block] = {}  # by the storage
        self.pending: tuple[Block, Block] | None = None  # operand and result of a sum that may turn out to be in place

    def take(self, size: int, leaf: Any = None) -> Block:
        """Memory is asked for: for the tensor `leaf`, or by a kernel."""
        raise NotImplementedError

    def give(self, block: Block) -> None:
        """It is given back."""
        raise NotImplementedError

    def undo(self, made: Block, dead: Block) -> None:
        """The block made last was not asked for: it is the memory of the one that has just died, which goes on."""
        raise NotImplementedError

    def call(self, operator: Any, args: tuple[Any, ...], run: Callable[[], Any], temporaries: _kernels.Temporaries) -> tuple[Any, list[Block]]:
        """An operator runs. Its result, and the blocks that are new."""
        self.pending = None
        before, after = temporaries
        scratch = [self.take(size) for size in before]
        out = run()
        taken = [block for leaf in tree_leaves(out) if (block := self.see(leaf)) is not None]
        scratch += [self.take(size) for size in after]
        for block in reversed(scratch):
            self.give(block)
        self._watch_in_place(operator, args, taken)
        return out, taken

    def see(self, leaf: Any) -> Block | None:
        """The new block, if `leaf` is a tensor with a storage of meta that was not seen before."""
        if not isinstance(leaf, torch.Tensor) or leaf.layout is not torch.strided:
            return None  # the parts of a sparse tensor are tensors that were seen
        storage = leaf.untyped_storage()
        key = storage._cdata
        if storage.device.type != "meta" or key in self.live or not storage.nbytes():
            return None
        block = self.take(storage.nbytes(), leaf)
        block.watch = weakref.ref(storage, lambda _: self._died(key, block))
        self.live[key] = block
        return block

    def _died(self, key: int, block: Block) -> None:
        """A storage's last owner is gone."""
        if self.live.get(key) is not block:
            return
        del self.live[key]
        block.watch = None
        if self.pending is not None and self.pending[0] is block:
            made, self.pending = self.pending[1], None
            self.undo(made, block)
        else:
            self.give(block)

    def _watch_in_place(self, operator: Any, args: tuple[Any, ...], taken: list[Block]) -> None:
        """Remembers a sum that may turn out to be in place. Not so a view: it holds its base, and the engine adds in place only to what has one owner."""
        if operator not in IN_PLACE_ON_CUDA or len(taken) != 1 or torch.is_grad_enabled() or args[0]._is_view():
            return
        if torch._C._current_autograd_node() is None:
            return
        if args[0].layout is not torch.strided:
            return
        operand = self.live.get(args[0].untyped_storage()._cdata)
        if operand is not None and operand.size == taken[0].size:
            self.pending = (operand, taken[0])
