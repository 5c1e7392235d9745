"""memory_limit_bytes against the frontier: at the peak of each of its plans, no more work than that plan has."""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "budget")]

import memory  # noqa: E402
import oracle  # noqa: E402
import simulator  # noqa: E402
from exhaustive import SmallGraph, peak_of  # noqa: E402

import data  # noqa: E402
import engine  # noqa: E402
import generate  # noqa: E402
from lines import Lines  # noqa: E402

generate.use_table(simulator.TABLE)
GRAPHS = {"quick": ["batchnorm", "lstm_12", "vit_tiny"],
          "full": ["batchnorm", "lstm_12", "vit_tiny", "llama_2l", "resnet18", "unet", "moe", "llama_2l_sac"],
          "torture": data.corpus_names()}[engine.LEVEL]
N_SMALL = {"quick": 40, "full": 200, "torture": 2000}[engine.LEVEL]
N_RANDOM = {"quick": 80, "full": 250, "torture": 2500}[engine.LEVEL]


class Frontier(unittest.TestCase):
    def setUp(self):
        self.lines = Lines("tests/frontier/frontier_lines")
        self.frontier, self.core = self.lines.__enter__(), memory.Engine().__enter__()
        self.n_points = self.n_bettered = 0

    def tearDown(self):
        self.core.__exit__()
        self.lines.__exit__(None, None, None)

    def check(self, graph, most, name):
        graph = {k: v for k, v in graph.items() if k not in ("options", "passes")}
        answer = self.frontier(json.dumps({"graph": graph, "options": {}}))
        points = answer.get("points") or []
        if not points:
            return
        sim = simulator.Simulator(graph)
        for point in points[::len(points) // most + 1]:
            try:
                plan = sim.simulate(point["saved"] + point["saved_sym"] + point["saved_opaque"])
            except oracle.PlanError:
                continue  # script objects are passed on without standing in a list
            limit = max(plan["peak_forward_bytes"], plan["peak_backward_bytes"])
            found, = self.core.ask(graph, {"memory_limit_bytes": limit})
            self.n_points += 1
            self.n_bettered += found["recomputed_flops"] < point["recomputed_flops"]
            self.assertTrue(found["limit"]["is_met"], (name, limit))
            self.assertLessEqual(peak_of(found), limit, name)
            self.assertLessEqual(found["recomputed_flops"], point["recomputed_flops"], (name, limit))

    def test_corpus(self):
        for name in GRAPHS:
            with self.subTest(graph=name):
                self.check(json.loads(data.corpus_graph_text(name)), 5, name)
        self.assertGreater(self.n_points, 2 * len(GRAPHS))

    def test_small_graphs(self):
        for seed in range(1, N_SMALL + 1):
            self.check(SmallGraph(seed, n_forward=12).document(), 3, seed)
        self.assertGreater(self.n_points, N_SMALL)
        self.assertGreater(self.n_bettered, 0)

    def test_random_graphs(self):
        for seed in range(1, N_RANDOM + 1):
            self.check(generate.graph(seed)[0], 3, seed)
        self.assertGreater(self.n_points, N_RANDOM // 10)


if __name__ == "__main__":
    unittest.main()
