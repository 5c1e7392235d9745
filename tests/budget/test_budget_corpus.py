"""Every decision PyTorch made under an activation-memory budget, and every FLOP count: ours must be equal."""
# variants: asan
import json
import unittest

import compare
import data
import engine
from lines import Lines


def is_ilp(options):
    return options.get("activation_memory_budget_solver") == "ilp"


class Budgets(unittest.TestCase):
    """`ilp` depends on the solver; test_ilp.py looks at it."""

    @classmethod
    def setUpClass(cls):
        cls.planner = engine.Planner()

    @classmethod
    def tearDownClass(cls):
        cls.planner.close()

    def compare(self, text, options, want):
        answer = self.planner.ask_text(engine.request_text(text, options))
        self.assertEqual(compare.against_pytorch(answer, want), [])

    def test_corpus_equals_pytorch(self):
        n, budgets = 0, set()
        for name in data.corpus_names():
            text, expected = data.corpus_graph_text(name), data.corpus_expected(name)
            for result_name, result in expected["results"].items():
                options = {"impure_random": expected["impure_random"], **result["options"]}
                if options.get("activation_memory_budget", 1) == 1 or is_ilp(options):
                    continue
                n += 1
                budgets.add(options["activation_memory_budget"])
                with self.subTest(graph=name, result=result_name):
                    self.compare(text, options, result)
        self.assertGreaterEqual(n, 120)
        self.assertEqual(budgets, {0, 0.1, 0.25, 0.5, 0.75, 0.9})

    def compare_lines(self, kind):
        n = 0
        for i, line in enumerate(data.random_lines(kind)):
            if not data.asks_for_budget(line["graph"], line["options"]) or is_ilp(line["options"]):
                continue
            n += 1
            with self.subTest(kind=kind, line=i + 1):
                self.compare(json.dumps(line["graph"]), line["options"], line["expected"])
        return n

    def test_synthetic_lines_equal_pytorch(self):
        self.assertGreaterEqual(self.compare_lines("synthetic"), 100)

    def test_perturbed_lines_equal_pytorch(self):
        self.assertGreaterEqual(self.compare_lines("perturbed"), 50)


class Flops(unittest.TestCase):
    def test_every_count_of_the_corpus_is_equal(self):
        n = 0
        with Lines("tests/budget/flops_lines") as ask:
            for name in data.corpus_names():
                text, want = data.corpus_graph_text(name).replace("\n", " "), data.corpus_expected(name)["flops"]
                # PyTorch was asked for forward nodes only
                backward = {d["name"] for d in json.loads(text)["nodes"] if "backward" in d["target"]}
                got = ask(text)
                with self.subTest(graph=name):
                    self.assertEqual({k: v for k, v in want.items() if v}, {k: got.get(k, 0) for k, v in want.items() if v})
                    extra = {k: v for k, v in got.items() if k not in want and k not in backward}
                    self.assertEqual(extra, {})
                n += sum(v != 0 for v in want.values())
        self.assertGreater(n, 1500)


if __name__ == "__main__":
    unittest.main()
