"""table.py: names.py holds: every name has a row, every test of a row exists, and stands as the row says."""

from __future__ import annotations

import ast
import os
import re
import sys
import unittest
from pathlib import Path

import checkpoints
import devices
import differences
import history
import memory
import pinned
import pools
import streams
from names import REASONS, ROWS

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench/torch"))
from allocator_tests import CLASSES, SELECTED  # noqa: E402
from expected import ROWS as EXPECTED  # noqa: E402

MODULES = (checkpoints, devices, differences, history, memory, pinned, pools, streams)
ALLOCATORS = ("native", "class", "pluggable")


def pytorchs_names(folder: Path) -> set[tuple[str, str]]:
    """What the file has that allocator_tests.py selects."""
    found = set()
    for node in ast.parse((folder / "test_cuda.py").read_text(encoding="utf-8")).body:
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            name = f"{getattr(node, 'name', '')}.{getattr(part, 'name', '')}"
            if isinstance(part, ast.FunctionDef) and part.name.startswith("test_") and SELECTED.search(name):
                found.add((name.split(".")[0].replace("TestCudaMallocAsync", "TestCudaAllocator"), part.name))
    return found


class Table(unittest.TestCase):
    def test_every_name_has_one_row(self) -> None:
        names = [(row[0], row[1]) for row in ROWS]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({name for name, _ in names}, {"TestCuda", *CLASSES})
        folder = os.environ.get("SEAM_TORCH_TESTS")
        if folder:  # PyTorch's own file is at hand
            self.assertEqual(pytorchs_names(Path(folder)) - {(kind, name.split(" ")[0]) for kind, name in names}, set())

    def test_every_row_has_a_test_or_says_why_not(self) -> None:
        for _, name, tests, standing in ROWS:
            if not tests:
                self.assertRegex(standing, r"^(needs a GPU|no test here|of )", name)
                continue
            self.assertEqual(len(standing.split()), len(ALLOCATORS), name)
            for test in tests.split(","):
                with self.subTest(row=name, test=test):
                    self.check(*test.split("."), standing.split())

    def check(self, kind: str, method: str, standing: list[str]) -> None:
        """The test of ours stands as the row says."""
        found = [getattr(module, kind) for module in MODULES if hasattr(module, kind)]
        self.assertTrue(found and hasattr(found[0], method), "there is no such test")
        function = getattr(found[0], method)
        only = set(getattr(function, "only", ALLOCATORS)) & set(getattr(found[0], "only", ALLOCATORS))
        differ = getattr(function, "differs", ())
        absent = {"native": "none", "class": "none", "pluggable": "refused"}
        expected = [absent[name] if name not in only else "differs" if name in differ else "same" for name in ALLOCATORS]
        self.assertEqual(standing, expected)
        self.assertEqual(bool(differ), method in REASONS, "a reason for each that differs, and for no other")

    def test_every_test_that_differs_is_in_a_row(self) -> None:
        listed = {test.split(".")[1] for row in ROWS for test in row[2].split(",") if test}
        for method in REASONS:
            self.assertIn(method, listed)
            self.assertTrue(re.match("test_", method))

    def test_every_difference_is_expected_of_pytorchs_own_test(self) -> None:
        tests = [pattern for allocators, pattern, _, _ in EXPECTED if "class" in allocators.split(",")]
        for kind, name, _, standing in ROWS:
            if standing.split()[1:2] == ["differs"]:
                self.assertTrue(any(re.search(pattern, f"{kind}.{name.split()[0]}") for pattern in tests), name)
