"""Compares a plan document with what PyTorch or the oracle says; returns texts of differences."""
import json

LISTS = ("saved", "saved_sym", "saved_opaque", "recomputed")
CLASSES = ("fw", "bw", "tangents_closure", "unclaimed")


def _diff(what, got, want):
    if got == want:
        return []
    note = f"{got!r} instead of {want!r}"
    if isinstance(got, list) and isinstance(want, list):
        extra = [x for x in got if x not in want]
        missing = [x for x in want if x not in got]
        note = f"extra {extra[:5]}, missing {missing[:5]}" if extra or missing else f"another order: {note}"
    elif isinstance(got, dict) and isinstance(want, dict):
        keys = [k for k in {**got, **want} if got.get(k) != want.get(k)]
        note = "; ".join(f"{k}: {got.get(k)!r} instead of {want.get(k)!r}" for k in keys[:5])
    return [f"{what}: {note}"[:600]]


def path_text(plan):
    """The path of an infinite flow that PyTorch prints, in its form: the first conflict, unless another one is said to be its own."""
    found = {d["code"]: d for d in reversed(plan.get("diagnostics", ()))}
    for d in (found.get("pytorch-path"), found.get("infinite-flow")):
        if d:
            steps = [f"{s['node']}_{s['side']}" for s in d["path"] if s["node"] is not None]
            return " -> ".join(["source"] + steps + ["sink"])
    return None


def conflict_nodes(plan):
    for d in plan.get("diagnostics", ()):
        if d["code"] in ("infinite-flow", "invalid-output"):
            return [s["node"] for s in d["path"] if s["node"] is not None]
    return None


def blamed_node(plan):
    for d in plan.get("diagnostics", ()):
        if d["code"] == "invalid-output":
            return d["node"]
    return None


def _cuts(got, want):
    out = _diff("number of cuts", len(got), len(want))
    for i, (a, b) in enumerate(zip(got, want)):
        out += _diff(f"cut {i} unbounded", bool(a.get("unbounded")), bool(b.get("unbounded")))
        for ours, theirs in (("value", "value"), ("vertices", "vertices"), ("edges", "edges"), ("nodes", "saved")):
            if theirs in b:
                out += _diff(f"cut {i} {ours}", a.get(ours), b[theirs])
    return out


def _error(plan, want):
    out = []
    for key in LISTS:
        if key in plan:
            out.append(f"{key} is present although there is no plan")
    if want["error"] == "infinite_flow" and want.get("reference_path"):
        path = want["reference_path"].split("min-cut path] ")[-1].strip()
        out += _diff("conflict path", path_text(plan), path)
    if want["error"] == "invalid_output" and want.get("error_text"):
        out += _diff("blamed node", blamed_node(plan), want["error_text"].split()[1])
    return out


def against_pytorch(answer, want):
    """`answer` (engine.Answer, explain full) against a `result` of the data's README."""
    if answer.kind == "problem":
        return [f"problem instead of an answer: {json.dumps(answer.doc)[:500]}"]
    plan = answer.doc
    out = _diff("outcome", plan["outcome"], want.get("error", "plan"))
    out += _diff("kind of answer", answer.kind, "no-plan" if "error" in want else "plan")
    if out:
        return out
    out = _error(plan, want) if "error" in want else []
    for key in LISTS:
        if key in want:
            out += _diff(key, plan.get(key), want[key])
    out += _cuts(plan.get("cuts", []), want["cuts"])
    if want["cuts"] and not want["cuts"][-1].get("unbounded"):
        out += _cuts([plan["cut"]] if "cut" in plan else [], want["cuts"][-1:])
    if want.get("banned") is not None:
        bans = [b["node"] for b in plan["bans"]]
        out += _diff("bans", sorted(bans), sorted(want["banned"]))
    if want.get("tags") is not None:
        out += _diff("tags", plan.get("tags"), want["tags"])
    for key in CLASSES:
        if want.get("node_info"):
            out += _diff("class " + key, plan["classes"].get(key), want["node_info"][key])
    return out
