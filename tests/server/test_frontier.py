"""The frontier and the memory limit, asked for over HTTP and on the command line: the same bytes, the documented form."""
import json
import os
import subprocess
import sys
import unittest

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import data  # noqa: E402
import graphs  # noqa: E402
from daemon import REMAT, Daemon  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JSON = {"Content-Type": "application/json"}
NAMES = ["llama_2l", "llama_2l_sac", "dropout", "unet", "moe"]


def remat(*args, text):
    return subprocess.run([REMAT, *args], input=text.encode(), capture_output=True, timeout=120, check=False)


def with_options(text, **options):
    return json.dumps({"graph": json.loads(text), "options": options})


class Frontier(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(TOP, "proto", "schema", "frontier-v1.schema.json"), encoding="utf-8") as file:
            cls.schema = jsonschema.Draft202012Validator(json.load(file))

    def test_http_and_command_line_agree(self):
        with Daemon() as daemon:
            for name in NAMES:
                text = data.corpus_graph_text(name)
                response = daemon.request("POST", "/v1/frontier", text.encode(), JSON)
                self.assertEqual(response.status, 200)
                done = remat("frontier", "-", text=text)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual(response.body, done.stdout, name)
                self.check_points(json.loads(done.stdout), name)

    def check_points(self, document, name):
        self.assertEqual([e.message for e in self.schema.iter_errors(document)], [], name)
        points = document["points"]
        for before, after in zip(points, points[1:]):
            self.assertLess(before["recomputed_flops"], after["recomputed_flops"], name)
            self.assertGreater(before["saved_bytes"], after["saved_bytes"], name)
        self.assertLessEqual(sum(point["knee"] for point in points), 1)

    def test_full_has_the_plans(self):
        text = data.corpus_graph_text("llama_2l_sac")
        done = remat("frontier", "-", "--options", '{"explain": "full"}', text=text)
        document = json.loads(done.stdout)
        self.assertEqual([e.message for e in self.schema.iter_errors(document)], [])
        tagged = {n["name"] for n in json.loads(text)["nodes"] if n.get("recompute") == "must_save"}
        for point in document["points"]:
            self.assertFalse(tagged & set(point["recomputed"]))
        self.assertGreater(len(tagged), 0)

    def test_as_text(self):
        done = remat("frontier", "-", "--format", "text", text=data.corpus_graph_text("llama_2l"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("saved bytes", done.stdout.decode())
        self.assertIn("the knee", done.stdout.decode())

    def test_without_a_plan(self):
        text = json.dumps(graphs.infinite_flow())
        done = remat("frontier", "-", text=text)
        document = json.loads(done.stdout)
        self.assertEqual((done.returncode, document["outcome"]), (3, "infinite_flow"))
        self.assertEqual([e.message for e in self.schema.iter_errors(document)], [])
        self.assertEqual(document["diagnostics"][0]["code"], "infinite-flow")
        self.assertIn(b"no plan", remat("frontier", "-", "--format", "text", text=text).stdout)

    def test_refusals(self):
        with Daemon() as daemon:
            self.assertEqual(daemon.request("GET", "/v1/frontier").status, 405)
            self.assertEqual(daemon.request("POST", "/v1/frontier", b"{}", {"Content-Type": "text/plain"}).status, 415)
            response = daemon.request("POST", "/v1/frontier", b"{}", JSON)
            self.assertEqual((response.status, response.code), (422, "unknown-schema"))


class MemoryLimit(unittest.TestCase):
    def plan(self, text, **options):
        done = remat("plan", "-", text=with_options(text, **options))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def peak(self, plan):
        return max(plan["memory"]["peak_forward_bytes"], plan["memory"]["peak_backward_bytes"])

    def test_limits_from_plenty_to_none(self):
        for name in NAMES:
            text = data.corpus_graph_text(name)
            free = self.plan(text)
            self.assertNotIn("limit", free)
            for part in (1.0, 0.9, 0.8):
                limit = int(self.peak(free) * part)
                plan = self.plan(text, memory_limit_bytes=limit)
                with self.subTest(f"{name} {part}"):
                    self.assertEqual(plan["limit"]["met"], self.peak(plan) <= limit)
                    self.assertGreaterEqual(self.peak(plan), plan["limit"]["floor_bytes"])
                    self.assertGreaterEqual(plan["cost"]["recomputed_flops"], plan["limit"]["flops_bound"])
            self.assertTrue(self.plan(text, memory_limit_bytes=self.peak(free))["limit"]["met"])

    def test_below_the_floor(self):
        plan = self.plan(data.corpus_graph_text("dropout"), memory_limit_bytes=1)
        self.assertFalse(plan["limit"]["met"])
        diagnostic = [d for d in plan["diagnostics"] if d["code"] == "limit-below-floor"][0]
        self.assertEqual(diagnostic["floor"], plan["limit"]["floor_bytes"])
        self.assertGreater(diagnostic["floor"], 1)


if __name__ == "__main__":
    unittest.main()
