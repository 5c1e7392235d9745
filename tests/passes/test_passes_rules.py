"""Each rule of each pass on a graph that a reader can follow, and what is refused."""
# level: quick
# variants: asan
import unittest

import tagging

T1 = {"dtype": "uint8", "shape": [1]}


def node(name, target, *args, op="call_function", size=1, **more):
    return {"name": name, "op": op, "target": target, "args": list(args), "val": {"dtype": "uint8", "shape": [size]}, **more}


def graph(*nodes, primals=1, reads=()):
    """x0, x1, … and a tangent before the nodes; the backward reads `reads`."""
    first = [node(f"x{i}", f"primals_{i + 1}", op="placeholder") for i in range(primals)]
    tangent = node("t", "tangents_1", op="placeholder")
    grads = [node(f"grad_{i}", "aten.mul.Tensor", "%t", "%" + n, partitioner_tag="is_backward") for i, n in enumerate(reads)]
    last = [d["name"] for d in nodes][-1:] or ["x0"]
    output = {"name": "output", "op": "output", "target": "output", "args": ["%" + n for n in last] + ["%" + g["name"] for g in grads]}
    return {"schema": "remat/graph/v1", "num_fwd_outputs": len(last), "nodes": first + [tangent, *nodes, *grads, output]}


def sac(save=None, otherwise="prefer_recompute", modules=None):
    p = {"pass": "sac_policy", "otherwise": otherwise}
    return {**p, **({} if save is None else {"save": save}), **({} if modules is None else {"modules": modules})}


def stage(size):
    return {"pass": "stage_recomputation", "stage_size_gib": size}


def gib(n_bytes):
    return n_bytes / 2 ** 30


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tagger = tagging.Tagger().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.tagger.__exit__()

    def tags(self, g, *passes):
        return self.tagger.tags(g, *passes)

    def notes(self, g, *passes):
        return [d for report in self.tagger.ask(g, list(passes))["passes"] for d in report["diagnostics"]]

    def refused(self, g, p, *words):
        answer = self.tagger.ask(g, [p])
        self.assertEqual(answer.get("status"), "unknown-option", answer)
        self.assertEqual(answer["cause"], "unknown-option")
        self.assertTrue(answer["restored"])
        for word in words:
            self.assertIn(word, answer["detail"])


class SacPolicy(Rules):
    def chain(self, *modules, target="aten.mm.default", tags=()):
        nodes, before = [], "%x0"
        for i, m in enumerate(modules):
            nodes.append(node(f"m{i}", target, before, **({"module": m} if m else {}), **dict(tags).get(i, {})))
            before = f"%m{i}"
        return graph(*nodes)

    def test_listed_are_saved_and_the_rest_is_otherwise(self):
        g = graph(node("a", "aten.mm.default", "%x0"), node("b", "aten.sin.default", "%a"))
        self.assertEqual(self.tags(g, sac(["aten.mm.default"])), {"a": ["must_save", 1], "b": ["prefer_recompute", 1]})
        self.assertEqual(self.tags(g, sac(otherwise="must_cpu_offload")), {"a": ["must_cpu_offload", 1], "b": ["must_cpu_offload", 1]})

    def test_placeholders_attributes_and_the_backward_get_none(self):
        g = graph(node("w", "weight", op="get_attr"), node("a", "aten.mm.default", "%x0", "%w"),
                  node("b", "aten.copy_.default", "%x0", "%a", partitioner_tag="must_be_in_backward"),
                  node("c", "aten.sin.default", "%a", partitioner_tag="must_be_in_forward"), reads=["a"])
        self.assertEqual(set(self.tags(g, sac())), {"a", "c"})

    def test_every_counts_per_region(self):
        g = self.chain(*["blocks.0"] * 3, *["blocks.1"] * 4)
        got = self.tags(g, sac([{"op": "aten.mm.default", "every": 2}], modules="blocks.*"))
        self.assertEqual([got[f"m{i}"][0] == "must_save" for i in range(7)], [True, False, True, True, False, True, False])
        got = self.tags(g, sac([{"op": "aten.mm.default", "every": 3}]))
        self.assertEqual([got[f"m{i}"][0] == "must_save" for i in range(7)], [True, False, False] * 2 + [True])

    def test_every_counts_interleaved_regions_apart(self):
        g = self.chain("b.0", "b.1", "b.0", "b.1", "b.0", "b.1")
        got = self.tags(g, sac([{"op": "aten.mm.default", "every": 2}], modules="b.*"))
        self.assertEqual([got[f"m{i}"][0] == "must_save" for i in range(6)], [True, True, False, False, True, True])

    def test_several_entries_of_an_operator_count_apart(self):
        g = self.chain(*[None] * 7)
        got = self.tags(g, sac([{"op": "aten.mm.default", "every": 2}, {"op": "aten.mm.default", "every": 3},
                                {"op": "aten.mm.default", "every": 3}]))
        self.assertEqual([i for i in range(7) if got[f"m{i}"][0] == "must_save"], [0, 2, 3, 4, 6])

    def test_tags_already_there_stay_and_count(self):
        g = self.chain(*[None] * 4, tags={0: {"recompute": "must_recompute", "ac_graph_id": 6}}.items())
        got = self.tags(g, sac([{"op": "aten.mm.default", "every": 2}]))
        self.assertEqual(got, {"m0": ["must_recompute", 6], "m1": ["prefer_recompute", 7], "m2": ["must_save", 7],
                               "m3": ["prefer_recompute", 7]})

    def test_regions_are_matches_with_their_descendants(self):
        g = self.chain("L['self'].blocks.1.attn.q", "blocks.0", "L['self'].blocks.1", "L['self']", "blocks", "head", "blocks.0.mlp")
        got = self.tags(g, sac(modules="blocks.*"))
        self.assertEqual(got, {n: ["prefer_recompute", r] for n, r in (("m0", 1), ("m1", 2), ("m2", 1), ("m6", 2))})
        self.assertEqual({n: r for n, (_, r) in self.tags(g, sac(modules="blocks")).items()},
                         {"m0": 1, "m1": 1, "m2": 1, "m4": 1, "m6": 1})
        self.assertEqual({n: r for n, (_, r) in self.tags(g, sac(modules="L['self'].blocks.*.*")).items()}, {"m0": 1, "m6": 2})

    def test_a_star_is_any_characters_of_one_component(self):
        g = self.chain("enc.layer10", "enc.layer", "enc.player1", "enc.layer1.x", "enc.lay.er")
        self.assertEqual(set(self.tags(g, sac(modules="enc.layer*"))), {"m0", "m1", "m3"})
        self.assertEqual(set(self.tags(g, sac(modules="e*c.*lay*1*"))), {"m0", "m2", "m3"})
        self.assertEqual(set(self.tags(g, sac(modules="**.layer"))), {"m1"})

    def test_regions_continue_above_those_of_the_document(self):
        g = self.chain("b.0", "b.0", "b.1", "b.2", tags={0: {"recompute": "must_save", "ac_graph_id": 41},
                                                        1: {"ac_graph_id": 77}}.items())
        self.assertEqual({n: r for n, (_, r) in self.tags(g, sac(modules="b.*")).items()}, {"m0": 41, "m1": 42, "m2": 43, "m3": 44})

    def test_the_region_of_passes_is_left_out(self):
        g = self.chain("b.0", "b.0", "b.1", tags={0: {"recompute": "must_recompute", "ac_graph_id": 100000}}.items())
        self.assertEqual([r for _, r in self.tags(g, sac(modules="b.*")).values()], [100000, 1, 2])
        g = self.chain("b.0", "b.0", "b.1", tags={0: {"recompute": "must_recompute", "ac_graph_id": 99998}}.items())
        self.assertEqual([r for _, r in self.tags(g, sac(modules="b.*")).values()], [99998, 99999, 100001])
        g = self.chain("b.0", "b.0", tags={0: {"recompute": "must_recompute", "ac_graph_id": 100001}}.items())
        self.assertEqual([r for _, r in self.tags(g, sac(modules="b.*")).values()], [100001, 100002])

    def test_a_region_number_past_the_last_is_refused(self):
        g = self.chain("b.0", "b.0", tags={0: {"recompute": "must_save", "ac_graph_id": 2 ** 63 - 2}}.items())
        answer = self.tagger.ask(g, [sac(modules="b.*")])
        self.assertEqual((answer["status"], answer["restored"]), ("invalid-graph", True))
        self.assertIn("ac_graph_id", answer["detail"])

    def test_getitem_follows_its_source(self):
        pair = {"tuple": [T1, {"tuple": [T1]}]}
        g = graph(node("a", tagging.ATTENTION, "%x0", module="b.0", val=pair), node("p", "getitem", "%a", 0, module="b.1"),
                  node("q", "getitem", "%a", 1), node("r", "getitem", "%q", 0),
                  node("s", "getitem", "%x0", 0, module="b.0"),
                  node("u", "getitem", "%a", 0, recompute="prefer_save", ac_graph_id=3),
                  node("v", "aten.topk.default", "%p", recompute="must_recompute", val=pair), node("w", "getitem", "%v", 0))
        got = self.tags(g, sac([tagging.ATTENTION], modules="b.*"))
        self.assertEqual(got, {**{n: ["must_save", 4] for n in "apqr"}, "u": ["prefer_save", 3], "v": ["must_recompute", None],
                               "w": ["must_recompute", None]})

    def test_what_matches_nothing_is_noted(self):
        g = self.chain("b.0", None, None)
        notes = self.notes(g, sac(["aten.bmm.default", "aten.mm.default", "mylib.mine.default"], modules="b.*"))
        self.assertEqual([(c, n) for c, n, _ in notes],
                         [("pass-node-without-module", "m1"), ("pass-matched-nothing", None), ("pass-matched-nothing", None)])
        self.assertIn("2 forward operator calls", notes[0][2])
        self.assertIn("aten.bmm.default", notes[1][2])
        self.assertIn("mylib.mine.default", notes[2][2])
        notes = self.notes(g, sac(modules="blocks.*"))
        self.assertEqual([c for c, _, _ in notes], ["pass-node-without-module", "pass-matched-nothing"])
        self.assertIn("`b.0`", notes[1][2])
        self.assertEqual(self.tags(g, sac(modules="blocks.*")), {})
        self.assertEqual(self.notes(g, sac()), [])

    def test_overlapping_passes_leave_what_the_first_did(self):
        g = self.chain("b.0", "b.0.attn", "b.1", "b.1.attn", None)
        got = self.tags(g, sac(["aten.mm.default"], modules="b.*.attn"), sac(modules="b.*"), sac(otherwise="prefer_save"))
        self.assertEqual(got, {"m1": ["must_save", 1], "m3": ["must_save", 2], "m0": ["prefer_recompute", 3],
                               "m2": ["prefer_recompute", 4], "m4": ["prefer_save", 5]})
        got = self.tags(g, sac(modules="b.*"), sac(["aten.mm.default"], modules="b.*.attn"))
        self.assertEqual({n: r for n, (_, r) in got.items()}, {"m0": 1, "m1": 1, "m2": 2, "m3": 2})

    def test_what_cannot_be_an_operator_is_refused(self):
        g = self.chain(None)
        for bad in ("", "mm", "aten.mm", "aten..default", ".aten.mm.default", "aten.mm.default.", "aten mm default", "aten.mm.default ",
                    "aten.nonsense.default", "aten.mm2.default", "prims.no_such.default", "aten.a.b.c"):
            self.refused(g, sac(["aten.mm.default", bad]), "save[1]", f'"{bad}"', "aten.mm.default")
        self.refused(g, sac(["getitem"]), "getitem", "source")
        self.refused(g, sac([{"op": "aten.mm.default", "every": 0}]), "every", "1 or more")
        for good in ("aten.embedding.default", "aten.topk.default", "mylib.op.default", "operator.add", "higher_order.flex_attention",
                     "_c10d_functional.reduce_scatter_tensor.default", "aten.convolution.default", "aten.sum.dim_IntList"):
            self.assertEqual([c for c, _, _ in self.notes(g, sac([good]))], ["pass-matched-nothing"], good)
        g = self.chain(None, target="aten.nonsense.default")
        self.assertEqual(self.tags(g, sac(["aten.nonsense.default"])), {"m0": ["must_save", 1]})

    def test_bad_fields_are_refused(self):
        g = self.chain("b.0")
        self.refused(g, sac(otherwise="sometimes"), "otherwise", "must_save", "prefer_cpu_offload")
        for bad in ("", ".", "b.", ".b", "b..0", "L['self']", "L['self']."):
            self.refused(g, sac(modules=bad), "modules", "blocks.*")
        self.refused(g, sac(modules="a" * 2000), "modules", "1024")
        self.refused(g, {"pass": "no_such"}, "pass")


class Staging(Rules):
    def chain(self, n, size=4, **more):
        nodes, before = [], "%x0"
        for i in range(n):
            nodes.append(node(f"m{i}", "aten.sin.default", before, size=size, **more))
            before = f"%m{i}"
        return graph(*nodes, reads=[f"m{n - 1}"])

    def saved(self, g, *passes):
        return [n for n, (policy, _) in self.tags(g, *passes).items() if policy == "must_save"]

    def test_none_stages_nothing(self):
        self.assertEqual(self.tags(self.chain(5), stage(None)), {})

    def test_what_the_backward_needs_is_recomputed(self):
        g = graph(node("a", "aten.sin.default", "%x0"), node("b", "aten.sin.default", "%a"), node("dead", "aten.sin.default", "%a"),
                  node("out", "aten.sin.default", "%b"), reads=["b"])
        self.assertEqual(self.tags(g, stage(2.0)), {"a": ["prefer_recompute", 100000], "b": ["prefer_recompute", 100000]})

    def test_stages_close_when_they_are_full(self):
        # In a chain one value is alive after each node but the last, which is nobody's: the first node of each stage is cheapest.
        self.assertEqual(self.saved(self.chain(6), stage(gib(8))), ["m0", "m2"])
        self.assertEqual(self.saved(self.chain(6), stage(gib(8.5))), ["m0"])
        self.assertEqual(self.saved(self.chain(7), stage(gib(8.5))), ["m0", "m3"])
        self.assertEqual(self.saved(self.chain(4), stage(0)), ["m0", "m1", "m2"])

    def test_auto_is_the_root_of_the_sum(self):
        g = self.chain(4, size=2 ** 30)  # sqrt(4 GiB / GiB) = 2 GiB: two stages, and nothing is alive after the last node
        self.assertEqual(self.saved(g, stage("auto")), ["m0"])
        g = self.chain(9, size=2 ** 30)
        self.assertEqual(self.saved(g, stage("auto")), ["m0", "m3"])
        g = self.chain(16, size=2 ** 30)
        self.assertEqual(self.saved(g, stage("auto")), ["m0", "m4", "m8"])

    def test_forced_nodes_count_and_keep_nothing(self):
        # m1 is passed over: m0 lives until m2 reads it, and m2 until m3.
        g = self.chain(5)
        g["nodes"][3]["recompute"] = "must_recompute"
        self.assertEqual(g["nodes"][3]["name"], "m1")
        got = self.tags(g, stage(gib(100)))
        self.assertEqual(got["m1"], ["must_recompute", None])
        self.assertEqual([n for n in got if got[n][0] == "must_save"], [])  # the cheapest point is the last node, with nothing alive
        # What is last read by a forced node stays alive for ever, so it is saved at whatever point.
        g = graph(node("a", "aten.sin.default", "%x0"), node("f", "aten.sin.default", "%a", recompute="must_recompute"),
                  node("b", "aten.sin.default", "%x0"), reads=["f", "b"])
        self.assertEqual(self.saved(g, stage(gib(100))), ["a"])

    def test_tags_of_other_regions_are_left_alone_and_noted(self):
        g = self.chain(4)
        g["nodes"][2].update(recompute="prefer_recompute", ac_graph_id=5)
        g["nodes"][3].update(recompute="prefer_recompute", ac_graph_id=100000)
        self.assertEqual(self.tags(g, stage(0)), {"m0": ["prefer_recompute", 5], "m1": ["must_save", 100000],
                                                  "m2": ["must_save", 100000], "m3": ["prefer_recompute", 100000]})
        self.assertEqual([(c, n) for c, n, _ in self.notes(g, stage(0))], [("pass-mark-skipped", "m0")])

    def test_a_getitem_ends_without_a_region_and_is_marked_once(self):
        g = graph(node("a", "aten.topk.default", "%x0", val={"tuple": [T1, T1]}), node("p", "getitem", "%a", 0),
                  node("b", "aten.sin.default", "%p"), node("c", "aten.sin.default", "%b"), reads=["b"])
        got = self.tags(g, stage(0), stage(0))
        self.assertEqual(got["p"], ["must_save", None])
        self.assertEqual(got["a"], ["must_save", 100000])

    def test_no_value_for_the_backward_is_noted(self):
        g = graph(node("a", "aten.sin.default", "%x0"))
        self.assertEqual([c for c, _, _ in self.notes(g, stage("auto"))], ["pass-matched-nothing"])

    def test_a_missing_size_is_named(self):
        g = self.chain(4)
        g["nodes"][3]["val"] = {"const": 1}
        answer = self.tagger.ask(g, [stage("auto")])
        self.assertEqual((answer["status"], answer["node"], answer["restored"]), ("size-unknown", "m1", True))

    def test_bad_stage_sizes_are_refused(self):
        for bad in (-1, -0.001, -1e300, 1e308):
            self.refused(self.chain(2), stage(bad), "stage_size_gib", "auto", "null")
            self.refused(self.chain(2), {"pass": "autoparallel", "stage_size_gib": bad}, "stage_size_gib")

    def test_autoparallel_saves_every_other_mm(self):
        nodes = [node(f"m{i}", "aten.mm.default", f"%m{i - 1}" if i else "%x0") for i in range(5)]
        nodes += [node("sdpa", tagging.ATTENTION, "%m4"), node("bmm", "aten.bmm.default", "%sdpa")]
        g = graph(*nodes, reads=["bmm"])
        p = {"pass": "autoparallel", "stage_size_gib": None}
        self.assertEqual(self.saved(g, p), ["m0", "m2", "m4", "sdpa"])
        self.assertEqual(self.saved(g, {**p, "save": ["aten.bmm.default"]}), ["bmm"])
        self.assertEqual(self.saved(g, {**p, "save": []}), [])
        notes = self.notes(g, {**p, "save": ["aten.mm.default", "aten.addmm.default"]})
        self.assertEqual([c for c, _, _ in notes], ["pass-matched-nothing"])
        self.refused(g, {**p, "save": [{"op": "aten.mm.default", "every": 3}]}, "every", "plain names")
        self.refused(g, {**p, "save": ["mm"]}, "save[0]")
        self.refused(g, {**p, "save": ["aten.mm.default", "aten.mm.tensor"]}, "save[1]", "there are: default dtype")
        self.refused(g, {**p, "save": ["c10d.allreduce.default"]}, "no operator of PyTorch")


class AllGather(Rules):
    GATHER, WAIT = tagging.GATHER, tagging.WAIT

    def parameter(self, *behind, before=(), primals=1):
        nodes = list(before) + [node("g", self.GATHER, "%" + (before[-1]["name"] if before else "x0"), 8, "0"), node("w", self.WAIT, "%g")]
        return graph(*nodes, *behind, reads=[behind[-1]["name"]] if behind else ["w"], primals=primals)

    def gather(self, g, reshard):
        return self.tags(g, {"pass": "fsdp_all_gather", "reshard_after_forward": reshard})

    def test_reshard_takes_the_whole_chain(self):
        cast = node("c", "prims.convert_element_type.default", "%x0")
        g = self.parameter(node("v", "aten.view.default", "%w"), node("u", "aten.t.default", "%v"),
                           node("mm", "aten.mm.default", "%x0", "%u"), before=[cast])
        self.assertEqual(self.gather(g, True), {n: ["must_recompute", 100000] for n in ("c", "g", "w", "v", "u")})

    def test_only_a_cast_right_before_the_gather_is_taken(self):
        clone = node("c", "aten.clone.default", "%x0")
        g = self.parameter(node("mm", "aten.mm.default", "%w", "%x0"), before=[clone])
        self.assertEqual(set(self.gather(g, True)), {"g", "w"})

    def test_reshard_stops_at_several_users_and_inputs(self):
        g = self.parameter(node("v", "aten.view.default", "%w"), node("a", "aten.sin.default", "%v"), node("b", "aten.cos.default", "%v"))
        self.assertEqual(set(self.gather(g, True)), {"g", "w", "v"})

    def test_a_gathered_activation_is_left_alone(self):
        g = self.parameter(node("mm", "aten.mm.default", "%w", "%x0"), before=[node("act", "aten.mul.Tensor", "%x0", "%x1")], primals=2)
        for reshard in (True, False):
            self.assertEqual(self.gather(g, reshard), {})
        notes = self.notes(g, {"pass": "fsdp_all_gather", "reshard_after_forward": True})
        self.assertEqual([c for c, _, _ in notes], ["pass-matched-nothing"])

    def test_reshard_overwrites_tags(self):
        g = self.parameter(node("v", "aten.view.default", "%w", recompute="must_save", ac_graph_id=3), node("mm", "aten.mm.default", "%x0", "%v"))
        self.assertEqual(self.gather(g, True)["v"], ["must_recompute", 100000])

    def test_keep_takes_the_last_that_is_no_view(self):
        g = self.parameter(node("v", "aten.view.default", "%w"), node("c", "prims.convert_element_type.default", "%v"),
                           node("u", "aten.t.default", "%c"), node("mm", "aten.mm.default", "%x1", "%u"), primals=2)
        self.assertEqual(self.gather(g, False), {"c": ["must_save", 100000]})
        g = self.parameter(node("v", "aten.view.default", "%w"), node("mm", "aten.mm.default", "%x1", "%v"), primals=2)
        self.assertEqual(self.gather(g, False), {"w": ["must_save", 100000]})

    def test_keep_goes_through_a_split_and_its_cat(self):
        parts = [node("s", "aten.split.Tensor", "%w", 2, val={"tuple": [T1, T1]}), node("p", "getitem", "%s", 0), node("q", "getitem", "%s", 1)]
        g = self.parameter(*parts, node("cat", "aten.cat.default", ["%p", "%q"]), node("mm", "aten.mm.default", "%x1", "%cat"), primals=2)
        self.assertEqual(self.gather(g, False), {"cat": ["must_save", 100000]})
        g = self.parameter(*parts, node("cat", "aten.stack.default", ["%p", "%q"]), node("mm", "aten.mm.default", "%x1", "%cat"), primals=2)
        self.assertEqual(self.gather(g, False), {"p": ["must_save", 100000]})  # to its first user as if it were the only one

    def test_keep_takes_no_cat_whose_parts_are_used_elsewhere(self):
        parts = [node("s", "aten.split.Tensor", "%w", 2, val={"tuple": [T1, T1]}), node("p", "getitem", "%s", 0), node("q", "getitem", "%s", 1)]
        g = self.parameter(*parts, node("cat", "aten.cat.default", ["%p", "%q"]), node("sin", "aten.sin.default", "%q"),
                           node("mm", "aten.mm.default", "%sin", "%cat"))
        self.assertEqual(self.gather(g, False), {"p": ["must_save", 100000]})

    def test_keep_without_a_use_is_noted(self):
        g = graph(node("g", self.GATHER, "%x0", 8, "0"), node("w", self.WAIT, "%g"),
                  node("a", "aten.sin.default", "%w", "%w", partitioner_tag="must_be_in_forward"), node("b", "aten.sin.default", "%w",
                  partitioner_tag="must_be_in_forward"), node("out", "aten.sin.default", "%a"))
        self.assertEqual(self.gather(g, False), {})
        notes = self.notes(g, {"pass": "fsdp_all_gather", "reshard_after_forward": False})
        self.assertEqual([(c, n) for c, n, _ in notes], [("pass-mark-skipped", "g")])
        g = graph(node("g", self.GATHER, "%x0", 8, "0"), node("out", "aten.sin.default", "%x0"))
        self.assertEqual(self.gather(g, False), {})

    def test_an_unused_gather_is_no_fault(self):
        g = {"schema": "remat/graph/v1", "num_fwd_outputs": 0,
             "nodes": [node("x0", "primals_1", op="placeholder"), node("g", self.GATHER, "%x0"),
                       {"name": "output", "op": "output", "target": "output", "args": []}]}
        for reshard in (True, False):
            self.assertEqual(self.gather(g, reshard), {})
        self.assertEqual([(c, n) for c, n, _ in self.notes(g, {"pass": "fsdp_all_gather", "reshard_after_forward": False})],
                         [("pass-mark-skipped", "g")])


class SetTags(Rules):
    GRAPH = graph(node("a", "aten.mm.default", "%x0", recompute="must_save", ac_graph_id=4), node("b", "aten.sin.default", "%a"), reads=["a"])

    def set(self, tags, g=GRAPH):
        return self.tags(g, {"pass": "set_tags", "tags": tags})

    def test_a_tag_keeps_the_region_a_list_writes_it_and_null_takes_both(self):
        self.assertEqual(self.set({}), {"a": ["must_save", 4]})
        self.assertEqual(self.set({"a": "prefer_recompute"}), {"a": ["prefer_recompute", 4]})
        self.assertEqual(self.set({"a": ["prefer_recompute", None]}), {"a": ["prefer_recompute", None]})
        self.assertEqual(self.set({"a": ["must_save", -9]}), {"a": ["must_save", -9]})
        self.assertEqual(self.set({"a": None}), {})
        self.assertEqual(self.set({"b": "must_recompute"}), {"a": ["must_save", 4], "b": ["must_recompute", None]})

    def test_a_region_that_was_taken_does_not_come_back(self):
        off, on = ({"pass": "set_tags", "tags": {"a": tag}} for tag in (None, "must_save"))
        self.assertEqual(self.tags(self.GRAPH, off, on), {"a": ["must_save", None]})

    def test_any_node_may_be_named(self):
        names = [d["name"] for d in self.GRAPH["nodes"]]
        self.assertEqual(self.set({n: "prefer_save" for n in names}), {n: ["prefer_save", 4 if n == "a" else None] for n in names})

    def test_what_the_graph_or_the_tags_do_not_have_is_refused(self):
        self.refused(self.GRAPH, {"pass": "set_tags", "tags": {"a": "must_save", "none": "must_save"}}, "tags[1]", "6 nodes")
        self.refused(self.GRAPH, {"pass": "set_tags", "tags": {"b": "must_keep"}}, "tags[0]")


class Repair(Rules):
    def repair(self, g):
        answer = self.tagger.ask(g, [{"pass": "repair_tags"}, {"pass": "repair_tags"}])
        self.assertEqual(answer["passes"][1]["changes"], [])
        before = tagging.tags_of(g)
        self.assertEqual(answer["passes"][0]["changes"], [[d["name"], before[d["name"]], None] for d in g["nodes"]
                                                          if d["name"] in before and d["name"] not in answer["tags"]])
        self.assertEqual(answer["tags"], {n: t for n, t in before.items() if n in answer["tags"]})
        return [n for n in before if n not in answer["tags"]]

    def pair(self, target, source, own, first="aten.topk.default"):
        tag = (lambda policy: {"recompute": policy, "ac_graph_id": 1} if policy else {})
        return graph(node("s", first, "%x0", val={"tuple": [T1, T1]}, **tag(source)), node("n", target, "%s", 0, **tag(own)))

    def test_getitem(self):
        for source, own, dropped in (("must_save", "prefer_recompute", True), (None, "must_recompute", True), ("prefer_save", "prefer_recompute", True),
                                     ("prefer_recompute", "must_save", True), ("must_recompute", "prefer_save", True),
                                     ("must_save", "must_save", False), ("prefer_recompute", "must_recompute", False),
                                     (None, "must_save", False), ("must_save", "prefer_save", False), ("prefer_recompute", None, False)):
            with self.subTest(source=source, own=own):
                self.assertEqual(self.repair(self.pair("getitem", source, own)), ["n"] if dropped else [])

    def test_wait(self):
        for source, own, dropped in (("must_save", "prefer_recompute", True), (None, "prefer_recompute", True), ("prefer_recompute", "must_save", False),
                                     ("prefer_recompute", "prefer_recompute", False), (None, "must_save", False)):
            with self.subTest(source=source, own=own):
                self.assertEqual(self.repair(self.pair(tagging.WAIT, source, own, tagging.GATHER)), ["n"] if dropped else [])

    def test_view(self):
        for source, own, dropped in (("must_save", "prefer_recompute", False), (None, "prefer_recompute", False), ("prefer_recompute", "must_save", True),
                                     ("prefer_recompute", "prefer_recompute", False), (None, "must_save", False)):
            with self.subTest(source=source, own=own):
                self.assertEqual(self.repair(self.pair("aten.view.default", source, own, "aten.mm.default")), ["n"] if dropped else [])

    def test_other_operators_keep_their_tags(self):
        for source, own in (("must_save", "prefer_recompute"), ("prefer_recompute", "must_save")):
            self.assertEqual(self.repair(self.pair("aten.sin.default", source, own)), [])

    def test_chains_follow_to_the_end(self):
        tag = {"recompute": "prefer_recompute"}
        g = graph(node("s", "aten.topk.default", "%x0", val={"tuple": [{"tuple": [T1]}]}, recompute="must_save"),
                  node("a", "getitem", "%s", 0, **tag), node("b", "getitem", "%a", 0, **tag), node("v", "aten.view.default", "%b", **tag))
        self.assertEqual(self.repair(g), ["a", "b"])
        g = graph(node("s", "aten.topk.default", "%x0", val={"tuple": [{"tuple": [T1]}]}, **tag),
                  node("a", "getitem", "%s", 0), node("b", "getitem", "%a", 0, **tag), node("c", "getitem", "%a", 0, recompute="must_save"))
        self.assertEqual(self.repair(g), ["c"])


del Rules
if __name__ == "__main__":
    unittest.main()
