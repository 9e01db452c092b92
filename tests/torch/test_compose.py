#!/usr/bin/env python3
"""test_compose.py LIBSEAM_TORCH PACKAGE_FOLDER: recordings of treated blocks, and what is composed of them. Programs here are drawn; no PyTorch. As TAP."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import random
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[2], str(Path(__file__).resolve().parents[1] / "support")]
os.environ["SEAM_LIBRARY"] = sys.argv[1]

from seamalloc import _blocks, _borders, _compose, _profile  # noqa: E402
from tap import end, ok  # noqa: E402

KEEP, RECOMPUTE, SWAP, FROM_HOST = _blocks.TREATMENTS
PROGRAMS = 60


class Drawn:
    """A training program with blocks of drawn sizes, and its history under a recipe: iterations of forward, loss, backward and step."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.blocks = draw.randint(1, 6)
        self.passes = draw.choice((1, 1, 2))  # forward and backward passes before a step
        self.inner = [[draw.randint(1, 900) for _ in range(draw.randint(1, 6))] for _ in range(self.blocks)]  # what a block makes and keeps for its backward pass
        self.scratch = [draw.randint(0, 400) for _ in range(self.blocks)]
        self.result = [draw.randint(1, 300) for _ in range(self.blocks + 1)]
        self.casts = draw.choice((0, 70))  # of a block's weights, which a cache holds to the end of the forward pass
        self.loss = draw.randint(1, 2500)
        self.state = draw.randint(1, 2000)
        self.shared = draw.choice((0, 400))  # what all blocks are handed, and hold for their backward passes, but where they are swapped
        self.built = draw.choice((1, 20000))  # while the model is built
        self.cache = draw.choice((0, 0, 90))  # of each block, in an object that all are handed, and hold where they are recomputed
        self.saves_result = draw.choice((False, True))  # for its backward pass, and not its argument
        self.lists = draw.choice((False, True))  # results, in this object
        self.tells = draw.choice((False, True))  # the object's death
        self.summed = draw.choice((0, 130))  # the gradient of a weight that all blocks have
        self.weight = draw.choice((0, 170))  # the cast of one, made in the first block's pass, which a cache holds to the end of the forward pass and each block for its backward pass

    def run(self, recipe: list[str]) -> tuple[_profile.Profile, list[_compose.Border]]:
        self.events: list[_profile.Event] = []
        self.marks: list[_profile.Mark] = []
        self.borders: list[_compose.Border] = []
        self.address = 0x1000
        self.holders: dict[int, int] = {}  # of what blocks hand to each other
        self.objects = 0  # made so far
        self.alloc(5000)
        self.free(self.alloc(self.built))
        optimizer = 0
        for _ in range(3):
            gradients: list[int] = []
            for _ in range(self.passes):
                self.forward_and_backward(recipe, gradients)
            self.mark("step")
            optimizer = optimizer or self.alloc(self.state)
            self.free(self.alloc(self.state))
            self.mark("stepped")
            self.mark("iteration")
            for gradient in gradients:
                self.free(gradient)
        return _profile.Profile(self.events, self.marks, ["somewhere"]), self.borders

    def alloc(self, size: int) -> int:
        self.address += 0x1000
        self.events.append(_profile.Event(_profile.ALLOC, self.address, size, 0))
        return self.address

    def free(self, address: int) -> None:
        self.events.append(_profile.Event(_profile.FREE, address, 0, 0))

    def let_go(self, address: int) -> None:
        """One of those does that hold it."""
        self.holders[address] -= 1
        if not self.holders[address]:
            self.free(address)

    def count(self) -> tuple[int, int]:
        requests = sum(event.action == _profile.ALLOC for event in self.events)
        return requests, len(self.events) - requests

    def cached(self, cache: list[int], *addresses: int) -> None:
        """The object holds these."""
        for address in addresses if self.cache else ():
            self.holders[address] = self.holders.get(address, 0) + 1
            cache.append(address)

    def object(self, cache: list[int]) -> list[int]:
        return [-self.objects, *cache] if self.cache else []

    def drop(self, cache: list[int]) -> None:
        """The object is no more, nor what only it holds."""
        if cache and self.tells:
            self.borders.append((*self.count(), _borders.DIED, _borders.OTHER, [-self.objects]))
        for address in cache:
            self.let_go(address)
        cache.clear()

    def copy(self, *sizes: int) -> list[int]:
        """What is asked for to copy to or from the host."""
        self.border(_borders.COPYING, 0)
        made = [self.alloc(size) for size in sizes]
        self.border(_borders.COPYING, 0)
        return made

    def mark(self, what: str) -> None:
        self.marks.append(_profile.Mark(what, *self.count()))

    def border(self, what: int, block: int, *handed: int) -> None:
        self.borders.append((*self.count(), what, block, list(handed)))

    def forward(self, block: int, keeps: bool) -> list[int]:
        """What a block makes, but its result."""
        self.free(self.alloc(self.scratch[block] + 1))
        made = [self.alloc(size) for size in self.inner[block]]
        if not keeps:
            for address in made:
                self.free(address)
        return made if keeps else []

    def forward_and_backward(self, recipe: list[str], gradients: list[int]) -> None:
        shared = self.alloc(self.shared + 1)
        value = self.alloc(self.result[0])
        self.holders[value] = 1
        kept: list[tuple[list[int], list[int], list[int]]] = []
        cached: list[int] = []
        cache: list[int] = []
        self.objects += bool(self.cache)
        holders = weight = 0
        for block in range(self.blocks):
            treatment = recipe[block]
            self.border(_borders.FORWARD, block, value, shared, *self.object(cache))
            casts = [self.alloc(self.casts)] if self.casts else []
            if self.weight and not block:
                weight = self.alloc(self.weight)
                self.holders[weight] = 1
            inner = self.forward(block, treatment == KEEP)
            self.cached(cache, *([self.alloc(self.cache)] if self.cache else []))
            result = self.alloc(self.result[block + 1])
            self.holders[result] = 1
            self.cached(cache, *([result] if self.lists else []))
            saved = result if self.saves_result else value
            if treatment == SWAP:
                self.border(_borders.SAVED, block, saved)
                self.border(_borders.SAVED, block, shared)
                for address in [weight] if weight else []:
                    self.border(_borders.SAVED, block, address)
                    self.free(*self.copy(self.weight))
            held = {KEEP: [saved, *([weight] if weight else [])], RECOMPUTE: [value]}.get(treatment, [])
            for address in held:
                self.holders[address] += 1
            self.border(_borders.BEHIND_FORWARD, block, *self.object(cache))
            self.let_go(value)
            if treatment != SWAP:
                holders += 1
            if treatment != KEEP:
                cached += casts
                casts = []
            kept.append((inner, casts, held))
            value = result
        if not holders:
            self.free(shared)
        if not {RECOMPUTE, FROM_HOST} & set(recipe):
            self.drop(cache)
        logits = self.alloc(self.loss)
        for address in cached:
            self.free(address)
        for address in [weight] if weight else []:
            self.let_go(address)
        self.let_go(value)
        gradient = self.alloc(self.result[-1])
        self.free(logits)
        sums: list[int] = []
        for block in reversed(range(self.blocks)):
            self.border(_borders.BACKWARD, block, gradient)
            if block + 1 < self.blocks:
                self.border(_borders.BEHIND_BACKWARD, block + 1)  # at the same node of the graph
            inner, casts, held = kept[block]
            back = self.copy(self.result[block + (self.saves_result and recipe[block] == SWAP)]) if recipe[block] in (SWAP, FROM_HOST) else []
            back += self.copy(self.weight) if weight and recipe[block] == SWAP else []
            if recipe[block] != KEEP:
                inner = self.forward(block, True) + ([self.alloc(self.weight)] if weight and recipe[block] != SWAP else [])
            if recipe[block] in (RECOMPUTE, FROM_HOST):
                self.cached(cache, *([self.alloc(self.cache)] if self.cache else []), *held)  # with a graph, which holds the argument
            gradients.append(self.alloc(10 * self.result[block]))
            sums += [self.alloc(self.summed)] if self.summed else []
            for address in sums[:-1]:
                self.free(address)
            sums = sums[-1:]
            before = self.alloc(self.result[block])
            for address in (gradient, *back, *inner, *casts):
                self.free(address)
            for address in held:
                self.let_go(address)
            if recipe[block] != SWAP:
                holders -= 1
                if not holders:
                    self.free(shared)
            gradient = before
            if not {RECOMPUTE, FROM_HOST} & set(recipe[:block]):
                self.drop(cache)
        gradients += sums
        self.border(_borders.BEHIND_BACKWARD, 0)
        self.free(gradient)


def check_mixtures() -> None:
    """The composed peak is that of a run of its own."""
    wrong: list[str] = []
    for seed in range(PROGRAMS):
        program = Drawn(seed)
        draw = random.Random(-seed)
        recordings = {}
        for treatment in _blocks.TREATMENTS:
            recording = _compose.record(*program.run([treatment] * program.blocks), 1)
            assert recording is not None
            recordings[treatment] = recording
            if _compose.check(recording):
                wrong.append(f"{seed}: {treatment}: {_compose.check(recording)}")
        if not _compose.agree(recordings):
            wrong.append(f"{seed}: the visits are not alike")
        for recipe in [[treatment] * program.blocks for treatment in _blocks.TREATMENTS] + [draw.choices(_blocks.TREATMENTS, k=program.blocks) for _ in range(8)]:
            want = program.run(recipe)[0].peak()[0]
            got = _compose.compose(recordings, recipe)
            if got != want:
                wrong.append(f"{seed}: {recipe}: {got} for {want}")
    ok(not wrong, f"composed peaks of {PROGRAMS} programs: {wrong[:3]}")


def recording(*visits: tuple[str, int, list[int]]) -> _compose.Recording:
    """Of two blocks: piece 1, of 50 bytes, is made outside and handed to both; pieces 2 and 3 have 30 and 100."""
    return _compose.Recording(0, 0, [_compose.Visit(*visit) for visit in visits], [50, 30, 100], [-1, 1, -1], [[0, 1], [], []], [0, -1, -1], [[], [], []], [[0, 1], [], []])


def check_ends() -> None:
    """What two blocks are handed ends where the last one lets it go, which is treated so, if it ever does."""
    last = ("", -1, [3])
    never = recording(("", -1, [1]), ("forward", 0, []), ("forward", 1, [2, -2]), last)
    early = recording(("", -1, [1]), ("forward", 0, [-1]), ("forward", 1, [2, -2]), last)
    within = recording(("", -1, [1]), ("forward", 0, []), ("forward", 1, [-1, 2, -2]), last)
    behind = recording(("", -1, [1]), ("forward", 0, []), ("forward", 1, [2, -1, -2]), last)
    table = ((never, early, 150), (early, never, 150), (early, early, 100), (within, behind, 100), (early, behind, 100))
    for keep, swap, want in table:
        got = _compose.compose({KEEP: keep, SWAP: swap}, [SWAP, KEEP])
        ok(got == want, f"held by one, or by the other: {got} for {want}")
    last = ("", -1, [])
    within.visits[-1], behind.visits[-1] = _compose.Visit(*last), _compose.Visit(*last)
    for keep, swap, want in ((within, behind, 50), (behind, within, 80)):
        got = _compose.compose({KEEP: keep, SWAP: swap}, [SWAP, KEEP])
        ok(got == want, f"in the visit of one of them, as it is treated: {got} for {want}")


def check_fewest() -> None:
    """No fewer blocks than needed, and no more."""
    wrong: list[str] = []
    for seed in range(PROGRAMS):
        program = Drawn(seed)
        recordings = {}
        for treatment in (KEEP, RECOMPUTE):
            recording = _compose.record(*program.run([treatment] * program.blocks), 1)
            assert recording is not None
            recordings[treatment] = recording
        peaks = [_compose.compose(recordings, [RECOMPUTE] * count) for count in range(program.blocks + 1)]
        if peaks != sorted(peaks, reverse=True):
            continue  # bisection wants this, and treating more blocks hardly ever takes more
        for room in {*peaks, *(peak - 1 for peak in peaks)}:
            want = next((count for count, peak in enumerate(peaks) if peak <= room), program.blocks + 1)
            got = _compose.fewest(recordings, RECOMPUTE, range(program.blocks), room)
            if got != want:
                wrong.append(f"{seed}: {got} for {want} in {room}")
    ok(not wrong, f"the fewest blocks: {wrong[:3]}")
    frozen = {name: _compose.Recording(0, 0) for name in (KEEP, RECOMPUTE)}
    for name, one in frozen.items():  # the first block is frozen: nothing of it lives to the end of the forward pass
        kept = [block > 0 and name == KEEP for block in range(3)]
        one.bytes, one.makers, one.owners, one.handed, one.objects, one.savers = [10, 11, 12, 5], [0, 1, 2, -1], [[]] * 4, [-1] * 4, [[]] * 4, [[]] * 4
        one.visits = [_compose.Visit("forward", block, [block + 1] + [-block - 1] * (not kept[block])) for block in range(3)] + [_compose.Visit("", -1, [4, -4])]
        one.visits += [_compose.Visit("backward", block, [-block - 1] * kept[block]) for block in (2, 1)]
    order = _compose.by_savings(frozen, RECOMPUTE, 3)
    ok(order == [2, 1, 0] and _compose.mixed(RECOMPUTE, order[:2]) == [KEEP, RECOMPUTE, RECOMPUTE], f"what saves the most comes first, what is frozen last: {order}")


def check_loss() -> None:
    """A loss in pieces is a program with a smaller one, where it is larger than what blocks hand to each other."""
    wrong: list[str] = []
    for seed in range(PROGRAMS):
        program = Drawn(seed)
        recipe = [KEEP] * program.blocks
        passed = max(program.result[1:-1], default=0)
        program.result[-1] = min(program.result[-1], passed or program.result[-1])
        whole = _compose.record(*program.run(recipe), 1)
        assert whole is not None
        if passed and program.loss > passed:
            program.loss = -(-program.loss // 8)
        want = program.run(recipe)[0].peak()[0]
        got = _compose.compose({KEEP: _compose.loss_in_pieces(whole, 8)}, recipe)
        if got != want:
            wrong.append(f"{seed}: {got} for {want}")
    ok(not wrong, f"losses in pieces: {wrong[:3]}")


def check_format() -> None:
    """What is written is what is read; a recording that is none is found."""
    recording = _compose.record(*Drawn(3).run([KEEP] * Drawn(3).blocks), 1)
    assert recording is not None
    again = _compose.from_json(json.loads(json.dumps(dataclasses.asdict(recording))))
    ok(again == recording, "a recording comes back out of JSON")
    schema = json.loads((Path(__file__).resolve().parents[2] / "tools/seamprofile.schema.json").read_text(encoding="utf-8"))
    wanted = schema["definitions"]["recording"]["properties"]
    ok(set(dataclasses.asdict(recording)) == set(wanted), "with the columns of the schema")
    ok(set(dataclasses.asdict(recording.visits[0])) == set(wanted["visits"]["items"]["properties"]), "and the visits'")
    ok(set(schema["properties"]["recordings"]["properties"]) == set(_blocks.TREATMENTS), "for the treatments that there are")
    first = next(number for number, visit in enumerate(recording.visits) if visit.events)
    for title, change in (
        ("a column is short", lambda one: one.owners.pop()),
        ("another start", lambda one: setattr(one, "start", one.start + 1)),
        ("a copy of nothing", lambda one: one.copies.append(len(one.bytes) + 1)),
        ("a piece is freed twice", lambda one: one.visits[-1].events.extend([event for event in one.visits[first].events if event < 0])),
        ("a piece is made twice", lambda one: one.visits[-1].events.extend([event for visit in one.visits for event in visit.events if event > 0])),
        ("a piece is not made", lambda one: one.visits[first].events.clear() or [visit.events.clear() for visit in one.visits]),
    ):
        broken = copy.deepcopy(recording)
        change(broken)
        ok(_compose.check(broken) != "", f"{title}: {_compose.check(broken)}")
    ok(_compose.record(*Drawn(3).run([KEEP] * Drawn(3).blocks), 3) is None, "no recording without a whole iteration")


def check_borders() -> None:
    """Who looks at borders alone misses what is between."""
    program = Drawn(5)
    profile, borders = program.run([KEEP] * program.blocks)
    seen = _compose.seen_at_borders(profile, borders)
    ok(0 < seen <= profile.peak()[0], f"at borders no more than there is: {seen}")
    everywhere = [(requests, frees, 0, -1, []) for requests, frees in profile.moments]
    ok(_compose.seen_at_borders(profile, everywhere) == profile.peak()[0], "and all of it at all moments")


def main() -> int:
    """All checks."""
    for check in (check_mixtures, check_ends, check_fewest, check_loss, check_format, check_borders):
        check()
    return end()


if __name__ == "__main__":
    raise SystemExit(main())
