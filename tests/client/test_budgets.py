"""Budgets, passes and repaired tags: gradients stay right, random numbers included, and with compat PyTorch's own decision."""
# level: full
# torch
import copy
import logging
import os
import re
import unittest
from unittest import mock

import support
import families
import torch
import torch.nn.functional as F
import training
from rematd import costs, counters
from rematd import partitioner as module_under_test
from rematd.costs import ESTIMATOR
from torch import nn
from torch._functorch import config as functorch_config
from torch._inductor.custom_graph_pass import CustomRuntimeEstimator
from torch.utils import flop_counter

BUDGETS = (0.0, 0.2, 0.5, 0.8)
SAC = {"pass": "sac_policy", "save": ["aten.mm.default", "aten.bmm.default"], "otherwise": "prefer_recompute"}


KNAPSACKS = [{"activation_memory_budget": budget, "activation_memory_budget_solver": solver}
             for budget in (0.1, 0.3, 0.5, 0.8) for solver in ("dp", "greedy")]


class ByName(CustomRuntimeEstimator):
    """A cost that nobody else would have thought of."""

    def __call__(self, node):
        return len(node.name) * (1.0 if isinstance(node.meta["val"], torch.Tensor) else 100.0)

    def uuid(self):
        return "by length of name"


class Reducing(nn.Module):
    """Dropout, a maximum with its place, variance and mean: operators with several results."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            h = F.dropout(torch.sin(layer(x)), 0.3)
            greatest, _ = h.max(-1, keepdim=True)
            spread, middle = torch.var_mean(h, -1, keepdim=True)
            x = (h * greatest * spread + middle).exp().tanh()
        return x.mean()


@torch.library.custom_op("rematdtest::product", mutates_args=())
def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w


@product.register_fake
def _(x, w):
    return x.new_empty(x.shape[0], w.shape[1])


product.register_autograd(lambda ctx, g: (g @ ctx.saved_tensors[1].t(), ctx.saved_tensors[0].t() @ g),
                          setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


class Products(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(8, 8)) for _ in range(6))

    def forward(self, x):
        for i, w in enumerate(self.weights):
            x = torch.tanh(product(x, w) if i % 2 else x @ w) + x
        return x.mean()


class Budgets(support.WithDaemon):
    def check(self, name, budgets=BUDGETS):
        module, inputs, _ = families.make(name)
        _, whole = training.train(module, inputs, training.backend(training.OWN))
        for budget in budgets:
            with self.subTest(budget=budget):
                both = training.Both(self.partitioner(options={"compat": True}))
                with functorch_config.patch(activation_memory_budget=budget):
                    training.train(module, inputs, training.backend(both))
                self.assertEqual(both.ours, both.own)
                ours = self.partitioner(options={"activation_memory_budget": budget})
                _, grads = training.train(module, inputs, training.backend(ours))
                self.assertEqual(training.far(whole, grads), [])
        self.assertEqual(counters.snapshot()["fallbacks"], 0)

    def test_llama(self):
        self.check("llama")

    def test_moe(self):
        self.check("moe", (0.0, 0.4))

    def test_vit(self):
        self.check("vit", (0.3,))

    def test_dropout_at_every_budget(self):
        """Without compat what draws random numbers runs once."""
        module, inputs, _ = families.make("dropout")
        _, whole = training.train(module, inputs, training.backend(training.OWN))
        for budget in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
            with self.subTest(budget=budget):
                _, grads = training.train(module, inputs, training.backend(
                    self.partitioner(options={"activation_memory_budget": budget})))
                self.assertEqual(training.far(whole, grads), [])

    def test_a_solver_of_this_process_is_left_to_it(self):
        from torch._inductor.custom_graph_pass import CustomKnapsackSolver

        class Solver(CustomKnapsackSolver):
            def __call__(self, memory, *_):
                return list(range(len(memory))), []

            def uuid(self):
                return "everything"

        module_under_test._warned.clear()
        module, inputs, _ = families.make("moe")
        both = training.Both(self.partitioner(strict=False))
        with functorch_config.patch(activation_memory_budget=0.4, activation_memory_budget_solver=Solver()), \
                self.assertLogs("rematd", logging.WARNING) as logs:
            training.train(module, inputs, training.backend(both))
        self.assertEqual(both.ours, both.own)
        self.assertIn("code of this process", logs.output[0])
        counters.clear()

    def test_region_budgets(self):
        from torch.autograd.graph import region_activation_memory_budget

        module, inputs, _ = families.make("llama")

        class Region(type(module)):
            def forward(self, *args):
                with region_activation_memory_budget(0.3):
                    return super().forward(*args)

        module.__class__ = Region
        both = training.Both(self.partitioner(options={"compat": True}))
        sent = training.spy(both.partitioner.client)
        training.train(module, inputs, training.backend(both))
        self.assertEqual(both.ours, both.own)
        self.assertTrue(any(n.get("memory_budget") == 0.3 for n in sent[0][0]["nodes"]))


class Costs(support.WithDaemon):
    """What a node costs by an estimator or a formula that only this process has."""

    def decide(self, module, inputs, configurations, decompose=True, **more):
        """The joint graph of a step under each configuration: decided as by PyTorch; what was sent, and how often plans differ."""
        ours = self.partitioner(options={"compat": True}, **more)
        sent = training.spy(ours.client)
        made = set()

        def partition(gm, joint_inputs, **kwargs):
            for configuration in configurations:
                with self.subTest(**configuration), functorch_config.patch(**configuration):
                    own = training.code_of(training.OWN(copy.deepcopy(gm), joint_inputs, **kwargs))
                    self.assertEqual(training.code_of(ours(copy.deepcopy(gm), joint_inputs, **kwargs)), own)
                    made.add(own)
            return training.OWN(gm, joint_inputs, **kwargs)

        training.train(module, inputs, training.backend(partition) if decompose else training.plain_backend(partition))
        self.assertEqual(counters.snapshot()["fallbacks"], 0)
        return sent, len(made)

    def setUp(self):
        counters.clear()
        torch.manual_seed(0)

    def test_an_estimator_of_this_process(self):
        """Costs are sent along, those of operators with several results too."""
        for decompose in (True, False):
            sent, n = self.decide(Reducing(), (torch.randn(16, 8),), [
                {**budget, ESTIMATOR: ByName()} for budget in KNAPSACKS], decompose)
            self.assertGreater(n, 3)
            nodes = {node["name"]: node for node in sent[0][0]["nodes"]}
            several = [node for node in nodes.values() if "runtime" in node and "tuple" in node["val"]]
            self.assertEqual(bool(several), not decompose)
            self.assertTrue(all(node["runtime"] == 100.0 * len(node["name"]) for node in several))

    def test_an_estimator_that_knows_little(self):
        """PyTorch asks about what it might compute again; so what of a node that it does not ask about."""
        class Picky(ByName):
            def __call__(self, node):
                if node.target in (torch.ops.aten.sin.default, torch.ops.aten.t.default, torch.ops.aten.permute.default):
                    raise RuntimeError("no cost of this")
                return super().__call__(node)

        self.decide(Reducing(), (torch.randn(16, 8),), [{**budget, ESTIMATOR: Picky()} for budget in KNAPSACKS[:3]])

    def test_an_estimator_that_fails(self):
        """PyTorch decides, and says why if it needs it."""
        class Broken(ByName):
            def __call__(self, node):
                raise RuntimeError("no clock here")

        module_under_test._warned.clear()
        with functorch_config.patch(**KNAPSACKS[0], **{ESTIMATOR: Broken()}), self.assertLogs("rematd", logging.WARNING) as logs, \
                self.assertRaisesRegex(Exception, "no clock here"):
            training.train(Reducing(), (torch.randn(16, 8),), training.backend(self.partitioner(strict=False)))
        self.assertIn("the runtime estimator fails: no clock here; PyTorch's own partitioner decides", logs.output[0])

    def test_a_budget_of_the_program(self):
        """A region's budget needs the costs whatever the configuration's budget is."""
        from torch.autograd.graph import region_activation_memory_budget

        class Region(Reducing):
            def forward(self, x):
                with region_activation_memory_budget(0.4):
                    return super().forward(x)

        for whole in (1, 0.9):
            sent, _ = self.decide(Region(), (torch.randn(16, 8),), [{ESTIMATOR: ByName(), "activation_memory_budget": whole}], False)
            self.assertTrue(any("runtime" in node for node in sent[0][0]["nodes"]))

    def test_formulas_of_the_program(self):
        """Of an operator of its own, and another one for PyTorch's."""
        module, inputs = Products(), (torch.randn(16, 8),)
        configurations = [{**budget, "is_non_builtin_to_include": True} for budget in KNAPSACKS]
        without, _ = self.decide(module, inputs, configurations)
        self.assertFalse(any("runtime" in node for node in without[0][0]["nodes"]))
        formulas = ({torch.ops.rematdtest.product: lambda *_, **__: 10**7}, {torch.ops.aten.mm: lambda *_, **__: 3})
        for more in formulas:
            with mock.patch.dict(flop_counter.flop_registry, more):
                sent, n = self.decide(module, inputs, configurations)
            self.assertGreater(n, 2)
            costs = {node["target"]: node["runtime"] for node in sent[0][0]["nodes"] if "runtime" in node}
            self.assertEqual(costs["rematdtest.product.default"], 10**7 if more is formulas[0] else 1)
            self.assertEqual(costs["aten.mm.default"], 2 * 16 * 8 * 8 if more is formulas[0] else 3)

    def test_formulas_that_the_service_has(self):
        """Every one of PyTorch's is in its table or makes the client count."""
        with open(os.path.join(support.ROOT, "core", "optable.c"), encoding="utf-8") as file:
            there = set(re.findall(r'{"(aten\.\w+)", REMAT_COUNT_', file.read()))
        self.assertEqual(costs.COUNTED, there)
        counted = {packet for packet in flop_counter.flop_registry if not costs._has_other_formula(packet)}
        self.assertEqual({str(packet) for packet in counted}, there)
        self.assertTrue(costs._has_other_formula(torch.ops.aten._flash_attention_forward.default))
        self.assertFalse(costs._has_other_formula(torch.ops.aten.mm.default))
        self.assertFalse(costs._has_other_formula(torch.ops.aten.sin.default))


class Passes(support.WithDaemon):
    def check(self, name, passes, **more):
        module, inputs, dynamic = families.make(name)
        _, whole = training.train(module, inputs, training.backend(training.OWN), dynamic=dynamic)
        ours = self.partitioner(passes=passes, **more)
        _, grads = training.train(module, inputs, training.backend(ours), dynamic=dynamic)
        self.assertEqual(training.far(whole, grads), [])
        self.assertGreater(sum(report["changed"] for report in ours.last_plan["passes"]), 0)
        return ours.last_plan

    def test_autoparallel(self):
        for size in (None, "auto", 1e-5):
            with self.subTest(size=size):
                plan = self.check("llama", [{"pass": "autoparallel", "stage_size_gib": size}])
                if size is not None:
                    self.assertGreater(len(plan["recomputed"]), 40)

    def test_policy(self):
        plan = self.check("llama", [SAC])
        self.assertFalse({"mm", "mm_1", "mm_2"} & set(plan["recomputed"]))
        self.assertGreater(len(plan["recomputed"]), 30)

    def test_policy_and_budget(self):
        self.check("llama", [{"pass": "autoparallel", "stage_size_gib": 1e-5}], options={"activation_memory_budget": 0.5})

    def test_fsdp_pass_on_a_graph_without_gathers_is_told(self):
        ours = self.partitioner(passes=[{"pass": "fsdp_all_gather", "reshard_after_forward": True}])
        module, inputs, _ = families.make("moe")
        training.train(module, inputs, training.backend(ours))
        self.assertEqual(ours.last_plan["passes"][0]["changed"], 0)

    def test_random_values_that_a_pass_recomputes(self):
        """PyTorch replays the generator for tagged operators: it has to see the tags that the pass made."""
        for otherwise in ("must_recompute", "prefer_recompute"):
            with self.subTest(otherwise=otherwise):
                plan = self.check("dropout", [{**SAC, "save": ["aten.addmm.default"], "otherwise": otherwise}])
                self.assertTrue(any("rand" in name for name in plan["recomputed"]), plan["recomputed"])

    def test_what_passes_changed_is_always_told(self):
        """Whatever is asked of explanations: without the tags, PyTorch would draw other numbers in the backward."""
        passes = [{**SAC, "save": ["aten.addmm.default"], "otherwise": "must_recompute"}]
        for options in ({"explain": "none"}, {"explain": "none", "compat": True}, {"explain": "full"}):
            with self.subTest(options=options):
                plan = self.check("dropout", passes, options=options)
                self.assertTrue(any("rand" in name for name in plan["recomputed"]), plan["recomputed"])


class Conflicts(support.WithDaemon):
    """Attention must be saved, its results recomputed: the fault of tagging getitem apart from its source."""

    def partition(self, ours):
        from torch.utils.checkpoint import CheckpointPolicy

        def tagged(gm, joint_inputs, **kwargs):
            for node in gm.graph.nodes:
                if node.op != "call_function" or node.meta.get("partitioner_tag") != "is_forward":
                    continue
                is_attention = "scaled_dot_product" in str(node.target)
                node.meta["recompute"] = CheckpointPolicy.MUST_SAVE if is_attention else CheckpointPolicy.PREFER_RECOMPUTE
                node.meta["ac_graph_id"] = 1
            return ours(gm, joint_inputs, **kwargs)

        return tagged

    def test_raised_with_path_and_remedy(self):
        module, inputs, _ = families.make("llama")
        words = r"(?s)neither saved nor computed again.*scaled_dot_product.*remedy, tried.*getitem\w*: prefer_recompute -> no tag"
        with self.assertRaisesRegex(Exception, words):
            training.train(module, inputs, training.backend(self.partition(self.partitioner(strict=False))))

    def test_repaired(self):
        """By the plan's own remedy, and where the service offers none, by the rule for contradictory tags."""
        module, inputs, _ = families.make("llama")
        _, whole = training.train(module, inputs, training.backend(training.OWN))
        for offered in (True, False):
            with self.subTest(offered=offered):
                module_under_test._warned.clear()
                counters.clear()
                ours = self.partitioner(on_conflict="repair")
                asked = self.spy(ours, offered)
                with self.assertLogs("rematd", logging.WARNING) as logs:
                    _, grads = training.train(module, inputs, training.backend(self.partition(ours)))
                self.assertEqual(training.far(whole, grads), [])
                self.assertIn("repaired on getitem", logs.output[0])
                self.assertEqual(counters.snapshot()["repaired"], 1)
                self.assertFalse(any("scaled_dot_product" in name for name in ours.last_plan["recomputed"]))
                self.assertEqual(asked, [[], ["set_tags" if offered else "repair_tags"]])

    @staticmethod
    def spy(ours, offered):
        """The passes of each request; without `offered` the remedy is cut out of what the service says."""
        asked, ask = [], ours.client.plan

        def plan(graph, *, passes=(), **more):
            asked.append([one["pass"] for one in passes])
            answer = ask(graph, passes=passes, **more)
            for diagnostic in answer["diagnostics"]:
                if not offered:
                    diagnostic.pop("remedy", None)
            return answer

        ours.client.plan = plan
        return asked


if __name__ == "__main__":
    unittest.main()
