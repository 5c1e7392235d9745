"""The oracle's answer in the shape that compare.py reads, and the comparison of one random request."""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "oracle"), os.path.join(os.path.dirname(HERE), "support")]

import compare  # noqa: E402
import oracle  # noqa: E402

with open(os.path.join(os.path.dirname(HERE), "oracle", "optable.json"), encoding="utf-8") as f:
    TABLE = json.load(f)

SIZE_ERRORS = ("no_val", "unsized_val")
# What the oracle's reasons are called in remat.h. Bans of 5.4 and 5.5 have no reason there.
NAMES = {
    "primal input": "PRIMAL", "forward RNG seed": "FORWARD_SEED", "marked MUST_SAVE": "MUST_SAVE",
    "may not be computed twice": "NO_RECOMPUTE", "not in recomputable allowlist": "NOT_ALLOWED", "random op": "RANDOM",
    "compute intensive op": "COMPUTE", "non-builtin op": "NON_BUILTIN", "materialized in backward": "MATERIALISED",
    "too far from backward": "TOO_FAR", "reduction op": "REDUCTION",
}


def _texts():
    """{enumerator: text} of REMAT_BAN_MAP."""
    with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), "core", "include", "remat.h"), encoding="utf-8") as f:
        block = re.search(r"#define REMAT_BAN_MAP.*?\nenum", f.read().replace("\\\n", "\n"), re.S).group(0)
    found = re.findall(r'X\(REMAT_BAN_(\w+),\s*((?:"[^"]*"\s*)+),', block)
    return {name: "".join(re.findall(r'"([^"]*)"', text)) for name, text in found}


TEXTS = _texts()
REASONS = {theirs: TEXTS[name] for theirs, name in NAMES.items()}


def expected(document, options):
    """A `result` as in tests/data/README.md, plus bans with reasons, distances and the plan of size errors; None where PyTorch
    itself fails: its greedy knapsack divides by the memory of an item, which may be 0."""
    try:
        got = oracle.plan(document, TABLE, options)
    except ZeroDivisionError:
        return None
    want = {"cuts": [], "tags": got.get("tags"), "node_info": got.get("node_info"), "dist": got.get("dist")}
    for key in ("error", "error_text") + compare.LISTS:
        if key in got:
            want[key] = got[key]
    for cut in got["cuts"]:
        if "knapsack" in cut:
            continue
        want["cuts"].append({k: cut[k] for k in ("value", "vertices", "edges", "saved", "unbounded") if k in cut})
    if got["cuts"] and "banned" in got["cuts"][-1]:
        want["bans"] = [(n.name, why) for n, why in got["cuts"][-1]["banned"].items()]
        want["banned"] = [name for name, _ in want["bans"]]
    if got.get("path"):
        want["reference_path"] = " -> ".join(["source"] + [step[1] for step in got["path"]])
    return want


def _size_error(answer, want):
    if answer.kind != "problem" or answer.doc.get("code") != "size-unknown":
        return [f"no size-unknown for {want['error_text']}: {json.dumps(answer.doc)[:400]}"]
    name = want["error_text"].split("node ")[1].split(" ")[0].rstrip(":")
    if name not in json.dumps(answer.doc):
        return [f"size-unknown does not name {name}: {json.dumps(answer.doc)[:400]}"]
    return []


def _bans(plan, want):
    out, got = [], [(b["node"], b["reason"]) for b in plan.get("bans", [])]
    if [n for n, _ in got] != want["banned"]:
        out.append(f"order of bans: {[n for n, _ in got]} instead of {want['banned']}"[:500])
    for (name, ours), (_, theirs) in zip(got, want["bans"]):
        if theirs and REASONS[theirs] != ours:
            out.append(f"reason to ban {name}: {ours!r} instead of {theirs!r}")
        if not theirs and ours in REASONS.values():
            out.append(f"reason to ban {name}: {ours!r} instead of one of the late rules")
    return out


def differences(answer, want):
    if want is None:
        return [] if answer.kind != "problem" else [f"problem: {json.dumps(answer.doc)[:400]}"]
    if want.get("error") in SIZE_ERRORS:
        return _size_error(answer, want)
    out = compare.against_pytorch(answer, want)
    if not out and "bans" in want:
        out += _bans(answer.doc, want)
    if not out and want.get("dist") and "dist" in answer.doc:
        got = answer.doc["dist"]
        wrong = [(n, got.get(n), d) for n, d in want["dist"].items() if got.get(n) != d]
        out += [f"distances (node, got, want): {wrong[:5]}"] if wrong else []
    return out
