"""GPT-2, Llama and a Mixture-of-Experts as ordinary modules, and the table of named models.

The modules follow the public reference code of each family as far as it decides what is allocated. Shapes are those
of the model cards. No weights: on the meta device there are none.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from modeltrace import layers
from modeltrace.layers import Dropout, Linear, RmsNorm


@dataclasses.dataclass(frozen=True)
class Shape:
    """One model. `experts` 0: a dense one. `shared` is the width of the feed-forward that every token takes."""

    family: str
    layers: int
    hidden: int
    heads: int
    key_heads: int
    feed: int
    vocabulary: int
    tokens: int
    experts: int = 0
    chosen: int = 0
    shared: int = 0


MODELS = {
    "gpt2-124m": Shape("gpt2", 12, 768, 12, 12, 3072, 50304, 1024),
    "gpt2-345m": Shape("gpt2", 24, 1024, 16, 16, 4096, 50304, 1024),
    "gpt2-xl": Shape("gpt2", 48, 1600, 25, 25, 6400, 50304, 1024),
    "llama-1b": Shape("llama", 22, 2048, 32, 4, 5632, 32000, 2048),
    "llama2-7b": Shape("llama", 32, 4096, 32, 32, 11008, 32000, 4096),
    "llama3-8b": Shape("llama", 32, 4096, 32, 8, 14336, 128256, 8192),
    "moe-mixtral-8x7b": Shape("llama", 32, 4096, 32, 8, 14336, 32000, 4096, 8, 2),
    "moe-qwen1.5-2.7b": Shape("llama", 24, 2048, 16, 16, 1408, 151936, 4096, 60, 4, 5632),
    "moe-small": Shape("llama", 12, 1024, 16, 4, 2048, 32000, 2048, 16, 2),
}


DEVICE = "meta"


@dataclasses.dataclass(frozen=True)
class Options:
    """What a run changes about a model."""

    recompute: str = "none"
    lora: int = 0
    dropout: float = 0.1
    weight_dtype: torch.dtype = torch.bfloat16
    seed: int = 0

    def made(self, **more: Any) -> dict[str, Any]:
        """The arguments with which a module's tensors are made."""
        return {"device": DEVICE, "dtype": self.weight_dtype} | more


class Gpt2Block(nn.Module):
    """Attention and feed-forward behind layer norms, with residuals."""

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__()
        made = options.made()
        self.heads = shape.heads
        self.attention_dropout = options.dropout
        self.norm1 = nn.LayerNorm(shape.hidden, **made)
        self.qkv = Linear(shape.hidden, 3 * shape.hidden, **made)
        self.projection = Linear(shape.hidden, shape.hidden, **made)
        self.norm2 = nn.LayerNorm(shape.hidden, **made)
        self.feed1 = Linear(shape.hidden, shape.feed, **made)
        self.feed2 = Linear(shape.feed, shape.hidden, **made)
        self.dropout = Dropout(options.dropout)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        """Self-attention; heads are views of one projection."""
        batch, tokens, hidden = x.shape
        parts = self.qkv(x).split(hidden, dim=2)
        query, key, value = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in parts)
        mixed = layers.attention(query, key, value, self.attention_dropout if self.training else 0.0)
        return self.projection(mixed.transpose(1, 2).reshape(batch, tokens, hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, tokens, hidden) to the same."""
        x = x + self.dropout(self.attend(self.norm1(x)))
        return x + self.dropout(self.feed2(F.gelu(self.feed1(self.norm2(x)), approximate="tanh")))


class Expert(nn.Module):
    """One routed SwiGLU expert. How many tokens it gets depends on data, so every size but its weights' is dynamic."""

    dynamic_sizes = True

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__()
        made = options.made(bias=False)
        self.gate_up = Linear(shape.hidden, 2 * shape.feed, **made)
        self.down = Linear(shape.feed, shape.hidden, **made)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(its tokens, hidden) to the same."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


class Experts(nn.ModuleList):
    """Routed experts: tokens sorted by expert, each expert on its own, and the weighted way back.

    The meta device has no data to route by: loads are drawn here, per layer and micro-batch, with a gamma(2) weight for
    each expert, so that they are as uneven as measured ones.
    """

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(Expert(shape, options) for _ in range(shape.experts))
        self.random = random.Random(options.seed)
        self.loads: list[int] = []

    def draw(self, assignments: int) -> None:
        """Draws how many of the assignments go to each expert. A recomputation must find the loads of its forward."""
        weights = [self.random.gammavariate(2.0, 1.0) for _ in self]
        picks = self.random.choices(range(len(self)), weights, k=assignments)
        self.loads = [0] * len(self)
        for pick in picks:
            self.loads[pick] += 1

    def forward(self, x: torch.Tensor, weights: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        """x: (tokens, hidden); weights, chosen: (tokens, experts per token)."""
        order = torch.argsort(chosen.flatten())
        rows = order // chosen.shape[1]
        parts = x.index_select(0, rows).split(self.loads)
        outputs = [expert(part) for expert, part in zip(self, parts, strict=True) if part.shape[0]]
        scaled = torch.cat(outputs) * weights.flatten().index_select(0, order).unsqueeze(1)
        return torch.zeros_like(x).index_add_(0, rows, scaled)


class Feed(nn.Module):
    """Llama's SwiGLU feed-forward."""

    def __init__(self, hidden: int, feed: int, options: Options) -> None:
        super().__init__()
        made = options.made(bias=False)
        self.gate = Linear(hidden, feed, **made)
        self.up = Linear(hidden, feed, **made)
        self.down = Linear(feed, hidden, **made)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """down(silu(gate(x)) * up(x))."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class MixtureFeed(nn.Module):
    """A router, its experts, and the feed-forward that all tokens share, if the model has one."""

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__()
        self.chosen = shape.chosen
        self.router = Linear(shape.hidden, shape.experts, **options.made(bias=False))
        self.experts = Experts(shape, options)
        self.shared = Feed(shape.hidden, shape.shared, options) if shape.shared else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, tokens, hidden) to the same."""
        flat = x.view(-1, x.shape[-1])
        weights, chosen = self.router(flat).float().softmax(dim=-1).topk(self.chosen, dim=-1)
        weights = (weights / weights.sum(dim=-1, keepdim=True)).to(x.dtype)
        mixed = self.experts(flat, weights, chosen).view_as(x)
        return mixed if self.shared is None else mixed + self.shared(x)


class LlamaBlock(nn.Module):
    """Attention with rotary positions and grouped key heads, and a dense or routed feed-forward."""

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__()
        made = options.made()
        width = shape.hidden // shape.heads
        self.width = width
        self.norm1 = RmsNorm(shape.hidden, **made)
        self.query = Linear(shape.hidden, shape.heads * width, bias=False, **made)
        self.key = Linear(shape.hidden, shape.key_heads * width, bias=False, **made)
        self.value = Linear(shape.hidden, shape.key_heads * width, bias=False, **made)
        self.output = Linear(shape.heads * width, shape.hidden, bias=False, **made)
        self.norm2 = RmsNorm(shape.hidden, **made)
        self.feed = MixtureFeed(shape, options) if shape.experts else Feed(shape.hidden, shape.feed, options)

    def attend(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        """Self-attention."""
        batch, tokens, _ = x.shape
        query, key, value = (
            part(x).view(batch, tokens, -1, self.width).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        query, key = layers.apply_rope(query, cos, sin), layers.apply_rope(key, cos, sin)
        mixed = layers.attention(query, key, value, 0.0)
        return self.output(mixed.transpose(1, 2).reshape(batch, tokens, -1))

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        """(batch, tokens, hidden) to the same."""
        x = x + self.attend(self.norm1(x), cos, sin)
        return x + self.feed(self.norm2(x))


def _keep_products(_context: Any, operator: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
    """Selective recomputation: products and attention are kept, what is cheap to compute is not."""
    aten = torch.ops.aten
    kept = {aten.mm.default, aten.addmm.default, aten._scaled_dot_product_flash_attention.default}
    return CheckpointPolicy.MUST_SAVE if operator in kept else CheckpointPolicy.PREFER_RECOMPUTE


class Model(nn.Module):
    """What the families have in common: embedding, blocks, norm, head, and recomputation around blocks."""

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__()
        made = options.made()
        self.recompute = options.recompute
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden, **made)
        self.head = Linear(shape.hidden, shape.vocabulary, bias=False, **made)
        self.blocks = nn.ModuleList()

    def run_block(self, block: nn.Module, *args: torch.Tensor) -> torch.Tensor:
        """One block, under the recomputation that was chosen."""
        if isinstance(feed := getattr(block, "feed", None), MixtureFeed):
            feed.experts.draw(args[0].shape[0] * args[0].shape[1] * feed.chosen)
        if self.recompute == "none" or not torch.is_grad_enabled():
            return block(*args)
        # The state of the random generator lives on the host: keeping it would allocate nothing on the device.
        settings: dict[str, Any] = {"use_reentrant": False, "preserve_rng_state": False}
        if self.recompute == "selective":
            settings["context_fn"] = lambda: create_selective_checkpoint_contexts(_keep_products)
        return checkpoint(block, *args, **settings)


class Gpt2(Model):
    """GPT-2: learned positions, dropout, head tied to the embedding."""

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape, options)
        made = options.made()
        self.positions = nn.Embedding(shape.tokens, shape.hidden, **made)
        self.dropout = Dropout(options.dropout)
        self.blocks.extend(Gpt2Block(shape, options) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.hidden, **made)
        self.head.weight = self.embedding.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """(batch, tokens) of ids to logits."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.dropout(self.embedding(ids) + self.positions(positions))
        for block in self.blocks:
            x = self.run_block(block, x)
        return self.head(self.norm(x))


class Llama(Model):
    """Llama, and the mixtures built on it: rotary positions, RMSNorm, a head of its own."""

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape, options)
        self.width = shape.hidden // shape.heads
        inverse = torch.empty(self.width // 2, device=DEVICE, dtype=torch.float32)
        self.inverse: torch.Tensor
        self.register_buffer("inverse", inverse, persistent=False)
        self.blocks.extend(
            LlamaBlock(shape, dataclasses.replace(options, seed=options.seed + 1 + layer))
            for layer in range(shape.layers)
        )
        self.norm = RmsNorm(shape.hidden, **options.made())

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """(batch, tokens) of ids to logits."""
        x = self.embedding(ids)
        cos, sin = layers.rope_table(ids.shape[1], self.width, self.inverse, Linear.compute_dtype)
        for block in self.blocks:
            x = self.run_block(block, x, cos, sin)
        return self.head(self.norm(x))


def adapt(model: nn.Module, rank: int) -> None:
    """Freezes the model and gives every linear layer of its blocks a trained update of rank `rank`."""
    model.requires_grad_(False)
    for module in list(model.get_submodule("blocks").modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Linear) and not isinstance(module, layers.LoraLinear):
                setattr(module, name, layers.LoraLinear(child, rank, 0.05))


def build(shape: Shape, options: Options) -> Model:
    """The model, on the meta device, in training mode."""
    model = Gpt2(shape, options) if shape.family == "gpt2" else Llama(shape, options)
    if options.lora:
        adapt(model, options.lora)
    return model.train()
