"""memory_limit_bytes against an integer program: within 5 % of the least work, on graphs with too many values to try all sets."""
# variants: asan
import collections
import unittest

import memory
from checkmate import Layers, Program
from exhaustive import Exhaustive, peak_of

import engine

SLOW = "asan" in engine.BUILD
N_BLOCKS = {"quick": [5], "full": [5, 7, 9], "torture": [5, 6, 7, 8, 9, 10, 11, 12, 16, 20]}[engine.LEVEL][:1 if SLOW else None]
N_SEEDS = {"quick": 1, "full": 2, "torture": 20}[engine.LEVEL]
PARTS = (0, 0.1, 0.25, 0.5)  # of the way from the lowest peak found to that of the least work


class AgainstProgram(unittest.TestCase):
    def test_the_program_is_right(self):
        """Its optimum is that of all sets of saved values."""
        n = 0
        for seed in range(100, 103 if SLOW else 108):
            graph = Layers(seed, 2).document()
            program, all_sets = Program(graph), Exhaustive(graph)
            peaks = sorted({peak for peak, _ in all_sets.points})
            self.assertIsNone(program.solve(peaks[0] - 1), seed)
            for limit in peaks[::max(1, len(peaks) // 4)]:
                found, bound = program.solve(limit)
                self.assertAlmostEqual(found, all_sets.best(limit), delta=0.5, msg=(seed, limit))
                self.assertAlmostEqual(bound, found, delta=0.5)
                n += found > 0.5
        self.assertGreater(n, 5)

    def check(self, core, graph, seen, what):
        program = Program(graph)
        high, low = (peak_of(a) for a in core.ask(graph, {"memory_limit_bytes": 1 << 50}, {"memory_limit_bytes": 0}))
        for part in PARTS:
            limit = low + int((high - low) * part)
            answer, = core.ask(graph, {"memory_limit_bytes": limit})
            best, bound = program.solve(limit)
            self.assertTrue(answer["limit"]["is_met"], (what, limit))
            self.assertLessEqual(peak_of(answer), limit, (what, limit))
            self.assertGreaterEqual(answer["recomputed_flops"], bound - 0.5, (what, limit))
            if best is not None:  # it may have run out of nodes before it had a plan at all
                self.assertLessEqual(answer["recomputed_flops"], 1.05 * best + 0.5, (what, limit))
                self.assertLessEqual(answer["limit"]["flops_bound"], best + 0.5, (what, limit))
                seen["proven"] += best - bound < 0.5
            seen["limits"] += 1
            seen["some work"] += answer["recomputed_flops"] > 0

    def test_within_five_percent(self):
        seen = collections.Counter()
        with memory.Engine() as core:
            for n_blocks in N_BLOCKS:
                for seed in range(N_SEEDS):
                    self.check(core, Layers(seed, n_blocks).document(), seen, (n_blocks, seed))
        print(dict(seen))
        self.assertGreater(2 * seen["some work"], seen["limits"], seen)
        self.assertGreater(2 * seen["proven"], seen["limits"], seen)


if __name__ == "__main__":
    unittest.main()
