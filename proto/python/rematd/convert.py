"""From the joint graph that PyTorch prints to a graph document. Needs no PyTorch.

``TORCH_LOGS=aot_joint_graph`` and ``print_readable()`` print a joint graph as Python text, with types, shapes, strides and
checkpoint tags. Whoever has only that text, from somebody else's log, gets a document of it here. The text lacks some of what the
decision depends on: how many outputs belong to the forward, which inputs are parameters, how large symbolic sizes are, on
which side a node was placed. That can be given; what is not given is inferred and listed.

Dead code goes and common subexpressions are merged as the partitioner does first.
"""

from __future__ import annotations

import ast
import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, TypeGuard

from rematd.errors import RematdError

Document = dict[str, Any]
UNKNOWN_SIZE = 4096

LOG_PREFIX = re.compile(r"^.*?\[__aot_joint_graph\] ?")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TAG_WORDS = re.compile(r"ac_graph_id: (?P<region>-?\d+)(?: - (?P<policy>[A-Z_]+))?|recompute: (?P<alone>[A-Z_]+)")
STACK_TEXT = re.compile(r"File: (?P<where>.*)$")
TENSOR = re.compile(r"^(?P<dtype>\w+)\[(?P<shape>[^\]]*)\](?:\[(?P<stride>[^\]]*)\])?(?P<device>[\w:]*)$")
SYMBOL = re.compile(r"\b[suz]+\d+\b")
INPUT = re.compile(r"^(?:primals|tangents|fwd_seed|fwd_base_offset|bwd_seed|bwd_base_offset)_\d+$")
DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16",
    "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "b8": "bool", "c32": "complex32",
    "c64": "complex64", "c128": "complex128", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0fnu": "float8_e8m0fnu",
}
BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Div: "truediv", ast.Mod: "mod",
          ast.Pow: "pow", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift",
          ast.MatMult: "matmul"}
COMPARED = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not_"}
#: Never merged, whatever their arguments (torch/_functorch/compile_utils.py).
RANDOM = frozenset(f"aten.{name}" for name in (
    "dropout", "_fused_dropout", "_standard_gamma", "bernoulli", "multinomial", "native_dropout", "normal", "poisson", "binomial",
    "rrelu", "rand_like", "rand", "randint", "randn", "randperm", "empty"))


class ConvertError(RematdError):
    """Text that is not a joint graph, or that needs something given. Names the line and what to do."""


@dataclass
class Converted:
    """``document`` is the graph; ``inferred`` says, a line each, what the text did not."""

    document: Document
    inferred: list[str] = field(default_factory=list)


def convert(
    text: str,
    *,
    num_fwd_outputs: int | None = None,
    static: Sequence[int] | None = None,
    hints: Mapping[str, int] | None = None,
    graph: int | None = None,
    name: str | None = None,
) -> Converted:
    """The document of a printed joint graph.

    ``num_fwd_outputs`` and ``static`` (positions among the primal inputs of parameters and buffers) as AOTAutograd passes
    them to the partitioner; ``hints`` are sizes of symbols; ``graph`` picks one of several in the text, from 0.

    Raises ConvertError.
    """
    reader = _Reader(_pick(_bodies(text), graph), dict(hints or {}))
    document = reader.read()
    inferred = reader.inferred
    primals = [n for n in document["nodes"] if n["op"] == "placeholder" and _is_primal(n["target"])]
    outputs = document["nodes"][-1]["args"]
    if num_fwd_outputs is None:
        num_fwd_outputs = len(outputs) - len(primals)
        if num_fwd_outputs < 0:
            raise ConvertError(f"{len(outputs)} outputs and {len(primals)} inputs: how many outputs belong to the forward "
                               "must be given (--num-fwd-outputs)")
        inferred.append(f"num_fwd_outputs: {num_fwd_outputs}, taking one gradient for each of {len(primals)} inputs")
    if static is None:
        gradients = outputs[len(outputs) - len(primals):]
        static = [i for i, value in enumerate(gradients) if value is not None] if len(outputs) >= len(primals) else []
        inferred.append(f"static_lifetime_inputs: {len(static)} inputs that get a gradient are taken for parameters; "
                        "buffers are not")
    document.update(num_fwd_outputs=num_fwd_outputs, static_lifetime_inputs=sorted(set(static)))
    if name is not None:
        document["name"] = name
    _clean(document)
    return Converted({"schema": "remat/graph/v1", **document}, inferred)


# ---- from a log to Python text --------------------------------------------------


def _bodies(text: str) -> list[list[str]]:
    """The lines of each forward() in a log or in printed code, but not of modules within a graph's, which are printed behind it,
    further in."""
    lines = [LOG_PREFIX.sub("", COLOUR.sub("", line.rstrip("\r\n"))) for line in text.splitlines()]
    bodies: list[list[str]] = []
    outermost: int | None = None
    for start, line in enumerate(lines):
        if not re.match(r"^\s*def forward\b", line):
            continue
        indent = len(line) - len(line.lstrip())
        if outermost is not None and indent > outermost:
            continue
        outermost = indent
        end = start + 1
        while end < len(lines) and not lines[end - 1].rstrip().endswith(":"):
            end += 1  # a signature of several lines
        body = []
        for inner in lines[end:]:
            if inner.strip() and len(inner) - len(inner.lstrip()) <= indent:
                break
            body.append(inner)
            if inner.strip().startswith("return "):
                break
        if not any("tree_flatten_spec(" in inner for inner in body):
            body = _inputs(lines[start:end], body) + body
        bodies.append(body)
    return bodies


def _inputs(signature: list[str], body: list[str]) -> list[str]:
    """The arguments of forward(), which are the inputs where they are not unpacked from a tree, written as that would be."""
    try:
        function = ast.parse(textwrap.dedent("\n".join(signature)).rstrip() + " pass").body[0]
    except (SyntaxError, ValueError, RecursionError, IndexError):
        return []  # the names will be missed
    indent = next((line[:len(line) - len(line.lstrip())] for line in body if line.strip()), "")
    arguments = function.args.args[1:] if isinstance(function, ast.FunctionDef) else []
    return [f"{indent}{one.arg}: {'None' if one.annotation is None else ast.unparse(one.annotation)}" for one in arguments]


def _pick(bodies: list[list[str]], graph: int | None) -> list[str]:
    joint = [body for body in bodies if any("tangents" in line for line in body)] or bodies
    if not joint:
        raise ConvertError("no joint graph in this text, expected what TORCH_LOGS=aot_joint_graph or print_readable() prints")
    if graph is None:
        if len(joint) > 1:
            raise ConvertError(f"{len(joint)} joint graphs in this text, pick one (--graph 0 to {len(joint) - 1})")
        graph = 0
    if not 0 <= graph < len(joint):
        raise ConvertError(f"there is no graph {graph}, the text has {len(joint)}")
    return joint[graph]


# ---- reading ---------------------------------------------------------------------


class _Reader:
    def __init__(self, lines: list[str], hints: dict[str, int]) -> None:
        self.lines = textwrap.dedent("\n".join(lines)).splitlines()
        self.hints = hints
        self.inferred: list[str] = []
        self.nodes: list[Document] = []
        self.by_name: dict[str, Document] = {}
        self.bound: set[str] = set()
        self.backward: set[str] = set()
        self.tags: list[tuple[int, Document]] = []
        self.released: set[str] = set()
        self.without_value = 0

    def read(self) -> Document:
        try:
            tree = ast.parse("\n".join(self.lines))
        except (SyntaxError, ValueError, RecursionError) as error:
            raise ConvertError(f"line {getattr(error, 'lineno', '?')} of the graph is not Python: {error}") from None
        self._find_tags()
        self.released = {target.id for statement in tree.body if _releases(statement)
                         for target in statement.targets if isinstance(target, ast.Name)}
        for statement in tree.body:
            self._statement(statement)
        if not self.nodes or self.nodes[-1]["op"] != "output":
            raise ConvertError("the graph has no return, is the text complete?")
        self._tuples()
        missing = sorted({s for n in self.nodes for s in _symbols_of(n.get("val"))} - self.hints.keys())
        if missing:
            self.inferred.append(f"sizes of {', '.join(missing)}: {UNKNOWN_SIZE} each (give them: --hint {missing[0]}=N)")
        if self.without_value:
            self.inferred.append(f"{self.without_value} nodes are printed without a type: taken for operators with several "
                                 "results, of which those that are read are known")
        self.inferred.append("checkpoint tags and regions are in the text; hooks, saved-tensor checks and modules are not")
        return {"producer": {"name": "torch", "version": "as printed"}, "nodes": self.nodes}

    def _find_tags(self) -> None:
        """Comments hold for what follows until the next one."""
        for number, line in enumerate(self.lines, start=1):
            stripped = line.strip()
            if not stripped.startswith("#"):
                continue
            marks: Document = {}
            stack = STACK_TEXT.search(stripped)
            head = stripped[:stack.start()] if stack else stripped
            if stack:
                marks["stack"] = stack["where"]
            tag = TAG_WORDS.search(head)
            if tag:
                policy = tag["policy"] or tag["alone"]
                if policy:
                    marks["recompute"] = policy.lower()
                if tag["region"]:
                    marks["ac_graph_id"] = int(tag["region"])
            self.tags.append((number, marks))

    def _marks_at(self, line: int) -> Document:
        marks: Document = {}
        for number, found in self.tags:
            if number > line:
                break
            marks = found
        return marks

    # ---- statements ----

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotation = statement.annotation.value if isinstance(statement.annotation, ast.Constant) else None
            if statement.value is None:
                self._placeholder(statement.target.id, annotation)
            else:
                self._assign(statement.target.id, annotation, statement.value, statement.lineno)
        elif isinstance(statement, ast.Assign):
            target = statement.targets[0]
            if _releases(statement):
                return
            if isinstance(target, ast.Tuple):
                for element in target.elts:  # the inputs, when their types were not printed
                    if isinstance(element, ast.Name) and element.id not in self.by_name:
                        self._placeholder(element.id, None)
            elif isinstance(target, ast.Name):
                self._assign(target.id, None, statement.value, statement.lineno)
        elif isinstance(statement, ast.Return) and statement.value is not None:
            self._output(statement.value)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._assign(f"_effect_{len(self.nodes)}", None, statement.value, statement.lineno)

    def _add(self, node: Document) -> None:
        if node["name"] in self.by_name:
            raise ConvertError(f"{node['name']} is defined twice")
        self.by_name[node["name"]] = node
        self.nodes.append(node)

    def _placeholder(self, name: str, annotation: Any) -> None:
        node: Document = {"name": name, "op": "placeholder", "target": name}
        self._value(node, annotation)
        if "tangents" in name:
            self.backward.add(name)
        self._add(node)

    def _assign(self, name: str, annotation: Any, value: ast.expr, line: int) -> None:
        node: Document = {"name": name, **self._call(value, line)}
        if node["op"] == "skip":
            return
        self._value(node, annotation)
        marks = self._marks_at(line)
        node.update(marks)
        if node["op"] == "call_function":
            if any(used in self.backward for used in _references(node)):
                self.backward.add(name)
                if _facts(node["target"]) & {"mutable"}:
                    node["partitioner_tag"] = "is_backward"
            if "val" not in node and not _facts(node["target"]) & {"returns=0"}:
                self.without_value += 1
        self._add(node)

    def _output(self, value: ast.expr) -> None:
        listed = value
        if isinstance(listed, ast.Call):  # pytree.tree_unflatten([…], spec)
            listed = listed.args[0]
        if not isinstance(listed, (ast.List, ast.Tuple)):
            listed = ast.List(elts=[listed])
        args = [self._argument(element) for element in _leaves(listed)]
        self._add({"name": "output", "op": "output", "target": "output",
                   "args": [arg if isinstance(arg, str) and arg.startswith("%") else None for arg in args]})

    # ---- expressions ----

    def _call(self, value: ast.expr, line: int) -> Document:
        if isinstance(value, ast.Call):
            target = _dotted(value.func)
            if target in ("fx_pytree.tree_flatten_spec", "tree_flatten_spec"):
                return {"op": "skip"}
            out: Document = {"op": "call_function", "target": _target(target)}
            args = [self._argument(arg) for arg in value.args]
            kwargs = {keyword.arg: self._argument(keyword.value) for keyword in value.keywords if keyword.arg}
            if args:
                out["args"] = args
            if kwargs:
                out["kwargs"] = kwargs
            return out
        if isinstance(value, ast.Subscript):
            return self._operator("getitem", value.value, value.slice)
        if isinstance(value, ast.BinOp):
            return self._operator("operator." + BINARY[type(value.op)], value.left, value.right)
        if isinstance(value, ast.Compare) and len(value.ops) == 1 and type(value.ops[0]) in COMPARED:
            return self._operator("operator." + COMPARED[type(value.ops[0])], value.left, value.comparators[0])
        if isinstance(value, ast.UnaryOp):
            return self._operator("operator." + UNARY[type(value.op)], value.operand)
        if isinstance(value, ast.Attribute):
            return {"op": "get_attr", "target": _dotted(value).removeprefix("self.")}
        raise ConvertError(f"line {line} of the graph: {self.lines[line - 1].strip()[:80]!r} is nothing a graph does")

    def _operator(self, target: str, *args: ast.expr) -> Document:
        return {"op": "call_function", "target": target, "args": [self._argument(arg) for arg in args]}

    def _argument(self, value: ast.expr) -> Any:
        if isinstance(value, ast.Name):
            if value.id in self.by_name:
                return "%" + value.id
            if value.id in self.released or INPUT.match(value.id):
                raise ConvertError(f"{value.id} is used and defined nowhere before, is the text complete?")
            return {"repr": value.id} if value.id not in ("inf", "nan") else {"float": value.id}
        if isinstance(value, ast.Constant):
            return _constant(value.value)
        if isinstance(value, (ast.List, ast.Tuple)):
            return [self._argument(element) for element in value.elts]
        if isinstance(value, ast.Dict):
            return {"dict": {str(ast.literal_eval(key)): self._argument(item)
                             for key, item in zip(value.keys, value.values, strict=True) if key is not None}}
        if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            inner = self._argument(value.operand)
            if isinstance(inner, (int, float)):
                return -inner
            if isinstance(inner, dict) and "float" in inner:
                return {"float": "-" + inner["float"]}
        if isinstance(value, ast.Call):
            return self._literal_call(value)
        if isinstance(value, ast.Attribute):
            return _literal_name(_dotted(value))
        return {"repr": ast.unparse(value)}

    def _literal_call(self, value: ast.Call) -> Any:
        name = _dotted(value.func)
        if name == "slice":
            return {"slice": [self._argument(arg) for arg in value.args]}
        if name == "float" and value.args:
            return {"float": str(ast.literal_eval(value.args[0]))}
        if name in ("device", "torch.device"):
            parts = [*value.args, *(keyword.value for keyword in value.keywords)]
            return {"device": ":".join(str(ast.literal_eval(part)) for part in parts)}
        return {"repr": ast.unparse(value)}

    # ---- values ----

    def _value(self, node: Document, annotation: Any) -> None:
        if not isinstance(annotation, str):
            return
        symbolic = re.match(r"^Sym\((.*)\)$", annotation)
        if symbolic:
            self._symbol(node, symbolic[1])
            return
        tensor = TENSOR.match(annotation)
        if tensor is None or tensor["dtype"] not in DTYPES:
            node["val"] = {"opaque": annotation}
            node["opaque"] = True
            return
        sizes = [_size(part) for part in _split(tensor["shape"])]
        value: Document = {"dtype": DTYPES[tensor["dtype"]], "shape": sizes}
        symbols = sorted(set(SYMBOL.findall(tensor["shape"] + "," + (tensor["stride"] or ""))))
        if any(isinstance(size, str) for size in sizes):
            value["hint"] = [self._number(size) for size in sizes]
        if symbols:
            value["symbols"] = symbols
        node["val"] = value

    def _symbol(self, node: Document, text: str) -> None:
        symbols = sorted(set(SYMBOL.findall(text)))
        if re.search(r"[<>=]|\b(?:Eq|Ne|And|Or|Not)\(", text):
            node["val"] = {"sym": "bool", "expr": text, "symbols": symbols}
            return
        is_float = bool(symbols) and all(symbol.startswith("z") for symbol in symbols)
        node["val"] = {"sym": "float" if is_float else "int", "expr": text, "symbols": symbols}
        if not is_float:
            node["val"]["hint"] = self._number(text)
        introduces = node["op"] == "placeholder" or text.startswith("u")
        if [text] == symbols and introduces and text not in self.bound:
            self.bound.add(text)
            node["binds"] = text

    def _number(self, text: str | int) -> int:
        if isinstance(text, int):
            return text
        try:
            return evaluate(text, self.hints)
        except (ValueError, ArithmeticError, SyntaxError, RecursionError):
            self.inferred.append(f"the size {text}: {UNKNOWN_SIZE}, it is an expression this program cannot work out")
            return UNKNOWN_SIZE

    def _tuples(self) -> None:
        """What an operator with several results returns is known through what is read of it."""
        for node in reversed(self.nodes):
            if node.get("target") != "getitem" or "val" not in node:
                continue
            source, index = node["args"]
            parent = self.by_name.get(source[1:]) if isinstance(source, str) else None
            if parent is None or not isinstance(parent.get("val", {"tuple": []}), dict):
                continue
            if isinstance(index, int) and 0 <= index < 10_000:
                items = parent.setdefault("val", {"tuple": []}).setdefault("tuple", [])
                items.extend([None] * (index + 1 - len(items)))
                items[index] = node["val"]
            elif isinstance(index, str):
                parent.setdefault("val", {"dict": {}}).setdefault("dict", {})[index] = node["val"]


def _releases(statement: ast.stmt) -> TypeGuard[ast.Assign]:
    """Whether a statement only says that names are not needed any more."""
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant) and statement.value.value is None


def _leaves(value: ast.List | ast.Tuple) -> Iterable[ast.expr]:
    for element in value.elts:
        if isinstance(element, (ast.List, ast.Tuple)):
            yield from _leaves(element)
        else:
            yield element


def _dotted(value: ast.expr) -> str:
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Attribute):
        return f"{_dotted(value.value)}.{value.attr}"
    return ast.unparse(value)


def _target(name: str) -> str:
    name = name.removeprefix("torch.ops.")
    return {"operator.getitem": "getitem"}.get(name.replace("_operator.", "operator."), name.replace("_operator.", "operator."))


def _constant(value: Any) -> Any:
    if isinstance(value, str):
        return "%" + value if value.startswith("%") else value
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    return {"repr": repr(value)}


def _literal_name(name: str) -> Document:
    short = name.removeprefix("torch.")
    if short in DTYPES.values():
        return {"dtype": short}
    if short in ("strided", "jagged") or short.startswith("sparse"):
        return {"layout": short}
    if short in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"):
        return {"memory_format": short}
    if short.startswith("ops."):
        return {"op": short.removeprefix("ops.")}
    return {"repr": name}


def _split(text: str) -> list[str]:
    """Parts between commas that are not inside brackets."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += letter in "(["
        depth -= letter in ")]"
        if letter == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _size(text: str) -> int | str:
    return int(text) if re.fullmatch(r"\d+", text) else text


# ---- sizes -------------------------------------------------------------------------

_FUNCTIONS: dict[str, Callable[..., int]] = {
    "Max": max, "Min": min, "max": max, "min": min, "FloorDiv": lambda a, b: a // b, "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b, "CeilDiv": lambda a, b: -(-a // b), "CleanDiv": lambda a, b: a // b,
    "ModularIndexing": lambda a, b, c: a // b % c, "ToFloat": lambda a: a, "floor": math.floor, "ceiling": math.ceil,
}


def evaluate(text: str, hints: Mapping[str, int]) -> int:
    """The value of a size expression with sizes for its symbols, unknown ones being what the partitioner assumes.

    Raises ValueError, ArithmeticError or SyntaxError for what it does not know.
    """
    return int(_evaluate(ast.parse(text, mode="eval").body, hints))


def _evaluate(value: ast.expr, hints: Mapping[str, int]) -> Any:
    if isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
        return value.value
    if isinstance(value, ast.Name):
        return hints.get(value.id, UNKNOWN_SIZE)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        return -_evaluate(value.operand, hints)
    if isinstance(value, ast.BinOp):
        left, right = _evaluate(value.left, hints), _evaluate(value.right, hints)
        if isinstance(value.op, ast.Add):
            return left + right
        if isinstance(value.op, ast.Sub):
            return left - right
        if isinstance(value.op, ast.Mult):
            return left * right
        if isinstance(value.op, ast.FloorDiv):
            return left // right
        if isinstance(value.op, ast.Div):
            return left / right
        if isinstance(value.op, ast.Mod):
            return left % right
        if isinstance(value.op, ast.Pow) and abs(right) <= 64 and abs(left) < 2**63:
            return left**right
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _FUNCTIONS:
        return _FUNCTIONS[value.func.id](*(_evaluate(arg, hints) for arg in value.args))
    raise ValueError(f"{ast.unparse(value)!r} is no size")


def _symbols_of(value: Any) -> list[str]:
    if not isinstance(value, dict):
        return []
    found = list(value.get("symbols", ()))
    for item in value.get("tuple", ()):
        found += _symbols_of(item)
    return found


# ---- cleaning ------------------------------------------------------------------------


def _table() -> Document:
    loaded: Document = json.loads(resources.files("rematd").joinpath("optable-2.13.json").read_text(encoding="utf-8"))
    return loaded


_OVERLOADS: dict[str, frozenset[str]] = {name: frozenset(facts) for name, facts in _table()["overloads"].items()}
_VIEWS = frozenset(name for name, classes in _table()["packets"].items() if "view" in classes)


def _facts(target: str) -> frozenset[str]:
    return _OVERLOADS.get(target, frozenset())


def _packet(target: str) -> str:
    return target.rsplit(".", 1)[0] if target.count(".") >= 2 else target


def _is_primal(target: str) -> bool:
    return not any(word in target for word in ("tangents", "bwd_seed", "bwd_base_offset", "fwd_seed", "fwd_base_offset"))


def _references(node: Mapping[str, Any]) -> list[str]:
    found: list[str] = []

    def walk(arg: Any) -> None:
        if isinstance(arg, str):
            if arg.startswith("%") and not arg.startswith("%%"):
                found.append(arg[1:])
        elif isinstance(arg, list):
            for item in arg:
                walk(item)
        elif isinstance(arg, dict):
            for item in arg.values():
                walk(item)

    walk(node.get("args"))
    walk(node.get("kwargs"))
    return found


def _clean(document: Document) -> None:
    """Dead code, then common subexpressions, then whose storage is whose."""
    nodes = _without_dead(document["nodes"])
    roots = _storages(nodes)
    outputs = {roots[used] for used in _references(nodes[-1])}
    kept: list[Document] = []
    renamed: dict[str, str] = {}
    seen: dict[str, tuple[str, str, int]] = {}  # by key: token, node, region
    region = 0
    for node in nodes:
        for part in ("args", "kwargs"):
            if part in node:
                node[part] = _rename(node[part], renamed)
        if "mutable" in _facts(node["target"]):
            region += 1
        mergeable = (node["op"] == "call_function" and _packet(node["target"]) not in RANDOM
                     and not (roots[node["name"]] in outputs and "dtype" in (node.get("val") or {})))
        if mergeable:
            # PyTorch keeps one node for each hash of the arguments, and Python's hash of -1 is that of -2: of two calls that
            # differ in no more, only the first is ever merged with.
            token = json.dumps([node.get("args"), node.get("kwargs")])
            key = json.dumps([node["target"], _hashed(node.get("args")), _hashed(node.get("kwargs"))])
            found = seen.get(key)
            if found is not None and found[0] == token and found[2] == region:
                renamed[node["name"]] = found[1]
                continue
            if found is None or found[0] == token:
                seen[key] = (token, node["name"], region)
        kept.append(node)
    for node in kept:
        root = renamed.get(roots[node["name"]], roots[node["name"]])
        if root != node["name"] and "dtype" in (node.get("val") or {}):
            node["alias_of"] = root
    document["nodes"] = kept


def _hashed(arg: Any) -> list[Any]:
    """The leaves of arguments as far as their hashes tell them apart."""
    if isinstance(arg, list):
        return [leaf for item in arg for leaf in _hashed(item)]
    if isinstance(arg, dict) and not arg.keys() & {"dtype", "device", "layout", "memory_format", "float", "repr", "op"}:
        return [leaf for item in arg.values() for leaf in _hashed(item)]
    return [-2] if type(arg) is int and arg == -1 else [arg]


def _rename(arg: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(arg, str):
        return "%" + renamed.get(arg[1:], arg[1:]) if arg.startswith("%") and not arg.startswith("%%") else arg
    if isinstance(arg, list):
        return [_rename(item, renamed) for item in arg]
    if isinstance(arg, dict):
        return {key: _rename(item, renamed) for key, item in arg.items()}
    return arg


def _without_dead(nodes: list[Document]) -> list[Document]:
    used: set[str] = set()
    alive = []
    for node in reversed(nodes):
        keep = node["op"] in ("placeholder", "output") or node["name"] in used or bool(
            node["op"] == "call_function" and _facts(node["target"]) & {"mutable", "impure"})
        if keep:
            alive.append(node)
            used.update(_references(node))
    return alive[::-1]


def _storages(nodes: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """For each node the first with the same storage, as far as names of operators tell."""
    roots: dict[str, str] = {}
    parts: dict[str, str] = {}  # of an operator that returns several views
    for node in nodes:
        name, target = node["name"], node["target"]
        used = _references(node)
        source = used[0] if used else None
        if node["op"] == "call_function" and source is not None:
            if target == "getitem" and source in parts:
                roots[name] = parts[source]
                continue
            is_view = "is_view" in _facts(target) or _packet(target) in _VIEWS
            if "mutable" in _facts(target) or (is_view and "dtype" in (node.get("val") or {})):
                roots[name] = roots[source]
                continue
            if is_view:
                parts[name] = roots[source]
        roots[name] = name
    return roots
