#!/usr/bin/env python3
"""The table of training runs (bench/torch/run.py), with runs made up here: no GPU and no PyTorch are needed."""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bench/torch/run.py"


def load() -> Any:
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("torch_runs", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


runs = load()


def made_up(allocator: str, losses: list[str], **more: Any) -> dict[str, Any]:
    """A run's line."""
    return {"case": "one", "allocator": allocator, "plan": "off", "losses": losses, "out_of_memory": False} | more


class Table(unittest.TestCase):
    """What the table says."""

    def results(self, *lines: dict[str, Any]) -> dict[str, Any]:
        """Results of these runs alone."""
        return {"machine": "none", "steps": 2, "limit": 1.0, "runs": list(lines), "checks": [], "largest": [], "left_out": []}

    def test_losses_are_compared_with_natives(self) -> None:
        """Different losses are shown, and are a failure."""
        same = self.results(made_up("native", ["0x1p+1", "0x1p+2"]), made_up("class", ["0x1p+1", "0x1p+2"]))
        other = self.results(made_up("native", ["0x1p+1", "0x1p+2"]), made_up("class", ["0x1p+1", "0x1.8p+2"]))
        self.assertIn("| yes |", runs.table(same))
        self.assertFalse(runs.failed(same))
        self.assertIn("| NO |", runs.table(other))
        self.assertTrue(runs.failed(other))

    def test_share_of_what_is_reserved(self) -> None:
        """Allocated by reserved, both in GiB."""
        text = runs.table(self.results(made_up("native", [], peak_allocated_bytes=3 << 30, peak_reserved_bytes=4 << 30)))
        self.assertIn("| 3.000 | 4.000 | 75.00 |", text)

    def test_a_failed_run_is_shown(self) -> None:
        """Its reason stands in the table, and the whole has failed."""
        results = self.results({"case": "one", "allocator": "class", "plan": "off", "error": "no such library"})
        self.assertIn("failed: no such library", runs.table(results))
        self.assertTrue(runs.failed(results))

    def test_a_failed_check_is_a_failure(self) -> None:
        """One line of many is enough."""
        results = self.results(made_up("native", []))
        results["checks"] = [{"allocator": "class", "plan": "off", "lines": ["ok graph", "not ok pool: why"]}]
        self.assertTrue(runs.failed(results))
        results["checks"][0]["lines"][1] = "ok pool"
        self.assertFalse(runs.failed(results))


class Largest(unittest.TestCase):
    """The search of the largest batch."""

    def test_finds_the_border(self) -> None:
        """Wherever it is."""
        arguments = argparse.Namespace(device="cuda", limit=1.0)
        for border in (0, 1, 2, 3, 7, 8, 9, 100):
            tried: list[int] = []

            def train(_case: str, _allocator: str, _plan: str, _device: str, *more: str, border: int = border, tried: list[int] = tried) -> dict[str, Any]:
                batch = int(more[more.index("--batch") + 1])
                tried.append(batch)
                return {"out_of_memory": batch > border}

            with mock.patch.object(runs, "train", train):
                self.assertEqual(runs.largest_batch("one", "native", "off", arguments), border)
            self.assertEqual(len(tried), len(set(tried)), "no batch is tried twice")


class Program(unittest.TestCase):
    """The command."""

    def test_without_a_gpu_it_exits_77(self) -> None:
        """And says what is missing. (Without site packages Python has no PyTorch.)"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-S", str(PROGRAM), "--output", folder], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("torch", done.stderr)

    def test_work_after_the_end_of_time_is_listed(self) -> None:
        """Nothing is left out silently."""
        with tempfile.TemporaryDirectory() as folder:
            arguments = argparse.Namespace(device="cpu", seconds=-1.0, steps=1, limit=1.0, output=pathlib.Path(folder))
            work = runs.Work(arguments)
            work.do("a run", "runs", lambda: self.fail("it ran"))
            self.assertIn("Not run for want of time: a run.", (pathlib.Path(folder) / "torch.md").read_text())


if __name__ == "__main__":
    unittest.main()
