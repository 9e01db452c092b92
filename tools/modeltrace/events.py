"""A .seamtrace under construction, its file, and a check of both.

The format is the one of include/seam/trace.h: a 64-byte header, 56-byte events in time order, zero-terminated strings.
It is written again here, and not through the C library, so that tracing needs no build; the tests read what this module
wrote with the C reader, which keeps the two honest.

Not here: anything about PyTorch.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import struct
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"SEAMTRC\n"
VERSION = 1
HEADER = struct.Struct("<8sIIIIQQIIQ")  # without the header's own checksum, which follows
EVENT = struct.Struct("<BBHIQQQQIIII")

ALLOC, FREE, STREAM_SYNC, STEP, PHASE_BEGIN, PHASE_END = 1, 2, 6, 8, 9, 10
DYNAMIC, RESIDENT = 0x01, 0x02


class Event(NamedTuple):
    """One record, fields as in struct seam_trace_event."""

    kind: int
    flags: int
    phase: int
    module: int
    id: int
    size: int
    stream: int
    time_ns: int
    thread: int
    microbatch: int
    pool: int
    aux: int


class TraceError(Exception):
    """A trace that is damaged or breaks one of T1-T5; the text is one line for a person."""


@dataclasses.dataclass
class Trace:
    """Events and the strings that they name by offset."""

    source: str
    events: list[Event] = dataclasses.field(default_factory=list)
    strings: bytearray = dataclasses.field(default_factory=lambda: bytearray(b"\0"))
    offsets: dict[str, int] = dataclasses.field(default_factory=lambda: {"": 0})

    def intern(self, text: str) -> int:
        """The offset of `text` in the string section; equal texts share one."""
        if text not in self.offsets:
            self.offsets[text] = len(self.strings)
            self.strings += text.encode() + b"\0"
        return self.offsets[text]

    def text(self, offset: int) -> str:
        """The string that begins at `offset`."""
        if offset >= len(self.strings) or (offset and self.strings[offset - 1]):
            raise TraceError(f"T4: no string begins at {offset}")
        return self.strings[offset : self.strings.index(0, offset)].decode()


def _xxh64(data: bytes) -> int:
    import xxhash  # beside torch in the environment that tools/setup --torch makes

    return xxhash.xxh64_intdigest(data, seed=0)


def encode(trace: Trace) -> bytes:
    """The bytes of an uncompressed file."""
    source = trace.intern(trace.source)
    body = b"".join(EVENT.pack(*event) for event in trace.events) + bytes(trace.strings)
    header = HEADER.pack(
        MAGIC, VERSION, HEADER.size + 8, EVENT.size, 0, len(trace.events), len(trace.strings), source, 0, _xxh64(body)
    )
    return header + struct.pack("<Q", _xxh64(header)) + body


def decode(data: bytes) -> Trace:
    """The inverse of encode(). Raises TraceError on anything that is not a whole trace."""
    if len(data) < HEADER.size + 8 or data[:8] != MAGIC:
        raise TraceError("not a .seamtrace")
    _, version, header_bytes, event_bytes, _, count, string_bytes, source, _, checksum = HEADER.unpack_from(data)
    if struct.unpack_from("<Q", data, HEADER.size)[0] != _xxh64(data[: HEADER.size]):
        raise TraceError("header checksum differs")
    if (version, header_bytes, event_bytes) != (VERSION, HEADER.size + 8, EVENT.size):
        raise TraceError(f"unknown version {version}")
    body = data[header_bytes:]
    if len(body) != count * event_bytes + string_bytes or _xxh64(body) != checksum:
        raise TraceError("truncated, or checksum differs")
    events = [Event(*fields) for fields in EVENT.iter_unpack(body[: count * event_bytes])]
    trace = Trace("", events, bytearray(body[count * event_bytes :]))
    trace.source = trace.text(source)
    return trace


def compress(data: bytes) -> bytes:
    """One zstd frame. Level 19: a trace is written once and kept for ever."""
    import zstandard

    return zstandard.ZstdCompressor(level=19).compress(data)


def read(path: pathlib.Path) -> Trace:
    """Reads a trace, compressed or not, told apart by content."""
    data = path.read_bytes()
    if data[:4] == b"\x28\xb5\x2f\xfd":
        import zstandard

        data = zstandard.ZstdDecompressor().decompress(data)
    return decode(data)


def write(trace: Trace, path: pathlib.Path) -> None:
    """Writes by way of a temporary file beside `path`, so that an old trace is whole until the new one is."""
    data = encode(trace)
    if path.suffix == ".zst":
        data = compress(data)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def live_bytes(trace: Trace) -> Iterator[tuple[Event, int]]:
    """Each event with the bytes that are live behind it."""
    live = 0
    for event in trace.events:
        if event.kind == ALLOC:
            live += event.size
        elif event.kind == FREE:
            live -= event.size
        yield event, live


def check(trace: Trace) -> None:
    """Raises TraceError naming the first of T1-T5 that is broken, and the event that breaks it."""
    live: dict[int, Event] = {}
    phases: list[int] = []
    time_ns = 0
    for number, event in enumerate(trace.events):
        if event.time_ns < time_ns:
            raise TraceError(f"T3: event {number} goes back in time")
        time_ns = event.time_ns
        trace.text(event.module)
        if event.kind == ALLOC:
            if event.id in live:
                raise TraceError(f"T1: event {number} allocates live block {event.id}")
            live[event.id] = event
        elif event.kind == FREE:
            block = live.pop(event.id, None)
            if block is None:
                raise TraceError(f"T1: event {number} frees block {event.id}, which is not live")
            if (block.size, block.stream) != (event.size, event.stream):
                raise TraceError(f"T2: event {number} frees block {event.id} with another size or stream")
        elif event.kind == PHASE_BEGIN:
            trace.text(event.aux)
            phases.append(event.aux)
        elif event.kind == PHASE_END and (not phases or phases.pop() != event.aux):
            raise TraceError(f"T5: event {number} ends a phase that is not the innermost")
    if phases:
        raise TraceError("T5: a phase is left open")
