"""The first Pythons below `python -m seamalloc` import, which has put this folder in their PYTHONPATH: starts what seamalloc-enable.pth starts, which
is read only where the package is installed; then the sitecustomize that this one hides, if there is one."""

import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _start() -> None:
    path = list(sys.path)
    sys.path.append(os.path.dirname(os.path.dirname(_here)))
    try:
        from seamalloc import _startup

        _startup.start()
    except Exception as failure:  # a Python that is too old, say: it goes on without Seam
        print(f"seamalloc: not enabled in {sys.executable}: {failure}", file=sys.stderr)
    finally:
        sys.path[:] = path


def _hidden() -> None:
    others = [place for place in sys.path if os.path.abspath(place) != _here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_start()
_hidden()
