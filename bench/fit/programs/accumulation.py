"""Gradient accumulation with a GradScaler, as in PyTorch's notes."""
import torch
from torch import nn

model = nn.Transformer(512, 8, 6, 6, 2048, batch_first=True).cuda()
optimizer = torch.optim.Adam(model.parameters())
scaler = torch.amp.GradScaler()
for step in range(80):
    source, target = torch.randn(16, 128, 512, device="cuda"), torch.randn(16, 128, 512, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(source, target), target) / 4
    scaler.scale(loss).backward()
    if (step + 1) % 4 == 0:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
