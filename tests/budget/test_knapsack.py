"""The four knapsack solvers on random items: against brute force, a reference of the dynamic program, and PyTorch's own answers."""
# variants: asan
import ctypes
import itertools
import json
import os
import random
import unittest

import engine
from lines import Lines

N = engine.at_level(quick=400, full=4000, torture=40000)
HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = 10000


def float32(x):
    return ctypes.c_float(x).value


def dp(memory, runtime, budget):
    """What the dynamic program keeps. A row of its table is a rising staircase over capacities: here a list of its steps."""
    capacity, sizes = round(budget * PARTS), [round(m * PARTS) for m in memory]
    rows = [[(0, 0.0)]]
    for size, value in zip(sizes, runtime):
        value = float32(value)
        moved = [(at + size, float32(v + value)) for at, v in rows[-1] if at + size <= capacity]
        steps = moved if size == 0 else rows[-1] + moved
        row = []
        for at, v in sorted(steps, key=lambda s: (s[0], -s[1])):
            if not row or v > row[-1][1]:
                row.append((at, v))
        rows.append(row)

    def entry(row, at):
        return max(v for a, v in row if a <= at)
    keep, at = [], capacity
    for i in range(len(memory), 0, -1):
        if entry(rows[i], at) != entry(rows[i - 1], at):
            keep.append(i - 1)
            at -= sizes[i - 1]
    return keep[::-1]


def greedy(memory, runtime, budget):
    """By value for memory, what needs none first; takes what still fits."""
    free = [i for i, m in enumerate(memory) if m == 0]
    rest = sorted((i for i, m in enumerate(memory) if m != 0), key=lambda i: -(runtime[i] / memory[i]))
    used, keep = 0.0, []
    for i in free + rest:
        if used + memory[i] <= budget:
            used += memory[i]
            keep.append(i)
    return sorted(keep)


def best(memory, runtime, budget):
    """The greatest runtime that fits, by trying all subsets."""
    top = 0.0
    for mask in range(1 << len(memory)):
        chosen = [i for i in range(len(memory)) if mask >> i & 1]
        if sum(memory[i] for i in chosen) <= budget:
            top = max(top, sum(runtime[i] for i in chosen))
    return top


def items(r, n, grid):
    """n items; on a grid of sixteenths all sums are exact, in doubles and in ten-thousandths."""
    if grid:
        memory, budget = [r.choice([0, 1, 1, 2, 3, 4, 7]) / 16 for _ in range(n)], r.randint(0, 16) / 16
    else:
        memory = [r.choice([0.0, 1e-5, 5e-5, 1.5e-4, 2.5e-4, r.random(), r.random() / n]) for _ in range(n)]
        budget = r.choice([0.0, 0.05, 0.1, 0.5, 0.95, round(r.random(), 4), r.random()])
    runtime = [float(r.choice([1, 1, 2, 3, 5, 8, r.randint(1, 10**6)] if grid else [1, 1, 7, 16777217, 10**9, r.randint(1, 10**13)])) for _ in range(n)]
    return memory, runtime, budget


class Knapsacks(unittest.TestCase):
    def setUp(self):
        self.lines = Lines("tests/budget/knapsack_lines")
        self.ask = self.lines.__enter__()

    def tearDown(self):
        self.lines.__exit__(None, None, None)

    def keep(self, solver, memory, runtime, budget):
        return self.ask({"solver": solver, "memory": memory, "runtime": runtime, "budget": budget})["keep"]

    def cases(self, most, grid):
        for seed in range(N):
            r = random.Random(f"knapsack {seed} {grid}")
            yield items(r, r.randint(0, most), grid)

    def test_dp_equals_the_staircase(self):
        lossy = 0
        for memory, runtime, budget in itertools.chain(self.cases(12, False), self.cases(12, True)):
            with self.subTest(memory=memory, runtime=runtime, budget=budget):
                keep = self.keep("dp", memory, runtime, budget)
                self.assertEqual(keep, dp(memory, runtime, budget))
                lossy += sum(runtime[i] for i in range(len(memory)) if memory[i] == 0 and i not in keep) > 0
        self.assertGreater(lossy, 0)  # float32 swallowed something: the arithmetic matters

    def test_dp_is_optimal_where_sums_are_exact(self):
        for memory, runtime, budget in self.cases(9, True):
            runtime = [float(int(x) % 1000) for x in runtime]
            keep = self.keep("dp", memory, runtime, budget)
            with self.subTest(memory=memory, runtime=runtime, budget=budget):
                self.assertLessEqual(sum(memory[i] for i in keep), budget)
                self.assertEqual(sum(runtime[i] for i in keep), best(memory, runtime, budget))

    def test_greedy_equals_the_rule(self):
        free = 0
        for memory, runtime, budget in itertools.chain(self.cases(30, False), self.cases(30, True)):
            got = self.ask({"solver": "greedy", "memory": memory, "runtime": runtime, "budget": budget})
            with self.subTest(memory=memory, runtime=runtime, budget=budget):
                self.assertEqual(got["keep"], greedy(memory, runtime, budget))
                self.assertEqual(got["divides_by_zero"], 0 in memory)
            free += 0 in memory
        self.assertGreater(free, N // 2)

    def test_greedy_keeps_items_of_no_size_at_any_budget(self):
        for budget in (0.0, 0.5, 1.0):
            keep = self.keep("greedy", [0.5, 0.0, 0.0, 0.7], [9.0, 1.0, 1.0, 1.0], budget)
            self.assertEqual(keep, [1, 2] if budget < 0.5 else [0, 1, 2])

    def test_exact_solver_finds_the_optimum(self):
        for memory, runtime, budget in itertools.chain(self.cases(10, False), self.cases(10, True)):
            keep = self.keep("ilp", memory, runtime, budget)
            with self.subTest(memory=memory, runtime=runtime, budget=budget):
                self.assertLessEqual(sum(memory[i] for i in keep), budget * (1 + 1e-12))
                self.assertGreaterEqual(sum(runtime[i] for i in keep), best(memory, runtime, budget) * (1 - 1e-12))

    def test_halving_keeps_the_budget(self):
        for memory, runtime, budget in itertools.chain(self.cases(40, False), self.cases(40, True)):
            keep = self.keep("hirschberg", memory, runtime, budget)
            with self.subTest(memory=memory, runtime=runtime, budget=budget):
                self.assertLessEqual(sum(memory[i] for i in keep), budget)

    def test_halving_is_optimal_where_sums_are_exact(self):
        for memory, runtime, budget in self.cases(9, True):
            runtime = [float(int(x) % 1000 + 1) for x in runtime]
            keep = self.keep("hirschberg", memory, runtime, budget)
            with self.subTest(memory=memory, runtime=runtime, budget=budget):
                self.assertEqual(sum(runtime[i] for i in keep), best(memory, runtime, budget))

    def test_pytorch_answers(self):
        """sliding_hirschberg.ndjson: what PyTorch 2.13.0 keeps, by both dynamic programs."""
        over = differ = 0
        with open(os.path.join(HERE, "sliding_hirschberg.ndjson"), encoding="utf-8") as f:
            for line in map(json.loads, f):
                given = line["memory"], line["runtime"], line["budget"]
                with self.subTest(**line):
                    self.assertEqual(self.keep("hirschberg_off_by_one", *given), line["keep"])
                    self.assertEqual(self.keep("dp", *given), line["dp"])
                over += sum(round(line["memory"][i] * PARTS) for i in line["keep"]) > round(line["budget"] * PARTS)
                differ += self.keep("hirschberg", *given) != line["keep"]
        self.assertGreater(over, 10)
        self.assertGreater(differ, 10)

    def test_every_failing_allocation_is_reported(self):
        memory, runtime = [0.1, 0.0, 0.3, 0.2] * 5, [1.0, 2.0, 3.0, 5.0] * 5
        for solver in ("dp", "greedy", "ilp", "hirschberg"):
            line = {"solver": solver, "memory": memory, "runtime": runtime, "budget": 0.5}
            failures = 0
            while "status" in (got := self.ask({**line, "fail_at": failures + 1})):
                self.assertEqual(got["status"], "out-of-memory")
                failures += 1
            self.assertGreater(failures, 0, solver)
            self.assertEqual(got["keep"], self.ask(line)["keep"])

    def test_step_limit_ends_it(self):
        memory, runtime = [0.01 + i / 997 for i in range(60)], [float(1 + i * i % 37) for i in range(60)]
        for solver in ("dp", "greedy", "ilp", "hirschberg"):
            line = {"solver": solver, "memory": memory, "runtime": runtime, "budget": 0.9}
            steps = self.ask(line)["steps"]
            self.assertEqual(self.ask({**line, "max_steps": steps - 1}), {"status": "step-limit"})
            self.assertIn("keep", self.ask({**line, "max_steps": steps}))


if __name__ == "__main__":
    unittest.main()
