"""Small random graphs full of contradictory tags, and what is true of their conflicts and remedies by other means.

A graph has operators with several results, their parts, tags of all kinds on both, and now and then what makes tags mean something
else: regions, hooks, effects, collectives, mutation. `network` is the oracle's flow network; `most_disjoint` finds a largest set of
disjoint infinite paths of least total length in it; `moves` are the changes of tags that a remedy may consist of.
"""
import math
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), folder) for folder in ("diff", "oracle")]

import oracle  # noqa: E402
import reference  # noqa: E402

INF = oracle.INF
WANTS = ("prefer_recompute", "must_recompute")
COSTS = {"prefer_save": 10, "prefer_recompute": 10, "prefer_cpu_offload": 10, "must_save": 1000, "must_recompute": 1000,
         "must_cpu_offload": 1000, None: 1000000}
PAIRS = ["mylib.pair.default", "aten.native_layer_norm.default", "aten.max.dim", "aten.split.Tensor", "aten.native_dropout.default",
         "aten.var_mean.correction", "aten.topk.default"]
SINGLES = ["aten.add.Tensor", "aten.mul.Tensor", "aten.mm.default", "aten.sin.default", "aten.view.default", "mylib.op.default",
           "aten.sum.dim_IntList", "aten.t.default"]
TENSOR = {"dtype": "float32", "shape": [4]}


class Maker:
    def __init__(self, seed, density=None):
        self.r = random.Random(seed)
        self.nodes, self.forward, self.tuples = [], [], []
        self.density = density or self.r.choice([0.25, 0.5, 0.8, 0.95])
        self.odd = self.r.random() < 0.4

    def maybe(self, p):
        return self.r.random() < p

    def add(self, prefix, target, args, val, op="call_function", **more):
        name = f"{prefix}{len(self.nodes)}"
        self.nodes.append({"name": name, "op": op, "target": target, "args": args, "val": val, **more})
        return name

    def tag(self, policies):
        """Maybe a tag on the newest node, and what goes with it."""
        d, r = self.nodes[-1], self.r
        if not self.maybe(self.density):
            return
        d["recompute"] = r.choice(policies)
        if self.odd and self.maybe(0.4):
            d["ac_graph_id"] = r.randint(1, 3)
        if self.odd and self.maybe(0.1):
            d["has_backward_hook"] = True

    def source(self):
        return "%" + self.r.choice(self.forward[-6:])

    def pair(self):
        r = self.r
        members = [dict(TENSOR) for _ in range(r.randint(1, 3))]
        nested = self.maybe(0.1)
        value = {"tuple": [{"tuple": members}, dict(TENSOR)] if nested else members}
        target, more = r.choice(PAIRS), {}
        if self.odd and self.maybe(0.15):
            target = "higher_order.with_effects"
        if self.odd and self.maybe(0.1):
            more["traits"] = [r.choice(["no_recompute", "effects", "recomputable"])]
        args = [self.source()] + (["%" + r.choice(self.tuples)] if self.tuples and self.maybe(0.2) else [])
        pair = self.add("pair", target, args, value, **more)
        self.tag(["must_save", "must_save", "prefer_recompute", "must_recompute", "prefer_save"])
        self.tuples.append(pair)
        if nested:
            pair = self.add("part", "getitem", ["%" + pair, 0], {"tuple": members})
            self.tag(["prefer_recompute", "must_save", "must_recompute"])
        for i in range(len(members)):
            if self.maybe(0.85):
                part = self.add("part", "getitem", ["%" + pair, i], dict(TENSOR))
                self.tag(["prefer_recompute", "prefer_recompute", "must_recompute", "must_save"])
                self.forward.append(part)

    def single(self):
        target = self.r.choice(SINGLES)
        if self.odd and self.maybe(0.1):
            target = "_c10d_functional.all_reduce.default"
        name = self.add("op", target, [self.source()], dict(TENSOR))
        self.tag(["prefer_recompute", "must_save", "must_recompute", "prefer_cpu_offload"])
        self.forward.append(name)

    def document(self, size):
        r = self.r
        for i in range(r.randint(1, 2)):
            self.forward.append(self.add("x", f"primals_{i}", None, dict(TENSOR), op="placeholder"))
            del self.nodes[-1]["args"]
        grad = self.add("t", "tangents_1", None, dict(TENSOR), op="placeholder")
        del self.nodes[-1]["args"]
        while len(self.nodes) < size:
            self.pair() if self.maybe(0.55) else self.single()
        readable = self.forward + (self.tuples if self.maybe(0.25) else [])
        for _ in range(r.randint(1, 4)):
            read = r.sample(readable, min(len(readable), r.randint(1, 3)))
            grad = self.add("g", "aten.mul.Tensor", ["%" + grad] + ["%" + n for n in read], dict(TENSOR))
        outs = ["%" + n for n in r.sample(self.forward, min(2, len(self.forward)))]
        grads = ["%" + grad] + (["%" + r.choice(self.forward)] if self.maybe(0.15) else [])
        self.nodes.append({"name": "output", "op": "output", "target": "output", "args": outs + grads})
        for d in self.nodes:  # a region without a tag says nothing, now or when a remedy gives the node a tag
            if self.odd and d["op"] == "call_function" and "recompute" not in d and self.maybe(0.3):
                d["ac_graph_id"] = r.randint(0, 4)
        return {"schema": "remat/graph/v1", "num_fwd_outputs": len(outs), "static_lifetime_inputs": [], "nodes": self.nodes}


def tangle(seed, size=(6, 14), density=None):
    """(document, options) number `seed`; `density`: the part of nodes with a tag, of several when it is not given."""
    maker = Maker(seed, density)
    r = maker.r
    options = {"profile": "plain"} if r.random() < 0.4 else {}
    if not options and r.random() < 0.2:
        options = {"recompute_views": True}
    if not options and r.random() < 0.2:
        options = {"ban_recompute_not_in_allowlist": False}
    return maker.document(r.randint(*size)), options


# ---- conflicts ---------------------------------------------------------------

def network(document, options):
    """{vertex: {vertex: capacity}} of the network with an infinite flow, or None when the decision ends otherwise."""
    nets, test = [], oracle.infinite_path
    oracle.infinite_path = lambda net: nets.append(net) or test(net)
    try:
        found = oracle.plan(document, reference.TABLE, options)
    finally:
        oracle.infinite_path = test
    if found.get("error") != "infinite_flow":
        return None
    return {u: {v: c for v, (c, _) in to.items()} for u, to in nets[-1].adj.items()}


def most_disjoint(net, without=()):
    """(number, total length) of a largest set of infinite paths that share no node: successive shortest paths by Bellman and Ford
    over a list of arcs [from, to, room, cost]. The length of a path is the number of its vertices."""
    arcs, into = [], {}

    def arc(u, v, cost):
        for a, b, room, c in ((u, v, 1, cost), (v, u, 0, -cost)):
            into.setdefault(b, []).append(len(arcs))
            arcs.append([a, b, room, c])

    node = lambda v: v.rsplit("_", 1)[0]
    for u in net:
        if u.endswith("_in") and node(u) not in without:
            arc((u, "enters"), (u, "leaves"), 1)
    for u, to in net.items():
        for v, capacity in to.items():
            if capacity != INF or node(u) in without or node(v) in without:
                continue
            tail = (u, "leaves") if u.endswith("_in") else u
            head = (v, "enters") if v.endswith("_in") else v
            arc(tail, head, 0 if v == "sink" or v.endswith("_in") else 1)
    number = length = 0
    vertices = {v for a in arcs for v in a[:2]}
    while True:
        best, by = {v: INF for v in vertices}, {}
        best["source"], changed = 0, True
        while changed:
            changed = False
            for k, (u, v, room, cost) in enumerate(arcs):
                if room and best.get(u, INF) + cost < best[v]:
                    best[v], by[v], changed = best[u] + cost, k, True
        if best.get("sink", INF) == INF:
            return number, length
        number, length, v = number + 1, length + best["sink"], "sink"
        while v != "source":
            arcs[by[v]][2] -= 1
            arcs[by[v] ^ 1][2] += 1
            v = arcs[by[v]][0]


# ---- remedies ----------------------------------------------------------------

class Tags:
    """The tags of a document as `{node: policy or None}`, `by_pass` of them written by a pass, and what may be changed."""

    def __init__(self, document, options, by_pass=()):
        self.document, self.options, self.by_pass = document, options, set(by_pass)
        self.tags = {d["name"]: d.get("recompute") for d in document["nodes"]}
        graph = oracle.without_dead_code(oracle.Graph(document, reference.TABLE), {**oracle.DEFAULTS, **options})
        self.again = {n.name for n in graph.nodes if n.op == "call_function" and not graph.cls(n, "random")
                      and not {"seeded", "no_recompute"} & set(n.traits)}
        self.live = [n.name for n in graph.nodes]

    def cost(self, name):
        cost = COSTS[self.tags[name]]
        return cost // 10 if name in self.by_pass and cost < COSTS[None] else cost

    def choices(self, name, allows_new):
        """What the tag of a node may become."""
        tag = self.tags[name]
        if tag in WANTS:
            return [None]
        again = ["prefer_recompute"] if name in self.again and (tag or allows_new) else []
        return [None] * (tag == "must_save") + again

    def request(self):
        """The request in which a pass writes its part of the tags."""
        nodes, written = [], {}
        for d in self.document["nodes"]:
            if d["name"] in self.by_pass:
                written[d["name"]] = [d["recompute"], d.get("ac_graph_id")]
                d = {k: v for k, v in d.items() if k not in ("recompute", "ac_graph_id")}
            nodes.append(d)
        passes = [{"pass": "set_tags", "tags": written}] if written else []
        return {"graph": {**self.document, "nodes": nodes}, "options": self.options, "passes": passes}

    def edited(self, changes):
        nodes = []
        for d in self.document["nodes"]:
            if d["name"] in changes:
                after = changes[d["name"]]
                if after is None or d.get("recompute") is None:
                    d = {k: v for k, v in d.items() if k != "ac_graph_id"}
                d = {**d, "recompute": after}
                if after is None:
                    del d["recompute"]
            nodes.append(d)
        return {**self.document, "nodes": nodes}

    def is_feasible(self, changes):
        return "error" not in oracle.plan(self.edited(changes), reference.TABLE, self.options)

    def cheaper(self, cost, allows_new):
        """All sets of changes that cost less, cheapest first."""
        nodes = [n for n in self.live if self.choices(n, allows_new)]
        nodes.sort(key=self.cost)
        found = []

        def extend(k, spent, changes):
            if changes:
                found.append((spent, dict(changes)))
            for i in range(k, len(nodes)):
                more = spent + self.cost(nodes[i])
                if more >= cost:
                    return
                for policy in self.choices(nodes[i], allows_new):
                    extend(i + 1, more, {**changes, nodes[i]: policy})

        extend(0, 0, {})
        return [changes for _, changes in sorted(found, key=lambda item: item[0])]

    def n_sets(self, allows_new):
        return math.prod(1 + len(self.choices(n, allows_new)) for n in self.live)
