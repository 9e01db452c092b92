"""ResNet-50 with mixed precision, from torchvision."""
import torch
import torchvision

device = torch.device("cuda")
model = torchvision.models.resnet50().to(device, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cuda")
loss_function = torch.nn.CrossEntropyLoss()
for step in range(20):
    images = torch.randn(64, 3, 224, 224).to(device, memory_format=torch.channels_last, non_blocking=True)
    labels = torch.randint(0, 1000, (64,)).to(device)
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_function(model(images), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(step, loss.item())
