"""Small graphs, profile plain: our cut against every possible set of saved nodes."""
# variants: asan
import os
import unittest

import engine
import brute

N_GRAPHS = int(os.environ.get("REMAT_SMALL_GRAPHS", engine.at_level(quick=300, full=4000, torture=60000)))


class Brute(unittest.TestCase):
    def test_cut_is_the_smallest_of_all(self):
        kinds = {"infinite": 0, "zero": 0, "above zero": 0}
        with engine.Planner() as planner:
            for seed in range(N_GRAPHS):
                document, options = brute.small(seed)
                found = brute.Problem(document, options).solve()
                answer = planner.ask(document, options)
                with self.subTest(seed=seed):
                    self.assertNotEqual(answer.kind, "problem", answer.doc)
                    if found is None:
                        kinds["infinite"] += 1
                        self.assertEqual(answer.doc["outcome"], "infinite_flow")
                        continue
                    kinds["above zero" if found[0] else "zero"] += 1
                    self.assertEqual((answer.doc["cut"]["value"], answer.doc["cut"]["nodes"]), found)
        print(kinds)
        self.assertGreater(kinds["above zero"], N_GRAPHS // 3)
        self.assertGreater(kinds["infinite"], N_GRAPHS // 100)


if __name__ == "__main__":
    unittest.main()
