"""The operator table compiled into core against the data it was made from, every entry."""
import json
import os
import re
import subprocess
import unittest

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


if __name__ == "__main__":
    unittest.main()
