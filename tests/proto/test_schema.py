"""Both JSON Schemas against every document there is, and every plan our code makes; and that they refuse what is wrong."""
# level: quick
import copy
import glob
import json
import os
import re
import sys
import unittest

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import data    # noqa: E402
import engine  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMAS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "proto", "schema")


def validator(name):
    with open(os.path.join(SCHEMAS, name), encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


GRAPH = validator("graph-v1.schema.json")
PLAN = validator("plan-v1.schema.json")


def corpus():
    for name in data.corpus_names():
        yield name, data.corpus_graph_text(name)


def cases():
    for name in data.case_names():
        yield name, data.case_graph_text(name)


def documented_example():
    """The graph and the plan of proto/schema.md."""
    with open(os.path.join(SCHEMAS, "..", "schema.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^```json\n(.*?)^```", f.read(), re.M | re.S)
    graph, plan = (json.loads(block) for block in blocks)
    return graph, plan


class GraphSchema(unittest.TestCase):
    def check_all(self, documents, at_least):
        n = 0
        for name, text in documents:
            n += 1
            problems = [e.message[:300] for e in GRAPH.iter_errors(json.loads(text))]
            self.assertEqual(problems, [], name)
        self.assertGreaterEqual(n, at_least)

    def test_holds_for_the_corpus(self):
        self.check_all(corpus(), 30)

    def test_holds_for_the_cases(self):
        self.check_all(cases(), 30)

    def test_holds_for_random_lines(self):
        for kind in ("synthetic", "perturbed"):
            lines = data.random_lines(kind)
            step = 1 if engine.LEVEL == "torture" else 10
            for line in lines[::step]:
                self.assertTrue(GRAPH.is_valid({**line["graph"], "options": line["options"]}), line["graph"].get("name"))

    def test_refuses_what_the_decoder_refuses_by_form(self):
        """Of the refusals whose reason a schema can say, none passes it."""
        beyond = {  # order, references, sums, limits and names: not a matter of form
            "alias-later", "alias-self", "alias-unknown", "alias-with-percent", "dict-member", "dtype-torch-prefix", "dtype-unknown", "get-attr-with-reference", "hint-short",
            "name-duplicate", "numel-overflow", "output-missing", "output-not-last", "output-twice",
            "outputs-real",  # 1.0 is an integer to JSON Schema
            "outputs-too-many", "output-unknown-reference", "pass-regions-none-left", "pass-save-getitem", "pass-save-unknown-operator",
            "pass-save-without-overload", "pass-tags-unknown-long", "pass-tags-unknown-node", "pass-tags-unknown-nodes",
            "placeholder-with-reference",
            "reference-capitals",
            "reference-in-kwargs", "reference-in-slice", "reference-later", "reference-near-percent", "reference-nested", "reference-self", "reference-typo",
            "reference-unknown", "shape-overflow", "shape-overflow-by-dtype", "shape-real", "memory-limit-real", "size-needed",
            "static-huge", "static-out-of-range", "tuple-overflow"}
        seen = set()
        for path in sorted(glob.glob(os.path.join(HERE, "invalid", "*", "input.json"))):
            name = os.path.basename(os.path.dirname(path))
            with open(os.path.join(os.path.dirname(path), "expect.json"), encoding="utf-8") as f:
                expect = json.load(f)
            if name.startswith(("json-", "limit-")) or "options" in expect or "passes" in expect:
                continue
            with open(path, encoding="utf-8") as f:
                document = json.load(f)
            if not isinstance(document, dict) or "graph" in document:
                continue
            seen.add(name)
            with self.subTest(name):
                self.assertEqual(GRAPH.is_valid(document), name in beyond)
        self.assertLessEqual(beyond, seen)
        self.assertGreater(len(seen - beyond), 100)


class PlanSchema(unittest.TestCase):
    def ask_all(self, documents, options):
        n = 0
        with engine.Planner() as planner:
            for i, (name, text) in enumerate(documents):
                for explain in ("full", ("none", "summary")[i % 2]):
                    answer = planner.ask_text(engine.request_text(text, {**options, "explain": explain}))
                    self.assertNotEqual(answer.kind, "problem", f"{name}: {answer.raw}")
                    problems = [f"{e.json_path}: {e.message[:300]}" for e in PLAN.iter_errors(answer.doc)]
                    self.assertEqual(problems, [], f"{name} {explain}")
                    n += 1
        self.assertGreater(n, 60)

    def test_holds_for_plans_of_the_corpus(self):
        self.ask_all(corpus(), {})

    def test_holds_for_plans_of_the_cases(self):
        self.ask_all(cases(), {"profile": "plain"})

    def test_the_documented_example_is_true(self):
        graph, plan = documented_example()
        self.assertTrue(GRAPH.is_valid(graph))
        with engine.Planner() as planner:
            answer = planner.ask(graph, {"explain": "summary"}).doc
        self.assertTrue(answer["digest"].startswith(plan["digest"].rstrip("…")))
        self.assertEqual({**answer, "digest": ""}, {**plan, "digest": ""})
        self.assertEqual(list(answer), list(plan))

    def test_every_outcome_and_member_is_seen(self):
        outcomes, members = set(), set()
        with engine.Planner() as planner:
            for name in ("G01", "G22"):
                answer = planner.ask_text(engine.request_text(data.case_graph_text(name), {"profile": "plain"}))
                outcomes.add(answer.doc["outcome"])
                members |= set(answer.doc)
            graph = json.loads(data.case_graph_text("G22"))
            graph["num_fwd_outputs"] = len(graph["nodes"][-1]["args"])
            answer = planner.ask(graph, {"profile": "plain"})
            outcomes.add(answer.doc["outcome"])
            limited = planner.ask(json.loads(data.case_graph_text("G22")), {"profile": "plain", "memory_limit_bytes": 1})
            self.assertEqual([e.message for e in PLAN.iter_errors(limited.doc)], [])
            members |= set(limited.doc)
        self.assertEqual(outcomes, {"plan", "infinite_flow", "invalid_output"})
        self.assertEqual(members | {"group"}, set(PLAN.schema["properties"]))  # of groups: tests/ranks

    def test_refuses_plans_that_lie(self):
        with engine.Planner() as planner:
            plan = planner.ask_text(engine.request_text(data.case_graph_text("G22"), {"profile": "plain"})).doc
            conflict = planner.ask_text(engine.request_text(data.case_graph_text("G01"), {"profile": "plain"})).doc
        self.assertTrue(PLAN.is_valid(plan))
        self.assertTrue(PLAN.is_valid(conflict))
        changes = [
            (plan, lambda d: d.pop("saved")),
            (plan, lambda d: d.update(outcome="infinite_flow")),
            (plan, lambda d: d.update(saved=["a", "a"])),
            (plan, lambda d: d["cut"].pop("value")),
            (plan, lambda d: d["cut"].update(value=-1)),
            (plan, lambda d: d.update(digest=d["digest"].upper())),
            (plan, lambda d: d["memory"].update(peak=0)),
            (plan, lambda d: d.update(seconds=0.1)),
            (plan, lambda d: d["tags"].update(a="MUST_SAVE")),
            (plan, lambda d: d["weights"].update(a=None)),
            (conflict, lambda d: d.update(saved=[])),
            (conflict, lambda d: d["diagnostics"].clear()),
            (conflict, lambda d: d.update(outcome="plan")),
            (conflict, lambda d: d["diagnostics"][0]["path"][0].pop("origin")),
            (conflict, lambda d: d["diagnostics"][0].update(severity="fatal")),
        ]
        for i, (document, change) in enumerate(changes):
            changed = copy.deepcopy(document)
            change(changed)
            with self.subTest(i):
                self.assertFalse(PLAN.is_valid(changed))


if __name__ == "__main__":
    unittest.main()
