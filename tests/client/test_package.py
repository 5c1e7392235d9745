"""The Python package: types, style, wheel and sdist, the operator table of the installed PyTorch."""
# level: full
# torch
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

PACKAGE = os.path.join(support.ROOT, "proto", "python")


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = os.path.join(folder.name, "package")  # tools leave files beside what they read
        shutil.copytree(PACKAGE, self.copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build", ".*_cache"))

    def run_module(self, *arguments, cwd=None, code=0):
        done = subprocess.run([sys.executable, "-W", "ignore", "-m", *arguments], cwd=cwd or self.copy, capture_output=True, text=True,
                              timeout=600, check=False)
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-3000:])
        return done.stdout

    def test_types(self):
        self.assertIn("Success", self.run_module("mypy", "--cache-dir", os.devnull))

    def test_style(self):
        self.run_module("ruff", "check", "--no-cache", ".")

    def test_wheel_and_sdist(self):
        self.run_module("build", "--no-isolation", "--outdir", "out", ".")
        wheel, = glob.glob(os.path.join(self.copy, "out", "rematd-*.whl"))
        self.assertEqual(len(glob.glob(os.path.join(self.copy, "out", "rematd-*.tar.gz"))), 1)
        place = os.path.join(self.copy, "installed")
        self.run_module("pip", "install", "--quiet", "--no-deps", "--no-index", "--target", place, wheel)
        for name in ("py.typed", "optable-2.13.json", "partitioner.py"):
            self.assertTrue(os.path.exists(os.path.join(place, "rematd", name)), name)
        self.assertIn("Exit status", self.run_module("rematd", "--help", cwd=place))

    def test_table_of_this_pytorch(self):
        """Made anew it is the service's."""
        text = self.run_module("rematd.optable", "--inc", "table.inc")
        self.assertEqual(text, "PyTorch 2.13.0 against 2.13.0: 0 differences\n")
        with open(os.path.join(self.copy, "table.inc"), encoding="utf-8") as file:
            made = set(file.read().splitlines())
        with open(os.path.join(support.ROOT, "core", "optable", "pytorch-2.13.inc"), encoding="utf-8") as file:
            there = {line for line in file.read().splitlines() if line[:1].isupper()}
        self.assertEqual(made, there)

    def test_what_changed_is_said(self):
        """Against a table that lacks one operator, has another, and knows other facts of a third."""
        with open(os.path.join(self.copy, "rematd", "optable-2.13.json"), encoding="utf-8") as file:
            old = json.load(file)
        del old["packets"]["aten.mm"]
        old["overloads"]["aten.gone.default"] = ["seeded"]
        old["overloads"]["aten._assert_scalar.default"] = ["mutable"]
        with open(os.path.join(self.copy, "old.json"), "w", encoding="utf-8") as file:
            json.dump(old, file)
        lines = self.run_module("rematd.optable", "--against", "old.json", code=1).splitlines()
        self.assertEqual(len(lines), 4, lines)
        self.assertIn("packets: aten.mm is new: ['compute_intensive'", lines[1])
        self.assertIn("overloads: aten._assert_scalar.default was ['mutable'], is ['impure'", lines[2])
        self.assertEqual(lines[3], "overloads: aten.gone.default is gone, was: ['seeded']")


if __name__ == "__main__":
    unittest.main()
