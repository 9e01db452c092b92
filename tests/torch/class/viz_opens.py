#!/usr/bin/env python3
"""viz_opens.py SNAPSHOT VIZ: PyTorch's own _memory_viz.py opens a snapshot of the allocator class, as TAP.

SNAPSHOT: a Python literal, as class_main writes it. VIZ: PyTorch's file, loaded without PyTorch. Everything goes by way of a pickle, as
torch.cuda.memory._dump_snapshot() makes it.
"""

from __future__ import annotations

import ast
import importlib.util
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from tap import end, ok  # noqa: E402


def load(path: Path) -> ModuleType:
    """PyTorch's file as a module."""
    spec = importlib.util.spec_from_file_location("memory_viz", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_command(viz: Path, pickled: Path, folder: Path) -> None:
    """The commands that users give."""
    for action in ("trace_plot", "segment_plot"):
        out = folder / f"{action}.html"
        result = subprocess.run([sys.executable, str(viz), action, str(pickled), "-o", str(out)], capture_output=True, text=True, check=False)
        ok(result.returncode == 0 and out.is_file() and out.stat().st_size > 1000, f"{action} makes a page: {result.stderr[-200:]!r}")


def main(literal: Path, viz: Path) -> int:
    """All checks."""
    snapshot: dict[str, Any] = ast.literal_eval(literal.read_text(encoding="utf-8"))
    module = load(viz)
    with tempfile.TemporaryDirectory() as folder:
        pickled = Path(folder) / "snapshot.pickle"
        pickled.write_bytes(pickle.dumps(snapshot))
        data = pickle.loads(pickled.read_bytes())
        total = sum(segment["total_size"] for segment in data["segments"])
        summary = module.segsum(data)
        ok("segments" in summary and f"total_reserved: {module.Bytes(total)}" in summary, f"the summary has all memory:\n# {summary.splitlines()[-4:]}")
        trace = module.trace(data)
        ok(trace.count("# free completed") >= 20 or trace.count("del ") >= 20, "the trace is read to its end")
        check_command(viz, pickled, Path(folder))
    return end()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
