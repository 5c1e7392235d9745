"""A short run of every fuzz target, from the cases."""
# level: full
# alone
import os
import unittest

import engine
import smoke

SECONDS = int(os.environ.get("REMAT_FUZZ_SECONDS", {"full": 30, "torture": 1200}.get(engine.LEVEL, 30)))


class Fuzz(unittest.TestCase):
    def test_every_target_runs_clean_from_the_cases(self):
        names = smoke.targets()
        self.assertEqual(sorted(names), ["codec", "decode", "graph", "solve"])
        failures, report = smoke.smoke(SECONDS)
        print(report)
        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
