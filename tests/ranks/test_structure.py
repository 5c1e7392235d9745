"""Graphs that differ in names and order alone have one structure, node for node; any other change is found and named."""
# level: quick
# variants: asan
import json
import random
import unittest

import agree

import data
import engine
import generate

N_GRAPHS = engine.at_level(quick=60, full=150, torture=10000)
N_CORPUS = {"quick": 8, "full": 16, "torture": 1000}[engine.LEVEL]


def corpus(n):
    names = data.corpus_names()
    for name in random.Random(5).sample(names, min(n, len(names))):
        graph = json.loads(data.corpus_graph_text(name))
        if len(graph["nodes"]) < 6000:
            yield name, graph


def graphs():
    for seed in range(7_000_000, 7_000_000 + N_GRAPHS):
        yield str(seed), generate.graph(seed)[0]


def clone(graph):
    """A copy in which no two nodes share a value."""
    return json.loads(json.dumps(graph))


def nameless(d):
    """A node without what only names say: symbols, and a placeholder's label."""
    target = None if d["op"] == "placeholder" else d["target"]
    return json.dumps({**d, "val": None, "binds": None, "target": target}, sort_keys=True)


class Same(unittest.TestCase):
    def check(self, ranker, graph, r):
        other, names = agree.rewritten(graph, r)
        answer = ranker.compare(graph, other)
        self.assertTrue(answer["same"], answer["difference"])
        self.assertIsNone(answer["difference"])
        pairs = dict(answer["pairs"])
        self.assertEqual(len(pairs), len(graph["nodes"]))
        # what stands at one place corresponds: taking the names over gives the other graph but for symbols' names
        want = {d["name"]: nameless(d) for d in other["nodes"]}
        for d in agree.renamed(graph, pairs)["nodes"]:
            self.assertEqual(nameless(d), want[d["name"]])
        return sum(pairs[a] == b for a, b in names.items()) / len(names)

    def test_random_graphs_rewritten(self):
        with agree.Ranker() as ranker:
            found = []
            for name, graph in graphs():
                with self.subTest(name):
                    found.append(self.check(ranker, graph, random.Random(name)))
        self.assertGreater(sum(found) / len(found), 0.97)  # few nodes can be exchanged

    def test_corpus_rewritten(self):
        n = 0
        with agree.Ranker() as ranker:
            for name, graph in corpus(N_CORPUS):
                with self.subTest(name):
                    self.assertGreater(self.check(ranker, graph, random.Random(name)), 0.98)
                    n += 1
        self.assertGreaterEqual(n, N_CORPUS // 2)

    def test_sizes_are_no_structure(self):
        with agree.Ranker() as ranker:
            for name, graph in graphs():
                with self.subTest(name):
                    self.assertTrue(ranker.compare(graph, agree.resized(graph, random.Random(name)))["same"])

    def test_many_of_the_same(self):
        """Equal unused inputs, equal dead readers, equal chains: exchanged freely, in any order."""
        t = {"dtype": "float32", "shape": [4]}
        nodes = [{"name": f"p{i}", "op": "placeholder", "target": f"primals_{i}", "val": t} for i in range(200)]
        for i in range(100):
            for k in range(3):
                nodes.append({"name": f"dead{i}_{k}", "op": "call_function", "target": "aten.relu.default",
                              "args": [f"%p{i}" if k == 0 else f"%dead{i}_{k - 1}"], "val": t})
        for i in range(300):
            nodes.append({"name": f"leaf{i}", "op": "call_function", "target": "aten.neg.default", "args": ["%p150"], "val": t})
        nodes.append({"name": "output", "op": "output", "target": "output", "args": ["%p199"]})
        graph = {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": nodes}
        with agree.Ranker() as ranker:
            self.check(ranker, graph, random.Random(3))

    def test_a_ring_that_nobody_reads(self):
        """Its nodes look alike, but not every exchange is one."""
        t = {"dtype": "float32", "shape": [4]}
        n = 9
        nodes = [{"name": f"p{i}", "op": "placeholder", "target": f"primals_{i}", "val": t} for i in range(n)]
        nodes += [{"name": f"e{i}", "op": "call_function", "target": "aten.sub.Tensor", "args": [f"%p{i}", f"%p{(i + 1) % n}"], "val": t}
                  for i in range(n)]
        nodes.append({"name": "output", "op": "output", "target": "output", "args": []})
        graph = {"schema": "remat/graph/v1", "num_fwd_outputs": 0, "nodes": nodes}
        with agree.Ranker() as ranker:
            for seed in range(20):
                self.check(ranker, graph, random.Random(seed))

    def test_process_groups_and_devices_are_no_structure(self):
        t = {"dtype": "float32", "shape": [4]}

        def graph(group, device):
            return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": [
                {"name": "x", "op": "placeholder", "target": "primals_1", "val": t},
                {"name": "f", "op": "call_function", "target": "aten.full.default", "args": [[4], 1],
                 "kwargs": {"device": {"device": device}, "pin_memory": False}, "val": t},
                {"name": "a", "op": "call_function", "target": "aten.add.Tensor", "args": ["%x", "%f"], "val": t},
                {"name": "r", "op": "call_function", "target": "_c10d_functional.all_reduce.default", "args": ["%a", "sum", group], "val": t},
                {"name": "w", "op": "call_function", "target": "_c10d_functional.wait_tensor.default", "args": ["%r"], "val": t},
                {"name": "output", "op": "output", "target": "output", "args": ["%w"]}]}
        with agree.Ranker() as ranker:
            self.assertTrue(ranker.compare(graph("0", "cuda:0"), graph("17", "cuda:3"))["same"])
            other = graph("0", "cuda:0")
            other["nodes"][3]["args"][1] = "avg"
            answer = ranker.compare(graph("0", "cuda:0"), other)
            self.assertFalse(answer["same"])
            self.assertIn("argument 1: string sum against avg", answer["difference"]["what"])


# ---- changes ----------------------------------------------------------------------------------------------------

def pick(r, items):
    items = list(items)
    return r.choice(items) if items else None


def other_operator(graph, r):
    d = pick(r, (d for d in graph["nodes"] if d["op"] == "call_function"))
    if d is not None:
        d["target"] = "aten.some_other.default"
    return d


def other_dtype(graph, r):
    d = pick(r, (d for d in graph["nodes"] if "dtype" in (d.get("val") or {})))
    if d is not None:
        d["val"]["dtype"] = "int32" if d["val"]["dtype"] != "int32" else "int16"
    return d


def other_rank(graph, r):
    d = pick(r, (d for d in graph["nodes"] if "dtype" in (d.get("val") or {}) and "hint" not in d["val"]))
    if d is not None:
        d["val"]["shape"] = [1] + d["val"]["shape"]
    return d


def other_tag(graph, r):
    d = pick(r, (d for d in graph["nodes"] if d["op"] == "call_function"))
    if d is not None:
        d["recompute"] = "must_save" if d.get("recompute") != "must_save" else "prefer_save"
    return d


def other_placement(graph, r):
    d = pick(r, (d for d in graph["nodes"] if d["op"] == "call_function"))
    if d is not None:
        d["partitioner_tag"] = "is_forward" if d.get("partitioner_tag") != "is_forward" else "is_backward"
    return d


def other_literal(graph, r):
    d = pick(r, (d for d in graph["nodes"] if d["op"] == "call_function" and any(type(x) is int for x in d.get("args", []))))
    if d is not None:
        i = r.choice([i for i, x in enumerate(d["args"]) if type(x) is int])
        d["args"][i] += 1
    return d


def other_trait(graph, r):
    d = pick(r, (d for d in graph["nodes"] if d["op"] == "call_function" and "traits" not in d))
    if d is not None:
        d["traits"] = ["random"]
    return d


FACETS = (other_operator, other_dtype, other_rank, other_tag, other_placement, other_literal, other_trait)


def other_edge(graph, r):
    """One reference goes to another node of another kind."""
    by = {d["name"]: d for d in graph["nodes"]}
    where = {d["name"]: i for i, d in enumerate(graph["nodes"])}
    d = pick(r, (d for d in graph["nodes"] if any(isinstance(x, str) and agree.references(x) for x in d.get("args", []))))
    if d is None:
        return None
    i = r.choice([i for i, x in enumerate(d["args"]) if isinstance(x, str) and agree.references(x)])
    old = by[d["args"][i][1:]]
    new = pick(r, (x for x in graph["nodes"][:where[d["name"]]] if x["op"] != "output" and x["target"] != old["target"]))
    if new is None:
        return None
    d["args"][i] = "%" + new["name"]
    return d


def other_outputs(graph, r):
    d = graph["nodes"][-1]
    places = [i for i, x in enumerate(d["args"]) if x is not None]
    pairs = [(i, k) for i in places for k in places if d["args"][i] != d["args"][k]]
    if not pairs:
        return None
    i, k = r.choice(pairs)
    d["args"][i], d["args"][k] = d["args"][k], d["args"][i]
    return d


def other_count(graph, r):
    if graph["num_fwd_outputs"] == 0:
        return None
    graph["num_fwd_outputs"] -= 1
    return graph["nodes"][-1]


def one_more(graph, r):
    d = {"name": "one_more", "op": "call_function", "target": "aten.relu.default", "args": [], "kwargs": {}, "val": None}
    graph["nodes"].insert(len(graph["nodes"]) - 1, d)
    return d


def other_alias(graph, r):
    d = pick(r, (d for d in graph["nodes"] if "alias_of" in d))
    if d is not None:
        del d["alias_of"]
    return d


EDGES = (other_edge, other_outputs, other_count, one_more, other_alias)


class Different(unittest.TestCase):
    def test_a_changed_node_is_named(self):
        """Whatever else is called and ordered otherwise: the node is named on both sides, with what differs."""
        counts = dict.fromkeys(FACETS, 0)
        with agree.Ranker() as ranker:
            for name, graph in graphs():
                r = random.Random(name)
                for change in r.sample(FACETS, 3):
                    changed = clone(graph)
                    d = change(changed, r)
                    if d is None:
                        continue
                    counts[change] += 1
                    other, names = agree.rewritten(changed, r)
                    with self.subTest(name, change=change.__name__, node=d["name"]):
                        answer = ranker.compare(graph, other)
                        self.assertFalse(answer["same"])
                        self.assertIsNotNone(answer["difference"])
                        self.assertNotEqual(agree.colors(graph), agree.colors(other))
                        if agree.references("%" + d["name"])[0] in reached(graph):
                            self.assertEqual(answer["difference"]["nodes"], [d["name"], names[d["name"]]])
        self.assertTrue(all(n > N_GRAPHS // 10 for n in counts.values()), counts)

    def test_changed_edges_and_outputs_are_found(self):
        counts = dict.fromkeys(EDGES, 0)
        with agree.Ranker() as ranker:
            for name, graph in graphs():
                r = random.Random(name)
                for change in EDGES:
                    changed = clone(graph)
                    if change(changed, r) is None:
                        continue
                    other, _ = agree.rewritten(changed, r)
                    same = agree.colors(graph) == agree.colors(other)
                    counts[change] += not same
                    with self.subTest(name, change=change.__name__):
                        answer = ranker.compare(graph, other)
                        if not same:
                            self.assertFalse(answer["same"])
                        self.assertEqual(answer["same"], answer["difference"] is None)
        self.assertTrue(all(n > N_GRAPHS // 10 for n in counts.values()), counts)

    def test_unrelated_graphs_differ(self):
        with agree.Ranker() as ranker:
            last = None
            for name, graph in graphs():
                if last is not None:
                    with self.subTest(name):
                        answer = ranker.compare(last, graph)
                        self.assertFalse(answer["same"])
                        self.assertTrue(answer["difference"]["what"])
                last = graph

    def test_corpus_changes_are_named(self):
        with agree.Ranker() as ranker:
            for name, graph in corpus(N_CORPUS // 2):
                r = random.Random(name)
                live = reached(graph)
                for change in (other_operator, other_dtype, other_tag):
                    changed = clone(graph)
                    d = change(changed, r)
                    if d is None or d["name"] not in live:
                        continue
                    other, names = agree.rewritten(changed, r)
                    with self.subTest(name, change=change.__name__, node=d["name"]):
                        self.assertEqual(ranker.compare(graph, other)["difference"]["nodes"], [d["name"], names[d["name"]]])

    def test_symbols_bound_elsewhere(self):
        def graph(first, second):
            sym = {"sym": "int", "hint": 3}
            t = {"dtype": "float32", "shape": ["s0"], "hint": [3], "symbols": ["s0"]}
            return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": [
                {"name": "a", "op": "placeholder", "target": "primals_1", "val": {**sym, "symbols": [first]}, "binds": first},
                {"name": "b", "op": "placeholder", "target": "primals_2", "val": {**sym, "symbols": [second]}, "binds": second},
                {"name": "x", "op": "placeholder", "target": "primals_3", "val": t},
                {"name": "y", "op": "call_function", "target": "aten.view.default", "args": ["%x", ["%a", "%b"]], "val": t},
                {"name": "output", "op": "output", "target": "output", "args": ["%y"]}]}
        with agree.Ranker() as ranker:
            answer = ranker.compare(graph("s0", "s1"), graph("s1", "s0"))
            self.assertFalse(answer["same"])
            self.assertIn("size symbols", answer["difference"]["what"])

    def test_modules_count_only_where_a_pass_reads_them(self):
        name, graph = next((n, g) for n, g in corpus(100) if any("module" in d for d in g["nodes"]))
        other = clone(graph)
        d = next(d for d in other["nodes"] if "module" in d)
        d["module"] += ".other"
        with agree.Ranker() as ranker:
            self.assertTrue(ranker.compare(graph, other)["same"], name)
            answer = ranker.compare(graph, other, modules=True)
            self.assertFalse(answer["same"])
            self.assertEqual(answer["difference"]["nodes"], [d["name"], d["name"]])
            self.assertIn("module", answer["difference"]["what"])


def reached(graph):
    by = {d["name"]: d for d in graph["nodes"]}
    found, todo = set(), [graph["nodes"][-1]["name"]]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += agree.inputs(by[name])
    return found


if __name__ == "__main__":
    unittest.main()
