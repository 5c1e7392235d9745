"""The operator table compiled into core against the data it was made from, every entry."""
import json
import os
import random
import re
import subprocess
import unittest

import data
import engine

TABLE = os.path.join(engine.ROOT, "tests", "oracle", "optable.json")


def ask(lines):
    done = subprocess.run([os.path.join(engine.BUILD, "tests/diff/table_lines")], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(TABLE, encoding="utf-8") as f:
            cls.table = json.load(f)

    def wanted(self, target):
        """Words for a target, by the rules for packets and overloads."""
        packets = self.table["packets"]
        packet = target if target in packets or target.count(".") < 2 else target.rsplit(".", 1)[0]
        facts = self.table["overloads"].get(target, [])
        words = set(packets.get(packet, [])) | {f for f in facts if not f.startswith("returns=")}
        if "returns=0" in facts:
            words.add("no_returns")
        if target.count(".") >= 2 and re.search(r"\.(out|out_\w*|\w*_out)$", target):
            words.add("mutable")
        return words

    def compare(self, targets):
        for target, line in zip(targets, ask(targets), strict=True):
            with self.subTest(target=target):
                self.assertEqual(set(line.split()), self.wanted(target))

    def test_every_packet(self):
        names = sorted(self.table["packets"])
        self.assertGreater(len(names), 300)
        self.compare(names + [name + ".default" for name in names] + [name + ".no_such_overload" for name in names])

    def test_every_overload(self):
        names = sorted(self.table["overloads"])
        self.assertGreater(len(names), 800)
        self.compare(names)

    def test_neighbours_of_every_name(self):
        """A letter more or less is another operator."""
        names = sorted(self.table["packets"]) + sorted(self.table["overloads"])
        self.compare([name + "x" for name in names] + [name[:-1] for name in names if len(name) > 1])

    def test_every_dtype(self):
        names = sorted(self.table["dtypes"])
        self.assertEqual([int(x) for x in ask(["dtype " + n for n in names])], [self.table["dtypes"][n] for n in names])
        self.assertEqual(ask(["dtype " + n + "x" for n in names]), ["0"] * len(names))

OPERATORS = os.path.join(engine.ROOT, "core", "optable", "operators-2.13.inc")
OWN = ("aten", "prims", "c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd")


class Operators(unittest.TestCase):
    """What a list of operators to save may name: all that PyTorch has in its own namespaces, nothing else there."""

    @classmethod
    def setUpClass(cls):
        with open(OPERATORS, encoding="utf-8") as f:
            cls.lines = re.findall(r'^NAME\("(.*)"\)$', f.read(), re.M)
        cls.names = {f"{line.split()[0]}.{overload}" for line in cls.lines for overload in line.split()[1:]}

    def answers(self, names):
        return dict(zip(names, ask(["save " + name for name in names]), strict=True))

    def test_order_and_form(self):
        self.assertEqual(self.lines, sorted(set(self.lines)))
        self.assertEqual(len({line.split()[0] for line in self.lines}), len(self.lines))
        for line in self.lines:
            operator, *overloads = line.split(" ")
            self.assertRegex(line, r"^[a-z0-9_]+\.\w+( \w+)+$")
            self.assertIn(operator.split(".")[0], OWN)
            self.assertEqual(overloads, sorted(set(overloads)))
        self.assertGreater(len(self.names), 3900)

    def test_every_operator_may_be_listed(self):
        self.assertEqual({name: said for name, said in self.answers(sorted(self.names)).items() if said != "ok"}, {})

    def test_the_facts_and_the_corpus_name_no_other(self):
        with open(TABLE, encoding="utf-8") as f:
            table = json.load(f)
        called = {d["target"] for name in data.corpus_names() for d in json.loads(data.corpus_graph_text(name))["nodes"]
                  if d["op"] == "call_function"}
        overloads = {name for name in called | set(table["overloads"]) if name.split(".")[0] in OWN}
        self.assertGreater(len(overloads), 700)
        self.assertEqual(overloads - self.names, set())
        packets = {name.rsplit(".", 1)[0] for name in self.names}
        self.assertEqual({p for p in table["packets"] if p.split(".")[0] in OWN} - packets - self.names, set())

    def test_a_letter_more_or_less_is_refused(self):
        r, wrong = random.Random(1), set()
        for name in sorted(self.names):
            i = r.randrange(name.index(".") + 1, len(name))
            wrong |= {name + "x", name[:-1], name[:i] + name[i + 1:], name[:i] + name[i] + name[i:]}
        wrong = sorted(w for w in wrong - self.names)
        self.assertGreater(len(wrong), 10000)
        self.assertEqual([w for w, said in self.answers(wrong).items() if not said.startswith('save[0]: "')], [])

    def test_an_unknown_overload_is_told_the_known_ones(self):
        said = self.answers(["aten.addmm.tensor", "aten.mmm.default", "mylib.mm.tensor", "aten.mm"])
        self.assertIn("there are: default", said["aten.addmm.tensor"])
        self.assertIn("no operator of PyTorch", said["aten.mmm.default"])
        self.assertEqual(said["mylib.mm.tensor"], "ok")
        self.assertIn("with its overload", said["aten.mm"])


if __name__ == "__main__":
    unittest.main()
