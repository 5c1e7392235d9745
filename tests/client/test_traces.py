"""min_cut_information out of PyTorch equals what `remat export` makes of the same graph under the same settings."""
# level: full
# torch
import collections
import json
import unittest

import support
import traces  # before anything that reads PyTorch's configuration

import artifacts
from daemon import REMAT, run

FAMILIES = ("llama", "llama_dynamic", "gpt2", "moe", "mutating")
if support.TORTURE:
    FAMILIES = tuple(traces.families.FAMILIES)
SETTINGS = [{"activation_memory_budget": budget, "activation_memory_budget_solver": solver,
             "activation_memory_budget_runtime_estimator": estimator}
            for budget in (0.2, 0.6)
            for solver, estimator in (("dp", "flops"), ("greedy", "flops"), ("dp", "testing"), ("dp_knapsack_sliding_hirschberg", "flops"))]


class TestArtifacts(unittest.TestCase):
    def setUp(self):
        self.seen = collections.Counter()

    def check(self, family, settings, document, artifact):
        """Where PyTorch wrote none, no knapsack was filled here either."""
        options = {**settings, "compat": True}
        body = json.dumps({"graph": document, "options": options}).encode()
        done = run(REMAT, "export", "-", "--as", "min-cut-information", stdin=body)
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = json.loads(done.stdout)
        if artifact is None:
            self.seen["none"] += 1
            self.assertEqual(ours["Recomputable Banned Nodes Order"], [], (family, settings))
            return
        theirs = json.loads(artifact)
        self.assertEqual(artifacts.differences(theirs, ours), [], (family, settings))
        self.seen["equal"] += 1
        self.seen["kept"] += len(theirs["Knapsack Saved Nodes"])
        self.seen["recomputed"] += len(theirs["Knapsack Recomputed Nodes"])
        explained = run(REMAT, "explain", "-", stdin=artifact.encode())
        self.assertEqual(explained.returncode, 0, explained.stderr)
        n = len(theirs["Min Cut Solution Saved Values"])
        self.assertIn(f"The forward saves {n} value", explained.stdout.decode())

    def test_families(self):
        for family in FAMILIES:
            for made in traces.decide(family, *SETTINGS):
                self.check(family, *made)
        self.assertGreater(self.seen["equal"], len(FAMILIES), self.seen)
        self.assertGreater(min(self.seen["kept"], self.seen["recomputed"]), 50, self.seen)


if __name__ == "__main__":
    unittest.main()
