"""GPT-2 with 10 billion parameters, batch 16 (ProTrain 3.2): the memory at every border of a module that hooks see, and the most there is. Blocks are recomputed, and gradients leave at once."""

import torch
from torch.nn.modules import module as hooks
from transformers import GPT2Config, GPT2LMHeadModel

with torch.device("cuda"):
    model = GPT2LMHeadModel._from_config(GPT2Config(n_embd=4096, n_layer=48, n_head=32), dtype=torch.bfloat16)
model.train()
model.gradient_checkpointing_enable()
states = torch.cuda.memory_allocated()
seen = [0]


def look(*_):
    seen[0] = max(seen[0], torch.cuda.memory_allocated())


def leave(parameter):
    parameter.grad = None


for register in (hooks.register_module_forward_pre_hook, hooks.register_module_forward_hook, hooks.register_module_full_backward_pre_hook, hooks.register_module_full_backward_hook):
    register(look)
for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(leave)
for _ in range(2):
    ids = torch.randint(0, 50257, (16, 1024), device="cuda")
    model(input_ids=ids, labels=ids).loss.backward()
print("states", states, "seen", seen[0])
