"""python -m seamalloc what-if --gpu NAME (SCRIPT | -m MODULE) ARGUMENT...: does a training program fit on that GPU? Without the GPU.

The program runs unchanged in processes of its own (_ghost_server.py), on a ghost GPU (_ghost.py) that computes nothing, until its steps are alike. What it asked
for is replayed, on a device of that size, by Seam and by models of PyTorch's two allocators (`seam what-if`). No checkpoint is written, and no process stays.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from . import _blocks, _compose, _fallback, _ghost_server, _library, _margin, _picture, _profile, _program, _work, build
from ._figures import size_text

OPTIONS_WITH_VALUE = ("--gpu", "--gpus", "--memory", "--steps", "--timeout", "--find-batch", "--draw", "--profile")
MOST_GPUS = 16  # that the emulator has
MOST_SECONDS = 1 << 20  # twelve days; the system's waits end at 24
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
LARGEST_BATCH = 1 << 20  # none larger is looked for; it may be a length of sequences
HOLDERS = 8  # rows of the text
PIECES = 8  # that a loss is advised to be computed in
ADVICE_BYTES = 1 << 20  # what saves less is not said
SHOWN_BYTES = 1 << 20  # who holds less is with the rest
SERVER = _ghost_server.Server()  # of all runs
NAMES = {"native": "PyTorch's allocator", "expandable": "expandable segments", "seam": "Seam"}


class NoAnswer(Exception):
    """Why there is none, in a line."""


class ProgramEnded(NoAnswer):
    """By an error, or a signal (`status`)."""

    def __init__(self, text: str, error: str = "", status: int = 0) -> None:
        super().__init__(text)
        self.error, self.status = error, status


@dataclass(frozen=True)
class Run:
    """A program on one GPU."""

    answer: dict[str, Any]  # as in --json
    peak_at: str  # where in the program
    result: dict[str, Any]  # of profile.json
    recording: _compose.Recording | None  # of an iteration; None: there is no whole one
    treated: dict[str, Run | NoAnswer] = field(default_factory=dict)  # with all of its blocks treated so, as far as it was run


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the program with its arguments, which are all that stands behind its name."""
    parser = argparse.ArgumentParser(
        prog="python -m seamalloc what-if",
        usage="%(prog)s (--gpu NAME[,NAME...] | --memory SIZE) [options] (SCRIPT | -m MODULE) ARGUMENT...",
        description="Says whether a training program fits on a GPU that is not there, what holds its memory, and what would help. Needs PyTorch.",
        epilog="Exit status: 0, it fits on one of the GPUs; 1, on none; 2, there is no answer.",
        allow_abbrev=False,
    )
    parser.add_argument("--gpu", metavar="NAME,...", help="GPUs by their short names, which `seam machines` lists, or files of `python -m seamalloc calibrate --json`")
    parser.add_argument("--gpus", type=int, default=1, metavar="NUMBER", help=f"so many such GPUs for the program, one process that uses all of them (at most {MOST_GPUS})")
    parser.add_argument("--memory", metavar="SIZE", help="memory that the program may take, as in 22G, instead of all that the GPU has")
    parser.add_argument("--find-batch", metavar="ARGUMENTS", help='also the largest batch, or length of sequences: as in "--batch-size={}", put behind the program\'s arguments with numbers for {}')
    parser.add_argument("--steps", type=int, default=30, metavar="NUMBER", help="most optimizer steps that are run (default: 30); fewer if they are alike sooner")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="a program that has not come so far then is stopped (default: 600)")
    parser.add_argument("--show-output", action="store_true", help="what the program prints, on standard error")
    parser.add_argument("--here", action="store_true", help="the program runs on this machine's own GPU, which computes: for sizes that depend on values. It has to fit there")
    parser.add_argument("--meta", action="store_true", help="the program runs on PyTorch's meta device, with any PyTorch: what is taken where the ghost GPU cannot be had")
    parser.add_argument("--draw", metavar="FILE.svg", help="also a picture of memory over the iteration that has the peak, on the first GPU; all GPUs' usable bytes are lines")
    parser.add_argument("--profile", metavar="FILE.seamprofile", help="also what it asks for in an iteration, with its blocks kept, recomputed and on the host, on the first GPU")
    parser.add_argument("--json", action="store_true", help="the answer as JSON: an array with an object for each GPU")
    options, program = _program.split(parser, OPTIONS_WITH_VALUE, arguments)
    if not (options.gpu or "").strip(",") and not options.memory:
        parser.error("which GPU? --gpu NAME, or --memory SIZE")
    if options.steps < 1 or not 0 < options.timeout <= MOST_SECONDS:
        parser.error(f"--steps and --timeout: more than 0, and at most {MOST_SECONDS} seconds")
    if options.here and options.meta:
        parser.error("--here and --meta: one of them")
    if not 1 <= options.gpus <= MOST_GPUS:
        parser.error(f"--gpus: 1 to {MOST_GPUS}")
    if options.memory and not re.fullmatch(r"\d+(\.\d+)?[KMGT]?", options.memory):
        parser.error(f"--memory: {options.memory} is no size; as in 22G")
    if options.find_batch and "{}" not in options.find_batch:
        parser.error("--find-batch: {} is missing, where the number goes")
    if program[0] != "-m" and not Path(program[0]).is_file():
        parser.error(f"there is no {program[0]}")
    for option, path, ending in (("--draw", options.draw, ".svg"), ("--profile", options.profile, ".seamprofile")):
        refusal = refuse_file(path, ending) if path is not None else ""
        if refusal:
            parser.error(f"{option}: {refusal}")
    return options, program


def refuse_file(path: str, ending: str) -> str:
    """Why no such file can be written; empty: it can. Leaves a file that is there as it is."""
    if not path.endswith(ending):
        return f"the name of the file ends with {ending}, and {path or 'this one'} does not"
    try:
        is_new = not Path(path).exists()
        with open(path, "ab"):
            pass
        if is_new:
            os.unlink(path)
    except (OSError, ValueError) as failure:
        return f"{path} cannot be written: {getattr(failure, 'strerror', None) or failure}"
    return ""


def draw(options: argparse.Namespace, program: list[str], runs: list[Run]) -> str:
    """The picture of the first GPU's run, with all GPUs' usable bytes."""
    first = runs[0].answer["gpu"]
    usable = {run.answer["gpu"]: run.answer["usable_bytes"] for run in runs}
    title = f"{shlex.join(program)} on {first}" + (f" with {options.memory}" if options.memory else "")
    return _picture.svg(read_profile(runs[0].result), title, usable)


def write_files(contents: dict[str, str]) -> str:
    """Files by their paths. Why one could not be written; empty: they were."""
    for path, content in contents.items():
        try:
            Path(path).write_text(content, encoding="utf-8")
        except OSError as failure:
            return f"{path} cannot be written: {failure.strerror}"
    return ""


def find_tool() -> str:
    """The command `seam`: that of $SEAM_TOOL, of the package, of the build folder or the prefix that the library is in, of the path."""
    library = build.find_library().parent
    places = [os.environ.get("SEAM_TOOL"), Path(sys.executable).parent / "seam", library.parents[1] / "tools/seam", library.parent / "bin/seam", shutil.which("seam")]
    for place in places:
        if place and Path(place).is_file():
            return str(place)
    raise NoAnswer("the command `seam` was not found; name it in SEAM_TOOL")


def ask_tool(arguments: list[str]) -> Any:
    """Runs `seam` and reads its JSON."""
    done = subprocess.run([find_tool(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        said = re.sub(r"^seam [a-z-]+: |; see seam .*", "", done.stderr.strip())
        raise NoAnswer(said or f"`seam {arguments[0]}` ended with {done.returncode}")
    return json.loads(done.stdout)


def last_words(folder: Path) -> str:
    """The last line that the program printed, if it was kept."""
    output = folder / "output"
    lines = output.read_text(encoding="utf-8", errors="replace").split("\n") if output.exists() else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {last[-200:]}" if last else ""


def where_was(folder: Path) -> str:
    """The innermost line of the program that ran when it was stopped."""
    found = re.findall(r'File "([^"]+)", line (\d+) in (\S+)', (folder / "where").read_text(encoding="utf-8", errors="replace") if (folder / "where").exists() else "")
    frames = [frame for frame in found if "/torch/" not in frame[0] and "/seamalloc/" not in frame[0] and not frame[0].startswith("<")]
    for path, line, function in ([frame for frame in frames if _program.is_own(frame[0])] or frames or found)[:1]:
        return f"; it is in {function}, {os.path.basename(path)}:{line}. Numbers that are read from the GPU are 0 here, which may keep a loop from its end"
    return ""


def run_program(options: argparse.Namespace, program: list[str], gpu: str, folder: Path, recipe: Sequence[str] = (), timed: bool = False) -> dict[str, Any]:
    """The program on the ghost GPU, for its time too or for its memory alone. Its profile.json; what is of one device is that of the first one that was used."""
    try:
        return follow_program(options, program, gpu, folder, recipe, timed)
    except NoAnswer as failure:
        if not (folder / "processes").exists():
            raise
        raise NoAnswer(f"{failure}; it started other processes, and what-if runs one: name the program that they run, as one rank") from None


def follow_program(options: argparse.Namespace, program: list[str], gpu: str, folder: Path, recipe: Sequence[str], timed: bool) -> dict[str, Any]:
    """The same, but for the processes that it starts."""
    output = "" if options.show_output else str(folder / "output")
    settings = {"gpu": gpu, "gpus": options.gpus, "steps": options.steps, "folder": str(folder), "output": output, "recipe": list(recipe), "timed": timed, "here": options.here}
    status = SERVER.run({**settings, "machine": options.machine if options.meta else None, "program": program}, options.timeout)
    if status is None and not (folder / "profile.json").exists():
        raise NoAnswer(f"the program's steps have not become alike within {options.timeout:g} seconds (--timeout, --steps){where_was(folder)}")
    try:
        result: dict[str, Any] = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended itself with status {status}"
        text = f"the program's process {how} before its steps were alike{last_words(folder)} (--show-output shows all that it printed)"
        raise ProgramEnded(text, status=status or 0) from None
    if result["error"]:
        text = f"the program cannot be followed: {result['error']}{last_words(folder) if result['why'] == 'exited' else ''}"
        raise ProgramEnded(text, result["error"]) if result["why"] == "failed" else NoAnswer(text)
    if not result["devices"]:
        raise NoAnswer("the program ended and had asked the GPU for nothing")
    return {**result, **result["devices"][0]}


def read_profile(result: dict[str, Any]) -> _profile.Profile:
    """The blocks out of a profile.json."""
    events = [_profile.Event(_profile.ALLOC if is_request else _profile.FREE, at, size, place) for is_request, at, size, place in result["events"]]
    marks = [_profile.Mark(what, requests, frees, {at: (kind, name) for at, kind, name in labels}) for what, requests, frees, labels in result["marks"]]
    return _profile.Profile(events, marks, result["places"])


def advise(profile: _profile.Profile, most: int, result: dict[str, Any], needs: dict[str, int | None], recording: _compose.Recording | None) -> list[dict[str, Any]]:
    """Changes that would help: the bytes that the peak of live memory, which is `most`, falls by, or the bytes of another allocator."""

    def step_end(block: _profile.Block) -> int:
        ends = [ended for ended in profile.iterations if block.born < ended]
        return min(block.died, ends[0]) if block.kind == "gradients" and ends else block.died

    found = []
    if any(one["can_be_fused"] for one in result["optimizers"]):
        without, _ = profile.peak(lambda block: block.born if block.name == _profile.STEPPING else block.died)
        found.append(("the optimizer with fused=True", most - without, "nothing"))
    without, _ = profile.peak(lambda block: min(block.died, profile.next_backward(block.born)) if block.name.endswith(_profile.HELD) else block.died)
    found.append(("`del` outputs and losses that are held into the next step, before backward()", most - without, "nothing"))
    without, _ = profile.peak(step_end)
    found.append(("zero_grad(set_to_none=True) right behind step()", most - without, "nothing"))
    if recording is not None and result["has_words"]:
        without = _compose.compose({_compose.KEEP: _compose.loss_in_pieces(recording, PIECES)}, [])
        found.append((f"the head and the loss over {PIECES} parts of the tokens, torch.utils.checkpoint around each", most - without, "the head's forward pass once more"))
    native, seam = needs.get("native"), needs.get("seam")
    if native is not None and seam is not None:
        found.append(("Seam as the allocator: import seamalloc; seamalloc.enable()", native - seam, "nothing"))
    rows = [{"what": what, "saves_bytes": saves, "costs": costs} for what, saves, costs in found if saves >= ADVICE_BYTES]
    return sorted(rows, key=lambda row: (row["costs"] != "nothing", -int(row["saves_bytes"])))


def how_sure(result: dict[str, Any]) -> list[str]:
    """What was not seen."""
    texts = [*_margin.unseen(result["libraries"]), *result["unseen"]]
    if result["steps"] == 0:
        texts.append("the program made no optimizer step: all that it did was counted")
    elif result["why"] == "steps":
        texts.append(f"{result['steps']} steps have not become alike: lengths or shapes change, or an optimizer has not made a step yet; larger ones may come")
    if result["why"] in ("alike", "steps"):
        texts.append(f"what comes behind step {result['steps']}: evaluation, saving, other lengths")
    return texts


def answer_of(result: dict[str, Any], answer: dict[str, Any], gpu: str) -> Run:
    """One device: what the tool has said of its history, and whose the bytes are."""
    profile = read_profile(result)
    most, at = profile.peak()
    del answer["trace"]  # a file that is gone
    answer.update(gpu=gpu, peak_live_bytes=most)
    if answer["fails_request"] is not None:
        number = answer["fails_request"] - 1
        where = profile.describe(profile.blocks[number].born) if number < len(profile.blocks) else "in an iteration after those that were run"
        answer["fails_at"] += f" ({where})"
    answer["holders"] = [{"kind": one.kind, "where": one.where, "bytes": one.bytes} for one in profile.holders(at)]
    recording = _compose.record(profile, result["borders"], result["period"])
    answer["advice"] = advise(profile, most, result, answer["needs_bytes"], recording)
    answer.update(unseen=how_sure(result), margin_bytes=_margin.total(result["libraries"]))
    answer["within_margin"] = _margin.is_close(answer, "seam")
    return Run(answer, profile.describe(at), result, recording)


def join(runs: list[Run]) -> Run:
    """The answer for all devices: that of the one which needs the most, but it fits where it does on each; and each in short."""
    runs = sorted(runs, key=lambda run: (run.answer["fits"], -run.answer["peak_live_bytes"]))
    answer = dict(runs[0].answer)
    for what in ("reserved_bytes", "needs_bytes"):
        sizes = {name: [run.answer[what][name] for run in runs] for name in NAMES}
        answer[what] = {name: None if None in found else max(found) for name, found in sizes.items()}
    answer["within_margin"] = _margin.is_close(answer, "seam")
    short = ("fits", "peak_live_bytes", "reserved_bytes", "needs_bytes")
    answer["devices"] = [{"device": run.result["device"], **{key: run.answer[key] for key in short}} for run in sorted(runs, key=lambda run: int(run.result["device"]))]
    return replace(runs[0], answer=answer)


def size_of(text: str) -> int:
    """The bytes of --memory, which may have a fraction."""
    number = text.rstrip("KMGT")
    return int(float(number) * UNITS[text[len(number) :]])


def ask(options: argparse.Namespace, program: list[str], gpu: str, recipe: Sequence[str] = (), timed: bool = False) -> Run:
    """One program on one kind of GPU, its model's blocks treated so."""
    size = ["--capacity", str(size_of(options.memory))] if options.memory else ["--gpu", gpu]
    with tempfile.TemporaryDirectory(prefix="seam-what-if-") as name:
        folder = Path(name)
        result = run_program(options, program, gpu, folder, recipe, timed)
        answers = [ask_tool(["what-if", "--json", *size, str(folder / device["history"])])[0] for device in result["devices"]]
    run = join([answer_of({**result, **device}, answer, gpu) for device, answer in zip(result["devices"], answers, strict=True)])
    seconds, why = _work.estimate(result, options.machine) if timed else (None, "")
    run.answer.update(iteration_seconds_estimated=seconds, unseen=run.answer["unseen"] + ([why] if why else []))
    return run


TREATMENTS = {
    _blocks.RECOMPUTE: ("torch.utils.checkpoint around {}", "their forward pass once more{}"),
    _blocks.SWAP: ("torch.autograd.graph.save_on_cpu() around {}", "copies to the host and back"),
    _blocks.FROM_HOST: ("torch.autograd.graph.save_on_cpu() around torch.utils.checkpoint around {}", "their forward pass once more{}, and copies of their inputs"),
}


def named(treated: Sequence[int], count: int, name: str) -> str:
    """Blocks, for people: "2 of the 12 blocks (Block 0, 1)"."""
    which = "" if len(treated) == count else " " + ", ".join(str(block) for block in sorted(treated))
    return f"{len(treated)} of the {count} blocks ({name}{which})"


def share(run: Run, machine: dict[str, Any], blocks: Sequence[int]) -> str:
    """How much of an iteration the forward passes of blocks take, for people; empty: it is not known."""
    if run.answer["iteration_seconds_estimated"] is None:
        return ""
    passes = {f"forward {block}" for block in blocks}
    taken = _work.seconds([row for row in run.result["work"] if row[0] in passes], machine)
    return f": {taken / run.answer['iteration_seconds_estimated']:.0%} of an iteration" if taken else ""


def treat_all(options: argparse.Namespace, program: list[str], gpu: str, run: Run, treatment: str) -> Run:
    """The run with all of its blocks treated so; it is made once."""
    count = run.result["blocks"][0]
    if treatment not in run.treated:
        say(f"{treatment} {count} of {count} blocks")
        try:
            run.treated[treatment] = ask(options, program, gpu, [treatment] * count)
        except NoAnswer as failure:
            run.treated[treatment] = failure
    made = run.treated[treatment]
    if isinstance(made, NoAnswer):
        raise made
    return made


def recordings_of(run: Run, treatment: str, treated: Run) -> dict[str, _compose.Recording]:
    """Of a run without treatment and one with, if they can be composed; else none."""
    if run.recording is None or treated.recording is None:
        return {}
    found = {_compose.KEEP: run.recording, treatment: treated.recording}
    return found if _compose.agree(found) else {}


def fewest(run: Run, treated: Run, treatment: str, count: int) -> tuple[list[int], int]:
    """The blocks in the order to treat them, and how many have to be, composed of a run with none and one with all. Seam takes what it took there above the live bytes."""
    recordings = recordings_of(run, treatment, treated)
    if not recordings:
        return list(range(count)), count
    above = treated.answer["needs_bytes"]["seam"] - treated.answer["peak_live_bytes"]
    order = _compose.by_savings(recordings, treatment, count)
    return order, min(count, max(1, _compose.fewest(recordings, treatment, order, treated.answer["usable_bytes"] - above)))


def try_treatments(options: argparse.Namespace, program: list[str], gpu: str, run: Run) -> list[dict[str, Any]]:
    """What else the activations of blocks can be: of all blocks, and of as few as let the program fit, run as they are named."""
    count, name = run.result["blocks"]
    rows = []
    fits = False
    for treatment, (what, costs) in TREATMENTS.items() if count else ():
        if fits and treatment == _blocks.FROM_HOST:
            break  # dearer than each alone
        try:
            treated = treat_all(options, program, gpu, run, treatment)
        except NoAnswer as failure:
            run.answer["unseen"].append(f"its blocks with {treatment}: {failure}")
            continue
        best = treated.answer
        order, few = fewest(run, treated, treatment, count) if best["fits"] else (list(range(count)), count)
        blocks = order
        while best["fits"] and few < len(blocks):
            say(f"{treatment} {few} of {count} blocks")
            tried = ask(options, program, gpu, _compose.mixed(treatment, order[:few])).answer
            if tried["fits"]:
                best, blocks = tried, order[:few]
            few += 1
        fits = fits or best["fits"]
        rows.append({
            "what": what.format(named(blocks, count, name)) + _margin.then(best),
            "saves_bytes": run.answer["peak_live_bytes"] - best["peak_live_bytes"],
            "costs": costs.format(share(run, options.machine, blocks)),
        })  # fmt: skip
    return [row for row in rows if row["saves_bytes"] >= ADVICE_BYTES]


def make_profile(options: argparse.Namespace, gpu: str, program: list[str], run: Run) -> str:
    """A .seamprofile, as its schema says (seamprofile.schema.json)."""
    count, name = run.result["blocks"]
    if run.recording is None:
        raise NoAnswer("--profile: the program's iterations have not become alike")
    recordings = {_compose.KEEP: run.recording}
    for treatment in TREATMENTS if count else ():
        with contextlib.suppress(NoAnswer):
            recordings.update(recordings_of(run, treatment, treat_all(options, program, gpu, run, treatment)))
    content = {
        "seamprofile": 1,
        "torch": run.result["torch"],
        "program": program,
        "gpu": gpu,
        "blocks": {"count": count, "class": name},
        "peak_live_bytes": run.answer["peak_live_bytes"],
        "seen_at_borders_bytes": _compose.seen_at_borders(read_profile(run.result), run.result["borders"]),
        "unseen": run.answer["unseen"],
        "work": run.result.get("work"),
        "recordings": {treatment: dataclasses.asdict(recording) for treatment, recording in recordings.items()},
    }
    return json.dumps(content, separators=(",", ":")) + "\n"


def say(progress: str) -> None:
    """What takes a while, on a terminal."""
    if sys.stderr.isatty():
        print(f"what-if: {progress} ...", file=sys.stderr, flush=True)


def find_batch(options: argparse.Namespace, program: list[str], gpu: str) -> dict[str, tuple[int, bool]]:
    """The largest batch under each allocator, and whether it is by less than what is not seen; by bisection: at most some 2 log2 of it runs."""
    tried: dict[int, dict[str, Any]] = {}

    def fits(batch: int, allocator: str) -> bool:
        if batch not in tried:
            say(f"batch {batch}")
            arguments = shlex.split(options.find_batch.replace("{}", str(batch)))
            try:
                tried[batch] = ask(options, [*program, *arguments], gpu).answer
            except NoAnswer as failure:
                raise NoAnswer(f"with a batch of {batch} {failure}") from None
        return tried[batch]["reserved_bytes"][allocator] is not None

    largest = {}
    for allocator in ("seam", "expandable", "native"):
        low, high = 0, 1
        while high <= LARGEST_BATCH and fits(high, allocator):
            low, high = high, min(2 * high, LARGEST_BATCH + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle, allocator) else (low, middle)
        largest[allocator] = low, low > 0 and _margin.is_close(tried[low], allocator)
    return largest


def needed(size: int | None) -> str:
    """What an allocator needs, for people."""
    return "more than any device has" if size is None else size_text(size)


def text(options: argparse.Namespace, program: list[str], run: Run, batches: dict[str, tuple[int, bool]] | None) -> str:
    """The answer for people."""
    answer = run.answer
    reserved, needs = answer["reserved_bytes"], answer["needs_bytes"]
    fitting = [name for name in NAMES if reserved[name] is not None]
    verdict = "fits" if len(fitting) == len(NAMES) else "does not fit" if not fitting else "fits with " + " and ".join(NAMES[name] for name in fitting) + " only"
    verdict += _margin.remark(answer, run.result["libraries"], NAMES)
    device = f"{options.gpus} x {answer['gpu']}" if options.gpus > 1 else answer["gpu"]
    device += f" with {options.memory}" if options.memory else ""
    used = "The program ran on this machine's GPU." if options.here else "No GPU was used."
    lines = [f"{shlex.join(program)} on {device} ({size_text(answer['usable_bytes'])} usable): {verdict}. {used}"]

    whose = f", on cuda:{run.result['device']}" if options.gpus > 1 else ""

    def row(title: str, content: str) -> None:
        lines.append(f"  {title:<15}{content}")

    row("needs", f"{size_text(answer['peak_live_bytes'])} live at most ({run.peak_at}{whose})")
    for name, called in NAMES.items():
        row("", f"{called}: " + needed(needs[name]) + ("" if reserved[name] is not None else "; runs out of memory here"))
    for one in answer["devices"] if options.gpus > 1 else ():
        row(f"cuda:{one['device']}", f"{size_text(one['peak_live_bytes'])} live at most, {needed(one['needs_bytes']['seam'])} with Seam: {'fits' if one['fits'] else 'does not fit'}")
    if answer["fails_at"]:
        row("fails", answer["fails_at"])
    shown = [holder for holder in answer["holders"][:HOLDERS] if holder["bytes"] >= SHOWN_BYTES]
    for number, holder in enumerate(shown):
        row("" if number else "held by", f"{size_text(holder['bytes']):>11}  {holder['kind']}: {holder['where']}")
    rest = sum(holder["bytes"] for holder in answer["holders"][len(shown) :])
    if rest >= SHOWN_BYTES:
        row("", f"{size_text(rest):>11}  the rest")
    for number, advice in enumerate(answer["advice"]):
        row("" if number else "cheaper first", f"{size_text(advice['saves_bytes'])} less: {advice['what']}" + ("" if advice["costs"] == "nothing" else f" (costs {advice['costs']})"))
    if run.result["recomputed"]:
        row("recomputed", f"modules are, in the backward pass already ({run.result['recomputed']} and what is like it): that is in what it needs")
    if batches is not None:
        most = ((*batches[name], called) for name, called in NAMES.items())
        row("largest batch", ", ".join(f"{size}{' or more' * (size == LARGEST_BATCH)} with {called}{' (by less than what is not seen)' * close}" for size, close, called in most))
    if answer["iteration_seconds_estimated"] is not None:
        row("an iteration", _work.row(answer["iteration_seconds_estimated"], options.machine))
    steps = run.result["steps"]
    row("how sure", f"the requests are PyTorch {run.result['torch']}'s own, of {steps} optimizer steps" + (", the last two alike" if run.result["why"] == "alike" else ""))
    for unseen in answer["unseen"]:
        row("not seen", unseen)
    return "\n".join(lines)


def on(options: argparse.Namespace, gpu: str) -> tuple[argparse.Namespace, str]:
    """The options and the name of a GPU, which may be that of a file: then it is that machine's memory too."""
    given = argparse.Namespace(**vars(options))
    given.machine = _work.read_machine(Path(gpu)) if gpu.endswith(".json") else {"gpu": gpu}
    known = ask_tool(["machines", "--json", given.machine["gpu"]])[0]  # an unknown one has no answer
    given.machine = {**known, **given.machine, "gpu": known["gpu"]}  # rtx4090, of RTX4090 too
    if gpu.endswith(".json") and not options.memory:
        given.memory = f"{(given.machine['memory_bytes'] - given.machine['context_bytes']) / (1 << 30):.2f}G"
    return given, given.machine["gpu"]


def has_time(options: argparse.Namespace) -> bool:
    """The time of an iteration is estimated: of one GPU that is not there."""
    return not options.here and options.gpus == 1


def ask_first(options: argparse.Namespace, program: list[str], gpu: str, why: str) -> tuple[Run, str]:
    """The program as it is, on the ghost GPU; where that cannot be had or followed, on the meta device, and so what comes behind. And why it is not the ghost GPU, which `why` says already if a GPU before showed that; empty: it is."""
    first: NoAnswer | build.BuildError | None = None
    if not why:
        try:
            return ask(options, program, gpu, timed=has_time(options)), ""
        except (NoAnswer, build.BuildError) as failure:
            if options.here or options.meta or not _fallback.is_reason(failure):
                raise
            first, why = failure, str(failure).split("\n")[0]
        say("not on the ghost GPU; on the meta device")
    options.meta = True
    try:
        run = ask(options, program, gpu, timed=has_time(options))
    except NoAnswer as failure:
        raise (first if isinstance(first, NoAnswer) else failure) from None
    run.answer["unseen"].insert(0, f"the program ran on PyTorch's meta device, not on the ghost GPU: {why}")
    return run, why


def interrupted(number: int, frame: object) -> NoReturn:
    """A signal ends the command as Ctrl-C does: with what it has started."""
    raise KeyboardInterrupt


def answer(arguments: list[str]) -> int:
    """The command, but for the end of the server. Its exit status."""
    options, program = parse(arguments)
    runs = []
    texts = []
    gpus = [gpu for gpu in (options.gpu or "").split(",") if gpu] or ["h100"]
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    try:
        targets = [on(options, gpu) for gpu in gpus]
        why_meta = ""
        for given, gpu in targets:
            run, why_meta = ask_first(given, program, gpu, why_meta)
            if not has_time(given):
                run.answer["unseen"].append("the time of an iteration: it is estimated of one ghost GPU alone")
            if not run.answer["fits"]:
                run.answer["advice"] += try_treatments(given, program, gpu, run)
            batches = None
            try:
                batches = find_batch(given, program, gpu) if given.find_batch else None
            except NoAnswer as failure:
                run.answer["unseen"].append(f"the largest batch: {failure}")
            run.answer["largest_batch"], run.answer["largest_batch_within_margin"] = batches["seam"] if batches is not None else (None, None)
            runs.append(run)
            texts.append(text(given, program, run, batches))
        contents = {options.draw: draw(targets[0][0], program, runs)} if options.draw else {}
        if options.profile:
            contents[options.profile] = make_profile(*targets[0], program, runs[0])
    except (NoAnswer, build.BuildError, _library.Error, _profile.ProfileError, _work.Unknown) as failure:
        print(f"what-if: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("what-if: interrupted", file=sys.stderr)
        return 2
    failed = write_files(contents)
    print(json.dumps([run.answer for run in runs], indent=1) if options.json else "\n\n".join(texts))
    if failed:
        print(f"what-if: {failed}", file=sys.stderr)
        return 2
    return 0 if any(run.answer["fits"] for run in runs) else 1


def main(arguments: list[str]) -> int:
    """The command. Its exit status."""
    try:
        return answer(arguments)
    except BrokenPipeError:
        raise  # nobody reads the answer: _program.reading()
    except Exception as failure:  # noqa: BLE001 - 1 would say that it fits on none
        traceback.print_exc()
        print(f"what-if: a fault of its own, and no answer: {type(failure).__name__}: {failure}", file=sys.stderr)
        return 2
    finally:
        SERVER.close()
