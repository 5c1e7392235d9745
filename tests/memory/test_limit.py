"""memory_limit_bytes: never over a limit that a budget's plan keeps, never more work than it; on small graphs against every set."""
# level: quick
# variants: asan
import collections
import json
import unittest

import memory
from exhaustive import Exhaustive, SmallGraph, chain_with_work, limits_between, peak_of

import data
import engine
import generate
import simulator

generate.use_table(simulator.TABLE)
BUDGETS = [{"activation_memory_budget": i / 20} for i in range(21)]
SMALL = ["batchnorm", "dropout", "dropout_ac", "moe", "lstm_12", "resnet18"]
SLOW = 6 if "asan" in engine.BUILD else 1  # how much less a sanitized build is asked
N_LIMITS = 4 if SLOW > 1 else {"quick": 4, "full": 10, "torture": 10}[engine.LEVEL]
CHAIN_LENGTHS = (8,) if SLOW > 1 else (8, 16)
N_SMALL = {"quick": 60, "full": 150, "torture": 2000}[engine.LEVEL] // SLOW
# 200: 800 limits and 4,200 budgets, and the real graphs and all sets of small ones are the sharper tests.
N_RANDOM = {"quick": 60, "full": 200, "torture": 10000}[engine.LEVEL] // SLOW


def plans(answers):
    return [a for a in answers if a.get("outcome") == "plan"]


class Limits(unittest.TestCase):
    def check_limits(self, core, graph, n_limits, name):
        """Limits from the floor to the most that a budget's plan takes; how many of them budgets keep, and are bettered."""
        text, seen = json.dumps({k: v for k, v in graph.items() if k not in ("options", "passes")}), collections.Counter()
        budgets = plans(core.ask_text(text, *BUDGETS))
        low, = core.ask_text(text, {"memory_limit_bytes": 0})
        if not budgets:
            return seen  # PyTorch's cuts have no plan; another set of saved values may have one
        self.assertEqual(low.get("outcome"), "plan", name)
        floor, lowest = low["limit"]["floor_bytes"], min(map(peak_of, budgets))
        self.assertLessEqual(floor, peak_of(low), name)
        self.assertLessEqual(peak_of(low), lowest, name)
        for limit in limits_between(floor, max(map(peak_of, budgets)), n_limits):
            answer, = core.ask_text(text, {"memory_limit_bytes": limit})
            report, fit = answer["limit"], [b["recomputed_flops"] for b in budgets if peak_of(b) <= limit]
            seen["limits"] += 1
            seen["met"] += report["is_met"]
            seen["kept by a budget"] += bool(fit)
            self.assertEqual(report["is_met"], peak_of(answer) <= limit, (name, limit))
            self.assertLessEqual(report["floor_bytes"], peak_of(answer), (name, limit))
            self.assertLessEqual(report["floor_bytes"], peak_of(low), (name, limit))
            codes = [d["code"] for d in answer["diagnostics"]]
            self.assertEqual("limit-below-floor" in codes, not report["is_met"], (name, limit))
            if fit:
                self.assertTrue(report["is_met"], (name, limit))
                self.assertLessEqual(answer["recomputed_flops"], min(fit), (name, limit))
                seen["less work"] += answer["recomputed_flops"] < min(fit)
            if report["is_met"]:
                self.assertLessEqual(report["flops_bound"], answer["recomputed_flops"], (name, limit))
                if report["is_optimal"]:
                    self.assertEqual(report["flops_bound"], answer["recomputed_flops"], (name, limit))
        return seen

    def test_corpus(self):
        names = SMALL[:2] if SLOW > 1 else SMALL if engine.LEVEL == "quick" else data.corpus_names()
        seen = collections.Counter()
        with memory.Engine() as core:
            for name in names:
                seen += self.check_limits(core, json.loads(data.corpus_graph_text(name)), N_LIMITS, name)
        self.assertGreaterEqual(seen["limits"], N_LIMITS * (len(names) - 4))
        self.assertGreaterEqual(seen["met"], seen["kept by a budget"], seen)
        self.assertGreater(seen["less work"], 0, seen)

    def test_random_graphs(self):
        seen = collections.Counter()
        with memory.Engine() as core:
            for seed in range(1, N_RANDOM + 1):
                graph, _ = generate.graph(seed)
                seen += self.check_limits(core, graph, 4, seed)
        self.assertGreater(seen["limits"], N_RANDOM)
        self.assertGreater(seen["kept by a budget"], N_RANDOM)

    def test_the_same_answer_each_time(self):
        graph = json.loads(data.corpus_graph_text("lstm_12"))
        with memory.Engine() as core:
            high = peak_of(core.ask(graph, {})[0])
            ask = {"memory_limit_bytes": high * 3 // 4}
            answers = [core.ask(graph, ask, ask) for _ in range(2)]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual({**answers[0][0], "steps": 0}, {**answers[0][1], "steps": 0})


class AgainstAllSets(unittest.TestCase):
    def test_small_graphs(self):
        """At every limit where the best plan changes: the same least work (within 5 %), and the same verdict on whether there is one."""
        seen = collections.Counter()
        with memory.Engine() as core:
            for seed in range(1, N_SMALL + 1):
                graph = SmallGraph(seed).document()
                all_sets = Exhaustive(graph)
                if not all_sets.points:
                    continue
                peaks = sorted({peak for peak, _ in all_sets.points})
                limits = [peaks[0] - 1] + peaks[::max(1, len(peaks) // 6)] + [peaks[-1]]
                for limit, answer in zip(limits, core.ask(graph, *[{"memory_limit_bytes": n} for n in limits])):
                    if answer.get("outcome") != "plan":
                        seen["no plan"] += 1
                        continue
                    best = all_sets.best(limit)
                    seen["limits"] += 1
                    seen["proven"] += answer["limit"]["is_optimal"]
                    self.assertLessEqual(answer["limit"]["floor_bytes"], all_sets.lowest(), seed)
                    if limit < peaks[0]:
                        self.assertFalse(answer["limit"]["is_met"], seed)
                        self.assertEqual(peak_of(answer), peaks[0], seed)
                        continue
                    self.assertTrue(answer["limit"]["is_met"], (seed, limit))
                    self.assertLessEqual(answer["recomputed_flops"], best * 1.05, (seed, limit))
                    self.assertGreaterEqual(answer["recomputed_flops"], best, (seed, limit))
                    self.assertLessEqual(answer["limit"]["flops_bound"], best, (seed, limit))
                    seen["some work"] += best > 0
        self.assertGreater(seen["limits"], 4 * N_SMALL)
        self.assertGreater(seen["some work"], N_SMALL // 2, seen)


class BlockChains(unittest.TestCase):
    def test_every_limit_of_a_short_chain(self):
        """Three blocks, every set of saved values."""
        graph, scale = chain_with_work(3)
        all_sets = Exhaustive(graph)
        low, high = all_sets.lowest() // scale, max(peak for peak, _ in all_sets.points) // scale
        with memory.Engine() as core:
            for limit in range(low, high + 1):
                answer, = core.ask(graph, {"memory_limit_bytes": limit * scale})
                self.assertLessEqual(peak_of(answer), limit * scale)
                self.assertLessEqual(answer["recomputed_flops"], 1.05 * all_sets.best(limit * scale), limit)

    def test_never_more_work_than_the_plans_by_hand(self):
        """All a; a and d; a and x; x only: each is met at its own peak with no more work than it has."""
        with memory.Engine() as core:
            for n_blocks in CHAIN_LENGTHS:
                graph, scale = chain_with_work(n_blocks)
                for letters, *_ in memory.CHAINS:
                    by_hand, = core.ask(tagged(graph, letters), {})
                    limit = peak_of(by_hand)
                    answer, = core.ask(graph, {"memory_limit_bytes": limit})
                    self.assertLessEqual(peak_of(answer), limit, (letters, n_blocks))
                    self.assertLessEqual(answer["recomputed_flops"], by_hand["recomputed_flops"], (letters, n_blocks))

    def test_the_lowest_peak_saves_the_block_inputs(self):
        """x only: n + 10 with the forward's last operators; nothing is lower."""
        with memory.Engine() as core:
            for n_blocks in CHAIN_LENGTHS:
                graph, scale = chain_with_work(n_blocks)
                answer, = core.ask(graph, {"memory_limit_bytes": 1})
                self.assertLessEqual(peak_of(answer), (n_blocks + 10) * scale)
                self.assertIn("limit-below-floor", [d["code"] for d in answer["diagnostics"]])


def tagged(graph, letters):
    nodes = []
    for d in graph["nodes"]:
        letter = d["name"][0]
        if d["op"] == "call_function" and letter in "xaud" and d["name"] != graph["nodes"][-1]["args"][0][1:]:
            d = {**d, "recompute": "must_save" if letter in letters else "must_recompute"}
        nodes.append(d)
    return {**graph, "nodes": nodes}


class Rules(unittest.TestCase):
    def test_what_may_not_be_computed_twice_never_is(self):
        """must_save, random and seeded operators, and no_recompute, at the lowest peak there is."""
        n = 0
        with memory.Engine() as core:
            for seed in range(1, 200 // SLOW):
                graph = SmallGraph(seed).document()
                fixed = {d["name"] for d in graph["nodes"] if d.get("recompute") == "must_save" or d.get("traits")}
                fixed -= {d["name"] for d in graph["nodes"] if d["target"] in ("aten.view.default", "getitem")}
                for answer in plans(core.ask(graph, {"memory_limit_bytes": 0}, {"memory_limit_bytes": 0, "compat": True})):
                    self.assertFalse(fixed & set(answer["recomputed"]), seed)
                    n += bool(fixed)
        self.assertGreater(n, 50 // SLOW)

    def test_a_graph_without_a_backward(self):
        graph = {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": [
            memory.node("x", "placeholder", "primals_1", [], 8), memory.node("y", "call_function", "aten.sin.default", ["%x"], 8),
            {"name": "output", "op": "output", "target": "output", "args": ["%y"]}]}
        with memory.Engine() as core:
            kept, missed = core.ask(graph, {"memory_limit_bytes": 16}, {"memory_limit_bytes": 15})
        self.assertTrue(kept["limit"]["is_met"])
        self.assertEqual(kept["diagnostics"], [])
        self.assertEqual(missed["diagnostics"][0]["floor"], 16)

    def test_a_limit_never_reads_the_budget(self):
        graph = json.loads(data.corpus_graph_text("dropout"))
        with memory.Engine() as core:
            limit = peak_of(core.ask(graph, {})[0]) * 3 // 4
            a, b = core.ask(graph, {"memory_limit_bytes": limit}, {"memory_limit_bytes": limit, "activation_memory_budget": 0.1})
        self.assertEqual((a["saved"], a["recomputed"]), (b["saved"], b["recomputed"]))

    def test_a_step_limit_ends_the_search_not_the_answer(self):
        """With few steps for the job the plan is worse, but there is one."""
        graph = json.loads(data.corpus_graph_text("lstm_12"))
        with memory.Engine() as core:
            high = peak_of(core.ask(graph, {})[0])
            free, = core.ask(graph, {"memory_limit_bytes": high // 2})
            tight, = core.ask(graph, {"memory_limit_bytes": high // 2}, max_steps=free["steps"] // 2)
        self.assertEqual(tight.get("outcome"), "plan", tight)
        self.assertLess(tight["steps"], free["steps"])


if __name__ == "__main__":
    unittest.main()
