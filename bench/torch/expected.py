"""expected.py: which of PyTorch's own tests of the allocator fail under Seam by what Seam is, and why.

Named after PyTorch's test/test_cuda.py from 2.9 to a little after 2.15. Most rows are of tests that count PyTorch's segments of 2 and 20 MiB, which is how PyTorch's
allocator works and nothing that a program sees. A row that no failure needs does no harm: minors differ.
"""

from __future__ import annotations

import re

# allocators, test, text of the error, reason
ROWS = (
    ("pluggable", "", r"(does|do) not yet support|pluggable|not supported", "PyTorch itself refuses statistics, snapshots, histories, pools and checkpoints with a pluggable allocator"),
    ("class", r"test_allocate_in_thread_to_pool|test_nested_mempool|test_mempool_ctx_multithread|test_mempool_no_split", "", "counts PyTorch's segments; Seam shows stretches of physical memory"),
    ("class", r"test_expandable_segment_checkpoint_growth", "", "counts PyTorch's expandable segments"),
    ("class", r"test_out_of_memory$", "1EB", "the error says how much was asked for, however much it was"),
    ("class", r"test_mempool_emptycache_multithread", "", "empty_cache() within a pool's context empties it, where PyTorch's does nothing"),
    ("class", r"test_graph_memory_stats_and_use_result|test_graph_two_successive|test_cuda_graph_allocator_propagates_stream", "", "counts PyTorch's segments"),
    ("class", r"test_graph_capture_reclaim", "", "within a capture, memory used on other streams is used again only after it (PyTorch does more with a setting that is off by default)"),
    ("class", r"test_mempool_limited_memory_with_allocator|test_mempool_allocator_failure_message", "", "a limit is of Seam's memory: pools over an allocator of the program's are not counted"),
    ("class", r"test_mempool_expandable", "", "Seam has no expandable segments to count"),
    ("class", r"test_reserved_bytes_by_private_pools", "", "empty_cache() empties pools that are alive too, and a pool's figures are what was seen"),
    ("class", r"TestResizeStorageWithAddr", "allocateWithAddress", "memory at an address of the program's choice is refused"),
    ("class", r"test_memory_snapshot$|test_memory_plots$|test_memory_plots_free_segment_stack", "", "chunks come and go as segment_map and segment_unmap, not as segment_alloc and segment_free"),
    ("class", r"test_allocator_settings", "", "PyTorch's settings, such as roundup_power2_divisions, do not matter to Seam"),
    ("class", r"TestCachingHostAllocatorConfig\.test_(max_round_threshold|max_cached_size|both_thresholds|round_threshold_larger_than_cached_size)", "", "pinned memory is exact, and kept, at any size"),
    ("class,pluggable", r"test_graph_concurrent_replay|test_graph_three_successive", "", "expects that graphs of one pool, replayed out of order, spoil each other's results in the way that PyTorch places them"),
    ("pluggable", r"test_out_of_memory|test_set_per_process_memory_fraction|memory_snapshot|memory_plots|TestMemPool|TestBlockStateAbsorption|stats|test_notifies_oom|raw_alloc|memory_metadata", "", "needs what PyTorch refuses with a pluggable allocator"),
)


def reason(allocator: str, test: str, text: str) -> str:
    """Why this failure is expected; empty if it is not."""
    for allocators, tests, texts, why in ROWS:
        if allocator in allocators.split(",") and re.search(tests, test) and re.search(texts, text):
            return why
    return ""
