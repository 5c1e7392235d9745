"""Budgets without `compat` on small graphs: every cut and every knapsack against all there are; what must stay stays."""
# variants: asan
import collections
import unittest

import engine
from small_budgets import Budget, Undecided, document

N_GRAPHS = engine.at_level(quick=1000, full=5000, torture=50000)


class SmallGraphs(unittest.TestCase):
    def setUp(self):
        self.seen = collections.Counter()

    def expected(self, graph, options):
        """(problem, chosen names or None), or None where several answers are right."""
        problem = Budget(graph, options)
        try:
            return problem, problem.decide()
        except Undecided:
            return None

    def check(self, planner, seed):
        graph, options = document(seed)
        found = self.expected(graph, options)
        answer = planner.ask(graph, options)
        self.assertNotEqual(answer.kind, "problem", answer.doc)
        if found is None:
            self.seen["undecided"] += 1
            return
        problem, chosen = found
        plan = answer.doc
        cuts = [None if c.get("unbounded") else (c["value"], c["nodes"]) for c in plan["cuts"]]
        self.assertEqual(cuts, problem.cuts)
        self.seen[f"{len(cuts)} cuts"] += 1
        if chosen is None:
            self.seen["infinite"] += 1
            self.assertEqual(plan["outcome"], "infinite_flow")
            return
        halves = problem.halves(chosen)
        if halves is None:
            self.assertEqual(plan["outcome"], "invalid_output")
            self.seen["invalid"] += 1
            return
        self.assertEqual((plan["saved"], plan["recomputed"]), halves)
        self.check_what_stays(problem, plan, options["activation_memory_budget"])

    def check_what_stays(self, problem, plan, budget):
        if budget > 0 and len(plan["cuts"]) == 1:
            return  # all that is saved without a budget is no more than the inputs
        bad = []
        for name in plan["recomputed"]:
            d = problem.nodes[problem.at[name]]
            if problem.is_view(d) or problem.wants(d) or d["target"] == "getitem":
                continue
            if d.get("recompute") == "must_save" or problem.draws(d):
                bad.append(name)
        # what the forward does not need for itself is never banned: it runs once, wherever that is
        self.assertEqual([n for n in bad if problem.at[n] in problem.required_fw], [])
        self.seen["something must stay"] += any(d.get("recompute") == "must_save" or problem.draws(d) for d in problem.nodes[:-1]
                                                if d["op"] == "call_function")
        self.seen["budget 0"] += budget == 0
        sizes = [problem.size(problem.nodes[problem.at[b["node"]]]) for b in plan["bans"]]
        self.seen["a banned value of no bytes"] += 0 in sizes

    def test_every_decision(self):
        with engine.Planner() as planner:
            for seed in range(N_GRAPHS):
                with self.subTest(seed=seed):
                    self.check(planner, seed)
        print(dict(self.seen))
        for kind, least in (("4 cuts", 20), ("3 cuts", 10), ("2 cuts", 20), ("budget 0", 10), ("infinite", 25),
                            ("something must stay", 4), ("a banned value of no bytes", 10)):
            self.assertGreater(self.seen[kind], N_GRAPHS // least // 4, kind)
        self.assertLess(self.seen["undecided"], N_GRAPHS // 20)


if __name__ == "__main__":
    unittest.main()
