# variants: asan tsan
"""SIGTERM and SIGINT: what was accepted is answered, the exit code is 0, always."""
import signal
import threading
import time
import unittest

import graphs
from daemon import IS_SANITIZED, JSON, Closed, Daemon, by_event, format_request

TINY = graphs.encode(graphs.tiny())
LONG = {"Prefer": "wait=60"}
ROUNDS = 3 if IS_SANITIZED else 10


class TestDrain(unittest.TestCase):
    def test_idle(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = Daemon()
            daemon.signal(number)
            events = by_event(daemon.finish())
            self.assertEqual(events["drain"][0]["signal"], number.name)
            self.assertEqual(events["stop"][0]["message"], "done")

    def test_grace_and_refusals(self):
        """With nothing to do it still answers for a moment: probes and clients learn where to go."""
        daemon = Daemon("--drain-timeout", 20)
        with daemon.connect() as old:
            old.send(format_request("GET", "/livez", {"Host": "localhost"}))
            self.assertEqual(old.read_response().status, 200)
            began = time.monotonic()
            daemon.signal()
            daemon.wait_log(event="drain")
            ready = daemon.get("/readyz")
            self.assertEqual((ready.status, ready.code), (503, "draining"))
            self.assertEqual(daemon.get("/livez").status, 200)
            plan = daemon.plan(TINY)
            self.assertEqual((plan.status, plan.code, plan.headers["connection"]), (503, "draining", "close"))
            self.assertGreaterEqual(int(plan.headers["retry-after"]), 1)
            old.send(format_request("GET", "/readyz", {"Host": "localhost"}))
            response = old.read_response()
            self.assertEqual((response.status, response.headers["connection"]), (503, "close"))
        daemon.finish()
        self.assertLess(time.monotonic() - began, 15)  # not the whole drain time

    def with_accepted(self, n, *flags):
        """A daemon of one worker with n slow plans accepted and none done: its queue is full then."""
        daemon = Daemon("--workers", 1, "--queue", n - 1, *flags)
        held = [daemon.start_plan(graphs.slow(), LONG) for _ in range(n)]
        daemon.wait_full()
        return daemon, held

    def test_accepted_work_is_finished(self):
        daemon, held = self.with_accepted(2, "--drain-timeout", 120)
        daemon.signal()
        daemon.wait_log(event="drain")
        self.assertEqual(daemon.plan(TINY).status, 503)
        for connection in held:
            response = connection.read_response()
            self.assertEqual((response.status, response.headers["connection"]), (200, "close"))
            connection.close()
        daemon.finish()

    def test_drain_time_ends(self):
        """Running and queued work is stopped and answered 503."""
        daemon, held = self.with_accepted(3, "--drain-timeout", 0)
        daemon.signal()
        statuses = []
        for connection in held:
            response = connection.read_response()
            statuses.append(response.status)
            if response.status != 200:
                self.assertEqual((response.status, response.code), (503, "draining"))
                self.assertIn("retry-after", response.headers)
            connection.close()
        self.assertIn(503, statuses)
        daemon.finish()

    def test_second_signal_ends_the_wait(self):
        daemon, held = self.with_accepted(4, "--drain-timeout", 3600)
        daemon.signal()
        daemon.wait_log(event="drain")
        daemon.signal()
        statuses = {connection.read_response().status for connection in held}
        self.assertIn(503, statuses)
        self.assertLessEqual(statuses, {200, 503})
        daemon.finish()
        for connection in held:
            connection.close()

    def test_body_that_never_ends(self):
        daemon = Daemon("--drain-timeout", 0)
        with daemon.connect() as connection, daemon.connect() as header:
            connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Length": "100",
                                                                 "Expect": "100-continue"}))
            self.assertEqual(connection.read_response().status, 100)
            header.send(b"GET /livez HTTP/1.1\r\n")  # not read to its end: nothing was promised
            daemon.signal()
            response = connection.read_response()
            self.assertEqual((response.status, response.code), (503, "draining"))
            daemon.finish()

    def test_under_load(self):
        """Clients that never stop sending: every request whose header was read gets an answer, each time."""
        for turn in range(ROUNDS):
            with self.subTest(turn=turn):
                self.drain_under_load("--drain-timeout", 5)

    def test_under_load_without_drain_time(self):
        for turn in range(ROUNDS):
            with self.subTest(turn=turn):
                self.drain_under_load("--drain-timeout", 0)

    def drain_under_load(self, *flags):
        daemon = Daemon("--workers", 2, *flags)
        answered, lock, warm = {}, threading.Lock(), threading.Barrier(25)
        bodies = [graphs.encode(graphs.chain(n)) for n in (1, 100, 1500)]

        def client(i):
            n = 0
            connection = None
            try:
                while True:
                    name = f"c{i}-{n}"
                    body = bodies[(i + n) % 3]
                    if connection is None:
                        connection = daemon.connect()
                    headers = {"Host": daemon.host, **JSON, **LONG, "X-Request-Id": name}
                    connection.send(format_request("POST", "/v1/plans", headers, body))
                    response = connection.read_response()
                    with lock:
                        answered[response.headers["x-request-id"]] = response.status
                    if n == 2:
                        warm.wait(60)
                    if response.headers.get("connection") == "close":
                        connection.close()
                        connection = None
                    n += 1
            except (OSError, Closed):
                pass  # the end of the daemon: what it read is checked below
            finally:
                if connection is not None:
                    connection.close()

        threads = [threading.Thread(target=client, args=(i,)) for i in range(24)]
        for thread in threads:
            thread.start()
        warm.wait(60)
        daemon.signal()
        log = daemon.finish()
        for thread in threads:
            thread.join()
        requests = [line for line in log if line["event"] == "request"]
        read = [line for line in requests if line["route"] == "/v1/plans" and line["request_id"].startswith("c")]
        missing = [line for line in read if line["request_id"] not in answered]
        self.assertEqual(missing, [])
        self.assertEqual({line["status"] for line in read} - {200, 503}, set())
        self.assertGreaterEqual(len(read), 24 * 3)
        self.assertLessEqual(set(answered.values()), {200, 503})
