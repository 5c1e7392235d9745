# variants: asan tsan
"""Requests on which two HTTP programs can disagree where they end; Host and Origin.

Every refused request must be the last of its connection: what follows it must not be served.
"""
import json
import unittest

import graphs
from daemon import Closed, Daemon

TINY = graphs.encode(graphs.tiny())
NEXT = b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"  # must never be answered


class WithDaemon(unittest.TestCase):
    flags, listen = (), "127.0.0.1:0"

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(*cls.flags, listen=cls.listen)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def responses(self, data):
        """Everything the daemon answers to these bytes and a request behind them."""
        found = []
        with self.daemon.connect() as connection:
            connection.send(data + NEXT)
            try:
                while True:
                    connection.socket.settimeout(30)
                    found.append(connection.read_response())
            except Closed:
                return found

    def assert_refused(self, data, status, code):
        found = self.responses(data)
        self.assertEqual([r.status for r in found], [status], f"{data!r} {found}")
        if code is not None:  # else one of the library's own pages
            self.assertEqual(found[0].code, code)
            self.assertEqual(found[0].headers["connection"], "close")


def post(*headers, body=b"", line=b"POST /v1/plans HTTP/1.1", host=(b"Host: localhost",)):
    lines = [line, *host, b"Content-Type: application/json", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def get(*headers, line=b"GET /livez HTTP/1.1", host=(b"Host: localhost",)):
    return b"\r\n".join([line, *host, *headers]) + b"\r\n\r\n"


class TestFraming(WithDaemon):
    def test_two_lengths(self):
        for second in (b"2", b"0", b"44"):
            self.assert_refused(post(b"Content-Length: 2", b"Content-Length: " + second, body=b"{}"), 400, "bad-request")

    def test_length_that_is_no_number(self):
        for value in (b"+2", b"-2", b"0x2", b"2,2", b"2 2", b"", b"2;", b"\t", b"two", b"1e1", b" 2 "):
            with self.subTest(value):
                self.assert_one(post(b"Content-Length: " + value, body=b"{}"), 400, "bad-request")

    def test_length_too_large_for_any_number(self):
        for value in (b"99999999999999999999999", b"18446744073709551616"):
            self.assert_one(post(b"Content-Length: " + value, body=b"{}"), 413, "too-large")

    def assert_one(self, data, status, code):
        """Everything that comes back is one response: the library itself would send two status lines."""
        with self.daemon.connect() as connection:
            connection.send(data)
            try:
                while True:
                    connection.receive()
            except Closed:
                text = connection.buffer
        self.assertEqual(text.count(b"HTTP/1.1 "), 1, text)
        head, body = text.split(b"\r\n\r\n", 1)
        self.assertIn(b"Content-Length: %d\r\n" % len(body), head + b"\r\n")
        self.assertEqual((int(head[9:12]), json.loads(body)["code"]), (status, code), text)

    def test_bad_lengths_of_others_meanwhile(self):
        """Two headers that are not complete, one with a bad length in it: only that one is refused, whichever ends first."""
        good, bad = self.daemon.connect(), self.daemon.connect()
        with good, bad:
            good.send(b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(TINY))
            bad.send(b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n")
            self.assert_one(post(b"Content-Length: x", body=b"{}"), 400, "bad-request")
            try:
                bad.send(b"\r\n")
                self.assertEqual(bad.read_response().status, 400)
            except ConnectionError:
                pass
            good.send(b"\r\n" + TINY)
            self.assertEqual(good.read_response().status, 200)

    def test_length_and_transfer_encoding(self):
        chunks = b"2\r\n{}\r\n0\r\n\r\n"
        self.assert_refused(post(b"Content-Length: 2", b"Transfer-Encoding: chunked", body=chunks), 400, "bad-request")
        self.assert_refused(post(b"Transfer-Encoding: chunked", b"Content-Length: 12", body=chunks), 400, "bad-request")
        self.assert_refused(get(b"Transfer-Encoding: chunked", b"Content-Length: 0"), 400, "bad-request")

    def test_transfer_encodings(self):
        for value in (b"xchunked", b"chunked, chunked", b"gzip, chunked", b"chunked, gzip", b"identity", b"chunked;q=1",
                      b"\"chunked\"", b"chunked ", b"chu nked", b"", b",chunked", b"chunked\x0b"):
            with self.subTest(value):
                found = self.responses(post(b"Transfer-Encoding: " + value, body=b"2\r\n{}\r\n0\r\n\r\n"))
                self.assertEqual(len(found), 1, found)
                self.assertIn(found[0].status, (400, 501))
        self.assert_refused(post(b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"), 501, "not-implemented")

    def test_two_transfer_encodings(self):
        self.assert_refused(post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
                            400, "bad-request")

    def test_chunked_in_http_1_0(self):
        self.assert_refused(post(b"Transfer-Encoding: chunked", line=b"POST /v1/plans HTTP/1.0", body=b"0\r\n\r\n"),
                            400, "bad-request")

    def test_header_names(self):
        for line in (b"Content-Length : 2", b"Content-Length\t: 2", b" Content-Length: 2", b"Content Length: 2",
                     b"X(Y): 1", b"X\x7fY: 1", b"X\xc3\xa9: 1", b"X@Y: 1", b"X/Y: 1", b": 1", b"\"X\": 1"):
            with self.subTest(line):
                found = self.responses(post(line, b"Content-Length: 2", body=b"{}"))
                self.assertEqual([r.status for r in found], [400], found)

    def test_line_without_colon(self):
        self.assert_refused(get(b"Nonsense"), 400, None)

    def test_folded_lines(self):
        for lines in ((b"X-A: b", b" c"), (b"X-A: b", b"\tContent-Length: 2"), (b"X-A: b", b"  "),
                      (b"Content-Length: 2", b" 2")):
            with self.subTest(lines):
                found = self.responses(post(*lines, body=b"{}"))
                self.assertEqual([r.status for r in found], [400], found)

    def test_bare_line_feeds(self):
        for data in (b"GET /livez HTTP/1.1\nHost: localhost\r\n\r\n", b"GET /livez HTTP/1.1\r\nHost: localhost\n\r\n",
                     b"GET /livez HTTP/1.1\r\nX: y\nHost: localhost\r\n\r\n",
                     b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\n", b"GET /livez HTTP/1.1\nHost: localhost\n\n"):
            with self.subTest(data):
                self.assert_refused(data, 400, "bad-request")

    def test_nul_and_control_bytes(self):
        for data in (get(b"X: a\0b"), get(b"X: a\0"), get(b"X-Last: 1\0", b"Y: 2"), get(b"X: a\x01b"), get(b"X: a\x7fb"),
                     get(b"X: a\rb"), get(host=(b"Host: localhost\0.evil.example",)),
                     get(line=b"GET /livez\0evil HTTP/1.1"), get(line=b"GET /livez%00evil HTTP/1.1"),
                     get(line=b"GET /livez\x01 HTTP/1.1"), get(line=b"GET /livez\x7f HTTP/1.1"),
                     get(line=b"GET /livez\xff HTTP/1.1"), get(line=b"GET /livez x HTTP/1.1"),
                     get(line=b"GET /livez\tx HTTP/1.1"), get(line=b"GET /v1/plans\0 HTTP/1.1"),
                     get(line=b"GET /livez?\0 HTTP/1.1"), get(line=b"GET  HTTP/1.1"), get(line=b"GET livez HTTP/1.1"),
                     get(line=b"GET http://localhost/livez HTTP/1.1"), get(line=b"GET * HTTP/1.1")):
            with self.subTest(data):
                found = self.responses(data)
                self.assertEqual([r.status for r in found], [400], found)

    def test_method_that_is_no_token(self):
        for line in (b"G(T /livez HTTP/1.1", b"G\xffT /livez HTTP/1.1", b"\"GET\" /livez HTTP/1.1"):
            with self.subTest(line):
                self.assert_refused(get(line=line), 400, "bad-request")

    def test_versions(self):
        for version, status in ((b"HTTP/2.0", 505), (b"HTTP/0.9", 505), (b"HTTP/1", 400), (b"HTTP/1.1x", 400),
                                (b"http/1.1", 400), (b"HTTP/1.11", 400)):
            with self.subTest(version):
                found = self.responses(get(line=b"GET /livez " + version))
                self.assertEqual([r.status for r in found], [status], found)

    def test_chunks(self):
        for body in (b"x\r\n{}\r\n0\r\n\r\n", b"2\r\n{}0\r\n\r\n", b"-2\r\n{}\r\n0\r\n\r\n", b"0x2\r\n{}\r\n0\r\n\r\n",
                     b" 2\r\n{}\r\n0\r\n\r\n", b"\r\n{}\r\n0\r\n\r\n", b"2 \r\n{}\r\n0\r\n\r\n"):
            with self.subTest(body):
                found = self.responses(post(b"Transfer-Encoding: chunked", body=body))
                self.assertEqual([r.status for r in found], [400], found)
        found = self.responses(post(b"Transfer-Encoding: chunked", body=b"fffffffffffffffffff\r\n{}"))
        self.assertEqual([r.status for r in found], [413], found)

    def test_nothing_behind_a_chunked_body_is_served(self):
        """The library takes a bare LF in chunk lines, which other programs read as part of an extension."""
        size = b"%x" % len(TINY)
        for body in (size + b"\r\n" + TINY + b"\r\n0\r\n\r\n", size + b"\n" + TINY + b"\n0\n\n", size + b";\n" + TINY + b"\r\n0;\n\r\n",
                     size + b";ext=1\r\n" + TINY + b"\r\n0\r\nX-Trailer: 1\r\n\r\n"):
            with self.subTest(body):
                found = self.responses(post(b"Transfer-Encoding: chunked", body=body))
                self.assertEqual([r.status for r in found], [200], found)
                self.assertEqual(found[0].headers["connection"], "close")

    def test_long_headers(self):
        found = self.responses(get(b"X: " + b"a" * 70000))
        self.assertEqual([r.status for r in found], [431], found)
        found = self.responses(get(*[b"X-%d: a" % i for i in range(20000)]))
        self.assertEqual([r.status for r in found], [431], found)
        found = self.responses(get(line=b"GET /" + b"a" * 70000 + b" HTTP/1.1"))
        self.assertEqual([r.status for r in found], [414], found)
        self.assertEqual(self.daemon.get("/livez", **{"X-Long": "a" * 20000}).status, 200)

    def test_good_requests_are_served(self):
        """The checks above refuse nothing that is right."""
        for data, count in ((get(), 2), (get(b"X:"), 2), (get(b"X:   "), 2), (get(b"X:\t a b \t"), 2),
                            (get(b"X: caf\xc3\xa9"), 2), (get(b"A: 1", b"A: 2"), 2), (b"\r\n" + get(), 2),
                            (get(line=b"GET /livez?a=b&c=%20d HTTP/1.1"), 2),
                            (post(b"Transfer-Encoding: Chunked", body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(TINY), TINY)), 1),  # and is closed
                            (post(b"Content-Length: 0%d" % len(TINY), body=TINY), 2),
                            (post(b"content-LENGTH:%d" % len(TINY), body=TINY), 2)):
            with self.subTest(data), self.daemon.connect() as connection:
                connection.send(data + NEXT)
                found = [connection.read_response() for _ in range(count)]
                self.assertEqual([r.status for r in found], [200] * count, found)


class TestHost(WithDaemon):
    def status(self, *hosts, **more):
        found = self.responses(get(b"Connection: close", host=[b"Host: " + host for host in hosts], **more))
        self.assertEqual(len(found), 1, found)
        return found[0].status

    def test_names_of_this_machine(self):
        for host in (b"localhost", b"LocalHost:7433", b"127.0.0.1", b"127.0.0.1:80", b"127.1.2.3", b"[::1]", b"[::1]:7433",
                     b"rematd.localhost", b"localhost:", self.daemon.host.encode()):
            with self.subTest(host):
                self.assertEqual(self.status(host), 200)

    def test_other_names(self):
        for host in (b"evil.example", b"evil.example:7433", b"localhost.evil.example", b"127.0.0.1.evil.example",
                     b"127.evil.example", b"notlocalhost", b"[::2]", b"10.0.0.1", b"0.0.0.0", b"1270.0.0.1", b".localhost"):
            with self.subTest(host):
                self.assertEqual(self.status(host), 403)

    def test_what_is_no_host(self):
        for host in (b"", b"localhost:x", b"localhost/", b"user@localhost", b"localhost:80:80", b"[::1", b"[::1]x",
                     b"localhost, localhost", b"local host", b"[]", b":80"):
            with self.subTest(host):
                self.assertEqual(self.status(host), 400)

    def test_none_or_two(self):
        self.assertEqual(self.status(), 400)
        self.assertEqual(self.status(b"localhost", b"localhost"), 400)
        self.assertEqual(self.status(b"localhost", b"evil.example"), 400)
        self.assertEqual(self.status(line=b"GET /livez HTTP/1.0"), 200)
        self.assertEqual(self.status(b"evil.example", line=b"GET /livez HTTP/1.0"), 403)


class TestOrigin(WithDaemon):
    def post(self, origin, host=None):
        return self.daemon.plan(TINY, {"Origin": origin, "Host": host or self.daemon.host})

    def test_other_origins_may_not_post(self):
        for origin in ("http://evil.example", "null", "http://localhost", "http://" + self.daemon.host + ".evil.example",
                       "http://localhost:1", "", "file://", self.daemon.host, "ftp://" + self.daemon.host,
                       "http://"):
            with self.subTest(origin):
                response = self.post(origin)
                self.assertEqual((response.status, response.code), (403, "forbidden"), response)
                self.assertEqual(response.headers["connection"], "close")
                self.assertNotIn("access-control-allow-origin", response.headers)

    def test_own_origin(self):
        self.assertEqual(self.post("http://" + self.daemon.host).status, 200)
        self.assertEqual(self.post("HTTPS://LocalHost:9", host="localhost:9").status, 200)

    def test_reading_is_no_harm(self):
        response = self.daemon.get("/version", Origin="http://evil.example")
        self.assertEqual(response.status, 200)
        self.assertNotIn("access-control-allow-origin", response.headers)

    def test_preflight_is_refused(self):
        response = self.daemon.request("OPTIONS", "/v1/plans", None, {"Origin": "http://" + self.daemon.host,
                                                                     "Access-Control-Request-Method": "POST"})
        self.assertEqual(response.status, 405)
        response = self.daemon.request("OPTIONS", "/v1/plans", None, {"Origin": "http://evil.example"})
        self.assertEqual(response.status, 403)


class TestAnonymous(WithDaemon):
    flags, listen = ("--anonymous",), "0.0.0.0:0"

    def test_any_host_but_not_any_origin(self):
        self.assertEqual(self.daemon.get("/livez", Host="planner.farm.example").status, 200)
        headers = {"Host": "planner.farm.example", "Origin": "http://evil.example"}
        self.assertEqual(self.daemon.plan(TINY, headers).status, 403)
        headers["Origin"] = "http://planner.farm.example"
        self.assertEqual(self.daemon.plan(TINY, headers).status, 200)


class TestAnonymousOnLoopback(WithDaemon):
    flags = ("--anonymous",)

    def test_host_is_still_checked(self):
        self.assertEqual(self.daemon.get("/livez", Host="evil.example").status, 403)
