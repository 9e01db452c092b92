"""streams.py: memory that several streams use, and memory of CUDA graphs."""

from __future__ import annotations

import gc
import threading

import torch
from device import MIB, DeviceTest, allocated, block, limited, only, reserved, segments, stat, work


class Streams(DeviceTest):
    def test_a_block_waits_for_the_other_stream(self) -> None:
        mine, other = torch.cuda.Stream(), torch.cuda.Stream()
        for part in (slice(None), slice(5 * MIB, None)):  # a view's use counts as the block's
            with torch.cuda.stream(mine):
                shared = block(8)
                address = shared.data_ptr()
                work(other, shared)
                shared[part].record_stream(other)
                del shared
                soon = block(8)
                self.assertNotEqual(soon.data_ptr(), address, "given too soon")
                other.synchronize()
                later = block(8)
                self.assertEqual(later.data_ptr(), address, "not given when it could be")
                del soon, later

    def test_what_has_passed_is_used_again_before_anything_new(self) -> None:
        """Although there is free memory beside it: a block of 16 bytes is a part of one that is cut for many."""
        mine, other = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(mine):
            beside = block(16, 1)
            shared = block(16, 1)
            address = shared.data_ptr()
        work(other, shared)
        shared.record_stream(other)
        del shared
        with torch.cuda.stream(mine):
            soon = block(16, 1)
            self.assertNotEqual(soon.data_ptr(), address, "given too soon")
            other.synchronize()
            self.assertEqual(block(16, 1).data_ptr(), address, "not given when it could be")
        del beside

    def test_a_block_of_one_stream_is_not_anothers(self) -> None:
        one, other = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(one):
            tensor = block(8)
            work(one, tensor)
            address = tensor.data_ptr()
            del tensor
        with torch.cuda.stream(other):
            self.assertNotEqual(block(8).data_ptr(), address)
        one.synchronize()


def capture(function, pool=None, stream=None):  # type: ignore[no-untyped-def]
    """A graph of the function, and what it returned."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, stream=stream):
        result = function()
    return graph, result


class Graphs(DeviceTest):
    def test_running_out_within_a_capture(self) -> None:
        with limited(256):
            self.assertIn("out of memory", self.shortage(lambda: capture(lambda: block(512))))
            torch.cuda.synchronize()
            graph, inside = capture(lambda: block(128))
            graph.replay()
            del graph, inside
            self.clean()
            self.assertEqual(block(200).numel(), 200 * MIB)

    def test_graphs_of_one_pool_share_memory(self) -> None:
        def temporaries() -> torch.Tensor:
            for _ in range(5):
                last = block(6)
            return last

        def cost(share: bool) -> int:
            self.clean()
            before = reserved()
            first, kept = capture(temporaries)
            del kept
            second, also = capture(temporaries, pool=first.pool() if share else None)
            return reserved() - before

        self.assertLess(cost(share=True), cost(share=False))

    def test_a_result_outlives_its_graph(self) -> None:
        graph, result = capture(lambda: block(6))
        result[:3].copy_(torch.tensor([7, 8, 9], dtype=torch.uint8))
        graph.replay()
        del graph
        self.clean()
        others = [torch.full((6 * MIB,), 1, dtype=torch.uint8).cuda() for _ in range(8)]
        for other in others:
            self.assertFalse(other.data_ptr() <= result.data_ptr() < other.data_ptr() + 6 * MIB)
        self.assertEqual(result[:3].tolist(), [7, 8, 9])

    @only("native", "class")
    def test_figures_of_a_capture(self) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            source = block(6)
        before = {name: stat(f"{name}.large_pool.current") for name in ("active", "active_bytes")}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            result = source.clone()
            for _ in range(5):
                result = result.clone()
        for _ in range(2):
            self.assertEqual(stat("active.large_pool.current") - before["active"], 1)
            self.assertEqual(stat("active_bytes.large_pool.current") - before["active_bytes"], 6 * MIB)
            graph.replay()
            torch.cuda.empty_cache()
        del graph
        self.clean()
        self.assertEqual(stat("active_bytes.large_pool.current") - before["active_bytes"], 6 * MIB)

    def test_events_are_not_asked_within_a_capture(self) -> None:
        """Which would spoil it: frees of before that wait for another stream stay as they are."""
        other, third = torch.cuda.Stream(), torch.cuda.Stream()
        waiting = block(4)
        work(other, waiting)
        waiting.record_stream(other)
        del waiting
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=stream):
            inside = block(4)
            third.wait_stream(stream)
            with torch.cuda.stream(third):
                inside.record_stream(third)
            del inside
            stream.wait_stream(third)
            self.assertEqual(block(4).numel(), 4 * MIB)
        graph.replay()
        torch.cuda.synchronize()
        self.assertEqual(block(4).numel(), 4 * MIB)

    def test_other_threads_go_on_during_a_capture(self) -> None:
        for mode in ("thread_local", "relaxed"):
            errors: list[BaseException] = []
            addresses: list[int] = []

            def elsewhere() -> None:
                try:
                    with torch.cuda.stream(torch.cuda.Stream()):
                        address = torch.cuda.caching_allocator_alloc(3 * MIB)
                        addresses.append(address)
                        torch.cuda.caching_allocator_delete(address)
                except BaseException as error:  # the assertion is the other thread's
                    errors.append(error)

            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode=mode):
                inside = block(3)
                thread = threading.Thread(target=elsewhere)
                thread.start()
                thread.join()
            self.assertEqual(errors, [], mode)
            self.assertNotEqual(addresses, [inside.data_ptr()])
            graph.replay()

    def test_a_stream_that_joins_a_capture_has_its_memory(self) -> None:
        one, other = torch.cuda.Stream(), torch.cuda.Stream()
        graph = torch.cuda.CUDAGraph()
        one.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(one):
            graph.capture_begin()
            first = block(30)
        with torch.cuda.stream(other):
            other.wait_stream(one)
            second = block(30)
            addresses = {first.data_ptr(), second.data_ptr()}
            del second
        one.wait_stream(other)
        with torch.cuda.stream(one):
            graph.capture_end()
        del first
        eager = []
        for stream in (one, other):
            with torch.cuda.stream(stream):
                eager += [block(30) for _ in range(3)]
        self.assertFalse(addresses & {tensor.data_ptr() for tensor in eager})
        graph.replay()
        graph.reset()

    def test_captures_again_and_again_take_no_more(self) -> None:
        def once() -> None:
            graph, result = capture(lambda: block(20))
            graph.replay()

        once()
        after_one = reserved()
        for _ in range(20):
            once()
        self.assertLessEqual(reserved(), after_one + 20 * MIB)

    def test_a_graph_is_reset_and_captured_again(self) -> None:
        graph = torch.cuda.CUDAGraph()
        for size in (3, 30):
            with torch.cuda.graph(graph):
                result = block(size)
            graph.replay()
            graph.reset()
            self.assertEqual(result.numel(), size * MIB)
        del result

    @only("native", "class")
    def test_a_pools_live_blocks_are_known(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        graph, result = capture(lambda: block(4), pool=pool)

        def check(addresses: set[int]) -> bool:
            return bool(torch._C._cuda_checkPoolLiveAllocations(0, pool, addresses))

        self.assertTrue(check({result.data_ptr()}))
        self.assertFalse(check({result.data_ptr(), 0}))
        self.assertFalse(check(set()))
        del result
        self.assertTrue(check(set()))
        del graph

    @only("native", "class")
    def test_a_pool_goes_back_to_a_checkpoint(self) -> None:
        pool = torch.cuda.graph_pool_handle()

        def live() -> set[int]:
            return {b["address"] for s in segments(pool) for b in s["blocks"] if b["state"] == "active_allocated"}

        first, made = capture(lambda: [block(512, 1), block(3)], pool=pool)
        addresses = {tensor.data_ptr() for tensor in made}
        checkpoint = torch._C._cuda_getCheckpointState(0, pool)
        second, later = capture(lambda: [block(512, 1)], pool=pool)
        self.assertEqual(live(), addresses | {later[0].data_ptr()})
        made.clear()
        torch._C._cuda_setCheckpointPoolState(0, checkpoint, [tensor.untyped_storage()._cdata for tensor in later], [])
        later.clear()
        self.assertEqual(live(), addresses)
        while addresses:
            torch._C._cuda_cudaCachingAllocator_raw_delete(addresses.pop())
            self.assertEqual(live(), addresses)
        del first, second

    @only("native", "class")
    def test_a_thread_allocates_to_a_graphs_pool(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        graph, result = capture(lambda: block(1), pool=pool)
        del result
        inside: list[torch.Tensor] = []
        outside: list[torch.Tensor] = []

        def use_pool() -> None:
            with torch.cuda.stream(torch.cuda.Stream()):
                torch._C._cuda_beginAllocateCurrentThreadToPool(0, pool)
                inside.extend(block(20) for _ in range(3))
                torch._C._cuda_endAllocateToPool(0, pool)
                torch._C._cuda_releasePool(0, pool)
            outside.append(block(20))

        def use_none() -> None:
            outside.extend(block(20) for _ in range(3))

        threads = [threading.Thread(target=function) for function in (use_pool, use_none)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        live = {b["address"] for s in segments(pool) for b in s["blocks"] if b["state"] == "active_allocated"}
        self.assertEqual(live, {tensor.data_ptr() for tensor in inside})
        inside.clear()
        outside.clear()
        del graph
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.assertEqual(segments(pool), [])
        self.assertEqual(allocated(), self.allocated_before)
