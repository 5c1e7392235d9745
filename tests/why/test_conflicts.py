"""All conflicts of small random graphs, against a largest set of disjoint paths found by other means.

Also over the corpus and the cases: outcome and nodes. REMAT_SEED is the first seed.
"""
# variants: asan
import collections
import os
import unittest

import tangles

import compare
import data
import engine
import generate
import reference

N_GRAPHS = int(os.environ.get("REMAT_GRAPHS", engine.at_level(quick=400, full=2000, torture=40000)))
FIRST = int(os.environ.get("REMAT_SEED", 1))


def conflicts(plan):
    """The paths of all conflicts, as vertices, then PyTorch's own where it is told apart."""
    paths = {"infinite-flow": [], "pytorch-path": []}
    for d in plan["diagnostics"]:
        if d["code"] in paths:
            paths[d["code"]].append([f"{s['node']}_{s['side']}" for s in d["path"] if s["node"] is not None])
    return paths["infinite-flow"], paths["pytorch-path"]


def nodes(path):
    return list(dict.fromkeys(v.rsplit("_", 1)[0] for v in path))


class Conflicts(unittest.TestCase):
    def check(self, document, options, answer, seen):
        """The conflicts of an answer against the network of the oracle."""
        net = tangles.network(document, options)
        self.assertEqual(answer.doc["outcome"] == "infinite_flow", net is not None)
        if net is None:
            return
        paths, reported = conflicts(answer.doc)
        taken = [n for path in paths for n in nodes(path)]
        self.assertEqual(len(taken), len(set(taken)), "two conflicts share a node")
        for path in paths:
            steps = ["source"] + path + ["sink"]
            for u, v in zip(steps, steps[1:]):
                self.assertEqual(net[u].get(v), tangles.INF, f"{u} to {v}")
        number, length = tangles.most_disjoint(net)
        self.assertEqual(len(paths), number)
        order = [d["name"] for d in document["nodes"]]
        keys = [(len(path), order.index(nodes(path)[0])) for path in paths]
        self.check_order(net, keys, paths, reported, number, length, options, document)
        seen["graphs"] += 1
        seen["several"] += number > 1
        seen["told apart"] += bool(reported)

    def check_order(self, net, keys, paths, reported, number, length, options, document):
        """PyTorch's path first where it belongs to a largest set, the rest shortest first and as short as possible together."""
        theirs = [v for v in reference.expected(document, options)["reference_path"].split(" -> ") if v not in ("source", "sink")]
        infinite = all(net[u].get(v) == tangles.INF for u, v in zip(["source"] + theirs, theirs + ["sink"]))
        rest = tangles.most_disjoint(net, set(nodes(theirs))) if infinite else (-1, 0)
        total = sum(len(path) for path in paths)
        if rest[0] + 1 == number:
            self.assertEqual((paths[0], reported, total), (theirs, [], rest[1] + len(theirs)))
            self.assertEqual(keys[1:], sorted(keys[1:]))
        else:
            self.assertEqual((reported, total), ([theirs], length))
            self.assertEqual(keys, sorted(keys))

    def test_tangles(self):
        seen = collections.Counter()
        with engine.Planner() as planner:
            for seed in range(FIRST, FIRST + N_GRAPHS):
                document, options = tangles.tangle(seed, (8, 30))
                with self.subTest(seed=seed):
                    self.check(document, options, planner.ask(document, options), seen)
        print(dict(seen))
        self.assertGreater(seen["graphs"], N_GRAPHS // 4)
        self.assertGreater(seen["several"], N_GRAPHS // 20)

    def test_random_graphs(self):
        generate.use_table(reference.TABLE)
        seen = collections.Counter()
        with engine.Planner() as planner:
            for seed in range(FIRST, FIRST + N_GRAPHS // 2):
                document, options = generate.graph(seed)
                answer = planner.ask(document, options)
                if answer.kind != "problem" and answer.doc["outcome"] == "infinite_flow":
                    with self.subTest(seed=seed):
                        self.check(document, options, answer, seen)
        print(dict(seen))
        self.assertGreater(seen["graphs"], N_GRAPHS // 200)

    def test_cases(self):
        n_infeasible = 0
        with engine.Planner() as planner:
            for name in data.case_names():
                want = data.case_expected(name)
                with self.subTest(case=name):
                    answer = planner.ask_text(engine.request_text(data.case_graph_text(name), want["options"]))
                    self.assertEqual(answer.doc["outcome"], want["expect"]["outcome"])
                    if "conflict" in want["expect"]:
                        n_infeasible += 1
                        self.assertEqual(set(compare.conflict_nodes(answer.doc)) & set(want["expect"]["conflict"]),
                                         set(want["expect"]["conflict"]))
        self.assertGreater(n_infeasible, 2)


if __name__ == "__main__":
    unittest.main()
