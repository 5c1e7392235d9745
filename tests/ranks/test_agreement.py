"""All ranks get one decision: the one that saves least where it saves most; held against trying every decision on every rank."""
# level: quick
# variants: asan
import json
import os
import random
import unittest

import jsonschema

import agree

import data
import engine
import generate
import graphs

with open(os.path.join(engine.ROOT, "proto", "schema", "plan-v1.schema.json"), encoding="utf-8") as f:
    SCHEMA = jsonschema.Draft202012Validator(json.load(f))
N_GROUPS = engine.at_level(quick=40, full=200, torture=5000)


def without_group(text):
    """(the ordinary plan's bytes, the member group) of an answer."""
    at = text.rindex(',"group":')
    return text[:at] + "}\n", json.loads(text[at + len(',"group":'):-2])


class Group:
    """Ranks with other sizes, names and orders of one graph."""

    def __init__(self, seed, n_ranks=None):
        self.r = r = random.Random(seed)
        self.graph, self.options = generate.graph(seed)
        # a share of options in which sizes decide much, and explanations differ
        self.options["explain"] = r.choice(["none", "summary", "full"])
        self.n = n_ranks or r.choice([1, 2, 3, 5])
        self.ranks = []
        for _ in range(self.n):
            base = agree.resized(self.graph, r) if r.random() < 0.8 else self.graph
            if self.ranks and r.random() < 0.3:
                self.ranks.append(r.choice(self.ranks))
            else:
                self.ranks.append(agree.rewritten(base, r))

    def bodies(self):
        return [agree.body(i, self.n, graph, self.options) for i, (graph, _) in enumerate(self.ranks)]


def groups(n=N_GROUPS, first=8_000_000):
    for seed in range(first, first + n):
        yield seed, Group(seed)


def plans_alone(planner, group):
    """What each rank is told when it asks alone, or None when it is refused."""
    answers = [planner.ask(graph, group.options) for graph, _ in group.ranks]
    return None if any(a.kind == "problem" for a in answers) else answers


def decisions(group, alone):
    out = []
    for (graph, names), answer in zip(group.ranks, alone):
        back = {new: old for old, new in names.items()}
        out.append((graph, names, agree.Decision(answer.doc, back) if answer.doc["outcome"] == "plan" else None))
    return out


class Agreement(unittest.TestCase):
    def test_the_least_worst_case_wins(self):
        n_foreign = n_plans = n_refused = n_others = 0
        with agree.Ranker() as ranker, engine.Planner() as planner:
            for seed, group in groups():
                alone = plans_alone(planner, group)
                if alone is None:
                    n_refused += 1
                    continue
                ranks = decisions(group, alone)
                best = agree.decide(ranks)
                answer = ranker.decide(group.bodies())
                with self.subTest(seed):
                    self.assertNotIn("problem", answer)
                    self.assertEqual((answer["decided_by"], answer["worst"]), best or (None, None))
                    n_plans += best is not None
                    n_others += best is not None and best[0] != 0
                    for rank, text in enumerate(answer["answers"]):
                        SCHEMA.validate(json.loads(text))
                        plain, member = without_group(text)
                        self.assertEqual(member["world_size"], group.n)
                        self.assertEqual(member["decided_by"], best[0] if best else None)
                        if best is None or ranks[rank][2] == ranks[best[0]][2]:
                            self.assertEqual(plain.encode(), alone[rank].raw)
                        else:
                            n_foreign += 1
                            self.check_foreign(group, ranks, rank, json.loads(text), alone[rank].doc, ranks[best[0]][2])
        self.assertGreater(n_plans, N_GROUPS // 3)
        self.assertGreater(n_foreign, N_GROUPS // 4)
        self.assertGreater(n_others, N_GROUPS // 20)
        self.assertLess(n_refused, N_GROUPS // 4)

    def check_foreign(self, group, ranks, rank, plan, own, decision):
        graph, names, _ = ranks[rank]
        got = {key: sorted(plan[key]) for key in ("saved", "saved_sym", "saved_opaque", "recomputed")}
        want = agree.carried_out(graph, group.options, names, decision)
        want["recomputed"] = sorted(want["recomputed"])
        self.assertEqual(got, want)
        self.assertEqual({names[n] for n in decision.saved}, set(plan["saved"]))
        self.assertEqual(plan["memory"]["saved_bytes"], decision.cost(graph, names))
        self.assertLessEqual(plan["memory"]["saved_bytes"], plan["group"]["worst_saved_bytes"])
        self.assertNotIn("cut", plan)
        self.assertEqual(plan["digest"], own["digest"])
        order = {d["name"]: i for i, d in enumerate(graph["nodes"])}
        checked = [n for n in plan["saved"] if not graph["nodes"][order[n]].get("no_vc_check")]
        self.assertEqual(checked, sorted(checked, key=order.get))

    def test_the_order_of_arrival_does_not_matter(self):
        with agree.Ranker() as ranker:
            for seed, group in groups(N_GROUPS // 4):
                bodies = group.bodies()
                first = ranker.decide(bodies)
                if "problem" in first:
                    continue
                for _ in range(3):
                    order = list(range(group.n))
                    group.r.shuffle(order)
                    again = ranker.decide([bodies[i] for i in order])
                    with self.subTest(seed, order=order):
                        self.assertEqual([again["answers"][order.index(i)] for i in range(group.n)], first["answers"])

    def test_equal_ranks_get_the_ordinary_plan(self):
        """And share one document, however many they are."""
        for name in ("llama_2l", "dyn_llama_2l"):
            if name not in data.corpus_names():
                name = data.corpus_names()[0]
            graph = json.loads(data.corpus_graph_text(name))
            with agree.Ranker() as ranker, engine.Planner() as planner:
                alone = planner.ask(graph, {"explain": "summary"})
                answer = ranker.decide([agree.body(i, 16, graph) for i in range(16)], key="a \"key\"")
                one = ranker.decide([agree.body(0, 1, graph)])
                self.assertEqual(answer["documents"], 1)
                self.assertLess(answer["bytes"], one["bytes"] + 4096)
                for text in answer["answers"]:
                    plain, member = without_group(text)
                    self.assertEqual(plain.encode(), alone.raw)
                    self.assertEqual(member, {"key": "a \"key\"", "world_size": 16, "decided_by": 0,
                                              "worst_saved_bytes": alone.doc["memory"]["saved_bytes"]})

    def test_hand_made_worst_case(self):
        """x -> mm -> y1, y2 -> ...: saving the one large value or the two small ones, by size; the worst rank decides."""
        def graph(a, b):
            def t(n):
                return {"dtype": "uint8", "shape": ["s0" if n is a else "s1"], "hint": [n], "symbols": []}
            return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "options": {"profile": "plain"}, "nodes": [
                {"name": "s", "op": "placeholder", "target": "primals_1", "val": {"dtype": "uint8", "shape": [10 ** 6]}},
                {"name": "t", "op": "placeholder", "target": "tangents_1", "val": t(a)},
                {"name": "one", "op": "call_function", "target": "test.one", "args": ["%s"], "val": t(a)},
                {"name": "two", "op": "call_function", "target": "test.two", "args": ["%one"], "val": t(b)},
                {"name": "y", "op": "call_function", "target": "test.sum", "args": ["%two"], "val": t(a)},
                {"name": "g", "op": "call_function", "target": "test.grad", "args": ["%t", "%two"], "val": t(a)},
                {"name": "output", "op": "output", "target": "output", "args": ["%y", "%g"]}]}
        ranks = [graph(100, 1000), graph(900, 300), graph(400, 350)]
        # decision "one" costs 100, 900, 400; decision "two" 1000, 300, 350
        bodies = [{**g, "rank": i, "world_size": 3} for i, g in enumerate(ranks)]
        with agree.Ranker() as ranker:
            answer = ranker.decide(bodies)
            self.assertEqual((answer["decided_by"], answer["worst"]), (0, 900))
            plans = [json.loads(text) for text in answer["answers"]]
            self.assertEqual([p["saved"] for p in plans], [["one"]] * 3)
            self.assertEqual([p["recomputed"] for p in plans], [["two"]] * 3)
            self.assertEqual([p["memory"]["saved_bytes"] for p in plans], [100, 900, 400])

    def test_ranks_without_a_plan(self):
        with agree.Ranker() as ranker, engine.Planner() as planner:
            graph = graphs.infinite_flow()
            answer = ranker.decide([{**graph, "rank": i, "world_size": 2} for i in range(2)])
            plain, member = without_group(answer["answers"][1])
            self.assertEqual(json.loads(plain)["outcome"], "infinite_flow")
            self.assertEqual(member, {"key": "job", "world_size": 2, "decided_by": None})

    def test_passes_and_limits(self):
        """Passes that read sizes tag otherwise on each rank, memory limits hold or not: one decision all the same."""
        name = next(n for n in data.corpus_names() if n.startswith("llama_2l"))
        base = json.loads(data.corpus_graph_text(name))
        r = random.Random(1)
        ranks = [agree.rewritten(g, r) for g in (base, agree.resized(base, r), agree.resized(base, r))]
        cases = [(None, [{"pass": "stage_recomputation", "stage_size_gib": "auto"}]),
                 ({"activation_memory_budget": 0.5}, None), ({"memory_limit_bytes": 100000}, None)]
        with agree.Ranker() as ranker:
            for options, passes in cases:
                with self.subTest(options=options, passes=passes):
                    answer = ranker.decide([agree.body(i, 3, g, options, passes) for i, (g, _) in enumerate(ranks)])
                    plans = [json.loads(text) for text in answer["answers"]]
                    saved = [{old for old, new in names.items() if new in set(p["saved"])} for p, (_, names) in zip(plans, ranks)]
                    self.assertEqual(saved[0], saved[1])
                    self.assertEqual(saved[0], saved[2])
                    self.assertEqual(max(p["memory"]["saved_bytes"] for p in plans), answer["worst"])
                    if options and "memory_limit_bytes" in options:
                        for p in plans:
                            peak = max(p["memory"]["peak_forward_bytes"], p["memory"]["peak_backward_bytes"])
                            self.assertEqual(p["limit"]["met"], peak <= 100000)
                            self.assertLessEqual(p["limit"]["floor_bytes"], peak)


    def test_tags_go_by_node_and_not_by_name(self):
        """Each rank writes the tags of set_tags down with its own names, in its own order; the decision keeps to them."""
        graph = graphs.chain(12)
        named = [d["name"] for d in graph["nodes"] if d["op"] == "call_function"][:6]
        tags = {named[0]: "must_save", named[1]: "must_recompute", named[2]: ["must_save", 3], named[3]: None}
        r = random.Random(5)
        with agree.Ranker() as ranker:
            for _ in range(20):
                bodies, plans = [], []
                for i in range(3):
                    g, names = agree.rewritten(graph, r)
                    own = [(names[name], tag) for name, tag in tags.items()]
                    r.shuffle(own)
                    passes = [{"pass": "set_tags", "tags": dict(own)}, {"pass": "repair_tags"}]
                    bodies.append((agree.body(i, 3, g, None, passes), names))
                answer = ranker.decide([body for body, _ in bodies])
                self.assertNotIn("problem", answer)
                for (_, names), text in zip(bodies, answer["answers"]):
                    back = {new: old for old, new in names.items()}
                    plans.append([back[name] for name in json.loads(text)["saved"]])
                self.assertEqual(sorted(plans[0]), sorted(plans[1]))
                self.assertEqual(sorted(plans[0]), sorted(plans[2]))
                self.assertIn(named[0], plans[0])


class Disagreement(unittest.TestCase):
    def detail(self, bodies):
        with agree.Ranker() as ranker:
            answer = ranker.decide(bodies)
        self.assertEqual(answer["problem"]["code"], "ranks-disagree")
        return answer["problem"]["detail"]

    def test_who_holds_what_and_the_first_difference(self):
        graph = generate.graph(8_100_000)[0]
        other = json.loads(json.dumps(graph))
        d = next(d for d in other["nodes"] if d["op"] == "call_function")
        d["recompute"] = "must_save" if d.get("recompute") != "must_save" else "prefer_save"
        bodies = [agree.body(i, 10, other if i in (2, 5, 6, 7) else graph) for i in range(10)]
        random.Random(0).shuffle(bodies)
        detail = self.detail(bodies)
        self.assertIn("ranks 0-1, 3-4, 8-9 against ranks 2, 5-7;", detail)
        self.assertIn("rank 0 against rank 2", detail)
        self.assertIn(f"`{d['name']}` against `{d['name']}`", detail)
        self.assertIn("tag recompute", detail)

    def test_many_kinds(self):
        graph = graphs.tiny()
        bodies = []
        for i in range(40):
            g = json.loads(json.dumps(graph))
            g["nodes"][2]["target"] = f"aten.op{i % 7}.default"
            bodies.append(agree.body(i, 40, g))
        detail = self.detail(bodies)
        self.assertIn("operator aten.op0.default against aten.op1.default", detail)
        self.assertIn("ranks 0, 7, 14, 21, 28, 35 against", detail)
        self.assertIn("still others", detail)

    def test_options_and_passes(self):
        graph = graphs.tiny()
        detail = self.detail([agree.body(0, 2, graph, {"compat": True}), agree.body(1, 2, graph)])
        self.assertIn("rank 0 against rank 1: the option compat", detail)
        detail = self.detail([agree.body(0, 2, graph), agree.body(1, 2, graph, None, [{"pass": "repair_tags"}])])
        self.assertIn("the passes", detail)
        first, second = [d["name"] for d in graph["nodes"] if d["op"] == "call_function"][:2]
        for tags in ({second: "must_save"}, {first: "prefer_save"}, {first: ["must_save", 1]}, {first: ["must_save", None]},
                     {first: None}, {}, {first: "must_save", second: "must_save"}):
            detail = self.detail([agree.body(i, 2, graph, None, [{"pass": "set_tags", "tags": of}])
                                  for i, of in enumerate(({first: "must_save"}, tags))])
            self.assertIn("rank 0 against rank 1: the tags of the pass set_tags", detail)
        with agree.Ranker() as ranker:  # what changes no decision may differ
            answer = ranker.decide([agree.body(0, 2, graph, {"explain": "none"}), agree.body(1, 2, graph, {"deadline_ms": 60000})])
        self.assertEqual(answer["decided_by"], 0)

    def test_members_of_the_request(self):
        graph = graphs.tiny()
        cases = [({"world_size": 2}, "/rank"), ({"rank": 0}, "/world_size"), ({"rank": 2, "world_size": 2}, "/rank"),
                 ({"rank": -1, "world_size": 2}, "/rank"), ({"rank": 0, "world_size": 0}, "/world_size"),
                 ({"rank": 0, "world_size": 65537}, "/world_size"), ({"rank": "0", "world_size": 2}, "/rank"),
                 ({"rank": 0.0, "world_size": 2}, "/rank")]
        with agree.Ranker() as ranker:
            for members, pointer in cases:
                with self.subTest(members):
                    answer = ranker.decide([{**graph, **members}])
                    self.assertEqual(answer["problem"]["code"], "invalid-graph")
                    self.assertEqual(answer["problem"]["pointer"], pointer)
                    self.assertEqual(answer["at"], 0)
            self.assertEqual(ranker.decide([[1]])["problem"]["code"], "invalid-graph")
            self.assertEqual(ranker.decide(["{"])["problem"]["code"], "malformed-json")


class Faults(unittest.TestCase):
    def test_every_allocation_may_fail(self):
        """Each failure is a problem or is not noticed; what is held is given back (asan)."""
        r = random.Random(4)
        graph = generate.graph(8_200_003)[0]
        bodies = [agree.body(i, 3, g) for i, (g, _) in enumerate(
            agree.rewritten(x, r) for x in (graph, agree.resized(graph, r), agree.resized(graph, r)))]
        changed = json.loads(json.dumps(bodies))
        changed[1]["graph"]["nodes"][-1]["args"].append(None)
        with agree.Ranker() as ranker:
            for requests in (bodies, changed):
                want = ranker.decide(requests)
                n, failures, step = 1, 0, {"quick": 7, "full": 1}.get(engine.LEVEL, 1)
                while True:
                    answer = ranker.decide(requests, fail_at=n)
                    if answer == want and n > 2000:
                        break
                    if answer != want:
                        self.assertEqual(answer["problem"]["code"], "out-of-memory")
                        failures += 1
                    n += step if n < 2000 else 1000
                self.assertGreater(failures, 20)

    def test_steps_are_bounded(self):
        with agree.Ranker() as ranker:
            bodies = [agree.body(0, 1, graphs.chain(50))]
            self.assertEqual(ranker.decide(bodies, max_steps=100)["problem"]["code"], "step-limit")


if __name__ == "__main__":
    unittest.main()
