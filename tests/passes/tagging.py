"""Passes over tags: the engine behind tags_lines, references to compare with, and graphs worth tagging."""
import json
import lzma
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), part) for part in ("oracle", "support", "diff")]

import data  # noqa: E402
import engine  # noqa: E402
import generate  # noqa: E402
import oracle  # noqa: E402

with open(os.path.join(os.path.dirname(HERE), "oracle", "optable.json"), encoding="utf-8") as f:
    TABLE = json.load(f)
generate.use_table(TABLE)

REGION = 100000
GATHER, WAIT = "_c10d_functional.all_gather_into_tensor.default", "_c10d_functional.wait_tensor.default"
ATTENTION = "aten._scaled_dot_product_flash_attention_for_cpu.default"
WANTED = ("prefer_recompute", "must_recompute")


class Tagger(engine.LineProgram):
    """One tags_lines process."""

    def __init__(self):
        super().__init__("tests/passes/tags_lines", 60)

    def ask(self, graph, passes, **more):
        """The whole answer to one line; `more`: fail_at, max_steps."""
        return self.ask_line(json.dumps({"graph": graph, "passes": passes, **more}))

    def tags(self, graph, *passes):
        answer = self.ask(graph, list(passes))
        if "tags" not in answer:
            raise AssertionError(f"no tags: {answer}")
        return answer["tags"]


# ---- corpus -----------------------------------------------------------------

def tag_files():
    folder = os.path.join(data.DATA, "corpus")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".tags.json.xz"):
            with lzma.open(os.path.join(folder, name), "rt", encoding="utf-8") as f:
                yield name[:-len(".tags.json.xz")], json.load(f)


def corpus_graph(name):
    return json.loads(data.corpus_graph_text(name))


# ---- tags in documents ------------------------------------------------------

def tags_of(graph):
    return {d["name"]: [d["recompute"], d.get("ac_graph_id")] for d in graph["nodes"] if "recompute" in d}


def with_tags(graph, tags):
    """The document with exactly these tags."""
    nodes = []
    for d in graph["nodes"]:
        d = {k: v for k, v in d.items() if k not in ("recompute", "ac_graph_id")}
        if d["name"] in tags:
            d["recompute"], region = tags[d["name"]]
            if region is not None:
                d["ac_graph_id"] = region
        nodes.append(d)
    return {**graph, "nodes": nodes}


def changes_between(graph, before, after):
    """What a pass must report, in node order."""
    return [[d["name"], before.get(d["name"]), after.get(d["name"])]
            for d in graph["nodes"] if before.get(d["name"]) != after.get(d["name"])]


# ---- references -------------------------------------------------------------

def is_forward_call(d):
    return d["op"] == "call_function" and d.get("partitioner_tag") not in ("is_backward", "must_be_in_backward")


def source_of(d):
    arg = (d.get("args") or [None])[0]
    return arg[1:] if isinstance(arg, str) and arg.startswith("%") and not arg.startswith("%%") else None


def module_region(module, pattern):
    """The beginning of a module path that the pattern matches, or None."""
    path = re.sub(r"^L\['self'\](\.|$)", "", module).split(".")
    parts = re.sub(r"^L\['self'\]\.", "", pattern).split(".")
    if len(path) < len(parts) or "" in path[:len(parts)]:
        return None
    ok = all(re.fullmatch(".*".join(map(re.escape, p.split("*"))), x, re.S) for p, x in zip(parts, path))
    return ".".join(path[:len(parts)]) if ok else None


def sac_policy(graph, p):
    """sac_policy from its description, without regard to cost."""
    tags, nodes = tags_of(graph), graph["nodes"]
    calls = [d for d in nodes if is_forward_call(d) and d["target"] != "getitem"]
    regions, of = [], {}
    for d in calls:
        key = "" if "modules" not in p else module_region(d["module"], p["modules"]) if "module" in d else None
        if key is not None:
            of[d["name"]] = key
            if key not in regions:
                regions.append(key)
    top, ids = max([g for _, g in tags.values() if g is not None and g != REGION] + [0]), {}
    for key in regions:
        top += 1 + (top + 1 == REGION)
        ids[key] = top
    saved = set()
    for entry in p.get("save", []):
        target, every = (entry, 1) if isinstance(entry, str) else (entry["op"], entry.get("every", 1))
        for key in regions:
            found = [d["name"] for d in calls if d["target"] == target and of.get(d["name"]) == key]
            saved.update(found[::every])
    for d in nodes:
        name = d["name"]
        if name in tags or not is_forward_call(d):
            continue
        if d["target"] == "getitem":
            if source_of(d) in tags:
                tags[name] = list(tags[source_of(d)])
        elif name in of:
            tags[name] = ["must_save" if name in saved else p["otherwise"], ids[of[name]]]
    return tags


def repair_tags(graph, _=None):
    """repair_tags from its description: again and again until nothing contradicts."""
    tags, g = tags_of(graph), oracle.Graph(graph, TABLE)

    def recomputed(n):
        while n.target == "getitem" and n.op == "call_function" and n.name not in tags and source_of(n.d):
            n = g.by[source_of(n.d)]
        return tags.get(n.name, [None])[0] in WANTED

    for n in g.nodes:
        if n.name not in tags or n.op != "call_function" or source_of(n.d) is None:
            continue
        wanted, source = tags[n.name][0] in WANTED, recomputed(g.by[source_of(n.d)])
        if wanted and not source and n.target in ("getitem", WAIT):
            del tags[n.name]
        elif source and not wanted and (n.target == "getitem" or g.cls(n, "view")):
            del tags[n.name]
    return tags


def set_tags(graph, p):
    """set_tags on the members of the nodes."""
    tags = tags_of(graph)
    for name, tag in p["tags"].items():
        if isinstance(tag, str):
            tag = [tag, tags.get(name, [None, None])[1]]
        tags.pop(name, None)
        if tag is not None:
            tags[name] = tag
    return tags


def reference(graph, p):
    """Tags after one pass, by the oracle where it has the pass."""
    if p["pass"] == "sac_policy":
        return sac_policy(graph, p)
    if p["pass"] == "repair_tags":
        return repair_tags(graph)
    if p["pass"] == "set_tags":
        return set_tags(graph, p)
    if p["pass"] == "stage_recomputation":  # which is autoparallel with nothing to save
        p = {"pass": "autoparallel", "stage_size_gib": p["stage_size_gib"], "save": []}
    return oracle.apply_passes(graph, TABLE, [p])


def references(graph, passes):
    """Tags after each of the passes, one after the other."""
    out = []
    for p in passes:
        graph = with_tags(graph, reference(graph, p))
        out.append(tags_of(graph))
    return out


# ---- graphs and passes ------------------------------------------------------

def random_document(seed):
    """A random graph whose nodes have modules and whose tags are sometimes of the passes' own region."""
    document, _ = generate.graph(seed)
    r = random.Random(f"modules {seed}")
    depth, blocks = r.choice([0, 0.1, 1]), r.randint(1, 5)
    for i, d in enumerate(document["nodes"]):
        d["module"] = r.choice(["L['self'].", ""]) + r.choice(
            ["head", "emb", f"blocks.{i * blocks // len(document['nodes'])}", f"blocks.{r.randrange(blocks)}.attn.q",
             f"enc.layer{r.randrange(3)}", "blocks", f"blocks.{r.randrange(3)}.mlp"])
        if d["op"] != "call_function" or r.random() < 0.2 * depth:
            del d["module"]
        if "recompute" in d and r.random() < 0.3:
            d["ac_graph_id"] = REGION
        if "recompute" not in d and r.random() < 0.02:
            d["ac_graph_id"] = r.choice([REGION, 7])
    return document


class Chains:
    """Gathered parameters in all shapes that semantics 10.9 and 10.10 tell apart."""

    def __init__(self, seed):
        self.r, self.nodes = random.Random(f"chains {seed}"), []

    def add(self, target, args, **more):
        name = f"n{len(self.nodes)}"
        d = {"name": name, "op": "call_function", "target": target, "args": args,
             "val": {"dtype": "bfloat16", "shape": [self.r.choice([1, 4, 64])]}, **more}
        if self.r.random() < 0.15:
            d["recompute"] = self.r.choice(generate.POLICIES)
            if self.r.random() < 0.7:
                d["ac_graph_id"] = self.r.choice([1, 2, REGION])
        if self.r.random() < 0.08 and d["op"] == "call_function":
            d["partitioner_tag"] = self.r.choice(["must_be_in_forward", "is_forward", "is_backward", "must_be_in_backward"])
        self.nodes.append(d)
        return "%" + name

    def step(self, x):
        r, kind = self.r, self.r.random()
        if kind < 0.3:
            return self.add(r.choice(["aten.view.default", "aten.transpose.int", "aten.alias.default"]), [x])
        if kind < 0.5:
            return self.add(r.choice(["prims.convert_element_type.default", "aten.clone.default"]), [x])
        if kind < 0.6:
            return self.add(WAIT, [self.add(GATHER, [x, 8, "0"])])
        if kind < 0.9:
            return self.split(x)
        return self.add("aten.add.Tensor", [x, r.choice(self.ends or [x])])

    def split(self, x):
        r = self.r
        split = self.add("aten.split.Tensor", [x, 2], val={"tuple": [{"dtype": "bfloat16", "shape": [2]}] * 3})
        parts = [self.add("getitem", [split, i]) for i in range(r.randint(1, 3))]
        if r.random() < 0.2:
            parts.append(self.add("aten.neg.default", [r.choice(parts + [split])]))
        if self.ends and r.random() < 0.1:
            parts.append(r.choice(self.ends))
        if r.random() < 0.1:
            parts.pop()
        return self.add("aten.cat.default" if r.random() < 0.9 else "aten.stack.default", [parts])

    def document(self):
        r, self.ends = self.r, []
        n = r.randint(1, 5)
        for i in range(n):
            self.add(f"primals_{i + 1}", [], op="placeholder")
        tangent = self.add("tangents_1", [], op="placeholder")
        for i in range(n):
            x = f"%n{i}"
            for _ in range(r.choice([0, 0, 1, 2])):
                x = self.step(x) if r.random() < 0.3 else self.add("prims.convert_element_type.default", [x])
            if r.random() < 0.9:
                gather = self.add(GATHER, [x, 8, "0"])
                x = self.add(WAIT, [gather]) if r.random() < 0.97 else gather
            for _ in range(r.randint(0, 5)):
                x = self.step(x)
            for _ in range(r.choice([0, 1, 1, 2])):
                self.ends.append(self.add("aten.mm.default", [x, r.choice(self.ends or [x])]))
            self.ends.append(x)
        grads = [self.add("aten.mm.default", [tangent, r.choice(self.ends)], partitioner_tag="is_backward") for _ in range(3)]
        self.add("output", [r.choice(self.ends)] + grads, op="output")
        return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": self.nodes}


def random_pass(r, document):
    targets = [d["target"] for d in document["nodes"] if d["op"] == "call_function" and d["target"] != "getitem"] or ["aten.mm.default"]
    kind = r.choice(["sac_policy", "sac_policy", "stage_recomputation", "autoparallel", "fsdp_all_gather", "repair_tags", "set_tags"])
    names = r.sample(targets, min(len(targets), r.randint(0, 3))) + r.sample(["aten.mm.default", "mylib.absent.default"], r.randint(0, 2))
    p = {"pass": kind}
    if kind == "sac_policy":
        p["otherwise"] = r.choice(generate.POLICIES)
        p["save"] = [x if r.random() < 0.5 else {"op": x, "every": r.choice([1, 2, 2, 3, 5, 1000])} for x in names]
        if r.random() < 0.8:
            p["modules"] = r.choice(["blocks.*", "blocks.*.attn", "*", "enc.layer*", "*.*", "blocks.1", "no.such", "L['self'].blocks.*"])
    if kind == "set_tags":
        policies = [*generate.POLICIES, None]
        p["tags"] = {d["name"]: r.choice([r.choice(policies), [r.choice(generate.POLICIES), r.choice([None, 1, REGION])]])
                     for d in r.sample(document["nodes"], r.randint(0, 4))}
    if kind in ("stage_recomputation", "autoparallel"):
        p["stage_size_gib"] = r.choice(["auto", None, 0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 2.0])
    if kind == "autoparallel" and r.random() < 0.5:
        p["save"] = names
    if kind == "fsdp_all_gather":
        p["reshard_after_forward"] = r.random() < 0.5
    return p
