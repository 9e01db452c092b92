#!/usr/bin/env python3
"""test_class.py SOURCE_ROOT BUILD_ROOT LIBSEAM_TORCH: the allocator class with every PyTorch that is there, as TAP.

For each PyTorch ($SEAM_VENV, default ~/.cache/seam/venv, and the folders in $SEAM_TORCHS, each an unpacked wheel): the class is compiled by
seamalloc.build with warnings as errors, then a program that is linked to that PyTorch's libc10_cuda.so drives it over the fake CUDA runtime of
lib/ghost/cudart, and PyTorch's own _memory_viz.py opens the snapshot that it wrote. Skipped where there is no PyTorch.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE, BUILD, LIBRARY = (Path(argument).resolve() for argument in sys.argv[1:4])
HERE = Path(__file__).resolve().parent
WORK = BUILD / "tests/torch/class"
PARTS = ("class_blocks.cpp", "class_memory.cpp", "class_planned.cpp", "class_pools.cpp", "class_trackers.cpp", "class_watching.cpp", "class_main.cpp")

sys.path[:0] = [str(SOURCE / "lib/doors/python/seamalloc"), str(SOURCE / "tests/support")]
sys.dont_write_bytecode = True
import build as seam_build  # noqa: E402  # the package itself needs a GPU's driver
from tap import end, ok  # noqa: E402


def torches() -> list[Path]:
    """The package folders of every PyTorch that is there."""
    venv = Path(os.environ.get("SEAM_VENV") or Path.home() / ".cache/seam/venv")
    found = sorted(venv.glob("lib/python3*/site-packages/torch"))
    if os.environ.get("SEAM_TORCHS"):
        found += sorted(Path(os.environ["SEAM_TORCHS"]).glob("*/torch"))
    return [folder for folder in found if (folder / "lib/libc10_cuda.so").is_file()]


def run(command: list[str], **more: object) -> subprocess.CompletedProcess[str]:
    """A command with its output."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)  # type: ignore[call-overload]


def compile_program(torch: seam_build.Torch, cuda: Path, out: Path, runtime: Path) -> subprocess.CompletedProcess[str]:
    """The program that drives the class; one unit, as PyTorch's headers take longest to read."""
    unit, tap = out / "class_test.cpp", out / "tap.o"
    unit.write_text("".join(f'#include "{HERE / part}"\n' for part in PARTS), encoding="utf-8")
    run(["cc", "-c", str(SOURCE / "tests/support/tap.c"), "-o", str(tap)])
    folders = [runtime.parent, BUILD / "lib/ghost/cuda", torch.libraries, out, LIBRARY.parent]
    return run([
        *seam_build.compiler(), *seam_build.flags(torch, SOURCE / "lib/doors", SOURCE / "include", cuda), "-O0", "-Werror",
        f"-I{HERE}", f"-I{SOURCE / 'tests/support'}", str(unit), str(tap), "-o", str(out / "class_test"), str(runtime),
        f"-L{torch.libraries}", "-l:libc10_cuda.so", "-l:libc10.so", str(out / seam_build.LIBRARY), str(LIBRARY),
        str(BUILD / "lib/ghost/cuda/libcuda.so.1"), "-Wl,--allow-shlib-undefined,--disable-new-dtags", f"-Wl,-rpath,{':'.join(map(str, folders))}",
    ])  # fmt: skip


def judge(what: str, result: subprocess.CompletedProcess[str]) -> None:
    """One check: a program has passed all of its own, as many as its plan says."""
    passed = len(re.findall(r"^ok ", result.stdout, re.MULTILINE))
    whole = re.search(rf"^1\.\.{passed}$", result.stdout, re.MULTILINE) is not None
    bad = "\n".join(line for line in result.stdout.splitlines() if not line.startswith("ok "))
    ok(result.returncode == 0 and whole, f"{what}, {passed} checks", f"exit status {result.returncode}\n{bad}")


def drive(name: str, torch: seam_build.Torch, out: Path) -> None:
    """Runs the program, both ways, and PyTorch's viewer on what it wrote."""
    snapshot = out / "snapshot.txt"
    runs = {
        "is refused when it is too late": ["late"],
        "shares memory with other processes": ["shared"],
        "answers trackers": ["asked"],
        "knows whose a block is": ["two"],
        "shows the memory of plans once": ["planned", str(out / "planned.seamtrace")],
        "does what PyTorch asks of an allocator": [str(snapshot)],
    }
    settings = {"two": {"FAKECUDA_DEVICES": "2", "SEAM_CONF": "export_as:fd"}, "shared": {"SEAM_CONF": "export_as:fd"}, "limited": {"PYTORCH_CUDA_ALLOC_CONF": "per_process_memory_fraction:0.25"},
                "rejecting": {"PYTORCH_CUDA_ALLOC_CONF": "per_process_memory_fraction:0.25,throw_on_cudamalloc_oom:True"}}  # fmt: skip
    if torch.minor >= 10:  # before that PyTorch has no such setting
        runs["takes PyTorch's limit"] = ["limited"]
    if torch.minor >= 12:
        runs["rejects what PyTorch's settings say"] = ["rejecting"]
    for what, arguments in runs.items():
        environment = {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib/ghost/cuda"), "SEAM_CONF": "", **settings.get(arguments[0], {})}
        judge(f"{name}: the class {what}", run([str(out / "class_test"), *arguments], env=environment, timeout=300))
    viz = torch.libraries.parent / "cuda/_memory_viz.py"
    if snapshot.is_file() and viz.is_file():
        result = run([sys.executable, str(HERE / "viz_opens.py"), str(snapshot), str(viz)])
        ok(result.returncode == 0, f"{name}: _memory_viz.py opens its snapshot", result.stdout)


def drive_torch(name: str, torch: seam_build.Torch, out: Path, runtime: Path) -> None:
    """The same PyTorch as a whole, where all of it is installed."""
    python = torch.libraries.parents[4] / "bin/python"
    if not (torch.libraries / "libtorch_cuda.so").is_file() or not python.is_file():
        return
    environment = {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib/ghost/cuda"), "LD_PRELOAD": str(runtime), "SEAM_LIBRARY": str(LIBRARY), "SEAM_CONF": "",
                   "FAKECUDART_KERNELS": "skip"}  # 2.11 begins a capture with kernels, for random numbers
    command = [str(python), str(HERE / "in_torch.py"), str(SOURCE / "lib/doors/python/seamalloc"), str(out / seam_build.LIBRARY), str(out)]
    judge(f"{name}: Python programs get what they expect", run(command, env=environment, timeout=600))


def test(folder: Path) -> None:
    """Everything for one PyTorch."""
    torch = seam_build.find_torch(folder)
    name = f"PyTorch {torch.version}"
    out = WORK / torch.version
    cuda = seam_build.find_cuda_headers(torch)
    try:
        seam_build.build(torch, cuda=cuda, library=LIBRARY, out=out, extra=["-O0", "-g", "-Werror"])
    except seam_build.BuildError as error:
        ok(False, f"{name}: the class is compiled", str(error))
        return
    ok(True, f"{name}: the class is compiled")
    major = torch.cuda.split(".", 1)[0]
    runtime = BUILD / f"lib/ghost/cudart/cuda{major}/libcudart.so.{major}"
    if not runtime.is_file():
        ok(True, f"{name}: the class is driven # SKIP no fake CUDA runtime {runtime.name} was built")
        return
    result = compile_program(torch, cuda, out, runtime)
    if ok(result.returncode == 0, f"{name}: the program that drives it is compiled", result.stdout):
        drive(name, torch, out)
    drive_torch(name, torch, out, runtime)


def main() -> int:
    """Every PyTorch."""
    found = torches()
    if not found:
        print("1..0 # SKIP no PyTorch in $SEAM_VENV (default ~/.cache/seam/venv; see tools/setup-torch) nor in $SEAM_TORCHS")
        return 0
    for folder in found:
        test(folder)
    return end()


if __name__ == "__main__":
    sys.exit(main())
