"""Budgets without `compat` keep what must be kept; with it each place where PyTorch does not is reported."""
import json
import unittest

import data
import engine

BUDGETS = (0, 0.1, 0.25, 0.5, 0.75, 0.9)
GRAPHS = ("dropout", "dropout_ac", "bert_3l", "gpt2_4l_0", "t5_2l", "llama_2l_sac", "llama_2l_full_ac")


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
