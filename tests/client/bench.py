#!/usr/bin/python3
"""`make bench-client`: what a decision through the Python client costs beside PyTorch's own, on the same joint graphs.

Models of real size are traced on fake tensors, so that no memory is needed. Each graph is partitioned by PyTorch alone and
through a daemon on this machine in turns; medians. PyTorch's decision is what the plan replaces in its partitioner: which
node is whose, weights, the network, the cut. What both do besides (cleaning, merging, making two graphs) is in neither.
"""
import argparse
import contextlib
import copy
import os
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "proto", "python"), os.path.join(TOP, "tests", "support")]

import torch
from torch._functorch import partitioners
from torch._functorch.aot_autograd import aot_function
from torch._subclasses.fake_tensor import FakeTensorMode

import families
import rematd
from rematd import decision, partitioner

REMATD = os.path.join(TOP, "build", "rematd")
LLAMA_8B = {"dim": 4096, "heads": 32, "kv_heads": 8, "hidden": 14336, "vocab": 128256, "length": 2048}
GRAPHS = {
    "llama_8b_8l": lambda: families.Llama(layers=8, **LLAMA_8B),
    "llama_8b_8l_sac": lambda: families.Llama(layers=8, checkpointing="selective", **LLAMA_8B),
    "llama_8b_32l": lambda: families.Llama(layers=32, **LLAMA_8B),
}


HEAD = ("| graph | nodes | PyTorch's partitioner | its decision | our export | our request | mapping back | our decision "
        "| export / partitioner | our decision / partitioner | our decision / its decision |\n" + "|---" * 11 + "|")


class Traced(Exception):
    """Ends a compilation at the joint graph."""


def trace(make):
    """The joint graph of a model on fake tensors, and what AOTAutograd passes with it to a partitioner."""
    found = []

    def keep(gm, joint_inputs, **kwargs):
        found.append((gm, joint_inputs, kwargs))
        raise Traced

    with FakeTensorMode(allow_non_fake_inputs=True):
        module = make()
        tokens = torch.zeros(1, LLAMA_8B["length"], dtype=torch.int64)
        weights = {**dict(module.named_parameters()), **dict(module.named_buffers())}

        def step(weights, *inputs):
            return torch.func.functional_call(module, weights, inputs)

        with contextlib.suppress(Traced):
            aot_function(step, fw_compiler=None, partition_fn=keep, num_params_buffers=len(weights))(weights, tokens, tokens)
    return found[0]


class Meter:
    """Processor time of this process and of the daemon, which works while this one waits."""

    def __init__(self, daemon_pid):
        self.tasks = f"/proc/{daemon_pid}/task"

    def now(self):
        total = time.process_time_ns()
        for task in os.listdir(self.tasks):
            with open(f"{self.tasks}/{task}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e6


class Stopwatch:
    """Adds up, in ms, what named functions of a module or class take."""

    def __init__(self, clock):
        self.clock, self.took, self.undo = clock, {}, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for owner, name, function in reversed(self.undo):
            setattr(owner, name, function)

    def watch(self, owner, name):
        function = getattr(owner, name)

        def timed(*args, **kwargs):
            start = self.clock()
            try:
                return function(*args, **kwargs)
            finally:
                self.took[name] = self.took.get(name, 0.0) + self.clock() - start

        setattr(owner, name, timed)
        self.undo.append((owner, name, function))


def run_own(traced, clock):
    gm, inputs, kwargs = copy.deepcopy(traced[0]), traced[1], traced[2]
    with Stopwatch(clock) as watch:
        watch.watch(partitioners, "choose_saved_values_set")
        watch.watch(partitioners, "min_cut_rematerialization_partition")
        partitioners.min_cut_rematerialization_partition(gm, inputs, compiler="inductor", **kwargs)
    return {"whole": watch.took["min_cut_rematerialization_partition"], "decision": watch.took["choose_saved_values_set"]}


def run_ours(traced, clock, ours):
    gm, inputs, kwargs = copy.deepcopy(traced[0]), traced[1], traced[2]
    with Stopwatch(clock) as watch:
        for owner, name in ((decision.Session, "ask"), (decision.Session, "chosen"), (decision.Session, "check"),
                            (partitioner, "export_graph"), (rematd.Client, "plan")):
            watch.watch(owner, name)
        start = clock()
        ours(gm, inputs, **kwargs)
        whole = clock() - start
    took = watch.took
    total = took["ask"] + took["chosen"] + took["check"]
    return {"whole": whole, "export": took["export_graph"], "http": took["plan"], "decision": total,
            "back": total - took["export_graph"] - took["plan"]}


def measure(name, traced, clock, url, runs):
    own, ours = [], []
    for _ in range(runs):
        # Another option each time: the service decides anew and does not answer from its cache.
        client = rematd.Partitioner(url, strict=True, connect_timeout_s=60.0, timeout_s=600.0,
                                    options={"max_dist_from_bw": 1000 + measure.n_asked})
        measure.n_asked += 1
        ours.append(run_ours(traced, clock, client))
        own.append(run_own(traced, clock))

    def median(dicts, key):
        return statistics.median(one[key] for one in dicts)

    times = [f"{median(own, 'whole'):,.0f}", f"{median(own, 'decision'):,.0f}",
             *(f"{median(ours, key):,.1f}" for key in ("export", "http", "back", "decision"))]
    ratios = [median(own, theirs) / median(ours, part)
              for theirs, part in (("whole", "export"), ("whole", "decision"), ("decision", "decision"))]
    print("| " + " | ".join([name, f"{len(traced[0].graph.nodes):,}", *times, *(f"1/{ratio:.0f}" for ratio in ratios)]) + " |",
          flush=True)


measure.n_asked = 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS))
    args = parser.parse_args()
    torch.set_num_threads(1)
    daemon = subprocess.Popen([REMATD, "--listen", "127.0.0.1:0", "--data", ":memory:"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    try:
        url = daemon.stdout.readline().strip().rsplit(" ", 1)[1]
        traced = {name: trace(GRAPHS[name]) for name in args.graphs}
        for words, clock in (("processor time, client and daemon together", Meter(daemon.pid).now),
                             ("wall-clock time, which other work on the machine lengthens", lambda: time.perf_counter() * 1e3)):
            print(f"\nOne decision in ms by PyTorch {torch.__version__} and through the client; {words}:\n\n{HEAD}")
            for name in args.graphs:
                measure(name, traced[name], clock, url, args.runs)
    finally:
        daemon.terminate()
        daemon.wait(60)


if __name__ == "__main__":
    main()
