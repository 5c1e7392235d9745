"""Models of many families through a live daemon: saved values, both graphs and gradients as with PyTorch's own partitioner."""
# level: full
# torch
import json
import re
import unittest

import support
import families
import training
import daemon
from rematd import counters
from rematd.convert import convert

RANDOM = ("gpt2", "bert", "dropout", "dropout_ac")  # Inductor's decompositions draw other numbers than eager does
PROVEN_TWICE = ("llama_sac", "resnet", "dropout_ac", "moe")


class Families(support.WithDaemon):
    def setUp(self):
        counters.clear()

    def check(self, name):
        module, inputs, dynamic = families.make(name)
        ours = self.partitioner()
        sent = training.spy(ours.client)
        both = training.Both(ours)
        losses, grads = training.train(module, inputs, training.backend(both), dynamic=dynamic)
        self.assertEqual(both.ours, both.own)
        self.assertGreaterEqual(counters.snapshot()["plans"], 1)
        self.assertEqual(counters.snapshot()["fallbacks"], 0)
        self.assertEqual(both.plans[-1]["outcome"], "plan")
        if name not in RANDOM:
            eager_losses, eager = training.train(module, inputs)
            self.assertEqual(training.far(eager, grads), [])
            self.assertEqual(training.far({"loss": eager_losses[0]}, {"loss": losses[0]}), [])
        if name in PROVEN_TWICE or support.TORTURE:
            _, own = training.train(module, inputs, training.backend(training.OWN), dynamic=dynamic)
            self.assertTrue(training.equal(own, grads))
        self.check_program(sent[-1], both.plans[-1])
        self.check_converted(both, sent[-1][0])

    def check_program(self, sent, plan):
        """The exported document alone gives the same plan."""
        graph, more = sent
        done = daemon.run(daemon.REMAT, "plan", "-", "--options", json.dumps(more["options"]), stdin=json.dumps(graph).encode())
        self.assertEqual(json.loads(done.stdout), plan)

    def check_converted(self, both, graph):
        """And so does the printed joint graph, with what it lacks."""
        kwargs, plan = both.kwargs[-1], both.plans[-1]
        hints = {}
        for node in graph["nodes"]:
            value = node.get("val") or {}
            if "sym" in value and "hint" in value and re.fullmatch(r"\w+", value["expr"]):
                hints[value["expr"]] = value["hint"]
        made = convert(both.texts[-1], num_fwd_outputs=kwargs["num_fwd_outputs"],
                       static=list(kwargs.get("static_lifetime_input_indices") or ()), hints=hints)
        self.assertTrue(made.inferred)
        self.assertEqual([n["name"] for n in made.document["nodes"]], [n["name"] for n in graph["nodes"]])
        answer = self.partitioner().client.plan(made.document)
        for field in ("outcome", "saved", "saved_sym", "recomputed", "cut"):
            self.assertEqual(answer[field], plan[field], field)


def add(name):
    setattr(Families, f"test_{name}", lambda self: self.check(name))


for family in families.FAMILIES:
    add(family)


if __name__ == "__main__":
    unittest.main()
