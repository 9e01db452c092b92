"""A model's blocks, and what can be done with their activations: kept, recomputed in the backward pass, kept on the host, recomputed from an input on the host.

Blocks are the repeated modules: the list of modules of one class that has most of the parameters, at least half of them. Treatments are PyTorch's own, applied around
a block's forward(): torch.utils.checkpoint, torch.autograd.graph.save_on_cpu(), and the one around the other. For memory; running them well is another matter.
A recipe is a treatment for each block.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _borders
from ._compose import KEEP

RECOMPUTE, SWAP, FROM_HOST = "recompute", "swap", "recompute-from-host"
TREATMENTS = (KEEP, RECOMPUTE, SWAP, FROM_HOST)


def find(model: Any) -> list[Any]:
    """The blocks of a model; none, if nothing repeats in it."""
    import torch

    best: list[Any] = []
    weight = sum(parameter.numel() for parameter in model.parameters()) / 2
    for module in model.modules():
        children = list(module.children()) if isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) else []
        if len(children) < 2 or len({type(child) for child in children}) != 1 or isinstance(children[0], torch.jit.ScriptModule):
            continue
        held = sum(parameter.numel() for parameter in module.parameters())
        if held > weight:
            best, weight = children, held
    return best


def has_words(model: Any) -> bool:
    """True for a model with a head of words: a linear layer that has as many results as an embedding has entries."""
    import torch

    modules = list(model.modules())
    words = {module.num_embeddings for module in modules if isinstance(module, torch.nn.Embedding)}
    return any(isinstance(module, torch.nn.Linear) and module.out_features in words for module in modules)


def _treated(forward: Callable[..., Any], treatment: str) -> Callable[..., Any]:
    import torch
    from torch.utils.checkpoint import checkpoint

    @functools.wraps(forward)
    def recompute(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    def on_host(treated: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(forward)
        def swap(*args: Any, **kwargs: Any) -> Any:
            with torch.autograd.graph.save_on_cpu(pin_memory=True):
                return treated(*args, **kwargs)

        return swap

    return {KEEP: forward, RECOMPUTE: recompute, SWAP: on_host(forward), FROM_HOST: on_host(recompute)}[treatment]


def treat(blocks: list[Any], recipe: Sequence[str]) -> None:
    """Each block as the recipe says; blocks behind its end are kept."""
    for block, treatment in zip(blocks, recipe, strict=False):
        if treatment != KEEP:
            block.forward = _treated(block.forward, treatment)


def install(recipe: Sequence[str], borders: _borders.Borders, tell: Callable[[int, str, bool], None]) -> None:
    """The blocks of the first model that runs are treated, before it does, and its modules watched; `tell` hears how many blocks it has, their class, has_words()."""
    from torch.nn.modules.module import register_module_forward_pre_hook

    handles: list[Any] = []

    def before(module: Any, args: Any) -> None:
        if not module.training or not any(parameter.requires_grad for parameter in module.parameters()):
            return
        handles.pop().remove()
        blocks = find(module)
        tell(len(blocks), type(blocks[0]).__name__ if blocks else "", has_words(module))
        treat(blocks, recipe)
        borders.watch(module, blocks)

    handles.append(register_module_forward_pre_hook(before))
