#!/usr/bin/env python3
"""The fault that started it all, and its repair.

    python examples/getitem_fault.py [--url URL]

A pass tags attention must_save and everything else for recomputation. Attention returns several tensors, so what can be saved
are the getitems that read them, and those it tagged for recomputation: the backward needs a value that can be neither saved nor
computed again. PyTorch calls that a bug in PyTorch. rematd names the nodes and the remedy, and repairs it when asked to.
"""
import argparse
import functools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "proto", "python"))

import common
import rematd
from llama3_sac import Llama, batch
from torch.utils.checkpoint import CheckpointPolicy


def tag_naively(gm):
    """Every operator by itself, getitem included: the mistake."""
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.meta.get("partitioner_tag") == "is_forward":
            is_saved = "scaled_dot_product" in str(node.target) or "aten.mm." in str(node.target)
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE if is_saved else CheckpointPolicy.PREFER_RECOMPUTE
            node.meta["ac_graph_id"] = 1


def main(argv=None):
    args = common.arguments(argparse.ArgumentParser(description=__doc__.partition("\n")[0]), argv)
    args.backend = "aot_eager"
    make, batches = functools.partial(Llama, layers=args.layers, selective=False), batch(args.steps)
    own = common.train_both(make, batches, args, common.partitioner(args))[0]

    def tagged(ours):
        def partition(gm, joint_inputs, **kwargs):
            tag_naively(gm)
            return ours(gm, joint_inputs, **kwargs)
        return partition

    print("As it is:\n")
    try:
        common.train(make, batches, args, tagged(common.partitioner(args)))
    except Exception as error:  # noqa: BLE001 - torch.compile wraps what a backend raises
        explained = str(error)
        if "can be neither saved nor computed again" not in explained:
            raise
        print(explained.partition("\n\nSet TORCHDYNAMO_VERBOSE")[0])
    else:
        print("no conflict, which was not expected")
        return 1
    print("\nRepaired:\n")
    ours = common.partitioner(args, on_conflict="repair")
    run = common.train(make, batches, args, tagged(ours))
    common.print_losses(own, run)
    common.print_saved(ours, run)
    print(f"repaired graphs: {rematd.counters.snapshot()['repaired']}")
    close = all(abs(a - b) < 1e-3 for a, b in zip(own.losses, run.losses, strict=True))
    return 0 if close else 1


if __name__ == "__main__":
    sys.exit(main())
