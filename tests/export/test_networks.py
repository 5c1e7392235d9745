# variants: asan
"""`remat export --as dimacs` and `--as dot`: other programs read the network, and find the same minimum cut in it."""
import json
import os
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

import data
import graphs
import networks
from daemon import BUILD, REMAT, run
from networks import export, read_dimacs, read_dot

SLOW = BUILD.endswith("asan")
GRAPHS = ("dropout_ac",) if SLOW else ("dropout_ac", "llama_2l_sac", "bert_3l", "resnet18")
N_RANDOM = 40 if SLOW else {"quick": 300, "full": 1500, "torture": 10000}[os.environ.get("REMAT_LEVEL", "quick")]

HOSTILE = ['"', "\\", "a\\", '"\\', '\\"]; x -> y [label="', "<script>alert(1)</script>", "&lt;b&gt; &amp; &#60;", "</title>", "\u202egnp\u2066",
           "two\nlines", "\x01\x1f\x7f\x85", "{a|b} -> digraph", "\\N\\G\\l", "s%s%n", "c + \np max 1 1", "\u00e9" * 50, "x" * 10000,
           "\U0001f600" * 40, "n" * 71 + "\u20ac" * 30]


def hostile():
    """A chain whose nodes have the names above, forward and backward."""
    document = graphs.chain(len(HOSTILE))
    names = dict(zip((f"f{i}" for i in range(len(HOSTILE))), HOSTILE))

    def rename(arg):
        return "%" + names.get(arg[1:], arg[1:])

    for node in document["nodes"]:
        node["args"] = [rename(arg) for arg in node["args"]]
        node["name"] = names.get(node["name"], node["name"])
    document["nodes"][2]["target"] = 'a"\\<b>&amp;'
    return document


def requests():
    """(name, body) of many small graphs."""
    for name in data.case_names():
        yield name, json.dumps({"graph": json.loads(data.case_graph_text(name)), "options": data.case_expected(name).get("options", {})})
    for i, line in enumerate(data.random_lines("synthetic")[:N_RANDOM]):
        yield f"synthetic {i}", json.dumps({"graph": line["graph"], "options": line["options"]})


class TestDimacs(unittest.TestCase):
    def plan(self, body):
        done = run(REMAT, "plan", "-", stdin=body.encode())
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return json.loads(done.stdout)

    def check(self, name, body):
        done = export(body, "dimacs")
        plan = self.plan(body)
        network = read_dimacs(done.stdout.decode())
        self.assertEqual(done.returncode, 0 if plan["outcome"] == "plan" else 3, name)
        self.assertEqual(network.outcome, plan["outcome"], name)
        self.assertGreater(network.infinite, sum(c for *_, c in network.arcs if c != network.infinite), name)
        flow = networks.maximum_flow(network)
        if plan["outcome"] == "infinite_flow":
            self.assertGreaterEqual(flow, network.infinite, name)
        elif plan.get("cut"):
            self.assertEqual((flow, network.cut), (plan["cut"]["value"], plan["cut"]["value"]), name)
            self.assertLess(flow, network.infinite)
            self.check_cut(network, plan)
        return plan["outcome"]

    def check_cut(self, network, plan):
        """The arcs of the plan's nodes cost the flow and part source and sink."""
        cut = set(plan["cut"]["nodes"])
        inside = [(a, b, c) for a, b, c in network.arcs
                  if a in network.vertices and b in network.vertices and network.vertices[a][0] == network.vertices[b][0] in cut]
        self.assertEqual(sum(c for *_, c in inside), plan["cut"]["value"])
        rest = networks.networkx.DiGraph((a, b) for a, b, _ in set(network.arcs) - set(inside))
        rest.add_nodes_from((network.source, network.sink))
        self.assertFalse(networks.networkx.has_path(rest, network.source, network.sink))

    def test_small_graphs(self):
        outcomes = {self.check(name, body) for name, body in requests()}
        self.assertEqual(outcomes, {"plan", "infinite_flow", "invalid_output"})

    def test_real_graphs(self):
        for name in GRAPHS:
            self.check(name, data.corpus_graph_text(name))

    def test_last_cut_of_a_budget(self):
        body = json.dumps({"graph": json.loads(data.corpus_graph_text("dropout_ac")), "options": {"activation_memory_budget": 0.3}})
        self.check("budget", body)

    def test_neighbourhood(self):
        """Every depth, against a search over the whole network; what is shown keeps its capacities."""
        body = data.corpus_graph_text("dropout_ac")
        whole = read_dimacs(export(body, "dimacs").stdout.decode())
        named = {(whole.vertices.get(a), whole.vertices.get(b)): c for a, b, c in whole.arcs}
        nodes = sorted({name for name, _ in whole.vertices.values()})
        for name in nodes[::7]:
            for depth in (0, 1, 2, 5, 1000):
                part = read_dimacs(export(body, "dimacs", "--around", name, "--depth", str(depth)).stdout.decode())
                shown = {of for of, _ in part.vertices.values()}
                self.assertEqual(shown, networks.near(whole, name, depth), (name, depth))
                expected = {pair: c for pair, c in named.items() if all(end is None or end[0] in shown for end in pair)}
                arcs = {(part.vertices.get(a), part.vertices.get(b)): c for a, b, c in part.arcs}
                self.assertEqual(arcs.keys(), expected.keys())
                self.assertTrue(all(c == expected[pair] or c == part.infinite for pair, c in arcs.items()))
        self.assertEqual(export(body, "dimacs", "--around", nodes[0]).stdout,
                         export(body, "dimacs", "--around", nodes[0], "--depth", "2").stdout)

    def test_hostile_names(self):
        network = read_dimacs(export(graphs.encode(hostile()), "dimacs").stdout.decode())
        self.assertLessEqual(set(HOSTILE), {name for name, _ in network.vertices.values()})
        for name in HOSTILE:
            part = read_dimacs(export(graphs.encode(hostile()), "dimacs", "--around", name, "--depth", "0").stdout.decode())
            self.assertEqual({of for of, _ in part.vertices.values()}, {name})

    def test_weights_past_what_adds_up(self):
        """Capacities that add up past 62 bits are cut off where no cut can tell."""
        document = graphs.tiny()
        for node in document["nodes"][:4]:
            node["val"] = {"dtype": "uint8", "shape": [1 << 61]}
        for node in document["nodes"][1:4:2]:
            node["val"] = {"dtype": "uint8", "shape": [1 << 10]}
        done = export(graphs.encode(document), "dimacs", options={"profile": "plain"})
        network = read_dimacs(done.stdout.decode())
        self.assertEqual(networks.maximum_flow(network), network.cut)


class TestDot(unittest.TestCase):
    def test_same_network(self):
        """As many vertices and edges as DIMACS has, the same capacities, infinite ones red, the cut bold."""
        for body in (data.corpus_graph_text("dropout_ac"), json.dumps(graphs.infinite_flow()), json.dumps(graphs.tiny())):
            network = read_dimacs(export(body, "dimacs").stdout.decode())
            vertices, edges = read_dot(export(body, "dot").stdout.decode())
            self.assertEqual(len(vertices), network.n)
            whole = sorted((int(a[1:]), int(b[1:]), network.infinite if label == "inf" else int(label)) for a, b, label, *_ in edges)
            self.assertEqual(whole, sorted(network.arcs))
            for _, _, label, colour, _ in edges:
                self.assertEqual(colour == "red", label == "inf")
            plan = json.loads(run(REMAT, "plan", "-", stdin=body.encode()).stdout)
            bold = {vertices[a][1] for a, _, _, _, style in edges if style == "bold"}
            self.assertEqual(bold, set(plan["cut"]["nodes"]) if plan["outcome"] == "plan" else set())

    def test_labels(self):
        document = graphs.tiny()
        document["nodes"][2]["recompute"] = "must_save"
        vertices, _ = read_dot(export(graphs.encode(document), "dot").stdout.decode())
        labels = [networks.unquote(label) for label, _ in vertices.values()]
        self.assertIn("x (in)\nplaceholder primals_1\n256 bytes, float32[64]\nsaved", labels)
        self.assertIn("y (in)\ncall_function aten.sin.default\n256 bytes, float32[64]\ntagged must_save", labels)
        self.assertIn("x (out)", labels)

    def test_states(self):
        body = data.corpus_graph_text("dropout_ac")
        plan = json.loads(run(REMAT, "plan", "-", stdin=body.encode()).stdout)
        vertices, _ = read_dot(export(body, "dot").stdout.decode())
        for state in ("saved", "recomputed"):
            said = {name for label, name in vertices.values() if label.endswith("\\n" + state)}
            self.assertEqual(said, set(plan[state]) & {name for _, name in vertices.values()})
            self.assertTrue(said)

    def test_hostile_names(self):
        text = export(graphs.encode(hostile()), "dot").stdout.decode()
        vertices, _ = read_dot(text)
        self.assertLessEqual(set(HOSTILE), {name for _, name in vertices.values()})
        for label, _ in vertices.values():
            self.assertLess(len(label.encode()), 400)
            self.assertNotRegex(networks.unquote(label).replace("\n", ""), "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

    def test_drawn(self):
        """What Graphviz draws of them is well-formed XML, and a name is text in it."""
        for name in HOSTILE:
            text = export(graphs.encode(hostile()), "dot", "--around", name, "--depth", "1").stdout
            done = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, check=True)
            self.assertEqual(done.stderr, b"", name)
            drawn = ElementTree.fromstring(done.stdout)
            self.assertFalse([e for e in drawn.iter() if e.tag.endswith("script")])
            words = [e.text for e in drawn.iter() if e.tag.endswith("}text")]
            if name.isprintable() and len(name) < 40 and "\u202e" not in name:
                self.assertTrue(any((w or "").replace("\xa0", " ").startswith(name + " (in)") for w in words), (name, words))

    def test_nothing_to_draw(self):
        document = {**graphs.tiny(), "num_fwd_outputs": 2}
        done = export(graphs.encode(document), "dot")
        self.assertEqual((done.returncode, read_dot(done.stdout.decode())), (3, ({}, [])))
        self.assertIn(b"there is no network", done.stdout)


class TestParameters(unittest.TestCase):
    def problem(self, *flags, code, status=1):
        done = export(graphs.encode(graphs.tiny()), *flags)
        self.assertEqual((done.returncode, done.stdout), (status, b""), done)
        problem = json.loads(done.stderr)
        self.assertEqual(problem["code"], code)
        return problem["detail"]

    def test_problems(self):
        self.assertIn('no node "nobody"', self.problem("dot", "--around", "nobody", code="not-found"))
        self.assertIn("whole graph", self.problem("min-cut-information", "--around", "x", code="bad-request"))
        for depth in ("-1", "x", "", "1.5", "9999999999"):
            self.assertIn("depth", self.problem("dimacs", "--around", "x", "--depth", depth, code="bad-request"))

    def test_usage(self):
        for flags in (["--as", "svg"], [], ["--as", "dot", "--depth", "1"], ["--as", "dot", "--format", "text"], ["--as"],
                      ["--as", "dot", "--what", "x"]):
            done = run(REMAT, "export", "-", *flags, stdin=graphs.encode(graphs.tiny()))
            self.assertEqual((done.returncode, done.stdout), (2, b""), flags)

    def test_no_trace_without_a_plan(self):
        done = export(graphs.encode(graphs.infinite_flow()), "min-cut-information")
        self.assertEqual(done.returncode, 1)
        self.assertIn("infinite_flow", json.loads(done.stderr)["detail"])

    def test_same_bytes(self):
        for form in ("dot", "dimacs", "min-cut-information"):
            body = graphs.encode(graphs.chain(50))
            self.assertEqual(export(body, form).stdout, export(body, form).stdout)


if __name__ == "__main__":
    unittest.main()
