"""Seam's allocator class for the PyTorch that is installed, found or compiled: `python -m seamalloc.build`.

The class overrides PyTorch's virtual functions, which change nearly every minor. A wheel has it for every minor that was released when it was made (tools/wheel);
for any other PyTorch it is compiled once for each version and kept in the user's cache. PyTorch is found without importing it. Needed are a C++20 compiler ($CXX, else c++) and the headers of the CUDA
runtime, which come with PyTorch's CUDA packages, with Triton, or with a CUDA toolkit.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIBRARY = "libseam_torch_class.so"
OLDEST_MINOR = 9
ERROR_BYTES = 512
INSTALLED = ("/usr/local/lib", "/usr/local/lib/x86_64-linux-gnu", "/usr/lib", "/usr/lib/x86_64-linux-gnu")


class BuildError(RuntimeError):
    """Why the class cannot be compiled here, for a person."""


@dataclass(frozen=True)
class Torch:
    """A PyTorch to compile for."""

    version: str  # "2.15.0+cu132"
    includes: tuple[Path, ...]
    libraries: Path
    cuda: str  # "13.2"; "" if it is not known

    @property
    def minor(self) -> int:
        """The second number of its version."""
        return minor_of(self.version)


def minor_of(version: str) -> int:
    """The minor of a version of PyTorch 2."""
    match = re.match(r"2\.(\d+)\.", version + ".")
    if match is None:
        raise BuildError(f"PyTorch {version} is not a version of PyTorch 2")
    return int(match.group(1))


def find_torch(folder: Path | None = None) -> Torch:
    """The PyTorch whose package is in `folder`, else the one that this Python would import."""
    if folder is None:
        spec = importlib.util.find_spec("torch")
        if spec is None or not spec.submodule_search_locations:
            raise BuildError(f"PyTorch is not installed for {sys.executable}")
        folder = Path(next(iter(spec.submodule_search_locations)))
    try:
        text = (folder / "version.py").read_text(encoding="utf-8")
    except OSError as error:
        raise BuildError(f"no PyTorch in {folder}: {error}") from error
    version = re.search(r"^__version__ = '([^']+)'", text, re.MULTILINE)
    cuda = re.search(r"^cuda: [^=]*= (?:'([^']+)'|None)", text, re.MULTILINE)
    if version is None or cuda is None:
        raise BuildError(f"{folder / 'version.py'} does not say which PyTorch this is")
    if not cuda.group(1):
        raise BuildError(f"PyTorch {version.group(1)} was built without CUDA")
    includes = (folder / "include", folder / "include/torch/csrc/api/include")
    return Torch(version.group(1), includes, folder / "lib", cuda.group(1))


def find_cuda_headers(torch: Torch) -> Path:
    """A folder with the CUDA runtime's headers, of PyTorch's major version if there is one."""
    site = torch.libraries.parent.parent
    major = torch.cuda.split(".", 1)[0]
    places = [
        *(Path(os.environ[name]) / "include" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)),
        site / f"nvidia/cu{major}/include",
        site / "nvidia/cuda_runtime/include",
        Path(f"/usr/local/cuda-{torch.cuda}/include"),
        Path("/usr/local/cuda/include"),
        Path("/usr/include"),
        site / "triton/backends/nvidia/include",
    ]
    for place in places:
        # PyTorch's CUDA packages may have all headers but those of the compiler, which others include.
        if (place / "cuda_runtime_api.h").is_file() and (place / "crt/host_config.h").is_file():
            return place
    looked = "\n  ".join(str(place) for place in places)
    raise BuildError(f"no cuda_runtime_api.h with crt/host_config.h; install a CUDA toolkit, or set CUDA_HOME. Looked in\n  {looked}")


def find_sources() -> tuple[Path, Path]:
    """The folder of the class's sources and that of Seam's public headers: in the package, or in the repository that it is used from."""
    here = Path(__file__).resolve().parent
    for sources, headers in ((here / "sources", here / "include"), (here.parents[1], here.parents[3] / "include")):
        if (sources / "torch_allocator.cpp").is_file() and (headers / "seam/torch.h").is_file():
            return sources, headers
    raise BuildError(f"the class's sources are neither in {here / 'sources'} nor in {here.parents[1]}")


def find_library() -> Path:
    """libseam_torch.so, which the class is linked to: the one that is loaded, else that of $SEAM_LIBRARY, else an installed one."""
    named = os.environ.get("SEAM_LIBRARY")
    if named and not Path(named).is_file():
        raise BuildError(f"there is no {named}, which SEAM_LIBRARY names")
    loaded = {line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("/libseam_torch.so")}
    folders = [Path(__file__).resolve().parent, Path(sys.prefix) / "lib", *(Path(place) for place in INSTALLED)]
    for path in (*(Path(one) for one in sorted(loaded)), *([Path(named)] if named else []), *(folder / "libseam_torch.so" for folder in folders)):
        if path.is_file():
            return path.resolve()
    raise BuildError("libseam_torch.so was not found; name it in SEAM_LIBRARY or by --library")


def source_files(sources: Path) -> list[Path]:
    """What is compiled: everything of the class, but not the edge that libseam_torch.so has inside."""
    return sorted(path for path in sources.glob("torch_*.cpp") if path.name != "torch_oom.cpp")


def cache_folder(torch: Torch, sources: Path, headers: Path) -> Path:
    """Where the library for this PyTorch and these sources is kept."""
    digest = hashlib.sha256()
    for path in (*sorted(sources.glob("torch_*.h")), *source_files(sources), *sorted((headers / "seam").iterdir())):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "seam" / "class" / f"{torch.version}-{digest.hexdigest()[:16]}"


def find_prebuilt(version: str) -> Path | None:
    """The class that came with the package for this version of PyTorch, if it is a release: nightlies and other builds may have other virtual functions."""
    release = re.fullmatch(r"(2\.\d+)\.\d+(\+cu\d+)?", version)
    path = Path(__file__).resolve().parent / "classes" / release.group(1) / LIBRARY if release else None
    return path if path is not None and path.is_file() else None


def search_path(library: Path, out: Path) -> str:
    """Where the class in `out` looks for libseam_torch.so: from its own place, if both are of one package, which may be moved."""
    folder = library.resolve().parent
    return f"$ORIGIN/{os.path.relpath(folder, out.resolve())}" if out.resolve().is_relative_to(folder) else str(folder)


def compiler() -> list[str]:
    """$CXX, which may have arguments, else c++."""
    command = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    if shutil.which(command[0]) is None:
        raise BuildError(f"no C++ compiler: {command[0]} was not found; set CXX")
    return command


def flags(torch: Torch, sources: Path, headers: Path, cuda: Path) -> list[str]:
    """The compiler's arguments, those of PyTorch's own ABI among them."""
    return [
        "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
        "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow",
        f"-DSEAM_TORCH_MINOR={torch.minor}", "-D_GLIBCXX_USE_CXX11_ABI=1",
        f"-I{headers}", f"-I{sources}", *(f"-isystem{path}" for path in torch.includes), f"-isystem{cuda}",
    ]  # fmt: skip


def run(command: list[str]) -> str:
    """Runs a command; its output is an error's text."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        raise BuildError(f"this failed:\n  {shlex.join(command)}\n{result.stdout}")
    return result.stdout


def build(torch: Torch, *, cuda: Path, library: Path, out: Path, extra: list[str] | None = None) -> Path:
    """Compiles the class into `out` and returns the library. Files of an older build are replaced only when the new one is whole."""
    if torch.minor < OLDEST_MINOR:
        raise BuildError(f"PyTorch {torch.version} is too old: the allocator class needs 2.{OLDEST_MINOR} or newer")
    sources, headers = find_sources()
    command = [*compiler(), *flags(torch, sources, headers, cuda), *(extra or [])]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        # One unit: PyTorch's headers take longer to read than all of the class.
        unit = Path(scratch) / "class.cpp"
        unit.write_text("".join(f'#include "{path}"\n' for path in source_files(sources)), encoding="utf-8")
        made = Path(scratch) / LIBRARY
        run([
            *command, "-shared", str(unit), "-o", str(made), f"-Wl,-soname,{LIBRARY}", "-Wl,-z,now",
            f"-L{torch.libraries}", "-l:libc10.so", "-l:libc10_cuda.so", str(library), f"-Wl,-rpath,{search_path(library, out)}",
        ])  # fmt: skip
        made.replace(out / LIBRARY)
    return out / LIBRARY


def find_or_build() -> Path:
    """The class for the PyTorch that is installed: out of the cache, where somebody compiled it; the package's own; or compiled into the cache."""
    torch = find_torch()
    sources, headers = find_sources()
    out = cache_folder(torch, sources, headers)
    found = out / LIBRARY if (out / LIBRARY).is_file() else find_prebuilt(torch.version)
    return found or build(torch, cuda=find_cuda_headers(torch), library=find_library(), out=out)


@functools.cache
def load() -> ctypes.CDLL:
    """The class for the PyTorch that runs, which must be imported already, as the class needs its libraries. Compiled if need be."""
    running = sys.modules["torch"].__version__
    path = find_or_build()
    found = ctypes.CDLL(str(path))
    theirs = found.seam_torch_class_version()
    if theirs != minor_of(running):
        raise BuildError(f"versions do not match: {path} was built for PyTorch 2.{theirs}, this is {running}")
    return found


def _call(name: str) -> None:
    error = ctypes.create_string_buffer(ERROR_BYTES)
    if getattr(load(), name)(error, ctypes.c_size_t(ERROR_BYTES)) != 0:
        raise BuildError(error.value.decode(errors="replace"))


def install() -> None:
    """Makes the class PyTorch's allocator for CUDA. Raises BuildError, and changes nothing, if it cannot be compiled or it is too late."""
    _call("seam_torch_class_install")


def pin() -> None:
    """Makes Seam PyTorch's allocator of pinned host memory too, for good. Raises BuildError, and changes nothing, if another one stays."""
    _call("seam_torch_class_pin")


def is_pinned() -> bool:
    """Whether pin() has taken effect. The class is loaded."""
    return bool(load().seam_torch_class_is_pinned())


@contextlib.contextmanager
def contiguous() -> Iterator[None]:
    """CUDA tensors that this thread makes in the block lie each in one physical allocation, which NCCL and RDMA can register."""
    library = load()
    library.seam_torch_class_contiguous(1)
    try:
        yield
    finally:
        library.seam_torch_class_contiguous(-1)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m seamalloc.build", description="Compiles Seam's allocator class for the installed PyTorch.")
    parser.add_argument("--torch", type=Path, metavar="DIR", help="the package folder of another PyTorch (…/site-packages/torch)")
    parser.add_argument("--torch-include", type=Path, metavar="DIR", action="append", default=[], help="a folder of headers to look in first")
    parser.add_argument("--cuda-include", type=Path, metavar="DIR", help="the folder of cuda_runtime_api.h")
    parser.add_argument("--library", type=Path, metavar="FILE", help="libseam_torch.so (else $SEAM_LIBRARY, or where it is installed)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to put the result (else the user's cache)")
    parser.add_argument("--flag", action="append", default=[], metavar="FLAG", help="one more argument for the compiler, as --flag=-O0")
    given = parser.parse_args(arguments)
    try:
        torch = find_torch(given.torch)
        if given.torch_include:
            torch = Torch(torch.version, (*given.torch_include, *torch.includes), torch.libraries, torch.cuda)
        library = given.library.resolve() if given.library else find_library()
        out = given.out or cache_folder(torch, *find_sources())
        print(build(torch, cuda=given.cuda_include or find_cuda_headers(torch), library=library, out=out, extra=given.flag))
    except BuildError as error:
        print(f"seamalloc.build: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    from . import _program  # here, since other programs load this file alone

    with _program.reading():
        sys.exit(main())
