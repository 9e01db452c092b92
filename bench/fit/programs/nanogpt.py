"""A training loop as nanoGPT's: --layers 48 --width 4096 is GPT-2 with 10 billion parameters."""

import argparse

import torch
from gpt import GPT
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--layers", type=int, default=12)
parser.add_argument("--width", type=int, default=768)
parser.add_argument("--fused", action="store_true")
options = parser.parse_args()
model = GPT(options.layers, options.width, options.width // 64)
print(f"{sum(parameter.numel() for parameter in model.parameters()) / 1e6:.1f} M parameters")
model.to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), fused=options.fused or None)
for step in range(20):
    ids = torch.randint(0, 50257, (options.batch_size, 1024)).to("cuda", non_blocking=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = model(ids)
        loss = nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), ids.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        print(step, loss.item(), torch.cuda.max_memory_allocated())
