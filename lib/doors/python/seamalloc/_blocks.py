"""A model's blocks, and what their activations can be done otherwise: recomputed in the backward pass, or kept on the host.

Blocks are the repeated modules: the list of modules of one class that has most of the parameters, at least half of them. Treatments are PyTorch's own, applied around a block's
forward(): torch.utils.checkpoint, and torch.autograd.graph.save_on_cpu(). For memory; running them well is another matter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

RECOMPUTE, SWAP = "recompute", "swap"


def find(model: Any) -> list[Any]:
    """The blocks of a model; none, if nothing repeats in it."""
    import torch

    best: list[Any] = []
    weight = sum(parameter.numel() for parameter in model.parameters()) / 2
    for module in model.modules():
        children = list(module.children()) if isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) else []
        if len(children) < 2 or len({type(child) for child in children}) != 1:
            continue
        held = sum(parameter.numel() for parameter in module.parameters())
        if held > weight:
            best, weight = children, held
    return best


def _treated(forward: Callable[..., Any], treatment: str) -> Callable[..., Any]:
    import torch
    from torch.utils.checkpoint import checkpoint

    @functools.wraps(forward)
    def recompute(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    @functools.wraps(forward)
    def swap(*args: Any, **kwargs: Any) -> Any:
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return forward(*args, **kwargs)

    return {RECOMPUTE: recompute, SWAP: swap}[treatment]


def treat(blocks: list[Any], treatment: str, count: int) -> None:
    """The first so many of the blocks: their activations live longest."""
    for block in blocks[:count]:
        block.forward = _treated(block.forward, treatment)


def install(treatment: str, count: int, tell: Callable[[int, str], None]) -> None:
    """The blocks of the first model that runs are treated, before it does; `tell` hears how many it has, and their class."""
    import torch
    from torch.nn.modules.module import register_module_forward_pre_hook

    handles: list[Any] = []

    def before(module: Any, args: Any) -> None:
        if not module.training or not any(parameter.requires_grad for parameter in module.parameters()):
            return
        handles.pop().remove()
        blocks = find(module)
        tell(len(blocks), type(blocks[0]).__name__ if blocks else "")
        if treatment:
            treat(blocks, treatment, count)

    del torch
    handles.append(register_module_forward_pre_hook(before))
