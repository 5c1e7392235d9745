"""Programs that PyTorch lowers to graphs of an unusual kind, live: the decision from the document is its partitioner's own.

User Triton kernels, DTensor, operators over operators, unbacked sizes, mutation, opaque objects, backward state. No Triton
and no second machine: kernels are stood in for by Python of the same effect, collectives go through a fake process group.
"""
# level: full
# torch
import contextlib
import json
import logging
import unittest
from unittest import mock

import support
import torch
import torch._dynamo
import torch._dynamo.compiled_autograd
import torch.distributed as dist
import torch.nn.functional as F
import training
from rematd import counters
from rematd import partitioner as module_under_test
from rematd.convert import convert
from torch import nn
from torch._higher_order_ops import triton_kernel_wrap
from torch._library.opaque_object import OpaqueBase, register_opaque_type
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore


class Deciding(support.WithDaemon):
    def setUp(self):
        counters.clear()

    def decide(self, module, inputs, *, dynamic=False, exact=True, dynamo=True,
               around_backward=contextlib.nullcontext, **more):
        """Trains one step; what was sent, by node, and the plan. With `exact` the gradients are those of eager."""
        both = training.Both(self.partitioner(options={"compat": True}))
        sent = training.spy(both.partitioner.client)
        if dynamo:
            _, grads = training.train(module, inputs, training.backend(both, **more), dynamic=dynamic,
                                      around_backward=around_backward)
        else:
            grads = training.train_without_dynamo(module, inputs, both)
        self.assertTrue(both.ours)
        self.assertEqual(both.ours, both.own)
        self.assertEqual(counters.snapshot()["fallbacks"], 0)
        if exact:
            self.assertEqual(training.far(training.train(module, inputs)[1], grads), [])
        for graph, _ in sent:
            json.dumps(graph, allow_nan=False)
        self.texts = list(zip(both.texts, both.kwargs, both.plans, strict=True))
        nodes = {node["name"]: node for graph, _ in sent for node in graph["nodes"]}
        return nodes, both.plans[-1]

    def check_converted(self):
        """Each graph as PyTorch prints it, with the modules within it, has the same plan."""
        for text, kwargs, plan in self.texts:
            made = convert(text, num_fwd_outputs=kwargs["num_fwd_outputs"], static=list(kwargs["static_lifetime_input_indices"] or ()))
            answer = self.partitioner().client.plan(made.document)
            for field in ("outcome", "saved", "recomputed"):
                self.assertEqual(answer[field], plan[field], field)

    def targets(self, nodes):
        return {node["target"] for node in nodes.values()}


# ---- user Triton kernels ---------------------------------------------------------


def sine_kernel(x, out):
    """What the kernel does, had it a GPU."""
    out.copy_(torch.sin(x))


def launch(x):
    out = torch.empty_like(x)
    triton_kernel_wrap.triton_kernel_wrapper_mutation(
        kernel_idx=triton_kernel_wrap.kernel_side_table.add_kernel(sine_kernel),
        constant_args_idx=triton_kernel_wrap.kernel_side_table.add_constant_args({}), grid=[(1, 1, 1)],
        tma_descriptor_metadata={}, kwargs={"x": x, "out": out})
    return out


class TritonSine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return launch(x)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * launch(x + torch.pi / 2)


def run_in_python(*, kernel_idx, kwargs, **_):
    triton_kernel_wrap.kernel_side_table.get_kernel(kernel_idx)(**kwargs)


@contextlib.contextmanager
def kernels_in_python():
    """Launches run the Python function, and its analysis says what Triton's would: `out` is written."""
    operator = triton_kernel_wrap.triton_kernel_wrapper_mutation
    key = torch._C.DispatchKey.CompositeExplicitAutograd
    with mock.patch.dict(operator.py_kernels, {key: run_in_python}), \
            mock.patch.object(triton_kernel_wrap, "get_mutated_tensors", lambda *_: ["out"]):
        operator._dispatch_cache.clear()
        yield
    operator._dispatch_cache.clear()


class Kernel(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        return (TritonSine.apply(x @ self.w).exp() * (x @ self.w).cos()).sum()


class UserKernels(Deciding):
    def test_triton(self):
        torch.manual_seed(0)
        with kernels_in_python():
            nodes, plan = self.decide(Kernel(), (torch.randn(4, 8),), dynamo=False)
        functional = [n for n in nodes.values() if n["target"] == "higher_order.triton_kernel_wrapper_functional"]
        self.assertEqual(len(functional), 2)
        self.assertEqual(functional[0]["kwargs"]["tensors_to_clone"], ["out"])
        self.assertEqual(set(functional[0]["val"]["dict"]), {"out"})
        self.assertEqual(plan["outcome"], "plan")


# ---- operators over operators --------------------------------------------------


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        h = torch.sin(x @ self.w)
        y = torch.cond(h.sum() > 0, lambda z: z.exp() * 2, lambda z: z.cos(), (h,))
        return (y * h.tanh()).sum()


class Mapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8))

    def forward(self, x):
        from torch._higher_order_ops.map import map as over_rows

        every = over_rows(lambda row, w: torch.sin(row * w).exp(), torch.tanh(x), self.w)
        return (every * every.cos()).sum()


class Repeating(nn.Module):
    """Calls one block three times, which is compiled once."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))

    @staticmethod
    @torch.compiler.nested_compile_region
    def block(x, w):
        return torch.sin(x @ w).exp()

    def forward(self, x):
        for _ in range(3):
            x = self.block(x, self.w).tanh()
        return x.mean()


class OverOperators(Deciding):
    def test_cond(self):
        torch.manual_seed(0)
        nodes, _ = self.decide(Branching(), (torch.randn(4, 8),))
        self.assertIn("higher_order.cond", self.targets(nodes))
        self.check_converted()

    def test_map(self):
        torch.manual_seed(0)
        nodes, _ = self.decide(Mapped(), (torch.randn(5, 8),))
        self.assertIn("higher_order.map_impl", self.targets(nodes))
        self.check_converted()

    def test_a_region_compiled_once(self):
        """Its own joint graph is partitioned first, then the one that calls it."""
        torch.manual_seed(0)
        nodes, _ = self.decide(Repeating(), (torch.randn(4, 8),))
        self.assertIn("higher_order.invoke_subgraph", self.targets(nodes))
        self.assertEqual(len(self.texts), 2)
        self.check_converted()


# ---- sizes that depend on data -----------------------------------------------------


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))

    def forward(self, x, keep):
        h = torch.sin(x @ self.w)
        picked = h[keep.nonzero().squeeze(1)]
        n = int(keep.sum())
        torch._check(n >= 0)
        return (picked.exp() * picked.cos()).sum() / (n + 1) + torch.ones(n).sum() * h.mean()


class DataDependent(Deciding):
    def test_unbacked_sizes(self):
        torch.manual_seed(0)
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
            nodes, plan = self.decide(Masked(), (torch.randn(6, 8), torch.tensor([1, 0, 1, 1, 0, 1])))
        self.assertTrue(any(str(n.get("binds", "")).startswith("u") for n in nodes.values()), nodes.keys())
        self.assertTrue(plan["saved_sym"] or any("u" in json.dumps(nodes[n]["val"]) for n in plan["saved"]))


class Ragged(nn.Module):
    """Rows of different lengths: one of the inputs is a size that has no number."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        return (F.gelu(x @ self.w).values().sin() * x.values().exp()).sum()


class RaggedSizes(Deciding):
    def test_nested_tensors(self):
        torch.manual_seed(0)
        rows = torch.nested.nested_tensor([torch.randn(3, 8), torch.randn(5, 8)], layout=torch.jagged)
        nodes, _ = self.decide(Ragged(), (rows,))
        sizes = [n["val"] for n in nodes.values() if (n.get("val") or {}).get("sym") == "int"]
        self.assertTrue(any("hint" not in size for size in sizes), sizes)


# ---- mutation ------------------------------------------------------------------------


class Writing(nn.Module):
    """Writes to a buffer, to an input, and to a view of a value that the backward needs."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, x, state):
        h = torch.sin(x @ self.w)
        self.seen.mul_(0.9).add_(h.detach().mean(0))
        state.add_(h.detach().sum(0))
        half = h.clone()
        half[:, :4].mul_(2)
        return (half.exp() * h.cos()).sum() * self.seen.sum()


class Remembering(nn.Module):
    """The backward needs a buffer as it was before the step wrote to it."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))
        self.register_buffer("seen", torch.full((8,), 0.3))

    def forward(self, x):
        h = torch.sin(x @ self.w)
        before = self.seen.clone()
        self.seen.mul_(0.9).add_(h.detach().mean(0), alpha=0.1)
        return (h * before.exp()).sum() + (h.cos() * self.seen).sum()


class Mutation(Deciding):
    def test_a_buffer_that_is_read_again_after_the_step_wrote_to_it(self):
        """PyTorch 2.13 computes such values again from what was written, which gives other gradients than eager; so does the plan,
        with a warning that says which tags mend it."""
        torch.manual_seed(0)
        module, inputs = Remembering(), (torch.randn(4, 8),)
        eager = training.train(module, inputs)[1]
        kept = {"keep_inference_input_mutations": True}
        module_under_test._warned.clear()
        with self.assertLogs("rematd", logging.WARNING) as logs:
            self.decide(module, inputs, exact=False, **kept)
        self.assertEqual(len(logs.output), 1)
        self.assertRegex(logs.output[0], r"is computed again from `primals_\d`, whose storage .* overwrites.*more like it")
        plan = self.partitioner()
        training.train(module, inputs, training.backend(plan, **kept))
        again = [d["node"] for d in plan.last_plan["diagnostics"] if d["code"] == module_under_test.REREAD]
        mended = self.partitioner(passes=[{"pass": "set_tags", "tags": {name: "must_save" for name in again}}])
        _, grads = training.train(module, inputs, training.backend(mended, **kept))
        self.assertEqual(training.far(eager, grads), [])

    def test_kept_in_the_graph_and_not(self):
        torch.manual_seed(0)
        for kept in (False, True):
            with self.subTest(kept=kept):
                nodes, _ = self.decide(Writing(), (torch.randn(4, 8), torch.zeros(8)), keep_inference_input_mutations=kept,
                                       exact=False)
                copies = [n for n in nodes.values() if n["target"] == "aten.copy_.default"]
                self.assertEqual(bool(copies), kept)
                self.assertTrue(all("mutable" in n["traits"] for n in copies))

    def test_batch_norm_with_its_buffers_in_the_graph(self):
        import families

        module, inputs, _ = families.make("batchnorm")
        nodes, _ = self.decide(module, inputs, keep_inference_input_mutations=True)
        self.assertIn("aten.copy_.default", self.targets(nodes))


# ---- objects ---------------------------------------------------------------------------


class Scale(OpaqueBase):
    def __init__(self, by):
        super().__init__()
        self.by = by


register_opaque_type(Scale, typ="reference")


@torch.library.custom_op("rematdtest::scaled", mutates_args=())
def scaled(x: torch.Tensor, scale: Scale) -> torch.Tensor:
    return x * scale.by


@scaled.register_fake
def _(x, scale):
    return torch.empty_like(x)


def _keep(ctx, inputs, output):
    ctx.scale = inputs[1]


scaled.register_autograd(lambda ctx, g: (scaled(g, ctx.scale), None), setup_context=_keep)


class Scaling(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))

    def forward(self, x, scale):
        return (scaled(torch.sin(x @ self.w), scale).exp()).sum()


class Hooked(nn.Module):
    """A hook on a value in the middle: the backward gets an object with it."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))
        self.factor = 3.0

    def forward(self, x):
        h = torch.sin(x @ self.w)
        h.register_hook(lambda g: g * 2)
        return (h.exp() * h.cos()).sum()


class Objects(Deciding):
    def test_opaque_object(self):
        torch.manual_seed(0)
        nodes, plan = self.decide(Scaling(), (torch.randn(4, 8), Scale(3.0)))
        opaque = [name for name, n in nodes.items() if n.get("opaque")]
        self.assertTrue(opaque)
        self.assertEqual(plan["saved_opaque"], opaque)

    def test_backward_state(self):
        torch.manual_seed(0)
        with torch._dynamo.config.patch(compiled_autograd=True):
            nodes, _ = self.decide(Hooked(), (torch.randn(4, 8),),
                                   around_backward=lambda: torch._dynamo.compiled_autograd._enable(lambda gm: gm))
        states = [n for n in nodes.values() if n.get("val") == {"opaque": "BackwardState"}]
        self.assertEqual(len(states), 1)
        self.assertNotIn("opaque", states[0])


# ---- DTensor -------------------------------------------------------------------------------


class Sharded(nn.Module):
    """Tensor parallel: the first product by columns, the second by rows, weights sharded by FSDP's rule on the other axis."""

    def __init__(self, mesh):
        super().__init__()
        def weight(*place):
            return nn.Parameter(distribute_tensor(torch.randn(8, 8), mesh, place))

        self.up, self.down, self.norm = weight(Shard(1)), weight(Shard(0)), weight(Replicate())
        self.mesh = mesh

    def forward(self, x):
        x = DTensor.from_local(x, self.mesh, (Replicate(),), run_check=False)
        h = F.gelu(x @ self.up) @ self.down
        return (h.redistribute(placements=(Replicate(),)) @ self.norm).sin().sum().to_local()


class Lowered(Deciding):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)

    @classmethod
    def tearDownClass(cls):
        dist.destroy_process_group()
        super().tearDownClass()

    def test_dtensor(self):
        torch.manual_seed(0)
        nodes, plan = self.decide(Sharded(init_device_mesh("cpu", (2,))), (torch.randn(4, 8),), exact=False)
        self.assertTrue(any(t.startswith("_c10d_functional.all_reduce") for t in self.targets(nodes)), self.targets(nodes))
        self.assertTrue(plan["saved"])


if __name__ == "__main__":
    unittest.main()
