"""Marks by hooks on a model: where in it a request was made, and which modules' sizes depend on data.

Forward: hooks around the modules; phases nest as modules do. Backward: hooks on the nodes of the graph that made a module's outputs and inputs,
which change no tensor (a module's own backward hooks would); the autograd thread is in one phase at a time, that of the module whose output's
gradient came last.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from . import _marks
from ._library import Error

NAMES = 100  # modules that get marks: of the 255 names that a recording holds, each module takes two
DEPTH = 30  # of 32 phases that may be nested


def _is(name: str, module: Any, want: type | str) -> bool:
    if isinstance(want, str):
        return want in (name, type(module).__name__)
    return isinstance(module, want)


def _choose(model: Any, dynamic: Iterable[type | str]) -> dict[str, tuple[Any, bool]]:
    """The modules that get marks, by name: module, and whether it is dynamic. All dynamic ones, and those nearest to the model."""
    wanted = list(dynamic)
    named = [(name, module) for name, module in model.named_modules() if name and name.count(".") < DEPTH]
    for want in wanted:
        if not any(_is(name, module, want) for name, module in named):
            raise Error(f"no module of the model is named, or is of the class, {want!r}")
    marked = {name: (module, True) for name, module in named if any(_is(name, module, want) for want in wanted)}
    for name, module in sorted(named, key=lambda item: item[0].count(".")):
        if len(marked) < NAMES:
            marked.setdefault(name, (module, False))
    return marked


class _Stretch:
    """A phase, and a dynamic stretch with it, that the calling thread has entered."""

    def __init__(self, name: str, dynamic: bool) -> None:
        self.name = name
        self.phase = _marks.begin_phase(name)
        self.dynamic = _marks.begin_dynamic() if dynamic else []

    def end(self) -> None:
        _marks.end_dynamic(self.dynamic)
        _marks.end_phase(self.name, self.phase)


class _Thread(threading.local):
    """Of each thread: the forward stretches it is in, innermost last, and its backward stretch."""

    def __init__(self) -> None:
        self.forward: list[tuple[object, _Stretch]] = []
        self.backward: _Stretch | None = None


_thread = _Thread()


def _tensors(value: Any) -> Iterable[Any]:
    if hasattr(value, "grad_fn"):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _leave_backward(name: str | None = None) -> None:
    """Ends the thread's backward stretch, if it is this one (None: whichever)."""
    current = _thread.backward
    if current is not None and name in (None, current.name) and not _thread.forward:
        _thread.backward = None
        current.end()


def _at_the_end() -> None:
    _leave_backward()


def _enter_backward(name: str, dynamic: bool) -> None:
    import torch

    if _thread.forward:  # recomputation has begun on this thread: it tells by itself
        return
    if _thread.backward is None:
        torch.autograd.Variable._execution_engine.queue_callback(_at_the_end)
    elif _thread.backward.name == name:
        return
    _leave_backward()
    _thread.backward = _Stretch(name, dynamic)


class Watch:
    """The hooks of one model. remove() takes them off."""

    def __init__(self, model: Any, dynamic: Iterable[type | str]) -> None:
        self.marked = _choose(model, dynamic)
        self._handles: list[Any] = []
        for name, (module, is_dynamic) in {"": (model, False), **self.marked}.items():
            self._hook(name, module, is_dynamic)

    def _hook(self, name: str, module: Any, is_dynamic: bool) -> None:
        forward, backward = (name, f"{name} backward") if name else ("forward", "backward")

        def before(mine: Any, args: Any, kwargs: Any) -> None:
            for tensor in _tensors((args, kwargs)):
                if tensor.grad_fn is not None:
                    tensor.grad_fn.register_prehook(lambda grads: _leave_backward(backward))
            _thread.forward.append((mine, _Stretch(forward, is_dynamic)))

        def after(mine: Any, args: Any, kwargs: Any, output: Any) -> None:
            # What an exception left open is closed by the module around it.
            while _thread.forward:
                owner, stretch = _thread.forward.pop()
                stretch.end()
                if owner is mine:
                    break
            for tensor in _tensors(output):
                if tensor.grad_fn is not None:
                    tensor.grad_fn.register_prehook(lambda grads: _enter_backward(backward, is_dynamic))

        self._handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
        self._handles.append(module.register_forward_hook(after, with_kwargs=True, always_call=True))

    def remove(self) -> None:
        """Takes the hooks off. Graphs that were made before keep theirs."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def watch(model: Any, dynamic: Iterable[type | str] = ()) -> Watch:
    """Marks what a model's forward and backward passes ask for with the phases "forward" and "backward", and the names of its modules (the
    outermost, at most 100). dynamic: classes, or names of classes or modules, whose sizes depend on data (experts): no plan relies on those.
    torch.compile stops at hooks: watch the model before compiling it, and not in what is measured.
    """
    return Watch(model, dynamic)
