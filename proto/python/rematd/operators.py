"""Names of operators as graph documents write them, and what an installed PyTorch says of each.

Needs PyTorch. Everything here looks at a target alone, never at a graph, so the answers can be kept per target.
"""

from __future__ import annotations

import functools
import json
import operator
from importlib import resources
from typing import Any

import torch
from torch._library.utils import is_builtin, is_impure

TABLE_RELEASE = "2.13"
#: Operator classes that decide; the table's other two (pointwise, flops) are for information.
CLASSES = ("recomputable", "fusible", "view", "compute_intensive", "random")


def target_name(target: Any) -> str:
    """How a graph document writes the target of a call.

    ``aten.mm.default`` for operators with overload, ``aten.mm`` without, ``getitem``, ``higher_order.NAME``, and
    ``module.function`` for Python functions.
    """
    if isinstance(target, str):
        return target
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(target)
    if target is operator.getitem:
        return "getitem"
    if isinstance(target, torch._ops.HigherOrderOperator):
        return "higher_order." + str(target.name())
    module = getattr(target, "__module__", None) or "torch"
    if module == "_operator":
        module = "operator"
    return f"{module}.{getattr(target, '__name__', type(target).__name__)}"


def packet_of(target: Any) -> Any:
    """The operator without its overload, as the partitioner looks classes up; other targets are their own."""
    return getattr(target, "overloadpacket", target)


def schema_facts(target: Any) -> set[str]:
    """Traits of a target that follow from its schema and registration.

    Of mutable, seeded, impure, no_returns and custom, those that apply. ``impure`` is what dead-code elimination
    keeps besides mutation. It is the registration at this moment: a program may change it.
    """
    facts = set()
    if isinstance(target, torch._ops.OpOverload):
        schema = target._schema
        if schema.is_mutable:
            facts.add("mutable")
        if torch.Tag.nondeterministic_seeded in target.tags:
            facts.add("seeded")
        if len(schema.returns) == 0:
            facts.add("no_returns")
        if not is_builtin(target):
            facts.add("custom")
    if "mutable" not in facts and is_impure(target, args=(), kwargs={}, impure_random=False):
        facts.add("impure")
    return facts


@functools.cache
def live_classes() -> dict[Any, frozenset[str]]:
    """Operator classes of this process's partitioner, by packet or Python function."""
    from torch._functorch.partitioners import get_default_op_list

    types = get_default_op_list()
    found: dict[Any, set[str]] = {}
    for name in CLASSES:
        for target in getattr(types, name + "_ops"):
            found.setdefault(target, set()).add(name)
    return {target: frozenset(classes) for target, classes in found.items()}


@functools.cache
def table() -> dict[str, Any]:
    """The operator table that the service has compiled in (optable-2.13.json)."""
    text = resources.files("rematd").joinpath(f"optable-{TABLE_RELEASE}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@functools.cache
def table_classes(name: str) -> frozenset[str]:
    """Classes that the service's table gives to a target by name."""
    packets = table()["packets"]
    packet = name if name in packets or name.count(".") < 2 else name.rsplit(".", 1)[0]
    return frozenset(packets.get(packet, ())) & frozenset(CLASSES)


@functools.cache
def class_traits(target: Any) -> tuple[str, ...]:
    """What a document must say of a target's classes so that the service sees this process's: added, or denied by ``-``."""
    live = live_classes().get(packet_of(target), frozenset())
    known = table_classes(target_name(target))
    return (*sorted(live - known), *("-" + name for name in sorted(known - live)))
