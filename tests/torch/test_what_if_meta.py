#!/usr/bin/env python3
"""test_what_if_meta.py LIBRARY PACKAGE TOOL GHOST: `python -m seamalloc what-if --meta` with PyTorch, held against the ghost GPU, and when it is taken. As TAP.

No PyTorch without CUDA is needed: that one is imitated, by taking away what it has not.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from test_what_if_torch import GHOST, LIBRARY, MODEL, PACKAGE, STEPS, TOOL, WEIGHTS, Answer, kinds, run  # noqa: E402, I001
from seamalloc import _what_if, build  # noqa: E402
from tap import ok  # noqa: E402

MIB = 1 << 20
NEAR = 0.001 if build.find_torch().minor >= 15 else 0.02  # 2.11 keeps cuBLAS's workspaces: its peak may be at another moment
TRAINING = """
    import sys, torch
    from torch import nn
    batch = int(sys.argv[1].split("=")[1]) if len(sys.argv) > 1 else 8
    class Block(nn.Module):
        def __init__(self, width=512):
            super().__init__()
            self.norm, self.qkv, self.out, self.drop = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Dropout(0.1)
        def forward(self, x):
            q, k, v = (part.unflatten(-1, (8, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.drop(self.out(mixed.transpose(1, 2).flatten(2)))
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.blocks, self.head = nn.Embedding(8192, 512), nn.ModuleList(Block() for _ in range(4)), nn.Linear(512, 8192, bias=False)
            self.head.weight = self.words.weight
        def forward(self, ids):
            x = self.words(ids)
            for block in self.blocks:
                x = RUN
            return self.head(x)
    model = Model()
    kept = model.words.weight
    model.to("cuda")
    assert kept is model.head.weight and kept.is_cuda and isinstance(kept, nn.Parameter)
    optimizer = torch.optim.AdamW(model.parameters(), fused=FUSED)
    scaler = torch.amp.GradScaler(enabled=SCALED)
    for step in range(100):
        ids = torch.randint(0, 8192, (batch, 512)).to("cuda", non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=CAST):
            loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        loss.item()
"""
CHECKPOINT = "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"
LOSS = STEPS.replace("model(torch.randn(batch, 1024, device=\"cuda\")).square().mean()", "nn.functional.mse_loss(model(torch.randn(batch, 1024, device='cuda')), torch.randn(batch, 1024).cuda())")


def training(run: str = "block(x)", cast: bool = True, fused: bool = False, scaled: bool = False) -> str:
    """The program, so and so."""
    return TRAINING.replace("RUN", run).replace("CAST", str(cast)).replace("FUSED", str(fused or None)).replace("SCALED", str(scaled))


RECURRENT = """
    import torch
    from torch import nn
    layer = nn.LAYER.cuda()
    model = lambda x: RUN[0]
    optimizer = torch.optim.Adam(layer.parameters())
    for step in range(100):
        with torch.autocast("cuda", dtype=torch.float16, enabled=CAST):
            loss = model(torch.randn(96, 64, 256, device="cuda", requires_grad=True)).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def recurrent(layer: str, run: str = "layer(x)", cast: bool = False) -> str:
    """The program, with such a layer."""
    return RECURRENT.replace("LAYER", layer).replace("RUN", run).replace("CAST", str(cast))


PACKED = "nn.utils.rnn.pad_packed_sequence(layer(nn.utils.rnn.pack_padded_sequence(x, torch.arange(96, 32, -1)))[0])"
PROGRAMS = (
    ("a model of linear layers", MODEL, STEPS),
    ("a loss whose memory its mean keeps", MODEL, LOSS),
    ("autocast, attention, dropout, a tied head", training(), ""),
    ("32 bits", training(cast=False), ""),
    ("recomputation, a fused optimizer", training(CHECKPOINT, fused=True), ""),
    ("a GradScaler, gradients clipped", training(scaled=True), ""),
    ("an LSTM with dropout and projections", recurrent("LSTM(256, 512, 3, dropout=0.1, proj_size=128)"), ""),
    ("a GRU in both directions, the batch first", recurrent("GRU(256, 512, 2, bidirectional=True, batch_first=True)"), ""),
    ("packed sequences", recurrent("RNN(256, 512, 2, bias=False)", PACKED), ""),
    ("an LSTM and autocast", recurrent("LSTM(256, 512, 2)", cast=True), ""),
)


def check_sizes() -> None:
    """The peak, and whose it is, as the ghost GPU has it."""
    for title, code, steps in PROGRAMS:
        ghost, meta = (Answer(code, "--gpu", "h100", "--json", *more, steps=steps) for more in ((), ("--meta",)))
        ok((ghost.status, meta.status) == (0, 0), f"{title}: runs on both: {ghost.err[-300:]} {meta.err[-300:]}")
        one, other = ghost.rows()[0], meta.rows()[0]
        one["holders"] = [holder for holder in one["holders"] if holder["where"] != "cuBLAS"]  # older PyTorch keeps workspaces
        peak, held = sum(kinds(one).values()), kinds(other)
        ok(abs(other["peak_live_bytes"] / peak - 1) < NEAR, f"{title}: the peak: {other['peak_live_bytes']} for {peak}")
        far = {kind: (size, held.get(kind, 0)) for kind, size in kinds(one).items() if abs(size - held.get(kind, 0)) > NEAR * peak}
        ok(not far, f"{title}: and its holders: {far}")
        seconds = [row["iteration_seconds_estimated"] for row in (one, other)]
        ok(0.5 < seconds[1] / seconds[0] < 2, f"{title}: the time is near: {seconds}")
        ok(any("meta device" in text for text in other["unseen"]) and not any("meta device" in text for text in one["unseen"]), f"{title}: it is said: {other['unseen']}")


def check_options() -> None:
    """What is built upon a run: batches, profiles, several GPUs."""
    answer = Answer(MODEL, "--memory", "1400M", "--json", "--meta", "--find-batch", "--batch-size={}", "--profile", "p.seamprofile")
    (row,) = answer.rows()
    ok(0 < row["largest_batch"] < 2048 and any("torch.utils.checkpoint" in one["what"] for one in row["advice"]), f"a batch, and advice of other treatments: {row['largest_batch']} {row['advice']}")
    ok(Path("p.seamprofile").stat().st_size > 0, "a profile")
    code = textwrap.dedent(MODEL) + "other = nn.Linear(1024, 1 << 16).to('cuda:1')\noptimizer.add_param_group({'params': other.parameters()})\n"
    steps = STEPS.replace("loss.backward()", "(loss.to('cuda:1') + other(torch.ones(1, 1024, device='cuda:1')).mean()).backward()")
    first, second = Answer(code, "--gpu", "h100", "--gpus", "2", "--json", "--meta", steps=steps).rows()[0]["devices"]
    ok(first["peak_live_bytes"] > 3 * WEIGHTS and second["peak_live_bytes"] > 4 * 1024 * (1 << 16) * 4, f"each GPU has its own: {first} {second}")


BAD = (
    ("an operator that it cannot run", "import torch\nlib = torch.library.Library('mine', 'DEF')\nlib.define('odd(Tensor x) -> Tensor')\ntorch.ops.mine.odd(torch.ones(9).cuda())\n", "cannot run the operator mine.odd"),
    ("a wrapper of PyTorch's own in C++", MODEL + "    nn.parallel.DistributedDataParallel(model)\n", "cannot run DistributedDataParallel"),
    ("a program that fails", "import torch\ntorch.ones(9).cuda()\nopen('/nowhere/data')\n", "FileNotFoundError"),
    ("one that asks for nothing", "print('hello')\n", "asked the GPU for nothing"),
)  # fmt: skip


def check_bad_programs() -> None:
    """One line each."""
    for title, code, words in BAD:
        answer = Answer(code, "--gpu", "h100", "--meta", steps="")
        ok(answer.status == 2 and words in answer.err and "\n" not in answer.err and not answer.left, f"{title}: {answer.status} {answer.err[-300:]}")


def check_values() -> None:
    """Nothing is computed, and that is said."""
    row = Answer(MODEL, "--gpu", "h100", "--json", "--meta", steps=STEPS.replace("loss.backward()", "loss.backward()\n        x = torch.randint(9, (9,), device='cuda')\n        assert torch.tensor([3, 4]).cuda().tolist() == [3, 4] and torch.isfinite(loss)\n        assert x[x > 0].numel() == 0 == len(x.nonzero()) == x.sum().item() == x.cpu().sum() == x.new_zeros(2, 3, device='cpu').sum()\n        x.record_stream(torch.cuda.Stream())\n        assert x.tolist() == 9 * [0] and not torch.allclose(x, x) and len(torch.rand(3, device='cuda', generator=torch.Generator('cuda'))) == 3")).rows()[0]
    told = (" an index by a mask ", " nonzero ", "a number is read")
    ok(all(any(words in text for text in row["unseen"]) for words in told), f"sizes and numbers that depend on values: {row['unseen']}")


# Lines of a program and the bytes of the margin on the ghost GPU, and on the meta device: of a transform, whose stub takes its numbers once, seven times and eight; of decompositions, whose stub takes none, alike.
# Recurrent layers take what the stub has on both.
GRU = 4 * 2 * 3 + 2 * 5 + 3 * 5 * (3 + 5 + 2) + 4 * 2 * 5 + 2 * 5  # numbers: input, state, weights, output, state
MARGINS = (
    ("torch.fft.rfft(torch.randn(100, device='cuda'))", "cuFFT", 7 * 8 * (100 + 51), 8 * 8 * (100 + 51)),
    ("torch.linalg.cholesky(torch.randn(100, 100, device='cuda'))", "cuSOLVER", 4 * 2 * 100 * 100, 4 * 2 * 100 * 100),
    ("nn.GRU(3, 5).cuda().eval()(torch.randn(4, 2, 3, device='cuda'))", "cuDNN", 4 * 4 * GRU, 4 * 4 * GRU),
)


def check_margins() -> None:
    """What libraries could take."""
    for line, library, ghost, meta in MARGINS:
        for more, want in (((), ghost), (("--meta",), meta)):
            answer = Answer(MODEL, "--gpu", "h100", "--json", *more, steps=f"    {line}\n")
            (row,) = answer.rows()
            ok(row["margin_bytes"] == want and any(library in text for text in row["unseen"]), f"{line} {more}: {row['margin_bytes']} for {want}, {row['unseen']}")


SPARSE = """
    import torch
    from torch import nn
    near = torch.sparse_coo_tensor(torch.randint(0, 512, (2, 4096)).cuda(), torch.ones(4096, device="cuda"), (512, 512), is_coalesced=True)
    layer = nn.Linear(64, 64).cuda()
    model = lambda x: near @ layer(x)
    optimizer = torch.optim.Adam(layer.parameters())
"""


def check_sparse() -> None:
    """A sparse program has a time; the meta device names what it cannot run of it."""
    steps = STEPS.replace("batch, 1024", "512, 64")
    (row,) = Answer(SPARSE, "--gpu", "h100", "--json", steps=steps).rows()
    ok(row["iteration_seconds_estimated"] is not None, f"a sparse matrix: {row['unseen']}")
    meta = Answer(SPARSE, "--gpu", "h100", "--meta", steps=steps)
    ok(meta.status == 2 and "cannot run the operator aten." in meta.err, f"a sparse matrix, on the meta device: {meta.err}")


def check_fallback() -> None:
    """When it is taken without being asked for."""
    own = build.find_torch

    def without_cuda(folder: Any = None) -> Any:
        raise build.BuildError("PyTorch 2.0 was built without CUDA")

    build.find_torch = without_cuda
    try:
        (row,) = Answer(MODEL, "--gpu", "h100", "--json").rows()
    finally:
        build.find_torch = own
    ok(row["peak_live_bytes"] > 3 * WEIGHTS and "meta device, not on the ghost GPU: PyTorch 2.0 was built without CUDA" in row["unseen"][0], f"where PyTorch is not built for CUDA: {row['unseen']}")
    lacks = "    if torch.ones(1, device='cuda').untyped_storage().device.type == 'cuda': raise RuntimeError('cuSOLVER error: what a stub does')\n"
    asked: list[bool] = []
    own_ask = _what_if.ask
    with mock.patch.object(_what_if, "ask", lambda options, *args, **kwargs: (asked.append(options.meta), own_ask(options, *args, **kwargs))[1]):
        rows = Answer(MODEL + lacks, "--gpu", "h100,a100-80g", "--json").rows()
    why = "not on the ghost GPU: the program cannot be followed: RuntimeError: cuSOLVER"
    ok(all(why in row["unseen"][0] for row in rows), f"where a program ends on what the ghost GPU lacks: {[row['unseen'] for row in rows]}")
    ok(asked == [False, True, True], f"of several GPUs the first shows that, for all: {asked}")
    both = Answer("import torch\ntorch.ones(9).cuda()\nraise RuntimeError('CUDA is what I say')\n", "--gpu", "h100", steps="")
    ok(both.status == 2 and "CUDA is what I say" in both.err and "\n" not in both.err, f"and not where it ends on itself: {both.err}")


WITHOUT_CUDA = """
import torch
for name in [name for name in vars(torch._C) if name.startswith(("_cuda_", "_Cuda"))]:
    delattr(torch._C, name)
torch._C._has_cudnn = False
torch.version.cuda = None
try:
    torch.ones(1, device="cuda")
    raise SystemExit("this is a PyTorch with CUDA")
except AssertionError as failure:
    assert "not compiled with CUDA" in str(failure)
from seamalloc import _meta, _what_if
_meta.install(_what_if.ask_tool(["machines", "--json", "h100"])[0], 1, RuntimeError)
assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.get_device_capability() == (9, 0) and "H100" in torch.cuda.get_device_name()
torch.cuda.manual_seed_all(1)
torch.cuda.synchronize()
torch.cuda.empty_cache()
with torch.cuda.stream(torch.cuda.Stream()): torch.cuda.Event().record()
layer = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.AdamW(layer.parameters())
for step in range(2):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.utils.checkpoint.checkpoint(layer, torch.randn(64, 1024, device="cuda"), use_reentrant=False).float().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
recurrent = torch.nn.LSTM(64, 64, 2).cuda()
assert len({weight.untyped_storage()._cdata for weight in recurrent.parameters()}) == 1 and recurrent(torch.randn(3, 5, 64, device="cuda"))[0].grad_fn.name() == "CudnnRnnBackward0"
print(torch.cuda.max_memory_allocated() // (1 << 20), torch.cuda.mem_get_info()[1] >> 30)
"""


def check_without_cuda() -> None:
    """torch.cuda answers where PyTorch has none."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_CUDA], capture_output=True, text=True, check=False)
    ok(done.returncode == 0 and 16 < int((done.stdout.split() or ["0"])[0]) < 64 and done.stdout.split()[1] == "79", "a PyTorch that is not built for CUDA", done.stdout + done.stderr)


if __name__ == "__main__":
    raise SystemExit(run(check_sizes, check_options, check_bad_programs, check_values, check_margins, check_sparse, check_fallback, check_without_cuda))
