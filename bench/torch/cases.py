"""What is trained: models with random weights and made-up tokens, of sizes that a table of cases names.

The models are those of the library `transformers`, built from a configuration alone: nothing is downloaded. Tokens come from a generator with a
seed of its own, so that every allocator sees the same data.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator

import torch


@dataclasses.dataclass(frozen=True)
class Case:
    """One program. `lengths`: of the sequences, taken in turn from a seeded shuffle; one length means all alike."""

    family: str
    layers: int
    hidden: int
    heads: int
    key_heads: int
    feed: int
    vocabulary: int
    batch: int
    lengths: tuple[int, ...]
    experts: int = 0
    recompute: bool = False
    lora: int = 0


CASES = {
    "gpt2-345m": Case("gpt2", 24, 1024, 16, 16, 4096, 50304, 8, (1024,)),
    "gpt2-345m-recompute": Case("gpt2", 24, 1024, 16, 16, 4096, 50304, 24, (1024,), recompute=True),
    "llama-1b": Case("llama", 22, 2048, 32, 4, 5632, 32000, 4, (2048,)),
    "llama-1b-variable": Case("llama", 22, 2048, 32, 4, 5632, 32000, 4, (512, 1024, 1536, 2048)),
    "llama-1b-wide": Case("llama", 22, 2048, 32, 4, 5632, 32000, 4, tuple(range(320, 2049, 27))),
    "llama-7b-lora": Case("llama", 32, 4096, 32, 32, 11008, 32000, 2, (2048,), recompute=True, lora=16),
    "moe-8x": Case("mixtral", 12, 1024, 16, 4, 3584, 32000, 4, (1024,), experts=8),
    "tiny": Case("gpt2", 2, 64, 2, 2, 128, 512, 2, (32,)),
    "tiny-variable": Case("llama", 2, 64, 2, 1, 128, 512, 2, (16, 32)),
    "tiny-lora": Case("llama", 2, 64, 2, 2, 128, 512, 2, (32,), recompute=True, lora=4),
    "tiny-moe": Case("mixtral", 2, 64, 2, 1, 128, 512, 2, (32,), experts=4),
}


class Adapted(torch.nn.Module):
    """A frozen linear layer with a trained update of low rank."""

    def __init__(self, frozen: torch.nn.Linear, rank: int) -> None:
        super().__init__()
        made = {"device": frozen.weight.device, "dtype": frozen.weight.dtype}
        self.frozen = frozen
        self.down = torch.nn.Parameter(torch.randn(rank, frozen.in_features, **made) / frozen.in_features**0.5)
        self.up = torch.nn.Parameter(torch.zeros(frozen.out_features, rank, **made))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The frozen layer's result and the update's."""
        return self.frozen(x) + x @ self.down.t() @ self.up.t()


def adapt(model: torch.nn.Module, rank: int) -> None:
    """Freezes the model and gives the attention's linear layers a trained update."""
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Linear) and name in ("q_proj", "k_proj", "v_proj", "o_proj"):
                setattr(module, name, Adapted(child, rank))


def configuration(case: Case) -> object:
    """What `transformers` makes the model from."""
    import transformers

    longest = max(case.lengths)
    if case.family == "gpt2":
        return transformers.GPT2Config(
            vocab_size=case.vocabulary, n_positions=longest, n_embd=case.hidden, n_layer=case.layers, n_head=case.heads,
            n_inner=case.feed, use_cache=False,
        )  # fmt: skip
    common = {
        "vocab_size": case.vocabulary, "hidden_size": case.hidden, "intermediate_size": case.feed,
        "num_hidden_layers": case.layers, "num_attention_heads": case.heads, "num_key_value_heads": case.key_heads,
        "max_position_embeddings": longest, "use_cache": False,
    }  # fmt: skip
    if case.family == "mixtral":
        return transformers.MixtralConfig(num_local_experts=case.experts, num_experts_per_tok=2, **common)
    return transformers.LlamaConfig(**common)


def build(case: Case, device: str, seed: int) -> torch.nn.Module:
    """The model on the device, in bf16 and training mode."""
    import transformers

    torch.manual_seed(seed)
    with torch.device(device):
        model = transformers.AutoModelForCausalLM.from_config(configuration(case), dtype=torch.bfloat16)
    if case.lora:
        adapt(model, case.lora)
    if case.recompute:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if case.lora:
            model.enable_input_require_grads()
    return model.train()


def batches(case: Case, batch: int, device: str, seed: int) -> Iterator[torch.Tensor]:
    """Batches of token ids without end, copied from pinned memory as a data loader does it."""
    generator = torch.Generator().manual_seed(seed)
    order = random.Random(seed)
    lengths: list[int] = []
    while True:
        if not lengths:
            lengths = order.sample(case.lengths, len(case.lengths))
        ids = torch.randint(case.vocabulary, (batch, lengths.pop()), generator=generator)
        yield ids.pin_memory().to(device, non_blocking=True) if device.startswith("cuda") else ids
