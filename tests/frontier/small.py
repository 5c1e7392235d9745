"""Small graphs, and their frontier by trying every set of saved values. Shares nothing with the solver or the oracle."""
import random

BYTES = {"uint8": 1, "float32": 4}
FREE = ["aten.add.Tensor", "aten.relu.default", "aten.view.default", "mylib.op.default"]


def value(r):
    if r.random() < 0.05:
        return {"tuple": [{"dtype": "uint8", "shape": [3, 1]}]}
    return {"dtype": r.choice(["uint8", "uint8", "float32"]), "shape": [r.choice([1, 1, 2, 3, 4, 6]), r.choice([1, 1, 2, 3, 5])]}


def matrix(d):
    return "shape" in d.get("val", {})


def forward_node(r, i, nodes):
    names = [d["name"] for d in nodes if d["name"] != "t"]
    fields = {"name": f"f{i}", "op": "call_function", "val": value(r)}
    pool = [d["name"] for d in nodes if d["name"] != "t" and matrix(d)]
    if r.random() < 0.55 and pool and "shape" in fields["val"]:
        fields.update(target="aten.mm.default", args=["%" + r.choice(pool), "%" + r.choice(pool)])
    elif r.random() < 0.08:
        fields.update(target="aten.bernoulli.default", args=["%" + r.choice(names)])
    else:
        fields.update(target=r.choice(FREE), args=["%" + r.choice(names[-4:]) for _ in range(r.randint(1, 2))])
    if r.random() < 0.2:
        fields["recompute"] = r.choice(["must_save", "prefer_recompute", "must_recompute", "prefer_save"])
    if r.random() < 0.05:
        fields["traits"] = ["no_recompute"]
    return fields


def graph(seed):
    """A document in which the forward computes all that the backward reads."""
    r = random.Random(f"frontier {seed}")
    nodes = [{"name": f"p{i}", "op": "placeholder", "target": f"primals_{i}", "val": value(r)} for i in range(r.randint(1, 3))]
    nodes.append({"name": "t", "op": "placeholder", "target": "tangents_1", "val": {"dtype": "uint8", "shape": [1]}})
    n_primals = len(nodes) - 1
    for i in range(r.randint(3, 9)):
        nodes.append(forward_node(r, i, nodes))
    forward = [d["name"] for d in nodes if d["name"][0] == "f"]
    last = "t"
    for i in range(r.randint(1, 4)):
        read = r.sample(forward + ["p0"], r.randint(1, 2))
        nodes.append({"name": f"b{i}", "op": "call_function", "target": "mylib.grad.default", "args": ["%" + last] + ["%" + x for x in read], "val": value(r)})
        last = f"b{i}"
    read = {a[1:] for d in nodes if d["name"][0] == "f" for a in d["args"]}
    outs = [n for n in forward if n not in read] or [forward[-1]]
    grads = [last] + ([r.choice(forward)] if r.random() < 0.1 else [])
    nodes.append({"name": "output", "op": "output", "target": "output", "args": ["%" + n for n in outs + grads]})
    static = [i for i in range(n_primals) if r.random() < 0.3]
    return {"schema": "remat/graph/v1", "num_fwd_outputs": len(outs), "static_lifetime_inputs": static, "nodes": nodes}


class Problem:
    """What plans of a small document cost. `flops` by node name."""

    def __init__(self, document, flops):
        self.nodes = {d["name"]: d for d in document["nodes"]}
        self.flops = flops
        outputs = [a[1:] for a in document["nodes"][-1]["args"]]
        self.needed = {a[1:] for d in document["nodes"] if d["name"][0] == "b" for a in d["args"] if a[1] in "pf"}
        self.needed |= {o for o in outputs[document["num_fwd_outputs"]:] if o[0] in "pf"}

    def wants(self, d):
        return d.get("recompute") in ("prefer_recompute", "must_recompute")

    def repeatable(self, d):
        if d["op"] == "placeholder":
            return False
        if self.wants(d) or d["target"] == "aten.view.default":
            return True
        return d.get("recompute") != "must_save" and "no_recompute" not in d.get("traits", ()) and d["target"] != "aten.bernoulli.default"

    def may_save(self, d):
        return not self.wants(d) and "shape" in d["val"]

    def bytes(self, d):
        v = d["val"]
        return v["shape"][0] * v["shape"][1] * BYTES[v["dtype"]]

    def cost(self, kept):
        """(bytes, FLOPs) when exactly the values of `kept` may be saved, or None."""
        saved, again, todo = set(), set(), list(self.needed)
        while todo:
            name = todo.pop()
            if name in saved or name in again:
                continue
            d = self.nodes[name]
            if name in kept:
                saved.add(name)
            elif self.repeatable(d):
                again.add(name)
                todo += [a[1:] for a in d["args"]]
            else:
                return None
        return sum(self.bytes(self.nodes[n]) for n in saved), sum(self.flops.get(n, 0) for n in again)

    def all_costs(self):
        names = [n for n, d in self.nodes.items() if n[0] in "pf" and self.may_save(d)]
        costs = set()
        for mask in range(1 << len(names)):
            cost = self.cost({n for i, n in enumerate(names) if mask >> i & 1})
            if cost:
                costs.add(cost)
        return costs


def undominated(costs):
    best, out = None, []
    for b, f in sorted(costs, key=lambda c: (c[1], c[0])):
        if best is None or b < best:
            out.append((b, f))
            best = b
    return out


def corners(costs):
    """Corners of the lower left convex hull, least FLOPs first."""
    hull = []
    for b, f in undominated(costs):
        while len(hull) > 1 and (hull[-1][0] - hull[-2][0]) * (f - hull[-2][1]) >= (b - hull[-2][0]) * (hull[-1][1] - hull[-2][1]):
            hull.pop()
        hull.append((b, f))
    return hull


def on_hull(hull, b, f):
    """Is a point a corner or on a side?"""
    if (b, f) in hull:
        return True
    return any(f0 < f < f1 and (b - b0) * (f1 - f0) == (b1 - b0) * (f - f0) for (b0, f0), (b1, f1) in zip(hull, hull[1:]))
