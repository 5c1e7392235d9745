"""Budgets without `compat` keep what must be kept; with it each place where PyTorch decides otherwise is reported, and no other."""
# variants: asan
import collections
import json
import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, part) for part in ("diff", "oracle")]

import data       # noqa: E402
import engine     # noqa: E402
import generate   # noqa: E402
import reference  # noqa: E402

BUDGETS = (0, 0.1, 0.25, 0.5, 0.75, 0.9)
GRAPHS = ("dropout", "dropout_ac", "bert_3l", "gpt2_4l_0", "t5_2l", "llama_2l_sac", "llama_2l_full_ac")

LISTS = ("outcome", "saved", "saved_sym", "saved_opaque", "recomputed")
SOLVERS = ("dp", "greedy", "ilp", "dp_knapsack_sliding_hirschberg")
N_GRAPHS = engine.at_level(quick=600, full=3000, torture=30000)
generate.use_table(reference.TABLE)


class WhereverItDiffers(unittest.TestCase):
    """compat-fault: there if and only if the plan is another than without compat. The two faults of PyTorch's solvers that are named
    for themselves may change the knapsack and not the plan."""

    @classmethod
    def setUpClass(cls):
        cls.planner = engine.Planner()

    @classmethod
    def tearDownClass(cls):
        cls.planner.close()

    def setUp(self):
        self.seen = collections.Counter()

    def check(self, text, options):
        with_compat, without = (self.planner.ask_text(engine.request_text(text, {**options, "compat": compat})) for compat in (True, False))
        if with_compat.kind == "problem":
            self.assertEqual(with_compat.doc["code"], "size-unknown", with_compat.doc)
            self.seen["refused"] += 1
            return
        plan, other = with_compat.doc, without.doc
        faults = [d for d in plan["diagnostics"] if d["code"] == "compat-fault"]
        differs = without.kind == "problem" or [plan.get(k) for k in LISTS] != [other.get(k) for k in LISTS]
        solver = [d for d in faults if "divides by zero" in d["message"] or "sliding_hirschberg decides" in d["message"]]
        self.seen["different" if differs else "equal"] += 1
        if differs:
            self.assertTrue(faults)
            self.seen["without a plan"] += plan["outcome"] != "plan" or other.get("outcome") != "plan"
        else:
            self.assertEqual(faults, solver)
        for d in faults:
            if d not in solver:
                self.check_fault(d, plan, other)
        if other.get("diagnostics"):
            self.assertNotIn("compat-fault", [d["code"] for d in other["diagnostics"]])

    def check_fault(self, d, plan, other):
        """A value it names is treated otherwise in the two plans."""
        name = d.get("node")
        if name is None:
            self.assertTrue("without compat" in d["message"], d)
            self.seen["general, no value"] += 1
            return
        treated = [[name in p.get(k, ()) for k in LISTS[1:]] for p in (plan, other)]
        self.assertNotEqual(treated[0], treated[1], d)
        self.assertIn(f"`{name}`", d["message"])
        self.seen["computed again" if "computed again" in d["message"] or "computes it again" in d["message"] else "general"] += 1

    def test_corpus(self):
        names = GRAPHS if "asan" in engine.BUILD or engine.LEVEL == "quick" else data.corpus_names()
        for name in names:
            text, expected = data.corpus_graph_text(name), data.corpus_expected(name)
            for result_name, result in expected["results"].items():
                if result["options"].get("activation_memory_budget", 1) < 1:
                    with self.subTest(graph=name, result=result_name):
                        self.check(text, result["options"])
        self.assertGreater(self.seen["different"], 10, self.seen)
        self.assertGreater(self.seen["equal"], 10, self.seen)

    def test_recorded_random_graphs(self):
        for kind in ("synthetic", "perturbed"):
            for i, line in enumerate(data.random_lines(kind)):
                if data.asks_for_budget(line["graph"], line["options"]):
                    with self.subTest(kind=kind, line=i + 1):
                        self.check(json.dumps(line["graph"]), line["options"])
        self.assertGreater(self.seen["different"], 20, self.seen)
        self.assertGreater(self.seen["equal"], 20, self.seen)

    def test_random_graphs(self):
        for seed in range(1, N_GRAPHS + 1):
            document, options = generate.graph(seed)
            budget = (0, 0.1, 0.4, 0.8)[seed % 4]
            options = {**options, "activation_memory_budget": budget, "activation_memory_budget_solver": SOLVERS[seed // 4 % 4]}
            with self.subTest(seed=seed):
                self.check(json.dumps(document), options)
        for kind in ("different", "equal", "computed again", "general", "general, no value", "without a plan"):
            self.assertGreater(self.seen[kind], N_GRAPHS // 300, self.seen)

    def test_attention_without_dropout_is_no_fault_by_itself(self):
        """Dropout 0 draws nothing: computed again by both, or a difference like any other."""
        n = 0
        for name in ("llama_2l", "llama_2l_sac"):
            text = data.corpus_graph_text(name)
            attentions = {d["name"] for d in json.loads(text)["nodes"] if "scaled_dot_product" in d["target"]}
            for budget in BUDGETS:
                plan = self.planner.ask_text(engine.request_text(text, {"activation_memory_budget": budget, "compat": True})).doc
                tags = plan["tags"]
                n += bool(attentions & set(plan["recomputed"]))
                for d in plan["diagnostics"]:
                    if d["code"] == "compat-fault" and d.get("node") in attentions and tags.get(d["node"]) != "must_save":
                        self.assertNotIn("another result", d["message"])
        self.assertGreater(n, 0)

    def test_a_memory_limit_is_not_pytorchs(self):
        for name in GRAPHS[:2]:
            options = {"activation_memory_budget": 0.1, "memory_limit_bytes": 1}
            text = data.corpus_graph_text(name)
            with_compat, without = (self.planner.ask_text(engine.request_text(text, {**options, "compat": c})).doc for c in (True, False))
            self.assertEqual([with_compat[k] for k in LISTS], [without[k] for k in LISTS])
            self.assertNotIn("compat-fault", [d["code"] for d in with_compat["diagnostics"]])


class Compat(unittest.TestCase):
    def setUp(self):
        self.planner = engine.Planner()

    def tearDown(self):
        self.planner.close()

    def plan(self, name, **options):
        answer = self.planner.ask_text(engine.request_text(data.corpus_graph_text(name), options))
        self.assertEqual(answer.kind, "plan", answer.doc)
        return answer.doc

    @staticmethod
    def noted(plan, code):
        return [d.get("node") for d in plan["diagnostics"] if d["code"] == code]

    @staticmethod
    def unfit(name, plan):
        """Recomputed values that draw random numbers or must be saved, and were not asked to be recomputed. Views may be."""
        tags = plan["tags"]
        nodes = {d["name"]: d for d in json.loads(data.corpus_graph_text(name))["nodes"]}
        return [v for v in plan["recomputed"] if not tags.get(v, "").endswith("_recompute") and nodes[v]["target"] != "getitem" and
                (tags.get(v) == "must_save" or nodes[v]["target"].startswith(("aten.native_dropout", "aten.bernoulli", "aten.rand")))]

    def test_random_and_must_save_values_are_never_recomputed(self):
        for name in GRAPHS:
            for budget in BUDGETS:
                for solver in ("dp", "greedy", "ilp", "dp_knapsack_sliding_hirschberg"):
                    plan = self.plan(name, activation_memory_budget=budget, activation_memory_budget_solver=solver)
                    with self.subTest(graph=name, budget=budget, solver=solver):
                        self.assertEqual(self.unfit(name, plan), [])
                        self.assertEqual(self.noted(plan, "compat-fault"), [])

    def test_compat_reports_each_of_them(self):
        n = 0
        for name in GRAPHS:
            for budget in BUDGETS:
                plan = self.plan(name, activation_memory_budget=budget, compat=True)
                unfit = self.unfit(name, plan)
                n += len(unfit)
                with self.subTest(graph=name, budget=budget):
                    self.assertLessEqual(set(unfit), set(self.noted(plan, "compat-fault")))
        self.assertGreater(n, 50)

    def test_compat_says_nothing_without_a_budget(self):
        for name in GRAPHS:
            plain, compat = self.plan(name), self.plan(name, compat=True)
            self.assertEqual(self.noted(compat, "compat-fault"), [])
            self.assertEqual((plain["saved"], plain["recomputed"]), (compat["saved"], compat["recomputed"]))

    def test_floor(self):
        """Below the floor that a diagnostic gives it is reported, at the floor it is not."""
        n = 0
        for name in ("dropout", "bert_3l", "gpt2_4l_0", "t5_2l"):
            plan = self.plan(name, activation_memory_budget=0.001)
            floors = [d for d in plan["diagnostics"] if d["code"] == "budget-below-floor"]
            for d in floors:
                n += 1
                floor = d["floor"]
                if floor < 1:
                    at_floor = self.plan(name, activation_memory_budget=floor)
                    self.assertEqual(self.noted(at_floor, "budget-below-floor"), [])
                    below = self.plan(name, activation_memory_budget=floor * (1 - 1e-9))
                    self.assertEqual(len(self.noted(below, "budget-below-floor")), 1)
        self.assertGreater(n, 0)

    def test_floor_at_budget_0(self):
        """The same floor as at any other budget below it; none where nothing must stay, and none as PyTorch does it."""
        n = 0
        for name in GRAPHS + ("llama_2l",):
            zero, small = (self.plan(name, activation_memory_budget=b) for b in (0, 1e-9))
            floors = [[(d["floor"], d["nodes"]) for d in plan["diagnostics"] if d["code"] == "budget-below-floor"] for plan in (zero, small)]
            if len(small["cuts"]) > 2 or floors[1]:
                self.assertEqual(floors[0], floors[1], name)
            n += len(floors[0])
            self.assertEqual(self.noted(self.plan(name, activation_memory_budget=0, compat=True), "budget-below-floor"), [])
        self.assertGreater(n, 3)

    def test_budget_0_needs_no_size(self):
        """Where the floor cannot be told for want of a size, the plan stands all the same."""
        tensor, large = {"dtype": "float32", "shape": [8]}, {"dtype": "float32", "shape": [64]}
        nodes = [{"name": "x", "op": "placeholder", "target": "primals_1", "val": tensor},
                 {"name": "k", "op": "placeholder", "target": "primals_2", "val": None},
                 {"name": "t", "op": "placeholder", "target": "tangents_1", "val": tensor},
                 {"name": "a", "op": "call_function", "target": "aten.sin.default", "args": ["%x", "%k"], "val": large, "recompute": "must_save"},
                 {"name": "b", "op": "call_function", "target": "mylib.grad.default", "args": ["%t", "%a"], "val": tensor},
                 {"name": "output", "op": "output", "target": "output", "args": ["%a", "%b", None]}]
        graph = {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": nodes}
        for sized in (False, True):
            if sized:
                nodes[1]["val"] = tensor
            plan = self.planner.ask(graph, {"activation_memory_budget": 0}).doc
            self.assertEqual((plan["outcome"], plan["saved"]), ("plan", ["a"]))
            self.assertEqual([d["nodes"] for d in plan["diagnostics"] if d["code"] == "budget-below-floor"], [["a"]] if sized else [])

    def test_solver_differs_only_for_the_halving_solver(self):
        n = 0
        for name in GRAPHS:
            for budget in BUDGETS[1:]:
                for solver in ("dp", "greedy", "ilp"):
                    plan = self.plan(name, activation_memory_budget=budget, activation_memory_budget_solver=solver)
                    self.assertEqual(self.noted(plan, "solver-differs"), [])
                halving = self.plan(name, activation_memory_budget=budget, activation_memory_budget_solver="dp_knapsack_sliding_hirschberg")
                n += len(self.noted(halving, "solver-differs"))
        self.assertGreater(n, 0)


if __name__ == "__main__":
    unittest.main()
