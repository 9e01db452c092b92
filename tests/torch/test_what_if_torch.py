#!/usr/bin/env python3
"""test_what_if_torch.py LIBRARY PACKAGE TOOL GHOST: `python -m seamalloc what-if` with PyTorch, on programs of a few lines. As TAP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "support")]
from tap import end, ok  # noqa: E402

LIBRARY, PACKAGE, TOOL, GHOST = (str(Path(path).resolve()) for path in sys.argv[1:5])  # programs run in folders of their own
MIB = 1 << 20
KEYS = (
    "gpu", "capacity_bytes", "fits", "peak_live_bytes", "reserved_bytes", "fails_at", "holders", "advice", "largest_batch", "iteration_seconds_estimated", "unseen",
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


def running(sign: str) -> list[str]:
    """Processes that have this in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and sign.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


class Answer:
    """What the command did."""

    def __init__(self, code: str, *options: str, arguments: tuple[str, ...] = (), steps: str = STEPS, **environment: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "program.py"
            script.write_text(textwrap.dedent(code) + textwrap.dedent(steps), encoding="utf-8")
            # Whatever it leaves running has this in its environment.
            self.sign = f"SEAM_TEST_SIGN={folder}"
            env = {**os.environ, "PYTHONPATH": PACKAGE, "SEAM_LIBRARY": LIBRARY, "SEAM_TOOL": TOOL, "SEAM_GHOST": GHOST, "SEAM_TEST_SIGN": folder, **environment}
            command = [sys.executable, "-m", "seamalloc", "what-if", *options, str(script), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, check=False)
            self.left = running(self.sign)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr.strip()

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
    answer = Answer(MODEL, "--gpu", "h100", "--json")
    ok(answer.status == 0 and not answer.left, f"an answer: {answer.status} {answer.err[-300:]} {answer.left}")
    (row,) = answer.rows()
    ok(all(key in row for key in KEYS), f"every key is there: {sorted(row)}")
    held = kinds(row)
    ok(sum(held.values()) == row["peak_live_bytes"], f"each byte of the peak has a holder: {held}")
    ok(abs(held["parameters"] - WEIGHTS) < MIB and abs(held["optimizer"] - 2 * WEIGHTS) < MIB, f"the model's bytes, and twice as many of Adam's: {held}")
    ok(row["fits"] and row["fails_at"] is None and row["reserved_bytes"]["seam"] >= row["peak_live_bytes"], "it fits, in no less than what lives")
    need = row["needs_bytes"]["seam"]
    again = Answer(MODEL, "--memory", str(need), "--json").rows()[0]
    ok(again["fits"], "it fits in what it needs")
    tight = Answer(MODEL, "--memory", str(row["peak_live_bytes"] - MIB))
    ok(tight.status == 1 and "does not fit" in tight.out and "runs out of memory" in tight.out, f"and not in less than what lives: {tight.out.splitlines()[:1]}")
    ok("torch.utils.checkpoint around" in tight.out and "(Block): it fits with Seam then" in tight.out, f"with a block recomputed it would: {tight.out.splitlines()[-5:]}")


def check_batches() -> None:
    """The largest batch."""
    row = Answer(MODEL, "--memory", "2G", "--json", "--find-batch", "--batch-size={}").rows()[0]
    largest = row["largest_batch"]
    for batch, fits in ((largest, True), (largest + 1, False)):
        one = Answer(MODEL, "--memory", "2G", "--json", arguments=(f"--batch-size={batch}",)).rows()[0]
        ok(one["fits"] is fits, f"batch {batch} of at most {largest}: {one['fits']}")


BAD = (
    ("a program that never steps", "import torch, time\ntorch.ones(9).cuda()\ntime.sleep(100)\n", ("--timeout", "20"), "within 20 seconds (--timeout, --steps); it is in <module>, program.py:3"),
    ("one that exits", "import torch\ntorch.ones(9).cuda()\nraise SystemExit(3)\n", (), "exited with 3"),
    ("one that fails", "import torch\ntorch.ones(9).cuda()\nopen('/nowhere/data')\n", (), "FileNotFoundError"),
    ("one that is killed", "import os, torch\ntorch.ones(9).cuda()\nos.kill(os.getpid(), 9)\n", (), "SIGKILL"),
    ("one that asks for nothing", "print('hello')\n", (), "asked the GPU for nothing"),
    ("several processes", "import torch\ntorch.distributed.init_process_group('nccl', rank=0, world_size=4)\n", (), "several processes"),
    ("what is no program", "this is no Python\n", (), "SyntaxError"),
    ("one that leaves a process", "import subprocess, torch\nsubprocess.Popen(['sleep', '1000'])\ntorch.ones(9).cuda()\nraise SystemExit(3)\n", (), "exited with 3"),
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
        script.write_text("import time, torch\ntorch.ones(9).cuda()\ntime.sleep(300)\n", encoding="utf-8")
        env = {**os.environ, "PYTHONPATH": PACKAGE, "SEAM_LIBRARY": LIBRARY, "SEAM_TOOL": TOOL, "SEAM_GHOST": GHOST, "TMPDIR": folder, "SEAM_TEST_SIGN": folder}
        command = subprocess.Popen([sys.executable, "-m", "seamalloc", "what-if", "--gpu", "h100", str(script)], stderr=subprocess.PIPE, text=True, env=env)
        while not list(Path(folder).glob("seam-what-if-*/where")):
            time.sleep(0.1)
        command.terminate()
        err = command.communicate()[1]
        ok(command.returncode == 2 and err.strip() == "what-if: interrupted", f"it says so: {command.returncode} {err}")
        ok(not running(f"SEAM_TEST_SIGN={folder}") and not list(Path(folder).glob("seam-what-if-*")), "no process and no folder is left")


def check_programs() -> None:
    """What programs do that could be in the way."""
    table = (
        ("two optimizers in turn", "other = torch.optim.SGD([nn.Parameter(torch.ones(9, device='cuda'))])\nother.param_groups[0]['params'][0].grad = torch.ones(9, device='cuda')\nown = optimizer.step\noptimizer.step = lambda: (own(), other.step())\n"),
        ("torch.compile", "model = torch.compile(model)\n"),
        ("a thread that works besides", "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"),
        ("an exit handler that waits", "import atexit, time\natexit.register(time.sleep, 600)\n"),
    )  # fmt: skip
    for title, code in table:
        answer = Answer(textwrap.dedent(MODEL) + code, "--gpu", "h100", "--json", "--timeout", "120")
        ok(answer.status == 0 and not answer.left, f"{title}: {answer.status} {answer.err[-300:]}")
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
    torch.backends.cudnn.enabled = True
    nn.Conv2d(3, 8, 3).cuda()(torch.randn(2, 3, 32, 32, device="cuda"))
    """)
    ok(saved.status == 0, f"no checkpoint is overwritten, and cuDNN stays off: {saved.err[-200:]}")
    mask = Answer(MODEL, "--gpu", "h100", "--json", steps=STEPS.replace("loss.backward()", "loss.backward()\n        x = torch.ones(9, device='cuda')\n        x[x > 0]"))
    ok(any("depends on values" in text for text in mask.rows()[0]["unseen"]), "a size that depends on values is said")
    still = Answer("import torch\nfor size in range(4): torch.empty(1 << 20, device='cuda')\n", "--gpu", "h100", "--json", steps="")
    ok(still.status == 0 and any("no optimizer step" in text for text in still.rows()[0]["unseen"]), "a program without an optimizer has an answer that says so")


def main() -> int:
    """All checks."""
    for check in (check_an_answer, check_batches, check_bad_programs, check_interruption, check_programs):
        check()
    return end()


if __name__ == "__main__":
    raise SystemExit(main())
