"""Where the modules of a model begin and end in a program's history: at their forward passes, and at their backward passes.

Borders are moments: so many requests had been made, so many frees, and these tensors are handed over: arguments, gradients of results. A backward pass of a module begins when the gradient of its output is there and
ends when that of its input is: hooks on nodes of the graph, which keep nothing and change no tensor (hooks of modules on backward passes would). A
forward pass within a backward pass, a recomputation, is no border. Modules that are compiled have none: hooks would change what is compiled.
"""

from __future__ import annotations

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


def first_node(value: Any) -> Any:
    """The node of the graph that made the first tensor of arguments or results; None, if none did."""
    return next((tensor.grad_fn for tensor in tensors(value) if tensor.grad_fn is not None), None)


def addresses(value: Any) -> list[int]:
    """Of the memory of tensors on the GPU."""
    return [tensor.untyped_storage().data_ptr() for tensor in tensors(value) if tensor.is_cuda]


def is_compiled(model: Any) -> bool:
    """Whether torch.compile has the model, or a part of it."""
    return any(getattr(module, "_compiled_call_impl", None) is not None or "_orig_mod" in module._modules for module in model.modules())


class Borders:
    """The borders so far. `count` tells requests and frees."""

    def __init__(self, count: Callable[[], tuple[int, int]]) -> None:
        self.count = count
        self.found: list[tuple[int, int, int, int, list[int]]] = []  # requests, frees, what begins, the block's number or OTHER, addresses of what is handed over

    def mark(self, what: int, block: int, handed: Any = ()) -> None:
        self.found.append((*self.count(), what, block, addresses(handed) if block != OTHER else []))

    def watch(self, model: Any, blocks: list[Any]) -> None:
        """Marks the borders of all modules of a model from here on."""
        import torch

        if is_compiled(model):
            return
        numbers = {id(block): number for number, block in enumerate(blocks)}
        for module in model.modules():
            if not isinstance(module, torch.jit.ScriptModule):
                self._watch(module, numbers.get(id(module), OTHER))

    def _watch(self, module: Any, block: int) -> None:
        import torch

        def recomputed() -> bool:
            return bool(torch._C._current_graph_task_id() != -1)

        def before(module: Any, args: Any, kwargs: Any) -> None:
            if torch.compiler.is_compiling() or recomputed():
                return
            self.mark(FORWARD, block, (args, kwargs))
            self._at(first_node((args, kwargs)), BEHIND_BACKWARD, block)

        def behind(module: Any, args: Any, result: Any) -> None:
            if torch.compiler.is_compiling() or recomputed():
                return
            self.mark(BEHIND_FORWARD, block)
            self._at(first_node(result), BACKWARD, block)

        module.register_forward_pre_hook(before, with_kwargs=True)
        module.register_forward_hook(behind)

    def _at(self, node: Any, what: int, block: int) -> None:
        if node is not None:
            node.register_prehook(lambda gradients: self.mark(what, block, gradients if what == BACKWARD else ()))
