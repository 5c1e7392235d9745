# variants: asan tsan
"""Every limit at one less, the limit, and one more; memory stays bounded."""
import gzip
import json
import unittest

import graphs
from daemon import IS_SANITIZED, JSON, Daemon, chunked, format_request

TINY = graphs.encode(graphs.tiny())


def padded(size):
    return TINY + b" " * (size - len(TINY))


class TestLimits(unittest.TestCase):
    def test_max_body(self):
        limit = 100000
        with Daemon("--max-body", limit) as daemon:
            for size, status in ((limit - 1, 200), (limit, 200), (limit + 1, 413)):
                with self.subTest(size=size):
                    self.assertEqual(daemon.plan(padded(size)).status, status)
                    body = padded(size)
                    chunks = chunked(*[body[i:i + 3001] for i in range(0, size, 3001)])
                    response = daemon.plan(chunks, {"Transfer-Encoding": "chunked"})
                    self.assertEqual(response.status, status)
                    if status == 413:
                        self.assertEqual(response.code, "too-large")
                        self.assertIn("100000", response.json["detail"])

    def test_max_nodes(self):
        n = len(graphs.chain(10)["nodes"])
        for limit, status in ((n + 1, 200), (n, 200), (n - 1, 413)):
            with self.subTest(limit=limit), Daemon("--max-nodes", limit) as daemon:
                response = daemon.plan(graphs.encode(graphs.chain(10)))
                self.assertEqual(response.status, status)
                if status == 413:
                    self.assertEqual(response.code, "too-large")
                    self.assertIn(str(limit), response.json["detail"])

    def test_max_steps(self):
        body = graphs.encode(graphs.chain(2000))
        with Daemon("--max-steps", 100) as daemon:
            response = daemon.plan(body)
            self.assertEqual((response.status, response.code), (504, "step-limit"))
            steps = daemon.wait_log(event="request")[0]["steps"]
            self.assertGreaterEqual(steps, 100)

    def test_job_memory(self):
        body = graphs.encode(graphs.chain(20000))
        with Daemon("--job-memory", "8M") as daemon:
            response = daemon.plan(body)
            self.assertEqual((response.status, response.code), (413, "too-large"), response)
            self.assertEqual(daemon.plan(TINY).status, 200)
            used = daemon.wait_log(event="request", status=413)[0]["memory_bytes"]
            self.assertLessEqual(used, 8 << 20)

    def test_hostile_json_is_bounded(self):
        """Documents whose tree is many times their size."""
        with Daemon("--job-memory", "64M", "--workers", 2) as daemon:
            for body in (b"[" + b"{}," * 4000000 + b"{}]", b"[" + b"1," * 8000000 + b"1]", b"[" * 3000000,
                         b'{"a":' * 1000000):
                response = daemon.plan(body, {"Prefer": "wait=60"})
                self.assertIn(response.status, (400, 413, 422), response)
            self.assertEqual(daemon.plan(TINY).status, 200)
            if not IS_SANITIZED:
                self.assertLess(daemon.memory_bytes(), 200 << 20)

    def test_queue_with_jobs_that_wait_for_another(self):
        """Who waits for the solution of an equal structure has a place in the queue like any other."""
        text = graphs.encode(graphs.chain(300 if IS_SANITIZED else 1500))  # the frontier takes many times as long as reading the document
        with Daemon("--workers", 2, "--queue", 3, "--data", ":memory:") as daemon:
            statuses = set()
            headers = {**JSON, "Content-Encoding": "gzip", "Prefer": "respond-async"}
            for i in range(40):
                body = text.replace(b'"f1"', b'"q%d"' % i).replace(b'"%f1"', b'"%%q%d"' % i)
                statuses.add(daemon.request("POST", "/v1/frontier", gzip.compress(body, 1), headers).status)
                states = [job["state"] for job in daemon.get("/v1/jobs").json["jobs"]]
                self.assertLessEqual(states.count("queued"), 3 + 2 + 1)  # and one on its way
            self.assertLessEqual(statuses, {202, 503})
            for job in daemon.get("/v1/jobs?limit=100").json["jobs"]:
                self.assertEqual(daemon.get("/v1/jobs/" + job["id"], Prefer="wait=60").json["state"], "succeeded")

    def test_body_memory(self):
        """Bodies that wait count together; a body that does not fit is refused before it is sent."""
        with Daemon("--body-memory", 300000) as daemon:
            held = daemon.connect()
            held.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Length": "200000"}) +
                      padded(150000))
            status = 200
            while status == 200:  # until what was held has arrived
                response = daemon.plan(padded(180000))
                status = response.status
            self.assertEqual((status, response.code), (503, "queue-full"))
            self.assertIn("retry-after", response.headers)
            self.assertEqual(daemon.plan(TINY).status, 200)
            held.close()
            while daemon.plan(padded(180000)).status == 503:  # until the daemon has noticed
                continue
            self.assertEqual(daemon.plan(padded(300000)).status, 200)
            self.assertEqual(daemon.plan(padded(300001)).status, 503)

    def test_max_connections(self):
        with Daemon("--max-connections", 8) as daemon:
            held = [daemon.connect() for _ in range(8)]
            for connection in held:
                connection.send(format_request("GET", "/livez", {"Host": "localhost"}))
                self.assertEqual(connection.read_response().status, 200)
            with daemon.connect() as connection:
                response = connection.read_response()
                self.assertEqual((response.status, response.code), (503, "queue-full"))
                self.assertIn("retry-after", response.headers)
                self.assertTrue(connection.is_closed())
            for connection in held:
                connection.close()
            while True:
                with daemon.connect() as connection:
                    connection.send(format_request("GET", "/livez", {"Host": "localhost"}))
                    if connection.read_response().status == 200:
                        break

    def test_depth(self):
        """Refused by number, not by the stack."""
        def nested(depth):
            document = graphs.tiny()
            document["nodes"][2]["args"] = ["%x", json.loads("[" * depth + "]" * depth)]
            return graphs.encode(document)

        with Daemon() as daemon:
            self.assertEqual(daemon.plan(nested(20)).status, 200)
            response = daemon.plan(nested(200))
            self.assertEqual((response.status, response.code), (413, "too-large"), response)

    def test_memory_goes_back(self):
        """After a large job the process is small again, and repeating it does not grow."""
        body = graphs.slow(50000)
        with Daemon("--workers", 1) as daemon:
            sizes = []
            for _ in range(4):
                self.assertEqual(daemon.plan(body, {"Prefer": "wait=60"}).status, 200)
                self.assertEqual(daemon.plan(TINY).status, 200)
                sizes.append(daemon.memory_bytes())
            if not IS_SANITIZED:
                self.assertLess(sizes[-1], 64 << 20, sizes)
                self.assertLess(sizes[-1], sizes[1] + (8 << 20), sizes)
