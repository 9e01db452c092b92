"""SEAM_ENABLE: enables Seam in programs that do not know of it, when they import PyTorch.

Called by seamalloc-enable.pth at the start of every Python that has the package, if SEAM_ENABLE is set: 1 or auto, class, pluggable; 0 or empty is off.
Python programs that never import PyTorch are left alone. What cannot be done is said on standard error, and the program goes on without Seam.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType


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
            seamalloc.enable(door=self._door)
        except seamalloc.Error as failure:
            print(f"seamalloc: SEAM_ENABLE is set, but {failure}", file=sys.stderr)


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
    """Waits for PyTorch, if SEAM_ENABLE says so."""
    door = os.environ.get("SEAM_ENABLE", "")
    if door not in ("", "0"):
        sys.meta_path.insert(0, _Finder("auto" if door == "1" else door))
