#!/usr/bin/env python3
"""Tests of tools/trace_model.py: traces of small models against what arithmetic says about them.

Skips (77) without PyTorch. No result is written down here: expectations are formulas in the models' shapes.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
SCRIPT = TOOLS / "trace_model.py"
sys.path.insert(0, str(TOOLS))
sys.dont_write_bytecode = True

import trace_model

trace_model.find_torch()
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")

from modeltrace import events, kernels, training
from modeltrace.events import ALLOC, FREE, PHASE_BEGIN, PHASE_END, STEP, STREAM_SYNC, Event, Trace, TraceError
from modeltrace.models import MODELS
from modeltrace.training import Run

BF16, FP32, INT64 = 2, 4, 8
GPT2 = dataclasses.replace(MODELS["gpt2-124m"], layers=2)
LLAMA = dataclasses.replace(MODELS["llama-1b"], layers=2)
MOE = dataclasses.replace(MODELS["moe-small"], layers=2)


def record_anew(shape: object, **settings: object) -> Trace:
    """A trace of a few iterations over a small batch."""
    run = Run(**{"shape": shape, "batch": 2, "tokens": 128, "iterations": 2} | settings)  # type: ignore[arg-type]
    return training.trace(run, "test")[0]


record = functools.cache(record_anew)  # tests only read


def gpt2_parameters(shape: object) -> int:
    """Two embeddings (the head is tied), twelve h*h a layer with their biases and norms, the last norm."""
    h = shape.hidden
    return (shape.vocabulary + shape.tokens) * h + shape.layers * (12 * h * h + 13 * h) + 2 * h


def live_at(trace: Trace, kind: int, nth: int, text: str = "") -> list[tuple[Event, int]]:
    """The blocks live behind the nth event of `kind` (with that text), each with the number of its phase."""
    live: dict[int, Event] = {}
    seen = 0
    for event in trace.events:
        if event.kind == ALLOC:
            live[event.id] = event
        elif event.kind == FREE:
            del live[event.id]
        elif event.kind == kind and trace.text(event.aux) == text:
            if seen == nth:
                return [(block, block.phase) for block in live.values()]
            seen += 1
    raise AssertionError(f"event {kind} {text!r} occurs {seen} times only")


def total(blocks: list[tuple[Event, int]], phase: int | None = None) -> int:
    """Bytes of the blocks, or of those that were taken in one phase."""
    return sum(block.size for block, of in blocks if phase in (None, of))


def phases(trace: Trace) -> dict[str, int]:
    """The number of each phase by name."""
    return {trace.text(event.aux): event.phase for event in trace.events if event.kind == PHASE_BEGIN}


def saved_per_layer(shape: object, **settings: object) -> float:
    """Bytes that one more layer keeps for backward, for each token. Two depths: what is not per layer cancels out."""
    deep = dataclasses.replace(shape, layers=shape.layers + 2)
    # the second forward: no gradients, states and workspaces there already
    sizes = [total(live_at(record(s, **settings), PHASE_END, 1, "forward"), 1) for s in (shape, deep)]
    return (sizes[1] - sizes[0]) / 2 / (2 * 128)


class Sizes(unittest.TestCase):
    """What is live when."""

    def test_residents_are_the_parameters(self) -> None:
        trace = record(GPT2)
        residents = [event for event in trace.events if event.flags & events.RESIDENT]
        self.assertEqual(sum(event.size for event in residents), BF16 * gpt2_parameters(GPT2))
        self.assertEqual(residents, trace.events[: len(residents)])

    def test_gpt2_saves_34h(self) -> None:
        """34h (Korthikanti et al.); on top, log-sum-exp, four norm statistics and the random state: within 1 %."""
        self.assertAlmostEqual(saved_per_layer(GPT2) / (34 * GPT2.hidden), 1.0, delta=0.01)

    def test_llama_saves_16h_8f(self) -> None:
        """16h + 8f for as many key heads as query heads, within 1 %: eager SwiGLU keeps silu(gate) beside gate, up and
        their product (a fused one keeps 6f)."""
        shape = dataclasses.replace(LLAMA, key_heads=LLAMA.heads)
        self.assertAlmostEqual(saved_per_layer(shape) / (16 * shape.hidden + 8 * shape.feed), 1.0, delta=0.01)

    def test_recomputation_saves_the_input_only(self) -> None:
        self.assertEqual(saved_per_layer(GPT2, recompute="full"), 2 * GPT2.hidden)

    def test_selective_recomputation_saves_products(self) -> None:
        """Between a block's input and everything: the outputs of qkv, attention, projection and feed-forward."""
        saved = saved_per_layer(GPT2, recompute="selective") / GPT2.hidden
        self.assertAlmostEqual(saved, 2 + 6 + 2 + 2 + 8 + 2, delta=0.3)

    def test_gradients_live_across_the_step(self) -> None:
        for microbatches in (1, 3):
            with self.subTest(microbatches=microbatches):
                trace = record(GPT2, micro_batches=microbatches)
                for step in (0, 1):
                    taken = total(live_at(trace, STEP, step), phases(trace)["backward"])
                    expected = BF16 * gpt2_parameters(GPT2) + kernels.CUBLAS_WORKSPACE_BYTES
                    self.assertEqual(taken, expected, f"step {step}")

    def test_only_adapters_have_gradients(self) -> None:
        rank = 4
        trace = record(LLAMA, lora=rank)
        h, f, k = LLAMA.hidden, LLAMA.feed, LLAMA.hidden * LLAMA.key_heads // LLAMA.heads
        adapters = LLAMA.layers * rank * (2 * (h + h) + 2 * (h + k) + 3 * (h + f))
        taken = total(live_at(trace, STEP, 1), phases(trace)["backward"])
        self.assertEqual(taken, BF16 * adapters + kernels.CUBLAS_WORKSPACE_BYTES)

    def test_output_lives_until_the_next(self) -> None:
        trace = record(GPT2)
        logits = BF16 * 2 * 128 * GPT2.vocabulary
        self.assertIn(
            logits, [block.size for block, phase in live_at(trace, STEP, 0) if phase == phases(trace)["forward"]]
        )

    def test_end_leaves_weights_states_and_workspaces(self) -> None:
        weights = gpt2_parameters(GPT2)
        for optimizer, states in (("adamw", 2), ("adamw-fused", 2), ("adamw-loop", 2), ("sgd", 0), ("sgd-momentum", 1)):
            with self.subTest(optimizer=optimizer):
                *_, (_, live) = events.live_bytes(record(GPT2, optimizer=optimizer))
                steps = live - BF16 * weights * (1 + states) - 2 * kernels.CUBLAS_WORKSPACE_BYTES
                # fused keeps its step counters on the device
                self.assertEqual(steps, FP32 * (5 + 12 * GPT2.layers - 1) if optimizer == "adamw-fused" else 0)

    def test_foreach_takes_every_root_at_once(self) -> None:
        """AdamW's foreach form makes the roots of all second moments together, which decides many peaks."""
        trace = record(GPT2)
        steps = live = most = 0
        for event in trace.events:
            steps += event.kind == STEP
            if steps == 1 and event.phase == phases(trace)["optimizer"]:
                live += {ALLOC: 1, FREE: -1}.get(event.kind, 0)
                most = max(most, live)
        self.assertEqual(most, sum(bool(event.flags & events.RESIDENT) for event in trace.events))

    def test_amp_keeps_weights_in_fp32(self) -> None:
        residents = [event.size for event in record(GPT2, dtype="amp").events if event.flags & events.RESIDENT]
        self.assertEqual(sum(residents), FP32 * gpt2_parameters(GPT2))


class Order(unittest.TestCase):
    """Marks, repetition, and who asked."""

    def test_traces_are_valid(self) -> None:
        for name, settings in {
            "plain": {}, "recompute": {"recompute": "full"}, "selective": {"recompute": "selective"},
            "micro-batches": {"micro_batches": 2}, "eval": {"eval_every": 1}, "clip": {"clip": 1.0},
        }.items():  # fmt: skip
            with self.subTest(name):
                events.check(record(GPT2, **settings))

    def test_gradients_meet_in_place(self) -> None:
        """A block's backward makes ten tensors as wide as its input: behind two norms, two dropouts, projection, qkv
        and feed-forward one each, behind attention three. The sums where its two residuals join make none."""
        made = []
        for layers in (2, 4):
            trace = record(dataclasses.replace(GPT2, layers=layers))
            width = (ALLOC, phases(trace)["backward"], BF16 * 2 * 128 * GPT2.hidden)
            made.append(sum((event.kind, event.phase, event.size) == width for event in trace.events))
        self.assertEqual((made[1] - made[0]) / 2 / 2, 10)

    def test_accumulation_is_in_place(self) -> None:
        """A later micro-batch allocates what the first did, but for the workspace: sums add to the first's
        gradients."""
        trace = record(GPT2, micro_batches=2)
        sizes = [collections.Counter[int](), collections.Counter[int]()]
        steps = 0
        for event in trace.events:
            steps += event.kind == STEP
            if steps == 1 and event.kind == ALLOC and event.phase == phases(trace)["backward"]:
                sizes[event.microbatch][event.size] += 1
        self.assertEqual(sizes[0], sizes[1])

    def test_micro_batches_are_counted(self) -> None:
        trace = record(GPT2, micro_batches=3)
        begun = [event.microbatch for event in trace.events if event.kind == PHASE_BEGIN and event.phase == 1]
        self.assertEqual(begun, [0, 1, 2] * 2)

    def test_steps_are_alike(self) -> None:
        trace = record(GPT2, iterations=3)
        steps, current = [], []
        for event in trace.events:
            current.append((event.kind, event.size, event.module, event.phase))
            if event.kind == STEP:
                steps.append(current)
                current = []
        self.assertEqual(steps[1], steps[2])
        self.assertNotEqual(steps[0], steps[1])
        self.assertEqual(total(live_at(trace, STEP, 1)), total(live_at(trace, STEP, 2)))

    def test_backward_knows_modules_and_threads(self) -> None:
        trace = record(GPT2, recompute="full")
        backward = phases(trace)["backward"]
        found = {trace.text(event.module) for event in trace.events if event.kind == ALLOC and event.phase == backward}
        expected = {f"blocks.{layer}.{part}" for layer in range(2) for part in ("qkv", "norm1", "feed2")} | {"head"}
        self.assertLessEqual(expected, found)
        threads = {(event.phase == backward, event.thread) for event in trace.events if event.kind == ALLOC}
        self.assertEqual(threads, {(False, 0), (True, 1)})

    def test_reading_the_loss_waits(self) -> None:
        trace = record(GPT2, iterations=3)
        self.assertEqual(sum(event.kind == STREAM_SYNC for event in trace.events), 3)

    def test_eval_every(self) -> None:
        trace = record(GPT2, iterations=4, eval_every=2)
        evaluations = [event for event in trace.events if event.kind == PHASE_BEGIN and trace.text(event.aux) == "eval"]
        self.assertEqual(len(evaluations), 2)

    def test_lengths_vary_with_the_seed(self) -> None:
        for vary in ("buckets", "wide"):
            with self.subTest(vary):
                one, again, other = (record_anew(LLAMA, vary=vary, micro_batches=4, seed=seed) for seed in (1, 1, 2))
                self.assertTrue(events.encode(one) == events.encode(again), "one seed, two traces")
                self.assertFalse(events.encode(one) == events.encode(other), "two seeds, one trace")
                batches = {event.size for event in one.events if event.kind == ALLOC and event.phase == 1}
                lengths = {size // INT64 // 2 for size in batches if size % (INT64 * 2) == 0}
                self.assertGreater(len(lengths), 2)

    def test_experts_are_dynamic_and_share_the_tokens(self) -> None:
        trace = record(MOE)
        loads = collections.Counter[tuple[int, str]]()
        steps = 0
        for event in trace.events:
            steps += event.kind == STEP
            module = trace.text(event.module)
            if event.kind == ALLOC and event.flags & events.DYNAMIC:
                self.assertIn(".experts.", module)
            if event.kind == ALLOC and event.phase == 1 and module.endswith("gate_up"):
                self.assertTrue(event.flags & events.DYNAMIC)
                loads[steps, module.rsplit(".", 2)[0]] += event.size
        self.assertEqual(len(loads), 2 * MOE.layers)
        self.assertEqual(set(loads.values()), {2 * 128 * MOE.chosen * 2 * MOE.feed * BF16})

    def test_weight_gradients_of_experts_are_not_dynamic(self) -> None:
        trace = record(MOE)
        backward = phases(trace)["backward"]
        size = BF16 * MOE.hidden * 2 * MOE.feed
        flags = {
            event.flags for event in trace.events if (event.kind, event.phase, event.size) == (ALLOC, backward, size)
        }
        self.assertEqual(flags, {0})

    def test_attention_backward_takes_fp32_scratch(self) -> None:
        trace = record(GPT2)
        size = FP32 * 2 * 128 * GPT2.hidden
        pairs = zip(trace.events, trace.events[1:], strict=False)
        scratch = [a for a, b in pairs if (a.kind, a.size, b.kind, b.id) == (ALLOC, size, FREE, a.id)]
        self.assertEqual(len(scratch), 2 * GPT2.layers)


class File(unittest.TestCase):
    """The file, and what is refused."""

    def test_round_trip(self) -> None:
        trace = record(GPT2)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("t.seamtrace", "t.seamtrace.zst"):
                path = pathlib.Path(folder, name)
                events.write(trace, path)
                self.assertEqual(events.read(path).events, trace.events, name)
                self.assertEqual([entry.name for entry in pathlib.Path(folder).iterdir()], [name])
                path.unlink()

    def test_damage_is_found(self) -> None:
        data = events.encode(Trace("x", [Event(STEP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)]))
        for index in range(len(data)):
            damaged = data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :]
            for bad in (damaged, data[:index]):
                with self.assertRaises(TraceError, msg=f"byte {index}"):
                    events.decode(bad)

    def test_invariants_are_checked(self) -> None:
        zero = Event(STEP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        alloc = zero._replace(kind=ALLOC, id=1, size=8)
        for name, bad in {
            "T1: event 1 allocates": [alloc, alloc],
            "T1: event 0 frees": [alloc._replace(kind=FREE)],
            "T2": [alloc, alloc._replace(kind=FREE, size=9)],
            "T3": [zero._replace(time_ns=1), zero],
            "T4": [zero._replace(module=7)],
            "T5": [zero._replace(kind=PHASE_BEGIN)],
        }.items():
            with self.assertRaisesRegex(TraceError, name):
                events.check(Trace("", list(bad)))


class Bundled(unittest.TestCase):
    """The traces that come with the product, and what their README says of them."""

    folder = ROOT / "bench/traces"

    def test_each_is_valid_and_as_described(self) -> None:
        rows = {}
        for line in (self.folder / "README.md").read_text().splitlines():
            if line.startswith("| `"):
                name, *numbers, command = (cell.strip(" `") for cell in line.strip("|").split("|"))
                rows[name] = (*map(int, numbers), command)
        found = {}
        for path in self.folder.glob("*.seamtrace.zst"):
            trace = events.read(path)
            events.check(trace)
            requests = sum(event.kind == ALLOC for event in trace.events)
            peak = max(live for _, live in events.live_bytes(trace))
            found[path.name.split(".")[0]] = (
                len(trace.events), requests, peak, trace.source.removeprefix("trace_model ")
            )  # fmt: skip
        self.assertEqual(found, rows)
        self.assertGreater(len(found), 0)

    def test_they_are_small(self) -> None:
        self.assertLess(sum(path.stat().st_size for path in self.folder.iterdir()), 2_000_000)


class Command(unittest.TestCase):
    """The command line."""

    def run_script(self, *arguments: str, python: str = sys.executable, **environment: str) -> tuple[int, str]:
        done = subprocess.run(
            [python, str(SCRIPT), *arguments], capture_output=True, text=True, env=environment or None
        )
        return done.returncode, done.stdout + done.stderr

    def test_writes_what_it_says(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "t.seamtrace.zst")
            options = "--model gpt2-124m --layers 1 --batch 1 --seq 64 --iterations 2".split()
            status, text = self.run_script(*options, "-o", str(path))
            self.assertEqual(status, 0, text)
            trace = events.read(path)
            peak = max(live for _, live in events.live_bytes(trace))
            self.assertIn(f"{len(trace.events)} events", text)
            self.assertIn(f"peak live {peak} bytes", text)
            self.assertEqual(trace.source, " ".join(["trace_model", *options]))

    def test_refusals(self) -> None:
        good = ("--model", "gpt2-124m", "-o", "t.seamtrace")
        for name, arguments, status, text in (
            ("no arguments", (), 2, "required"),
            ("model", ("--model", "gpt9", "-o", "t.seamtrace"), 2, "invalid choice"),
            ("suffix", ("--model", "gpt2-124m", "-o", "t.bin"), 2, "must end in"),
            ("folder", ("--model", "gpt2-124m", "-o", "/nonexistent/t.seamtrace"), 2, "no such directory"),
            ("positions", (*good, "--seq", "2048"), 2, "1024 positions"),
            ("zero", (*good, "--batch", "0"), 2, "not a positive number"),
            ("help", ("--help",), 0, "--micro-batches"),
        ):
            with self.subTest(name):
                found, output = self.run_script(*arguments)
                self.assertEqual((found, text in output), (status, True), output)
                if status == 2:
                    self.assertEqual(output.count("\n"), 1, output)

    def test_without_torch(self) -> None:
        """-S hides every installed package from the interpreter."""
        command = [sys.executable, "-I", "-S", str(SCRIPT), "--help"]
        done = subprocess.run(command, capture_output=True, text=True, env={"SEAM_VENV": "/nonexistent"})
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("tools/setup --torch", done.stderr)


if __name__ == "__main__":
    unittest.main()
