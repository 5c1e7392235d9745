# variants: asan tsan
"""Clients that are too slow, and clients that go away."""
import threading
import time
import unittest

import graphs
from daemon import IS_SANITIZED, JSON, Closed, Daemon, format_request

TINY = graphs.encode(graphs.tiny())


class TestSlowClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--header-timeout", 1, "--body-timeout", 1, "--idle-timeout", 1)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def drip(self, start, endless):
        """Sends `start`, then a byte at a time until the daemon has enough; its answers, and how long it took."""
        began = time.monotonic()
        found = []
        with self.daemon.connect() as connection:
            connection.send(start)
            connection.socket.settimeout(0.1)
            while time.monotonic() - began < 60:
                try:
                    connection.send(endless)
                    found.append(connection.read_response())
                except TimeoutError:
                    continue
                except (Closed, OSError):
                    return found, time.monotonic() - began
        self.fail("never closed")

    def test_slow_request_line(self):
        found, seconds = self.drip(b"GET /l", b"i")
        self.assertEqual(found, [])  # nothing to answer yet
        self.assertGreater(seconds, 0.8)

    def test_slow_header(self):
        found, seconds = self.drip(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ", b"a")
        self.assertEqual([(r.status, r.code) for r in found], [(408, "slow-request")])
        self.assertGreater(seconds, 0.8)
        self.assertIn("header", found[0].json["detail"])

    def test_slow_body(self):
        for headers, endless in (({"Content-Length": "100000"}, b"a"), ({"Transfer-Encoding": "chunked"}, b"1\r\na\r\n")):
            with self.subTest(headers=headers):
                start = format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, **headers})
                found, seconds = self.drip(start, endless)
                self.assertEqual([(r.status, r.code) for r in found], [(408, "slow-request")])
                self.assertGreater(seconds, 0.8)
                self.assertIn("body", found[0].json["detail"])

    def test_silent_connection(self):
        with self.daemon.connect() as connection:
            self.assertTrue(connection.is_closed())

    def test_idle_connection(self):
        with self.daemon.connect() as connection:
            connection.send(format_request("GET", "/livez", {"Host": "localhost"}))
            self.assertEqual(connection.read_response().status, 200)
            self.assertTrue(connection.is_closed())

    def test_half_a_body_then_nothing(self):
        with self.daemon.connect() as connection:
            connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Length": "10"}) + b"{")
            self.assertEqual(connection.read_response().status, 408)
            self.assertTrue(connection.is_closed())

    def test_slow_clients_do_not_hold_up_others(self):
        slow = [self.daemon.connect() for _ in range(100)]
        for i, connection in enumerate(slow):
            connection.send(b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\n" if i % 2 else b"G")
        for _ in range(10):
            began = time.monotonic()
            self.assertEqual(self.daemon.plan(TINY).status, 200)
            self.assertLess(time.monotonic() - began, 10)
        for connection in slow:
            connection.close()

    def test_large_body_that_arrives_is_not_slow(self):
        """More time for more bytes: at the rate of this test the body takes longer than --body-timeout."""
        body = TINY + b" " * (1 << 20)
        with self.daemon.connect() as connection:
            connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Length": str(len(body))}))
            for i in range(0, len(body), 1 << 16):
                connection.send(body[i:i + (1 << 16)])
                time.sleep(0.1)
            self.assertEqual(connection.read_response().status, 200)

    def test_answer_that_is_not_read(self):
        """A reader that stops is closed when its answers fill the socket; nobody keeps one for ever."""
        body = graphs.encode({**graphs.chain(8000), "options": {"explain": "full"}})
        headers = {"Host": "localhost", **JSON, "Prefer": "wait=60", "X-Request-Id": "lazy"}

        def ask(connection):
            try:
                connection.send(format_request("POST", "/v1/plans", headers, body) * 16)
            except OSError:
                pass  # closed while sending: what this test wants

        with self.daemon.connect() as connection:
            sender = threading.Thread(target=ask, args=(connection,))
            sender.start()
            line = self.daemon.wait_log(request_id="lazy", outcome="client-gone")[0]
            self.assertEqual(line["status"], 200)
            sender.join()


# A document that keeps a worker busy for seconds on a fast machine too: a client that left is looked for every half second.
LONG_N = graphs.SLOW_N * (6 if IS_SANITIZED else 2)


class TestGoneClients(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon("--workers", 1, "--queue", 8, "--job-memory", "4G")

    def tearDown(self):
        self.daemon.stop()

    def start(self, request_id, body):
        return self.daemon.start_plan(body, {"X-Request-Id": request_id, "Prefer": "wait=60"})

    def test_while_running(self):
        connection = self.start("running", graphs.slow(LONG_N))
        connection.close()
        line = self.daemon.wait_log(request_id="running", event="request")[0]
        self.assertEqual(line["outcome"], "client-gone")
        self.assertEqual(self.daemon.plan(TINY).status, 200)

    def test_the_job_is_stopped(self):
        """The wait is over while the job runs: it stops early instead of running to its end."""
        whole = self.start("whole", graphs.slow(LONG_N))
        self.assertEqual(whole.read_response().status, 200)
        with self.start("cut", graphs.slow(LONG_N)) as connection:
            time.sleep(0.3)  # so that it runs; whether it does changes nothing below
            connection.close()
            self.daemon.wait_log(request_id="cut", outcome="client-gone")
        self.assertEqual(self.daemon.plan(TINY, {"Prefer": "wait=60"}).status, 200)
        for line in self.daemon.log(event="job"):
            self.assertEqual(line["state"], "canceled", line)

    def test_while_queued(self):
        """A queued job of a client that left never runs, and frees its place at once."""
        first = self.start("first", graphs.slow(LONG_N))
        queued = [self.start(f"queued-{i}", graphs.slow()) for i in range(7)]
        last = self.start("last", TINY)
        for connection in queued:
            connection.close()
        for i in range(7):
            self.assertEqual(self.daemon.wait_log(request_id=f"queued-{i}", event="request")[0]["outcome"], "client-gone")
        self.assertEqual(first.read_response().status, 200)
        self.assertEqual(last.read_response().status, 200)
        for connection in (first, last):
            connection.close()
        for line in self.daemon.log(event="job"):
            self.assertEqual((line["state"], line.get("run_ms")), ("canceled", None), line)

    def test_many_at_once(self):
        before = self.daemon.n_descriptors()
        for _ in range(5):
            connections = [self.start("x", graphs.encode(graphs.chain(3000))) for _ in range(8)]
            for connection in connections:
                connection.close()
        self.daemon.wait_log(n=40, request_id="x", event="request")
        self.assertEqual(self.daemon.plan(TINY, {"Prefer": "wait=60"}).status, 200)
        deadline = time.monotonic() + 30
        while self.daemon.n_descriptors() > before and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertLessEqual(self.daemon.n_descriptors(), before)

    def test_half_closed_client_counts_as_gone(self):
        connection = self.start("half", graphs.slow())
        connection.socket.shutdown(1)
        self.assertEqual(self.daemon.wait_log(request_id="half", event="request")[0]["outcome"], "client-gone")
        connection.close()

    def test_reset_while_sending(self):
        threads = [threading.Thread(target=self.abort_body) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.daemon.plan(TINY).status, 200)

    def abort_body(self):
        body = graphs.slow()
        for part in (10, 1000, 100000, len(body) // 2):
            connection = self.daemon.connect()
            connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Length": str(len(body))}))
            connection.send(body[:part])
            connection.socket.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER 0: a reset
            connection.close()
