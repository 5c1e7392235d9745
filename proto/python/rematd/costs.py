"""What computing a node again costs, where only this process can say.

Needs PyTorch. A budget below 1 weighs what a value takes against what computing it again costs. PyTorch's own FLOP formulas the
service knows; an estimator that is code of this process or measures, and FLOP formulas that the program registered, it does
not: there the document carries the cost of every node that the decision can ask about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import fx
from torch._functorch import config as functorch_config
from torch._functorch import partitioners
from torch.utils import flop_counter

from rematd.errors import ExportError
from rematd.export import has_budget
from rematd.operators import packet_of, target_name

ESTIMATOR = "activation_memory_budget_runtime_estimator"
#: Estimators that the service has itself.
OF_THE_SERVICE = ("flops", "testing", "given")
#: Operators whose formula the service has (core/optable.c).
COUNTED = frozenset("aten." + name for name in (
    "mm", "_scaled_mm", "addmm", "bmm", "baddbmm", "convolution", "_convolution", "cudnn_convolution", "_slow_conv2d_forward",
    "convolution_overrideable", "convolution_backward", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_cudnn_attention"))


class Costs:
    """A node's cost by this process, for ``export_graph``; None for a node that no decision asks about, or that has none."""

    def __init__(self, estimator: Any, options: Mapping[str, Any]) -> None:
        self.options = options
        self._estimator = estimator
        self._classes = partitioners.get_default_op_list()
        self._n_known = 0
        self._failure: Exception | None = None

    def __call__(self, node: fx.Node) -> float | None:
        """Any unit, as the estimator has it."""
        if not self._may_be_offered(node):
            return None
        try:
            with functorch_config.patch({ESTIMATOR: self._estimator}):
                cost = float(partitioners.estimate_runtime(node))
        except Exception as error:  # PyTorch asks about fewer nodes, so this need not be one of them
            self._failure = error
            return None
        self._n_known += 1
        return cost

    def check(self) -> None:
        """Raises ExportError when no node has a cost because the estimator fails."""
        if self._failure is not None and self._n_known == 0:
            raise ExportError(f"the runtime estimator fails: {self._failure}") from self._failure

    def _may_be_offered(self, node: fx.Node) -> bool:
        """Whether a budget may ask: what the most aggressive rules still keep from being computed again. Tags are left out of
        it, which passes change."""
        if node.op != "call_function" or self._classes.is_view(node):
            return False
        return (self._classes.is_random(node) or self._classes.is_compute_intensive(node) or self._is_included(node)
                or self.options.get("max_dist_from_bw", 1000) < 1000 or self._reduces(node))

    def _is_included(self, node: fx.Node) -> bool:
        return bool(self.options.get("is_non_builtin_to_include")) and (
            not torch._library.utils.is_builtin(node.target) if isinstance(node.target, torch._ops.OpOverload)
            else node.target is torch.ops.higher_order.triton_kernel_wrapper_functional)

    def _reduces(self, node: fx.Node) -> bool:
        if not self.options.get("ban_recompute_reductions", True):
            return False
        try:
            taken = sum(partitioners._size_of(arg) for arg in node.args if isinstance(arg, fx.Node))
            return bool(partitioners._size_of(node) * 4 < taken)
        except RuntimeError:  # a size that nobody knows
            return True


def costs_of(graph: fx.Graph, options: Mapping[str, Any]) -> Costs | None:
    """This process's costs, when the decision needs them and the service has not got them."""
    if options.get("activation_memory_budget") == 1 and not has_budget(graph.nodes):
        return None
    named = options.get(ESTIMATOR)
    if named not in OF_THE_SERVICE:
        return Costs(named, options)
    if named == "given":
        return Costs(getattr(functorch_config, ESTIMATOR), options)
    if named == "flops" and any(_has_other_formula(node.target) for node in graph.nodes if node.op == "call_function"):
        return Costs("flops", options)
    return None


def _has_other_formula(target: Any) -> bool:
    """Whether PyTorch's counter has a formula for an operator that is not one of those the service has."""
    packet = packet_of(target)
    formula = flop_counter.flop_registry.get(packet)
    if formula is None:
        return False
    return getattr(formula, "__module__", "") != flop_counter.__name__ or target_name(packet) not in COUNTED
