# variants: asan tsan
"""Many clients, a full queue, waits that end, and the same bytes whatever the workers."""
import threading
import time
import unittest

import graphs
from daemon import Daemon

TINY = graphs.encode(graphs.tiny())
LONG = {"Prefer": "wait=60"}


def in_threads(n, work):
    """Runs work(i) in n threads; the first exception is raised here."""
    failures = []

    def guarded(i):
        try:
            work(i)
        except Exception as error:  # noqa: BLE001: passed on below
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class TestLoad(unittest.TestCase):
    def test_64_clients(self):
        """Each with its own order of documents; every answer is right."""
        documents = [graphs.encode(graphs.chain(n)) for n in (1, 2, 50, 400)]
        documents += [graphs.encode(graphs.infinite_flow()), b"{", graphs.encode(graphs.size_unknown())]
        with Daemon("--workers", 2, "--queue", 256) as daemon:
            right = [daemon.plan(body) for body in documents]
            expect = [(r.status, r.body if r.status == 200 else r.code) for r in right]

            def client(i):
                for step in range(8):
                    at = (i + step * (1 + i % 3)) % len(documents)
                    r = daemon.plan(documents[at], LONG)
                    self.assertEqual((r.status, r.body if r.status == 200 else r.code), expect[at])

            in_threads(64, client)
            daemon.wait_log(n=len(documents) + 64 * 8, event="request")

    def test_queue_full(self):
        """One runs, one waits, the next is refused with an honest Retry-After, and is welcome afterwards."""
        with Daemon("--workers", 1, "--queue", 1) as daemon:
            self.assertEqual(daemon.plan(graphs.slow(), LONG).status, 200)  # so that there is a rate
            held = [daemon.start_plan(graphs.slow(), LONG) for _ in range(2)]
            response = daemon.wait_full()
            self.assertEqual((response.status, response.code), (503, "queue-full"))
            self.assertGreaterEqual(int(response.headers["retry-after"]), 1)
            self.assertLessEqual(int(response.headers["retry-after"]), 60)
            response = daemon.plan(graphs.another())
            self.assertEqual((response.status, response.code), (503, "queue-full"))
            self.assertEqual(daemon.get("/livez").status, 200)
            self.assertEqual([connection.read_response().status for connection in held], [200, 200])
            self.assertEqual(daemon.plan(TINY).status, 200)
            for connection in held:
                connection.close()

    def test_wait_ends(self):
        """202 after the wait, not before; the jobs in front are not disturbed, and the job goes on."""
        with Daemon("--workers", 1) as daemon:
            for wait in (0, 1):
                self.assertTrue(any(self.is_late_behind(daemon, n, wait) for n in (2, 4, 8, 16)))
            self.assertTrue(daemon.log(request_id="late", status=202, outcome="accepted"))
            self.assertEqual(daemon.plan(TINY).status, 200)

    def is_late_behind(self, daemon, n, wait):
        """Asks for a quick plan behind n slow ones; whether the wait was too short for that on this machine."""
        held = [daemon.start_plan(graphs.slow(), LONG) for _ in range(n)]
        began = time.monotonic()
        response = daemon.plan(graphs.another(), {"Prefer": f"wait={wait}", "X-Request-Id": "late"})
        seconds = time.monotonic() - began
        for connection in held:
            self.assertEqual(connection.read_response().status, 200)
            connection.close()
        self.assertEqual(response.headers["preference-applied"], f"wait={wait}")
        if response.status == 200:
            return False
        self.assertEqual(response.status, 202)
        self.assertGreaterEqual(seconds, wait)
        plan = daemon.request("GET", response.headers["location"] + "/plan", None, {"Prefer": "wait=60"})
        self.assertEqual((plan.status, plan.json["outcome"]), (200, "plan"))
        return True

    def test_order(self):
        """First come, first served: with one worker answers end in the order of the requests."""
        with Daemon("--workers", 1, "--queue", 64) as daemon:
            held = daemon.start_plan(graphs.slow(), LONG)
            names, connections = [], []
            for i in range(20):
                names.append(f"n{i}")
                connection = daemon.start_plan(graphs.another(), {**LONG, "X-Request-Id": f"n{i}"})
                connections.append(connection)
                # The next is sent when this one was read: an answer on another connection does not tell, but a
                # second request on the same thread of the daemon does.
                self.assertEqual(daemon.get("/livez").status, 200)
            for connection in [held, *connections]:
                self.assertEqual(connection.read_response().status, 200)
                connection.close()
            daemon.wait_log(n=21, event="request", route="/v1/plans")
            done = [line["request_id"] for line in daemon.log(event="request", route="/v1/plans")]
            self.assertEqual([name for name in done if name in names], names)


class TestDeterminism(unittest.TestCase):
    def test_workers_repeats_restarts(self):
        bodies = [graphs.encode(document) for document in
                  (graphs.tiny(), graphs.chain(40), graphs.chain(1000), graphs.infinite_flow(),
                   {**graphs.chain(40), "options": {"explain": "full"}})]
        seen = [set() for _ in bodies]
        lock = threading.Lock()
        for workers in (1, 2, 8):
            for _ in range(2):
                with Daemon("--workers", workers) as daemon:
                    def client(i):
                        for at, body in enumerate(bodies):
                            for media in ("application/json", "text/plain"):
                                response = daemon.plan(body, {**LONG, "Accept": media})
                                self.assertEqual(response.status, 200)
                                with lock:
                                    seen[at].add((media, response.body))
                    in_threads(6, client)
        for answers in seen:
            self.assertEqual(len(answers), 2)  # one for each media type
