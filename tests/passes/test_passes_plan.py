"""Passes in a request: the plan is that of the graph with the tags they leave, and says what they changed."""
# level: quick
# variants: asan
import json
import os
import subprocess
import unittest

import tagging

import engine

SAC = {"pass": "sac_policy", "save": ["aten.mm.default", tagging.ATTENTION], "otherwise": "prefer_recompute", "modules": "blocks.*"}
REPAIR = {"pass": "repair_tags"}
AUTO = {"pass": "autoparallel", "stage_size_gib": "auto"}
GATHER = {"pass": "fsdp_all_gather", "reshard_after_forward": True}
CASES = [("llama_2l", [SAC]), ("llama_2l", [SAC, AUTO]), ("llama_2l_sac", [{"pass": "stage_recomputation", "stage_size_gib": 0.001}, REPAIR]),
         ("ap_llama2l_1d_noac_s1_before", [GATHER, AUTO]), ("ap_llama2l_1d_noac_s1_naive_getitem", [REPAIR]), ("moe", [SAC, REPAIR])]
DECISION = ("outcome", "saved", "saved_sym", "saved_opaque", "recomputed", "cut", "memory", "cost", "tags", "bans")


class InPlans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tagger, cls.planner = tagging.Tagger().__enter__(), engine.Planner()

    @classmethod
    def tearDownClass(cls):
        cls.planner.close()
        cls.tagger.__exit__()

    def plan(self, graph, passes, **options):
        answer = self.planner.ask_text(json.dumps({"graph": graph, "passes": passes, "options": {"explain": "full", **options}}))
        self.assertNotEqual(answer.kind, "problem", answer.raw)
        return answer.doc

    def test_a_plan_with_passes_is_the_plan_of_their_tags(self):
        for name, passes in CASES:
            graph = tagging.corpus_graph(name)
            answer = self.tagger.ask(graph, passes)
            tagged = tagging.with_tags(graph, answer["tags"])
            for options in ({}, {"profile": "plain"}, {"activation_memory_budget": 0.6}):
                with self.subTest(name=name, passes=[p["pass"] for p in passes], options=options):
                    got, want = self.plan(graph, passes, **options), self.plan(tagged, [], **options)
                    self.assertEqual({k: got.get(k) for k in DECISION}, {k: want.get(k) for k in DECISION})
                    self.assertNotEqual(got["digest"], want["digest"])

    def test_the_plan_says_what_each_pass_changed_and_noted(self):
        for name, passes in CASES:
            graph = tagging.corpus_graph(name)
            want, got = self.tagger.ask(graph, passes)["passes"], self.plan(graph, passes)
            with self.subTest(name=name, passes=[p["pass"] for p in passes]):
                self.assertEqual([p["pass"] for p in got["passes"]], [p["pass"] for p in passes])
                self.assertEqual([[[c["node"], c["before"], c["after"]] for c in p["changes"]] for p in got["passes"]],
                                 [p["changes"] for p in want])
                self.assertEqual([p["changed"] for p in got["passes"]], [len(p["changes"]) for p in want])
                noted = [d for p in want for d in p["diagnostics"]]
                self.assertEqual([[d["code"], d.get("node"), d["message"]] for d in got["diagnostics"][:len(noted)]], noted)
                self.assertEqual([sorted(p) for p in self.plan(graph, passes, explain="none")["passes"]], [["changed", "pass"]] * len(passes))

    def test_a_graph_without_a_plan_says_it_too(self):
        graph = tagging.corpus_graph("ap_llama2l_1d_noac_s1_naive_getitem")
        got = self.plan(graph, [{"pass": "stage_recomputation", "stage_size_gib": None}])
        self.assertEqual((got["outcome"], got["passes"]), ("infinite_flow", [{"pass": "stage_recomputation", "changed": 0, "changes": []}]))

    def test_modules_are_in_the_digest_where_a_pass_reads_them(self):
        graph = tagging.corpus_graph("llama_2l")
        other = {**graph, "nodes": [{**d, "module": d["module"] + ".x"} if "module" in d else d for d in graph["nodes"]]}
        for passes, same in (([], True), ([AUTO], True), ([SAC], False)):
            self.assertEqual(self.plan(graph, passes)["digest"] == self.plan(other, passes)["digest"], same)

    def test_missing_sizes_and_limits_name_their_place(self):
        graph = tagging.corpus_graph("llama_2l")
        node = next(i for i, d in enumerate(graph["nodes"]) if d["name"] == "rsqrt")
        del graph["nodes"][node]["val"]
        answer = self.planner.ask_text(json.dumps({"graph": graph, "passes": [AUTO]}))
        self.assertEqual((answer.kind, answer.doc["code"]), ("problem", "size-unknown"))
        self.assertEqual(answer.doc["errors"][0]["pointer"], f"/graph/nodes/{node}")
        graph["nodes"][node + 1].update(recompute="must_save", ac_graph_id=2 ** 63 - 1)
        answer = self.planner.ask_text(json.dumps({"graph": graph, "passes": [SAC]}))
        self.assertEqual((answer.kind, answer.doc["code"]), ("problem", "invalid-graph"))


class CommandLine(unittest.TestCase):
    def remat(self, *args, stdin):
        return subprocess.run([os.path.join(engine.BUILD, "remat"), *args], input=stdin.encode(), capture_output=True, timeout=120,
                              check=False)

    def test_recorded_tags(self):
        for name, want in list(tagging.tag_files())[::3]:
            graph = json.dumps(tagging.corpus_graph(want["of"]))
            with self.subTest(name):
                done = self.remat("tags", "--passes", json.dumps(want["passes"]), "-", stdin=graph)
                self.assertEqual(json.loads(done.stdout), {"tags": want["tags"]})
                self.assertEqual(done.returncode, 0)

    def test_passes_of_the_document_and_of_the_flag(self):
        graph = tagging.corpus_graph("llama_2l")
        inside = json.dumps({**graph, "passes": [SAC]})
        want = json.loads(self.remat("tags", "-", "--passes", json.dumps([SAC]), stdin=json.dumps(graph)).stdout)
        self.assertGreater(len(want["tags"]), 100)
        self.assertEqual(json.loads(self.remat("tags", "-", stdin=inside).stdout), want)
        self.assertEqual(json.loads(self.remat("tags", "-", "--passes", "[]", stdin=inside).stdout), {"tags": {}})

    def test_the_text_report_tells_of_passes(self):
        graph = json.dumps(tagging.corpus_graph("llama_2l"))
        done = self.remat("plan", "-", "--format", "text", "--passes", json.dumps([SAC, REPAIR]), stdin=graph)
        self.assertIn(b"The pass sac_policy changed 166 tags.\nThe pass repair_tags changed 0 tags.\n", done.stdout)
        self.assertIn(b"pass-node-without-module: ", done.stdout)


if __name__ == "__main__":
    unittest.main()
