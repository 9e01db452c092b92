"""PyTorch's memory snapshots with one key more: `stitched_views`, the places where memory is mapped beside its home.

A snapshot's segments show every physical byte once, for PyTorch's tools add them up. A stitched view is a range of addresses without memory of its own,
so it has no place among them. The key holds a list of plain dicts:

    device, address, total_size, is_plan   of the range; is_plan: a plan's arena
    segment_pool_id                        the number of its private pool in Seam, 0 for the common memory
    chunks: address, size                  of a chunk in the range
            home                           where it was mapped when it was made: the address of its `segment_map` in the history
            owned                          whether the range may use it now; else it is another's, and the mapping waits
"""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from ._library import DEVICES, Error, check, library

KEY = "stitched_views"


def _view(device: int, view: dict[str, Any], homes: dict[int, int]) -> dict[str, Any]:
    chunks = [
        {"address": int(slot["va"], 16), "size": slot["bytes"], "home": homes.get(slot["chunk"], 0), "owned": slot["owned"]} for slot in view["slots"]
    ]
    owns = any(chunk["owned"] for chunk in chunks)
    used = any(block["state"] in ("live", "pending") for block in view["blocks"])
    return {
        "device": device,
        "address": int(view["va"], 16),
        "total_size": view["bytes"],
        "is_plan": used and not owns,
        "segment_pool_id": view["private_id"],
        "chunks": chunks,
    }


def of_snapshot(device: int, snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    """The stitched views in what seamalloc.snapshot() wrote of the device."""
    homes = {slot["chunk"]: int(slot["va"], 16) for view in snapshot["views"] if not view["stitched"] for slot in view["slots"]}
    return [_view(device, view, homes) for view in snapshot["views"] if view["stitched"]]


def stitched_views() -> list[dict[str, Any]]:
    """Of all devices, as of now. By way of a file: nothing of Python may run while a pool is locked."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.json"
        for device in range(DEVICES):
            pool = library().seam_torch_pool_made(device)
            if pool is not None:
                check(library().seam_snapshot_write(pool, bytes(path)), "the views cannot be read")
                found += of_snapshot(device, json.loads(path.read_bytes()))
    return found


def extend(torch: ModuleType) -> None:
    """From now on torch.cuda.memory._snapshot(), and so _dump_snapshot(), has the key; it is left out where the views cannot be read."""
    plain = torch.cuda.memory._snapshot
    if getattr(plain, "has_views", False):
        return

    @functools.wraps(plain)
    def snapshot(*arguments: Any, **named: Any) -> Any:
        result = plain(*arguments, **named)
        try:
            result[KEY] = stitched_views()
        except (Error, OSError):
            pass  # a snapshot is made where things go wrong: what there is of it is worth more than an error
        return result

    snapshot.has_views = True  # type: ignore[attr-defined]
    torch.cuda.memory._snapshot = snapshot
