"""Tensors and saved activations to pinned host memory and back.

offload() moves what it is told. offload_activations() moves what autograd saves: a copy down where a tensor is saved, a copy up where it is needed. On
demand the program waits for each copy, as with save_on_cpu. A *period* is an iteration of one place in the program: its *borders* are the moments at
which something is saved or asked for. Once two periods agree in their borders, the second one's times say when copies end that nobody waits for, and
when those back have to begin: then memory is given back at the first border behind the end of its copy, and fetched at the last one before it must be.

Not here: copies (_swap). Invariants: O1 memory whose copy is pending is neither given back nor used before a stream waits for the copy; O2 what
cannot be copied stays where it is; O3 no period is waited for: what deviates goes on on demand.
Locks: _lock guards everything of copies and places; PyTorch's hooks come from autograd's threads too.
"""

from __future__ import annotations

import bisect
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _swap, _torch
from ._library import Error

if TYPE_CHECKING:
    import torch

PREFETCH = ("plan", "demand")
MIN_BYTES = 64 << 10

Border = tuple[str, int]  # "out" and bytes, or "again" or "in" and the copy's number in its period

_lock = threading.RLock()
_places: dict[tuple[Any, ...], _Place] = {}  # _lock
_stuck: list[object] = []  # memory that copies may use and no stream can wait for: a device that has failed
figures = {"plans": 0, "planned": 0, "demanded": 0, "kept_bytes": 0}  # _lock


def offload_stats(device: int | None = None) -> dict[str, int]:
    """What offloading has done on the device (None: the current one): the swap engine's figures (include/seam/swap_stats.def), and, of the process,
    `plans`: periods that were learnt; `planned`, `demanded`: activations that came back ahead of their need, and when it was there; `kept_bytes`: of those that plans let stay."""
    with _lock:
        return {**_swap.figures(_torch.current_device() if device is None else device), **figures}


def text(now: dict[str, int]) -> str:
    """For a report."""
    return (
        f"activations came back {now['planned']} times ahead of their need and {now['demanded']} times when it was there; "
        f"{now['refusals']} times tensors stayed for want of pinned memory, {now['failures']} calls failed otherwise"
    )


def _may_go(engine: _swap.Engine, ticket: int, storages: Sequence[torch.UntypedStorage], stream: int) -> bool:
    """Orders copies down before whatever is done with their memory from here on, on this stream and, once it is given back, on its own. False: the device has failed."""
    if not engine.wait(ticket, stream):
        return False
    for storage in storages:
        engine.used(storage, stream)
    return True


# ---- tensors ----


class Offloaded:
    """Tensors that offload() has taken. Without onload() their contents go with this object."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        by_device: dict[int, dict[int, torch.UntypedStorage]] = {}
        for tensor in tensors:
            device = max(tensor.get_device(), 0)
            if not _swap.takes(tensor) or not tensor.untyped_storage().resizable():
                raise Error(f"a tensor of {tensor.device} cannot be offloaded: it is to be memory of a GPU that PyTorch has allocated")
            storage = tensor.untyped_storage()
            if storage.nbytes():
                by_device.setdefault(device, {})[storage.data_ptr()] = storage
        self._away: list[tuple[_swap.Engine, int, list[torch.UntypedStorage], list[int], Callable[[], Any]]] = []
        try:
            for device, storages in by_device.items():
                self._take(_swap.engine(device), list(storages.values()))
        except Error:
            self.onload()  # of the other devices
            raise

    def _take(self, engine: _swap.Engine, storages: list[torch.UntypedStorage]) -> None:
        """They stay where there is no pinned memory for them, and during a capture."""
        stream = engine.stream()
        rc, ticket = engine.out(storages, stream)
        if rc in (_swap.OOM_HOST, _swap.CAPTURING):
            return
        if rc != 0 or not _may_go(engine, ticket, storages, stream):
            _stuck.extend(storages if rc == 0 else ())
            raise Error(f"tensors cannot be offloaded: {_swap.text(rc)}")
        sizes = [one.nbytes() for one in storages]
        for one in storages:
            one.resize_(0)
        drop = weakref.finalize(self, engine.drop, ticket)
        drop.atexit = False
        self._away.append((engine, ticket, storages, sizes, drop))

    @property
    def is_away(self) -> bool:
        """Whether anything left the device: False where it had to stay."""
        return bool(self._away)

    def onload(self) -> None:
        """Brings them back, in memory of the current stream. Does nothing the second time. Raises what PyTorch does where there is no memory."""
        while self._away:
            engine, ticket, storages, sizes, drop = self._away[-1]
            stream = engine.stream()
            rc = -1
            try:
                for one, size in zip(storages, sizes):
                    one.resize_(size)
                rc = engine.into(ticket, storages, stream)
            finally:
                if rc != 0:
                    for one in storages:
                        one.resize_(0)
            if rc != 0:
                raise Error(f"tensors cannot come back: {_swap.text(rc)}")
            if not engine.wait(ticket, stream):
                raise Error("tensors cannot be waited for: the device has failed")
            self._away.pop()
            drop()


def offload(tensors: torch.Tensor | Sequence[torch.Tensor]) -> Offloaded:
    """Moves the contents of tensors of a GPU to pinned host memory, behind the current stream, and gives their memory back; `.onload()` of what is returned brings them back.

    Tensors that share memory are one copy, and every tensor on that memory is empty meanwhile: it must not be used. The tensors stay the same objects,
    so parameters, their views and optimizer states can be offloaded. What there is no pinned memory for stays on the GPU: `.is_away` tells, and
    seamalloc.report() counts it. Raises Error where there is no GPU, or a tensor is not the GPU's.
    """
    return Offloaded([tensors] if not isinstance(tensors, Sequence) else tensors)


# ---- activations ----


class _Copy:
    """A storage that was saved. `source`: it is here still; with a ticket its copy down is pending. `arrived`: it has come, or is coming, back."""

    def __init__(self, engine: _swap.Engine, tensor: torch.Tensor, storage: torch.UntypedStorage) -> None:
        self.engine, self.stream, self.ticket, self.nbytes = engine, engine.stream(), 0, storage.nbytes()
        self.source: torch.Tensor | None = tensor.detach()  # without its graph, which may hold this
        self.version = tensor._version
        self.original = weakref.ref(storage)
        self.arrived: torch.Tensor | None = None
        self.is_torn = self.was_alive = False
        self.waited: set[int] = set()  # streams that come behind the copy up
        self.handles: set[int] = set()
        self.awaited: set[int] = set()  # of handles: those that have not been unpacked since it came

    def is_current(self, tensor: torch.Tensor, storage: torch.UntypedStorage) -> bool:
        """Whether another save of this storage is the same copy."""
        return bool(self.handles) and self.original() is storage and self.version == tensor._version

    def leave(self) -> None:
        """The copy down begins; without pinned memory, or in a capture, it stays."""
        assert self.source is not None
        rc, ticket = self.engine.out([self.source.untyped_storage()], self.stream)
        self.ticket = ticket if rc == 0 else 0

    def let_go(self) -> None:
        """The memory goes, behind the copy down."""
        if self.source is None or not self.ticket:
            return
        if not _may_go(self.engine, self.ticket, [self.source.untyped_storage()], self.stream):
            raise Error("a copy to the host cannot be waited for: the device has failed")
        self.is_torn = self.source._version != self.version
        self.source = None

    def fetch(self) -> None:
        """The copy up begins. Raises where there is no memory, or the copy is refused."""
        if self.source is not None or self.arrived is not None or not self.handles:
            return
        target = self.engine.memory(self.nbytes, self.stream)
        # First: from here on the collector may end the last handle, which waits for the copy.
        self.arrived, self.waited, self.awaited = target, set(), set(self.handles)
        rc = self.engine.into(self.ticket, [target.untyped_storage()], self.stream)
        if rc != 0:
            self.arrived = None
            raise Error(f"a saved tensor cannot come back from the host: {_swap.text(rc)}")

    def storage(self) -> torch.UntypedStorage:
        """On the current stream, with the contents that were saved."""
        if self.is_torn or (self.source is not None and self.source._version != self.version):
            raise RuntimeError(_MODIFIED)
        if self.source is not None:
            return self.source.untyped_storage()
        self.fetch()
        assert self.arrived is not None
        stream = self.engine.stream()
        if stream not in self.waited and not self.engine.wait(self.ticket, stream):
            raise Error("a copy from the host cannot be waited for: the device has failed")
        self.waited.add(stream)
        if stream != self.stream:
            self.engine.used(self.arrived.untyped_storage(), stream)
        return self.arrived.untyped_storage()

    def unpacked(self, handle: int) -> None:
        """Whoever asked holds the memory now. When all have, it is theirs alone; one that asks again gets another copy."""
        self.awaited.discard(handle)
        if not self.awaited:
            self._leave_arrived()

    def _leave_arrived(self) -> None:
        if self.arrived is not None and self.stream not in self.waited and not self.engine.wait(self.ticket, self.stream):
            _stuck.append(self.arrived)
        self.arrived = None

    def forget(self, handle: int) -> None:
        """Nobody will ask by this handle."""
        self.handles.discard(handle)
        self.unpacked(handle)
        if self.handles:
            return
        if self.ticket:
            if self.source is not None and not _may_go(self.engine, self.ticket, [self.source.untyped_storage()], self.stream):
                _stuck.append(self.source)
            self.engine.drop(self.ticket)
        self.source, self.ticket = None, 0


_MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation, after seamalloc.offload_activations() began to copy it; "
    "prefetch=\"demand\" copies it before that"
)


class _Kept:
    """What is not worth a copy: a parameter, something small or strange."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor, self.version = tensor.detach(), tensor._version  # without its graph, which holds this

    def unpack(self) -> torch.Tensor:
        if self.tensor._version != self.version:
            raise RuntimeError(_MODIFIED)
        return self.tensor


class _Saved:
    """A view of a copy, as autograd holds it."""

    __slots__ = ("copy", "place", "period", "number", "dtype", "view")

    def __init__(self, copy: _Copy, place: _Place, period: int, number: int, tensor: torch.Tensor) -> None:
        self.copy, self.place, self.period, self.number = copy, place, period, number
        self.dtype, self.view = tensor.dtype, (tensor.storage_offset(), tensor.size(), tensor.stride())
        copy.handles.add(id(self))
        if copy.arrived is not None:
            copy.awaited.add(id(self))
        place.alive += 1

    def unpack(self) -> torch.Tensor:
        with _lock:
            storage = self.place.give(self)
            made: torch.Tensor = _torch.torch().empty(0, dtype=self.dtype, device=storage.device).set_(storage, *self.view)
            self.copy.unpacked(id(self))
            return made

    def __del__(self) -> None:
        with _lock:
            self.place.alive -= 1
            self.copy.forget(id(self))


class _Plan:
    """What to do at each border of a period."""

    def __init__(self, borders: list[Border], times: list[float], copies: dict[int, tuple[float, float]]) -> None:
        """times: when the program is at a border, copies apart. copies: what those down and up take; others stay."""
        self.borders, self.times, self.copies = borders, times, copies
        outs = [border for border, (kind, _) in enumerate(borders) if kind == "out"]
        needs = {number: border for border, (kind, number) in reversed(list(enumerate(borders))) if kind == "in"}
        ends, starts = self._lanes(outs, needs, set(copies))
        # What would be away from no border to another is not worth its copies.
        self.moved = {number for number in copies if number not in needs or ends[number] < starts[number]}
        ends, starts = self._lanes(outs, needs, self.moved)
        self.kept_bytes = sum(borders[outs[number]][1] for number in copies if number not in self.moved)
        self.release: dict[int, list[int]] = {}
        self.fetch: dict[int, list[int]] = {}
        for at, found in ((self.release, ends), (self.fetch, starts)):
            for number, border in found.items():
                at.setdefault(border, []).append(number)

    def _lanes(self, outs: list[int], needs: dict[int, int], moved: set[int]) -> tuple[dict[int, int], dict[int, int]]:
        """The first border at which each copy down has ended, and the last one at which each copy up can begin, in order."""
        ends, starts, lane = {}, {}, 0.0
        for number, border in enumerate(outs):
            if number in moved:
                lane = max(lane, self.times[border]) + self.copies[number][0]
                ends[number] = bisect.bisect_left(self.times, lane)
        lane = float("inf")
        for number in sorted(needs, key=needs.__getitem__, reverse=True):
            if number in moved:
                lane = min(lane, self.times[needs[number]]) - self.copies[number][1]
                starts[number] = bisect.bisect_right(self.times, lane) - 1
        return ends, dict(reversed(starts.items()))


class _Place:
    """Where activations are offloaded: its period, what was learnt of those before."""

    def __init__(self, engine: _swap.Engine, prefetch: str) -> None:
        self.engine, self.prefetch = engine, prefetch
        self.alive = 0  # handles
        self.period = 0
        self.plan: _Plan | None = None
        self.previous: list[Border] = []
        self.learnt: tuple[list[Border], list[tuple[Any, Any]], list[_Copy]] | None = None  # until its last mark has passed
        self._reset()

    def _reset(self) -> None:
        self.borders: list[Border] = []
        self.marks: list[tuple[Any, Any]] = []  # before and behind a border's copy
        self.copies: list[_Copy] = []
        self.known: dict[int, _Copy] = {}  # by the storage's identity
        self.follows = self.plan is not None
        self.measures = self.prefetch == "plan" and not self.follows and self.learnt is None
        self.has_unpacked = False

    # -- periods --

    def _begin(self) -> None:
        """Where nothing is saved, or backward has begun, the next period begins."""
        if self.alive and not self.has_unpacked:
            return
        self._end()
        if self.learnt is not None and all(self.engine.has_passed(last) for _, last in reversed(self.learnt[1])):
            self.plan, self.learnt = self._made(*self.learnt), None
            figures["plans"] += 1
        self.period += 1
        self._reset()

    def _end(self) -> None:
        followed = self.follows and self.plan is not None and len(self.borders) == len(self.plan.borders)
        self._deviate()
        if followed:
            return
        if self.borders and self.borders == self.previous:
            self.plan = None  # there is another one now
            if len(self.marks) == len(self.borders):
                self.learnt = (self.borders, self.marks, self.copies)
        self.previous = self.borders

    def _made(self, borders: list[Border], marks: list[tuple[Any, Any]], copies: list[_Copy]) -> _Plan:
        times, took = [0.0], []
        for (first, last), following in zip(marks, [*marks[1:], None]):
            took.append(self.engine.between(first, last) if first is not last else 0.0)
            if following is not None:
                times.append(times[-1] + self.engine.between(last, following[0]))
        downs: dict[int, float] = {}
        ups: dict[int, float] = {}
        for border, (kind, number) in enumerate(borders):
            if kind == "out":
                downs[len(downs)] = took[border]
            elif kind == "in":
                ups.setdefault(number, took[border])
        moved = {number: (down, ups.get(number, 0.0)) for number, down in downs.items() if not copies[number].was_alive}
        return _Plan(borders, times, moved)

    def _deviate(self) -> None:
        """On demand from here to the period's end."""
        self.follows = False
        for copy in self.copies:
            copy.let_go()

    def _reach(self, border: Border) -> None:
        """The program is at a border."""
        if self.follows:
            assert self.plan is not None
            at = len(self.borders)
            if at >= len(self.plan.borders) or self.plan.borders[at] != border:
                self._deviate()
            else:
                for number in self.plan.release.get(at, ()):
                    self.copies[number].let_go()
                for number in self.plan.fetch.get(at, ()):
                    self._fetch(self.copies[number])
        self.borders.append(border)

    def _fetch(self, copy: _Copy) -> None:
        """Ahead of its need, which tries again."""
        try:
            copy.fetch()
        except RuntimeError:  # PyTorch's for want of memory, ours too
            return
        figures["planned"] += 1

    def _mark(self) -> Any:
        return self.engine.mark() if self.measures else None

    # -- PyTorch's hooks --

    def take(self, tensor: torch.Tensor) -> _Saved:
        storage = tensor.untyped_storage()
        if _torch.torch()._C._current_graph_task_id() != -1:  # saved by a backward pass, in a thread of autograd's: on demand
            copy = _Copy(self.engine, tensor, storage)
            copy.leave()
            copy.let_go()
            return _Saved(copy, self, -1, 0, tensor)
        self._begin()
        known = self.known.get(id(storage))
        if known is not None and known.is_current(tensor, storage):
            number = self.copies.index(known)
            self._reach(("again", number))
            if self.measures:
                mark = self._mark()
                self.marks.append((mark, mark))
            return _Saved(known, self, self.period, number, tensor)
        number, copy = len(self.copies), _Copy(self.engine, tensor, storage)
        self.measures = self.measures and not self.engine.is_capturing()
        self._reach(("out", copy.nbytes))
        self.copies.append(copy)
        self.known[id(storage)] = copy
        first = self._mark()
        if not self.follows or self.plan is None or number in self.plan.moved:
            copy.leave()
            if not self.follows:
                copy.let_go()
        elif number in self.plan.copies:
            figures["kept_bytes"] += copy.nbytes
        copy.was_alive = copy.source is not None  # it was refused
        if self.measures:
            self.marks.append((first, self._mark()))
        return _Saved(copy, self, self.period, number, tensor)

    def give(self, saved: _Saved) -> torch.UntypedStorage:
        copy = saved.copy
        if saved.period != self.period:
            return self._storage(copy)
        self.has_unpacked = True
        if copy.original() is not None:
            copy.was_alive = True  # the program holds it anyway
        self._reach(("in", saved.number))
        self.measures = self.measures and not self.engine.is_capturing()
        first = self._mark()
        found = self._storage(copy)
        if self.measures:
            self.marks.append((first, self._mark()))
        return found

    def _storage(self, copy: _Copy) -> torch.UntypedStorage:
        if copy.source is None and copy.arrived is None:
            figures["demanded"] += 1
        return copy.storage()


class offload_activations:
    """What autograd saves in the block is kept in pinned host memory until backward asks for it: in the place of torch.autograd.graph.save_on_cpu(pin_memory=True).

    What is saved twice, or by several views, is copied once; a write in between that autograd does not see, such as one to `.data`, is not seen here.
    Parameters, their views, and what takes less than `min_bytes` stay where they are, and so does all that there is no pinned memory for, or that is saved
    in a capture.
    prefetch="demand": the program waits for every copy. "plan": once two iterations agree, it waits for none: memory goes back to the allocator where its
    copy has ended, copies back begin just in time. That takes more GPU memory than waiting, by what is on its way; what could not be away for any time stays.
    Raises Error where there is no GPU.
    """

    def __init__(self, min_bytes: int = MIN_BYTES, prefetch: str = "plan") -> None:
        if prefetch not in PREFETCH:
            raise Error(f"there is no prefetch {prefetch!r}: it is one of {', '.join(PREFETCH)}")
        if not isinstance(min_bytes, int) or min_bytes < 0:
            raise Error(f"min_bytes={min_bytes!r}: it is to be a number of bytes")
        _swap.engine(_torch.current_device())
        frame = sys._getframe(1)
        self._place = (frame.f_code, frame.f_lineno, min_bytes, prefetch)
        self._min_bytes, self._prefetch = min_bytes, prefetch
        self._entered: list[Any] = []

    def __enter__(self) -> offload_activations:
        hooks = _torch.torch().autograd.graph.saved_tensors_hooks(self._pack, lambda saved: saved.unpack())
        hooks.__enter__()
        self._entered.append(hooks)
        return self

    def __exit__(self, *raised: object) -> None:
        self._entered.pop().__exit__(*raised)

    def _pack(self, tensor: torch.Tensor) -> _Saved | _Kept:
        if not self._is_worth(tensor):
            return _Kept(tensor)
        device = max(tensor.get_device(), 0)
        with _lock:
            key = (*self._place, device, threading.get_ident())
            if key not in _places:
                _places[key] = _Place(_swap.engine(device), self._prefetch)
            return _places[key].take(tensor)

    def _is_worth(self, tensor: torch.Tensor) -> bool:
        module = _torch.torch()
        base = tensor if tensor._base is None else tensor._base
        return bool(
            type(tensor) in (module.Tensor, module.nn.Parameter)
            and tensor.layout is module.strided
            and not (isinstance(base, module.nn.Parameter) or (base.is_leaf and base.requires_grad))
            and _swap.takes(tensor)
            and tensor.untyped_storage().nbytes() >= max(self._min_bytes, 1)
            and not (tensor.is_conj() or tensor.is_neg())
        )
