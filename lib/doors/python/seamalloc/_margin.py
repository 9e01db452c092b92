"""Bytes that libraries could take which the ghost GPU lacks, by argument from the calls that were seen; and the words for them in an answer.

cuDNN is switched off, and NCCL passed over. cuBLAS is a stub, but its workspaces are PyTorch's own requests. Nothing is said to fit by less than that without saying so.
"""

from __future__ import annotations

from typing import Any

from ._borders import tensors

# How often cuDNN may have all tensors of a call anew, while it runs. Convolutions: in another layout, once; summed in 32 bits instead of 16, twice; by Winograd's 2 x 2
# tiles for filters of 3 x 3, 16 numbers for 4. Algorithms that take more (FFT, im2col) need not run: PyTorch tries the next one where a workspace cannot be had.
# Recurrent layers: four gates for each output; what they keep for the backward pass PyTorch's own kernels keep too. Attention: sums in 32 bits in the backward pass.
COPIES = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 4),
    **dict.fromkeys(("ctc_loss", "lstm", "gru", "rnn_tanh", "rnn_relu"), 4),
    "scaled_dot_product_attention": 2,
}
CHANNELS = 8  # tensor cores want a multiple of so many
CUDNN = 3  # torch.nn.attention.SDPBackend.CUDNN_ATTENTION
NCCL_BYTES = 688 << 20  # for a communicator of four A100 with NVLink that had made an all-reduce (NVIDIA/nccl#964); fewer links, fewer channels

REASONS = {
    "cuDNN": "is switched off: {} runs by PyTorch's own kernels",
    "NCCL": "is passed over: {} makes no communicator",
    "cuBLAS": "is a stub: its workspaces are PyTorch's own requests, and counted",
}


def padded(shape: Any) -> int:
    """Elements of a tensor whose channels, the second size, are filled up."""
    count = 1
    for number, size in enumerate(shape):
        count *= -(-size // CHANNELS) * CHANNELS if number == 1 else size
    return count


def workspace(name: str, arguments: tuple[Any, ...], result: Any) -> int:
    """Bytes that cuDNN could take during a call, or its backward pass; in the type of the result, into which autocast turns the arguments."""
    width = next(tensors(result)).element_size()
    return COPIES[name] * width * sum(padded(tensor.shape) for tensor in tensors([arguments, result]))


def by_cudnn(name: str, result: Any) -> bool:
    """True for an operator that cuDNN would do, were it there. Attention of 16 bits only, on GPUs where PyTorch prefers it."""
    import torch

    if name != "scaled_dot_product_attention":
        return name in COPIES
    order = getattr(torch._C, "_get_sdp_priority_order", list)()
    return result.dtype in (torch.float16, torch.bfloat16) and order[:1] == [CUDNN]


def blas_bytes() -> int:
    """The size of cuBLAS's workspaces. PyTorch requests them for each product, or once."""
    import torch

    size = getattr(torch._C, "_cuda_getCublasWorkspaceSize", None)
    return int(size()) if size is not None else 0


def gib(size: float) -> str:
    """Bytes for people."""
    return f"{size / (1 << 30):.2f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.1f} MiB"


def unseen(libraries: dict[str, Any]) -> list[str]:
    """A line for each library that the program uses: (bytes, operator) by name."""
    return [f"{library} {REASONS[library].format(name)}; it could add " + (f"up to {gib(size)}" if size else "0 bytes") for library, (size, name) in libraries.items()]


def total(libraries: dict[str, Any]) -> int:
    return sum(size for size, _ in libraries.values())


def is_close(answer: dict[str, Any], allocator: str) -> bool:
    """True if it fits, but by less than what is not seen."""
    return answer["reserved_bytes"][allocator] is not None and answer["usable_bytes"] - answer["needs_bytes"][allocator] < answer["margin_bytes"]


def remark(answer: dict[str, Any], libraries: dict[str, Any], names: dict[str, str]) -> str:
    """The words that a verdict of fitting needs besides. `names`: of the allocators."""
    fitting = [name for name in names if answer["reserved_bytes"][name] is not None]
    close = [name for name in fitting if is_close(answer, name)]
    if not close:
        return ""
    whose = "" if close == fitting else "with " + " and ".join(names[name] for name in close) + " "
    return f", but {whose}by less than what is not seen ({', '.join(f'{library}: up to {gib(size)}' for library, (size, _) in libraries.items() if size)})"


def then(answer: dict[str, Any]) -> str:
    """Of a change after which it fits with Seam."""
    return ": it fits with Seam then" + (", but by less than what is not seen" if is_close(answer, "seam") else "") if answer["fits"] else ""
