"""offload_engine: a swap engine on the CPU for tests, which does each copy as early or as late as its edges allow.

It has the methods of seamalloc._swap.Engine. Each copy is done at once, or not before somebody waits for it, as a seed says; memory that is given back is
filled with 0xff, and so is new memory and that of tickets that were dropped. A wait that is missing is then a wrong number, and a line of `faults`. `log`
is what was asked for, a call a line, for tests/torch/offload_log.c. Time is drawn too: nothing here depends on a clock.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

BAD = 0xFF  # four of them are a NaN
USERS = torch._C._storage_Use_Count


def flat(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(storage)


class Ticket:
    def __init__(self, storage: torch.UntypedStorage) -> None:
        self.nbytes = storage.nbytes()
        self.host = torch.full((self.nbytes,), BAD, dtype=torch.uint8)
        self.source: torch.UntypedStorage | None = storage  # None: the copy down has been made
        self.target: torch.UntypedStorage | None = None  # likewise up
        self.is_waited = False  # for its newest copy


class Adversary:
    """skip: of "down" and "up", the waits that it makes nothing of. refuse: how many of a hundred copies down it refuses."""

    def __init__(self, seed: int, skip: str = "", refuse: int = 0) -> None:
        self.draw = random.Random(seed)
        self.skip, self.refuse = skip, refuse
        self.slow = self.draw.choice((0.02, 0.3, 3.0))  # copies, against what is between two marks
        self.tickets: dict[int, list[Ticket]] = {}
        self.last = 0
        self.arrivals: dict[int, list[int]] = {}  # by ticket: memory that its newest copy up goes to
        self.now = self.passed = 0.0
        self.faults: list[str] = []
        self.log: list[str] = []
        self.held: dict[int, torch.UntypedStorage] = {}  # by name: until nobody else holds it
        self.names: dict[int, int] = {}  # by id() of those
        self.owed: set[int] = set()  # names of those that a copy down uses, and whose stream was not told
        self.calls = dict.fromkeys(("out", "into", "refused"), 0)

    # -- memory --

    def name(self, storage: torch.UntypedStorage) -> int:
        if id(storage) not in self.names:
            name = len(self.log)
            self.held[name], self.names[id(storage)] = storage, name
            self.log.append(f"new {name} {storage.nbytes()}")
        return self.names[id(storage)]

    def sweep(self) -> None:
        """Memory that only this engine holds was given back, and so was what is empty now."""
        for name, storage in list(self.held.items()):
            if USERS(storage._cdata) > 1 and storage.nbytes():
                continue
            for ticket in (one for parts in self.tickets.values() for one in parts):
                if not ticket.is_waited and any(one is storage for one in (ticket.source, ticket.target)):
                    self.faults.append(f"memory {name} was given back under a copy")
                if ticket.source is storage and storage.nbytes() == 0:
                    ticket.source = None
            if storage.nbytes():
                flat(storage).fill_(BAD)
            if name in self.owed:
                self.faults.append(f"memory {name} was given back, and its stream does not know of the copy")
            self.log.append(f"free {name}")
            del self.names[id(storage)], self.held[name]

    def memory(self, nbytes: int, stream: int) -> torch.Tensor:
        self.sweep()
        made = torch.full((nbytes,), BAD, dtype=torch.uint8)
        self.name(made.untyped_storage())
        return made

    def stream(self) -> int:
        return 0

    def used(self, storage: torch.UntypedStorage, stream: int) -> None:
        self.owed.discard(self.name(storage))

    def is_capturing(self) -> bool:
        return False

    # -- time --

    def mark(self) -> float:
        self.sweep()
        self.now += self.draw.random()
        return self.now

    def has_passed(self, mark: float) -> bool:
        if mark > self.passed and self.draw.random() < 0.7:
            self.passed = mark
        return mark <= self.passed

    def between(self, first: float, last: float) -> float:
        return last - first

    # -- copies --

    def is_early(self) -> bool:
        self.now += self.draw.random() * self.slow
        return self.draw.random() < 0.5

    def do_down(self, ticket: Ticket) -> None:
        if ticket.source is not None:
            ticket.host.copy_(flat(ticket.source))
            ticket.source = None

    def do_up(self, ticket: Ticket) -> None:
        if ticket.target is not None:
            flat(ticket.target).copy_(ticket.host)
            ticket.target = None

    def out(self, storages: Sequence[torch.UntypedStorage], stream: int) -> tuple[int, int]:
        self.sweep()
        if self.draw.randrange(100) < self.refuse:
            self.calls["refused"] += 1
            return 4, 0
        self.calls["out"] += 1
        self.last += 1
        self.tickets[self.last] = [Ticket(storage) for storage in storages]
        self.owed |= {self.name(storage) for storage in storages}
        self.log.append(f"out {self.last} {' '.join(str(self.name(storage)) for storage in storages)}")
        if self.is_early():
            self.catch_up(self.last, Adversary.do_down)
        return 0, self.last

    def catch_up(self, last: int, do: Any) -> None:
        """A lane does its copies in order."""
        for number, parts in list(self.tickets.items()):
            for ticket in parts if number <= last else ():
                do(self, ticket)

    def into(self, number: int, storages: Sequence[torch.UntypedStorage], stream: int) -> int:
        self.sweep()
        self.calls["into"] += 1
        self.catch_up(number, Adversary.do_down)
        is_early = self.is_early()
        for ticket, storage in zip(self.tickets[number], storages, strict=True):
            assert ticket.nbytes == storage.nbytes()
            ticket.target, ticket.is_waited = storage, False
            self.name(storage)
            flat(storage).fill_(BAD)
            if is_early:
                self.do_up(ticket)
        self.log.append(f"in {number} {' '.join(str(self.name(storage)) for storage in storages)}")
        self.arrivals[number] = [self.name(storage) for storage in storages]
        return 0

    def wait(self, number: int, stream: int) -> bool:
        self.sweep()
        arrivals = self.arrivals.get(number, [])
        way = "up" if arrivals else "down"
        if way != self.skip:
            self.log.append(f"wait {number}")
            self.catch_up(number, Adversary.do_down)
            for ticket in self.tickets[number]:
                self.do_up(ticket)
                ticket.is_waited = True
        self.log += [f"use {name}" for name in arrivals if name in self.held]
        return True

    def drop(self, number: int) -> None:
        self.sweep()
        for ticket in self.tickets.pop(number):
            ticket.host.fill_(BAD)
        self.arrivals.pop(number, None)
        self.log.append(f"drop {number}")

    def end(self) -> None:
        self.sweep()
        self.log += [f"free {name}" for name in self.held]
        self.held.clear()
        self.names.clear()
