"""The examples run against a live daemon, and print what they promise."""
# level: full
# torch
import os
import subprocess
import sys
import unittest

import support


class QuickStart(support.WithDaemon):
    def test_as_pasted(self):
        """The first Python of both READMEs, with the address of this test's daemon."""
        texts = []
        for path in ("README.md", os.path.join("proto", "python", "README.md")):
            with open(os.path.join(support.ROOT, path), encoding="utf-8") as file:
                texts.append(file.read().split("```python\n")[1].split("```")[0])
        self.assertEqual(texts[0], texts[1])
        self.assertIn("http://127.0.0.1:7433", texts[0])
        env = {k: v for k, v in os.environ.items() if not k.startswith("REMATD_")}
        env.update(PYTHONPATH=os.path.join(support.ROOT, "proto", "python"), REMATD_CLIENT_TIMEOUT="120",
                   REMATD_CLIENT_CONNECT_TIMEOUT="60", REMATD_CLIENT_STRICT="1")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", texts[0].replace("http://127.0.0.1:7433", self.url)],
                              env=env, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertIn("'plans': 1, 'fallbacks': 0", done.stdout)


class Examples(support.WithDaemon):
    def run_example(self, name, *arguments):
        env = {k: v for k, v in os.environ.items() if not k.startswith("REMATD_")}
        done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(support.ROOT, "examples", name), "--url", self.url,
                               "--steps", "2", "--layers", "1", *arguments], env={**env, "REMATD_CLIENT_TIMEOUT": "120",
                                                                                "REMATD_CLIENT_CONNECT_TIMEOUT": "60"},
                              capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-3000:])
        return done.stdout

    def test_llama3_sac(self):
        text = self.run_example("llama3_sac.py")
        self.assertNotIn("differs", text)
        # Seven products in the block and one after it; attention's output and its statistics; nothing pointwise of the block.
        self.assertIn("     8  aten.mm.default\n", text)
        self.assertIn("     2  aten._scaled_dot_product_flash_attention_for_cpu.default, one of its results\n", text)
        for kind in ("aten.silu", "aten.sigmoid", "aten.mul", "aten.cat", "aten.pow"):
            self.assertNotIn(kind, text)

    def test_autoparallel(self):
        text = self.run_example("autoparallel.py")
        self.assertIn("With it:", text)

    def test_getitem_fault(self):
        text = self.run_example("getitem_fault.py")
        self.assertIn("can be neither saved nor computed again", text)
        self.assertIn("scaled_dot_product", text)
        self.assertIn("repaired graphs: 1", text)
        self.assertNotIn("differs", text)


if __name__ == "__main__":
    unittest.main()
