"""A CUDA graph of the whole step, as in PyTorch's notes."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4096, 4096), nn.Dropout(0.2), nn.Linear(4096, 4096), nn.Dropout(0.1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
static_input = torch.randn(640, 4096, device="cuda")
static_target = torch.randn(640, 4096, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(static_input), static_target)
        loss.backward()
        optimizer.step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    static_loss = nn.functional.mse_loss(model(static_input), static_target)
    static_loss.backward()
    optimizer.step()
for step in range(10):
    static_input.copy_(torch.randn(640, 4096, device="cuda"))
    graph.replay()
