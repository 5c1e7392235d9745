"""Limits hold over all solves of a question together, and its effort grows with the graph as that of plans does."""
# level: quick
# variants: asan
import json
import unittest

import whatif

import data


def wide(n):
    """One value that n others and n gradients read."""
    t = {"dtype": "uint8", "shape": [8]}
    nodes = [{"name": "x", "op": "placeholder", "target": "primals_1", "val": t},
             {"name": "t", "op": "placeholder", "target": "tangents_1", "val": t},
             {"name": "a", "op": "call_function", "target": "aten.sin.default", "args": ["%x"], "val": t}]
    nodes += [{"name": f"u{i}", "op": "call_function", "target": "aten.cos.default", "args": ["%a"], "val": t} for i in range(n)]
    nodes += [{"name": f"g{i}", "op": "call_function", "target": "aten.mul.Tensor", "args": ["%t", f"%u{i}"], "val": t} for i in range(n)]
    args = ["%a"] + [f"%g{i}" for i in range(n)]
    return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": [*nodes, {"name": "output", "op": "output", "target": "output", "args": args}]}


def deep(n):
    """A chain of n values, each read by a gradient; every second tagged."""
    t = {"dtype": "uint8", "shape": [8]}
    nodes = [{"name": "x", "op": "placeholder", "target": "primals_1", "val": t},
             {"name": "t", "op": "placeholder", "target": "tangents_1", "val": t}]
    for i in range(n):
        nodes.append({"name": f"c{i}", "op": "call_function", "target": "aten.sin.default", "args": [f"%c{i - 1}" if i else "%x"], "val": t,
                      **({"recompute": "prefer_recompute", "ac_graph_id": 1} if i % 2 else {})})
    last = "%t"
    for i in reversed(range(n)):
        nodes.append({"name": f"g{i}", "op": "call_function", "target": "aten.mul.Tensor", "args": [last, f"%c{i}"], "val": t})
        last = f"%g{i}"
    return {"schema": "remat/graph/v1", "num_fwd_outputs": 1,
            "nodes": [*nodes, {"name": "output", "op": "output", "target": "output", "args": [f"%c{n - 1}", last]}]}


def many_tags(n):
    return {f"c{i}": "must_recompute" if i % 3 else "must_save" for i in range(n)}


class Limits(unittest.TestCase):
    def questions(self, graph, name, tags):
        body = whatif.request(graph)
        yield "node", body, {"name": name}
        yield "what-if", {"base": body, "what_if": {"tags": tags}}, {}
        yield "diff", body, {"other": whatif.changed(body, {"tags": tags})}

    def test_steps_and_memory(self):
        graph = json.loads(data.corpus_graph_text("batchnorm"))
        with whatif.Asker() as asker:
            plan = asker.ask("plan", whatif.request(graph))
            for call, body, more in self.questions(graph, "convolution", {"convolution": "must_recompute"}):
                answer = asker.ask(call, body, **more)
                with self.subTest(call):
                    self.assertGreater(answer["steps"], plan["steps"])
                    if call == "diff":
                        self.assertEqual(asker.ask(call, body, max_steps=plan["steps"] // 2, **more)["problem"]["code"], "step-limit")
                        continue
                    for steps in (1, plan["steps"] // 2, plan["steps"], plan["steps"] + 100, answer["steps"] - 1):
                        self.assertEqual(asker.ask(call, body, max_steps=steps, **more)["problem"]["code"], "step-limit", steps)
                    self.assertEqual(asker.ask(call, body, max_steps=answer["steps"], **more)["body"], answer["body"])
                problems = set()
                for memory in range(10_000, 4_000_000, 97_000):
                    again = asker.ask(call, body, memory=memory, **more)
                    problems.add(again.get("problem", {}).get("code"))
                    if "body" in again:
                        self.assertEqual(again["body"], answer["body"])
                self.assertEqual(problems, {None, "too-large"})

    def test_effort_is_linear(self):
        with whatif.Asker() as asker:
            for make, name in ((wide, "a"), (deep, "c7")):
                steps = []
                for n in (1000, 8000):
                    graph = make(n)
                    tags = many_tags(n) if make is deep else {"a": "must_save"}
                    plan = asker.ask("plan", whatif.request(graph))
                    found = [asker.ask(call, body, **more) for call, body, more in self.questions(graph, name, tags)]
                    for answer in found:
                        self.assertNotIn("problem", answer)
                        self.assertLess(answer["steps"], 6 * plan["steps"])
                        self.assertLess(len(answer["body"]), 600 * len(graph["nodes"]))
                    steps.append([answer["steps"] for answer in found])
                for few, many in zip(*steps):
                    self.assertLess(many, 9 * few)


if __name__ == "__main__":
    unittest.main()
