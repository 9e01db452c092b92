#!/usr/bin/env python3
"""test_what_if.py LIBSEAM_TORCH PACKAGE_FOLDER: what `python -m seamalloc what-if` makes of a program's history, and what it says to bad input. Without PyTorch, as TAP."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[2], str(Path(__file__).resolve().parents[1] / "support")]
os.environ["SEAM_LIBRARY"] = sys.argv[1]

from seamalloc import _ghost, _profile, _what_if, build  # noqa: E402
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


def advise(profile: _profile.Profile, result: dict[str, Any], needs: dict[str, int | None]) -> list[dict[str, Any]]:
    return _what_if.advise(profile, profile.peak()[0], result, needs)


def check_advice() -> None:
    """What would help is what the peak falls by."""
    result = {"optimizers": [{"class": "Adam", "fused": False, "can_be_fused": True}], "unseen": [], "steps": 3, "why": "alike"}
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
            iterations.end((size, size))
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
            return SimpleNamespace(answer={"reserved_bytes": {"native": 1 if fits and runs[-1] < 20 else None, "expandable": 1 if fits else None, "seam": 1 if fits else None}})

        _what_if.ask = ask  # type: ignore[assignment]
        found = _what_if.find_batch(options, program, "h100")
        ok(found == {"seam": want, "expandable": want, "native": min(want, 19)} and len(runs) == len(set(runs)) <= 25, f"memory {memory}: {found}, {len(runs)} runs")
    _what_if.ask = own


def check_stubs() -> None:
    """Every function of a stub library is one that the compiler takes, and gives back what its callers read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = [*_ghost.RESULTS, "cublasSomethingNew"]
        _ghost.compile_stub("libcublas.so.99", _ghost.source(names, 130200), folder)
        symbols = subprocess.run(["nm", "-D", "--defined-only", str(folder / "libcublas.so.99")], capture_output=True, text=True, check=True).stdout
        ok(all(f" {one}@@libcublas.so.99" in symbols for one in names), "all names are there, with NVIDIA's version")
        import ctypes

        library = ctypes.CDLL(str(folder / "libcublas.so.99"))
        handle, count, results = ctypes.c_void_p(), ctypes.c_int(), (ctypes.c_char * 104)(*b"x" * 104)
        ok(library.cublasCreate_v2(ctypes.byref(handle)) == 0 and handle.value, "a handle is something")
        ok(library.cublasLtGetVersion() == 130200 and library.cublasSomethingNew(1, 2) == 0, "the version is what was given")
        library.cublasLtMatmulAlgoGetHeuristic(*(ctypes.c_void_p() for _ in range(7)), 1, results, ctypes.byref(count))
        ok(count.value == 1 and not any(results.raw), "one algorithm without a workspace")


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
        (["--gpu", "h100", "--steps", "0", str(script)], "more than 0"),
        (["--memory", "8X", str(script)], "8X is no size"),
    )
    for arguments, words in table:
        done = subprocess.run([sys.executable, "-m", "seamalloc", "what-if", *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": sys.argv[2]}, check=False)
        ok(done.returncode == 2 and words in done.stderr and not done.stdout, f"{arguments[:3]}: {done.returncode} {done.stderr.strip().splitlines()[-1]}")


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


def main() -> int:
    """All checks."""
    for check in (check_kinds, check_sums, check_bad_histories, check_advice, check_steps, check_repetition, check_batches, check_stubs, check_refusals, check_places):
        check()
    return end()


if __name__ == "__main__":
    raise SystemExit(main())
