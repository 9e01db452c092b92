#!/usr/bin/env python3
"""test_work_torch.py LIBRARY PACKAGE TOOL GHOST: what the operators of an iteration compute and move, counted on the ghost GPU; and `python -m seamalloc calibrate` on it. As TAP."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
LIBRARY, PACKAGE, TOOL, GHOST = (str(Path(path).resolve()) for path in sys.argv[1:5])
sys.path[:0] = [PACKAGE, str(Path(__file__).resolve().parents[1] / "support")]
os.environ.update(SEAM_LIBRARY=LIBRARY, SEAM_TOOL=TOOL, SEAM_GHOST=GHOST, PYTHONPATH=PACKAGE)

from seamalloc import _ghost, _work, build  # noqa: E402
from tap import end, ok  # noqa: E402

BATCH, TOKENS, WIDTH, HEADS, LAYERS, WORDS = 4, 256, 256, 4, 3, 1000
REAL = dict(os.environ)
LIBRARIES = _ghost.libraries(build.find_torch())
os.environ.update(_ghost.environment("h100", os.environ, "80G"))
_ghost.load(LIBRARIES)

import torch  # noqa: E402
from torch import nn  # noqa: E402

STEPPING = [False]


def counted(work: Callable[[], Any]) -> tuple[list[Any], list[str]]:
    """The rows of some work, and what is not known of it."""
    counter = _work.Counter(_work.where(lambda: STEPPING[0]), _ghost.launches())
    work()
    found = counter.result()
    counter.mode.__exit__(None, None, None)
    return found["work"], found["work_unknown"]


def sums(rows: list[Any]) -> dict[tuple[str, str], int]:
    """Flops by place and type."""
    found: dict[tuple[str, str], int] = {}
    for where, kind, flops, _, _, times in rows:
        if flops:
            found[where, kind] = found.get((where, kind), 0) + flops * times
    return found


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Any, causal: bool) -> Any:
        query, key, value = (part.view(BATCH, TOKENS, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
        return x + self.feed(x)


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, ids: Any, causal: bool) -> Any:
        x = self.words(ids)
        for block in self.blocks:
            x = block(x, causal)
        return self.head(x)


def check_a_gpt() -> None:
    """Its flops are the closed form, and a backward pass has twice those of the forward pass: autograd's threads are seen."""
    model = GPT().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.zeros(BATCH, TOKENS, dtype=torch.long, device="cuda")
    for causal in (True, False):

        def iteration(causal: bool = causal) -> None:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(ids, causal).float().mean()
            loss.backward()
            STEPPING[0] = True
            optimizer.step()
            STEPPING[0] = False

        rows, unknown = counted(iteration)
        weights = LAYERS * 12 * WIDTH * WIDTH + WIDTH * WORDS
        attention = LAYERS * 2 * 2 * BATCH * TOKENS * TOKENS * WIDTH // (2 if causal else 1)  # two products
        forward = 2 * weights * BATCH * TOKENS
        want = {("forward", "bfloat16"): forward + attention, ("backward", "bfloat16"): 2 * forward + attention * 5 // 2}  # the scores once more
        ok(sums(rows) == want, f"causal {causal}: {sums(rows)} for {want}")
        stepped = sum(moved * times for where, _, _, moved, _, times in rows if where == "optimizer")
        held = sum(parameter.numel() for parameter in model.parameters()) * 4
        ok(not unknown and stepped > 7 * held, f"a step reads and writes all: {stepped} of {held} parameters, {unknown}")


def check_bytes() -> None:
    """What operators move, against what they are."""
    x, y, half = (torch.ones(1 << 20, device="cuda", dtype=kind) for kind in (torch.float32, torch.float32, torch.float16))
    few, table, ids = torch.ones(1, device="cuda"), torch.ones(1000, 256, device="cuda"), torch.zeros(10, dtype=torch.long, device="cuda")
    size, row = 4 << 20, 4 * 256
    cases: tuple[tuple[str, Callable[[], Any], int], ...] = (
        ("a sum", lambda: x + y, 3 * size),
        ("one in place", lambda: x.add_(y), 3 * size),
        ("a result that is given", lambda: torch.add(x, y, out=y), 3 * size),
        ("a copy", lambda: x.copy_(y), 2 * size),
        ("a conversion", lambda: x.to(torch.float16), size + size // 2),
        ("a fill", lambda: x.zero_(), size),
        ("what is expanded", lambda: few.expand(1 << 20).add(x), 2 * size + 4),
        ("lists", lambda: torch._foreach_add_([x, y], [y, x]), 6 * size),
        ("rows of a table", lambda: nn.functional.embedding(ids, table), 2 * 10 * row + 80),
        ("rows by an index", lambda: table[ids], 2 * 10 * row + 80),
        ("rows that are added to", lambda: table.index_add_(0, ids, torch.empty(10, 256, device="cuda")), 3 * 10 * row + 80),
        ("views and new memory", lambda: (x.view(2, -1).t(), torch.empty_like(x)), 0),
    )  # fmt: skip
    for title, work, want in cases:
        rows, unknown = counted(work)
        moved = sum(moved * times for _, _, _, moved, _, times in rows)
        ok(moved == want and not unknown, f"{title}: {moved} for {want}, {unknown}")
    rows, _ = counted(lambda: torch.ones(1 << 20).to("cuda").cpu)
    ok([(kind, moved) for _, kind, _, moved, _, _ in rows] == [("host", size)], f"from the host: {rows}")
    products = ((torch.float32, "highest", "float32"), (torch.float32, "high", "tf32"), (torch.float16, "high", "float16"), (torch.float64, "high", "float64"))
    for kind, precision, want_kind in products:
        torch.set_float32_matmul_precision(precision)
        a = torch.ones(64, 64, device="cuda", dtype=kind)
        ok(sums(counted(lambda a=a: a @ a)[0]) == {("forward", want_kind): 2 * 64**3}, f"{kind} {precision} multiplies {want_kind}")
    torch.set_float32_matmul_precision("highest")
    del half


def check_cudnn() -> None:
    """cuDNN's work is that of PyTorch's own kernels; its workspaces are there: another layout of tensors that it has no kernels for."""
    layer, steps = nn.LSTM(16, 32, 2, bidirectional=True).cuda(), torch.zeros(5, 4, 16, device="cuda")
    with torch.backends.cudnn.flags(enabled=False):
        want, _ = counted(lambda: layer(steps))
    rows, unknown = counted(lambda: layer(steps))
    ok(sums(rows) == sums(want) and not unknown, f"a recurrent layer: {sums(rows)} for {sums(want)}, {unknown}")
    rows, _ = counted(lambda: layer(steps.requires_grad_())[0].sum().backward())
    ok(sum(flops for (where, _), flops in sums(rows).items() if where == "backward") == 2 * sum(sums(want).values()), f"and its backward pass: {sums(rows)}")
    norm, images = nn.BatchNorm2d(64).cuda(), torch.zeros(32, 64, 56, 56, device="cuda")
    moved = sum(moved * times for _, _, _, moved, _, times in counted(lambda: norm(images))[0])
    ok(2 * images.nbytes <= moved < 2.01 * images.nbytes, f"batch normalization reads and writes all: {moved} for {images.nbytes}")
    taken = {}
    for name in ("contiguous_format", "channels_last"):
        layout = getattr(torch, name)
        convolution, given = nn.Conv2d(64, 64, 3, padding=1).cuda().half().to(memory_format=layout), images.half().to(memory_format=layout)
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        made = convolution(given)
        taken[name] = torch.cuda.max_memory_allocated() - before - made.nbytes
    ok(taken["contiguous_format"] >= given.nbytes + made.nbytes and taken["channels_last"] <= 4 << 20, f"workspaces of a convolution of 16 bits: {taken}, {given.nbytes} and {made.nbytes}")


def check_what_is_unknown() -> None:
    """Kernels that no operator launches, operators of others, torch.compile: no number."""
    x = torch.ones(64, 64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
    _, unknown = counted(graph.replay)
    ok(len(unknown) == 1 and "launched by no operator" in unknown[0], f"a graph: {unknown}")

    @torch.library.custom_op("seamtest::twice", mutates_args=())
    def twice(a: torch.Tensor) -> torch.Tensor:
        return a @ a

    _, unknown = counted(lambda: twice(x))
    ok(unknown == ["what seamtest.twice.default computes is not known"], f"an operator of somebody's: {unknown}")
    _, unknown = counted(lambda: torch._int_mm(*(torch.ones(64, 64, device="cuda", dtype=torch.int8) for _ in range(2))))
    ok(len(unknown) == 1 and "_int_mm" in unknown[0], f"a product without a formula: {unknown}")
    more = torch.compile(lambda a: a * 2 + 1)
    more(x)
    _, unknown = counted(lambda: more(x))
    ok(any("torch.compile" in text for text in unknown), f"torch.compile: {unknown}")


def check_grouped() -> None:
    """Of products in groups, by what is multiplied."""
    flat, ends = torch.ones(64, 32, device="meta"), 4
    for a, b, out in (((64, 32), (ends, 32, 16), (64, 16)), ((ends, 8, 32), (ends, 32, 16), (ends, 8, 16)), ((8, 64), (64, 16), (ends, 8, 16)), ((ends, 8, 32), (32, 64), (8, 64))):
        shared = {(2, 3): 64 * 32 * 16, (3, 3): ends * 8 * 32 * 16, (2, 2): 8 * 64 * 16, (3, 2): 8 * 32 * 64}[len(a), len(b)]
        tensors = [torch.empty(shape, device="meta") for shape in (a, b, out)]
        found = _work.grouped(tensors[0], tensors[1], flat, out_val=tensors[2])
        ok(found == 2 * shared, f"{a} by {b}: {found} for {2 * shared}")


def check_calibrate() -> None:
    """Kernels take no time of their own here, so numbers mean nothing; a machine they are, that what-if takes."""
    code = (
        "import sys; from pathlib import Path; from seamalloc import _calibrate, _ghost;"
        f"_ghost.load([Path(one) for one in {[str(path) for path in LIBRARIES]}]); sys.exit(_calibrate.main(['--json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_ghost.environment("rtx4090", REAL, "24176M"), check=False)
    ok(done.returncode == 0, f"it runs: {done.returncode}", done.stderr)
    (machine,) = json.loads(done.stdout)
    (known,) = json.loads(subprocess.run([TOOL, "machines", "--json", "rtx4090"], capture_output=True, text=True, check=True).stdout)
    rates = ("tflops", "tf32_tflops", "fp32_tflops", "memory_gbs", "pcie_gbs", "pcie_up_gbs", "pcie_down_gbs", "pcie_up_both_gbs", "pcie_down_both_gbs", "cpu_step_gparameters")
    ok(set(known) <= set(machine) and machine["gpu"] == "rtx4090" and machine["memory_bytes"] == known["memory_bytes"], f"it has what seam machines has: {sorted(machine)}")
    ok(all(0 < machine[name] < math.inf for name in rates) and machine["measured"], f"and all rates: {[machine[name] for name in rates]}")
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"machine-{os.getpid()}.json"
    path.write_text(done.stdout, encoding="utf-8")
    ok(_work.read_machine(path) == machine, "what-if takes it")
    path.unlink()
    none = subprocess.run([sys.executable, "-m", "seamalloc", "calibrate"], capture_output=True, text=True, env={**REAL, "CUDA_VISIBLE_DEVICES": ""}, check=False)
    said = none.stderr.strip().splitlines()[-1:]  # behind what PyTorch warns of, such as a NumPy that is not there
    ok(none.returncode == 2 and said == ["calibrate: there is no GPU here that PyTorch can use"], f"without a GPU: {none.returncode} {said}")


def main() -> int:
    """All checks."""
    for check in (check_a_gpt, check_bytes, check_cudnn, check_what_is_unknown, check_grouped, check_calibrate):
        check()
    return end()


if __name__ == "__main__":
    raise SystemExit(main())
