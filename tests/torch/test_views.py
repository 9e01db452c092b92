#!/usr/bin/env python3
"""test_views.py LIBSEAM_TORCH PACKAGE_FOLDER: the key that seamalloc.enable() adds to PyTorch's snapshots, without PyTorch, on an emulated device, as TAP."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[2], str(Path(__file__).resolve().parents[1] / "support")]
os.environ.update(SEAM_LIBRARY=sys.argv[1], SEAM_CONF="backend:emu_book,emu_capacity_bytes:256M,chunk_bytes:2M")

from seamalloc import _views  # noqa: E402
from seamalloc._library import library  # noqa: E402
from tap import end, ok  # noqa: E402

MIB = 1 << 20


def alloc(count: int, device: int = 0) -> int:
    """The address of so many bytes."""
    return library().seam_torch_alloc(count, device, None)


def check_views() -> None:
    """A stitched block, and what it took its memory from."""
    ok(_views.stitched_views() == [], "where nothing was asked for there is nothing, and nothing is made")
    ok(library().seam_torch_pool_made(0) is None, "no pool either")
    pieces = [alloc(2 * MIB, 1) for _ in range(8)]
    alloc(5 * MIB, 0)
    ok(_views.stitched_views() == [], "home views are no stitched views")
    for piece in pieces[::2]:
        library().seam_torch_free(piece, 0, 1, None)
    stitched = alloc(6 * MIB, 1)
    (view,) = _views.stitched_views()
    ok((view["device"], view["address"], view["total_size"]) == (1, stitched, 6 * MIB), f"a stitched view is where its block is: {view}")
    ok(not view["is_plan"] and view["segment_pool_id"] == 0, "of the common memory, and no plan's")
    chunks = view["chunks"]
    ok([chunk["address"] - stitched for chunk in chunks] == [0, 2 * MIB, 4 * MIB] and {chunk["size"] for chunk in chunks} == {2 * MIB}, "its chunks in order")
    ok({chunk["home"] for chunk in chunks} < set(pieces[::2]) and all(chunk["owned"] for chunk in chunks), "with their homes")
    library().seam_torch_free(stitched, 0, 1, None)
    again = [alloc(2 * MIB, 1) for _ in range(4)]
    (view,) = _views.stitched_views()
    ok(len(again) == 4 and view["address"] == stitched and len(view["chunks"]) == 3, "a view stays when its block is gone")


def check_snapshot() -> None:
    """PyTorch's function, called by its name in its module."""
    asked: list[Any] = []

    def snapshot(*arguments: Any, **named: Any) -> dict[str, Any]:
        """What PyTorch says."""
        asked.append((arguments, named))
        return {"segments": [1]}

    torch: Any = SimpleNamespace(cuda=SimpleNamespace(memory=SimpleNamespace(_snapshot=snapshot)))
    _views.extend(torch)
    first = torch.cuda.memory._snapshot
    _views.extend(torch)
    ok(torch.cuda.memory._snapshot is first and first.__doc__ == "What PyTorch says.", "it is extended once")
    shown = first(0, augment=True)
    ok(shown["segments"] == [1] and len(shown["stitched_views"]) == 1 and asked == [((0,), {"augment": True})], "the key is beside PyTorch's own")
    _views.tempfile = SimpleNamespace(TemporaryDirectory=lambda: open("/nowhere/at/all"))  # type: ignore[assignment]
    ok(first() == {"segments": [1]}, "and left out where the views cannot be had")


def main() -> int:
    """All checks."""
    check_views()
    check_snapshot()
    return end()


if __name__ == "__main__":
    raise SystemExit(main())
