"""SEAM_ENABLE: enables Seam in programs that do not know of it, when they import PyTorch.

Called at the start of every Python, by seamalloc-enable.pth where the package is installed, by _children/sitecustomize.py below `python -m seamalloc`.
SEAM_ENABLE is 1 or auto, class, pluggable; 0 or empty is off. SEAM_ENABLE_PLAN and SEAM_ENABLE_CONF are enable()'s plan and conf; with
SEAM_ENABLE_REPORT=1 seamalloc.report() is printed at the end, on standard error.
Python programs that never import PyTorch are left alone. What cannot be done is said on standard error, and the program goes on without Seam.
"""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType


DOOR, PLAN, CONF, REPORT = "SEAM_ENABLE", "SEAM_ENABLE_PLAN", "SEAM_ENABLE_CONF", "SEAM_ENABLE_REPORT"


class _Loader(importlib.abc.Loader):
    """Loads PyTorch by its own loader, and then enables Seam."""

    def __init__(self, own: importlib.abc.Loader, door: str) -> None:
        self._own = own
        self._door = door

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        import seamalloc

        try:
            seamalloc.enable(door=self._door, plan=os.environ.get(PLAN), conf=os.environ.get(CONF))
        except seamalloc.Error as failure:
            print(f"seamalloc: SEAM_ENABLE is set, but {failure}", file=sys.stderr)
            return
        if os.environ.get(REPORT, "0") not in ("", "0"):
            atexit.register(lambda: print(seamalloc.report(), file=sys.stderr))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, door: str) -> None:
        self._door = door

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._door)
        return spec


def start() -> None:
    """Waits for PyTorch, if SEAM_ENABLE says so. Again is no more."""
    door = os.environ.get(DOOR, "")
    if door not in ("", "0") and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder("auto" if door == "1" else door))
