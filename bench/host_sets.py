"""host_sets.py ALLOCATOR SET: runs one program that pins memory, and prints what was asked for and what was pinned, as JSON. bench/host runs it.

ALLOCATOR is `native`, `seam` or `stitched` (Seam with host_stitch). A program is a generator that yields where one of its iterations ends. What it asked for is counted here, in Python,
where tensors are made and where they die, the same for both; what was pinned is PyTorch's own `host_memory_stats()`. Not here: times (host_times.py)
and tables (bench/host).
"""

from __future__ import annotations

import json
import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ROUNDS = 3  # of what is held: made, freed, made again in an order that is drawn
ITERATIONS = 5
EPOCHS = 4
SEED = 20

# Llama2-7B: width, width of the feed-forward part, layers, heads, words.
WIDTH, INNER, LAYERS, HEADS, WORDS = 4096, 11008, 32, 32, 32000
LLAMA_LAYER = [WIDTH * WIDTH] * 4 + [WIDTH * INNER] * 3 + [WIDTH] * 2
LLAMA = [WORDS * WIDTH, *LLAMA_LAYER * LAYERS, WIDTH, WORDS * WIDTH]
RANKS = 8
FLAT = [sum(LLAMA_LAYER) // RANKS] * LAYERS + [(2 * WORDS * WIDTH + WIDTH) // RANKS]

# QwQ-32B-AWQ, a layer as vLLM fuses it: inputs and outputs of the four products. Four bits a weight; groups of 128 have a scale of 16 bits and a zero of four.
QWQ = ((5120, 7168), (5120, 5120), (5120, 2 * 27648), (27648, 5120))
QWQ_PRODUCTS = [size for rows, columns in QWQ for size in (rows * columns // 2, rows // 128 * columns * 2, rows // 128 * columns // 2)]
QWQ_LAYER = QWQ_PRODUCTS + [7168 * 2, 5120 * 2, 5120 * 2]  # a bias and two norms

Program = Callable[[], Iterator[None]]


class Asked:
    """Bytes of pinned tensors that live, and the most of them so far."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a tensor may die while another is noted
        self.live = self.peak = 0

    def gone(self, size: int) -> None:
        with self.lock:
            self.live -= size

    def noted(self, make: Callable[..., torch.Tensor], given: Any, named: Any, source: Any = None) -> torch.Tensor:
        """Makes a tensor and counts it. Nothing dies for the count in between: the pool has what is counted, and no more."""
        with self.lock:
            made = make(*given, **named)
            if made is source:
                return made
            size = made.untyped_storage().nbytes()
            self.live += size
            self.peak = max(self.peak, self.live)
        weakref.finalize(made, self.gone, size).atexit = False
        return made

    def watch(self) -> None:
        """Counts what torch.empty(pin_memory=True) and Tensor.pin_memory() give from here on: the ways that save_on_cpu and DataLoader take too."""
        empty, pin = torch.empty, torch.Tensor.pin_memory

        def noted_empty(*arguments: Any, **named: Any) -> torch.Tensor:
            return self.noted(empty, arguments, named) if named.get("pin_memory") else empty(*arguments, **named)

        def noted_pin(tensor: torch.Tensor, *arguments: Any) -> torch.Tensor:
            return self.noted(pin, (tensor, *arguments), {}, tensor)

        torch.empty, torch.Tensor.pin_memory = noted_empty, noted_pin  # type: ignore[assignment, method-assign]


def held(sizes: list[int]) -> Program:
    """Tensors of these bytes, all held at once."""

    def program() -> Iterator[None]:
        draw = random.Random(SEED)
        order = list(sizes)
        for _ in range(ROUNDS):
            kept = [torch.empty(size, dtype=torch.uint8, pin_memory=True) for size in order]
            yield
            del kept
            draw.shuffle(order)

    return program


def saved_by_layer(tokens: int) -> list[tuple[int, torch.dtype]]:
    """What an eager layer of Llama2-7B saves: an input for each product that reads it, and weights, which save_on_cpu moves too."""
    hidden, inner = tokens * WIDTH, tokens * INNER
    norm = [(hidden, torch.bfloat16), (tokens, torch.float32), (WIDTH, torch.bfloat16)]
    products = [(hidden, torch.bfloat16), (WIDTH * WIDTH, torch.bfloat16)]
    rotary = [(tokens * WIDTH // HEADS, torch.bfloat16)] * 4
    attention = [(hidden, torch.bfloat16)] * 4 + [(tokens * HEADS, torch.float32), (2, torch.int64), (1, torch.int64)]
    feed = [(hidden, torch.bfloat16), (WIDTH * INNER, torch.bfloat16)] * 2 + [(inner, torch.bfloat16)] * 4 + [(WIDTH * INNER, torch.bfloat16)]
    return norm + products * 3 + rotary + attention + products + norm + feed


class Layer(torch.autograd.Function):
    """Saves what a layer saves, and computes nothing."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, tokens: int) -> torch.Tensor:  # type: ignore[override]
        ctx.save_for_backward(*(torch.empty(count, dtype=dtype, device="cuda") for count, dtype in saved_by_layer(tokens)))
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:  # type: ignore[override]
        return gradient.clone() if len(ctx.saved_tensors) else gradient, None


def offloaded(lengths: Callable[[random.Random], int]) -> Program:
    """Activations on the host by PyTorch's own save_on_cpu."""

    def program() -> Iterator[None]:
        draw = random.Random(SEED)
        for _ in range(ITERATIONS):
            tokens = lengths(draw)
            x = first = torch.empty(tokens, WIDTH, dtype=torch.bfloat16, device="cuda", requires_grad=True)
            with torch.autograd.graph.save_on_cpu(pin_memory=True):
                for _ in range(LAYERS):
                    x = Layer.apply(x, tokens)
            x.backward(torch.empty_like(x))
            del x, first
            yield

    return program


class Images(Dataset[tuple[torch.Tensor, int]]):
    """500 pictures of 224 by 224."""

    def __len__(self) -> int:
        return 500

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        return torch.zeros(3, 224, 224), number % 10


def drawn(least: int, most: int) -> Program:
    """A request's size is drawn, and so is which of sixteen tensors it replaces: no size comes twice, and nothing ends together."""

    def program() -> Iterator[None]:
        draw = random.Random(SEED)
        kept = [torch.empty(0)] * 16
        for _ in range(ITERATIONS):
            for _ in range(200):
                place = draw.randrange(16)
                kept[place] = torch.empty(0)
                kept[place] = torch.empty(draw.randint(least, most), dtype=torch.uint8, pin_memory=True)
            yield

    return program


class Texts(Dataset[torch.Tensor]):
    """1,000 texts whose lengths are drawn."""

    def __init__(self) -> None:
        draw = random.Random(SEED)
        self.lengths = [draw.randint(128, 8192) for _ in range(1000)]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> torch.Tensor:
        return torch.zeros(self.lengths[number], dtype=torch.int64)


def padded(texts: list[torch.Tensor]) -> list[torch.Tensor]:
    """Words, which of them count, and labels."""
    words = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    return [words, torch.ones_like(words), words.clone()]


def loaded(data: Callable[[], Dataset[Any]], **options: Any) -> Program:
    """Batches of a DataLoader with two workers, in an order that is drawn, copied to the GPU. Each step waits for the GPU, as one that reads its loss does."""

    def program() -> Iterator[None]:
        generator = torch.Generator().manual_seed(SEED)
        loader = DataLoader(data(), shuffle=True, generator=generator, num_workers=2, pin_memory=True, **options)
        for _ in range(EPOCHS):
            for batch in loader:
                on_device = [tensor.to("cuda", non_blocking=True) for tensor in batch]
                torch.cuda.synchronize()
            del batch, on_device
            yield

    return program


def experts() -> list[int]:
    """146.7 GiB in pairs of 2.25 GiB and 1.125 GiB, and what is left."""
    whole = int(146.7 * GIB)
    pair = [9 * GIB // 4, 9 * GIB // 8]
    pairs, rest = divmod(whole, sum(pair))
    return [*pair * pairs, rest]


# Each program, and what stands for it.
SETS: dict[str, tuple[Program, str]] = {
    "vllm#53042": (held([2053 * 1089536] * 24), "24 tensors of (2053, 1089536) int8, as the issue lists for a rank"),
    "vllm#56410": (held(QWQ_LAYER * 64), "QwQ-32B-AWQ at the fused shapes, all 64 layers; shapes from its configuration"),
    "sglang#39021": (held([int(40.88 * GIB / 34)] * 34), "34 layer stores of 40.88 GiB"),
    "sglang#40626": (held([int(47.7 * GIB)]), "47.7 GiB, assumed to be one buffer"),
    "sglang#36562": (held([int(20.4 * GIB)]), "20.4 GiB a rank, one buffer"),
    "vllm-backport#67": (held(experts()), "146.7 GiB of experts, assumed to be pairs of the issue's 2.25 and 1.125 GiB, and the rest"),
    "Llama2-7B": (held([2 * count for count in LLAMA]), "each tensor, bf16"),
    "Llama2-7B, AdamW": (held([4 * count for count in LLAMA for _ in range(3)]), "weights and two moments of each tensor, fp32"),
    "Llama2-7B, FSDP": (
        held([size * count for count in FLAT for size in (2, 2, 4, 4)]),
        "a flat buffer a layer: bf16 weights and gradient, two fp32 moments; a rank of 8",
    ),
    "drawn": (drawn(1 * MIB, 64 * MIB), "16 tensors, 1,000 times one is replaced by one of 1 to 64 MiB, both drawn"),
    "images": (loaded(Images, batch_size=64), "DataLoader, 500 x 3 x 224 x 224 fp32, batches of 64, the last of 52; 4 epochs"),
    "texts": (
        loaded(Texts, batch_size=48, collate_fn=padded),
        "DataLoader, 1,000 texts of 128 to 8,192 words, batches of 48, the last of 40, three int64 tensors each; 4 epochs",
    ),
    "offload": (offloaded(lambda draw: 4096), "save_on_cpu of what 32 layers of Llama2-7B save, 4,096 tokens; 5 iterations"),
    "offload, lengths": (offloaded(lambda draw: draw.randint(512, 4096)), "the same, 512 to 4,096 tokens drawn for each iteration"),
}


def run(program: Program) -> dict[str, int]:
    """Its figures."""
    asked = Asked()
    asked.watch()
    calls = [0]
    for _ in program():
        torch.cuda.synchronize()
        calls.append(torch.cuda.host_memory_stats()["num_host_alloc"])
    return {"asked": asked.peak, "pinned": torch.cuda.host_memory_stats()["allocated_bytes.peak"], "calls": calls[-1], "last": calls[-1] - calls[-2]}


def main() -> None:
    """Prints a line."""
    allocator, name = sys.argv[1:]
    torch.cuda.init()
    if allocator != "native":
        import seamalloc

        seamalloc.enable(door="class", pinned=True)
    print(json.dumps(run(SETS[name][0])))


if __name__ == "__main__":
    main()
