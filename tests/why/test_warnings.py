"""Each code of a warning or remark: a graph that has to get it, and one beside it that must not."""
# level: quick
# variants: asan
import json
import os
import re
import subprocess
import unittest

import data
import engine
import graphs

WAIT = "_c10d_functional.wait_tensor.default"
GATHER = "_c10d_functional.all_gather_into_tensor.default"
MM, MUL, SIN, ADD = "aten.mm.default", "aten.mul.Tensor", "aten.sin.default", "aten.add.Tensor"
CAST = "prims.convert_element_type.default"
BIG, SMALL, INT = ({"dtype": d, "shape": s} for d, s in (("float32", [8, 8]), ("float32", [2, 2]), ("int64", [8])))
PAIR = {"tuple": [BIG, INT]}
PLAIN = {"profile": "plain"}


def node(name, target, *args, val=BIG, **more):
    return graphs.node(name, "call_function", target, ["%" + a if isinstance(a, str) else a for a in args], **{"val": val, **more})


def inputs(*names, val=BIG):
    return [graphs.node(name, "placeholder", f"primals_{i}", val=val) for i, name in enumerate(names)]


def tangent(val=BIG):
    return graphs.node("t", "placeholder", "tangents_1", val=val)


def joint(*nodes, outputs, reads, first=("x",), **more):
    """x (and what `first` says), a tangent, the nodes, and for each of `reads` a gradient that multiplies it by the tangent."""
    grads = [node(f"g{i}", MUL, "t", name) for i, name in enumerate(reads)]
    return graphs.graph(*inputs(*first), tangent(), *nodes, *grads, n_forward=len(outputs),
                        outputs=["%" + n for n in (*outputs, *(g["name"] for g in grads))], **more)


class Warnings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.planner = engine.Planner()

    @classmethod
    def tearDownClass(cls):
        cls.planner.close()

    def ask(self, document, options=None):
        answer = self.planner.ask(document, options)
        self.assertNotEqual(answer.kind, "problem", answer.doc)
        return answer.doc

    def of(self, code, document, options=None):
        return [d for d in self.ask(document, options)["diagnostics"] if d["code"] == code]

    def says(self, code, document, on, *words, options=None, severity="warning"):
        found = self.of(code, document, options)
        self.assertEqual([d.get("node") for d in found], on if isinstance(on, list) else [on], (code, self.ask(document, options)))
        for d in found:
            self.assertEqual(d["severity"], severity)
        for word in words:
            self.assertIn(word, found[0]["message"])
        return found

    def is_silent(self, code, document, options=None):
        self.assertEqual(self.of(code, document, options), [])

    # ---- tags ----

    def pair(self, source=None, item=None, other=None):
        def tag(policy):
            return {"recompute": policy} if policy else {}
        return joint(node("p", "aten.max.dim", "x", 1, val=PAIR, **tag(source)), node("v", "getitem", "p", 0, **tag(other)),
                     node("i", "getitem", "p", 1, val=INT, **tag(item)), outputs=["v"], reads=["i"])

    def test_tag_on_getitem(self):
        code = "tag-on-getitem"
        for tag in ("prefer_recompute", "must_recompute"):
            found = self.says(code, self.pair("must_save", tag), "i", "`i`", "`p`", tag, "must_save")
            self.assertIn("Take the tag off", found[0]["message"])
            self.says(code, self.pair(None, tag), "i", "not tagged")
        self.says(code, self.pair("prefer_recompute", "must_save"), "i", "does not heed")

    def test_tag_on_getitem_that_agrees(self):
        for source, item in (("must_save", "must_save"), ("must_save", None), ("prefer_recompute", "prefer_recompute"),
                             ("must_recompute", "prefer_recompute"), ("prefer_recompute", None), (None, None)):
            with self.subTest(source=source, item=item):
                self.is_silent("tag-on-getitem", self.pair(source, item))
        self.is_silent("tag-on-getitem", self.pair(None, "must_save"))  # it is saved without being asked

    def test_conflict_comes_before_its_tags(self):
        codes = [d["code"] for d in self.ask(self.pair("must_save", "must_recompute"))["diagnostics"]]
        self.assertEqual(codes, ["infinite-flow", "tag-on-getitem"])

    def test_size_that_only_a_remedy_needs(self):
        """With the remedy there would be a budget to fill, for which a size is missing: the conflict is told all the same."""
        document = self.pair("must_save", "must_recompute")
        document["nodes"].insert(0, graphs.node("state", "placeholder", "primals_9", val={"opaque": "BackwardState"}))
        codes = [d["code"] for d in self.ask(document, {"activation_memory_budget": 0.5})["diagnostics"]]
        self.assertEqual([c for c in codes if c != "remedy-not-found"], ["infinite-flow", "tag-on-getitem"])

    def gathered(self, gather=None, wait=None):
        def tag(policy):
            return {"recompute": policy} if policy else {}
        return joint(node("a", GATHER, "x", 2, "g", **tag(gather)) | {"args": ["%x", 2, "group"]}, node("w", WAIT, "a", **tag(wait)),
                     node("y", MUL, "w", "w"), outputs=["y"], reads=["w"])

    def test_wait_split_from_collective(self):
        code = "wait-split-from-collective"
        self.says(code, self.gathered("must_recompute", None), "w", "`a`", "frees nothing")
        self.says(code, self.gathered("must_recompute", "must_save"), "w", "Tag both alike")
        self.says(code, self.gathered(None, "prefer_recompute"), "w", "under way")
        self.says(code, self.gathered("must_save", "must_recompute"), "w", "waited for again")
        self.says(code, self.gathered("prefer_recompute", "must_save"), "w", "changes nothing", severity="info")

    def test_wait_with_its_collective(self):
        for gather, wait in ((None, None), ("must_save", None), (None, "must_save"), ("must_recompute", "prefer_recompute"),
                             ("must_recompute", "must_recompute")):
            with self.subTest(gather=gather, wait=wait):
                self.is_silent("wait-split-from-collective", self.gathered(gather, wait))

    def test_tag_on_backward_node(self):
        document = joint(node("y", SIN, "x"), outputs=["y"], reads=["x"])
        for tag in ("must_save", "prefer_recompute", "must_recompute", "prefer_save"):
            document["nodes"][-2]["recompute"] = tag
            self.says("tag-on-backward-node", document, "g0", tag, "tangent")
        document["nodes"][-2].update(target="_c10d_functional.all_reduce.default", args=["%t", "sum", "group"], recompute="must_save")
        self.is_silent("tag-on-backward-node", document)  # PyTorch's clean-up would have written that
        document = joint(node("y", SIN, "x", recompute="must_save"), outputs=["y"], reads=["x"])
        self.is_silent("tag-on-backward-node", document)

    def test_tag_without_effect(self):
        code = "tag-without-effect"
        document = joint(node("m", MM, "x", "x", recompute="must_save"), node("y", SIN, "m"), outputs=["y"], reads=["x"])
        found = self.says(code, document, "m", "nothing in the backward reads", severity="info")
        self.assertEqual(found[0]["nodes"], ["m"])
        several = joint(*(node(f"m{i}", MM, "x", "x", recompute="must_save") for i in range(30)), outputs=[f"m{i}" for i in range(30)],
                        reads=["x"])
        found = self.says(code, several, "m0", "`m0`, `m1`, `m2` and 27 more", severity="info")
        self.assertEqual(found[0]["nodes"], [f"m{i}" for i in range(20)])
        self.assertIn("reads them", found[0]["message"])
        read = joint(node("m", MM, "x", "x", recompute="must_save"), node("y", SIN, "m"), outputs=["y"], reads=["m"])
        self.is_silent(code, read)
        through = self.pair("must_save", None)  # a part of the tuple is saved
        self.is_silent(code, through)
        dead = joint(node("m", MM, "x", "x", recompute="must_save"), node("y", SIN, "x"), outputs=["y"], reads=["x"])
        self.is_silent(code, dead)

    def test_must_save_on_a_view(self):
        def document(base):
            return joint(node("m", MUL, "x", "x", **base), node("v", "aten.permute.default", "m", [1, 0], recompute="must_save", alias_of="m"),
                         node("y", SIN, "v"), outputs=["y"], reads=["v"], first=["x"])
        self.says("tag-without-effect", document({"recompute": "prefer_recompute"}), "v", "on a view", severity="info")
        self.is_silent("tag-without-effect", document({"recompute": "must_save"}))

    def test_must_recompute_overruled(self):
        def document(region):
            return joint(node("m", MUL, "x", "x", recompute="must_recompute", ac_graph_id=1),
                         node("n", SIN, "m", recompute="prefer_recompute", ac_graph_id=region), node("y", SIN, "n"), outputs=["y"],
                         reads=["n", "m"])
        self.says("tag-without-effect", document(2), "m", "later checkpointed region", severity="info")
        self.is_silent("tag-without-effect", document(1))

    def test_tags_that_are_not_heeded(self):
        def document(tag, later):
            return joint(node("m", SIN, "x", recompute=tag), node("y", MM, "m", "m", **later), outputs=["y"], reads=["m"])
        for tag in ("prefer_save", "must_cpu_offload", "prefer_cpu_offload"):
            again = document(tag, {})
            self.is_silent("tag-without-effect", again)  # saved
            again["nodes"][2]["val"] = {"dtype": "float32", "shape": [800, 8]}  # x is cheaper
            self.says("tag-without-effect", again, "m", "does not heed", options={"ban_recompute_materialized_backward": False,
                      "ban_recompute_used_far_apart": False}, severity="info")

    def leaking(self, cast=None, gather="must_recompute", target=CAST):
        more = {"recompute": cast} if cast else {}
        return joint(node("a", MUL, "x", "x", recompute=gather), node("c", target, "a", val=SMALL, **more), node("y", MM, "c", "c"),
                     outputs=["y"], reads=["c"])

    def test_recompute_leaks_through_view(self):
        code = "recompute-leaks-through-view"
        self.says(code, self.leaking(), "a", "`c`", "frees nothing")
        self.says(code, self.leaking(gather="prefer_recompute"), "a")
        self.says(code, self.leaking("must_save"), "a")
        document = self.leaking(target="aten.view.default")
        document["nodes"][3].update(alias_of="a", recompute="must_save")
        self.says(code, document, "a", "a view of it", options=PLAIN)

    def test_recompute_that_does_not_leak(self):
        code = "recompute-leaks-through-view"
        self.is_silent(code, self.leaking("must_recompute"))
        self.is_silent(code, self.leaking(target=SIN))  # other data
        self.is_silent(code, self.leaking("must_save", "prefer_recompute"))  # as asked
        unread = self.leaking()
        unread["nodes"][-2]["args"] = ["%t", "%x"]
        self.is_silent(code, unread)

    # ---- a second run ----

    def random(self, target="aten.rand_like.default", tag="must_recompute", reads=True, **more):
        return joint(node("r", target, "x", **({"recompute": tag} if tag else {}), **more), node("y", MUL, "x", "r"), outputs=["y"],
                     reads=["r" if reads else "x"])

    def test_random_op_recomputed(self):
        code = "random-op-recomputed"
        self.says(code, self.random(), "r", "random numbers", "must_save")
        self.says(code, self.random(SIN, traits=["seeded"]), "r")
        self.says(code, self.random(SIN, traits=["random"]), "r")
        self.is_silent(code, self.random(tag="must_save"))
        self.is_silent(code, self.random(tag=None))
        self.is_silent(code, self.random(reads=False))
        self.is_silent(code, self.random(SIN))

    def test_attention_without_dropout(self):
        def document(chance):
            flash = "aten._scaled_dot_product_flash_attention_for_cpu.default"
            return joint(node("f", flash, "x", "x", "x", chance, val=PAIR, recompute="prefer_recompute"),
                         node("o", "getitem", "f", 0, recompute="prefer_recompute"), outputs=["o"], reads=["o"])
        self.says("random-op-recomputed", document(0.1), "f")
        self.is_silent("random-op-recomputed", document(0.0))

    def test_effect_recomputed(self):
        code = "effect-recomputed"
        for trait, word in (("effects", "effect"), ("impure", "not pure"), ("no_recompute", "computed twice")):
            self.says(code, self.random(SIN, traits=[trait]), "r", word, "happens twice")
            self.is_silent(code, self.random(SIN, tag="must_save", traits=[trait]))
        asserted = self.random(SIN)
        asserted["nodes"].insert(3, node("c", "aten._assert_scalar.default", "r", "it is small", traits=["impure"]))
        asserted["nodes"][3]["args"] = ["%r", "it is small"]
        self.is_silent(code, asserted)
        self.is_silent(code, self.gathered("must_recompute", "must_recompute"))

    def test_collective_recomputed(self):
        code = "collective-recomputed"
        self.says(code, self.gathered("prefer_recompute", "prefer_recompute"), "a", "prefers it")
        cheap = self.gathered()
        cheap["nodes"][0]["val"] = SMALL
        self.says(code, cheap, "a", "without being tagged", options={"unsafe_allow_optimization_of_collectives": True, **PLAIN})
        self.is_silent(code, cheap, PLAIN)
        self.is_silent(code, self.gathered("must_recompute", "must_recompute"))
        self.is_silent(code, self.gathered())

    def rereading(self, tag="must_recompute", early=True, reader=SIN, source="x"):
        read = node("r", reader, source, recompute=tag)
        write = [node("n", MUL, "x", "x"), node("w", "aten.copy_.default", "x", "n", alias_of="x", partitioner_tag="must_be_in_forward")]
        middle = [read, *write] if early else [*write, read]
        return joint(*middle, node("y", MUL, "r", "r"), outputs=["y", "w"], reads=["r"])

    def test_mutated_storage_reread(self):
        code = "mutated-storage-reread"
        self.says(code, self.rereading(), "r", "`x`", "`w`", "overwrites later")
        self.is_silent(code, self.rereading(early=False))  # reads the same both times
        self.is_silent(code, self.rereading("must_save"))
        self.is_silent(code, self.rereading(reader="aten.permute.default"))  # a view looks at no data
        unwritten = self.rereading()
        unwritten["nodes"][4]["args"] = ["%z", "%n"]
        unwritten["nodes"].insert(1, inputs("_", "z")[1])
        self.is_silent(code, unwritten)

    def test_reread_through_a_view(self):
        def document(alias):
            return joint(node("v", "aten.permute.default", "x", [1, 0], **alias), node("r", SIN, "v", recompute="must_recompute"),
                         node("w", "aten.add_.Tensor", "x", "x", alias_of="x", traits=["mutable"]), outputs=["r", "w"], reads=["r"])
        self.says("mutated-storage-reread", document({"alias_of": "x"}), "r", "`v`")
        self.says("mutated-storage-reread", document({}), "r", "`v`")

    def test_write_that_is_not_repeated(self):
        def document(tag):
            return joint(node("e", "aten.clone.default", "x", recompute=tag), node("w", "aten.add_.Tensor", "e", "x", alias_of="e", traits=["mutable"]),
                         node("r", SIN, "e", recompute="must_recompute"), outputs=["r", "w"], reads=["r"])
        self.says("mutated-storage-reread", document("must_recompute"), "r", "misses it")
        self.is_silent("mutated-storage-reread", document("must_save"))

    def deciding(self, tag="must_recompute", source=BIG, target="aten.nonzero.default", late="must_save", binds=True):
        size = node("s", "aten.sym_size.int" if not binds else "aten._local_scalar_dense.default", "k", val={"sym": "int", "hint": 4, "expr": "u0", "symbols": ["u0"]},
                    recompute=late)
        made = joint(node("h", SIN, "x", val=source, recompute=tag), node("d", target, "h", val=INT, recompute=tag),
                     node("k", "aten.sum.default", "d", val=INT, recompute=tag), {**size, **({"binds": "u0"} if binds else {})},
                     node("f", "aten.full.default", "s", val={"dtype": "float32", "shape": ["u0"], "hint": [4], "symbols": ["u0"]}),
                     node("y", MUL, "f", "x"), outputs=["y"], reads=["f", "d"])
        made["nodes"][0]["val"] = source
        return made

    def test_decision_recomputed(self):
        code = "decision-recomputed"
        self.says(code, self.deciding(), "d", "`s`", "otherwise than in the forward")
        self.is_silent(code, self.deciding("must_save"))
        self.is_silent(code, self.deciding(source=INT))  # whole numbers come out the same
        self.is_silent(code, self.deciding(binds=False))  # no shape depends on it
        direct = joint(node("h", SIN, "x", recompute="must_recompute"), node("s", "aten._local_scalar_dense.default", "h", binds="u0",
                       val={"sym": "int", "hint": 4, "expr": "u0", "symbols": ["u0"]}, recompute="must_recompute"),
                       node("f", "aten.full.default", "s"), outputs=["f"], reads=["s"])
        self.says(code, direct, "s", "depends on data")

    # ---- the graph ----

    def test_unbound_symbol(self):
        def document(**more):
            wide = {"dtype": "float32", "shape": ["s7"], "hint": [8], "symbols": ["s7"]}
            made = joint(node("m", MM, "x", "x", val=wide), node("y", SIN, "m", val=wide), outputs=["y"], reads=["m"], first=["x", "n"])
            made["nodes"][1].update(val={"sym": "int", "hint": 8, "expr": "s7", "symbols": ["s7"]}, **more)
            return made
        self.says("unbound-symbol", document(), "m", "s7", "binds")
        self.is_silent("unbound-symbol", document(binds="s7"))
        unsaved = document()
        unsaved["nodes"][-2]["args"] = ["%t", "%x"]
        self.is_silent("unbound-symbol", unsaved)

    def test_gradient_without_tangent(self):
        code = "gradient-without-tangent"
        document = joint(node("y", SIN, "x"), outputs=["y"], reads=["x"])
        document["nodes"][-1]["args"].append("%y")
        self.says(code, document, "y", "num_fwd_outputs", "1 of 3")
        constant = joint(node("y", SIN, "x"), node("z", "aten.full.default", 0), outputs=["y"], reads=["x"])
        constant["nodes"][-1]["args"] += ["%z", None]
        self.is_silent(code, constant)
        self.is_silent(code, joint(node("y", SIN, "x"), outputs=["y"], reads=["x"]))

    def test_unknown_op(self):
        def document(target, **more):
            return joint(node("y", target, "x", **more), outputs=["y"], reads=["x"])
        self.says("unknown-op", document("aten.sinn.default"), "y", "no operator aten.sinn.default")
        self.says("unknown-op", document("aten.add.Tensr"), "y", "no overload", "Tensor")
        self.says("unknown-op", document("mylib.op.default"), "y", "nothing is known", severity="info")
        for target in ("aten.sin.default", "aten.erfinv.default", "operator.add", "math.floor", "higher_order.wrap", "getitem"):
            self.is_silent("unknown-op", document(target))
        self.is_silent("unknown-op", document("mylib.op.default", traits=["custom"]))
        backward = joint(node("y", SIN, "x"), outputs=["y"], reads=["x"])
        backward["nodes"][-2]["target"] = "mylib.op.default"
        self.is_silent("unknown-op", backward)

    # ---- of interest ----

    def test_tied_cut(self):
        def document(first, second):
            return joint(node("a", "aten.sin.default", "x", val=first), node("b", SIN, "a", val=second), outputs=["b"], reads=["b"])
        self.says("tied-cut", document(BIG, BIG), "b", "`x` instead of `b`", options=PLAIN, severity="info")
        self.is_silent("tied-cut", document(BIG, SMALL), PLAIN)
        view = document(BIG, BIG)
        view["nodes"][3].update(target="aten.permute.default", alias_of="a")
        view["nodes"][2]["recompute"] = "must_save"
        self.is_silent("tied-cut", view, PLAIN)  # the same bytes under another name

    def test_aliases_saved_twice(self):
        def document(**more):
            return joint(node("m", MM, "x", "x", recompute="must_save"),
                         node("v", "aten.view.default", "m", [64], recompute="must_save", **more), node("y", SIN, "v"), outputs=["y"], reads=["m", "v"])
        self.says("aliases-saved-twice", document(alias_of="m"), "m", "`v`", "512 bytes instead of 256", options=PLAIN, severity="info")
        self.is_silent("aliases-saved-twice", document(), {})  # the view is made again

    def frontier(self, text):
        done = subprocess.run([os.path.join(engine.BUILD, "remat"), "frontier", "-"], input=text.encode(), capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [d for d in json.loads(done.stdout)["diagnostics"] if d["code"] == "peak-not-monotone"]

    def peak(self, text, budget):
        memory = self.planner.ask_text(engine.request_text(text, {"activation_memory_budget": budget})).doc["memory"]
        return max(memory["peak_forward_bytes"], memory["peak_backward_bytes"])

    def test_peak_not_monotone(self):
        text = data.corpus_graph_text("llama_2l")
        (found,) = self.frontier(text)
        numbers = re.search(r"at (\S+) the peak is (\d+) bytes, at (\S+) only (\d+)", found["message"])
        (low, high), peaks = map(float, numbers.group(1, 3)), tuple(map(int, numbers.group(2, 4)))
        self.assertLess(low, high)
        self.assertGreater(*peaks)
        self.assertEqual(peaks, (self.peak(text, low), self.peak(text, high)))
        all_peaks = [self.peak(text, i / 20) for i in range(1, 20)]
        self.assertEqual(peaks[0] - peaks[1], max(a - b for i, a in enumerate(all_peaks) for b in all_peaks[i:]))
        self.assertEqual(found["severity"], "info")

    def test_peak_that_follows_the_budget(self):
        for text in (graphs.encode(graphs.tiny()).decode(), data.corpus_graph_text("moe")):
            peaks = [self.peak(text, i / 20) for i in range(1, 20)]
            self.assertEqual(peaks, sorted(peaks))
            self.assertEqual(self.frontier(text), [])

    # ---- data of others ----

    def test_cases(self):
        """What the cases that users reported say about ties, and the codes that some of them are about."""
        about = {"G04": "gradient-without-tangent", "G67": "tag-without-effect", "G22": "tag-without-effect"}
        for name in data.case_names():
            want, document = data.case_expected(name), json.loads(data.case_graph_text(name))
            codes = {d["code"] for d in self.ask(document, want["options"])["diagnostics"]}
            with self.subTest(case=name):
                if name != "G24":  # its second set does without bn, whose tag the network makes a demand
                    self.assertEqual("tied-cut" in codes, len(want["expect"].get("tied_saved_sets", ())) > 1)
                self.assertLessEqual({about[name]} if name in about else set(), codes)
                self.assertLessEqual(codes - {"unknown-op", "tied-cut", "infinite-flow", "invalid-output", "tag-on-getitem",
                                              "aliases-saved-twice"}, {about.get(name)})

    def test_real_graphs_without_tags_are_silent(self):
        """Nothing is to be said about a graph as PyTorch traces it; where tags are, only what contradicts them is."""
        of_tags = {"tag-on-getitem", "wait-split-from-collective", "tag-without-effect", "collective-recomputed", "random-op-recomputed"}
        untagged = 0
        for name in data.corpus_names():
            text = data.corpus_graph_text(name)
            found = self.planner.ask_text(engine.request_text(text, {"explain": "summary"})).doc
            codes = {d["code"] for d in found["diagnostics"] if d["severity"] != "error"}
            with self.subTest(graph=name):
                if '"recompute"' not in text:
                    untagged += 1
                    self.assertEqual(found["diagnostics"], [])
                self.assertLessEqual(codes, of_tags | {"aliases-saved-twice"})
        self.assertGreater(untagged, 15)

    # ---- the list ----

    def test_many_are_counted(self):
        n = 33
        document = joint(*(node(f"r{i}", "aten.rand_like.default", "x", recompute="must_recompute") for i in range(n)),
                         outputs=[f"r{i}" for i in range(n)], reads=[f"r{i}" for i in range(n)])
        found = self.of("random-op-recomputed", document)
        self.assertEqual([d.get("node") for d in found], [f"r{i}" for i in range(20)] + [None])
        self.assertIn("13 more are like the 20 above", found[-1]["message"])

    def test_explain_none_leaves_them_out(self):
        self.assertEqual(self.ask(self.random(), {"explain": "none"})["diagnostics"], [])


if __name__ == "__main__":
    unittest.main()
