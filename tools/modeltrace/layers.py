"""The parts of which the models are built, written so that they allocate on the meta device what they would on CUDA.

PyTorch chooses some kernels by device. Where its choice for the meta device would allocate otherwise than its choice
for CUDA, the parts here call the CUDA kernel's operator by name (dropout, flash attention) or stand in for it
(RMSNorm).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Linear(nn.Linear):
    """A linear layer that computes in `compute_dtype`, casting weights as autocast does when they are kept in fp32."""

    compute_dtype = torch.bfloat16

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Casts are no operators where the type is already right."""
        bias = None if self.bias is None else self.bias.to(self.compute_dtype)
        return F.linear(input.to(self.compute_dtype), self.weight.to(self.compute_dtype), bias)


class LoraLinear(nn.Module):
    """A frozen linear layer with a trained update of rank `rank`."""

    def __init__(self, base: Linear, rank: int, dropout: float) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        options: dict[str, Any] = {"device": base.weight.device, "dtype": base.weight.dtype, "bias": False}
        self.down = Linear(base.in_features, rank, **options)
        self.up = Linear(rank, base.out_features, **options)
        self.dropout = Dropout(dropout)
        self.scale = 2.0

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """base(x) + scale * up(down(dropout(x)))."""
        return self.base(input) + self.up(self.down(self.dropout(input))) * self.scale


class Dropout(nn.Module):
    """Dropout by the operator that CUDA uses: one byte of mask per element, kept for backward."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The identity in evaluation, where PyTorch allocates nothing either."""
        if not self.training or self.probability == 0.0:
            return input
        return torch.native_dropout(input, self.probability, True)[0]


class FusedRmsNorm(torch.autograd.Function):
    """CUDA's fused RMSNorm: it keeps its input and one fp32 number per row. On the meta device PyTorch would
    decompose."""

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Output, and the reciprocal root of each row's mean square."""
        root = torch.empty(*input.shape[:-1], 1, dtype=torch.float32, device=input.device)
        ctx.save_for_backward(input, weight, root)
        return torch.empty_like(input)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Gradients of input and of weight."""
        input, weight, _ = ctx.saved_tensors
        return torch.empty_like(input), torch.empty_like(weight) if ctx.needs_input_grad[1] else None


class RmsNorm(nn.Module):
    """Root-mean-square norm with a weight."""

    def __init__(self, width: int, device: str, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, device=device, dtype=dtype))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Same shape and type as the input."""
        return FusedRmsNorm.apply(input, self.weight)


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout: float) -> torch.Tensor:
    """Causal attention over (batch, heads, tokens, width) by the flash kernel, which scaled_dot_product_attention
    picks on CUDA for these types and shapes. It shares key heads among query heads by itself."""
    flash = torch.ops.aten._scaled_dot_product_flash_attention
    return flash(query, key, value, dropout_p=dropout, is_causal=True)[0]


def apply_rope(input: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding in eager mode, with all its temporaries, as public Llama code writes it."""
    left, right = input.chunk(2, dim=-1)
    return input * cos + torch.cat((-right, left), dim=-1) * sin


def rope_table(tokens: int, width: int, inverse: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines for positions 0..tokens-1, computed anew in every forward."""
    positions = torch.arange(tokens, device=inverse.device, dtype=torch.float32)
    angles = torch.outer(positions, inverse)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)
