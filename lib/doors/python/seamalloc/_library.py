"""libseam_torch.so, found, loaded and described to ctypes. Loading it touches neither CUDA nor PyTorch."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

from ._version import __version__

NAME = "libseam_torch.so"
ERROR_BYTES = 512
DEVICES = 64  # SEAM_TORCH_DEVICES


class Error(RuntimeError):
    """Something that Seam was asked for cannot be done; the text says why, and what would help."""


class PoolId(ctypes.Structure):
    """PyTorch's MempoolId_t."""

    _fields_ = [("first", c_uint64), ("second", c_uint64)]


# Name: result and arguments. Everything that the package, or PyTorch by address, calls.
PROTOTYPES = {
    "seam_version": (c_char_p, []),
    "seam_rc_text": (c_char_p, [c_int]),
    "seam_torch_configure": (c_int, [c_char_p, c_char_p, c_size_t]),
    "seam_torch_plan_file": (c_int, [c_char_p, c_char_p, c_size_t]),
    "seam_torch_pool": (c_void_p, [c_int]),
    "seam_torch_pool_made": (c_void_p, [c_int]),
    "seam_torch_error": (c_size_t, [c_char_p, c_size_t]),
    "seam_torch_alloc": (c_void_p, [c_size_t, c_int, c_void_p]),
    "seam_torch_free": (None, [c_void_p, c_size_t, c_int, c_void_p]),
    "seam_torch_init": (None, [c_int]),
    "seam_torch_reset": (None, []),
    "seam_torch_memory_fraction": (None, [c_double, c_int]),
    "seam_torch_base_alloc": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "seam_torch_record_stream": (None, [c_void_p, c_void_p]),
    "seam_torch_begin_pool": (None, [c_int, PoolId, c_void_p]),
    "seam_torch_end_pool": (None, [c_int, PoolId]),
    "seam_torch_release_pool": (None, [c_int, PoolId]),
    "seam_torch_segment_alloc": (c_void_p, [c_size_t, c_int, c_void_p]),
    "seam_torch_segment_alloc_contiguous": (c_void_p, [c_size_t, c_int, c_void_p]),
    "seam_torch_segment_free": (None, [c_void_p, c_size_t, c_int, c_void_p]),
    "seam_torch_stat": (c_int, [c_uint32, POINTER(c_char_p), POINTER(c_char_p), POINTER(c_char_p)]),
    "seam_torch_stats": (c_int, [c_int, POINTER(c_uint64), c_size_t]),
    "seam_torch_unknown_frees": (c_uint64, []),
    "seam_device_wait": (c_int, [c_void_p]),
    "seam_host_alloc": (c_int, [c_void_p, c_uint64, c_void_p, POINTER(c_void_p)]),
    "seam_host_free": (c_int, [c_void_p, c_void_p]),
    "seam_host_prepare": (c_int, [c_void_p, c_uint64, c_bool]),
    "seam_host_text": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "seam_swap_create": (c_int, [c_void_p, POINTER(c_void_p)]),
    "seam_swap_out": (c_int, [c_void_p, POINTER(c_void_p), POINTER(c_uint64), c_size_t, c_void_p, POINTER(c_uint64)]),
    "seam_swap_in": (c_int, [c_void_p, c_uint64, POINTER(c_void_p), c_size_t, c_void_p]),
    "seam_swap_await": (c_int, [c_void_p, c_uint64, c_void_p]),
    "seam_swap_join": (c_int, [c_void_p, c_uint64]),
    "seam_swap_drop": (c_int, [c_void_p, c_uint64]),
    "seam_swap_stats_get": (c_int, [c_void_p, c_void_p]),
    "seam_stats_driver": (c_int, [c_void_p, c_uint32, POINTER(c_char_p), POINTER(c_uint64), POINTER(c_uint64)]),
    "seam_snapshot_write": (c_int, [c_void_p, c_char_p]),
    "seam_trace_save": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t]),
    "seam_plan_read_file": (c_int, [c_char_p, c_char_p, POINTER(c_void_p)]),
    "seam_plan_use": (c_int, [c_void_p, c_void_p, c_char_p, c_size_t]),
    "seam_plan_free": (None, [c_void_p]),
    "seam_step": (c_int, [c_void_p]),
    "seam_phase_begin": (c_int, [c_void_p, c_char_p]),
    "seam_phase_end": (c_int, [c_void_p, c_char_p]),
    "seam_dynamic_begin": (c_int, [c_void_p]),
    "seam_dynamic_end": (c_int, [c_void_p]),
}


def candidates() -> list[str]:
    """Where the library is looked for: what $SEAM_LIBRARY names, and nothing else if it is set; beside this file; where the system looks."""
    named = os.environ.get("SEAM_LIBRARY")
    if named:
        return [named]
    beside = Path(__file__).parent / NAME
    return ([str(beside)] if beside.exists() else []) + [NAME]


def _open() -> ctypes.CDLL:
    failures = []
    for path in candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as failure:
            failures.append(f"{path}: {failure}")
    raise Error(
        f"{NAME} cannot be loaded ({'; '.join(failures)}). Install Seam (`meson install`, then `ldconfig`), or set SEAM_LIBRARY to "
        "the file in the build folder"
    )


def check_version(theirs: str) -> None:
    """The library and this package are of one version: they share structures."""
    if theirs != __version__:
        raise Error(f"versions do not match: the Python package is {__version__}, {NAME} is {theirs}; install both from one source")


@functools.cache
def library() -> ctypes.CDLL:
    """The library. Raises Error if it is not there, or of another version."""
    found = _open()
    try:
        for name, (result, arguments) in PROTOTYPES.items():
            function = getattr(found, name)
            function.restype = result
            function.argtypes = arguments
    except AttributeError as failure:
        raise Error(f"{found._name} is not the {NAME} of Seam {__version__}: {failure}") from None
    check_version(found.seam_version().decode())
    return found


def address(name: str) -> int:
    """Of a function, for PyTorch's setters."""
    value = ctypes.cast(getattr(library(), name), c_void_p).value
    assert value is not None
    return value


def newest_error() -> str:
    """What failed last in the library, or ""."""
    text = ctypes.create_string_buffer(ERROR_BYTES)
    library().seam_torch_error(text, ERROR_BYTES)
    return text.value.decode(errors="replace")


def check(rc: int, what: str, detail: bytes = b"") -> None:
    """Raises Error unless rc is SEAM_OK."""
    if rc != 0:
        why = detail.decode(errors="replace") or library().seam_rc_text(rc).decode()
        raise Error(f"{what}: {why}")


def pool(device: int) -> int:
    """The pool of a device, made if need be: that uses CUDA."""
    made = library().seam_torch_pool(device)
    if made is None:
        raise Error(newest_error())
    return made


def pools() -> list[int]:
    """The pools that are made."""
    made = (library().seam_torch_pool_made(device) for device in range(DEVICES))
    return [one for one in made if one is not None]
