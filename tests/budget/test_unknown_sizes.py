"""A budget asks for the sizes that PyTorch asks for, and for no other: random graphs in which the sizes of a few values are missing,
against the oracle. What is only told about a decision, like the floor of a budget, refuses no graph."""
# level: quick
# variants: asan
import collections
import os
import random
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "diff"), os.path.join(TESTS, "support"), os.path.join(TESTS, "oracle")]

import engine     # noqa: E402
import generate   # noqa: E402
import reference  # noqa: E402

generate.use_table(reference.TABLE)
N_GRAPHS = {"quick": 500, "full": 3000, "torture": 60000}[engine.LEVEL] // (5 if "asan" in engine.BUILD else 1)
UNSIZED = ({"opaque": "FakeScriptObject"}, {"opaque": "Thing"}, {"const": 3}, None)


def take_sizes(document, r):
    """Values without a size, most of them such as have to stay and can be passed on."""
    calls = [n for n in document["nodes"] if n["op"] == "call_function" and "val" in n]
    for node in r.sample(calls, min(len(calls), r.choice((1, 1, 2, 4)))):
        node["val"] = r.choice(UNSIZED)
        if r.random() < 0.8:
            node.update(opaque=True, recompute="must_save")
        if r.random() < 0.1:
            del node["val"]


class UnknownSizes(unittest.TestCase):
    def test_refused_as_in_pytorch(self):
        seen = collections.Counter()
        with engine.Planner() as planner:
            for seed in range(1, N_GRAPHS + 1):
                document, options = generate.graph(seed)
                r = random.Random(seed)
                take_sizes(document, r)
                options = {**options, "compat": True, "profile": r.choice(("pytorch", "plain")),
                           "activation_memory_budget": r.choice((0.001, 0.1, 0.3, 0.6)),
                           "activation_memory_budget_runtime_estimator": "testing"}  # operators here may lack arguments to count
                if options.get("activation_memory_budget_solver") == "ilp":
                    del options["activation_memory_budget_solver"]
                want = reference.expected(document, options)
                answer = planner.ask(document, {**options, "explain": "full"})
                self.assertEqual(reference.differences(answer, want), [], (seed, options))
                seen["refused" if answer.kind == "problem" else "answered"] += 1
                if answer.kind != "problem":
                    floors = [d for d in answer.doc["diagnostics"] if d["code"] == "budget-below-floor"]
                    unsized = {n["name"] for n in document["nodes"] if n.get("val", None) in UNSIZED}
                    seen["floors"] += any(unsized & set(d["nodes"]) for d in floors)
        print(dict(seen))
        self.assertGreater(min(seen["refused"], seen["answered"]), N_GRAPHS // 20)
        self.assertGreater(seen["floors"], 0)


if __name__ == "__main__":
    unittest.main()
