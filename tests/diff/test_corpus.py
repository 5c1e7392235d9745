"""Every decision PyTorch made on real, random and reported graphs, one by one: ours must be equal."""
# variants: asan
import json
import os
import subprocess
import tempfile
import unittest

import compare
import data
import engine


class Corpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.planner = engine.Planner()

    @classmethod
    def tearDownClass(cls):
        cls.planner.close()

    def compare_results(self, name):
        text, expected = data.corpus_graph_text(name), data.corpus_expected(name)
        graph, n = json.loads(text), 0
        for result_name, result in expected["results"].items():
            options = {"impure_random": expected["impure_random"], **result["options"]}
            n += 1
            with self.subTest(graph=name, result=result_name):
                answer = self.planner.ask_text(engine.request_text(text, options))
                if data.depends_on_solver(graph, options):
                    self.compare_first_cuts(answer, result)
                else:
                    self.assertEqual(compare.against_pytorch(answer, result), [])
        return n

    def compare_first_cuts(self, answer, result):
        """An integer program has many optimal answers; what comes before it has one."""
        self.assertEqual(answer.kind, "plan", answer.doc)
        first = {"cuts": result["cuts"][:-1]}
        answer.doc["cuts"], answer.doc["cut"] = answer.doc["cuts"][:-1], answer.doc["cuts"][-2]
        self.assertEqual(compare.against_pytorch(answer, first), [])

    def test_corpus_equals_pytorch(self):
        counts = [self.compare_results(name) for name in data.corpus_names()]
        self.assertGreaterEqual(len(counts), 40)
        self.assertGreaterEqual(min(counts), 1)
        self.assertEqual(sum(counts), 382)

    def compare_lines(self, kind):
        n = 0
        for i, line in enumerate(data.random_lines(kind)):
            n += 1
            with self.subTest(kind=kind, line=i + 1):
                answer = self.planner.ask(line["graph"], line["options"])
                self.assertEqual(compare.against_pytorch(answer, line["expected"]), [])
        return n

    def test_synthetic_lines_equal_pytorch(self):
        self.assertEqual(self.compare_lines("synthetic"), 348)

    def test_perturbed_lines_equal_pytorch(self):
        self.assertEqual(self.compare_lines("perturbed"), 150)

    def test_corpus_answers_the_same_bytes_again(self):
        for name in ("llama_2l_sac", "autoparallel_llama_3l_naive_getitem", "moe"):
            line = engine.request_text(data.corpus_graph_text(name))
            first = self.planner.ask_text(line)
            self.planner.ask_text(engine.request_text(data.corpus_graph_text("unet")))
            self.assertEqual(first.raw, self.planner.ask_text(line).raw)
            with engine.Planner() as fresh:
                self.assertEqual(first.raw, fresh.ask_text(line).raw)


class Cases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.planner = engine.Planner()

    @classmethod
    def tearDownClass(cls):
        cls.planner.close()

    def compare_case(self, name):
        expected = data.case_expected(name)
        want, answer = expected["expect"], self.planner.ask_text(
            engine.request_text(data.case_graph_text(name), expected.get("options")))
        self.assertNotEqual(answer.kind, "problem", answer.doc)
        plan = answer.doc
        self.assertEqual(plan["outcome"], want["outcome"])
        if "cut_value" in want:
            self.assertEqual(plan["cut"]["value"], want["cut_value"])
        if "cut_nodes" in want:
            self.assertEqual(plan["cut"]["nodes"], want["cut_nodes"])
        for key in ("saved", "recomputed"):
            if key in want:
                self.assertEqual(plan[key], want[key])
        if "tied_saved_sets" in want:
            self.assertIn(sorted(plan["saved"]), [sorted(s) for s in want["tied_saved_sets"]])
        if "conflict" in want:
            backward = set(plan["classes"]["tangents_closure"])
            self.assertEqual({n for n in compare.conflict_nodes(plan) if n not in backward}, set(want["conflict"]))
        if "path" in want:
            self.assertEqual(compare.conflict_nodes(plan), want["path"])

    def test_every_case(self):
        names = data.case_names()
        self.assertGreaterEqual(len(names), 41)
        for name in names:
            with self.subTest(case=name):
                self.compare_case(name)


class CommandLine(unittest.TestCase):
    """The real program on a few documents: what the library decides is what it prints."""

    def test_corpus_sample_through_remat_plan(self):
        for name in ("unet", "moe", "llama_2l_sac", "gpt2_4l_1", "autoparallel_llama_3l_naive_getitem"):
            expected = data.corpus_expected(name)
            result = expected["results"]["default"]
            options = {"explain": "full", "impure_random": expected["impure_random"], **result["options"]}
            with self.subTest(graph=name):
                status, out, err = engine.run_cli(data.corpus_graph_text(name), options)
                self.assertEqual(status, 3 if "error" in result else 0, err)
                answer = engine.Answer("no-plan" if status else "plan", out.encode(), 0)
                self.assertEqual(compare.against_pytorch(answer, result), [])

    def test_file_argument_equals_stdin(self):
        name = "batchnorm"
        text = data.corpus_graph_text(name)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.json")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run([os.path.join(engine.BUILD, "remat"), "plan", path], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode(), engine.run_cli(text)[1])


if __name__ == "__main__":
    unittest.main()
