"""pinned.py: page-locked memory of the host, which PyTorch's own allocator serves under each, and captures that copy from it."""

from __future__ import annotations

import ctypes
import os
import random
import threading

import torch
from device import MIB, MINOR, DeviceTest, block, differs, only, since, work

TAKEN = "allocated_bytes.current" if MINOR >= 10 else "reserved_bytes.current"  # from the system


def pinned(count: int) -> torch.Tensor:
    """Page-locked memory."""
    return torch.empty(count, dtype=torch.uint8, pin_memory=True)


class Pinned(DeviceTest):
    def setUp(self) -> None:
        super().setUp()
        torch._C._host_emptyCache()

    def test_pinned_memory_is_used_again(self) -> None:
        kept = pinned(4096)
        address = kept.data_ptr()
        self.assertTrue(kept.is_pinned())
        del kept
        self.assertEqual(pinned(4096).data_ptr(), address)

    def test_pinned_memory_in_use_is_not_given(self) -> None:
        kept, target = pinned(8 * MIB), block(8)
        kept.fill_(7)
        address = kept.data_ptr()
        target.copy_(kept, non_blocking=True)
        del kept
        soon = pinned(8 * MIB)
        if soon.data_ptr() == address:  # the copy was done by then
            self.assertTrue(torch.cuda.current_stream().query())
        soon.fill_(1)
        self.assertEqual(target[:2].tolist(), [7, 7])

    def test_pinned_memory_is_counted_and_goes_back(self) -> None:
        torch.cuda.reset_accumulated_host_memory_stats()
        before = torch.cuda.host_memory_stats()
        kept = pinned(3 * MIB)
        during = torch.cuda.host_memory_stats()
        self.assertEqual(during["num_host_alloc"] - before["num_host_alloc"], 1)
        self.assertGreaterEqual(during["allocated_bytes.current"] - before["allocated_bytes.current"], 3 * MIB)
        del kept
        torch._C._host_emptyCache()
        self.assertEqual(torch.cuda.host_memory_stats()["allocated_bytes.current"], before["allocated_bytes.current"])

    @since(15)
    def test_pinned_memory_is_active_until_it_is_free(self) -> None:
        names = ("active_bytes.current", "active_requests.current")
        for copied in (False, True):
            before = torch.cuda.host_memory_stats()
            kept = pinned(MIB)
            during = torch.cuda.host_memory_stats()
            self.assertEqual([during[name] - before[name] for name in names], [MIB, 1])
            if copied:
                kept.to("cuda", non_blocking=True)
                torch.cuda.synchronize()
            del kept
            if copied:  # events are asked when somebody looks
                torch._C._host_emptyCache()
            after = torch.cuda.host_memory_stats()
            self.assertEqual([after[name] - before[name] for name in names], [0, 0], copied)

    @since(10)
    def test_every_request_is_counted(self) -> None:
        names = [f"{what}.{change}" for what in ("active_requests", "active_bytes") for change in ("allocated", "freed")]
        torch.cuda.reset_accumulated_host_memory_stats()
        for _ in range(10):
            del_later = pinned(MIB)
            del del_later
        counted = torch.cuda.host_memory_stats()
        self.assertEqual([counted[name] for name in names], [10, 10, 10 * MIB, 10 * MIB])
        self.assertEqual(counted["num_host_alloc"], 1)
        self.assertEqual(counted["host_alloc_time.count"], 1)
        torch.cuda.reset_peak_host_memory_stats()
        after = torch.cuda.host_memory_stats()
        self.assertEqual((after["active_bytes.peak"], after["host_alloc_time.total"]), (0, counted["host_alloc_time.total"]))
        kept = pinned(MIB)
        self.assertEqual(torch.cuda.host_memory_stats()["active_bytes.peak"], MIB)
        del kept

    def test_memory_by_another_name_is_recorded(self) -> None:
        kept = pinned(3 * MIB).fill_(7)
        stream, target = torch.cuda.Stream(), block(3)
        work(stream)
        other = torch.frombuffer((ctypes.c_byte * (3 * MIB)).from_address(kept.data_ptr()), dtype=torch.uint8)
        with torch.cuda.stream(stream):
            target.copy_(other, non_blocking=True)
        address = kept.data_ptr()
        del kept, other
        if not stream.query():
            self.assertNotEqual(pinned(3 * MIB).data_ptr(), address)
        stream.synchronize()

    def test_threads_do_not_share_what_is_in_use(self) -> None:
        failed: list[str] = []

        def run(seed: int) -> None:
            draw, stream, kept = random.Random(seed), torch.cuda.Stream(), []
            for step in range(300):
                value = draw.randrange(256)
                memory = pinned(draw.choice((4096, 4096, 70000, MIB, 3 * MIB))).fill_(value)
                with torch.cuda.stream(stream):
                    target = memory.to("cuda", non_blocking=True) if step % 3 == 0 else None
                kept.append((memory, target, value))
                for memory, target, value in [kept.pop(draw.randrange(len(kept))) for _ in range(len(kept) - 4)]:
                    if memory[:: 4096].ne(value).any():
                        failed.append(f"seed {seed}, step {step}")
                    del memory
                    if target is not None:
                        stream.synchronize()
                        if target[:4].tolist() != [value] * 4:
                            failed.append(f"seed {seed}, step {step}: what was copied")

        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_background_threads_serve_pinned_memory(self) -> None:
        torch.cuda.memory._set_allocator_settings("pinned_use_background_threads:True")
        try:
            self.assertTrue(pinned(MIB).is_pinned())
        finally:
            torch.cuda.memory._set_allocator_settings("pinned_use_background_threads:False")

    def test_a_view_is_pinned_as_its_whole_is(self) -> None:
        turned = torch.arange(10).view(2, 5).t()
        self.assertTrue(torch.equal(turned.pin_memory(), turned))
        self.assertTrue(pinned(100)[1:].is_pinned())


@only("class")
class PinnedExactly(DeviceTest):
    """What PyTorch's own rounds to powers of two."""

    def setUp(self) -> None:
        super().setUp()
        torch._C._host_emptyCache()

    def test_no_more_is_pinned_than_is_asked_for(self) -> None:
        draw, kept, asked = random.Random(8861), [], 0
        before = torch.cuda.host_memory_stats()[TAKEN]
        for _ in range(40):
            asked += (count := draw.randrange(MIB, 40 * MIB))
            kept.append(pinned(count))
        self.assertLessEqual(torch.cuda.host_memory_stats()[TAKEN] - before, asked * 1.01)
        kept.clear()

    def test_another_size_has_the_memory_that_is_free(self) -> None:
        """Also what was given back last, and is at hand for its own size."""
        torch.cuda.reset_peak_host_memory_stats()
        before = torch.cuda.host_memory_stats()[TAKEN]
        for count in (40, 24, 40, 16, 8):
            kept = pinned(count * MIB)
            del kept
        after = torch.cuda.host_memory_stats()
        self.assertEqual(after[TAKEN] - before, 40 * MIB)
        self.assertEqual(after[TAKEN.replace("current", "peak")] - before, 40 * MIB)

    def test_a_shortage_says_what_limits_it(self) -> None:
        import seamalloc

        with self.assertRaisesRegex(RuntimeError, r"Seam: \d+ bytes of pinned memory: out of pinned host memory \(.* pinned, .* in use"):
            pinned(1 << 50)
        kept = pinned(3 * MIB)
        self.assertIn("pinned host memory: ", seamalloc.report())
        self.assertGreaterEqual(seamalloc.stats()["host_live_bytes"], 3 * MIB)
        del kept

    def test_a_child_of_fork_gets_none(self) -> None:
        kept, freed = pinned(4096), pinned(8192)
        del freed
        child = os.fork()
        if child == 0:
            status = 1
            try:
                del kept
                for count in (4096, 8192):
                    pinned(count)
            except RuntimeError as error:
                status = 0 if "no pinned memory" in str(error) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(pinned(8192).numel(), 8192)

    def test_memory_that_is_not_ours_is_no_harm(self) -> None:
        target = block(1)
        for memory in (torch.ones(MIB, dtype=torch.uint8), torch.frombuffer(bytearray(b"\1") * MIB, dtype=torch.uint8)):
            target.copy_(memory, non_blocking=True)
            self.assertEqual(target[-2:].tolist(), [1, 1])


@since(15)
class PinnedLimits(DeviceTest):
    """PyTorch's settings of pinned memory, which matter under each allocator."""

    def setUp(self) -> None:
        super().setUp()
        torch._C._host_emptyCache()

    def tearDown(self) -> None:
        torch.cuda.memory._set_allocator_settings("pinned_max_round_threshold_mb:-1,pinned_max_cached_size_mb:-1")
        torch._C._host_emptyCache()
        super().tearDown()

    def taken(self, count: int) -> tuple[int, int]:
        """MiB that a request of so many takes from the host, and how many blocks are kept after it."""
        before = torch.cuda.host_memory_stats()
        kept = pinned(count * MIB)
        during = torch.cuda.host_memory_stats()
        del kept
        after = torch.cuda.host_memory_stats()
        return (during["allocated_bytes.current"] - before["allocated_bytes.current"]) // MIB, after["allocations.current"] - before["allocations.current"]

    @differs("class")
    def test_what_is_beyond_a_limit_is_not_rounded_up_or_not_kept(self) -> None:
        for settings, expected in (
            ("pinned_max_round_threshold_mb:16", (17, 1)),
            ("pinned_max_cached_size_mb:16", (17, 0)),
            ("pinned_max_round_threshold_mb:16,pinned_max_cached_size_mb:32", (17, 1)),
            ("pinned_max_round_threshold_mb:32,pinned_max_cached_size_mb:16", (17, 0)),
            ("pinned_max_round_threshold_mb:32", (32, 1)),
        ):
            torch.cuda.memory._set_allocator_settings("pinned_max_round_threshold_mb:-1,pinned_max_cached_size_mb:-1")
            torch.cuda.memory._set_allocator_settings(settings)
            torch._C._host_emptyCache()
            self.assertEqual(self.taken(17), expected, settings)

    def test_a_request_does_not_get_less_than_it_asks_for(self) -> None:
        torch.cuda.memory._set_allocator_settings("pinned_max_round_threshold_mb:8,pinned_max_cached_size_mb:64")
        less = pinned(17 * MIB)
        address = less.data_ptr()
        del less
        self.assertNotEqual(pinned(30 * MIB).data_ptr(), address)

    @only("native", "class")
    def test_limits_are_shown(self) -> None:
        torch.cuda.memory._set_allocator_settings("pinned_max_round_threshold_mb:8,pinned_max_cached_size_mb:64")
        shown = torch.cuda.memory._snapshot()["allocator_settings"]
        self.assertEqual((shown["max_round_threshold"], shown["max_cached_size"]), (8 * MIB, 64 * MIB))


@since(11)
class PinnedInCaptures(DeviceTest):
    """A graph's replays read what its copies read, so such memory is nobody else's again."""

    def addresses(self, graphs: int, used: bool, given_back: bool) -> list[int]:
        """Of two requests, in one capture or in two that share a pool."""
        pool, seen, kept = torch.cuda.graph_pool_handle(), [], []
        made = [torch.cuda.CUDAGraph() for _ in range(graphs)]
        for graph in made:
            with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
                for _ in range(2 // graphs):
                    memory = torch.ones(512, dtype=torch.uint8).pin_memory()
                    target = block(512, 1)
                    if used:
                        target.copy_(memory, non_blocking=True)
                    seen.append(memory.data_ptr())
                    if not given_back:
                        kept.append(memory)
                    del memory
        return seen

    def test_memory_is_used_again_that_no_copy_read(self) -> None:
        for graphs in (1, 2):
            self.assertEqual(*self.addresses(graphs, used=False, given_back=True))

    def test_memory_that_a_copy_read_is_not_used_again(self) -> None:
        for graphs in (1, 2):
            self.assertNotEqual(*self.addresses(graphs, used=True, given_back=True))

    def test_kept_memory_is_not_given_twice(self) -> None:
        for graphs in (1, 2):
            for used in (False, True):
                self.assertNotEqual(*self.addresses(graphs, used, given_back=False))

    @since(15)
    def test_kept_memory_is_not_active(self) -> None:
        torch._C._host_emptyCache()
        before = torch.cuda.host_memory_stats()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            target = block(512, 1)
            memory = pinned(512)
            del memory
        after = torch.cuda.host_memory_stats()
        for name in ("active_bytes", "active_requests"):
            self.assertEqual(after[f"{name}.current"], before[f"{name}.current"], name)
            came, went = (after[f"{name}.{way}"] - before[f"{name}.{way}"] for way in ("allocated", "freed"))
            self.assertEqual(came, went, name)
        del target

    def test_memory_that_is_not_pinned_is_refused(self) -> None:
        for to_device in (True, False):
            pair = (torch.empty(512, dtype=torch.uint8), block(512, 1))
            with self.assertRaisesRegex(RuntimeError, "during CUDA graph capture"), torch.cuda.graph(torch.cuda.CUDAGraph()):
                pair[to_device].copy_(pair[not to_device], non_blocking=True)
            torch.cuda.synchronize()
