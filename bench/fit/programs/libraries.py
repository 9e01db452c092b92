"""A small model in which one of CUDA's libraries works, beside products: libraries.py convolution | recurrent | ctc | transform | decomposition | sparse."""
import sys

import torch
from torch import nn

what = sys.argv[1]
width, batch, steps = 512, 32, 256
model = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)).cuda()
layer = nn.Conv1d(width, width, 5, padding=2) if what == "convolution" else nn.LSTM(width, width, 2, dropout=0.1) if what == "recurrent" else nn.Identity()
layer.cuda()
near = torch.sparse_coo_tensor(torch.randint(0, steps, (2, 8 * steps)).cuda(), torch.ones(8 * steps, device="cuda"), (steps, steps), is_coalesced=True)
letters, longest = 32, 200  # of texts
targets = torch.randint(1, letters, (batch * longest,), dtype=torch.int32)  # as cuDNN wants them
shares = torch.rand(steps // 2 + 1, 1, width, device="cuda")
optimizer = torch.optim.AdamW([*model.parameters(), *layer.parameters()])
for step in range(20):
    x = model(torch.randn(steps, batch, width, device="cuda"))
    if what == "convolution":
        x = layer(x.permute(1, 2, 0))
    elif what == "recurrent":
        x = layer(x)[0]
    elif what == "transform":
        x = torch.fft.irfft(torch.fft.rfft(x, dim=0) * shares, n=steps, dim=0)
    elif what == "sparse":
        x = near @ x.flatten(1)
    loss = x.square().mean()
    if what == "ctc":
        loss = nn.functional.ctc_loss(x[..., :letters].log_softmax(-1), targets, torch.full((batch,), steps), torch.full((batch,), longest))
    elif what == "decomposition":
        loss = loss + torch.linalg.svdvals(x.transpose(0, 1)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
