"""DistributedDataParallel on one rank."""
import os

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29517")
torch.distributed.init_process_group("gloo", rank=0, world_size=1)
model = DistributedDataParallel(nn.Sequential(*(nn.Sequential(nn.Linear(2048, 2048), nn.GELU()) for _ in range(16))).cuda(), device_ids=[0])
optimizer = torch.optim.AdamW(model.parameters())
for step in range(20):
    loss = model(torch.randn(256, 2048, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
torch.distributed.destroy_process_group()
