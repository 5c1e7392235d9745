"""Makes a failing graph small: removes nodes and fields as long as it still fails.

  tests/diff/shrink.py SEED    shrinks the random graph of that seed against the oracle and prints it
"""
import copy
import json
import sys


def _without_refs(arg, gone):
    if isinstance(arg, str):
        return None if arg.startswith("%") and arg[1:] in gone else arg
    if isinstance(arg, list):
        return [_without_refs(x, gone) for x in arg]
    if isinstance(arg, dict):
        return {k: _without_refs(v, gone) for k, v in arg.items()}
    return arg


def without(document, gone):
    """The document without these nodes; a getitem goes with its source, other references become null."""
    gone = set(gone)
    for d in document["nodes"]:
        if d["target"] in ("getitem", "aten.copy_.default") and d["args"] and str(d["args"][0])[1:] in gone:
            gone.add(d["name"])
    primals = [d["name"] for d in document["nodes"] if d["op"] == "placeholder" and "seed" not in d["target"] and
               "base_offset" not in d["target"] and "tangents" not in d["target"]]
    static = {primals[i] for i in document.get("static_lifetime_inputs", ())}
    left = [p for p in primals if p not in gone]
    nodes = []
    for d in document["nodes"]:
        if d["name"] in gone and d["op"] != "output":
            continue
        d = copy.copy(d)
        if d.get("alias_of") in gone:
            del d["alias_of"]
        for key in ("args", "kwargs"):
            if key in d and key == "args":
                d[key] = [_without_refs(x, gone) for x in d[key]]
            elif key in d:
                d[key] = {k: _without_refs(v, gone) for k, v in d[key].items()}
        nodes.append(d)
    return {**document, "nodes": nodes, "static_lifetime_inputs": [i for i, p in enumerate(left) if p in static]}


def _nodes(document, fails):
    size = max(1, len(document["nodes"]) // 2)
    while size >= 1:
        i, changed = 0, False
        while i < len(document["nodes"]) - 1:
            names = [d["name"] for d in document["nodes"][i:i + size]]
            smaller = without(document, names)
            if len(smaller["nodes"]) < len(document["nodes"]) and fails(smaller):
                document, changed = smaller, True
            else:
                i += size
        size = size // 2 if not changed or size > 1 else 1
    return document


FIELDS = ("recompute", "ac_graph_id", "partitioner_tag", "has_backward_hook", "no_vc_check", "alias_of", "traits", "opaque", "binds",
          "mutated_args", "memory_budget", "kwargs")


def _fields(document, fails):
    for i in range(len(document["nodes"])):
        for field in FIELDS:
            if field in document["nodes"][i]:
                nodes = list(document["nodes"])
                nodes[i] = {k: v for k, v in nodes[i].items() if k != field}
                if fails({**document, "nodes": nodes}):
                    document = {**document, "nodes": nodes}
    return document


def _outputs(document, fails):
    """Nulls among the outputs one by one."""
    args = document["nodes"][-1]["args"]
    for i, arg in enumerate(args):
        if arg is not None:
            nodes = list(document["nodes"])
            nodes[-1] = {**nodes[-1], "args": args[:i] + [None] + args[i + 1:]}
            if fails({**document, "nodes": nodes}):
                document, args = {**document, "nodes": nodes}, nodes[-1]["args"]
    return document


def shrink(document, options, fails):
    """(document, options), smaller, for which fails(document, options) still holds."""
    safe = lambda d, o: _holds(fails, d, o)
    for _ in range(4):
        before = len(json.dumps(document))
        document = _nodes(document, lambda d: safe(d, options))
        document = _outputs(document, lambda d: safe(d, options))
        document = _fields(document, lambda d: safe(d, options))
        for key in sorted(options):
            fewer = {k: v for k, v in options.items() if k != key}
            if safe(document, fewer):
                options = fewer
        if len(json.dumps(document)) == before:
            break
    return document, options


def _holds(fails, document, options):
    try:
        return bool(fails(document, options))
    except (KeyError, IndexError, AttributeError, TypeError, AssertionError):
        return False  # no longer a graph the oracle reads


def main(argv):
    import engine
    import generate
    import reference
    generate.use_table(reference.TABLE)
    document, options = generate.graph(int(argv[0]))
    with engine.Planner() as planner:
        fails = lambda d, o: reference.differences(planner.ask(d, o), reference.expected(d, o))
        first = fails(document, options)
        if not first:
            print("no difference")
            return 0
        print("\n".join(first), file=sys.stderr)
        document, options = shrink(document, options, fails)
        print("\n".join(fails(document, options)), file=sys.stderr)
    print(json.dumps({"graph": document, "options": options}, indent=1))
    return 1


if __name__ == "__main__":
    import reference  # noqa: F401  (sets the search path)
    sys.exit(main(sys.argv[1:]))
