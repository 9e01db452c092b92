"""Bytes that libraries could take which the ghost GPU lacks, by argument from the calls that were seen; and the words for them in an answer.

Workspaces are PyTorch's own requests: those of cuBLAS are of one size, and what convolutions and attention take the installed cuDNN tells (lib/ghost/stubs). Of the
others the stubs have an estimate, or nothing. NCCL is passed over. Nothing is said to fit by less than that without saying so.
"""

from __future__ import annotations

from typing import Any

from ._borders import tensors
from ._figures import size_text

RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
# The library of an operator, and how often it may have all tensors of a call anew while it runs, beside what its stub takes. A judgement.
# Convolutions: where PyTorch measures (cudnn.benchmark), the fastest algorithm is not known: another layout, sums of 32 bits, Winograd's 16 numbers for 4. Recurrent
# layers: four gates for each output. Fourier transforms: NVIDIA's guide has eight times the numbers at worst, of which the stub takes one.
# Decompositions: LAPACK's need none (LU, Cholesky, QR but for a few columns), twice the matrix (eigenvalues), four times (singular values).
COPIES = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), ("cuDNN", 4)),
    **dict.fromkeys(("ctc_loss", *RECURRENT), ("cuDNN", 4)),
    "scaled_dot_product_attention": ("cuDNN", 0),
    **dict.fromkeys((f"fft_{inverse}{kind}fft{axes}" for inverse in ("", "i") for kind in ("", "r", "h") for axes in ("", "2", "n")), ("cuFFT", 7)),
    **dict.fromkeys(("stft", "istft"), ("cuFFT", 7)),
    **dict.fromkeys(("linalg_svd", "svd", "linalg_svdvals", "linalg_pinv", "linalg_matrix_rank"), ("cuSOLVER", 4)),
    **dict.fromkeys(("linalg_eigh", "linalg_eigvalsh", "linalg_eig", "linalg_eigvals"), ("cuSOLVER", 2)),
    **dict.fromkeys(("linalg_qr", "qr", "linalg_cholesky", "cholesky", "linalg_inv", "inverse", "linalg_solve", "linalg_lu", "linalg_lu_factor"), ("cuSOLVER", 1)),
    **dict.fromkeys(("linalg_det", "linalg_slogdet", "linalg_lstsq", "linalg_solve_triangular"), ("cuSOLVER", 1)),
    **dict.fromkeys(("mm", "matmul", "__matmul__", "addmm", "mv", "_sparse_mm", "_sparse_addmm"), ("cuSPARSE", 1)),
}
TAKING = ("cuDNN", "cuFFT")  # whose stubs take one copy themselves
CUDNN = 3  # torch.nn.attention.SDPBackend.CUDNN_ATTENTION
NCCL_BYTES = 688 << 20  # for a communicator of four A100 with NVLink that had made an all-reduce (NVIDIA/nccl#964); fewer links, fewer channels

UNTOLD = "a workspace of "  # and a library's name: on the meta device nobody tells what it takes
COUNTED = {
    "cuDNN": "is a stub: the installed one tells what workspaces it takes, and these are counted",
    "cuBLAS": "is a stub: its workspaces are PyTorch's own requests, and counted",
}
NOT_COUNTED = {"NCCL": "is passed over: {} makes no communicator"}
ESTIMATED = "is a stub: what {} takes is not known but by argument"


def is_dense(tensor: Any) -> bool:
    import torch

    return bool(tensor.layout is torch.strided)


def numbers(tensor: Any) -> int:
    """How many a tensor has; of a sparse one, and its indexes, those that there are."""
    return int(tensor.numel() if is_dense(tensor) else 3 * tensor._nnz())


def by_library(name: str, arguments: tuple[Any, ...], result: Any) -> bool:
    """True for a call that a library does. Attention by cuDNN is of 16 bits, on GPUs where PyTorch prefers it."""
    import torch

    if name == "scaled_dot_product_attention":
        order = getattr(torch._C, "_get_sdp_priority_order", list)()
        return result.dtype in (torch.float16, torch.bfloat16) and order[:1] == [CUDNN]
    return COPIES[name][0] != "cuSPARSE" or not all(is_dense(tensor) for tensor in tensors(arguments))


def workspace(name: str, arguments: tuple[Any, ...], result: Any, is_told: bool) -> int:
    """Bytes that a library could take during a call, or its backward pass, beside what the installed one tells, if it does; in the type of the result, into which autocast turns the arguments."""
    import torch

    if is_told and name.startswith("conv") and not torch.backends.cudnn.benchmark:
        return 0
    width = next(tensors(result)).element_size()
    library, copies = COPIES[name]
    copies += int(not is_told and library in TAKING and name not in RECURRENT)  # of these the meta device has what the stub takes (_meta_recurrent.py)
    return int(copies * width * sum(numbers(tensor) for tensor in tensors([arguments, result])))


def blas_bytes() -> int:
    """The size of cuBLAS's workspaces. PyTorch requests them for each product, or once."""
    import torch

    size = getattr(torch._C, "_cuda_getCublasWorkspaceSize", None)
    return int(size()) if size is not None else 0


def unseen(libraries: dict[str, Any]) -> list[str]:
    """A line for each library that the program uses: (bytes, operator) by name."""
    lines = []
    for library, (size, name) in libraries.items():
        why = NOT_COUNTED.get(library, ESTIMATED if size else COUNTED.get(library, ESTIMATED))
        if library.startswith(UNTOLD):
            why = "is not counted: that of {}"
        lines.append(f"{library} {why.format(name)}; it could add " + (f"up to {size_text(size)}" if size else "0 bytes"))
    return lines


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
    return f", but {whose}by less than what is not seen ({', '.join(f'{library}: up to {size_text(size)}' for library, (size, _) in libraries.items() if size)})"


def then(answer: dict[str, Any]) -> str:
    """Of a change after which it fits with Seam."""
    return ": it fits with Seam then" + (", but by less than what is not seen" if is_close(answer, "seam") else "") if answer["fits"] else ""
