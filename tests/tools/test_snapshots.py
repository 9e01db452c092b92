#!/usr/bin/env python3
"""Compares what `seam convert` makes of memory snapshots with what Python's own unpickler finds in them.

Nothing is shared with the importer: counts come straight from the pickles, what was live and reserved at the beginning
is worked out backwards from the state at the end, and the .seamtrace is read by its documented layout.

usage: test_snapshots.py SEAM [FOLDER]      FOLDER: by default that of SEAM_TRACES; without either, skipped
"""

from __future__ import annotations

import lzma
import os
import pickle
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

HEADER = struct.Struct("<8sIIIIQQIIQQ")
EVENT = struct.Struct("<BBHIQQQQIIII")
ALLOC, FREE, SEGMENT_ALLOC, SEGMENT_FREE, OOM, RESIDENT = 1, 2, 14, 15, 16, 2
TAKES, GIVES = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")


class PlainUnpickler(pickle.Unpickler):
    """Builds plain data only."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain data")


def load(path: Path) -> Any:
    """The snapshot in `path`."""
    with (lzma.open(path) if path.suffix == ".xz" else path.open("rb")) as file:
        return PlainUnpickler(file).load()


def convert(seam: str, path: Path, device: int) -> list[tuple[int, ...]]:
    """The events that `seam convert` makes of one device."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.seamtrace"
        subprocess.run([seam, "convert", "--quiet", f"--device={device}", str(path), str(out)], check=True)
        data = out.read_bytes()
    magic, version, header_bytes, event_bytes, index, count, strings, *_ = HEADER.unpack_from(data)
    assert (magic, version, header_bytes, event_bytes) == (b"SEAMTRC\n", 1, HEADER.size, EVENT.size)
    assert index == device, f"device {index} instead of {device}"
    assert len(data) == header_bytes + count * event_bytes + strings
    return [EVENT.unpack_from(data, header_bytes + i * event_bytes) for i in range(count)]


def requested(block: dict[str, Any]) -> int:
    """What the program had asked for, in any era."""
    if "history" in block:
        return block["history"][0]["real_size"]
    return block.get("requested_size", block["size"])


def elapsed(entries: list[dict[str, Any]]) -> int | None:
    """From the first entry to the last that is an event of its own; None in eras without times."""
    if not entries or "time_us" not in entries[0]:
        return None
    last = next(e for e in reversed(entries) if e["action"] not in ("free_completed", "snapshot"))
    return last["time_us"] - entries[0]["time_us"]


def expected_of(snapshot: Any, device: int) -> dict[str, Any]:
    """What the trace must show, from the pickle alone."""
    is_list = isinstance(snapshot, list)
    segments = [s for s in (snapshot if is_list else snapshot["segments"]) if s["device"] == device]
    entries = [] if is_list else snapshot["device_traces"][device]
    in_use = [b for s in segments for b in s["blocks"] if b["state"] != "inactive"]
    actions = Counter(e["action"] for e in entries)
    asked_back = {}  # address -> free_requested that has not completed
    freed_bytes = orphans = 0
    for entry in entries:
        if entry["action"] == "free_requested":
            asked_back[entry["addr"]] = entry["size"]
            freed_bytes += entry["size"]
        elif entry["action"] == "free_completed" and asked_back.pop(entry["addr"], None) is None:
            freed_bytes += entry["size"]  # requested before the recording began
            orphans += 1
    alloc_bytes = sum(e["size"] for e in entries if e["action"] == "alloc")
    live_at_end = sum(map(requested, in_use)) - sum(asked_back.values())
    reserved_at_end = sum(s["total_size"] for s in segments)
    taken = sum(e["size"] for e in entries if e["action"] in TAKES)
    given = sum(e["size"] for e in entries if e["action"] in GIVES)
    frees = actions["free_requested"] + orphans
    return {
        "allocations": actions["alloc"],
        "frees": frees,
        "live at the end": live_at_end,
        "live at the beginning": live_at_end - alloc_bytes + freed_bytes,
        "blocks at the beginning": len(in_use) - len(asked_back) - actions["alloc"] + frees,
        "reserved at the beginning": reserved_at_end - taken + given,
        "reserved at the end": reserved_at_end,
        "segment events": sum(actions[a] for a in TAKES + GIVES),
        "ooms": actions["oom"],
        "streams": len({e["stream"] for e in entries if e["action"] == "alloc"}),
        "microseconds": elapsed(entries),
    }


def found_in(events: list[tuple[int, ...]]) -> dict[str, Any]:
    """The same figures from the trace."""
    resident = [e for e in events if e[1] & RESIDENT]
    later = [e for e in events if not e[1] & RESIDENT]
    assert events[:len(resident)] == resident, "residents stand first"

    def total(part: list[tuple[int, ...]], kind: int) -> int:
        return sum(e[5] for e in part if e[0] == kind)

    def count(part: list[tuple[int, ...]], *kinds: int) -> int:
        return sum(e[0] in kinds for e in part)

    return {
        "allocations": count(later, ALLOC),
        "frees": count(later, FREE),
        "live at the end": total(events, ALLOC) - total(events, FREE),
        "live at the beginning": total(resident, ALLOC),
        "blocks at the beginning": count(resident, ALLOC),
        "reserved at the beginning": total(resident, SEGMENT_ALLOC),
        "reserved at the end": total(events, SEGMENT_ALLOC) - total(events, SEGMENT_FREE),
        "segment events": count(later, SEGMENT_ALLOC, SEGMENT_FREE),
        "ooms": count(later, OOM),
        "streams": len({e[6] for e in later if e[0] == ALLOC}),
        "microseconds": max((e[7] for e in later if e[0] in (ALLOC, FREE, SEGMENT_ALLOC, SEGMENT_FREE, OOM)), default=0) // 1000,
    }


def reserved_curve(entries: list[dict[str, Any]], begin: int) -> list[int]:
    """Native's reserved bytes after each entry that changed them, from `begin` on."""
    curve = [begin]
    for entry in entries:
        if entry["action"] in TAKES:
            curve.append(curve[-1] + entry["size"])
        elif entry["action"] in GIVES:
            curve.append(curve[-1] - entry["size"])
    return curve


def check(seam: str, path: Path, device: int, snapshot: Any) -> list[str]:
    """What differs, as lines."""
    expected, events = expected_of(snapshot, device), convert(seam, path, device)
    found = found_in(events)
    if expected["microseconds"] is None:
        del expected["microseconds"], found["microseconds"]
    lines = [f"{key}: {found[key]} instead of {value}" for key, value in expected.items() if found[key] != value]
    entries = [] if isinstance(snapshot, list) else snapshot["device_traces"][device]
    curve = [sum(e[5] for e in events if e[0] == SEGMENT_ALLOC and e[1] & RESIDENT)]
    for event in events:
        if event[0] in (SEGMENT_ALLOC, SEGMENT_FREE) and not event[1] & RESIDENT:
            curve.append(curve[-1] + (event[5] if event[0] == SEGMENT_ALLOC else -event[5]))
    if curve != reserved_curve(entries, expected["reserved at the beginning"]):
        lines.append("the reserved curve differs")
    return lines


def main() -> int:
    """One line of TAP for each device of each snapshot."""
    seam, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.environ.get("SEAM_TRACES")
    if not folder:
        print("1..0 # SKIP set SEAM_TRACES to the folder of the traces")
        return 0
    paths = sorted([*Path(folder).rglob("*.pickle"), *Path(folder).rglob("*.pickle.xz")])
    if not paths:
        print(f"Bail out! no snapshot in {folder}")
        return 1
    number = failures = 0
    for path in paths:
        snapshot = load(path)
        devices = {s["device"] for s in snapshot} if isinstance(snapshot, list) else range(len(snapshot["device_traces"]))
        for device in devices:
            number += 1
            lines = check(seam, path, device, snapshot)
            failures += bool(lines)
            print(f"{'not ok' if lines else 'ok'} {number} - {path.name}, device {device}")
            for line in lines:
                print(f"# {line}")
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
