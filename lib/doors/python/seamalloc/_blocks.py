"""A model's blocks, and what can be done with their activations: kept, recomputed in the backward pass, kept on the host, recomputed from an input on the host.

Blocks are the repeated modules: lists of modules of one class, those that are in no other such list, if they have at least half of the parameters. Treatments are PyTorch's own, applied around
a block's forward(): torch.utils.checkpoint, torch.autograd.graph.save_on_cpu(), and the one around the other. For memory; running them well is another matter.
A recipe is a treatment for each block.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _borders
from ._compose import KEEP, SWAP

RECOMPUTE, FROM_HOST = "recompute", "recompute-from-host"
TREATMENTS = (KEEP, RECOMPUTE, SWAP, FROM_HOST)


def find(model: Any) -> list[Any]:
    """The blocks of a model; none, if nothing repeats in it."""
    import torch

    found: dict[int, Any] = {}
    inner: set[int] = set()
    for module in model.modules():
        children = list(module.children()) if isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) and id(module) not in inner else []
        # What has no parts is too small to be treated.
        if len(children) > 1 and len({type(child) for child in children}) == 1 and next(children[0].children(), None) is not None and not isinstance(children[0], torch.jit.ScriptModule):
            found.update({id(child): child for child in children})
            inner |= {id(part) for part in module.modules()}
    held = {id(parameter): parameter.numel() for block in found.values() for parameter in block.parameters()}
    return list(found.values()) if 2 * sum(held.values()) > sum(parameter.numel() for parameter in model.parameters()) else []


def has_words(model: Any) -> bool:
    """True for a model with a head of words: a linear layer that has as many results as an embedding has entries."""
    import torch

    modules = list(model.modules())
    words = {module.num_embeddings for module in modules if isinstance(module, torch.nn.Embedding)}
    return any(isinstance(module, torch.nn.Linear) and module.out_features in words for module in modules)


def _treated(forward: Callable[..., Any], treatment: str, borders: _borders.Borders) -> Callable[..., Any]:
    """A block's forward(); if the tensors that it saves for its backward pass are swapped, `borders` hears of them and of their copies."""
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
            hooks = torch.autograd.graph.save_on_cpu(pin_memory=True)
            pack, unpack = hooks.pack_hook, hooks.unpack_hook

            def packed(tensor: Any) -> Any:
                borders.save(tensor)
                with borders.copying():
                    return pack(tensor)

            def unpacked(saved: Any) -> Any:
                with borders.copying():
                    return unpack(saved)

            hooks.pack_hook, hooks.unpack_hook = packed, unpacked
            with hooks:
                return treated(*args, **kwargs)

        return swap

    return {KEEP: forward, RECOMPUTE: recompute, SWAP: on_host(forward), FROM_HOST: on_host(recompute)}[treatment]


def treat(blocks: Sequence[Any], recipe: Sequence[str], borders: _borders.Borders) -> None:
    """Each block as the recipe says; blocks behind its end are kept."""
    for block, treatment in zip(blocks, recipe, strict=False):
        if treatment != KEEP:
            block.forward = _treated(block.forward, treatment, borders)


def install(recipe: Sequence[str], borders: _borders.Borders, tell: Callable[[list[Any], bool], None], recomputes: Callable[[str], None]) -> None:
    """The blocks of each model that runs are treated, before it does, and its modules watched; `tell` hears its blocks, and has_words().

    `recomputes` hears the classes of modules that run within a backward pass.
    """
    import torch
    from torch.nn.modules.module import register_module_forward_pre_hook

    known: set[int] = set()
    count = 0

    def before(module: Any, args: Any) -> None:
        nonlocal count
        if torch.compiler.is_compiling():
            return
        if torch._C._current_graph_task_id() != -1:
            recomputes(type(module).__name__)
        if id(module) in known or not module.training or not any(parameter.requires_grad for parameter in module.parameters()):
            return
        blocks = [] if any(id(part) in known for part in module.modules()) else find(module)
        known.update(id(part) for part in module.modules())
        tell(blocks, has_words(module))
        treat(blocks, recipe[count:], borders)
        borders.watch(module, blocks, count)
        count += len(blocks)

    register_module_forward_pre_hook(before)
