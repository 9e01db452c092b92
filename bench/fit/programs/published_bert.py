"""BERT-large as in Hugging Face's "Efficient Training on a Single GPU" (docs/source/en/perf_train_gpu_one.mdx), its arguments as options.

--then: as the libraries of January 2022 (PyTorch 1.10) did it: softmax apart, a step parameter by parameter, gradients that zero_grad() fills with 0 and keeps.
"""

import argparse
import functools
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        return {"input_ids": torch.randint(100, 30000, (512,)), "labels": torch.tensor(0)}


parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--checkpoint", action="store_true")
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--optim", default="")
parser.add_argument("--then", action="store_true")
options = parser.parse_args()
config = BertConfig(vocab_size=30522, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
config._attn_implementation = "eager" if options.then else "sdpa"
model = BertForSequenceClassification(config).to("cuda")
optimizer = None
if options.then:
    model.zero_grad = functools.partial(model.zero_grad, set_to_none=False)
    optimizer = None if options.optim else torch.optim.AdamW(model.parameters(), lr=5e-5, foreach=False)
more = {"optim": options.optim} if options.optim else {}
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder, num_train_epochs=1, log_level="error", report_to="none", per_device_train_batch_size=options.batch,
        gradient_accumulation_steps=options.accumulate, gradient_checkpointing=options.checkpoint, fp16=options.fp16, **more,
    )  # fmt: skip
    Trainer(model=model, args=arguments, train_dataset=Texts(), optimizers=(optimizer, None)).train()
