#!/usr/bin/env python3
"""bench/peers/torch_native's program without PyTorch: its figures are those of `seam replay`, also through the pluggable door, and it says what
it cannot do.

test_peer.py PEER PLUGGABLE SEAM TRACE. Prints TAP.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from tap import end, ok  # noqa: E402

CALLS = ("direct_alloc", "address_reserve", "mem_create", "mem_map", "mem_unmap", "mem_set_access")


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program, with more in its environment."""
    return subprocess.run(arguments, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


def compare(peer: str, seam: str, trace: str, allocator: str, library: str = "") -> None:
    """The same trace, once on the fake driver and once on the emulator itself. library: what peer calls instead of its own allocator."""
    done = run(peer, library or allocator, trace, "2", FAKECUDA_MEMORY="book", FAKECUDA_CLOCK="1")
    words = done.stdout.strip().split("\t")
    row = dict(zip(words[::2], words[1::2]))
    replayed = json.loads(run(seam, "replay", "--allocator", allocator, "--device", "emu", "--iterations", "2", "--json", trace).stdout)[0]
    ok(done.returncode == 0 and (library != "" or row["allocator"] == allocator), f"{library or allocator} runs {done.stderr}")
    ok(row["reserved_peak"] == str(replayed["peak_reserved_bytes"]), f"{allocator} reserves {row['reserved_peak']} bytes")
    mine = [int(row[name]) for name in CALLS]
    ok(mine == [replayed["driver_calls"].get(name, 0) for name in CALLS], f"{allocator} asks the driver as often: {mine}")
    ok(float(row["alloc_ns"]) > 0 and float(row["device_ms"]) > 0, f"{allocator} is timed, and so is the device")


def main() -> int:
    """All checks."""
    peer, pluggable, seam, trace = sys.argv[1:]
    for allocator in ("caching", "expandable", "seam"):
        compare(peer, seam, trace, allocator)
    compare(peer, seam, trace, "seam", pluggable)
    for allocator in ("caching", pluggable):
        small = run(peer, allocator, trace, "1", FAKECUDA_MEMORY="book", FAKECUDA_CAPACITY="64M")
        ok(small.returncode == 0 and "\toom\t1\t" in small.stdout, f"out of memory is a result {small.stderr}")
    for why, arguments, variables in (
        ("usage", ("caching", trace), {}),
        ("usage", ("caching", trace, "0"), {}),
        ("/nowhere.so", ("/nowhere.so", trace, "1"), {}),
        ("cannot be read", ("caching", "/nowhere", "1"), {}),
        ("no device", ("caching", trace, "1"), {"FAKECUDA": "none"}),
    ):
        done = run(peer, *arguments, **variables)
        ok(done.returncode == 1 and why in done.stderr, f"refused: {done.stderr.strip()}")
    return end()


if __name__ == "__main__":
    raise SystemExit(main())
