"""pools.py: torch.cuda.MemPool, with an allocator's own memory and with Seam's segments under PyTorch's allocator."""

from __future__ import annotations

import ctypes
import functools
import gc
import threading
from typing import Any

import torch
from device import ALLOCATOR, MIB, MINOR, DeviceTest, block, differs, limited, live, offered, only, segments, since, stat, work


@only("native", "class")
class Pools(DeviceTest):
    """With class: all of it is Seam's. With native: PyTorch's own. With pluggable PyTorch refuses pools."""

    def make(self, **how: Any) -> torch.cuda.MemPool:
        """A pool."""
        return torch.cuda.MemPool(**how)

    def test_every_pool_has_a_name(self) -> None:
        handle, pool = torch.cuda.graph_pool_handle(), self.make()
        self.assertEqual(handle[0], 0)
        self.assertNotEqual(tuple(handle), tuple(pool.id))
        names: list[tuple[int, int]] = []
        threads = [threading.Thread(target=lambda: names.append(tuple(self.make().id))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(names)), 4)

    def test_who_uses_a_pool_is_counted(self) -> None:
        pool = self.make()
        self.assertEqual(pool.use_count(), 1)
        with torch.cuda.use_mem_pool(pool):
            inside = block(1)
            self.assertEqual(pool.use_count(), 2)
        self.assertEqual(pool.use_count(), 1)
        self.assertEqual([b["address"] for s in pool.snapshot() for b in s["blocks"] if b["state"] == "active_allocated"], [inside.data_ptr()])

    def test_memory_is_the_pools_own_and_common_after_it(self) -> None:
        pool = self.make()
        with torch.cuda.use_mem_pool(pool):
            addresses = {block(30).data_ptr() for _ in range(2)}
        outside = [block(30) for _ in range(4)]
        self.assertFalse(addresses & {tensor.data_ptr() for tensor in outside})
        del pool
        gc.collect()
        torch.cuda.empty_cache()
        with limited(30):
            self.assertEqual(block(30).numel(), 30 * MIB)

    def test_a_tensor_outlives_its_pool(self) -> None:
        def make() -> torch.Tensor:
            pool = self.make()
            with torch.cuda.use_mem_pool(pool):
                tensor = block(5)
            tensor[:2].copy_(torch.tensor([5, 6], dtype=torch.uint8))
            return tensor

        tensor = make()
        gc.collect()
        torch.cuda.empty_cache()
        others = [block(5) for _ in range(6)]
        for other in others:
            other[:2].copy_(torch.tensor([1, 1], dtype=torch.uint8))
        self.assertEqual(tensor[:2].tolist(), [5, 6])

    @since(11, "native")
    def test_pools_nest(self) -> None:
        pools = [self.make() for _ in range(3)]
        made: dict[int, list[torch.Tensor]] = {0: [], 1: [], 2: []}
        with torch.cuda.use_mem_pool(pools[0]):
            made[0].append(block(20))
            with torch.cuda.use_mem_pool(pools[1]):
                made[1].append(block(20))
                with torch.cuda.use_mem_pool(pools[2]):
                    made[2].append(block(20))
                made[1].append(block(20))
            made[0].append(block(20))
        for number, pool in enumerate(pools):
            self.assertEqual(set(live(pool.id)), {tensor.data_ptr() for tensor in made[number]})
        made.clear()

    def test_only_the_thread_within_is_served(self) -> None:
        entered, done = threading.Event(), threading.Event()
        pool, outside = self.make(), []

        def elsewhere() -> None:
            entered.wait(60)
            outside.append(block(1))
            done.set()

        thread = threading.Thread(target=elsewhere)
        thread.start()
        with torch.cuda.use_mem_pool(pool):
            block(1)
            entered.set()
            self.assertTrue(done.wait(60))
        thread.join()
        active = {True: 0, False: 0}
        for segment in torch.cuda.memory_snapshot():
            active[tuple(segment["segment_pool_id"]) == tuple(pool.id)] += segment["active_size"]
        self.assertEqual(active, {True: 0, False: stat("active_bytes.all.current")})

    def test_threads_with_a_pool_each(self) -> None:
        pools = [self.make() for _ in range(4)]
        errors: list[Exception] = []

        def use(pool: torch.cuda.MemPool) -> None:
            try:
                for _ in range(20):
                    with torch.cuda.use_mem_pool(pool):
                        tensor = block(4)
                        del tensor
                        torch.cuda.empty_cache()
            except Exception as error:  # the assertion is the other thread's
                errors.append(error)

        threads = [threading.Thread(target=use, args=(pool,)) for pool in pools]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    @since(10)
    def test_no_block_of_an_undivided_pool_shares_a_segment(self) -> None:
        pool = self.make(no_split=True)
        with torch.cuda.use_mem_pool(pool):
            kept = [block(4) for _ in range(3)]
        found = pool.snapshot()
        self.assertEqual(len(found), len(kept))
        self.assertEqual([len(segment["blocks"]) for segment in found], [1] * len(kept))

    def test_a_pool_that_may_help_does_and_no_other(self) -> None:
        closed, helping = self.make(), self.make(use_on_oom=True)
        with limited(80):
            with torch.cuda.use_mem_pool(closed):
                a = block(40)
            with torch.cuda.use_mem_pool(helping):
                b = block(40)
            self.shortage(lambda: block(40))
            del a, b
            c = block(30)
            if ALLOCATOR == "native":  # Seam gives back what no graph has touched, of any pool, before it runs out
                self.shortage(lambda: block(30))
            del c
            with torch.cuda.use_mem_pool(helping):
                block(20)
            del closed, helping
            gc.collect()

    def test_a_pool_that_is_gone_helps_nobody(self) -> None:
        with limited(40):
            for _ in range(10):
                pool = self.make(use_on_oom=True)
                with torch.cuda.use_mem_pool(pool):
                    block(40)
                del pool
            pool = self.make(use_on_oom=True)
            with torch.cuda.use_mem_pool(pool):
                block(40)
            one, two = block(20), block(20)
            del one, two, pool
            gc.collect()

    @since(15, "native")
    def test_what_is_common_and_free_serves_a_pool_before_it_runs_out(self) -> None:
        with limited(80):
            block(60)
            pool = self.make()
            with torch.cuda.use_mem_pool(pool):
                self.assertEqual(block(60).numel(), 60 * MIB)
            del pool
            gc.collect()

    @since(15, "native")
    def test_a_block_waits_for_its_streams_and_no_longer(self) -> None:
        """Within a pool's context too, which is no capture."""
        pool, other = self.make(), torch.cuda.Stream()
        with torch.cuda.use_mem_pool(pool):
            shared = block(1)
            address = shared.data_ptr()
            work(other, shared)
            shared.record_stream(other)
            del shared
            soon = block(1)
            self.assertNotEqual(soon.data_ptr(), address, "given too soon")
            other.synchronize()
            self.assertEqual(block(1).data_ptr(), address, "not given when it could be")
        del soon

    @since(15, "native")
    @since(10)
    def test_an_undivided_pool_leaves_nothing_to_the_next_of_its_name(self) -> None:
        pool = self.make(no_split=True)
        name = pool.id
        with torch.cuda.use_mem_pool(pool):
            kept = [block(4) for _ in range(2)]
        self.assertEqual([len(segment["blocks"]) for segment in pool.snapshot()], [1, 1])
        del kept, pool
        gc.collect()
        torch.cuda.empty_cache()
        self.assertEqual(segments(name), [])
        torch._C._cuda_beginAllocateCurrentThreadToPool(0, name)
        try:
            kept = [block(4) for _ in range(2)]
            self.assertEqual(len(segments(name)), 1)
        finally:
            torch._C._cuda_endAllocateToPool(0, name)
            torch._C._cuda_releasePool(0, name)
        del kept

    def test_the_same_requests_get_the_same_addresses(self) -> None:
        sizes = [2 * count for count in range(1, 5) for _ in range(4)]

        def addresses() -> list[int]:
            return [tensor.data_ptr() for tensor in [block(size) for size in sizes]]

        first = addresses()
        halves = [block(size // 2) for size in sizes]
        del halves
        self.assertEqual(addresses(), first)

    @since(15, "native")
    def test_a_pools_snapshot_is_its_part_of_the_whole(self) -> None:
        def shown(snapshot: list[dict[str, Any]]) -> list[tuple[int, int]]:
            return sorted((segment["address"], segment["total_size"]) for segment in snapshot if tuple(segment["segment_pool_id"]) == tuple(pool.id))

        pool = self.make()
        with torch.cuda.use_mem_pool(pool):
            kept = [block(40) for _ in range(3)]
        del kept[1]
        torch.cuda.empty_cache()
        self.assertEqual(shown(pool.snapshot()), shown(torch.cuda.memory_snapshot()))
        self.assertGreaterEqual(len(shown(pool.snapshot())), 2)
        del kept, pool
        gc.collect()

    @offered(torch.cuda.CUDAGraph, "pools")
    def test_a_graph_keeps_the_pools_that_its_capture_used(self) -> None:
        pool, within = self.make(), self.make()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            first = block(4)
            with torch.cuda.use_mem_pool(within):
                inner = block(4)
            last = block(4)
        self.assertEqual((graph.pool(), set(graph.pools())), (pool.id, {pool.id, within.id}))
        self.assertEqual((pool.use_count(), within.use_count()), (2, 2))
        self.assertEqual((set(live(pool.id)), set(live(within.id))), ({first.data_ptr(), last.data_ptr()}, {inner.data_ptr()}))
        address = inner.data_ptr()
        del inner, within
        gc.collect()
        torch.cuda.empty_cache()
        self.assertNotIn(address, [tensor.data_ptr() for tensor in [block(4) for _ in range(10)]], "replays write there")
        graph.replay()
        graph.reset()
        self.assertEqual(pool.use_count(), 1)
        del first, last, pool
        gc.collect()

    @since(11, "native")
    def test_a_pool_does_not_mind_expandable_segments(self) -> None:
        torch.cuda.memory._set_allocator_settings("expandable_segments:True")
        try:
            pool = self.make()
            with torch.cuda.use_mem_pool(pool):
                inside = block(1)
            outside = block(1)
            live = {b["address"]: tuple(s["segment_pool_id"]) for s in torch.cuda.memory_snapshot() for b in s["blocks"] if b["state"] == "active_allocated"}
            self.assertEqual((live[inside.data_ptr()], live[outside.data_ptr()]), (tuple(pool.id), (0, 0)))
            del inside, outside, pool
        finally:
            torch.cuda.memory._set_allocator_settings("expandable_segments:False")

    def test_a_graph_in_a_pool(self) -> None:
        pool = self.make()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool.id):
            inside = block(6)
        self.assertEqual(live(pool.id), {inside.data_ptr(): 6 * MIB})
        graph.replay()
        del inside, graph, pool


ASK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)


class Programs:
    """An allocator of the program's own, over cudaMalloc; it outlives every pool."""

    def __init__(self) -> None:
        self.asked, self.live, self.empty = 0, {}, False
        self.runtime = ctypes.CDLL(f"libcudart.so.{(torch.version.cuda or '').split('.')[0]}")
        self.functions = ASK(self.ask), FREE(self.free)
        self.allocator = torch._C._cuda_customAllocator(*(ctypes.cast(function, ctypes.c_void_p).value for function in self.functions))

    def ask(self, size: int, device: int, stream: int) -> int | None:
        """As PyTorch calls it."""
        self.asked += 1
        address = ctypes.c_void_p()
        if self.empty or self.runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size)) != 0:
            return None
        self.live[address.value] = size
        return address.value

    def free(self, address: int, size: int, device: int, stream: int) -> None:
        """As PyTorch calls it."""
        del self.live[address]
        self.runtime.cudaFree(ctypes.c_void_p(address))

    def holds(self, tensor: torch.Tensor) -> bool:
        """The tensor's memory is from here."""
        return any(address <= tensor.data_ptr() < address + size for address, size in self.live.items())


@functools.cache
def programs() -> Programs:
    """The one."""
    return Programs()


@only("native", "class")
class ProgramsPools(Pools):
    """Pools over an allocator of the program's own, as NCCL's is: PyTorch's allocator serves them under each."""

    def setUp(self) -> None:
        super().setUp()
        if getattr(getattr(self, self._testMethodName), "since", 0) > MINOR:
            self.skipTest("PyTorch's own allocator does it wrong")
        self.programs = programs()
        self.programs.asked, self.programs.empty = 0, False

    test_threads_with_a_pool_each = None  # type: ignore[assignment]  # PyTorch's lock and Python's would wait for each other
    test_a_pool_that_may_help_does_and_no_other = None  # type: ignore[assignment]  # of a limit, as the test below

    def make(self, **how: Any) -> torch.cuda.MemPool:
        return torch.cuda.MemPool(programs().allocator, **how)

    def tearDown(self) -> None:
        super().tearDown()
        self.assertEqual(self.programs.live, {}, "every segment went back")

    def test_a_tensor_outlives_its_pool_twice(self) -> None:
        """The second pool has the allocator of the first, whose memory has gone back."""
        for _ in range(2):
            pool = self.make()
            with torch.cuda.use_mem_pool(pool):
                tensor = block(2)
            del pool
            gc.collect()
            torch.cuda.empty_cache()
            self.assertTrue(self.programs.holds(tensor))
            del tensor
            torch.cuda.empty_cache()
            self.assertEqual(self.programs.live, {})

    def test_the_same_requests_get_the_same_addresses(self) -> None:
        """Of two streams, one from the largest to the smallest and one back, as symmetric memory of several processes asks for."""
        pool, streams = self.make(), (torch.cuda.Stream(), torch.cuda.Stream())

        def addresses() -> list[int]:
            made = []
            with torch.cuda.use_mem_pool(pool):
                for _ in range(3):
                    for stream, sizes in zip(streams, ((24, 32), (32, 24))):
                        with torch.cuda.stream(stream):
                            made += [block(size) for size in sizes]
            return [tensor.data_ptr() for tensor in made]

        first = addresses()
        with torch.cuda.use_mem_pool(pool):
            for stream in streams:
                with torch.cuda.stream(stream):
                    block(12)
        self.assertEqual(addresses(), first)
        del pool
        gc.collect()

    @differs("class")
    def test_a_limit_counts_what_the_program_gives(self) -> None:
        with limited(80):
            pool = self.make()
            with torch.cuda.use_mem_pool(pool):
                inside = block(60)
            try:
                self.shortage(lambda: block(40))
            finally:
                del inside, pool
                gc.collect()

    @differs("class")
    def test_a_limit_is_asked_before_the_program_is(self) -> None:
        with limited(8):
            pool = self.make()
            try:
                with torch.cuda.use_mem_pool(pool):
                    self.shortage(lambda: block(30))
                self.assertEqual(self.programs.asked, 0)
            finally:
                del pool
                gc.collect()

    @since(15)
    def test_the_error_says_that_the_programs_allocator_had_nothing(self) -> None:
        self.programs.empty = True
        pool = self.make()
        with torch.cuda.use_mem_pool(pool):
            self.assertIn("custom allocator", self.shortage(lambda: block(1)))
        self.assertGreater(self.programs.asked, 0)


@only("native")
class SeamsSegments(Pools):
    """PyTorch's allocator, which takes these pools' memory from Seam."""

    def make(self, **how: Any) -> torch.cuda.MemPool:
        import seamalloc

        return torch.cuda.MemPool(seamalloc.mempool_allocator(), **how)

    def live(self) -> int:
        """How many segments Seam has given."""
        import seamalloc

        return seamalloc.stats()["live_blocks"]

    def tearDown(self) -> None:
        super().tearDown()
        self.assertEqual(self.live(), 0, "every segment went back")

    def test_a_pool_knows_where_its_memory_is_from(self) -> None:
        import seamalloc

        allocator = seamalloc.mempool_allocator()
        pool = torch.cuda.MemPool(allocator)
        if not hasattr(pool, "allocator"):
            self.skipTest("PyTorch has stopped to tell")
        self.assertIsNone(torch.cuda.MemPool().allocator)
        self.assertEqual(pool.allocator, allocator)

    def test_segments_are_asked_for_and_go_back(self) -> None:
        pool = self.make()
        self.assertEqual(self.live(), 0)
        with torch.cuda.use_mem_pool(pool):
            kept = [block(1)]
            self.assertEqual((self.live(), len(pool.snapshot())), (1, 1))
            kept.append(block(1))
            self.assertEqual((self.live(), len(pool.snapshot())), (1, 1))
            kept.append(block(1))
            self.assertEqual((self.live(), len(pool.snapshot())), (2, 2))
        outside = block(1)
        self.assertEqual(self.live(), 2)
        del kept, outside, pool
        gc.collect()
        torch.cuda.empty_cache()
        self.assertEqual(self.live(), 0)

    def test_a_tensor_outlives_pool_and_allocator(self) -> None:
        pool = self.make()
        with torch.cuda.use_mem_pool(pool):
            tensor = block(1)
        del pool
        gc.collect()
        torch.cuda.empty_cache()
        self.assertEqual(self.live(), 1)
        tensor[:1].copy_(torch.tensor([9], dtype=torch.uint8))
        self.assertEqual(tensor[:1].tolist(), [9])

    @since(11)
    def test_expandable_segments_stay_outside(self) -> None:
        torch.cuda.memory._set_allocator_settings("expandable_segments:True")
        try:
            pool = self.make()
            with torch.cuda.use_mem_pool(pool):
                inside = block(1)
            outside = block(1)
            kinds = {tuple(s["segment_pool_id"]) == tuple(pool.id): s["is_expandable"] for s in torch.cuda.memory_snapshot()}
            self.assertEqual(kinds, {True: False, False: True})
            del inside, outside, pool
        finally:
            torch.cuda.memory._set_allocator_settings("expandable_segments:False")
