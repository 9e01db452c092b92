#!/usr/bin/env python3
"""test_swap.py PROGRAM: bench/swap on one model, with PyTorch on the ghost GPU. As TAP; the status is 77 where there is no PyTorch."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from tap import end, ok  # noqa: E402


def main() -> int:
    """The test."""
    done = subprocess.run([sys.argv[1], "Llama 8192, RTX 5090"], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print(done.stderr, end="")
        return 77
    said = done.stdout + done.stderr
    rows = {row[0]: [float(number) for number in row[1:] if number] for row in re.findall(r"^\| (\w+) \| ([\d.]+) \| (?:(-?[\d.]+) %)? \| ([\d.]+) ", done.stdout, re.MULTILINE)}
    ok("PCIe allows it" in said and list(rows) == ["none", "save_on_cpu", "count", "demand", "all", "plan"], "every way has a row", said)
    ok(done.returncode == 0 and rows["plan"][1] >= 90, "the plan hides at least 90 % where PCIe allows it", said)
    ok(abs(rows["save_on_cpu"][1]) < 1 and abs(rows["demand"][1]) < 1, "who waits for each copy hides nothing", said)
    ok(rows["plan"][0] <= rows["count"][0] < rows["demand"][0] < rows["save_on_cpu"][0], "times of an iteration", said)
    return end()


if __name__ == "__main__":
    sys.exit(main())
