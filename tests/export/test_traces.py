# variants: asan
"""min_cut_information: what PyTorch wrote about a decision and what `remat export` writes are equal; it is read, and refused where a graph
belongs."""
import json
import unittest

import artifacts
import data
import graphs
from daemon import REMAT, run
from networks import export

KEYS = ("Joint Graph Size", "Joint Graph Edges", "Joint Graph Node Information", "Recomputable Banned Nodes Order", "Expected Runtime",
        "Knapsack Saved Nodes", "Knapsack Recomputed Nodes", "Absolute Memories", "Knapsack Input Memories", "Knapsack Input Runtimes",
        "Min Cut Solution Saved Values", "Memory Budget", "Min Activation Size (GB)", "Max Activation Size (GB)",
        "Saved Values Activation Size (GB)", "More Aggressive Saved Values Mem Ratio", "Aggressive Recomputation Saved Values Mem Ratio")


class TestExport(unittest.TestCase):
    def ours(self, body, **more):
        done = export(body, "min-cut-information", **more)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def test_as_pytorch(self):
        n_offered = 0
        self.assertGreaterEqual(len(data.trace_names()), 5)
        for name in data.trace_names():
            theirs, ours = json.loads(data.trace_text(name)), self.ours(data.trace_graph_text(name))
            self.assertEqual(artifacts.differences(theirs, ours), [], name)
            n_offered += len(theirs["Recomputable Banned Nodes Order"])
        self.assertGreater(n_offered, 20)

    def test_a_difference_is_seen(self):
        name = data.trace_names()[0]
        theirs = json.loads(data.trace_text(name))
        other = self.ours(data.trace_graph_text(name), options={"activation_memory_budget": 0.35})
        self.assertTrue(artifacts.differences(theirs, other))

    def test_without_a_budget(self):
        """Empty lists, and null for what nobody computed."""
        ours = self.ours(json.dumps(graphs.tiny()))
        self.assertEqual(set(ours), set(KEYS))
        for key in KEYS[3:4] + KEYS[5:10]:
            self.assertEqual(ours[key], [], key)
        self.assertEqual(ours["Min Cut Solution Saved Values"], ["x"])
        self.assertEqual((ours["Memory Budget"], ours["Expected Runtime"]), (1.0, 0.0))
        self.assertEqual([ours[key] for key in KEYS[12:14] + KEYS[15:]], [None] * 4)
        self.assertEqual(ours["Saved Values Activation Size (GB)"], 256 / 1e9)
        self.assertEqual(ours["Joint Graph Edges"]["Total"], len(ours["Joint Graph Edges"]["Edges"]))

    def test_dead_nodes_are_not_in_it(self):
        document = graphs.tiny()
        document["nodes"].insert(3, graphs.node("dead", "call_function", "aten.neg.default", ["%x"]))
        ours = self.ours(json.dumps(document))
        self.assertNotIn("dead", ours["Joint Graph Node Information"])
        self.assertEqual([n["index"] for n in ours["Joint Graph Node Information"].values()], list(range(ours["Joint Graph Size"])))

    def test_measured_runtimes(self):
        """With the estimator `given`, runtimes are the document's."""
        name = "llama"
        document = json.loads(data.trace_graph_text(name))
        for i, node in enumerate(document["nodes"]):
            if node["op"] == "call_function":
                node["runtime"] = 0.25 + i % 5
        ours = self.ours(json.dumps(document), options={"activation_memory_budget_runtime_estimator": "given"})
        given = {node["name"]: node.get("runtime") for node in document["nodes"]}
        self.assertEqual(ours["Knapsack Input Runtimes"], [given[v] for v in ours["Recomputable Banned Nodes Order"]])
        self.assertEqual(ours["Expected Runtime"], sum(ours["Knapsack Input Runtimes"][i] for i in ours["Knapsack Saved Nodes"]))


class TestRefused(unittest.TestCase):
    def test_where_a_graph_belongs(self):
        """What it is, and where it can be looked at."""
        for command in (["plan"], ["tags"], ["frontier"], ["export", "--as", "dot"]):
            for body in (data.trace_text("log"), json.dumps({"graph": json.loads(data.trace_text("log"))})):
                done = run(REMAT, command[0], "-", *command[1:], stdin=body.encode())
                problem = json.loads(done.stderr)
                self.assertEqual((done.returncode, problem["status"], problem["code"]), (1, 422, "invalid-graph"))
                for words in ("min_cut_information", "remat report", "/v1/reports"):
                    self.assertIn(words, problem["detail"])

    def test_a_graph_is_none(self):
        """A graph document stays one whatever else is in it."""
        document = {**graphs.tiny(), "Joint Graph Size": 6}
        self.assertEqual(run(REMAT, "plan", "-", stdin=graphs.encode(document)).returncode, 0)


if __name__ == "__main__":
    unittest.main()
