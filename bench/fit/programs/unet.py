"""A diffusion U-Net (Stable Diffusion's shape, smaller) from a config, from diffusers."""
import torch
from diffusers import DDPMScheduler, UNet2DConditionModel

model = UNet2DConditionModel(sample_size=64, block_out_channels=(320, 640, 1280, 1280), cross_attention_dim=768, layers_per_block=1).cuda()
scheduler = DDPMScheduler()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for step in range(20):
    latents = torch.randn(2, 4, 64, 64, device="cuda")
    noise = torch.randn_like(latents)
    times = torch.randint(0, 1000, (2,), device="cuda")
    text = torch.randn(2, 77, 768, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        predicted = model(scheduler.add_noise(latents, noise, times), times, text).sample
        loss = torch.nn.functional.mse_loss(predicted.float(), noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
