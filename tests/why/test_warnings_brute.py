"""Two warnings against brute force: second runs of small graphs carried out by hand, and all minimum cuts of small graphs."""
# variants: asan
import collections
import itertools
import os
import sys
import unittest

import engine
import second_runs

sys.path.append(os.path.join(engine.ROOT, "tests", "diff"))
import brute  # noqa: E402

SEED = int(os.environ.get("REMAT_SEED", "1"))
N = {"quick": 400, "full": 4000, "torture": 40000}[engine.LEVEL]


class SecondRuns(unittest.TestCase):
    """An operator whose first cause of reading other data is a write is warned of, and no operator that reads the same."""

    def test_every_changed_storage_is_found(self):
        counts = collections.Counter()
        with engine.Planner() as planner:
            for seed in range(SEED * 1000000, SEED * 1000000 + N):
                document, root = second_runs.small(seed)
                plan = planner.ask(document).doc
                if plan.get("outcome") != "plan":
                    counts[plan.get("outcome", "problem")] += 1
                    continue
                differ = second_runs.differing(document, root, plan["saved"], set(plan["recomputed"]))
                said = {d["node"] for d in plan["diagnostics"] if d["code"] == "mutated-storage-reread" and "node" in d}
                with self.subTest(seed=seed):
                    self.check(document, plan, differ, said)
                counts["differ" if differ else "same"] += 1
        print(dict(counts))
        self.assertGreater(counts["differ"], N // 20)
        self.assertGreater(counts["same"], N // 20)

    def check(self, document, plan, differ, said):
        nodes = {n["name"]: n for n in document["nodes"]}
        if not differ:
            self.assertEqual(said, set(), "warned of an operator that reads the same")
            return
        # what is wrong only because its input is wrong is not named: the first of them has to be
        first = min(differ, key=list(nodes).index)
        self.assertIn(first, said)


class Ties(unittest.TestCase):
    """A remark where, and only where, some other minimum set saves tensors of a cost that this one does not."""

    @staticmethod
    def minimum_sets(problem):
        finite = [i for i, w in problem.weights.items() if 0 < w != brute.INF]
        free = {i for i, w in problem.weights.items() if w == 0}
        best, sets = brute.INF, []
        for n in range(len(finite) + 1):
            for chosen in itertools.combinations(finite, n):
                value = sum(problem.weights[i] for i in chosen)
                if value > best or problem.reaching({*chosen, *free}) & problem.sources:
                    continue
                if value < best:
                    best, sets = value, []
                sets.append(set(chosen))
        return sets

    def test_ties(self):
        counts = collections.Counter()
        with engine.Planner() as planner:
            for seed in range(SEED * 1000000, SEED * 1000000 + N):
                document, options = brute.small(seed)
                plan = planner.ask(document, options).doc
                if plan.get("outcome") != "plan" or not plan["cuts"] or plan["cut"]["value"] == 0:
                    continue
                problem = brute.Problem(document, options)
                expected = self.is_tied(problem, plan)
                got = any(d["code"] == "tied-cut" for d in plan["diagnostics"])
                with self.subTest(seed=seed):
                    self.assertEqual(got, expected)
                counts["tied" if expected else "alone"] += 1
        print(dict(counts))
        self.assertGreater(counts["tied"], N // 50)
        self.assertGreater(counts["alone"], N // 10)

    def is_tied(self, problem, plan):
        names = [d["name"] for d in problem.nodes]
        ours = {names.index(n) for n in plan["cut"]["nodes"] if problem.weights[names.index(n)] > 0}
        sets = self.minimum_sets(problem)
        self.assertIn(ours, sets)
        root = self.roots(problem)
        saved = {names.index(n) for n in plan["saved"] + plan["saved_opaque"]}

        def tensors(chosen):
            return {i for i in chosen if "dtype" in problem.nodes[i]["val"]}
        ours_roots = {root[i] for i in tensors(ours)}
        for other in sets:
            theirs = {root[i] for i in tensors(other)}
            if theirs - ours_roots and any(root[i] not in theirs for i in tensors(ours) & saved):
                return True
        return False

    @staticmethod
    def roots(problem):
        """By whose storage: a view has that of the first tensor it reads."""
        root = {}
        for i, d in enumerate(problem.nodes):
            at = {n["name"]: k for k, n in enumerate(problem.nodes)}
            first = [at[a[1:]] for a in d.get("args", ()) if a][:1]
            view = d["target"] == "aten.view.default" and "dtype" in d["val"] and first and "dtype" in problem.nodes[first[0]]["val"]
            root[i] = root[first[0]] if view else i
        return root


if __name__ == "__main__":
    unittest.main()
