"""Puts a plan from outside into PyTorch's own partitioner.

Needs PyTorch. ``min_cut_rematerialization_partition`` cleans the graph, merges common subexpressions, decides, and makes
two graphs of one. Only the decision is replaced, at three of its functions:

- ``has_recomputable_ops``, the first it calls on the cleaned graph, before it touches a tag: here the graph is exported and
  the plan asked for; what passes changed is written to the tags of the live graph, so that PyTorch's own clean-up and its
  treatment of random numbers see the same tags as the service;
- ``choose_saved_values_set``: answers with the plan instead of a minimum cut;
- ``_extract_fwd_bwd_modules``: what came out is compared with the plan.

The functions are wrapped once per process and pass through whatever is not the graph of a session of the same thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import fx
from torch._functorch import config as functorch_config
from torch._functorch import partitioners
from torch.utils.checkpoint import CheckpointPolicy

from rematd.errors import WrongAnswer

Plan = Mapping[str, Any]
#: Given the cleaned graph module, a plan with the outcome "plan", or None when PyTorch is to decide.
Decide = Callable[[fx.GraphModule], "Plan | None"]

_MISSING = object()
_local = threading.local()
_install_lock = threading.Lock()
_installed = False


class Session:
    """One call of the partitioner. ``plan`` is what it was given, None before and when PyTorch decides."""

    def __init__(self, module: fx.GraphModule, decide: Decide, *, allow_random: bool) -> None:
        self.module = module
        self.decide = decide
        self.allow_random = allow_random
        self.asked = False
        self.used = False
        self.plan: Plan | None = None
        self._tags: dict[fx.Node, tuple[Any, Any]] = {}

    # ---- the three places ----

    def ask(self) -> None:
        """On the cleaned graph, before its tags are cleaned up."""
        self.asked = True
        graph = self.module.graph
        self._tags = {node: (node.meta.get("recompute", _MISSING), node.meta.get("ac_graph_id", _MISSING))
                      for node in graph.nodes}
        plan = self.decide(self.module)
        if plan is not None:
            self.plan = plan
            apply_tag_changes(graph, plan)

    def chosen(self) -> list[fx.Node]:
        """The plan's saved values as nodes, in the order PyTorch wants to see them."""
        assert self.plan is not None
        self.used = True
        by_name = {node.name: node for node in self.module.graph.nodes}
        names = [*_names(self.plan, "saved_sym"), *_names(self.plan, "saved_opaque"), *_names(self.plan, "saved")]
        nodes = _look_up(names, by_name)
        return nodes + _passed_along(by_name.values())

    def check(self, forward: fx.GraphModule, backward: fx.GraphModule, lists: Mapping[str, Iterable[fx.Node]]) -> None:
        """Whether what PyTorch made of the plan is what the plan says. Raises WrongAnswer."""
        assert self.plan is not None
        if getattr(functorch_config, "_sync_decision_cross_ranks", False):
            return  # PyTorch has let the ranks vote since
        for field, nodes in lists.items():
            made = [node.name for node in nodes]
            if made != _names(self.plan, field):
                raise WrongAnswer(f"the plan's {field} does not fit the graph: {_difference(_names(self.plan, field), made)}")
        in_forward, in_backward = _calls(forward), _calls(backward)
        recomputed = [node for node in self.module.graph.nodes if node.op == "call_function"
                      and node.name in in_forward and node.name in in_backward]
        made = [node.name for node in recomputed]
        if made != _names(self.plan, "recomputed"):
            planned = _names(self.plan, "recomputed")
            raise WrongAnswer(f"the plan's recomputed does not fit the graph: {_difference(planned, made)}")
        if not self.allow_random:
            for node in recomputed:
                if _is_random(node) and not partitioners.must_recompute(node):
                    raise WrongAnswer(f"the plan computes {node.name} again, which draws random numbers")

    def restore_tags(self) -> None:
        """Takes back what clean-up and passes did to the tags, so that the graph can be partitioned again."""
        for node, values in self._tags.items():
            for key, value in zip(("recompute", "ac_graph_id"), values, strict=True):
                if value is _MISSING:
                    node.meta.pop(key, None)
                else:
                    node.meta[key] = value


def partition(session: Session, run: Callable[[], Any]) -> Any:
    """Runs the partitioner (``run``) with a session."""
    _install()
    stack = _sessions()
    stack.append(session)
    try:
        return run()
    finally:
        stack.pop()


def apply_tag_changes(graph: fx.Graph, plan: Plan) -> None:
    """Writes what the plan's passes changed to the tags of the live nodes. Raises WrongAnswer for a name that is not there, and
    when changes are counted but not told."""
    by_name = {node.name: node for node in graph.nodes}
    for report in plan.get("passes") or ():
        changes = report.get("changes") or ()
        if report.get("changed", len(changes)) != len(changes):
            raise WrongAnswer(f"the pass {report.get('pass')} changed {report['changed']} tags, and told {len(changes)}")
        for change in changes:
            node = by_name.get(change.get("node"))
            if node is None:
                raise WrongAnswer(f"a pass changed {change.get('node')!r}, which is not in the graph")
            _set_tag(node, change.get("after"))


def _set_tag(node: fx.Node, after: Any) -> None:
    for key in ("recompute", "ac_graph_id"):
        node.meta.pop(key, None)
    if after is None:
        return
    try:
        policy, region = after
        node.meta["recompute"] = CheckpointPolicy[str(policy).upper()]
    except (KeyError, TypeError, ValueError) as error:
        raise WrongAnswer(f"{after!r} is no tag") from error
    if region is not None:
        node.meta["ac_graph_id"] = region


def _names(plan: Plan, field: str) -> list[str]:
    names = plan.get(field)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise WrongAnswer(f"the plan has no list {field}")
    return names


def _look_up(names: Iterable[str], by_name: Mapping[str, fx.Node]) -> list[fx.Node]:
    nodes = []
    for name in names:
        node = by_name.get(name)
        if node is None or node.op == "output":
            raise WrongAnswer(f"the plan saves {name!r}, which is not in the graph")
        nodes.append(node)
    return nodes


def _passed_along(nodes: Iterable[fx.Node]) -> list[fx.Node]:
    """Backward states, which PyTorch hands over by themselves, so that a plan does not list them; it takes them away again."""
    return [node for node in nodes if node.op == "placeholder" and type(node.meta.get("val")).__name__ == "BackwardState"]


def _calls(module: fx.GraphModule) -> set[str]:
    return {node.name for node in module.graph.nodes if node.op == "call_function"}


#: Attention that draws random numbers only for dropout, and where its probability stands.
_DROPOUT_AT = {
    "aten._scaled_dot_product_flash_attention.default": 3,
    "aten._scaled_dot_product_flash_attention_for_cpu.default": 3,
    "aten._scaled_dot_product_fused_attention_overrideable.default": 4,
    "aten._scaled_dot_product_efficient_attention.default": 5,
    "aten._scaled_dot_product_cudnn_attention.default": 5,
}


def _is_random(node: fx.Node) -> bool:
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    place = _DROPOUT_AT.get(str(node.target))
    if place is None:
        return True
    chance = node.kwargs.get("dropout_p", node.args[place] if place < len(node.args) else 0.0)
    return not (isinstance(chance, (int, float)) and chance == 0)


def _difference(planned: list[str], made: list[str]) -> str:
    missing = [name for name in planned if name not in set(made)][:3]
    extra = [name for name in made if name not in set(planned)][:3]
    if not missing and not extra:
        return "another order"
    return f"planned only {missing}, made only {extra}"


# ---- the wrappers -----------------------------------------------------------


def _sessions() -> list[Session]:
    stack: list[Session] = _local.__dict__.setdefault("sessions", [])
    return stack


def _current() -> Session | None:
    stack = _sessions()
    return stack[-1] if stack else None


def _install() -> None:
    global _installed  # noqa: PLW0603 - once per process
    with _install_lock:
        if _installed:
            return
        first = partitioners.has_recomputable_ops
        choose = partitioners.choose_saved_values_set
        extract = partitioners._extract_fwd_bwd_modules

        def has_recomputable_ops(fx_g: fx.GraphModule) -> Any:
            session = _current()
            if session is not None and not session.asked and fx_g is session.module:
                session.ask()
            return first(fx_g)

        def choose_saved_values_set(joint_graph: fx.Graph, *args: Any, **kwargs: Any) -> Any:
            session = _current()
            if session is not None and session.plan is not None and joint_graph is session.module.graph:
                return session.chosen()
            return choose(joint_graph, *args, **kwargs)

        def extract_modules(joint_module: fx.GraphModule, saved_values: Any, *args: Any, **kwargs: Any) -> Any:
            made = extract(joint_module, saved_values, *args, **kwargs)
            session = _current()
            if session is not None and session.used and joint_module is session.module:
                lists = {"saved": saved_values, "saved_sym": args[0] if args else kwargs["saved_sym_nodes"]}
                opaque = args[1] if len(args) > 1 else kwargs.get("saved_opaque_nodes")
                if opaque is not None:
                    lists["saved_opaque"] = opaque
                session.check(made[0], made[1], lists)
            return made

        partitioners.has_recomputable_ops = has_recomputable_ops
        partitioners.choose_saved_values_set = choose_saved_values_set
        partitioners._extract_fwd_bwd_modules = extract_modules
        _installed = True
