"""What a document says of a live graph: collectives, effects, custom operators, mutation, symbols, storages, odd arguments."""
# level: full
# torch
import gc
import json
import math
import unittest

import support
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
import training
from rematd.errors import ExportError
from rematd.export import export_graph
from torch import fx, nn
from torch._functorch import config as functorch_config
from torch._higher_order_ops.effects import _EffectType
from torch._inductor.fx_passes.control_dependencies import control_deps
from torch.fx.node import _side_effectful_functions
from torch.testing._internal.distributed.fake_pg import FakeStore


@torch.library.custom_op("rematdtest::scale_", mutates_args={"x"})
def scale_(x: torch.Tensor, by: float) -> None:
    x.mul_(by)


@torch.library.custom_op("rematdtest::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return x * x


@square.register_fake
def _(x):
    return torch.empty_like(x)


square.register_autograd(lambda ctx, g: g * 2 * ctx.saved_tensors[0],
                         setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))


@torch.library.custom_op("rematdtest::note", mutates_args=())
def note(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@note.register_fake
def _(x):
    return torch.empty_like(x)


note.register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs, output: None)
torch.library._register_effectful_op("rematdtest::note", _EffectType.ORDERED)


class Noting(nn.Module):
    """Has an operator with effects outside of its results, which AOTAutograd orders by tokens."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        y = note(torch.sin(x @ self.w))
        return (y.exp() * y.cos()).sum()


class Gather(torch.autograd.Function):
    """A sharded weight is gathered forward, its gradient scattered backward, as FSDP does."""

    @staticmethod
    def forward(ctx, w, group):
        ctx.group = group
        return collectives.wait_tensor(collectives.all_gather_tensor(w, 0, group))

    @staticmethod
    def backward(ctx, g):
        return collectives.wait_tensor(collectives.reduce_scatter_tensor(g.contiguous(), "sum", 0, ctx.group)), None


class Sharded(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.w, self.group = nn.Parameter(torch.randn(8, 16)), group

    def forward(self, x):
        full = Gather.apply(self.w, self.group)
        return torch.sin(x @ full.t()).cos().sum()


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        y = torch.sin(x @ self.w)
        z = square(y)
        buffer = y.detach().clone()
        scale_(buffer, 2.0)
        return (z.exp() * buffer).sum()


class Live(support.WithDaemon):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)

    @classmethod
    def tearDownClass(cls):
        dist.destroy_process_group()
        super().tearDownClass()

    def decide(self, module, *inputs, **options):
        """Partitions as PyTorch does; the nodes of the document, by name."""
        both = training.Both(self.partitioner(**options))
        sent = training.spy(both.partitioner.client)
        training.train(module, inputs, training.backend(both))
        self.assertEqual(both.ours, both.own)
        json.dumps(sent[0][0], allow_nan=False)
        return {node["name"]: node for node in sent[0][0]["nodes"]}, both.plans[0]

    def test_collectives(self):
        torch.manual_seed(0)
        module, x = Sharded(dist.group.WORLD.group_name), torch.randn(4, 16)
        nodes, plan = self.decide(module, x)
        gathers = [n for n in nodes.values() if n["target"].startswith("_c10d_functional.all_gather")]
        self.assertTrue(gathers)
        self.assertIn("custom", gathers[0]["traits"])
        waits = [n for n in nodes.values() if n["target"] == "_c10d_functional.wait_tensor.default"]
        self.assertTrue(waits and all("impure" in n["traits"] and "-impure" not in n["traits"] for n in waits))
        _, resharded = self.decide_with_pass(module, x)
        self.assertTrue(any("all_gather" in name for name in resharded["recomputed"]), resharded["recomputed"])
        self.assertFalse(any("all_gather" in name for name in plan["recomputed"]))

    def decide_with_pass(self, module, x):
        ours = self.partitioner(passes=[{"pass": "fsdp_all_gather", "reshard_after_forward": True}])
        training.train(module, (x,), training.backend(ours))
        return None, ours.last_plan

    def test_an_operator_that_the_program_made_removable(self):
        waits = [t for t in _side_effectful_functions if "wait_tensor" in str(t)]
        self.assertTrue(waits)
        for target in waits:
            _side_effectful_functions.discard(target)
        try:
            torch.manual_seed(0)
            nodes, _ = self.decide(Sharded(dist.group.WORLD.group_name), torch.randn(4, 16))
        finally:
            _side_effectful_functions.update(waits)
        found = [n["traits"] for n in nodes.values() if n["target"] == "_c10d_functional.wait_tensor.default"]
        self.assertTrue(found and all("-impure" in traits for traits in found), found)

    def test_custom_and_mutating_operators(self):
        torch.manual_seed(0)
        nodes, _ = self.decide(Custom(), torch.randn(4, 8))
        own = [n for n in nodes.values() if n["target"] == "rematdtest.square.default"]
        self.assertTrue(own and "custom" in own[0]["traits"])
        functional = [n for n in nodes.values() if n["target"].startswith("higher_order.auto_functionalized")]
        self.assertTrue(functional)

    def test_effect_tokens(self):
        torch.manual_seed(0)
        with functorch_config.patch(unlift_effect_tokens=True):
            nodes, plan = self.decide(Noting(), torch.randn(4, 8))
        effect = next(n for n in nodes.values() if n["target"] == "higher_order.with_effects")
        self.assertEqual(effect["traits"], ["effects"])
        result, = (n["name"] for n in nodes.values() if n["target"] == "getitem" and n["args"] == ["%" + effect["name"], 1])
        self.assertIn(result, plan["saved"])

    def test_alone_through_an_option(self):
        nodes, plan = self.decide(Custom(), torch.randn(4, 8), options={"compat": True})
        self.assertEqual(plan["outcome"], "plan")
        self.assertIn("output", nodes)


class Written(unittest.TestCase):
    """Graphs built by hand."""

    def export(self, build, **more):
        graph = fx.Graph()
        x = graph.placeholder("primals_1")
        x.meta["val"] = torch.empty(2, 3)
        t = graph.placeholder("tangents_1")
        t.meta["val"] = torch.empty(2, 3)
        out = build(graph, x, t)
        graph.output(([out, None],))
        return export_graph(fx.GraphModule(nn.Module(), graph), num_fwd_outputs=1, **more)

    def test_arguments(self):
        strange = (-math.inf, math.nan, 2**70, "%percent", slice(None, 3, 2), torch.bfloat16, torch.device("cuda:1"), torch.strided,
                   torch.channels_last, torch.ops.aten.add_.Tensor, 1 + 2j, None, True, (1, [2.5]), {"k": (1,)})

        def build(graph, x, _t):
            made = graph.call_function(torch.ops.aten.mul.Tensor, (x, strange), {"out": {"a": x}})
            made.meta["val"] = torch.empty(2, 3)
            return made

        node = self.export(build)["nodes"][2]
        self.assertEqual(node["args"], ["%primals_1", [
            {"float": "-inf"}, {"float": "nan"}, {"repr": str(2**70)}, "%%percent", {"slice": [None, 3, 2]}, {"dtype": "bfloat16"},
            {"device": "cuda:1"}, {"layout": "strided"}, {"memory_format": "channels_last"}, {"op": "aten.add_.Tensor"},
            {"repr": "(1+2j)"}, None, True, [1, [2.5]], {"dict": {"k": [1]}}]])
        self.assertEqual(node["kwargs"], {"out": {"dict": {"a": "%primals_1"}}})

    def test_values_and_marks(self):
        def build(graph, x, _t):
            view = graph.call_function(torch.ops.aten.t.default, (x,))
            view.meta.update(val=x.meta["val"].t(), partitioner_tag="is_forward", ac_graph_id=3, has_backward_hook=True,
                             saved_tensor_with_no_vc_check=True, memory_budget=0.5,
                             nn_module_stack={"a": ("L['self'].a", nn.Linear), "b": ("L['self'].a.b", nn.Linear)},
                             stack_trace='  File "m.py", line 3, in forward\n    return x.t()\n')
            for value in ((torch.empty(2), None, 3), {"a": torch.empty(1)}, 7, math.inf, object()):
                other = graph.call_function(torch.ops.aten.sin.default, (view,))
                other.meta["val"] = value
            return view

        nodes = self.export(build, stacks=True)["nodes"]
        self.assertEqual(nodes[2], {
            "name": "t_default", "op": "call_function", "target": "aten.t.default", "args": ["%primals_1"],
            "val": {"dtype": "float32", "shape": [3, 2]}, "alias_of": "primals_1", "ac_graph_id": 3, "partitioner_tag": "is_forward",
            "has_backward_hook": True, "no_vc_check": True, "memory_budget": 0.5, "module": "L['self'].a.b",
            "stack": 'File "m.py", line 3, in forward | return x.t()'})
        self.assertEqual([n["val"] for n in nodes[3:8]], [
            {"tuple": [{"dtype": "float32", "shape": [2]}, None, {"const": 3}]}, {"dict": {"a": {"dtype": "float32", "shape": [1]}}},
            {"const": 7}, {"opaque": "float"}, {"opaque": "object"}])

    def test_an_operator_over_operators_that_the_program_made_removable(self):
        self.assertIn(control_deps, _side_effectful_functions)

        def build(graph, x, _t):
            graph.call_function(control_deps, (x,))
            return x

        self.assertEqual(self.export(build)["nodes"][2]["traits"], ["impure"])
        _side_effectful_functions.discard(control_deps)
        try:
            self.assertEqual(self.export(build)["nodes"][2]["traits"], ["-impure"])
        finally:
            _side_effectful_functions.add(control_deps)

    def test_the_collector_is_left_as_it_was(self):
        for was_on in (True, False):
            (gc.enable if was_on else gc.disable)()
            try:
                self.export(lambda _g, x, _t: x)
                with self.assertRaises(ExportError):
                    self.export(lambda graph, x, _t: graph.call_method("sin", (x,)))
                self.assertEqual(gc.isenabled(), was_on)
            finally:
                gc.enable()

    def test_static_inputs_that_are_none(self):
        document = self.export(lambda _g, x, _t: x, static_lifetime_input_indices=[0, 0, 5, -1])
        self.assertEqual(document["static_lifetime_inputs"], [0])
        self.assertEqual(self.export(lambda _g, x, _t: x)["static_lifetime_inputs"], [])

    def test_what_no_document_can_describe(self):
        with self.assertRaisesRegex(ExportError, "call_method cannot be in a joint graph") as caught:
            self.export(lambda graph, x, _t: graph.call_method("sin", (x,)))
        self.assertEqual(caught.exception.node, "sin")


if __name__ == "__main__":
    unittest.main()
