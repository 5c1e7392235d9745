"""From a graph document back to a live joint graph on fake tensors, for documents with fixed sizes. Needs PyTorch."""
import functools
import operator

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import CheckpointPolicy

# Operators of the synthetic documents.
LIBRARY = torch.library.Library("synth", "DEF")
LIBRARY.define("pure(Tensor x) -> Tensor")
LIBRARY.define("eff(Tensor x) -> Tensor")
LIBRARY.define("mut2(Tensor(a!) x, Tensor(b!)[] ys, Tensor z) -> Tensor")
MARKS = {"partitioner_tag": "partitioner_tag", "has_backward_hook": "has_backward_hook", "ac_graph_id": "ac_graph_id",
         "no_vc_check": "saved_tensor_with_no_vc_check", "memory_budget": "memory_budget"}


@functools.cache
def target_of(name):
    if name == "getitem":
        return operator.getitem
    namespace, _, rest = name.partition(".")
    if namespace == "higher_order":
        return getattr(torch.ops.higher_order, rest)
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)


class Rebuilder:
    def __init__(self, document):
        self.document, self.graph, self.live, self.fake_mode = document, fx.Graph(), {}, FakeTensorMode()

    def module(self):
        with self.fake_mode:
            for node in self.document["nodes"]:
                self.add(node)
        return fx.GraphModule(nn.Module(), self.graph)

    def add(self, node):
        if node["op"] == "output":
            self.graph.output(([self.argument(arg) for arg in node["args"]],))
            return
        if node["op"] == "placeholder":
            made = self.graph.placeholder(node["target"])
        else:
            kwargs = {key: self.argument(arg) for key, arg in node.get("kwargs", {}).items()}
            made = self.graph.call_function(target_of(node["target"]), tuple(map(self.argument, node.get("args", ()))), kwargs)
        if made.name != node["name"]:
            made._rename(node["name"])
        if made.name != node["name"]:
            raise ValueError(f"{node['name']} became {made.name}")
        self.live[made.name] = made
        if "val" in node:
            made.meta["val"] = self.value(node["val"], node.get("alias_of"))
        if "recompute" in node:
            made.meta["recompute"] = CheckpointPolicy[node["recompute"].upper()]
        made.meta.update((key, node[field]) for field, key in MARKS.items() if field in node)

    def argument(self, arg):
        if isinstance(arg, str):
            return self.live[arg[1:]] if arg.startswith("%") else arg
        if isinstance(arg, list):
            return [self.argument(item) for item in arg]
        if isinstance(arg, dict):
            (kind, what), = arg.items()
            return {key: self.argument(item) for key, item in what.items()} if kind == "dict" else target_of(what)
        return arg

    def value(self, value, alias_of=None):
        if value is None:
            return None
        if "tuple" in value:
            return tuple(self.value(item) for item in value["tuple"])
        if "dict" in value:
            return {key: self.value(item) for key, item in value["dict"].items()}
        if alias_of is not None:
            base = self.live[alias_of].meta["val"]
            made = torch.empty(value["shape"], dtype=base.dtype)
            strides = made.stride() if made.numel() <= base.numel() else [0] * made.dim()
            return base.as_strided(made.shape, strides)
        return torch.empty(value["shape"], dtype=getattr(torch, value["dtype"]))
