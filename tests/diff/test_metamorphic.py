"""Changes to a graph that may not change the decision, or change it in a known way."""
import copy
import random
import unittest

import reference

import compare
import engine
import generate

N_GRAPHS = {"quick": 60, "full": 600, "torture": 20000}[engine.LEVEL]
LISTS = ("saved", "saved_sym", "saved_opaque", "recomputed")


def mapped_arg(arg, names):
    if isinstance(arg, str):
        return "%" + names[arg[1:]] if arg.startswith("%") and arg[1:] in names else arg
    if isinstance(arg, list):
        return [mapped_arg(x, names) for x in arg]
    if isinstance(arg, dict):
        return {k: mapped_arg(v, names) for k, v in arg.items()}
    return arg


def renamed(document, names):
    document = copy.deepcopy(document)
    for d in document["nodes"]:
        d["name"] = names[d["name"]]
        if "alias_of" in d:
            d["alias_of"] = names[d["alias_of"]]
        d["args"] = [mapped_arg(x, names) for x in d.get("args", [])]
        d["kwargs"] = {k: mapped_arg(x, names) for k, x in d.get("kwargs", {}).items()}
    return document


def essence(plan):
    """What a decision is, without what merely describes it."""
    out = {"outcome": plan["outcome"], "blamed": compare.blamed_node(plan), "path": compare.path_text(plan)}
    out.update({k: plan.get(k) for k in LISTS})
    out["cuts"] = [{k: c.get(k) for k in ("value", "vertices", "edges", "nodes", "unbounded")} for c in plan.get("cuts", [])]
    out["bans"] = plan.get("bans")
    return out


def translated(value, names):
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [translated(x, names) for x in value]
    if isinstance(value, dict):
        return {k: translated(x, names) for k, x in value.items()}
    return value


def scaled_value(value, k):
    if not isinstance(value, dict):
        return value
    value = copy.deepcopy(value)
    for key in ("tuple",):
        if key in value:
            value[key] = [scaled_value(x, k) for x in value[key]]
    if "dict" in value:
        value["dict"] = {name: scaled_value(x, k) for name, x in value["dict"].items()}
    if "shape" in value:
        value["shape"] = [k] + value["shape"]
        if "hint" in value:
            value["hint"] = [k] + value["hint"]
        if "numel_hint" in value:
            value["numel_hint"] *= k
    return value


def shuffled(document, r):
    """Another topological order: placeholders and output keep their places."""
    nodes = {d["name"]: d for d in document["nodes"]}
    needs = {}
    for d in document["nodes"]:
        found = set()
        text = [d.get("args", []), list(d.get("kwargs", {}).values()), "%" + d.get("alias_of", "")]
        while text:
            x = text.pop()
            if isinstance(x, str) and x.startswith("%") and x[1:] in nodes:
                found.add(x[1:])
            elif isinstance(x, list):
                text += x
            elif isinstance(x, dict):
                text += list(x.values())
        needs[d["name"]] = found
    head = [d for d in document["nodes"] if d["op"] == "placeholder"]
    rest = [d for d in document["nodes"][:-1] if d["op"] != "placeholder"]
    done, out = {d["name"] for d in head}, list(head)
    while rest:
        d = r.choice([d for d in rest if needs[d["name"]] <= done])
        rest.remove(d)
        done.add(d["name"])
        out.append(d)
    return {**document, "nodes": out + document["nodes"][-1:]}


class Metamorphic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        generate.use_table(reference.TABLE)
        cls.planner = engine.Planner()
        cls.requests = [generate.graph(seed) for seed in range(5_000_000, 5_000_000 + N_GRAPHS)]

    @classmethod
    def tearDownClass(cls):
        cls.planner.close()

    def plan(self, document, options):
        answer = self.planner.ask(document, options)
        return None if answer.kind == "problem" else answer.doc

    def each(self, wanted):
        """(seed index, random source, document, options, plan) of answered graphs."""
        n = 0
        for i, (document, options) in enumerate(self.requests):
            plan = self.plan(document, options)
            if plan is not None:
                n += 1
                with self.subTest(graph=document["name"]):
                    yield random.Random(i), document, options, plan
        self.assertGreaterEqual(n, wanted)

    def test_renaming_changes_names_only(self):
        for r, document, options, plan in self.each(N_GRAPHS * 3 // 4):
            labels = [f"n{k}" for k in range(len(document["nodes"]))]
            r.shuffle(labels)
            names = {d["name"]: label for d, label in zip(document["nodes"], labels)}
            want = essence(plan)
            path, want["path"] = want["path"], None
            got = essence(self.plan(renamed(document, names), options))
            got_path, got["path"] = got["path"], None
            self.assertEqual(got, translated(want, names))
            if path:
                steps = [s.rsplit("_", 1) for s in path.split(" -> ")[1:-1]]
                self.assertEqual(got_path, " -> ".join(["source"] + [f"{names[a]}_{b}" for a, b in steps] + ["sink"]))

    def test_dead_nodes_change_nothing(self):
        for r, document, options, plan in self.each(N_GRAPHS * 3 // 4):
            nodes = list(document["nodes"])
            for k in range(3):
                at = r.randint(sum(d["op"] == "placeholder" for d in nodes), len(nodes) - 1)
                reads = ["%" + r.choice(nodes[:at])["name"] for _ in range(r.randint(0, 2))]
                if k and reads:
                    reads[0] = f"%dead{k - 1}" if any(d["name"] == f"dead{k - 1}" for d in nodes[:at]) else reads[0]
                nodes.insert(at, {"name": f"dead{k}", "op": "call_function", "target": r.choice(["aten.mul.Tensor", "aten.view.default"]),
                                  "args": reads, "val": {"dtype": "float32", "shape": [4]},
                                  **r.choice([{}, {"recompute": "must_save"}, {"partitioner_tag": "must_be_in_backward"}])})
            self.assertEqual(essence(self.plan({**document, "nodes": nodes}, options)), essence(plan))

    def test_scaling_sizes_scales_the_cut(self):
        n = 0
        for _, document, options, _ in self.each(N_GRAPHS * 3 // 4):
            if any("sym" in (d.get("val") or {}) for d in document["nodes"]):
                continue
            options = {**options, "profile": "plain"}
            plan = self.plan(document, options)
            big = {**document, "nodes": [{**d, "val": scaled_value(d["val"], 7)} if "val" in d else d for d in document["nodes"]]}
            scaled = self.plan(big, options)
            if plan is None:
                self.assertIsNone(scaled)
                continue
            n += plan["outcome"] == "plan"
            want = essence(plan)
            for cut in want["cuts"]:
                cut["value"] = cut["value"] * 7 if cut["value"] is not None else None
            self.assertEqual(essence(scaled), want)
        self.assertGreater(n, N_GRAPHS // 20)

    def test_order_of_independent_nodes_is_irrelevant_in_plain(self):
        n = 0
        for r, document, options, _ in self.each(N_GRAPHS * 3 // 4):
            if any(d["target"] == "aten.copy_.default" or "binds" in d for d in document["nodes"]):
                continue  # semantics 2.4 and 9.3 read the order
            options = {**options, "profile": "plain"}
            plan, other = self.plan(document, options), self.plan(shuffled(document, r), options)
            self.assertEqual(plan is None, other is None)
            if plan is None:
                continue
            self.assertEqual(other["outcome"], plan["outcome"])
            if plan["outcome"] == "plan":
                n += 1
                self.assertEqual([c["value"] for c in other["cuts"]], [c["value"] for c in plan["cuts"]])
                self.assertEqual([set(c["nodes"]) for c in other["cuts"]], [set(c["nodes"]) for c in plan["cuts"]])
                self.assertEqual(set(other["recomputed"]), set(plan["recomputed"]))
        self.assertGreater(n, N_GRAPHS // 10)

    def test_repeating_a_forward_output_changes_nothing(self):
        for r, document, options, plan in self.each(N_GRAPHS * 3 // 4):
            k, output = document["num_fwd_outputs"], document["nodes"][-1]
            if not k:
                continue
            args = output["args"][:k] + [r.choice(output["args"][:k]), None] + output["args"][k:]
            more = {**document, "num_fwd_outputs": k + 2, "nodes": document["nodes"][:-1] + [{**output, "args": args}]}
            self.assertEqual(essence(self.plan(more, options)), essence(plan))


if __name__ == "__main__":
    unittest.main()
