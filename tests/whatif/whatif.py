"""Nodes explained, changes tried, plans compared: the engine behind whatif_lines, and plain sets to compare with."""
import copy
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), part) for part in ("support", "diff")]

import engine     # noqa: E402
import generate   # noqa: E402
import reference  # noqa: E402

generate.use_table(reference.TABLE)


class Asker(engine.LineProgram):
    """One whatif_lines process."""

    def __init__(self):
        super().__init__("tests/whatif/whatif_lines", 120)

    def ask(self, call, body, **more):
        """The answer with its body decoded, as "doc", or the problem."""
        answer = self.ask_line(json.dumps({"call": call, "body": body, **more}))
        if "body" in answer and "format" not in more:
            answer["doc"] = json.loads(answer["body"])
        return answer


def request(graph, options=None, passes=None):
    body = {"graph": graph, "options": options or {}}
    return {**body, "passes": passes} if passes is not None else body


def set_tags(tags):
    return {"pass": "set_tags", "tags": tags}


def changed(body, change):
    """The plain request that a change of this one asks for."""
    passes = body.get("passes", []) + ([set_tags(change["tags"])] if "tags" in change else [])
    return {**body, "options": {**body.get("options", {}), **change.get("options", {})}, "passes": passes}


def tagged(graph, name, policy):
    """The document with another tag on a node, its region as it is."""
    graph = copy.deepcopy(graph)
    for d in graph["nodes"]:
        if d["name"] == name:
            d["recompute"] = policy
    return graph


def places(plan):
    """By name: saved or recomputed."""
    found = {n: "recomputed" for n in plan["recomputed"]}
    return {**found, **{n: "saved" for key in ("saved", "saved_sym", "saved_opaque") for n in plan[key]}}


def saved(plan):
    return {n for key in ("saved", "saved_sym", "saved_opaque") for n in plan[key]}


def numbers(plan):
    memory = plan["memory"]
    return {"bytes": memory["saved_bytes"], "flops": plan["cost"]["recomputed_flops"],
            "peak": max(memory["peak_forward_bytes"], memory["peak_backward_bytes"])}


def difference(before, after):
    """What a diff of two plan documents must say, but for the reasons."""
    was, now = places(before), places(after)
    again = set(before["recomputed"]), set(after["recomputed"])
    one, two = numbers(before), numbers(after)
    return {
        "saved_added": saved(after) - saved(before), "saved_removed": saved(before) - saved(after),
        "recomputed_added": again[1] - again[0], "recomputed_removed": again[0] - again[1],
        **{key: two[key] - one[key] for key in one},
        "moves": {(n, was.get(n, "none"), now.get(n, "none")) for n in was.keys() | now.keys() if was.get(n) != now.get(n)},
    }


def as_sets(diff):
    """A diff document, as difference has it."""
    lists = {key: set(diff[key]) for key in ("saved_added", "saved_removed", "recomputed_added", "recomputed_removed")}
    return {**lists, **{key: diff[key] for key in ("bytes", "flops", "peak")},
            "moves": {(m["node"], m["from"], m["to"]) for m in diff["moves"]}}


# ---- reasons ----------------------------------------------------------------

def references(value):
    if isinstance(value, str):
        if value.startswith("%") and not value.startswith("%%"):
            yield value[1:]
    elif isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from references(item)


def inputs_of(graph):
    return {d["name"]: set(references(d.get("args", []))) | set(references(d.get("kwargs", {}))) for d in graph["nodes"]}


class Reasons:
    """Whether what a move says is so, from two plans with explain "full"; both of the same graph."""

    def __init__(self, graph, before, after):
        self.inputs, self.plans = inputs_of(graph), (before, after)
        self.again = [set(p["recomputed"]) for p in self.plans]
        self.saved = [saved(p) for p in self.plans]
        output = graph["nodes"][-1]
        self.output = {output["name"]}
        self.returned = set(references(output["args"][graph["num_fwd_outputs"]:]))
        self.runs = [self.backward(p, kept, self.returned) for p, kept in zip(self.plans, self.saved)]
        self.bans = [{b["node"]: b["reason"] for b in p.get("bans", [])} for p in self.plans]

    def backward(self, plan, kept, returned):
        """All that the backward computes: from what it returns and what is its own back to what is saved."""
        found, stack = set(), [*returned, *(set(plan["classes"]["bw"]) - self.output), *plan["recomputed"]]
        while stack:
            n = stack.pop()
            if n not in found and n not in kept:
                found.add(n)
                stack += self.inputs[n]
        return found

    def above(self, which, name):
        """Saved values that the backward computes it from."""
        found, seen, stack = set(), set(), list(self.inputs[name])
        while stack:
            n = stack.pop()
            if n in seen:
                continue
            seen.add(n)
            if n in self.saved[which]:
                found.add(n)
            elif n in self.runs[which]:
                stack += self.inputs[n]
        return found

    def leads_to(self, which, name, end):
        """Whether the backward computes `end` from `name`, over values that it computes."""
        seen, stack = set(), [end]
        while stack:
            n = stack.pop()
            if n in seen or n not in self.runs[which]:
                continue
            seen.add(n)
            if name in self.inputs[n]:
                return True
            stack += self.inputs[n]
        return False

    def tag(self, which, name):
        return self.plans[which].get("tags", {}).get(name)

    def is_live(self, which, name):
        return any(name in part for part in self.plans[which]["classes"].values())

    def weight(self, which, name):
        return self.plans[which].get("weights", {}).get(name)

    def is_so(self, move):
        name, why = move["node"], move["why"]
        again, kept, runs = self.again, self.saved, self.runs
        for pattern, test in (
                (r"it (?:is tagged (\w+)|has no tag) now, before it (?:was tagged (\w+)|had none)",
                 lambda m: [self.tag(1, name), self.tag(0, name)] == list(m.groups()) and m[1] != m[2]),
                (r"may not be computed again now, as it (.+)", lambda m: self.bans[1].get(name) == m[1] and name not in self.bans[0]),
                (r"may be computed again now; before it might not, as it (.+)",
                 lambda m: self.bans[0].get(name) == m[1] and name not in self.bans[1]),
                (r"its weight is (\d+) now, before it was (\d+)",
                 lambda m: [self.weight(1, name), self.weight(0, name)] == [int(m[1]), int(m[2])] and m[1] != m[2]),
                (r"saved instead of (.+), from which the backward computed it",
                 lambda m: name in runs[0] and name in kept[1] and m[1] not in kept[1] and m[1] in self.above(0, name)),
                (r"saved instead of (.+), which the backward computes from it now",
                 lambda m: name in kept[1] and m[1] in kept[0] and self.leads_to(1, name, m[1])),
                (r"the backward computes (.+) now, which reads it", lambda m: m[1] in runs[1] - runs[0] and name in self.inputs[m[1]]),
                (r"computed again from (.+), which is saved now",
                 lambda m: name in again[1] and m[1] not in kept[0] and m[1] in self.above(1, name)),
                (r"computed again from what both plans save", lambda m: name in again[1] and self.above(1, name) <= kept[0]),
                (r"not needed any more: (.+), which the backward computed from it, is saved now",
                 lambda m: m[1] in kept[1] and name not in runs[1] and self.leads_to(0, name, m[1])),
                (r"not needed any more: the backward does not compute (.+), which read it",
                 lambda m: m[1] in runs[0] - runs[1] and name not in runs[1] and name in self.inputs[m[1]]),
                (r"the backward alone computes it now", lambda m: name in runs[1] - again[1] - kept[1]),
                (r"nothing in the backward needs it any more",
                 lambda m: name not in runs[1] | kept[1] and not any(name in self.inputs[n] for n in runs[1])),
                (r"both halves compute it now", lambda m: name in again[1] - again[0]),
                (r"the cheapest values to save lie elsewhere now; its own tag and weight are the same",
                 lambda m: self.tag(0, name) == self.tag(1, name) and self.weight(0, name) == self.weight(1, name)),
                (r"the cheapest values to save lie elsewhere now",
                 lambda m: self.weight(0, name) != self.weight(1, name)),
                (r"it is dead code now", lambda m: not self.is_live(1, name)),
                (r"it is no dead code any more", lambda m: not self.is_live(0, name))):
            m = re.fullmatch(pattern, why)
            if m:
                return test(m), pattern
        return False, "unknown"
