"""What a program did with a device's memory: its blocks, what holds them at the peak, and what it would be without some of them.

Made of events (PyTorch's history of an allocator, in its order) and marks (where steps of optimizers began and ended, and which addresses were whose then).
No PyTorch here.

Invariants: a block is born at one event and dies at most once; live bytes are never negative; a label belongs to the block that had the address when the
mark was made.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

KINDS = ("parameters", "gradients", "optimizer", "activations", "workspaces", "other")

ALLOC, FREE = "alloc", "free_requested"
BACKWARD = "backward"  # the place of what autograd calls
HELD = "(held into the next step)"
STEPPING = "made and dropped by the optimizer's step"


@dataclass(slots=True)
class Block:
    """A piece of memory that the program asked for."""

    request: int  # how many requests came before it
    bytes: int
    born: int  # the event
    died: int  # the event; behind the last one: never
    place: int  # the number of its call site
    address: int
    kind: str = ""
    name: str = ""  # of whose it is


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the history."""

    action: str
    address: int
    bytes: int
    place: int


@dataclass
class Mark:
    """A moment at which the program's optimizer was looked at."""

    what: str  # "step", before one, or "stepped", behind it; "iteration": one ends here; "workspaces"
    requests: int  # made so far
    frees: int  # likewise
    labels: dict[int, tuple[str, str]] = field(default_factory=dict)  # of addresses: kind, name


@dataclass(frozen=True)
class Holder:
    """What some blocks have in common, and their bytes."""

    kind: str
    where: str
    bytes: int


NOWHERE = 1 << 52  # above all addresses
APART = 1 << 40  # more than any block has


def repeated(entries: Sequence[dict[str, Any]], before: tuple[int, int], begin: tuple[int, int], end: tuple[int, int], times: int) -> list[dict[str, Any]]:
    """Entries of a history that has come to equal iterations, as they would go on: the last one, from `begin` to `end`, so many times more.

    Moments are requests and frees so far; `before` is where the iteration before the last began. A free is that of a block of the same iteration, or of the one before
    it. Blocks have new addresses. What lived longer stays.
    """
    moments = {}
    counts = {ALLOC: 0, FREE: 0}
    for number, entry in enumerate(entries):
        moments.setdefault((counts[ALLOC], counts[FREE]), number)
        counts[entry["action"]] = counts.get(entry["action"], 0) + 1
    first, middle, last = (moments.get(moment, len(entries)) for moment in (before, begin, end))
    pattern: list[tuple[dict[str, Any], int, int]] = []  # entry, iterations back, number of the request there
    at: dict[int, tuple[int, int]] = {}  # the block at an address
    for back, part in ((1, entries[first:middle]), (0, entries[middle:last])):
        requests = 0
        for entry in part:
            if entry["action"] == ALLOC:
                at[entry["addr"]] = (back, requests)
                requests += 1
            if back == 0 and entry["addr"] in at:
                pattern.append((entry, *at[entry["addr"]]))
    there = {number: entry["addr"] for entry, back, number in pattern if back == 0 and entry["action"] == ALLOC}
    made = []
    for copy in range(1, times + 1):
        for entry, back, number in pattern:
            iteration = copy - back
            address = there[number] if iteration == 0 else NOWHERE + (iteration * len(there) + number) * APART
            made.append({**entry, "addr": address})
    return made


class ProfileError(ValueError):
    """Events that are no history, for a person."""


class Profile:
    """The blocks of a program in time."""

    def __init__(self, events: Sequence[Event], marks: Iterable[Mark], places: Sequence[str]) -> None:
        self.places = places
        self.blocks: list[Block] = []
        self.end = len(events)
        self.backward = [number for number, event in enumerate(events) if event.action == ALLOC and places[event.place] == BACKWARD]
        self.steps: list[tuple[int, int]] = []  # the events at which steps of optimizers began and ended
        self.iterations: list[int] = []  # the events at which iterations ended
        self.moments: dict[tuple[int, int], int] = {}  # the event that comes behind so many requests and frees
        self._read(events, sorted(marks, key=lambda mark: (mark.requests + mark.frees)))
        self._name_the_rest()

    def _read(self, events: Sequence[Event], marks: list[Mark]) -> None:
        live: dict[int, Block] = {}
        frees = 0
        began = 0
        waiting = iter(marks)
        mark = next(waiting, None)
        for number in range(len(events) + 1):
            self.moments[len(self.blocks), frees] = number
            while mark is not None and (mark.requests, mark.frees) == (len(self.blocks), frees):
                if mark.what == "step":
                    began = number
                elif mark.what == "stepped":
                    self.steps.append((began, number))
                elif mark.what == "iteration":
                    self.iterations.append(number)
                for address, (kind, name) in mark.labels.items():
                    block = live.get(address)
                    if block is not None and not block.kind:
                        block.kind, block.name = kind, name
                mark = next(waiting, None)
            if number == len(events):
                break
            event = events[number]
            if event.action == ALLOC:
                if event.address in live:
                    raise ProfileError(f"event {number}: a second block at address {event.address:#x}")
                live[event.address] = Block(len(self.blocks), event.bytes, number, len(events), event.place, event.address)
                self.blocks.append(live[event.address])
            elif event.action == FREE:
                freed = live.pop(event.address, None)
                if freed is None:
                    raise ProfileError(f"event {number}: no block is at address {event.address:#x}")
                freed.died = number
                frees += 1
        if mark is not None:
            raise ProfileError(f"a mark behind {mark.requests} requests and {mark.frees} frees, which the history does not come to")

    def _name_the_rest(self) -> None:
        """What nobody said: what a step of an optimizer makes and drops, what lives in an iteration, what outlives one."""
        for block in self.blocks:
            if block.kind:
                continue
            step = self.step_at(block.born)
            if step is not None and block.died < step[1]:
                block.kind, block.name = "workspaces", STEPPING
                continue
            # The history ends behind a step: what is still there and was made in the last one is held, as in the steps before.
            steps = self.iteration_at(block.died) - self.iteration_at(block.born)
            block.kind = "activations" if self.iterations and steps <= 1 else "other"
            if block.kind == "activations" and steps == 1:
                block.name = f"{self.places[block.place]} {HELD}"

    def moment(self, requests: int, frees: int) -> int:
        """The event that comes behind so many requests and frees."""
        try:
            return self.moments[requests, frees]
        except KeyError:
            raise ProfileError(f"a moment behind {requests} requests and {frees} frees, which the history does not come to") from None

    def next_backward(self, event: int) -> int:
        """The first event behind this one that a backward pass made; the end, if none did."""
        found = bisect.bisect(self.backward, event)
        return self.backward[found] if found < len(self.backward) else self.end

    def step_at(self, event: int) -> tuple[int, int] | None:
        """The step of an optimizer that an event is in."""
        found = bisect.bisect(self.steps, (event, self.end + 1)) - 1
        return self.steps[found] if found >= 0 and event < self.steps[found][1] else None

    def iteration_at(self, event: int) -> int:
        """How many iterations had ended."""
        return bisect.bisect(self.iterations, event)

    def peak(self, ends: Callable[[Block], int] = lambda block: block.died) -> tuple[int, int]:
        """The most bytes that lived at once, if each block ended at such an event (where it began: it never was), and the event that made it so."""
        changes: dict[int, int] = {}
        for block in self.blocks:
            end = ends(block)
            if end > block.born:
                changes[block.born] = changes.get(block.born, 0) + block.bytes
                changes[end] = changes.get(end, 0) - block.bytes
        live = most = at = 0
        for event in sorted(changes):
            live += changes[event]
            if live > most:
                most, at = live, event
        return most, at

    def live(self) -> list[int]:
        """The bytes behind each event."""
        changes = [0] * (self.end + 1)
        for block in self.blocks:
            changes[block.born] += block.bytes
            changes[block.died] -= block.bytes
        return list(itertools.accumulate(changes[:-1]))

    def holders(self, event: int) -> list[Holder]:
        """Who holds memory just behind an event: the largest first."""
        sums: dict[tuple[str, str], int] = {}
        for block in self.blocks:
            if block.born <= event < block.died:
                key = (block.kind, block.name or self.places[block.place])
                sums[key] = sums.get(key, 0) + block.bytes
        found = [Holder(kind, where, held) for (kind, where), held in sums.items()]
        return sorted(found, key=lambda holder: (-holder.bytes, KINDS.index(holder.kind), holder.where))

    def describe(self, event: int) -> str:
        """Where in the program an event was."""
        step = self.step_at(event)
        iteration = self.iteration_at(event) + 1
        block = next((block for block in self.blocks if block.born == event), None)
        place = self.places[block.place] if block is not None else ""
        if step is not None:
            place = "the optimizer"
        return f"{place}, in step {iteration}" if self.iterations else place
