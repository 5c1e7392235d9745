"""The schemas of nodes, what-ifs and differences against every answer, and that they refuse what is wrong; and reports for people of
the same questions."""
# level: quick
import copy
import json
import os
import random
import unittest

import jsonschema
import whatif

import data
import engine
import generate

SCHEMAS = os.path.join(engine.ROOT, "proto", "schema")
PLAN = "urn:remat:schema:plan-v1"
NAMES = ["<script>alert(1)</script>", '"\\\n\t\x01\x7f', "\u202eabc\u2066", "x" * 10000, "s%n%s", "{}", "\ufffd\U0001f600", "' onload='"]


def schema_of(name):
    with open(os.path.join(SCHEMAS, name + ".schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def what_if_schema():
    """With the plan's schema inside."""
    schema, plan = schema_of("what-if-v1"), schema_of("plan-v1")
    inner = json.loads(json.dumps(plan).replace('"#/$defs/', '"#/$defs/plan_'))
    inner.pop("$id"), inner.pop("$schema")
    schema["$defs"].update({"plan_" + name: value for name, value in inner.pop("$defs").items()})
    assert schema["properties"]["plan"] == {"$ref": PLAN}
    schema["properties"]["plan"] = inner
    return schema


NODE, WHAT_IF, DIFF = (jsonschema.Draft202012Validator(s) for s in (schema_of("node-v1"), what_if_schema(), schema_of("diff-v1")))


def renamed(document, r):
    """The graph with some hostile names; and what they were."""
    document = copy.deepcopy(document)
    picked = r.sample(range(len(document["nodes"])), min(len(NAMES), len(document["nodes"])))
    names = dict(zip((document["nodes"][i]["name"] for i in picked), NAMES))

    def mapped(x):
        if isinstance(x, str) and x.startswith("%") and not x.startswith("%%"):
            return "%" + names.get(x[1:], x[1:])
        if isinstance(x, list):
            return [mapped(y) for y in x]
        if isinstance(x, dict):
            return {k: mapped(v) for k, v in x.items()}
        return x
    for d in document["nodes"]:
        d["name"] = names.get(d["name"], d["name"])
        d["args"], d["kwargs"] = mapped(d.get("args", [])), mapped(d.get("kwargs", {}))
        if "alias_of" in d:
            d["alias_of"] = names.get(d["alias_of"], d["alias_of"])
    return document, names


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.asker = whatif.Asker().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.asker.__exit__()

    def hold(self, schema, answer):
        self.assertEqual([f"{e.json_path}: {e.message[:300]}" for e in schema.iter_errors(answer["doc"])], [])

    def ask_all(self, body, names, r):
        """Every question about a request, as a document and as text."""
        kinds = set()
        for name in names:
            answer = self.asker.ask("node", body, name=name)
            self.assertNotIn("problem", answer)
            self.hold(NODE, answer)
            kinds |= set(answer["doc"]) | {f"state {answer['doc']['state']}", f"side {answer['doc'].get('side')}"}
            self.readable(self.asker.ask("node", body, name=name, format="text"))
        change = {"tags": {n: r.choice([None, "must_save", "must_recompute", "prefer_save"]) for n in names}}
        answer = self.asker.ask("what-if", {"base": body, "what_if": change})
        self.assertNotIn("problem", answer)
        self.hold(WHAT_IF, answer)
        self.readable(self.asker.ask("what-if", {"base": body, "what_if": change}, format="text"))
        other = whatif.changed(body, change)
        other["graph"] = copy.deepcopy(other["graph"])
        other["graph"]["nodes"].insert(0, {"name": "only here", "op": "placeholder", "target": "primals_99",
                                           "val": {"dtype": "uint8", "shape": [1]}})
        for pair in ((body, other), (other, body)):
            answer = self.asker.ask("diff", pair[0], other=pair[1])
            if "problem" in answer:  # an input more changes what a static index means
                continue
            self.hold(DIFF, answer)
            self.readable(self.asker.ask("diff", pair[0], other=pair[1], format="text"))
        return kinds

    def readable(self, answer):
        """No control character but line ends, and whole UTF-8 (the program's JSON would not hold else)."""
        text = answer["body"]
        self.assertTrue(text.endswith("\n"))
        self.assertTrue(all(line.isprintable() or not set(map(ord, line)) & (set(range(32)) | {127}) for line in text.split("\n")))

    def test_cases(self):
        r, kinds = random.Random(1), set()
        for name in data.case_names():
            graph = json.loads(data.case_graph_text(name))
            names = [d["name"] for d in graph["nodes"]]
            with self.subTest(name):
                kinds |= self.ask_all(whatif.request(graph), r.sample(names, min(4, len(names))), r)
        self.assertLessEqual({"state saved", "state recomputed", "state neither", "side source", "side sink", "side between", "side none",
                              "tag", "weight", "bans", "class", "dist"}, kinds)

    def test_corpus(self):
        r = random.Random(2)
        names = data.corpus_names()
        for name in names[:4] if engine.LEVEL == "quick" else names:
            graph = json.loads(data.corpus_graph_text(name))
            with self.subTest(name):
                self.ask_all(whatif.request(graph), [d["name"] for d in r.sample(graph["nodes"], 3)], r)

    def test_hostile_names(self):
        """What is said about a node is the same, whatever nodes are called."""
        n_graphs = {"quick": 25, "full": 100, "torture": 1000}[engine.LEVEL]  # each asks some fifteen questions
        for seed in range(1, n_graphs):
            r = random.Random(f"names {seed}")
            plain, _ = generate.graph(seed)
            graph, names = renamed(plain, r)
            if "problem" in self.asker.ask("plan", whatif.request(graph)):
                continue
            with self.subTest(seed):
                self.ask_all(whatif.request(graph), list(names.values())[:4], r)
                was = next(iter(names))
                one, two = (self.asker.ask("node", whatif.request(g), name=n)["doc"] for g, n in ((plain, was), (graph, names[was])))
                for key in ("state", "side", "dist", "bans", "class", "weight", "outcome"):
                    self.assertEqual(one.get(key), two.get(key), key)
                self.assertEqual([c["outcome"] for c in one["choices"]], [c["outcome"] for c in two["choices"]])
                self.assertEqual(*([len((c["diff"] or {"moves": []})["moves"]) for c in d["choices"]] for d in (one, two)))

    def test_notes_say_what_a_choice_does_not_do(self):
        t = {"dtype": "uint8", "shape": [8]}

        def call(name, target, *args, val=t, **more):
            return {"name": name, "op": "call_function", "target": target, "args": list(args), "val": val, **more}
        nodes = [{"name": n, "op": "placeholder", "target": f"{kind}_1", "val": t} for n, kind in (("x", "primals"), ("t", "tangents"))]
        nodes += [call("pair", "aten.topk.default", "%x", 4, val={"tuple": [t, t]}), call("one", "getitem", "%pair", 0),
                  call("two", "getitem", "%pair", 1), call("y", "aten.sin.default", "%one"), call("dead", "aten.cos.default", "%x"),
                  call("end", "aten.cos.default", "%y"), call("gy", "aten.mul.Tensor", "%t", "%two"), call("gx", "aten.mul.Tensor", "%gy", "%one"),
                  {"name": "output", "op": "output", "target": "output", "args": ["%end", "%gx"]}]
        body = whatif.request({"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": nodes})
        several = "it returns several values, so it is not saved itself, only its getitems are: one, two"
        backward = "it belongs to the backward, where tags decide nothing"
        for name, save, again in (
                ("pair", several, None), ("x", "the backward reads nothing that it would be saved for",
                                                               "it is an input, which nothing computes"),
                ("end", "the backward reads nothing that it would be saved for",
                 "the backward needs nothing that it would be computed again for"),
                ("dead", "it is dead code, whatever its tag", "it is dead code, whatever its tag"), ("gx", backward, backward),
                ("output", "it is what both halves return, no value", "it is what both halves return, no value")):
            node = self.asker.ask("node", body, name=name)["doc"]
            with self.subTest(name):
                self.assertEqual([c.get("note") for c in node["choices"]], [save, again])
                self.assertEqual([c["outcome"] for c in node["choices"]], ["plan", "plan"])
        tags = {"pair": "must_save", "one": "must_recompute"}  # and now nothing can give `one` to the backward
        stuck = {**body, "passes": [whatif.set_tags(tags)]}
        node = self.asker.ask("node", stuck, name="one")["doc"]
        self.assertEqual([(c["outcome"], c["diff"]) for c in node["choices"]], [("plan", None), ("infinite_flow", None)])
        self.assertEqual((node["outcome"], node["state"], node["choices"][1]["note"]), ("infinite_flow", "neither", "this is its tag"))
        node = self.asker.ask("node", {**body, "passes": [whatif.set_tags({"pair": "must_save"})]}, name="one")["doc"]
        self.assertEqual((node["choices"][1]["outcome"], node["choices"][1]["diff"]), ("infinite_flow", None))
        self.assertIn("`one` is tagged must_recompute", node["choices"][1]["note"])
        self.assertIn("`pair` is tagged must_save", node["choices"][1]["note"])

    def test_unknown_names(self):
        body = whatif.request(json.loads(data.case_graph_text("G01")))
        problem = self.asker.ask("node", body, name="g00")["problem"]
        self.assertEqual((problem["status"], problem["code"]), (404, "not-found"))
        self.assertIn("did you mean g0?", problem["detail"])
        for name in ("", *NAMES):
            self.assertEqual(self.asker.ask("node", body, name=name)["problem"]["code"], "not-found")

    def test_mistakes_are_placed(self):
        graph = json.loads(data.case_graph_text("G01"))
        base = whatif.request(graph)
        broken = copy.deepcopy(base)
        broken["graph"]["nodes"][0]["op"] = "nothing"
        for body, pointer, code in (
                ({"base": broken, "what_if": {}}, "/base/graph/nodes/0/op", "invalid-graph"),
                ({"base": graph | {"num_fwd_outputs": -1}, "what_if": {}}, "/base/num_fwd_outputs", "invalid-graph"),
                ({"base": {**base, "options": {"compaat": 1}}, "what_if": {}}, "/base/options/compaat", "unknown-option"),
                ({"base": {**base, "passes": [{"pass": "x"}]}, "what_if": {}}, "/base/passes/0/pass", "unknown-pass"),
                ({"base": base, "what_if": {"options": {"compaat": 1}}}, "/what_if/options/compaat", "unknown-option"),
                ({"base": base, "what_if": {"options": []}}, "/what_if/options", None),
                ({"base": base, "what_if": {"tags": {"g00": None}}}, "/what_if/tags/g00", "unknown-option"),
                ({"base": base, "what_if": {"tags": {"g0": "save"}}}, "/what_if/tags/g0", "unknown-option"),
                ({"base": base, "what_if": {"tags": []}}, "/what_if/tags", "unknown-option"),
                ({"base": base, "what_if": {"tagz": {}}}, "/what_if/tagz", "unknown-option"),
                ({"base": base, "what_if": 3}, "/what_if", "bad-request"), ({"base": base}, "/what_if", "bad-request"),
                ({"what_if": {}}, "/base", "bad-request"), ({"base": 3, "what_if": {}}, "/base", "bad-request"),
                ({"base": base, "what_if": {}, "rank": 1}, "/rank", "unknown-option")):
            problem = self.asker.ask("what-if", body)["problem"]
            with self.subTest(pointer):
                self.assertEqual(problem["errors"][0]["pointer"], pointer)
                self.assertIn(code, (None, problem["code"]))

    def test_structures_are_equal_for_equal_answers_alone(self):
        graph = json.loads(data.case_graph_text("G22"))
        body, names = whatif.request(graph), [d["name"] for d in graph["nodes"][:3]]
        other = whatif.request(graph, {"max_dist_from_bw": 3})
        asked = [("node", body, {"name": names[0]}), ("node", body, {"name": names[1]}), ("node", body, {"name": names[0], "format": "text"}),
                 ("node", other, {"name": names[0]}), ("plan", body, {}), ("what-if", {"base": body, "what_if": {}}, {}),
                 ("what-if", {"base": body, "what_if": {"tags": {}}}, {}), ("what-if", {"base": other, "what_if": {}}, {}),
                 ("what-if", {"base": other, "what_if": {"options": {"max_dist_from_bw": 1000}}}, {}),
                 ("what-if", {"base": body, "what_if": {}}, {"format": "text"}),
                 ("what-if", {"base": body, "what_if": {"tags": {names[0]: "must_save"}}}, {})]
        found = [self.asker.ask(call, b, **more)["structure"] for call, b, more in asked]
        self.assertEqual(len(set(found)), len(asked))
        self.assertNotIn("0" * 64, found)
        for member in ("module", "stack"):  # which the digest does not cover
            nodes = [{**d, member: ""} if d["name"] == names[0] else d for d in graph["nodes"]]
            other = whatif.request({**graph, "nodes": nodes})
            self.assertEqual(self.asker.ask("node", other, name=names[1])["structure"], found[1])
            self.assertEqual(self.asker.ask("node", other, name=names[0])["doc"][member], "")
            self.assertNotIn(self.asker.ask("node", other, name=names[0])["structure"], found)
        again = {"options": {**body["options"], "explain": "summary"}, "graph": graph}
        self.assertEqual(self.asker.ask("node", again, name=names[0])["structure"], found[0])

    def test_refuse_documents_that_lie(self):
        body = whatif.request(json.loads(data.case_graph_text("G22")))
        name = next(d["name"] for d in body["graph"]["nodes"] if d["op"] == "call_function")
        node = self.asker.ask("node", body, name=name)["doc"]
        changed = self.asker.ask("what-if", {"base": body, "what_if": {"tags": {name: "must_recompute"}}})["doc"]
        both = self.asker.ask("diff", body, other=body)["doc"]
        for schema, document, change in (
                (NODE, node, lambda d: d.update(state="none")), (NODE, node, lambda d: d.pop("why")), (NODE, node, lambda d: d.update(bytes=-1)),
                (NODE, node, lambda d: d["choices"].pop()), (NODE, node, lambda d: d["choices"][0].update(outcome="infinite_flow")),
                (NODE, node, lambda d: d["weight"].update(value="much")), (NODE, node, lambda d: d["weight"].update(factor=0)),
                (NODE, node, lambda d: d.update(side="left")), (NODE, node, lambda d: d["users"][0].pop("backward")),
                (WHAT_IF, changed, lambda d: d["plan"].pop("digest")), (WHAT_IF, changed, lambda d: d["before"].pop("outcome")),
                (WHAT_IF, changed, lambda d: d["diff"].pop("moves")), (WHAT_IF, changed, lambda d: d.update(engine="rematd/0.3.0")),
                (DIFF, both, lambda d: d.pop("only_before")), (DIFF, both, lambda d: d["diff"].update(bytes=None)),
                (DIFF, both, lambda d: d.update(schema="remat/diff/v2"))):
            lie = copy.deepcopy(document)
            self.assertTrue(schema.is_valid(lie))
            change(lie)
            self.assertFalse(schema.is_valid(lie))


if __name__ == "__main__":
    unittest.main()
