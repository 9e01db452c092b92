#!/usr/bin/env python3
"""installed.py BUILD PREFIX LIBDIR MAJOR...: what `meson install` makes of the ghost: its libraries lie where no program finds them by itself, and find each other
when one is loaded by its path, whatever LD_LIBRARY_PATH says. TAP."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tap  # noqa: E402

NAMES = ("libcuda.so", "libcudart.so", "libnvidia-ml.so")
PROGRAM = """
import ctypes, sys
runtime = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
count, total = ctypes.c_int(), ctypes.c_size_t()
assert runtime.cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 3, count
ctypes.CDLL("libcuda.so.1").fakecuda_now
ctypes.CDLL("libnvidia-ml.so.1").nvmlInit_v2
print(*sorted({line.split()[-1] for line in open("/proc/self/maps") if "/lib" in line and ("libcuda" in line or "libnvidia" in line)}))
"""


def main() -> int:
    build, prefix, libdir, *majors = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        root, wrong = Path(place) / "root", Path(place) / "wrong"
        done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", str(root)], capture_output=True, text=True, check=False)
        tap.ok(done.returncode == 0, "meson install", done.stdout + done.stderr)
        folder = Path(f"{root}{prefix}") / libdir
        ghost = folder / "seam/ghost"
        found = {str(path.relative_to(ghost)) for path in ghost.rglob("*") if not path.is_dir()}
        wanted = {"libcuda.so.1", *(["libnvidia-ml.so.1"] if majors else []), *(f"cuda{major}/libcudart.so.{major}" for major in majors)}
        tap.ok(found == wanted, f"the folder has {' '.join(sorted(wanted))}, and no names for the linker", str(sorted(found)))
        elsewhere = [str(path) for path in root.rglob("*") if path.name.startswith(NAMES) and ghost not in path.parents]
        tap.ok(not elsewhere, "they are nowhere else", "\n".join(elsewhere))
        wrong.mkdir()
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            (wrong / name).write_bytes(b"")  # whoever finds it fails
        for major in majors:
            environment = {**os.environ, "LD_LIBRARY_PATH": str(wrong), "FAKECUDA_DEVICES": "3"}
            library = ghost / f"cuda{major}/libcudart.so.{major}"
            run = subprocess.run([sys.executable, "-c", PROGRAM, str(library)], capture_output=True, text=True, env=environment, check=False)
            used = {Path(path) for path in run.stdout.split()}
            tap.ok(run.returncode == 0 and used == {library, ghost / "libcuda.so.1", ghost / "libnvidia-ml.so.1"},
                   f"{library.name}, loaded by its path, brings the others", run.stdout + run.stderr)  # fmt: skip
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
