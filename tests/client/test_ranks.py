"""Four ranks of a gloo job get the same decision, also when one rank's names differ."""
# level: full
# torch
import json
import os
import subprocess
import sys
import tempfile
import unittest

import support


class Ranks(support.WithDaemon):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        script = os.path.join(support.ROOT, "tests", "client", "one_rank.py")
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "store")
            ranks = [subprocess.Popen([sys.executable, "-W", "ignore", script, cls.url, str(rank), "4", store],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(4)]
            cls.results = []
            for process in ranks:
                out, err = process.communicate(timeout=600)
                if process.returncode:
                    raise AssertionError(err[-3000:])
                cls.results.append(json.loads(out.splitlines()[-1]))

    def check_same(self, results):
        self.assertEqual([r["saved"] for r in results], [results[0]["saved"]] * 4)
        self.assertEqual([r["gradient"] for r in results], [results[0]["gradient"]] * 4)
        self.assertGreater(len(results[0]["saved"]), 0)
        self.assertEqual([r["names"] == results[0]["names"] for r in results], [True, False, True, True])
        for one in results:
            self.assertTrue(one["right"])
            self.assertEqual((one["counters"]["plans"], one["counters"]["fallbacks"]), (1, 0))

    def test_each_alone(self):
        results = [r["alone"] for r in self.results]
        self.check_same(results)
        self.assertEqual([r["group"] for r in results], [None] * 4)

    def test_as_a_group(self):
        """One decision, which says so, in each rank's own names."""
        results = [r["group"] for r in self.results]
        self.check_same(results)
        groups = [r["group"] for r in results]
        self.assertEqual(groups, [groups[0]] * 4)
        self.assertEqual(groups[0]["world_size"], 4)
        self.assertTrue(groups[0]["key"].startswith("job-1."))

    def test_a_group_that_does_not_agree(self):
        """One rank trains another program: each goes on with a decision of its own."""
        for one in (r["apart"] for r in self.results):
            self.assertTrue(one["right"])
            self.assertIsNone(one["group"])
            counts = one["counters"]
            self.assertEqual((counts["plans"], counts["fallbacks"], counts["problems"]), (1, 0, 1))


if __name__ == "__main__":
    unittest.main()
