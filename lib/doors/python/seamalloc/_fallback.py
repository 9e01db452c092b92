"""When what-if takes PyTorch's meta device (_meta.py) in place of the ghost GPU: where that cannot be made, and for a program that ends on something that it lacks."""

from __future__ import annotations

import importlib.util
import re
import signal

from . import build

# In the words of an error: CUDA's libraries, and what asks for them.
LIBRARIES = re.compile(r"cuda|cublas|cudnn|cufft|cusolver|cusparse|cupti|nccl|nvrtc|nvml|triton|undefined symbol", re.IGNORECASE)
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL)


def is_reason(failure: Exception) -> bool:
    """Whether the meta device may do what failed so on the ghost GPU: that was not to be had, or what ended the program may be the ghost GPU's rather than the program's own."""
    if isinstance(failure, build.BuildError):
        return importlib.util.find_spec("torch") is not None
    return bool(LIBRARIES.search(getattr(failure, "error", ""))) or -getattr(failure, "status", 0) in CRASHES
