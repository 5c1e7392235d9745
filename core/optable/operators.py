"""Prints operators-VERSION.inc: the name of every operator overload that a PyTorch release has, in the namespaces it owns.

Run it with that release installed: python3 core/optable/operators.py >core/optable/operators-2.13.inc
"""
import collections

import torch
import torch._prims  # registers prims
import torch._inductor.inductor_prims  # the rest of prims
import torch.distributed._functional_collectives  # noqa: F401  registers what is left of the collectives

NAMESPACES = ("_c10d_functional", "_c10d_functional_autograd", "aten", "c10d", "c10d_functional", "prims")
HEAD = """/*
 * The operators of PyTorch %s, every overload, in the namespaces that are its own. Made by operators.py.
 *
 * NAME("operator overload overload ...")
 *
 * Sorted by operator, then by overload (byte order): lookups are binary searches, and a test holds the order.
 */"""


def overloads():
    """{operator: overloads}, both as graphs write them."""
    found = collections.defaultdict(set)
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace in NAMESPACES:
            found[f"{namespace}.{name}"].add(schema.overload_name or "default")
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        if namespace in NAMESPACES:
            operator, _, overload = rest.partition(".")
            found[f"{namespace}.{operator}"].add(overload or "default")
    return found


def main():
    print(HEAD % torch.__version__.split("+")[0])
    for operator, names in sorted(overloads().items()):
        print(f'NAME("{" ".join([operator, *sorted(names)])}")')


if __name__ == "__main__":
    main()
