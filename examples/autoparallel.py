#!/usr/bin/env python3
"""AutoParallel's way: a joint graph without any tag, and a pass that the service applies.

    python examples/autoparallel.py [--url URL] [--steps 5] [--layers 2] [--stage-gib 0.0005] [--budget 1.0]

The model knows nothing of checkpointing. The pass breaks the step into stages, saves what is alive at the cheapest point of each,
every other matrix product and attention, and has everything else computed again; no code in the trainer does.
"""
import argparse
import functools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "proto", "python"))

import common
from llama3_sac import Llama, batch


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stage-gib", type=float, default=0.0005, help="size of a stage, in GiB")
    parser.add_argument("--budget", type=float, default=1.0, help="activation memory budget, 0 to 1")
    args = common.arguments(parser, argv)
    make = functools.partial(Llama, layers=args.layers, selective=False)
    plain = common.partitioner(args)
    staged = common.partitioner(args, passes=[{"pass": "autoparallel", "stage_size_gib": args.stage_gib}],
                                options={"activation_memory_budget": args.budget})
    batches = batch(args.steps)
    without, untagged = common.train_both(make, batches, args, plain)
    run = common.train(make, batches, args, staged)
    common.print_losses(without, run)
    print("\nWithout the pass:")
    common.print_saved(plain, untagged)
    print("\nWith it:")
    common.print_saved(staged, run)
    close = all(abs(a - b) < 1e-3 for a, b in zip(without.losses, run.losses, strict=True))
    return 0 if close else 1


if __name__ == "__main__":
    sys.exit(main())
