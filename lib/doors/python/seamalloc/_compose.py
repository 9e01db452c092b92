"""The peak of a program whose blocks are treated each in its way, composed of recordings in which all are treated alike. No PyTorch here.

An iteration is cut into visits: stretches between the borders of blocks (_borders.py) and of steps of optimizers. What a visit asks for depends on the treatment of
its block. How long a piece of memory lives depends on its holders: the block that made it, and the blocks that it was handed to, as a block is handed the result of the
one before it, and in its backward pass a gradient. It ends where the last of them lets it go, which depends on the treatment of each. A recording shows where the last
one does if all are treated alike, and the others are taken to do so in the same place of their own visits. What is no tensor and holds some (a cache of keys and
values) is a piece of no bytes, and what it holds lives as long as it does. What ends where an object does, in the visit of a block that never was handed it, that object held.
What a block holds for its backward pass may be hidden by another that holds it longer: where blocks are swapped they tell what they save. What they save and did not
make, as a shared weight that autocast has converted, they were handed too. A place in a visit is told by the requests that follow in it, but for copies to and from the
host: a backward pass that recomputes ends like one that does not.

Invariants: the visits of a recording are in the order of the program, without gaps; a piece is made once, and freed at most once, behind that.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _borders, _profile

KEEP, SWAP = "keep", "swap"
OUTSIDE = -1  # of all blocks
BEFORE = -2  # the maker of what was made before the iteration
Place = tuple[int, int, int]  # a visit, the requests of it that follow, negative, but copies to or from the host, and how many of these were made since the last that is none: places are ordered
NEVER = 1 << 62, 0, 0
PARTS = {_borders.FORWARD: "forward", _borders.BACKWARD: "backward"}  # of a block; all else is outside of blocks
Border = tuple[int, int, int, int, list[int]]  # as _borders.py finds them
Moment = tuple[int, int, int, list[int]]  # the event, and the rest of a border


@dataclass
class Visit:
    """A stretch of an iteration."""

    part: str  # "forward" or "backward" of a block, "optimizer", ""
    block: int
    events: list[int] = field(default_factory=list)  # of pieces, by number from 1 on: made, or negative: freed


@dataclass
class Recording:
    """An iteration of a program, all of whose blocks are treated alike."""

    before: int  # the most live bytes before the model runs
    start: int  # live bytes where the iteration begins
    visits: list[Visit] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)  # of each piece; 0: an object that is no tensor
    makers: list[int] = field(default_factory=list)  # a block, OUTSIDE or BEFORE
    owners: list[list[int]] = field(default_factory=list)  # the blocks that it was handed to
    handed: list[int] = field(default_factory=list)  # which of all that is handed over in the iteration; -1: it never is
    objects: list[list[int]] = field(default_factory=list)  # those that have held it, by which of all that is handed over they are
    savers: list[list[int]] = field(default_factory=list)  # the blocks that save it for their backward passes, where these are swapped: elsewhere nobody tells
    copies: list[int] = field(default_factory=list)  # the pieces, by number from 1 on, that are for copies to or from the host

    def placed(self, number: int) -> Iterator[tuple[int, Place]]:
        """The events of a visit, each with the place behind it."""
        events, copies = self.visits[number].events, set(self.copies)
        following, copied = sum(event > 0 and event not in copies for event in events), 0
        for event in events:
            if event in copies:
                copied += 1
            elif event > 0:
                following, copied = following - 1, 0
            yield event, (number, -following, copied)

    def ends(self) -> list[Place]:
        """Where each piece ends."""
        found = [NEVER] * len(self.bytes)
        for number in range(len(self.visits)):
            for event, place in self.placed(number):
                if event < 0:
                    found[-event - 1] = place
        return found

    def alike(self) -> dict[Place, int]:
        """The pieces that are for no copies, by where they are made: a forward pass makes the same ones under each treatment."""
        made = [(place, event) for number in range(len(self.visits)) for event, place in self.placed(number) if event > 0]
        return {place: event - 1 for place, event in made if not place[2]}


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
    changes = [(at, PARTS.get(what, ""), block, what) for at, what, block, _ in borders if what <= _borders.BEHIND_BACKWARD]
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


@dataclass
class _Handing:
    """What was handed over of a piece."""

    owners: list[int] = field(default_factory=list)
    number: int = -1  # of all that is handed over, the last time
    objects: set[int] = field(default_factory=set)  # that have held it
    savers: set[int] = field(default_factory=set)  # the blocks that save it
    at: int = 0  # the event


def _handings(profile: _profile.Profile, borders: Sequence[Moment]) -> tuple[dict[int, _Handing], dict[int, _Handing]]:
    """Of pieces, and of objects by their numbers."""
    pieces = _Pieces(profile)
    found: dict[int, _Handing] = {}
    objects: dict[int, _Handing] = {}
    count = 0
    for at, what, block, addresses in borders:
        within = 0
        for address in addresses:
            within = -address if address < 0 else within
            if what == _borders.SAVED:
                found.setdefault(pieces.find(address, at), _Handing()).savers.add(block)
            elif address > 0 and within:
                found.setdefault(pieces.find(address, at), _Handing()).objects.add(within)
            elif what != _borders.BEHIND_FORWARD:
                one = objects.setdefault(within, _Handing(at=at)) if within else found.setdefault(pieces.find(address, at), _Handing())
                one.owners.append(block)
                one.number = count
                count += 1
    return found, objects


def record(profile: _profile.Profile, borders: Sequence[Border], period: int) -> Recording | None:
    """The last iteration of a program, of `period` steps; None, if there is no whole one."""
    if period < 1 or len(profile.iterations) <= period:
        return None
    begin, end = profile.iterations[-1 - period], profile.iterations[-1]
    at_events = [(profile.moment(requests, frees), what, block, handed) for requests, frees, what, block, handed in borders]
    live = profile.live()
    made = Recording(max(live[: min((at for at, *_ in at_events), default=begin)], default=0), live[begin - 1])
    of_blocks = [border for border in at_events if border[2] != _borders.OTHER and begin <= border[0] < end]
    visits = _visits(profile, of_blocks, begin, end)
    handings, objects = _handings(profile, of_blocks)
    # An object that does not tell its death, as a list, ends with the first of what it has held.
    held = [(profile.blocks[number].died, thing) for number, handing in handings.items() if number >= 0 for thing in handing.objects]
    deaths = {thing: died for died, thing in sorted(held, reverse=True)}
    deaths.update({-handed[0]: at for at, what, _, handed in at_events if what == _borders.DIED})
    made.visits = [visit for _, visit in visits]
    starts = [at for at, _ in visits]
    # An object dies before the event that is the next: its death is in front of that of what it held.
    lives = [(block.bytes, block.born, float(block.died), handings.get(number, _Handing())) for number, block in enumerate(profile.blocks)]
    lives += [(0, one.at, max(one.at + 0.25, deaths.get(number, profile.end) - 0.5), one) for number, one in objects.items()]
    changes: list[tuple[float, int]] = []
    for size, born, died, handing in lives:
        if born >= end or died < begin:
            continue
        piece = len(made.bytes) + 1
        maker = made.visits[bisect.bisect_right(starts, born) - 1].block if born >= begin else BEFORE
        handing = handing if maker != BEFORE else _Handing()
        made.bytes.append(size)
        made.makers.append(maker)
        made.owners.append(handing.owners)
        made.handed.append(handing.number)
        made.objects.append(sorted(objects[number].number for number in handing.objects))
        made.savers.append(sorted(handing.savers))
        changes += [(born, piece)] * (born >= begin) + [(died, -piece)] * (died < end)
    ends_of_copies = [at for at, what, *_ in of_blocks if what == _borders.COPYING]
    copying = {at for first, behind in zip(ends_of_copies[::2], ends_of_copies[1::2], strict=False) for at in range(first, behind)}
    for at, change in sorted(changes):
        made.visits[bisect.bisect_right(starts, at) - 1].events.append(change)
        if change > 0 and at in copying:
            made.copies.append(change)
    return made


def agree(recordings: Mapping[str, Recording]) -> bool:
    """Whether recordings can be composed: they have the same visits, those of blocks among them, and begin alike: nothing of a block is there then."""
    shapes = [(one.start, [(visit.part, visit.block) for visit in one.visits]) for one in recordings.values()]
    return all(shape == shapes[0] for shape in shapes) and any(block != OUTSIDE for _, block in shapes[0][1])


def _handed_by_saving(recordings: Mapping[str, Recording]) -> dict[str, Recording]:
    """The recordings, where a block is handed also what it saves and another part of the program made, as a shared weight that autocast has converted. Swapped blocks tell it."""
    if SWAP not in recordings:
        return dict(recordings)
    swapped, alike = recordings[SWAP], {name: one.alike() for name, one in recordings.items()}
    changed = {name: dataclasses.replace(one, owners=list(one.owners), handed=list(one.handed)) for name, one in recordings.items()}
    number = itertools.count(1 + max((max(one.handed, default=-1) for one in recordings.values()), default=-1))
    for key, piece in alike[SWAP].items():
        if swapped.handed[piece] >= 0 or not set(swapped.savers[piece]) - {swapped.makers[piece]}:
            continue
        handed = next(number)
        for name, pieces in alike.items():
            if key in pieces and recordings[name].bytes[pieces[key]] == swapped.bytes[piece]:
                changed[name].owners[pieces[key]] = swapped.savers[piece]
                changed[name].handed[pieces[key]] = handed
    return changed


class _Ends:
    """Where pieces end in a mixture of recordings."""

    def __init__(self, recordings: Mapping[str, Recording], recipe: Sequence[str]) -> None:
        recordings = _handed_by_saving(recordings)
        self.recipe = recipe
        self.visits = recordings[KEEP].visits
        self.blocks = sorted({visit.block for visit in self.visits} - {OUTSIDE})
        self.used = {name: recordings[name] for name in {self.treatment(block) for block in (OUTSIDE, *self.blocks)} | {SWAP} & set(recordings)}
        self.ends = {name: one.ends() for name, one in self.used.items()}
        self.passes: dict[tuple[str, int], list[int]] = {}
        for number, visit in enumerate(self.visits):
            self.passes.setdefault((visit.part, visit.block), []).append(number)
        self.handed = {name: {handed: piece for piece, handed in enumerate(one.handed) if handed >= 0} for name, one in self.used.items()}
        self.shared: dict[int, Place] = {}
        # Objects first: what else is handed over may end with them.
        common = sorted(set.intersection(*map(set, self.handed.values())), key=lambda handed: recordings[KEEP].bytes[self.handed[KEEP][handed]] > 0)
        self.objects = [handed for handed in common if not recordings[KEEP].bytes[self.handed[KEEP][handed]]]
        for handed in common:
            self.shared[handed] = max((end for name, pieces in self.handed.items() for end in self._ends(name, pieces[handed])), default=NEVER)

    def treatment(self, block: int) -> str:
        """Of a block. Outside of blocks, and for blocks behind the recipe's end, it is KEEP."""
        return self.recipe[block] if 0 <= block < len(self.recipe) else KEEP

    def _block(self, end: Place) -> int:
        """In whose visit it is."""
        return self.visits[end[0]].block if end != NEVER else OUTSIDE

    def _let_go(self, block: int, end: Place) -> Place:
        """Where a block does what another one does at the end. Visit -1: it has none such before."""
        if self._block(end) in (OUTSIDE, block):
            return end
        own = self.passes.get((self.visits[end[0]].part, block), [])
        before = bisect.bisect(own, end[0]) - 1
        return (own[before] if before >= 0 else -1, *end[1:])

    def _shown_by(self, block: int, handed: int) -> str:
        """The recording that shows where a block lets go what is handed over. What a kept block does not save it holds no longer than a swapped one does."""
        if self.treatment(block) != KEEP or SWAP not in self.used or block in self.used[SWAP].savers[self.handed[SWAP][handed]]:
            return self.treatment(block)
        return KEEP if handed not in self.objects and self._block(self.ends[KEEP][self.handed[KEEP][handed]]) == block else SWAP

    def _held_by(self, name: str, piece: int) -> list[int]:
        """The objects that end where a piece does, in the visit of a block that was not handed it, nor made it if none was: these hold it."""
        one, end, pieces = self.used[name], self.ends[name][piece], self.handed[name]
        if one.handed[piece] in self.objects or self._block(end) in (OUTSIDE, *(one.owners[piece] or [one.makers[piece]])):
            return []
        return [handed for handed in self.objects if self.ends[name][pieces[handed]] == end]

    def _ends(self, name: str, piece: int) -> list[Place]:
        """Where those let a piece go whose blocks are treated as in this recording."""
        one, end = self.used[name], self.ends[name][piece]
        objects = self._held_by(name, piece)
        # What objects hold longest its maker does not: the blocks that it was handed to may.
        is_makers = self._block(end) == one.makers[piece] and not objects
        treated = {block for block in (*one.owners[piece], *[one.makers[piece]] * is_makers) if self._shown_by(block, one.handed[piece]) == name}
        return [self._let_go(block, end) for block in treated] + [self.shared[handed] for handed in objects if any(self.treatment(block) == name for block in one.owners[piece])]

    def end(self, name: str, piece: int) -> Place:
        """Of a piece that is made as in this recording."""
        one, end = self.used[name], self.ends[name][piece]
        seen = {handed: self.ends[name][self.handed[name][handed]] for handed in one.objects[piece] if handed in self.shared}
        found = [self.shared[handed] for handed, at in seen.items() if at <= end]
        if one.handed[piece] in self.shared:
            found.append(self.shared[one.handed[piece]])
        elif objects := self._held_by(name, piece):
            found += [self.shared[handed] for handed in objects]
        elif self._block(end) == one.makers[piece] or end not in seen.values():  # else it ends because the object does
            found.append(end)
        return max(found)


def curve(recordings: Mapping[str, Recording], recipe: Sequence[str]) -> list[int]:
    """The most live bytes in each visit where each block has the treatment of the recipe."""
    mixture = _Ends(recordings, recipe)
    keep = recordings[KEEP]
    freed: dict[int, list[tuple[Place, int]]] = {}  # places and bytes, by the visit

    def free(name: str, piece: int) -> None:
        place = mixture.end(name, piece)
        freed.setdefault(place[0], []).append((place, recordings[name].bytes[piece]))

    for piece, maker in enumerate(keep.makers):
        if maker == BEFORE:
            free(KEEP, piece)
    live = keep.start
    found = []
    for number, visit in enumerate(keep.visits):
        one = recordings[mixture.treatment(visit.block)]
        made = [(place, event - 1) for event, place in one.placed(number) if event > 0]
        for _, piece in made:
            free(mixture.treatment(visit.block), piece)
        frees = sorted(freed.get(number, []), reverse=True)
        found.append(live)
        for place, piece in made:
            while frees and frees[-1][0] < place:
                live -= frees.pop()[1]
            live += one.bytes[piece]
            found[-1] = max(found[-1], live)
        live -= sum(size for _, size in frees)
    return found


def compose(recordings: Mapping[str, Recording], recipe: Sequence[str]) -> int:
    """The most live bytes where each block has the treatment of the recipe."""
    return max(recordings[KEEP].before, *curve(recordings, recipe))


def by_savings(recordings: Mapping[str, Recording], treatment: str, blocks: int) -> list[int]:
    """The blocks by how much less lives where the peak is, if one alone is treated: the most first. What is frozen saves nothing."""
    keep = curve(recordings, [])
    at = keep.index(max(keep))
    lives = [curve(recordings, [*[KEEP] * block, treatment])[at] for block in range(blocks)]
    return sorted(range(blocks), key=lambda block: lives[block])


def mixed(treatment: str, treated: Sequence[int]) -> list[str]:
    """The recipe with these blocks treated."""
    return [treatment if block in treated else KEEP for block in range(max(treated, default=-1) + 1)]


def fewest(recordings: Mapping[str, Recording], treatment: str, order: Sequence[int], room: int) -> int:
    """How many blocks, in this order, have to be treated for the peak to be no more than `room`; one more than there are: none of these do."""
    return bisect.bisect_left(range(len(order) + 1), True, key=lambda count: compose(recordings, mixed(treatment, order[:count])) <= room)


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
    if not all(len(column) == pieces for column in (recording.makers, recording.owners, recording.handed, recording.objects, recording.savers)):
        return "bytes, makers, owners, handed, objects and savers are not of one length"
    if not set(recording.copies) <= {event for visit in recording.visits for event in visit.events}:
        return "a copy is of no piece that is made"
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
