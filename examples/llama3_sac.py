#!/usr/bin/env python3
"""A Llama-3-style model with selective checkpointing, trained on the CPU with PyTorch's own partition and with rematd's.

    python examples/llama3_sac.py [--url http://127.0.0.1:7433] [--steps 5] [--layers 2] [--backend inductor]

Every block is checkpointed: results of matrix products and of attention must be saved, everything else is computed again. It
prints the losses of both runs, which are the same, the values that the forward saves and why, memory, and the time of the
decision. Needs PyTorch 2.13, the package in proto/python, and a rematd.
"""
import argparse
import functools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "proto", "python"))

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

import common

MUST_SAVE = (torch.ops.aten.mm.default, torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
             torch.ops.aten._scaled_dot_product_flash_attention.default, torch.ops.aten._scaled_dot_product_efficient_attention.default)


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x)


def rotate(x, cos, sin):
    """Rotary embedding of the halves of each head."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Block(nn.Module):
    def __init__(self, dim, heads, kv_heads, hidden):
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, dim // heads
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)
        self.wq, self.wo = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, kv_heads * self.head, bias=False)
        self.wv = nn.Linear(dim, kv_heads * self.head, bias=False)
        self.w1, self.w3 = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)

    def forward(self, x, cos, sin):
        n, t, dim = x.shape
        y = self.norm1(x)
        q = rotate(self.wq(y).view(n, t, self.heads, self.head), cos, sin).transpose(1, 2)
        k = rotate(self.wk(y).view(n, t, self.kv_heads, self.head), cos, sin).transpose(1, 2)
        v = self.wv(y).view(n, t, self.kv_heads, self.head).transpose(1, 2)
        k, v = (z.repeat_interleave(self.heads // self.kv_heads, 1) for z in (k, v))
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(attention.transpose(1, 2).reshape(n, t, dim))
        y = self.norm2(x)
        return x + self.w2(F.silu(self.w1(y)) * self.w3(y))


def policy(_context, op, *_args, **_kwargs):
    return CheckpointPolicy.MUST_SAVE if op in MUST_SAVE else CheckpointPolicy.PREFER_RECOMPUTE


class Llama(nn.Module):
    """`selective` checkpoints every block by the policy above."""

    def __init__(self, layers=2, dim=128, heads=8, kv_heads=4, hidden=352, vocab=512, length=64, selective=True):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Block(dim, heads, kv_heads, hidden) for _ in range(layers))
        self.norm, self.output = RMSNorm(dim), nn.Linear(dim, vocab, bias=False)
        self.selective = selective
        half = dim // heads // 2
        angles = torch.arange(length)[:, None, None] * 500000.0 ** (-torch.arange(half) / half)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, tokens, labels):
        x = self.embeddings(tokens)
        for layer in self.layers:
            if self.selective:
                contexts = functools.partial(create_selective_checkpoint_contexts, policy)
                x = checkpoint(layer, x, self.cos, self.sin, use_reentrant=False, context_fn=contexts)
            else:
                x = layer(x, self.cos, self.sin)
        return F.cross_entropy(self.output(self.norm(x)).flatten(0, 1), labels.flatten())


def batch(steps, vocab=512, length=64):
    generator = torch.Generator().manual_seed(1)
    return [(torch.randint(0, vocab, (2, length), generator=generator), torch.randint(0, vocab, (2, length), generator=generator))
            for _ in range(steps)]


def main(argv=None):
    args = common.arguments(argparse.ArgumentParser(description=__doc__.partition("\n")[0]), argv)
    make = functools.partial(Llama, layers=args.layers)
    partitioner = common.partitioner(args)
    own, ours = common.train_both(make, batch(args.steps), args, partitioner)
    common.print_losses(own, ours)
    common.print_saved(partitioner, ours)
    return 0 if own.losses == ours.losses else 1


if __name__ == "__main__":
    sys.exit(main())
