"""Recurrent layers on the GPUs of _meta.py, as PyTorch runs them on CUDA: by cuDNN, in one operator for all layers and steps. Of meta it has one for each gate of each step.

Sizes of what cuDNN takes are those of the ghost GPU's stub (lib/ghost/stubs/cudnn.c), which are estimates. Where cuDNN is off, or has no such numbers, PyTorch's own
cells run one behind the other, as everywhere; CUDA's fused kernels for those are not imitated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from . import _kernels

aten = torch.ops.aten
META = torch.device("meta")
MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")  # as cuDNN numbers them
GATES = (1, 1, 4, 3)
KEPT = (2, 2, 6, 5)  # for the backward pass, for each number of a state
STATE_BYTES = 48  # of random numbers, for each thread that a GPU runs at once

_states: dict[int, torch.Tensor] = {}  # of dropout, by the GPU: PyTorch makes one and keeps it


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _sizes(input: torch.Tensor, batch_first: bool, batch_sizes: list[int]) -> tuple[int, int]:
    """Steps, and sequences; of packed ones as if all were as long as the longest."""
    if batch_sizes:
        return len(batch_sizes), batch_sizes[0]
    return (input.shape[1], input.shape[0]) if batch_first else (input.shape[0], input.shape[1])


def _workspace(input: torch.Tensor, mode: int, hidden: int, batch_first: bool, bidirectional: bool, batch_sizes: list[int]) -> int:
    """Bytes of all gates of a layer."""
    steps, batch = _sizes(input, batch_first, batch_sizes)
    return steps * batch * (1 + bidirectional) * GATES[mode] * hidden * input.element_size()


def _forward(
    input: Any, weight: Any, stride: int, weight_buf: Any, hx: Any, cx: Any, mode: int, hidden: int, projected: int, layers: int, batch_first: bool, dropout: float, train: bool,
    bidirectional: bool, batch_sizes: list[int], state: Any,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Results: output, states, what is kept for the backward pass, and all weights, side by side."""
    steps, batch = _sizes(input, batch_first, batch_sizes)
    directions, width = 1 + bidirectional, projected or hidden

    def new(*sizes: int, dtype: torch.dtype = input.dtype) -> torch.Tensor:
        return torch.empty(sizes, dtype=dtype, device=META)

    output = new(input.shape[0], width * directions) if batch_sizes else new(steps, batch, width * directions)
    dropped = width * (layers - 1) if dropout > 0 and train else 0
    kept = steps * batch * directions * (KEPT[mode] * hidden * layers + dropped) * input.element_size() if train else 0
    return (
        output.transpose(0, 1) if batch_first and not batch_sizes else output,
        new(*hx.shape),
        new(*cx.shape) if cx is not None else new(0),
        new(kept, dtype=torch.uint8),
        weight_buf if weight_buf is not None else new(sum(one.numel() for one in weight)),
    )


def _backward(input: Any, weight: Any, stride: int, weight_buf: Any, hx: Any, cx: Any, *args: Any) -> tuple[Any, ...]:
    """Gradients. Those of the weights are parts of one piece of memory."""
    mask = args[-1]
    parts = torch.empty(sum(one.numel() for one in weight) if mask[3] else 0, dtype=input.dtype, device=META).split([one.numel() for one in weight] if mask[3] else 0)
    like = [torch.empty(one.shape, dtype=one.dtype, device=META) if one is not None else None for one in (input, hx, cx)]
    return (*like, [part.view(one.shape) for part, one in zip(parts, weight, strict=True)] if mask[3] else [])


def _forward_temporaries(_gpu: Any, input: Any, *args: Any) -> _kernels.Temporaries:
    mode, hidden, batch_first, bidirectional, batch_sizes = args[5], args[6], args[9], args[12], args[13]
    turned = _bytes(input) if batch_first and not batch_sizes else 0  # steps first
    return [turned], [_workspace(input, mode, hidden, batch_first, bidirectional, batch_sizes)]


def _backward_temporaries(_gpu: Any, input: Any, weight: Any, stride: int, weight_buf: Any, hx: Any, cx: Any, output: Any, *args: Any) -> _kernels.Temporaries:
    """Also gradients that nobody has handed in, which are 0."""
    grads, (mode, hidden), batch_first, bidirectional, batch_sizes = args[:3], args[3:5], args[7], args[10], args[11]
    missing = [_bytes(one) for one, grad in zip((output, hx, cx), grads, strict=True) if grad is None and one is not None]
    turned = _bytes(input) if batch_first and not batch_sizes else 0
    return [*missing, turned], [_workspace(input, mode, hidden, batch_first, bidirectional, batch_sizes)]


def _flatten(weights: list[Any], *_: Any) -> torch.Tensor:
    """The weights of a layer, side by side from now on."""
    made = torch.empty(sum(one.numel() for one in weights), dtype=weights[0].dtype, device=META)
    before = 0
    for one in weights:
        one.set_(made.untyped_storage(), before, one.shape, torch.empty(one.shape, device=META).stride())
        before += one.numel()
    return made


SHAPES: dict[Any, Callable[..., Any]] = {
    aten._cudnn_rnn.default: _forward,
    aten._cudnn_rnn_backward.default: _backward,
    aten._cudnn_rnn_flatten_weight.default: _flatten,
}
_kernels.TEMPORARIES.update({aten._cudnn_rnn: _forward_temporaries, aten._cudnn_rnn_backward: _backward_temporaries})


def _are_flat(weights: list[Any]) -> bool:
    """Whether they are side by side."""
    storages = {one.untyped_storage()._cdata: one.untyped_storage().nbytes() for one in weights}
    return list(storages.values()) == [sum(_bytes(one) for one in weights)]


def _state(machine: Mapping[str, Any], gpu: torch.device) -> torch.Tensor:
    if gpu.index not in _states:
        size = machine["multiprocessors"] * machine["threads_per_multiprocessor"] * STATE_BYTES
        _states[gpu.index] = torch.empty(size, dtype=torch.uint8, device=gpu)
    return _states[gpu.index]


def _layer(operator: Any, machine: Mapping[str, Any]) -> Callable[..., Any]:
    """The operator, by cuDNN."""
    mode = MODES.index(operator._overloadpacket.__name__)

    def run(input: Any, *args: Any) -> Any:
        if not torch.backends.cudnn.enabled or not input.numel() or not input.is_floating_point():
            return operator.decompose(input, *args)
        is_packed = operator._overloadname == "data"
        batch_sizes, (states, weights, has_biases, layers, dropout, train, bidirectional, *rest) = (args[0].tolist(), args[1:]) if is_packed else ([], args)
        hx, cx = states if mode == MODES.index("lstm") else (states, None)
        hidden = (hx if cx is None else cx).shape[2]
        projected = hx.shape[2] if hx.shape[2] != hidden else 0
        weight_buf = weights[0].detach() if _are_flat(weights) else None
        state = _state(machine, input.device) if train and dropout > 0 else None
        shape = hidden, projected, layers, bool(rest and rest[0])
        made = aten._cudnn_rnn(input, weights, 4 if has_biases else 2, weight_buf, hx, cx, mode, *shape, dropout, train, bidirectional, batch_sizes, state)
        return made[:2] if cx is None else made[:3]

    return run


def install(library: Any, machine: Mapping[str, Any]) -> None:
    """For the rest of the process; `library` is one of "aten"."""
    for name in MODES:
        for overload in ("input", "data"):
            library.impl(f"{name}.{overload}", _layer(getattr(getattr(aten, name), overload), machine), "AutogradCUDA")
    if not torch.backends.cudnn.is_available():  # modules ask for it before they put weights side by side
        torch.backends.cudnn.is_acceptable = lambda tensor: tensor.is_cuda and tensor.dtype in (torch.float16, torch.float32, torch.float64)  # type: ignore[assignment]
        torch._use_cudnn_rnn_flatten_weight = lambda: True  # type: ignore[assignment]
        torch.backends.cudnn.rnn.get_cudnn_mode = lambda mode: MODES.index(mode.lower())  # type: ignore[attr-defined]
