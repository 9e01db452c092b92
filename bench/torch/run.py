#!/usr/bin/env python3
"""Trains the cases under every allocator, one process each, and makes a table: same losses? how much memory? how fast? how large a batch?

Exit status: 0 done, 1 a run failed or losses differ, 2 wrong usage, 77 no GPU or no PyTorch.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import time
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
WAYS = (("native", "off"), ("expandable", "off"), ("class", "off"), ("class", "auto"), ("pluggable", "off"), ("pluggable", "auto"))
GIB = 1 << 30


class Failure(Exception):
    """A run that gave no result."""


class Missing(Exception):
    """This machine cannot run it."""


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="run", description="Train under every allocator and make a table.")
    add = parser.add_argument
    add("cases", nargs="*", help="names of cases.py (default: all but the tiny ones)")
    add("--output", type=pathlib.Path, required=True, metavar="FOLDER", help="torch.json, torch.md and traces go there")
    add("--steps", type=int, default=40, help="steps of a run (default: 40)")
    add("--seconds", type=float, default=540, help="no new run begins after so many seconds (default: 540)")
    add("--limit", type=float, default=20, metavar="GIB", help="memory for the search of the largest batch (default: 20)")
    add("--largest", action="append", default=[], metavar="CASE", help="search the largest batch of this case")
    add("--trace", action="append", default=[], metavar="CASE", help="bring back Seam's recording of this case")
    add("--no-checks", action="store_true", help="without the checks of graphs, streams, pools and groups")
    add("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: a rehearsal")
    return parser.parse_args()


def call(program: str, *arguments: str, seconds: float = 240) -> tuple[int, str, str]:
    """Runs one of the programs here."""
    try:
        done = subprocess.run([sys.executable, str(HERE / program), *arguments], capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return 124, "", f"not finished in {seconds:.0f} s"
    return done.returncode, done.stdout, done.stderr


def train(case: str, allocator: str, plan: str, device: str, *more: str) -> dict[str, Any]:
    """One run's line."""
    status, out, complaint = call("train.py", case, "--allocator", allocator, "--plan", plan, "--device", device, *more)
    if status == 77:
        raise Missing(complaint.strip() or "train.py exited 77")
    if status != 0:
        raise Failure((complaint.strip().splitlines() or [f"exit status {status}"])[-1])
    return json.loads(out.strip().splitlines()[-1])


def largest_batch(case: str, allocator: str, plan: str, arguments: argparse.Namespace) -> int:
    """The largest batch that trains for some steps within the limit: doubled until it fails, then halved between."""

    def fits(batch: int) -> bool:
        more = ("--batch", str(batch), "--steps", "8", "--limit", str(arguments.limit))
        return not train(case, allocator, plan, arguments.device, *more)["out_of_memory"]

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def number(value: float | None, form: str) -> str:
    """A cell."""
    return "-" if value is None else format(value, form)


def row(run: dict[str, Any], reference: dict[str, Any] | None) -> str:
    """A line of the table of runs."""
    if "error" in run:
        return f"| {run['case']} | {run['allocator']} | {run['plan']} | failed: {run['error']} | | | | | | |"
    allocated, reserved = run.get("peak_allocated_bytes"), run.get("peak_reserved_bytes")
    cells = [
        run["case"], run["allocator"], run["plan"],
        number(allocated and allocated / GIB, ".3f"), number(reserved and reserved / GIB, ".3f"),
        number(allocated and reserved and 100 * allocated / reserved, ".2f"),
        number(run.get("device_used_bytes") and run["device_used_bytes"] / GIB, ".3f"),
        number(run.get("step_ms"), ".2f"), number(run.get("tokens_per_s"), ".0f"),
        "-" if reference is None else "yes" if reference.get("losses") == run.get("losses") else "NO",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def table(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "# Training under each allocator", "", f"{results['machine']}. {results['steps']} steps in bf16 with AdamW, seed 1, "
        "time from the 16th; `plan` auto: Seam learns the period while it trains.", "",
        "| case | allocator | plan | peak allocated GiB | peak reserved GiB | % | used on the device GiB | step ms | tokens/s | losses as native's |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]  # fmt: skip
    for run in results["runs"]:
        native = [other for other in results["runs"] if other["case"] == run["case"] and other["allocator"] == "native"]
        lines.append(row(run, native[0] if native and run is not native[0] else None))
    if results["largest"]:
        lines += ["", f"## Largest batch in {results['limit']} GiB", "", "| case | allocator | plan | batch |", "| --- | --- | --- | ---: |"]
        lines += [f"| {one['case']} | {one['allocator']} | {one['plan']} | {one['batch']} |" for one in results["largest"]]
    if results["checks"]:
        lines += ["", "## Graphs, streams, pinned copies, pools, running out, NCCL", "", "| allocator | plan | result |", "| --- | --- | --- |"]
        lines += [f"| {one['allocator']} | {one['plan']} | {'; '.join(one['lines'])} |" for one in results["checks"]]
    if results["left_out"]:
        lines += ["", f"Not run for want of time: {', '.join(results['left_out'])}."]
    return "\n".join(lines) + "\n"


class Work:
    """All runs, in order of what matters most, until the time is over."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.end = time.monotonic() + arguments.seconds
        self.results: dict[str, Any] = {
            "machine": machine(arguments.device), "steps": arguments.steps, "limit": arguments.limit,
            "runs": [], "checks": [], "largest": [], "left_out": [],
        }  # fmt: skip

    def do(self, what: str, kind: str, work: Any, **names: Any) -> None:
        """One piece of work; the results on the disk are whole after each."""
        if time.monotonic() > self.end:
            self.results["left_out"].append(what)
        else:
            try:
                self.results[kind].append(names | work())
            except Failure as error:
                self.results[kind].append(names | {"error": str(error), "lines": [str(error)], "batch": f"failed: {error}"})
            print(f"{what}: {json.dumps(self.results[kind][-1])[:300]}", flush=True)
        folder = self.arguments.output
        (folder / "torch.json").write_text(json.dumps(self.results, indent=1) + "\n")
        (folder / "torch.md").write_text(table(self.results))

    def train(self, case: str, allocator: str, plan: str) -> dict[str, Any]:
        """A run, recorded where asked for."""
        more = ["--steps", str(self.arguments.steps)]
        if case in self.arguments.trace and allocator == "class" and plan == "off":
            more += ["--trace", str(self.arguments.output / f"{case}.seamtrace")]
        return train(case, allocator, plan, self.arguments.device, *more)

    def all(self, cases: list[str]) -> None:
        """Everything that was asked for."""
        for case in cases:
            for allocator, plan in WAYS:
                self.do(f"{case} {allocator} {plan}", "runs", lambda: self.train(case, allocator, plan), case=case, allocator=allocator, plan=plan)  # noqa: B023
        for allocator, plan in () if self.arguments.no_checks else WAYS:
            def lines() -> dict[str, Any]:
                status, out, complaint = call("checks.py", "--allocator", allocator, "--plan", plan)  # noqa: B023
                if status not in (0, 1) or not out:
                    raise Failure((complaint.strip().splitlines() or [f"exit status {status}"])[-1])
                return {"lines": out.strip().splitlines()}

            self.do(f"checks {allocator} {plan}", "checks", lines, allocator=allocator, plan=plan)
        for case in self.arguments.largest:
            for allocator, plan in WAYS:
                self.do(f"largest batch of {case} {allocator} {plan}", "largest",
                    lambda: {"batch": largest_batch(case, allocator, plan, self.arguments)}, case=case, allocator=allocator, plan=plan)  # noqa: B023, E501  # fmt: skip


def machine(device: str) -> str:
    """What it runs on."""
    if device == "cpu":
        return "A rehearsal on the processor"
    line = subprocess.run(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False)
    return (line.stdout.strip().splitlines() or ["an unknown GPU"])[0]


def failed(results: dict[str, Any]) -> bool:
    """Whether anything is wrong in the table."""
    runs, text = results["runs"] + results["checks"] + results["largest"], table(results)
    return any("error" in one for one in runs) or "| NO |" in text or "not ok" in text


def main() -> int:
    """Runs what the command line asks for."""
    arguments = parse()
    sys.path.insert(0, str(HERE))
    import train as program

    lack = program.missing(arguments)
    if lack:
        print(f"run: {lack}", file=sys.stderr)
        return 77
    import cases

    chosen = arguments.cases or [name for name in cases.CASES if not name.startswith("tiny")]
    for name in [*chosen, *arguments.largest, *arguments.trace]:
        if name not in cases.CASES:
            print(f"run: no case {name}; there are {', '.join(cases.CASES)}", file=sys.stderr)
            return 2
    arguments.output.mkdir(parents=True, exist_ok=True)
    work = Work(arguments)
    try:
        work.all(chosen)
    except Missing as error:
        print(f"run: {error}", file=sys.stderr)
        return 77
    return 1 if failed(work.results) else 0


if __name__ == "__main__":
    sys.exit(main())
