"""Random graphs: a what-if has the bytes of the changed request's plan, its diff is a difference of sets, and the choices of a node
are the plans of documents with these tags.

REMAT_SEED, REMAT_GRAPHS.
"""
# level: quick
# variants: asan
import collections
import os
import random
import time
import unittest

import whatif

import engine
import generate

N_GRAPHS = int(os.environ.get("REMAT_GRAPHS", engine.at_level(quick=80, full=400, torture=50000)))
FIRST = int(os.environ.get("REMAT_SEED", time.time() if engine.LEVEL == "torture" else 1))
OPTIONS = [{}, {"activation_memory_budget": 0.4}, {"recompute_views": True}, {"profile": "plain"}, {"explain": "full"}, {"explain": "none"},
           {"max_dist_from_bw": 3}, {"memory_limit_bytes": 4000}, {"aggressive_recomputation": True}]


def random_tags(r, document):
    names = [d["name"] for d in document["nodes"] if d["op"] == "call_function" or r.random() < 0.1]
    return {n: r.choice([None, r.choice(["must_save", "must_recompute"]), r.choice(generate.POLICIES),
                         [r.choice(generate.POLICIES), r.choice([None, 1, 7])]])
            for n in r.sample(names, min(len(names), r.choice([1, 2, 5, 9])))}


def random_change(r, document):
    change = {"tags": random_tags(r, document)} if r.random() < 0.8 else {}
    if r.random() < 0.4 or not change:
        change["options"] = r.choice(OPTIONS)
    return change


class WhatIf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.asker, cls.stats = whatif.Asker().__enter__(), collections.Counter()

    @classmethod
    def tearDownClass(cls):
        cls.asker.__exit__()

    def plan(self, body):
        return self.asker.ask("plan", body)

    def check_diff(self, diff, before, after, names):
        """`names`: in the order of the moves."""
        self.assertEqual(whatif.as_sets(diff), whatif.difference(before, after))
        order = [m["node"] for m in diff["moves"]]
        self.assertEqual(order, [n for n in names if n in set(order)])
        for m in diff["moves"]:
            self.assertGreater(len(m["why"]), 10)

    def check_reasons(self, diff, body, other):
        """`other` is of the same graph but for tags."""
        full = [self.plan({**b, "options": {**b.get("options", {}), "explain": "full"}})["doc"] for b in (body, other)]
        reasons = whatif.Reasons(body["graph"], *full)
        for m in diff["moves"]:
            is_so, kind = reasons.is_so(m)
            self.assertTrue(is_so, m)
            self.stats[f"why: {kind[:40]}"] += 1

    def check_what_if(self, body, change):
        before, after = self.plan(body), self.plan(whatif.changed(body, change))
        got = self.asker.ask("what-if", {"base": body, "what_if": change})
        if "problem" in before or "problem" in after:
            self.assertIn("problem", got)
            self.stats["problem"] += 1
            return
        self.assertNotIn("problem", got)
        self.assertEqual((got["result"], got["outcome"], got["digest"]), (after["result"], after["outcome"], after["digest"]))
        head = '{"schema":"remat/what-if/v1","plan":' + after["body"].rstrip("\n") + ',"before":'
        self.assertEqual(got["body"][:len(head)], head)  # byte for byte
        self.assertEqual(got["doc"]["before"], {"outcome": before["outcome"], "digest": before["digest"]})
        if before["outcome"] == after["outcome"] == "plan":
            self.check_diff(got["doc"]["diff"], before["doc"], after["doc"], [d["name"] for d in body["graph"]["nodes"]])
            self.stats["moves"] += bool(got["doc"]["diff"]["moves"])
            self.check_reasons(got["doc"]["diff"], body, whatif.changed(body, change))
        else:
            self.assertIsNone(got["doc"]["diff"])
        self.stats[f"{before['outcome']} to {after['outcome']}"] += 1

    def check_users(self, body, node):
        full = self.plan({**body, "options": {**body.get("options", {}), "explain": "full"}})["doc"]
        reasons, places = whatif.Reasons(body["graph"], full, full), whatif.places(full)
        name, runs = node["node"], reasons.runs[0]
        want = [{"node": u, "backward": u in runs or {u} == reasons.output and name in reasons.returned, "state": places.get(u, "neither")}
                for u, read in reasons.inputs.items() if name in read]
        self.assertEqual(node["users"], want)
        self.assertEqual(set(node["inputs"]), reasons.inputs[name])
        if node["why"] == "is computed by the backward alone":
            self.assertTrue(name in runs and node["state"] == "neither" and not node["class"]["bw"])
        elif node["why"].startswith("is needed by the") or node["why"] == "is needed by neither half":
            self.assertNotIn(name, runs)

    def check_node(self, body, name):
        got, before = self.asker.ask("node", body, name=name), self.plan(body)
        if "problem" in before:
            self.assertIn("problem", got)
            return
        self.assertEqual((got["outcome"], got["digest"], got["doc"]["outcome"]), (before["outcome"], before["digest"], before["outcome"]))
        node = got["doc"]
        self.assertTrue((node["why"] + "".join(c.get("note", "") for c in node["choices"])).isprintable())
        self.assertEqual((node["node"], node["digest"]), (name, before["digest"]))
        if before["outcome"] == "plan":
            self.assertEqual(node["state"], whatif.places(before["doc"]).get(name, "neither"))
            self.check_users(body, node)
        for choice in node["choices"]:
            other = self.plan({**body, "graph": whatif.tagged(body["graph"], name, choice["choice"])})
            self.stats[f"{choice['choice']} gives {other.get('outcome', 'problem')}"] += 1
            if "problem" in other:
                self.assertIsNone(choice["outcome"])
                continue
            self.assertEqual(choice["outcome"], other["outcome"])
            if before["outcome"] != "plan" or other["outcome"] != "plan":
                self.assertIsNone(choice["diff"])
                self.assertTrue(other["outcome"] == "plan" or choice["note"])
                continue
            self.check_diff(choice["diff"], before["doc"], other["doc"], [d["name"] for d in body["graph"]["nodes"]])
            self.check_reasons(choice["diff"], body, {**body, "graph": whatif.tagged(body["graph"], name, choice["choice"])})
            wanted = {"must_save": "saved", "must_recompute": "recomputed"}[choice["choice"]]
            self.assertTrue(whatif.places(other["doc"]).get(name) == wanted or choice["note"])

    def check_two(self, body, change, r):
        """Two documents: some nodes have other names in the second, others other places."""
        other = whatif.changed(body, change)
        before, after = self.plan(body), self.plan(other)
        got = self.asker.ask("diff", body, other=other)
        if "problem" in before or "problem" in after:
            self.assertIn("problem", got)
            return
        self.assertEqual(got["doc"]["only_before"] + got["doc"]["only_after"], [])
        self.assertEqual([got["doc"]["before"], got["doc"]["after"]],
                         [{"outcome": p["outcome"], "digest": p["digest"]} for p in (before, after)])
        if before["outcome"] == after["outcome"] == "plan":
            self.check_diff(got["doc"]["diff"], before["doc"], after["doc"], [d["name"] for d in body["graph"]["nodes"]])
        else:
            self.assertIsNone(got["doc"]["diff"])

    def test_random_graphs(self):
        for seed in range(FIRST, FIRST + N_GRAPHS):
            r = random.Random(f"what if {seed}")
            document, options = generate.graph(seed)
            names = [d["name"] for d in document["nodes"]]
            passes = r.choice([None, [{"pass": "repair_tags"}], [whatif.set_tags(random_tags(r, document))]])
            body, change = whatif.request(document, options, passes), random_change(r, document)
            with self.subTest(seed=seed, change=change):
                self.check_what_if(body, change)
                self.check_two(body, change, r)
                for name in r.sample(names, min(3, len(names))):
                    if passes is None:
                        self.check_node(body, name)
        print({k: self.stats[k] for k in sorted(self.stats)})
        self.assertGreater(self.stats["moves"], N_GRAPHS // 10)


if __name__ == "__main__":
    unittest.main()
