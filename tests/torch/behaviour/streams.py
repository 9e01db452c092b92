"""streams.py: memory that several streams use, and memory of CUDA graphs."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable

import torch
from device import MIB, DeviceTest, allocated, block, limited, live, offered, only, reserved, segments, since, stat, work


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

    def test_three_graphs_of_one_pool_follow_each_other(self) -> None:
        """What the first leaves to the others is theirs; what nobody holds is used again."""
        source = block(6)

        def follow(tensor: torch.Tensor) -> torch.Tensor:
            return block(6).copy_(tensor)

        first, one = capture(lambda: follow(source))
        second, two = capture(lambda: follow(one), pool=first.pool())
        del one
        third, three = capture(lambda: follow(two), pool=first.pool())
        self.assertNotEqual(two.data_ptr(), three.data_ptr())
        for value in (7, 9):
            source[:2].copy_(torch.tensor([value, value + 1], dtype=torch.uint8))
            for graph in (first, second, third):
                graph.replay()
            self.assertEqual(two[:2].tolist() + three[:2].tolist(), [value, value + 1] * 2)

    def test_graphs_of_two_pools_are_replayed_at_once(self) -> None:
        def temporaries(value: int) -> torch.Tensor:
            source = sources[value]
            for _ in range(3):
                source = block(6).copy_(source)
            return source

        sources = {value: torch.full((6 * MIB,), value, dtype=torch.uint8).cuda() for value in (3, 5)}
        made = {value: capture(lambda: temporaries(value)) for value in sources}  # noqa: B023
        streams = {value: torch.cuda.Stream() for value in sources}
        for _ in range(2):
            for value, stream in streams.items():
                with torch.cuda.stream(stream):
                    made[value][0].replay()
        torch.cuda.synchronize()
        for value, (_, result) in made.items():
            self.assertEqual(result[:2].tolist(), [value, value])

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

    def test_a_graph_that_is_kept_is_reset_and_captured_again(self) -> None:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        for size in (3, 30):
            with torch.cuda.graph(graph):
                result = block(size)
            graph.instantiate()
            graph.replay()
            graph.reset()
            self.assertEqual(result.numel(), size * MIB)
        del result

    def test_a_capture_that_failed_leaves_nothing(self) -> None:
        before = (allocated(), reserved())
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            graph.capture_begin()
            inside = block(32)
            with self.assertRaises(RuntimeError):
                torch.cuda.synchronize()
            with contextlib.suppress(RuntimeError):  # a GPU has given up the capture, the emulated device has not
                graph.capture_end()
        del inside
        graph.reset()
        del graph
        self.clean()
        self.assertEqual((allocated(), reserved()), before)
        again, result = capture(lambda: block(32), stream=stream)
        again.replay()
        self.assertEqual(result.numel(), 32 * MIB)

    @offered(torch.cuda.CUDAGraph, "retain_object")
    def test_a_graph_keeps_what_it_is_given(self) -> None:
        graph, kept = capture(lambda: block(4))[0], block(8)
        graph.retain_object(kept)
        with_it = allocated()
        del kept
        gc.collect()
        self.assertEqual(allocated(), with_it)
        del graph
        gc.collect()
        self.assertEqual(allocated(), self.allocated_before)

    def test_a_use_of_before_a_capture_is_waited_for_though_the_free_is_within(self) -> None:
        other, held = torch.cuda.Stream(), []
        pool, stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
        graphs = []

        def captured(function: Callable[[], object]) -> object:
            graphs.append(torch.cuda.CUDAGraph())
            with torch.cuda.stream(stream):
                graphs[-1].capture_begin(pool=pool)
                result = function()
                graphs[-1].capture_end()
            return result

        kept = captured(lambda: block(8))
        at = kept.data_ptr()
        torch.cuda.synchronize()
        work(other, kept)
        kept.record_stream(other)
        held.append(kept)
        del kept
        captured(held.clear)
        block(1)  # whoever asks looks for what has passed
        early = captured(lambda: block(8))
        self.assertNotEqual(early.data_ptr(), at, "given too soon")
        other.synchronize()
        block(1)
        self.assertEqual(captured(lambda: block(8)).data_ptr(), at, "not given when it could be")

    @only("native", "class")
    def test_states_of_random_numbers_are_counted_and_go_back(self) -> None:
        def figures() -> tuple[int, int]:
            return stat("active.all.current"), stat("active_bytes.all.current")

        for graphs, generators in ((1, 1), (2, 2)):
            self.clean()
            before = figures()
            chances = [torch.Generator(device="cuda") for _ in range(generators)]
            made = [torch.cuda.CUDAGraph() for _ in range(graphs)]
            for graph in made:
                for chance in chances:
                    graph.register_generator_state(chance)
                with torch.cuda.graph(graph):
                    torch.rand(1, device="cuda")
                graph.replay()
            blocks, count_bytes = (after - early for after, early in zip(figures(), before))
            self.assertIn(blocks, (2 * graphs, 2 * generators, 2 * generators + 2), "a seed and an offset for each graph, or for each generator")
            self.assertEqual(count_bytes, 512 * blocks)
            del made, graph, chances, chance
            self.clean()
            self.assertEqual(figures(), before)

    @since(15)
    @only("native", "class")
    def test_states_of_random_numbers_outlive_a_replay(self) -> None:
        stream, graph, name = torch.cuda.Stream(), torch.cuda.CUDAGraph(), "active.small_pool.current"
        before = stat(name)
        with torch.cuda.stream(stream):
            numbers = torch.zeros(32, device="cuda")
            graph.capture_begin()
            numbers.uniform_()
            graph.capture_end()
        torch.cuda.synchronize()
        self.assertEqual(stat(name) - before, 3, "the tensor, a seed and an offset")
        work(stream)
        with torch.cuda.stream(stream):
            graph.replay()
        graph.reset()
        del graph, numbers
        self.assertEqual(stat(name) - before, 2, "the replay may read them yet")
        self.clean()
        self.assertEqual(stat(name), before)

    def test_a_captured_training_step_takes_no_more_when_replayed(self) -> None:
        """As programs do by make_graphed_callables() and optimizers with capturable=True; what kernels would compute does not matter."""
        weight = torch.nn.Parameter(torch.zeros(MIB, device="cuda"))
        optimizer = torch.optim.Adam([weight], capturable=True, foreach=False)

        def step() -> torch.Tensor:
            optimizer.zero_grad(set_to_none=True)
            loss = ((weight * 2).relu() + 1).sum()
            loss.backward()
            optimizer.step()
            return loss

        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(2):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        graph, loss = capture(step)
        graph.replay()
        figures = (allocated(), reserved())
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        self.assertEqual((allocated(), reserved()), figures)
        state = [weight, weight.grad, loss, *(value for value in optimizer.state[weight].values() if value.is_cuda)]
        places = sorted((tensor.data_ptr(), tensor.data_ptr() + tensor.numel() * tensor.element_size()) for tensor in state)
        self.assertTrue(all(one[1] <= other[0] for one, other in zip(places, places[1:])), "no two share memory")
        del graph, state, loss, optimizer
        weight.grad = None

    def test_graphed_callables_of_one_pool_share_memory(self) -> None:
        class Scaled(torch.nn.Module):
            def __init__(self, parameters: bool) -> None:
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(MIB, device="cuda")) if parameters else 2.0

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return (x * self.weight).relu()

        for parameters in (True, False):
            pool = torch.cuda.graph_pool_handle()
            samples = [torch.zeros(MIB, device="cuda", requires_grad=parameters) for _ in range(2)]
            modules = [torch.cuda.make_graphed_callables(Scaled(parameters), (sample,), pool=pool) for sample in samples]
            figures = []
            for _ in range(3):
                given = torch.zeros(MIB, device="cuda", requires_grad=parameters)
                for module in modules:
                    given = module(given)
                if parameters:
                    given.sum().backward()
                for module in modules:
                    module.zero_grad(set_to_none=True)
                del given
                figures.append((allocated(), reserved()))
            self.assertEqual(figures[1], figures[2])
            del modules, module, samples

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
        self.assertEqual(set(live(pool)), {tensor.data_ptr() for tensor in inside})
        inside.clear()
        outside.clear()
        del graph
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.assertEqual(segments(pool), [])
        self.assertEqual(allocated(), self.allocated_before)
