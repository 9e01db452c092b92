"""operators.py: what programs that train models call of PyTorch, one by one: name -> a program of it, on the CUDA device.

OPERATORS run. REFUSED raise: what they find is checked by the host. NEWER are those of OPERATORS that a PyTorch older than their number may check, and raise.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = "cuda"


def r(*shape: int, **more: object) -> torch.Tensor:
    """Numbers with a gradient."""
    return torch.randn(shape, device=DEVICE, requires_grad=True, **more)  # type: ignore[call-overload]


def i(high: int, *shape: int) -> torch.Tensor:
    """Indexes."""
    return torch.randint(high, shape, device=DEVICE)


def z(*shape: int) -> torch.Tensor:
    """A tensor that a program may write to."""
    return torch.zeros(shape, device=DEVICE)


def module(made: nn.Module) -> nn.Module:
    return made.to(DEVICE)


def step(kind: type[torch.optim.Optimizer], **more: object) -> None:
    """Two steps of an optimizer over parameters of three shapes."""
    parameters = [nn.Parameter(r(*shape).detach()) for shape in ((64, 64), (64,), (3, 5, 7))]
    optimizer = kind(parameters, **({"lr": 0.01} | more))
    for _ in range(2):
        optimizer.zero_grad(set_to_none=True)
        sum((p * p).sum() for p in parameters).backward()
        optimizer.step()
    optimizer.state_dict()


def clip() -> None:
    model = module(nn.Linear(32, 32))
    model(r(4, 32)).sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    nn.utils.clip_grad_value_(model.parameters(), 1.0)


def scaler() -> None:
    model = module(nn.Linear(32, 32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    grad_scaler = torch.amp.GradScaler(DEVICE)
    for _ in range(2):
        with torch.autocast(DEVICE, dtype=torch.float16):
            loss = model(r(4, 32)).float().pow(2).mean()
        grad_scaler.scale(loss).backward()
        grad_scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        grad_scaler.step(optimizer)
        grad_scaler.update()
        optimizer.zero_grad()


def autocast(dtype: torch.dtype) -> torch.Tensor:
    with torch.autocast(DEVICE, dtype=dtype):
        return F.cross_entropy(module(nn.Linear(32, 10))(r(4, 32)), i(10, 4))


def attention(backend: object, mask: bool = False, causal: bool = True, dtype: torch.dtype = torch.bfloat16, dropout: float = 0.1) -> torch.Tensor:
    q, k, v = (r(2, 8, 128, 64, dtype=dtype) for _ in range(3))
    given = torch.zeros(128, 128, device=DEVICE, dtype=dtype) if mask else None
    with torch.nn.attention.sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=given, is_causal=causal and not mask, dropout_p=dropout)


def flagged(flag: str, function: Callable[[], torch.Tensor], value: bool = True) -> torch.Tensor:
    """With a flag of torch.backends.cudnn, for the backward pass too."""
    setattr(torch.backends.cudnn, flag, value)
    return function()


def grouped_attention() -> torch.Tensor:
    q, k, v = r(2, 8, 64, 64, dtype=torch.bfloat16), r(2, 2, 64, 64, dtype=torch.bfloat16), r(2, 2, 64, 64, dtype=torch.bfloat16)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def graph(made: nn.Module, shape: tuple[int, ...]) -> None:
    model = module(made)
    given = z(*shape)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            model(given).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    model.zero_grad(set_to_none=True)
    with torch.cuda.graph(captured):
        F.dropout(model(given), 0.5).sum().backward()
    captured.replay()
    captured.replay()
    torch.cuda.synchronize()


def graphed_callables() -> torch.Tensor:
    model = torch.cuda.make_graphed_callables(module(nn.Linear(32, 32)), (r(4, 32),))
    return model(r(4, 32))


def events() -> None:
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(10):
        z(1000).add_(1)
    last.record()
    last.synchronize()
    assert 0.05 < first.elapsed_time(last) < 5, first.elapsed_time(last)


def streams() -> None:
    side = torch.cuda.Stream(priority=-1)
    held = z(1000)
    with torch.cuda.stream(side):
        held.add_(1)
        held.record_stream(side)
        event = side.record_event()
    torch.cuda.current_stream().wait_event(event)
    event.synchronize()
    assert event.query() and side.query()


def pinned() -> None:
    host = torch.randn(1000).pin_memory()
    assert host.is_pinned()
    there = host.to(DEVICE, non_blocking=True)
    back = torch.empty(1000, pin_memory=True)
    back.copy_(there, non_blocking=True)
    torch.cuda.synchronize()


def registered() -> None:
    host = torch.zeros(1 << 16)
    runtime = torch.cuda.cudart()
    assert int(runtime.cudaHostRegister(host.data_ptr(), host.numel() * 4, 0)) == 0
    assert host.is_pinned()
    host.to(DEVICE, non_blocking=True)
    torch.cuda.synchronize()
    assert int(runtime.cudaHostUnregister(host.data_ptr())) == 0


def loader() -> None:
    data = torch.utils.data.TensorDataset(torch.randn(32, 8), torch.arange(32))
    for x, y in torch.utils.data.DataLoader(data, batch_size=8, pin_memory=True):
        x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True)


def checkpoint(reentrant: bool) -> torch.Tensor:
    from torch.utils.checkpoint import checkpoint as checkpointed

    return checkpointed(nn.Sequential(module(nn.Linear(32, 32)), nn.Dropout(0.1)), r(4, 32), use_reentrant=reentrant)


def offloaded() -> torch.Tensor:
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        return module(nn.Linear(32, 32))(r(4, 32)).relu()


def random_state() -> None:
    torch.cuda.manual_seed_all(3)
    state = torch.cuda.get_rng_state()
    torch.rand(10, device=DEVICE)
    torch.cuda.set_rng_state(state)
    generator = torch.Generator(DEVICE).manual_seed(7)
    torch.rand(10, device=DEVICE, generator=generator)
    with torch.random.fork_rng(devices=[0]):
        torch.rand(10, device=DEVICE)


def saved() -> None:
    file = io.BytesIO()
    torch.save(module(nn.Linear(8, 8)).state_dict(), file)
    file.seek(0)
    torch.load(file, map_location=DEVICE)


def sparse(layout: torch.layout) -> torch.Tensor:
    """A matrix with as many numbers as it says, whatever they are."""
    if layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(i(10, 2, 5), r(5).detach(), (10, 10), is_coalesced=True, check_invariants=False)
    return torch.sparse_csr_tensor(i(5, 11), i(10, 5), r(5).detach(), (10, 10), check_invariants=False)


def packed() -> torch.Tensor:
    lengths = torch.tensor([5, 3, 2])
    sequence = nn.utils.rnn.pack_padded_sequence(r(3, 5, 16), lengths, batch_first=True)
    out, _ = module(nn.LSTM(16, 16, batch_first=True))(sequence)
    return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0]


def ema() -> None:
    averaged = torch.optim.swa_utils.AveragedModel(module(nn.Linear(8, 8)), multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    averaged.update_parameters(module(nn.Linear(8, 8)))


def resized() -> None:
    held = z(1000)
    held.untyped_storage().resize_(0)
    held.untyped_storage().resize_(4000)
    held.add_(1)


def nested() -> torch.Tensor:
    return torch.nested.nested_tensor([r(3, 8).detach(), r(5, 8).detach()], layout=torch.jagged, requires_grad=True).values().sum()


def memory() -> None:
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.memory_stats()
    torch.cuda.mem_get_info()
    torch.cuda.empty_cache()
    torch.cuda.memory._snapshot()
    torch.cuda.get_device_properties(0)
    torch.cuda.get_device_capability()
    torch.cuda.ipc_collect()


def written(function: Callable[[torch.Tensor], object]) -> torch.Tensor:
    """A tensor that was written to in place."""
    made = z(16, 16)
    function(made)
    return made


def profiled() -> None:
    from torch.profiler import profile

    with profile() as profiler:
        z(10).add_(1)
    profiler.key_averages().table()


class Block(nn.Module):
    """Of a language model."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.second(x))


def trained(model: nn.Module, given: Callable[[], torch.Tensor], classes: int, dtype: torch.dtype) -> None:
    """Three iterations; the memory that lives is the same after each."""
    model = module(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    lives = []
    for _ in range(3):
        with torch.autocast(DEVICE, dtype=dtype):
            out = model(given())
            loss = F.cross_entropy(out.flatten(0, -2), i(classes, out.numel() // classes))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        assert loss.item() == 0
        del out, loss
        lives.append(torch.cuda.memory_allocated())
    assert lives[1] == lives[2], lives


def language_model() -> None:
    blocks = [Block(64, 4) for _ in range(3)]
    trained(nn.Sequential(nn.Embedding(1000, 64), *blocks, nn.LayerNorm(64), nn.Linear(64, 1000)), lambda: i(1000, 4, 128), 1000, torch.bfloat16)


def convolutional_network() -> None:
    layers = [nn.Sequential(nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True)) for a, b in ((3, 16), (16, 32), (32, 64))]
    trained(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)), lambda: r(4, 3, 64, 64).detach(), 10, torch.float16)


def compiled() -> torch.Tensor:
    return torch.compile(lambda x: F.layer_norm(x.sin() + 1, (64,)).sum(-1))(r(64, 64))


CUDNN = torch.nn.attention.SDPBackend.CUDNN_ATTENTION
MATH = torch.nn.attention.SDPBackend.MATH
FLASH = torch.nn.attention.SDPBackend.FLASH_ATTENTION
EFFICIENT = torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION

OPERATORS: dict[str, Callable[[], object]] = {
    "a language model": language_model,
    "a convolutional network": convolutional_network,
    # sorts, scans, searches
    "sort": lambda: r(1000, 1000).sort(),
    "sort, stable and long": lambda: i(1 << 40, 1 << 20).sort(stable=True),
    "argsort": lambda: r(10, 5000).argsort(descending=True),
    "msort": lambda: r(100, 3).msort(),
    "topk": lambda: r(1000, 1000).topk(5),
    "topk of a long row": lambda: r(2, 200000).topk(50),
    "topk of bfloat16": lambda: r(8, 50257, dtype=torch.bfloat16).topk(40),
    "kthvalue": lambda: r(100, 100).kthvalue(3),
    "median": lambda: r(1000).median(),
    "median of rows": lambda: r(100, 100).median(1),
    "nanmedian": lambda: r(100, 100).nanmedian(1),
    "mode": lambda: i(9, 100, 100).mode(1),
    "quantile": lambda: r(1000).quantile(0.5),
    "nanquantile": lambda: r(1000).nanquantile(0.5),
    "unique": lambda: torch.unique(i(10, 1000)),
    "unique with inverse and counts": lambda: torch.unique(i(10, 1000), return_inverse=True, return_counts=True),
    "unique of rows": lambda: torch.unique(i(10, 100, 3), dim=0),
    "unique_consecutive": lambda: torch.unique_consecutive(i(10, 1000), return_inverse=True, return_counts=True),
    "cumsum": lambda: r(1000, 1000).cumsum(0),
    "cumsum of a row": lambda: r(1 << 20).cumsum(0),
    "cumprod": lambda: r(100, 100).cumprod(1),
    "cummax": lambda: r(100, 100).cummax(1),
    "logcumsumexp": lambda: r(100, 100).logcumsumexp(1),
    "searchsorted": lambda: torch.searchsorted(r(100).detach(), r(10, 10).detach()),
    "bucketize": lambda: torch.bucketize(r(100).detach(), r(10).detach()),
    "histc": lambda: torch.histc(r(1000).detach()),
    "histc in bounds": lambda: torch.histc(r(1000).detach(), bins=50, min=-1, max=1),
    "bincount": lambda: torch.bincount(i(10, 1000)),
    "bincount with weights": lambda: torch.bincount(i(10, 1000), r(1000).detach(), minlength=20),
    "nonzero": lambda: r(100, 100).detach().nonzero(),
    "nonzero as tuple": lambda: r(100, 100).detach().nonzero(as_tuple=True),
    "argwhere": lambda: torch.argwhere(i(2, 50, 50)),
    "count_nonzero": lambda: torch.count_nonzero(i(2, 50, 50), dim=1),
    "masked_select": lambda: r(100).masked_select(i(2, 100) > 0),
    "boolean mask": lambda: (lambda x: x[x > 0])(r(100)),
    "where": lambda: torch.where(i(2, 100) > 0, r(100), r(100)),
    "where, one argument": lambda: torch.where(i(2, 100) > 0),
    "isin": lambda: torch.isin(i(10, 100), i(10, 5)),
    "multinomial": lambda: torch.multinomial(r(1000, 1000).detach().abs(), 3),
    "multinomial with replacement": lambda: torch.multinomial(r(8, 5000).detach().abs(), 16, replacement=True),
    "multinomial, one sample": lambda: torch.multinomial(r(8, 50257).detach().softmax(-1), 1),
    "tril_indices": lambda: torch.tril_indices(30, 30, device=DEVICE),
    "combinations": lambda: torch.combinations(r(10).detach()),
    "cartesian_prod": lambda: torch.cartesian_prod(r(10).detach(), r(10).detach()),
    # indexes
    "embedding": lambda: F.embedding(i(100, 4, 16), r(100, 32)),
    "embedding with padding": lambda: F.embedding(i(100, 4, 16), r(100, 32), padding_idx=3),
    "embedding scaled by frequency": lambda: F.embedding(i(100, 4, 16), r(100, 32), scale_grad_by_freq=True),
    "embedding with largest norm": lambda: F.embedding(i(100, 4, 16), r(100, 32).detach(), max_norm=1.0),
    "embedding, many indexes": lambda: F.embedding(i(100, 8, 1024), r(50257, 64)),
    "embedding_bag, mean": lambda: F.embedding_bag(i(100, 8, 16), r(100, 32), mode="mean"),
    "embedding_bag, sum": lambda: F.embedding_bag(i(100, 8, 16), r(100, 32), mode="sum"),
    "embedding_bag, max": lambda: F.embedding_bag(i(100, 8, 16), r(100, 32), mode="max"),
    "index": lambda: r(100, 8)[i(100, 5)],
    "index by two": lambda: r(100, 8)[i(100, 5), i(8, 5)],
    "index_select": lambda: r(100, 8).index_select(0, i(100, 5)),
    "index_add": lambda: z(10, 8).index_add(0, i(10, 5), r(5, 8)),
    "index_copy": lambda: z(10, 8).index_copy(0, i(10, 5), r(5, 8)),
    "index_fill": lambda: r(10, 8).index_fill(0, i(10, 5), 1.0),
    "index_put": lambda: z(10, 8).index_put((i(10, 5),), r(5, 8)),
    "index_put with sums": lambda: z(10, 8).index_put((i(10, 5),), r(5, 8), accumulate=True),
    "index_reduce": lambda: z(10, 8).index_reduce(0, i(10, 5), r(5, 8).detach(), "mean"),
    "gather": lambda: r(10, 8).gather(1, i(8, 10, 3)),
    "scatter": lambda: z(10, 8).scatter(1, i(8, 10, 3), r(10, 3)),
    "scatter_add": lambda: z(10).scatter_add(0, i(10, 10), r(10)),
    "scatter_reduce": lambda: z(10).scatter_reduce(0, i(10, 10), r(10), "amax"),
    "masked_fill": lambda: r(10, 10).masked_fill(i(2, 10, 10) > 0, -math.inf),
    "masked_scatter": lambda: z(10, 10).masked_scatter(i(2, 10, 10) > 0, r(100)),
    "take_along_dim": lambda: torch.take_along_dim(r(10, 8), i(8, 10, 3), 1),
    "take": lambda: torch.take(r(10, 8), i(80, 3)),
    "put_": lambda: written(lambda t: t.put_(i(100, 5), r(5).detach())),
    "one_hot": lambda: F.one_hot(i(10, 5), 10),
    "one_hot of as many as there are": lambda: F.one_hot(i(10, 5)),
    "repeat_interleave": lambda: r(10, 8).repeat_interleave(3, 0),
    "repeat_interleave by counts": lambda: r(10, 8).repeat_interleave(i(3, 10), 0),
    "repeat_interleave of known size": lambda: r(10, 8).repeat_interleave(i(3, 10), 0, output_size=20),
    # shapes
    "cat": lambda: torch.cat([r(10, 8) for _ in range(5)]),
    "cat of many": lambda: torch.cat([r(1, 8) for _ in range(300)]),
    "stack": lambda: torch.stack([r(10, 8) for _ in range(5)]),
    "split and chunk": lambda: [part.contiguous() for part in (*r(10, 8).split(3), *r(10, 8).chunk(3, 1))],
    "permute and contiguous": lambda: r(4, 5, 6).permute(2, 0, 1).contiguous(),
    "flip, roll, rot90": lambda: r(10, 10).flip(0).roll(3, 1).rot90(),
    "repeat, tile, expand": lambda: r(10, 1).repeat(2, 3).tile(2, 1) + r(10, 1).expand(10, 3).repeat(4, 1)[:40],
    "tril and triu": lambda: r(10, 10).tril() + r(10, 10).triu(1),
    "diag, diagonal, diag_embed": lambda: torch.diag_embed(r(10, 10).diagonal()) + torch.diag(r(10)),
    "pad": lambda: F.pad(r(1, 3, 8, 8), (1, 2, 3, 4)),
    "pad by reflection": lambda: F.pad(r(1, 3, 8, 8), (1, 2, 3, 4), mode="reflect"),
    "pad by replication": lambda: F.pad(r(1, 3, 8, 8), (1, 2, 3, 4), mode="replicate"),
    "pad in a circle": lambda: F.pad(r(1, 3, 8, 8), (1, 2, 3, 4), mode="circular"),
    "pad_sequence": lambda: nn.utils.rnn.pad_sequence([r(n, 8) for n in (3, 5, 7)], batch_first=True),
    "unfold and fold": lambda: F.fold(F.unfold(r(1, 3, 8, 8), 3), (8, 8), 3),
    "unfold of a dimension": lambda: r(100).unfold(0, 10, 5).contiguous(),
    "pixel_shuffle": lambda: F.pixel_unshuffle(F.pixel_shuffle(r(1, 16, 8, 8), 2), 2),
    "meshgrid": lambda: [t.contiguous() for t in torch.meshgrid(r(10), r(5), indexing="ij")],
    "channels_last": lambda: r(2, 3, 8, 8).contiguous(memory_format=torch.channels_last) * 2,
    # sums and elementwise
    "reductions": lambda: [f(r(100, 100)) for f in (torch.sum, torch.mean, torch.std, torch.var, torch.prod, torch.amax, torch.amin)],
    "logsumexp": lambda: r(100, 100).logsumexp(1),
    "max and min with indexes": lambda: (r(100, 100).max(1).values, r(100, 100).min(0).values),
    "argmax": lambda: r(100, 50257).argmax(-1),
    "any and all": lambda: ((r(100).detach() > 0).any(), (r(100).detach() > 0).all()),
    "aminmax": lambda: torch.aminmax(r(100).detach()),
    "var_mean": lambda: torch.var_mean(r(100, 100), dim=1),
    "cdist": lambda: torch.cdist(r(10, 8), r(12, 8)),
    "pdist": lambda: F.pdist(r(10, 8)),
    "cosine_similarity": lambda: F.cosine_similarity(r(10, 8), r(10, 8)),
    "pairwise_distance": lambda: F.pairwise_distance(r(10, 8), r(10, 8)),
    "norm": lambda: torch.linalg.norm(r(100, 100)),
    "vector_norm": lambda: torch.linalg.vector_norm(r(100, 100), 1, dim=1),
    "normalize": lambda: F.normalize(r(10, 8)),
    "renorm": lambda: r(10, 8).renorm(2, 0, 1.0),
    "activations": lambda: [f(r(100)) for f in (F.relu, F.gelu, F.silu, F.mish, F.elu, F.selu, F.leaky_relu, F.softplus, F.hardswish, F.hardtanh, F.logsigmoid, torch.tanh, torch.sigmoid, F.relu6, F.celu, F.softsign, F.hardsigmoid)],
    "gelu, tanh": lambda: F.gelu(r(100), approximate="tanh"),
    "prelu": lambda: F.prelu(r(4, 8), r(8)),
    "rrelu": lambda: F.rrelu(r(4, 8), training=True),
    "glu": lambda: F.glu(r(4, 8)),
    "functions": lambda: [f(r(100)) for f in (torch.exp, torch.log, torch.sqrt, torch.rsqrt, torch.sin, torch.cos, torch.erf, torch.abs, torch.sign, torch.floor, torch.lgamma, torch.digamma, torch.expm1, torch.log1p, torch.atan, torch.erfinv)],
    "functions of two": lambda: [f(r(100), r(100)) for f in (torch.add, torch.mul, torch.div, torch.pow, torch.maximum, torch.minimum, torch.atan2, torch.hypot, torch.fmod, torch.logaddexp)],
    "addcmul, addcdiv, lerp, clamp": lambda: torch.lerp(torch.addcmul(r(9), r(9), r(9)), torch.addcdiv(r(9), r(9), r(9)), 0.5).clamp(-1, 1),
    "comparisons": lambda: torch.equal(r(9), r(9)) or torch.allclose(r(9), r(9)),
    "isnan, isinf, nan_to_num": lambda: (r(9).isnan().any(), r(9).isinf().any(), r(9).nan_to_num()),
    "types": lambda: [r(100).to(t) for t in (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.bool, torch.float8_e4m3fn, torch.complex64)],
    "complex numbers": lambda: torch.view_as_real(torch.view_as_complex(r(10, 2)) * torch.polar(r(10).detach().abs(), r(10).detach())),
    "bits": lambda: (i(9, 9) & i(9, 9)) | (i(9, 9) ^ ~i(9, 9)) << 1,
    "foreach": lambda: torch._foreach_add([r(9).detach() for _ in range(40)], [r(9).detach() for _ in range(40)]),
    "foreach_norm": lambda: torch._foreach_norm([r(9) for _ in range(40)]),
    "item, tolist, numpy": lambda: (r(1).item(), r(3).tolist(), r(3).detach().cpu()),
    "print": lambda: str(r(1000)) + repr(r(3, 3)),
    # products
    "linear": lambda: F.linear(r(4, 32), r(16, 32), r(16)),
    "linear of three dimensions": lambda: F.linear(r(4, 7, 32), r(16, 32), r(16)),
    "linear, bfloat16": lambda: F.linear(r(4, 32, dtype=torch.bfloat16), r(16, 32, dtype=torch.bfloat16), r(16, dtype=torch.bfloat16)),
    "mm": lambda: r(9, 8) @ r(8, 7),
    "bmm": lambda: r(3, 9, 8) @ r(3, 8, 7),
    "addmm": lambda: torch.addmm(r(7), r(9, 8), r(8, 7)),
    "addmm with activation": lambda: torch._addmm_activation(r(8).detach(), r(9, 8).detach(), r(8, 8).detach(), use_gelu=True),
    "baddbmm": lambda: torch.baddbmm(r(3, 9, 7), r(3, 9, 8), r(3, 8, 7)),
    "mv and dot": lambda: (r(9, 8) @ r(8)).dot(r(9)),
    "outer, ger": lambda: torch.outer(r(9), r(8)),
    "einsum": lambda: torch.einsum("bij,bjk->bik", r(3, 9, 8), r(3, 8, 7)),
    "einsum of three": lambda: torch.einsum("ij,jk,kl->il", r(9, 8), r(8, 7), r(7, 6)),
    "tensordot": lambda: torch.tensordot(r(3, 4, 5), r(5, 4, 3), dims=([1, 2], [1, 0])),
    "bilinear": lambda: module(nn.Bilinear(8, 9, 7))(r(4, 8), r(4, 9)),
    "matrix_power": lambda: torch.linalg.matrix_power(r(8, 8), 3),
    "matmul of double": lambda: r(9, 8, dtype=torch.float64) @ r(8, 7, dtype=torch.float64),
    "matmul of float16": lambda: r(16, 8, dtype=torch.float16) @ r(8, 8, dtype=torch.float16),
    "int8 product": lambda: torch._int_mm(i(9, 32, 32).to(torch.int8), i(9, 32, 32).to(torch.int8)),
    "scaled product of float8": lambda: torch._scaled_mm(z(32, 32).to(torch.float8_e4m3fn), z(32, 32).to(torch.float8_e4m3fn).t(), scale_a=torch.ones((), device=DEVICE), scale_b=torch.ones((), device=DEVICE), out_dtype=torch.bfloat16),
    "grouped product": lambda: torch._grouped_mm(r(32, 16, dtype=torch.bfloat16), r(2, 16, 16, dtype=torch.bfloat16), offs=torch.tensor([16, 32], device=DEVICE, dtype=torch.int32)),
    "cross": lambda: torch.linalg.cross(r(9, 3), r(9, 3)),
    "kron": lambda: torch.kron(r(3, 3), r(4, 4)),
    # norms, dropout
    "layer_norm": lambda: F.layer_norm(r(4, 16, 32), (32,), r(32), r(32)),
    "layer_norm, wide": lambda: F.layer_norm(r(64, 4096), (4096,), r(4096), r(4096)),
    "rms_norm": lambda: F.rms_norm(r(4, 16, 32), (32,), r(32)),
    "group_norm": lambda: F.group_norm(r(4, 16, 8, 8), 4, r(16), r(16)),
    "batch_norm": lambda: module(nn.BatchNorm2d(16))(r(8, 16, 8, 8)),
    "batch_norm, 1d": lambda: module(nn.BatchNorm1d(16))(r(8, 16)),
    "batch_norm, channels last": lambda: module(nn.BatchNorm2d(16))(r(8, 16, 8, 8).contiguous(memory_format=torch.channels_last)),
    "batch_norm, evaluation": lambda: module(nn.BatchNorm2d(16)).eval()(r(8, 16, 8, 8)),
    "instance_norm": lambda: F.instance_norm(r(4, 16, 8, 8)),
    "local_response_norm": lambda: F.local_response_norm(r(4, 16, 8, 8), 3),
    "weight_norm": lambda: nn.utils.parametrizations.weight_norm(module(nn.Linear(8, 8)))(r(4, 8)),
    "spectral_norm": lambda: nn.utils.parametrizations.spectral_norm(module(nn.Linear(8, 8)))(r(4, 8)),
    "dropout": lambda: F.dropout(r(1000)),
    "dropout2d": lambda: F.dropout2d(r(4, 8, 5, 5)),
    "alpha_dropout": lambda: F.alpha_dropout(r(1000), training=True),
    "softmax": lambda: r(4, 50257).softmax(-1),
    "softmax of few": lambda: r(4, 8, 32, 32).softmax(-1),
    "softmax of the first": lambda: r(400, 30).softmax(0),
    "softmax to float": lambda: r(4, 100, dtype=torch.bfloat16).softmax(-1, dtype=torch.float32),
    "log_softmax": lambda: r(4, 50257).log_softmax(-1),
    "gumbel_softmax": lambda: F.gumbel_softmax(r(4, 10), hard=True),
    # convolutions and pictures
    "conv1d": lambda: F.conv1d(r(2, 3, 64), r(8, 3, 3)),
    "conv2d": lambda: F.conv2d(r(2, 3, 64, 64), r(16, 3, 3, 3), r(16)),
    "conv2d with stride and holes": lambda: F.conv2d(r(2, 4, 32, 32), r(16, 4, 3, 3), stride=2, padding=2, dilation=2),
    "conv2d in groups": lambda: F.conv2d(r(2, 16, 32, 32), r(16, 4, 3, 3), groups=4),
    "conv2d of each channel": lambda: F.conv2d(r(2, 16, 32, 32), r(16, 1, 3, 3), groups=16),
    "conv2d, bfloat16": lambda: F.conv2d(r(2, 3, 32, 32, dtype=torch.bfloat16), r(16, 3, 3, 3, dtype=torch.bfloat16)),
    "conv2d, channels last": lambda: F.conv2d(r(2, 4, 32, 32).contiguous(memory_format=torch.channels_last), r(16, 4, 3, 3)),
    "conv3d": lambda: F.conv3d(r(2, 3, 8, 8, 8), r(4, 3, 3, 3, 3)),
    "conv_transpose2d": lambda: F.conv_transpose2d(r(2, 16, 8, 8), r(16, 8, 3, 3), stride=2),
    "conv_transpose1d": lambda: F.conv_transpose1d(r(2, 16, 8), r(16, 8, 3), stride=2),
    "conv_transpose3d": lambda: F.conv_transpose3d(r(2, 8, 4, 4, 4), r(8, 4, 3, 3, 3), stride=2, output_padding=1),
    "conv1d, float16": lambda: F.conv1d(r(2, 8, 64, dtype=torch.float16), r(8, 8, 3, dtype=torch.float16), r(8, dtype=torch.float16)),
    "conv3d in groups, channels last": lambda: F.conv3d(r(2, 8, 8, 8, 8).contiguous(memory_format=torch.channels_last_3d), r(8, 2, 3, 3, 3), groups=4),
    "convolutions, measured": lambda: flagged("benchmark", lambda: F.conv2d(r(2, 16, 32, 32), r(16, 16, 3, 3))),
    "convolutions, deterministic": lambda: flagged("deterministic", lambda: F.conv2d(r(2, 16, 32, 32), r(16, 16, 3, 3))),
    "convolutions without cuDNN": lambda: flagged("enabled", lambda: F.conv2d(r(2, 16, 32, 32), r(16, 16, 3, 3)), False),
    "graph of a convolution": lambda: graph(nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8)), (4, 1, 32, 32)),
    "max_pool1d": lambda: F.max_pool1d(r(2, 3, 16), 2),
    "max_pool2d": lambda: F.max_pool2d(r(2, 3, 16, 16), 2),
    "max_pool2d, channels last": lambda: F.max_pool2d(r(2, 8, 16, 16).contiguous(memory_format=torch.channels_last), 3, 2, 1),
    "max_pool3d": lambda: F.max_pool3d(r(2, 3, 8, 8, 8), 2),
    "max_unpool2d": lambda: F.max_unpool2d(*F.max_pool2d(r(2, 3, 16, 16), 2, return_indices=True), 2),
    "avg_pool2d": lambda: F.avg_pool2d(r(2, 3, 16, 16), 2),
    "avg_pool3d": lambda: F.avg_pool3d(r(2, 3, 8, 8, 8), 2),
    "lp_pool2d": lambda: F.lp_pool2d(r(2, 3, 16, 16), 2, 2),
    "fractional_max_pool2d": lambda: F.fractional_max_pool2d(r(2, 3, 16, 16), 2, output_size=8),
    "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(r(2, 3, 16, 16), (7, 7)),
    "adaptive_avg_pool2d to one": lambda: F.adaptive_avg_pool2d(r(2, 3, 16, 16), 1),
    "adaptive_avg_pool2d, channels last": lambda: F.adaptive_avg_pool2d(r(2, 8, 16, 16).contiguous(memory_format=torch.channels_last), (7, 7)),
    "adaptive_avg_pool3d": lambda: F.adaptive_avg_pool3d(r(2, 3, 8, 8, 8), 3),
    "adaptive_max_pool2d": lambda: F.adaptive_max_pool2d(r(2, 3, 16, 16), (7, 7)),
    "interpolate, nearest": lambda: F.interpolate(r(1, 3, 8, 8), scale_factor=2),
    "interpolate, bilinear": lambda: F.interpolate(r(1, 3, 8, 8), scale_factor=2, mode="bilinear"),
    "interpolate, bilinear and smooth": lambda: F.interpolate(r(1, 3, 16, 16), size=(7, 7), mode="bilinear", antialias=True),
    "interpolate, bicubic": lambda: F.interpolate(r(1, 3, 8, 8), scale_factor=2, mode="bicubic"),
    "interpolate, trilinear": lambda: F.interpolate(r(1, 3, 4, 8, 8), scale_factor=2, mode="trilinear"),
    "interpolate, linear": lambda: F.interpolate(r(1, 3, 8), scale_factor=2, mode="linear"),
    "interpolate, area": lambda: F.interpolate(r(1, 3, 8, 8), size=4, mode="area"),
    "grid_sample by cuDNN": lambda: F.grid_sample(r(1, 3, 8, 8), r(1, 4, 4, 2), align_corners=True),
    "affine_grid by cuDNN": lambda: F.affine_grid(r(1, 2, 3), [1, 3, 8, 8], align_corners=True),
    "grid_sample": lambda: F.grid_sample(r(1, 3, 8, 8), r(1, 4, 4, 2), align_corners=False),
    "affine_grid": lambda: F.affine_grid(r(1, 2, 3), [1, 3, 8, 8], align_corners=False),
    "channel_shuffle": lambda: F.channel_shuffle(r(1, 8, 4, 4), 2),
    # recurrent ones and attention
    "lstm": lambda: module(nn.LSTM(16, 16, 2, dropout=0.1))(r(8, 4, 16))[0],
    "lstm of packed sequences": packed,
    "gru": lambda: module(nn.GRU(16, 16, bidirectional=True))(r(8, 4, 16))[0],
    "rnn": lambda: module(nn.RNN(16, 16))(r(8, 4, 16))[0],
    "lstm with projections": lambda: module(nn.LSTM(16, 32, 2, proj_size=8))(r(8, 4, 16))[0],
    "lstm, float16, both ways": lambda: module(nn.LSTM(16, 32, 3, bidirectional=True)).half()(r(8, 4, 16, dtype=torch.float16))[0],
    "lstm without biases": lambda: module(nn.LSTM(16, 16, bias=False))(r(8, 4, 16))[0],
    "rnn, relu": lambda: module(nn.RNN(16, 16, nonlinearity="relu"))(r(8, 4, 16))[0],
    "lstm cell": lambda: module(nn.LSTMCell(16, 16))(r(4, 16))[0],
    "attention": lambda: F.scaled_dot_product_attention(*(r(2, 8, 64, 64, dtype=torch.bfloat16) for _ in range(3)), is_causal=True),
    "attention of float32": lambda: F.scaled_dot_product_attention(*(r(2, 8, 64, 64) for _ in range(3)), is_causal=True),
    "attention of an odd size": lambda: F.scaled_dot_product_attention(*(r(2, 3, 17, 33, dtype=torch.float16) for _ in range(3))),
    "attention, flash": lambda: attention(FLASH),
    "attention, flash, all": lambda: attention(FLASH, causal=False),
    "attention, memory efficient": lambda: attention(EFFICIENT),
    "attention, memory efficient, with a mask": lambda: attention(EFFICIENT, mask=True),
    "attention, memory efficient, float32": lambda: attention(EFFICIENT, dtype=torch.float32),
    "attention, cuDNN": lambda: attention(CUDNN, dropout=0.0),
    "attention, cuDNN, all": lambda: attention(CUDNN, causal=False, dtype=torch.float16, dropout=0.0),
    "attention, cuDNN, with a mask": lambda: attention(CUDNN, mask=True, dropout=0.0),
    "attention, math": lambda: attention(MATH),
    "attention, math, with a mask": lambda: attention(MATH, mask=True),
    "attention of groups": grouped_attention,
    "multi-head attention": lambda: module(nn.MultiheadAttention(32, 4))(*(r(5, 2, 32) for _ in range(3)))[0],
    "transformer layer": lambda: module(nn.TransformerEncoderLayer(32, 4, batch_first=True))(r(2, 5, 32)),
    "transformer layer, evaluation": lambda: module(nn.TransformerEncoderLayer(32, 4, batch_first=True)).eval()(r(2, 5, 32).detach()),
    "transformer": lambda: module(nn.Transformer(32, 4, 1, 1, 64))(r(5, 2, 32), r(6, 2, 32)),
    # linear algebra, Fourier transforms, sparse matrices
    "fft": lambda: torch.fft.fft(r(100)),
    "rfft2": lambda: torch.fft.rfft2(r(8, 8)),
    "stft": lambda: torch.stft(r(1000), 64, window=torch.hann_window(64, device=DEVICE), return_complex=True),
    "svd": lambda: torch.linalg.svd(r(10, 10)),
    "eigh": lambda: torch.linalg.eigh(r(10, 10)),
    "qr": lambda: torch.linalg.qr(r(10, 10)),
    "cholesky": lambda: torch.linalg.cholesky(r(10, 10)),
    "inv": lambda: torch.linalg.inv(r(10, 10)),
    "solve": lambda: torch.linalg.solve(r(10, 10), r(10, 2)),
    "det": lambda: torch.linalg.det(r(10, 10)),
    "lstsq": lambda: torch.linalg.lstsq(r(10, 10), r(10, 2)).solution,
    "sparse product": lambda: sparse(torch.sparse_coo) @ r(10, 2).detach(),
    "sparse product, by rows": lambda: sparse(torch.sparse_csr) @ r(10, 2).detach(),
    "lu": lambda: torch.linalg.lu(r(10, 10)),
    "cholesky_solve": lambda: torch.cholesky_solve(r(10, 2), r(10, 10)),
    "solve_triangular": lambda: torch.linalg.solve_triangular(r(10, 10), r(10, 2), upper=True),
    "pinv": lambda: torch.linalg.pinv(r(10, 8)),
    "decompositions of many": lambda: [f(r(4, 10, 10).detach()) for f in (torch.linalg.svd, torch.linalg.eigh, torch.linalg.qr, torch.linalg.cholesky, torch.linalg.inv, torch.linalg.det)],
    "decompositions of complex numbers": lambda: [f(r(10, 10, dtype=torch.complex64).detach()) for f in (torch.linalg.svd, torch.linalg.eigh, torch.linalg.qr, torch.linalg.inv)],
    "decompositions of double": lambda: [f(r(300, 300, dtype=torch.float64).detach()) for f in (torch.linalg.svd, torch.linalg.eigh, torch.linalg.qr, torch.linalg.cholesky)],
    "fft and back": lambda: torch.fft.irfftn(torch.fft.rfftn(r(4, 8, 8))),
    "fft of a prime": lambda: torch.fft.fft(r(3, 1009)),
    "sparse times sparse": lambda: sparse(torch.sparse_csr) @ sparse(torch.sparse_csr),
    "sparse plus sparse": lambda: sparse(torch.sparse_csr) + sparse(torch.sparse_csr),
    "sparse product with a gradient": lambda: torch.sparse.mm(sparse(torch.sparse_coo), r(10, 2)),
    "sparse times a vector": lambda: sparse(torch.sparse_csr) @ r(10).detach(),
    "orthogonal_": lambda: nn.init.orthogonal_(z(8, 8)),
    # losses
    "cross_entropy": lambda: F.cross_entropy(r(8, 50257), i(50257, 8)),
    "cross_entropy of pictures": lambda: F.cross_entropy(r(2, 10, 8, 8), i(10, 2, 8, 8)),
    "cross_entropy, smoothed and weighed": lambda: F.cross_entropy(r(8, 10), i(10, 8), weight=torch.ones(10, device=DEVICE), label_smoothing=0.1, ignore_index=3),
    "cross_entropy of probabilities": lambda: F.cross_entropy(r(8, 10), r(8, 10).detach().softmax(1)),
    "nll_loss": lambda: F.nll_loss(r(8, 10).log_softmax(1), i(10, 8)),
    "binary_cross_entropy": lambda: F.binary_cross_entropy(r(8).sigmoid(), torch.ones(8, device=DEVICE)),
    "binary_cross_entropy_with_logits": lambda: F.binary_cross_entropy_with_logits(r(8), torch.ones(8, device=DEVICE), pos_weight=torch.ones(8, device=DEVICE)),
    "mse_loss": lambda: F.mse_loss(r(8), r(8)),
    "l1_loss": lambda: F.l1_loss(r(8), r(8)),
    "smooth_l1_loss": lambda: F.smooth_l1_loss(r(8), r(8)),
    "huber_loss": lambda: F.huber_loss(r(8), r(8)),
    "kl_div": lambda: F.kl_div(r(8, 10).log_softmax(1), r(8, 10).softmax(1), reduction="batchmean"),
    "ctc_loss by cuDNN": lambda: F.ctc_loss(r(50, 4, 20).log_softmax(2), i(19, 40).int() + 1, torch.full((4,), 50, dtype=torch.int32, device=DEVICE), torch.full((4,), 10, dtype=torch.int32, device=DEVICE)),
    "ctc_loss": lambda: F.ctc_loss(r(50, 4, 20).log_softmax(2), i(19, 4, 10) + 1, torch.full((4,), 50), torch.full((4,), 10)),
    "cosine_embedding_loss": lambda: F.cosine_embedding_loss(r(8, 4), r(8, 4), torch.ones(8, device=DEVICE)),
    "triplet_margin_loss": lambda: F.triplet_margin_loss(r(8, 4), r(8, 4), r(8, 4)),
    "margin_ranking_loss": lambda: F.margin_ranking_loss(r(8), r(8), torch.ones(8, device=DEVICE)),
    "multi_margin_loss": lambda: F.multi_margin_loss(r(8, 10), i(10, 8)),
    "multilabel_margin_loss": lambda: F.multilabel_margin_loss(r(8, 10), i(10, 8, 10)),
    "multilabel_soft_margin_loss": lambda: F.multilabel_soft_margin_loss(r(8, 10), z(8, 10)),
    "poisson_nll_loss": lambda: F.poisson_nll_loss(r(8), r(8).abs()),
    "gaussian_nll_loss": lambda: F.gaussian_nll_loss(r(8), r(8), torch.ones(8, device=DEVICE)),
    "hinge_embedding_loss": lambda: F.hinge_embedding_loss(r(8), torch.ones(8, device=DEVICE)),
    # optimizers
    **{
        f"{kind.__name__}, {name}": (lambda kind=kind, more=more: step(kind, **more))
        for kind in (torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD)
        for name, more in {"foreach": {"foreach": True}, "fused": {"fused": True}, "for loop": {"foreach": False, "fused": False}}.items()
    },
    **{kind.__name__: (lambda kind=kind: step(kind)) for kind in (torch.optim.Adagrad, torch.optim.Adadelta, torch.optim.Adamax, torch.optim.NAdam,
       torch.optim.RAdam, torch.optim.RMSprop, torch.optim.Rprop, torch.optim.ASGD, torch.optim.Adafactor)},
    "AdamW, capturable": lambda: step(torch.optim.AdamW, capturable=True),
    "AdamW, amsgrad": lambda: step(torch.optim.AdamW, amsgrad=True),
    "SGD, momentum": lambda: step(torch.optim.SGD, momentum=0.9, nesterov=True),
    "Muon": lambda: torch.optim.Muon([nn.Parameter(z(8, 8))]).step(),
    "clip_grad_norm_": clip,
    "GradScaler": scaler,
    "averaged model": ema,
    # numbers out of nothing
    "randperm": lambda: torch.randperm(1000, device=DEVICE),
    "randperm of many": lambda: torch.randperm(1 << 20, device=DEVICE),
    "random numbers": lambda: [torch.rand(9, device=DEVICE), torch.randn(9, device=DEVICE), torch.randint(9, (9,), device=DEVICE), torch.normal(0.0, 1.0, (9,), device=DEVICE)],
    "random in place": lambda: written(lambda t: t.uniform_().normal_().exponential_().bernoulli_(0.5).log_normal_().cauchy_().geometric_(0.5).random_(9)),
    "bernoulli": lambda: torch.bernoulli(torch.rand(9, device=DEVICE)),
    "poisson": lambda: torch.poisson(torch.rand(9, device=DEVICE)),
    "binomial": lambda: torch.binomial(torch.ones(9, device=DEVICE), torch.rand(9, device=DEVICE)),
    "distributions": lambda: [torch.distributions.Categorical(logits=r(4, 10).detach(), validate_args=False).sample((3,)), torch.distributions.Normal(r(4).detach(), torch.ones(4, device=DEVICE), validate_args=False).rsample(), torch.distributions.Dirichlet(torch.ones(3, device=DEVICE), validate_args=False).sample(), torch.distributions.Gamma(torch.ones(3, device=DEVICE), torch.ones(3, device=DEVICE), validate_args=False).sample()],
    "arange, linspace, eye, full": lambda: [torch.arange(9, device=DEVICE), torch.linspace(0, 1, 9, device=DEVICE), torch.eye(9, device=DEVICE), torch.full((9,), 7.0, device=DEVICE), torch.logspace(0, 1, 9, device=DEVICE)],
    "initialisers": lambda: [f(z(16, 16)) for f in (nn.init.xavier_uniform_, nn.init.kaiming_normal_, nn.init.trunc_normal_, nn.init.normal_, nn.init.eye_)],
    "tensor from a list": lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=DEVICE),
    "hann_window": lambda: torch.hann_window(32, device=DEVICE),
    "generators and their state": random_state,
    # memory, streams, graphs
    "autocast, bfloat16": lambda: autocast(torch.bfloat16),
    "autocast, float16": lambda: autocast(torch.float16),
    "checkpoint": lambda: checkpoint(False),
    "checkpoint, reentrant": lambda: checkpoint(True),
    "saved on the host": offloaded,
    "pinned copies": pinned,
    "registered host memory": registered,
    "data loader with pinned memory": loader,
    "streams": streams,
    "events with times": events,
    "graph": lambda: graph(nn.Linear(32, 32), (4, 32)),
    "graphed callables": graphed_callables,
    "statistics": memory,
    "storage that is resized": resized,
    "save and load": saved,
    "state of a model to the host": lambda: {k: v.cpu() for k, v in module(nn.Linear(8, 8)).state_dict().items()},
    "nested tensors": nested,
    "profiler": profiled,
    "torch.compile": compiled,
    "sleep": lambda: torch.cuda._sleep(1000),
    "nvtx": lambda: (torch.cuda.nvtx.range_push("x"), torch.cuda.nvtx.range_pop()),
    "gradient of a gradient": lambda: (lambda x: torch.autograd.grad(torch.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum(), x))(r(9)),
    "vmap and grad": lambda: torch.func.vmap(torch.func.grad(lambda x: (x**2).sum()))(r(4, 9).detach()),
    "jacobian": lambda: torch.func.jacrev(lambda x: x**2)(r(9).detach()),
    "sparse gradients": lambda: F.embedding(i(100, 4), r(100, 8), sparse=True),
    "to_sparse": lambda: r(10, 10).detach().to_sparse(),
    "quantized per tensor": lambda: torch.fake_quantize_per_tensor_affine(r(9), 0.1, 0, -128, 127),
}

# What looks at numbers on the host, all of which are 0.
REFUSED: dict[str, Callable[[], object]] = {
    "eig": lambda: torch.linalg.eig(r(10, 10).detach()),
    "mode of a long row": lambda: i(9, 2, 5000).mode(1),
    "distribution with validated arguments": lambda: torch.distributions.Normal(r(4).detach(), torch.ones(4, device=DEVICE)),
}

NEWER: dict[str, tuple[int, int]] = {"repeat_interleave by counts": (2, 15)}
