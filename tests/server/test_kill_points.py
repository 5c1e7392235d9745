# level: full
"""kill -9 at every fail point, once: nothing acknowledged is lost, nothing answered twice differently, the database is sound."""
import os
import unittest

import kill_loop

SEED = int(os.environ.get("REMAT_KILL_SEED", "1"))


class TestFailPoints(unittest.TestCase):
    def test_each(self):
        points = kill_loop.fail_points()
        self.assertGreaterEqual(len(points), 12)
        for point in points:
            with self.subTest(point):
                self.assertEqual(kill_loop.run_point(point, SEED), [])

    def test_unknown(self):
        done = kill_loop.support.run(kill_loop.support.REMATD,
                                     env=kill_loop.support.clean_environment(REMATD_FAIL_POINT="nowhere"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"REMATD_FAIL_POINT=nowhere: expected NAME or NAME:N", done.stderr)


if __name__ == "__main__":
    unittest.main()
