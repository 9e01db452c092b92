"""ViT-L/16 of torchvision as in rasbt/pytorch-memory-optim (01 to 05) and, --tutorial, as in PyTorch's tutorial "How to save memory by fusing the optimizer step into the backward pass"."""

import argparse
import contextlib

import torch
from torchvision.models import vit_l_16

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--precision", choices=("32", "16-mixed", "bf16-true"), default="32")
parser.add_argument("--tutorial", choices=("plain", "fused"))
options = parser.parse_args()


def tutorial(fused):
    model = vit_l_16().cuda()
    if fused:
        optimizers = {parameter: torch.optim.Adam([parameter], foreach=False) for parameter in model.parameters()}

        def hook(parameter):
            optimizers[parameter].step()
            optimizers[parameter].zero_grad()

        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(hook)
    else:
        optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        model(torch.rand(1, 3, 224, 224).cuda()).sum().backward()
        if not fused:
            optimizer.step()
            optimizer.zero_grad()


def finetune():
    """Fabric's "16-mixed" is autocast with a GradScaler, its "bf16-true" a model and images of bfloat16."""
    model = vit_l_16()
    model.heads.head = torch.nn.Linear(in_features=1024, out_features=10)
    kind = torch.bfloat16 if options.precision == "bf16-true" else torch.float32
    model.to("cuda", kind).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-5)
    mixed = options.precision == "16-mixed"
    scaler = torch.amp.GradScaler("cuda", enabled=mixed)
    for batch in range(100):
        features, targets = torch.randn(options.batch, 3, 224, 224).to("cuda", kind), torch.randint(0, 10, (options.batch,)).to("cuda")
        with torch.autocast("cuda", torch.float16) if mixed else contextlib.nullcontext():
            logits = model(features)
        loss = torch.nn.functional.cross_entropy(logits, targets) / options.accumulate
        if options.accumulate == 1:
            optimizer.zero_grad()
        scaler.scale(loss).backward()
        if batch % options.accumulate == 0:
            scaler.step(optimizer)
            scaler.update()
            if options.accumulate > 1:
                optimizer.zero_grad()


tutorial(options.tutorial == "fused") if options.tutorial else finetune()
