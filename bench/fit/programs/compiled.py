"""A GPT under torch.compile."""

import torch
from gpt import GPT
from torch import nn

model = GPT().to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
compiled = torch.compile(model)
for step in range(20):
    ids = torch.randint(0, 50257, (8, 1024), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = compiled(ids)
        loss = nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), ids.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
