"""Where the modules of a model begin and end in a program's history: at their forward passes, and at their backward passes.

Borders are moments: so many requests had been made, so many frees, and this is handed over: tensors, and objects that are none but may hold some. The backward pass of
a block begins at the node of the graph that made its result, and ends at the one that made its argument. A forward pass within a backward pass, a recomputation, is no
border. Modules that are compiled have none: hooks would change what is compiled.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import gc
import itertools
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

FORWARD, BEHIND_FORWARD, BACKWARD, BEHIND_BACKWARD = range(4)  # what begins at a border
# Nothing begins: a gradient is handed over; an object that was is no more; a block saves a tensor for its backward pass; a copy to or from the host begins, or ends.
GIVEN, DIED, SAVED, COPYING = 4, 5, 6, 7
OTHER = -1  # a module that is no block
MOST_HELD = 1 << 12  # parts of an object that is handed over that are looked at. A cache of keys and values has some ten a layer; a vocabulary of 10^6 words took 4 s each time
PLAIN = (str, bytes, int, float, complex, range, slice, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type(None), type(Ellipsis))


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


def objects(value: Any) -> Iterator[Any]:
    """Those in arguments that are no tensors and may hold some: all but modules, tuples, and what cannot."""
    import torch

    if isinstance(value, tuple):
        for part in value:
            yield from objects(part)
    elif not isinstance(value, (*PLAIN, torch.Tensor, torch.nn.Module)):
        yield value


def held(thing: Any) -> Iterator[Any]:
    """The tensors that an object holds, itself or by what it holds, the nearest first; what has more parts than are looked at is passed over."""
    import torch

    found, waiting, left = {id(thing)}, collections.deque([thing]), MOST_HELD
    while waiting:
        parts = gc.get_referents(waiting.popleft())
        if len(parts) > left:
            continue
        left -= len(parts)
        for one in parts:
            if isinstance(one, torch.Tensor):
                yield one
            elif id(one) not in found and not isinstance(one, (*PLAIN, torch.nn.Module)):
                found.add(id(one))
                waiting.append(one)


def nodes(value: Any) -> list[Any]:
    """The nodes of the graph that made the tensors in arguments or results, the newest first."""
    found = {tensor.grad_fn for tensor in tensors(value)} - {None}
    return sorted(found, key=lambda node: -node._sequence_nr())


def address(tensor: Any) -> int:
    """Of the memory of a tensor on a GPU, of this rank's part where it is distributed; 0: it has none."""
    import torch

    tensor = getattr(tensor, "_local_tensor", tensor)
    try:
        if not isinstance(tensor, torch.Tensor) or not tensor.is_cuda or not tensor.numel():
            return 0
        # Not untyped_storage(): autograd adds to a copy of a gradient whose storage has a Python object, where it would add in place.
        return int(tensor.data_ptr() - tensor.storage_offset() * tensor.element_size())
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
        # The moment, what begins, the block's number or OTHER, and what is handed over: addresses of tensors, then objects' numbers, negative, each with the addresses that it holds.
        self.found: list[tuple[list[tuple[int, int]], int, int, list[int]]] = []
        self.inside = OTHER  # the block whose pass it is
        self.numbers: dict[int, int] = {}  # of objects that live, by their identity
        self.deaths: dict[int, weakref.ref[Any]] = {}  # of these objects, of which Python tells it: not of lists and dictionaries
        self.new = itertools.count(1)

    def mark(self, what: int, block: int, handed: list[int] | None = None) -> None:
        """Something begins now."""
        if what in (FORWARD, BACKWARD):
            self.inside = block if block != OTHER else self.inside
        elif what in (BEHIND_FORWARD, BEHIND_BACKWARD) and block == self.inside:
            self.inside = OTHER
        self.found.append((self.count(), what, block, handed or []))

    def save(self, tensor: Any) -> None:
        """The block whose pass it is saves a tensor for its backward pass."""
        if at := address(tensor):
            self.mark(SAVED, self.inside, [at])

    @contextlib.contextmanager
    def copying(self) -> Iterator[None]:
        """What is asked for in here is for a copy to or from the host."""
        self.mark(COPYING, self.inside)
        yield
        self.mark(COPYING, self.inside)

    def watch(self, model: Any, blocks: list[Any], first: int) -> None:
        """Marks the borders of all modules of a model from here on; its blocks are numbered from `first` on."""
        import torch

        if is_compiled(model):
            return
        numbers = {id(block): number for number, block in enumerate(blocks, first)}
        for module in model.modules():
            if not isinstance(module, torch.jit.ScriptModule):
                self._watch(module, numbers.get(id(module), OTHER))
        for parameter in model.parameters():
            if parameter.requires_grad and parameter.is_leaf:
                parameter.register_post_accumulate_grad_hook(lambda parameter: self.mark(BEHIND_BACKWARD, OTHER))

    def _watch(self, module: Any, block: int) -> None:
        import torch

        def is_no_border() -> bool:
            return torch.compiler.is_compiling() or torch._C._current_graph_task_id() != -1

        def before(module: Any, args: Any, kwargs: Any) -> None:
            if is_no_border():
                return
            given = (*args, *kwargs.values())
            self.mark(FORWARD, block, addresses(given) + self._of_objects(given) if block != OTHER else [])
            for node in nodes(given)[:1] if block != OTHER else ():
                node.register_prehook(lambda gradients: self.mark(BEHIND_BACKWARD, block))

        def behind(module: Any, args: Any, kwargs: Any, result: Any) -> None:
            if is_no_border():
                return
            given = (*args, *kwargs.values())
            self.mark(BEHIND_FORWARD, block, self._of_objects(given) if block != OTHER else [])
            is_last = not nodes(given)
            for number, node in enumerate(nodes(result) if block != OTHER else ()):
                node.register_prehook(lambda gradients, what=GIVEN if number else BACKWARD: self._enter(what, block, gradients, is_last))

        module.register_forward_pre_hook(before, with_kwargs=True)
        module.register_forward_hook(behind, with_kwargs=True)

    def _enter(self, what: int, block: int, gradients: Any, is_last: bool) -> None:
        """A backward pass comes to a block. The last one, whose arguments need no gradients, it never leaves before its end."""
        import torch

        self.mark(what, block, addresses(gradients))
        if is_last:
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self.mark(BEHIND_BACKWARD, block))

    def _of_objects(self, given: Any) -> list[int]:
        """Of each object in the arguments: its number, negative, and the addresses that it holds."""
        found = []
        for thing in objects(given):
            number = self.numbers.get(id(thing)) or self.numbers.setdefault(id(thing), next(self.new))
            if number not in self.deaths and type(thing).__weakrefoffset__:
                self.deaths[number] = weakref.ref(thing, lambda _, number=number, at=id(thing): self._died(number, at))
            found += [-number, *(at for tensor in held(thing) if (at := address(tensor)))]
        return found

    def _died(self, number: int, at: int) -> None:
        del self.numbers[at], self.deaths[number]
        self.mark(DIED, OTHER, [-number])
