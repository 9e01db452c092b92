#!/usr/bin/env python3
"""test_host.py PROGRAM: bench/host on small sets, with PyTorch on the ghost GPU. As TAP; the status is 77 where there is no PyTorch.

What the figures must be is bench/host's to say (`results/host.md`); here, that they are counted and held against its bars, and that times are
printed for every size.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from tap import end, ok  # noqa: E402

NUMBER = r"(\d+(?:\.\d+)?)"


def host(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Ends this program where PyTorch is missing."""
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print(done.stderr, end="")
        sys.exit(77)
    return done


def main() -> None:
    """The tests."""
    done = host("vllm#56410", "sglang#36562", "times", "--runs", "1")
    lines = [re.findall(r"[^|]+", line.replace(" ", "").replace("GiB", "")) for line in done.stdout.splitlines() if line.startswith("| ")]
    rows = {row[0]: row[1:] for row in lines}
    one, many = rows.get("sglang#36562", []), rows.get("vllm#56410", [])
    wanted = ["20.4000", "32.0000", "1.5686", "20.4000", "1.0000", "20.4004", "1.0000", "1,0", "1,0"]
    ok(one[:9] == wanted, "one buffer: PyTorch pins the next power of two, Seam what was asked for", done.stdout + done.stderr)
    ok(len(one) == 10 and one[9].endswith(",0"), "stitched, it takes calls for each chunk, once", str(one))
    exact = len(many) == 10 and float(many[2]) > 1.8 and max(float(many[4]), float(many[6])) <= 1.01 and all(calls.endswith(",0") for calls in many[7:])
    ok(exact, "tensors of layers: Seam's within its bar, no calls once they have been there", str(many))
    ok(done.returncode == 0, "the status says so", done.stderr)
    times = [line for line in done.stdout.splitlines() if re.match(r"\| allocate, (record_event, )?free \| [14] \| (0|1000) \|", line)]
    cells = [len(re.findall(rf"{NUMBER}, {NUMBER}, {NUMBER}", line)) for line in times]
    ok(cells == [8] * 8, "times of every size, with and without a use, threads and others", done.stdout)
    sys.exit(end())


main()
