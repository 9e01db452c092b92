"""What the ghost GPU shows otherwise than a real one would: results whose size depends on values, and operators that NVIDIA's libraries do.

Values are not computed on the ghost GPU: nothing is found, counted or selected there, but in what the host knows (_ghost_known.py). An answer that rests on such a size says so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _ghost_known, _margin

PACKAGE = str(Path(__file__).resolve().parent) + os.sep

SIZED_BY_VALUES = ("nonzero", "masked_select", "unique", "unique_consecutive", "_unique2", "unique_dim", "bincount", "argwhere", "combinations", "one_hot")
READ = ("item", "tolist", "__int__", "__index__", "__bool__")  # of whole numbers and truth values: sizes and branches may follow


def caller() -> str:
    """The innermost line of the program, or of a library that is not PyTorch."""
    import torch

    own = str(Path(torch.__file__).resolve().parent) + os.sep
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((own, PACKAGE)):
        frame = frame.f_back  # type: ignore[assignment]
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame is not None else "PyTorch"


def selects_by_mask(arguments: tuple[Any, ...]) -> bool:
    """Whether an index has a mask in it: a tensor of booleans on the GPU."""
    import torch

    index = arguments[1] if len(arguments) > 1 else None
    parts = index if isinstance(index, (tuple, list)) else (index,)
    return any(isinstance(part, torch.Tensor) and part.dtype is torch.bool and part.is_cuda for part in parts)


def is_sized(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the size of a result depends on values; that of one_hot does not where the program says it."""
    if name == "one_hot":
        return int(kwargs.get("num_classes", args[1] if len(args) > 1 else -1)) < 0
    return name in SIZED_BY_VALUES or (name == "where" and len(args) == 1) or (name == "repeat_interleave" and is_on_gpu(args[1:]))


def is_on_gpu(arguments: tuple[Any, ...]) -> bool:
    import torch

    return any(isinstance(argument, torch.Tensor) and argument.is_cuda for argument in arguments)


def watch(note: Callable[[str], None], lacks: Callable[[str, int, str], None], is_told: bool) -> None:
    """Notes such calls of the program, in the thread that calls this, until the process ends; `lacks` hears what a library could have taken for one, beside what installed ones tell, if they do."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Watch(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
            kwargs = kwargs or {}
            if torch.compiler.is_compiling():
                return function(*args, **kwargs)
            name = getattr(function, "__name__", "")
            is_known, result = _ghost_known.read(name, function, args, kwargs)
            if is_known:
                return result
            args = _ghost_known.selected(name, args)
            by_values = is_sized(name, args, kwargs) and is_on_gpu(args)
            if by_values:
                is_known, result = _ghost_known.sized(name, function, args, kwargs)
            if (by_values and not is_known) or (name == "__getitem__" and selects_by_mask(args)):
                what = "an index by a mask" if name == "__getitem__" else name
                note(f"the size of what {what} gives depends on values, and nothing was found here ({caller()}): what follows from it takes more memory")
            elif name in READ and is_on_gpu(args) and not args[0].is_floating_point():
                note(f"a number is read from the GPU ({caller()}), and is 0 here: sizes and branches that follow from it may be others")
            if not is_known:
                copies = _ghost_known.written(name, function, args, kwargs)
                result = function(*args, **kwargs)
                _ghost_known.follow(name, function, args, kwargs, result, copies)
            if name in _margin.COPIES and is_on_gpu(args) and _margin.by_library(name, args, result):
                lacks(_margin.COPIES[name][0], _margin.workspace(name, args, result, is_told), name)
            return result

    Watch().__enter__()
