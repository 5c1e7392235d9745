"""Bytes alive at every step: core's simulation against an independent one, the block chains, and what must hold of any plan."""
# level: quick
# variants: asan
import collections
import json
import random
import unittest

import memory

import data
import engine
import generate
import oracle
import simulator

generate.use_table(simulator.TABLE)
BOOLS = ["aggressive_recomputation", "recompute_views", "treat_parameters_as_free_to_save", "ban_recompute_used_far_apart",
         "ban_recompute_not_in_allowlist", "impure_random"]
N_RANDOM = engine.at_level(quick=500, full=3000, torture=60000)
N_PLANS = engine.at_level(quick=300, full=300, torture=3000)


def differences(got, want):
    out = []
    for key, value in want.items():
        if got[key] == value:
            continue
        if key in ("forward", "backward"):
            step = next((i for i, (a, b) in enumerate(zip(got[key], value)) if a != b), min(len(got[key]), len(value)))
            out.append(f"{key} step {step}: {got[key][step:step + 2]} for {value[step:step + 2]}")
        else:
            out.append(f"{key}: {got[key]} for {value}")
    return out


def passed_on(answer):
    return answer["sym"] + answer["saved"] + answer["opaque"]


class AgainstSimulator(unittest.TestCase):
    def test_corpus_at_budgets(self):
        n = 0
        with memory.Engine() as core:
            for name in data.corpus_names():
                graph = json.loads(data.corpus_graph_text(name))
                simulation = simulator.Simulator(graph)  # knows the graph; reading it takes longer than a plan
                asks = [{"activation_memory_budget": b, "compat": c} for b, c in ((1, False), (0.5, True), (0.3, False), (0, False))]
                for ask, answer in zip(asks, core.ask(graph, *asks)):
                    if answer.get("outcome") != "plan":
                        continue
                    want = simulation.simulate(passed_on(answer))
                    self.assertEqual(differences(answer, want), [], (name, ask))
                    n += 1
        self.assertGreater(n, 120)

    def test_random_graphs(self):
        seen = collections.Counter()
        with memory.Engine() as core:
            for seed in range(1, N_RANDOM + 1):
                graph, options = generate.graph(seed)
                if "FakeScriptObject" in json.dumps(graph) or generate_is_huge(graph):
                    continue  # passed on without being listed; clipped
                ask = {k: v for k, v in options.items() if k in BOOLS or k == "profile"}
                ask["activation_memory_budget"] = random.Random(seed).choice([1, 1, 0.5, 0])
                answer, = core.ask(graph, ask)
                seen[answer.get("outcome", "problem")] += 1
                if answer.get("outcome") != "plan":
                    continue
                want = simulator.Simulator(graph, ask).simulate(passed_on(answer))
                self.assertEqual(differences(answer, want), [], (seed, ask))
                seen["recomputes"] += bool(answer["recomputed"])
                seen["backward above forward"] += answer["peak_backward_bytes"] > answer["peak_forward_bytes"]
                seen["gradients"] += answer["peak_gradient_bytes"] > 0
        for what in ("plan", "recomputes", "backward above forward", "gradients"):
            self.assertGreater(seen[what], N_RANDOM // 20, (what, seen))


def generate_is_huge(graph):
    """Sizes near 2^63, which core clips."""
    sizes = simulator.Simulator.__new__(simulator.Simulator)
    sizes.all = oracle.Graph(graph, simulator.TABLE)
    return max(sizes.n_bytes(n.name) for n in sizes.all.nodes) > (1 << 61) // (len(graph["nodes"]) + 1)


class BlockChains(unittest.TestCase):
    """The saved bytes and peaks that blocks of attention and an eightfold inner layer must show."""

    def test_saved_and_peak(self):
        with memory.Engine() as core:
            for letters, *pairs in memory.CHAINS:
                for n_blocks, (saved, peak) in zip((8, 16), pairs):
                    for scale in (1, 1000):
                        answer, = core.ask(memory.block_chain(n_blocks, letters, scale), {})
                        self.assertEqual((answer["saved_storage_bytes"], answer["peak_backward_bytes"]),
                                         (saved * scale, peak * scale), (letters, n_blocks))

    def test_a_smaller_saved_set_can_peak_far_higher(self):
        with memory.Engine() as core:
            by = {letters: core.ask(memory.block_chain(32, letters), {})[0] for letters in ("a", "ax")}
        self.assertLess(by["a"]["saved_storage_bytes"], by["ax"]["saved_storage_bytes"])
        self.assertGreater(by["a"]["peak_backward_bytes"], 3 * by["ax"]["peak_backward_bytes"])

    def test_what_forms_the_peak(self):
        with memory.Engine() as core:
            answer, = core.ask(memory.block_chain(8, "a"), {})
        want = {"x_0"} | {f"a_{k}" for k in range(8)} | {f"u_{k}" for k in range(8)} | {f"x_{k}" for k in range(1, 8)}
        self.assertEqual(set(answer["peak_nodes"]), want)


class Properties(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Graphs with their plans, which all tests look at and none changes."""
        cls.plans = []
        with memory.Engine() as core:
            for seed in range(20000, 20000 + N_PLANS):
                graph, _ = generate.graph(seed)
                if generate_is_huge(graph):
                    continue
                cls.plans += [(graph, answer) for answer in core.ask(graph, {}, {"activation_memory_budget": 0.4})
                              if answer.get("outcome") == "plan"]
        assert len(cls.plans) > N_PLANS // 2, len(cls.plans)

    def test_peaks_are_the_greatest_of_the_curves(self):
        for _, answer in self.plans:
            for half in ("forward", "backward"):
                self.assertEqual(answer[f"peak_{half}_bytes"], max(a for _, a, _ in answer[half]))
            both = answer["forward"] + answer["backward"]
            self.assertTrue(all(a >= 0 and g >= 0 for _, a, g in both))
            self.assertEqual(answer["peak_gradient_bytes"], max(g for _, _, g in both))

    def test_what_is_saved_is_alive_when_the_backward_begins(self):
        for graph, answer in self.plans:
            sim = simulator.Simulator(graph)
            roots = {sim.root(name) for name in answer["saved"]}
            saved = sum(sim.n_bytes(r) for r in roots if sim.kind(r) == simulator.ACTIVATION)
            self.assertGreaterEqual(answer["backward"][0][1], saved)
            self.assertGreaterEqual(answer["forward"][-1][1], saved)
            self.assertGreaterEqual(answer["peak_backward_bytes"], saved)

    def test_every_operator_runs_once_with_its_inputs_there(self):
        for graph, answer in self.plans:
            nodes = {d["name"]: d for d in graph["nodes"]}
            reads = oracle.Graph(graph, simulator.TABLE).by
            for half in ("forward", "backward"):
                names = [name for name, _, _ in answer[half] if name]
                self.assertEqual(len(names), len(set(names)))
                place = {name: i for i, name in enumerate(names)}
                for name in names:
                    for p in reads[name].inputs:
                        if nodes[p.name]["op"] != "placeholder" and p.name in place:
                            self.assertLess(place[p.name], place[name])

    def test_the_nodes_of_the_peak_add_up_to_it(self):
        for graph, answer in self.plans:
            sim = simulator.Simulator(graph)
            peak = max(answer["peak_forward_bytes"], answer["peak_backward_bytes"])
            names = answer["peak_nodes"]
            self.assertEqual(len(names), len(set(names)))
            if not any(simulator.is_container(sim.all.by[name]) for name in names):
                self.assertEqual(sum(sim.n_bytes(sim.root(name)) for name in names), peak)

    def test_saving_one_value_more_never_lowers_the_forward(self):
        """The forward only ever holds more for longer when more is passed on."""
        n = 0
        for graph, answer in self.plans[::2]:
            if "FakeScriptObject" in json.dumps(graph):
                continue
            sim = simulator.Simulator(graph)
            extra = [n for n in sim.g.nodes if n in sim.info.fw and oracle.is_tensor(n.val) and n.name not in answer["saved"]]
            for more in extra[:3]:
                half, _ = sim.halves(passed_on(answer) + [more.name])
                self.assertGreaterEqual(sim.run(half, False)[1], answer["peak_forward_bytes"], more.name)
                n += 1
        self.assertGreater(n, N_PLANS // 3)


if __name__ == "__main__":
    unittest.main()
