#!/usr/bin/env python3
"""test_fit.py SEAM: the command `seam fit` from end to end, on profiles of two blocks: what fits, what is printed, what is refused. TAP."""

from __future__ import annotations

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import tap  # noqa: E402

MIB = 1 << 20
SEAM = sys.argv[1]
FLOPS = 10**12


def recording(held: list[tuple[int, int]], again: int, copied: int) -> dict[str, Any]:
    """Each block makes the pieces `held` in its forward pass, of a size, with whether it is there behind it; its backward pass makes `again` and `copied`. The optimizer comes first: iterations are cut there."""
    sizes: list[int] = [100 * MIB]
    copies: list[int] = []
    visits: list[dict[str, Any]] = []

    def make(size: int) -> int:
        sizes.append(size)
        return len(sizes)

    def visit(part: str, block: int, events: list[int]) -> None:
        visits.append({"part": part, "block": block, "events": events})

    visit("", -1, [])
    visit("optimizer", -1, [])
    visit("", -1, [])
    kept: list[list[int]] = []
    for block in range(2):
        events, left = [], []
        for size, behind in held:
            piece = make(size)
            events.append(piece)
            left += [piece] * (behind > 0)
        visit("forward", block, events + [-piece for piece in events if piece not in left])
        visit("", -1, [])
        kept.append(left)
    visits.pop()
    loss = make(30 * MIB)
    visit("", -1, [loss, -loss])
    for block in (1, 0):
        events = []
        for size in (again, copied):
            if size:
                piece = make(size)
                events += [piece]
                copies.extend([piece] * (size == copied))
        visit("backward", block, events + [-piece for piece in [*events, *kept[block]]])
    visit("", -1, [])
    count = len(sizes)
    empty: list[list[int]] = [[] for _ in sizes]
    return {"before": 100 * MIB, "start": 100 * MIB, "visits": visits, "bytes": sizes, "makers": [-2] + [-1] * (count - 1), "owners": empty,
            "handed": [-1] * count, "objects": empty, "savers": empty, "copies": copies}


def profile() -> dict[str, Any]:
    work = [["forward", "", 0, 8 * 10**6, 1, 1]]
    for block in range(2):
        work += [[f"forward {block}", "bfloat16", FLOPS, 10**6, 1, 1], [f"backward {block}", "bfloat16", 2 * FLOPS, 10**6, 1, 1]]
    work += [["optimizer", "", 0, 10**8, 1, 1]]
    recordings = {"keep": recording([(50 * MIB, 1)], 0, 0), "recompute": recording([(50 * MIB, 0), (10 * MIB, 1)], 50 * MIB, 0),
                  "swap": recording([(50 * MIB, 0)], 0, 50 * MIB)}
    return {"seamprofile": 1, "torch": "2.15.0", "program": ["train.py"], "gpu": "rtx4090", "blocks": {"count": 2, "class": "Block"}, "peak_live_bytes": 230 * MIB,
            "seen_at_borders_bytes": 0, "unseen": [], "work": work, "recordings": recordings}


class Runs:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def __call__(self, content: Any, *options: str) -> subprocess.CompletedProcess[str]:
        path = self.folder / "a.seamprofile"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return subprocess.run([SEAM, "fit", str(path), *options], capture_output=True, text=True, check=False)


def check_answers(run: Runs) -> None:
    whole = run(profile(), "--gpu", "rtx4090")
    tap.ok(whole.returncode == 0 and "as it is    fits: needs 230 MiB" in whole.stdout and "1 keep, 1 swap, in the order of the program: SK" in whole.stdout, "what is swapped for nothing is swapped", whole.stdout + whole.stderr)
    answer = json.loads(run(profile(), "--gpu", "rtx4090", "--json", "--compare").stdout)
    compute = 6 * FLOPS / (165e12 * 0.72) + 8e6 / (1008e9 * 0.8) + 1e8 / (1008e9 * 0.8)
    recipe = answer["recipe"]
    tap.ok(abs(recipe["iteration_ns"] * 1e-9 / compute - 1) < 1e-3 and recipe["compute_ns"] == recipe["iteration_ns"], "an iteration takes what its operators take", str(recipe))
    rows = {row["name"]: row for row in answer["compared"]}
    tap.ok(rows["keep"]["peak_bytes"] == 230 * MIB and rows["recompute"]["peak_bytes"] == 170 * MIB, "peaks are those of the recordings", str(rows))
    again = rows["recompute"]["recompute_ns"] * 1e-9 / (2 * FLOPS / (165e12 * 0.72))
    tap.ok(abs(again - 1) < 1e-3, "what is recomputed takes its forward pass again", str(rows))
    tap.ok(rows["swap"]["host_bytes"] == 100 * MIB, "what is swapped is on the host", str(rows))
    tap.ok(rows["proven fastest"]["iteration_ns"] == recipe["iteration_ns"], "the answer is the fastest", str(rows))

    small = json.loads(run(profile(), "--gpu", "rtx4090", "--memory", "195M", "--json").stdout)
    tap.ok(small["recipe"]["peak_bytes"] <= 195 * MIB and small["recipe"]["treatments"] != ["keep", "keep"], "with less room blocks are treated", str(small))
    tap.ok(small["recipe"]["iteration_ns"] > recipe["iteration_ns"], "which takes time", str(small))
    none = run(profile(), "--gpu", "rtx4090", "--memory", "120M")
    tap.ok(none.returncode == 1 and "treated     does not fit: needs at least " in none.stdout, "with too little nothing fits", none.stdout + none.stderr)
    turned = copy.deepcopy(profile())
    for one in turned["recordings"].values():
        one["visits"] = one["visits"][3:] + one["visits"][:3]
    tap.ok(run(turned, "--gpu", "rtx4090", "--json").stdout == run(profile(), "--gpu", "rtx4090", "--json").stdout, "wherever the iteration is cut")
    no_copies = run(profile(), "--gpu", "a40", "--json", "--memory", "215M")
    tap.ok("swap" not in json.loads(no_copies.stdout)["recipe"]["treatments"], "nothing is swapped where the speed of copies is not known", no_copies.stdout)


def changed(**members: Any) -> dict[str, Any]:
    return {**profile(), **members}


def with_visit(number: int, **members: Any) -> dict[str, Any]:
    made = copy.deepcopy(profile())
    for one in made["recordings"].values():
        one["visits"][number].update(members)
    return made


def check_refusals(run: Runs) -> None:
    unequal = copy.deepcopy(profile())
    unequal["recordings"]["swap"]["visits"].pop()
    for content, options, text in (
        (profile(), (), "no GPU is named: --gpu"),
        (profile(), ("--gpu", "rtx9"), "no such GPU: 'rtx9'"),
        (profile(), ("--gpu", "h100", "--memory", "much"), "not a size: 'much'"),
        (profile(), ("--gpu", "h100", "other"), "one profile at a time: 'other'"),
        ("{", ("--gpu", "h100"), "line 1: "),
        ("[]", ("--gpu", "h100"), "not a .seamprofile"),
        (changed(seamprofile=2), ("--gpu", "h100"), "a .seamprofile of version 2; 1 can be read"),
        (changed(recordings={}), ("--gpu", "h100"), "it lacks visits, blocks, or what lives where the iteration begins"),
        (changed(work=None), ("--gpu", "h100"), "what its operators compute is not in it"),
        (changed(work=[["forward", "int8", 10, 10, 1, 1]]), ("--gpu", "h100"), "how fast a h100 multiplies int8 is not known"),
        (changed(work=[["forward", "", 10]]), ("--gpu", "h100"), '"work" has a row of another kind'),
        (changed(work=[["forward", "host", 0, 1 << 20, 1, 1]]), ("--gpu", "a40"), "how fast a a40 copies from and to the host is not known"),
        (changed(blocks={"count": 1, "class": "Block"}), ("--gpu", "h100"), "visit 5 is of block 1, and there are 1"),
        (changed(blocks={"count": 3, "class": "Block"}), ("--gpu", "h100"), "block 2 has no forward or no backward pass"),
        (unequal, ("--gpu", "h100"), "swap has other visits than keep"),
        (with_visit(3, events=[99]), ("--gpu", "h100"), "visit 3 of keep: an event of no piece"),
        (with_visit(3, part=7), ("--gpu", "h100"), "visit 3 has no part or no block"),
        (with_visit(3, block=1), ("--gpu", "h100"), "block 0 has no forward or no backward pass"),
    ):
        done = run(content, *options)
        tap.ok(done.returncode == 2 and text in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, f"refused: {text}", f"{done.returncode}: {done.stderr}")
    missing = subprocess.run([SEAM, "fit", str(run.folder / "none"), "--gpu", "h100"], capture_output=True, text=True, check=False)
    tap.ok(missing.returncode == 2 and "No such file" in missing.stderr, "a file that is not there", missing.stderr)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        run = Runs(pathlib.Path(name))
        check_answers(run)
        check_refusals(run)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
