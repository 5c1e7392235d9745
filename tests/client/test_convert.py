"""Printed joint graphs become documents, and what is wrong with a text is said. The command line of the client."""
import json
import lzma
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "proto", "python"))

import daemon
import data
from rematd.convert import ConvertError, convert, evaluate

PRINTED = '''\
class joint_helper(torch.nn.Module):
    def forward(
        self,
        primals,
        tangents,
    ):
        primals_1: "f32[8, 8][8, 1]cpu"; primals_2: "Sym(s27)"; primals_3: "f32[s27, 8][8, 1]cuda:0"; tangents_1: "f32[s27, 8][8, 1]cpu"; 

        primals_1, primals_2, primals_3, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: train.py:7 in forward, code: h = (x @ w).max(1)
        mm: "f32[s27, 8][8, 1]cpu" = torch.ops.aten.mm.default(primals_3, primals_1)
        dead: "f32[s27, 8][8, 1]cpu" = torch.ops.aten.exp.default(mm)
        # ac_graph_id: 2 - MUST_SAVE File: train.py:8 in forward, code: v, i = y.max(1)
        max_1 = torch.ops.aten.max.dim(mm, -1)
        getitem: "f32[s27][1]cpu" = max_1[0]
        getitem_1: "i64[s27][1]cpu" = max_1[1];  max_1 = None
        # recompute: PREFER_RECOMPUTE No stacktrace found for following nodes
        mul_2: "Sym(8*s27)" = primals_2 * 8
        view: "f32[8*s27][1]cpu" = torch.ops.aten.view.default(mm, [mul_2])
        sin: "f32[8*s27][1]cpu" = torch.ops.aten.sin.default(view)
        sin_1: "f32[8*s27][1]cpu" = torch.ops.aten.sin.default(view);  view = None
        # No stacktrace found for following nodes
        full: "f32[8, 8][8, 1]cpu" = torch.ops.aten.full.default([8, 8], -inf, dtype = torch.float32, device = device(type='cuda', index=0), pin_memory = False)
        unsqueeze: "f32[s27, 1][1, 1]cpu" = torch.ops.aten.unsqueeze.default(getitem, -1)
        mul: "f32[s27, 8][8, 1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, unsqueeze);  unsqueeze = None
        permute: "f32[8, s27][1, 8]cpu" = torch.ops.aten.permute.default(primals_3, [1, 0])
        mm_1: "f32[8, 8][8, 1]cpu" = torch.ops.aten.mm.default(permute, mul);  permute = mul = None
        add: "f32[8, 8][8, 1]cpu" = torch.ops.aten.add.Tensor(mm_1, full)
        return pytree.tree_unflatten([sin, sin_1, getitem_1, add, None, None], self._out_spec)
'''


# As PyTorch prints a graph whose inputs are no tree: in "min_cut_failed_graph.txt", and of a step within a step.
FLAT = PRINTED.replace(PRINTED[PRINTED.index("    def forward"):PRINTED.index("        # File")], """\
    def forward(self, primals_1: "f32[8, 8][8, 1]cpu", primals_2: "Sym(s27)", primals_3: "f32[s27, 8][8, 1]cuda:0",
                tangents_1: "f32[s27, 8][8, 1]cpu"):
""")
WITHIN = """
    class body_0(torch.nn.Module):
        def forward(self, primals_0: "f32[4][1]cpu", tangents_0: "f32[4][1]cpu"):
            sin: "f32[4][1]cpu" = torch.ops.aten.sin.default(primals_0)
            return (sin, tangents_0)

        class deeper_0(torch.nn.Module):
            def forward(self, tangents_0):
                return tangents_0
"""


def node(document, name):
    return next(n for n in document["nodes"] if n["name"] == name)


class Converting(unittest.TestCase):
    def test_what_is_read(self):
        made = convert(PRINTED, num_fwd_outputs=3, static=[0], hints={"s27": 5}, name="it")
        document = made.document
        self.assertEqual((document["schema"], document["num_fwd_outputs"], document["static_lifetime_inputs"], document["name"]),
                         ("remat/graph/v1", 3, [0], "it"))
        self.assertEqual(node(document, "primals_2"), {"name": "primals_2", "op": "placeholder", "target": "primals_2", "binds": "s27",
                                                       "val": {"sym": "int", "expr": "s27", "symbols": ["s27"], "hint": 5}})
        self.assertEqual(node(document, "mm"), {
            "name": "mm", "op": "call_function", "target": "aten.mm.default", "args": ["%primals_3", "%primals_1"],
            "val": {"dtype": "float32", "shape": ["s27", 8], "hint": [5, 8], "symbols": ["s27"]},
            "stack": "train.py:7 in forward, code: h = (x @ w).max(1)"})
        self.assertEqual({k: node(document, "max_1")[k] for k in ("recompute", "ac_graph_id", "args")},
                         {"recompute": "must_save", "ac_graph_id": 2, "args": ["%mm", -1]})
        self.assertEqual([v["dtype"] for v in node(document, "max_1")["val"]["tuple"]], ["float32", "int64"])
        self.assertEqual((node(document, "getitem_1")["target"], node(document, "getitem_1")["args"]), ("getitem", ["%max_1", 1]))
        self.assertEqual((node(document, "mul_2")["target"], node(document, "mul_2")["val"]["hint"]), ("operator.mul", 40))
        self.assertEqual((node(document, "view")["alias_of"], node(document, "view")["recompute"]), ("mm", "prefer_recompute"))
        self.assertNotIn("recompute", node(document, "full"))
        self.assertEqual(node(document, "full")["args"], [[8, 8], {"float": "-inf"}])
        self.assertEqual(node(document, "full")["kwargs"]["device"], {"device": "cuda:0"})
        self.assertEqual(document["nodes"][-1]["args"], ["%sin", "%sin_1", "%getitem_1", "%add", None, None])

    def test_dead_code_goes_and_outputs_are_not_merged(self):
        names = [n["name"] for n in convert(PRINTED).document["nodes"]]
        self.assertNotIn("dead", names)
        self.assertIn("sin_1", names)  # both are outputs: they must stay two tensors
        inner = PRINTED.replace("[sin, sin_1,", "[sin, sin_3,").replace(
            "        full:", '        sin_2: "f32[8*s27][1]cpu" = torch.ops.aten.cos.default(sin)\n'
            '        cos_1: "f32[8*s27][1]cpu" = torch.ops.aten.cos.default(sin)\n'
            '        sin_3: "f32[8*s27][1]cpu" = torch.ops.aten.add.Tensor(sin_2, cos_1)\n        full:')
        document = convert(inner).document
        self.assertNotIn("cos_1", [n["name"] for n in document["nodes"]])
        self.assertEqual(node(document, "sin_3")["args"], ["%sin_2", "%sin_2"])

    def test_what_is_inferred_is_listed(self):
        made = convert(PRINTED)
        self.assertEqual((made.document["num_fwd_outputs"], made.document["static_lifetime_inputs"]), (3, [0]))
        text = "\n".join(made.inferred)
        for words in ("num_fwd_outputs: 3", "static_lifetime_inputs: 1", "--hint s27=N", "1 nodes are printed without a type"):
            self.assertIn(words, text)
        self.assertNotIn("num_fwd_outputs", "\n".join(convert(PRINTED, num_fwd_outputs=3).inferred))

    def test_from_a_log(self):
        prefix = "I1130 10:26:50.285000 28075 torch/_functorch/_aot_autograd/graph_compile.py:1780] [0/0] [__aot_joint_graph] "
        log = "noise\n" + "".join(prefix + "\x1b[31m" + line + "\x1b[0m\n" for line in ["TRACED GRAPH", *PRINTED.splitlines(), ""])
        self.assertEqual(convert(log).document, convert(PRINTED).document)
        with self.assertRaisesRegex(ConvertError, r"2 joint graphs in this text, pick one \(--graph 0 to 1\)"):
            convert(log + log)
        self.assertEqual(convert(log + log, graph=1).document, convert(PRINTED).document)
        with self.assertRaisesRegex(ConvertError, "no graph 2, the text has 2"):
            convert(log + log, graph=2)

    def test_inputs_in_the_signature(self):
        self.assertNotIn("tree_flatten_spec", FLAT)
        self.assertEqual(convert(FLAT, hints={"s27": 5}), convert(PRINTED, hints={"s27": 5}))
        untyped = convert("def forward(self, primals_1, tangents_1):\n    sin = torch.ops.aten.sin.default(primals_1)\n"
                          "    return (sin, tangents_1)\n").document
        self.assertEqual([n["name"] for n in untyped["nodes"]], ["primals_1", "tangents_1", "sin", "output"])

    def test_modules_within_a_graph_are_no_other_graph(self):
        for text in (PRINTED, FLAT):
            self.assertEqual(convert(text + WITHIN, num_fwd_outputs=3), convert(text, num_fwd_outputs=3))
            with self.assertRaisesRegex(ConvertError, "2 joint graphs"):
                convert(text + WITHIN + text + WITHIN)
            self.assertEqual(convert(text + WITHIN + FLAT + WITHIN, graph=1), convert(PRINTED))

    def test_a_plan_of_it(self):
        with daemon.Daemon() as live:
            response = live.plan(json.dumps(convert(PRINTED, hints={"s27": 5}).document).encode())
        self.assertEqual((response.status, response.json["outcome"]), (200, "plan"))
        self.assertEqual(response.json["saved"], ["unsqueeze", "permute"])

    def test_texts_that_are_none(self):
        lines = PRINTED.splitlines(keepends=True)
        for text, words in (("", "no joint graph"), ("hello", "no joint graph"), ("".join(lines[:12]), "no return"),
                            (PRINTED.replace("= max_1[0]", "= max_1[0"), "not Python"),
                            (PRINTED.replace("max_1[0]", "[x for x in y]"), "nothing a graph does"),
                            (FLAT.replace("primals_3:", "primals_9:"), "primals_3 is used and defined nowhere before"),
                            (PRINTED.replace("        unsqueeze: ", "        # unsqueeze: "), "unsqueeze is used and defined"),
                            (PRINTED.replace("getitem_1:", "getitem:"), "defined twice")):
            with self.subTest(words=words), self.assertRaisesRegex(ConvertError, words):
                convert(text)

    def test_sizes(self):
        hints = {"s0": 6, "s1": 4}
        for text, value in (("s0*s1 + 2", 26), ("(s0//4)", 1), ("Max(1, s1 - 9)", 1), ("s0**2", 36), ("-s0 + 10", 4), ("Mod(s0, 4)", 2),
                            ("CeilDiv(s0, 4)", 2), ("s9", 4096)):
            self.assertEqual(evaluate(text, hints), value, text)
        for text in ("__import__('os')", "s0.real", "9**999", "[1]", "f(2)"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                evaluate(text, hints)


class CommandLine(unittest.TestCase):
    def run_it(self, *arguments, stdin=""):
        return subprocess.run([sys.executable, "-m", "rematd", *arguments], cwd=os.path.join(ROOT, "proto", "python"), input=stdin,
                              capture_output=True, text=True, timeout=120, check=False)

    def test_convert(self):
        done = self.run_it("convert", "-", "--num-fwd-outputs", "3", "--static", "0", "--hint", "s27=5", stdin=PRINTED)
        self.assertEqual(json.loads(done.stdout), convert(PRINTED, num_fwd_outputs=3, static=[0], hints={"s27": 5}).document)
        self.assertIn("inferred: ", done.stderr)
        self.assertEqual(done.returncode, 0)
        for arguments in (("--hint", "s27"), ("--static", "a"), ("--graph", "3")):
            done = self.run_it("convert", "-", *arguments, stdin=PRINTED)
            self.assertEqual((done.returncode, done.stdout), (1, ""), arguments)
            self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_plan_explain_report(self):
        graph = data.corpus_graph_text("llama_2l_sac")
        with daemon.Daemon() as live:
            url = ("--url", f"http://{live.host}", "--timeout", "60")
            done = self.run_it("plan", "-", *url, stdin=graph)
            self.assertEqual((done.returncode, json.loads(done.stdout)["outcome"]), (0, "plan"), done.stderr)
            done = self.run_it("plan", "-", *url, "--format", "text", stdin=graph)
            self.assertIn("a joint graph of", done.stdout)
            done = self.run_it("plan", "-", *url, stdin=data.corpus_graph_text("autoparallel_llama_3l_naive_getitem"))
            self.assertEqual((done.returncode, json.loads(done.stdout)["outcome"]), (3, "infinite_flow"))
            done = self.run_it("plan", "-", *url, "--options", '{"max_dist_from_bv": 1}', stdin=graph)
            self.assertEqual(done.returncode, 1)
            self.assertIn("unknown-option", done.stderr)
            self.explain(url, graph)
            self.report(url, graph)
        done = self.run_it("plan", "-", *url, stdin=graph)
        self.assertEqual(done.returncode, 4)
        self.assertIn("cannot connect", done.stderr)
        self.assertEqual(self.run_it("plan", "-", *url, stdin="{").returncode, 1)
        self.assertEqual(self.run_it("plan").returncode, 2)

    def explain(self, url, graph):
        done = self.run_it("explain", "-", "mm", *url, stdin=graph)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("mm: saved: it is tagged must_save\n"), done.stdout)
        self.assertIn("Tagged must_recompute: ", done.stdout)
        done = self.run_it("explain", "-", "mm", "--format", "json", *url, stdin=graph)
        node = json.loads(done.stdout)
        self.assertEqual((node["schema"], node["node"], node["state"]), ("remat/node/v1", "mm", "saved"))
        passes = '[{"pass": "set_tags", "tags": {"mm": "must_recompute"}}]'
        done = self.run_it("explain", "-", "mm", "--format", "json", "--passes", passes, *url, stdin=graph)
        self.assertEqual(json.loads(done.stdout)["state"], "recomputed")
        done = self.run_it("explain", "-", *url, stdin=graph)
        self.assertIn("why it is saved", done.stdout)
        done = self.run_it("explain", "-", "mn", *url, stdin=graph)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("did you mean", done.stderr)

    def report(self, url, graph):
        done = self.run_it("report", "-", *url, stdin=graph)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.lower().startswith("<!doctype html>"), done.stdout[:80])
        self.assertIn("_scaled_dot_product_flash_attention_for_cpu", done.stdout)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.html")
            again = self.run_it("report", "-", "--output", path, *url, stdin=graph)
            with open(path, encoding="utf-8") as file:
                self.assertEqual((again.stdout, file.read()), ("", done.stdout))
        with lzma.open(os.path.join(data.DATA, "traces", "llama.min_cut_information.json.xz"), "rt", encoding="utf-8") as file:
            done = self.run_it("report", "-", *url, stdin=file.read())
        self.assertTrue(done.stdout.lower().startswith("<!doctype html>"), done.stderr)
