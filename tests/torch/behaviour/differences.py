"""differences.py: what PyTorch's own allocator does and the class, by intention, does otherwise; and what PyTorch refuses with a pluggable allocator."""

from __future__ import annotations

import gc
import json
import warnings

import torch
from device import MIB, DeviceTest, block, differs, live, offered, only, segments, since, stat
from history import recorded


@only("native", "class")
class Differences(DeviceTest):
    @differs("class")
    def test_sizes_are_rounded_up_where_a_setting_asks_for_it(self) -> None:
        torch.cuda.memory._set_allocator_settings("roundup_power2_divisions:4")
        try:
            before = stat("active_bytes.all.allocated")
            block(84)
            self.assertEqual(stat("active_bytes.all.allocated") - before, 96 * MIB)
        finally:
            torch.cuda.memory._set_allocator_settings("")

    @differs("class")
    def test_each_stream_of_a_capture_has_a_segment(self) -> None:
        graph, one, other = torch.cuda.CUDAGraph(), torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(one):
            graph.capture_begin()
            first = block(30)
        with torch.cuda.stream(other):
            other.wait_stream(one)
            second = block(30)
        one.wait_stream(other)
        with torch.cuda.stream(one):
            graph.capture_end()
        shown = segments(graph.pool())
        graph.reset()
        del first, second
        self.assertEqual(len(shown), 2)

    @differs("class")
    def test_small_blocks_come_from_segments_of_2_mib(self) -> None:
        before = (stat("segment.small_pool.current"), stat("reserved_bytes.small_pool.current"))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = [block(1 << 19, 1) for _ in range(5)]
        after = (stat("segment.small_pool.current"), stat("reserved_bytes.small_pool.current"))
        del graph, kept
        count = after[0] - before[0]
        self.assertIn(count, (2, 3))  # three where what the graph's random numbers need has one
        self.assertEqual(after[1] - before[1], count * 2 * MIB)

    @differs("class")
    def test_a_pools_large_blocks_have_segments_of_their_own(self) -> None:
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            kept = [block(20) for _ in range(2)]
        count = len(pool.snapshot())
        del kept, pool
        gc.collect()
        self.assertEqual(count, 2)

    @differs("class")
    def test_a_segment_is_told_of_as_allocated(self) -> None:
        with recorded("all"):
            block(30)
            actions = [entry["action"] for entry in torch.cuda.memory._snapshot()["device_traces"][0]]
        self.assertIn("segment_alloc", actions)

    def test_who_empties_the_cache_is_told_if_all_is_recorded(self) -> None:
        def the_one_who_empties() -> None:
            torch.cuda.empty_cache()

        for context in ("all", "state"):
            with recorded(context=context):
                block(3)
                the_one_who_empties()
                text = json.dumps(torch.cuda.memory._snapshot()["device_traces"])
            self.assertEqual("the_one_who_empties" in text, context == "all", context)

    @differs("class")
    def test_emptying_the_cache_within_a_pool_leaves_it(self) -> None:
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            block(4)
            torch.cuda.empty_cache()
        count = len(pool.snapshot())
        del pool
        gc.collect()
        self.assertEqual(count, 1)

    def test_the_error_says_what_the_device_has(self) -> None:
        self.assertRegex(self.shortage(lambda: block(1 << 29)), r"GPU 0 has a total capacity of")

    @differs("class")
    def test_the_error_says_that_an_exbibyte_is_too_much(self) -> None:
        self.assertRegex(self.shortage(lambda: block(8_000_000_000, 1 << 30)), "more than 1EB memory")

    @offered(torch.UntypedStorage, "_resize_with_addr_")
    @differs("class")
    def test_a_storage_comes_back_where_it_was(self) -> None:
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            made = [block(3729, 1) for _ in range(20)]
        where = [(tensor.untyped_storage(), tensor.data_ptr()) for tensor in made]
        for storage, _ in where:
            storage.resize_(0)
        try:
            with torch.cuda.use_mem_pool(pool):
                for storage, address in where[1::2]:
                    storage._resize_with_addr_(3729, address)
            self.assertEqual(set(live(pool.id)), {address for _, address in where[1::2]})
            self.assertEqual([tensor.data_ptr() for tensor in made[1::2]], [address for _, address in where[1::2]])
        except RuntimeError as error:
            self.fail(str(error))
        finally:
            del made, where, storage, pool
            gc.collect()

    @offered(torch.UntypedStorage, "_resize_with_addr_")
    def test_no_storage_comes_where_it_cannot(self) -> None:
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            taken, tensor = block(4096, 1), block(2048, 1)
        storage, address = tensor.untyped_storage(), tensor.data_ptr()
        with torch.cuda.use_mem_pool(pool):
            for resized, where in ((False, address), (True, taken.data_ptr()), (True, address + 1)):
                if resized:
                    storage.resize_(0)
                with self.assertRaises(RuntimeError):
                    storage._resize_with_addr_(2048, where)
        storage._resize_with_addr_(0, 0)
        self.assertEqual((storage.nbytes(), set(live(pool.id))), (0, {taken.data_ptr()}))
        del taken, tensor, storage, pool
        gc.collect()

    def counted_of_a_pool(self) -> int:
        """Bytes that the figures say a private pool with a block of 30 MiB has."""
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            kept = block(30)
        figures = torch.cuda.memory_stats()
        found = [value for key, value in figures.items() if key == f"reserved_bytes_by_private_pools.{pool.id[0]}_{pool.id[1]}.all.current"]
        del kept, pool
        gc.collect()
        return sum(found)

    @since(13)
    def test_what_private_pools_have_is_counted(self) -> None:
        self.assertGreaterEqual(self.counted_of_a_pool(), 30 * MIB)

    @since(13)
    def test_what_private_pools_have_is_counted_with_expandable_segments(self) -> None:
        torch.cuda.memory._set_allocator_settings("expandable_segments:True")
        try:
            self.assertGreaterEqual(self.counted_of_a_pool(), 30 * MIB)
        finally:
            torch.cuda.memory._set_allocator_settings("expandable_segments:False")

    @since(13)
    @differs("class")
    def test_what_a_private_pool_has_stays_its_own_when_the_cache_is_emptied(self) -> None:
        def figures() -> dict[str, int]:
            return torch.cuda.memory_stats_as_nested_dict()["reserved_bytes_by_private_pools"].get(name, {}).get("all", {"current": 0})

        torch.cuda.reset_accumulated_memory_stats()
        pool = torch.cuda.MemPool()
        name = pool.id
        try:
            with torch.cuda.use_mem_pool(pool):
                block(30)
            torch.cuda.empty_cache()
            self.assertEqual(figures()["current"], 30 * MIB)
        finally:
            del pool
            gc.collect()
        torch.cuda.empty_cache()
        self.assertEqual(figures(), {"current": 0, "peak": 30 * MIB, "allocated": 30 * MIB, "freed": 30 * MIB})


@only("pluggable")
class Refusals(DeviceTest):
    def test_pytorch_refuses_what_a_pluggable_allocator_cannot_do(self) -> None:
        for call in (
            torch.cuda.memory_allocated, torch.cuda.memory_stats, torch.cuda.memory_snapshot, torch.cuda.get_per_process_memory_fraction, torch.cuda.MemPool,
            lambda: torch.cuda.memory._record_memory_history("all"), lambda: torch._C._cuda_getCheckpointState(0, (0, 1)),
            lambda: torch._C._cuda_checkPoolLiveAllocations(0, (0, 1), set()), lambda: torch._C._cuda_attach_out_of_memory_observer(print),
        ):
            with self.assertRaisesRegex(RuntimeError, "does not yet support"):
                call()

    @offered(torch._C, "_cuda_memoryMetadataSupported")
    def test_a_programs_own_words_are_not_kept(self) -> None:
        self.assertFalse(torch._C._cuda_memoryMetadataSupported())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.cuda.memory._set_memory_metadata("some words")
        self.assertEqual(torch.cuda.memory._get_memory_metadata(), "")
