"""The training loop that is traced, written as users write it, and the settings that it runs under."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import random
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional as F

from modeltrace import events, models
from modeltrace.layers import Linear
from modeltrace.recorder import Recorder

# Optimizers by name. PyTorch takes the foreach form on CUDA when asked for nothing.
OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "adamw": (torch.optim.AdamW, {"foreach": True}),
    "adamw-foreach": (torch.optim.AdamW, {"foreach": True}),
    "adamw-fused": (torch.optim.AdamW, {"fused": True}),
    "adamw-loop": (torch.optim.AdamW, {"foreach": False}),
    "sgd": (torch.optim.SGD, {"foreach": True}),
    "sgd-momentum": (torch.optim.SGD, {"foreach": True, "momentum": 0.9}),
}


@dataclasses.dataclass(frozen=True)
class Run:
    """One configuration of the loop. `vary`: how sequence lengths change between micro-batches."""

    shape: models.Shape
    batch: int
    tokens: int
    iterations: int
    recompute: str = "none"
    lora: int = 0
    dropout: float = 0.1
    micro_batches: int = 1
    vary: str = "no"
    optimizer: str = "adamw"
    clip: float = 0.0
    eval_every: int = 0
    dtype: str = "bf16"
    seed: int = 0


class Loader:
    """Batches of token ids, made on the host and copied to the device as a data loader's are."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._random = random.Random(run.seed)

    def tokens(self) -> int:
        """The length of the next batch: padded to a few buckets ("buckets"), or to its longest sequence ("wide")."""
        longest = self._run.tokens
        if self._run.vary == "buckets":
            return longest * self._random.choice((1, 2, 3, 4)) // 4
        if self._run.vary == "wide":
            return self._random.randint(max(1, longest // 8), longest)
        return longest

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets on the device."""
        tokens = self.tokens()
        return self._copied(tokens), self._copied(tokens)

    def _copied(self, tokens: int) -> torch.Tensor:
        return torch.zeros(self._run.batch, tokens, dtype=torch.int64).to(models.DEVICE)


@contextlib.contextmanager
def meta_counts_as_cuda() -> Iterator[None]:
    """Lets optimizers and gradient clipping take their CUDA forms, which PyTorch allows on named devices only."""
    from torch.optim import optimizer
    from torch.utils import _foreach_utils

    names = ("_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices")
    patched = [(module, name) for module in (_foreach_utils, optimizer) for name in names if hasattr(module, name)]
    old = [getattr(module, name) for module, name in patched]
    for module, name in patched:
        setattr(module, name, lambda: [models.DEVICE])
    try:
        yield
    finally:
        for (module, name), function in zip(patched, old, strict=True):
            setattr(module, name, function)


def loss_of(out: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Cross entropy in fp32, as every language model computes it."""
    return F.cross_entropy(out.flatten(0, 1).float(), targets.flatten())


def evaluate(model: torch.nn.Module, loader: Loader, recorder: Recorder) -> None:
    """One batch without gradients."""
    model.eval()
    with torch.no_grad(), recorder.phase("eval"):
        inputs, targets = loader.next()
        loss_of(model(inputs), targets).item()
    model.train()


def train(run: Run, model: torch.nn.Module, recorder: Recorder) -> None:
    """The loop. `out` and `loss` live until the next micro-batch has theirs, gradients until the next iteration
    begins."""
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    kind, settings = OPTIMIZERS[run.optimizer]
    optimizer = kind(weights, lr=1e-4, **settings)
    loader = Loader(run)
    for iteration in range(run.iterations):
        optimizer.zero_grad(set_to_none=True)
        for recorder.microbatch in range(run.micro_batches):
            with recorder.phase("forward"):
                inputs, targets = loader.next()
                out = model(inputs)
                loss = loss_of(out, targets) / run.micro_batches
            with recorder.phase("backward"):
                loss.backward()
        recorder.microbatch = 0
        with recorder.phase("optimizer"):
            if run.clip:
                torch.nn.utils.clip_grad_norm_(weights, run.clip, foreach=True)
            optimizer.step()
        loss.item()
        if run.eval_every and (iteration + 1) % run.eval_every == 0:
            evaluate(model, loader, recorder)
        recorder.step(iteration)
    # The program goes on: what only the loop held is given back, weights and optimizer state stay.
    optimizer.zero_grad(set_to_none=True)
    del inputs, targets, out, loss
    recorder.end()


def trace(run: Run, source: str) -> tuple[events.Trace, int]:
    """Runs the loop under a recorder. Returns the trace and the bytes of the model's parameters and buffers."""
    Linear.compute_dtype = torch.bfloat16
    options = models.Options(
        recompute=run.recompute,
        lora=run.lora,
        dropout=run.dropout,
        weight_dtype=torch.float32 if run.dtype == "amp" else torch.bfloat16,
        seed=run.seed,
    )
    recorder = Recorder(source)
    gc.disable()  # frees must come from reference counts alone: when a collection runs is nothing to reproduce
    try:
        with meta_counts_as_cuda(), torch.autograd.set_multithreading_enabled(False), recorder:
            model = models.build(run.shape, options)
            recorder.watch_model(model)
            recorder.begin()
            train(run, model, recorder)
    finally:
        gc.enable()
    return recorder.trace, weight_bytes(model)


def weight_bytes(model: torch.nn.Module) -> int:
    """Bytes of parameters and buffers, tied ones once."""
    tensors = [*model.parameters(), *model.buffers()]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
