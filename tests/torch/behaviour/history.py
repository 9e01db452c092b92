"""history.py: what programs see of their memory afterwards: snapshots, histories, contexts."""

from __future__ import annotations

import gc
import json
import pickle
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from device import MIB, DeviceTest, block, offered, only, since, work


@contextmanager
def recorded(*what: Any, **how: Any) -> Iterator[None]:
    """The allocator keeps a history."""
    torch.cuda.memory._record_memory_history(*what, **how)
    try:
        yield
    finally:
        torch.cuda.memory._record_memory_history(None)


def actions(snapshot: dict[str, Any]) -> list[str]:
    """What happened."""
    return [entry["action"] for entry in snapshot["device_traces"][0]]


def of_torchscript():  # type: ignore[no-untyped-def]
    """Is compiled by torch.jit."""
    return torch.rand(317, 421, device="cuda")


@only("native", "class")
class History(DeviceTest):
    def test_a_block_is_shown_with_its_line(self) -> None:
        with recorded("state", stacks="python"):
            many = [block(512, 1) for _ in range(300)]
            chance = random.Random(2)
            unused, wanted = block(311 * 411, 1), block(317 * 419, 1)
            while many:
                del many[chance.randrange(len(many))]
            snapshot = torch.cuda.memory._snapshot()
        found = [b for s in snapshot["segments"] for b in s["blocks"] if b["requested_size"] == 317 * 419]
        self.assertEqual([b["address"] for b in found], [wanted.data_ptr()])
        self.assertEqual([b["state"] for b in found], ["active_allocated"])
        self.assertIn("history.py", json.dumps(found[0]["frames"]))
        self.assertTrue(all("frames" in segment for segment in snapshot["segments"]))
        del unused
        from torch.cuda._memory_viz import segments

        self.assertIn("history.py", segments(snapshot, format_flamegraph=str))

    def test_functions_of_cpp_are_in_the_stack(self) -> None:
        with recorded("state", stacks="all"):
            wanted = block(317 * 419, 1)
            shown = torch.cuda.memory._snapshot()["segments"]
        found = [b for s in shown for b in s["blocks"] if b["requested_size"] == wanted.numel()]
        names = [frame["name"] for frame in found[0]["frames"]]
        self.assertTrue(any("::empty" in name for name in names), names)
        self.assertIn("test_functions_of_cpp_are_in_the_stack", names)

    def test_functions_of_torchscript_are_in_the_stack(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = torch.jit.script(of_torchscript)
        with recorded("state", stacks="python"):
            wanted = function()
            shown = torch.cuda.memory._snapshot()["segments"]
        found = [b for s in shown for b in s["blocks"] if b["requested_size"] == 317 * 421 * 4]
        del wanted
        self.assertEqual(found[0]["frames"][0]["name"], "of_torchscript")

    def test_how_much_is_kept_of_the_stack(self) -> None:
        for context, made, gone in (("alloc", True, False), ("all", True, True), ("state", False, False)):
            held: list[torch.Tensor] = []

            def the_request() -> None:
                held.append(block(1000, 1))  # noqa: B023

            def the_free() -> None:
                held.clear()  # noqa: B023

            with recorded(context=context):
                the_request()
                the_free()
                text = json.dumps(torch.cuda.memory._snapshot())
            self.assertEqual(("the_request" in text, "the_free" in text), (made, gone), context)

    def test_recording_changes_on_the_way(self) -> None:
        def first() -> torch.Tensor:
            return block(16, 1)

        def second() -> torch.Tensor:
            return block(16, 1)

        with recorded(context="all", stacks="python"):
            kept = [first()]
            torch.cuda.memory._record_memory_history(context=None)
            kept.append(second())
            text = json.dumps(torch.cuda.memory._snapshot())
        self.assertIn("first", text)
        self.assertNotIn('"second"', text)

    def test_pictures_are_drawn(self) -> None:
        from torch.cuda._memory_viz import segment_plot, trace_plot

        for context in ("all", None):
            with recorded("all", context=context, stacks="python"):
                tensor = block(12345, 1)
                del tensor
                snapshot = torch.cuda.memory._snapshot()
            text = json.dumps(snapshot)
            self.assertEqual("test_pictures_are_drawn" in text, context is not None)
            self.assertIn("12345", text)
            self.assertEqual(pickle.loads(pickle.dumps(snapshot)), snapshot)
            self.assertTrue(trace_plot(snapshot) and segment_plot(snapshot))

    @since(10)
    def test_a_programs_own_words_are_kept(self) -> None:
        with recorded("all"):
            torch.cuda.memory._set_memory_metadata("some words")
            block(1)
            torch.cuda.memory._set_memory_metadata("")
            trace = torch.cuda.memory._snapshot()["device_traces"][0]
            self.assertEqual({entry["user_metadata"] for entry in trace}, {"some words"})
            self.assertNotIn("snapshot", actions({"device_traces": [trace]}), "it is of the next one's history")
            self.assertEqual(actions(torch.cuda.memory._snapshot())[-1], "snapshot")

    @offered(torch.cuda.memory, "_annotate_tensor")
    def test_a_programs_own_words_may_come_later(self) -> None:
        with recorded(context="all"):
            torch.cuda.memory._set_memory_metadata("at first")
            tensor = block(2)
            torch.cuda.memory._set_memory_metadata("")
            torch.cuda.memory._annotate_tensor(tensor, "later")
            torch.cuda.memory._annotate_tensor(tensor[5:], "of a view")
            trace = torch.cuda.memory._snapshot()["device_traces"][0]
            address = tensor.data_ptr()
            said = [(entry["action"], entry["addr"], entry["user_metadata"]) for entry in trace if entry["action"] in ("alloc", "annotate")]
            self.assertEqual(said, [("alloc", address, "at first"), ("annotate", address, "later"), ("annotate", address, "of a view")])
            waits, other = block(3), torch.cuda.Stream()
            pending = waits.data_ptr()
            work(other, waits)
            waits.record_stream(other)
            del tensor, waits
            for gone in (address, pending, 0):
                with self.assertRaisesRegex(RuntimeError, "no live allocation"):
                    torch._C._cuda_annotateMemory(gone, "too late")

    @offered(torch._C, "_cuda_memoryMetadataSupported")
    def test_a_programs_own_words_may_be_a_dictionary(self) -> None:
        self.assertTrue(torch._C._cuda_memoryMetadataSupported())
        try:
            torch.cuda.memory._set_memory_metadata({"step": 3, "phase": "forward"})
            said = torch.cuda.memory._get_memory_metadata()
            self.assertEqual(json.loads(said), {"step": 3, "phase": "forward"})
            torch.cuda.memory._set_memory_metadata(said)
            self.assertEqual(torch.cuda.memory._get_memory_metadata(), said)
            with self.assertRaises(TypeError):
                torch.cuda.memory._set_memory_metadata({"step": object()})
        finally:
            torch.cuda.memory._set_memory_metadata("")

    @offered(torch.cuda.memory, "_allocation_traceback")
    def test_the_line_of_an_address_is_told(self) -> None:
        def the_request() -> torch.Tensor:
            return block(3)

        of = torch.cuda.memory._allocation_traceback
        with recorded(stacks="python"):
            tensor = the_request()
            address = tensor.data_ptr()
            self.assertIn("the_request", [frame["name"] for frame in of(address)])
            del tensor
            self.assertIsNone(of(address))
        tensor = the_request()
        self.assertIsNone(of(tensor.data_ptr()), "nothing was recorded")

    @since(15)
    def test_a_backward_pass_tells_of_the_forward_pass(self) -> None:
        weight = torch.zeros(MIB, device="cuda", requires_grad=True)
        with recorded("all", stacks="python"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.autograd.detect_anomaly(check_nan=False):
                (weight * 2).sum().backward()
            trace = torch.cuda.memory._snapshot()["device_traces"][0]
        told = [entry["forward_frames"] for entry in trace if entry.get("forward_frames")]
        self.assertIn("test_a_backward_pass_tells_of_the_forward_pass", json.dumps(told))

    def test_a_request_tells_of_its_pool(self) -> None:
        with recorded("all"):
            pool = torch.cuda.MemPool()
            with torch.cuda.use_mem_pool(pool):
                inside = block(2)
            outside = block(2)
            trace = torch.cuda.memory._snapshot()["device_traces"][0]
        if "pool_id" not in trace[-1]:
            self.skipTest("not told by this PyTorch")
        told = {entry["addr"]: tuple(entry["pool_id"]) for entry in trace if entry["action"] == "alloc"}
        self.assertEqual((told[inside.data_ptr()], told[outside.data_ptr()]), (tuple(pool.id), (0, 0)))
        del inside, pool
        gc.collect()

    @since(11)
    def test_a_snapshot_without_history_shows_the_same_memory(self) -> None:
        with recorded("all"):
            kept = [block(count) for count in (1, 3, 30)]
            shown = [[(s["address"], s["total_size"], [(b["address"], b["state"]) for b in s["blocks"]]) for s in torch.cuda.memory_snapshot(include_traces=told)] for told in (True, False)]
        self.assertEqual(shown[0], shown[1])
        self.assertTrue({tensor.data_ptr() for tensor in kept} <= {address for _, _, blocks in shown[0] for address, _ in blocks})

    @since(11)
    def test_actions_can_be_left_out(self) -> None:
        for left_out in (["free_requested"], ["free_requested", "free_completed"], ["alloc"], [], None):
            with recorded("all", skip_actions=left_out):
                block(1)
                seen = actions(torch.cuda.memory._snapshot())
            self.assertFalse(set(seen) & set(left_out or ()), left_out)
            self.assertTrue({"alloc", "free_requested", "free_completed"} - set(left_out or ()) <= set(seen), left_out)

    def test_the_newest_entries_are_kept(self) -> None:
        with recorded(max_entries=10):
            for size in range(1, 31):
                block(size * 512, 1)
            trace = torch.cuda.memory._snapshot()["device_traces"][0]
        self.assertLessEqual(len(trace), 10)
        self.assertIn(30 * 512, [entry["size"] for entry in trace if entry["action"] == "alloc"])
        self.assertEqual([entry["time_us"] for entry in trace], sorted(entry["time_us"] for entry in trace))

    def test_running_out_is_in_the_history(self) -> None:
        with recorded("all"):
            self.shortage(lambda: block(1 << 29))
            trace = torch.cuda.memory._snapshot()["device_traces"][0]
        ends = [entry for entry in trace if entry["action"] == "oom"]
        self.assertEqual([entry["size"] for entry in ends], [(1 << 29) * MIB])
        self.assertIn("device_free", ends[0])


@since(15)
@only("native", "class")
class PinnedHistory(DeviceTest):
    """Of pinned memory, which PyTorch's own allocator of the host tells."""

    def setUp(self) -> None:
        super().setUp()
        torch._C._host_emptyCache()

    def told(self) -> list[str]:
        """What happened to pinned memory."""
        return [entry["action"] for entry in torch.cuda.memory._snapshot()["host_traces"]]

    def test_pinned_memory_is_in_the_history_where_it_is_asked_for(self) -> None:
        def the_request() -> torch.Tensor:
            return torch.empty(MIB, dtype=torch.uint8, pin_memory=True)

        with recorded("all", context="alloc", stacks="python", record_pinned_host_memory=True, clear_history=True):
            kept = the_request()
            shown = torch.cuda.memory._snapshot()["host_segments"]
            self.assertEqual([b["state"] for segment in shown for b in segment["blocks"]], ["active_allocated"])
            self.assertIn("the_request", json.dumps(shown))
            del kept
            torch._C._host_emptyCache()
            self.assertEqual(self.told(), ["segment_alloc", "alloc", "free_requested", "free_completed", "segment_free"])
        for how in ({}, None):
            if how is not None:
                torch.cuda.memory._record_memory_history("all", **how)
            kept = the_request()
            self.assertEqual((torch.cuda.memory._snapshot()["host_segments"], self.told()), ([], []))
            del kept
            torch._C._host_emptyCache()
            torch.cuda.memory._record_memory_history(None)

    def test_the_devices_memory_may_be_left_out(self) -> None:
        with recorded("all", record_pinned_host_memory=True, record_cuda=False, clear_history=True):
            pinned, tensor = torch.empty(MIB, dtype=torch.uint8, pin_memory=True), block(1)
            self.assertTrue(self.told())
            self.assertEqual(torch.cuda.memory._snapshot()["device_traces"][0], [])
        del pinned, tensor

    def test_the_newest_entries_of_pinned_memory_are_kept(self) -> None:
        with recorded("all", max_entries=4, record_pinned_host_memory=True, clear_history=True):
            for size in range(10):
                torch.empty(MIB + size, dtype=torch.uint8, pin_memory=True)
                torch._C._host_emptyCache()
            self.assertEqual(self.told(), ["alloc", "free_requested", "free_completed", "segment_free"])
