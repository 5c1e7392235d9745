"""Real graphs with a fault put into each: what is told first names the fault.

First is the first diagnostic that the unharmed graph does not have. It names the fault when its code is one that the fault can have
and its node, its path or its list of nodes holds the node that was changed (num_fwd_outputs: the output that is now asked of the
forward). An input tagged for recomputation and a wrong number of outputs leave no plan; the others may leave one.
"""
# variants: asan
import collections
import json
import os
import random
import unittest

import data
import engine
import injections

SEED = int(os.environ.get("REMAT_SEED", "1"))
N_EACH = engine.at_level(quick=110, full=220, torture=3000)
LEAST = 0.99


def speaks(diagnostic):
    return json.dumps(diagnostic, sort_keys=True)


class Injections(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.planner = engine.Planner()
        cls.graphs, cls.known = {}, {}
        for name in data.corpus_names():
            document = json.loads(data.corpus_graph_text(name))
            answer = cls.ask(document)
            if answer["outcome"] == "plan":
                cls.graphs[name] = injections.Graph(document)
                cls.known[name] = {speaks(d) for d in answer["diagnostics"]}

    @classmethod
    def tearDownClass(cls):
        cls.planner.close()

    @classmethod
    def ask(cls, document):
        return cls.planner.ask(document, {"explain": "summary"}).doc

    def check(self, kind):
        r = random.Random(f"{SEED} {kind.__name__}")
        able = [name for name in self.graphs if injections.inject(kind, self.graphs[name], random.Random(1))]
        outcomes, missed, very_first = collections.Counter(), [], 0
        for i in range(N_EACH):
            name = able[i % len(able)]
            fault = injections.inject(kind, self.graphs[name], r)
            answer = self.ask(fault.document)
            new = [d for d in answer["diagnostics"] if speaks(d) not in self.known[name]]
            outcomes[answer["outcome"]] += 1
            very_first += bool(answer["diagnostics"]) and fault.is_named_by(answer["diagnostics"][0])
            if not new or not fault.is_named_by(new[0]):
                missed.append((name, sorted(fault.where), answer["outcome"], new[:1]))
        print(f"{kind.__name__}: {N_EACH} in {len(able)} graphs, {dict(outcomes)}, {len(missed)} not named first, "
              f"{very_first} before all else")
        for miss in missed:
            print("  ", miss)
        self.assertLessEqual(len(missed), N_EACH * (1 - LEAST), missed[:3])
        return outcomes

    def test_getitem_tagged_for_recomputation(self):
        self.assertGreater(self.check(injections.getitem_recomputed)["infinite_flow"], 0)

    def test_must_save_on_a_tuple_whose_parts_are_recomputed(self):
        self.assertGreater(self.check(injections.tuple_saved)["infinite_flow"], 0)

    def test_must_recompute_on_an_input(self):
        self.assertEqual(self.check(injections.input_recomputed)["plan"], 0)

    def test_tag_on_a_backward_node(self):
        self.check(injections.backward_tagged)

    def test_wait_tagged_apart_from_its_collective(self):
        self.check(injections.wait_split)

    def test_one_forward_output_too_many(self):
        self.assertEqual(self.check(injections.one_output_more)["invalid_output"], N_EACH)


if __name__ == "__main__":
    unittest.main()
