"""Faults put into real graphs, and what a reader has to be told of them first. Shares nothing with core."""
import copy

RECOMPUTE = ("prefer_recompute", "must_recompute")
TAGS = ("must_save", "prefer_save", *RECOMPUTE, "must_cpu_offload", "prefer_cpu_offload")
WAIT = "_c10d_functional.wait_tensor.default"


def references(argument):
    """Names that an argument refers to, however nested."""
    if isinstance(argument, str):
        return [argument[1:]] if argument[:1] == "%" and argument[:2] != "%%" else []
    if isinstance(argument, dict):
        argument = list(argument.values())
    return [name for item in argument for name in references(item)] if isinstance(argument, list) else []


class Graph:
    """A document, who reads whom in it, and which half a node belongs to."""

    def __init__(self, document):
        self.take(document)
        self.inputs = {n["name"]: references([n.get("args", []), n.get("kwargs", {})]) for n in document["nodes"]}
        self.closure = set()
        for name, node in self.nodes.items():
            if (node["op"] == "placeholder" and "tangents" in node["target"]) or node.get("partitioner_tag") == "must_be_in_backward" \
                    or self.closure.intersection(self.inputs[name]):
                self.closure.add(name)
        self.alive = self.find_alive()
        self.users = {name: [] for name in self.nodes}
        for name in self.alive:
            for read in set(self.inputs[name]):
                self.users[read].append(name)

    def take(self, document):
        self.document = document
        self.nodes = {n["name"]: n for n in document["nodes"]}
        self.output = document["nodes"][-1]

    def find_alive(self):
        """Names of what something reads or that stays anyhow, in order."""
        read, kept = set(), []
        for name, node in reversed(self.nodes.items()):
            if name in read or node["op"] in ("placeholder", "output") or {"impure", "mutable"} & set(node.get("traits", ())):
                kept.append(name)
                read.update(self.inputs[name])
        return kept[::-1]

    def calls(self, of_backward):
        return [name for name in self.alive if self.nodes[name]["op"] == "call_function" and (name in self.closure) == of_backward]

    def getitems(self, name):
        return [user for user in self.users[name] if self.nodes[user]["target"] == "getitem"]

    def copy(self):
        """One whose tags, outputs and number of outputs can be changed: faults change nothing else, so the rest is shared."""
        other = copy.copy(self)
        other.take({**self.document, "nodes": [dict(n) for n in self.document["nodes"]]})
        other.output["args"] = list(other.output["args"])
        return other


class Fault:
    """`where`: names of nodes that the first diagnostic must speak of; `codes`: those it may have."""

    def __init__(self, document, where, *codes):
        self.document, self.where, self.codes = document, set(where), codes

    def is_named_by(self, diagnostic):
        named = {diagnostic.get("node"), *(s["node"] for s in diagnostic.get("path", ())), *diagnostic.get("nodes", ())}
        return diagnostic["code"] in self.codes and bool(named & self.where)


def _multi_output(graph):
    return [name for name in graph.calls(False) if graph.getitems(name)]


def getitem_recomputed(graph, r):
    """One getitem behind an operator that must be saved is tagged for recomputation."""
    source = r.choice(_multi_output(graph))
    for name in [source, *graph.getitems(source)]:
        graph.nodes[name]["recompute"] = "must_save"
    item = r.choice(graph.getitems(source))
    graph.nodes[item]["recompute"] = r.choice(RECOMPUTE)
    return Fault(graph.document, [item], "infinite-flow", "tag-on-getitem")


def tuple_saved(graph, r):
    """An operator with several results must be saved, all its results are tagged for recomputation."""
    source = r.choice(_multi_output(graph))
    graph.nodes[source]["recompute"] = "must_save"
    tag = r.choice(RECOMPUTE)
    for name in graph.getitems(source):
        graph.nodes[name]["recompute"] = tag
    return Fault(graph.document, graph.getitems(source), "infinite-flow", "tag-on-getitem")


def input_recomputed(graph, r):
    """An input that an operator of the backward reads is tagged must_recompute."""
    inputs = [name for name, node in graph.nodes.items() if node["op"] == "placeholder" and name not in graph.closure
              and "seed" not in node["target"] and "offset" not in node["target"]
              and any(graph.nodes[user]["op"] == "call_function" for user in graph.closure.intersection(graph.users[name]))]
    name = r.choice(inputs)
    graph.nodes[name]["recompute"] = "must_recompute"
    return Fault(graph.document, [name], "invalid-output", "infinite-flow")


def backward_tagged(graph, r):
    """A tag on an operator that only the backward can compute."""
    name = r.choice([n for n in graph.calls(True) if not graph.nodes[n]["target"].startswith("_c10d_functional.")])
    graph.nodes[name]["recompute"] = r.choice(TAGS)
    return Fault(graph.document, [name], "tag-on-backward-node")


def wait_split(graph, r):
    """Of a collective and its wait one is tagged for recomputation and the other is not."""
    def tag(name):
        return graph.nodes[name].get("recompute")

    wait = r.choice([n for n in graph.calls(False) if graph.nodes[n]["target"] == WAIT
                     and (tag(n) in RECOMPUTE) == (tag(graph.inputs[n][0]) in RECOMPUTE)])
    collective = graph.inputs[wait][0]
    one, other = r.sample([wait, collective], 2)
    graph.nodes[one]["recompute"] = r.choice(RECOMPUTE)
    graph.nodes[other].pop("recompute", None)
    if r.random() < 0.5:
        graph.nodes[other]["recompute"] = "must_save"
    return Fault(graph.document, [wait, collective], "wait-split-from-collective")


def one_output_more(graph, r):
    """num_fwd_outputs is one too large: the first gradient passes for a result of the forward."""
    n, outputs = graph.document["num_fwd_outputs"], graph.output["args"]
    gradients = outputs[n:]
    r.shuffle(gradients)  # the order of the gradients is nobody's business
    outputs[n:] = gradients
    first = references(gradients[0] or [])
    if not first or first[0] not in graph.closure:
        return None  # no gradient, or one that the forward can compute: nothing is wrong with such a graph
    graph.document["num_fwd_outputs"] += 1
    return Fault(graph.document, first, "invalid-output")


KINDS = (getitem_recomputed, tuple_saved, input_recomputed, backward_tagged, wait_split, one_output_more)


def inject(kind, graph, r):
    """A Fault in a copy of the graph, or None where the graph has nothing that this fault could be put into."""
    for _ in range(20):
        try:
            fault = kind(graph.copy(), r)
        except IndexError:  # nothing to choose from
            return None
        if fault:
            return fault
    return None
