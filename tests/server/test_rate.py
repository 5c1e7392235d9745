# level: full
# variants: asan tsan
"""How much one token may ask for: requests a second, jobs that wait, jobs that run. Others are not touched."""
import datetime
import os
import tempfile
import time
import unittest

import graphs
from daemon import JSON, Daemon, format_request

TINY = graphs.encode(graphs.tiny())
ALICE, BOB = "alice-0123456789", "bob-0123456789abc"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class WithTokens(unittest.TestCase):
    def start(self, content, *flags):
        file = tempfile.NamedTemporaryFile("w", delete=False)
        self.addCleanup(os.unlink, file.name)
        with file:
            file.write(content)
        daemon = Daemon("--tokens", file.name, *flags)
        self.addCleanup(daemon.stop)
        return daemon

    def assert_limited(self, response, *words):
        self.assertEqual((response.status, response.code), (429, "rate-limited"), response)
        self.assertGreaterEqual(int(response.headers["retry-after"]), 1)
        for word in words:
            self.assertIn(word, response.json["detail"])
        return int(response.headers["retry-after"])


def burst(daemon, token, n):
    """Statuses of n requests on one connection, all sent before the first answer is read."""
    request = format_request("GET", "/v1/jobs", {"Host": "localhost", **bearer(token)})
    with daemon.connect() as connection:
        connection.send(request * n)
        return [connection.read_response().status for _ in range(n)]


class TestRequests(WithTokens):
    def test_a_second_at_once(self):
        """At the limit all are answered; one more is not. Slow machines let a few more through, never fewer."""
        for limit in (1, 5, 50):
            daemon = self.start(f"alice read {ALICE} rate={limit}\nbob read {BOB}\n")
            self.assertEqual(burst(daemon, BOB, 3 * limit + 1), [200] * (3 * limit + 1))
            started = time.monotonic()
            statuses = burst(daemon, ALICE, 20 * limit)
            most = limit + limit * (time.monotonic() - started) + 1
            self.assertEqual(statuses[:limit], [200] * limit)
            self.assertIn(429, statuses)
            self.assertLessEqual(statuses.count(200), most)

    def test_retry_after_holds(self):
        daemon = self.start(f"alice read,submit {ALICE} rate=1\n")
        self.assertEqual(daemon.plan(TINY, bearer(ALICE)).status, 200)
        response = daemon.plan(TINY, bearer(ALICE))
        while response.status == 200:  # a slow machine
            response = daemon.plan(TINY, bearer(ALICE))
        wait = self.assert_limited(response, "1 request", "second")
        self.assertEqual(wait, 1)
        time.sleep(wait)
        self.assertEqual(daemon.plan(TINY, bearer(ALICE)).status, 200)

    def test_default_for_all(self):
        daemon = self.start(f"alice read {ALICE}\nbob read {BOB} rate=0\n", "--token-rate", 2, "--anonymous")
        self.assertIn(429, burst(daemon, ALICE, 60))
        self.assertEqual(burst(daemon, BOB, 60), [200] * 60)
        statuses = [daemon.get("/v1/jobs").status for _ in range(60)]
        self.assertIn(429, statuses)  # anonymous has a bucket, too

    def test_probes_are_never_limited(self):
        daemon = self.start(f"alice read {ALICE} rate=1\n")
        burst(daemon, ALICE, 20)
        for _ in range(20):
            self.assertEqual(daemon.request("GET", "/livez", None, bearer(ALICE)).status, 200)

    def test_tokens_of_a_name_share(self):
        daemon = self.start(f"alice read {ALICE} rate=3\nalice read second-{ALICE}\n")
        started = time.monotonic()
        statuses = burst(daemon, ALICE, 3) + burst(daemon, "second-" + ALICE, 30)
        self.assertEqual(statuses[:3], [200] * 3)
        self.assertLessEqual(statuses.count(200), 3 + 3 * (time.monotonic() - started) + 1)

    def test_refused_before_the_body(self):
        daemon = self.start(f"alice submit {ALICE} rate=1\n")
        headers = {"Host": "localhost", **JSON, **bearer(ALICE), "Content-Length": "100000000"}
        for _ in range(20):
            with daemon.connect() as connection:
                connection.send(format_request("POST", "/v1/plans", headers))
                connection.socket.settimeout(0.3)
                try:
                    self.assert_limited(connection.read_response())
                    self.assertTrue(connection.is_closed())
                    return
                except TimeoutError:
                    continue  # was let through, and waits for the body
        self.fail("never limited")


class TestJobs(WithTokens):
    slow = graphs.slow(60000)

    def submit(self, daemon, token, body=None):
        """A job of its own each time: the name is part of no digest, the bytes are part of no other request."""
        self.count = getattr(self, "count", 0) + 1
        body = (self.slow if body is None else body) + b" " * self.count
        return daemon.plan(body, {**bearer(token), "Prefer": "respond-async"})

    def states(self, daemon, token):
        return [job["state"] for job in daemon.request("GET", "/v1/jobs", None, bearer(token)).json["jobs"]]

    def test_queue(self):
        """With one worker that is busy, `queue` more jobs are taken, and then no more."""
        daemon = self.start(f"alice read,submit {ALICE} queue=2\nbob read,submit {BOB}\n", "--workers", 1)
        self.assertEqual(self.submit(daemon, BOB).status, 202)
        while self.states(daemon, BOB) != ["running"]:
            self.assertNotIn("succeeded", self.states(daemon, BOB), "the slow graph is too fast")
        self.assertEqual(self.submit(daemon, ALICE).status, 202)
        self.assertEqual(self.submit(daemon, ALICE).status, 202)
        self.assert_limited(self.submit(daemon, ALICE), "2 jobs", "wait")
        self.assertEqual(self.submit(daemon, BOB).status, 202)
        jobs = daemon.request("GET", "/v1/jobs?state=queued", None, bearer(ALICE)).json["jobs"]
        self.assertEqual(len(jobs), 2)
        self.assertLess(daemon.request("DELETE", "/v1/jobs/" + jobs[0]["id"], None, bearer(ALICE)).status, 300)
        response = self.submit(daemon, ALICE)
        while response.status == 429:  # the place comes free when the job has left the queue
            response = self.submit(daemon, ALICE)
        self.assertEqual(response.status, 202)

    def test_running(self):
        """Two workers; Alice's second job waits although one is free, and Bob's runs past it."""
        daemon = self.start(f"alice read,submit {ALICE} running=1\nbob read,submit {BOB}\n", "--workers", 2)
        ids = [self.submit(daemon, ALICE).json["id"] for _ in range(3)]
        self.assertEqual(daemon.plan(TINY, bearer(BOB)).status, 200)
        self.assertIn("queued", self.states(daemon, ALICE))
        spans = []
        for job in ids:
            document = {"state": "queued"}
            while document["state"] in ("queued", "running"):
                document = daemon.request("GET", "/v1/jobs/" + job, None, {**bearer(ALICE), "Prefer": "wait=60"}).json
            self.assertEqual(document["state"], "succeeded")
            spans.append([datetime.datetime.fromisoformat(document[key]) for key in ("started", "finished")])
        shortest = min(finished - started for started, finished in spans)
        for (_, finished), (started, _) in zip(spans, spans[1:]):
            # A job's end is noted a moment after the next has its place.
            self.assertGreater(started, finished - shortest / 2)


if __name__ == "__main__":
    unittest.main()
