"""Records what a PyTorch program would ask of a CUDA allocator, on a machine without a GPU.

The program runs on PyTorch's meta device: every operator computes shapes and takes no memory, while autograd, modules,
checkpointing and optimizers are PyTorch's own code. A dispatch mode sees each operator; a storage that it has not
seen is an allocation, and the storage's death (a weak reference) is the free, so lifetimes are the program's and
autograd's. Views and in-place operators bring no new storage and record nothing.

Not FakeTensorMode with a fake CUDA device: the autograd engine of PyTorch's CUDA build asks the driver for the stream
of every tensor that claims to be on CUDA, and fails where there is none.

What differs from CUDA and is mended here: under a dispatch mode autograd does not accumulate in place (see
Recorder._alias) and kernels take no temporaries (kernels.py). What differs and stays: see bench/traces/README.md.
"""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from modeltrace import events, kernels
from modeltrace.events import Event

aten = torch.ops.aten

# Out-of-place forms that autograd uses in place of the in-place ones while a dispatch mode is on.
IN_PLACE_ON_CUDA = {
    aten.add.Tensor, aten.index_put.default, aten.index_add.default, aten.scatter.src, aten.scatter_add.default
}  # fmt: skip


@dataclasses.dataclass
class Block:
    """A live storage. `watch` is the weak reference whose callback records the free."""

    id: int
    size: int
    flags: int
    watch: weakref.ref[Any] | None = None


class Recorder(TorchDispatchMode):
    """The mode, the trace that it fills, and the marks that only the program knows (phase, micro-batch, step).

    One thread; autograd must run with multithreading off (training.py sees to it), so that the order is reproducible.
    """

    def __init__(self, source: str) -> None:
        super().__init__()
        self.trace = events.Trace(source)
        self.microbatch = 0
        self._live: dict[int, Block] = {}
        self._next_id = 1
        self._host_ns = 0
        self._device_ns = 0
        self._phases: list[tuple[str, int]] = []
        self._phase_numbers: dict[str, int] = {}
        self._in_backward = False
        self._workspaces: set[int] = set()
        self._pending: tuple[Block, Block] | None = None  # operand and result of a sum
        self._modules = ModuleTracker(self.trace)
        self._static_shapes: set[tuple[int, ...]] = set()

    # Marks

    def watch_model(self, model: torch.nn.Module) -> None:
        """Names the modules of `model` in events from here on."""
        self._modules.attach(model)
        self._static_shapes = {tuple(p.shape) for p in model.parameters()} | {
            tuple(p.shape)[::-1] for p in model.parameters()
        }

    def begin(self) -> None:
        """Forgets what happened so far, except that blocks still live become the residents that open the trace."""
        blocks = sorted(self._live.values(), key=lambda block: block.id)
        self.trace.events.clear()
        self._host_ns = self._device_ns = 0
        for block in blocks:
            block.flags |= events.RESIDENT
            self._record(events.ALLOC, id=block.id, size=block.size, flags=block.flags)

    def end(self) -> None:
        """Stops recording frees: what is live now stays live in the trace."""
        for block in self._live.values():
            block.watch = None
        self._live.clear()

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Marks a phase; in the one called backward, events belong to autograd's thread."""
        number = self._phase_numbers.setdefault(name, len(self._phase_numbers) + 1)
        text = self.trace.intern(name)
        self._phases.append((name, number))
        self._record(events.PHASE_BEGIN, aux=text)
        self._in_backward = name == "backward"
        try:
            yield
        finally:
            self._in_backward = False
            self._record(events.PHASE_END, aux=text)
            self._phases.pop()

    def step(self, number: int) -> None:
        """Marks the end of iteration `number`."""
        self._modules.forget()
        self._record(events.STEP, id=number)

    # Events

    def _record(self, kind: int, *, id: int = 0, size: int = 0, flags: int = 0, aux: int = 0) -> None:
        phase = self._phases[-1][1] if self._phases else 0
        thread = 1 if self._in_backward else 0
        module = self._modules.current() if kind in (events.ALLOC, events.FREE) else 0
        self.trace.events.append(
            Event(kind, flags, phase, module, id, size, 0, self._host_ns, thread, self.microbatch, 0, aux)
        )

    def _take(self, size: int, flags: int = 0) -> Block:
        block = Block(self._next_id, size, flags)
        self._next_id += 1
        self._record(events.ALLOC, id=block.id, size=size, flags=flags)
        return block

    def _give(self, block: Block) -> None:
        self._record(events.FREE, id=block.id, size=block.size, flags=block.flags & events.DYNAMIC)

    def _died(self, key: int, block: Block) -> None:
        """A storage's last owner is gone."""
        if self._live.get(key) is not block:
            return
        del self._live[key]
        block.watch = None
        if not self._alias(block):
            self._give(block)

    def _alias(self, dead: Block) -> bool:
        """Undoes an allocation that CUDA would not have made.

        Where the first operand of a sum inside backward dies before the next operator, nobody else held it, and
        autograd (where gradients meet, or in formulas that scatter into zeros) would have written into it but for our
        dispatch mode. The result takes over the operand's block.
        """
        if self._pending is None or self._pending[0] is not dead:
            return False
        result = self._pending[1]
        self._pending = None
        index = len(self.trace.events) - 1
        while (self.trace.events[index].kind, self.trace.events[index].id) != (events.ALLOC, result.id):
            index -= 1
        del self.trace.events[index]
        result.id, result.flags = dead.id, dead.flags
        return True

    # Operators

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "prim":
            return func(*args, **kwargs)
        if func is aten._local_scalar_dense.default and args[0].is_meta:
            return self._read_scalar(args[0])
        self._pending = None
        view = _is_view(func)
        self._host_ns += kernels.VIEW_NS if view else kernels.HOST_NS
        before, after = kernels.temporaries(func, args)
        scratch = [self._take(size) for size in before]
        if func.overloadpacket in kernels.MATRIX_PRODUCTS:
            self._workspace()
        out = func(*args, **kwargs)
        taken = [block for leaf in tree_leaves(out) if (block := self._see(leaf)) is not None]
        scratch += [self._take(size) for size in after]
        for block in reversed(scratch):
            self._give(block)
        if taken or not view:
            self._device_ns = max(self._device_ns, self._host_ns) + kernels.device_ns(func, args, kwargs, out)
        self._watch_in_place(func, args, taken)
        return out

    def _see(self, leaf: Any) -> Block | None:
        """The new block, if `leaf` is a tensor on the device with a storage not seen before."""
        if not isinstance(leaf, torch.Tensor) or not leaf.is_meta:
            return None
        storage = leaf.untyped_storage()
        key = storage._cdata
        if key in self._live or not storage.nbytes():
            return None
        dynamic = self._modules.dynamic() and tuple(leaf.shape) not in self._static_shapes
        block = self._take(storage.nbytes(), events.DYNAMIC if dynamic else 0)
        block.watch = weakref.ref(storage, lambda _: self._died(key, block))
        self._live[key] = block
        return block

    def _watch_in_place(self, func: Any, args: tuple[Any, ...], taken: list[Block]) -> None:
        """Remembers a sum that may turn out to be in place: see _alias(). Not so a view: it holds its base, and the
        engine adds in place only to what has one owner."""
        if func not in IN_PLACE_ON_CUDA or len(taken) != 1 or torch.is_grad_enabled() or args[0]._is_view():
            return
        if torch._C._current_autograd_node() is None:
            return
        operand = self._live.get(args[0].untyped_storage()._cdata)
        if operand is not None and operand.size == taken[0].size:
            self._pending = (operand, taken[0])

    def _workspace(self) -> None:
        """cuBLAS has a handle, and PyTorch a workspace, for each thread that multiplies; it is never given back."""
        thread = 1 if self._in_backward else 0
        if thread not in self._workspaces:
            self._workspaces.add(thread)
            self._take(kernels.CUBLAS_WORKSPACE_BYTES)

    def _read_scalar(self, tensor: torch.Tensor) -> float | int:
        """.item(): the host waits for the device. There is no value; 1 offends no formula of a training loop."""
        self._host_ns = max(self._host_ns, self._device_ns)
        self._record(events.STREAM_SYNC)
        return 1.0 if tensor.is_floating_point() else 1


def _is_view(func: Any) -> bool:
    """Whether the operator only gives a tensor another shape: no kernel runs."""
    return any(result.alias_info is not None and not result.alias_info.is_write for result in func._schema.returns)


class ModuleTracker:
    """Knows the module that is at work, in forward by hooks and in backward by autograd's sequence numbers.

    Every autograd node carries the number that the thread's counter had when forward made it. The tracker notes the
    counter whenever the innermost module changes, and so finds the module of a node by a search. (Backward hooks of
    modules would do without, but they change what autograd keeps.)
    """

    def __init__(self, trace: events.Trace) -> None:
        self._trace = trace
        self._names: dict[torch.nn.Module, tuple[int, bool]] = {}
        self._stack: list[tuple[int, bool]] = [(0, False)]
        self._starts: list[int] = []
        self._entered: list[tuple[int, bool]] = []
        self._last = (0, False)

    def attach(self, model: torch.nn.Module) -> None:
        """Follows the modules of `model`. A module whose class sets `dynamic_sizes` makes its own and its children's
        sizes depend on data."""
        dynamic_roots = [name for name, module in model.named_modules() if getattr(module, "dynamic_sizes", False)]
        for name, module in model.named_modules():
            dynamic = any(name == root or name.startswith(root + ".") for root in dynamic_roots)
            self._names[module] = (self._trace.intern(name), dynamic)
        torch.nn.modules.module.register_module_forward_pre_hook(self._enter)
        # always_call: checkpointing leaves modules by an exception when it has recomputed enough.
        torch.nn.modules.module.register_module_forward_hook(self._leave, always_call=True)

    def forget(self) -> None:
        """Drops the notes of forwards whose backwards are over. Called outside of any module."""
        assert len(self._stack) == 1, "a module was left without its hook"
        self._starts.clear()
        self._entered.clear()
        self._last = (0, False)

    def _note(self) -> None:
        self._starts.append(torch.autograd._get_sequence_nr())
        self._entered.append(self._stack[-1])

    def _enter(self, module: torch.nn.Module, _args: Any) -> None:
        self._stack.append(self._names.get(module, self._stack[-1]))
        self._note()

    def _leave(self, _module: torch.nn.Module, _args: Any, _output: Any) -> None:
        self._stack.pop()
        self._note()

    def _find(self) -> tuple[int, bool]:
        if len(self._stack) > 1:
            return self._stack[-1]
        node = torch._C._current_autograd_node()
        if node is None:
            return self._stack[-1]
        number = node._sequence_nr()
        if self._starts and number <= torch.autograd._get_sequence_nr():
            index = bisect.bisect_right(self._starts, number) - 1
            self._last = self._entered[index] if index >= 0 else (0, False)
        return self._last  # a leaf's node has no number: it runs behind the node that fed it

    def current(self) -> int:
        """The string offset of the innermost module's name, 0 for none."""
        return self._find()[0]

    def dynamic(self) -> bool:
        """Whether the sizes in this module depend on data."""
        return self._find()[1]
