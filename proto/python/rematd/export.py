"""From a joint forward and backward ``fx.GraphModule`` to the graph document ``remat/graph/v1``.

Needs PyTorch. The document holds what the decision depends on, so that the decision made from it is the one the
partitioner makes from the live graph: sizes with the hints PyTorch uses, storages, tags, placement, what a schema says
of an operator, and where this process's operator classes differ from the table of the service. It holds no weights and
no data; names of modules go in, source lines only if asked for.

The graph is only read. It has to be one that dead-code elimination and the merging of common subexpressions have
already seen: that is how the partitioner decides.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch._functorch._aot_autograd.graph_compile import is_opaque_node
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import free_symbols, is_symbol_binding_fx_node, optimization_hint
from torch.utils import _pytree as pytree

from rematd.errors import ExportError
from rematd.operators import class_traits, schema_facts, table, target_name

SCHEMA = "remat/graph/v1"
#: What PyTorch's partitioner assumes of a size that nothing is known about.
UNKNOWN_SIZE = 4096
PLACEMENTS = frozenset(("is_forward", "is_backward", "must_be_in_forward", "must_be_in_backward"))
MAX_INTEGER = 2**63 - 1
Document = dict[str, Any]

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_HIGHER_ORDER = torch.ops.higher_order


def export_graph(
    module: fx.GraphModule,
    *,
    num_fwd_outputs: int,
    static_lifetime_input_indices: Sequence[int] | None = None,
    name: str | None = None,
    stacks: bool = False,
    runtime: Callable[[fx.Node], float | None] | None = None,
) -> Document:
    """The graph document of a joint graph.

    ``num_fwd_outputs`` counts the leading outputs that belong to the forward; ``static_lifetime_input_indices`` are
    positions among the primal inputs, as AOTAutograd passes both. ``stacks`` adds the source line of each node.
    ``runtime`` gives a node's cost in any unit, for the runtime estimator ``given``; None for a node whose cost is not needed.

    Raises ExportError, naming the node, for a graph that no document can describe.
    """
    with _no_collection():
        return _document(list(module.graph.nodes), num_fwd_outputs, static_lifetime_input_indices, name, stacks, runtime)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keeps the garbage collector off: a document has no cycles, and looking through all of PyTorch takes longer than it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _document(
    live: Sequence[fx.Node], num_fwd_outputs: int, static: Sequence[int] | None, name: str | None, stacks: bool,
    runtime: Callable[[fx.Node], float | None] | None,
) -> Document:
    writer = _Writer(stacks=stacks, runtime=runtime, has_region_budget=_has_region_budget(live))
    nodes = [writer.node(node) for node in live]
    if not nodes or nodes[-1]["op"] != "output":
        raise ExportError("the graph does not end in its output node")
    n_primals = sum(1 for node in live if node.op == "placeholder" and _is_primal(str(node.target)))
    document: Document = {
        "schema": SCHEMA,
        "producer": {"name": "torch", "version": torch.__version__.partition("+")[0]},
        "num_fwd_outputs": num_fwd_outputs,
        "static_lifetime_inputs": sorted({i for i in static or () if 0 <= i < n_primals}),
        "nodes": nodes,
    }
    if name is not None:
        document["name"] = name
    return document


def _is_primal(target: str) -> bool:
    return not any(word in target for word in ("tangents", "bwd_seed", "bwd_base_offset", "fwd_seed", "fwd_base_offset"))


def _region_budget(meta: Mapping[str, Any]) -> float | None:
    custom = meta.get("custom")
    budget = custom.get("_region_activation_memory_budget") if isinstance(custom, dict) else None
    return budget if isinstance(budget, float) else None


def _has_region_budget(nodes: Iterable[fx.Node]) -> bool:
    return any(_region_budget(node.meta) is not None for node in nodes if "custom" in node.meta)


def has_budget(nodes: Iterable[fx.Node]) -> bool:
    """Whether the program gave a graph an activation memory budget of its own."""
    return any(isinstance(node.meta.get("memory_budget"), float) or _region_budget(node.meta) is not None for node in nodes)


@functools.cache
def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@functools.cache
def _table_impure() -> frozenset[str]:
    return frozenset(name for name, facts in table()["overloads"].items() if "impure" in facts)


def _source_line(meta: Mapping[str, Any]) -> str | None:
    """The innermost frame of a node's stack trace, as ``file:line in function: code``."""
    trace = meta.get("stack_trace")
    if not isinstance(trace, str):
        return None
    lines = [line.strip() for line in trace.strip().splitlines()]
    frames = [i for i, line in enumerate(lines) if line.startswith('File "')]
    if not frames:
        return None
    return " | ".join(lines[frames[-1]:frames[-1] + 2])


class _Writer:
    """Writes nodes in execution order and remembers whose storage is whose."""

    def __init__(self, *, stacks: bool, runtime: Callable[[fx.Node], float | None] | None, has_region_budget: bool) -> None:
        self.stacks = stacks
        self.runtime = runtime
        self.has_region_budget = has_region_budget
        self.first_with_storage: dict[int, str] = {}
        # By identity, which is cheaper than an operator's own hash. Registration may change between two graphs, so what is
        # known of a target does not outlive one.
        self.targets: dict[int, _Target] = {}

    def node(self, node: fx.Node) -> Document:
        """One node of the document."""
        op = node.op
        if op not in ("placeholder", "get_attr", "call_function", "output"):
            raise ExportError(f"node {node.name}: {op} cannot be in a joint graph", node=node.name)
        target = self.targets.get(id(node.target))
        if target is None:
            target = self.targets[id(node.target)] = _Target(node.target)
        out: Document = {"name": node.name, "op": op, "target": target.name}
        try:
            if op == "call_function":
                out["args"] = [_argument(arg) for arg in node.args]
                kwargs = node.kwargs
                if kwargs:
                    out["kwargs"] = {key: _argument(arg) for key, arg in kwargs.items()}
            elif op == "output":
                leaves = pytree.arg_tree_leaves(*node.args)
                out["args"] = ["%" + leaf.name if isinstance(leaf, fx.Node) else None for leaf in leaves]
                return out
            meta = node.meta
            if "val" in meta:
                self._add_value(node, meta["val"], out)
            self._add_marks(meta, out)
            if op == "call_function":
                traits = target.traits
                if target.is_higher_order:
                    traits = [*traits, *self._higher_order(node, target.name, out)]
                if traits:
                    out["traits"] = traits
                if self.runtime is not None:
                    self._add_runtime(node, self.runtime, out)
        except ExportError:
            raise
        except Exception as error:
            raise ExportError(f"node {node.name}: {error}", node=node.name) from error
        return out

    def _add_value(self, node: fx.Node, value: Any, out: Document) -> None:
        if type(value) is FakeTensor or isinstance(value, torch.Tensor):  # the latter is slow for what nearly all are
            described = out["val"] = _tensor(value)
            storage = _storage(value)
            if storage is None:
                described["no_storage"] = True
                return
            name = node.name
            first = self.first_with_storage.setdefault(storage, name)
            if first is not name:
                out["alias_of"] = first
            return
        out["val"] = _value(value)
        if isinstance(value, torch.SymInt):
            symbol = is_symbol_binding_fx_node(node)
            if symbol is not None:
                out["binds"] = str(symbol)
        elif is_opaque_node(node):
            out["opaque"] = True

    @staticmethod
    def _add_runtime(node: fx.Node, runtime: Callable[[fx.Node], float | None], out: Document) -> None:
        if out.get("partitioner_tag") == "is_backward":
            return
        cost = runtime(node)
        if cost is not None and math.isfinite(cost) and cost >= 0:
            out["runtime"] = float(cost)

    def _higher_order(self, node: fx.Node, name: str, out: Document) -> list[str]:
        """What an operator over operators does depends on the call, not on its name."""
        from torch._functorch._aot_autograd.utils import is_with_effects

        traits = []
        if node.target is _HIGHER_ORDER.auto_functionalized:
            from torch._higher_order_ops.auto_functionalize import get_mutable_args

            out["mutated_args"] = list(get_mutable_args(node.args[0])[0])
        if is_with_effects(node):
            traits.append("effects")
        if node.is_impure(impure_random=False):
            traits.append("impure")
        elif name in _table_impure():
            traits.append("-impure")
        return traits

    def _add_marks(self, meta: Mapping[str, Any], out: Document) -> None:
        tag = meta.get("recompute")
        if tag is not None:
            out["recompute"] = tag.name.lower()
        region = meta.get("ac_graph_id")
        if isinstance(region, int):
            out["ac_graph_id"] = region
        placement = meta.get("partitioner_tag")
        if placement in PLACEMENTS:
            out["partitioner_tag"] = placement
        if meta.get("has_backward_hook"):
            out["has_backward_hook"] = True
        if meta.get("saved_tensor_with_no_vc_check"):
            out["no_vc_check"] = True
        budget = _region_budget(meta) if self.has_region_budget else meta.get("memory_budget")
        if isinstance(budget, float):
            out["memory_budget"] = budget
        stack = meta.get("nn_module_stack")
        if stack:
            module = str(next(reversed(stack.values()))[0])
            if module:
                out["module"] = module
        if self.stacks:
            line = _source_line(meta)
            if line is not None:
                out["stack"] = line


class _Target:
    """What a document says of every call of a target."""

    def __init__(self, target: Any) -> None:
        self.name = target_name(target)
        self.is_higher_order = isinstance(target, torch._ops.HigherOrderOperator)
        self.traits = [] if isinstance(target, str) else list(_traits(target))


def _traits(target: Any) -> tuple[str, ...]:
    if isinstance(target, torch._ops.HigherOrderOperator):
        return class_traits(target)
    facts = schema_facts(target)
    denied = ("-impure",) if target_name(target) in _table_impure() and "impure" not in facts | _kept(facts) else ()
    return (*sorted(facts), *denied, *class_traits(target))


def _kept(facts: set[str]) -> set[str]:
    """A mutable operator is kept whatever else is said of it, so impure need not be denied."""
    return {"impure"} if "mutable" in facts else set()


# ---- values -----------------------------------------------------------------


def _type_name(value: Any) -> str:
    return type(value).__name__


def _symbols(value: Any) -> list[str]:
    return sorted(str(symbol) for symbol in free_symbols(value))


def _value(value: Any) -> Any:
    """What a node computes: a tensor, several, a scalar, an object."""
    if isinstance(value, torch.Tensor):
        described = _tensor(value)
        if _storage(value) is None:
            described["no_storage"] = True
        return described
    if value is None:
        return None
    if isinstance(value, _SYMBOLIC):
        return _symbol(value)
    if isinstance(value, (list, tuple)):
        return {"tuple": [_value(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": {str(key): _value(item) for key, item in value.items()}}
    if isinstance(value, (bool, str)) or (isinstance(value, int) and abs(value) <= MAX_INTEGER) or (
            isinstance(value, float) and math.isfinite(value)):
        return {"const": value}
    return {"opaque": _type_name(value)}


def _tensor(value: torch.Tensor) -> Document:
    sizes: list[Any] = list(value.shape)
    out: Document = {"dtype": _dtype_name(value.dtype), "shape": sizes}
    if getattr(value, "_has_symbolic_sizes_strides", True):
        if any(type(size) is not int for size in sizes):
            out["shape"] = [size if type(size) is int else str(size) for size in sizes]
            hints = [_hint(size) for size in sizes]
            out["hint"] = hints
            numel = _hint(value.numel())
            if numel != math.prod(hints):
                out["numel_hint"] = numel
        symbols = _symbols(value)  # strides and storage offset count too
        if symbols or "hint" in out:
            out["symbols"] = symbols
    return out


def _storage(value: torch.Tensor) -> int | None:
    """What tells storages apart; None where there is none."""
    try:
        return int(value.untyped_storage()._cdata)
    except RuntimeError:  # NotImplementedError among them
        if torch._C._has_storage(value):
            raise
        return None


def _hint(size: Any) -> int:
    return int(optimization_hint(size, fallback=UNKNOWN_SIZE))


def _symbol(value: Any) -> Document:
    kind = {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}[type(value)]
    out: Document = {"sym": kind}
    if kind == "int":
        hint = optimization_hint(value, fallback=UNKNOWN_SIZE)
        if not isinstance(hint, torch.SymInt):  # as that of a ragged size, which is no number
            out["hint"] = int(hint)
    elif value.node._hint is not None:
        out["hint"] = value.node._hint
    out["expr"] = str(value.node.expr)
    out["symbols"] = _symbols(value)
    return out


# ---- arguments --------------------------------------------------------------


def _argument(arg: Any) -> Any:
    """One argument, with references to nodes as ``%name``."""
    kind = type(arg)
    if kind is fx.Node:
        return "%" + arg.name
    if kind is int:
        return arg if abs(arg) <= MAX_INTEGER else {"repr": repr(arg)}
    if arg is None or kind is bool:
        return arg
    if isinstance(arg, (list, tuple)):
        return [_argument(item) for item in arg]
    if isinstance(arg, str):
        return "%" + arg if arg.startswith("%") else arg
    if isinstance(arg, float):
        return arg if math.isfinite(arg) else {"float": str(arg)}
    if isinstance(arg, dict):
        return {"dict": {str(key): _argument(item) for key, item in arg.items()}}
    if isinstance(arg, slice):
        return {"slice": [_argument(arg.start), _argument(arg.stop), _argument(arg.step)]}
    if isinstance(arg, int):
        return _argument(int(arg))
    return _literal(arg)


def _literal(arg: Any) -> Document:
    if isinstance(arg, torch.dtype):
        return {"dtype": _dtype_name(arg)}
    for kind in ("device", "layout", "memory_format"):
        if isinstance(arg, getattr(torch, kind)):
            return {kind: str(arg).removeprefix("torch.")}
    if isinstance(arg, (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)):
        return {"op": target_name(arg)}
    if isinstance(arg, (*_SYMBOLIC, complex, range)):
        return {"repr": str(arg)}
    # An address in a text would make two equal graphs differ.
    return {"repr": _type_name(arg)}

