"""Records what a PyTorch program would ask of a CUDA allocator, on a machine without a GPU.

The program runs on PyTorch's meta device: every operator computes shapes and takes no memory, while autograd, modules,
checkpointing and optimizers are PyTorch's own code. A dispatch mode sees each operator; when memory is taken and given
back is of the package, which has the same for `what-if --meta` (seamalloc._lifetimes, seamalloc._kernels).

Not FakeTensorMode with a fake CUDA device: the autograd engine of PyTorch's CUDA build asks the driver for the stream
of every tensor that claims to be on CUDA, and fails where there is none.

What differs from CUDA and stays: see bench/traces/README.md.
"""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from modeltrace import events, kernels
from modeltrace.events import Event
from seamalloc._kernels import temporaries
from seamalloc._lifetimes import Block, Lifetimes, is_view

aten = torch.ops.aten


class Recorder(Lifetimes, TorchDispatchMode):
    """The mode, the trace that it fills, and the marks that only the program knows (phase, micro-batch, step).

    One thread; autograd must run with multithreading off (training.py sees to it), so that the order is reproducible.
    """

    def __init__(self, source: str) -> None:
        Lifetimes.__init__(self)
        TorchDispatchMode.__init__(self)
        self.trace = events.Trace(source)
        self.microbatch = 0
        self._next_id = 1
        self._host_ns = 0
        self._device_ns = 0
        self._phases: list[tuple[str, int]] = []
        self._phase_numbers: dict[str, int] = {}
        self._in_backward = False
        self._workspaces: set[int] = set()
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
        blocks = sorted(self.live.values(), key=lambda block: block.id)
        self.trace.events.clear()
        self._host_ns = self._device_ns = 0
        for block in blocks:
            block.flags |= events.RESIDENT
            self._record(events.ALLOC, id=block.id, size=block.size, flags=block.flags)

    def end(self) -> None:
        """Stops recording frees: what is live now stays live in the trace."""
        for block in self.live.values():
            block.watch = None
        self.live.clear()

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

    def take(self, size: int, leaf: Any = None) -> Block:
        """An allocation, whose size may depend on data."""
        dynamic = leaf is not None and self._modules.dynamic() and tuple(leaf.shape) not in self._static_shapes
        flags = events.DYNAMIC if dynamic else 0
        block = Block(self._next_id, size, flags)
        self._next_id += 1
        self._record(events.ALLOC, id=block.id, size=size, flags=flags)
        return block

    def give(self, block: Block) -> None:
        """A free."""
        self._record(events.FREE, id=block.id, size=block.size, flags=block.flags & events.DYNAMIC)

    def undo(self, made: Block, dead: Block) -> None:
        """The result takes over the operand's block."""
        index = len(self.trace.events) - 1
        while (self.trace.events[index].kind, self.trace.events[index].id) != (events.ALLOC, made.id):
            index -= 1
        del self.trace.events[index]
        made.id, made.flags = dead.id, dead.flags

    # Operators

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "prim":
            return func(*args, **kwargs)
        if func is aten._local_scalar_dense.default and args[0].is_meta:
            return self._read_scalar(args[0])
        view = is_view(func)
        self._host_ns += kernels.VIEW_NS if view else kernels.HOST_NS

        def run() -> Any:
            if func.overloadpacket in kernels.MATRIX_PRODUCTS:
                self._workspace()
            return func(*args, **kwargs)

        out, taken = self.call(func, args, run, temporaries(func, args))
        if taken or not view:
            self._device_ns = max(self._device_ns, self._host_ns) + kernels.device_ns(func, args, kwargs, out)
        return out

    def _workspace(self) -> None:
        """cuBLAS has a handle, and PyTorch a workspace, for each thread that multiplies; it is never given back."""
        thread = 1 if self._in_backward else 0
        if thread not in self._workspaces:
            self._workspaces.add(thread)
            self.take(kernels.CUBLAS_WORKSPACE_BYTES)

    def _read_scalar(self, tensor: torch.Tensor) -> float | int:
        """.item(): the host waits for the device. There is no value; 1 offends no formula of a training loop."""
        self._host_ns = max(self._host_ns, self._device_ns)
        self._record(events.STREAM_SYNC)
        return 1.0 if tensor.is_floating_point() else 1


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
