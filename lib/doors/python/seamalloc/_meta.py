"""Tensors of a GPU that is not there, on PyTorch's meta device: unmodified programs run with them, and what they ask a GPU's memory for is written down.

A tensor that a program makes on, or moves to, "cuda" is one of meta that says to Python that it is on that GPU: PyTorch's own code in Python (optimizers, modules) takes
the ways that it takes on CUDA. Its code in C++ sees meta; where it takes another way there, CUDA's is said again here (attention, dropout; autocast: _meta_autocast.py; recurrent layers: _meta_recurrent.py). A dispatch mode sees each operator; meta's kernels compute shapes. When memory is taken and given back: _lifetimes.py, _kernels.py. What a program asks
torch.cuda for: _meta_gpu.py. Works with every PyTorch, built for CUDA or not. Tensors of the processor are computed as ever.

Not seen is what kernels take for which there is no rule. Values are not computed: a number that is read is 0, and nothing is found.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from . import _ghost_known, _kernels, _meta_recurrent
from ._lifetimes import Block, Lifetimes, is_view

aten = torch.ops.aten
META = torch.device("meta")
PACKAGE = str(Path(__file__).resolve().parent) + os.sep
TORCH = str(Path(torch.__file__).resolve().parent) + os.sep
ALIGNED = 512  # bytes; PyTorch's allocator gives no smaller pieces
FIRST_ADDRESS = 1 << 40
ZEROED_BYTES = 1 << 20  # results on the processor that are larger are not filled: nobody branches on those
BACKWARD = "_engine_run_backward"  # the function below whose frames autograd's own thread would have none


class GpuTensor(torch.Tensor):
    """A tensor of meta that is on a GPU, by all that it says."""

    gpu: torch.device

    # So for Python; for PyTorch's part in C++ it is on meta, for which autograd asks no driver.
    device = property(lambda self: META if _meta.in_kernel else self.gpu)  # type: ignore[assignment]
    is_cuda = property(lambda self: not _meta.in_kernel)  # type: ignore[assignment]
    is_meta = property(lambda self: _meta.in_kernel)  # type: ignore[assignment]

    def get_device(self) -> int:
        return int(self.gpu.index)

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        return _meta.run(operator, args, kwargs or {})

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = self.detach().clone().requires_grad_(self.requires_grad)
        made.__dict__.update({name: value for name, value in self.__dict__.items() if name == "_is_param"})
        memo[id(self)] = made
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"tensor(..., device='{self.gpu}', size={tuple(self.shape)}, dtype={self.dtype})"


def on_gpu(tensor: torch.Tensor, gpu: torch.device) -> GpuTensor:
    """A tensor of meta, as one of the GPU."""
    made = torch.Tensor._make_subclass(GpuTensor, tensor, False, device_for_backend_keys=gpu)  # type: ignore[attr-defined]
    made.gpu = gpu
    return made  # type: ignore[no-any-return]


class History(Lifetimes):
    """What the GPUs' memory was asked for, as PyTorch's own history of its allocator has it."""

    def __init__(self, devices: int) -> None:
        super().__init__()
        self.entries: list[list[dict[str, Any]]] = [[] for _ in range(devices)]
        self.requests, self.frees, self.asked, self.held, self.most = ([0] * devices for _ in range(5))
        self.device = 0  # of the operator that runs
        self.next = FIRST_ADDRESS

    def take(self, size: int, leaf: Any = None) -> Block:
        block = Block(self.next, size, device=self.device)
        self.next += -(-size // ALIGNED) * ALIGNED
        self._write("alloc", block)
        self.requests[block.device] += 1
        self.asked[block.device] += size
        self.held[block.device] += size
        self.most[block.device] = max(self.most[block.device], self.held[block.device])
        return block

    def give(self, block: Block) -> None:
        self._write("free_requested", block)
        self._write("free_completed", block)
        self.frees[block.device] += 1
        self.held[block.device] -= block.size

    def undo(self, made: Block, dead: Block) -> None:
        entries = self.entries[made.device]
        index = next(index for index in reversed(range(len(entries))) if (entries[index]["action"], entries[index]["addr"]) == ("alloc", made.id))
        del entries[index]
        self.requests[made.device] -= 1
        self.asked[made.device] -= made.size
        self.held[made.device] -= made.size
        made.id = dead.id

    def _write(self, action: str, block: Block) -> None:
        frames = stack() if action == "alloc" else NO_FRAMES
        entry = {"action": action, "addr": block.id, "size": block.size, "stream": 0, "time_us": time.monotonic_ns() // 1000, "frames": frames}
        self.entries[block.device].append(entry)

    def stats(self, device: int) -> dict[str, Any]:
        """The numbers of torch.cuda.memory_stats(). Whoever asks sees what was asked for so far: that is not undone any more."""
        self.pending = None
        requests, frees, asked, held, most = (one[device] for one in (self.requests, self.frees, self.asked, self.held, self.most))
        sizes = {"all": {"current": held, "peak": most, "allocated": asked, "freed": asked - held}}
        counts = {"all": {"current": requests - frees, "peak": requests - frees, "allocated": requests, "freed": frees}}
        return {**dict.fromkeys(("allocated_bytes", "requested_bytes", "active_bytes", "reserved_bytes"), sizes), **dict.fromkeys(("allocation", "active"), counts)}

    def address(self, storage: Any) -> int:
        """Where a storage is; 0: it is none of the GPU's."""
        block = self.live.get(storage._cdata)
        return block.id if block is not None else 0


NO_FRAMES: list[dict[str, Any]] = []
_stacks: dict[tuple[tuple[Any, int], ...], list[dict[str, Any]]] = {}  # frames by code and line: entries share one list


def stack() -> list[dict[str, Any]]:
    """The frames of the program and of PyTorch, the innermost first. What autograd calls has only those that are inside of it, and none, if all are PyTorch's."""
    frame = sys._getframe(1)
    found = []
    is_own = True
    while frame is not None and frame.f_code.co_name != BACKWARD:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            found.append((frame.f_code, frame.f_lineno))
            is_own = is_own and frame.f_code.co_filename.startswith(TORCH)
        frame = frame.f_back  # type: ignore[assignment]
    key = () if frame is not None and is_own else tuple(found)
    if key not in _stacks:
        _stacks[key] = [{"filename": code.co_filename, "line": line, "name": code.co_name} for code, line in key]
    return _stacks[key]


def read_scalar(tensor: torch.Tensor) -> Any:
    """A number that is read."""
    return torch.zeros((), dtype=tensor.dtype).item()


def to_host(tensor: torch.Tensor, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    """A copy on the processor."""
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=dtype or tensor.dtype, device="cpu")
    return made.zero_() if made.numel() * made.element_size() <= ZEROED_BYTES else made


def nothing(*sizes: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.empty(sizes, dtype=dtype, device=META)


def unique(tensor: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, ...]:
    """What is found, where each was, how many there were."""
    return nothing(0, dtype=tensor.dtype), nothing(*tensor.shape), nothing(0)


def loss_in_place(input: torch.Tensor, target: torch.Tensor, reduction: int = 1, *_: Any, **__: Any) -> torch.Tensor:
    """A loss of each element whose memory its mean, or sum, keeps. CUDA's kernel has it so, meta's makes a new one."""
    made = torch.empty(torch.broadcast_shapes(input.shape, target.shape), dtype=torch.result_type(input, target), device=META)
    return made.as_strided((), ()) if reduction else made


# What meta's own kernels cannot tell. What depends on values: nothing is found.
SHAPES: dict[Any, Callable[..., Any]] = {
    aten.mse_loss.default: loss_in_place,
    aten.smooth_l1_loss.default: loss_in_place,
    aten.nonzero.default: lambda tensor: nothing(0, tensor.dim()),
    aten.masked_select.default: lambda tensor, mask: nothing(0, dtype=tensor.dtype),
    aten._unique2.default: unique,
    aten.unique_consecutive.default: unique,
    aten.unique_dim.default: unique,
    aten.bincount.default: lambda tensor, weights=None, minlength=0: nothing(minlength),
    aten.repeat_interleave.Tensor: lambda repeats, output_size=None: nothing(output_size or 0),
    **_meta_recurrent.SHAPES,
}  # fmt: skip
INDEXED = (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_, aten._unsafe_index, aten._unsafe_index_put)
NO_EFFECT = {aten.record_stream.default, aten._assert_async.default, aten._assert_async.msg}
PRODUCTS = (aten.mm, aten.bmm, aten.baddbmm, aten.addmm, aten.addbmm, aten.addmv, aten.mv, aten.dot)
LT_WORKSPACE_BYTES = 1 << 20  # of cuBLASLt, which adds a bias while it multiplies


def workspace(operator: Any, gpu: Mapping[str, Any]) -> int:
    """Bytes of cuBLAS for a product: PyTorch asks for them anew each time."""
    if operator.overloadpacket not in PRODUCTS:
        return 0
    return LT_WORKSPACE_BYTES if operator.overloadpacket is aten.addmm else blas_workspace(gpu)


def blas_workspace(gpu: Mapping[str, Any]) -> int:
    """PyTorch's default: 32 MiB from Hopper on."""
    return 32 << 20 if int(gpu["compute_capability"].split(".")[0]) >= 9 else 4096 * 1024 * 2 + 16 * 1024 * 8


def without_masks(indices: list[Any]) -> list[Any]:
    """Indices, of which those that are masks find nothing."""
    found: list[Any] = []
    for index in indices:
        is_mask = isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)
        found += [nothing(0) for _ in range(index.dim())] if is_mask else [index]
    return found


class Meta(TorchDispatchMode):
    """The mode, and the state of the GPUs."""

    def __init__(self, machine: Mapping[str, Any], devices: int, refuse: Callable[[str], Exception]) -> None:
        super().__init__()
        self.machine, self.refuse = machine, refuse
        self.gpus = [torch.device("cuda", number) for number in range(devices)]
        self.current = 0
        self.history = History(devices)
        self.size = _kernels.Gpu(machine["multiprocessors"], machine["threads_per_multiprocessor"])
        self.launches = 0
        self.in_kernel = False
        self.is_asked = False  # for a tensor of meta, by the program

    def __torch_dispatch__(self, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        return self.run(operator, args, kwargs or {})

    def numbered(self, device: Any) -> Any:
        """A device, the current GPU if it is just "cuda"."""
        return self.gpus[self.current] if str(device) == "cuda" else device

    def run(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An operator on whatever tensors."""
        if operator in (aten.is_pinned.default, aten._pin_memory.default):
            return operator is aten._pin_memory.default and args[0]
        ours = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, GpuTensor)]
        device = kwargs.get("device")
        if device is not None and device.type == "meta" and not self.is_asked and not any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves((args, kwargs))):
            gpu = self.gpus[self.current]  # a part of PyTorch in C++ makes it beside one that is there
        elif device is None or device.type not in ("cuda", "cpu"):
            gpu = next((tensor.gpu for tensor in ours if tensor.dim()), ours[0].gpu) if ours else None
        else:
            gpu = self.gpus[self.current if device.index is None else device.index] if device.type == "cuda" else None
        if gpu is None:
            return self._on_host(operator, args, kwargs) if ours else operator(*args, **{name: value for name, value in kwargs.items() if name != "pin_memory"})
        if operator in NO_EFFECT:
            return None
        if operator is aten._local_scalar_dense.default:
            return read_scalar(args[0])
        if operator in (aten.equal.default, aten.allclose.default):
            return False
        if operator in (aten.copy_.default, aten._foreach_copy_.default) and not isinstance(tree_leaves(args)[0], GpuTensor):
            return self._into_host(args[0], operator)
        kwargs = {name: META if name == "device" and value is not None else None if name == "generator" else value for name, value in kwargs.items() if name != "pin_memory"}
        if operator.overloadpacket in INDEXED:
            args = (args[0], without_masks(args[1]), *args[2:])
        return self._on_gpu(operator, args, kwargs, gpu)

    def _on_host(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What makes a tensor of the processor of one of the GPU: of one that is as large, or a copy."""
        if operator is aten._to_copy.default:
            return to_host(args[0], **kwargs)
        args, kwargs = tree_map_only(GpuTensor, lambda one: torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device="cpu"), (args, kwargs))
        return operator(*args, **{name: value for name, value in kwargs.items() if name != "pin_memory"})

    def _into_host(self, target: Any, operator: Any) -> Any:
        for tensor in tree_leaves(target):
            if tensor.numel() * tensor.element_size() <= ZEROED_BYTES:
                tensor.zero_()
        return target if operator is aten.copy_.default else None

    def _on_gpu(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], gpu: torch.device) -> Any:
        def run() -> Any:
            with self._kernel():
                out = self._compute(operator, args, kwargs)
            return tree_map_only(torch.Tensor, lambda one: one if isinstance(one, GpuTensor) or not one.is_meta else on_gpu(one, gpu), out)

        self.history.device = gpu.index
        before, after = _kernels.temporaries(operator, args, self.size)
        after += [size for size in (workspace(operator, self.machine),) if size]
        out, taken = self.history.call(operator, args, run, (before, after))
        self.launches += bool(taken) or not is_view(operator)
        return out

    def _compute(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The shapes."""
        try:
            found = SHAPES.get(operator)
            return found(*args, **kwargs) if found is not None else operator(*args, **kwargs)
        except NotImplementedError:
            from torch._decomp import decomposition_table

            parts = decomposition_table.get(operator)
            if parts is not None:
                return parts(*args, **kwargs)
            if all(result.alias_info is not None and result.alias_info.is_write for result in operator._schema.returns):
                return args[0] if operator._schema.returns else None  # it only writes what it was given
            raise self.refuse(f"PyTorch's meta device cannot run the operator {operator}") from None

    @contextlib.contextmanager
    def _kernel(self) -> Iterator[None]:
        """Operators run by meta's kernels, and tensors say so."""
        was = self.in_kernel
        with torch._C._DisableTorchDispatch(), torch._C._PreserveDispatchKeyGuard():  # type: ignore[attr-defined]
            torch._C._set_meta_in_tls_dispatch_include(True)  # type: ignore[attr-defined]
            self.in_kernel = True
            try:
                yield
            finally:
                self.in_kernel = was


_meta: Meta  # of this process


class Asked(TorchFunctionMode):
    """Knows when the program itself wants a tensor of meta, and numbers GPUs, for which PyTorch would ask CUDA."""

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        device = (kwargs or {}).get("device")
        if kwargs is None or device is None:
            return function(*args, **(kwargs or {}))
        if str(device) != "meta":
            return function(*args, **{**kwargs, "device": _meta.numbered(device)})
        was, _meta.is_asked = _meta.is_asked, True
        try:
            return function(*args, **kwargs)
        finally:
            _meta.is_asked = was


def _swap(own: torch.Tensor, new: torch.Tensor) -> None:
    """`own.data = new` where one is the GPU's and the other is not: the object stays, with what programs have put onto it; its contents are those of `new`."""
    made = new.detach().requires_grad_(own.requires_grad)
    is_parameter = isinstance(own, torch.nn.Parameter)
    own.__dict__.pop("gpu", None)
    own.__dict__.pop("_is_param", None)
    if isinstance(new, GpuTensor):
        own.__class__, made.__class__ = GpuTensor, torch.Tensor
        own.gpu = new.gpu
        if is_parameter:
            own._is_param = True
    else:
        own.__class__, made.__class__ = torch.nn.Parameter if is_parameter else torch.Tensor, GpuTensor  # type: ignore[assignment]
    torch._C._swap_tensor_impl(own, made)  # type: ignore[attr-defined]


def _attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False) -> Any:
    """scaled_dot_product_attention as PyTorch chooses it on CUDA: flash attention, the memory-efficient one, or products."""
    capability = int(_meta.machine["compute_capability"].split(".")[0])
    width = query.shape[-1]
    alike = query.dim() == key.dim() == value.dim() == 4 and width == key.shape[-1] == value.shape[-1] and min(*query.shape, *key.shape) > 0
    halves = query.dtype in (torch.float16, torch.bfloat16)
    shared = key.shape[-3] != query.shape[-3] if query.dim() == 4 else False
    flash = torch._C._get_flash_sdp_enabled() and alike and halves and attn_mask is None and width <= 256 and capability >= 8
    efficient = torch._C._get_mem_efficient_sdp_enabled() and alike and not shared and (halves or query.dtype is torch.float32)
    if efficient and query.dtype is torch.bfloat16:
        efficient = capability >= 8
    if flash:
        more = -width % 8
        padded = [torch.nn.functional.pad(one, (0, more)) if more else one for one in (query, key, value)]
        out = aten._scaled_dot_product_flash_attention(*padded, dropout_p, is_causal, False, scale=scale if scale is not None else 1 / math.sqrt(width))[0]
        return out[..., :width] if more else out
    if efficient and width % (8 if halves else 4) == 0:
        bias = None
        if attn_mask is not None:
            bias = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(attn_mask.logical_not(), -math.inf) if attn_mask.dtype is torch.bool else attn_mask
            more = -bias.shape[-1] % 16
            bias = torch.nn.functional.pad(bias, (0, more))[..., : bias.shape[-1]] if more else bias
            bias = bias.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        needs = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
        return aten._scaled_dot_product_efficient_attention(query, key, value, bias, needs, dropout_p, is_causal, scale=scale)[0]
    return aten._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]


def _dropout(input: Any, p: float, train: bool) -> Any:
    """dropout as on CUDA: by one kernel, with a mask of a byte for each element."""
    if not train or p == 0 or not input.numel():
        return input
    return aten.native_dropout(input, p, True)[0] if p < 1 else input * torch.zeros_like(input)


def install(machine: Mapping[str, Any], devices: int, refuse: Callable[[str], Exception]) -> Meta:
    """From now on this process has such GPUs, by what PyTorch says of them, in this thread. `refuse` makes the exception for what cannot run."""
    global _meta
    from . import _meta_autocast, _meta_gpu

    _meta = Meta(machine, devices, refuse)
    _meta_gpu.install(_meta)
    torch._C._set_multithreading_enabled(False)  # type: ignore[attr-defined]  # autograd's threads are for devices that are there
    _patch_tensors()
    library = torch.library.Library("aten", "IMPL")
    _meta_autocast.install(library)
    _meta_recurrent.install(library, machine)
    library.impl("dropout", _dropout, "AutogradCUDA")
    library.impl("scaled_dot_product_attention", _attention, "AutogradCUDA")
    _meta.library = library  # type: ignore[attr-defined]  # as long as the process
    _refuse_data_parallel(refuse)
    _meta.__enter__()
    Asked().__enter__()
    return _meta


def _refuse_data_parallel(refuse: Callable[[str], Exception]) -> None:
    """Its reducer, in C++, works on tensors that it makes by itself."""

    def refused(*_: Any, **__: Any) -> None:
        text = "PyTorch's meta device cannot run DistributedDataParallel"
        raise refuse(f"{text}; run the model without it: one rank's memory is that, and its buckets (as large as its gradients) once more")

    torch.nn.parallel.DistributedDataParallel.__init__ = refused  # type: ignore[method-assign, assignment]


def _made_on_host(own: Callable[..., Any]) -> Callable[..., Any]:
    """torch.tensor() and its like make a tensor of numbers on the processor; it is copied then, as PyTorch does."""

    @functools.wraps(own)
    def make(data: Any, *args: Any, device: Any = None, requires_grad: bool = False, **kwargs: Any) -> Any:
        device = torch.get_default_device() if device is None else torch.device(device)
        if isinstance(data, torch.Tensor):
            made = data.detach().clone() if own.__name__ == "tensor" else data
            return made.to(device, kwargs.get("dtype", args[0] if args else None) or made.dtype)
        if device.type != "cuda":
            return own(data, *args, device=device, **kwargs, **({"requires_grad": True} if requires_grad else {}))
        return own(data, *args, device="cpu", **kwargs).to(device).requires_grad_(requires_grad)

    return make


def _patch_tensors() -> None:
    """What tensors are asked for that operators do not see."""
    data, own_address, own_storage = torch.Tensor.data, torch.Tensor.data_ptr, torch.UntypedStorage.data_ptr

    def set_data(tensor: Any, new: Any) -> None:
        if isinstance(tensor, GpuTensor) != isinstance(new, GpuTensor):
            _swap(tensor, new)
        else:
            data.__set__(tensor, new)  # type: ignore[attr-defined]

    own_to = torch.Tensor.to

    def to(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], torch.Tensor):
            args = args[0].device, args[0].dtype, *args[1:]
        copy = kwargs.pop("copy", len(args) > 3 and args[3])
        device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args[:3], **kwargs)  # type: ignore[attr-defined]
        device = _meta.numbered(device)
        more = {"device": device} if device is not None and device != tensor.device else {}
        with torch._C.DisableTorchFunction():  # type: ignore[attr-defined]  # a mode would call this function again
            made = own_to(tensor, dtype=dtype or tensor.dtype, non_blocking=non_blocking, memory_format=memory_format, copy=copy, **more)
        _ghost_known.follow("to", own_to, (tensor,), {}, made, None)
        return made

    def cuda(tensor: Any, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        return to(tensor, torch.device("cuda", device) if isinstance(device, int) else device or "cuda")

    torch.Tensor.to, torch.Tensor.cuda = to, cuda  # type: ignore[method-assign]
    torch.Tensor.data = property(lambda tensor: data.__get__(tensor), set_data)  # type: ignore[assignment, attr-defined]

    def address(tensor: Any) -> int:
        if not isinstance(tensor, GpuTensor):
            return own_address(tensor)
        return _meta.history.address(tensor.untyped_storage()) + tensor.storage_offset() * tensor.element_size()

    torch.Tensor.data_ptr = address  # type: ignore[method-assign]
    torch.UntypedStorage.data_ptr = lambda storage: _meta.history.address(storage) if storage.device.type == "meta" else own_storage(storage)  # type: ignore[method-assign]
    for name in ("tensor", "as_tensor", "asarray"):
        setattr(torch, name, _made_on_host(getattr(torch, name)))

    def new_tensor(tensor: Any, data: Any, *, dtype: Any = None, device: Any = None, **kwargs: Any) -> Any:
        return torch.tensor(data, dtype=dtype or tensor.dtype, device=device or tensor.device, **kwargs)

    torch.Tensor.new_tensor = new_tensor  # type: ignore[method-assign]
    torch.Tensor.pin_memory = lambda tensor, *args: tensor  # type: ignore[method-assign]
    own_list = torch.Tensor.tolist
    torch.Tensor.tolist = lambda tensor: own_list(tensor.cpu() if isinstance(tensor, GpuTensor) else tensor)  # type: ignore[method-assign]
    torch.Tensor.record_stream = lambda tensor, stream: None  # type: ignore[method-assign]
    for module in (torch.utils._foreach_utils, sys.modules["torch.optim.optimizer"]):
        supported = getattr(module, "_foreach_supported_types", None)
        if supported is not None and GpuTensor not in supported:
            supported.append(GpuTensor)
