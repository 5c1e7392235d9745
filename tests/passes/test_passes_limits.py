"""What a pass may cost, and what happens when it may not: memory, steps, time."""
# level: quick
# variants: asan
import os
import random
import unittest

import tagging
from test_passes_rules import gib, graph, node, sac, stage

import engine

GATHER = {"pass": "fsdp_all_gather", "reshard_after_forward": True}
KEEP = {"pass": "fsdp_all_gather", "reshard_after_forward": False}


# ---- graphs that are expensive for the careless -----------------------------

def chain_of_gathers(n):
    """Every wait is a parameter wait, and the chain behind each is the rest of the graph."""
    nodes, x = [], "%x0"
    for i in range(n // 2):
        nodes += [node(f"g{i}", tagging.GATHER, x), node(f"w{i}", tagging.WAIT, f"%g{i}")]
        x = f"%w{i}"
    return graph(*nodes, reads=[nodes[-1]["name"]])


def gathers_with_one_end(n):
    """Half of the nodes are parameters whose chains meet, the other half is the way to the common end."""
    k, nodes = n // 6, []
    for i in range(k):
        nodes += [node(f"g{i}", tagging.GATHER, f"%x{i}"), node(f"w{i}", tagging.WAIT, f"%g{i}"),
                  node(f"s{i}", "aten.split.Tensor", f"%w{i}"), node(f"a{i}", "getitem", f"%s{i}", 0), node(f"b{i}", "getitem", f"%s{i}", 1)]
    nodes.append(node("cat", "aten.cat.default", [f"%{c}{i}" for i in range(k) for c in "ab"]))
    for i in range(k):
        nodes.append(node(f"v{i}", "aten.view.default", f"%v{i - 1}" if i else "%cat"))
    return graph(*nodes, primals=k, reads=[f"v{k - 1}"])


def forced_chain(n):
    """Forced nodes hand on what they read: handed on one by one, the sets grow with the chain."""
    nodes = []
    for i in range(n // 2):
        nodes.append(node(f"a{i}", "aten.sin.default", "%x0"))
        nodes.append(node(f"f{i}", "aten.add.Tensor", f"%a{i}", *([f"%f{i - 1}"] if i else []), recompute="must_recompute"))
    return graph(*nodes, node("end", "aten.sin.default", nodes and "%" + nodes[-1]["name"]), reads=["end"])


def all_alive(n):
    """Every value lives to the end, so a copy of what is alive for each node has the square of the nodes."""
    nodes = [node(f"a{i}", "aten.sin.default", f"%a{i - 1}" if i else "%x0") for i in range(n)]
    return graph(*nodes, node("end", "aten.cat.default", [f"%a{i}" for i in range(n)]), reads=["end"])


def many_modules(n):
    return graph(*[node(f"a{i}", f"mylib.op{i % 97}.default", "%x0", module=f"L['self'].blocks.{i}.attn") for i in range(n)])


def wide_split(n):
    nodes = [node("s", "aten.split.Tensor", "%x0", val={"tuple": []}, recompute="must_save")]
    nodes += [node(f"p{i}", "getitem", "%s", i, recompute="prefer_recompute") for i in range(n)]
    return graph(*nodes)


MANY = {f"a{i}": ["must_save", i] if i % 2 else None for i in range(50)}


def entries(n):
    return [{"op": "aten.sin.default", "every": i % (n // 2) + 1} for i in range(n)]


COSTLY = [
    ("chain of gathers", chain_of_gathers, lambda n: [GATHER]), ("chain of gathers, kept", chain_of_gathers, lambda n: [KEEP]),
    ("gathers with one end", gathers_with_one_end, lambda n: [KEEP]), ("gathers with one end, again", gathers_with_one_end, lambda n: [GATHER]),
    ("forced chain", forced_chain, lambda n: [stage("auto")]), ("forced chain, one stage", forced_chain, lambda n: [stage(2.0)]),
    ("all alive", all_alive, lambda n: [stage(0)]), ("all alive, by 2", all_alive, lambda n: [stage(gib(2))]),
    ("many modules", many_modules, lambda n: [sac(modules="blocks.*.*"), sac(modules="*lo*s.*1*2*3*")]),
    ("many entries", all_alive, lambda n: [sac(entries(n))]), ("equal entries", all_alive, lambda n: [sac(["aten.sin.default"] * n)]),
    ("wide split", wide_split, lambda n: [{"pass": "repair_tags"}, sac()]),
]


def processor_seconds(pid):
    """What a process has used, however many others there are."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rpartition(")")[2].split()  # the name before it may hold anything
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Costs(unittest.TestCase):
    def test_steps_and_memory_grow_with_the_graph(self):
        with tagging.Tagger() as tagger:
            for name, make, passes in COSTLY:
                with self.subTest(name):
                    small, large = (tagger.ask(make(n), passes(n)) for n in (2000, 8000))
                    self.assertGreater(small["steps"], 2000 * len(small["passes"]) // 2)
                    self.assertLess(large["steps"], 5 * small["steps"])
                    self.assertLess(large["bytes"], 5 * small["bytes"] + (1 << 20))

    def test_time_grows_with_the_graph(self):
        """A square of 60,000 nodes would be seen; decoding is in the time as well, and makes up most of it."""
        # Under a sanitizer it is not the time that is looked at.
        n = 15000 if engine.LEVEL == "quick" or "asan" in engine.BUILD else 60000
        with tagging.Tagger() as tagger:
            for name, make, passes in COSTLY:
                with self.subTest(name):
                    graph_, many = make(n), passes(n)
                    start = processor_seconds(tagger.process.pid)
                    tagger.ask(graph_, [])
                    middle = processor_seconds(tagger.process.pid)
                    answer = tagger.ask(graph_, many)
                    end = processor_seconds(tagger.process.pid)
                    self.assertIn("tags", answer)
                    self.assertLess(end - middle, 4 * (middle - start) + 2)

    def test_a_long_pattern_is_bounded(self):
        g = graph(*[node(f"a{i}", "aten.sin.default", "%x0", module="a" * 20000 + str(i)) for i in range(20)])
        with tagging.Tagger() as tagger:
            answer = tagger.ask(g, [sac(modules="*" + "a" * 500 + "b")], max_steps=1000000)
            self.assertEqual((answer.get("status"), answer.get("restored")), ("step-limit", True))


class Refusals(unittest.TestCase):
    CASES = [(tagging.random_document, [sac(["aten.mm.default"], modules="*")]), (tagging.random_document, [stage("auto")]),
             (tagging.random_document, [{"pass": "autoparallel", "stage_size_gib": 1e-6, "save": ["mylib.none.default"]}]),
             (lambda seed: tagging.Chains(seed).document(), [GATHER]), (lambda seed: tagging.Chains(seed).document(), [KEEP]),
             (tagging.random_document, [{"pass": "repair_tags"}]), (lambda _: many_modules(50), [{"pass": "set_tags", "tags": MANY}]),
             (lambda _: many_modules(400), [sac(modules="blocks.*"), sac(modules="nothing")])]

    def test_every_allocation_may_fail(self):
        n_failed = 0
        with tagging.Tagger() as tagger:
            for make, passes in self.CASES:
                for seed in range(3, 6):
                    document = make(seed)
                    want = tagger.ask(document, passes)
                    if "tags" not in want:
                        continue
                    for n in range(1, want["allocations"] + 1):
                        with self.subTest(passes=passes, seed=seed, n=n):
                            got = tagger.ask(document, passes, fail_at=n)
                            self.assertEqual((got.get("status"), got.get("cause"), got.get("restored")),
                                             ("out-of-memory", "out-of-memory", True))
                        n_failed += 1
                    self.assertEqual(tagger.ask(document, passes, fail_at=want["allocations"] + 1), want)
        self.assertGreater(n_failed, 30)

    def test_every_step_may_be_the_last(self):
        r = random.Random(1)
        with tagging.Tagger() as tagger:
            for make, passes in self.CASES:
                document = make(4)
                want = tagger.ask(document, passes)
                if "tags" not in want:
                    continue
                for limit in sorted(r.sample(range(1, want["steps"]), 25)):
                    got = tagger.ask(document, passes, max_steps=limit)
                    self.assertEqual((got.get("status"), got.get("restored")), ("step-limit", True), (passes, limit))
                self.assertEqual(tagger.ask(document, passes, max_steps=want["steps"]), want)


if __name__ == "__main__":
    unittest.main()
