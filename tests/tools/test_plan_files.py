#!/usr/bin/env python3
"""test_plan_files: `seam verify` and `seam draw` the way a person uses them, on plans that this script writes itself.

The plan file, its checksums and its fingerprint are made here from what include/seam/plan.h says, so that another
program can do it too. usage: test_plan_files.py SEAM. TAP.
"""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import tap  # noqa: E402

MASK = (1 << 64) - 1
PRIMES = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261)
LINEAR, OPTIMAL = 1, 2
ALLOC, FREE, RECORD_STREAM, EVENT_RECORD, EVENT_WAIT, STREAM_SYNC, DEVICE_SYNC = range(1, 8)


def ok(name, good, why=""):
    tap.ok(bool(good), name, str(why))


def rotate(value, bits):
    return ((value << bits) | (value >> (64 - bits))) & MASK


def step(state, lane):
    return rotate((state + lane * PRIMES[1]) & MASK, 31) * PRIMES[0] & MASK


def xxh64(data):
    """XXH64 with seed 0, after its specification."""
    at = 0
    if len(data) >= 32:
        states = [(PRIMES[0] + PRIMES[1]) & MASK, PRIMES[1], 0, -PRIMES[0] & MASK]
        while at + 32 <= len(data):
            states = [step(s, lane) for s, lane in zip(states, struct.unpack_from("<4Q", data, at))]
            at += 32
        value = sum(rotate(s, bits) for s, bits in zip(states, (1, 7, 12, 18))) & MASK
        for state in states:
            value = ((value ^ step(0, state)) * PRIMES[0] + PRIMES[3]) & MASK
    else:
        value = PRIMES[4]
    value = (value + len(data)) & MASK
    while at + 8 <= len(data):
        value = (rotate(value ^ step(0, struct.unpack_from("<Q", data, at)[0]), 27) * PRIMES[0] + PRIMES[3]) & MASK
        at += 8
    if at + 4 <= len(data):
        value = (rotate(value ^ struct.unpack_from("<I", data, at)[0] * PRIMES[0] & MASK, 23) * PRIMES[1] + PRIMES[2]) & MASK
        at += 4
    for byte in data[at:]:
        value = rotate(value ^ byte * PRIMES[4] & MASK, 11) * PRIMES[0] & MASK
    value = ((value ^ value >> 33) * PRIMES[1]) & MASK
    value = ((value ^ value >> 29) * PRIMES[2]) & MASK
    return value ^ value >> 32


def read_events(path):
    """(kind, id, size, stream, thread) of every event of a .seamtrace."""
    data = open(path, "rb").read()
    count = struct.unpack_from("<Q", data, 24)[0]
    events = []
    for i in range(count):
        kind, _, _, _, id_, size, stream, _, thread = struct.unpack_from("<BBHIQQQQI", data, 64 + 56 * i)
        events.append((kind, id_, size, stream, thread))
    return events


def fingerprint(events):
    """Of all of the trace; none of the test's requests is dynamic."""
    allocations, records, blocks, recorded, streams, threads = 0, 0, {}, {}, {}, {}
    out = []
    for kind, id_, size, stream, thread in events:
        ago = 0
        if kind == ALLOC:
            allocations += 1
            blocks[id_] = allocations
        elif kind in (FREE, RECORD_STREAM):
            ago = allocations + 1 - blocks[id_]
        elif kind == EVENT_RECORD:
            records += 1
            recorded[id_] = records
        elif kind == EVENT_WAIT:
            ago = records + 1 - recorded[id_]
        elif kind not in (STREAM_SYNC, DEVICE_SYNC):
            continue
        thread = threads.setdefault(thread, len(threads))
        stream = 0 if kind == DEVICE_SYNC else streams.setdefault(stream, len(streams))
        out.append(struct.pack("<5Q", kind, size if kind == ALLOC else 0, stream, thread, ago))
    return xxh64(b"".join(out))


def slots_of(events):
    """[event, size, begin, end, stream] of every allocation, in order; and how many positions there are."""
    slots, live, position = [], {}, 0
    for number_, (kind, id_, size, stream, _) in enumerate(events):
        if kind == ALLOC and size:
            live[id_] = len(slots)
            slots.append([number_, size, position, None, stream])
        elif kind == FREE and size:
            slots[live.pop(id_)][3] = position
        else:
            continue
        position += 1
    for slot in slots:
        slot[3] = position if slot[3] is None else slot[3]
    return slots, position


def place(slots):
    """First fit in order of begin."""
    offsets, taken = [], []
    for _, size, begin, _, _ in slots:
        taken = [entry for entry in taken if entry[2] > begin]
        at = 0
        for low, high, _ in sorted(taken):
            if low - at >= size:
                break
            at = max(at, high)
        offsets.append(at)
        taken.append((at, at + size, slots[len(offsets) - 1][3]))
    return offsets


def peak_of(slots):
    changes = sorted([(s[2], 1, s[1]) for s in slots] + [(s[3], 0, -s[1]) for s in slots])
    live = peak = 0
    for _, _, size in changes:
        live += size
        peak = max(peak, live)
    return peak


def write_plan(path, events, offsets=None, solver="first fit"):
    slots, positions = slots_of(events)
    offsets = place(slots) if offsets is None else offsets
    streams = sorted({slot[4] for slot in slots})
    arena = max(offset + slot[1] for offset, slot in zip(offsets, slots))
    bound = peak_of(slots)
    strings = b"\0" + solver.encode() + b"\0"
    body = b"".join(struct.pack("<QIIIIIIIIIIQII", size, begin, end, streams.index(stream), 0, 0, 0, 0, 0, 0, 0, event, 0, 0)
                    for event, size, begin, end, stream in slots)
    body += struct.pack(f"<{len(offsets)}Q", *offsets) + struct.pack(f"<{len(streams)}Q", *streams) + strings
    chunk = 2 << 20
    header = struct.pack("<8sII4I10Q6IQQ88x", b"SEAMPLN\n", 1, 256, len(slots), 1, positions,
                         LINEAR | (OPTIMAL if arena == bound else 0), fingerprint(events), 0, len(events), 1, chunk, arena, 0,
                         bound, 0, -(-bound // chunk) | -(-arena // chunk) << 32, 0, len(streams), 0, 0, 0, 1, len(strings), 0)
    header += struct.pack("<Q", xxh64(body))
    header += struct.pack("<Q", xxh64(header))
    open(path, "wb").write(header + body)
    return offsets


def run(*arguments):
    return subprocess.run([seam, *arguments], capture_output=True, text=True)


def fails(status, word, *arguments):
    """That status, nothing on standard output, and one line with the word on standard error."""
    result = run(*arguments)
    good = result.returncode == status and result.stdout == "" and result.stderr.count("\n") == 1 and word in result.stderr
    return good, f"status {result.returncode}: {result.stdout}{result.stderr}"


def boxes_of(path):
    """(rectangles of slots, merged paths, layers) of a picture; an exception where it is no XML."""
    root = xml.parse(path).getroot()
    name = "{http://www.w3.org/2000/svg}"
    groups = [g for g in root.iter(name + "g") if g.get("class") == "slots"]
    paths = list(root.iter(name + "path"))
    return (sum(len(g.findall(name + "rect")) for g in groups), sum(p.get("class") == "merged" for p in paths),
            sum(p.get("class") == "layer" for p in paths))


def write_csv(path, rows):
    with open(path, "w") as out:
        out.write("id,lower,upper,size,stream\n")
        out.writelines(f"{i},{lower},{upper},{size},{stream}\n" for i, (lower, upper, size, stream) in enumerate(rows))


def make(name, rows):
    write_csv(name + ".csv", rows)
    run("convert", "-q", name + ".csv", name + ".seamtrace")
    return read_events(name + ".seamtrace")


def test_verify():
    ok("XXH64 of nothing", xxh64(b"") == 0xEF46DB3751D8E999)
    rows = [(0, 4, 4096, 0), (1, 3, 1000, 0), (2, 9, 512, 0), (3, 6, 1000, 0), (5, 8, 4096, 0)]
    events = make("tiny", rows)
    offsets = write_plan("tiny.plan", events)
    result = run("verify", "tiny.seamtrace", "tiny.plan")
    ok("a plan written by another program is right", result.returncode == 0 and result.stderr == "" and
       result.stdout.count("\n") == 1 and "tiny.plan: right: 5 requests of 9 positions" in result.stdout,
       result.stdout + result.stderr)
    ok("the trace as it was recorded will do", run("verify", "tiny.csv", "tiny.plan").returncode == 0)
    result = run("verify", "-q", "tiny.seamtrace", "tiny.plan")
    ok("quiet", result.returncode == 0 and result.stdout + result.stderr == "")
    moved = list(offsets)
    moved[1] = offsets[0] + 4095
    write_plan("moved.plan", events, moved)
    ok("one byte of overlap", *fails(1, "slots 0 (copy 0) and 1 (copy 0) live together", "verify", "tiny.csv", "moved.plan"))

    other = make("other", rows[:4] + [(5, 8, 4097, 0)])
    ok("another trace", *fails(1, "not of this trace", "verify", "other.csv", "tiny.plan"))
    write_plan("two.plan", make("two", [(0, 2, 100, 0), (3, 5, 100, 7)]))
    ok("streams that nothing orders", *fails(1, "freed on another stream", "verify", "two.csv", "two.plan"))
    ok("other has its own plan", write_plan("other.plan", other) and run("verify", "other.csv", "other.plan").returncode == 0)

    whole = open("tiny.plan", "rb").read()
    open("cut.plan", "wb").write(whole[:-1])
    open("bad.plan", "wb").write(whole[:300] + b"\xff" + whole[301:])
    ok("a truncated plan", *fails(1, "cut.plan: truncated", "verify", "tiny.csv", "cut.plan"))
    ok("a damaged plan", *fails(1, "bad.plan: damaged plan: the checksum", "verify", "tiny.csv", "bad.plan"))
    ok("a trace is no plan", *fails(1, "not a plan", "verify", "tiny.csv", "tiny.seamtrace"))
    ok("a plan is no trace", *fails(1, "tiny.plan", "verify", "tiny.plan", "tiny.plan"))
    ok("no such plan", *fails(1, "none.plan: cannot read: No such file", "verify", "tiny.csv", "none.plan"))
    ok("one file", *fails(2, "two files", "verify", "tiny.csv"))
    ok("three files", *fails(2, "more than two", "verify", "a", "b", "c"))
    ok("unknown option", *fails(2, "--dance", "verify", "--dance"))


def test_draw():
    result = run("draw", "tiny.csv", "tiny.plan", "-o", "tiny.svg")
    ok("draws a plan", result.returncode == 0 and "tiny.svg: tiny: peak" in result.stdout, result.stdout + result.stderr)
    ok("a rectangle for every request", boxes_of("tiny.svg") == (5, 0, 0), boxes_of("tiny.svg"))
    text = open("tiny.svg").read()
    ok("it says what is to be seen", all(word in text for word in ("lower bound", "sum of live bytes", "time, in", "KiB")))
    run("draw", "-q", "tiny.csv", "-o", "alone.svg")
    rects, merged, layers = boxes_of("alone.svg")
    ok("draws a trace alone, in layers", rects == 0 and merged == 0 and layers >= 2, (rects, merged, layers))

    # Many requests of which hardly any can be seen: the file stays small.
    rows = [(i, i + 1 + i * 7919 % 400, 512 * (1 + i * 104729 % (2000 if i % 50 == 0 else 9)), 0) for i in range(30000)]
    write_plan("many.plan", make("many", rows))
    ok("draws 30,000 requests", run("draw", "-q", "many.csv", "many.plan", "-o", "many.svg").returncode == 0)
    rects, merged, _ = boxes_of("many.svg")
    ok("below 2 MB, most of them merged", os.path.getsize("many.svg") < 2e6 and 0 < merged and 0 < rects < 15000,
       (os.path.getsize("many.svg"), rects, merged))

    write_plan("odd.plan", make("a<b>&\x01", [(0, 1, 8, 0)]))
    os.rename("a<b>&\x01.csv", "a<b>&c.csv")
    run("draw", "-q", "a<b>&c.csv", "odd.plan", "-o", "odd.svg")
    ok("an odd name is still XML", boxes_of("odd.svg")[0] == 1)
    write_csv("empty.csv", [])
    ok("a trace of nothing", run("draw", "-q", "empty.csv", "-o", "empty.svg").returncode in (0, 1))
    ok("a plan of another trace", *fails(1, "not of this trace", "draw", "other.csv", "tiny.plan", "-o", "x.svg"))
    ok("no such folder", *fails(1, "cannot write: No such file", "draw", "tiny.csv", "-o", "none/x.svg"))
    ok("no output", *fails(2, "-o OUT.svg", "draw", "tiny.csv"))
    ok("no trace", *fails(2, "a trace is needed", "draw", "-o", "x.svg"))
    ok("nothing half-written", not os.path.exists("x.svg") and not [n for n in os.listdir() if n.endswith("tmp")])


def test_graph():
    with open("graph.csv", "w") as out:
        out.writelines(f"node,n{i},{i % 2}\n" for i in range(6))
        out.writelines(f"tensor,t{i},{1000 + i},n{i},n{i + 1}\n" for i in range(5))
        out.write("contiguous,t0;t2\n")
    open("other_graph.csv", "w").write("node,n0,0\ntensor,t0,5,n0,\n")
    ok("plans a graph", run("plan", "graph.csv", "-o", "graph.plan").returncode == 0)
    result = run("verify", "graph.csv", "graph.plan")
    ok("proves it", result.returncode == 0 and "graph.plan: right: 5 tensors of 6 operators" in result.stdout,
       result.stdout + result.stderr)
    ok("not for another graph", *fails(1, "not of this graph", "verify", "other_graph.csv", "graph.plan"))
    ok("nor for a trace", *fails(1, "tiny.csv", "verify", "tiny.csv", "graph.plan"))
    ok("nor a trace's plan for it", *fails(1, "graph.csv", "verify", "graph.csv", "tiny.plan"))
    ok("draws it", run("draw", "-q", "graph.csv", "graph.plan", "-o", "graph.svg").returncode == 0 and
       boxes_of("graph.svg")[0] == 5)
    ok("not another", *fails(1, "not of this graph", "draw", "other_graph.csv", "graph.plan", "-o", "x.svg"))


seam = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    test_verify()
    test_graph()
    test_draw()
    os.chdir("/")
sys.exit(tap.end())
