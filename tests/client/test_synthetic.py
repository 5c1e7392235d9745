"""Synthetic joint graphs of collectives, effect tokens, functionalised mutation, user kernels and seeds, made live again.

What is exported is the document that they were made from, and the decision from it is the live partitioner's.
"""
# level: full
# torch
import copy
import os
import tempfile
import unittest

import support
import data
import rebuilt
import rematd
import torch
import torch.distributed._functional_collectives  # noqa: F401 - registers the collectives
import training
from rematd import counters
from rematd.export import export_graph
from test_perturbed import outcome
from torch._functorch import config as functorch_config

EVERY = 1 if support.TORTURE else 7
NOT_PYTORCHS = ("compat", "impure_random")


class Synthetic(support.WithDaemon):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lines = data.random_lines("synthetic")[::EVERY]

    def setUp(self):
        counters.clear()

    def test_written_down_again(self):
        """Nothing that the decision depends on is lost on the way there and back."""
        self.assertGreater(len(self.lines), 40)
        for line in self.lines:
            document = line["graph"]
            made = export_graph(rebuilt.Rebuilder(document).module(), num_fwd_outputs=document["num_fwd_outputs"],
                                static_lifetime_input_indices=document["static_lifetime_inputs"], name=document["name"])
            for node in (*document["nodes"], *made["nodes"]):
                for field in ("args", "kwargs"):
                    node.setdefault(field, [] if field == "args" else {})
            for was, is_now in zip(document["nodes"], made["nodes"], strict=True):
                self.assertEqual(was, is_now, document["name"])
            made["producer"] = document["producer"]
            self.assertEqual(made, document)

    def test_decided_as_live(self):
        seen = {}
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        with tempfile.TemporaryDirectory() as folder:  # PyTorch leaves files about graphs without an answer
            os.chdir(folder)
            for line in self.lines:
                own = self.decide(line)
                seen[own] = seen.get(own, 0) + 1
            os.chdir(before)
        self.assertGreater(seen["plan"], len(self.lines) // 2, seen)
        self.assertEqual(counters.snapshot()["fallbacks"], 0)

    def decide(self, line):
        # PyTorch's FLOP counter would run the operators, whose sizes do not fit together in these graphs.
        document, options = line["graph"], {**line["options"], "activation_memory_budget_runtime_estimator": "testing"}
        rebuilder = rebuilt.Rebuilder(document)
        module = rebuilder.module()
        kwargs = {"num_fwd_outputs": document["num_fwd_outputs"],
                  "static_lifetime_input_indices": document["static_lifetime_inputs"]}
        ours = self.partitioner(options={"compat": True})
        with functorch_config.patch(**{name: value for name, value in options.items() if name not in NOT_PYTORCHS}), \
                torch._guards.tracing(torch._guards.TracingContext(rebuilder.fake_mode)):
            own = outcome(training.OWN, copy.deepcopy(module), [], kwargs)
            got = outcome(ours, module, [], kwargs)
        self.assertEqual(got, own, f"{document['name']} {options}")
        return own if isinstance(own, str) else "plan"


if __name__ == "__main__":
    unittest.main()
