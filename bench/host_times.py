"""host_times.py RUNS: what an allocation of pinned memory with its free takes under PyTorch's own allocator, then under Seam's, as JSON. bench/host runs it.

One process, so that both meet the same machine; PyTorch's comes first, as there is no way back from Seam's. Not here: what is pinned (host_sets.py)
and tables (bench/host).
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import seamalloc
import torch
from seamalloc import build

SOURCE = Path(__file__).with_name("host_times.cpp")
SIZES = [4 << 10 << 2 * power for power in range(8)]  # 4 KiB to 64 MiB
OTHERS = (0, 1000)
THREADS = (1, 4)
PAIRS = 1000  # in a run of one thread; several threads share them


def compiled(folder: str) -> ctypes.CDLL:
    """The measuring part, for the PyTorch that runs."""
    found = build.find_torch()
    library = f"{folder}/host_times.so"
    flags = build.flags(found, *build.find_sources(), build.find_cuda_headers(found))
    libraries = [f"-L{found.libraries}", "-l:libc10.so", "-l:libc10_cuda.so", "-l:libtorch_cpu.so"]
    subprocess.run([*build.compiler(), *flags, "-shared", str(SOURCE), "-o", library, *libraries], check=True)
    made = ctypes.CDLL(library)
    made.host_pair_ns.restype = ctypes.c_double
    return made


def measure(library: ctypes.CDLL, runs: int) -> list[tuple[int, int, int, int, float]]:
    """Bytes, whether a stream uses the block, others that live, threads, nanoseconds."""
    return [
        (size, uses, others, threads, library.host_pair_ns(ctypes.c_size_t(size), uses, others, threads, PAIRS // threads, runs))
        for uses in (0, 1) for threads in THREADS for others in OTHERS for size in SIZES
    ]  # fmt: skip


def main() -> None:
    """Prints a line."""
    torch.cuda.init()
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(folder)
        native = measure(library, int(sys.argv[1]))
        seamalloc.enable(door="class", pinned=True)
        seam = measure(library, int(sys.argv[1]))
    print(json.dumps([(*one, other[-1]) for one, other in zip(native, seam)]))


if __name__ == "__main__":
    main()
