# level: full
# alone
"""The scenarios of `make slo`, small: no figure is judged here, only what must never go wrong."""
import unittest

import scenarios


class TestScenarios(unittest.TestCase):
    def check(self, found):
        figures, faults = found
        self.assertEqual(faults[:5], [], figures)
        return figures

    def test_overload(self):
        """Every refusal says when to come back, probes answer throughout, and it passes."""
        figures = self.check(scenarios.overload(seconds=4))
        self.assertGreater(figures["goodput_per_s"], 0)
        self.assertGreater(figures["refused"], 0)

    def test_slow_clients(self):
        figures = self.check(scenarios.slow_clients(n=1000, seconds=3))
        self.assertGreater(figures["beside_per_s"], 0)

    def test_sigterm_under_load(self):
        figures = self.check(scenarios.sigterm(rounds=15, seconds=0.4))
        self.assertGreater(figures["answered"], 100)
