"""Small graph documents, and large ones by size, for tests of the programs.

What the plans of these are is other suites' business; here they are requests.
"""
import itertools
import json
import os

TENSOR = {"dtype": "float32", "shape": [64]}


def node(name, op, target, args=(), **more):
    return {"name": name, "op": op, "target": target, "args": list(args), "val": TENSOR, **more}


def graph(*nodes, outputs, n_forward=1, **more):
    last = {"name": "output", "op": "output", "target": "output", "args": list(outputs)}
    return {"schema": "remat/graph/v1", "num_fwd_outputs": n_forward, "nodes": [*nodes, last], **more}


def tiny():
    """sin, and its gradient, which needs cos of the input. A plan."""
    return graph(
        node("x", "placeholder", "primals_1"),
        node("t", "placeholder", "tangents_1"),
        node("y", "call_function", "aten.sin.default", ["%x"]),
        node("c", "call_function", "aten.cos.default", ["%x"]),
        node("g", "call_function", "aten.mul.Tensor", ["%t", "%c"]),
        outputs=["%y", "%g"])


def infinite_flow():
    """The backward needs m, which may not be saved, of d, which may not be computed twice."""
    pair = {"tuple": [TENSOR, TENSOR]}
    return graph(
        node("x", "placeholder", "primals_1"),
        {**node("d", "call_function", "test.dropout", ["%x"], traits=["no_recompute"]), "val": pair},
        node("m", "call_function", "getitem", ["%d", 0], recompute="must_recompute"),
        node("y", "call_function", "getitem", ["%d", 1]),
        node("t", "placeholder", "tangents_1"),
        node("g", "call_function", "test.mul", ["%t", "%m"]),
        outputs=["%y", "%g"], options={"profile": "plain"})


def size_unknown():
    """Whether a is a reduction depends on its size, and its value is not there."""
    a = node("a", "call_function", "aten.cos.default", ["%x"])
    del a["val"]
    return graph(
        node("x", "placeholder", "primals_1"),
        node("t", "placeholder", "tangents_1"),
        a,
        node("y", "call_function", "aten.sin.default", ["%a"]),
        node("g", "call_function", "aten.mul.Tensor", ["%t", "%a"]),
        outputs=["%y", "%g"])


def chain(n):
    """2 n + 3 nodes: n operators forward, n backward, each of which reads one of those."""
    nodes = [node("x", "placeholder", "primals_1"), node("t", "placeholder", "tangents_1")]
    last = "x"
    for i in range(n):
        nodes.append(node(f"f{i}", "call_function", "aten.sin.default", ["%" + last]))
        last = f"f{i}"
    forward, last = last, "t"
    for i in reversed(range(n)):
        nodes.append(node(f"b{i}", "call_function", "aten.mul.Tensor", ["%" + last, f"%f{i}"]))
        last = f"b{i}"
    return graph(*nodes, outputs=["%" + forward, "%" + last])


_slow = {}
_count = itertools.count(1001)
SLOW_N = 20000 if os.environ.get("REMAT_BUILD", "").endswith(("asan", "tsan")) else 100000


def another():
    """The bytes of a small graph whose plan nobody has asked for yet."""
    return slow(3)


def slow(n=SLOW_N):
    """The bytes of a chain that keeps a worker busy for a second or more; sanitizers need no long one for that.

    Each call asks for another plan: the same one again would be merged with it, or known.
    """
    if n not in _slow:
        _slow[n] = encode(chain(n)).rstrip()[:-1]
    return _slow[n] + b',"options":{"max_dist_from_bw":%d}}' % next(_count)


def stacked(document, n):
    """n copies of a graph beside each other in one, under other names: as large as wanted, with the operators of a real one."""
    def renamed(value, i):
        if isinstance(value, str):
            return f"%r{i}_{value[1:]}" if value.startswith("%") else value
        if isinstance(value, list):
            return [renamed(v, i) for v in value]
        return {k: renamed(v, i) for k, v in value.items()} if isinstance(value, dict) else value

    nodes, forward, backward = [], [], []
    n_inputs = sum(node_["op"] == "placeholder" and "tangent" not in node_["target"] for node_ in document["nodes"])
    static = [i * n_inputs + at for i in range(n) for at in document.get("static_lifetime_inputs", [])]
    for i in range(n):
        for node_ in document["nodes"]:
            args, more = renamed(node_.get("args", []), i), {"kwargs": renamed(node_["kwargs"], i)} if "kwargs" in node_ else {}
            if node_["op"] == "output":
                outputs = args[0] if len(args) == 1 and isinstance(args[0], list) else args
                forward += outputs[:document["num_fwd_outputs"]]
                backward += outputs[document["num_fwd_outputs"]:]
            else:
                if "module" in node_:
                    more["module"] = node_["module"].replace("L['self']", f"L['self'].stages.{i}", 1)
                if "alias_of" in node_:
                    more["alias_of"] = f"r{i}_{node_['alias_of']}"
                nodes.append({**node_, "name": f"r{i}_{node_['name']}", "args": args, **more})
    return {**document, "name": f"{document.get('name', 'graph')} x {n}", "num_fwd_outputs": len(forward), "static_lifetime_inputs": static, "nodes": nodes + [
        {"name": "output", "op": "output", "target": "output", "args": [*forward, *backward]}]}


def encode(document):
    return json.dumps(document, separators=(",", ":")).encode()
