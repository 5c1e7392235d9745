# level: full
# variants: asan tsan
"""Compressed bodies in and out: the same plans, and nothing that a small body could make large."""
import gzip
import json
import unittest
import zlib

import codec
import graphs
from daemon import IS_SANITIZED, JSON, Daemon, chunked, format_request

TINY = graphs.encode(graphs.tiny())
LARGE = graphs.encode(graphs.chain(3000))
MIB = 1 << 20


class WithDaemon(unittest.TestCase):
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(*cls.flags)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def send(self, body, coding, **headers):
        return self.daemon.plan(body, {"Content-Encoding": coding, **headers})

    def assert_problem(self, response, status, code, *words):
        self.assertEqual((response.status, response.code), (status, code), response)
        for word in words:
            self.assertIn(word, response.json["detail"])


class TestRequests(WithDaemon):
    def test_same_plan_in_every_coding(self):
        for document in (TINY, LARGE):
            plain = self.daemon.plan(document)
            self.assertEqual(plain.status, 200)
            for name, encode in codec.ENCODERS.items():
                with self.subTest(name):
                    response = self.send(encode(document), name)
                    self.assertEqual((response.status, response.body), (200, plain.body), response)
            self.assertEqual(self.send(codec.ENCODERS["gzip"](document), "GZip").body, plain.body)
            self.assertEqual(self.send(document, "identity").body, plain.body)

    def test_in_pieces(self):
        plain = self.daemon.plan(LARGE)
        for name, encode in codec.ENCODERS.items():
            body = encode(LARGE)
            for size in (1, 1000, 70000):
                parts = [body[i:i + size] for i in range(0, min(len(body), 4000 * size), size)]
                if len(parts) * size >= len(body):
                    response = self.send(chunked(*parts), name, **{"Transfer-Encoding": "chunked"})
                    self.assertEqual((response.status, response.body), (200, plain.body), (name, size, response))

    def test_several_members(self):
        plain = self.daemon.plan(TINY)
        half = len(TINY) // 2
        for name, encode in codec.ENCODERS.items():
            response = self.send(encode(TINY[:half]) + encode(TINY[half:]), name)
            self.assertEqual(response.body, plain.body, response)

    def test_other_codings_are_refused(self):
        for value in ("deflate", "br", "gzip, gzip", "gzip, zstd", "identity, gzip", "gzip;q=1", "", "compress"):
            with self.subTest(value):
                response = self.send(gzip.compress(TINY), value)
                self.assert_problem(response, 415, "unsupported-media-type", "gzip", "zstd")
                self.assertEqual(response.headers["accept-encoding"], "gzip, zstd")
        with self.daemon.connect() as connection:  # two lines are one list
            headers = {"Host": "localhost", **JSON, "Content-Encoding": "gzip", "content-encoding": "gzip"}
            connection.send(format_request("POST", "/v1/plans", headers, gzip.compress(gzip.compress(TINY))))
            self.assertEqual(connection.read_response().status, 415)

    def test_damage_is_named(self):
        for name, encode in codec.ENCODERS.items():
            body = encode(TINY)
            for damaged, word in ((body[:-1], "ends too early"), (body[:10], "ends too early"), (body + b"{}", "follow its end"),
                                  (TINY, "does not begin"), (b"", "is empty"), (body + b"\0" * 512, "follow its end"),
                                  (body[:20] + b"\xff" * 40 + body[60:], "")):
                with self.subTest(f"{name} {word}"):
                    self.assert_problem(self.send(damaged, name), 400, "bad-request", name, word)
        wrong = bytearray(gzip.compress(TINY))
        wrong[-6] ^= 1
        self.assert_problem(self.send(bytes(wrong), "gzip"), 400, "bad-request", "checksum")
        self.assert_problem(self.send(zlib.compress(TINY), "gzip"), 400, "bad-request", "does not begin")

    def test_the_connection_goes_on_after_a_damaged_small_body(self):
        with self.daemon.connect() as connection:
            for body, status in ((b"nonsense", 400), (gzip.compress(TINY), 200), (gzip.compress(TINY)[:-2], 400),
                                 (gzip.compress(TINY), 200)):
                headers = {"Host": "localhost", **JSON, "Content-Encoding": "gzip"}
                connection.send(format_request("POST", "/v1/plans", headers, body))
                self.assertEqual(connection.read_response().status, status)


class TestBombs(WithDaemon):
    flags = ("--max-body", "64M", "--body-memory", "128M")

    def test_ratio(self):
        """100:1 beyond the first MiB, whatever the limit of bytes."""
        for name, encode in codec.ENCODERS.items():
            with self.subTest(name):
                response = self.send(encode(TINY + b" " * (32 * MIB)), name)
                self.assert_problem(response, 413, "too-large", "100", name)
                self.assertEqual(response.headers["connection"], "close")
                self.assertEqual(self.send(encode(TINY + b" " * (MIB - len(TINY))), name).status, 200)
                self.assertEqual(self.send(encode(TINY + b" " * (MIB + 1 - len(TINY))), name).status, 413)

    def test_nested(self):
        """The inner one is no JSON, and is not decoded."""
        bomb = gzip.compress(gzip.compress(b" " * (64 * MIB)))
        self.assert_problem(self.send(bomb, "gzip"), 400, "malformed-json")

    def test_window(self):
        for log in (24, 27, 31):
            response = self.send(codec.zstd_window(log) + codec.zstd_block(0, TINY, True), "zstd")
            self.assert_problem(response, 400, "bad-request", "8 MiB")
        response = self.send(codec.zstd_window(23) + codec.zstd_block(0, TINY, True), "zstd")
        self.assertEqual(response.status, 200, response)

    def test_memory(self):
        """Many at once, each of which would be a gigabyte."""
        bombs = {"gzip": codec.gzip_bomb(256 * MIB), "zstd": codec.zstd_bomb(1024 * MIB)}
        for name, bomb in bombs.items():
            self.assertLess(len(bomb), MIB)
        before = self.daemon.memory_bytes()
        held = []
        for i in range(40):
            name = ("gzip", "zstd")[i % 2]
            connection = self.daemon.connect()
            connection.send(format_request("POST", "/v1/plans",
                                           {"Host": "localhost", **JSON, "Content-Encoding": name}, bombs[name][:-1]))
            held.append(connection)
        for connection in held:
            self.assertEqual(connection.read_response().status, 413)
            connection.close()
        if not IS_SANITIZED:
            self.assertLess(self.daemon.memory_bytes() - before, 140 * MIB)
        self.assertEqual(self.daemon.plan(TINY).status, 200)

    def test_decoders_count_against_the_budget(self):
        """A window of 8 MiB each, and nothing in it: the 16th does not fit any more."""
        held, statuses = [], []
        start = codec.zstd_window(23) + codec.zstd_block(0, TINY, False)
        for _ in range(24):
            connection = self.daemon.connect()
            connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Encoding": "zstd",
                                                                "Content-Length": "1000"}) + start)
            held.append(connection)
        with self.daemon.connect() as probe:  # what is before it has been read
            probe.send(format_request("GET", "/livez", {"Host": "localhost"}))
            self.assertEqual(probe.read_response().status, 200)
        for connection in held:
            connection.send(codec.zstd_block(0, b"", True) + b"\x50\x2a\x4d\x18" + b"\0" * 4)
            connection.socket.settimeout(0.5)
            try:
                statuses.append(connection.read_response().status)
            except TimeoutError:
                statuses.append(None)  # waits for the rest of its 1,000 bytes
        self.assertIn(503, statuses)
        self.assertGreaterEqual(statuses.count(None), 12)
        for connection in held:
            connection.close()


class TestLimitOfDecodedBytes(WithDaemon):
    flags = ("--max-body", "100000")

    def test_limit(self):
        for name, encode in codec.ENCODERS.items():
            for size, status in ((99999, 200), (100000, 200), (100001, 413)):
                with self.subTest(f"{name} {size}"):
                    response = self.send(encode(TINY + b" " * (size - len(TINY))), name)
                    self.assertEqual(response.status, status, response)
                    if status == 413:
                        self.assert_problem(response, 413, "too-large", "100000", "decoded")

    def test_stored_bytes_of_the_limit(self):
        """What does not compress is a little longer than what it holds."""
        body = gzip.compress(TINY + b" " * (100000 - len(TINY)), 0)
        self.assertGreater(len(body), 100000)
        self.assertEqual(self.send(body, "gzip").status, 200)

    def test_announced_beyond_all_limits(self):
        """Refused before anything is sent."""
        for length in (200000, 1 << 40):
            with self.daemon.connect() as connection:
                connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Encoding": "gzip",
                                                                    "Content-Length": str(length)}))
                response = connection.read_response()
                self.assert_problem(response, 413, "too-large", "100000")

    def test_empty_members_without_end(self):
        """Nothing comes out, so the bytes that come in are limited as well."""
        response = self.send(chunked(gzip.compress(b"") * 20000), "gzip", **{"Transfer-Encoding": "chunked"})
        self.assert_problem(response, 413, "too-large")


class TestAnswers(WithDaemon):
    def ask(self, accept, document=LARGE, **headers):
        return self.daemon.plan(document, {**({"Accept-Encoding": accept} if accept is not None else {}), **headers})

    def test_the_same_answer(self):
        plain = self.ask(None)
        self.assertNotIn("content-encoding", plain.headers)
        self.assertGreater(len(plain.body), 1024)
        for accept, coding in (("gzip", "gzip"), ("zstd", "zstd"), ("gzip, deflate, br", "gzip"), ("gzip, zstd", "zstd"), ("*", "zstd"),
                               ("identity", None), ("gzip;q=0", None), ("br", None), ("gzip;q=0.5, identity", None),
                               ("identity;q=0, gzip", "gzip"), ("", None)):
            with self.subTest(accept):
                response = self.ask(accept)
                self.assertEqual(response.status, 200)
                self.assertEqual(response.headers.get("content-encoding"), coding)
                body = codec.DECODERS[coding](response.body) if coding else response.body
                self.assertEqual(body, plain.body)
                if coding:
                    self.assertLess(len(response.body), len(plain.body) // 2)
                self.assertEqual({v.strip() for v in response.headers["vary"].split(",")}, {"Accept", "Accept-Encoding"})

    def test_text_too(self):
        plain = self.ask(None, Accept="text/plain")
        response = self.ask("gzip", Accept="text/plain")
        self.assertEqual(gzip.decompress(response.body), plain.body)

    def test_short_answers_stay_as_they_are(self):
        response = self.daemon.get("/version", **{"Accept-Encoding": "gzip"})
        self.assertNotIn("content-encoding", response.headers)
        self.assertEqual(response.json["pytorch_semantics"], "2.13")
        problem = self.ask("gzip", b"{")
        self.assertEqual((problem.status, problem.code), (400, "malformed-json"))

    def test_nothing_acceptable(self):
        for accept in ("identity;q=0", "*;q=0", "br, identity;q=0"):
            self.assert_problem(self.ask(accept), 406, "not-acceptable", "gzip")

    def test_tags(self):
        """Each coding has its own, and a client that has any of them has the plan."""
        plain = self.ask(None)
        digest = plain.json["digest"]
        tags = {None: plain.headers["etag"]}
        for coding in ("gzip", "zstd"):
            tags[coding] = self.ask(coding).headers["etag"]
            self.assertEqual(tags[coding], tags[None][:-1] + f'-{coding}"')
        for tag in tags.values():
            for sent in (tag, "W/" + tag, f'"x", {tag}', "*"):
                for accept in ("identity", "gzip", "zstd"):
                    response = self.daemon.request("GET", f"/v1/plans/{digest}", None, {"If-None-Match": sent, "Accept-Encoding": accept})
                    self.assertEqual((response.status, response.body), (304, b""), (sent, response))
                    self.assertIn(response.headers["etag"], tags.values())
        other = self.daemon.request("GET", f"/v1/plans/{digest}", None, {"If-None-Match": tags[None][:-1] + '-br"'})
        self.assertEqual((other.status, other.body), (200, plain.body))

    def test_head_says_the_same(self):
        digest = self.ask(None).json["digest"]
        for accept in ("identity", "gzip", "zstd"):
            get = self.daemon.request("GET", f"/v1/plans/{digest}", None, {"Accept-Encoding": accept})
            head = self.daemon.request("HEAD", f"/v1/plans/{digest}", None, {"Accept-Encoding": accept})
            for name in ("content-length", "content-encoding", "etag", "vary", "content-type"):
                self.assertEqual(get.headers.get(name), head.headers.get(name), name)


class TestLargeBodies(unittest.TestCase):
    """As they are and compressed, within memory that is told by the limits, and that goes back."""

    def check(self, size, *codings):
        document = codec.large_document(size)
        self.assertEqual(len(document), size)
        with Daemon("--workers", 1) as daemon:
            digests = set()
            for name in codings:
                body = codec.FAST_ENCODERS[name](document) if name else document
                headers = {"Prefer": "wait=60", **({"Content-Encoding": name} if name else {})}
                response = daemon.plan(body, headers)
                self.assertEqual(response.status, 200, response)
                digests.add(response.json["digest"])
            self.assertEqual(len(digests), 1)
            if not IS_SANITIZED:  # the body, and the tree with its strings as they grow
                self.assertLess(codec.peak_bytes(daemon.process.pid), 3.5 * size + 64 * MIB)
                self.assertLess(daemon.memory_bytes(), 64 * MIB)

    def test_64_mib(self):
        self.check((16 if IS_SANITIZED else 64) * MIB, None, "gzip", "zstd")

    def test_256_mib(self):
        self.check((32 if IS_SANITIZED else 256) * MIB, None, "zstd")  # the default limit


if __name__ == "__main__":
    unittest.main()
