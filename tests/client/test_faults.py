"""Whatever the service does, training goes on with right gradients, and says so once."""
# level: full
# torch
import contextlib
import copy
import json
import logging
import socket
import unittest

import support
import daemon
import fakeservice
import families
import rematd
import torch
import torch._dynamo
import torch.nn.functional as F
import training
from fakeservice import FakeService, problem, response
from rematd import counters
from rematd import partitioner as module_under_test
from torch import nn


class Small(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, width), nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, x, y):
        h = F.gelu(self.a(x))
        return F.mse_loss(self.c(torch.sin(self.b(h)) * h.exp().mean()), y)


def small(width=12):
    torch.manual_seed(3)
    return Small(width), (torch.randn(5, 8), torch.randn(5, 1))


class Captured(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        if record.levelno >= logging.WARNING:
            self.lines.append(record.getMessage())


@contextlib.contextmanager
def warnings_of_rematd():
    handler, log = Captured(), logging.getLogger("rematd")
    log.addHandler(handler)
    log.propagate = False
    try:
        yield handler.lines
    finally:
        log.removeHandler(handler)
        log.propagate = True


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        module, inputs = small()
        cls.eager = training.train(module, inputs)[1]
        cls.own = training.train(module, inputs, training.backend(training.OWN))[1]
        # What a good service answers for this graph and for another one.
        with daemon.Daemon() as live:
            ours = rematd.Partitioner(f"http://{live.host}", strict=True, timeout_s=120.0, connect_timeout_s=60.0)
            training.train(module, inputs, training.backend(ours))
            cls.plan = dict(ours.last_plan)
            other, other_inputs, _ = families.make("moe")
            training.train(other, other_inputs, training.backend(ours))
            cls.other_plan = dict(ours.last_plan)

    def setUp(self):
        module_under_test._warned.clear()
        counters.clear()

    def goes_on(self, url, n=1, fallbacks=None, **settings):
        """Trains n times with new compilations; the words of the one warning."""
        settings = {"connect_timeout_s": 30.0, "timeout_s": 60.0, "retries": 0, "breaker_failures": 0, **settings}
        ours = rematd.Partitioner(url, **settings)
        module, inputs = small()
        with warnings_of_rematd() as lines:
            for _ in range(n):
                _, grads = training.train(module, inputs, training.backend(ours))
                self.assertTrue(training.equal(grads, self.own))
                self.assertEqual(training.far(self.eager, grads), [])
        self.assertEqual(counters.snapshot()["fallbacks"], n if fallbacks is None else fallbacks)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("PyTorch's own partitioner decides instead", lines[0])
        return lines[0]

    def answered(self, plan):
        return FakeService(lambda _r: response(200, plan))

    def test_a_good_answer_is_used(self):
        """Else the tests below would prove nothing."""
        with self.answered(self.plan) as service:
            ours = rematd.Partitioner(service.url, strict=True, connect_timeout_s=30.0, timeout_s=60.0)
            module, inputs = small()
            _, grads = training.train(module, inputs, training.backend(ours))
        self.assertTrue(training.equal(grads, self.own))
        self.assertEqual((counters.snapshot()["plans"], counters.snapshot()["fallbacks"]), (1, 0))

    def test_what_is_said_beside_a_good_plan_does_no_harm(self):
        for diagnostics in (None, 3, "x", {}, [3, None, {}, {"code": module_under_test.REREAD}]):
            with self.subTest(diagnostics=diagnostics), self.answered({**self.plan, "diagnostics": diagnostics}) as service:
                ours = rematd.Partitioner(service.url, strict=True, connect_timeout_s=30.0, timeout_s=60.0)
                module, inputs = small()
                self.assertTrue(training.equal(training.train(module, inputs, training.backend(ours))[1], self.own))

    def test_absent(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.assertIn("cannot connect", self.goes_on(f"http://127.0.0.1:{port}", n=3))

    def test_slow_in_every_phase(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n"
        for phase in (None, b"HTTP", head, head + b"\r\n{"):
            with self.subTest(phase=phase):
                self.setUp()
                holder = []

                def answer(_request, phase=phase, holder=holder):
                    def send(connection):
                        if phase:
                            connection.sendall(phase)
                        holder[0].hang(connection)
                    return send

                with FakeService(answer) as service:
                    holder.append(service)
                    self.assertIn("out of time", self.goes_on(service.url, timeout_s=0.4))

    def test_not_accepting(self):
        with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            self.assertIn("out of time", self.goes_on(url, timeout_s=0.4))

    def test_errors(self):
        for status, code, headers in ((500, "internal-error", {}), (503, "queue-full", {"Retry-After": "1000"}),
                                      (503, "draining", {}), (504, "deadline-exceeded", {}), (429, "rate", {}), (401, "token", {}),
                                      (422, "invalid-graph", {}), (413, "too-large", {}), (501, "not-implemented", {})):
            with self.subTest(status=status, code=code):
                self.setUp()
                with FakeService(lambda _r: problem(status, code, headers)) as service:
                    self.assertIn(f"{status} {code}", self.goes_on(service.url))

    def test_truncated_and_not_json(self):
        whole = response(200, self.plan)
        for data in (whole[:len(whole) // 2], b"", b"garbage\r\n\r\n", response(200, body=b"{"), response(200, {"a": 1})):
            with self.subTest(data=data[:20]):
                self.setUp()
                with FakeService(lambda _r: data) as service:
                    self.goes_on(service.url)

    def test_a_plan_for_another_graph(self):
        with self.answered(self.other_plan) as service:
            self.goes_on(service.url, n=2)

    def test_plans_that_do_not_fit(self):
        def changed(**more):
            return {**self.plan, **more}

        saved = self.plan["saved"]
        self.assertGreater(len(saved), 3)
        wrong = {
            "one too few": changed(saved=saved[1:]),
            "none": changed(saved=[]),
            "only the last": changed(saved=saved[-1:]),
            "one twice": changed(saved=[*saved, saved[0]]),
            "one that is not there": changed(saved=[*saved, "nobody"]),
            "the output": changed(saved=[*saved, "output"]),
            "one of the backward": changed(saved=[*saved, "tangents_1"]),
            "not names": changed(saved=[1, None, {}]),
            "no list": changed(saved=None),
            "more computed again": changed(recomputed=[*self.plan["recomputed"], "mm"]),
            "nothing computed again": changed(recomputed=["mm"]),
            "a size that is none": changed(saved_sym=[saved[0]], saved=saved[1:]),
            "an object that is none": changed(saved_opaque=[saved[0]], saved=saved[1:]),
            "changes of no node": changed(passes=[{"pass": "x", "changes": [{"node": "nobody", "after": None}]}]),
            "passes that are none": changed(passes=3),
            "changes that are not told": changed(passes=[{"pass": "x", "changed": 1}]),
            "changes to no tag": changed(passes=[{"pass": "x", "changes": [{"node": saved[0], "after": "soft"}]}]),
        }
        for name, plan in wrong.items():
            with self.subTest(name=name):
                self.setUp()
                with self.answered(plan) as service:
                    self.goes_on(service.url)

    def test_random_numbers_are_not_drawn_twice(self):
        """A plan that is right in itself but computes an untagged random value again: dropout would differ from the forward's."""
        module, inputs, _ = families.make("dropout")
        own = training.train(module, inputs, training.backend(training.OWN))[1]
        with daemon.Daemon() as live:
            good = rematd.Partitioner(f"http://{live.host}", strict=True, timeout_s=120.0, connect_timeout_s=60.0)
            graphs = training.spy(good.client)
            training.train(module, inputs, training.backend(good))
            bad = copy.deepcopy(graphs[0][0])
            for node in bad["nodes"]:
                if "rand" in node["name"] or node["target"].startswith("aten.gt."):
                    node["recompute"] = "must_recompute"
            plan = good.client.plan(bad)
        self.assertEqual(plan["outcome"], "plan")
        self.assertTrue(any("rand" in name for name in plan["recomputed"]), plan["recomputed"])
        with self.answered(plan) as service, warnings_of_rematd() as lines:
            ours = rematd.Partitioner(service.url, connect_timeout_s=30.0, timeout_s=60.0)
            _, grads = training.train(module, inputs, training.backend(ours))
        self.assertTrue(training.equal(grads, own))
        self.assertIn("random numbers", lines[0])

    def test_restarted_in_mid_run(self):
        module, inputs = small()
        first = daemon.Daemon()
        url, port = f"http://{first.host}", first.address[1]
        ours = rematd.Partitioner(url, connect_timeout_s=60.0, timeout_s=120.0, retries=0, breaker_failures=0)
        with warnings_of_rematd() as lines:
            grads = [training.train(module, inputs, training.backend(ours))[1]]
            first.stop()
            grads.append(training.train(module, inputs, training.backend(ours))[1])
            with daemon.Daemon(listen=f"127.0.0.1:{port}"):
                grads.append(training.train(module, inputs, training.backend(ours))[1])
        for grad in grads:
            self.assertTrue(training.equal(grad, self.own))
        counts = counters.snapshot()
        self.assertEqual((counts["plans"], counts["fallbacks"]), (2, 1))
        self.assertEqual(len(lines), 1)

    def test_another_engine_version(self):
        """The key under which compiled programs are kept follows."""
        with self.answered({**self.plan, "engine": "fake/1"}) as service:
            ours = rematd.Partitioner(service.url, connect_timeout_s=30.0, timeout_s=60.0)
            module, inputs = small()
            training.train(module, inputs, training.backend(ours))
            before = ours.uuid()
            service.answer = lambda _r: response(200, {**self.plan, "engine": "fake/2"})
            _, grads = training.train(module, inputs, training.backend(ours))
            self.assertNotEqual(before, ours.uuid())
        self.assertTrue(training.equal(grads, self.own))

    def test_the_breaker_saves_the_rest(self):
        with FakeService(lambda _r: problem(500, "internal-error")) as service:
            self.goes_on(service.url, n=4, breaker_failures=2)
            self.assertEqual(len(service.requests), 2)
        self.assertEqual(counters.snapshot()["breaker_skips"], 2)

    def test_switched_off(self):
        with FakeService(lambda _r: response(200, self.plan)) as service:
            ours = rematd.Partitioner(service.url, enabled=False)
            module, inputs = small()
            _, grads = training.train(module, inputs, training.backend(ours))
            self.assertTrue(training.equal(grads, self.own))
            self.assertIsInstance(ours.uuid(), str)
            self.assertEqual(service.requests, [])


class Strict(unittest.TestCase):
    """What is raised, and as what."""

    def fails(self, service, kind, words, **settings):
        torch._dynamo.reset()
        ours = rematd.Partitioner(service.url, connect_timeout_s=30.0, timeout_s=60.0, retries=0, **settings)
        module, inputs = small()
        with self.assertRaisesRegex(Exception, words) as caught:
            training.train(module, inputs, training.backend(ours))
        causes, error = [], caught.exception
        while error is not None:
            causes.append(type(error))
            error = error.__cause__ or error.__context__ or getattr(error, "inner_exception", None)
        self.assertIn(kind, causes)

    def test_no_answer(self):
        with FakeService(lambda _r: b"") as service:
            self.fails(service, rematd.Unavailable, "POST /v1/plans", strict=True)

    def test_problem(self):
        with FakeService(lambda _r: problem(500, "internal-error")) as service:
            self.fails(service, rematd.Problem, "500 internal-error", strict=True)

    def test_wrong_answer(self):
        plan = {**fakeservice.PLAN, "saved": ["nobody"]}
        with FakeService(lambda _r: response(200, plan)) as service:
            self.fails(service, rematd.WrongAnswer, "nobody", strict=True)

    def test_a_callers_mistake_is_raised_without_strict(self):
        with daemon.Daemon() as live:
            class Live:
                url = f"http://{live.host}"
            self.fails(Live, rematd.Problem, "unknown-option.*max_dist_from_bw", options={"max_dist_from_bv": 3})
            self.fails(Live, rematd.Problem, "unknown-pass.*autoparallel", passes=[{"pass": "autoparalel"}])

    def test_no_plan_is_raised_with_the_explanation(self):
        plan = {"schema": "remat/plan/v1", "outcome": "infinite_flow", "engine": "e", "digest": "d", "diagnostics": [
            {"code": "infinite-flow", "severity": "error", "message": "it cannot be", "path": [
                {"node": "mm", "side": "in", "reason": "is tagged must_save", "origin": "annotation"}], "remedy": "untag mm"}]}
        with FakeService(lambda _r: response(200, json.loads(json.dumps(plan)))) as service:
            self.fails(service, rematd.NoPlan, r"(?s)neither saved nor computed again.*mm: is tagged must_save.*remedy: untag mm")

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(ValueError, "on_conflict"):
            rematd.Partitioner(on_conflict="ignore")


if __name__ == "__main__":
    unittest.main()
