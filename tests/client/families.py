"""Small models of many kinds, written here, with inputs and a loss. Needs PyTorch.

FAMILIES maps a name to a function that makes (module, inputs, dynamic): the module returns a scalar loss. Weights and inputs
depend on the seed alone.
"""
import functools

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class LlamaBlock(nn.Module):
    def __init__(self, dim, heads, kv_heads, hidden):
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, dim // heads
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, kv_heads * self.head, bias=False)
        self.v = nn.Linear(dim, kv_heads * self.head, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)
        self.gate, self.up = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)

    def rotate(self, x, cos, sin):
        a, b = x.split(self.head // 2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def attention(self, x, cos, sin):
        n, t, _ = x.shape
        q = self.rotate(self.q(x).view(n, t, self.heads, self.head), cos, sin).transpose(1, 2)
        k = self.rotate(self.k(x).view(n, t, self.kv_heads, self.head), cos, sin).transpose(1, 2)
        v = self.v(x).view(n, t, self.kv_heads, self.head).transpose(1, 2)
        k, v = (y.repeat_interleave(self.heads // self.kv_heads, 1) for y in (k, v))
        return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, t, -1))

    def forward(self, x, cos, sin):
        x = x + self.attention(self.norm1(x), cos, sin)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def save_matmuls_and_attention(_context, op, *_args, **_kwargs):
    saved = (torch.ops.aten.mm.default, torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default)
    return CheckpointPolicy.MUST_SAVE if op in saved else CheckpointPolicy.PREFER_RECOMPUTE


class Llama(nn.Module):
    """`checkpointing`: None, "full" or "selective"."""

    def __init__(self, layers=2, dim=64, heads=4, kv_heads=2, hidden=128, vocab=97, length=32, checkpointing=None):
        super().__init__()
        self.checkpointing = checkpointing
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(LlamaBlock(dim, heads, kv_heads, hidden) for _ in range(layers))
        self.norm, self.head = RMSNorm(dim), nn.Linear(dim, vocab, bias=False)
        half = dim // heads // 2
        angle = torch.arange(length)[:, None, None] * 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens, labels):
        x = self.embed(tokens)
        cos, sin = self.cos[:tokens.shape[1]], self.sin[:tokens.shape[1]]
        for block in self.blocks:
            if self.checkpointing is None:
                x = block(x, cos, sin)
            elif self.checkpointing == "full":
                x = checkpoint(block, x, cos, sin, use_reentrant=False)
            else:
                context = functools.partial(create_selective_checkpoint_contexts, save_matmuls_and_attention)
                x = checkpoint(block, x, cos, sin, use_reentrant=False, context_fn=context)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


class Transformer(nn.Module):
    """GPT-2 (causal, learned positions, pre-norm) or BERT (bidirectional, segments, post-norm)."""

    def __init__(self, causal, layers=2, dim=48, heads=4, vocab=89, length=16, dropout=0.1):
        super().__init__()
        self.causal, self.heads, self.p = causal, heads, dropout
        self.tokens, self.places, self.kinds = nn.Embedding(vocab, dim), nn.Embedding(length, dim), nn.Embedding(2, dim)
        self.attend = nn.ModuleList(nn.Linear(dim, 3 * dim) for _ in range(layers))
        self.project = nn.ModuleList(nn.Linear(dim, dim) for _ in range(layers))
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim))
                                 for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * layers + 1))

    def heads_of(self, x, layer):
        n, t, d = x.shape
        q, k, v = (y.view(n, t, self.heads, -1).transpose(1, 2) for y in self.attend[layer](x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5
        if self.causal:
            scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
        out = F.dropout(scores.softmax(-1), self.p, self.training) @ v
        return F.dropout(self.project[layer](out.transpose(1, 2).reshape(n, t, d)), self.p, self.training)

    def forward(self, ids, labels):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1])) + self.kinds(ids % 2)
        for i, mlp in enumerate(self.mlp):
            if self.causal:
                x = x + self.heads_of(self.norms[2 * i](x), i)
                x = x + mlp(self.norms[2 * i + 1](x))
            else:
                x = self.norms[2 * i](x + self.heads_of(x, i))
                x = self.norms[2 * i + 1](x + mlp(x))
        return F.cross_entropy((self.norms[-1](x) @ self.tokens.weight.t()).flatten(0, 1), labels.flatten())


class T5(nn.Module):
    """Encoder and decoder with relative position bias."""

    def __init__(self, dim=32, heads=4, vocab=61, length=12):
        super().__init__()
        self.heads, self.embed, self.bias = heads, nn.Embedding(vocab, dim), nn.Embedding(2 * length, heads)
        self.parts = nn.ModuleDict({name: nn.ModuleDict({x: nn.Linear(dim, dim, bias=False) for x in "qkvo"})
                                    for name in ("encoder", "decoder", "cross")})
        self.up, self.down = nn.Linear(dim, 64, bias=False), nn.Linear(64, dim, bias=False)
        self.norms = nn.ModuleList(RMSNorm(dim) for _ in range(6))
        self.length = length

    def attend(self, part, x, memory, bias=None):
        n = x.shape[0]
        part = self.parts[part]
        q, k, v = (part[w](y).view(n, y.shape[1], self.heads, -1).transpose(1, 2) for w, y in zip("qkv", (x, memory, memory)))
        scores = q @ k.transpose(-1, -2)
        return part["o"]((((scores if bias is None else scores + bias).softmax(-1)) @ v).transpose(1, 2).flatten(2))

    def positions(self, t):
        return self.bias(torch.arange(t)[:, None] - torch.arange(t)[None] + self.length).permute(2, 0, 1)[None]

    def forward(self, source, target):
        bias = self.positions(source.shape[1])
        x = self.embed(source)
        y = self.norms[0](x)
        x = x + self.attend("encoder", y, y, bias)
        memory = self.norms[1](x + self.down(F.relu(self.up(self.norms[2](x)))))
        z = self.embed(target)
        y = self.norms[3](z)
        mask = torch.full((target.shape[1],) * 2, float("-inf")).triu(1)
        z = z + self.attend("decoder", y, y, self.positions(target.shape[1]) + mask)
        z = z + self.attend("cross", self.norms[4](z), memory)
        return F.cross_entropy((self.norms[5](z) @ self.embed.weight.t()).flatten(0, 1), target.flatten())


class ViT(nn.Module):
    def __init__(self, dim=32, heads=4, layers=2):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 4, 4)
        self.cls, self.places = nn.Parameter(torch.randn(1, 1, dim)), nn.Parameter(torch.randn(1, 17, dim))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(dim, heads, 64, 0.0, "gelu", batch_first=True, norm_first=True)
                                    for _ in range(layers))
        self.head = nn.Linear(dim, 10)

    def forward(self, x, labels):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.places
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(x[:, 0]), labels)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.bn = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.convs = nn.ModuleList([nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.Conv2d(8, 8, 3, padding=1, bias=False),
                                    nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.Conv2d(16, 16, 3, padding=1, bias=False)])
        self.bns = nn.ModuleList(nn.BatchNorm2d(c) for c in (8, 8, 16, 16))
        self.down, self.head = nn.Conv2d(8, 16, 1, 2, bias=False), nn.Linear(16, 10)

    def forward(self, x, labels):
        x = F.max_pool2d(F.relu(self.bn(self.stem(x))), 2)
        for i in (0, 2):
            y = F.relu(self.bns[i](self.convs[i](x)))
            y = self.bns[i + 1](self.convs[i + 1](y))
            x = F.relu(y + (self.down(x) if i else x))
        return F.cross_entropy(self.head(x.mean((2, 3))), labels)


class MoE(nn.Module):
    def __init__(self, dim=32, experts=4, top=2):
        super().__init__()
        self.top, self.router = top, nn.Linear(dim, experts, bias=False)
        self.w1, self.w2 = nn.Parameter(torch.randn(experts, dim, 64) / 6), nn.Parameter(torch.randn(experts, 64, dim) / 8)
        self.head = nn.Linear(dim, 1)

    def forward(self, x, y):
        weights, chosen = self.router(x).softmax(-1).topk(self.top, -1)
        hidden = F.silu(torch.einsum("td,edf->tef", x, self.w1))
        every = torch.einsum("tef,efd->ted", hidden, self.w2)
        picked = every.gather(1, chosen[..., None].expand(-1, -1, x.shape[1]))
        return F.mse_loss(self.head((picked * (weights / weights.sum(-1, keepdim=True))[..., None]).sum(1)), y)


class LSTM(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(dim, dim), nn.Linear(dim, 1)

    def forward(self, x, y):
        h = c = x.new_zeros(x.shape[0], x.shape[2])
        for t in range(x.shape[1]):
            h, c = self.cell(x[:, t], (h, c))
        return F.mse_loss(self.head(h), y)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())

        self.down1, self.down2, self.middle = block(3, 8), block(8, 16), block(16, 16)
        self.up2, self.up1, self.out = block(32, 8), block(16, 8), nn.Conv2d(8, 1, 1)

    def forward(self, x, y):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        d = self.up2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        return F.mse_loss(self.out(self.up1(torch.cat([F.interpolate(d, scale_factor=2), a], 1))), y)


class Dropout(nn.Module):
    def __init__(self, checkpointed=False):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(24, 48), nn.Linear(48, 48), nn.Linear(48, 1)
        self.checkpointed = checkpointed

    def middle(self, x):
        x = F.dropout(F.gelu(self.a(x)), 0.4)
        return F.dropout(torch.tanh(self.b(x)), 0.3)

    def forward(self, x, y):
        x = checkpoint(self.middle, x, use_reentrant=False) if self.checkpointed else self.middle(x)
        return F.mse_loss(self.c(x), y)


class BatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.norm2, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.BatchNorm1d(8), nn.Linear(8, 4)

    def forward(self, x, labels):
        x = self.norm2(F.relu(self.norm(self.conv(x))).mean((2, 3)))
        return F.cross_entropy(self.head(x), labels)


class Mutating(nn.Module):
    """Writes to a buffer, returns views, uses an input twice."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(12, 12))
        self.register_buffer("seen", torch.zeros(12))

    def forward(self, x, y):
        h = torch.sin(x @ self.w)
        self.seen.mul_(0.9).add_(h.detach().mean(0), alpha=0.1)
        values, where = h.max(1)
        return F.mse_loss(values + h.cos().sum(1) * self.seen.sum(), y) + 0.0 * where.sum()


def _ids(*shape, high):
    return torch.randint(0, high, shape)


FAMILIES = {
    "llama": lambda: (Llama(), (_ids(2, 32, high=97), _ids(2, 32, high=97)), False),
    "llama_full_ac": lambda: (Llama(checkpointing="full"), (_ids(2, 32, high=97), _ids(2, 32, high=97)), False),
    "llama_sac": lambda: (Llama(checkpointing="selective"), (_ids(2, 32, high=97), _ids(2, 32, high=97)), False),
    "llama_dynamic": lambda: (Llama(), (_ids(3, 24, high=97), _ids(3, 24, high=97)), True),
    "gpt2": lambda: (Transformer(True), (_ids(2, 16, high=89), _ids(2, 16, high=89)), False),
    "bert": lambda: (Transformer(False), (_ids(2, 16, high=89), _ids(2, 16, high=89)), False),
    "t5": lambda: (T5(), (_ids(2, 12, high=61), _ids(2, 10, high=61)), False),
    "vit": lambda: (ViT(), (torch.randn(2, 3, 16, 16), _ids(2, high=10)), False),
    "resnet": lambda: (ResNet(), (torch.randn(2, 3, 16, 16), _ids(2, high=10)), False),
    "moe": lambda: (MoE(), (torch.randn(10, 32), torch.randn(10, 1)), False),
    "rnn": lambda: (LSTM(), (torch.randn(3, 6, 16), torch.randn(3, 1)), False),
    "unet": lambda: (UNet(), (torch.randn(2, 3, 16, 16), torch.randn(2, 1, 16, 16)), False),
    "dropout": lambda: (Dropout(), (torch.randn(8, 24), torch.randn(8, 1)), False),
    "dropout_ac": lambda: (Dropout(True), (torch.randn(8, 24), torch.randn(8, 1)), False),
    "batchnorm": lambda: (BatchNorm(), (torch.randn(4, 3, 8, 8), _ids(4, high=4)), False),
    "dynamic": lambda: (BatchNorm(), (torch.randn(5, 3, 9, 8), _ids(5, high=4)), True),
    "mutating": lambda: (Mutating(), (torch.randn(6, 12), torch.randn(6)), False),
}


def make(name, seed=0):
    """(module in training mode, inputs, dynamic)."""
    torch.manual_seed(seed)
    module, inputs, dynamic = FAMILIES[name]()
    return module.train(), inputs, dynamic
