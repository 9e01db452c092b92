"""GPT-2 (124M) from a config, with Hugging Face's Trainer."""
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        ids = torch.randint(0, 50257, (1024,))
        return {"input_ids": ids, "labels": ids}


model = GPT2LMHeadModel(GPT2Config())
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=4, max_steps=50, bf16=True, report_to=[], logging_steps=10, save_strategy="no")
    Trainer(model=model, args=arguments, train_dataset=Texts()).train()
