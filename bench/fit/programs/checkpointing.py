"""A transformer whose blocks are recomputed."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

blocks = nn.ModuleList(nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, norm_first=True) for _ in range(24)).cuda()
head = nn.Linear(1024, 32000).cuda()
optimizer = torch.optim.Adam([*blocks.parameters(), *head.parameters()])
for step in range(20):
    x = torch.randn(8, 512, 1024, device="cuda")
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    loss = nn.functional.cross_entropy(head(x).flatten(0, 1), torch.randint(0, 32000, (8 * 512,), device="cuda"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
