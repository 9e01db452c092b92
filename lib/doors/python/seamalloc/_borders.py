"""Where the modules of a model begin and end in a program's history: at their forward passes, and at their backward passes.

Borders are moments: so many requests had been made, so many frees, and these tensors are handed over: arguments. A backward pass of a block begins where the last
gradient of the parameters behind it was there: hooks on parameters see that, and no gradient. (Hooks that are given gradients make autograd add to a copy
where it would add in place.) A forward pass within a backward pass, a recomputation, is no border. Modules that are compiled have none: hooks would change
what is compiled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

FORWARD, BEHIND_FORWARD, BACKWARD, BEHIND_BACKWARD = range(4)  # what begins at a border
OTHER = -1  # a module that is no block


def tensors(value: Any) -> Iterator[Any]:
    """Those in arguments or results."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors(part)
    elif isinstance(value, dict):
        yield from tensors(tuple(value.values()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from tensors(tuple(getattr(value, part.name, None) for part in dataclasses.fields(value)))


def first_node(value: Any) -> Any:
    """The node of the graph that made the first tensor of arguments or results; None, if none did."""
    return next((tensor.grad_fn for tensor in tensors(value) if tensor.grad_fn is not None), None)


def address(tensor: Any) -> int:
    """Of the memory of a tensor on a GPU, of this rank's part where it is distributed; 0: it has none."""
    import torch

    tensor = getattr(tensor, "_local_tensor", tensor)
    try:
        return tensor.untyped_storage().data_ptr() if isinstance(tensor, torch.Tensor) and tensor.is_cuda else 0
    except (RuntimeError, NotImplementedError):  # of a subclass without a storage
        return 0


def addresses(value: Any) -> list[int]:
    """Of the tensors on the GPU in arguments or results."""
    return [at for tensor in tensors(value) if (at := address(tensor))]


def is_compiled(model: Any) -> bool:
    """Whether torch.compile has the model, or a part of it."""
    return any(getattr(module, "_compiled_call_impl", None) is not None or "_orig_mod" in module._modules for module in model.modules())


class Borders:
    """The borders so far. `count` tells requests and frees, of each device."""

    def __init__(self, count: Callable[[], list[tuple[int, int]]]) -> None:
        self.count = count
        self.found: list[tuple[list[tuple[int, int]], int, int, list[int]]] = []  # the moment, what begins, the block's number or OTHER, addresses of what is handed over
        self.latest: list[tuple[int, int]] = []  # the moment of the last border, or of the last gradient
        self.backward = OTHER  # the block whose gradients come
        self.counting = False  # memory is of no interest any more: hooks are given gradients
        self.inside = OTHER  # then: the block whose pass it is

    def mark(self, what: int, block: int, handed: Any = ()) -> None:
        """Something begins now."""
        self.latest = self.count()
        self.backward = OTHER
        self.found.append((self.latest, what, block, addresses(handed) if block != OTHER else []))

    def gradient(self, block: int) -> None:
        """The gradient of a parameter is there. If it is another block's than the last one, its backward pass began there."""
        if block != self.backward:
            began = (BACKWARD, block) if block != OTHER else (BEHIND_BACKWARD, self.backward)
            self.found.append((self.latest, *began, []))
            self.backward = block
        self.latest = self.count()
        self.found.append((self.latest, BEHIND_BACKWARD, OTHER, []))

    def watch(self, model: Any, blocks: list[Any]) -> None:
        """Marks the borders of all modules of a model from here on."""
        import torch

        if is_compiled(model):
            return
        self.latest = self.count()
        numbers = {id(block): number for number, block in enumerate(blocks)}
        owners = {id(parameter): number for number, block in enumerate(blocks) for parameter in block.parameters()}
        for module in model.modules():
            if not isinstance(module, torch.jit.ScriptModule):
                self._watch(module, numbers.get(id(module), OTHER))
        for parameter in model.parameters():
            if parameter.requires_grad and parameter.is_leaf:
                block = owners.get(id(parameter), OTHER)
                parameter.register_post_accumulate_grad_hook(lambda parameter, block=block: self.gradient(block))

    def _watch(self, module: Any, block: int) -> None:
        import torch

        def is_no_border() -> bool:
            return torch.compiler.is_compiling() or torch._C._current_graph_task_id() != -1

        def before(module: Any, args: Any, kwargs: Any) -> None:
            if is_no_border():
                return
            self.mark(FORWARD, block, (args, kwargs))
            if self.counting and block != OTHER:
                self.inside = block
                self._passes(first_node((args, kwargs)), block, OTHER)

        def behind(module: Any, args: Any, result: Any) -> None:
            if is_no_border():
                return
            self.mark(BEHIND_FORWARD, block)
            if self.counting and block != OTHER:
                self.inside = OTHER
                self._passes(first_node(result), OTHER, block)

        module.register_forward_pre_hook(before, with_kwargs=True)
        module.register_forward_hook(behind)

    def _passes(self, node: Any, before: int, block: int) -> None:
        """The backward pass leaves one block for another at the node; it may have come there by the hook of the one before it."""

        def pass_over(gradients: Any) -> None:
            if block != OTHER or self.inside == before:
                self.inside = block

        if node is not None:
            node.register_prehook(pass_over)
