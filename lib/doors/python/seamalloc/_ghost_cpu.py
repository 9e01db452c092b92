"""Large models made on the CPU: what fills and converts their parameters is passed over, so that they cost neither memory nor time.

The ghost GPU computes nothing, so values of parameters are of no use. Initialisers leave large tensors as they are, whose pages the system then never provides; a
parameter of another type is a new one without contents; files are mapped and never read. What stays is what the GPU is asked for. Only floating-point tensors of 1 MiB and
more, and only what programs do to parameters: other data is computed as ever, for sizes may depend on it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

LARGE_BYTES = 1 << 20
RANDOM = ("normal_", "uniform_")  # of a tensor: what `module.weight.data` is filled with; any values will do


def is_large(tensor: Any) -> bool:
    """Whether a tensor is one that is passed over."""
    return bool(tensor.device.type == "cpu" and tensor.is_floating_point() and tensor.numel() * tensor.element_size() >= LARGE_BYTES)


def _unless(own: Callable[..., Any], passes: Callable[[Any], bool]) -> Callable[..., Any]:
    """A function that fills its first argument and returns it."""

    @functools.wraps(own)
    def fill(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        return tensor if passes(tensor) else own(tensor, *args, **kwargs)

    return fill


def install() -> None:
    """Passes over such work in this process from now on."""
    import torch

    def is_large_tensor(tensor: Any) -> bool:
        return isinstance(tensor, torch.Tensor) and is_large(tensor)

    def is_large_parameter(tensor: Any) -> bool:
        return isinstance(tensor, torch.nn.Parameter) and is_large(tensor)

    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, _unless(getattr(torch.nn.init, name), is_large_tensor))
    for name in RANDOM:
        setattr(torch.Tensor, name, _unless(getattr(torch.Tensor, name), is_large))
    torch.Tensor.copy_ = _unless(torch.Tensor.copy_, is_large_parameter)  # type: ignore[method-assign]
    _make_conversions()
    _map_files()


def _make_conversions() -> None:
    import torch

    own_to = torch.Tensor.to

    def is_passed_over(tensor: Any) -> bool:
        return is_large(tensor) and not (tensor.requires_grad and torch.is_grad_enabled())

    @functools.wraps(own_to)
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_passed_over(self) or kwargs.get("copy") or kwargs.get("memory_format") or (args and isinstance(args[0], torch.Tensor)):
            return own_to(self, *args, **kwargs)
        device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)
        here = self if dtype in (None, self.dtype) else torch.empty_like(self, dtype=dtype)
        return here if device is None else own_to(here, device, non_blocking=non_blocking)

    torch.Tensor.to = to  # type: ignore[method-assign]
    own_clone = torch.Tensor.clone

    @functools.wraps(own_clone)
    def clone(self: Any, *args: Any, **kwargs: Any) -> Any:
        return own_clone(self, *args, **kwargs) if args or not is_passed_over(self) else torch.empty_like(self, **kwargs)

    torch.Tensor.clone = clone  # copy.deepcopy() of a model calls it for each parameter
    for name, dtype in (("half", torch.float16), ("bfloat16", torch.bfloat16), ("float", torch.float32), ("double", torch.float64)):
        own = getattr(torch.Tensor, name)

        @functools.wraps(own)
        def convert(self: Any, *args: Any, own: Callable[..., Any] = own, dtype: Any = dtype, **kwargs: Any) -> Any:
            return to(self, dtype) if is_passed_over(self) and not args and not kwargs else own(self, *args, **kwargs)

        setattr(torch.Tensor, name, convert)


def _map_files() -> None:
    import torch

    own = torch.load

    @functools.wraps(own)
    def load(f: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(f, str) or hasattr(f, "__fspath__"):
            try:
                return own(f, *args, **{**kwargs, "mmap": True})
            except (RuntimeError, ValueError):  # a file of the old format
                pass
        return own(f, *args, **kwargs)

    torch.load = load
