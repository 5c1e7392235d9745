"""Small graphs under a memory budget without `compat`, decided by trying everything: every set of saved values for each cut, every
selection for the knapsack. A reading of the rules of its own, which shares nothing with the solver or the oracle.

Left out, as `document` makes none: regions, placement tags, collectives, effects, mutation, chains longer than a hundred operators;
`ban_recompute_used_far_apart` is off.
"""
import itertools
import json
import math
import os
import random
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "diff"))

import brute  # noqa: E402

INF, FAR = float("inf"), 10**9
BYTES = {"uint8": 1, "float32": 4}
ATTENTION = "aten._scaled_dot_product_flash_attention_for_cpu.default"
KINDS = ["aten.add.Tensor", "aten.relu.default", "aten.mul.Tensor", "aten.view.default", "aten.mm.default", "aten.mm.default",
         "aten.sum.dim_IntList", "aten.cat.default", "aten.bernoulli.p", "aten.rand_like.default", "aten.var_mean.correction",
         "aten.native_dropout.default", ATTENTION, "aten.embedding.default", "mylib.op.default", "mylib.noise.default"]
TUPLES = {"aten.var_mean.correction", "aten.native_dropout.default", ATTENTION}

with open(os.path.join(TESTS, "oracle", "optable.json"), encoding="utf-8") as f:
    TABLE = json.load(f)


def tensor(r):
    return {"dtype": r.choice(sorted(BYTES)), "shape": [r.choice([0, 1, 2, 3, 5, 8, 13, 21, 40])]}


def forward(r, nodes, i):
    names = [d["name"] for d in nodes if "dtype" in d["val"] and d["name"] != "t"]
    target = r.choice(KINDS)
    reads = ["%" + r.choice(names[-4:]) for _ in range(1 if target == "aten.view.default" else r.randint(1, 3))]
    d = {"name": f"f{i}", "op": "call_function", "target": target, "args": reads, "val": tensor(r), "runtime": r.randint(1, 10**6)}
    if target in TUPLES:
        d["val"] = {"tuple": [tensor(r), tensor(r)]}
    if target == ATTENTION:
        d["args"] = reads[:1] * 3 + [r.choice([0.0, 0.1])]
    if target == "aten.cat.default":
        d["args"] = [reads]
    if target == "mylib.noise.default":
        d["traits"] = [r.choice(["seeded", "random", "no_recompute"])]
    if target == "aten.view.default" and r.random() < 0.5:
        source = next(n for n in nodes if n["name"] == reads[0][1:])
        d["alias_of"] = source.get("alias_of", source["name"])
    if r.random() < 0.2:
        d["recompute"] = r.choice(["must_save", "must_save", "prefer_recompute", "must_recompute", "prefer_save"])
    parts = [{"name": f"{d['name']}_{k}", "op": "call_function", "target": "getitem", "args": ["%" + d["name"], k], "val": part}
             for k, part in enumerate(d["val"].get("tuple", ())) if k == 0 or r.random() < 0.3]
    for part in parts:
        if r.random() < 0.15:
            part["recompute"] = r.choice(["prefer_recompute", "must_recompute", "must_save"])
    return [d] + parts


def document(seed):
    """(document, options): at most nine values of the forward, and a backward that reads some."""
    r = random.Random(f"budget {seed}")
    nodes = [{"name": f"p{i}", "op": "placeholder", "target": f"primals_{i + 1}", "val": tensor(r)} for i in range(r.randint(1, 2))]
    n_primals = len(nodes)
    if r.random() < 0.1:
        nodes.append({"name": "ps", "op": "placeholder", "target": "primals_9", "val": {"sym": "int", "hint": 4, "expr": "s0"}})
    nodes.append({"name": "t", "op": "placeholder", "target": "tangents_1", "val": {"dtype": "uint8", "shape": [1]}})
    for i in range(r.randint(3, 7)):
        nodes += forward(r, nodes, i)
    values = [d["name"] for d in nodes if d["name"][0] == "f" and "dtype" in d["val"]]
    last = "t"
    for i in range(r.randint(1, 4)):
        reads = ["%" + last] + ["%" + v for v in r.sample(values, min(len(values), r.randint(1, 3)))]
        nodes.append({"name": f"b{i}", "op": "call_function", "target": r.choice(["aten.mul.Tensor", "mylib.grad.default"]),
                      "args": reads, "val": tensor(r)})
        last = f"b{i}"
    outputs = ["%" + values[-1]] + (["%" + r.choice(values)] if r.random() < 0.3 else [])
    nodes.append({"name": "output", "op": "output", "target": "output", "args": outputs + ["%" + last]})
    static = [0] if n_primals > 1 and r.random() < 0.3 else []
    options = {"activation_memory_budget": r.choice([0, 0, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95]),
               "activation_memory_budget_solver": r.choice(["dp", "dp", "ilp", "greedy"]),
               "activation_memory_budget_runtime_estimator": "given", "ban_recompute_used_far_apart": False}
    for option, default, p in (("ban_recompute_materialized_backward", True, 0.3), ("ban_recompute_not_in_allowlist", True, 0.3),
                               ("ban_recompute_reductions", True, 0.2), ("treat_parameters_as_free_to_save", True, 0.2)):
        if r.random() < p:
            options[option] = not default
    if r.random() < 0.2:
        options["profile"] = "plain"
    return {"schema": "remat/graph/v1", "num_fwd_outputs": len(outputs), "static_lifetime_inputs": static, "nodes": nodes}, options


class Undecided(Exception):
    """Several selections are as good, or one is at the very edge of the budget."""


def references(args):
    for a in args:
        if isinstance(a, list):
            yield from references(a)
        elif isinstance(a, str) and a.startswith("%"):
            yield a[1:]


class Budget(brute.Problem):
    """One document under a budget. `decide` fills `cuts` [(value, names)] and gives the names chosen, or None (an infinite flow)."""

    def __init__(self, doc, options):
        self.options = options
        self.nodes = self.alive([{**d, "args": ["%" + a for a in references(d.get("args", ()))], "given": d.get("args", ())}
                                 for d in doc["nodes"]])
        self.at = {d["name"]: i for i, d in enumerate(self.nodes)}
        self.inputs = [sorted({self.at[a[1:]] for a in d["args"]}) for d in self.nodes]
        self.users = [[u for u, inputs in enumerate(self.inputs) if i in inputs] for i in range(len(self.nodes))]
        outputs = [self.at[a[1:]] for a in self.nodes[-1]["args"]]
        self.forward_outputs, self.backward_outputs = set(outputs[:doc["num_fwd_outputs"]]), set(outputs[doc["num_fwd_outputs"]:])
        primals = [d["name"] for d in self.nodes if d["name"][0] == "p"]
        self.static = {primals[i] for i in doc["static_lifetime_inputs"]} if self.on("treat_parameters_as_free_to_save") else set()
        self.classify()
        self.plain, self.cuts = options.get("profile") == "plain", []
        self.dist = {}
        for i in reversed(range(len(self.nodes))):
            self.dist[i] = FAR if i == len(self.nodes) - 1 else 0 if i not in self.required_fw else min(
                [FAR] + [self.dist[u] + 1 for u in self.users[i]])

    def on(self, option):
        return self.options.get(option, True)

    # ---- facts ------------------------------------------------------------------

    def facts(self, d):
        packet = d["target"] if d["target"] in TABLE["packets"] else d["target"].rsplit(".", 1)[0]
        return (set(TABLE["packets"].get(packet, ())) | set(TABLE["overloads"].get(d["target"], ())) | set(d.get("traits", ()))
                if d["op"] == "call_function" else set())

    def size(self, d):
        v = d["val"]
        if "sym" in v:
            return 1
        return sum(t["shape"][0] * BYTES[t["dtype"]] for t in v.get("tuple", [v]))

    def is_view(self, d):
        return "view" in self.facts(d)

    @staticmethod
    def wants(d):
        return d.get("recompute") in ("prefer_recompute", "must_recompute")

    def draws(self, d):
        """Gives another result when it runs again."""
        if d["target"] == ATTENTION and d["given"][3] == 0:
            return False
        return bool(self.facts(d) & {"random", "seeded", "no_recompute"})

    def must_stay(self, d):
        return d.get("recompute") == "must_save" or bool(self.facts(d) & {"random", "seeded", "no_recompute"})

    def fusible(self, a, b):
        if b["target"] == "aten.cat.default":
            return True
        return "fusible" in self.facts(a) and "fusible" in self.facts(b)

    def read_late(self, i):
        """Some operator of the backward alone reads i, or a view of it, and does not fuse with what it reads."""
        for u in self.users[i]:
            if u not in self.required_fw and not self.fusible(self.nodes[i], self.nodes[u]):
                return True
            if self.is_view(self.nodes[u]) and self.read_late(u):
                return True
        return False

    # ---- bans and weights -----------------------------------------------------------

    def rule(self, i, d, rules):
        """Whether a rule bans a forward operator."""
        facts = self.facts(d)
        if d.get("recompute") == "must_save" or "no_recompute" in facts or ("draws" in rules and self.draws(d)):
            return True
        if self.plain:
            return False
        if "list" in rules and "recomputable" not in facts:
            return True
        if "list" not in rules and facts & {"random", "compute_intensive"}:
            return True
        if "late" in rules and not self.is_view(d) and self.read_late(i):
            return True
        return "reductions" in rules and 4 * self.size(d) < sum(
            self.size(self.nodes[self.at[a[1:]]]) for a in d["given"] if isinstance(a, str))

    def bans(self, rules, free=()):
        out = []
        for i, d in enumerate(self.nodes[:-1]):
            if i in self.closure or self.wants(d) or (self.is_view(d) and not self.plain) or d["name"] in free:
                continue
            if d["name"][0] == "p" or (d["op"] == "call_function" and d["target"] != "getitem" and i in self.required_fw
                                       and self.rule(i, d, rules)):
                out.append(d["name"])
        return out

    def banned(self, i, d):
        return d["name"] in self.ban_list

    def weight(self, d):
        v, i = d["val"], self.at[d["name"]]
        if "sym" in v:
            return 1
        if "tuple" in v:
            return INF
        if d["name"] in self.static:
            return 0
        if self.plain:
            return self.size(d)
        w = int(self.size(d) * math.pow(1.1, max(min(self.dist[i], 100), 1)))
        return w if d["op"] == "placeholder" or any(not self.fusible(d, self.nodes[u]) for u in self.users[i]) else 2 * w

    def smallest(self):
        """(value, names) of the canonical minimum cut, or None. Sets are tried by value; when one cuts, only its equals follow."""
        if not self.sources or not self.sinks:
            return 0, []
        finite = [i for i, w in self.weights.items() if w != INF]
        values = [0]
        for i in finite:
            values += [v + self.weights[i] for v in values]
        best, side = INF, None
        for mask in sorted(range(len(values)), key=values.__getitem__):
            if values[mask] > best:
                break
            reach = self.reaching({i for k, i in enumerate(finite) if mask >> k & 1})
            if not reach & self.sources:
                side = reach if side is None else side & reach
                best = values[mask]
        if side is None:
            return None
        return best, [self.nodes[i]["name"] for i in sorted(self.weights) if not side >> 2 * i & 1 and side >> (2 * i + 1) & 1]

    def cut(self, rules, free=()):
        self.ban_list = set(self.bans(rules, free))
        self.connect()
        found = self.smallest()
        self.cuts.append(found)
        return None if found is None else found[1]

    # ---- budgets ------------------------------------------------------------------

    def gigabytes(self, names):
        return sum(self.size(self.nodes[self.at[n]]) for n in names) / 1e9

    def storage(self, name):
        d = self.nodes[self.at[name]]
        return d.get("alias_of", name) if "dtype" in d["val"] else None

    def candidates(self, bans):
        """(values that stay, values on offer by size)."""
        taken = {self.storage(d["name"]) for d in self.nodes if d["name"][0] == "p"}
        names = [n for n in bans if self.dist[self.at[n]] < FAR and self.storage(n) not in taken]
        stay = [n for n in names if self.must_stay(self.nodes[self.at[n]])]
        offer = [n for n in names if n not in stay]
        return stay, sorted(offer, key=lambda n: -self.size(self.nodes[self.at[n]]))

    def leaves_out(self, stay, rules):
        """Something that must stay is not among these values, or cannot be passed on as it is."""
        operators = [n for n in self.bans(rules) if n[0] == "f" and self.dist[self.at[n]] < FAR]
        return any("tuple" in self.nodes[self.at[n]]["val"] for n in stay) or any(
            n not in stay and self.must_stay(self.nodes[self.at[n]]) for n in operators)

    def pack(self, offer, spread):
        """The values to keep."""
        budget, solver = self.options["activation_memory_budget"], self.options["activation_memory_budget_solver"]
        memory = [self.size(self.nodes[self.at[n]]) / 1e9 / spread for n in offer]
        runtime = [self.nodes[self.at[n]].get("runtime", 0) for n in offer]
        if solver == "greedy":
            used, keep = 0.0, set()
            for i in sorted(range(len(offer)), key=lambda i: -runtime[i] / memory[i] if memory[i] else -INF):
                if used + memory[i] <= budget:
                    used += memory[i]
                    keep.add(offer[i])
            return keep
        if solver == "dp":
            memory, budget = [round(m * 10000) for m in memory], round(budget * 10000)
        best = []
        for k in range(len(offer) + 1):
            for chosen in itertools.combinations(range(len(offer)), k):
                used = sum(memory[i] for i in chosen)
                if solver == "ilp" and abs(used - budget) < 1e-9:
                    raise Undecided
                if used <= budget:
                    best.append((sum(runtime[i] for i in chosen), [offer[i] for i in chosen]))
        best.sort(key=lambda b: -b[0])
        # runtimes are added in float32, where 2^24 and more are rounded
        if len(best) > 1 and (best[0][0] - best[1][0] < 1 or best[0][0] >= 1 << 24):
            raise Undecided
        return set(best[0][1])

    def decide(self):
        rules = {"late" if self.on("ban_recompute_materialized_backward") else None,
                 "list" if self.on("ban_recompute_not_in_allowlist") else None,
                 "reductions" if self.on("ban_recompute_reductions") else None}
        second, third = rules - {"late"} | {"draws"}, rules - {"late", "list"} | {"draws"}
        inputs, budget = [d["name"] for d in self.nodes if d["name"][0] == "p"], self.options["activation_memory_budget"]
        if budget == 0:
            return self.cut(third, self.candidates(self.bans(third))[1])
        chosen = self.cut(rules)
        if chosen is None:
            return None
        low, high = self.gigabytes(inputs), self.gigabytes(chosen)
        if high <= low:
            return chosen
        for laxer in (second, third):
            chosen = self.cut(laxer)
            if chosen is None or (self.gigabytes(chosen) - low) / (high - low) < budget:
                return chosen
        stay, offer = self.candidates(self.bans(third))
        if not offer and self.leaves_out(stay, third):
            return chosen
        if not offer:
            return inputs + [n for n in stay if n not in inputs]
        return self.cut(third, set(offer) - self.pack(offer, high - low))

    # ---- what is passed on --------------------------------------------------------

    def needed(self, outputs, given):
        """Positions that are computed for the outputs from what is given; None if they cannot be."""
        found, stack = set(), [i for i in outputs if i not in given]
        while stack:
            i = stack.pop()
            if self.nodes[i]["op"] != "call_function":
                return None
            if i not in found:
                found.add(i)
                stack += [p for p in self.inputs[i] if p not in given]
        return found

    def halves(self, chosen):
        """(saved, recomputed) names, or None: an output cannot be computed."""
        passed = [self.at[n] for n in chosen]
        backward = self.needed(self.backward_outputs, set(passed) | {self.at["t"]})
        if backward is None:
            return None
        read = {p for i in backward for p in self.inputs[i]} | self.backward_outputs
        passed = [i for i in passed if i in read]
        forward = self.needed(self.forward_outputs | set(passed), {i for i, d in enumerate(self.nodes) if d["name"][0] == "p"})
        names = [self.nodes[i]["name"] for i in passed if "sym" not in self.nodes[i]["val"]]
        return names, [self.nodes[i]["name"] for i in sorted(forward & backward)]
