#!/usr/bin/env python3
"""Tests of the allocator behind torch.cuda under each allocator: our own, and PyTorch's where its files are given.

PyTorch's tests are not in its wheel. --tests FOLDER, or $SEAM_TORCH_TESTS: the folder `test` of PyTorch's repository at the version that is installed
(git clone --depth 1 --branch v2.11.0 https://github.com/pytorch/pytorch); they need the packages numpy, psutil and expecttest. What of them fails under
Seam by what Seam is, is in expected.py; what fails under PyTorch's own allocator too is no matter of Seam's.

Exit status: 0 nothing failed that should not have, 1 something did, 2 wrong usage, 77 no GPU or no PyTorch.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from expected import reason  # noqa: E402

ALLOCATORS = ("native", "expandable", "class", "pluggable")
OURS = HERE.parents[1] / "tests/torch/behaviour"
# Of test_cuda.py: classes that are about the allocator, and tests of the large class that are.
CLASSES = (
    "TestCudaAllocator", "TestBlockStateAbsorption", "TestMemPool", "TestResizeStorageWithAddr", "TestCachingHostAllocatorCudaGraph", "TestCachingHostAllocatorConfig",
    "TestFXMemoryProfiler", "TestMemoryViz",
)
MORE = 3  # exit status: a test has failed, the rest needs another process
SELECTED = re.compile(rf"(TestCudaMallocAsync|{'|'.join(CLASSES)})\.|TestCuda\..*(memory|alloc|oom|record_stream|graph|stats|pool)")


@dataclass
class Outcome:
    """How one test ended: passed, skipped, failed, crashed, hung."""

    how: str
    text: str = ""


@dataclass
class Suite:
    """Tests of one module."""

    name: str
    folder: pathlib.Path
    module: str
    select: re.Pattern[str]
    outcomes: dict[str, dict[str, Outcome]] = field(default_factory=dict)  # allocator, test
    unfinished: list[str] = field(default_factory=list)  # allocators


# ---- the process in which tests run ----


class Reporter(unittest.TestResult):
    """Tells the parent when a test begins and how it ends, a line of JSON each."""

    def __init__(self, out: TextIO, name: str) -> None:
        super().__init__()
        self._out, self._name, self._ended, self.failed = out, name, False, False

    def _tell(self, how: str, text: str = "") -> None:
        if not self._ended:
            print(json.dumps({"test": self._name, "how": how, "text": text}), file=self._out, flush=True)
        self._ended = how != "begins"

    def begin(self) -> None:
        """The test is the next."""
        self._tell("begins")

    def end(self) -> None:
        """The test passed, unless it has said something else."""
        self._tell("passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """One of unittest's."""
        self._tell("skipped", reason)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        """One of unittest's."""
        self._tell("failed", f"{err[0].__name__}: {err[1]}"[:2000])
        self.failed = True

    addError = addFailure  # noqa: N815

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        """One of unittest's."""
        if err is not None:
            self.addFailure(test, err)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        """One of unittest's."""
        self._tell("skipped", "expected to fail")


def each(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """The tests one by one."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def name_of(test: unittest.TestCase) -> str:
    """Class and method."""
    return ".".join(test.id().split(".")[-2:])


def work(allocator: str, folder: str, module: str, select: str, done: list[str]) -> int:
    """Runs what is selected and not done, up to a test that fails: what it leaves, such as a capture, is nobody else's. Exit status: 0, or MORE."""
    out = os.fdopen(int(os.environ.pop("SEAM_TESTS_FD")), "w")
    sys.argv = [module, "native" if allocator == "expandable" else allocator]
    if allocator in ("class", "pluggable"):
        import seamalloc

        seamalloc.enable(door=allocator)
    sys.path.insert(0, folder)
    loaded = importlib.import_module(module)
    wanted = re.compile(select)
    for test in each(unittest.defaultTestLoader.loadTestsFromModule(loaded)):
        name = name_of(test)
        if wanted.search(name) and name not in done:
            reporter = Reporter(out, name)
            reporter.begin()
            unittest.TestSuite([test]).run(reporter)  # alone in a suite: with what its class sets up
            reporter.end()
            if reporter.failed:
                out.flush()
                os._exit(MORE)  # its objects may be such that they end the process in another way
    return 0


# ---- the process that watches it ----


class Missing(Exception):
    """The tests cannot begin."""


def watch(suite: Suite, allocator: str, done: dict[str, Outcome], each_seconds: float, end: float) -> bool:
    """One process, until it ends or has to be ended; `done` grows. Returns whether there is more to do."""
    reading, writing = os.pipe()
    environment = dict(os.environ, SEAM_TESTS_FD=str(writing), PYTHONDONTWRITEBYTECODE="1")
    if allocator == "expandable":
        environment["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    command = [sys.executable, str(HERE / "allocator_tests.py"), "--work", json.dumps([allocator, str(suite.folder), suite.module, suite.select.pattern, list(done)])]
    with tempfile.TemporaryFile("w+") as said, os.fdopen(reading) as pipe:
        process = subprocess.Popen(command, env=environment, stdout=said, stderr=said, pass_fds=[writing], start_new_session=True)
        os.close(writing)
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=lambda: [*map(lines.put, pipe), lines.put("")], daemon=True).start()
        current, hung = "", False
        while True:
            try:
                line = lines.get(timeout=max(0.1, min(each_seconds, end - time.monotonic())))
            except queue.Empty:
                hung = True
                os.killpg(process.pid, signal.SIGKILL)
                break
            if not line:
                break
            told = json.loads(line)
            current = told["test"] if told["how"] == "begins" else ""
            if not current:
                done[told["test"]] = Outcome(told["how"], told["text"])
        status = process.wait()
        said.seek(0)
        tail = said.read()[-2000:].strip()
    if time.monotonic() > end:
        return False
    if current:
        done[current] = Outcome("hung" if hung else "crashed", f"exit status {status}\n{tail}")
        return True
    if status == MORE:
        return True
    if status != 0 and not done:
        raise Missing(tail or f"exit status {status}")
    if status != 0:  # after the last test: what it left made the process fail at its end
        done["end of the process"] = Outcome("crashed", f"exit status {status}\n{tail}")
    return False


def run(suite: Suite, allocators: list[str], each_seconds: float, end: float) -> None:
    """All allocators; a process that dies is followed by one for the rest."""
    for allocator in allocators:
        done = suite.outcomes.setdefault(allocator, {})
        while time.monotonic() < end and watch(suite, allocator, done, each_seconds, end):
            pass
        if time.monotonic() > end:
            suite.unfinished.append(allocator)


def judge(suite: Suite, allocator: str) -> dict[str, list[tuple[str, str]]]:
    """The tests by what their end means."""
    native = suite.outcomes.get("native", {})
    found: dict[str, list[tuple[str, str]]] = {kind: [] for kind in ("passed", "skipped", "expected", "as native", "WRONG")}
    for name, outcome in sorted(suite.outcomes.get(allocator, {}).items()):
        why = reason(allocator, name, outcome.text) if suite.module == "test_cuda" else ""
        first = outcome.text.splitlines()[0] if outcome.text else ""
        if outcome.how in ("passed", "skipped"):
            found[outcome.how].append((name, ""))
        elif allocator in ("native", "expandable") or native.get(name, Outcome("passed")).how == outcome.how:
            found["as native"].append((name, first))
        elif why and outcome.how == "failed":
            found["expected"].append((name, why))
        else:
            found["WRONG"].append((name, f"{outcome.how}: {first}"))
    return found


def report(suites: list[Suite], machine: str) -> str:
    """The results as Markdown."""
    lines = ["# Tests of the allocator", "", machine, "", "| tests | allocator | passed | skipped | expected to fail | fail as native's | wrong |", "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    details: list[str] = []
    for suite in suites:
        for allocator in suite.outcomes:
            found = judge(suite, allocator)
            left = " (not finished)" if allocator in suite.unfinished else ""
            lines.append(f"| {suite.name} | {allocator}{left} | " + " | ".join(str(len(found[kind])) for kind in found) + " |")
            for kind in ("WRONG", "expected", "as native"):
                if found[kind]:
                    details += ["", f"## {suite.name}, {allocator}: {kind}", ""] + [f"- `{name}`: {text}" for name, text in found[kind]]
    return "\n".join(lines + details) + "\n"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="allocator_tests", description="Tests of the allocator behind torch.cuda, under each allocator.")
    add = parser.add_argument
    add("--tests", type=pathlib.Path, default=os.environ.get("SEAM_TORCH_TESTS") or None, metavar="FOLDER", help="PyTorch's folder `test` (default: $SEAM_TORCH_TESTS)")
    add("--output", type=pathlib.Path, metavar="FILE", help="the report, as Markdown (default: standard output)")
    add("--allocator", action="append", choices=ALLOCATORS, help="only this one (default: native, class, pluggable)")
    add("--select", metavar="REGEX", help="only tests whose CLASS.METHOD matches")
    add("--no-ours", action="store_true", help="without those of tests/torch/behaviour")
    add("--seconds", type=float, default=540, help="no longer than this (default: 540)")
    add("--each-seconds", type=float, default=120, help="a test that takes longer hangs (default: 120)")
    add("--work", help=argparse.SUPPRESS)
    return parser.parse_args()


def lacking(with_pytorchs: bool) -> str:
    """What this machine lacks, or an empty text."""
    if importlib.util.find_spec("torch") is None:
        return "Python lacks torch"
    if with_pytorchs:
        lacks = [name for name in ("numpy", "psutil", "expecttest") if importlib.util.find_spec(name) is None]
        if lacks:
            return f"PyTorch's tests need {' and '.join(lacks)}"
    sees = subprocess.run([sys.executable, "-c", "import torch; raise SystemExit(not torch.cuda.is_available())"], capture_output=True, check=False)
    return "" if sees.returncode == 0 else "PyTorch sees no GPU"


def main() -> int:
    """Everything."""
    given = arguments()
    if given.work:
        return work(*json.loads(given.work))
    suites = [] if given.no_ours else [Suite("Seam's", OURS, "test_behaviour", re.compile(given.select or ""))]
    if given.tests is not None:
        if not (given.tests / "test_cuda.py").is_file():
            print(f"allocator_tests: there is no test_cuda.py in {given.tests}", file=sys.stderr)
            return 2
        suites.append(Suite("PyTorch's", given.tests.resolve(), "test_cuda", re.compile(given.select) if given.select else SELECTED))
    lack = lacking(given.tests is not None)
    if lack:
        print(f"allocator_tests: {lack}", file=sys.stderr)
        return 77
    end = time.monotonic() + given.seconds
    for number, suite in enumerate(suites):
        try:
            run(suite, given.allocator or ["native", "class", "pluggable"], given.each_seconds, end if number + 1 == len(suites) else time.monotonic() + given.seconds / 2)
        except Missing as error:
            print(f"allocator_tests: {suite.name} tests do not begin: {error}", file=sys.stderr)
            return 1
    text = report(suites, versions())
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    print(text, end="")
    return 1 if any(judge(suite, allocator)["WRONG"] for suite in suites for allocator in suite.outcomes) else 0


def versions() -> str:
    """What ran."""
    code = "import torch; print(f'PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}.')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
