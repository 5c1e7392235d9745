"""The text report of a graph without a plan: all conflicts, the remedy in words, and JSON that works when it is pasted."""
# variants: asan
import json
import re
import unittest

import engine

HOSTILE = ["<script>alert(1)</script>", 'quo"te\\back', "\u202eright to left\u2066", "esc\x1b[2J\x9b\x7fa\nb", "n" * 10240, "\U0001f600 %s %n"]


def pairs(names):
    """A graph with one conflict for each name, which is the name of the part that a tag wants computed again."""
    size = {"dtype": "float32", "shape": [4]}
    nodes = [{"name": "x", "op": "placeholder", "target": "primals_1", "val": size},
             {"name": "t", "op": "placeholder", "target": "tangents_1", "val": size}]
    last = "x"
    for i, name in enumerate(names):
        nodes.append({"name": f"pair{i}", "op": "call_function", "target": "mylib.pair.default", "args": ["%" + last],
                      "recompute": "must_save", "val": {"tuple": [size]}})
        nodes.append({"name": name, "op": "call_function", "target": "getitem", "args": [f"%pair{i}", 0],
                      "recompute": "prefer_recompute", "val": size})
        last = name
    grad = "t"
    for i, name in enumerate(names):
        nodes.append({"name": f"g{i}", "op": "call_function", "target": "aten.mul.Tensor", "args": ["%" + grad, "%" + name], "val": size})
        grad = f"g{i}"
    nodes.append({"name": "output", "op": "output", "target": "output", "args": ["%" + last, "%" + grad]})
    return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "static_lifetime_inputs": [], "nodes": nodes}


class Report(unittest.TestCase):
    def report(self, graph):
        status, text, error = engine.run_cli(json.dumps(graph), None, "--format", "text")
        self.assertEqual((status, error), (3, ""))
        return text

    def check_pass(self, graph, text):
        """The line of JSON, put where the report says, gives a plan."""
        line = next(line for line in text.split("\n") if line.startswith('  {"pass"'))
        status, out, _ = engine.run_cli(json.dumps({"graph": graph, "passes": [json.loads(line)]}))
        self.assertEqual((status, json.loads(out)["outcome"]), (0, "plan"))

    def test_all_conflicts_are_told(self):
        for n in (2, 20, 21, 45):
            graph = pairs([f"part{i}" for i in range(n)])
            text = self.report(graph)
            self.assertIn(f"There are {n} such conflicts", text)
            told = re.findall(r"^Conflict (\d+): .*`part(\d+)` is tagged prefer_recompute, so it may not be saved; its source `pair", text, re.M)
            self.assertEqual(told, [(str(i + 1), str(i)) for i in range(1, min(n, 20))])
            self.assertEqual(f"And {n - 20} more.\n" in text, n > 20)
            self.assertEqual(len(re.findall(r"^  - part\d+: leave its tag prefer_recompute out$", text, re.M)), min(n, 40))
            self.check_pass(graph, text)

    def test_hostile_names_are_harmless_and_still_work(self):
        graph = pairs(HOSTILE)
        text = self.report(graph)
        for line in text.split("\n"):
            self.assertEqual([c for c in line if ord(c) < 32 or 0x7f <= ord(c) < 0xa0], [], line[:200])
        line = next(line for line in text.split("\n") if line.startswith('  {"pass"'))
        self.assertEqual([c for c in line if c in "\u202e\u2066"], [])
        self.assertEqual(list(json.loads(line)["tags"]), HOSTILE)
        self.check_pass(graph, text)

    def test_json_has_the_names_of_this_graph(self):
        """Also where the answer comes from a template of another graph's."""
        status, out, _ = engine.run_cli(json.dumps(pairs(HOSTILE)))
        first = json.loads(out)["diagnostics"][0]
        self.assertEqual(status, 3)
        self.assertEqual(first["remedy"]["tags"], dict.fromkeys(HOSTILE))
        self.assertIn(f"`{HOSTILE[0]}` is tagged prefer_recompute", first["message"])

    def test_facts_are_told(self):
        graph = pairs(["part0"])
        graph["nodes"][2]["traits"] = ["no_recompute"]
        graph["nodes"][4]["args"] = ["%t", "%pair0"]
        text = self.report(graph)
        self.assertIn("No change of tags helps. What is in the way:\n  - pair0 may not be computed twice  [annotation]\n", text)


if __name__ == "__main__":
    unittest.main()
