#!/usr/bin/env python3
"""The recorder against a GPU: a model like that of a recorded PyTorch memory snapshot, traced, must ask for what was
recorded.

The snapshot (train_gpt_12x768 of the folder SEAM_TRACES) holds a forward, a loss and a backward in fp32, in eager
mode, with gradients there from before. Its sizes and frames tell what the program computed; the program gpt_12x768 is
written after them.

Skips (77) without PyTorch or without the snapshot.
"""

from __future__ import annotations

import difflib
import gc
import lzma
import os
import pathlib
import pickle
import sys
import unittest
import warnings
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench/fit/programs")]
sys.dont_write_bytecode = True

import trace_model

SNAPSHOT = pathlib.Path(os.environ.get("SEAM_TRACES", "")) / "snapshots/train_gpt_12x768.pickle.xz"
if not os.environ.get("SEAM_TRACES") or not SNAPSHOT.exists():
    print("SEAM_TRACES names no folder with snapshots/train_gpt_12x768.pickle.xz: skipped", file=sys.stderr)
    sys.exit(77)
trace_model.find_torch()
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")

import torch
import gpt_12x768
from modeltrace import events
from modeltrace.recorder import Recorder

BATCH, TOKENS = gpt_12x768.BATCH, gpt_12x768.TOKENS


def traced() -> list[tuple[bool, int]]:
    """Allocations (True) and frees of the second of two equal forwards and backwards, with their sizes."""
    recorder = Recorder("test")
    gc.disable()
    with torch.autograd.set_multithreading_enabled(False), recorder:
        with torch.device("meta"):
            model = gpt_12x768.Transformer()
        ids = torch.zeros(BATCH, TOKENS, dtype=torch.int64).to("meta")
        for _ in range(2):
            recorder.trace.events.clear()
            with recorder.phase("forward"):
                logits = model(ids)
                loss = gpt_12x768.loss_of(logits, ids)
            with recorder.phase("backward"):
                loss.backward()
        recorder.end()
    gc.enable()
    kinds = (events.ALLOC, events.FREE)
    return [(event.kind == events.ALLOC, event.size) for event in recorder.trace.events if event.kind in kinds]


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} in a snapshot")


def recorded() -> list[tuple[bool, int]]:
    """The same of the snapshot."""
    with lzma.open(SNAPSHOT) as file:
        traces = PlainUnpickler(file).load()["device_traces"]
    kinds = {"alloc": True, "free_completed": False}
    entries = max(traces, key=len)
    return [(kinds[entry["action"]], entry["size"]) for entry in entries if entry["action"] in kinds]


def matched(real: list[Any], ours: list[Any]) -> float:
    """The share of both that is common, in order."""
    blocks = difflib.SequenceMatcher(None, real, ours, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / max(len(real), len(ours))


def peak(steps: list[tuple[bool, int]]) -> int:
    live = most = 0
    for taken, size in steps:
        live += size if taken else -size
        most = max(most, live)
    return most


class Recorded(unittest.TestCase):
    real: list[tuple[bool, int]]
    ours: list[tuple[bool, int]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.real, cls.ours = recorded(), traced()

    def test_allocations(self) -> None:
        share = matched([size for taken, size in self.real if taken], [size for taken, size in self.ours if taken])
        self.assertGreater(share, 0.995)

    def test_allocations_and_frees(self) -> None:
        self.assertGreater(matched(self.real, self.ours), 0.99)

    def test_peak(self) -> None:
        """To a ten-thousandth: what is there before counts in neither."""
        self.assertAlmostEqual(peak(self.ours) / peak(self.real), 1.0, delta=1e-4)


if __name__ == "__main__":
    unittest.main()
