"""The peak of a program whose blocks are treated each in its way, composed of recordings in which all are treated alike. No PyTorch here.

An iteration is cut into visits: stretches between the borders of blocks (_borders.py) and of steps of optimizers. What a visit asks for depends on the treatment of
its block. How long a piece of memory lives depends on the treatment of its owners: the blocks that it was handed to, as a block is handed the result of the one before
it, else the block that made it. So a mixture has, of each visit, the requests in the recording of its block's treatment, and of each piece, the last of its ends in
the recordings of its owners' treatments. Where this end lies in a visit that is recorded otherwise, it comes before as many requests from the end of that visit: a backward pass that
recomputes ends like one that does not.

Not seen is what several blocks hold and are not handed, such as a cache of keys and values: the composed peak is near the recorded one
(bench/results/what-if.md has the difference), and a mixture that somebody is told of is run.

Invariants: the visits of a recording are in the order of the program, without gaps; a piece is made once, and freed at most once, behind that.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _borders, _profile

KEEP = "keep"
OUTSIDE = -1  # of all blocks
BEFORE = -2  # the maker of what was made before the iteration
NEVER = 1 << 62, 0
PARTS = {_borders.FORWARD: "forward", _borders.BACKWARD: "backward"}  # of a block; all else is outside of blocks
Border = tuple[int, int, int, int, list[int]]  # as _borders.py finds them
Moment = tuple[int, int, int, list[int]]  # the event, and the rest of a border


@dataclass
class Visit:
    """A stretch of an iteration."""

    part: str  # "forward" or "backward" of a block, "optimizer", ""
    block: int
    events: list[int] = field(default_factory=list)  # of pieces, by number from 1 on: made, or negative: freed

    def ends(self) -> Iterator[tuple[int, int]]:
        """The pieces that end, with how many requests follow in the visit."""
        following = sum(event > 0 for event in self.events)
        for event in self.events:
            following -= event > 0
            if event < 0:
                yield following, -event - 1


@dataclass
class Recording:
    """An iteration of a program, all of whose blocks are treated alike."""

    before: int  # the most live bytes before the model runs
    start: int  # live bytes where the iteration begins
    visits: list[Visit] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)  # of each piece
    makers: list[int] = field(default_factory=list)  # a block, OUTSIDE or BEFORE
    owners: list[list[int]] = field(default_factory=list)  # the blocks that it was handed to
    handed: list[int] = field(default_factory=list)  # which of all that is handed over in the iteration; -1: it never is

    def ends(self) -> dict[int, tuple[int, int]]:
        """Where what is handed over ends: in which visit, and before how many requests of it, negative. What does not is left out."""
        found = ((number, -following, piece) for number, visit in enumerate(self.visits) for following, piece in visit.ends())
        return {self.handed[piece]: (number, following) for number, following, piece in found if self.handed[piece] >= 0}


class _Pieces:
    """Pieces of memory by their addresses."""

    def __init__(self, profile: _profile.Profile) -> None:
        self.at: dict[int, list[tuple[int, int]]] = {}
        for number, block in enumerate(profile.blocks):
            self.at.setdefault(block.address, []).append((block.born, number))

    def find(self, address: int, event: int) -> int:
        """The newest that was made at an address before an event; -1: none."""
        found = self.at.get(address, [])
        place = bisect.bisect_left(found, (event, -1)) - 1
        return found[place][1] if place >= 0 else -1


def _visits(profile: _profile.Profile, borders: Sequence[Moment], begin: int, end: int) -> list[tuple[int, Visit]]:
    """Where visits begin, from one event to another."""
    changes = [(at, PARTS.get(what, ""), block, what) for at, what, block, _ in borders]
    changes += [change for began, ended in profile.steps for change in ((began, "optimizer", OUTSIDE, -1), (ended, "", OUTSIDE, -1))]
    found = [(begin, Visit("", OUTSIDE))]
    for at, part, block, what in sorted(changes, key=lambda change: change[0]):
        if not begin <= at < end:
            continue
        # What ends here may have ended before.
        if what in (_borders.BEHIND_FORWARD, _borders.BEHIND_BACKWARD) and (found[-1][1].part, found[-1][1].block) != (PARTS[what - 1], block):
            continue
        found.append((at, Visit(part, block if part in PARTS.values() else OUTSIDE)))
    return found


def _owners(profile: _profile.Profile, borders: Sequence[Moment], begin: int, end: int) -> dict[int, tuple[list[int], int]]:
    """Of each piece that is handed over: its owners, and which of all handed over it is, the last time."""
    pieces = _Pieces(profile)
    found: dict[int, tuple[list[int], int]] = {}
    count = 0
    for at, _, block, addresses in borders:
        if not begin <= at < end:
            continue
        for address in addresses:
            piece = pieces.find(address, at)
            found[piece] = [*found.get(piece, ([], 0))[0], block], count
            count += 1
    return found


def record(profile: _profile.Profile, borders: Sequence[Border], period: int) -> Recording | None:
    """The last iteration of a program, of `period` steps; None, if there is no whole one."""
    if period < 1 or len(profile.iterations) <= period:
        return None
    begin, end = profile.iterations[-1 - period], profile.iterations[-1]
    at_events = [(profile.moment(requests, frees), what, block, handed) for requests, frees, what, block, handed in borders]
    live = profile.live()
    made = Recording(max(live[: min((at for at, *_ in at_events), default=begin)], default=0), live[begin - 1])
    of_blocks = [border for border in at_events if border[2] != _borders.OTHER]
    visits = _visits(profile, of_blocks, begin, end)
    owners = _owners(profile, of_blocks, begin, end)
    made.visits = [visit for _, visit in visits]
    starts = [at for at, _ in visits]
    changes: list[tuple[int, int]] = []
    for number, block in enumerate(profile.blocks):
        if block.born >= end or block.died < begin:
            continue
        piece = len(made.bytes) + 1
        maker = made.visits[bisect.bisect_right(starts, block.born) - 1].block if block.born >= begin else BEFORE
        owned, handed = owners.get(number, ([], -1)) if maker != BEFORE else ([], -1)
        made.bytes.append(block.bytes)
        made.makers.append(maker)
        made.owners.append(owned)
        made.handed.append(handed)
        changes += [(block.born, piece)] * (block.born >= begin) + [(block.died, -piece)] * (block.died < end)
    for at, change in sorted(changes):
        made.visits[bisect.bisect_right(starts, at) - 1].events.append(change)
    return made


def agree(recordings: Mapping[str, Recording]) -> bool:
    """Whether recordings can be composed: they have the same visits, those of blocks among them, and begin alike: nothing of a block is there then."""
    shapes = [(one.start, [(visit.part, visit.block) for visit in one.visits]) for one in recordings.values()]
    return all(shape == shapes[0] for shape in shapes) and any(block != OUTSIDE for _, block in shapes[0][1])


def compose(recordings: Mapping[str, Recording], recipe: Sequence[str]) -> int:
    """The most live bytes where each block has the treatment of the recipe. Outside of blocks, and for blocks behind the recipe's end, it is KEEP."""

    def treatment(block: int) -> str:
        return recipe[block] if 0 <= block < len(recipe) else KEEP

    keep = recordings[KEEP]
    used = {treatment(visit.block) for visit in keep.visits} | {KEEP}
    common = set.intersection(*(set(recordings[name].handed) for name in used)) - {-1}

    ends = {name: recordings[name].ends() for name in used}
    last = {
        handed: max({treatment(block) for block in owners}, key=lambda name: ends[name].get(handed, NEVER))
        for handed, owners in zip(keep.handed, keep.owners, strict=True)
        if handed in common
    }

    def decides(name: str, piece: int) -> bool:
        """Whether the piece ends where it does in this recording."""
        one = recordings[name]
        return last.get(one.handed[piece], treatment(one.makers[piece])) == name

    live, most = keep.start, keep.before
    for number, visit in enumerate(keep.visits):
        own = treatment(visit.block)
        events = recordings[own].visits[number].events
        elsewhere: dict[int, int] = {}  # bytes whose end is recorded in others, by how many requests of the visit follow
        for name in used - {own}:
            for following, piece in recordings[name].visits[number].ends():
                if decides(name, piece):
                    elsewhere[following] = elsewhere.get(following, 0) + recordings[name].bytes[piece]
        following = sum(event > 0 for event in events)
        live -= sum(size for requests, size in elsewhere.items() if requests >= following)
        for event in events:
            if event > 0:
                following -= 1
                live += recordings[own].bytes[event - 1]
                most = max(most, live)
                live -= elsewhere.get(following, 0)
            elif decides(own, -event - 1):
                live -= recordings[own].bytes[-event - 1]
    return most


def fewest(recordings: Mapping[str, Recording], treatment: str, blocks: int, room: int) -> int:
    """How many blocks, the first ones, have to be treated for the peak to be no more than `room`; blocks + 1: more than there are."""
    return bisect.bisect_left(range(blocks + 1), True, key=lambda count: compose(recordings, [treatment] * count) <= room)


def loss_in_pieces(recording: Recording, count: int) -> Recording:
    """The recording, if what is made between the forward and the backward passes of blocks came in so many pieces: all that is larger than what blocks hand to each other."""
    between = [False] * len(recording.visits)
    part = ""
    for number in reversed(range(len(recording.visits))):
        between[number] = not recording.visits[number].part and part == PARTS[_borders.BACKWARD]
        part = recording.visits[number].part or part
    made = [event - 1 for number, visit in enumerate(recording.visits) if between[number] for event in visit.events if event > 0]
    passed = zip(recording.bytes, recording.makers, recording.handed, strict=True)
    largest = max((size for size, maker, handed in passed if maker >= 0 and handed >= 0), default=0)
    sizes = list(recording.bytes)
    for piece in made if largest else ():
        if sizes[piece] > largest:
            sizes[piece] = -(-sizes[piece] // count)
    return dataclasses.replace(recording, bytes=sizes)


def from_json(content: Mapping[str, Any]) -> Recording:
    """A recording of a .seamprofile."""
    return Recording(**{**content, "visits": [Visit(**visit) for visit in content["visits"]]})


def check(recording: Recording) -> str:
    """The broken invariant; "": none."""
    pieces = len(recording.bytes)
    if not all(len(column) == pieces for column in (recording.makers, recording.owners, recording.handed)):
        return "bytes, makers, owners and handed are not of one length"
    there = {piece for piece in range(1, pieces + 1) if recording.makers[piece - 1] == BEFORE}
    if sum(recording.bytes[piece - 1] for piece in there) != recording.start:
        return "the iteration does not start with what was made before it"
    made = set(there)
    for visit in recording.visits:
        for event in visit.events:
            if event > 0 and (event in made or recording.makers[event - 1] != visit.block):
                return f"piece {event} is made twice, or not by its maker"
            if event < 0 and -event not in there:
                return f"piece {-event} is freed and is not there"
            (there.add if event > 0 else there.discard)(abs(event))
            made.add(abs(event))
    return "" if len(made) == pieces else "a piece is never made"


def seen_at_borders(profile: _profile.Profile, borders: Sequence[Border]) -> int:
    """The most live bytes where modules begin and end: who looks only there misses what is between."""
    live = profile.live()
    return max((live[profile.moment(requests, frees) - 1] for requests, frees, *_ in borders if requests + frees > 0), default=0)
