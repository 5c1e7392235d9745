"""`ilp`: the exact solver is at least as good as PyTorch's on every recorded knapsack, and the plan follows from what it keeps.

ilp_objectives.json: the runtime that PyTorch 2.13.0's solver keeps for each corpus graph; null: no knapsack was needed.
"""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "diff"))

import reference  # noqa: E402

import compare  # noqa: E402
import data  # noqa: E402
import engine  # noqa: E402
import oracle  # noqa: E402
from lines import Lines  # noqa: E402


class Ilp(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(HERE, "ilp_objectives.json"), encoding="utf-8") as f:
            self.objectives = json.load(f)
        self.lines, self.planner = Lines("tests/budget/knapsack_lines"), engine.Planner()
        self.ask, self.theirs, self.kept = self.lines.__enter__(), oracle.ilp_knapsack, None
        oracle.ilp_knapsack = self.ours

    def tearDown(self):
        oracle.ilp_knapsack = self.theirs
        self.planner.close()
        self.lines.__exit__(None, None, None)

    def ours(self, memory, runtime, limit):
        keep = set(self.ask({"solver": "ilp", "memory": memory, "runtime": runtime, "budget": limit})["keep"])
        self.assertLessEqual(sum(memory[i] for i in keep), limit * (1 + 1e-12))
        self.kept = sum(runtime[i] for i in keep)
        return [i for i in range(len(memory)) if i not in keep]

    def compare(self, text, result, objective):
        self.kept = None
        want = reference.expected(json.loads(text), {"compat": True, **result["options"]})
        want["cuts"] = [cut for cut in want["cuts"] if cut]  # the oracle notes its knapsack among them
        answer = self.planner.ask_text(engine.request_text(text, result["options"]))
        self.assertEqual(reference.differences(answer, want), [])
        if objective is None:
            self.assertIsNone(self.kept)
            self.assertEqual(compare.against_pytorch(answer, result), [])
        else:
            self.assertGreaterEqual(self.kept, objective * (1 - 1e-4))

    def test_objective_and_plan(self):
        n = 0
        for name in data.corpus_names():
            for result in data.corpus_expected(name)["results"].values():
                if result["options"].get("activation_memory_budget_solver") != "ilp":
                    continue
                n += 1
                with self.subTest(graph=name):
                    self.compare(data.corpus_graph_text(name), result, self.objectives[name])
        self.assertEqual(n, len(self.objectives))
        self.assertEqual(n, 16)


if __name__ == "__main__":
    unittest.main()
