"""A Llama with grouped queries, of a config: a plain loop."""
import argparse

import torch
from transformers import LlamaConfig, LlamaForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--cache", action="store_true", help="keys and values kept as for generating")
options = parser.parse_args()
config = LlamaConfig(hidden_size=1024, intermediate_size=3584, num_hidden_layers=12, num_attention_heads=16, num_key_value_heads=4, use_cache=options.cache)
model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(20):
    ids = torch.randint(0, 32000, (options.batch_size, 2048), device="cuda")
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
