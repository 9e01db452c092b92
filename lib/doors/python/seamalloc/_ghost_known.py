"""Numbers on the ghost GPU that the host knows: those that the program has brought there, and what follows from them by views, comparisons and counts.

The ghost GPU computes nothing, and whatever is read from it is 0. But lengths, masks and labels come from the host, and programs take sizes from them that they read back. So
a tensor that is brought to the GPU, or made there of one number, keeps a copy on the host, and the operators of FOLLOWED are done on the copies too. A copy holds as long as
nothing was written to its tensor, which PyTorch counts (`_version`). Checks of the host that numbers are fit for use (PASSED) are passed where the numbers are not known.
What results of it are read or sized is true then. Nothing else is changed: each operator runs on the GPU as ever, for its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST = 1 << 18  # numbers of a tensor: lengths, labels and masks of tokens, no images
COPY = "_seam_known"
MOVED = ("to", "cuda", "cpu", "type")
MADE = ("tensor", "as_tensor", "zeros", "ones", "full", "arange", "zeros_like", "ones_like", "full_like")
VIEWS = (
    "__getitem__", "view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "expand", "expand_as", "permute", "transpose", "t", "detach", "clone", "contiguous",
    "long", "int", "bool", "float", "half", "bfloat16", "double", "cat", "stack", "split", "chunk", "unbind", "repeat", "roll", "flip", "narrow", "select", "index_select", "gather",
)  # fmt: skip
NUMBERS = (
    "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_not", "where", "masked_fill", "isfinite", "isnan", "isinf",
    "add", "sub", "mul", "div", "floor_divide", "remainder", "rsub", "neg", "abs", "clamp", "minimum", "maximum", "sum", "mean", "max", "min", "amax", "amin", "any", "all", "cumsum", "argmax",
    "argmin", "sort", "argsort", "diff", "count_nonzero", "tril", "triu", "_is_all_true", "nonzero", "argwhere", "unique", "unique_consecutive", "bincount", "one_hot", "repeat_interleave",
)  # fmt: skip
OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "invert", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "floordiv", "mod", "neg")
FOLLOWED = frozenset((*MOVED, *MADE, *VIEWS, *NUMBERS, *(f"__{name}__" for name in OPERATORS)))
WRITTEN = ("add_", "sub_", "mul_", "div_", "fill_", "zero_", "clamp_", "masked_fill_", "__iadd__", "__isub__", "__imul__", "__setitem__", "_foreach_add_")
PASSED = ("isfinite", "_is_all_true")
READ = ("item", "tolist", "__int__", "__index__", "__bool__", "__float__", "__contains__")


def is_gpu(thing: Any) -> bool:
    import torch

    return isinstance(thing, torch.Tensor) and thing.is_cuda


def of(tensor: Any) -> Any:
    """The copy of a tensor; None: it is not known."""
    copy, version = getattr(tensor, COPY, (None, 0))
    return copy if copy is not None and not tensor.is_inference() and tensor._version == version else None


def know(tensor: Any, copy: Any) -> None:
    """From now on."""
    if tensor.numel() <= MOST and not tensor.is_inference() and copy.shape == tensor.shape:
        setattr(tensor, COPY, (copy.detach(), tensor._version))


class Unknown(Exception):
    """Of a call: a tensor on the GPU that is not known."""


def on_host(thing: Any) -> Any:
    """Arguments with the copies in the place of tensors of the GPU."""
    import torch

    if isinstance(thing, torch.Tensor):
        copy = of(thing) if thing.is_cuda else thing
        if copy is None:
            raise Unknown
        return copy
    if isinstance(thing, torch.device) or (isinstance(thing, str) and thing.startswith("cuda")):
        return torch.device("cpu")
    if type(thing) in (list, tuple):
        return type(thing)(on_host(part) for part in thing)
    return thing


def computed(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives on the host; Unknown: it cannot be told."""
    import torch

    args, kwargs = on_host(args), {key: on_host(value) for key, value in kwargs.items() if key not in ("pin_memory", "non_blocking", "generator")}
    kwargs.update({"device": "cpu"} if "device" in kwargs else {})
    with torch.no_grad(), torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():  # type: ignore[attr-defined]  # the program's default device is a mode
        if name in MOVED:
            return args[0].clone()  # the program may write to its own
        try:
            return function(*args, **kwargs)
        except Exception:  # noqa: BLE001 - what the host cannot do is not known
            raise Unknown from None


def know_all(result: Any, copies: Any) -> None:
    """Results, each with its copy."""
    import torch

    if isinstance(result, torch.Tensor) and isinstance(copies, torch.Tensor):
        if result.is_cuda:
            know(result, copies.to(result.dtype))
        elif result.shape == copies.shape and result is not copies:
            with torch.no_grad():
                result.copy_(copies)
    elif isinstance(result, (list, tuple)) and isinstance(copies, (list, tuple)):
        for one, copy in zip(result, copies):
            know_all(one, copy)


def is_small(result: Any) -> bool:
    """Whether all of a result are tensors that may be known."""
    import torch

    parts = result if isinstance(result, (list, tuple)) else (result,)
    return all(isinstance(part, torch.Tensor) and part.numel() <= MOST for part in parts)


def written(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ahead of a call that writes to its first argument: the copies that this has behind it; None: they are not known."""
    if name not in WRITTEN:
        return None
    try:
        copies = [copy.clone() for copy in on_host(list(args[0]))] if isinstance(args[0], (list, tuple)) else on_host(args[0]).clone()
        computed(name, function, (copies, *args[1:]), kwargs)
    except Unknown:
        return None
    return copies


def follow(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, copies: Any) -> None:
    """A call that has given this, and written() these: what is known of it."""
    import torch

    if copies is not None:
        know_all(args[0], copies)
        return
    if name == "copy_" and is_gpu(result) and len(args) > 1 and isinstance(args[1], torch.Tensor):
        copy = args[1].detach().clone() if not args[1].is_cuda and is_small(args[1]) else of(args[1])
        if copy is not None:
            know(result, copy.to(result.dtype).expand(result.shape))
        return
    if name not in FOLLOWED or not is_small(result) or not any(is_gpu(one) for one in (*args, *(result if isinstance(result, (list, tuple)) else (result,)))):
        return
    try:
        know_all(result, computed(name, function, args, kwargs))
    except Unknown:
        if name in PASSED and is_gpu(result):
            know(result, torch.ones((), dtype=result.dtype, device="cpu").expand(result.shape))


def read(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
    """Whether what a call reads from the GPU is known, and it."""
    if name in READ and args and is_gpu(args[0]) and of(args[0]) is not None:
        return True, function(of(args[0]), *args[1:], **kwargs)
    return False, None


def selected(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an index, with masks that are known as the indexes of what they select."""
    import torch

    if name not in ("__getitem__", "__setitem__") or not is_gpu(args[0]):
        return args
    parts = args[1] if isinstance(args[1], tuple) else (args[1],)
    found: list[Any] = []
    for part in parts:
        copy = of(part) if is_gpu(part) and part.dtype is torch.bool and part.dim() else None
        found += [part] if copy is None else [index.to(part.device) for index in copy.nonzero(as_tuple=True)]
    return args if len(found) == len(parts) and all(one is other for one, other in zip(found, parts)) else (args[0], tuple(found), *args[2:])


def sized(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
    """Whether the size of a result that depends on values is known, and the result."""
    import torch

    if name == "repeat_interleave" and len(args) > 1 and is_gpu(args[1]) and of(args[1]) is not None and kwargs.get("output_size") is None:
        return True, function(*args, **{**kwargs, "output_size": int(of(args[1]).sum()) if args[1].dim() else int(of(args[1])) * args[0].numel()})
    try:
        made = computed(name, function, args, kwargs)
    except Unknown:
        return False, None
    device = next(arg.device for arg in args if is_gpu(arg))

    def there(one: Any) -> Any:
        if isinstance(one, torch.Tensor):
            moved = one.to(device)
            know(moved, one)
            return moved
        return type(one)(there(part) for part in one) if type(one) in (list, tuple) else one

    return True, there(made)
