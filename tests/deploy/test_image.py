# level: full
"""The Dockerfile's steps, carried out in scratch roots, and the image tried."""
import os
import unittest

from deployment import run


class Image(unittest.TestCase):
    @unittest.skipIf(os.geteuid() != 0, "a scratch root needs root")
    def test_image(self):
        done = run("/usr/bin/python3", "deploy/check_image.py", timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(done.stdout.count("\nok  "), 18, done.stdout)


if __name__ == "__main__":
    unittest.main()
