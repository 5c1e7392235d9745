"""Random graphs against the oracle, and how often each rule decided something.

10,000 graphs in a full run, 400 in a quick one. REMAT_SEED is the first seed, REMAT_GRAPHS how many; a failing graph is made small
and written to build/failures.
"""
# level: quick
# alone
import collections
import json
import multiprocessing
import os
import time
import unittest

import reference

import engine
import generate
import oracle
import shrink

COUNTS = {"quick": 400, "full": 10000, "torture": 200000}
N_GRAPHS = int(os.environ.get("REMAT_GRAPHS", COUNTS[engine.LEVEL]))
FIRST = int(os.environ.get("REMAT_SEED", time.time() if engine.LEVEL == "torture" else 1))
CHUNK = 100
# Every one of these must have decided something 100 times in 10,000 graphs.
RULES = [
    "2.1 hook", "2.1 later region", "2.2", "2.3", "2.4", "3.5a", "3.5b", "3.5b view", "5.1 cat", "5.1 mutated argument",
    "5.1 cloned argument", "5.1 kernel result", "5.2 view", "5.2 wants recompute", "5.2 float", "ban: primal input",
    "ban: forward RNG seed", "ban: marked MUST_SAVE", "ban: may not be computed twice", "5.3b", "5.3c",
    "ban: not in recomputable allowlist", "ban: random op", "ban: compute intensive op", "ban: non-builtin op",
    "ban: materialized in backward", "ban: too far from backward", "ban: reduction op", "ban: used far apart", "ban: long chain",
    "6.5 symbol 1", "6.5 symbol 4", "6.5 no tensor", "6.5 opaque", "6.5 static", "6.5 plain", "6.5 view", "6.5 distance",
    "6.5 doubled", "9.2 no user", "9.2 dead wait", "9.2 backward state", "9.3", "9.4 order", "9.4 script object",
]


def one(planner, seed, stats):
    document, options = generate.graph(seed)
    want = reference.expected(document, options)
    stats["graphs"] += 1
    stats["nodes"] += len(document["nodes"])
    if want is not None:
        stats["outcome " + want.get("error", "plan")] += 1
        stats["cut above 0"] += bool(want["cuts"] and want["cuts"][-1].get("value", 0) > 0)
        stats[f"budget, {len(want['cuts'])} cuts"] += "compat" in options
    return reference.differences(planner.ask(document, options), want)


def chunk(first):
    """A worker's share: (statistics, rule counts, failures)."""
    generate.use_table(reference.TABLE)
    oracle.HITS.clear()
    stats, failures = collections.Counter(), []
    with engine.Planner() as planner:
        for seed in range(first, min(first + CHUNK, FIRST + N_GRAPHS)):
            try:
                found = one(planner, seed, stats)
            except engine.EngineDied as e:
                found = [str(e)]
            if found:
                failures.append((seed, found))
    return stats, collections.Counter(oracle.HITS), failures


def fails(document, options):
    with engine.Planner(timeout_s=20) as planner:
        try:
            return reference.differences(planner.ask(document, options), reference.expected(document, options))
        except engine.EngineDied as e:
            return [str(e)]


def keep(seed):
    """Shrinks a failing graph and says where it lies."""
    generate.use_table(reference.TABLE)
    document, options = shrink.shrink(*generate.graph(seed), fails)
    folder = os.path.join(engine.ROOT, "build", "failures")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"random-{seed}.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"graph": document, "options": options}, f, indent=1)
    return f"{path} ({len(document['nodes'])} nodes): {fails(document, options)[:2]}"


class Random(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stats, cls.hits, cls.failures = collections.Counter(), collections.Counter(), []
        with multiprocessing.Pool(2) as pool:
            for stats, hits, failures in pool.imap_unordered(chunk, range(FIRST, FIRST + N_GRAPHS, CHUNK)):
                cls.stats += stats
                cls.hits += hits
                cls.failures += failures

    def test_decisions_equal_the_oracle(self):
        self.assertEqual(self.stats["graphs"], N_GRAPHS)
        if self.failures:
            seeds = sorted(seed for seed, _ in self.failures)
            texts = [f"seed {seed}: {found[:2]}" for seed, found in sorted(self.failures)[:5]]
            self.fail(f"{len(seeds)} of {N_GRAPHS} graphs differ, seeds {seeds[:20]}\n" + "\n".join(texts) +
                      "\nsmaller: " + "\n".join(keep(seed) for seed in seeds[:2]))

    def test_half_the_graphs_have_a_cut_above_zero(self):
        self.assertGreaterEqual(2 * self.stats["cut above 0"], self.stats["graphs"])
        print({k: self.stats[k] for k in sorted(self.stats)})

    def test_every_rule_decided_something(self):
        wanted = min(100, N_GRAPHS // 200)  # a small sample: some of each
        print("how often each rule decided something:")
        print("; ".join(f"{rule} {self.hits[rule]}" for rule in RULES))
        self.assertEqual([rule for rule in RULES if self.hits[rule] < wanted], [])


if __name__ == "__main__":
    unittest.main()
