"""Small graphs that write to storages, run by hand: what each operator reads, first and again. Shares nothing with core."""
import random

PURE = ("aten.sin.default", "aten.mul.Tensor", "aten.add.Tensor")
VIEW, COPY, ADD_ = "aten.permute.default", "aten.copy_.default", "aten.add_.Tensor"
VALUE = {"dtype": "float32", "shape": [4, 4]}


def small(seed):
    """A document whose forward has views and writes, with tags of both kinds."""
    r = random.Random(seed)
    nodes = [{"name": f"p{i}", "op": "placeholder", "target": f"primals_{i}", "val": VALUE} for i in range(r.randint(1, 3))]
    root = {n["name"]: n["name"] for n in nodes}
    nodes.append({"name": "t", "op": "placeholder", "target": "tangents_1", "val": VALUE})
    writes = []
    for i in range(r.randint(4, 12)):
        name, names = f"f{i}", sorted(root)
        node = {"name": name, "op": "call_function", "val": VALUE}
        kind = r.random()
        if kind < 0.2:
            source = r.choice(names)
            node.update(target=VIEW, args=["%" + source, [1, 0]], alias_of=root[source])
            root[name] = root[source]
        elif kind < 0.45:
            target = r.choice(names)
            node.update(target=r.choice((COPY, ADD_)), args=["%" + target, "%" + r.choice(names)], alias_of=root[target])
            writes.append(name)
            root[name] = root[target]
        else:
            node.update(target=r.choice(PURE), args=["%" + r.choice(names) for _ in range(r.randint(1, 2))])
            root[name] = name
        if node["target"] not in (COPY, ADD_) and r.random() < 0.6:
            node["recompute"] = r.choice(("must_recompute", "must_recompute", "must_save"))
        if "alias_of" in node and node["target"] == VIEW and r.random() < 0.3:
            del node["alias_of"]  # documents may leave it out
        nodes.append(node)
    readable = [n["name"] for n in nodes if n["name"][0] == "f" and n["name"] not in writes] or ["p0"]
    grads = [{"name": f"g{i}", "op": "call_function", "target": "aten.mul.Tensor", "args": ["%t", "%" + r.choice(readable)], "val": VALUE}
             for i in range(r.randint(1, 3))]
    outputs = sorted({*writes, *(r.choice(readable) for _ in range(3)), *readable[-2:]})
    last = {"name": "output", "op": "output", "target": "output", "args": ["%" + n for n in (*outputs, *(g["name"] for g in grads))]}
    return {"schema": "remat/graph/v1", "num_fwd_outputs": len(outputs), "nodes": [*nodes, *grads, last]}, root


class Run:
    """Contents of storages as texts. A write gives a storage another text; who reads one notes which it was."""

    def __init__(self, document, root):
        self.nodes = {n["name"]: n for n in document["nodes"]}
        self.root = root
        self.gradients = [a[1:] for a in self.nodes["output"]["args"][document["num_fwd_outputs"]:]]

    def reads(self, name):
        return [a[1:] for a in self.nodes[name]["args"] if isinstance(a, str) and a[:1] == "%"]

    def execute(self, names, contents):
        """{operator that reads data: texts it read}; `contents` by storage is left as the last of them leaves it."""
        seen = {}
        for name in names:
            node, inputs = self.nodes[name], self.reads(name)
            if node["target"] == VIEW:
                continue
            seen[name] = [contents[self.root[i]] for i in inputs]
            if node["target"] in (COPY, ADD_):
                contents[self.root[name]] = f"{name}({','.join(seen[name])})"
            else:
                contents[name] = f"{node['target']}({','.join(seen[name])})"
        return seen

    def forward(self):
        contents = {n: n for n in self.nodes if n[0] == "p"}
        calls = [n for n in self.nodes if n[0] == "f"]
        return self.execute(calls, contents), contents

    def second(self, recomputed, contents):
        """What runs again finds what the forward left, except in storages that it makes itself."""
        return self.execute([n for n in self.nodes if n in recomputed], dict(contents))

    def read_in_backward(self, saved, recomputed):
        """Those recomputed operators that a gradient comes of."""
        need, stack = set(), [i for g in self.gradients for i in self.reads(g)]
        while stack:
            name = stack.pop()
            if name[0] == "f" and name not in need and name not in saved:
                need.add(name)
                stack += self.reads(name)
        return need & recomputed


def differing(document, root, saved, recomputed):
    """Recomputed operators that read something else the second time."""
    run = Run(document, root)
    first, left = run.forward()
    again = run.second(recomputed, left)
    return {n for n in again if again[n] != first[n]} & run.read_in_backward(saved, recomputed)
