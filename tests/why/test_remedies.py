"""Remedies against all sets of tag changes that cost less, and against their own promise.

Small random graphs full of contradictory tags, the cases, and real graphs without a plan. Whether a set of changes helps is asked of
the oracle, on the document with the changes made. REMAT_SEED is the first seed.
"""
# variants: asan
import collections
import json
import os
import unittest

import data
import engine
import tangles

N_GRAPHS = int(os.environ.get("REMAT_GRAPHS", engine.at_level(quick=300, full=1000, torture=30000)))
FIRST = int(os.environ.get("REMAT_SEED", 1))
MOST_TAGS = 12  # for which the least cost is promised
MOST_SETS = 1500  # tried for one graph; one that needs more proves nothing and is counted


def first_error(plan):
    return next(d for d in plan["diagnostics"] if d["severity"] == "error")


class Remedies(unittest.TestCase):
    def ask(self, planner, request):
        return planner.ask_text(json.dumps({**request, "options": {**request["options"], "explain": "summary"}}))

    def check_promise(self, planner, tags, remedy):
        """Sums, feasibility, that no change is too many, and the plan it gives."""
        changes = {c["node"]: c["to"] for c in remedy["changes"]}
        self.assertEqual(remedy["tags"], changes)
        for c in remedy["changes"]:
            self.assertEqual(c["from"], tags.tags[c["node"]])
            self.assertIn(c["to"], tags.choices(c["node"], True))
        self.assertEqual(remedy["cost"], sum(tags.cost(n) for n in changes))
        self.assertTrue(tags.is_feasible(changes))
        for name in changes:
            self.assertFalse(tags.is_feasible({n: p for n, p in changes.items() if n != name}), f"{name} is not needed")
        request = tags.request()
        request["passes"] = request["passes"] + [{"pass": "set_tags", "tags": remedy["tags"]}]
        plan = self.ask(planner, request).doc
        self.assertEqual(plan["outcome"], "plan")
        self.assertEqual(remedy["result"], {
            "saved_bytes": plan["memory"]["saved_bytes"], "recomputed_flops": plan["cost"]["recomputed_flops"],
            "peak_forward_bytes": plan["memory"]["peak_forward_bytes"], "peak_backward_bytes": plan["memory"]["peak_backward_bytes"]})

    def check_least(self, tags, cost, seen):
        """Nothing that costs less helps; without a cost nothing at all."""
        sets = []
        for allows_new in (False, True):
            if allows_new and cost is not None and cost < tangles.COSTS[None]:
                continue
            if cost is None and tags.n_sets(allows_new) > MOST_SETS:
                seen["too many sets"] += 1
                return
            sets = tags.cheaper(float("inf") if cost is None else cost, allows_new)
            if len(sets) > MOST_SETS:
                seen["too many sets"] += 1
                return
        for changes in sets:
            self.assertFalse(tags.is_feasible(changes), changes)
        seen["proven"] += 1

    def check(self, planner, tags, seen):
        plan = self.ask(planner, tags.request()).doc
        if plan.get("outcome") != "infinite_flow":
            return
        error = first_error(plan)
        self.assertIn("remedy", error, [d["code"] for d in plan["diagnostics"]])
        seen["graphs"] += 1
        if error["remedy"] is None:
            seen["no tag helps"] += 1
            self.assertGreater(len(error["facts"]), 0)
            self.check_least(tags, None, seen)
            return
        self.check_promise(planner, tags, error["remedy"])
        if sum(tag is not None for tag in tags.tags.values()) <= MOST_TAGS:
            self.assertNotIn("least", error["remedy"])  # the search went to its end
        self.check_least(tags, error["remedy"]["cost"], seen)
        for c in error["remedy"]["changes"]:
            seen[f"{c['from']} to {c['to']}"] += 1
        seen["several changes"] += len(error["remedy"]["changes"]) > 1
        seen["by pass"] += any(c["node"] in tags.by_pass for c in error["remedy"]["changes"])

    def test_tangles(self):
        seen = collections.Counter()
        with engine.Planner() as planner:
            for seed in range(FIRST, FIRST + N_GRAPHS):
                document, options = tangles.tangle(seed)
                tagged = [d["name"] for d in document["nodes"] if d.get("recompute")]
                by_pass = tagged[seed % 2::2] if seed % 3 == 0 else ()
                with self.subTest(seed=seed):
                    self.check(planner, tangles.Tags(document, options, by_pass), seen)
        print(dict(seen))
        for kind in ("several changes", "no tag helps", "by pass", "must_save to None", "prefer_recompute to None",
                     "must_save to prefer_recompute", "None to prefer_recompute"):
            self.assertGreater(seen[kind], 0, kind)
        self.assertGreater(seen["proven"], seen["graphs"] * 9 // 10)

    def test_what_is_not_known_is_not_claimed(self):
        """With hundreds of tags the search may be cut short. Then answer and report say so, and the remedy still helps."""
        n_unproven = n_graphs = 0
        with engine.Planner() as planner:
            for seed in range(FIRST, FIRST + 60):
                document, options = tangles.tangle(seed, (400, 800), density=0.95)
                request = {"graph": document, "options": options}
                plan = self.ask(planner, request).doc
                remedy = first_error(plan).get("remedy") if plan["outcome"] == "infinite_flow" else None
                if not remedy:
                    continue
                n_graphs += 1
                with self.subTest(seed=seed):
                    changed = self.ask(planner, {**request, "passes": [{"pass": "set_tags", "tags": remedy["tags"]}]}).doc
                    self.assertEqual(changed["outcome"], "plan")
                    self.assertIn(remedy.get("least"), (None, False))
                    words = engine.run_cli(json.dumps(request), None, "--format", "text")[1]
                    self.assertEqual("Whether less would do is not known" in words, remedy.get("least") is False)
                    n_unproven += remedy.get("least") is False
                if n_unproven > 2:
                    break
        self.assertGreater(n_unproven, 0)
        self.assertGreater(n_graphs, n_unproven)

    def test_real_graphs(self):
        """Every real graph without a plan as it was recorded: what the remedy promises, not that it is the least."""
        n_graphs = 0
        with engine.Planner() as planner:
            for name in data.corpus_names():
                for key, result in data.corpus_expected(name)["results"].items():
                    if result.get("error") != "infinite_flow":
                        continue
                    n_graphs += 1
                    with self.subTest(graph=name, options=key):
                        tags = tangles.Tags(json.loads(data.corpus_graph_text(name)), result["options"])
                        remedy = first_error(self.ask(planner, tags.request()).doc)["remedy"]
                        self.check_promise(planner, tags, remedy)
                        self.assertEqual({c["from"] for c in remedy["changes"]}, {"prefer_recompute"})
        self.assertGreater(n_graphs, 2)

    def test_cases(self):
        seen = collections.Counter()
        with engine.Planner() as planner:
            for name in data.case_names():
                with self.subTest(case=name):
                    document = json.loads(data.case_graph_text(name))
                    self.check(planner, tangles.Tags(document, data.case_expected(name)["options"]), seen)
        print(dict(seen))
        self.assertEqual(seen["proven"], seen["graphs"])


if __name__ == "__main__":
    unittest.main()
