"""One rank of a gloo job: trains a small model through partitioners of several kinds and prints what was saved, as JSON.

    one_rank.py URL RANK WORLD_SIZE STORE

"alone": every rank asks alone; "group": all ask as one; "apart": likewise, but rank 2 trains another program.
"""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "proto", "python"), os.path.join(ROOT, "tests", "support")]

import torch
import torch._dynamo
import torch.distributed as dist
import torch.nn.functional as F

import rematd
import training


def train(ours, rank, other=None):
    torch.manual_seed(0)
    torch._dynamo.reset()
    rematd.counters.clear()
    w = torch.randn(8, 8, requires_grad=True)
    x = torch.randn(4, 8)

    def renamed(gm, joint_inputs, **kwargs):
        """One rank's values have other names, as when its program was traced a little differently."""
        if rank == 1:
            for node in gm.graph.nodes:
                if node.op == "call_function":
                    node._rename("other_" + node.name)
        made = ours(gm, joint_inputs, **kwargs)
        order = [node.name for node in gm.graph.nodes]
        renamed.saved = [order.index(name) for name in ours.last_plan["saved"]]
        return made

    def step(x, w):
        y = F.gelu(torch.sin(x @ w)).exp()
        if rank == other:
            y = y.cos()
        return y.sum()

    torch.compile(step, backend=training.backend(renamed), fullgraph=True)(x, w).backward()
    gradient = w.grad.clone()
    w.grad = None
    step(x, w).backward()
    right = torch.allclose(gradient, w.grad, rtol=1e-4, atol=1e-5)
    dist.all_reduce(gradient)
    return {"saved": renamed.saved, "right": right, "gradient": gradient.sum().item(), "names": ours.last_plan["saved"],
            "group": ours.last_plan.get("group"), "counters": rematd.counters.snapshot()}


def main():
    url, rank, world, store = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    patient = {"connect_timeout_s": 60.0, "timeout_s": 120.0}
    print(json.dumps({
        "alone": train(rematd.Partitioner(url, strict=True, **patient), rank),
        "group": train(rematd.Partitioner(url, strict=True, group="job-1", **patient), rank),
        "apart": train(rematd.Partitioner(url, group="job-2", **patient), rank, other=2)}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
