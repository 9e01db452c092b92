"""Programs on the ghost GPU: python -m seamalloc._ghost_run CONNECTION LIBRARY...

The process that `python -m seamalloc what-if` starts. It loads the libraries and imports PyTorch, once, without asking for the device. For each message on the
CONNECTION (a descriptor) it forks: the child runs the user's program until its optimizer's steps have become alike, writes down what happened to memory, goes on for one
iteration whose operators are counted (_work.py; that changes what memory is asked for), and ends there: nothing behind that point of the program runs, no `finally` and
no handler of exits. Two messages answer: the child's process id, and its status when it has
ended. The children find one thread only; the device is that of their own environment.

A message is JSON: gpu and gpus (how many), steps (most of them), folder (where the result goes: profile.json, and a history for each GPU, which `seam` reads), output (the file for what is
printed; "": that of this process), recipe (a treatment for each block), timed (if operators are counted), here (on this machine's own GPU: no libraries were loaded), machine (of `seam machines`, where tensors are those of _meta.py: likewise; else null), program (it, and
its arguments).
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import gc
import json
import multiprocessing.process
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from . import _blocks, _borders, _ghost, _ghost_cpu, _ghost_sizes, _margin, _profile, _program, _work

HISTORY = 1 << 26  # entries: all that a program comes to in a few iterations
REPEATED = 8  # iterations that the replay has more: allocators need some until they take no more
WORLD = "several processes (world_size {}): what-if runs one; give it one rank, whose memory is that of each"
META = "the sizes are those of PyTorch's meta device; what kernels take inside of operators is by rule, and for some there is none"
EAGER = "torch.compile compiles nothing on the meta device: what would be compiled runs operator by operator, which as a rule takes more memory"


class Stop(Exception):
    """Why the program cannot go on here, for a person."""


PACKAGE = Path(__file__).resolve().parent
NUMBER = re.compile(r"(?:^|(?<=_))\d+$")  # of a module among others, at the end of its name
COMPILED = "torchinductor"  # in the path of what torch.compile has written
TORCH = PACKAGE  # of the imported one, from start() on


def here(filename: str) -> bool:
    """Whether a file is the program's, or of a library that is not PyTorch or this package."""
    return not filename.startswith((f"{TORCH}{os.sep}", f"{PACKAGE}{os.sep}", "<"))


def place(frames: list[dict[str, Any]]) -> str:
    """A call site in words: the innermost line of the program. What autograd calls has none, but where a compiled or a custom backward() does."""
    for frame in frames:
        if here(frame["filename"]) and COMPILED not in frame["filename"]:
            return f"{os.path.basename(frame['filename'])}:{frame['line']} {frame['name']}"
    return _profile.BACKWARD if not frames or any(frame["name"] == "backward" for frame in frames) else "PyTorch"


class Iterations:
    """Whether a program's iterations have become alike. The first optimizer that makes a step leads: an iteration, or a part of one, ends with each step of it."""

    def __init__(self) -> None:
        self.leader: int | None = None
        self.signatures: list[tuple[tuple[int, int], ...]] = []  # of each stretch, for each device: requests, and their bytes
        self.steppers: list[set[int]] = []  # whose steps are in each
        self.stepped: set[int] = set()  # since the last one

    def step(self, optimizer: int) -> bool:
        """An optimizer has made a step. Whether it leads."""
        self.leader = optimizer if self.leader is None else self.leader
        self.stepped.add(optimizer)
        return optimizer == self.leader

    def end(self, signature: tuple[tuple[int, int], ...]) -> None:
        """A stretch ends."""
        self.signatures.append(signature)
        self.steppers.append(self.stepped)
        self.stepped = set()

    def period(self) -> int:
        """Of how many stretches an iteration is, if the newest are as so many before them; else 0."""
        signatures = self.signatures
        periods = range(1, (len(signatures) - 1) // 2 + 1)
        return next((period for period in periods if signatures[-period:] == signatures[-2 * period : -period]), 0)

    def is_settled(self, optimizers: set[int]) -> bool:
        """Whether one iteration has come over and over, twice at least, since all optimizers had their state, and each of these makes a step in it."""
        count = len(self.signatures)
        known: set[int] = set()
        start = 0
        for number, who in enumerate(self.steppers):
            start = start if who <= known else number + 1  # a first step makes the state
            known |= who
        for period in range(1, (count - start) // 2 + 1):
            if all(self.signatures[i] == self.signatures[i - period] for i in range(start + period, count)):
                return optimizers <= set().union(*self.steppers[-period:])
        return False


def identity(optimizer: Any) -> int:
    """Of an optimizer by its first parameter on the GPU, so that one that wraps another is the same; 0: it has none."""
    for group in getattr(optimizer, "param_groups", ()):
        for parameter in group["params"]:
            if parameter.is_cuda:
                return id(parameter)
    return 0


class Recorder:
    """What is written down of a program."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.folder = Path(settings["folder"])
        self.most_steps = int(settings["steps"])
        self.timed = bool(settings["timed"])
        self.launches: Callable[[], int] = lambda: 0  # on the GPU, so far
        self.is_meta = False
        self.libraries: dict[str, tuple[int, str]] = {}
        self.marks: list[list[_profile.Mark]] = []  # at each moment one for each device
        self.iterations = Iterations()
        self.optimizers: dict[int, dict[str, Any]] = {}
        self.unseen: dict[str, int] = {}
        self.before: list[tuple[int, int]] = []
        self.blocks = (0, "")
        self.has_words = False
        self.recomputed = ""
        self.borders = _borders.Borders(lambda: [(requests, frees) for requests, frees, _ in self.counts()])
        self.lock = threading.Lock()
        self.result: dict[str, Any] = {}  # as it was written
        self.counter: _work.Counter | None = None  # of operators, once the memory of iterations is known
        self.to_count = 0  # stretches

    def note(self, text: str) -> None:
        """Something that is not seen here, or not as it would be."""
        self.unseen[text] = self.unseen.get(text, 0) + 1

    def lacks(self, library: str, size: int, name: str) -> None:
        """A library that is not here could have taken so much for this call; the most counts."""
        library = _margin.UNTOLD + library if self.is_meta and library != "NCCL" else library
        self.libraries[library] = max(self.libraries.get(library, (0, name)), (size, name))

    def note_blocks(self, blocks: list[Any], has_words: bool) -> None:
        """A model's blocks."""
        names = dict.fromkeys([*filter(None, self.blocks[1].split(", ")), *(type(block).__name__ for block in blocks)])
        self.blocks, self.has_words = (self.blocks[0] + len(blocks), ", ".join(names)), self.has_words or has_words

    def note_recomputed(self, name: str) -> None:
        """The first module that runs within a backward pass: the program has checkpoints of its own."""
        self.recomputed = self.recomputed or name

    def counts(self) -> list[tuple[int, int, int]]:
        """Of each device: requests and frees so far, and all bytes that were asked for."""
        import torch

        found = []
        for device in range(torch.cuda.device_count()):
            stats = torch.cuda.memory_stats_as_nested_dict(device)
            requests, asked = (stats[name]["all"] if stats else {"allocated": 0, "freed": 0} for name in ("allocation", "requested_bytes"))
            found.append((requests["allocated"], requests["freed"], asked["allocated"]))
        return found

    def mark(self, what: str, labels: dict[int, tuple[str, str]]) -> None:
        """A moment. Addresses are of one device each."""
        self.marks.append([_profile.Mark(what, requests, frees, labels) for requests, frees, _ in self.counts()])

    def before_step(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An optimizer begins a step: gradients are complete. What a closure does in it is the program's, not the optimizer's."""
        self.mark("step", labels_of_parameters(optimizer))
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        if not callable(closure):
            return None

        def evaluate() -> Any:
            self.mark("stepped", {})
            try:
                return closure()
            finally:
                self.mark("step", labels_of_parameters(optimizer))

        if "closure" in kwargs:
            return args, {**kwargs, "closure": evaluate}
        return (args[0], evaluate, *args[2:]), kwargs

    def after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """It has ended one. When the iterations are alike the program has shown what there is to see."""
        import torch

        self.mark("stepped", labels_of_state(optimizer))
        defaults = optimizer.defaults
        who = identity(optimizer)
        self.optimizers[who] = {
            "class": type(optimizer).__name__,
            "fused": bool(defaults.get("fused")),
            "can_be_fused": "fused" in defaults and not defaults.get("fused"),
        }
        if not self.iterations.step(who):
            return
        if self.counter is not None:
            self.to_count -= 1
            if not self.to_count:
                self.finish("alike")
            return
        self.mark("iteration", {})
        before, self.before = self.before or [(0, 0)] * torch.cuda.device_count(), [(requests, asked) for requests, _, asked in self.counts()]
        self.iterations.end(tuple((now[0] - then[0], now[1] - then[1]) for now, then in zip(self.before, before, strict=True)))
        everybody = {identity(thing) for thing in objects(torch.optim.Optimizer)} - {0}
        # Steps on a stream of their own warm up for a graph that is captured behind them.
        if self.iterations.is_settled(everybody) and torch.cuda.current_stream() == torch.cuda.default_stream():
            if not self.timed:
                self.finish("alike")
            self.count_operators()
        elif len(self.iterations.signatures) >= self.most_steps:
            self.finish("steps")

    def count_operators(self) -> None:
        """The result is written; then one more iteration. If that one fails or does not end, the result is what it is."""
        write(self, "alike", "")
        self.to_count = self.iterations.period()
        part = _work.where(lambda: self.marks[-1][0].what == "step")

        def where() -> str:
            block, name = self.borders.inside, part()
            return name if block == _borders.OTHER or name == "optimizer" else f"{name} {block}"

        self.counter = _work.Counter(where, self.launches)

    def finish(self, why: str, error: str = "") -> NoReturn:
        """Writes the result and ends the process."""
        with self.lock:
            if not self.result:
                write(self, why, error)
            elif self.counter is not None and not self.to_count:
                self.result.update(self.counter.result())
                put(self)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


def objects(kind: type) -> list[Any]:
    """All that there are of a class. A weak reference would be asked by isinstance()."""
    return [thing for thing in gc.get_objects() if issubclass(type(thing), kind)]


def labels_of_models() -> dict[int, tuple[str, str]]:
    """Parameters and buffers of all modules, frozen ones too, by the class of the outermost module and where in it they are."""
    import torch

    modules = objects(torch.nn.Module)
    inner = {id(child) for module in modules for child in module.children()}
    labels: dict[int, tuple[str, str]] = {}
    for module in modules:
        if id(module) in inner:
            continue
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            # layers.0.attention.weight and layers.1.norm.weight are one place: layers.*; so are layers.layer_0 and layers.layer_1: layers.layer_*
            part = ".".join(NUMBER.sub("*", part) for part in name.split(".")[:-1])
            part = part[: part.find("*") + 1] or part
            part = part.removeprefix("_orig_mod.")  # of torch.compile
            where = f"{type(module).__name__}.{part}" if part else type(module).__name__
            labels[_borders.address(tensor)] = ("parameters", where)
            if tensor.is_leaf and tensor.grad is not None:
                labels[_borders.address(tensor.grad)] = ("gradients", where)
    labels.pop(0, None)
    return labels


def labels_of_parameters(optimizer: Any) -> dict[int, tuple[str, str]]:
    """Those of all models, and what this optimizer has to step where no module has it."""
    labels = labels_of_models()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            labels.setdefault(_borders.address(parameter), ("parameters", "of no module"))
            if parameter.grad is not None:
                labels.setdefault(_borders.address(parameter.grad), ("gradients", "of no module"))
    labels.pop(0, None)
    return labels


def labels_of_state(optimizer: Any) -> dict[int, tuple[str, str]]:
    """An optimizer's state: `exp_avg` and the like."""
    labels = {
        _borders.address(value): ("optimizer", f"{type(optimizer).__name__}.{name}")
        for state in list(optimizer.state.values())
        if isinstance(state, dict)
        for name, value in state.items()
    }
    labels.pop(0, None)
    return labels


def workspaces() -> None:
    """Gives cuBLAS's workspaces back, so that the history shows which they were."""
    import torch

    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if clear is not None:
        clear()


def write(recorder: Recorder, why: str, error: str) -> None:
    """profile.json, and a history of each device that was used."""
    import torch

    result: dict[str, Any] = {"why": why, "error": error, "torch": torch.__version__, "unseen": sorted(recorder.unseen), "devices": []}
    result.update(optimizers=list(recorder.optimizers.values()), steps=len(recorder.iterations.signatures), period=recorder.iterations.period())
    result.update(blocks=recorder.blocks, has_words=recorder.has_words, recomputed=recorder.recomputed)
    if torch.cuda.is_initialized():
        counts = recorder.counts()
        workspaces()
        traces = torch.cuda.memory._snapshot()["device_traces"]
        torch.cuda.memory._record_memory_history(enabled=None)
        used = [device for device, (requests, _, _) in enumerate(counts) if requests]
        result["devices"] = [profile_of(recorder, device, traces[device], counts[device][1]) for device in used]
    recorder.result = {**result, "libraries": recorder.libraries}
    put(recorder)


def put(recorder: Recorder) -> None:
    """profile.json, whole at any moment."""
    whole = recorder.folder / "profile.json.new"
    whole.write_text(json.dumps(recorder.result), encoding="utf-8")
    whole.replace(recorder.folder / "profile.json")


def profile_of(recorder: Recorder, device: int, trace: list[dict[str, Any]], frees: int) -> dict[str, Any]:
    """A device's history in short, so many frees of it, and what is known of its blocks."""
    marks = [moment[device] for moment in recorder.marks]
    places: dict[str, int] = {}
    known: dict[int, int] = {}  # of lists of frames that several entries share
    events: list[_profile.Event] = []
    entries: list[dict[str, Any]] = []
    freed_last: dict[int, tuple[str, str]] = {}
    seen = 0
    for entry in trace:
        if entry["action"] not in ("alloc", "free_requested", "free_completed"):
            continue
        frames = entry.get("frames", [])
        number = known.get(id(frames))
        if number is None:
            number = known[id(frames)] = places.setdefault(place(frames), len(places))
        if entry["action"] == "free_requested":
            seen += 1
            if seen > frees:  # by workspaces()
                freed_last[entry["addr"]] = ("workspaces", "cuBLAS")
        if seen > frees:
            continue
        if entry["action"] != "free_completed":
            events.append(_profile.Event(entry["action"], entry["addr"], entry["size"], number))
        entries.append({name: entry[name] for name in ("action", "addr", "size", "stream", "time_us")})
    if not recorder.is_meta and _margin.blas_bytes() in {event.bytes for event in events}:
        recorder.lacks("cuBLAS", 0, "")
    marks.append(_profile.Mark("workspaces", sum(event.action == _profile.ALLOC for event in events), frees, freed_last))
    period = recorder.iterations.period()
    if period:
        ends = [(mark.requests, mark.frees) for mark in marks if mark.what == "iteration"]
        entries += _profile.repeated(entries, ends[-2 * period - 1], ends[-period - 1], ends[-1], REPEATED)
    history = f"history-{device}.pickle"
    with (recorder.folder / history).open("wb") as file:
        pickle.dump({"segments": [], "device_traces": [entries]}, file, protocol=4)
    return {
        "device": device,
        "history": history,
        "events": [[event.action == _profile.ALLOC, event.address, event.bytes, event.place] for event in events],
        "places": list(places),
        "marks": [[mark.what, mark.requests, mark.frees, [[at, *label] for at, label in mark.labels.items()]] for mark in marks],
        "borders": [[*moments[device], what, block, handed] for moments, what, block, handed in recorder.borders.found],
    }


def watch_worlds(lacks: Callable[[str, int, str], None]) -> None:
    """A program of several processes is refused; of one, NCCL is passed over."""
    import torch

    if not torch.distributed.is_available():
        return
    own = torch.distributed.init_process_group

    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        size = kwargs.get("world_size", -1)
        size = int(os.environ.get("WORLD_SIZE", "1")) if size in (-1, None) else size
        if size > 1:
            raise Stop(WORLD.format(size))
        if backend is None or "nccl" in str(backend):
            lacks("NCCL", _margin.NCCL_BYTES, "init_process_group")
        kwargs.pop("device_id", None)
        return own("gloo", *args, **kwargs)

    torch.distributed.init_process_group = init_process_group

    def spawn(function: Any, args: Any = (), nprocs: int = 1, *more: Any, **kwargs: Any) -> Any:
        if nprocs > 1:
            raise Stop(WORLD.format(f"{nprocs} by torch.multiprocessing.spawn"))
        function(0, *args)

    torch.multiprocessing.spawn = spawn
    # These compare, and order by, numbers that go to the GPU and back, where nothing is kept. Buckets stay in their first order, of the same bytes.
    import torch.nn.parallel.distributed as data_parallel

    data_parallel._verify_param_shape_across_processes = lambda *args, **kwargs: None
    torch.distributed.Reducer._rebuild_buckets = lambda reducer: False


def watch_processes(told: Path) -> None:
    """Makes a file where the program starts a process that could be a rank: one of Python, which does not end with this one as those that load data do."""
    popen, start = subprocess.Popen.__init__, multiprocessing.process.BaseProcess.start

    def of_command(self: Any, args: Any, *more: Any, **kwargs: Any) -> None:
        args = args if isinstance(args, (str, bytes, os.PathLike)) else [*args]
        command = (args or [""])[0] if isinstance(args, list) else args
        if os.path.basename(os.fsdecode(command).split(" ")[0]).startswith("python"):
            told.touch()
        popen(self, args, *more, **kwargs)

    def of_function(self: Any) -> None:
        if not self.daemon:
            told.touch()
        start(self)

    subprocess.Popen.__init__ = of_command  # type: ignore[method-assign]
    multiprocessing.process.BaseProcess.start = of_function  # type: ignore[method-assign]


def save_nothing() -> None:
    """torch.save and safetensors write into no files from now on: values are not computed here, and a checkpoint of the user's may have that name."""
    import torch

    def unless_file(own: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(own)
        def save(*args: Any, **kwargs: Any) -> Any:
            file = kwargs.get("f", kwargs.get("filename", args[1] if len(args) > 1 else None))
            return None if isinstance(file, (str, os.PathLike)) else own(*args, **kwargs)

        return save

    torch.save = unless_file(torch.save)
    with contextlib.suppress(ImportError):
        import safetensors.torch

        safetensors.torch.save_file = unless_file(safetensors.torch.save_file)


def noting(own: Callable[..., Any], note: Callable[[], None]) -> Callable[..., Any]:
    """A function whose calls are noted."""

    @functools.wraps(own)
    def noted(*args: Any, **kwargs: Any) -> Any:
        note()
        return own(*args, **kwargs)

    return noted


def start(settings: dict[str, Any]) -> Recorder:
    """PyTorch, watched; on the ghost GPU without what is not there."""
    global TORCH
    with (Path(settings["folder"]) / "where").open("w") as where:
        faulthandler.register(signal.SIGUSR1, os.fdopen(os.dup(where.fileno()), "w"), all_threads=False)
    import seamalloc
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    TORCH = Path(torch.__file__).resolve().parent
    meta = None
    if settings["machine"]:
        from . import _meta

        meta = _meta.install(settings["machine"], settings["gpus"], Stop)
    if not torch.cuda.is_available():
        raise Stop(f"PyTorch finds no {'' if settings['here'] else 'ghost '}GPU")
    recorder = Recorder(settings)
    seamalloc.enable = lambda *args, **kwargs: None  # of a program that has it already: what it asks for is the same
    save_nothing()
    if not settings["here"]:
        if meta is None:
            recorder.launches = _ghost.launches()
        else:
            recorder.is_meta, recorder.launches = True, lambda: meta.launches
            recorder.note(META)
            torch.compile = noting(torch.compile, lambda: recorder.note(EAGER))
        watch_worlds(recorder.lacks)
        watch_processes(recorder.folder / "processes")
        _ghost_cpu.install()
        _ghost_sizes.watch(recorder.note, recorder.lacks, not recorder.is_meta)
    _blocks.install(settings["recipe"], recorder.borders, recorder.note_blocks, recorder.note_recomputed)
    torch.cuda.memory._record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=HISTORY)
    register_optimizer_step_pre_hook(recorder.before_step)
    register_optimizer_step_post_hook(recorder.after_step)
    return recorder


def last_lines(failure: BaseException) -> str:
    """An exception in a line, with the line of the program that it came from."""
    frames = [frame for frame in traceback.extract_tb(failure.__traceback__) if here(frame.filename) and "runpy" not in frame.filename]
    frames = [frame for frame in frames if _program.is_own(frame.filename)] or frames
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(failure).split())
    return f"{type(failure).__name__}: {text[:300]}{where}" if text else f"{type(failure).__name__}{where}"


def follow(settings: dict[str, Any]) -> NoReturn:
    """Runs the program, and ends the process."""
    recorder = Recorder(settings)
    try:
        recorder = start(settings)
        _program.run(settings["program"])
    except SystemExit as ending:
        recorder.finish("exited", "" if ending.code in (None, 0) else f"the program exited with {ending.code}")
    except Stop as stop:
        recorder.finish("refused", str(stop))
    except BaseException as failure:  # noqa: BLE001 - whatever a user's program raises is an answer
        traceback.print_exc()
        recorder.finish("failed", last_lines(failure))
    recorder.finish("ended")


def end_with_parent(number: int) -> None:
    """This process gets a signal when the one that started it ends."""
    ctypes.CDLL(None).prctl(1, number, 0, 0, 0)  # PR_SET_PDEATHSIG


def begin(settings: dict[str, Any], server: int) -> None:
    """What makes a process of its own of a forked one."""
    os.setsid()
    end_with_parent(signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(FAKECUDA_GPU=settings["gpu"], FAKECUDA_DEVICES=str(settings["gpus"]))
    if settings["output"]:
        output = os.open(settings["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)


def run(settings: dict[str, Any], connection: Connection) -> int:
    """One program in a process of its own. Its status; nothing that it started is left, however this ends."""
    server = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            connection.close()
            begin(settings, server)
            follow(settings)
        except BaseException:  # noqa: BLE001 - a result that cannot be written; nothing here goes on in two processes
            traceback.print_exc()
        finally:
            os._exit(1)
    try:
        connection.send_bytes(b"%d" % pid)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    finally:
        os.kill(pid, signal.SIGKILL)  # it is there as long as its status was not asked for
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    return os.waitstatus_to_exitcode(status)


def prepare(libraries: list[Path]) -> None:
    """What all runs have in common: PyTorch, and what it imports when an optimizer is made."""
    _ghost.load(libraries)
    import torch

    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    gc.collect()
    gc.freeze()  # what is here is not looked through for a program's models


def main(arguments: list[str]) -> None:
    end_with_parent(signal.SIGTERM)
    connection = Connection(int(arguments[0]))
    prepare([Path(path) for path in arguments[1:]])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # by way of run(), which ends what runs
    with contextlib.suppress(EOFError, SystemExit):
        while True:
            settings = json.loads(connection.recv_bytes())
            connection.send_bytes(b"%d" % run(settings, connection))
    os._exit(0)  # at once


if __name__ == "__main__":
    main(sys.argv[1:])
