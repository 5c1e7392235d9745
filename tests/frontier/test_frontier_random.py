"""Random graphs of every kind: what holds for any frontier, and what happens when memory or steps run out."""
# variants: asan
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), d) for d in ("budget", "diff")]

import reference  # noqa: E402

import data  # noqa: E402
import engine  # noqa: E402
import generate  # noqa: E402
import small  # noqa: E402
from lines import Lines  # noqa: E402

N_GRAPHS = int(os.environ.get("REMAT_GRAPHS", engine.at_level(quick=200, full=1000, torture=50000)))
BOOLEANS = ("aggressive_recomputation", "recompute_views", "treat_parameters_as_free_to_save", "impure_random",
            "unsafe_allow_optimization_of_collectives", "is_non_builtin_to_include")


def chosen_options(options):
    """Those that a frontier reads and the line program knows."""
    return {k: v for k, v in options.items() if k in BOOLEANS or k == "profile"}


class Properties(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        generate.use_table(reference.TABLE)

    def setUp(self):
        self.lines, self.planner = Lines("tests/frontier/frontier_lines"), engine.Planner()
        self.ask = self.lines.__enter__()

    def tearDown(self):
        self.planner.close()
        self.lines.__exit__(None, None, None)

    def compare_outcome(self, answer, plan):
        """A frontier has points where a plan without a budget exists."""
        if plan.kind == "problem":
            self.assertEqual(answer.get("status"), plan.doc["code"])
            return False
        self.assertNotIn("status", answer)
        self.assertEqual(answer["outcome"], plan.doc["outcome"])
        if answer["outcome"] != "plan":
            self.assertEqual(answer["points"], [])
            return False
        return bool(answer["points"])

    def check_points(self, document, answer):
        names = [d["name"] for d in document["nodes"]]
        costs = [(p["saved_bytes"], p["recomputed_flops"]) for p in answer["points"]]
        self.assertEqual(small.undominated(costs), costs)
        self.assertLessEqual(sum(p["knee"] for p in answer["points"]), 1)
        for p in answer["points"]:
            self.assertLessEqual(p["static_bytes"], p["saved_bytes"])
            for key in ("saved", "saved_sym", "saved_opaque", "recomputed"):
                self.assertEqual(len(set(p[key])), len(p[key]))
                self.assertTrue(set(p[key]) <= set(names))
            self.assertEqual(sorted(p["recomputed"], key=names.index), p["recomputed"])

    def check_budgets(self, document, options, answer, n):
        """The plans of budgets that the frontier is made of are not better than it."""
        for budget in (0.1, 0.5, 0.9):
            got = self.planner.ask(document, {**options, "activation_memory_budget": budget, "explain": "none"})
            if got.kind != "plan" or "frontier-without-budgets" in answer["diagnostics"]:
                continue
            saved, flops = got.doc["memory"]["saved_bytes"], got.doc["cost"]["recomputed_flops"]
            covered = any(p["saved_bytes"] <= saved and p["recomputed_flops"] <= flops for p in answer["points"])
            n["budgets"] += 1
            n["left out"] += not covered
            if not covered:  # it repeats what must not be, or passes on a tuple
                self.assertTrue(self.is_unfit(document, got.doc), (budget, saved, flops))

    @staticmethod
    def is_unfit(document, plan):
        nodes = {d["name"]: d for d in document["nodes"]}

        def traits(d):
            packet = d["target"] if d["target"] in reference.TABLE["packets"] else d["target"].rsplit(".", 1)[0]
            facts = set(reference.TABLE["packets"].get(packet, ())) | set(reference.TABLE["overloads"].get(d["target"], ()))
            facts |= {"effects"} if d["target"] == "higher_order.with_effects" else set()
            return (facts | {t for t in d.get("traits", ()) if t[0] != "-"}) - {t[1:] for t in d.get("traits", ()) if t[0] == "-"}
        bad = {"random", "seeded", "no_recompute", "effects", "mutable"}
        return (any(traits(nodes[v]) & bad or plan_tag == "must_save" or nodes[v].get("partitioner_tag") == "must_be_in_forward"
                    for v in plan["recomputed"] for plan_tag in [nodes[v].get("recompute")]) or
                any("dtype" not in nodes[v].get("val", {}) for v in plan["saved"]))

    def test_any_graph(self):
        n = {"plans": 0, "points": 0, "several": 0, "budgets": 0, "left out": 0}
        for seed in range(1, N_GRAPHS + 1):
            document, options = generate.graph(seed)
            options = chosen_options(options)
            with self.subTest(seed=seed):
                answer = self.ask({"graph": document, "options": options})
                if not self.compare_outcome(answer, self.planner.ask(document, {**options, "explain": "none"})):
                    continue
                n["plans"] += 1
                n["points"] += len(answer["points"])
                n["several"] += len(answer["points"]) > 1
                self.check_points(document, answer)
                self.check_budgets(document, options, answer, n)
        print(n)
        self.assertGreater(n["plans"], N_GRAPHS // 3)
        self.assertGreater(n["several"], N_GRAPHS // 100)

    def test_same_bytes_again(self):
        for seed in range(1, 20):
            line = {"graph": generate.graph(seed)[0]}
            first, second = self.ask(line), self.ask(line)
            first.pop("seconds", None)
            second.pop("seconds", None)
            self.assertEqual(json.dumps(first), json.dumps(second))

    def test_every_failing_allocation_is_reported(self):
        for document in [json.loads(data.corpus_graph_text(name)) for name in ("unet", "batchnorm", "llama_2l_sac")] + [small.graph(5)]:
            whole = self.ask({"graph": document})
            self.assertGreater(whole["allocations"], 3)
            for i in range(1, whole["allocations"] + 1):
                got = self.ask({"graph": document, "fail_at": i})
                self.assertEqual((got.get("status"), got.get("cause")), ("out-of-memory", "out-of-memory"), i)
            self.assertEqual(self.ask({"graph": document, "fail_at": whole["allocations"] + 1})["points"], whole["points"])

    def test_step_limit(self):
        text = data.corpus_graph_text("moe").replace("\n", " ")
        steps = self.ask('{"graph":%s}' % text)["steps"]
        for limit in (1, steps // 10, steps // 3, steps * 2 // 3, steps - 1):
            got = self.ask('{"graph":%s,"max_steps":%d}' % (text, max(1, limit)))
            self.assertEqual((got.get("status"), got.get("cause")), ("step-limit", "step-limit"), limit)

    def test_no_backward(self):
        x = {"name": "x", "op": "placeholder", "target": "primals_1", "val": {"dtype": "float32", "shape": [4]}}
        y = {"name": "y", "op": "call_function", "target": "aten.sin.default", "args": ["%x"], "val": x["val"]}
        out = {"name": "output", "op": "output", "target": "output", "args": ["%y", None]}
        got = self.ask({"graph": {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": [x, y, out]}})
        self.assertEqual([(p["saved_bytes"], p["recomputed_flops"], p["saved"], p["knee"]) for p in got["points"]], [(0, 0, [], False)])

    def test_own_budget_is_the_only_one(self):
        document = json.loads(data.corpus_graph_text("batchnorm"))
        for d in document["nodes"]:
            if d["op"] == "call_function":
                d["memory_budget"] = 1
                break
        budgets = {p["budget"] for p in self.ask({"graph": document})["points"]}
        self.assertTrue(budgets <= {None, 1}, budgets)

    def test_totals_past_the_limit(self):
        document = small.graph(5)
        for d in document["nodes"]:
            if d["name"] == "f0":
                d["val"] = {"dtype": "uint8", "shape": [1 << 61, 1]}
        got = self.ask({"graph": document})
        self.assertEqual(got.get("status"), "too-large", got)

    def test_aliases_are_counted_by_name(self):
        """A value and a view of it, both saved, cost twice in the frontier as they do in a plan's saved_bytes."""
        tensor = {"dtype": "uint8", "shape": [8]}
        nodes = [{"name": "x", "op": "placeholder", "target": "primals_1", "val": tensor},
                 {"name": "t", "op": "placeholder", "target": "tangents_1", "val": tensor},
                 {"name": "y", "op": "call_function", "target": "aten.bernoulli.default", "args": ["%x"], "val": tensor},
                 {"name": "z", "op": "call_function", "target": "aten.view.default", "args": ["%y"], "val": tensor, "alias_of": "y"},
                 {"name": "g", "op": "call_function", "target": "mylib.grad.default", "args": ["%t", "%z", "%y"], "val": tensor},
                 {"name": "output", "op": "output", "target": "output", "args": ["%z", "%g"]}]
        got = self.ask({"graph": {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": nodes}})
        self.assertEqual([(p["saved"], p["saved_bytes"]) for p in got["points"]], [(["y"], 8)])


if __name__ == "__main__":
    unittest.main()
