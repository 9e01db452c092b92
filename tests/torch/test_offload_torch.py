#!/usr/bin/env python3
"""test_offload_torch.py LIBRARY PACKAGE LOG [--seeds FIRST LAST]: what offloading does to losses, gradients and memory, on the CPU, by an engine that does every copy as early or
as late as its edges allow (offload_engine.py); LOG does what that was asked for on an emulated device (offload_log.c). As TAP. --seeds: only models and programs drawn by these."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
LIBRARY, PACKAGE, LOG = (str(Path(path).resolve()) for path in sys.argv[1:4])
sys.path[:0] = [PACKAGE, str(Path(__file__).resolve().parents[1] / "support"), str(Path(__file__).resolve().parent)]
os.environ["SEAM_LIBRARY"] = LIBRARY

import offload_models  # noqa: E402
import seamalloc  # noqa: E402
import torch  # noqa: E402
from offload_engine import Adversary  # noqa: E402
from seamalloc import _offload, _swap  # noqa: E402
from tap import end, ok  # noqa: E402
from torch import nn  # noqa: E402

SEEDS = range(24)


def engine(seed: int = 0, skip: str = "", refuse: int = 0) -> Adversary:
    """A new one, for all devices; places have learnt nothing."""
    made = Adversary(seed, skip, refuse)
    _swap.engine = lambda device: made  # type: ignore[assignment]
    _swap.takes = lambda tensor: tensor.device.type == "cpu"
    _offload._places.clear()
    _offload.figures.update(dict.fromkeys(_offload.figures, 0))
    return made


def differs(seed: int, skip: str = "") -> tuple[str, Adversary]:
    """What a drawn program does otherwise with its activations offloaded; "": nothing. A fifth of them is refused some copies."""
    made = engine(seed, skip, refuse=20 if seed % 5 == 0 else 0)

    def offloads(draw: random.Random) -> Callable[[], Any]:
        least, prefetch = draw.choice((0, 0, 300)), draw.choice(("plan", "plan", "demand"))
        return lambda: seamalloc.offload_activations(min_bytes=least, prefetch=prefetch)

    losses, weights = offload_models.train(seed, None)
    try:
        other_losses, other_weights = offload_models.train(seed, offloads)
    except RuntimeError as failure:
        return f"seed {seed} raises {failure}", made
    gc.collect()
    made.end()
    if losses != other_losses or not all(map(torch.equal, weights, other_weights)):
        return f"seed {seed}: losses {losses} became {other_losses}", made
    left = f"seed {seed}: tickets are left: {list(made.tickets)}" if made.tickets else ""
    return "\n".join([f"seed {seed}: {fault}" for fault in made.faults]) or left, made


def violations(made: Adversary, seed: int) -> str:
    """What the swap engine does wrong with the same calls; "": nothing."""
    done = subprocess.run([LOG, str(seed)], input="\n".join(made.log) + "\n", capture_output=True, text=True, check=False)
    return "" if done.stdout.startswith("0 ") else f"seed {seed}: {done.stdout}{done.stderr}"


def drawn(seeds: range) -> None:
    failures, races, counts = [], [], dict.fromkeys(("out", "into", "refused", "plans", "planned", "demanded"), 0)
    for seed in seeds:
        text, made = differs(seed)
        failures += [text] if text else []
        races += filter(None, [violations(made, seed)])
        for name in counts:
            counts[name] += {**made.calls, **_offload.figures}[name]
    ok(not failures, f"drawn programs {seeds.start} to {seeds.stop - 1}: losses and weights are bit-equal", "\n".join(failures))
    ok(not races, "and what the engine was asked for has no race on an emulated device", "\n".join(races))
    print(f"# {len(seeds)} programs, {len(failures)} differ: {', '.join(f'{name} {count}' for name, count in counts.items())}")


def test_waits() -> None:
    for skip in ("down", "up"):
        found = [differs(seed, skip) for seed in range(1, 5)]
        ok(all(text for text, _ in found) and any(made.faults for _, made in found), f"without the waits for copies {skip} every program differs")
        raced = [violations(made, seed) for seed, (_, made) in enumerate(found)]
        ok(any("RACE" in text for text in raced), f"and the emulated device sees races, copies {skip}", str(raced))


def grads(work: Callable[[torch.Tensor], torch.Tensor], *, backward: Callable[[torch.Tensor], Any] = torch.Tensor.backward) -> torch.Tensor:
    torch.manual_seed(0)
    x = torch.randn(8, 8, requires_grad=True)
    backward(work(x))
    assert x.grad is not None
    return x.grad


def same(text: str, work: Callable[[torch.Tensor], torch.Tensor], backward: Callable[[torch.Tensor], Any] = torch.Tensor.backward) -> None:
    """The gradient is what it is without offloading, in periods on demand and by plan; nothing is left."""
    wanted, found = grads(work, backward=backward), []
    made = engine(3)

    def offloaded(x: torch.Tensor) -> torch.Tensor:
        with seamalloc.offload_activations(min_bytes=0):
            return work(x)

    found = [grads(offloaded, backward=backward) for _ in range(6)]
    gc.collect()
    good = all(torch.equal(wanted, one) for one in found)
    ok(good and not made.faults and not made.tickets, text, f"equal: {good}; {made.faults}; tickets {list(made.tickets)}")


def twice(loss: torch.Tensor) -> None:
    loss.backward(retain_graph=True)
    loss.backward()


def through(loss: torch.Tensor) -> None:
    """Double backward."""
    (inner,) = torch.autograd.grad(loss, [one for one in leaves(loss)], create_graph=True)
    inner.square().sum().backward()


def leaves(loss: torch.Tensor) -> list[torch.Tensor]:
    found, todo = [], [loss.grad_fn]
    while todo:
        node = todo.pop()
        if hasattr(node, "variable"):
            found.append(node.variable)
        todo += [following for following, _ in getattr(node, "next_functions", ()) if following is not None]
    return list({id(one): one for one in found}.values())


def nested(x: torch.Tensor) -> torch.Tensor:
    y = x.exp()
    with seamalloc.offload_activations(min_bytes=0, prefetch="demand"):
        y = y.sin()
    with torch.autograd.graph.save_on_cpu():
        y = y.cos()
    return y.square().sum()


def test_graphs() -> None:
    same("a chain", lambda x: x.exp().sin().square().sum())
    same("two backward passes of a graph", lambda x: x.exp().sin().square().sum(), twice)
    same("a backward pass of a backward pass", lambda x: x.exp().sin().square().sum(), through)
    same("views of one storage", lambda x: sum((part.sin() * part).sum() for part in x.exp().chunk(4, 1)))
    same("strides, and a transposed view", lambda x: (x.exp().t()[::2] @ x.exp()[:, 1:]).sin().sum())
    same("blocks in one another, and save_on_cpu inside", nested)
    same("half precision", lambda x: x.bfloat16().exp().sin().sum().float())
    same("complex numbers, conjugated", lambda x: torch.complex(x, x.sin()).exp().conj().mul(torch.complex(x, x)).abs().sum())


def test_views_are_one_copy() -> None:
    made = engine()
    with seamalloc.offload_activations(min_bytes=0):
        y = torch.randn(8, 8, requires_grad=True).exp()
        loss = (y[:4].sin() + y[4:].cos()).sum()
    ok(made.calls["out"] == 1, "a result and two views of it that are saved are one copy", str(made.calls))
    loss.backward()
    ok(made.calls["into"] == 1, "it comes back once", str(made.calls))


def test_parameters_stay() -> None:
    made = engine()
    layer = nn.Linear(8, 8)
    with seamalloc.offload_activations(min_bytes=0):
        loss = (layer(torch.randn(2, 8)) @ layer.weight[:4].t()).sum()
    ok(made.calls["out"] == 2, "of a layer its input and its output are copied, its parameters and their views are not", str(made.calls))
    loss.backward()
    made = engine()
    with seamalloc.offload_activations(min_bytes=0):
        loss = layer.requires_grad_(False)(torch.randn(2, 8, requires_grad=True)).sum()
    ok(made.calls["out"] == 0, "nor those that are frozen", str(made.calls))
    loss.backward()


def test_unused_graphs() -> None:
    """What stays is part of its own graph, too."""
    engine()
    with seamalloc.offload_activations(min_bytes=1 << 20):
        y = torch.randn(8, 8, requires_grad=True).exp()
    left = weakref.ref(y.untyped_storage())
    del y
    gc.collect()
    ok(left() is None, "a graph that nobody goes back through is given back")


def test_exceptions() -> None:
    made = engine(1)
    for _ in range(4):
        try:
            with seamalloc.offload_activations(min_bytes=0):
                y = torch.randn(8, 8, requires_grad=True).exp().sin()
                raise KeyError
        except KeyError:
            pass
        del y
    gc.collect()
    made.sweep()
    ok(not made.tickets and not made.faults, "an exception in the block leaves nothing behind", f"{made.tickets} {made.faults}")
    y = torch.randn(8, 8, requires_grad=True).exp()
    y.sin()
    ok(not made.tickets, "behind the block nothing is offloaded")


def test_unpacked_later() -> None:
    """A graph that outlives two others."""
    made = engine(2)

    def once(kept: list[torch.Tensor]) -> torch.Tensor:
        torch.manual_seed(1)
        x = torch.randn(8, 8, requires_grad=True)
        with seamalloc.offload_activations(min_bytes=0):
            kept.append(x.exp().sin().sum())
        return x

    kept: list[torch.Tensor] = []
    inputs = [once(kept) for _ in range(6)]
    for loss in kept[::-1]:
        loss.backward()
    ok(all(torch.equal(inputs[0].grad, x.grad) for x in inputs), "graphs of several blocks come back in another order")  # type: ignore[arg-type]
    kept.clear()
    gc.collect()
    ok(not made.tickets and not made.faults, "and leave nothing behind", str(made.faults))


def test_modified() -> None:
    """In place after it was saved: with a plan that is an error, as in PyTorch without hooks; never a wrong number."""
    engine(4).slow = 0.0

    def work(modifies: bool) -> str:
        x = torch.ones(64, 64, requires_grad=True)
        with seamalloc.offload_activations(min_bytes=0):
            y = x * 2
            loss = (y * y).sin().cos().sum()
        if modifies:
            with torch.no_grad():
                y.add_(1)
        try:
            loss.backward()
        except RuntimeError as failure:
            return str(failure)
        return str(torch.equal(x.grad, wanted)) if x.grad is not None else ""

    x = torch.ones(64, 64, requires_grad=True)
    (x * 2 * (x * 2)).sin().cos().sum().backward()
    assert x.grad is not None
    wanted = x.grad
    found = [work(False) for _ in range(4)]
    late = work(True)
    ok(found == ["True"] * 4 and (late == "True" or "inplace" in late), "what is modified in place raises, or has been copied before", str([*found, late]))


def test_refusals() -> None:
    made = engine(5, refuse=100)
    x = torch.randn(8, 8, requires_grad=True)
    for _ in range(4):
        with seamalloc.offload_activations(min_bytes=0):
            loss = x.exp().sin().sum()
        loss.backward()
    ok(made.calls["out"] == 0 and made.calls["refused"] > 0, "without pinned memory everything stays", str(made.calls))
    tensor = torch.randn(8, 8)
    away = seamalloc.offload(tensor)
    ok(not away.is_away and tensor.untyped_storage().nbytes() == 256, "and so does a tensor")


def test_tensors() -> None:
    made = engine(6)
    tensor = torch.randn(8, 8)
    other, wanted, view = torch.randn(5), tensor.clone(), tensor[2:]
    away = seamalloc.offload([tensor, view, other])
    ok(away.is_away and tensor.untyped_storage().nbytes() == 0 and made.calls["out"] == 1, "tensors leave as one copy, and take no memory")
    away.onload()
    away.onload()
    ok(not away.is_away and torch.equal(tensor, wanted) and torch.equal(view, wanted[2:]) and not made.tickets, "they come back, views too")
    gone = seamalloc.offload(other)
    del gone
    gc.collect()
    ok(not made.tickets and not made.faults, "one that is forgotten leaves no copy", str(made.faults))


def test_words() -> None:
    engine()
    said = []
    for arguments in ({"prefetch": "soon"}, {"min_bytes": -1}, {"min_bytes": "1M"}):
        try:
            seamalloc.offload_activations(**arguments)  # type: ignore[arg-type]
        except seamalloc.Error as failure:
            said.append(str(failure))
    ok(len(said) == 3, "wrong arguments are refused", str(said))
    names = [line.split("(")[1].split(",")[0] for line in (Path(__file__).parents[2] / "include/seam/swap_stats.def").read_text().splitlines() if line.startswith("SEAM_SWAP_STAT(")]
    ok(list(_swap.FIGURES) == names, "the engine's figures are those of swap_stats.def")


def main() -> int:
    torch.set_num_threads(1)
    if "--seeds" in sys.argv:
        drawn(range(*map(int, sys.argv[-2:])))
        return end()
    for test in (test_waits, test_graphs, test_views_are_one_copy, test_parameters_stay, test_unused_graphs, test_exceptions, test_unpacked_later, test_modified, test_refusals, test_tensors, test_words):
        test()
    drawn(SEEDS)
    return end()


if __name__ == "__main__":
    sys.exit(main())
