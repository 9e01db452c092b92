"""Llama (1.1B shape) from a config, with Hugging Face's Trainer, gradient checkpointing."""
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        ids = torch.randint(0, 32000, (2048,))
        return {"input_ids": ids, "labels": ids}


config = LlamaConfig(hidden_size=2048, intermediate_size=5632, num_hidden_layers=22, num_attention_heads=32, num_key_value_heads=4)
model = LlamaForCausalLM(config)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder, per_device_train_batch_size=2, max_steps=50, bf16=True, gradient_checkpointing=True, report_to=[], save_strategy="no"
    )
    Trainer(model=model, args=arguments, train_dataset=Texts()).train()
