#!/usr/bin/env python3
"""test_what_if_torch.py LIBRARY PACKAGE TOOL GHOST: `python -m seamalloc what-if` with PyTorch, on programs of a few lines. As TAP.

Most run in this process, so that PyTorch is imported once for them; what ends with the command is asked of a command.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

sys.dont_write_bytecode = True
LIBRARY, PACKAGE, TOOL, GHOST = (str(Path(path).resolve()) for path in sys.argv[1:5])  # programs run in a folder of their own
sys.path[:0] = [PACKAGE, str(Path(__file__).resolve().parents[1] / "support")]
from seamalloc import _blocks, _borders, _compose, _what_if  # noqa: E402
from tap import end, ok  # noqa: E402

MIB = 1 << 20
KEYS = (
    "gpu", "capacity_bytes", "fits", "peak_live_bytes", "reserved_bytes", "fails_at", "holders", "advice", "largest_batch", "iteration_seconds_estimated", "unseen", "margin_bytes", "within_margin",
)  # fmt: skip
MODEL = """
    import torch
    from torch import nn
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.feed = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024))
        def forward(self, x):
            return x + self.feed(x)
    model = nn.Sequential(*(Block() for _ in range(8))).cuda()
    optimizer = torch.optim.Adam(model.parameters())
"""
STEPS = """
    import sys
    batch = int(sys.argv[1].split("=")[1]) if len(sys.argv) > 1 else 2048
    for step in range(1000):
        loss = model(torch.randn(batch, 1024, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
WEIGHTS = 8 * (2 * 1024 * 4096 + 4096 + 1024) * 4


def running(sign: str, but: int = 0) -> list[str]:
    """Processes that have this in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and int(process.name) != but and sign.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def left(sign: str, but: int = 0) -> list[str]:
    """Those that stay. One that was killed is there until the system comes to it."""
    until = time.monotonic() + 20
    while (found := running(sign, but)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


class Answer:
    """What the command did."""

    def __init__(self, code: str, *options: str, arguments: tuple[str, ...] = (), steps: str = STEPS, alone: bool = False, **environment: str) -> None:
        Path("program.py").write_text(textwrap.dedent(code) + textwrap.dedent(steps), encoding="utf-8")
        command = [*options, str(Path("program.py").resolve()), *arguments]
        if alone:
            done = subprocess.run([sys.executable, "-m", "seamalloc", "what-if", *command], capture_output=True, text=True, env={**os.environ, "SEAM_TEST_ALONE": "1", **environment}, check=False)
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr.strip()
            self.left = left("SEAM_TEST_ALONE=1")
            return
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            self.status = _what_if.answer(command)
        self.out, self.err = out.getvalue(), err.getvalue().strip()
        server = _what_if.SERVER.process
        # Whatever a program leaves running has this in its environment.
        self.left = left(f"SEAM_TEST_SIGN={os.environ['SEAM_TEST_SIGN']}", server.pid if server is not None else 0)

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.out)
        return found


def kinds(row: dict[str, Any]) -> dict[str, int]:
    """Bytes at the peak by kind."""
    held: dict[str, int] = {}
    for holder in row["holders"]:
        held[holder["kind"]] = held.get(holder["kind"], 0) + holder["bytes"]
    return held


def check_an_answer() -> None:
    """Whose the bytes are, and how much fits."""
    answer = Answer(MODEL, "--gpu", "h100", "--json", "--draw", "memory.svg", alone=True)
    ok(answer.status == 0 and not answer.left, f"an answer: {answer.status} {answer.err[-300:]} {answer.left}")
    (row,) = answer.rows()
    ok(all(key in row for key in KEYS), f"every key is there: {sorted(row)}")
    held = kinds(row)
    ok(sum(held.values()) == row["peak_live_bytes"], f"each byte of the peak has a holder: {held}")
    ok(abs(held["parameters"] - WEIGHTS) < MIB and abs(held["optimizer"] - 2 * WEIGHTS) < MIB, f"the model's bytes, and twice as many of Adam's: {held}")
    picture = Path("memory.svg").read_text(encoding="utf-8")
    areas = {element.get("id") for element in ElementTree.fromstring(picture).iter() if element.get("class") == "layer"}
    ok(areas >= set(held) and all(f">{name}</text>" in picture for name in ("forward", "backward", "optimizer")), f"and its kind in the picture, with the passes: {areas}")
    ok(row["fits"] and row["fails_at"] is None and row["reserved_bytes"]["seam"] >= row["peak_live_bytes"], "it fits, in no less than what lives")
    flops = 6 * 2048 * 8 * 2 * 1024 * 4096  # of fp32, 67e12 a second at most on this GPU
    ok(row["iteration_seconds_estimated"] > flops / 67e12 and row["iteration_seconds_estimated"] < 2 * flops / 67e12, f"an iteration takes its products and somewhat more: {row['iteration_seconds_estimated']}")
    need = row["needs_bytes"]["seam"]
    again = Answer(MODEL, "--memory", str(need), "--json").rows()[0]
    ok(again["fits"], "it fits in what it needs")
    tight = Answer(MODEL, "--memory", str(row["peak_live_bytes"] - MIB))
    ok(tight.status == 1 and "does not fit" in tight.out and "runs out of memory" in tight.out, f"and not in less than what lives: {tight.out.splitlines()[:1]}")
    ok("torch.utils.checkpoint around" in tight.out and "(Block 0): it fits with Seam then" in tight.out, f"with a block recomputed it would: {tight.out.splitlines()[-5:]}")


def check_profile() -> None:
    """A profile, and a peak that is composed of it, which is that of a run."""
    answer = Answer(MODEL, "--gpu", "h100", "--json", "--profile", "p.seamprofile")
    content = json.loads(Path("p.seamprofile").read_text(encoding="utf-8"))
    schema = json.loads((Path(__file__).resolve().parents[2] / "tools/seamprofile.schema.json").read_text(encoding="utf-8"))
    ok(set(content) == set(schema["required"]) and content["blocks"] == {"count": 8, "class": "Block"}, f"what the schema wants: {sorted(content)} {content['blocks']}")
    recordings = {name: _compose.from_json(recording) for name, recording in content["recordings"].items()}
    broken = [_compose.check(recording) for recording in recordings.values()]
    ok(set(recordings) == set(_blocks.TREATMENTS) and not any(broken), f"a recording of each treatment: {sorted(recordings)} {broken}")
    savers = {name: sorted({block for savers in recording.savers for block in savers}) for name, recording in recordings.items()}
    ok(savers["swap"] == list(range(8)) and not savers["keep"], f"where blocks are swapped they tell what they save: {savers}")
    passes = [(visit.part, visit.block) for visit in recordings["keep"].visits if visit.part]
    ok(passes == [*(("forward", block) for block in range(8)), *(("backward", block) for block in reversed(range(8))), ("optimizer", -1)], f"of all passes: {passes}")
    peak = answer.rows()[0]["peak_live_bytes"]
    ok(content["peak_live_bytes"] == peak and 0 < content["seen_at_borders_bytes"] < peak, f"modules' borders miss some of the peak: {content['seen_at_borders_bytes']} of {peak}")
    flops = {name: sum(row[2] * row[5] for row in content["work"] if row[0] == name) for name in {row[0] for row in content["work"]}}
    product = 2 * 2 * 2048 * 1024 * 4096  # of a block's two
    ok(all(flops[f"forward {block}"] == product and flops[f"backward {block}"] == 2 * product for block in range(1, 8)), f"and what each computes: {flops}")
    recipe = [_blocks.TREATMENTS[block % 4] for block in range(8)]
    options, program = _what_if.parse(["--gpu", "h100", "program.py"])
    run = _what_if.ask(options, program, "h100", recipe).answer["peak_live_bytes"]
    asked = []
    for watch in ("", "from seamalloc import _borders\n_borders.Borders.watch = lambda *arguments: None\n"):
        Path("program.py").write_text(watch + textwrap.dedent(MODEL) + textwrap.dedent(STEPS), encoding="utf-8")
        Path("run").mkdir(exist_ok=True)
        asked.append([(event[0], event[2]) for event in _what_if.run_program(options, program, "h100", Path("run"))["events"]])
    ok(asked[0] == asked[1], f"nothing is asked for otherwise because it is watched: {len(asked[0])} requests and frees, {len(asked[1])}")
    ok(_compose.compose(recordings, recipe) == run, f"a mixture's peak is composed: {_compose.compose(recordings, recipe)} for {run}")


def check_here() -> None:
    """On a GPU of the machine's own: the emulated one, as programs have it that what-if does not start."""
    runtime = os.environ.get("FAKE_CUDART", "")
    if not runtime:
        return
    code = """
    import torch
    weight = torch.nn.Parameter(torch.ones(1 << 20, device="cuda"))
    optimizer = torch.optim.Adam([weight])
    """
    steps = """
    for step in range(100):
        (weight * 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    """
    ghost = Answer(code, "--gpu", "h100", "--json", steps=steps).rows()[0]
    here = Answer(code, "--gpu", "h100", "--json", "--here", steps=steps, alone=True, LD_PRELOAD=runtime, FAKECUDA_MEMORY="book", FAKECUDART_KERNELS="skip")
    ok(here.status == 0 and here.rows()[0]["holders"] == ghost["holders"], f"the same as on the ghost GPU: {here.status} {here.err[-300:]}")
    none = Answer(code, "--gpu", "h100", "--here", steps=steps, alone=True, CUDA_VISIBLE_DEVICES="")
    ok(none.status == 2 and none.err == "what-if: the program cannot be followed: PyTorch finds no GPU", f"where there is none: {none.err}")


def check_batches() -> None:
    """The largest batch."""
    row = Answer(MODEL, "--memory", "2G", "--json", "--find-batch", "--batch-size={}").rows()[0]
    largest = row["largest_batch"]
    for batch, fits in ((largest, True), (largest + 1, False)):
        one = Answer(MODEL, "--memory", "2G", "--json", arguments=(f"--batch-size={batch}",)).rows()[0]
        ok(one["fits"] is fits, f"batch {batch} of at most {largest}: {one['fits']}")


BAD = (
    ("one that exits", "import torch\ntorch.ones(9).cuda()\nraise SystemExit(3)\n", (), "exited with 3"),
    ("one that fails", "import torch\ntorch.ones(9).cuda()\nopen('/nowhere/data')\n", (), "FileNotFoundError"),
    ("one that fails in a library", "import json, torch\ntorch.ones(9).cuda()\njson.loads('')\n", (), "(program.py:3)"),
    ("one that is killed", "import os, torch\ntorch.ones(9).cuda()\nos.kill(os.getpid(), 9)\n", (), "SIGKILL"),
    ("one that ends itself", "import os, torch\ntorch.ones(9).cuda()\nprint('9' * (1 << 24), '\\nbye', flush=True)\nos._exit(0)\n", (), "ended itself with status 0 before its steps were alike: bye"),
    ("one that asks for nothing", "import subprocess\nsubprocess.run(\"true\")\nprint('hello')\n", (), "asked the GPU for nothing"),
    ("several processes", "import torch\ntorch.distributed.init_process_group('nccl', rank=0, world_size=4)\n", (), "several processes"),
    ("ranks by spawn", "import torch\ntorch.multiprocessing.spawn(print, nprocs=2)\n", (), "several processes"),
    ("a launcher of ranks", "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import torch; torch.ones(9).cuda()'], check=True)\n", (), "it started other processes, and what-if runs one"),
    ("a process of a function", "import multiprocessing\nprocess = multiprocessing.Process(target=print)\nprocess.start()\nprocess.join()\n", (), "it started other processes, and what-if runs one"),
    ("what is no program", "this is no Python\n", (), "SyntaxError"),
    ("one that leaves a process", "import subprocess, torch\nsubprocess.Popen(['sleep', '1000'])\ntorch.ones(9).cuda()\nraise SystemExit(3)\n", (), "exited with 3"),
    ("a program that never steps", "import torch, threading\ntorch.ones(9).cuda()\nthreading.Event().wait()\n", ("--timeout", "10"), "within 10 seconds (--timeout, --steps); it is in <module>, program.py:3"),
)


def check_bad_programs() -> None:
    """One line each, status 2, nothing left running."""
    for title, code, options, words in BAD:
        answer = Answer(code, "--gpu", "h100", *options, steps="")
        fine = answer.status == 2 and words in answer.err and "\n" not in answer.err and not answer.out and not answer.left
        ok(fine, f"{title}: {answer.status} {answer.err[-200:]} {answer.left}")
    unknown = Answer(MODEL, "--gpu", "rtx9999")
    ok(unknown.status == 2 and "rtx9999" in unknown.err and "rtx4090" in unknown.err, f"an unknown GPU: {unknown.err}")


def check_interruption() -> None:
    """A signal to the command ends all of it."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text("import subprocess, time, torch\ntorch.ones(9).cuda()\nsubprocess.Popen(['sleep', '300'])\ntime.sleep(300)\n", encoding="utf-8")
        env = {**os.environ, "TMPDIR": folder, "SEAM_TEST_ALONE": folder}
        command = subprocess.Popen([sys.executable, "-m", "seamalloc", "what-if", "--gpu", "h100", str(script)], stderr=subprocess.PIPE, text=True, env=env)
        while not any("sleep" in one for one in running(f"SEAM_TEST_ALONE={folder}")):
            time.sleep(0.1)
        command.terminate()
        err = command.communicate()[1]
        ok(command.returncode == 2 and err.strip() == "what-if: interrupted", f"it says so: {command.returncode} {err.strip()}")
        ok(not left(f"SEAM_TEST_ALONE={folder}") and not list(Path(folder).glob("seam-what-if-*")), "no process and no folder is left")


def check_runs() -> None:
    """Runs of one command do not know of each other."""
    rows = Answer("import torch\nx = torch.empty(torch.cuda.get_device_properties(0).total_memory // 2, dtype=torch.uint8, device='cuda')\n", "--gpu", "RTX4090,h100", "--json", steps="").rows()
    ok([row["gpu"] for row in rows] == ["rtx4090", "h100"], f"each has its short name: {[row['gpu'] for row in rows]}")
    ok([row["peak_live_bytes"] for row in rows] == [row["capacity_bytes"] // 2 for row in rows] and rows[0]["capacity_bytes"] < rows[1]["capacity_bytes"], "each is on its own GPU")
    server = _what_if.SERVER.process
    ok(server is not None and len(list(Path(f"/proc/{server.pid}/task").iterdir())) == 1, "what they are forked from has one thread")


def check_devices() -> None:
    """Several GPUs in one process: what each of them has, and the figures of the fullest."""
    code = textwrap.dedent(MODEL) + "other = nn.Linear(1024, 1 << 18).to('cuda:1')\noptimizer.add_param_group({'params': other.parameters()})\n"
    steps = STEPS.replace("loss.backward()", "(loss.to('cuda:1') + other(torch.ones(1, 1024, device='cuda:1')).mean()).backward()")
    row = Answer(code, "--gpu", "h100", "--gpus", "3", "--json", steps=steps).rows()[0]
    first, second = row["devices"]
    ok([first["device"], second["device"]] == [0, 1], f"a device that is not used has no answer: {row['devices']}")
    other = (1024 + 1) * (1 << 18) * 4
    ok(row["peak_live_bytes"] == second["peak_live_bytes"] >= 4 * other > first["peak_live_bytes"] > 3 * WEIGHTS, f"the fullest is the second: {first} {second}")
    held = kinds(row)
    ok(abs(held["parameters"] - other) < MIB and abs(held["optimizer"] - 2 * other) < MIB, f"and its holders: {held}")
    parallel = Answer(MODEL + "    model = nn.DataParallel(model)\n    assert torch.cuda.nccl.version() >= (2,)\n", "--gpu", "h100", "--gpus", "2", "--json").rows()[0]["devices"]
    ok([one["peak_live_bytes"] > 3 * WEIGHTS for one in parallel] == [True, False] and parallel[1]["peak_live_bytes"] > WEIGHTS, f"a replica has weights and gradients: {parallel}")
    tight = Answer(code, "--memory", str(first["needs_bytes"]["seam"]), "--gpus", "2", steps=steps)
    lines = [line for line in tight.out.splitlines() if line.startswith("  cuda:")]
    ok(tight.status == 1 and [line.endswith("not fit") for line in lines] == [False, True], f"it fits where it fits on each: {lines}")


def check_programs() -> None:
    """What programs do that could be in the way."""
    table = (
        ("two optimizers in turn", "other = torch.optim.SGD([nn.Parameter(torch.ones(9, device='cuda'))])\nother.param_groups[0]['params'][0].grad = torch.ones(9, device='cuda')\nown = optimizer.step\noptimizer.step = lambda: (own(), other.step())\n"),
        ("torch.compile", "model = torch.compile(model)\n"),
        ("a thread that works besides", "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"),
        ("an exit handler that waits", "import atexit, time\natexit.register(time.sleep, 600)\n"),
        ("processes that load data", "if __name__ == '__main__': batches = iter(torch.utils.data.DataLoader(range(9), num_workers=2, persistent_workers=True)); next(batches)\n"),
    )  # fmt: skip
    alone = Answer("import torch\ntorch.multiprocessing.spawn(lambda rank, size: torch.ones(size, device=f'cuda:{rank}'), args=(1 << 20,), nprocs=1)\n", "--gpu", "h100", "--json", steps="")
    ok(alone.status == 0 and alone.rows()[0]["peak_live_bytes"] == 4 << 20, f"one rank by spawn: {alone.err[-300:]}")
    for title, code in table:
        answer = Answer(textwrap.dedent(MODEL) + code, "--gpu", "h100", "--json", "--timeout", "120")
        ok(answer.status == 0 and not answer.left, f"{title}: {answer.status} {answer.err[-300:]}")
        (row,) = answer.rows()
        told = any("the time of an iteration" in text for text in row["unseen"])
        ok((row["iteration_seconds_estimated"] is None) == told == (title == "torch.compile"), f"{title}: {row['iteration_seconds_estimated']} {row['unseen']}")
    turns = STEPS.replace("loss.backward()", "loss.backward()\n        if step % 3 == 2: other.step()")
    third = Answer(textwrap.dedent(MODEL) + "other = torch.optim.Adam(nn.Linear(4096, 4096).cuda().parameters())\nfor p in other.param_groups[0]['params']: p.grad = torch.zeros_like(p)\n",
                   "--gpu", "h100", "--json", steps=turns)  # fmt: skip
    state = kinds(third.rows()[0])["optimizer"]
    ok(state > 2 * WEIGHTS + 2 * 4096 * 4096 * 4, f"an optimizer that steps at each third step is waited for: {state}")
    closure = Answer(MODEL, "--gpu", "h100", "--json", steps="""
    def closure():
        optimizer.zero_grad()
        loss = model(torch.randn(2048, 1024, device="cuda")).square().mean()
        loss.backward()
        return loss
    for step in range(100): optimizer.step(closure)
    """)
    held = kinds(closure.rows()[0])
    ok(held.get("activations", 0) > 100 * MIB and held.get("workspaces", 0) < 100 * MIB, f"what a closure does is no optimizer's: {held}")
    saved = Answer(MODEL, "--gpu", "h100", "--json", steps="""
    import pathlib
    pathlib.Path("best.pt").write_text("precious")
    torch.save(model.state_dict(), "best.pt")
    assert pathlib.Path("best.pt").read_text() == "precious"
    try:
        import safetensors.torch
        pathlib.Path("best.safetensors").write_text("precious")
        safetensors.torch.save_file(model.state_dict(), "best.safetensors")
        safetensors.torch.save_model(model, "best.safetensors")
        assert pathlib.Path("best.safetensors").read_text() == "precious"
    except ImportError:
        pass
    nn.Conv2d(3, 8, 3).cuda()(torch.randn(2, 3, 32, 32, device="cuda"))
    torch.distributed.init_process_group("nccl", init_method=(pathlib.Path.cwd() / "meet").as_uri(), rank=0, world_size=1)
    """)
    ok(saved.status == 0, f"no checkpoint is overwritten: {saved.err[-200:]}{'' if importlib.util.find_spec('safetensors') else ' (safetensors is not installed: not tried)'}")
    row = saved.rows()[0]
    ok(row["margin_bytes"] == 688 << 20 and not row["within_margin"], f"what NCCL could take is said: {row['margin_bytes']}")
    ok(any("cuDNN" in text and "counted" in text for text in row["unseen"]) and any("NCCL" in text and "688.00 MiB" in text for text in row["unseen"]), f"by name: {row['unseen']}")
    # Of a convolution that is measured: images, weights, a bias and results; of a transform, numbers of 8 bytes; of a decomposition its matrix and the result.
    for code, want in (
        ("torch.backends.cudnn.benchmark = True; nn.Conv2d(3, 8, 3).cuda()(torch.randn(2, 3, 32, 32, device='cuda'))", 4 * 4 * (2 * 3 * 32 * 32 + 8 * 3 * 3 * 3 + 8 + 2 * 8 * 30 * 30)),
        ("torch.fft.rfft(torch.randn(100, device='cuda'))", 7 * 8 * (100 + 51)),
        ("torch.linalg.cholesky(torch.randn(100, 100, device='cuda'))", 4 * 2 * 100 * 100),
    ):
        row = Answer(MODEL, "--gpu", "h100", "--json", steps=f"    {code}\n").rows()[0]
        ok(row["margin_bytes"] == want, f"{code}: {row['margin_bytes']} for {want}, {row['unseen']}")
    late = Answer(MODEL, "--gpu", "h100", "--json", steps=STEPS.replace("loss.backward()", "loss.backward()\n        assert step < 3"))
    (row,) = late.rows()
    ok(late.status == 0 and row["iteration_seconds_estimated"] is None and any("none came to its end" in text for text in row["unseen"]), f"what fails while operators are counted costs only the time: {row['unseen']}")
    again = Answer(MODEL, "--gpu", "h100", steps=STEPS.replace("model(", "torch.utils.checkpoint.checkpoint_sequential(model, 4, use_reentrant=False, input=").replace("import sys", "import sys, torch.utils.checkpoint"))
    ok("in the backward pass already (Block" in again.out and "already" not in closure.out, f"a program that recomputes is told so: {again.err[-300:]} {again.out.splitlines()[-6:]}")
    mask = Answer(MODEL, "--gpu", "h100", "--json", steps=STEPS.replace("loss.backward()", "loss.backward()\n        x = torch.randn(9, device='cuda')\n        x[x > 0]"))
    ok(any("depends on values" in text for text in mask.rows()[0]["unseen"]), "a size that depends on values is said")
    still = Answer("import torch\nfor size in range(4): torch.empty(1 << 20, device='cuda')\n", "--gpu", "h100", "--json", steps="")
    ok(still.status == 0 and any("no optimizer step" in text for text in still.rows()[0]["unseen"]), "a program without an optimizer has an answer that says so")


KNOWN = """
import torch
dev = "cuda"
lengths = torch.tensor([3, 5, 2])
there = lengths.to(dev)
assert there.max().item() == 5, there.max().item()
mask = torch.arange(int(there.max()), device=dev)[None] < there[:, None]
assert mask.sum() == 10
x = torch.randn(3, 5, 8, device=dev)
assert x[mask].shape == (10, 8), x[mask].shape
assert mask.nonzero().shape == (10, 2)
x[mask] = torch.randn(10, 8, device=dev)
assert x.repeat_interleave(there, 0).shape == (10, 5, 8)
size = torch.tensor(x.shape, device=x.device)[None]
assert size.cpu().tolist() == [[3, 5, 8]]
assert there.tolist() == [3, 5, 2]
there += 1
there[0] = 9
torch._foreach_add_([there], 1)
assert there.tolist() == [10, 7, 4], there.tolist()
there.random_(9)
assert int(there.clone()[0]) == 0
own = lengths.clone()
own += 1
assert own.tolist() == [4, 6, 3]
source = torch.tensor([1, 2])
for made in (source.cuda(), source.to(0), source.to("cuda", torch.float32), torch.empty(2, dtype=torch.int64, device=dev).copy_(source)):
    source[0] = 1
    source[0] = 7
    assert made.tolist() == [1, 2], made.tolist()
    source[0] = 1
def asked(): return torch.cuda.memory_stats()["allocation.all.allocated"]
for code, want in ((lambda: source.cuda(0), 1), (lambda: torch.zeros(9, device=0), 1), (lambda: torch.arange(9, device=dev) < 3, 2), (lambda: torch.tensor([1], device=dev)[None].cpu(), 1)):
    before = asked(); code(); assert asked() - before == want, (asked() - before, want)
"""


def check_known() -> None:
    """What the host knows of the GPU's numbers is read and sized so; the rest is 0, and said."""
    answer = Answer(KNOWN, "--gpu", "h100", "--json", steps="")
    ok(answer.status == 0, f"lengths, masks and counts that the program brought to the GPU: {answer.err[-300:]}")
    lines = [text for text in answer.rows()[0]["unseen"] if "(program.py:" in text]
    ok(len(lines) == 1 and "one_hot" not in lines[0], f"none of them is said to be unknown but what was drawn: {lines}")
    unknown = """
    import torch
    y = torch.randint(9, (3,), device="cuda")
    assert y.tolist() == [0, 0, 0] and len(y.nonzero()) == 0
    torch.nn.functional.one_hot(y, 5)
    torch.nn.functional.one_hot(torch.zeros(5, device="cuda", dtype=torch.int64).random_(5))
    norm = y.float().norm()
    assert torch.isfinite(norm) and torch.isfinite(y / 3).all() and not torch.isnan(norm)
    logits = torch.randn(3, 7, device="cuda")
    chances = torch.distributions.Categorical(logits=logits)
    chances.log_prob(chances.sample())
    torch.distributions.Normal(logits, logits.exp(), validate_args=True)
    torch.set_default_device("cuda")
    assert torch.isfinite(norm) and torch.tensor([3]).tolist() == [3] and int(torch.arange(5).sum()) == 10
    layer = torch.nn.Linear(8, 8)
    for kind in (torch.optim.Adam, torch.optim.RAdam):
        optimizer = kind(layer.parameters())  # which counts its steps on the default device
        for _ in range(2):
            layer(torch.randn(4, 8)).sum().backward()
            optimizer.step()
    """
    answer = Answer(unknown, "--gpu", "h100", "--json", steps="")
    ok(answer.status == 0, f"checks that numbers are fit are passed: {answer.err[-300:]}")
    lines = [text for text in answer.rows()[0]["unseen"] if "(program.py:" in text]
    ok([line.partition(" (program.py:")[2][:2] for line in lines] == ["4)", "8)", "4)", "6)"], f"what is read or sized by unknown numbers is said: {lines}")


def check_large() -> None:
    """What programs do to a model's parameters on the CPU, each of which would take 512 MiB or more."""
    for code in (
        "nn.Linear(1 << 14, 1 << 13)",
        "nn.init.trunc_normal_(model.weight, std=0.02)",
        "model.weight.data.normal_(0, 0.02)",
        "model.bfloat16().float()",
        "model.load_state_dict({name: torch.empty_like(value) for name, value in model.state_dict().items()})",
        "copy.deepcopy(model)",
        "{name: value.clone() for name, value in model.state_dict().items()}",
    ):
        answer = Answer(f"""
        import copy, resource, torch
        from torch import nn
        model = nn.Linear(1 << 14, 1 << 13, device="meta").to_empty(device="cpu")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        made = {code}
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert taken < 100 << 10, f"{{taken}} KiB"
        model.cuda()
        """, "--gpu", "h100", "--json", steps="")  # fmt: skip
        ok(answer.status == 0 and answer.rows()[0]["peak_live_bytes"] >= 1 << 28, f"{code} takes no memory: {answer.err[-200:]}")


def check_held() -> None:
    """What an object holds is looked for in a counted number of steps, the nearest first."""
    import torch

    cache = {"layers": [(torch.ones(1), torch.ones(1)) for _ in range(100)], "words": {number: [number] for number in range(100000)}}
    real, asked = gc.get_referents, []

    def referents(thing: Any) -> list[Any]:
        asked.append(1)
        return real(thing)

    with mock.patch.object(_borders.gc, "get_referents", referents):
        found = list(_borders.held(cache))
    ok(len({id(tensor) for tensor in found}) == 200 and len(asked) <= _borders.MOST_HELD, f"{len(found)} tensors in {len(asked)} steps")


def run(*checks: Callable[[], None]) -> int:
    """Checks in a folder of their own, with one server of runs. The status of the test."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ.update(PYTHONPATH=PACKAGE, SEAM_LIBRARY=LIBRARY, SEAM_TOOL=TOOL, SEAM_GHOST=GHOST, SEAM_TEST_SIGN=folder)
        try:
            for check in checks:
                check()
        finally:
            _what_if.SERVER.close()
            os.chdir("/")
    return end()


if __name__ == "__main__":
    raise SystemExit(run(check_held, check_an_answer, check_profile, check_here, check_batches, check_bad_programs, check_interruption, check_runs, check_devices, check_programs, check_known, check_large))
