"""The program of the recording train_gpt_12x768: forward and backward in fp32 by einsum, one iteration of it, gradients there from before. Written after its sizes and frames."""

import math

import torch
from torch import nn

LAYERS, WIDTH, HEADS, FEED, VOCABULARY, BATCH, TOKENS = 12, 768, 12, 3072, 10000, 32, 256


class Linear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(WIDTH))

    def forward(self, x):
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * x


class Rotation(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.empty(2, TOKENS, WIDTH // HEADS // 2))

    def forward(self, x):
        pairs = x.unflatten(-1, (-1, 2))
        even, odd = pairs[..., 0], pairs[..., 1]
        cos, sin = self.table
        first = cos * even - sin * odd
        second = sin * even + cos * odd
        return torch.stack((first, second), dim=-1).flatten(-2)


def softmax(x):
    shifted = x - torch.max(x, dim=-1, keepdim=True)[0]
    powers = torch.exp(shifted)
    return powers / torch.sum(powers, dim=-1, keepdim=True)


def attention(query, key, value, mask):
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(query.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = softmax(scores)
    return torch.einsum("...qk,...kd->...qd", weights, value)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (Linear(WIDTH, WIDTH) for _ in range(4))
        self.rotate = Rotation()

    def forward(self, x):
        batch, tokens, width = x.shape
        query, key, value = self.query(x), self.key(x), self.value(x)
        query, key, value = (part.view(batch, tokens, HEADS, -1).transpose(1, 2) for part in (query, key, value))
        query = self.rotate(query)
        key = self.rotate(key)
        places = torch.arange(tokens, device=x.device)
        mask = places.view(1, 1, tokens, 1) >= places.view(1, 1, 1, tokens)
        mixed = attention(query, key, value, mask)
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, width)
        return self.output(mixed)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = Norm(), Norm(), Attention()
        self.gate, self.down, self.up = Linear(WIDTH, FEED), Linear(FEED, WIDTH), Linear(WIDTH, FEED)

    def feed(self, x):
        gate = self.gate(x)
        return self.down(gate * torch.sigmoid(gate) * self.up(x))

    def forward(self, x):
        mixed = self.attention(self.norm1(x))
        middle = x + mixed
        fed = self.feed(self.norm2(middle))
        return middle + fed


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(VOCABULARY, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = Norm(), Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embedding[ids]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def log_softmax(x):
    x = x - torch.max(x, dim=-1, keepdim=True)[0]
    return x - torch.log(torch.sum(torch.exp(x), dim=-1, keepdim=True))


def loss_of(logits, targets):
    negative = -log_softmax(logits)
    return torch.mean(torch.gather(negative, -1, targets.unsqueeze(-1)))


class Steps(torch.optim.Optimizer):
    """Nothing but the mark of an iteration's end."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self, closure=None):
        pass


def main():
    model = Transformer().to("cuda")
    ids = torch.zeros(BATCH, TOKENS, dtype=torch.int64).to("cuda")
    end = Steps(model.parameters())
    for _ in range(4):
        logits = model(ids)
        loss = loss_of(logits, ids)
        loss.backward()
        end.step()


if __name__ == "__main__":
    main()
