"""The command line program under valgrind: plans, a conflict, a misplaced output, refusals."""
# level: full
import json
import os
import subprocess
import unittest

import data
import engine

VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible"]


class Valgrind(unittest.TestCase):
    def plan(self, text, status, *flags):
        command = VALGRIND + [os.path.join(engine.BUILD, "remat"), "plan", *flags, "-"]
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr.decode()[-2000:])
        self.assertNotIn(b"==", done.stderr)

    def test_plans(self):
        for name in ("unet", "moe", "gpt2_4l_1", "llama_2l_dynamic", "ap_llama2l_1d_s1_fsdp"):
            with self.subTest(graph=name):
                self.plan(data.corpus_graph_text(name), 0, "--options", '{"explain":"full"}')
                self.plan(data.corpus_graph_text(name), 0, "--format", "text")

    def test_budgets_and_limits(self):
        for name, options in (("llama_2l_sac", {"activation_memory_budget": 0.3}),
                              ("dropout", {"activation_memory_budget": 0.4, "activation_memory_budget_solver": "ilp"}),
                              ("llama_2l", {"activation_memory_budget": 0, "compat": True}),
                              ("unet", {"memory_limit_bytes": 100000})):
            with self.subTest(graph=name, **options):
                self.plan(data.corpus_graph_text(name), 0, "--options", json.dumps(options))

    def test_graphs_without_a_plan(self):
        self.plan(data.corpus_graph_text("autoparallel_llama_3l_naive_getitem"), 3)
        for name in data.case_names():
            if data.case_expected(name)["expect"]["outcome"] != "plan":
                with self.subTest(case=name):
                    self.plan(data.case_graph_text(name), 3, "--options", '{"profile":"plain"}')

    def test_refusals(self):
        graph = data.case_graph_text("G01")
        for text, flags, status in (("", (), 1), ("{", (), 1), ("[1,2", (), 1), (graph[:len(graph) // 2], (), 1),
                                    (graph.replace('"placeholder"', '"input"', 1), (), 1), (graph.replace('"%', '"%no_', 1), (), 1),
                                    (graph, ("--options", '{"profil":"plain"}'), 1),
                                    (graph, ("--options", '{"activation_memory_budget":1.5}'), 1),
                                    (graph, ("--options", '{"deadline_ms":1}', "--max-steps", "1"), 4)):
            with self.subTest(text=text[:20], flags=flags):
                self.plan(text, status, *flags)


if __name__ == "__main__":
    unittest.main()
