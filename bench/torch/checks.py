#!/usr/bin/env python3
"""What a program relies on beside allocate and free, under one allocator: graphs, streams, pinned copies, pools, a process group, running out.

A line for each check: "ok NAME" or "not ok NAME: why". Exit status: 0 all ok, 1 one failed, 77 no GPU or no PyTorch.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import train


def same(one: Any, other: Any, what: str) -> None:
    """Bit for bit."""
    import torch

    if not torch.equal(one, other):
        raise AssertionError(f"{what} differ")


def check_graph() -> None:
    """A captured step gives what the eager one gives, again and again, while other memory comes and goes."""
    import torch

    torch.manual_seed(1)
    layer = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    x = torch.randn(256, 1024, device="cuda")
    expected = layer(x).clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            layer(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = layer(x)
    for round_ in range(20):
        churn = [torch.full((1 << (10 + i),), float(round_), device="cuda") for i in range(12)]
        graph.replay()
        same(y, expected, "a replay's result and the eager one")
        for i, tensor in enumerate(churn):
            same(tensor, torch.full((1 << (10 + i),), float(round_), device="cuda"), "a tensor beside the graph and what was put there")
    del graph, y


def check_compiled() -> None:
    """Compiled functions that share a graph pool, captured as they come, give again what they gave before they were graphs."""
    import torch
    from torch._inductor import config

    if torch.cuda.get_allocator_backend() == "pluggable":
        config.triton.cudagraph_trees = False
    first = torch.compile(lambda x: (x * 2 + 1).relu(), mode="reduce-overhead")
    second = torch.compile(lambda x: x.cos() * 3, mode="reduce-overhead")
    third = torch.compile(lambda x: x.sin() - 4, mode="reduce-overhead")
    x = torch.linspace(-3, 3, 1 << 22, device="cuda")
    expected: dict[str, Any] = {}
    with torch.no_grad():
        for round_ in range(12):
            torch.compiler.cudagraph_mark_step_begin()
            y = first(x)
            found = {"first": y, "second": second(y)} if round_ % 6 < 3 else {"first": y, "third": third(y)}
            for name, tensor in found.items():
                same(tensor, expected.setdefault(name, tensor.clone()), f"the {name} function's results")
            del y, found, tensor


def check_streams() -> None:
    """Memory used on another stream is not given away before that stream has passed."""
    import torch

    side = torch.cuda.Stream()
    for round_ in range(50):
        source = torch.full((1 << 22,), float(round_), device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(2_000_000)
            copy = source.clone()
            source.record_stream(side)
        del source
        torch.full((1 << 22,), -1.0, device="cuda")
        side.synchronize()
        same(copy, torch.full((1 << 22,), float(round_), device="cuda"), "a copy on another stream and its source")


def check_loader() -> None:
    """Batches from pinned memory arrive whole."""
    import torch

    data = torch.utils.data.TensorDataset(torch.arange(1 << 16).view(-1, 64))
    loader = torch.utils.data.DataLoader(data, batch_size=32, pin_memory=True)
    side = torch.cuda.Stream()
    seen = 0
    for (batch,) in loader:
        with torch.cuda.stream(side):
            moved = batch.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        moved.record_stream(torch.cuda.current_stream())
        same((moved + 1).cpu(), batch + 1, "a batch and its copy")
        seen += batch.shape[0]
    if seen != len(data):
        raise AssertionError(f"{seen} of {len(data)} rows")


def check_group() -> None:
    """Data parallel training in a group of one, over NCCL, gives the losses of training alone."""
    import torch
    from torch import distributed

    def losses(wrap: Callable[[Any], Any]) -> list[float]:
        torch.manual_seed(2)
        model = wrap(torch.nn.Linear(2048, 2048).cuda())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        found = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = model(torch.ones(64, 2048, device="cuda")).square().mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    with tempfile.TemporaryDirectory() as folder:
        distributed.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
        try:
            together = losses(torch.nn.parallel.DistributedDataParallel)
            gathered = [torch.empty(1 << 20, device="cuda")]
            distributed.all_gather(gathered, torch.ones(1 << 20, device="cuda"))
            same(gathered[0], torch.ones(1 << 20, device="cuda"), "what was gathered and what was sent")
        finally:
            distributed.destroy_process_group()
    if together != losses(lambda model: model):
        raise AssertionError("losses differ")


def check_pool() -> None:
    """A tensor made in a pool of its own survives what is done outside."""
    import torch

    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = torch.full((1 << 20,), 3.0, device="cuda")
    outside = torch.full((1 << 20,), 4.0, device="cuda")
    same(inside, torch.full((1 << 20,), 3.0, device="cuda"), "a pool's tensor and what was put there")
    same(outside, torch.full((1 << 20,), 4.0, device="cuda"), "a tensor outside and what was put there")
    del inside, pool


def check_out_of_memory() -> None:
    """More than there is ends in PyTorch's own exception, and the program goes on."""
    import torch

    held = torch.full((1 << 20,), 5.0, device="cuda")
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        if "memory" not in str(error):
            raise AssertionError("a message that says nothing of memory") from error
    else:
        raise AssertionError("no exception")
    same(held, torch.full((1 << 20,), 5.0, device="cuda"), "a tensor after the exception and before")
    torch.cuda.empty_cache()


CHECKS = (check_graph, check_compiled, check_streams, check_loader, check_pool, check_out_of_memory, check_group)


def main() -> int:
    """All checks under the allocator that train.py's options name."""
    sys.argv[1:1] = ["tiny"]
    arguments = train.parse()
    lack = "Python lacks torch" if importlib.util.find_spec("torch") is None else train.missing(arguments)
    if lack:
        print(f"checks: {lack}", file=sys.stderr)
        return 77
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    train.choose_allocator(arguments)
    failed = 0
    for check in CHECKS:
        name = check.__name__.removeprefix("check_")
        try:
            check()
            print(f"ok {name}", flush=True)
        except Exception as error:  # one check's failure must not hide the next one's
            failed = 1
            print(f"not ok {name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
