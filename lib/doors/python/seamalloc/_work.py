"""What the operators of an iteration compute and move, and how long a GPU takes for that.

A row is [where, type, flops, bytes, launches, times]: so many calls alike.
  where     the part of the program: "forward", "backward" or "optimizer", or what the caller says
  type      of the numbers that matrix products, convolutions and attention multiply: "bfloat16", "float32", "tf32", ...; "": none; "host": a copy from or to the host
  flops     of these, by torch.utils.flop_counter; of causal attention half, for kernels pass over the other half
  bytes     read and written: of arguments and results, each once. What an operator takes a part of (an embedding) counts as much as that part
  launches  kernels, fills and copies; of what libraries do that are not here (products, cuDNN, cuFFT) one
They say nothing of a GPU. seconds() has one's speeds: an operator takes as long as its products, or its memory, or its launches, whichever is longest, one
behind the other. The processor's own time is not in it: where that is longer (small models), an iteration takes longer.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _margin
from ._borders import tensors

Row = tuple[str, str, int, int, int, int]

# Of published speeds, for products and for memory, until calibrated. A judgement; what comes out with them, against throughputs of ProTrain: bench/results/what-if.md.
PRODUCT_SHARE, MEMORY_SHARE = 0.72, 0.80
LAUNCH_SECONDS = 2.5e-6  # the shortest kernel
HOST_BYTES = 1 << 20  # of copies with the host: fewer take no time worth a word
TF32_SHARE = 0.5  # of the 16-bit peak: machines.def
TF32_SINCE = 8  # compute capability
HALVES = ("bfloat16", "float16")
# These read, or write, a part of their first argument: as much as the result or the largest other argument.
PARTS = ("embedding", "gather", "index", "index_add_", "index_copy_", "index_put_", "_index_put_impl_", "index_select", "nll_loss_forward", "scatter_", "scatter_add_")
# These write their first argument and do not read it.
FILLS = ("bernoulli_", "copy_", "exponential_", "fill_", "_foreach_copy_", "_foreach_zero_", "normal_", "random_", "uniform_", "zero_")
NAMESPACES = ("aten", "prims", "c10d", "_c10d_functional")  # elsewhere an operator may multiply, unknown to PyTorch
PRODUCTS = re.compile(r"mm(_|$)|attention|convolution|cholesky|linalg_(?!cross|vector_norm)")  # and so may these, where flop_registry does not have them
SILENT = re.compile(r"cudnn|_fft_")  # by libraries that are not here, which launch nothing then: one kernel
RECURRENT = {"_cudnn_rnn": 2, "_cudnn_rnn_backward": 4}  # flops of each number of each matrix in each step of each sequence
NUMBERS = ("memory_bytes", "tflops", "fp32_tflops", "memory_gbs")  # that a machine must have


class Unknown(Exception):
    """Why there is no time, in a line."""


def speed(machine: Mapping[str, Any], kind: str) -> float:
    """Products of such a type in a second, at best."""
    has_tf32 = int(machine["compute_capability"].split(".")[0]) >= TF32_SINCE
    if kind in HALVES:
        return float(machine["tflops"]) * 1e12
    if kind == "tf32" and has_tf32:
        return float(machine.get("tf32_tflops") or machine["tflops"] * TF32_SHARE) * 1e12
    if kind in ("float32", "tf32"):
        return float(machine["fp32_tflops"]) * 1e12
    raise Unknown(f"how fast a {machine['gpu']} multiplies {kind} is not known")


def read_machine(path: Path) -> dict[str, Any]:
    """A file that `python -m seamalloc calibrate --json` wrote: an array with one machine."""
    try:
        (machine,) = json.loads(path.read_text(encoding="utf-8"))
        if not re.fullmatch(r"\d+\.\d", machine["compute_capability"]) or not re.fullmatch(r"\w[\w-]*", machine["gpu"]):
            raise ValueError
        numbers = [*(machine[name] for name in NUMBERS), machine["pcie_gbs"] or 1]
        if not all(isinstance(number, (int, float)) and 0 < number < float("inf") for number in numbers) or not 0 <= machine["context_bytes"] < machine["memory_bytes"]:
            raise ValueError
    except (OSError, ValueError, TypeError, KeyError) as failure:
        why = failure.strerror if isinstance(failure, OSError) else "it is no machine that `python -m seamalloc calibrate --json` printed"
        raise Unknown(f"{path}: {why}") from None
    return dict(machine)


def seconds(rows: Iterable[Row], machine: Mapping[str, Any]) -> float:
    """What the rows take on a GPU, as `seam machines --json` describes it, or `python -m seamalloc calibrate`."""
    product_share, memory_share = (1.0, 1.0) if machine.get("measured") else (PRODUCT_SHARE, MEMORY_SHARE)
    copied = 0
    total = 0.0
    for _, kind, flops, moved, launches, times in rows:
        if kind == "host":
            copied += times * moved
            continue
        products = flops / (speed(machine, kind) * product_share) if flops else 0.0
        total += times * max(products, moved / (machine["memory_gbs"] * 1e9 * memory_share), launches * LAUNCH_SECONDS)
    if copied >= HOST_BYTES and not machine["pcie_gbs"]:
        raise Unknown(f"{copied} bytes are copied from or to the host, and how fast a {machine['gpu']} does that is not known")
    return total + (copied / (machine["pcie_gbs"] * 1e9) if copied >= HOST_BYTES else 0.0)


def estimate(result: Mapping[str, Any], machine: Mapping[str, Any]) -> tuple[float | None, str]:
    """The seconds of an iteration out of a profile.json, or none and why."""
    try:
        if "work" not in result:
            raise Unknown("operators are counted in one behind those that are alike, and " + ("none came to its end" if result["why"] == "alike" else "there are none"))
        if result["work_unknown"]:
            raise Unknown(result["work_unknown"][0])
        return seconds(result["work"], machine), ""
    except Unknown as why:
        return None, f"the time of an iteration: {why}"


def row(seconds: float, machine: Mapping[str, Any]) -> str:
    """For people."""
    shown = f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
    return f"{shown} (estimated from " + ("measured speeds)" if machine.get("measured") else "published speeds; +-20 % or more; python -m seamalloc calibrate)")


def where(is_stepping: Callable[[], bool]) -> Callable[[], str]:
    """The default: the optimizer steps; or autograd works, in its own thread or in this one; or else."""
    import torch

    main = threading.get_ident()
    return lambda: "optimizer" if is_stepping() else "forward" if threading.get_ident() == main and torch._C._current_graph_task_id() == -1 else "backward"


@functools.cache
def accesses(operator: Any) -> tuple[dict[str, tuple[bool, bool]], list[str], list[bool]]:
    """Of an operator: whether it reads and writes each argument, their names in order, and whether each result is new memory."""
    arguments = operator._schema.arguments
    known = {}
    for argument in arguments:
        writes = argument.alias_info is not None and argument.alias_info.is_write
        only = argument.is_out or (argument is arguments[0] and operator._overloadpacket.__name__ in FILLS)
        known[argument.name] = (not (writes and only), writes)
    return known, [argument.name for argument in arguments], [result.alias_info is None for result in operator._schema.returns]


def size(tensors: Iterable[Any]) -> int:
    """Bytes of these on the GPU; what is expanded is there once."""
    found = 0
    for one in tensors:
        there = _margin.numbers(one) * one.element_size() if one.is_cuda else 0
        found += min(there, one.untyped_storage().nbytes()) if there and _margin.is_dense(one) else there
    return found


def moved_bytes(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> int:
    """What one call reads and writes."""
    known, names, are_new = accesses(operator)
    sizes = {name: size(tensors(value)) for name, value in (*zip(names, args, strict=False), *kwargs.items())}
    results = out if len(are_new) > 1 else (out,)
    made = sum(size(tensors(result)) for result, is_new in zip(results, are_new, strict=False) if is_new)
    if operator._overloadpacket.__name__ in PARTS:
        sizes[names[0]] = min(sizes[names[0]], max(made, *(sizes[name] for name in names[1:] if name in sizes)))
    return made + sum(held * (int(reads) + int(writes)) for name, held in sizes.items() for reads, writes in (known[name],))


def multiplied(operator: Any, args: tuple[Any, ...]) -> str:
    """The type that a product multiplies: of its first tensor. fp32 is TF32 where the program allows that; of convolutions PyTorch does."""
    import torch

    kind = str(next(tensors(args)).dtype).removeprefix("torch.")
    if kind != "float32":
        return kind
    backend: Any = torch.backends.cudnn if "convolution" in operator._overloadpacket.__name__ else torch.backends.cuda.matmul
    precision = getattr(getattr(backend, "conv", backend), "fp32_precision", None)  # PyTorch 2.9 has it
    return "tf32" if (precision == "tf32" if precision is not None else backend.allow_tf32) else "float32"


def is_causal(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    names = accesses(operator)[1]
    return bool({**dict(zip(names, args, strict=False)), **kwargs}.get("is_causal"))


def grouped(a: Any, b: Any, *args: Any, out_val: Any, **kwargs: Any) -> int:
    """Of torch._grouped_mm: rows or columns are shared out to the groups; where both matrices are flat, it is what they share."""
    return int(2 * out_val.numel() * a.shape[-1] // (out_val.shape[0] if a.dim() == b.dim() == 2 else 1))


def recurrent(each: int, steps: Any, weights: Any, *args: Any, **kwargs: Any) -> int:
    """Of recurrent layers: matrices, biases beside them, and all steps of all sequences."""
    return int(each * steps.numel() // steps.shape[-1] * sum(weight.numel() for weight in weights if weight.dim() == 2))


def product(operator: Any) -> Callable[..., int] | None:
    """What tells an operator's flops."""
    from torch.utils.flop_counter import flop_registry

    name = operator._overloadpacket.__name__
    if name in RECURRENT:
        return functools.partial(recurrent, RECURRENT[name])
    return grouped if name == "_grouped_mm" else flop_registry.get(operator._overloadpacket)


def is_compiled() -> bool:
    """Whether torch.compile has made anything: where operators are counted it runs the program's own instead, or launches kernels by itself."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and dynamo.counters["stats"]["unique_graphs"] > 0


class Counter:
    """Counts from when it is made, in this thread and autograd's. `launches` tells how many there were so far, on the GPU."""

    def __init__(self, where: Callable[[], str], launches: Callable[[], int]) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        self.rows: dict[tuple[str, str, int, int, int], int] = {}
        self.unknown: dict[str, None] = {}
        self.counted = 0  # launches of operators
        self.where, self.launches = where, launches
        self.lock = threading.Lock()
        counter = self

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
                before = launches()
                out = operator(*args, **(kwargs or {}))
                counter.count(operator, args, kwargs or {}, out, launches() - before)
                return out

        self.mode = Mode()
        self.mode.__enter__()
        self.began = launches()

    def count(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, launched: int) -> None:
        """One call. What launches nothing and multiplies nothing takes no time: views, new memory."""
        taken = [*tensors([args, list(kwargs.values()), out])]
        formula = product(operator)
        kernels = launched or int(bool(SILENT.search(operator._overloadpacket.__name__)))
        if not any(tensor.is_cuda for tensor in taken):
            return
        if formula is None and (operator.namespace not in NAMESPACES or PRODUCTS.search(operator._overloadpacket.__name__)):
            self.unknown[f"what {operator} computes is not known"] = None
        if formula is None and not kernels:
            return
        flops = int(formula(*args, **kwargs, out_val=out)) if formula is not None else 0
        moved = moved_bytes(operator, args, kwargs, out)
        kind = ""
        if flops:
            kind = multiplied(operator, args)
            flops //= 2 if is_causal(operator, args, kwargs) else 1
        elif any(tensor.device.type == "cpu" and tensor.dim() for tensor in taken):
            kind = "host"
        row = (self.where(), kind, flops, moved, 1 if flops else kernels)
        with self.lock:
            self.rows[row] = self.rows.get(row, 0) + 1
            self.counted += launched

    def result(self) -> dict[str, Any]:
        """As it goes into profile.json: `work`, the rows, and `work_unknown`, texts on what they lack."""
        elsewhere = self.launches() - self.began - self.counted
        more = [f"{elsewhere} of its kernels are launched by no operator (CUDA graphs, extensions, Triton)"] if elsewhere else []
        more += ["regions of torch.compile run other operators than the program's"] if is_compiled() else []
        return {"work": [[*row, times] for row, times in self.rows.items()], "work_unknown": [*self.unknown, *more]}
