# variants: asan tsan
"""The calls, their statuses and headers, negotiation, bodies, connections."""
import json
import re
import subprocess
import unittest

import graphs
from daemon import JSON, Closed, Daemon, chunked, clean_environment, format_request

TINY = graphs.encode(graphs.tiny())
PROBLEM = "application/problem+json"


class WithDaemon(unittest.TestCase):
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(*cls.flags)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def assert_problem(self, response, status, code):
        self.assertEqual(response.status, status, response)
        self.assertEqual(response.headers["content-type"], PROBLEM)
        document = response.json
        self.assertEqual(document["code"], code)
        self.assertEqual(document["status"], status)
        self.assertEqual(document["request_id"], response.headers["x-request-id"])
        for member in ("type", "title", "detail"):
            self.assertTrue(document[member], member)


class TestPlans(WithDaemon):
    def test_plan(self):
        response = self.daemon.plan(TINY)
        self.assertEqual(response.status, 200, response)
        self.assertEqual(response.headers["content-type"], "application/json")
        document = response.json
        self.assertEqual((document["schema"], document["outcome"]), ("remat/plan/v1", "plan"))
        self.assertEqual(document["saved"], ["x"])
        self.assertRegex(document["digest"], "^[0-9a-f]{64}$")

    def test_wrapped_document(self):
        wrapped = {"graph": graphs.tiny(), "options": {"recompute_views": True}}
        self.assertEqual(self.daemon.plan(graphs.encode(wrapped)).json["saved"], ["x"])

    def test_no_plan_possible_is_an_answer(self):
        response = self.daemon.plan(graphs.encode(graphs.infinite_flow()))
        self.assertEqual(response.status, 200)
        self.assertEqual(response.json["outcome"], "infinite_flow")
        self.assertNotIn("saved", response.json)
        self.assertTrue(response.json["diagnostics"])

    def test_server_timing_names_every_phase(self):
        timing = self.daemon.plan(graphs.another()).headers["server-timing"]
        names = re.findall(r"(\w+);dur=\d+\.\d+", timing)
        self.assertEqual(names, ["queue", "decode", "classify", "network", "flow", "extract", "verify", "encode"])

    def test_not_json(self):
        self.assert_problem(self.daemon.plan(b"{"), 400, "malformed-json")
        self.assert_problem(self.daemon.plan(b""), 400, "malformed-json")

    def test_not_a_graph_names_the_place(self):
        document = graphs.tiny()
        document["nodes"][2]["args"] = ["%nobody"]
        response = self.daemon.plan(graphs.encode(document))
        self.assert_problem(response, 422, "invalid-graph")
        self.assertEqual(response.json["errors"][0]["pointer"], "/nodes/2/args/0")

    def test_size_unknown(self):
        self.assert_problem(self.daemon.plan(graphs.encode(graphs.size_unknown())), 422, "size-unknown")

    def test_unknown_option_and_schema(self):
        response = self.daemon.plan(graphs.encode({**graphs.tiny(), "options": {"recompute_view": True}}))
        self.assert_problem(response, 422, "unknown-option")
        self.assertIn("recompute_views", response.json["detail"])
        response = self.daemon.plan(graphs.encode({**graphs.tiny(), "schema": "remat/graph/v9"}))
        self.assert_problem(response, 422, "unknown-schema")

    def test_passes(self):
        policy = {"pass": "sac_policy", "otherwise": "must_save"}
        response = self.daemon.plan(graphs.encode({**graphs.tiny(), "passes": [policy, {"pass": "repair_tags"}]}))
        self.assertEqual(response.status, 200)
        self.assertEqual([p["pass"] for p in response.json["passes"]], ["sac_policy", "repair_tags"])
        self.assertGreater(response.json["passes"][0]["changed"], 0)
        response = self.daemon.plan(graphs.encode({**graphs.tiny(), "passes": [{**policy, "save": ["aten.nonsense.default"]}]}))
        self.assert_problem(response, 422, "unknown-option")
        self.assertIn("aten.nonsense.default", response.json["detail"])

    def test_deadline_of_the_document(self):
        document = {**graphs.chain(20000), "options": {"deadline_ms": 1}}
        self.assert_problem(self.daemon.plan(graphs.encode(document)), 504, "deadline-exceeded")

    def test_same_request_same_bytes(self):
        body = graphs.encode(graphs.chain(300))
        self.assertEqual(len({self.daemon.plan(body).body for _ in range(5)}), 1)


class TestNegotiation(WithDaemon):
    def accept(self, value):
        return self.daemon.plan(TINY, {"Accept": value})

    def test_text(self):
        response = self.accept("text/plain")
        self.assertEqual(response.headers["content-type"], "text/plain; charset=utf-8")
        self.assertIn("Accept", response.headers["vary"])
        self.assertNotEqual(response.body[:1], b"{")
        self.assertIn(b"saved", response.body)

    def test_quality(self):
        cases = {
            "*/*": "application/json",
            "text/*": "text/plain",
            "application/*;q=0.1": "application/json",
            "text/plain;q=0.5, application/json;q=0.4": "text/plain",
            "text/plain;q=0.5, application/json;q=0.5": "application/json",
            "text/plain, */*;q=0.1": "text/plain",
            "*/*;q=0.9, application/json;q=0": "text/plain",
            "APPLICATION/JSON ; charset=utf-8 ; q=1": "application/json",
            "text/html, application/xhtml+xml, */*;q=0.8": "application/json",
        }
        for value, media in cases.items():
            with self.subTest(value):
                response = self.accept(value)
                self.assertEqual(response.status, 200)
                self.assertEqual(response.headers["content-type"].split(";")[0], media)

    def test_several_accept_headers_are_one_list(self):
        with self.daemon.connect() as connection:
            head = f"POST /v1/plans HTTP/1.1\r\nHost: {self.daemon.host}\r\nContent-Type: application/json\r\n"
            head += f"Accept: text/html\r\nAccept: text/plain\r\nContent-Length: {len(TINY)}\r\n\r\n"
            connection.send(head.encode() + TINY)
            self.assertEqual(connection.read_response().headers["content-type"], "text/plain; charset=utf-8")

    def test_not_acceptable(self):
        for value in ("text/html", "image/*", "application/json;q=0", "*/*;q=0.0"):
            with self.subTest(value):
                self.assert_problem(self.accept(value), 406, "not-acceptable")

    def test_wait(self):
        for prefer, applied in (("wait=5", "wait=5"), ("wait=61", "wait=60"), ("Wait=7, x", "wait=7"),
                                ("x, wait=\"8\"; y", "wait=8"), ("wait=5, wait=9", "wait=5"),
                                ("wait=99999999999999999999", "wait=60")):
            with self.subTest(prefer):
                self.assertEqual(self.daemon.plan(TINY, {"Prefer": prefer}).headers["preference-applied"], applied)
        for prefer in ("wait", "wait=", "wait=-1", "wait=1.5", "handling=lenient"):
            with self.subTest(prefer):
                response = self.daemon.plan(TINY, {"Prefer": prefer})
                self.assertEqual(response.status, 200)
                self.assertNotIn("preference-applied", response.headers)

    def test_content_type(self):
        for value in ("application/json", "Application/JSON", "application/json; charset=utf-8",
                      "application/json;charset=\"UTF-8\""):
            with self.subTest(value):
                self.assertEqual(self.daemon.plan(TINY, {"Content-Type": value}).status, 200)
        for value in ("text/plain", "application/x-www-form-urlencoded", "application/json-seq", "json",
                      "application/json; charset=latin-1", ""):
            with self.subTest(value):
                response = self.daemon.plan(TINY, {"Content-Type": value})
                self.assert_problem(response, 415, "unsupported-media-type")
                self.assertIn("curl --json @file", response.json["detail"])

    def test_no_content_type(self):
        response = self.daemon.request("POST", "/v1/plans", TINY)
        self.assert_problem(response, 415, "unsupported-media-type")


class TestCalls(WithDaemon):
    def test_probes(self):
        for path in ("/livez", "/readyz", "/livez?anything=else"):
            with self.subTest(path):
                response = self.daemon.get(path)
                self.assertEqual((response.status, response.json), (200, {"status": "ok"}))

    def test_version(self):
        document = self.daemon.get("/version").json
        self.assertEqual(document["pytorch_semantics"], "2.13")
        self.assertEqual(document["schemas"], ["remat/graph/v1", "remat/plan/v1"])
        self.assertEqual(document["engine"], json.loads(self.daemon.plan(TINY).body)["engine"])

    def test_head(self):
        for path in ("/livez", "/readyz", "/version"):
            with self.subTest(path), self.daemon.connect() as connection:
                connection.send(format_request("HEAD", path, {"Host": self.daemon.host}))
                head = connection.read_response(head=True)
                connection.send(format_request("GET", path, {"Host": self.daemon.host}))
                body = connection.read_response()
                self.assertEqual(head.status, 200)
                self.assertEqual(head.headers["content-length"], str(len(body.body)))

    def test_not_found(self):
        for path in ("/v1/plan", "/v1/plans/", "/v1", "/livez/", "//livez", "/v1/%70lans", "/LIVEZ", "/v1/jobs//plan"):
            with self.subTest(path):
                self.assert_problem(self.daemon.get(path), 404, "not-found")

    def test_method_not_allowed(self):
        for method, path, allow in (("GET", "/v1/plans", "POST"), ("DELETE", "/livez", "GET, HEAD"),
                                    ("POST", "/version", "GET, HEAD"), ("OPTIONS", "/v1/plans", "POST"),
                                    ("PATCH", "/v1/jobs/1", "GET, HEAD, DELETE"), ("GE", "/livez", "GET, HEAD"),
                                    ("get", "/livez", "GET, HEAD"), ("X" * 100, "/livez", "GET, HEAD")):
            with self.subTest(f"{method} {path}"):
                response = self.daemon.request(method, path, b"" if method == "POST" else None)
                self.assert_problem(response, 405, "method-not-allowed")
                self.assertEqual(response.headers["allow"], allow)

    def test_query_on_plans(self):
        response = self.daemon.request("POST", "/v1/plans?explain=full", TINY, JSON)
        self.assert_problem(response, 400, "bad-request")
        self.assertIn("query", response.json["detail"])

    def test_request_id(self):
        for value in ("abc-123", "a" * 64, "00f067aa0ba902b7"):
            self.assertEqual(self.daemon.get("/livez", **{"X-Request-Id": value}).headers["x-request-id"], value)
        for value in ("a" * 65, "has blank", "quote\"", ""):
            response = self.daemon.get("/livez", **{"X-Request-Id": value})
            self.assertNotEqual(response.headers["x-request-id"], value)
            self.assertTrue(response.headers["x-request-id"])
        ids = {self.daemon.get("/livez").headers["x-request-id"] for _ in range(20)}
        self.assertEqual(len(ids), 20)

    def test_common_headers(self):
        for response in (self.daemon.get("/livez"), self.daemon.plan(TINY), self.daemon.get("/nothing")):
            self.assertEqual(response.headers["cache-control"], "no-store")
            self.assertEqual(response.headers["x-content-type-options"], "nosniff")
            self.assertIn("date", response.headers)


class TestBodies(WithDaemon):
    flags = ("--max-body", 2000000)

    def post(self, headers, body):
        with self.daemon.connect() as connection:
            connection.send(format_request("POST", "/v1/plans", {"Host": self.daemon.host, **JSON, **headers}) + body)
            return connection.read_response()

    def test_length_required(self):
        self.assert_problem(self.post({}, b""), 411, "length-required")

    def test_chunked(self):
        plain = self.daemon.plan(TINY)
        cases = {"whole": chunked(TINY), "bytes": chunked(*[TINY[i:i + 1] for i in range(len(TINY))]),
                 "extension": b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(TINY), TINY),
                 "trailer": chunked(TINY)[:-2] + b"X-Trailer: 1\r\n\r\n"}
        for name, body in cases.items():
            with self.subTest(name):
                response = self.post({"Transfer-Encoding": "chunked"}, body)
                self.assertEqual((response.status, response.body), (200, plain.body))

    def test_body_in_pieces(self):
        with self.daemon.connect() as connection:
            request = format_request("POST", "/v1/plans", {"Host": self.daemon.host, **JSON}, TINY)
            for i in range(len(request)):
                connection.send(request[i:i + 1])
            self.assertEqual(connection.read_response().status, 200)

    def test_expect_continue(self):
        headers = {"Host": self.daemon.host, **JSON, "Expect": "100-continue", "Content-Length": str(len(TINY))}
        with self.daemon.connect() as connection:
            connection.send(format_request("POST", "/v1/plans", headers))
            self.assertEqual(connection.read_response().status, 100)
            connection.send(TINY)
            self.assertEqual(connection.read_response().status, 200)

    def test_refused_before_the_body(self):
        """Without 100 Continue, and with nothing of the body sent."""
        for headers, status in (({"Content-Length": "2000001"}, 413), ({"Content-Length": "99999999999"}, 413),
                                ({"Content-Length": "5", "Expect": "100-continue", "Content-Type": "text/plain"}, 415),
                                ({"Content-Length": "1000000", "Accept": "image/png"}, 406),
                                ({"Transfer-Encoding": "chunked", "Content-Type": "text/plain"}, 415)):
            with self.subTest(headers=headers), self.daemon.connect() as connection:
                connection.send(format_request("POST", "/v1/plans", {"Host": self.daemon.host, **JSON, **headers}))
                response = connection.read_response()
                self.assertEqual(response.status, status)
                self.assertEqual(response.headers["connection"], "close")
                self.assertTrue(connection.is_closed())

    def test_small_refused_body_keeps_the_connection(self):
        with self.daemon.connect() as connection:
            for _ in range(3):
                connection.send(format_request("POST", "/v1/plans", {"Host": self.daemon.host}, TINY))
                self.assertEqual(connection.read_response().status, 415)

    def test_get_with_a_body_is_not_two_requests(self):
        inner = format_request("GET", "/version", {"Host": self.daemon.host})
        with self.daemon.connect() as connection:
            connection.send(format_request("GET", "/livez", {"Host": self.daemon.host}, inner) +
                            format_request("GET", "/readyz", {"Host": self.daemon.host, "Connection": "close"}))
            self.assertEqual(connection.read_response().json, {"status": "ok"})
            self.assertEqual(connection.read_response().json, {"status": "ok"})
            self.assertTrue(connection.is_closed())

    def test_get_with_a_large_body_is_closed(self):
        with self.daemon.connect() as connection:
            connection.send(format_request("GET", "/livez", {"Host": self.daemon.host, "Content-Length": "70000"}))
            self.assertEqual(connection.read_response().headers["connection"], "close")
            self.assertTrue(connection.is_closed())

    def test_client_ends_in_the_body(self):
        for request in (format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Length": "9"}) + b"{",
                        format_request("POST", "/v1/plans", {"Host": "localhost", **JSON,
                                                             "Transfer-Encoding": "chunked"}) + b"5\r\nab"):
            with self.daemon.connect() as connection:
                connection.send(request)
        self.assertEqual(self.daemon.plan(TINY).status, 200)


class TestConnections(WithDaemon):
    def test_keep_alive(self):
        with self.daemon.connect() as connection:
            for _ in range(20):
                connection.send(format_request("POST", "/v1/plans", {"Host": self.daemon.host, **JSON}, TINY))
                self.assertEqual(connection.read_response().status, 200)
                connection.send(format_request("GET", "/livez", {"Host": self.daemon.host}))
                self.assertEqual(connection.read_response().status, 200)

    def test_pipelining(self):
        """Answers in the order of the requests, quick ones behind slow ones."""
        bodies = [graphs.encode(graphs.chain(n)) for n in (2000, 1, 500, 2)]
        plans = [self.daemon.plan(body).body for body in bodies]
        with self.daemon.connect() as connection:
            batch = b"".join(format_request("POST", "/v1/plans", {"Host": self.daemon.host, **JSON}, body) +
                             format_request("GET", "/version", {"Host": self.daemon.host}) for body in bodies)
            connection.send(batch)
            for plan in plans:
                self.assertEqual(connection.read_response().body, plan)
                self.assertIn("engine", connection.read_response().json)

    def test_connection_close(self):
        with self.daemon.connect() as connection:
            connection.send(format_request("GET", "/livez", {"Host": self.daemon.host, "Connection": "close"}))
            self.assertEqual(connection.read_response().status, 200)
            self.assertTrue(connection.is_closed())

    def test_http_1_0(self):
        with self.daemon.connect() as connection:
            connection.send(b"GET /livez HTTP/1.0\r\n\r\n")
            self.assertEqual(connection.read_response().status, 200)
            self.assertTrue(connection.is_closed())

    def test_nothing_is_left_open(self):
        before = self.daemon.n_descriptors()
        for _ in range(50):
            with self.daemon.connect() as connection:
                connection.send(b"GET /livez HTTP/1.1\r\n")
            self.daemon.plan(TINY)
        while self.daemon.n_descriptors() > before:  # ends: the patience of the runner
            self.daemon.get("/livez")

    def test_curl(self):
        url = self.daemon.first_line.split()[-1]
        done = subprocess.run(["curl", "-sS", "--fail", "--json", "@-", url + "/v1/plans"], input=TINY,
                              capture_output=True, env=clean_environment(), timeout=60, check=True)
        self.assertEqual(done.stdout, self.daemon.plan(TINY).body)
        done = subprocess.run(["curl", "-sS", "-d", "@-", url + "/v1/plans"], input=TINY, capture_output=True,
                              env=clean_environment(), timeout=60, check=True)
        self.assertEqual(json.loads(done.stdout)["code"], "unsupported-media-type")

    def test_garbage(self):
        for data in (b"\r\n\r\n", b"\0" * 100, b"GET\r\n\r\n", b"{}\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
                     b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", b"GET /livez\r\n\r\n"):
            with self.subTest(data), self.daemon.connect(timeout=30) as connection:
                connection.send(data)
                connection.socket.shutdown(1)
                try:
                    while True:
                        response = connection.read_response()
                        self.assertGreaterEqual(response.status, 400)
                except Closed:
                    pass
        self.assertEqual(self.daemon.get("/livez").status, 200)
