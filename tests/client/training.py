"""Trains models through torch.compile with a partitioner of choice and keeps what it made. Needs PyTorch."""
import contextlib
import copy
import functools
import importlib

import torch
import torch._dynamo
import torch._dynamo.pgo
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import aot_module, make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition

OWN = functools.partial(min_cut_rematerialization_partition, compiler="inductor")


class Recorder:
    """A partition_fn that keeps the code of both graphs and the joint graph of each call."""

    def __init__(self, partitioner, keep_joint=False):
        self.partitioner, self.keep_joint = partitioner, keep_joint
        self.codes, self.joints = [], []

    def __call__(self, gm, joint_inputs, **kwargs):
        if self.keep_joint:
            self.joints.append((copy.deepcopy(gm), kwargs))
        made = self.partitioner(gm, joint_inputs, **kwargs)
        self.codes.append(tuple(module.code for module in made))
        return made


def backend(partition_fn, **more):
    """aot_eager with Inductor's decompositions: no C++ is compiled. `more` are arguments of aot_autograd."""
    return aot_autograd(fw_compiler=_nop, bw_compiler=_nop, partition_fn=partition_fn,
                        decompositions=lambda: importlib.import_module("torch._inductor.compile_fx").select_decomp_table(), **more)


def plain_backend(partition_fn):
    """aot_eager: the operators as autograd sees them, those with several results among them."""
    return aot_autograd(fw_compiler=_nop, bw_compiler=_nop, partition_fn=partition_fn)


def _nop(gm, _inputs):
    return make_boxed_func(gm.forward)


def train_without_dynamo(module, inputs, partition_fn):
    """As train(), for what Dynamo does not read; gradients only."""
    module = copy.deepcopy(module)
    aot_module(module, fw_compiler=_nop, bw_compiler=_nop, partition_fn=partition_fn)(*inputs).backward()
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


def train(module, inputs, compiled=None, steps=1, dynamic=False, seed=7, around_backward=contextlib.nullcontext):
    """Losses, and gradients by name after the last step; plain gradient steps between. The module is copied first."""
    module = copy.deepcopy(module)
    torch._dynamo.reset()
    torch._dynamo.pgo.reset_code_state()  # which sizes varied before
    run = module if compiled is None else torch.compile(module, backend=compiled, dynamic=dynamic or None, fullgraph=True)
    losses = []
    torch.manual_seed(seed)
    for step in range(steps):
        module.zero_grad()
        loss = run(*inputs)
        with around_backward():
            loss.backward()
        losses.append(loss.detach())
        if step < steps - 1:
            with torch.no_grad():
                for parameter in module.parameters():
                    if parameter.grad is not None:
                        parameter -= 0.05 * parameter.grad
    grads = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    grads.update({"buffer " + name: b.clone() for name, b in module.named_buffers()})
    return losses, grads


def equal(a, b):
    """Bit for bit."""
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def far(a, b):
    """Names of values that differ by more than rounding."""
    return [k for k in a if not torch.allclose(a[k], b[k], rtol=2e-4, atol=2e-5)]


class Both:
    """A partition_fn that partitions the same joint graph twice, by PyTorch alone and by `partitioner`, and keeps what both made.

    `texts` are the joint graphs as PyTorch prints them, `kwargs` what AOTAutograd passed.
    """

    def __init__(self, partitioner):
        self.partitioner = partitioner
        self.own, self.ours, self.texts, self.kwargs, self.graphs, self.plans = [], [], [], [], [], []

    def __call__(self, gm, joint_inputs, **kwargs):
        self.texts.append(gm.print_readable(print_output=False, include_stride=True, include_device=True))
        self.kwargs.append(kwargs)
        self.own.append(code_of(OWN(copy.deepcopy(gm), joint_inputs, **kwargs)))
        made = self.partitioner(gm, joint_inputs, **kwargs)
        self.ours.append(code_of(made))
        self.plans.append(self.partitioner.last_plan)  # None when PyTorch decided
        return made


def code_of(modules):
    """The text of a forward and a backward graph."""
    return tuple(module.code for module in modules)


def spy(client):
    """Lets a client keep the documents it sends."""
    sent, ask = [], client.plan

    def plan(graph, **more):
        sent.append((graph, more))
        return ask(graph, **more)

    client.plan = plan
    return sent
