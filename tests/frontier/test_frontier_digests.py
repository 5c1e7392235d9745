"""The digest of a frontier's point is that of the plan request with the point's options, and that request has the point's plan."""
# level: quick
# variants: asan
import json
import os
import subprocess
import sys
import unittest

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import data    # noqa: E402
import engine  # noqa: E402

with open(os.path.join(ROOT, "proto", "schema", "frontier-v1.schema.json"), encoding="utf-8") as f:
    SCHEMA = jsonschema.Draft202012Validator(json.load(f))
RICH = [name for name in data.corpus_names() if name.startswith(("bert", "gpt2", "batchnorm", "resnet", "llama_2l"))]  # in budgets' points
NAMES = RICH if engine.LEVEL == "quick" else data.corpus_names()


def remat(command, document, options, passes):
    done = subprocess.run([os.path.join(engine.BUILD, "remat"), command, "--options", json.dumps(options), "--passes", json.dumps(passes), "-"],
                          input=json.dumps(document).encode(), capture_output=True, timeout=300, check=False)
    assert done.returncode in (0, 3), done.stderr.decode()[-2000:]
    return json.loads(done.stdout)


class Digests(unittest.TestCase):
    def check(self, document, options, passes, points):
        """Counts points of a budget; [all, those of a mere budget]."""
        frontier = remat("frontier", document, options, passes)
        self.assertEqual([e.message[:300] for e in SCHEMA.iter_errors(frontier)], [])
        for point in frontier.get("points", []):
            if point["kind"] == "hull":
                self.assertIsNone(point["digest"])
                self.assertNotIn("options", point)
                continue
            asked = {**options, **point["options"]}
            plan = remat("plan", document, asked, passes)
            self.assertEqual(point["budget"], point["options"]["activation_memory_budget"])
            self.assertEqual(plan["digest"], point["digest"])
            self.assertEqual((plan["memory"]["saved_bytes"], plan["cost"]["recomputed_flops"]),
                             (point["saved_bytes"], point["recomputed_flops"]))
            points[0] += 1
            if {**point["options"], "activation_memory_budget_solver": "dp", "activation_memory_budget_runtime_estimator": "flops"} == \
                    point["options"] and not options:
                self.assertEqual(remat("plan", document, {"activation_memory_budget": point["budget"]}, passes)["digest"], point["digest"])
                points[1] += 1

    def test_corpus(self):
        points = [0, 0]
        for name in NAMES:
            with self.subTest(graph=name):
                self.check(json.loads(data.corpus_graph_text(name)), {}, [], points)
        print("points of a budget, and of those by dp and FLOPs:", points)
        self.assertGreater(points[0], 20 if engine.LEVEL == "quick" else 45)
        self.assertGreater(points[1], 5)

    def test_options_and_passes_of_the_frontier(self):
        """What a frontier does not read is laid over; what it reads stays."""
        points = [0, 0]
        requests = [
            ({"compat": True, "activation_memory_budget": 0.3, "activation_memory_budget_solver": "greedy"}, []),
            ({"memory_limit_bytes": 5, "explain": "full", "activation_memory_budget_runtime_estimator": "testing"}, []),
            ({"ban_recompute_reductions": False, "explain": "none"}, [{"pass": "repair_tags"}]),
        ]
        for name in RICH:
            for options, passes in requests:
                with self.subTest(graph=name, options=options):
                    self.check(json.loads(data.corpus_graph_text(name)), options, passes, points)
        self.assertGreater(points[0], 40)

    def test_a_budget_of_the_graph_itself(self):
        """It need not be a twentieth, and is written so that it reads back."""
        points = [0, 0]
        for name in RICH:
            document = json.loads(data.corpus_graph_text(name))
            calls = [d for d in document["nodes"] if d["op"] == "call_function"]
            calls[0]["memory_budget"] = 1 / 3
            with self.subTest(graph=name):
                self.check(document, {}, [], points)
        self.assertGreater(points[0], 2)


if __name__ == "__main__":
    unittest.main()
