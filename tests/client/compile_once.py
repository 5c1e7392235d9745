"""One process of the cache tests: compiles a small model with Inductor and its caches on, and says what happened as JSON.

    compile_once.py URL [KEY=JSON…]   more arguments of the partitioner
"""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "proto", "python"))

import torch
import torch._inductor.config
import torch.nn.functional as F
from torch._dynamo.utils import counters as torch_counters

import rematd


def main():
    settings = {"connect_timeout_s": 60.0, "timeout_s": 120.0, "retries": 0}
    settings.update((key, json.loads(value)) for key, value in (pair.split("=", 1) for pair in sys.argv[2:]))
    ours = rematd.Partitioner(sys.argv[1], **settings)
    torch._inductor.config.custom_partitioner_fn = ours
    torch.manual_seed(0)
    w = torch.randn(8, 8, requires_grad=True)
    x = torch.randn(4, 8)

    @torch.compile(fullgraph=True)
    def step(x, w):
        return F.gelu(torch.sin(x @ w)).exp().sum()

    step(x, w).backward()
    got = w.grad.clone()
    w.grad = None
    F.gelu(torch.sin(x @ w)).exp().sum().backward()
    caches = torch_counters["aot_autograd"]
    print(json.dumps({
        "right": torch.allclose(got, w.grad, rtol=1e-4, atol=1e-5), "uuid": ours.uuid(), "counters": rematd.counters.snapshot(),
        "hit": caches["autograd_cache_hit"], "miss": caches["autograd_cache_miss"], "saved": caches["autograd_cache_saved"],
        "bypass": caches["autograd_cache_bypass"]}))


if __name__ == "__main__":
    main()
