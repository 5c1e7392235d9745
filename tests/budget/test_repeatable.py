"""Below budget 1, compat false: whatever draws random numbers or may not run twice runs once, on random graphs.

Excepted is what PyTorch's rules keep from being banned whatever the rule: what is tagged for recomputation, views, symbolic floats,
getitems, attention without dropout, and plans that already are cut 1.
"""
# level: quick
import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "diff"), os.path.join(TESTS, "support"), os.path.join(TESTS, "oracle")]

import engine     # noqa: E402
import generate   # noqa: E402
import oracle     # noqa: E402
import reference  # noqa: E402

generate.use_table(reference.TABLE)
N_GRAPHS = {"quick": 400, "full": 2000, "torture": 30000}[engine.LEVEL]
BUDGETS = (0, 0.1, 0.4, 0.8)


def unrepeatable(graph, tags):
    """Names of operators that give another result when they run again."""
    return {n.name for n in graph.nodes
            if n.op == "call_function" and n.target != "getitem" and "scaled_dot_product" not in n.target
            and (n.traits & {"seeded", "no_recompute"} or graph.cls(n, "random"))
            and not graph.cls(n, "view") and not oracle.wants_recompute(tags.get(n.name))
            and not (n.has_val and isinstance(n.val, dict) and n.val.get("sym") == "float")}


class Repeatable(unittest.TestCase):
    def test_what_draws_runs_once(self):
        n_checked = n_seen = 0
        with engine.Planner() as planner:
            for seed in range(1, N_GRAPHS + 1):
                document, options = generate.graph(seed)
                for node in document["nodes"]:
                    node.pop("memory_budget", None)
                options = {**options, "explain": "full", "compat": False, "profile": "pytorch", "impure_random": False}
                graph = oracle.Graph(document, reference.TABLE)
                if not unrepeatable(graph, {}):
                    continue  # whatever its tags become, there is nothing that a plan could do wrong here
                for budget in BUDGETS:
                    answer = planner.ask(document, {**options, "activation_memory_budget": budget}).doc
                    if answer.get("outcome") != "plan" or (budget > 0 and len(answer.get("cuts", ())) < 2):
                        continue
                    n_checked += 1
                    if any(graph.by[name].traits & {"impure", "mutable"} for name in answer["recomputed"]):
                        continue  # such operators run wherever they can, and what they read with them (semantics 1.5, 9.6)
                    if set(answer.get("cut", {}).get("nodes", ())) & set(answer["recomputed"]):
                        continue  # a chosen value was dropped and is computed after all (semantics 9.2)
                    # what the forward does not need for itself is never banned (semantics 5.3)
                    once = unrepeatable(graph, answer["tags"]) & set(answer["classes"]["fw"])
                    n_seen += bool(once)
                    self.assertEqual(once & set(answer["recomputed"]), set(), (seed, budget))
        self.assertGreater(n_checked, N_GRAPHS // 4)
        self.assertGreater(n_seen, N_GRAPHS // 20)


if __name__ == "__main__":
    unittest.main()
