"""Small graphs with real work in them, and the best plan under a limit by trying every set of saved values."""
import itertools
import random

import memory
import oracle
import simulator

INF = float("inf")


class SmallGraph:
    """A forward of matrix products, pointwise operators, views, pairs and random operators, and a backward that reads some of it."""

    def __init__(self, seed, n_forward=7):
        self.r = random.Random(seed)
        self.nodes, self.shapes = [], {}
        r = self.r
        for i, shape in enumerate([(4, 4), (r.choice([2, 4, 8]), 4)]):
            self.add(f"x{i}", "placeholder", f"primals_{i + 1}", [], shape)
        self.weights = []
        for c in (2, 4, 8):
            for d in (2, 4, 8):
                self.add(f"w{c}{d}", "placeholder", f"primals_{3 + len(self.weights)}", [], (c, d))
                self.weights.append(f"w{c}{d}")
        self.values = ["x0", "x1"]
        for i in range(n_forward):
            self.forward(f"f{i}")
        self.backward()

    def add(self, name, op, target, reads, shape, **more):
        self.nodes.append({"name": name, "op": op, "target": target,
                           "args": ["%" + a if isinstance(a, str) else a for a in reads],
                           "val": {"dtype": "float32", "shape": list(shape)}, **more})
        self.shapes[name] = tuple(shape)

    def call(self, name, target, reads, shape, **more):
        if "test." in target and self.r.random() < 0.1:
            more["traits"] = ["no_recompute"]
        elif self.r.random() < 0.15:
            more["recompute"] = self.r.choice(["must_save", "must_save", "prefer_recompute"])
        self.add(name, "call_function", target, reads, shape, **more)
        self.values.append(name)

    def forward(self, name):
        r = self.r
        a = r.choice(self.values[-4:])
        rows, cols = self.shapes[a]
        kind = r.random()
        if kind < 0.55:
            d = r.choice([2, 4, 8])
            self.call(name, "aten.mm.default", [a, f"w{cols}{d}"], (rows, d))
        elif kind < 0.75:
            same = [b for b in self.values if self.shapes[b] == self.shapes[a]]
            self.call(name, "test.join.default", [a, r.choice(same)], (rows, cols))
        elif kind < 0.85:
            root = next(n for n in self.nodes if n["name"] == a).get("alias_of", a)
            self.add(name, "call_function", "aten.view.default", [a], (rows, cols), alias_of=root)
            self.values.append(name)
        else:
            pair = {"tuple": [{"dtype": "float32", "shape": [rows, cols]}, {"dtype": "float32", "shape": [rows, 2]}]}
            self.add(name + "p", "call_function", "test.pair.default", [a], (rows, cols))
            self.nodes[-1]["val"] = pair
            for i, shape in enumerate([(rows, cols), (rows, 2)]):
                self.add(f"{name}g{i}", "call_function", "getitem", [name + "p", i], shape)
                self.values.append(f"{name}g{i}")

    def backward(self):
        r, inner = self.r, [v for v in self.values if v[0] == "f"]
        self.add("t", "placeholder", "tangents_1", [], (4, 4))
        last = "t"
        for i, value in enumerate(reversed(inner)):
            if r.random() < 0.7:
                reads = [last, value] + ([r.choice(inner)] if r.random() < 0.3 else [])
                self.add(f"b{i}", "call_function", "test.gradient.default", reads, (4, 4))
                last = f"b{i}"
        if last == "t":
            self.add("b", "call_function", "test.gradient.default", ["t", inner[0]], (4, 4))
            last = "b"
        self.outputs = ["%" + inner[-1], "%" + last]

    def document(self):
        last = {"name": "output", "op": "output", "target": "output", "args": self.outputs}
        return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "static_lifetime_inputs": list(range(2, 2 + len(self.weights))),
                "nodes": self.nodes + [last]}


def chain_with_work(n_blocks, rows=4):
    """The block chain of memory.py with matrix products of the same sizes, so that there is work to spare."""
    scale, nodes = rows, []

    def add(name, op, target, reads, shape, **more):
        nodes.append({"name": name, "op": op, "target": target, "args": ["%" + a for a in reads],
                      "val": {"dtype": "uint8", "shape": list(shape)}, **more})

    add("x_0", "placeholder", "primals_1", [], (rows, 1))
    for i, (name, shape) in enumerate([("wa", (1, 1)), ("wu", (1, 8)), ("wd", (8, 1))]):
        add(name, "placeholder", f"primals_{i + 2}", [], shape)
    for k in range(n_blocks):
        x, a, u, d = (f"{letter}_{k}" for letter in "xaud")
        add(a, "call_function", "aten.mm.default", [x, "wa"], (rows, 1))
        add(u, "call_function", "aten.addmm.default", [a, x, "wu"], (rows, 8))
        add(d, "call_function", "aten.mm.default", [u, "wd"], (rows, 1))
        add(f"x_{k + 1}", "call_function", "test.add3.default", [x, a, d], (rows, 1))
    add(f"g_{n_blocks}", "placeholder", "tangents_1", [], (rows, 1))
    for k in reversed(range(n_blocks)):
        add(f"g_{k}", "call_function", "test.block_backward.default", [f"g_{k + 1}", f"x_{k}", f"a_{k}", f"u_{k}"], (rows, 1))
    nodes.append({"name": "output", "op": "output", "target": "output", "args": [f"%x_{n_blocks}", "%g_0"]})
    return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "static_lifetime_inputs": [1, 2, 3], "nodes": nodes}, scale


# ---- every set -----------------------------------------------------------------

class Exhaustive:
    """[(peak, recomputed FLOPs)] of every set of values that a plan may pass on."""

    def __init__(self, doc):
        self.sim = sim = simulator.Simulator(doc)
        g = sim.g
        reach = set(g.bwd_outputs)
        for n in reversed(g.nodes):
            if n in reach:
                reach.update(n.inputs)
        self.offered = [n.name for n in g.primals]
        self.choices = [n.name for n in g.nodes if n in reach and n not in sim.info.tangents_closure
                        and n.op == "call_function" and oracle.is_tensor(n.val) and not oracle.wants_recompute(n.tag)]
        self.fixed = {n.name for n in g.nodes if n.op == "call_function" and not oracle.wants_recompute(n.tag)
                      and (n.tag == "must_save" or {"no_recompute", "seeded"} & n.traits or g.cls(n, "random"))
                      and not g.cls(n, "view")}
        self.flops = {n.name: oracle.flops(g, n) for n in g.nodes if n.op == "call_function"}
        self.points = [p for p in map(self.weigh, self.sets()) if p is not None]

    def sets(self):
        for k in range(len(self.choices) + 1):
            yield from itertools.combinations(self.choices, k)

    def weigh(self, saved):
        sim, wanted = self.sim, set(saved)
        passed = self.offered + list(saved)
        try:
            backward = sim.half([sim.g.by[p] for p in passed] + sim.g.tangents, sim.g.bwd_outputs, "backward")
        except oracle.PlanError:
            return None
        read = {p.name for n in backward.kept for p in n.inputs} | {o.name for o in backward.outputs}
        if not wanted <= read:
            return None  # the set without what is not read is looked at too
        forward, backward = sim.halves([p for p in passed if p in read])
        again = {n.name for n in forward.kept} & {n.name for n in backward.kept if n.op == "call_function"}
        if again & self.fixed:
            return None
        peak = max(sim.run(forward, False)[1], sim.run(backward, True)[1])
        return peak, sum(self.flops[n] for n in again)

    def best(self, limit):
        """The least work under a limit, or INF."""
        return min((flops for peak, flops in self.points if peak <= limit), default=INF)

    def lowest(self):
        return min(peak for peak, _ in self.points)


def limits_between(low, high, n):
    return [low + (high - low) * i // (n - 1) for i in range(n)]


def peak_of(answer):
    return max(answer["peak_forward_bytes"], answer["peak_backward_bytes"])


__all__ = ["Exhaustive", "SmallGraph", "chain_with_work", "limits_between", "memory", "peak_of"]
