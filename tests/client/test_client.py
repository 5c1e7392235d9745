"""The client without PyTorch: retries, deadlines, breaker, jobs, settings, wrong answers; plans of a live daemon."""
import dataclasses
import gzip
import itertools
import json
import os
import subprocess
import sys
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "proto", "python"))

import daemon
import data
from fakeservice import PLAN, FakeService, problem, response

import rematd
from rematd import Client, Problem, Settings, Unavailable, WrongAnswer, counters, http
from rematd.breaker import Breaker
from rematd.explain import MAX_CHANGES, explain_no_plan, remedy_tags

GRAPH = {"schema": "remat/graph/v1", "num_fwd_outputs": 0, "static_lifetime_inputs": [],
         "nodes": [{"name": "output", "op": "output", "target": "output", "args": []}]}


def client_of(service, sleep=None, **settings):
    settings = {"connect_timeout_s": 30.0, "timeout_s": 60.0, **settings}
    slept = []
    client = Client(Settings(url=service if isinstance(service, str) else service.url, **settings), sleep=sleep or slept.append)
    client.slept = slept
    return client


def always(answer):
    return lambda _request: answer


def in_turn(*answers):
    """One answer after the other; the last for ever."""
    turn = itertools.chain(answers, itertools.repeat(answers[-1]))
    return lambda _request: next(turn)


class Asking(unittest.TestCase):
    def test_what_is_sent(self):
        with FakeService(always(response(200, PLAN))) as service:
            plan = client_of(service, token="secret").plan(GRAPH, options={"compat": True}, passes=[{"pass": "repair_tags"}])
        self.assertEqual(plan, PLAN)
        request, = service.requests
        self.assertEqual((request.method, request.path), ("POST", "/v1/plans"))
        self.assertEqual(json.loads(request.body), {"graph": GRAPH, "options": {"compat": True}, "passes": [{"pass": "repair_tags"}]})
        self.assertEqual(request.headers["authorization"], "Bearer secret")
        self.assertEqual(request.headers["content-type"], "application/json")
        self.assertRegex(request.headers["prefer"], r"^wait=(59|60)$")
        self.assertNotIn("content-encoding", request.headers)

    def test_url_with_a_path(self):
        with FakeService(always(response(200, PLAN))) as service:
            client_of(service.url + "/behind/proxy/").plan(GRAPH)
        self.assertEqual(service.requests[0].path, "/behind/proxy/v1/plans")

    def test_urls_that_are_none(self):
        for url in ("ftp://x", "http://", "http://host:port", "http://host:99999"):
            with self.subTest(url=url), self.assertRaisesRegex(ValueError, "expected http|[Pp]ort"):
                Client(Settings(url=url))

    def test_compressed_when_wanted_large_and_far(self):
        large = {**GRAPH, "name": "x" * 100_000}
        accepts = {"Accept-Encoding": "gzip, zstd"}
        with FakeService(lambda r: response(200, PLAN, accepts)) as service:
            client = client_of(service)
            client.address = dataclasses.replace(client.address, host="0.0.0.0")  # this machine, but not by its loopback name
            client.plan(large)
            client.plan(large)
            client.plan(GRAPH)
            near = client_of(service)
            near.plan(large)
            near.plan(large)
        codings = [r.headers.get("content-encoding") for r in service.requests]
        self.assertEqual(codings, [None, "gzip", None, None, None])
        self.assertEqual(json.loads(gzip.decompress(service.requests[1].body))["graph"], large)

    def test_plain_again_when_gzip_is_refused(self):
        large = {**GRAPH, "name": "x" * 100_000}

        def answer(request):
            if request.headers.get("content-encoding"):
                return problem(415, "unsupported-media-type")
            return response(200, PLAN, {"Accept-Encoding": "gzip"} if len(service.requests) == 1 else {})

        with FakeService(answer) as service:
            client = client_of(service)
            client.address = dataclasses.replace(client.address, host="0.0.0.0")
            client.plan(large)
            self.assertEqual(client.plan(large), PLAN)
        self.assertEqual(json.loads(service.requests[-1].body)["graph"], large)

    def test_long_answer_on_a_connection_that_closes(self):
        plan = {**PLAN, "saved": [f"node_{i}" for i in range(100_000)]}
        whole = response(200, plan, {"Connection": "close"})

        def in_pieces(connection):
            for start in range(0, len(whole), 50_000):
                connection.sendall(whole[start:start + 50_000])
                time.sleep(0.001)

        with FakeService(always(in_pieces)) as service:
            self.assertEqual(client_of(service, retries=0).plan(GRAPH), plan)

    def test_compressed_answer(self):
        body = gzip.compress(json.dumps(PLAN).encode())
        with FakeService(always(response(200, headers={"Content-Encoding": "gzip"}, body=body))) as service:
            self.assertEqual(client_of(service).plan(GRAPH), PLAN)

    def test_plan_of_a_live_daemon_is_the_programs(self):
        for name in ("llama_2l_sac", "llama_2l_dynamic"):
            graph = json.loads(data.corpus_graph_text(name))
            with daemon.Daemon() as live:
                plan = client_of(f"http://{live.host}").plan(graph, options={"aggressive_recomputation": True})
            done = daemon.run(daemon.REMAT, "plan", "-", "--options", '{"aggressive_recomputation": true}',
                              stdin=json.dumps(graph).encode())
            self.assertEqual(plan, json.loads(done.stdout))


class Retries(unittest.TestCase):
    def test_as_the_service_asks(self):
        with FakeService(in_turn(problem(503, "queue-full", {"Retry-After": "7"}), response(200, PLAN))) as service:
            client = client_of(service)
            self.assertEqual(client.plan(GRAPH), PLAN)
        self.assertEqual(len(service.requests), 2)
        self.assertEqual(len(client.slept), 1)
        self.assertTrue(7 <= client.slept[0] <= 7.8, client.slept)

    def test_longer_and_longer_with_jitter(self):
        with FakeService(always(problem(500, "internal-error"))) as service:
            waits = []
            for _ in range(12):
                client = client_of(service, retries=3, breaker_failures=0)
                with self.assertRaises(Problem) as caught:
                    client.plan(GRAPH)
                waits.append(client.slept)
        self.assertEqual(caught.exception.status, 500)
        self.assertEqual(len(service.requests), 48)
        for i, base in enumerate((0.05, 0.1, 0.2)):
            column = [w[i] for w in waits]
            self.assertTrue(all(0.5 * base <= w <= 1.5 * base for w in column), column)
            self.assertGreater(len(set(column)), 3)

    def test_no_time_for_what_it_asks(self):
        with FakeService(always(problem(503, "draining", {"Retry-After": "3600"}))) as service:
            client = client_of(service)
            with self.assertRaises(Problem):
                client.plan(GRAPH)
        self.assertEqual((len(service.requests), client.slept), (1, []))

    def test_broken_connections(self):
        with FakeService(in_turn(b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nxx", response(200, PLAN))) as service:
            self.assertEqual(client_of(service).plan(GRAPH), PLAN)
        self.assertEqual(len(service.requests), 3)

    def test_refusals_are_not_repeated(self):
        for status, code in ((400, "malformed-json"), (401, "unauthorized"), (413, "too-large"), (422, "invalid-graph"),
                             (501, "not-implemented"), (504, "step-limit")):
            with self.subTest(status=status), FakeService(always(problem(status, code))) as service:
                with self.assertRaises(Problem) as caught:
                    client_of(service).plan(GRAPH)
                self.assertEqual((caught.exception.status, caught.exception.code), (status, code))
                self.assertEqual(len(service.requests), 1)

    def test_a_problem_says_where(self):
        errors = [{"pointer": "/nodes/4/args/0", "detail": "unknown"}]
        with FakeService(always(problem(422, "invalid-graph", errors=errors, request_id="abc"))) as service, \
                self.assertRaisesRegex(Problem, r"422 invalid-graph: this is invalid-graph \(at /nodes/4/args/0\)") as caught:
            client_of(service).plan(GRAPH)
        self.assertEqual(caught.exception.request_id, "abc")
        self.assertFalse(caught.exception.is_callers_mistake)


class Bounded(unittest.TestCase):
    """A service that never finishes is given up, whatever it does meanwhile. Without the deadline these never end."""

    def given_up(self, answer, **settings):
        service = FakeService(answer)
        with service:
            start = time.monotonic()
            with self.assertRaises(Unavailable):
                client_of(service, timeout_s=0.5, sleep=time.sleep, **settings).plan({**GRAPH, "name": "x" * 10})
            self.assertLess(time.monotonic() - start, 30)
        return service

    def test_silent(self):
        self.given_up(lambda _r: service_hang)

    def test_a_byte_now_and_then_in_the_header(self):
        holder = []
        with FakeService(lambda _r: holder[0].drip(b"HTTP/1.1 200 OK\r\nX: y")) as service:
            holder.append(service)
            with self.assertRaises(Unavailable):
                client_of(service, timeout_s=0.5).plan(GRAPH)

    def test_a_byte_now_and_then_in_the_body(self):
        def answer(_request):
            def send(connection):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                holder[0].drip(b"x")(connection)
            return send

        holder = []
        with FakeService(answer) as service:
            holder.append(service)
            with self.assertRaises(Unavailable):
                client_of(service, timeout_s=0.5).plan(GRAPH)

    def test_nobody_reads_the_request(self):
        import socket
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with self.assertRaises(Unavailable):
                client_of(url, timeout_s=0.5).plan({**GRAPH, "name": "x" * 50_000_000})

    def test_nobody_there(self):
        import socket
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        with self.assertRaisesRegex(Unavailable, "cannot connect"):
            client_of(f"http://127.0.0.1:{port}").plan(GRAPH)

    def test_a_job_that_never_ends(self):
        def answer(request):
            if request.method == "POST":
                return response(202, {}, {"Location": "/v1/jobs/1"})
            return response(200, {"state": "running"})

        with FakeService(answer) as service, self.assertRaises(Unavailable):
            client_of(service, timeout_s=0.5, sleep=time.sleep, retries=0).plan(GRAPH)


def service_hang(connection):
    connection.settimeout(60)
    try:
        while connection.recv(1 << 16):
            pass
    except OSError:
        pass


class Jobs(unittest.TestCase):
    def test_accepted_then_finished(self):
        states = iter(("queued", "running", "succeeded"))

        def answer(request):
            if request.method == "POST":
                return response(202, {"id": "ab"}, {"Location": "/v1/jobs/ab"})
            if request.path == "/v1/jobs/ab":
                return response(200, {"state": next(states)})
            return response(200, PLAN)

        with FakeService(answer) as service:
            self.assertEqual(client_of(service).plan(GRAPH), PLAN)
        self.assertEqual([r.path for r in service.requests],
                         ["/v1/plans", "/v1/jobs/ab", "/v1/jobs/ab", "/v1/jobs/ab", "/v1/jobs/ab/plan"])
        self.assertIn("wait=", service.requests[1].headers["prefer"])

    def test_failed(self):
        def answer(request):
            if request.method == "POST":
                return response(202, {}, {"Location": "/v1/jobs/ab"})
            return response(200, {"state": "failed", "problem": {"status": 504, "code": "step-limit", "detail": "too much"}})

        with FakeService(answer) as service, self.assertRaisesRegex(Problem, "504 step-limit: too much"):
            client_of(service).plan(GRAPH)

    def test_somebody_elses_address_is_not_followed(self):
        for where in ("http://example.com/v1/jobs/1", "", "//example.com/x"):
            with self.subTest(where=where), FakeService(always(response(202, {}, {"Location": where}))) as service:
                with self.assertRaisesRegex(Unavailable, "Location"):
                    client_of(service, retries=0).plan(GRAPH)


class WrongAnswers(unittest.TestCase):
    def test_not_a_plan(self):
        for body in (b"", b"not json", b"[]", b"null", b'{"schema": "remat/plan/v2", "outcome": "plan"}', b"[" * 100_000,
                     json.dumps({**PLAN, "outcome": "maybe"}).encode()):
            with self.subTest(body=body[:40]), FakeService(always(response(200, body=body))) as service:
                with self.assertRaises(WrongAnswer):
                    client_of(service).plan(GRAPH)

    def test_not_http(self):
        for bad in (b"hello\r\n\r\n", b"HTTP/1.1 two hundred\r\n\r\n", b"\x00" * 5000,
                    response(200, headers={"Content-Encoding": "br"}, body=b"x"),
                    response(200, headers={"Content-Encoding": "gzip"}, body=b"x" * 50),
                    response(200, headers={"Content-Encoding": "gzip"}, body=gzip.compress(json.dumps(PLAN).encode())[:-9])):
            with self.subTest(bad=bad[:30]), FakeService(always(bad)) as service:
                with self.assertRaises(Unavailable):
                    client_of(service, retries=0).plan(GRAPH)

    def test_longer_than_allowed(self):
        limit, http.MAX_ANSWER_BYTES = http.MAX_ANSWER_BYTES, 1000
        try:
            for headers, body in (({}, b"x" * 1001), ({"Content-Encoding": "gzip"}, gzip.compress(b"x" * 100_000))):
                with FakeService(always(response(200, headers=headers, body=body))) as service, self.assertRaises(Unavailable):
                    client_of(service, retries=0).plan(GRAPH)
        finally:
            http.MAX_ANSWER_BYTES = limit


class TheBreaker(unittest.TestCase):
    def test_opens_probes_and_closes(self):
        now = [0.0]
        breaker = Breaker(3, 60.0, clock=lambda: now[0])
        for _ in range(2):
            self.assertTrue(breaker.allow())
            breaker.failed()
        breaker.succeeded()
        for _ in range(3):
            self.assertTrue(breaker.allow())
            breaker.failed()
        self.assertTrue(breaker.is_open)
        self.assertFalse(breaker.allow())
        now[0] = 61.0
        self.assertTrue(breaker.allow())
        self.assertFalse(breaker.allow())  # one at a time
        breaker.failed()
        self.assertFalse(breaker.allow())
        now[0] = 200.0
        self.assertTrue(breaker.allow())
        breaker.succeeded()
        self.assertTrue(breaker.allow() and breaker.allow())

    def test_a_sick_service_is_left_alone(self):
        with FakeService(always(problem(500, "internal-error"))) as service:
            client = client_of(service, retries=0, breaker_failures=2)
            for _ in range(2):
                with self.assertRaises(Problem):
                    client.plan(GRAPH)
            with self.assertRaisesRegex(Unavailable, "not asked again"):
                client.plan(GRAPH)
        self.assertEqual(len(service.requests), 2)

    def test_refusals_do_not_open_it(self):
        with FakeService(always(problem(422, "invalid-graph"))) as service:
            client = client_of(service, breaker_failures=1)
            for _ in range(3):
                with self.assertRaises(Problem):
                    client.plan(GRAPH)
        self.assertEqual(len(service.requests), 3)


class Groups(unittest.TestCase):
    def test_asked_together(self):
        with FakeService(always(response(200, PLAN))) as service:
            client_of(service).group_plan("job/1 x", 2, 4, GRAPH)
        request, = service.requests
        self.assertEqual(request.path, "/v1/groups/job%2F1%20x/plans")
        self.assertEqual({k: json.loads(request.body)[k] for k in ("rank", "world_size")}, {"rank": 2, "world_size": 4})

    def test_alone_where_there_are_none(self):
        for status in (404, 405, 501):
            def answer(request, status=status):
                return problem(status, "not-found") if "/groups/" in request.path else response(200, PLAN)

            with self.subTest(status=status), FakeService(answer) as service:
                client = client_of(service)
                self.assertEqual([client.group_plan("j", 0, 2, GRAPH) for _ in range(2)], [PLAN, PLAN])
                self.assertEqual([r.path for r in service.requests], ["/v1/groups/j/plans", "/v1/plans", "/v1/plans"])

    def test_disagreement_is_told(self):
        with FakeService(always(problem(409, "ranks-disagree"))) as service, self.assertRaisesRegex(Problem, "ranks-disagree"):
            client_of(service).group_plan("j", 0, 2, GRAPH)


class TheEngine(unittest.TestCase):
    def test_asked_once_and_learnt_from_plans(self):
        with FakeService(lambda r: response(200, {"engine": "fake/0"} if r.path == "/version" else PLAN)) as service:
            client = client_of(service)
            self.assertEqual([client.engine(), client.engine()], ["fake/0", "fake/0"])
            client.plan(GRAPH)
            self.assertEqual(client.engine(), "fake/1")
        self.assertEqual([r.path for r in service.requests], ["/version", "/v1/plans"])

    def test_none_without_a_service(self):
        with FakeService(lambda _r: problem(500, "internal-error")) as service:
            client = client_of(service)
            self.assertIsNone(client.engine())
            self.assertIsNone(client.engine())
        self.assertEqual(len(service.requests), 1)

    def test_none_of_a_service_that_hangs(self):
        """uuid() asks for it in every compilation: without its own time limit this would wait for as long as a decision may."""
        with FakeService(lambda _r: service_hang) as service:
            self.assertIsNone(client_of(service, timeout_s=3600.0).engine())
        with FakeService(lambda _r: holder[0].drip(b"HTTP/1.1 200 OK\r\nX: y")) as service:
            holder = [service]
            self.assertIsNone(client_of(service, timeout_s=3600.0).engine())

    def test_of_a_live_daemon(self):
        with daemon.Daemon() as live:
            self.assertRegex(client_of(f"http://{live.host}").engine(), r"^rematd/\d")


class TheSettings(unittest.TestCase):
    def test_environment_and_arguments(self):
        environ = {"REMATD_URL": "http://h:1", "REMATD_TOKEN": "t", "REMATD_CLIENT": "0", "REMATD_CLIENT_STRICT": "1",
                   "REMATD_CLIENT_TIMEOUT": "2.5", "REMATD_CLIENT_CONNECT_TIMEOUT": "0.1", "REMATD_CLIENT_RETRIES": "5",
                   "REMATD_CLIENT_BREAKER": "9", "REMATD_CLIENT_BREAKER_FAILURES": "1", "REMATD_CLIENT_CA_FILE": "/ca"}
        got = Settings.from_environment(environ, strict=False, token=None)
        self.assertEqual(got, Settings(url="http://h:1", token="t", enabled=False, strict=False, timeout_s=2.5, connect_timeout_s=0.1,
                                       retries=5, breaker_s=9.0, breaker_failures=1, ca_file="/ca"))
        self.assertEqual(Settings.from_environment({}), Settings())
        defaults = Settings()
        self.assertEqual((defaults.connect_timeout_s, defaults.timeout_s), (0.5, 10.0))

    def test_mistakes_name_the_variable(self):
        for name, value in (("REMATD_CLIENT", "maybe"), ("REMATD_CLIENT_TIMEOUT", "soon"), ("REMATD_CLIENT_RETRIES", "-1"),
                            ("REMATD_CLIENT_TIMEOUT", "nan"), ("REMATD_CLIENT_TIMEOUT", "inf")):
            with self.subTest(name=name, value=value), self.assertRaisesRegex(ValueError, name):
                Settings.from_environment({name: value})


class Words(unittest.TestCase):
    def test_an_infinite_flow_of_a_live_daemon(self):
        graph = json.loads(data.corpus_graph_text("autoparallel_llama_3l_naive_getitem"))
        with daemon.Daemon() as live:
            plan = client_of(f"http://{live.host}").plan(graph)
        self.assertEqual(plan["outcome"], "infinite_flow")
        text = explain_no_plan(plan)
        self.assertIn("can be neither saved nor computed again", text)
        for step in plan["diagnostics"][0]["path"]:
            if step["node"]:
                self.assertIn(step["node"], text)

    def test_remedy_of_a_live_daemon_works(self):
        """What the exception tells to change, changed, gives a plan."""
        graph = json.loads(data.corpus_graph_text("autoparallel_llama_3l_naive_getitem"))
        with daemon.Daemon() as live:
            client = client_of(f"http://{live.host}")
            plan = client.plan(graph)
            text, tags = explain_no_plan(plan), remedy_tags(plan)
            mended = client.plan(graph, passes=[{"pass": "set_tags", "tags": tags}])
        self.assertEqual((plan["outcome"], mended["outcome"]), ("infinite_flow", "plan"))
        self.assertEqual(text.count("remedy, tried, for all conflicts together:"), 1)
        for name in list(tags)[:MAX_CHANGES]:
            self.assertRegex(text, rf"(?m)^    {name}: \w+ -> (\w+|no tag)$")
        self.assertEqual(mended["memory"]["saved_bytes"], plan["diagnostics"][0]["remedy"]["result"]["saved_bytes"])

    def test_where_no_remedy_helps(self):
        conflict = {"code": "infinite-flow", "severity": "error", "message": "it cannot be", "path": []}
        facts = [{"node": "max", "reason": "returns a tuple", "origin": "intrinsic"}]
        plan = {"outcome": "infinite_flow", "diagnostics": [{**conflict, "remedy": None, "facts": facts}, *[conflict] * 5]}
        text = explain_no_plan(plan)
        self.assertEqual(remedy_tags(plan), {})
        self.assertIn("no change of tags helps:\n    max: returns a tuple [intrinsic]", text)
        self.assertIn("and 3 more, independent of these", text)


class ThePackage(unittest.TestCase):
    def test_counts_from_many_threads(self):
        counters.clear()
        threads = [threading.Thread(target=lambda: [counters.add("requests") for _ in range(2000)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counters.snapshot()["requests"], 16000)
        with self.assertRaises(KeyError):
            counters.add("no such thing")

    def test_needs_no_torch(self):
        code = ("import sys; sys.modules['torch'] = None\nimport rematd, rematd.__main__, rematd.convert, rematd.optable\n"
                "assert rematd.Client and rematd.__version__\n")
        done = subprocess.run([sys.executable, "-c", code], cwd=os.path.join(ROOT, "proto", "python"), capture_output=True,
                              text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_version_is_the_programs(self):
        with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
            self.assertIn(f"VERSION := {rematd.__version__}\n", file.read())
        with open(os.path.join(ROOT, "proto", "python", "pyproject.toml"), encoding="utf-8") as file:
            self.assertIn(f'version = "{rematd.__version__}"\n', file.read())

    def test_table_is_the_services(self):
        with open(os.path.join(ROOT, "tests", "oracle", "optable.json"), encoding="utf-8") as file:
            ours = os.path.join(ROOT, "proto", "python", "rematd", "optable-2.13.json")
            with open(ours, encoding="utf-8") as packaged:
                self.assertEqual(json.load(packaged), json.load(file))
