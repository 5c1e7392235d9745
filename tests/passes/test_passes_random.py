"""Random graphs and passes, one after the other, against the oracle and against plain references.

4,000 graphs in a full run, 400 in a quick one; a third are chains of gathered parameters. REMAT_SEED, REMAT_GRAPHS.
"""
# level: quick
# variants: asan
import collections
import multiprocessing
import os
import random
import time
import unittest

import tagging

import engine
import oracle

N_GRAPHS = int(os.environ.get("REMAT_GRAPHS", engine.at_level(quick=400, full=4000, torture=100000)))
FIRST = int(os.environ.get("REMAT_SEED", time.time() if engine.LEVEL == "torture" else 1))
CHUNK = 50


def case(seed):
    r = random.Random(f"passes {seed}")
    chains = seed % 3 == 0
    document = tagging.Chains(seed).document() if chains else tagging.random_document(seed)
    passes = [tagging.random_pass(r, document) for _ in range(r.choice([1, 1, 2, 3, 4]))]
    if chains and r.random() < 0.8:
        passes[0] = {"pass": "fsdp_all_gather", "reshard_after_forward": r.random() < 0.5}
    return document, passes


def without_size(document, passes, answer):
    """Is a missing size reported where, and only where, the reference misses one? Several may be missing."""
    try:
        tagging.references(document, passes)
    except oracle.PlanError:
        g = oracle.Graph(document, tagging.TABLE)
        try:
            size = g.size(g.by[answer["node"]])
        except oracle.PlanError:
            return [] if answer["status"] == "size-unknown" and answer["restored"] else [f"{answer}"[:400]]
        return [f"{answer['node']} has {size} bytes"]
    return [f"no tags: {answer}"[:400]]


def check(tagger, document, passes, stats):
    answer = tagger.ask(document, passes)
    if "tags" not in answer:
        stats["no size"] += 1
        return without_size(document, passes, answer)
    out, before = [], tagging.tags_of(document)
    try:
        want = tagging.references(document, passes)
    except IndexError:  # the oracle does not look whether a gather is used at all
        stats["unused gather"] += 1
        return []
    for p, report, after in zip(passes, answer["passes"], want):
        changes = tagging.changes_between(document, before, after)
        stats[p["pass"]] += 1
        stats[p["pass"] + " changed something"] += bool(changes)
        for d in report["diagnostics"]:
            stats[d[0]] += 1
        if report["changes"] != changes:
            extra = [c for c in report["changes"] if c not in changes]
            out.append(f"{p}: extra {extra[:4]}, missing {[c for c in changes if c not in report['changes']][:4]}")
        before = after
    if answer["tags"] != want[-1]:
        wrong = [(n, answer["tags"].get(n), want[-1].get(n)) for n in {**answer["tags"], **want[-1]}
                 if answer["tags"].get(n) != want[-1].get(n)]
        out.append(f"{passes}: (node, got, want) {wrong[:4]}")
    return out


def chunk(first):
    stats, failures = collections.Counter(), []
    with tagging.Tagger() as tagger:
        for seed in range(first, min(first + CHUNK, FIRST + N_GRAPHS)):
            found = check(tagger, *case(seed), stats)
            stats["graphs"] += 1
            if found:
                failures.append((seed, found))
    return stats, failures


class Random(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stats, cls.failures = collections.Counter(), []
        with multiprocessing.Pool(2) as pool:
            for stats, failures in pool.imap_unordered(chunk, range(FIRST, FIRST + N_GRAPHS, CHUNK)):
                cls.stats += stats
                cls.failures += failures

    def test_tags_equal_the_references(self):
        self.assertEqual(self.stats["graphs"], N_GRAPHS)
        texts = [f"seed {seed}: {found[:2]}" for seed, found in sorted(self.failures)[:5]]
        self.assertEqual(len(self.failures), 0, f"of {N_GRAPHS}\n" + "\n".join(texts))

    def test_every_pass_changed_something_often(self):
        print({k: self.stats[k] for k in sorted(self.stats)})
        for name in ("sac_policy", "stage_recomputation", "autoparallel", "fsdp_all_gather", "repair_tags", "set_tags"):
            self.assertGreater(10 * self.stats[name + " changed something"], self.stats[name], name)
            self.assertGreater(25 * self.stats[name], N_GRAPHS, name)
        for code in ("pass-node-without-module", "pass-matched-nothing", "pass-mark-skipped"):
            self.assertGreater(100 * self.stats[code], N_GRAPHS, code)
        self.assertLess(10 * (self.stats["no size"] + self.stats["unused gather"]), N_GRAPHS)


if __name__ == "__main__":
    unittest.main()
