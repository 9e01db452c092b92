#!/usr/bin/env python3
"""The recorder against a GPU: a model like that of a recorded PyTorch memory snapshot, traced, must ask for what was
recorded.

The snapshot (train_gpt_12x768 of the folder SEAM_TRACES) holds a forward, a loss and a backward in fp32, in eager
mode, with gradients there from before. Its sizes and frames tell what the program computed; Transformer is written
after them.

Skips (77) without PyTorch or without the snapshot.
"""

from __future__ import annotations

import difflib
import gc
import lzma
import math
import os
import pathlib
import pickle
import sys
import unittest
import warnings
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
sys.dont_write_bytecode = True

import trace_model

SNAPSHOT = pathlib.Path(os.environ.get("SEAM_TRACES", "")) / "snapshots/train_gpt_12x768.pickle.xz"
if not os.environ.get("SEAM_TRACES") or not SNAPSHOT.exists():
    print("SEAM_TRACES names no folder with snapshots/train_gpt_12x768.pickle.xz: skipped", file=sys.stderr)
    sys.exit(77)
trace_model.find_torch()
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")

import torch
from torch import nn

from modeltrace import events
from modeltrace.recorder import Recorder

LAYERS, WIDTH, HEADS, FEED, VOCABULARY, BATCH, TOKENS = 12, 768, 12, 3072, 10000, 32, 256


class Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, device="meta"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.einsum("...i,oi->...o", x, self.weight)


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(WIDTH, device="meta"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * x


class Rotation(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.empty(2, TOKENS, WIDTH // HEADS // 2, device="meta"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = x.unflatten(-1, (-1, 2))
        even, odd = pairs[..., 0], pairs[..., 1]
        cos, sin = self.table
        first = cos * even - sin * odd
        second = sin * even + cos * odd
        return torch.stack((first, second), dim=-1).flatten(-2)


def softmax(x: torch.Tensor) -> torch.Tensor:
    shifted = x - torch.max(x, dim=-1, keepdim=True)[0]
    powers = torch.exp(shifted)
    return powers / torch.sum(powers, dim=-1, keepdim=True)


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(query.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = softmax(scores)
    return torch.einsum("...qk,...kd->...qd", weights, value)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (Linear(WIDTH, WIDTH) for _ in range(4))
        self.rotate = Rotation()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        query, key, value = self.query(x), self.key(x), self.value(x)
        query, key, value = (part.view(batch, tokens, HEADS, -1).transpose(1, 2) for part in (query, key, value))
        query = self.rotate(query)
        key = self.rotate(key)
        places = torch.arange(tokens, device=x.device)
        mask = places.view(1, 1, tokens, 1) >= places.view(1, 1, 1, tokens)
        mixed = attention(query, key, value, mask)
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, width)
        return self.output(mixed)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2, self.attention = Norm(), Norm(), Attention()
        self.gate, self.down, self.up = Linear(WIDTH, FEED), Linear(FEED, WIDTH), Linear(WIDTH, FEED)

    def feed(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.gate(x)
        return self.down(gate * torch.sigmoid(gate) * self.up(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mixed = self.attention(self.norm1(x))
        middle = x + mixed
        fed = self.feed(self.norm2(middle))
        return middle + fed


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(VOCABULARY, WIDTH, device="meta"))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = Norm(), Linear(WIDTH, VOCABULARY)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding[ids]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def log_softmax(x: torch.Tensor) -> torch.Tensor:
    x = x - torch.max(x, dim=-1, keepdim=True)[0]
    return x - torch.log(torch.sum(torch.exp(x), dim=-1, keepdim=True))


def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    negative = -log_softmax(logits)
    return torch.mean(torch.gather(negative, -1, targets.unsqueeze(-1)))


def traced() -> list[tuple[bool, int]]:
    """Allocations (True) and frees of the second of two equal forwards and backwards, with their sizes."""
    recorder = Recorder("test")
    gc.disable()
    with torch.autograd.set_multithreading_enabled(False), recorder:
        model = Transformer()
        ids = torch.zeros(BATCH, TOKENS, dtype=torch.int64).to("meta")
        for _ in range(2):
            recorder.trace.events.clear()
            with recorder.phase("forward"):
                logits = model(ids)
                loss = loss_of(logits, ids)
            with recorder.phase("backward"):
                loss.backward()
        recorder.end()
    gc.enable()
    kinds = (events.ALLOC, events.FREE)
    return [(event.kind == events.ALLOC, event.size) for event in recorder.trace.events if event.kind in kinds]


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} in a snapshot")


def recorded() -> list[tuple[bool, int]]:
    """The same of the snapshot."""
    with lzma.open(SNAPSHOT) as file:
        traces = PlainUnpickler(file).load()["device_traces"]
    kinds = {"alloc": True, "free_completed": False}
    entries = max(traces, key=len)
    return [(kinds[entry["action"]], entry["size"]) for entry in entries if entry["action"] in kinds]


def matched(real: list[Any], ours: list[Any]) -> float:
    """The share of both that is common, in order."""
    blocks = difflib.SequenceMatcher(None, real, ours, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / max(len(real), len(ours))


def peak(steps: list[tuple[bool, int]]) -> int:
    live = most = 0
    for taken, size in steps:
        live += size if taken else -size
        most = max(most, live)
    return most


class Recorded(unittest.TestCase):
    real: list[tuple[bool, int]]
    ours: list[tuple[bool, int]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.real, cls.ours = recorded(), traced()

    def test_allocations(self) -> None:
        share = matched([size for taken, size in self.real if taken], [size for taken, size in self.ours if taken])
        self.assertGreater(share, 0.995)

    def test_allocations_and_frees(self) -> None:
        self.assertGreater(matched(self.real, self.ours), 0.99)

    def test_peak(self) -> None:
        """To a ten-thousandth: what is there before counts in neither."""
        self.assertAlmostEqual(peak(self.ours) / peak(self.real), 1.0, delta=1e-4)


if __name__ == "__main__":
    unittest.main()
