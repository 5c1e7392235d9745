"""Real graphs: every recorded tagging is reproduced, selective checkpointing is re-applied, the seed's fault is repaired."""
# level: quick
# variants: asan
import collections
import random
import unittest

import tagging
import test_passes_random

import data
import engine

SAC = {"llama_2l_sac": ["aten.mm.default", tagging.ATTENTION], "llama_2l_sac_attn": [tagging.ATTENTION], "llama_2l_full_ac": None}


def renumbered(tags):
    """The tags with regions 0, 1, … in the order of their numbers."""
    regions = sorted({g for _, g in tags.values() if g is not None})
    return {name: [policy, None if g is None else regions.index(g)] for name, (policy, g) in tags.items()}


def sac_pass(save):
    out = {"pass": "sac_policy", "otherwise": "prefer_recompute", "modules": "blocks.*"}
    return {**out, "save": save} if save else out


def plan(planner, graph):
    answer = planner.ask(graph, {"explain": "none"})
    return {k: answer.doc[k] for k in ("outcome", "saved", "saved_sym", "recomputed", "cut") if k in answer.doc}


class Corpus(unittest.TestCase):
    def test_recorded_tags_are_reproduced(self):
        files = list(tagging.tag_files())
        self.assertGreaterEqual(len(files), 12)
        with tagging.Tagger() as tagger:
            for name, want in files:
                graph = tagging.corpus_graph(want["of"])
                with self.subTest(name):
                    answer = tagger.ask(graph, want["passes"])
                    self.assertEqual(answer["tags"], want["tags"])
                    self.assertEqual(tagging.tags_of(tagging.corpus_graph(name)), want["tags"])
                    self.assertEqual(len(answer["passes"]), len(want["passes"]))

    def test_selective_checkpointing_is_re_applied(self):
        with tagging.Tagger() as tagger, engine.Planner() as planner:
            for name, save in SAC.items():
                graph = tagging.corpus_graph(name)
                want = {d["name"]: [d["recompute"], d["ac_graph_id"]] for d in graph["nodes"]
                        if "recompute" in d and ("module" in d or d["target"] == "getitem")}
                everywhere = tagging.tags_of(graph) == want
                with self.subTest(name):
                    got = tagger.tags(tagging.with_tags(graph, {}), sac_pass(save))
                    self.assertGreater(len(want), 100)
                    self.assertEqual(renumbered(got), renumbered(want))
                    self.assertTrue(everywhere)
                    self.assertEqual(plan(planner, tagging.with_tags(graph, got)), plan(planner, graph))

    def test_tags_apart_from_their_source_are_repaired(self):
        names = [n for n in data.corpus_names() if "naive_getitem" in n]
        self.assertGreaterEqual(len(names), 2)
        with tagging.Tagger() as tagger, engine.Planner() as planner:
            for name in names:
                graph = tagging.corpus_graph(name)
                by = {d["name"]: d for d in graph["nodes"]}
                with self.subTest(name):
                    answer = tagger.ask(graph, [{"pass": "repair_tags"}, {"pass": "repair_tags"}])
                    first, second = (report["changes"] for report in answer["passes"])
                    self.assertTrue(first)
                    self.assertEqual({by[n]["target"] for n, _, _ in first}, {"getitem"})
                    self.assertEqual({after for _, _, after in first}, {None})
                    self.assertEqual(second, [])
                    self.assertEqual(planner.ask(graph).doc["outcome"], "infinite_flow")
                    self.assertEqual(planner.ask(tagging.with_tags(graph, answer["tags"])).doc["outcome"], "plan")

    def test_repair_changes_no_plan_that_there_is(self):
        """Dropped are only tags that do nothing, or that leave no plan."""
        with tagging.Tagger() as tagger, engine.Planner() as planner:
            n_changed = 0
            for name in data.corpus_names():
                graph = tagging.corpus_graph(name)
                answer = tagger.ask(graph, [{"pass": "repair_tags"}])
                if not answer["passes"][0]["changes"] or "naive_getitem" in name:
                    continue
                n_changed += 1
                with self.subTest(name):
                    self.assertEqual(plan(planner, tagging.with_tags(graph, answer["tags"])), plan(planner, graph))
            self.assertGreater(n_changed, 2)

    def test_reports_are_the_difference(self):
        passes = [{"pass": "fsdp_all_gather", "reshard_after_forward": True}, sac_pass(SAC["llama_2l_sac"]),
                  {"pass": "autoparallel", "stage_size_gib": "auto"}, {"pass": "repair_tags"}]
        with tagging.Tagger() as tagger:
            for name in ("ap_llama2l_1d_noac_s1_before", "llama_2l", "ap_dsv3_2l_s1_before"):
                graph = tagging.corpus_graph(name)
                answer = tagger.ask(graph, passes)
                before = tagging.tags_of(graph)
                for p, report in zip(passes, answer["passes"]):
                    after = tagging.reference(tagging.with_tags(graph, before), p)
                    with self.subTest(name=name, p=p["pass"]):
                        self.assertEqual(report["changes"], tagging.changes_between(graph, before, after))
                    before = after
                self.assertEqual(answer["tags"], before)

    def test_passes_one_after_the_other(self):
        """Random ones on every graph, with `every`, patterns that match nothing and passes that overlap, against the references."""
        seen = collections.Counter()
        with tagging.Tagger() as tagger:
            for name in data.corpus_names():
                for turn in range(engine.at_level(quick=1, full=5, torture=100)):
                    r = random.Random(f"{name} {turn}")
                    graph = tagging.corpus_graph(name)
                    if r.random() < 0.4:
                        graph = tagging.with_tags(graph, {})
                    passes = [tagging.random_pass(r, graph) for _ in range(r.randint(2, 4))]
                    with self.subTest(name=name, turn=turn):
                        self.assertEqual(test_passes_random.check(tagger, graph, passes, seen), [])
                    seen["every"] += any(isinstance(entry, dict) and entry["every"] > 1 for p in passes for entry in p.get("save", ()))
        for what in ("every", "pass-matched-nothing", "sac_policy changed something", "autoparallel changed something"):
            self.assertGreater(seen[what], 5, seen)

    def test_nothing_gathered_is_saved_under_another_name(self):
        """With reshard, whatever is reached from a gather by nodes of one input is computed again, views and casts included."""
        graph = tagging.corpus_graph("ap_llama2l_1d_noac_s1_before")
        passes = [{"pass": "fsdp_all_gather", "reshard_after_forward": True}, {"pass": "autoparallel", "stage_size_gib": "auto"}]
        with tagging.Tagger() as tagger, engine.Planner() as planner:
            tags = tagger.tags(graph, *passes)
            saved = set(planner.ask(tagging.with_tags(graph, tags)).doc["saved"])
        gathered = {n for n, (policy, g) in tags.items() if policy == "must_recompute"}
        self.assertGreater(len(gathered), 40)
        self.assertEqual(saved & gathered, set())


if __name__ == "__main__":
    unittest.main()
