"""Any PyTorch, the newest among them: it trains through the client with right gradients; where it decides otherwise is listed.

`make test-torch-newest` runs this with the newest that pip installs; in the complete run it is 2.13, which decides the same.
"""
# level: torture
# torch
import os
import unittest

import support
import families
import torch
import training
from rematd import counters

IS_NEWEST = os.environ.get("REMAT_TORCH_NEWEST") == "1"
RANDOM = ("gpt2", "bert", "dropout", "dropout_ac")


class Newest(support.WithDaemon):
    def test_families(self):
        differing = []
        for name in families.FAMILIES:
            with self.subTest(family=name):
                counters.clear()
                module, inputs, dynamic = families.make(name)
                both = training.Both(self.partitioner(strict=False))
                _, grads = training.train(module, inputs, training.backend(both), dynamic=dynamic)
                if name not in RANDOM:
                    self.assertEqual(training.far(training.train(module, inputs)[1], grads), [])
                if both.ours != both.own:
                    differing.append(name)
                if counters.snapshot()["fallbacks"]:
                    differing.append(name + " (decided by PyTorch)")
        print(f"PyTorch {torch.__version__}: decided otherwise than its own partitioner: {', '.join(differing) or 'none'}")
        if not IS_NEWEST:
            self.assertEqual(differing, [])


if __name__ == "__main__":
    unittest.main()
