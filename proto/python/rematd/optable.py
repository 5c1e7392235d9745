"""Makes the operator table of the installed PyTorch, and says what differs from another one.

    python -m rematd.optable                          what changed against the table in this package
    python -m rematd.optable --against old.json       against another
    python -m rematd.optable --json new.json          write it as data
    python -m rematd.optable --inc pytorch-X.Y.inc    write it as the service's source (core/optable/)

Needs PyTorch. Exit status: 0 when nothing differs, 1 when something does, 2 for a mistake in the arguments.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Iterable
from typing import Any

#: Namespaces whose operators are listed completely; of others only what dead-code elimination must keep.
COMPLETE = ("aten", "prims", "_c10d_functional")
OUT_OVERLOAD = re.compile(r"\.(out|out_\w*|\w*_out)$")  # all mutable: the service knows that by their names
LETTERS = {"recomputable": "R", "fusible": "F", "view": "V", "compute_intensive": "C", "random": "X", "pointwise": "P",
           "flops": "N", "mutable": "M", "seeded": "S", "impure": "I", "is_view": "A", "returns=0": "Z"}
#: In the order in which the source file lists them.
PACKET_ORDER = ("view", "compute_intensive", "random", "recomputable", "fusible", "pointwise", "flops")
OVERLOAD_ORDER = ("mutable", "seeded", "impure", "is_view", "returns=0")

Table = dict[str, Any]


def _all_operators() -> Iterable[Any]:
    """Every overload, TorchScript's included, of the dispatcher's operators in the complete namespaces."""
    import torch

    names = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    for name in sorted(names):
        library, _, base = name.partition("::")
        if library not in COMPLETE:
            continue
        packet = None
        with contextlib.suppress(AttributeError, RuntimeError):
            packet = getattr(getattr(torch.ops, library), base)
        for overload in packet.overloads() if isinstance(packet, torch._ops.OpOverloadPacket) else ():
            with contextlib.suppress(AttributeError, RuntimeError):
                yield getattr(packet, overload)


def _facts(overload: Any) -> list[str]:
    from torch.fx.node import _side_effectful_functions

    from rematd.operators import schema_facts

    words = schema_facts(overload) & {"mutable", "seeded", "impure"}
    if overload in _side_effectful_functions:
        words.add("impure")
    if overload.is_view:
        words.add("is_view")
    n = len(overload._schema.returns)
    if n != 1:
        words.add(f"returns={n}")
    return sorted(words)


def _packets() -> dict[str, list[str]]:
    from torch._functorch.partitioners import pointwise_ops
    from torch._ops import OpOverloadPacket
    from torch.utils.flop_counter import flop_registry

    from rematd.operators import live_classes, target_name

    found: dict[str, set[str]] = {}
    for target, classes in live_classes().items():
        found.setdefault(target_name(target), set()).update(classes)
    for target in pointwise_ops():
        found.setdefault(target_name(target), set()).add("pointwise")
    for target in flop_registry:
        if isinstance(target, OpOverloadPacket):
            found.setdefault(target_name(target), set()).add("flops")
    return {name: sorted(found[name]) for name in sorted(found)}


def make_table() -> Table:
    """The table of the installed PyTorch: ``torch``, ``packets``, ``overloads``, ``dtypes`` (bytes of one element)."""
    import torch
    import torch._inductor.lowering  # registers what compiled programs have registered
    import torch.distributed._functional_collectives
    from torch.fx.node import _side_effectful_functions

    from rematd.operators import target_name

    overloads = {target_name(o): _facts(o) for o in _all_operators()}
    for target in _side_effectful_functions:
        if isinstance(target, torch._ops.OpOverload):
            name = target_name(target)
            overloads.setdefault(name, ["impure"])
        elif not isinstance(target, torch._ops.OpOverloadPacket):
            overloads[target_name(target)] = ["impure"]
    dtypes = {str(d)[6:]: d.itemsize for d in vars(torch).values() if isinstance(d, torch.dtype)}
    return {
        "torch": torch.__version__.partition("+")[0],
        "packets": _packets(),
        "overloads": {name: facts for name, facts in sorted(overloads.items())
                      if facts and not (name.count(".") >= 2 and OUT_OVERLOAD.search(name))},
        "dtypes": dict(sorted(dtypes.items())),
    }


def compare(old: Table, new: Table) -> list[str]:
    """What changed from one table to the next, a line each, sorted; empty when they say the same."""
    lines = []
    for part in ("packets", "overloads", "dtypes"):
        before, after = old[part], new[part]
        for name in sorted(set(before) | set(after)):
            was, now = before.get(name), after.get(name)
            if part != "dtypes":
                was, now = (sorted(x) if x is not None else None for x in (was, now))
            if was == now:
                continue
            if was is None:
                lines.append(f"{part}: {name} is new: {now}")
            elif now is None:
                lines.append(f"{part}: {name} is gone, was: {was}")
            else:
                lines.append(f"{part}: {name} was {was}, is {now}")
    return lines


def _row(kind: str, name: str, words: Iterable[str], order: tuple[str, ...]) -> str | None:
    letters = [LETTERS[word] for word in order if word in set(words)]
    return f'{kind}("{name}", {" | ".join(letters)})' if letters else None


def as_source(table: Table) -> str:
    """The rows of a table as core/optable/*.inc holds them, without the comment at the top."""
    rows = [f'RELEASE("{table["torch"]}")']
    rows += [f'DTYPE("{name}", {size})' for name, size in sorted(table["dtypes"].items())]
    listed = [_row("PACKET", name, words, PACKET_ORDER) for name, words in sorted(table["packets"].items())]
    listed += [_row("OVERLOAD", name, words, OVERLOAD_ORDER) for name, words in sorted(table["overloads"].items())]
    return "\n".join(rows + [row for row in listed if row]) + "\n"


def main(argv: list[str] | None = None) -> int:
    """The command line of this module; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rematd.optable", description=__doc__.partition("\n")[0])
    parser.add_argument("--against", metavar="FILE", help="the table to compare with (JSON)")
    parser.add_argument("--json", metavar="FILE", help="write the new table here")
    parser.add_argument("--inc", metavar="FILE", help="write the new table here, as rows of C source")
    args = parser.parse_args(argv)

    from rematd.operators import table as packaged

    old = packaged()
    if args.against:
        with open(args.against, encoding="utf-8") as file:
            old = json.load(file)
    new = make_table()
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(new, file, separators=(",", ":"))
            file.write("\n")
    if args.inc:
        with open(args.inc, "w", encoding="utf-8") as file:
            file.write(as_source(new))
    lines = compare(old, new)
    print(f"PyTorch {new['torch']} against {old['torch']}: {len(lines)} differences")
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
