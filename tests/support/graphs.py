"""Small graph documents, and large ones by size, for tests of the programs.

What the plans of these are is other suites' business; here they are requests.
"""
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
SLOW_N = 20000 if os.environ.get("REMAT_BUILD", "").endswith(("asan", "tsan")) else 100000


def slow(n=SLOW_N):
    """The bytes of a chain that keeps a worker busy for a second or more; sanitizers need no long one for that."""
    if n not in _slow:
        _slow[n] = encode(chain(n))
    return _slow[n]


def encode(document):
    return json.dumps(document, separators=(",", ":")).encode()
