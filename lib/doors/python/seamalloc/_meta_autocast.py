"""Autocast for tensors of _meta.py. PyTorch's own leaves them alone, as they are on no device that it knows; its rules are in C++, and said again here.

The names are PyTorch's (its page on autocast lists them). One that this PyTorch does not have is left out.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

LOWER = (
    "_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input", "convolution", "prelu", "addmm", "addmv", "addr",
    "matmul", "einsum", "mm", "mv", "linalg_vecdot", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell",
    "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "_scaled_dot_product_flash_attention", "scaled_dot_product_attention",
)  # fmt: skip
FLOAT = (
    "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh", "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar",
    "softplus", "layer_norm", "native_layer_norm", "group_norm", "frobenius_norm.dim", "nuclear_norm", "nuclear_norm.dim", "cosine_similarity", "poisson_nll_loss",
    "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss",
    "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss", "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp",
)  # fmt: skip
# These have an argument for the type of their result.
TYPED = ("prod", "prod.dim_int", "softmax.int", "log_softmax.int", "cumprod", "cumsum", "linalg_vector_norm", "linalg_matrix_norm", "sum", "sum.dim_IntList")
WIDEST = ("addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sampler", "index_put", "tensordot", "scatter_add")

_cache: dict[int, tuple[weakref.ref[Any], torch.Tensor]] = {}  # parameters that were converted, by the object


def _convert(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A parameter's is made once, as long as the autocast lasts."""
    if not tensor.is_floating_point() or tensor.dtype in (dtype, torch.float64) or not tensor.is_cuda:
        return tensor
    if not (tensor.is_leaf and tensor.requires_grad and tensor.dtype is torch.float32 and torch.is_autocast_cache_enabled()):
        return tensor.to(dtype)
    held = _cache.get(id(tensor))
    if held is None or held[0]() is not tensor:
        held = _cache[id(tensor)] = (weakref.ref(tensor), tensor.to(dtype))
    return held[1]


def _all(args: Any, dtype: torch.dtype) -> Any:
    """Converted the last first, as compilers have it in PyTorch's part in C++."""
    leaves, spec = tree_flatten(args)
    made = [_convert(leaf, dtype) if isinstance(leaf, torch.Tensor) else leaf for leaf in reversed(leaves)]
    return tree_unflatten(made[::-1], spec)


def _lower(args: Any) -> Any:
    return _all(args, torch.get_autocast_gpu_dtype())


def _float(args: Any) -> Any:
    return _all(args, torch.float32)


def _widest(args: Any) -> Any:
    dtypes = {leaf.dtype for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)}
    return _all(args, torch.float32 if torch.float32 in dtypes else torch.get_autocast_gpu_dtype())


def _typed(args: Any) -> Any:
    positional, named = args
    low = positional[0].is_floating_point() and positional[0].dtype in (torch.float16, torch.bfloat16)
    return (positional, {**named, "dtype": torch.float32}) if low and named.get("dtype") is None else args


def _recurrent(args: Any) -> Any:
    """All weights are converted for each call, to 16 bits of this one type, and are side by side then."""
    (input, weights, stride, weight_buf, hx, cx, *rest), named = args
    input, hx, cx = (_convert(one, torch.float16) if one is not None else None for one in (input, hx, cx))
    if weights[0].dtype not in (torch.float16, torch.float64):
        weights = [one.to(torch.float16) for one in weights]
        weight_buf = weights[0].detach()
    return (input, weights, stride, weight_buf, hx, cx, *rest), named


def _kernel(operator: Any, change: Callable[[Any], Any]) -> Callable[..., Any]:
    key = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)  # type: ignore[attr-defined]
    names = [argument.name for argument in operator._schema.arguments]

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(key):  # type: ignore[attr-defined]
            if change is _typed and "dtype" in names and len(args) > names.index("dtype"):
                args, kwargs = args[: names.index("dtype")], {**kwargs, **dict(zip(names[names.index("dtype") :], args[names.index("dtype") :], strict=False))}
            args, kwargs = change((args, kwargs))
            return operator(*args, **kwargs)

    return run


def install(library: Any) -> None:
    """For the rest of the process; `library` is one of "aten"."""
    for names, change in ((LOWER, _lower), (FLOAT, _float), (TYPED, _typed), (WIDEST, _widest), (("_cudnn_rnn",), _recurrent)):
        for name in names:
            packet, _, overload = name.partition(".")
            operator = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
            if operator is not None:
                library.impl(name, _kernel(operator, change), "AutocastCUDA")
    own = torch.clear_autocast_cache

    def clear() -> None:
        _cache.clear()
        own()

    torch.clear_autocast_cache = clear
