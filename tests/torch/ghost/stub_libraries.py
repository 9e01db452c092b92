"""stub_libraries.py: libraries that stand for cuBLAS and cuBLASLt where no GPU is: every call succeeds and computes nothing.

NVIDIA's own ask the driver for tables that are not documented, which the ghost's driver does not have. The names are those of the installed ones.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path

LIBRARY = re.compile(r"libcublas(Lt)?\.so\.\d+")
# What PyTorch reads of an answer. A matrix product by cuBLASLt takes the first algorithm that it is told of: one, with no workspace.
ANSWERS = {
    "cublasCreate_v2": "int %s(void **ret) { *ret = dummy; return 0; }",
    "cublasGetMathMode": "int %s(void *handle, int *ret) { *ret = 0; return 0; }",
    "cublasGetPointerMode_v2": "int %s(void *handle, int *ret) { *ret = 0; return 0; }",
    "cublasLtGetVersion": "size_t %s(void) { return 130400; }",
    "cublasLtMatmulDescCreate": "int %s(void **ret) { *ret = dummy; return 0; }",
    "cublasLtMatmulPreferenceCreate": "int %s(void **ret) { *ret = dummy; return 0; }",
    "cublasLtMatrixLayoutCreate": "int %s(void **ret) { *ret = dummy; return 0; }",
    "cublasLtMatmulAlgoGetHeuristic": "int %s(void *a, void *b, void *c, void *d, void *e, void *f, void *g, int n, void *ret, int *ret_count)"
    " { memset(ret, 0, 104); *ret_count = 1; return 0; }",
}


def load(packages: Path, folder: Path) -> None:
    """Makes them in the folder and loads them, before PyTorch is imported. packages: where PyTorch and NVIDIA's packages are installed."""
    installed = [path for path in packages.glob("nvidia/*/lib/libcublas*") if LIBRARY.fullmatch(path.name)]
    for real in sorted(installed, reverse=True):
        listing = subprocess.run(["nm", "-D", "--defined-only", str(real)], check=True, capture_output=True, text=True).stdout
        names = sorted(set(re.findall(rf" T (\w+)@+{re.escape(real.name)}$", listing, re.MULTILINE)))
        source, versions, library = (folder / f"{real.name}{end}" for end in (".c", ".map", ""))
        calls = "\n".join(ANSWERS.get(name, "int %s(void) { return 0; }") % name for name in names)
        source.write_text(f"#include <stddef.h>\n#include <string.h>\nstatic long dummy[64];\n{calls}\n", encoding="utf-8")
        versions.write_text(f"{real.name} {{ global: *; }};\n", encoding="utf-8")
        subprocess.run([os.environ.get("CC", "cc"), "-w", "-shared", "-fPIC", str(source), "-o", str(library),
                        f"-Wl,-soname,{real.name}", f"-Wl,--version-script={versions}"], check=True)  # fmt: skip
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
