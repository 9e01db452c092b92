"""swap_run.py WAY PROGRAM [MIN_BYTES]: trains one program on the ghost GPU with its activations kept on the host in one way, and prints what that takes, as JSON. bench/swap runs it.

Operators take the time that seamalloc._work says they take on the program's GPU, on the virtual clock; copies and calls take what vmm/emu_costs.def says.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from seamalloc import _ghost, build

ITERATIONS = 6
COUNT = 5  # torchtune's max_fwd_stash_size
LEAST = 1024  # and min_offload_size


@dataclasses.dataclass(frozen=True)
class Program:
    gpu: str
    width: int
    layers: int
    batch: int
    tokens: int
    is_checkpointed: bool = False
    is_gpt: bool = False


PROGRAMS = {
    "Llama 4096, H20": Program("h20", 4096, 8, 1, 4096),
    "Llama 4096, H20, batch 4": Program("h20", 4096, 8, 4, 4096),
    "Llama 8192, RTX 5090": Program("rtx5090", 8192, 4, 1, 2048),
    "GPT 2048, 32k tokens, H20": Program("h20", 2048, 8, 1, 32768, is_gpt=True),
    "Llama 4096, checkpointed, H100": Program("h100", 4096, 16, 1, 4096, is_checkpointed=True),
    "GPT 1024, H100": Program("h100", 1024, 12, 8, 1024, is_gpt=True),
}


def start(gpu: str) -> None:
    """Before PyTorch is imported."""
    libraries = _ghost.libraries(build.find_torch())
    os.environ.update(_ghost.environment(gpu, os.environ))
    _ghost.load(libraries)


class Clock:
    """Operators take their time, and copies that the program makes by PyTorch are counted."""

    def __init__(self, machine: dict[str, Any]) -> None:
        import torch
        from seamalloc import _work
        from torch.utils._python_dispatch import TorchDispatchMode

        self.cuda = ctypes.CDLL(_ghost.DRIVER)
        self.cuda.fakecuda_now.restype = ctypes.c_uint64
        self.cuda.fakecuda_kernel_ns.argtypes = [ctypes.c_uint64]
        self.cuda.fakecuda_work.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64]
        self.cuda.fakecuda_kernel_ns(0)
        self.bytes = {"down": 0, "up": 0}
        launches, clock = _ghost.launches(), self

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                before = launches()
                out = operator(*args, **(kwargs or {}))
                clock.count(operator, args, kwargs or {}, out, launches() - before)
                return out

        self.torch, self.work, self.machine = torch, _work, machine
        self.mode = Mode()

    def count(self, operator: Any, args: Any, kwargs: Any, out: Any, launched: int) -> None:
        taken = [*self.work.tensors([args, list(kwargs.values()), out])]
        formula = self.work.product(operator)
        if not any(one.is_cuda for one in taken) or (formula is None and not launched):
            return
        on_host = [one for one in taken if one.device.type == "cpu" and one.dim()]
        if on_host and formula is None:
            if isinstance(out, self.torch.Tensor):
                self.bytes["up" if out.is_cuda else "down"] += out.numel() * out.element_size()
            return
        flops = int(formula(*args, **kwargs, out_val=out)) if formula is not None else 0
        kind = self.work.multiplied(operator, args) if flops else ""
        flops //= 2 if flops and self.work.is_causal(operator, args, kwargs) else 1
        row = ("", kind, flops, self.work.moved_bytes(operator, args, kwargs, out), 1 if flops else launched, 1)
        self.cuda.fakecuda_work(self.torch.cuda.current_stream().cuda_stream, 0, 0, 0, int(self.work.seconds([row], self.machine) * 1e9))

    def now(self) -> int:
        self.torch.cuda.synchronize()
        return int(self.cuda.fakecuda_now())


def model(program: Program) -> Any:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.checkpoint import checkpoint

    width, inner = program.width, 4 * program.width if program.is_gpt else program.width * 11008 // 4096

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            norm = nn.LayerNorm if program.is_gpt else nn.RMSNorm
            self.norms = nn.ModuleList(norm(width) for _ in range(2))
            self.qkv, self.out = nn.Linear(width, 3 * width, bias=program.is_gpt), nn.Linear(width, width, bias=program.is_gpt)
            self.up, self.down = nn.Linear(width, inner if program.is_gpt else 2 * inner, bias=program.is_gpt), nn.Linear(inner, width, bias=program.is_gpt)

        def forward(self, x: Any) -> Any:
            q, k, v = (one.unflatten(-1, (-1, 128 if width % 128 == 0 else 64)).transpose(1, 2) for one in self.qkv(self.norms[0](x)).chunk(3, -1))
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            y = self.up(self.norms[1](x))
            if program.is_gpt:
                return x + self.down(F.gelu(y))
            gate, y = y.chunk(2, -1)
            return x + self.down(F.silu(gate) * y)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(program.layers))

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False) if program.is_checkpointed else block(x)
            return x.float().square().mean()

    with torch.device("cuda"):
        return Model().to(torch.bfloat16)


class Stash:
    """A copy stream and a count, as in torchtune's OffloadActivations: a tensor's copy down is waited for when COUNT others have been saved behind it. Copies up too are begun so
    many tensors ahead, in the reverse order of saving, which torchtune does not."""

    def __init__(self) -> None:
        import torch

        self.torch, self.copies = torch, torch.cuda.Stream()
        self.saved: list[dict[str, Any]] = []

    def pack(self, tensor: Any) -> Any:
        if tensor.numel() * tensor.element_size() < LEAST or isinstance(tensor, self.torch.nn.Parameter) or not tensor.is_cuda:
            return tensor
        if tensor._base is not None and isinstance(tensor._base, self.torch.nn.Parameter):
            return tensor
        if len(self.saved) and all(one["is_done"] for one in self.saved):
            self.saved.clear()
        host = self.torch.empty(tensor.size(), dtype=tensor.dtype, pin_memory=True)
        self.copies.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(self.copies):
            host.copy_(tensor, non_blocking=True)
        one = {"host": host, "tensor": tensor.detach(), "event": self.copies.record_event(), "number": len(self.saved), "back": None, "is_done": False}
        self.saved.append(one)
        if len(self.saved) > COUNT:
            self.let_go(self.saved[-1 - COUNT])
        return one

    def let_go(self, one: Any) -> None:
        if one["tensor"] is not None:
            self.torch.cuda.current_stream().wait_event(one["event"])
            one["tensor"] = None

    def bring(self, one: Any) -> None:
        if one["tensor"] is not None or one["back"] is not None or one["is_done"]:
            return
        one["back"] = self.torch.empty(one["host"].size(), dtype=one["host"].dtype, device="cuda")
        self.copies.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(self.copies):
            one["back"].copy_(one["host"], non_blocking=True)
        one["event"] = self.copies.record_event()

    def unpack(self, one: Any) -> Any:
        if not isinstance(one, dict):
            return one
        for other in self.saved[one["number"] :: -1][: COUNT + 1]:
            self.bring(other)
        one["is_done"] = True
        if one["tensor"] is not None:
            return one["tensor"]
        self.torch.cuda.current_stream().wait_event(one["event"])
        back, one["back"] = one["back"], None
        return back


def context(way: str, options: dict[str, int]) -> Callable[[], Any]:
    """options: those of offload_activations()."""
    import seamalloc
    import torch
    from seamalloc import _offload

    if way == "none":
        return contextlib.nullcontext
    if way == "save_on_cpu":
        return lambda: torch.autograd.graph.save_on_cpu(pin_memory=True)
    if way == "count":
        stash = Stash()
        return lambda: torch.autograd.graph.saved_tensors_hooks(stash.pack, stash.unpack)
    if way == "all":  # a plan that also moves what is away for no time
        lanes = _offload._Plan._lanes

        def all_away(plan: Any, *given: Any) -> Any:
            ends, starts = lanes(plan, *given)
            return ends, {number: max(border, ends[number] + 1) for number, border in starts.items()}

        _offload._Plan._lanes = all_away  # type: ignore[method-assign]
    return lambda: seamalloc.offload_activations(prefetch="demand" if way == "demand" else "plan", **options)


def run(way: str, program: Program, options: dict[str, int]) -> dict[str, Any]:
    import seamalloc
    import torch

    tool = [os.environ["SEAM_TOOL"], "machines", "--json", program.gpu]
    clock = Clock(json.loads(subprocess.run(tool, capture_output=True, check=True).stdout)[0])
    trained = model(program)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
    x = torch.randn(program.batch, program.tokens, program.width, device="cuda", dtype=torch.bfloat16)
    wrap, found = context(way, options), {}
    ours = way in ("demand", "plan", "all")
    with clock.mode:
        for _ in range(ITERATIONS):
            torch.cuda.reset_peak_memory_stats()
            clock.bytes.update(down=0, up=0)
            before = seamalloc.offload_stats(0) if ours else {}
            began = clock.now()
            with wrap():
                loss = trained(x)
            middle = int(clock.now()) if way == "none" else 0
            loss.backward()
            found = {"ns": clock.now() - began, "forward_ns": max(middle - began, 0)}
            optimizer.step()
            optimizer.zero_grad()
            del loss
    after = seamalloc.offload_stats(0) if ours else {}
    moved = {way: after[f"{way}_bytes"] - before[f"{way}_bytes"] for way in ("down", "up")} if ours else clock.bytes
    pinned = seamalloc.stats(0)["host_reserved_bytes_peak"] if ours else torch.cuda.host_memory_stats().get("allocated_bytes.peak", 0)
    return {**found, **moved, "peak": torch.cuda.max_memory_allocated(), "pinned": pinned, "violations": clock.cuda.fakecuda_violations()}


def main() -> None:
    """Prints a line."""
    way, name = sys.argv[1:3]
    if name == "list":
        print(json.dumps({name: dataclasses.asdict(program) for name, program in PROGRAMS.items()}))
        return
    start(PROGRAMS[name].gpu)
    options = {"min_bytes": int(sys.argv[3])} if sys.argv[3:] else {}
    print(json.dumps(run(way, PROGRAMS[name], options)))


if __name__ == "__main__":
    main()
