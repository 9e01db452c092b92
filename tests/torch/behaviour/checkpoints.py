"""checkpoints.py: a graph's pool that goes back to what it was, as torch.compile's graphs ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from device import MIB, DeviceTest, block, live, only, segments
from streams import capture


def shown(pool: tuple[int, int]) -> list[tuple[Any, ...]]:
    """What there is to see of a pool: by address."""
    figures = ("address", "total_size", "allocated_size", "active_size", "segment_type")
    return sorted((*(s[name] for name in figures), tuple((b["size"], b["state"]) for b in s["blocks"])) for s in segments(pool))


def storages(*tensors: torch.Tensor) -> list[int]:
    """As PyTorch wants them."""
    return [tensor.untyped_storage()._cdata for tensor in tensors]


def over(address: int, size: int) -> torch.Tensor:
    """A tensor of memory that the allocator takes for free."""
    storage = torch._C._construct_storage_from_data_pointer(address, torch.device("cuda", 0), size)
    return torch.empty(0, dtype=torch.uint8, device="cuda").set_(storage, 0, (size,), (1,))


def small() -> list[torch.Tensor]:
    """Neighbours of the least size."""
    return [block(512, 1) for _ in range(11)]


def one_in_the_middle() -> list[torch.Tensor]:
    """Free blocks on both sides."""
    return [small()[5]]


def two_in_the_middle() -> list[torch.Tensor]:
    """Free blocks on both sides and between."""
    made = small()
    return [made[5], made[8]]


def two_neighbours() -> list[torch.Tensor]:
    """Nothing between."""
    made = small()
    return [made[5], made[6]]


def of_many_sizes() -> list[torch.Tensor]:
    """Large and small ones, and some that are gone."""
    return [block(8).copy_(block(8)), block(1).copy_(block(1)), block(1)]


@only("native", "class")
class Checkpoints(DeviceTest):
    def unchanged(self, function: Callable[[], list[torch.Tensor]]) -> None:
        """The pool of the function's graph looks the same after a checkpoint has been set that nothing followed."""
        graph, made = capture(function)
        before, held = shown(graph.pool()), live(graph.pool())
        self.assertEqual(set(held), {tensor.data_ptr() for tensor in made})
        torch._C._cuda_setCheckpointPoolState(0, torch._C._cuda_getCheckpointState(0, graph.pool()), [], [])
        self.assertEqual(shown(graph.pool()), before)
        self.assertEqual(live(graph.pool()), held)

    def test_blocks_of_many_sizes_stay(self) -> None:
        self.unchanged(of_many_sizes)

    def test_a_block_in_the_middle_stays(self) -> None:
        self.unchanged(one_in_the_middle)

    def test_two_blocks_in_the_middle_stay(self) -> None:
        self.unchanged(two_in_the_middle)

    def test_two_neighbours_stay(self) -> None:
        self.unchanged(two_neighbours)

    def test_what_came_later_is_gone(self) -> None:
        first, made = capture(lambda: [block(512, 1)])
        pool = first.pool()
        before = shown(pool)
        checkpoint = torch._C._cuda_getCheckpointState(0, pool)
        second, later = capture(lambda: [block(512, 1), block(3)], pool=pool)
        self.assertEqual(set(live(pool)), {tensor.data_ptr() for tensor in made + later})
        torch._C._cuda_setCheckpointPoolState(0, checkpoint, storages(*later), [])
        later.clear()
        after = {segment[0]: segment for segment in shown(pool)}
        self.assertEqual([after.get(segment[0]) for segment in before], before, "there may be more, but nothing else")
        self.assertEqual(set(live(pool)), {tensor.data_ptr() for tensor in made})
        del first, second

    def test_what_died_later_is_there_again(self) -> None:
        graph, made = capture(lambda: [block(512, 1), block(512, 1), block(3)])
        pool, addresses = graph.pool(), {tensor.data_ptr() for tensor in made}
        checkpoint = torch._C._cuda_getCheckpointState(0, pool)
        made.clear()
        self.assertEqual(live(pool), {})
        torch._C._cuda_setCheckpointPoolState(0, checkpoint, [], [])
        self.assertEqual(set(live(pool)), addresses)
        while addresses:
            torch._C._cuda_cudaCachingAllocator_raw_delete(addresses.pop())
            self.assertEqual(set(live(pool)), addresses)

    def test_a_storage_takes_over_what_is_there_again(self) -> None:
        source = torch.full((2 * MIB,), 5, dtype=torch.uint8).cuda()
        graph, made = capture(lambda: [block(2).copy_(source), block(2).copy_(source), block(20)])
        pool, addresses, sizes = graph.pool(), [tensor.data_ptr() for tensor in made], [tensor.numel() for tensor in made]
        graph.replay()
        checkpoint = torch._C._cuda_getCheckpointState(0, pool)
        made.clear()
        self.assertEqual(live(pool), {})
        again: list[torch.Tensor | None] = [over(address, size) for address, size in zip(addresses, sizes)]
        source.copy_(torch.full((2 * MIB,), 6, dtype=torch.uint8))
        graph.replay()
        self.assertEqual([tensor[:1].item() for tensor in again[:2]], [6, 6])
        torch._C._cuda_setCheckpointPoolState(0, checkpoint, [], storages(again[0], again[1]))
        self.assertEqual(set(live(pool)), set(addresses))
        for number in (0, 1):
            again[number] = None
            self.assertEqual(set(live(pool)), set(addresses[number + 1 :]))
        again[2] = None  # which had no part in it
        self.assertEqual(set(live(pool)), {addresses[2]})
        torch._C._cuda_cudaCachingAllocator_raw_delete(addresses[2])
        self.assertEqual(live(pool), {})

    def test_states_come_back_after_a_larger_capture(self) -> None:
        pool, stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
        nothing, _ = capture(lambda: None, pool, stream)
        empty = torch._C._cuda_getCheckpointState(0, pool)
        first, little = capture(lambda: block(2), pool, stream)
        address = little.data_ptr()
        little_state = torch._C._cuda_getCheckpointState(0, pool)
        del little
        torch._C._cuda_setCheckpointPoolState(0, empty, [], [])
        second, much = capture(lambda: block(32), pool, stream)
        self.assertEqual(live(pool), {much.data_ptr(): 32 * MIB})
        torch._C._cuda_setCheckpointPoolState(0, empty, storages(much), [])
        del much
        self.assertEqual(live(pool), {})
        first.replay()
        again = over(address, 2 * MIB)
        torch._C._cuda_setCheckpointPoolState(0, little_state, [], storages(again))
        self.assertEqual(live(pool), {address: 2 * MIB})
        del again
        self.assertEqual(live(pool), {})
        del nothing, first, second
