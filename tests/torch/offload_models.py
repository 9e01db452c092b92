"""offload_models: models and programs drawn by a seed, trained for some steps: for tests of what offloading does to losses and weights."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width: int, draw: random.Random) -> None:
        super().__init__()
        self.first = nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)
        self.act = draw.choice((nn.GELU(), nn.ReLU(inplace=True), nn.Tanh(), nn.SiLU()))
        self.dropout = nn.Dropout(draw.choice((0.0, 0.1, 0.5)))
        self.is_residual = draw.random() < 0.7
        self.is_gated = draw.random() < 0.3
        self.again = draw.choice(("", "", "new", "old"))

    def inner(self, x: torch.Tensor) -> torch.Tensor:
        y = self.act(self.first(self.norm(x)))
        if self.is_gated:
            left, right = y.chunk(2, -1)
            y = torch.cat((left * right.sigmoid(), right), -1)
        y = self.dropout(self.second(y))
        return x + y if self.is_residual else y

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.again and torch.is_grad_enabled():
            return checkpoint(self.inner, x, use_reentrant=self.again == "old")
        return self.inner(x)


class Model(nn.Module):
    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.width = draw.choice((8, 16, 24))
        self.entry = nn.Linear(self.width, self.width)
        self.blocks = nn.ModuleList(Block(self.width, draw) for _ in range(draw.randint(1, 6)))
        if len(self.blocks) > 2 and draw.random() < 0.4:
            self.blocks[-1] = self.blocks[0]
        self.head = nn.Linear(self.width, self.width, bias=False)
        if draw.random() < 0.3:
            self.head.weight = self.entry.weight
        self.heads = draw.choice((0, 2, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.entry(x)
        for block in self.blocks:
            x = block(x)
        if self.heads:
            q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for _ in range(3))
            x = x + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.head(x).square().mean()


def train(seed: int, offloads: Callable[[random.Random], Callable[[], Any]] | None) -> tuple[list[float], list[torch.Tensor]]:
    """Losses and weights. What is drawn is the same with and without offloads."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    model = Model(draw)
    optimizer = draw.choice((torch.optim.SGD, torch.optim.AdamW))(model.parameters(), lr=0.01)
    parts, steps = draw.choice((1, 1, 2, 3)), draw.randint(5, 8)
    is_open = draw.random() < 0.3  # one block around all, backward too
    is_joined = draw.random() < 0.2  # one backward for all parts
    keeps = draw.random() < 0.2  # two backwards of one graph
    odd = draw.choice((None, draw.randrange(steps)))  # a step of another size
    needs = draw.random() < 0.5  # a gradient of the input
    looks = draw.random() < 0.3  # a forward without a backward
    context = offloads(random.Random(seed)) if offloads is not None else contextlib.nullcontext
    losses = []
    with context() if is_open else contextlib.nullcontext():
        for step in range(steps):
            total: Any = 0.0
            for _ in range(parts):
                x = torch.randn(2, 3 if step == odd else 5, model.width, requires_grad=needs and step != odd)
                with contextlib.nullcontext() if is_open else context():
                    loss = model(x)
                    if looks:
                        model(x)
                losses.append(loss.item())
                if is_joined:
                    total = total + loss
                    continue
                loss.backward(retain_graph=keeps)
                if keeps:
                    loss.backward()
            if is_joined:
                total.backward()
            optimizer.step()
            optimizer.zero_grad()
    return losses, [weight.detach().clone() for weight in model.parameters()]
