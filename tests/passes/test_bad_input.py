"""Passes, budgets and limits that are not what they can be: 422 that points at the mistake, repeats it and says what is allowed."""
# level: quick
# variants: asan
import json
import os
import subprocess
import unittest

import tagging

import engine

SOLVERS = "dp, greedy, ilp or dp_knapsack_sliding_hirschberg"
POLICIES = "must_save, prefer_save, prefer_recompute, must_recompute, must_cpu_offload or prefer_cpu_offload"
STAGE = 'a number of 0 or more, "auto" or null'


def sac(**more):
    return [{"pass": "sac_policy", "otherwise": "must_save", **more}]


# (passes, where behind /passes, what the detail repeats and says)
PASSES = [
    ([{"pass": "sac_polcy"}], "/0/pass", ['"sac_polcy"', "did you mean sac_policy?", "stage_recomputation, fsdp_all_gather, autoparallel"]),
    ([{"pass": "checkpoint"}], "/0/pass", ['"checkpoint"', "sac_policy", "repair_tags"]),
    ([{"pass": "repair_tags"}, {"pass": "Autoparallel"}], "/1/pass", ['"Autoparallel"', "write autoparallel", "set_tags"]),
    (sac(module="blocks"), "/0/module", ['"module"', "did you mean modules?", "save", "otherwise"]),
    ([{"pass": "repair_tags", "save": []}], "/0/save", ['"save"', "expected pass"]),
    (sac(otherwise="recompute"), "/0/otherwise", ['"recompute"', POLICIES]),
    (sac(otherwise="must_safe"), "/0/otherwise", ['"must_safe"', "did you mean must_save?", POLICIES]),
    (sac(save=["aten.mmm.default"]), "/0/save/0", ['"aten.mmm.default"', "a target such as"]),
    (sac(save=["aten.mm.default", "aten.mm.defult"]), "/0/save/1", ['"aten.mm.defult"', "default dtype dtype_out out"]),
    (sac(save=[{"op": "aten.mm.default", "every": 0}]), "/0/save/0/every", ["0", "1 or more"]),
    (sac(save=[{"op": "aten.mm.default", "evry": 2}]), "/0/save/0/evry", ['"evry"', "every"]),
    ([{"pass": "autoparallel", "stage_size_gib": None, "save": ["aten.nope.default"]}], "/0/save/0", ['"aten.nope.default"', "a target such as"]),
    ([{"pass": "stage_recomputation", "stage_size_gib": -1}], "/0/stage_size_gib", ["-1", STAGE]),
    ([{"pass": "stage_recomputation", "stage_size_gib": "big"}], "/0/stage_size_gib", ['"big"', STAGE]),
    ([{"pass": "stage_recomputation"}], "/0", ['"stage_size_gib"', STAGE]),
    ([{"pass": "autoparallel", "stage_size_gib": -0.5}], "/0/stage_size_gib", ["-0.5", STAGE]),
    ([{"pass": "fsdp_all_gather", "reshard_after_forward": "yes"}], "/0/reshard_after_forward", ["true or false", "a string"]),
]
OPTIONS = [
    ({"activation_memory_budget": 1.5}, ["1.5", "0 to 1"]), ({"activation_memory_budget": -0.1}, ["-0.1", "0 to 1"]),
    ({"activation_memory_budget": "half"}, ["a number from 0 to 1"]),
    ({"activation_memory_budget_solver": "dpp"}, ['"dpp"', "did you mean dp?", SOLVERS]),
    ({"activation_memory_budget_solver": "simplex"}, ['"simplex"', SOLVERS]),
    ({"activation_memory_budget_runtime_estimator": "profile"}, ['"profile"', "flops, testing or given"]),
    ({"memory_limit_bytes": -1}, ["-1", "0 or more"]), ({"memory_limit_bytes": 1.5}, ["an integer"]), ({"memory_limit_bytes": 1 << 63}, ["64 bits"]),
    ({"activation_memory_budgt": 0.5}, ['"activation_memory_budgt"', "activation_memory_budget"]), ({"compat": "yes"}, ["true or false"]),
]


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.graph = tagging.corpus_graph("batchnorm")

    def refuse(self, command, body, pointer, says):
        done = subprocess.run([os.path.join(engine.BUILD, "remat"), command, "-"], input=json.dumps(body).encode(), capture_output=True,
                              timeout=120, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        problem = json.loads(done.stderr)
        self.assertEqual((problem["status"], [e["pointer"] for e in problem["errors"]]), (422, [pointer]))
        for words in says:
            self.assertIn(words, problem["errors"][0]["detail"])

    def test_passes(self):
        for command in ("plan", "tags", "frontier"):
            for passes, where, says in PASSES:
                with self.subTest(command=command, passes=passes):
                    self.refuse(command, {"graph": self.graph, "passes": passes}, "/passes" + where, says)

    def test_options(self):
        for command in ("plan", "frontier"):
            for options, says in OPTIONS:
                with self.subTest(command=command, options=options):
                    self.refuse(command, {"graph": self.graph, "options": options}, "/options/" + next(iter(options)), says)

    def test_below_the_floor_is_no_bad_input(self):
        """Status 0 and the best plan found, with the floor."""
        for name, options, code in (("bert_3l", {"activation_memory_budget": 0}, "budget-below-floor"),
                                    ("bert_3l", {"activation_memory_budget": 1e-6}, "budget-below-floor"),
                                    ("batchnorm", {"memory_limit_bytes": 0}, "limit-below-floor")):
            body = {"graph": tagging.corpus_graph(name), "options": options}
            done = subprocess.run([os.path.join(engine.BUILD, "remat"), "plan", "-"], input=json.dumps(body).encode(), capture_output=True,
                                  timeout=120, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            plan = json.loads(done.stdout)
            self.assertEqual(plan["outcome"], "plan")
            floors = [d["floor"] for d in plan["diagnostics"] if d["code"] == code]
            self.assertEqual(len(floors), 1)
            self.assertGreater(floors[0], 0)


if __name__ == "__main__":
    unittest.main()
