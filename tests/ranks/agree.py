"""Rank agreement: the engine behind rank_lines, other writings of one graph, and a reference that shares nothing with it."""
import copy
import json
import os
import random
import sys
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), part) for part in ("oracle", "support", "diff")]

import engine  # noqa: E402
import generate  # noqa: E402
import oracle  # noqa: E402

with open(os.path.join(os.path.dirname(HERE), "oracle", "optable.json"), encoding="utf-8") as f:
    TABLE = json.load(f)
generate.use_table(TABLE)


class Ranker(engine.LineProgram):
    """One rank_lines process."""

    def __init__(self):
        super().__init__("tests/ranks/rank_lines", 120)

    def ask(self, line):
        return self.ask_line(json.dumps(line))

    def compare(self, a, b, modules=False):
        return self.ask({"graphs": [a, b], "modules": modules})

    def decide(self, bodies, key="job", **more):
        return self.ask({"key": key, "bodies": bodies, **more})


def body(rank, world_size, graph, options=None, passes=None):
    out = {"rank": rank, "world_size": world_size, "graph": graph}
    if options is not None:
        out["options"] = options
    if passes is not None:
        out["passes"] = passes
    return out


# ---- other writings of one graph --------------------------------------------------------------------------------

def references(arg):
    """The names an argument refers to, in order."""
    if isinstance(arg, str):
        return [arg[1:]] if arg.startswith("%") and not arg.startswith("%%") else []
    if isinstance(arg, list):
        return [name for x in arg for name in references(x)]
    if isinstance(arg, dict):
        return [name for key in sorted(arg) for name in references(arg[key])]
    return []


def inputs(d):
    out = references(d.get("args", [])) + [name for key in sorted(d.get("kwargs", {})) for name in references(d["kwargs"][key])]
    return out + [d["alias_of"]] if "alias_of" in d else out


def with_references(arg, names):
    if isinstance(arg, str):
        return "%" + names[arg[1:]] if arg.startswith("%") and not arg.startswith("%%") else arg
    if isinstance(arg, list):
        return [with_references(x, names) for x in arg]
    if isinstance(arg, dict):
        return {key: with_references(x, names) for key, x in arg.items()}
    return arg


def with_symbols(value, symbols):
    if isinstance(value, list):
        return [with_symbols(x, symbols) for x in value]
    if not isinstance(value, dict):
        return value
    out = {key: with_symbols(x, symbols) for key, x in value.items()}
    if isinstance(value.get("symbols"), list):
        out["symbols"] = [symbols.get(s, s) for s in value["symbols"]]
    if isinstance(value.get("shape"), list):
        out["shape"] = [symbols.get(s, s) if isinstance(s, str) else s for s in value["shape"]]
    return out


def renamed(graph, names, symbols=None):
    """Other names for nodes and, if asked for, for size symbols; keywords in another order."""
    out = {**graph, "nodes": []}
    for d in graph["nodes"]:
        d = {**d, "name": names[d["name"]], "args": with_references(d.get("args", []), names),
             "kwargs": {key: with_references(x, names) for key, x in reversed(list(d.get("kwargs", {}).items()))}}
        if "alias_of" in d:
            d["alias_of"] = names[d["alias_of"]]
        if symbols:
            d["val"] = with_symbols(d.get("val"), symbols)
            if "val" not in graph["nodes"][len(out["nodes"])]:
                del d["val"]
            if "binds" in d:
                d["binds"] = symbols.get(d["binds"], d["binds"])
        out["nodes"].append(d)
    return out


def all_symbols(graph):
    found = set()

    def walk(value):
        if isinstance(value, list):
            for x in value:
                walk(x)
        elif isinstance(value, dict):
            found.update(value["symbols"] if isinstance(value.get("symbols"), list) else ())
            for x in value.values():
                walk(x)
    for d in graph["nodes"]:
        walk(d.get("val"))
        if "binds" in d:
            found.add(d["binds"])
    return sorted(found)


def is_primal(d):
    return d["op"] == "placeholder" and not any(
        word in d["target"] for word in ("tangents", "bwd_seed", "bwd_base_offset", "fwd_seed", "fwd_base_offset"))


def reordered(graph, r):
    """A random topological order of all nodes; static inputs stay the same nodes."""
    nodes = {d["name"]: d for d in graph["nodes"]}
    static = {d["name"] for i, d in enumerate(filter(is_primal, graph["nodes"])) if i in set(graph.get("static_lifetime_inputs", ()))}
    waiting, readers = {}, {}
    for d in graph["nodes"]:
        needs = set(inputs(d))
        waiting[d["name"]] = len(needs)
        for name in needs:
            readers.setdefault(name, []).append(d["name"])
    last = graph["nodes"][-1]["name"]
    ready, out = [n for n, k in waiting.items() if k == 0 and n != last], []
    while ready:
        i = r.randrange(len(ready))
        ready[i], ready[-1] = ready[-1], ready[i]
        name = ready.pop()
        out.append(nodes[name])
        for reader in readers.get(name, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0 and reader != last:
                ready.append(reader)
    assert len(out) == len(nodes) - 1
    out.append(nodes[last])
    primals = [d["name"] for d in out if is_primal(d)]
    return {**graph, "nodes": out, "static_lifetime_inputs": [i for i, name in enumerate(primals) if name in static]}


def rewritten(graph, r):
    """(the same structure written otherwise, new name by old name)."""
    labels = [f"v{k}" for k in range(len(graph["nodes"]))]
    r.shuffle(labels)
    names = {d["name"]: label for d, label in zip(graph["nodes"], labels)}
    found = all_symbols(graph)
    fresh = [f"z{k}" for k in range(len(found))]
    r.shuffle(fresh)
    return reordered(renamed(graph, names, dict(zip(found, fresh))), r), names


def resized(graph, r):
    """Other sizes: each symbol, and each concrete size above 1, gets a number of its own everywhere."""
    by = {}

    def size(s):
        return by.setdefault(s, r.choice([1, 2, 3, 5, 8, 40, 300, 2000]) if s not in (0, 1) else s)

    def walk(value):
        if isinstance(value, list):
            return [walk(x) for x in value]
        if not isinstance(value, dict):
            return value
        out = {key: walk(x) if key in ("tuple", "dict") or isinstance(x, dict) else x for key, x in value.items()}
        if isinstance(value.get("shape"), list):
            hints = [size(s) for s in value["shape"]]
            if any(isinstance(s, str) for s in value["shape"]):
                out["hint"] = hints
            else:
                out["shape"] = hints
                out.pop("hint", None)
            out.pop("numel_hint", None)
        return out
    graph = copy.deepcopy(graph)
    for d in graph["nodes"]:
        if "val" in d:
            d["val"] = walk(d["val"])
    return graph


# ---- reference ----------------------------------------------------------------------------------------------------

def own_facts(d, static):
    """What a node is by itself, without names and sizes, as text."""
    def value(v):
        if isinstance(v, list):
            return [value(x) for x in v]
        if not isinstance(v, dict):
            return "const" if v is not None else None
        if "dtype" in v:
            return ["tensor", v["dtype"], len(v["shape"]), len(v.get("symbols", ())), bool(v.get("no_storage"))]
        if "sym" in v:
            return ["sym", v["sym"], len(v.get("symbols", ()))]
        if "tuple" in v:
            return ["tuple", value(v["tuple"])]
        if "dict" in v:
            return ["dict", [value(x) for x in v["dict"].values()]]
        return ["opaque", v["opaque"]] if "opaque" in v else ["const"]

    def argument(arg, is_group=False):
        if isinstance(arg, str):
            return "group" if is_group else "%" if references(arg) else arg
        if isinstance(arg, list):
            return [argument(x) for x in arg]
        if isinstance(arg, dict):
            if not set(arg) & {"dict", "slice", "float"}:
                return {}
            return {key: argument(x) for key, x in sorted(arg.items())}
        return [type(arg).__name__, arg]
    collective = d["target"].startswith("_c10d_functional.")
    args = d.get("args", [])
    keep = ("recompute", "ac_graph_id", "partitioner_tag", "has_backward_hook", "no_vc_check", "opaque", "traits", "memory_budget",
            "mutated_args")
    role = next((word for word in ("tangents", "bwd_seed", "bwd_base_offset", "fwd_seed", "fwd_base_offset") if word in d["target"]),
                "primal").split("_")[0]
    return json.dumps([d["op"], role if d["op"] == "placeholder" else d["target"], {k: d[k] for k in keep if d.get(k)},
                       value(d["val"]) if "val" in d else "absent", "binds" in d, "alias_of" in d, static,
                       [argument(x, collective and i == len(args) - 1) for i, x in enumerate(args)],
                       {k: argument(x, collective and k == "group_name") for k, x in sorted(d.get("kwargs", {}).items())}])


def colors(graph, rounds=12):
    """Colour refinement over names that are thrown away: a multiset that equal structures share."""
    static = set(graph.get("static_lifetime_inputs", ()))
    primals = {d["name"]: i for i, d in enumerate(filter(is_primal, graph["nodes"]))}
    color = {d["name"]: hash((own_facts(d, primals.get(d["name"]) in static), graph["num_fwd_outputs"])) for d in graph["nodes"]}
    for _ in range(rounds):
        up = {name: [] for name in color}
        for d in graph["nodes"]:
            for i, name in enumerate(inputs(d)):
                up[name].append((i, color[d["name"]]))
        new = {}
        for d in graph["nodes"]:
            new[d["name"]] = hash((color[d["name"]], tuple(new[n] for n in inputs(d)), tuple(sorted(up[d["name"]]))))
        if len(set(new.values())) == len(set(color.values())) and _ > 2:
            break
        color = new
    return Counter(color.values())


class Decision:
    """What one rank decides for itself, in the names of the base graph."""

    def __init__(self, plan, back):
        self.saved = frozenset(back[n] for n in plan["saved"])
        self.rest = frozenset(back[n] for n in plan["saved_sym"] + plan["saved_opaque"])

    def __eq__(self, other):
        return other is not None and (self.saved, self.rest) == (other.saved, other.rest)

    def cost(self, graph, names):
        """Saved bytes on a rank that calls base node n names[n]."""
        g = oracle.Graph(graph, TABLE)
        return sum(g.size(g.by[names[n]]) for n in self.saved)


def decide(ranks):
    """(rank, worst) by trying every decision on every rank; ranks: [(graph, names, Decision or None)]."""
    best = None
    for rank, (_, _, decision) in enumerate(ranks):
        if decision is None:
            continue
        worst = max(decision.cost(graph, names) for graph, names, _ in ranks)
        if best is None or worst < best[1]:
            best = (rank, worst)
    return best


def carried_out(graph, options, names, decision):
    """The plan's lists when a rank has to hand these values over, by the oracle."""
    opt = {**oracle.DEFAULTS, **{k: v for k, v in options.items() if k in oracle.DEFAULTS}}
    g = oracle.without_dead_code(oracle.Graph(graph, TABLE), opt)
    oracle.clean_tags(g, opt)
    wanted = {names[n] for n in decision.saved | decision.rest} | {n.name for n in g.nodes if oracle.is_backward_state(n)}
    # script objects are handed over without being listed
    wanted |= {n.name for n in g.nodes if oracle.opaque_kind(n) == "FakeScriptObject"}
    out = {}
    oracle.extract(g, [n for n in g.nodes if n.name in wanted], opt, out)
    return {key: sorted(out[key]) for key in ("saved", "saved_sym", "saved_opaque", "recomputed")}
