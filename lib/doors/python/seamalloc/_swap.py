"""The swap engine of a device's pool: tensors to pinned host memory and back, behind streams (include/seam/swap.h). Not here: which tensors, and when (_offload)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _torch
from ._library import DEVICES, Error, check, library, pool

if TYPE_CHECKING:
    import torch

OOM_HOST, CAPTURING = 4, 7  # SEAM_OOM_HOST, SEAM_CAPTURING
_VERSION = 1  # SEAM_SWAP_STATS_VERSION
# include/seam/swap_stats.def, in its order.
FIGURES = ("tickets", "host_bytes", "outs", "ins", "loads", "down_bytes", "up_bytes", "awaits", "joins", "refusals", "failures")


class _Stats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("version", ctypes.c_uint32), *((name, ctypes.c_uint64) for name in FIGURES)]


class Engine:
    """That of one device. The device is current where a method is called; streams are handles. Copies are behind the stream, and it goes on at once."""

    def __init__(self, device: int) -> None:
        module = _torch.torch()
        _torch.require_device(module)
        module.cuda.init()
        self.device, self.torch = device, module
        made = ctypes.c_void_p()
        with module.cuda.device(device):
            check(library().seam_swap_create(pool(device), ctypes.byref(made)), f"the copies of device {device}")
        self._swap = made

    def stream(self) -> int:
        """The current one."""
        return int(self.torch.cuda.current_stream(self.device).cuda_stream)

    def is_capturing(self) -> bool:
        return bool(self.torch.cuda.is_current_stream_capturing())

    def memory(self, nbytes: int, stream: int) -> torch.Tensor:
        """Of that stream. Raises what PyTorch does where there is none."""
        external = self.torch.cuda.ExternalStream(stream, self.device) if stream != self.stream() else None
        with self.torch.cuda.stream(external):
            return self.torch.empty(nbytes, dtype=self.torch.uint8, device=self.device)

    def used(self, storage: torch.UntypedStorage, stream: int) -> None:
        """This stream, which may not be the memory's own, has used it: when it is freed, it is not given before that has passed."""
        self.torch.empty(0, dtype=self.torch.uint8, device=storage.device).set_(storage).record_stream(self.torch.cuda.ExternalStream(stream, self.device))

    def mark(self) -> Any:
        """The moment at which the current stream gets here."""
        event = self.torch.cuda.Event(enable_timing=True)
        event.record(self.torch.cuda.current_stream(self.device))
        return event

    def has_passed(self, mark: Any) -> bool:
        return bool(mark.query())

    def between(self, first: Any, last: Any) -> float:
        """Milliseconds, where both have passed."""
        return float(first.elapsed_time(last))

    def out(self, storages: Sequence[torch.UntypedStorage], stream: int) -> tuple[int, int]:
        """SEAM_OK and the ticket, or why not."""
        addresses = (ctypes.c_void_p * len(storages))(*(one.data_ptr() for one in storages))
        sizes = (ctypes.c_uint64 * len(storages))(*(one.nbytes() for one in storages))
        ticket = ctypes.c_uint64()
        rc = library().seam_swap_out(self._swap, addresses, sizes, len(storages), stream, ctypes.byref(ticket))
        return rc, ticket.value

    def into(self, ticket: int, storages: Sequence[torch.UntypedStorage], stream: int) -> int:
        addresses = (ctypes.c_void_p * len(storages))(*(one.data_ptr() for one in storages))
        return int(library().seam_swap_in(self._swap, ticket, addresses, len(storages), stream))

    def wait(self, ticket: int, stream: int) -> bool:
        """The stream waits for the ticket's copies; where that is refused, the host does. False: neither can."""
        return library().seam_swap_await(self._swap, ticket, stream) == 0 or library().seam_swap_join(self._swap, ticket) == 0

    def drop(self, ticket: int) -> None:
        library().seam_swap_drop(self._swap, ticket)

    def figures(self) -> dict[str, int]:
        stats = _Stats(size=ctypes.sizeof(_Stats), version=_VERSION)
        check(library().seam_swap_stats_get(self._swap, ctypes.byref(stats)), "the figures of copies")
        return {name: getattr(stats, name) for name in FIGURES}


def takes(tensor: torch.Tensor) -> bool:
    """Whether some engine copies it."""
    return tensor.is_cuda


def text(rc: int) -> str:
    """Of a result."""
    return str(library().seam_rc_text(rc).decode())


def engine(device: int) -> Engine:
    """That of the device, made with its pool if need be. Raises Error where there is no GPU."""
    if not 0 <= device < DEVICES:
        raise Error(f"there is no device {device}")
    if device not in _made:
        _made[device] = Engine(device)
    return _made[device]


_made: dict[int, Engine] = {}


def figures(device: int) -> dict[str, int]:
    """All 0 where nothing was offloaded."""
    return _made[device].figures() if device in _made else dict.fromkeys(FIGURES, 0)
