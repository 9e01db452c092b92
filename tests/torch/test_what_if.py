#!/usr/bin/env python3
"""test_what_if.py LIBSEAM_TORCH PACKAGE_FOLDER: what `python -m seamalloc what-if` makes of a program's history, and what it says to bad input. Without PyTorch, as TAP."""

from __future__ import annotations

import contextlib
import ctypes
import io
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[2], str(Path(__file__).resolve().parents[1] / "support")]
os.environ["SEAM_LIBRARY"] = sys.argv[1]

from seamalloc import _compose, _ghost, _margin, _picture, _profile, _what_if, _work, build  # noqa: E402
from seamalloc._ghost_run import Iterations  # noqa: E402
from tap import end, ok  # noqa: E402

PLACES = ["model.py:1 forward", "backward", "train.py:9 <module>"]
FORWARD, BACKWARD, PROGRAM = range(3)


class History:
    """Events and marks, as a program makes them."""

    def __init__(self) -> None:
        self.events: list[_profile.Event] = []
        self.marks: list[_profile.Mark] = []
        self.next = 0x1000

    def alloc(self, size: int, place: int = FORWARD, at: int = 0) -> int:
        """The address of a new block."""
        self.next += 0x1000
        self.events.append(_profile.Event(_profile.ALLOC, at or self.next, size, place))
        return at or self.next

    def free(self, at: int) -> None:
        self.events.append(_profile.Event(_profile.FREE, at, 0, PROGRAM))

    def mark(self, what: str, labels: dict[int, tuple[str, str]] | None = None) -> None:
        requests = sum(event.action == _profile.ALLOC for event in self.events)
        self.marks.append(_profile.Mark(what, requests, len(self.events) - requests, labels or {}))

    def profile(self) -> _profile.Profile:
        return _profile.Profile(self.events, self.marks, PLACES)

    def play(self, steps: int, gradients_die: bool = True, holds: bool = False) -> None:
        """Training: a weight of 100, its gradient and state; 50 of activations, 7 of a loss, 30 of temporaries in the step."""
        weight = self.alloc(100, PROGRAM)
        state = gradient = held = 0
        for _ in range(steps):
            activation = self.alloc(50)
            loss = self.alloc(7, PROGRAM)
            if held:
                self.free(held)
            held = loss if holds else 0
            if gradient and not gradients_die:
                self.free(gradient)
            if not holds:
                self.free(loss)
            gradient = self.alloc(100, BACKWARD)
            self.free(activation)
            self.mark("step", {weight: ("parameters", "Model.weight"), gradient: ("gradients", "Model.weight")})
            state = state or self.alloc(200, PROGRAM)
            self.free(self.alloc(30, PROGRAM))
            self.mark("stepped", {state: ("optimizer", "Adam.exp_avg")})
            self.mark("iteration")
            if gradients_die:
                self.free(gradient)

    def live(self) -> dict[int, int]:
        """Sizes of the blocks that live, by address."""
        found: dict[int, int] = {}
        for event in self.events:
            if event.action == _profile.ALLOC:
                found[event.address] = event.bytes
            else:
                del found[event.address]
        return found


def train(steps: int, gradients_die: bool = True, holds: bool = False) -> _profile.Profile:
    """A training program, and a workspace at its end."""
    history = History()
    history.play(steps, gradients_die, holds)
    history.mark("workspaces", {history.alloc(5, FORWARD): ("workspaces", "cuBLAS")})
    return history.profile()


def check_kinds() -> None:
    """Whose each block is."""
    profile = train(3)
    most, at = profile.peak()
    ok(most == 100 + 200 + 50 + 100, f"the peak is at the last gradient of the second step: {most}")
    ok(profile.describe(at) == "backward, in step 2", profile.describe(at))
    held = {(one.kind, one.where): one.bytes for one in profile.holders(at)}
    want = {
        ("parameters", "Model.weight"): 100, ("gradients", "Model.weight"): 100, ("optimizer", "Adam.exp_avg"): 200,
        ("activations", PLACES[FORWARD]): 50,
    }  # fmt: skip
    ok(held == want, f"and each byte has its holder: {held}")
    kinds = {block.kind for block in profile.blocks if block.bytes == 30}
    ok(kinds == {"workspaces"} and profile.blocks[-1].name == "cuBLAS", "temporaries of a step and workspaces are known")
    first = train(1).peak()[1]
    ok(train(1).describe(first) == "the optimizer, in step 1", "the first step makes its state at the peak")
    kept = next(block for block in train(3, holds=True).blocks if block.bytes == 7)
    ok(kept.kind == "activations" and kept.name.endswith(_profile.HELD), f"a loss that lives into the next step: {kept}")


def check_sums() -> None:
    """Random histories: the holders' bytes are what lives, the peak the most of it."""
    for seed in range(20):
        draw = random.Random(seed)
        history, live, sizes, most, total = History(), [], {}, 0, 0
        for number in range(400):
            if live and draw.random() < 0.48:
                at = live.pop(draw.randrange(len(live)))
                history.free(at)
                total -= sizes[at]
            else:
                at = history.alloc(draw.randrange(1, 1000), draw.randrange(3))
                live.append(at)
                sizes[at] = history.events[-1].bytes
                total += sizes[at]
            most = max(most, total)
            if number % 50 == 20:
                history.mark("step")
            if number % 50 == 25:
                history.mark("stepped", {draw.choice(live): ("optimizer", "x")} if live else {})
        profile = history.profile()
        peak, at = profile.peak()
        wrong = [] if peak == most else [f"peak {peak} for {most}"]
        if sum(one.bytes for one in profile.holders(at)) != most:
            wrong.append("holders do not add up")
        if not all(block.kind in _profile.KINDS for block in profile.blocks):
            wrong.append("a block without a kind")
        if profile.peak(lambda block: block.born)[0] != 0:
            wrong.append("nothing is something")
        if wrong or seed == 19:
            ok(not wrong, f"seed {seed}: {wrong}")


def random_history(seed: int) -> tuple[History, list[int]]:
    """Blocks of all kinds, with iterations; and the bytes that live behind each event."""
    draw = random.Random(seed)
    history = History()
    live: dict[int, int] = {}
    totals: list[int] = []
    for number in range(draw.randrange(50, 400)):
        if live and draw.random() < 0.48:
            at = draw.choice(list(live))
            history.free(at)
            del live[at]
        else:
            at = history.alloc(draw.randrange(1, 1000), draw.randrange(3))
            live[at] = history.events[-1].bytes
        totals.append(sum(live.values()))
        if number % 50 == 20:
            kinds = draw.sample(_profile.KINDS, len(_profile.KINDS))
            history.mark("step", {at: (kind, "x") for at, kind in zip(live, kinds, strict=False)})
        if number % 50 == 25:
            history.mark("stepped")
            history.mark("iteration")
    return history, totals


def check_columns() -> None:
    """Each column of a picture is a moment of its events, that with the most live bytes; the iteration is the one with the peak."""
    own = _picture.COLUMNS
    for seed in range(20):
        _picture.COLUMNS = (own, 7, 1)[seed % 3]
        history, totals = random_history(seed)
        profile = history.profile()
        begin, end, _ = _picture.stretch(profile)
        columns = _picture.moments(profile, begin, end)
        edges = [moment.begin for moment in columns] + [end]
        wrong = [] if edges[0] == begin and edges == sorted(set(edges)) and len(columns) == min(end - begin, _picture.COLUMNS) else [f"columns {edges} of {begin} to {end}"]
        if max(totals) != max(totals[begin:end]):
            wrong.append("the peak is not in the iteration")
        wrong += [f"edge {edge}" for edge in (begin, end) if edge not in (0, *profile.iterations, len(totals))]
        wrong += [f"an iteration's end at {edge}" for edge in profile.iterations if begin < edge < end]
        for moment, behind in zip(columns, edges[1:], strict=True):
            held = tuple(sum(block.bytes for block in profile.blocks if block.kind == kind and block.born <= moment.event < block.died) for kind in _picture.COLOURS)
            if not (moment.begin <= moment.event < behind and moment.bytes == held and sum(held) == totals[moment.event] == max(totals[moment.begin : behind])):
                wrong.append(f"{moment} instead of {held}")
        ok(not wrong and max(sum(moment.bytes) for moment in columns) == profile.peak()[0], f"seed {seed}, {len(columns)} columns: {wrong[:2]}")
    equal, _picture.COLUMNS = History(), 1
    for _ in range(3):
        equal.free(equal.alloc(5))
    ok([moment.event for moment in _picture.moments(equal.profile(), 0, 6)] == [equal.profile().peak()[1]] == [0], "of equal moments it is the first, as in the answer")
    _picture.COLUMNS = own
    ok(sorted(_picture.COLOURS) == sorted(_profile.KINDS) and len(set(_picture.COLOURS.values())) == len(_profile.KINDS), "each kind has a colour of its own")


class Drawing:
    """A picture, read back."""

    def __init__(self, profile: _profile.Profile, usable: dict[str, int], title: str = "x") -> None:
        self.root = ElementTree.fromstring(_picture.svg(profile, title, usable))
        self.layers = {element.get("id"): element for element in self.of("layer")}
        self.axis = float((self.of("sum")[0].get("d") or "").split("V")[0].split()[1])
        self.texts = ["".join(element.itertext()) for element in self.root.iter() if element.tag.endswith("}text")]

    def of(self, name: str) -> list[ElementTree.Element]:
        """Elements of a class."""
        return [element for element in self.root.iter() if element.get("class") == name]

    def heights(self, element: ElementTree.Element) -> list[float]:
        """A path's levels from left to right and back, in pixels above the axis."""
        return [self.axis - float(level) for level in re.findall(r"V([0-9.]+)", element.get("d") or "")]


def check_drawing() -> None:
    """The drawing is that of the columns: each area as thick as its bytes, on the one before it; the peak at the top."""
    for seed in range(6):
        profile = random_history(seed)[0].profile()
        most = profile.peak()[0]
        columns = _picture.moments(profile, *_picture.stretch(profile)[:2])
        drawing = Drawing(profile, {"small": most // 2, "tight": most, "large": 2 * most, "huge": 100 * most})
        top = drawing.heights(drawing.of("sum")[0])
        scale = max(top) / most
        wrong = [] if list(drawing.layers) == list(_picture.COLOURS) else [f"areas of {list(drawing.layers)}"]
        below = [0] * len(columns)
        for number, element in enumerate(drawing.layers.values()):
            above = [low + moment.bytes[number] for low, moment in zip(below, columns, strict=True)]
            there, back = drawing.heights(element)[: len(columns)], drawing.heights(element)[len(columns) :][::-1]
            far = max(abs(got - scale * want) for got, want in zip(there + back, above + below, strict=True))
            wrong += [f"{element.get('id')} is {far} off"] if far > 0.03 else []
            below = above
        dots = drawing.of("peak")
        if len(dots) != 1 or abs(drawing.axis - float(dots[0].get("cy") or 0) - max(top)) > 0.03:
            wrong.append("the dot is not at the peak")
        lines = [drawing.axis - float((element.get("d") or "").split("h")[0].split()[1]) for element in drawing.of("capacity") if element.get("d")]
        if any(abs(line - scale * size) > 0.03 for line, size in zip(lines, (2 * most, most, most // 2), strict=True)):
            wrong.append(f"usable bytes at {lines}")
        if sum("huge" in text for text in drawing.texts) != 1:
            wrong.append("usable bytes out of range are not named")
        ok(not wrong, f"seed {seed}: {wrong}")


def check_capacities() -> None:
    """A line, or a text, for usable bytes that are given, and none else."""
    for one, other, lines, texts in ((0, 0, 0, 0), (300, 0, 1, 0), (300, 300, 1, 0), (300, 500, 2, 0), (1 << 40, 0, 0, 1), (1 << 40, 9, 1, 1)):
        usable = {name: size for name, size in (("gpu1", one), ("gpu2", other)) if size}
        drawing = Drawing(train(3), usable)
        found = drawing.of("capacity")
        ok((sum("d" in element.attrib for element in found), sum("d" not in element.attrib for element in found)) == (lines, texts), f"{usable}: {len(found)}")
        ok(all(any(name in text for text in drawing.texts) for name in usable), f"each is named: {drawing.texts[-20:]}")


def pass_names(profile: _profile.Profile) -> list[str]:
    """The passes of the picture, which have to follow each other without gaps."""
    begin, end, _ = _picture.stretch(profile)
    found = _picture.phases(profile, begin, end)
    edges = [begin, *itertools.chain.from_iterable((phase.begin, phase.end) for phase in found), end]
    ok(edges[::2] == edges[1::2] and all(phase.begin < phase.end for phase in found), f"no gaps: {edges}")
    return [phase.name for phase in found]


def passes(parts: int, recomputed: int) -> _profile.Profile:
    """Two steps of a batch in parts, each of 10 requests forward and 10 backward, between which so many are made forward again."""
    history = History()
    for size in (10, 20):
        for _ in range(parts):
            made = [history.alloc(size) for _ in range(10)]
            for block in made:
                extra = [history.alloc(1) for _ in range(recomputed)]
                history.alloc(1, BACKWARD)
                for at in (block, *extra):
                    history.free(at)
        history.mark("step")
        history.free(history.alloc(1))
        history.mark("stepped")
        history.mark("iteration")
    return history.profile()


def check_passes() -> None:
    """Where passes begin and end."""
    table = (
        (train(3), ["forward", "backward", "optimizer"]),
        (train(1), ["setup, forward", "backward", "optimizer"]),
        (passes(1, 0), ["forward", "backward", "optimizer"]),
        (passes(3, 0), 3 * ["forward", "backward"] + ["optimizer"]),
        (passes(1, 3), ["forward", "backward", "optimizer"]),  # of checkpoints
        (passes(2, 3), 2 * ["forward", "backward"] + ["optimizer"]),
    )
    for profile, want in table:
        ok(pass_names(profile) == want, f"{pass_names(profile)}")
    plain = History()
    plain.free(plain.alloc(9))
    ok(pass_names(plain.profile()) == ["other"] and "no optimizer step" in _picture.stretch(plain.profile())[2], "a program without passes")
    late = History()
    late.play(2)
    late.free(late.alloc(10000))
    ok(_picture.stretch(late.profile())[2] == "all behind step 2", "a peak behind the last step")
    ok(_picture.stretch(train(3))[2] == "step 2 of 3", "the step that the answer names")


def check_names() -> None:
    """Names of any kind make a picture that XML readers take; so does a program that asked for nothing."""
    title = 'a<b> & "c" \x00\x1b\udcff \u00e9'
    drawing = Drawing(train(3), {"<gpu>": 300}, title)
    found = [element.text for element in drawing.root if element.tag.endswith(("}title", "}desc"))]
    ok(found[0] == 'a<b> & "c" ??? \u00e9' and "peak is 450 bytes, backward, in step 2" in str(found[1]) and "<gpu>: 300 bytes" in str(found[1]), f"{found}")
    tips = {kind: "".join(element.itertext()) for kind, element in drawing.layers.items()}
    ok("200 bytes" in tips["optimizer"] and "Adam.exp_avg" in tips["optimizer"] and "50 bytes  model.py:1 forward" in tips["activations"], f"tooltips: {tips}")
    ok(Drawing(_profile.Profile([], [], []), {}).of("layer") == [], "nothing is drawn of nothing")
    many = History()
    for _ in range(20000):
        many.free(many.alloc(1, FORWARD))
        many.free(many.alloc(1, BACKWARD))
    size = len(_picture.svg(many.profile(), "x", {}))
    ok(size < 400_000, f"the size of a picture is bounded: {size} bytes")


def check_picture_files() -> None:
    """That a picture cannot be written is known before; the file is as it was until then. A picture that fails then costs no answer."""
    history = History()
    history.play(3)
    result = {
        "events": [[event.action == _profile.ALLOC, event.address, event.bytes, event.place] for event in history.events],
        "marks": [[mark.what, mark.requests, mark.frees, [[at, *label] for at, label in mark.labels.items()]] for mark in history.marks],
        "places": PLACES,
    }
    answer = {"gpu": "a", "fits": True, "usable_bytes": 500, "advice": [], "unseen": []}
    own = _what_if.ask, _what_if.ask_tool, _what_if.text
    _what_if.text = lambda *rest: ""

    def ask(options: object, program: object, gpu: str, *rest: object, **more: object) -> _what_if.Run:
        return _what_if.Run({**answer, "gpu": gpu, "usable_bytes": 400 + len(gpu)}, "", {**result, "places": [f"{place} {gpu}" for place in PLACES]}, None)

    def spoil(*rest: object, **more: object) -> _what_if.Run:
        new.unlink()
        new.mkdir()
        return _what_if.Run(answer, "", result, None)

    _what_if.ask = ask  # type: ignore[assignment]
    _what_if.ask_tool = lambda arguments: [{"gpu": arguments[-1]}]
    with tempfile.TemporaryDirectory() as name:
        new, old = Path(name) / "new.svg", Path(name) / "old.svg"
        old.write_text("old", encoding="utf-8")
        ok(_what_if.refuse_file(str(new), ".svg") == "" and not new.exists(), "a new file is not there yet")
        ok(_what_if.refuse_file(str(old), ".svg") == "" and old.read_text(encoding="utf-8") == "old", "an old one is as it was")
        printed = []
        for more in ((), ("--draw", str(new))):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                status = _what_if.main(["--gpu", "b,cc", "--json", *more, __file__])
            printed.append((status, json.loads(out.getvalue())))
        ok(printed[0] == printed[1] and printed[0][0] == 0 and [row["gpu"] for row in printed[0][1]] == ["b", "cc"], f"the answer is the same with a picture: {printed}")
        text = new.read_text(encoding="utf-8")
        want = (f"{Path(__file__).name} on b<", f"{PLACES[FORWARD]} b<", "401 bytes usable", "402 bytes usable")
        ok(all(words in text for words in want), "of the first GPU, with the usable bytes of both")
        _what_if.ask = spoil
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            status = _what_if.main(["--gpu", "b", "--json", "--draw", str(new), __file__])
        ok(status == 2 and json.loads(out.getvalue()) and err.getvalue() == f"what-if: {new} cannot be written: Is a directory\n", f"{status} {err.getvalue().strip()}")
    _what_if.ask, _what_if.ask_tool, _what_if.text = own


def check_bad_histories() -> None:
    """Each is refused in words."""
    twice, unknown, late = History(), History(), History()
    twice.alloc(1, at=7)
    twice.alloc(1, at=7)
    unknown.free(9)
    late.marks.append(_profile.Mark("step", 3, 0))
    for history, words in ((twice, "a second block"), (unknown, "no block is at"), (late, "does not come to")):
        try:
            history.profile()
            ok(False, f"{words}: accepted")
        except _profile.ProfileError as failure:
            ok(words in str(failure), str(failure))


def advise(profile: _profile.Profile, result: dict[str, Any], needs: dict[str, int | None], recording: _compose.Recording | None = None) -> list[dict[str, Any]]:
    return _what_if.advise(profile, profile.peak()[0], result, needs, recording)


def check_advice() -> None:
    """What would help is what the peak falls by."""
    result = {"optimizers": [{"class": "Adam", "fused": False, "can_be_fused": True}], "unseen": [], "steps": 3, "why": "alike", "has_words": True}
    _what_if.ADVICE_BYTES = 1
    plain = advise(train(3), result, {"native": 500, "seam": 470})
    ok([row["saves_bytes"] for row in plain] == [30], f"only the allocator: {plain}")
    held = advise(train(3, holds=True), result, {"native": None, "seam": None})
    ok([row["saves_bytes"] for row in held] == [7], f"a loss that lives while its gradients are made: {held}")
    one = advise(train(1), result, {"native": None, "seam": None})
    ok([row["saves_bytes"] for row in one] == [30], f"temporaries at the peak: {one}")
    one = advise(train(1), {**result, "optimizers": [{"can_be_fused": False}]}, {"native": None, "seam": None})
    ok(one == [], f"no advice that cannot be followed: {one}")
    late = advise(train(3, gradients_die=False), result, {"native": None, "seam": None})
    ok([row["saves_bytes"] for row in late] == [7], f"gradients that live into the forward pass, up to where the backward pass needs as much: {late}")
    visits = [_compose.Visit("forward", 0, [2]), _compose.Visit("", -1, [1, -1]), _compose.Visit("backward", 0, [-2])]
    logits = _compose.Recording(0, 350, visits, [100, 10], [-1, 0], [[], [1]], [-1, 0], [[], []])
    parts = advise(train(3), result, {"native": 500, "seam": 470}, logits)
    ok([(row["saves_bytes"], row["costs"] == "nothing") for row in parts] == [(30, True), (450 - 350 - 13 - 10, False)], f"a loss in parts, behind what costs nothing: {parts}")


def check_steps() -> None:
    """When an iteration has come twice."""
    # Sizes of stretches, the optimizers that step in each (0 leads), all that there are; the newest iteration, and whether that is all there is to see.
    table = (
        ([], [], {0}, 0, False), ([1], [{0}], {0}, 0, False), ([1, 1], [{0}] * 2, {0}, 0, False), ([3, 1, 1], [{0}] * 3, {0}, 1, True), ([3, 1, 2], [{0}] * 3, {0}, 0, False),
        ([9, 1, 2, 1, 2], [{0}] * 5, {0}, 2, True), ([1, 2, 1, 2], [{0}] * 4, {0}, 0, False), ([9, 1, 2, 3, 1, 2], [{0}] * 6, {0}, 0, False),
        ([9, 5, 1, 1], [{0}] * 4, {0}, 1, False),  # lengths that differ, two alike by chance
        ([9, 1, 1], [{0}] * 3, {0, 1}, 1, False),  # a second optimizer that has made no step
        ([9, 1, 1, 6, 1, 1, 4, 1, 1, 4], [{0}, {0}, {0}, {0, 1}] + 2 * [{0}, {0}, {0, 1}], {0, 1}, 3, True),  # and one that steps at each third
        ([9, 6, 4, 4], [{0}, {0, 1}, {0, 1}, {0, 1}], {0, 1}, 1, True),  # two in turn
    )  # fmt: skip
    for sizes, steppers, everybody, period, settled in table:
        iterations = Iterations()
        for size, who in zip(sizes, steppers, strict=True):
            leads = [one for one in sorted(who) if iterations.step(one)]
            ok(leads == [0], f"the first one leads: {leads}")
            iterations.end(((size, size),))
        ok(iterations.period() == period and iterations.is_settled(everybody) is settled, f"stretches {sizes}: {iterations.period()} {iterations.is_settled(everybody)}")


def check_repetition() -> None:
    """More iterations are as those before: the same sizes in the same order, each free that of a block that lives, as much in the end as before."""
    for holds in (False, True):
        profile = History()
        profile.play(3, gradients_die=False, holds=holds)
        ends = [(mark.requests, mark.frees) for mark in profile.marks if mark.what == "iteration"]
        entries = [{"action": event.action, "addr": event.address, "size": event.bytes} for event in profile.events]
        more = _profile.repeated(entries, ends[0], ends[1], ends[2], 4)
        live = {}
        wrong = []
        for entry in [*entries, *more]:
            if entry["action"] == _profile.ALLOC:
                wrong += [entry] if entry["addr"] in live else []
                live[entry["addr"]] = entry["size"]
            elif live.pop(entry["addr"], None) is None:
                wrong.append(entry)
        last = [entry["size"] for entry in entries if entry["action"] == _profile.ALLOC][ends[1][0] :]
        ok(not wrong and [entry["size"] for entry in more if entry["action"] == _profile.ALLOC] == 4 * last, f"holds {holds}: {wrong[:2]}")
        ok(sorted(live.values()) == sorted(profile.live().values()), f"the same blocks live behind each: {sorted(live.values())}")


def check_batches() -> None:
    """The largest batch by bisection, in few runs: of memory that grows by 3 with each, in 100, 1, and without end."""
    options, program = _what_if.parse(["--memory", "1G", "--find-batch", "--batch-size={}", str(Path(__file__))])
    own = _what_if.ask
    for memory, want in ((100, 33), (1, 0), (1 << 40, _what_if.LARGEST_BATCH)):
        runs = []

        def ask(options: object, program: list[str], gpu: str, memory: int = memory, runs: list[int] = runs) -> SimpleNamespace:
            runs.append(int(program[-1].removeprefix("--batch-size=")))
            fits = 3 * runs[-1] <= memory
            reserved = {"native": 1 if fits and runs[-1] < 20 else None, "expandable": 1 if fits else None, "seam": 1 if fits else None}
            needs = {"native": 3 * runs[-1], "expandable": 3 * runs[-1] - 1, "seam": 3 * runs[-1]}
            return SimpleNamespace(answer={"reserved_bytes": reserved, "needs_bytes": needs, "usable_bytes": memory, "margin_bytes": 2})

        _what_if.ask = ask  # type: ignore[assignment]
        found = _what_if.find_batch(options, program, "h100")
        close = {"seam": memory == 100, "expandable": False, "native": False}
        ok(found == {name: (min(want, 19) if name == "native" else want, close[name]) for name in close} and len(runs) == len(set(runs)) <= 25, f"memory {memory}: {found}, {len(runs)} runs")
    _what_if.ask = own


def check_sizes() -> None:
    """--memory, in bytes for `seam what-if`, which takes no fractions."""
    sizes = {"7": 7, "80K": 80 << 10, "0.5G": 1 << 29, "22G": 22 << 30, "1.5T": 3 << 39}
    ok({text: _what_if.size_of(text) for text in sizes} == sizes, "sizes have fractions and units")


def check_margin() -> None:
    """An answer that something is missing from says so: who, how much, and where that could make the difference."""
    libraries = {"cuDNN": (300 << 20, "lstm"), "cuBLAS": (0, "")}
    lines = _margin.unseen(libraries)
    ok(any("cuDNN" in line and "lstm" in line and "up to 300.00 MiB" in line for line in lines), f"a library and its bytes: {lines}")
    ok(any("counted" in line and "0 bytes" in line for line in _margin.unseen({"cuDNN": (0, "conv2d")})), "a library that tells what it takes")
    ok(any("cuBLAS" in line and "0 bytes" in line for line in lines) and _margin.total(libraries) == 300 << 20, "one that adds nothing")
    answer = {"fits": True, "usable_bytes": 1000 << 20, "margin_bytes": _margin.total(libraries), "reserved_bytes": {"native": 1, "expandable": 1, "seam": 1}}
    table = (
        ((700, 700, 700), ""),
        ((701, 701, 701), ", but by less than what is not seen (cuDNN: up to 300.00 MiB)"),
        ((701, 700, 700), ", but with PyTorch's allocator by less than what is not seen (cuDNN: up to 300.00 MiB)"),
        ((701, 700, 999), ", but with PyTorch's allocator and Seam by less than what is not seen (cuDNN: up to 300.00 MiB)"),
    )
    for needs, words in table:
        answer["needs_bytes"] = dict(zip(_what_if.NAMES, (size << 20 for size in needs), strict=True))
        said = _margin.remark(answer, libraries, _what_if.NAMES)
        ok(said == words, f"{needs}: {said}")
        ok(_margin.then(answer) == ": it fits with Seam then" + ", but by less than what is not seen" * (needs[2] > 700), f"{needs}: {_margin.then(answer)}")
    answer["reserved_bytes"] = {"native": None, "expandable": None, "seam": None}
    ok(_margin.remark(answer, libraries, _what_if.NAMES) == "" and _margin.then({**answer, "fits": False}) == "", "nothing of what does not fit")


def recurrent_parts(library: Any, cell: int, directions: int, layers: int, sizes: tuple[int, int, int]) -> tuple[int, list[tuple[int, int]]]:
    """Of a recurrent network: the bytes of its weights, and where each part begins and ends, in order."""
    rnn, matrix, bias, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    library.cudnnCreateRNNDescriptor(ctypes.byref(rnn))
    for tensor in (matrix, bias):
        library.cudnnCreateTensorDescriptor(ctypes.byref(tensor))
    library.cudnnSetRNNDescriptor_v8(rnn, 0, cell, 2, directions - 1, 0, 0, 0, 0, *sizes, layers, None, 0)
    library.cudnnGetRNNWeightSpaceSize(None, rnn, ctypes.byref(size))
    space, parts = 1 << 20, []
    for pseudo_layer, number in itertools.product(range(layers * directions), range(2 * {2: 4, 3: 3}.get(cell, 1) + (sizes[1] != sizes[2]))):
        places = [ctypes.c_void_p(), ctypes.c_void_p()]
        library.cudnnGetRNNWeightParams(None, rnn, pseudo_layer, size, ctypes.c_void_p(space), number, matrix, ctypes.byref(places[0]), bias, ctypes.byref(places[1]))
        for tensor, place in zip((matrix, bias), places, strict=True):
            kind, rank, dims, strides = ctypes.c_int(), ctypes.c_int(), (ctypes.c_int * 3)(), (ctypes.c_int * 3)()
            library.cudnnGetTensorNdDescriptor(tensor, 3, ctypes.byref(kind), ctypes.byref(rank), dims, strides)
            if place.value:
                parts.append((place.value - space, place.value - space + 4 * dims[1] * dims[2]))
    return size.value, sorted(parts)


def check_stubs() -> None:
    """Stub libraries: the compiler has nothing to say of them, and they give back what their callers read."""
    compiler = os.environ.get("CC")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["CC"] = f"{compiler or 'cc'} -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
        libraries: dict[str, Any] = {}
        for kind in sorted(path.stem for path in _ghost.written_out().glob("*.c")):
            names = ["cublasCreate_v2", f"{kind}SomethingNew"]
            _ghost.compile_stub(f"lib{kind}.so.99", names, ["-DVERSION=91304", "-DCUDA=13020", '-DINSTALLED="/not installed"'], folder)
            symbols = subprocess.run(["nm", "-D", "--defined-only", str(folder / f"lib{kind}.so.99")], capture_output=True, text=True, check=True).stdout
            ok(all(f" {one}@@lib{kind}.so.99" in symbols for one in names), f"{kind}: all names are there, with NVIDIA's version")
            libraries[kind] = ctypes.CDLL(str(folder / f"lib{kind}.so.99"))
    os.environ.pop("CC") if compiler is None else os.environ.update(CC=compiler)
    handle, count, results = ctypes.c_void_p(), ctypes.c_int(), (ctypes.c_char * 104)(*b"x" * 104)
    ok(libraries["cublas"].cublasCreate_v2(ctypes.byref(handle)) == 0 and handle.value, "a function that is written out takes its namesake's place")
    ok(libraries["cublasLt"].cublasLtGetVersion() == 91304 and libraries["cublas"].cublasSomethingNew(1, 2) == 0, "the version is what was given, and others succeed")
    libraries["cublasLt"].cublasLtMatmulAlgoGetHeuristic(*(ctypes.c_void_p() for _ in range(7)), 1, results, ctypes.byref(count))
    ok(count.value == 1 and not any(results.raw), "one algorithm without a workspace")
    size = ctypes.c_size_t(77)
    lengths = (ctypes.c_longlong * 2)(10, 20)
    libraries["cufft"].cufftXtMakePlanMany(1, 2, lengths, None, *(ctypes.c_longlong(1) for _ in range(2)), 0, None, *(ctypes.c_longlong(1) for _ in range(2)), 4, ctypes.c_longlong(3), ctypes.byref(size), 4)
    ok(size.value == 3 * 200 * 8, f"a transform's numbers once: {size.value}")
    count.value = 77
    libraries["cusolver"].cusolverDnZheevjBatched_bufferSize(None, 1, 0, 8, None, 8, None, ctypes.byref(count), None, 3)
    ok(count.value == 0, "a decomposition says what it takes")
    cudnn = libraries["cudnn"]
    ok([cudnn.cudnnGetProperty(which, ctypes.byref(count)) or count.value for which in range(3)] == [9, 13, 4], "a version in parts")
    ok(cudnn.cudnnBackendCreateDescriptor(17, ctypes.byref(handle)) == 3000, "nothing is told of graphs where no cuDNN is installed")
    for cell, directions, layers, sizes in itertools.product((0, 2, 3), (1, 2), (1, 3), ((5, 7, 7), (5, 7, 3))):
        whole, parts = recurrent_parts(cudnn, cell, directions, layers, sizes)
        inside = parts[0][0] == 0 and parts[-1][1] == whole and all(end == begin for (_, end), (begin, _) in itertools.pairwise(parts))
        given, hidden, made = sizes
        gates = {2: 4, 3: 3}.get(cell, 1)
        rows = sum(gates * hidden * ((made * directions if layer else given) + made + 2) + (hidden * made if hidden != made else 0) for layer in range(layers))
        ok(inside and whole == 4 * directions * rows, f"cell {cell}, {directions} directions, {layers} layers, {sizes}: {whole} bytes of weights for {4 * directions * rows}, side by side")


def check_refusals() -> None:
    """Bad input is one line, and no answer."""
    script = Path(__file__)
    table = (
        ([str(script)], "which GPU?"),
        (["--gpu", "h100"], "a program is missing"),
        (["--gpu", "h100", "-m"], "a program is missing"),
        (["--gpu", "h100", "/nowhere.py"], "there is no /nowhere.py"),
        (["--gpu", "h100", "--find-batch", "--batch=4", str(script)], "{} is missing"),
        (["--gpu", "h100", "--steps", "x", str(script)], "invalid int value"),
        (["--gpu", ",", str(script)], "which GPU?"),
        (["--gpu", "h100", "--steps", "0", str(script)], "more than 0"),
        *((["--gpu", "h100", "--timeout", seconds, str(script)], "--timeout: more than 0, and at most 1048576 seconds") for seconds in ("-1", "nan", "inf")),
        (["--memory", "8X", str(script)], "8X is no size"),
        (["--gpu", "h100", "--draw", "/nowhere/x.svg", str(script)], "--draw: /nowhere/x.svg cannot be written: No such file or directory"),
        (["--gpu", "h100", "--draw", str(script), str(script)], "--draw: the name of the file ends with .svg"),
        (["--gpu", "h100", "--draw", "", str(script)], "--draw: the name of the file ends with .svg"),
        (["--gpu", "h100", "--gpus", "17", str(script)], "--gpus: 1 to 16"),
    )
    for arguments, words in table:
        done = subprocess.run([sys.executable, "-m", "seamalloc", "what-if", *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": sys.argv[2]}, check=False)
        ok(done.returncode == 2 and words in done.stderr and not done.stdout, f"{arguments[:3]}: {done.returncode} {(done.stderr.strip().splitlines() or [''])[-1]}")


MACHINE = {
    "gpu": "g", "compute_capability": "8.0", "memory_bytes": 8 << 30, "context_bytes": 1 << 29, "tflops": 100, "fp32_tflops": 20, "memory_gbs": 1000, "pcie_gbs": 10,
}  # fmt: skip


def check_time() -> None:
    """Each operator takes what bounds it, and a faster machine never longer."""
    share, rate = _work.PRODUCT_SHARE, 1e12 * _work.MEMORY_SHARE
    table: tuple[tuple[list[_work.Row], dict[str, Any], float], ...] = (
        ([], {}, 0.0),
        ([("forward", "bfloat16", 10**12, 8, 1, 2)], {}, 2 * 0.01 / share),  # its products
        ([("forward", "float32", 10**12, 8, 1, 1)], {}, 0.05 / share),
        ([("forward", "tf32", 10**12, 8, 1, 1)], {}, 0.02 / share),
        ([("forward", "tf32", 10**12, 8, 1, 1)], {"compute_capability": "7.5"}, 0.05 / share),  # has none
        ([("forward", "bfloat16", 10**12, 8, 1, 1)], {"measured": True}, 0.01),
        ([("backward", "bfloat16", 10**9, 10**9, 1, 3)], {}, 3 * 1e9 / rate),  # its memory
        ([("optimizer", "", 0, 8, 4, 5)], {}, 20 * _work.LAUNCH_SECONDS),  # its launches
        ([("forward", "host", 0, 10**9, 1, 2)], {}, 0.2),  # copies from the host
        ([("forward", "host", 0, 10**5, 1, 2)], {"pcie_gbs": None}, 0.0),
    )
    for rows, changed, want in table:
        found = _work.seconds(rows, {**MACHINE, **changed})
        ok(abs(found - want) < 1e-12, f"{rows} on {changed}: {found} for {want}")
    draw = random.Random(1)
    kinds = ("bfloat16", "float32", "tf32", "", "host")
    rows = [("forward", kind, 0 if kind in ("", "host") else 1 << draw.randrange(45), 1 << draw.randrange(32), draw.randrange(1, 9), draw.randrange(1, 50)) for kind in kinds * 40]
    before = _work.seconds(rows, MACHINE)
    for name in ("tflops", "fp32_tflops", "memory_gbs", "pcie_gbs"):
        faster, slower = (_work.seconds(rows, {**MACHINE, name: MACHINE[name] * factor}) for factor in (2, 0.5))
        ok(before / 2 <= faster < before < slower <= 2 * before, f"{name} twice and half: {faster} {before} {slower}")
    ok(abs(sum(_work.seconds([row], MACHINE) for row in rows if row[1] != "host") - _work.seconds([row for row in rows if row[1] != "host"], MACHINE)) < 1e-9, "the whole is its parts")


def check_no_time() -> None:
    """Where something is not known there is a reason, and no number."""
    work = [["forward", "bfloat16", 10**12, 8, 1, 1]]
    table: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
        ({"why": "alike"}, {}, "none came to its end"),
        ({"why": "steps"}, {}, "there are none"),
        ({"work": work, "work_unknown": ["a kernel"]}, {}, "a kernel"),
        ({"work": [["forward", "float64", 1, 1, 1, 1]], "work_unknown": []}, {}, "multiplies float64"),
        ({"work": [["forward", "host", 0, 1 << 21, 1, 1]], "work_unknown": []}, {"pcie_gbs": None}, "2097152 bytes are copied"),
    )
    for result, changed, words in table:
        seconds, why = _work.estimate(result, {**MACHINE, **changed})
        ok(seconds is None and words in why, f"{seconds} {why}")
    found, why = _work.estimate({"work": work, "work_unknown": []}, MACHINE)
    ok(found is not None and abs(found * _work.PRODUCT_SHARE - 0.01) < 1e-12 and not why, f"and else a number: {found}")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "here.json"
        path.write_text(json.dumps([MACHINE]))
        ok(_work.read_machine(path) == MACHINE, "a machine is read")
        for bad in ("", "{}", "[]", "[1]", json.dumps([MACHINE] * 2), *(json.dumps([{**MACHINE, key: value}]) for key, value in (
            ("tflops", 0), ("tflops", "1"), ("memory_gbs", None), ("pcie_gbs", -1), ("compute_capability", "x"), ("context_bytes", 9 << 30), ("gpu", 1)))):  # fmt: skip
            path.write_text(bad)
            done = subprocess.run([sys.executable, "-m", "seamalloc", "what-if", "--gpu", str(path), __file__], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": sys.argv[2]}, check=False)
            ok(done.returncode == 2 and done.stderr.count("\n") == 1 and "is no machine" in done.stderr, f"{bad[-120:]}: {done.returncode} {done.stderr.strip()[-200:]}")
        try:
            _work.read_machine(Path(name) / "none.json")
            ok(False, "read")
        except _work.Unknown as failure:
            ok("No such file" in str(failure), str(failure))


def check_places() -> None:
    """A runtime that is nowhere is named with where it was looked for."""
    os.environ["SEAM_GHOST"] = "/nowhere"
    try:
        _ghost.runtime(build.Torch("2.15.0", (), Path("/nowhere"), "13.2"))
        ok(False, "found")
    except build.BuildError as failure:
        ok("/nowhere/cuda13/libcudart.so.13" in str(failure), str(failure).replace("\n", ";"))
    given = _ghost.environment("h100", {"PYTORCH_ALLOC_CONF": "x", "SEAM_ENABLE": "1", "HOME": "/h"})
    ok(given["HOME"] == "/h" and given["FAKECUDA_GPU"] == "h100" and not {"PYTORCH_ALLOC_CONF", "SEAM_ENABLE"} & set(given), "the child has neither Seam nor settings of an allocator")


def check_faults() -> None:
    """An exception that nobody expects is no answer."""
    own, told = _what_if.on, io.StringIO()
    _what_if.on = lambda options, gpu: [][0]
    try:
        with contextlib.redirect_stderr(told):
            status = _what_if.main(["--gpu", "h100", __file__])
    finally:
        _what_if.on = own
    ok(status == 2 and told.getvalue().endswith("what-if: a fault of its own, and no answer: IndexError: list index out of range\n"), f"{status}: {told.getvalue()[-100:]!r}")


def check_readers() -> None:
    """Where nobody reads what a command prints, as behind `| head`, it ends without a word."""
    for command in (["seamalloc", "--help"], ["seamalloc", "what-if", "--help"], ["seamalloc", "calibrate", "--help"], ["seamalloc.build", "--help"]):
        read, write = os.pipe()
        os.close(read)
        # Unbuffered, argparse itself would pass over it.
        environment = {**os.environ, "PYTHONPATH": sys.argv[2], "PYTHONUNBUFFERED": ""}
        done = subprocess.run([sys.executable, "-m", *command], stdout=write, stderr=subprocess.PIPE, text=True, env=environment, check=False)
        os.close(write)
        ok(done.returncode == 128 + signal.SIGPIPE and not done.stderr, f"{command}: {done.returncode} {done.stderr[-200:]}")

    def unread(options: Any, gpu: str) -> Any:
        raise BrokenPipeError

    own, _what_if.on = _what_if.on, unread
    try:
        _what_if.main(["--gpu", "h100", __file__])
        ok(False, "an answer that nobody reads is no fault")
    except BrokenPipeError:
        ok(True, "an answer that nobody reads is no fault")
    finally:
        _what_if.on = own


def main() -> int:
    """All checks."""
    for check in (
        check_kinds, check_sums, check_columns, check_drawing, check_capacities, check_passes, check_names, check_picture_files, check_bad_histories, check_advice, check_steps,
        check_repetition, check_batches, check_sizes, check_margin, check_stubs, check_refusals, check_time, check_no_time, check_places, check_faults, check_readers,
    ):  # fmt: skip
        check()
    return end()


if __name__ == "__main__":
    raise SystemExit(main())
