"""A Mixtral of a config: a mixture of experts."""
import argparse

import torch
from transformers import MixtralConfig, MixtralForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--no-cache", action="store_true", help="keys and values not kept")
options = parser.parse_args()
config = MixtralConfig(hidden_size=1024, intermediate_size=3584, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4, num_local_experts=8, use_cache=not options.no_cache)
model = MixtralForCausalLM(config).to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(20):
    ids = torch.randint(0, 32000, (options.batch_size, 1024), device="cuda")
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
