"""The engine behind memory_lines, and graphs to hold against it."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), part) for part in ("oracle", "support", "diff")]

import engine  # noqa: E402


class Engine(engine.LineProgram):
    """One memory_lines process."""

    def __init__(self):
        super().__init__("tests/memory/memory_lines", 300)

    def ask(self, graph, *asks, **more):
        """The answers to some options about one graph."""
        graph = {k: v for k, v in graph.items() if k not in ("options", "passes")}
        return self.ask_text(json.dumps(graph), *asks, **more)

    def ask_text(self, graph_text, *asks, **more):
        line = '{"graph":%s,%s' % (graph_text.replace("\n", " "), json.dumps({"asks": asks, **more})[1:])
        return self.ask_line(line)


# ---- block chains ------------------------------------------------------------

def tensor(n_bytes):
    return {"dtype": "uint8", "shape": [n_bytes]}


def node(name, op, target, args, n_bytes, **more):
    return {"name": name, "op": op, "target": target, "args": list(args), "val": tensor(n_bytes), **more}


def block_chain(n_blocks, save=None, scale=1):
    """x_k 1, a_k = attention(x_k) 1, u_k = mlp_inner(x_k, a_k) 8, d_k = down(u_k) 1, x_{k+1} = x_k + a_k + d_k; the backward of block
    k reads x_k, a_k and u_k. `save`: the letters to tag must_save; the other values are tagged must_recompute."""

    def tag(letter):
        return {} if save is None else {"recompute": "must_save" if letter in save else "must_recompute"}

    def call(name, target, reads, size, **more):
        return node(name, "call_function", target, ["%" + r for r in reads], size * scale, **more)

    nodes = [node("x_0", "placeholder", "primals_1", [], scale)]
    for k in range(n_blocks):
        x, a, u, d = (f"{letter}_{k}" for letter in "xaud")
        nodes += [call(a, "test.attention.default", [x], 1, **tag("a")),
                  call(u, "test.mlp_inner.default", [x, a], 8, **tag("u")),
                  call(d, "test.down.default", [u], 1, **tag("d")),
                  call(f"x_{k + 1}", "test.add3.default", [x, a, d], 1, **(tag("x") if k + 1 < n_blocks else {}))]
    nodes.append(node(f"g_{n_blocks}", "placeholder", "tangents_1", [], scale))
    for k in reversed(range(n_blocks)):
        nodes.append(call(f"g_{k}", "test.block_backward.default", [f"g_{k + 1}", f"x_{k}", f"a_{k}", f"u_{k}"], 1))
    last = {"name": "output", "op": "output", "target": "output", "args": [f"%x_{n_blocks}", "%g_0"]}
    return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": nodes + [last]}


# (letters saved, saved bytes and backward peak of 8 and of 16 blocks)
CHAINS = [("a", (9, 80), (17, 160)), ("ad", (16, 24), (32, 40)), ("ax", (16, 24), (32, 40)), ("x", (8, 17), (16, 25))]
