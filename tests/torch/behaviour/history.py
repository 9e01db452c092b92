"""history.py: what programs see of their memory afterwards: snapshots, histories, contexts."""

from __future__ import annotations

import json
import pickle
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from device import MIB, DeviceTest, block, only, since


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
