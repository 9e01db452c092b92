"""devices.py: two devices: each has memory, streams and limits of its own, and tensors go from one to the other."""

from __future__ import annotations

import gc
import unittest

import torch
from device import ALLOCATOR, EMULATOR, LIMIT_BYTES, MIB, DeviceTest, only, work

TWO = torch.cuda.device_count() >= 2


def used(device: int) -> int:
    """Bytes in tensors of the device."""
    if ALLOCATOR == "pluggable":
        import seamalloc

        return seamalloc.stats(device)["live_bytes"]
    return torch.cuda.memory_allocated(device)


def taken(device: int) -> int:
    """Bytes that the process has of the device."""
    free, total = torch.cuda.mem_get_info(device)
    return total - free


def block(count: int, device: int) -> torch.Tensor:
    """So many MiB of the device."""
    return torch.empty(count * MIB, dtype=torch.uint8, device=f"cuda:{device}")


@unittest.skipUnless(TWO, "one device only")
class Devices(DeviceTest):
    def setUp(self) -> None:
        super().setUp()
        torch.cuda.set_device(0)
        torch.cuda.set_per_process_memory_fraction(1.0, 1)
        self.before = [used(device) for device in range(2)]

    def tearDown(self) -> None:
        torch.cuda.set_device(0)
        self.clean()
        self.assertEqual([used(device) for device in range(2)], self.before, "no tensor is left on either device")
        super().tearDown()

    def need_reach(self, reach: bool = True) -> None:
        """PyTorch copies a pluggable allocator's memory as cudaMalloc's, which mapped memory is not where no device can be let in to it."""
        if (not reach or ALLOCATOR == "pluggable") and torch.cuda.can_device_access_peer(0, 1) != reach:
            self.skipTest("the devices can" + (" not" if reach else "") + " reach each other")

    def clean(self) -> None:
        gc.collect()
        for device in range(2 if TWO else 1):
            torch.cuda.synchronize(device)
        torch.cuda.empty_cache()

    def test_each_has_memory_of_its_own(self) -> None:
        taken_before = [taken(device) for device in range(2)]
        tensors = [block(8 * (1 + device), device) for device in range(2)]
        self.assertEqual([used(device) - self.before[device] for device in range(2)], [8 * MIB, 16 * MIB])
        for device in range(2):
            self.assertEqual(tensors[device].device.index, device)
            self.assertGreaterEqual(taken(device) - taken_before[device], 8 * (1 + device) * MIB)
            if EMULATOR is not None:
                self.assertEqual(EMULATOR.fakecuda_device_of(tensors[device].data_ptr()), device)
        del tensors
        torch.cuda.empty_cache()
        self.assertEqual([taken(device) for device in range(2)], taken_before, "empty_cache() is of all devices")

    def test_the_cache_is_emptied_behind_the_work_of_each(self) -> None:
        """Whatever device is current: memory that work may yet touch stays mapped until it is done."""
        with torch.cuda.device(1):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                tensor = block(48, 1)
                work(stream, tensor)
                del tensor
        with torch.cuda.device(0):
            torch.cuda.empty_cache()
        torch.cuda.synchronize(1)
        self.assertEqual([used(device) for device in range(2)], self.before)

    def test_a_tensor_is_freed_whatever_device_is_current(self) -> None:
        for current in range(2):
            tensors = [block(3, device) for device in (0, 1, 1, 0, 1)]
            with torch.cuda.device(current):
                while tensors:
                    tensors.pop(0)
            self.assertEqual([used(device) for device in range(2)], self.before)

    def test_contents_go_from_device_to_device(self) -> None:
        self.need_reach()
        for count in (100, 5 * MIB, 33 * MIB + 5):
            host = torch.randint(0, 256, (count,), dtype=torch.uint8)
            first = host.to("cuda:0")
            second = first.to("cuda:1")
            self.assertEqual(second.device.index, 1)
            self.assertTrue(torch.equal(second.cpu(), host), f"{count} bytes to device 1")
            back = second.to("cuda:0", non_blocking=True)
            with torch.cuda.device(1):
                again = back.to("cuda:1")
            self.assertTrue(torch.equal(again.cpu(), host), f"{count} bytes there and back")
            first.copy_(second[:count])
            del first, second, back, again

    def test_memory_made_after_the_first_copy_can_be_copied(self) -> None:
        self.need_reach()
        host = torch.randint(0, 256, (7 * MIB,), dtype=torch.uint8)
        kept = []
        for step in range(6):
            kept.append(host.to(f"cuda:{step % 2}"))
            kept.append(kept[-1].to(f"cuda:{1 - step % 2}"))
        for tensor in kept:
            self.assertTrue(torch.equal(tensor.cpu(), host))

    def test_a_copy_runs_in_order_with_the_streams_of_both(self) -> None:
        self.need_reach()
        host = torch.randint(0, 256, (4 * MIB,), dtype=torch.uint8)
        with torch.cuda.device(0):
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                first = host.to("cuda:0")
                work(side)
                second = first.to("cuda:1")
                del first
                other = torch.zeros(4 * MIB, dtype=torch.uint8).to("cuda:0", non_blocking=True)
        self.assertTrue(torch.equal(second.cpu(), host))
        del other

    @only("pluggable")
    def test_devices_apart_copy_by_way_of_the_host(self) -> None:
        self.need_reach(False)
        first = torch.full((MIB,), 5, dtype=torch.uint8).to("cuda:0")
        with self.assertRaisesRegex(RuntimeError, "invalid argument"):
            first.to("cuda:1")
        self.assertEqual(first.cpu().to("cuda:1").cpu().sum().item(), 5 * MIB)

    def check_waits(self, device: int, other: torch.cuda.Stream, touch: bool = False) -> None:
        """A freed block of the current stream is used again when `other`, which is busy or is kept so with the block, has passed, and not before."""
        shared = block(8, device)
        address = shared.data_ptr()
        if touch:
            work(other, shared)
        shared.record_stream(other)
        del shared
        soon = block(8, device)
        self.assertNotEqual(soon.data_ptr(), address, "given too soon")
        other.synchronize()
        self.assertEqual(block(8, device).data_ptr(), address, "not given when it could be")

    def test_a_block_waits_for_a_stream_of_its_device(self) -> None:
        with torch.cuda.device(1):
            mine, other = torch.cuda.Stream(), torch.cuda.Stream()
            with torch.cuda.stream(mine):
                self.check_waits(1, other, touch=True)

    def test_a_block_waits_for_a_stream_of_another_device(self) -> None:
        mine = torch.cuda.Stream(0)
        with torch.cuda.device(1):
            other = torch.cuda.Stream(1)
            work(other)
        with torch.cuda.stream(mine):
            self.check_waits(0, other)

    @only("class")
    def test_a_block_waits_for_the_default_stream_of_another_device(self) -> None:
        """Its handle is NULL, as that of the block's own default stream is: PyTorch's own takes it for that; a pluggable allocator is told the handle alone."""
        other = torch.cuda.default_stream(1)
        with torch.cuda.device(1):
            work(other)
        self.check_waits(0, other)

    def test_each_has_a_share_of_its_own(self) -> None:
        total = torch.cuda.get_device_properties(1).total_memory
        torch.cuda.set_per_process_memory_fraction(64 * MIB / total, 1)
        text = self.shortage(lambda: block(128, 1))
        self.assertIn("128.00 MiB", text)
        self.assertRegex(text, r"(GPU|device) 1")
        first = block(128, 0)
        torch.cuda.set_per_process_memory_fraction(1.0, 1)
        second = block(128, 1)
        torch.cuda.set_per_process_memory_fraction(LIMIT_BYTES / total, 0)
        del first, second

    @only("native", "class")
    def test_figures_are_of_one_device(self) -> None:
        torch.cuda.reset_peak_memory_stats(1)
        before = [torch.cuda.memory_stats(device) for device in range(2)]
        tensor = block(6, 1)
        after = [torch.cuda.memory_stats(device) for device in range(2)]
        for name in ("allocated_bytes.all.current", "requested_bytes.all.current", "active_bytes.all.peak"):
            self.assertEqual(after[1][name] - before[1][name], 6 * MIB, name)
            self.assertEqual(after[0][name], before[0][name], name)
        self.assertEqual(torch.cuda.max_memory_allocated(1) - self.before[1], 6 * MIB)
        del tensor

    @only("native", "class")
    def test_snapshots_and_histories_are_of_both(self) -> None:
        torch.cuda.memory._record_memory_history(stacks="python")
        try:
            tensors = [block(5, device) for device in range(2)]
            snapshot = torch.cuda.memory._snapshot()
        finally:
            torch.cuda.memory._record_memory_history(None)
        self.assertEqual(len(snapshot["device_traces"]), 2)
        for device in range(2):
            address = tensors[device].data_ptr()
            self.assertIn(address, [entry["addr"] for entry in snapshot["device_traces"][device] if entry["action"] == "alloc"])
            self.assertNotIn(address, [entry["addr"] for entry in snapshot["device_traces"][1 - device]])
            where = {segment["device"] for segment in snapshot["segments"] for part in segment["blocks"]
                     if part["state"] == "active_allocated" and segment["address"] <= address < segment["address"] + segment["total_size"]}
            self.assertEqual(where, {device})
        del tensors

    def test_a_graph_of_the_second_device(self) -> None:
        with torch.cuda.device(1):
            source = torch.full((MIB,), 3, dtype=torch.uint8).to("cuda:1")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                made = torch.empty_like(source)
                made.copy_(source)
            source.copy_(torch.full((MIB,), 9, dtype=torch.uint8))
            graph.replay()
            torch.cuda.synchronize(1)
            self.assertEqual(made.cpu().tolist()[:3], [9, 9, 9])
            self.assertEqual(made.device.index, 1)
            del made, graph, source
