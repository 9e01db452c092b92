"""A transformer-like model that is drawn: random_model.py SEED. Each seed is another program."""
import argparse
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("seed", type=int)
parser.add_argument("--show", action="store_true", help="says what was drawn, and ends")
options = parser.parse_args()
draw = random.Random(options.seed)
KIND = draw.choice(["decoder", "encoder-decoder"])
DEPTH, WIDTH, HEADS = draw.randint(3, 10), 64 * draw.randint(4, 16), draw.choice([4, 8])
LENGTH, BATCH, WORDS = 32 * draw.randint(8, 24), draw.randint(2, 8), 1000 * draw.randint(2, 16)
FEED, DTYPE = draw.choice([2, 4]), draw.choice([None, torch.bfloat16])
TRAITS = {name: draw.random() < share for name, share in (
    ("tied", 0.5), ("shared attention", 0.3), ("shared feed", 0.3), ("mask", 0.5), ("rotary", 0.5), ("losses", 0.4), ("tuples", 0.4), ("a block twice", 0.3), ("frozen", 0.3),
    ("norm behind", 0.4), ("state", 0.4), ("skips", 0.3), ("dropout", 0.5), ("experts", 0.3), 
)}  # fmt: skip
if options.show:
    print(f"{KIND}, {DEPTH} blocks of {WIDTH}, {BATCH} x {LENGTH} words of {WORDS}, {DTYPE or 'autocast'}: " + ", ".join(name for name, has in TRAITS.items() if has))
    raise SystemExit


class State:
    """What all blocks are handed, and write into: no tensor."""

    def __init__(self):
        self.seen = {}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inward, self.outward = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, memory, mask, tables, state, number):
        own = self.inward(x)
        query, key, value = own.chunk(3, -1)
        if memory is not None:
            key, value = self.inward(memory)[..., WIDTH:].chunk(2, -1)
        query, key, value = (one.unflatten(-1, (HEADS, -1)).transpose(1, 2) for one in (query, key, value))
        if tables is not None and memory is None:
            query, key = (one * tables[0] + one.roll(1, -1) * tables[1] for one in (query, key))
        if state is not None:
            state.seen[number] = key, value
        out = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None)
        return self.outward(out.transpose(1, 2).flatten(2))


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        experts = 4 if TRAITS["experts"] else 1
        self.router = nn.Linear(WIDTH, experts) if experts > 1 else None
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, FEED * WIDTH), nn.GELU(), nn.Linear(FEED * WIDTH, WIDTH)) for _ in range(experts))

    def forward(self, x, losses):
        if self.router is None:
            return self.experts[0](x)
        weights = self.router(x).softmax(-1)
        if losses is not None:
            losses.append(weights.mean(1).square().sum())
        return sum(weights[..., number, None] * expert(x) for number, expert in enumerate(self.experts))


class Block(nn.Module):
    def __init__(self, number, attention=None, feed=None, crosses=False):
        super().__init__()
        self.number = number
        self.attention, self.feed = attention or Attention(), feed or Feed()
        self.cross = Attention() if crosses else None
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.drop = nn.Dropout(0.1 if TRAITS["dropout"] else 0.0)

    def forward(self, x, memory=None, mask=None, tables=None, losses=None, state=None, skips=None):
        if TRAITS["norm behind"]:
            x = self.norms[0](x + self.drop(self.attention(x, None, mask, tables, state, self.number)))
            x = self.norms[1](x + self.drop(self.cross(x, memory, None, tables, None, 0))) if self.cross is not None else x
            x = self.norms[2](x + self.drop(self.feed(x, losses)))
        else:
            x = x + self.drop(self.attention(self.norms[0](x), None, mask, tables, state, self.number))
            x = x + self.drop(self.cross(self.norms[1](x), memory, None, tables, None, 0)) if self.cross is not None else x
            x = x + self.drop(self.feed(self.norms[2](x), losses))
        if skips is not None:
            x = x + skips[len(skips) // 2] if skips else x
            skips.append(x)
        return (x, x.square().mean()) if TRAITS["tuples"] else x


def blocks(crosses=False):
    attention = Attention() if TRAITS["shared attention"] else None
    feed = Feed() if TRAITS["shared feed"] else None
    return nn.ModuleList(Block(number, attention, feed, crosses) for number in range(DEPTH))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        if TRAITS["tied"]:
            self.head.weight = self.words.weight
        self.encoder = blocks() if KIND == "encoder-decoder" else None
        self.decoder = blocks(KIND == "encoder-decoder")
        if TRAITS["frozen"]:
            for parameter in [*self.words.parameters(), *(p for block in (self.encoder or self.decoder)[: DEPTH // 2] for p in block.parameters())]:
                parameter.requires_grad_(False)

    def run(self, stack, x, memory, mask):
        tables = torch.rand(2, LENGTH, WIDTH // HEADS, device=x.device, dtype=x.dtype) if TRAITS["rotary"] else None
        losses = [] if TRAITS["losses"] else None
        state = State() if TRAITS["state"] else None
        skips = [] if TRAITS["skips"] else None
        order = list(stack)
        if TRAITS["a block twice"]:
            order.insert(DEPTH // 2 + 1, stack[DEPTH // 2])
        more = []
        for block in order:
            x = block(x, memory=memory, mask=mask, tables=tables, losses=losses, state=state, skips=skips)
            if TRAITS["tuples"]:
                x, extra = x
                more.append(extra)
        return x, sum(more + (losses or []))

    def forward(self, ids):
        mask = torch.ones(LENGTH, LENGTH, device=ids.device, dtype=torch.bool).tril() if TRAITS["mask"] else None
        x, memory, more = self.words(ids), None, 0.0
        if self.encoder is not None:
            memory, more = self.run(self.encoder, x, None, mask)
        x, extra = self.run(self.decoder, x, memory, mask)
        logits = self.head(x)
        return nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids.flatten()) + 0.01 * (more + extra)


model = Model().to("cuda", DTYPE or torch.float32)
optimizer = torch.optim.AdamW([parameter for parameter in model.parameters() if parameter.requires_grad], lr=1e-4)
for step in range(20):
    ids = torch.randint(0, WORDS, (BATCH, LENGTH), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=DTYPE is None):
        loss = model(ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
