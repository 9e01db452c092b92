"""The ghost GPU: libraries that stand in for CUDA's, so that PyTorch's own code runs where no GPU is, and computes nothing.

A process has it from before it imports PyTorch until it ends (load()): for children made for it, never for a user's own process. Seam brings the driver and the
runtime (lib/ghost). The libraries that compute or measure (STUBBED) and the one for copies between GPUs (NCCL) are made here, of the names of the installed ones: functions that
succeed and do nothing, but those that give something back, which are written out (lib/ghost/stubs). They are compiled once for each PyTorch and kept in the user's cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from . import build

STUBBED = ("libcublas", "libcublasLt", "libcudnn", "libcufft", "libcupti", "libcusolver", "libcusparse")
WANTED = re.compile(r"^\s+U (\w+)@(\S+)$", re.MULTILINE)
NCCL = re.compile(r" [TW] (nccl\w+)$", re.MULTILINE)  # its names have no version
HAD = re.compile(r" T (\w+)@+(\S+)$", re.MULTILINE)
DRIVER = "libcuda.so.1"
ENDLESS = "4096G"


def wanted(torch: build.Torch) -> dict[str, list[str]]:
    """The functions of each library that is stubbed, by the library's SONAME: those that this PyTorch wants, and those that NVIDIA's own has, for others want more."""
    found: dict[str, set[str]] = {}
    for library in sorted(torch.libraries.glob("libtorch_c*.so")):
        for name, version in WANTED.findall(build.run(["nm", "-D", "--undefined-only", str(library)])):
            if version.split(".so.")[0] in STUBBED:
                found.setdefault(version, set()).add(name)
    for library in torch.libraries.parent.parent.glob("nvidia/*/lib/libnccl.so.*"):
        found[library.name] = set(NCCL.findall(build.run(["nm", "-D", "--defined-only", str(library)])))
    for soname, names in found.items():
        for library in torch.libraries.parent.parent.glob(f"nvidia/*/lib/{soname}"):
            names.update(name for name, version in HAD.findall(build.run(["nm", "-D", "--defined-only", str(library)])) if version == soname)
    if not found:
        raise build.BuildError(f"PyTorch {torch.version} names no functions of cuBLAS: {torch.libraries} is not that of a PyTorch for CUDA")
    return {soname: sorted(names) for soname, names in sorted(found.items())}


def source(names: list[str]) -> str:
    """The functions of a library that only succeed. One that is written out takes the place of its namesake."""
    return "".join(f"__attribute__((weak)) int {name}(void) {{ return 0; }}\n" for name in names)


def written_out() -> Path:
    """The folder of the functions that do more: in the package, or in the repository that it is used from."""
    here = Path(__file__).resolve().parent
    found = [folder for folder in (here / "sources/stubs", here.parents[2] / "ghost/stubs") if (folder / "stub.h").is_file()]
    if not found:
        raise build.BuildError(f"the stub libraries' sources are neither in {here / 'sources/stubs'} nor in {here.parents[2] / 'ghost/stubs'}")
    return found[0]


def cuda_number(torch: build.Torch) -> int:
    """The CUDA that PyTorch was built with, as CUDA's runtime has it."""
    major, _, minor = torch.cuda.partition(".")
    return int(major) * 1000 + int(minor or 0) * 10


def package_number(torch: build.Torch, package: str) -> int:
    """The version of an installed package, as NCCL and cuDNN say it."""
    names = [path.name for path in torch.libraries.parent.parent.glob(f"{package}*.dist-info")]
    parts = re.findall(r"-(\d+)\.(\d+)\.(\d+)", " ".join(names))
    return int(parts[0][0]) * 10000 + int(parts[0][1]) * 100 + int(parts[0][2]) if parts else 0


def macros(torch: build.Torch, soname: str) -> list[str]:
    """What a library's source is told: its version, CUDA's, and the place of the installed one."""
    package = {"libnccl": "nvidia_nccl", "libcudnn": "nvidia_cudnn"}.get(soname.split(".so.")[0])
    version = package_number(torch, package) if package else cuda_number(torch) * 10
    installed = next(iter(torch.libraries.parent.parent.glob(f"nvidia/*/lib/{soname}")), Path("/not installed"))
    return [f"-DVERSION={version}", f"-DCUDA={cuda_number(torch)}", f'-DINSTALLED="{installed}"']


def compile_stub(soname: str, names: list[str], macros: list[str], folder: Path) -> None:
    """Compiles one library. Its names have a version, as NVIDIA's have."""
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(compiler[0]) is None:
        raise build.BuildError(f"no C compiler: {compiler[0]} was not found; set CC")
    own = written_out() / f"{soname.split('.so.')[0].removeprefix('lib')}.c"
    unit, versions = folder / f"{soname}.c", folder / f"{soname}.map"
    unit.write_text(source(names), encoding="utf-8")
    versions.write_text(f"{soname} {{ global: *; }};\n", encoding="utf-8")
    made = ["-o", str(folder / soname), f"-Wl,-soname,{soname}", f"-Wl,--version-script={versions}", "-pthread", "-ldl"]
    build.run([*compiler, "-std=c11", "-O1", "-fPIC", "-shared", *macros, str(unit), *([str(own)] if own.is_file() else []), *made])
    unit.unlink()
    versions.unlink()


def stubs(torch: build.Torch) -> list[Path]:
    """The stub libraries for this PyTorch, out of the cache or made now."""
    if shutil.which("nm") is None:
        raise build.BuildError("nm was not found (Debian: binutils), which tells which functions of cuBLAS PyTorch wants")
    made = {soname: (names, macros(torch, soname)) for soname, names in wanted(torch).items()}
    digest = hashlib.sha256(repr(made).encode() + b"".join(path.read_bytes() for path in sorted(written_out().iterdir()))).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seam" / "ghost"
    folder = cache / f"{torch.version}-{digest}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            new = Path(scratch) / "made"
            new.mkdir()
            for soname, (names, told) in made.items():
                compile_stub(soname, names, told, new)
            # Somebody else may have been as fast: theirs is the same.
            with contextlib.suppress(OSError):
                new.rename(folder)
    return [folder / soname for soname in made]


def folders() -> list[Path]:
    """Where Seam's part may be: what $SEAM_GHOST names, and nothing else if it is set; in the package; in a build folder; in an installed prefix."""
    named = os.environ.get("SEAM_GHOST")
    if named:
        return [Path(named)]
    here = Path(__file__).resolve().parent
    library = build.find_library().parent
    return [here / "ghost", library.parent / "ghost", library / "seam/ghost"]


def runtime(torch: build.Torch) -> Path:
    """Seam's libcudart for this PyTorch."""
    major = torch.cuda.split(".", 1)[0]
    looked = [folder / part / f"cuda{major}" / f"libcudart.so.{major}" for folder in folders() for part in ("", "cudart")]
    for path in looked:
        if path.is_file():
            return path
    places = "\n  ".join(str(path) for path in looked)
    raise build.BuildError(f"no ghost GPU for CUDA {major} is installed (SEAM_GHOST names its folder). Looked for\n  {places}")


def driver(torch: build.Torch) -> Path:
    """Seam's libcuda."""
    cudart = runtime(torch)
    return next(path for path in (cudart.parents[1] / DRIVER, cudart.parents[2] / "cuda" / DRIVER) if path.is_file())


@functools.cache
def libraries(torch: build.Torch) -> list[Path]:
    """All that a process loads, in this order: what others would look for by name comes before them."""
    return [driver(torch), runtime(torch).parents[1] / "libnvidia-ml.so.1", runtime(torch), *reversed(stubs(torch))]


def load(paths: list[Path]) -> None:
    """Loads them. Their names are taken then: what asks for CUDA's libraries gets these; Triton, which compiles on the host, is told of the driver."""
    if "torch" in sys.modules:
        raise build.BuildError("PyTorch is imported already, and has its libraries")
    for path in paths:
        if path.name == DRIVER:
            os.environ["TRITON_LIBCUDA_PATH"] = str(path.parent)
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def launches() -> Callable[[], int]:
    """Where it is loaded: what tells how many kernels, fills and copies its devices were asked for so far."""
    count = ctypes.CDLL(DRIVER).fakecuda_launches
    count.restype = ctypes.c_uint64
    return count  # type: ignore[no-any-return]


def allocating_plainly(before: Mapping[str, str]) -> dict[str, str]:
    """An environment without what chooses another allocator than PyTorch's own, as it is by default: its history is what is wanted."""
    left_out = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING")
    return {name: value for name, value in before.items() if name not in left_out and not name.startswith("SEAM_ENABLE")}


def environment(gpu: str, before: Mapping[str, str], capacity: str = ENDLESS) -> dict[str, str]:
    """A process's environment: a GPU of this name. What it says of its memory is that GPU's; but there is more, so that what does not fit is seen whole."""
    ours = {
        "FAKECUDA_DEVICES": "1",
        "FAKECUDA_MEMORY": "book",
        "FAKECUDA_CAPACITY": capacity,
        "FAKECUDA_GPU": gpu,
        "FAKECUDART_KERNELS": "skip",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # in the process itself: its workers would be processes without these libraries
    }
    return {**{name: value for name, value in allocating_plainly(before).items() if name not in ("CUDA_VISIBLE_DEVICES", "FAKECUDA", "LD_PRELOAD")}, **ours}
