"""What the memory is doing: figures, a report, a snapshot, the recording."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import c_char_p, c_uint64

from . import _offload
from ._enable import enabled_door, learns
from ._library import DEVICES, ERROR_BYTES, check, library, pool
from ._torch import current_device

_NOT_FOUND = 9  # SEAM_NOT_FOUND: the end of a table

_last: dict[int, dict[str, int]] = {}  # by device: the figures of the newest report


def _ordinal(device: int | None) -> int:
    return current_device() if device is None else device


@functools.cache
def stat_names() -> list[str]:
    """The names of all statistics, in the library's order."""
    names: list[str] = []
    name = c_char_p()
    while library().seam_torch_stat(len(names), ctypes.byref(name), None, None) == 0:
        assert name.value is not None
        names.append(name.value.decode())
    return names


def stat_help() -> dict[str, str]:
    """What each statistic means: its kind, and a line of text (empty for a peak, which is that of the name before it)."""
    kind, text = c_char_p(), c_char_p()
    texts = {}
    for index, name in enumerate(stat_names()):
        check(library().seam_torch_stat(index, None, ctypes.byref(kind), ctypes.byref(text)), name)
        texts[name] = f"{(kind.value or b'').decode().lower()}: {(text.value or b'').decode()}"
    return texts


def stats(device: int | None = None) -> dict[str, int]:
    """Every figure of the device's pool (None: the current device's) as of one moment; all 0 if it has served nothing yet.

    What they mean: seamalloc.stat_help(). `unknown_frees`, the frees of what was no block of Seam's, is the whole process's.
    """
    names = stat_names()
    values = (c_uint64 * len(names))()
    number = _ordinal(device)
    check(library().seam_torch_stats(number, values, len(names)), f"device {number} (ordinals are 0 to {DEVICES - 1})")
    figures = dict(zip(names, values))
    figures["unknown_frees"] = library().seam_torch_unknown_frees()
    return figures


def driver_calls(device: int | None = None) -> dict[str, tuple[int, int]]:
    """How often the driver was called so far, and the nanoseconds in it, by call. Makes the pool if need be."""
    made = pool(_ordinal(device))
    name, calls, ns = c_char_p(), c_uint64(), c_uint64()
    counts: dict[str, tuple[int, int]] = {}
    while True:
        rc = library().seam_stats_driver(made, len(counts), ctypes.byref(name), ctypes.byref(calls), ctypes.byref(ns))
        if rc == _NOT_FOUND:
            return counts
        check(rc, "the driver's calls")
        assert name.value is not None
        counts[name.value.decode()] = (calls.value, ns.value)


def size_text(count: float) -> str:
    """ "2.00 GiB"."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.2f} {unit}" if unit != "bytes" else f"{count:.0f} bytes"
        count /= 1024
    return f"{count:.2f} TiB"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "nothing"


def _plan_line(now: dict[str, int], before: dict[str, int]) -> str:
    requests = now["plan_requests"] - before.get("plan_requests", 0)
    if now["plan_loaded_plans"] == 0 and requests == 0:
        if learns():
            tries = now["plan_failures"]
            return "plan: none in use yet, one is being learnt" + (f"; attempts that led to nothing: {tries}" if tries else "")
        return "plan: none, and none is learnt (plan:off)"
    hits = sum(now[name] - before.get(name, 0) for name in ("plan_hits", "plan_dynamic_hits"))
    return f"plan: {_share(hits, requests)} of {requests} requests served from it, {requests - hits} missed"


def _verdict(now: dict[str, int], before: dict[str, int]) -> str:
    if now["allocs"] == 0:
        return "Nothing was asked for yet."
    scattered = now["scattered"]
    were = "request was" if scattered == 1 else "requests were"
    calls = now["memory_calls"] - before.get("memory_calls", 0)
    first = (
        f"Helping: {scattered} {were} served out of scattered free memory, as no one free stretch was large enough: an allocator that only splits would "
        "hold more memory, or fail."
        if scattered
        else "Nothing had to be stitched so far: this program does not fragment its memory, or has only begun."
    )
    if not before:
        return first
    second = "No driver call since the last report." if calls == 0 else "Still warming up, or its iterations differ: the driver is being called."
    return f"{first} {second}"


def host_text(device: int) -> str:
    """What is pinned, what limits it, and where it lies."""
    text = ctypes.create_string_buffer(ERROR_BYTES)
    library().seam_host_text(pool(device), text, ERROR_BYTES)
    return text.value.decode(errors="replace")


def report(device: int | None = None) -> str:
    """Is it helping? A few lines: memory in use and reserved, driver calls and plan hits since the report before this one (or so far), a verdict."""
    number = _ordinal(device)
    now, before = stats(number), _last.get(number, {})
    calls = now["memory_calls"] - before.get("memory_calls", 0)
    spent_ms = (now["memory_ns"] - before.get("memory_ns", 0)) / 1e6
    since = "since the last report" if before else "so far"
    ooms = sum(now[name] for name in ("ooms_device", "ooms_mappings", "ooms_address", "ooms_metadata"))
    door = enabled_door()
    lines = [
        f"Seam on device {number}: " + (f"the {door} door" if door else "not PyTorch's allocator (seamalloc.enable() was not called)"),
        f"  live {size_text(now['live_bytes'])} of {size_text(now['reserved_bytes'])} reserved "
        f"({_share(now['live_bytes'], now['reserved_bytes'])}); at their peaks {size_text(now['live_bytes_peak'])} of "
        f"{size_text(now['reserved_bytes_peak'])} ({_share(now['live_bytes_peak'], now['reserved_bytes_peak'])})",
        f"  driver: {calls} memory calls {since}, {spent_ms:.1f} ms in them",
        f"  {_plan_line(now, before)}",
    ]
    if now["host_reserved_bytes_peak"]:
        lines.append(f"  pinned host memory: {host_text(number)}")
    moved = _offload.offload_stats(number)
    if moved["outs"] or moved["refusals"]:
        lines.append(f"  offloaded: {size_text(moved['down_bytes'])} down and {size_text(moved['up_bytes'])} up so far; {_offload.text(moved)}")
    if ooms or now["unknown_frees"]:
        lines.append(f"  trouble: requests that ran out of memory: {ooms}; frees of memory that is not Seam's: {now['unknown_frees']}")
    lines.append(f"  {_verdict(now, before)}")
    _last[number] = now
    return "\n".join(lines)


def snapshot(path: str | os.PathLike[str], device: int | None = None) -> None:
    """Writes what the device's memory is doing, chunk by chunk and block by block, and the statistics, as JSON."""
    made = pool(_ordinal(device))
    check(library().seam_snapshot_write(made, os.fsencode(path)), f"the snapshot {os.fspath(path)!s} cannot be written")


def trace(path: str | os.PathLike[str], device: int | None = None) -> None:
    """Writes what was asked of the device's pool so far, a .seamtrace: for `seam replay` and `seam plan`."""
    made = pool(_ordinal(device))
    error = ctypes.create_string_buffer(ERROR_BYTES)
    check(library().seam_trace_save(made, os.fsencode(path), error, ERROR_BYTES), f"the trace {os.fspath(path)!s} cannot be written", error.value)


def plan(path: str | os.PathLike[str], device: int | None = None) -> None:
    """Uses a plan made before (`seam plan`) from now on, on the device. Takes the memory for all of it at once, and uses CUDA."""
    error = ctypes.create_string_buffer(ERROR_BYTES)
    found = ctypes.c_void_p()
    what = f"the plan {os.fspath(path)!s} cannot be used"
    check(library().seam_plan_read_file(os.fsencode(path), error, ctypes.byref(found)), what, error.value)
    try:
        made = pool(_ordinal(device))
        check(library().seam_plan_use(made, found, error, ERROR_BYTES), what, error.value)
    finally:
        library().seam_plan_free(found)
