#!/usr/bin/env python3
"""What runs PyTorch's tests of the allocator (bench/torch/allocator_tests.py), with tests made up here: no GPU and no PyTorch are needed."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys
import tempfile
import textwrap
import time
import unittest
from typing import Any
from unittest import mock

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bench/torch/allocator_tests.py"

TESTS = """
    import os, time, unittest

    class TestMemPool(unittest.TestCase):
        def test_a_passes(self):
            print("noise")
        def test_b_fails(self):
            raise RuntimeError("on purpose\\nand more")
        def test_c_crashes(self):
            os.write(2, b"last words")
            os.abort()
        def test_d_hangs(self):
            time.sleep(600)
        @unittest.skip("not today")
        def test_e_skips(self):
            pass
        def test_f_fails_in_parts(self):
            with self.subTest("first"):
                self.assertEqual(1, 2)
            with self.subTest("second"):
                self.assertEqual(3, 4)
        @classmethod
        def setUpClass(cls):
            cls.ready = True
        def test_g_is_set_up(self):
            self.assertTrue(self.ready)

    class TestOther(unittest.TestCase):
        def test_memory(self):
            raise RuntimeError("this must not run")
    """


def load() -> Any:
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("allocator_tests", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["allocator_tests"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
program = load()


class Running(unittest.TestCase):
    """Tests run one by one, whatever becomes of them."""

    def suite(self, tests: str = TESTS) -> Any:
        """Made-up tests in a file of PyTorch's name."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        (path / "test_cuda.py").write_text(textwrap.dedent(tests))
        return program.Suite("made up", path, "test_cuda", program.SELECTED)

    def test_every_end_is_told(self) -> None:
        """A crash and a hang cost the rest nothing."""
        suite = self.suite()
        program.run(suite, ["native"], 3, time.monotonic() + 60)
        ends = {name.split(".")[1]: outcome for name, outcome in suite.outcomes["native"].items()}
        self.assertEqual(
            {name: outcome.how for name, outcome in ends.items()},
            {"test_a_passes": "passed", "test_b_fails": "failed", "test_c_crashes": "crashed", "test_d_hangs": "hung", "test_e_skips": "skipped",
             "test_f_fails_in_parts": "failed", "test_g_is_set_up": "passed"},
        )
        self.assertIn("RuntimeError: on purpose", ends["test_b_fails"].text)
        self.assertIn("last words", ends["test_c_crashes"].text)
        self.assertIn("1 != 2", ends["test_f_fails_in_parts"].text)
        self.assertEqual(suite.unfinished, [])

    def test_time_is_kept(self) -> None:
        """What is left over is said."""
        suite = self.suite()
        began = time.monotonic()
        program.run(suite, ["native"], 600, began + 2)
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(suite.unfinished, ["native"])
        self.assertIn("(not finished)", program.report([suite], "none"))

    def test_tests_that_cannot_begin(self) -> None:
        """Such as those of a module that cannot be imported."""
        with self.assertRaisesRegex(program.Missing, "no_such_module"):
            program.run(self.suite("import no_such_module"), ["native"], 60, time.monotonic() + 60)


class Judging(unittest.TestCase):
    """Whose matter a failure is."""

    def judged(self, native: str, how: str, text: str = "", test: str = "TestCuda.test_out_of_memory", module: str = "test_cuda") -> list[str]:
        """The kinds that the test is among, under the class."""
        suite = program.Suite("made up", pathlib.Path(), module, re.compile(""))
        suite.outcomes = {"native": {test: program.Outcome(native)}, "class": {test: program.Outcome(how, text)}}
        rows = (("class", r"test_out_of_memory$", r"Tried to allocate|does not match", "made up"),)
        with mock.patch.dict(program.reason.__globals__, ROWS=rows):
            return [kind for kind, tests in program.judge(suite, "class").items() if tests]

    def test_kinds(self) -> None:
        """Passed, skipped, native's, expected, wrong."""
        refused = "AssertionError: 'Tried to allocate 1 GiB' does not match"
        self.assertEqual(self.judged("passed", "passed"), ["passed"])
        self.assertEqual(self.judged("passed", "skipped"), ["skipped"])
        self.assertEqual(self.judged("failed", "failed", refused), ["as native"])
        self.assertEqual(self.judged("passed", "failed", refused), ["expected"])
        self.assertEqual(self.judged("passed", "failed", "AssertionError: 1 != 2"), ["WRONG"])
        self.assertEqual(self.judged("passed", "crashed", refused), ["WRONG"])
        self.assertEqual(self.judged("failed", "crashed"), ["WRONG"])
        self.assertEqual(self.judged("passed", "failed", refused, module="test_behaviour"), ["WRONG"], "nothing of ours may fail")

    def test_every_row_gives_a_reason(self) -> None:
        """And is of an allocator that there is."""
        for allocators, tests, texts, why in program.reason.__globals__["ROWS"]:
            re.compile(tests), re.compile(texts)
            self.assertTrue(why)
            self.assertLessEqual(set(allocators.split(",")), set(program.ALLOCATORS))

    def test_the_exit_status_tells(self) -> None:
        """Of what is wrong, missing, or misused."""
        with tempfile.TemporaryDirectory() as folder:
            for argv, lack, status in ((["--no-ours"], "no torch", 77), (["--tests", folder], "", 2)):
                with mock.patch.object(sys, "argv", ["allocator_tests", *argv]), mock.patch.object(program, "lacking", return_value=lack):
                    with mock.patch("sys.stderr"):
                        self.assertEqual(program.main(), status)


if __name__ == "__main__":
    unittest.main()
