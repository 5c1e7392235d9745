"""Minimum cuts of small graphs by trying every set of saved nodes (profile plain).

Shares nothing with the solver or the oracle: it builds its own reading of the rules for graphs without placement tags, mutation,
regions and collectives, which is what `small` makes.
"""
import random

INF = float("inf")
KINDS = ["mylib.op.default", "aten.add.Tensor", "aten.view.default", "aten.mm.default", "aten.sum.dim_IntList"]
BYTES = {"uint8": 1, "float32": 4}


def _value(r):
    k = r.random()
    if k < 0.06:
        return {"tuple": [{"dtype": "uint8", "shape": [3]}]}
    if k < 0.12:
        return {"sym": r.choice(["int", "float"]), "hint": 4, "expr": "s0"}
    return {"dtype": r.choice(sorted(BYTES)), "shape": [r.choice([0, 1, 1, 2, 2, 3, 4, 6])]}


def small(seed):
    """(document, options) with at most 14 nodes."""
    r = random.Random(seed)
    n, nodes = r.randint(5, 14), []
    n_primals = r.randint(1, 3)
    for i in range(n_primals):
        nodes.append({"name": f"p{i}", "op": "placeholder", "target": f"primals_{i}", "val": _value(r)})
    nodes.append({"name": "t", "op": "placeholder", "target": "tangents_1", "val": _value(r)})
    turn = max(r.randint(len(nodes), n - 1), r.randint(len(nodes), n - 1))
    for i in range(len(nodes), n - 1):
        names = [d["name"] for d in nodes if d["name"] != "t" and not d["name"].startswith("b")]
        backward = i >= turn
        pool = names + [d["name"] for d in nodes if d["name"] == "t" or d["name"].startswith("b")] * 3 if backward else names
        args = ["%" + r.choice(pool) for _ in range(r.randint(1, 3))]
        if backward and r.random() < 0.7:
            args.append("%" + r.choice([x for x in pool if x == "t" or x.startswith("b")]))
        d = {"name": f"{'b' if backward else 'f'}{i}", "op": "call_function", "target": r.choice(KINDS), "args": args, "val": _value(r)}
        if r.random() < 0.35:
            d["recompute"] = r.choice(["must_save", "prefer_recompute", "must_recompute", "prefer_save"])
        if r.random() < 0.05:
            d["traits"] = ["no_recompute"]
        if r.random() < 0.03:
            d["opaque"] = True
        nodes.append(d)
    forward = [d["name"] for d in nodes if d["name"][0] in "pf"]
    backward = [d["name"] for d in nodes if d["name"][0] == "b"]
    outs = ["%" + r.choice(forward) for _ in range(r.randint(1, 2))]
    grads = ["%" + r.choice(backward or forward) for _ in range(r.randint(1, 3))] + ["%" + r.choice(forward)] * (r.random() < 0.1)
    nodes.append({"name": "output", "op": "output", "target": "output", "args": outs + grads})
    static = [i for i in range(n_primals) if r.random() < 0.3]
    return ({"schema": "remat/graph/v1", "num_fwd_outputs": len(outs), "static_lifetime_inputs": static, "nodes": nodes},
            {"profile": "plain", **({"treat_parameters_as_free_to_save": False} if r.random() < 0.3 else {})})


class Problem:
    """The flow network of a small document as bit masks over its 2n vertices: in(i) = 2i, out(i) = 2i+1."""

    def __init__(self, document, options):
        self.nodes = self.alive(document["nodes"])
        at = {d["name"]: i for i, d in enumerate(self.nodes)}
        self.inputs = [sorted({at[a[1:]] for a in d["args"] or () if a}) if "args" in d else [] for d in self.nodes]
        self.k, outputs = document["num_fwd_outputs"], [at[a[1:]] for a in self.nodes[-1]["args"]]
        self.forward_outputs, self.backward_outputs = set(outputs[:self.k]), set(outputs[self.k:])
        self.static = {f"p{i}" for i in document["static_lifetime_inputs"]} if options.get(
            "treat_parameters_as_free_to_save", True) else set()
        self.classify()
        self.connect()

    @staticmethod
    def alive(nodes):
        used, kept = set(), []
        for d in reversed(nodes):
            if d["op"] != "call_function" or d["name"] in used:
                kept.append(d)
                used.update(a[1:] for a in d.get("args", ()))
        return kept[::-1]

    def classify(self):
        n = len(self.nodes)
        self.closure = set()
        for i, d in enumerate(self.nodes):
            if d["name"] == "t" or any(p in self.closure for p in self.inputs[i]):
                self.closure.add(i)
        self.required_bw = self.closure | self.backward_outputs
        needed = set(self.forward_outputs)
        for i in reversed(range(n)):
            if i in needed:
                needed.update(self.inputs[i])
        self.required_fw = {i for i, d in enumerate(self.nodes) if i in needed - self.closure or d["name"][0] == "p"}

    def weight(self, d):
        v = d["val"]
        if "sym" in v:
            return 4 if v["sym"] == "float" else 1
        if "dtype" not in v:
            return 0 if d.get("opaque") else INF
        return 0 if d["name"] in self.static else v["shape"][0] * BYTES[v["dtype"]]

    def banned(self, i, d):
        if d.get("recompute") in ("prefer_recompute", "must_recompute") or d["val"].get("sym") == "float":
            return False
        if d["name"][0] == "p":
            return True
        return i in self.required_fw and (d.get("recompute") == "must_save" or "no_recompute" in d.get("traits", ()))

    def connect(self):
        """sources and sinks are vertex masks; `arcs` the infinite edges; `weights` those of in(i) to out(i)."""
        self.sources, self.sinks, self.arcs, self.weights = 0, 0, [0] * (2 * len(self.nodes)), {}
        for i, d in enumerate(self.nodes[:-1]):
            if i in self.closure:
                self.sinks |= 1 << 2 * i
                continue
            if i in self.required_bw:
                self.sinks |= 2 << 2 * i
            if d.get("recompute") in ("prefer_recompute", "must_recompute"):
                self.sinks |= 1 << 2 * i
                continue
            if self.banned(i, d):
                self.sources |= 1 << 2 * i
            self.weights[i] = self.weight(d)
            for u, inputs in enumerate(self.inputs):
                if i in inputs:
                    self.arcs[2 * i + 1] |= 1 << 2 * u

    def reaching(self, saved):
        """Vertices from which a sink can be reached when the `saved` nodes' in-out edges are removed."""
        into = [0] * len(self.arcs)
        for v, targets in enumerate(self.arcs):
            if v % 2 == 0 and v // 2 in self.weights and v // 2 not in saved:
                targets |= 1 << (v + 1)
            while targets:
                low = targets & -targets
                into[low.bit_length() - 1] |= 1 << v
                targets ^= low
        found, fresh = self.sinks, self.sinks
        while fresh:
            low = fresh & -fresh
            fresh ^= low
            new = into[low.bit_length() - 1] & ~found
            found |= new
            fresh |= new
        return found

    def solve(self):
        """(value, names of the canonical cut), or None when every cut is infinite."""
        if not self.sources or not self.sinks:
            return 0, []  # nothing has to cross
        finite = [i for i, w in self.weights.items() if w != INF]
        best, side = INF, None
        for mask in range(1 << len(finite)):
            saved = {i for k, i in enumerate(finite) if mask >> k & 1}
            value = sum(self.weights[i] for i in saved)
            if value > best:
                continue
            reach = self.reaching(saved)
            if reach & self.sources:
                continue
            side = reach if value < best else side & reach
            best = value
        if side is None:
            return None
        cut = [i for i in sorted(self.weights) if not side >> 2 * i & 1 and side >> (2 * i + 1) & 1]
        return best, [self.nodes[i]["name"] for i in cut]
