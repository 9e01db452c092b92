"""Seam: a GPU memory allocator that stitches, for PyTorch.

    import seamalloc
    seamalloc.enable()          # before CUDA is used
    ...
    print(seamalloc.report())   # is it helping?

Standard library only; PyTorch is imported by enable(). Everything that cannot be done raises seamalloc.Error.
"""

from ._enable import contiguous, enable, enabled_door, is_enabled
from ._figures import driver_calls, plan, report, snapshot, stat_help, stats, trace
from ._library import Error
from ._marks import dynamic, phase, step
from ._mempool import mempool_allocator
from ._offload import offload, offload_activations, offload_stats
from ._pinned import host_empty, host_prepare
from ._version import __version__
from ._watch import watch

__all__ = [
    "Error",
    "__version__",
    "contiguous",
    "driver_calls",
    "dynamic",
    "enable",
    "enabled_door",
    "host_empty",
    "host_prepare",
    "is_enabled",
    "mempool_allocator",
    "offload",
    "offload_activations",
    "offload_stats",
    "phase",
    "plan",
    "report",
    "snapshot",
    "stat_help",
    "stats",
    "step",
    "trace",
    "watch",
]
