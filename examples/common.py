"""What the examples share: training with PyTorch's own partitioner and with rematd's, and tables of the outcome."""
import dataclasses
import functools
import importlib
import operator
import time

import torch
import torch._dynamo
import torch._inductor.config
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition

import rematd


@dataclasses.dataclass
class Run:
    """One training run: losses, what its partitioner did, how long it took (seconds)."""

    losses: list
    partition_s: float = 0.0
    forward: torch.fx.GraphModule = None
    kinds: dict = dataclasses.field(default_factory=dict)


def arguments(parser, argv):
    parser.add_argument("--url", help="of the rematd (REMATD_URL, http://127.0.0.1:7433)")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--backend", choices=("aot_eager", "inductor"), default="aot_eager",
                        help="aot_eager partitions but compiles nothing, so it needs no C++ compiler")
    return parser.parse_args(argv)


def partitioner(args, **more):
    return rematd.Partitioner(args.url, strict=True, **more)


class Timed:
    """A partition_fn that notes how long it took and what the joint graph's nodes are."""

    def __init__(self, inner, run):
        self.inner, self.run = inner, run

    def __call__(self, gm, joint_inputs, **kwargs):
        self.run.kinds = {node.name: kind_of(node) for node in gm.graph.nodes}
        start = time.perf_counter()
        made = self.inner(gm, joint_inputs, **kwargs)
        self.run.partition_s += time.perf_counter() - start
        self.run.forward = made[0]
        return made


def kind_of(node):
    """What a table calls a value: an input, or its operator; a result of several by the operator it came from."""
    if node.op == "placeholder":
        return "inputs (weights, tokens, labels)"
    if node.target is operator.getitem:
        return f"{node.args[0].target}, one of its results"
    return str(node.target)


def train(make, batches, args, inner):
    """Trains a fresh model through torch.compile with a partitioner."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, run = make(), Run([])
    timed = Timed(inner, run)
    if args.backend == "inductor" and isinstance(inner, rematd.Partitioner):
        with torch._inductor.config.patch(custom_partitioner_fn=inner):
            steps(torch.compile(model), model, batches, run)
        return run
    if args.backend == "inductor":
        steps(torch.compile(model), model, batches, run)
        return run

    def compile_nothing(gm, _inputs):
        return make_boxed_func(gm.forward)

    backend = aot_autograd(fw_compiler=compile_nothing, bw_compiler=compile_nothing, partition_fn=timed,
                           decompositions=lambda: importlib.import_module("torch._inductor.compile_fx").select_decomp_table())
    steps(torch.compile(model, backend=backend), model, batches, run)
    return run


def steps(compiled, model, batches, run):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs in batches:
        loss = compiled(*inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        run.losses.append(loss.item())


def train_both(make, batches, args, ours):
    own = functools.partial(min_cut_rematerialization_partition, compiler="inductor")
    return train(make, batches, args, own), train(make, batches, args, ours)


def print_losses(own, ours):
    print("step  PyTorch's partition  rematd's")
    for step, (a, b) in enumerate(zip(own.losses, ours.losses, strict=True), start=1):
        print(f"{step:4}  {a:19.6f}  {b:8.6f}{'' if a == b else '   differs'}")
    if ours.partition_s:
        print(f"\npartitioning: {own.partition_s * 1e3:.0f} ms by PyTorch, {ours.partition_s * 1e3:.0f} ms with rematd")


def saved_kinds(plan, kinds):
    """How many saved values of each kind: inputs, and operators by name."""
    counts = {}
    for name in plan["saved"] + plan["saved_sym"]:
        kind = kinds.get(name, "values")
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def print_saved(ours, run):
    """The table of what the forward saves for the backward."""
    plan = ours.last_plan
    if plan is None:
        print("the compiled program came from PyTorch's cache, no decision was made")
        return
    print(f"\nThe forward saves {len(plan['saved'])} values and the backward computes {len(plan['recomputed'])} operators again:")
    for kind, n in sorted(saved_kinds(plan, run.kinds).items(), key=lambda item: (-item[1], item[0])):
        print(f"{n:6}  {kind}")
    memory = plan.get("memory", {})
    for field, words in (("saved_bytes", "saved for the backward"),
                         ("static_bytes", "of these are weights and buffers, there anyway"),
                         ("peak_forward_bytes", "of activations at the peak of the forward"),
                         ("peak_backward_bytes", "of activations at the peak of the backward")):
        if field in memory:
            print(f"{memory[field] / 1024:12.1f} KiB {words}")
    print(f"the decision: {ours.last_export_s * 1e3:.1f} ms to write the graph down, {ours.last_ask_s * 1e3:.1f} ms to ask")
