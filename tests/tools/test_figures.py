#!/usr/bin/env python3
"""test_figures: what plans do for whole programs, in figures that are the same on every machine and in every build (I8).

Each row of figures.tsv is a run of `seam replay` with deterministic:1 and what came of it: what the pool reserved,
driver calls, requests that plans served, and those that were missed, by cause. A change that is to change nothing
changes no row. One that changes rows on purpose makes the table anew, and the difference shows what it does:

    tests/tools/test_figures.py SEAM PROGRAMS TRACES --write

usage: test_figures.py SEAM PROGRAMS TRACES [--write]. TAP. SEAM and PROGRAMS are the commands, TRACES is bench/traces.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import tap  # noqa: E402

TABLE = pathlib.Path(__file__).resolve().parent / "figures.tsv"
CAUSES = "size lost cursor late gap dynamic request order suspended".split()
COLUMNS = ["trace", "plan", "disturbed", "reserved_bytes", "calls", "hits", "dynamic_hits", "resyncs", "adoptions",
           "drops", "adopted_after", *CAUSES]
ITERATIONS = 6  # of a recording of one iteration
PROGRAM_ITERATIONS = 8  # of a drawn program
PACE = ["--host-ns", 100000]  # before each operation: else the worker's share of processor time delays the plan
NODE_LIMIT = 5000  # of the solvers: they stop where they would by time elsewhere


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()[-300:]}")
    return done.stdout


def make_trace(trace, programs, traces, folder):
    """The trace's file and how to replay it. A number is the seed of a drawn program, with all that comes before its
    first iteration."""
    if not trace.isdigit():
        return traces / f"{trace}.seamtrace.zst", ["--iterations", ITERATIONS, *PACE]
    path = folder / f"{trace}.seamtrace"
    says = run(programs, "--iterations", PROGRAM_ITERATIONS, trace, path)
    return path, ["--iterations", "steps", *PACE] + (["--no-marks"] if " marks=no" in says else [])


def measure(row, seam, programs, traces):
    trace, plan, disturbed = row
    with tempfile.TemporaryDirectory(prefix="seam-figures-") as name:
        folder = pathlib.Path(name)
        path, how = make_trace(trace, programs, traces, folder)
        if plan == "file":
            plan, planned = folder / "plan", path
            if not trace.isdigit():
                planned = folder / "repeated.seamtrace"
                run(seam, "convert", "-q", "-n", 3, path, planned)
            run(seam, "plan", "--align", 512, "--period", "find", "--node-limit", NODE_LIMIT, planned, "-o", plan)
        if disturbed != "-":
            how += ["--perturb", disturbed]
        said = run(seam, "replay", "--device", "emu", "--capacity", "200G", "--conf", "deterministic:1", "--json",
                   "--no-trim", "--plan", plan, *how, path)
    figures = json.loads(said)[0]
    missed = figures["plan_misses_by_cause"]
    return [str(figure) for figure in (
        figures["peak_reserved_bytes"], sum(figures["driver_calls"].values()), figures["plan_hits"],
        figures["plan_dynamic_hits"], figures["resyncs"], figures["plan_adoptions"], figures["plan_drops"],
        figures["adopted_after_steps"], *(missed[cause] for cause in CAUSES))]


def main():
    seam, programs, traces = (pathlib.Path(word).absolute() for word in sys.argv[1:4])
    rows = [line.split("\t") for line in TABLE.read_text().splitlines()[1:]]
    with concurrent.futures.ThreadPoolExecutor(2 if os.cpu_count() > 1 else 1) as pool:
        found = list(pool.map(lambda row: measure(row[:3], seam, programs, traces), rows))
    if sys.argv[4:] == ["--write"]:
        lines = [COLUMNS] + [row[:3] + figures for row, figures in zip(rows, found)]
        TABLE.write_text("".join("\t".join(line) + "\n" for line in lines))
        return 0
    for row, figures in zip(rows, found):
        wrong = [f"{column}: {now}, and {then} in the table" for column, now, then
                 in zip(COLUMNS[3:], figures, row[3:]) if now != then]
        tap.ok(not wrong and len(row) == len(COLUMNS), " ".join(row[:3]), "\n".join(wrong))
    print("# where that is meant: --write makes the table anew")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
