"""Seeds of the fuzz targets: every case of tests/data/cases, as JSON and as a program (tests/support/fuzz_program.h); traces."""
import gzip
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "support")]

import data  # noqa: E402

# The order of fuzz_program.c.
TARGETS = ["primals_1", "tangents_1", "fwd_seed_0", "bwd_seed_0", "getitem", "aten.add.Tensor", "aten.mul.Tensor", "aten.mm.default",
           "aten.view.default", "aten.reshape.default", "aten.cat.default", "aten.sum.dim_IntList", "aten.rand_like.default",
           "aten.full.default", "aten.copy_.default", "aten.lift_fresh_copy.default", "higher_order.with_effects",
           "higher_order.auto_functionalized", "higher_order.triton_kernel_wrapper_functional",
           "_c10d_functional.all_gather_into_tensor.default", "_c10d_functional.wait_tensor.default", "aten._assert_scalar.default",
           "aten.sym_size.int", "mylib.op.default", "mylib.op.out", "mylib", ""]
OPS = ["placeholder", "get_attr", "call_function", "output"]
KINDS = {"tensor": 2, "int": 3, "float": 4, "bool": 5, "tuple": 6, "dict": 7, "const": 8, "opaque": 9}
POLICIES = ["", "must_save", "prefer_save", "prefer_recompute", "must_recompute", "must_cpu_offload", "prefer_cpu_offload"]
PLACEMENTS = ["", "is_forward", "is_backward", "must_be_in_forward", "must_be_in_backward"]
TRAITS = ["mutable", "seeded", "impure", "effects", "no_returns", "custom", "view", "random", "compute_intensive", "recomputable",
          "fusible", "no_recompute"]
PLAIN_BITS = 1 << 12  # behind the twelve switches
BUDGET_BITS = 1 << 14


def references(arg, at):
    if isinstance(arg, str):
        return [at[arg[1:]]] if arg.startswith("%") and arg[1:] in at else []
    if isinstance(arg, list):
        return [x for item in arg for x in references(item, at)]
    if isinstance(arg, dict):
        return [x for item in arg.values() for x in references(item, at)]
    return []


def numel(value):
    n = 1
    for size in value.get("hint", value["shape"]):
        n *= size
    return n


def value_bytes(value):
    """(kind byte, size) of a value."""
    if not isinstance(value, dict):
        return 0, 0
    if "dtype" in value:
        return KINDS["tensor"], numel(value)
    if "sym" in value:
        return KINDS[value["sym"]], 0
    for key in ("tuple", "dict"):
        if key in value:
            members = value[key] if key == "tuple" else list(value[key].values())
            return KINDS[key], sum(numel(m) for m in members if isinstance(m, dict) and "dtype" in m)
    return KINDS["opaque" if "opaque" in value else "const"], 0


def record(node, at):
    target = node["target"]
    if node["op"] == "placeholder":
        target = "tangents_1" if "tangents" in target else "primals_1"
    number = TARGETS.index(target) if target in TARGETS else TARGETS.index("mylib.op.default")
    kind, size = value_bytes(node.get("val"))
    shift = max(0, size.bit_length() - 8)
    inputs = references(node.get("args", []) + list(node.get("kwargs", {}).values()), at)[:3]
    traits = sum(1 << TRAITS.index(t) for t in node.get("traits", []) if t in TRAITS)
    flags = (2 if node.get("has_backward_hook") else 0) | (4 if node.get("no_vc_check") else 0)
    if traits > 255:
        traits, flags = traits >> 4, flags | 1
    policy = POLICIES.index(node.get("recompute", "")) | PLACEMENTS.index(node.get("partitioner_tag", "")) << 4
    region = min(node.get("ac_graph_id", -1) + 1, 7)
    refs = (inputs + [0, 0, 0])[:3]
    return bytes([OPS.index(node["op"]), number, kind, size >> shift, shift, policy | (0x80 if node.get("opaque") else 0),
                  traits & 255, region, len(inputs)] + refs + [flags])


def program(document, bits):
    nodes = document["nodes"][:-1]
    at = {d["name"]: i for i, d in enumerate(nodes)}
    outputs = bytes(255 if a is None else at[a[1:]] for a in document["nodes"][-1]["args"])
    static = sum(1 << i for i in document.get("static_lifetime_inputs", []) if i < 8)
    head = bytes([bits & 255, bits >> 8, document["num_fwd_outputs"], static, len(outputs)])
    return head + outputs + b"".join(record(d, at) for d in nodes)


def write_codec(folder):
    """Compressed bodies; the first byte says which coding and in which pieces."""
    os.makedirs(folder, exist_ok=True)
    raw, run = 0, 1  # kinds of zstd blocks

    def block(kind, size, content, last):
        return (size << 3 | kind << 1 | last).to_bytes(3, "little") + content

    frame = b"\x28\xb5\x2f\xfd\x00\x58"
    text = b'{"schema": "remat/graph/v1", "nodes": []}' * 20
    bodies = {
        "gzip": b"\x10" + gzip.compress(text, mtime=0), "members": b"\x20" + gzip.compress(b"{", mtime=0) * 3,
        "stored": b"\x40" + gzip.compress(text, 0, mtime=0), "bomb": b"\xfe" + gzip.compress(bytes(4 << 20), mtime=0),
        "zstd": b"\x11" + frame + block(raw, len(text), text, 1), "runs": b"\x21" + frame + block(run, 9000, b"x", 0) * 9 + block(raw, 0, b"", 1),
        "skipped": b"\x41\x50\x2a\x4d\x18\x03\0\0\0abc" + frame + block(raw, 3, b"abc", 1),
        "window": b"\xff" + frame[:5] + b"\x70" + block(raw, 3, b"abc", 1)}
    for name, content in bodies.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)


def write_traces(folder):
    """PyTorch's artifact, whole but small: what is left of a sample when most of its nodes are taken out, and each part alone."""
    whole = json.loads(data.trace_text("llama_sac"))
    names = set(whole["Recomputable Banned Nodes Order"][:4]) | set(list(whole["Joint Graph Node Information"])[:6])
    whole["Joint Graph Node Information"] = {k: v for k, v in whole["Joint Graph Node Information"].items() if k in names}
    whole["Joint Graph Edges"]["Edges"] = whole["Joint Graph Edges"]["Edges"][:8]
    whole["Min Cut Solution Saved Values"] = whole["Min Cut Solution Saved Values"][:5]
    for key, value in {"": whole, **{key: {key: value} for key, value in whole.items()}}.items():
        with open(os.path.join(folder, "trace" + "".join(c for c in key if c.isalpha())), "w", encoding="utf-8") as f:
            json.dump(value or whole, f, separators=(",", ":"))


def write(folder):
    """Seeds for every target below `folder`: codec, decode, graph, solve."""
    write_codec(os.path.join(folder, "codec"))
    for name in ("decode", "graph", "solve"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    write_traces(os.path.join(folder, "decode"))
    for name in data.case_names():
        text = data.case_graph_text(name)
        document, options = json.loads(text), data.case_expected(name).get("options", {})
        small = json.dumps(document, separators=(",", ":"))
        request = json.dumps({"graph": document, "options": options}, separators=(",", ":"))
        for suffix, content in (("", small.encode()), (".request", request.encode())):
            with open(os.path.join(folder, "decode", name + suffix), "wb") as f:
                f.write(content)
        for bits in (0, PLAIN_BITS, BUDGET_BITS):
            for target in ("graph", "solve"):
                with open(os.path.join(folder, target, f"{name}.{bits:x}"), "wb") as f:
                    f.write(program(document, bits))


if __name__ == "__main__":
    write(sys.argv[1])
