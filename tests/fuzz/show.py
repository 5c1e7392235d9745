"""Turns a program of the fuzz targets (a crash file) into a graph document with options, to ask the oracle or `remat plan` about it.

  tests/fuzz/show.py FILE [graph|solve]
"""
import json
import sys

import seeds

RECORD = 13
SYMBOLS = ["s0", "s1", "u0", "s10"]
KEYS = ["a", "b", "x", "zs"]
SWITCHES = [("aggressive_recomputation", False), ("recompute_views", False), ("treat_parameters_as_free_to_save", True),
            ("ban_recompute_used_far_apart", True), ("ban_recompute_long_fusible_chains", True),
            ("ban_recompute_materialized_backward", True), ("ban_recompute_not_in_allowlist", True), ("ban_recompute_reductions", True),
            ("is_non_builtin_to_include", False), ("unsafe_allow_optimization_of_collectives", False), ("impure_random", False),
            ("compat", False)]


def options_of(data):
    bits = data[0] + 256 * data[1]
    out = {name: not default for i, (name, default) in enumerate(SWITCHES) if bits >> i & 1}
    if bits >> 12 & 1:
        out["profile"] = "plain"
    if bits >> 13 & 1:
        out["max_dist_from_bw"] = 2
    if bits >> 14 & 1:
        out["activation_memory_budget"] = 0.5
    if bits >> 15 & 1:
        out["activation_memory_budget_solver"] = "greedy"
    return out


def value_of(r, most):
    size = (r[3] << r[4] % 64) & (2 ** 63 - 1)
    size = r[3] if size > most else size
    tensor = {"dtype": "uint8", "shape": [size]}
    symbols = {"symbols": [SYMBOLS[r[2] >> 4 & 3]]} if r[2] & 0x80 else {}
    kind = r[2] % 10
    if r[12] & 0x80:
        tensor["no_storage"] = True
    return [None, "null", {**tensor, **symbols}, {"sym": "int", "hint": 1, "expr": "1", **symbols},
            {"sym": "float", "hint": 1, "expr": "1", **symbols}, {"sym": "bool", "hint": True, "expr": "1", **symbols},
            {"tuple": [tensor], **symbols}, {"dict": {"a": tensor}, **symbols}, {"const": 1},
            {"opaque": "BackwardState" if r[2] & 0x40 else "FakeScriptObject"}][kind]


def node_of(r, n, most):
    d = {"name": f"n{n}", "op": seeds.OPS[r[0] % 3], "target": seeds.TARGETS[r[1] % len(seeds.TARGETS)]}
    if d["op"] != "call_function":
        return {**d, **facts_of(r, n, most)}
    items = [f"%n{r[9 + i] % n}" for i in range(r[8] % 4)] if n else []
    if r[8] & 4:
        items.append(KEYS[r[11] % 4])
    group = {"dict": dict(zip(KEYS, items))} if r[8] & 8 else items
    style = r[8] >> 4 & 3
    if style < 2:
        d["args"] = items if style == 0 else [group]
    else:
        d["kwargs"] = dict(zip(KEYS, items)) if style == 2 else {"kwargs": group}
    if r[8] & 0x40:
        d["mutated_args"] = KEYS[:1 + r[12] % 4]
    if r[8] & 0x80 and style == 3:
        d["kwargs"]["tensors_to_clone"] = [KEYS[r[12] % 4]]
    return {**d, **facts_of(r, n, most)}


def facts_of(r, n, most):
    d, value = {}, value_of(r, most)
    if value is not None:
        d["val"] = None if value == "null" else value
    for key, names, index in (("recompute", seeds.POLICIES, (r[5] & 15) % 7), ("partitioner_tag", seeds.PLACEMENTS, (r[5] >> 4 & 7) % 5)):
        if index:
            d[key] = names[index]
    given = r[6] << (4 if r[12] & 1 else 0)
    denied = (r[7] & 0x7f) << 6 if r[7] >= 0x80 else 0
    traits = [t for i, t in enumerate(seeds.TRAITS) if given >> i & 1] + ["-" + t for i, t in enumerate(seeds.TRAITS) if denied >> i & 1]
    flags = {"opaque": r[5] & 0x80, "has_backward_hook": r[12] & 2, "no_vc_check": r[12] & 4}
    d.update({k: True for k, v in flags.items() if v})
    if traits:
        d["traits"] = traits
    if 0 < r[7] < 0x80:
        d["ac_graph_id"] = r[7] & 7
    if r[12] & 8:
        d["binds"] = SYMBOLS[r[12] >> 4 & 3]
    if r[12] & 0x40 and n:
        d["alias_of"] = f"n{r[9] % n}"
    return d


def document_of(data, solve):
    data = data + bytes(5)
    k, at, nodes = data[4], 5 + data[4], []
    while at + RECORD <= len(data) - 5 and len(nodes) < (9 if solve else 250):
        nodes.append(node_of(data[at:at + RECORD], len(nodes), 2 ** 40 if solve else 2 ** 63 - 1))
        at += RECORD
    outputs = [None if b == 255 or not nodes else f"%n{b % len(nodes)}" for b in (data[5:5 + k] + bytes(k))[:k]]
    nodes.append({"name": "output", "op": "output", "target": "output", "args": outputs})
    primals = sum(d["op"] == "placeholder" and "tangents" not in d["target"] and "_seed" not in d["target"] for d in nodes)
    static = [i for i in range(8) if data[3] >> i & 1 and i < primals]
    return {"schema": "remat/graph/v1", "num_fwd_outputs": data[2] % (k + 1), "static_lifetime_inputs": static, "nodes": nodes}


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        content = f.read()
    print(json.dumps({"graph": document_of(content, sys.argv[2:] != ["graph"]), "options": options_of(content)}, indent=1))
