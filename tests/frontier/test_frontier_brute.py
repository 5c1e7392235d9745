"""Small graphs: the hull against every possible plan."""
# variants: asan
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "budget"))

import engine  # noqa: E402
import small  # noqa: E402
from lines import Lines  # noqa: E402

N_GRAPHS = int(os.environ.get("REMAT_SMALL_GRAPHS", engine.at_level(quick=250, full=3000, torture=40000)))


class Brute(unittest.TestCase):
    def check(self, document, answer, problem, n):
        costs = problem.all_costs()
        n["infeasible"] += not costs
        if not costs:
            self.assertTrue(answer["outcome"] == "infinite_flow" or answer["diagnostics"] == ["frontier-without-hull"], answer)
            return
        if answer["outcome"] != "plan":  # PyTorch's own network has no cut: it asks for tagged values nothing reads
            n["refused"] += 1
            self.assertEqual(answer["outcome"], "infinite_flow")
            return
        hull, points = small.corners(costs), answer["points"]
        got = [(p["saved_bytes"], p["recomputed_flops"]) for p in points]
        for p in points:
            self.assertEqual(problem.cost(set(p["saved"])), (p["saved_bytes"], p["recomputed_flops"]), p)
        self.assertEqual([c for c in got if c in hull], hull)
        for p, cost in zip(points, got):
            if p["kind"] == "hull":
                self.assertTrue(small.on_hull(hull, *cost), (cost, hull))
        self.assertEqual(small.undominated(got), got)
        n["corners"] += len(hull) > 2
        n["between"] += any(p["kind"] == "hull" and c not in hull for p, c in zip(points, got))
        n["budget"] += any(p["kind"] == "budget" for p in points)

    def test_every_corner_of_the_hull_and_nothing_else(self):
        n = {"infeasible": 0, "refused": 0, "corners": 0, "between": 0, "budget": 0}
        with Lines("tests/frontier/frontier_lines") as ask, Lines("tests/budget/flops_lines") as flops:
            for seed in range(N_GRAPHS):
                document = small.graph(seed)
                with self.subTest(seed=seed):
                    self.check(document, ask({"graph": document}), small.Problem(document, flops(document)), n)
        print(n)
        self.assertGreater(n["corners"], N_GRAPHS // 8)
        self.assertGreater(n["between"], 0)
        self.assertGreater(n["budget"], 0)


if __name__ == "__main__":
    unittest.main()
