# level: quick
# variants: asan tsan
"""Jobs: deferred, waited for, listed, cancelled, removed, merged, expired; events; batches; what a restart leaves."""
import http.client
import json
import os
import signal
import threading
import time

import graphs
from daemon import IS_SANITIZED, JSON, PATIENCE_S, Daemon, format_request
from jobs import ASYNC, LONG, TINY, JobCase


class Case(JobCase):
    def delete(self, path):
        return self.daemon.request("DELETE", path)


class TestDeferred(Case):
    def test_respond_async(self):
        expected = self.daemon.plan(TINY).body
        path = self.submit(TINY)
        self.assertRegex(path, r"^/v1/jobs/[0-9a-f]{32}$")
        job = self.wait(path)
        self.assertEqual((job["id"], job["state"], job["outcome"]), (path[-32:], "succeeded", "plan"))
        self.assertEqual(self.get(path + "/plan").body, expected)
        self.assertEqual(self.get(path + "/graph").body, TINY)
        self.assertEqual(self.get(job["links"]["plan"]).body, expected)

    def test_work_that_is_over_before_its_request_waits(self):
        """Reading a document is so short that the worker may win, one time in some thousands. Whoever does, it is answered, with
        nobody else about who would wake the daemon."""
        path = self.submit(TINY)
        self.wait(path)
        with self.daemon.connect() as connection:
            for _ in range(1000 if IS_SANITIZED else 10000):
                connection.send(format_request("GET", path + "/graph", {"Host": "localhost"}))
                self.assertEqual(connection.read_response().body, TINY)

    def test_text(self):
        path = self.submit(TINY, headers={"Accept": "text/plain"})
        self.wait(path)
        plan = self.get(path + "/plan")
        self.assertEqual(plan.headers["content-type"], "text/plain; charset=utf-8")
        self.assertEqual(plan.body, self.daemon.plan(TINY, {"Accept": "text/plain"}).body)

    def test_no_plan_possible_is_a_success(self):
        path = self.submit(graphs.encode(graphs.infinite_flow()))
        job = self.wait(path)
        self.assertEqual((job["state"], job["outcome"]), ("succeeded", "infinite_flow"))
        self.assertEqual(self.get(path + "/plan").json["outcome"], "infinite_flow")

    def test_bad_document_fails(self):
        path = self.submit(b"{")
        job = self.wait(path)
        self.assertEqual((job["state"], job["problem"]["code"]), ("failed", "malformed-json"))
        self.assert_problem(self.get(path + "/plan"), 400, "malformed-json")

    def test_unfinished_has_no_plan(self):
        held = self.submit(graphs.slow())
        path = self.submit(graphs.another())
        response = self.get(path + "/plan")
        self.assert_problem(response, 404, "not-found")
        self.assertIn("retry-after", response.headers)
        self.delete(held)
        self.assertEqual(self.get(path + "/plan", LONG).status, 200)

    def test_queue_position_and_times(self):
        first = self.submit(graphs.slow())
        self.wait_state(first, "running")
        paths = [self.submit(graphs.another()) for _ in range(3)]
        jobs = [self.get(path).json for path in paths]
        queued = [job for job in jobs if job["state"] == "queued"]
        self.assertEqual([job["queue_position"] for job in queued], list(range(len(queued))))
        self.delete(first)
        for path in paths:
            job = self.wait(path)
            self.assertLessEqual(job["created"], job["started"])
            self.assertLessEqual(job["started"], job["finished"])
            self.assertLessEqual({"queue", "decode", "flow", "encode"}, set(job["timings_ms"]))

    def test_unknown(self):
        for path in ("/v1/jobs/" + "0" * 32, "/v1/jobs/1", "/v1/jobs/" + "g" * 32, "/v1/jobs/" + "0" * 31):
            for end in ("", "/plan", "/graph", "/events"):
                with self.subTest(path + end):
                    self.assert_problem(self.get(path + end), 404, "not-found")
            self.assert_problem(self.delete(path), 404, "not-found")
        self.assertEqual(self.get("/v1/jobs/" + "x" * 4000).status, 400)

    def test_head(self):
        path = self.submit(TINY)
        self.wait(path)
        for end in ("", "/plan", "/graph", "/events"):
            with self.subTest(end):
                response = self.daemon.request("HEAD", path + end)
                self.assertEqual((response.status, response.body), (200, b""))


class TestList(Case):
    FLAGS = ("--workers", 2)

    def test_pages(self):
        paths = []
        for _ in range(7):
            paths.append(self.submit(graphs.another()))
            self.wait(paths[-1])
        found, cursor = [], ""
        for _ in range(4):
            page = self.get("/v1/jobs?limit=2" + (f"&cursor={cursor}" if cursor else "")).json
            found += ["/v1/jobs/" + job["id"] for job in page["jobs"]]
            cursor = page.get("cursor", "")
        self.assertEqual(cursor, "")
        self.assertEqual(found, paths[::-1])

    def test_states(self):
        done = self.submit(TINY)
        failed = self.submit(b"[]")
        self.wait(done)
        self.wait(failed)
        for state, expected in (("succeeded", [done]), ("failed", [failed]), ("queued", []), ("canceled", [])):
            jobs = self.get("/v1/jobs?state=" + state).json["jobs"]
            self.assertEqual(["/v1/jobs/" + job["id"] for job in jobs], expected)

    def test_bad_queries(self):
        for query in ("limit=0", "limit=501", "limit=x", "limit=", "state=done", "state=", "cursor=nonsense", "cursor=%",
                      "page=2", "limit=1&page=2", "cursor=%00", "limit", "limit=1&limit=2", "state", "limit=1&state=failed&limit=1"):
            with self.subTest(query):
                self.assert_problem(self.get("/v1/jobs?" + query), 400, "bad-request")


class TestCancel(Case):
    def test_queued_and_running(self):
        running = self.submit(graphs.slow())
        self.wait_state(running, "running")
        queued = self.submit(graphs.another())
        for path in (queued, running):
            with self.subTest(path):
                response = self.delete(path)
                self.assertEqual((response.status, response.json["state"]), (200, "canceled"), response)
                self.assertEqual(response.json["problem"]["code"], "canceled")
                self.assertEqual(self.get(path).json["state"], "canceled")
                self.assert_problem(self.get(path + "/plan"), 409, "canceled")
        self.assertEqual(self.daemon.plan(graphs.another(), LONG).status, 200)

    def test_finished_is_removed_and_again(self):
        path = self.submit(TINY)
        self.wait(path)
        for _ in range(3):
            response = self.delete(path)
            self.assertEqual((response.status, response.body), (204, b""))
        for end in ("", "/plan", "/graph", "/events"):
            self.assert_problem(self.get(path + end), 410, "gone")
        self.assertEqual(self.get("/v1/jobs").json["jobs"], [])

    def test_who_asked_for_the_same_is_not_disturbed(self):
        """A request that was merged with a job gets its plan, though somebody cancels that job; a job of its own, too."""
        held = self.submit(graphs.slow())
        body = graphs.another()
        path, other = self.submit(body), self.submit(body)
        self.assertNotEqual(path, other)
        with self.daemon.start_plan(body, LONG) as connection:
            while self.daemon.request("GET", "/v1/jobs").json["jobs"][-1]["state"] == "queued":
                time.sleep(0.01)
            self.assertEqual(self.delete(path).json["state"], "canceled")
            self.delete(held)
            self.assertEqual(connection.read_response().status, 200)
        self.assertEqual(self.wait(other)["state"], "succeeded")

    def test_who_waits_is_told(self):
        held = self.submit(graphs.slow())
        path = self.submit(graphs.slow())
        with self.daemon.connect() as connection:
            connection.send(f"GET {path}/plan HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=60\r\n\r\n".encode())
            self.delete(path)
            self.assert_problem(connection.read_response(), 409, "canceled")
        self.delete(held)


class TestMerged(Case):
    # A thousand clients on a busy machine take their time to send.
    FLAGS = ("--workers", 2, "--header-timeout", 600, "--body-timeout", 600)

    def sources(self):
        return [line.get("cache") for line in self.daemon.log(event="request", status=200, route="/v1/plans")]

    def test_identical_requests_are_solved_once(self):
        """As many as there are, and all get the same bytes."""
        n = 100 if os.environ.get("REMAT_LEVEL") == "quick" else 1000
        body = graphs.slow(3000)
        bodies = []

        def ask():
            bodies.append(self.daemon.plan(body, LONG).body)

        threads = [threading.Thread(target=ask) for _ in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(bodies), len(set(bodies))), (n, 1))
        self.daemon.wait_log(n=n, event="request", status=200)
        self.assertEqual(self.sources().count("miss"), 1)
        self.assertLessEqual(set(self.sources()), {"miss", "merge", "hit"})

    def test_many_requests_over_few_graphs(self):
        documents = [graphs.another() for _ in range(100)]
        answers = [set() for _ in documents]

        def ask(first):
            with self.daemon.connect() as connection:
                for i in range(first, 10000, 8):
                    connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON}, documents[i % 100]))
                    answers[i % 100].add(connection.read_response().body)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([len(answer) for answer in answers], [1] * 100)
        self.daemon.wait_log(n=10000, event="request", status=200)
        self.assertEqual(self.sources().count("miss"), 100)

    def test_names_are_mapped(self):
        """Graphs that differ in names only are solved once, also at the same time; the bytes are those of a fresh daemon."""
        one = graphs.slow(2000)
        others = [one.replace(b'"f1"', f'"{name}"'.encode()).replace(b'"%f1"', f'"%{name}"'.encode())
                  for name in ("g1", "another name", "f001")]
        connections = [self.daemon.start_plan(body, LONG) for body in (one, *others)]
        bodies = [connection.read_response().body for connection in connections]
        for connection in connections:
            connection.close()
        self.daemon.wait_log(n=4, event="request", status=200)
        self.assertEqual(sorted(self.sources()), ["mapped", "mapped", "mapped", "miss"])
        with Daemon() as fresh:
            self.assertEqual(bodies[1:] + bodies[:1], [fresh.plan(body, LONG).body for body in (*others, one)])

    def test_a_report_is_its_graphs_own(self):
        """A report shows the name of the graph, which the digest of the plan leaves out."""
        document = graphs.tiny()
        for name in ("first", "second", "first"):
            document["name"] = name
            body = graphs.encode(document)
            self.assertIn(name.encode(), self.daemon.plan(body, {"Accept": "text/plain"}).body)
            self.assertEqual(self.daemon.plan(body).json["outcome"], "plan")

    def test_order_is_not_mapped(self):
        """The order of independent nodes may decide: it is part of the structure."""
        document = graphs.tiny()
        nodes = document["nodes"]
        nodes[2], nodes[3] = nodes[3], nodes[2]
        self.daemon.plan(TINY)
        self.daemon.plan(graphs.encode(document))
        self.daemon.wait_log(n=2, event="request", status=200)
        self.assertEqual(self.sources(), ["miss", "miss"])

    def test_a_leader_that_is_cancelled(self):
        """Who waited for its solution gets one all the same."""
        held = [self.submit(graphs.slow()), self.submit(graphs.slow())]
        one = graphs.slow(20000)
        leader = self.submit(one)
        follower = self.submit(one.replace(b'"f1"', b'"g1"').replace(b'"%f1"', b'"%g1"'))
        for path in held:
            self.delete(path)
        self.delete(leader)
        job = self.wait(follower)
        self.assertEqual((job["state"], job["outcome"]), ("succeeded", "plan"))

    def test_by_digest(self):
        plan = self.daemon.plan(TINY)
        digest = plan.json["digest"]
        self.assertEqual(plan.headers["etag"], f'"{digest}-summary"')
        for query, status in (("", 200), ("?explain=summary", 200), ("?explain=full", 404), ("?explain=all", 400), ("?x=1", 400)):
            with self.subTest(query):
                response = self.get(f"/v1/plans/{digest}{query}")
                self.assertEqual(response.status, status, response)
                if status == 200:
                    self.assertEqual(response.body, plan.body)
                    self.assertEqual(response.headers["etag"], plan.headers["etag"])
                    self.assertIn("immutable", response.headers["cache-control"])
        for tag in (plan.headers["etag"], "*", 'W/' + plan.headers["etag"], '"x", ' + plan.headers["etag"]):
            response = self.get(f"/v1/plans/{digest}", {"If-None-Match": tag})
            self.assertEqual((response.status, response.headers["etag"]), (304, plan.headers["etag"]), tag)
        self.assertEqual(self.get(f"/v1/plans/{digest}", {"If-None-Match": '"x"'}).status, 200)
        for other in ("0" * 64, "0" * 63, "x", digest.upper()):
            self.assert_problem(self.get("/v1/plans/" + other), 404, "not-found")


class TestPriority(Case):
    FLAGS = ("--workers", 1, "--job-memory", "4G")

    def test_interactive_first(self):
        held = self.submit(graphs.slow(4 * graphs.SLOW_N))
        self.wait_state(held, "running")
        low = [self.submit(graphs.another(), headers={"Priority": "u=6"}) for _ in range(3)]
        high = [self.submit(graphs.another(), headers={"Priority": "u=1, i"}) for _ in range(3)]
        self.assertEqual(self.get(held).json["state"], "running")
        self.delete(held)
        jobs = {path: self.wait(path) for path in (*low, *high)}
        self.assertEqual([jobs[path]["priority"] for path in (*low, *high)], ["batch"] * 3 + ["interactive"] * 3)
        self.assertLessEqual(max(jobs[path]["started"] for path in high), min(jobs[path]["started"] for path in low))


class TestStoreFails(Case):
    def test_what_cannot_be_read_is_a_503(self):
        """And nothing else: plans are made all the same."""
        document = graphs.tiny()
        document["name"] = os.urandom(300000).hex()  # what no compression makes small enough for a cache
        path = self.submit(graphs.encode(document))
        self.wait(path)
        folder = os.path.join(self.folder, "data")
        for name in os.listdir(folder):
            if name.startswith("rematd.db") and not name.endswith("-shm"):
                with open(os.path.join(folder, name), "r+b") as file:
                    size = file.seek(0, 2)
                    file.seek(8192)
                    file.write(os.urandom(max(0, size - 8192)))
        self.assert_problem(self.get(path + "/graph"), 503, "store-unavailable")
        self.assertEqual(self.daemon.plan(graphs.another()).status, 200)


class TestExpired(Case):
    FLAGS = ("--workers", 1, "--run-timeout", 1, "--job-memory", "4G")

    def test_runs_too_long(self):
        path = self.submit(graphs.slow(4 * graphs.SLOW_N))
        job = self.wait(path)
        self.assertEqual((job["state"], job["problem"]["code"]), ("expired", "deadline-exceeded"))
        self.assertIn("--run-timeout", job["problem"]["detail"])


class TestExpiredInTheQueue(Case):
    FLAGS = ("--workers", 1, "--queue-timeout", 1, "--job-memory", "4G")

    def test_waits_too_long(self):
        held = self.submit(graphs.slow(4 * graphs.SLOW_N))
        self.wait_state(held, "running")
        job = self.wait(self.submit(graphs.another()))
        self.assertEqual((job["state"], job["problem"]["code"]), ("expired", "deadline-exceeded"))
        self.assertIn("--queue-timeout", job["problem"]["detail"])
        self.delete(held)


class TestEvents(Case):
    FLAGS = ("--workers", 1, "--heartbeat", 1)

    def events(self, path, headers=None):
        connection = http.client.HTTPConnection(*self.daemon.address, timeout=PATIENCE_S)
        connection.request("GET", path + "/events", headers=headers or {})
        response = connection.getresponse()
        if response.status == 204:
            connection.close()
            return None, []
        self.assertEqual((response.status, response.getheader("content-type")), (200, "text/event-stream"))
        text = response.read().decode()
        connection.close()
        blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.split("\n\n")[:-1]
                  if not block.startswith(":")]
        return text, [(int(block["id"]), block["event"], json.loads(block["data"])) for block in blocks]

    def test_to_the_end(self):
        path = self.submit(graphs.slow())
        _, events = self.events(path)
        ids = [number for number, _, _ in events]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(events[-1][1:], ("end", {"state": "succeeded"}))
        self.assertTrue(all(kind == "progress" for _, kind, _ in events[:-1]))
        self.assertIn("running", [data["state"] for _, _, data in events])
        phases = [data["phase"] for _, _, data in events if data["state"] == "running"]
        self.assertTrue(phases)
        # Again, afterwards, and with what was seen.
        self.assertEqual(self.events(path)[1], events[-1:])
        self.assertEqual(self.events(path, {"Last-Event-ID": str(ids[0])})[1], events[-1:])
        self.assertEqual(self.events(path, {"Last-Event-ID": str(ids[-1])}), (None, []))

    def test_heartbeat(self):
        """A stream with nothing to tell says that it is still there. A rank that waits for another one does nothing else."""
        body = graphs.encode({"rank": 0, "world_size": 2, "graph": graphs.tiny()})
        response = self.daemon.request("POST", "/v1/groups/alone/plans", body, {**JSON, **ASYNC})
        self.assertEqual(response.status, 202, response)
        path = response.headers["location"]
        with self.daemon.connect() as connection:
            connection.send(f"GET {path}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            while connection.buffer.count(b": still here\n\n") < 2:
                connection.receive()
            self.assertNotIn(b"event: end", connection.buffer)
            self.assertEqual(self.delete(path).json["state"], "canceled")
            while b"event: end" not in connection.buffer:
                connection.receive()

    def test_many_and_gone(self):
        path = self.submit(graphs.slow())
        before = self.daemon.n_descriptors()
        for _ in range(20):
            with self.daemon.connect() as connection:
                connection.send(f"GET {path}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                connection.receive()
        self.delete(path)
        deadline = time.monotonic() + PATIENCE_S
        while self.daemon.n_descriptors() > before + 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertLessEqual(self.daemon.n_descriptors(), before + 2)

    def test_shutdown_ends_the_stream(self):
        path = self.submit(graphs.slow())
        with self.daemon.connect() as connection:
            connection.send(f"GET {path}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            connection.receive()
            self.daemon.signal()
            self.assertTrue(self.read_to_end(connection))
        self.daemon.finish()
        self.daemon = Daemon("--data", os.path.join(self.folder, "data"))

    @staticmethod
    def read_to_end(connection):
        try:
            while True:
                connection.receive()
        except Exception as error:  # the strict reader's own class
            return "end of stream" in str(error) or "reset" in str(error)


class TestBatch(Case):
    HEADERS = {"Content-Type": "application/x-ndjson", **LONG}

    def batch(self, *lines):
        return self.daemon.request("POST", "/v1/plans:batch", b"\n".join(lines), self.HEADERS)

    def test_a_bad_line_fails_alone(self):
        documents = [TINY, b"{", graphs.encode(graphs.infinite_flow()), b"[]", graphs.another()]
        response = self.batch(*documents[:2], b"  \r", *documents[2:], b"")
        self.assertEqual((response.status, response.headers["content-type"]), (200, "application/x-ndjson"))
        lines = response.body.split(b"\n")
        self.assertEqual(lines.pop(), b"")
        self.assertEqual([json.loads(line).get("code", json.loads(line).get("outcome")) for line in lines],
                         ["plan", "malformed-json", "infinite_flow", "invalid-graph", "plan"])
        for line, document in zip(lines, documents):
            if b'"outcome"' in line:
                self.assertEqual(line + b"\n", self.daemon.plan(document).body)

    def test_limits(self):
        response = self.batch(*[TINY] * 1000)
        self.assertEqual((response.status, response.body.count(b"\n")), (200, 1000))
        self.assert_problem(self.batch(*[TINY] * 1001), 413, "too-large")
        self.assertEqual(self.batch().body, b"")
        self.assert_problem(self.daemon.request("POST", "/v1/plans:batch", TINY, JSON), 415, "unsupported-media-type")

    def test_deferred_with_progress_and_cancel(self):
        response = self.daemon.request("POST", "/v1/plans:batch", b"\n".join(graphs.slow() for _ in range(5)),
                                       {**self.HEADERS, **ASYNC})
        self.assertEqual(response.status, 202)
        path = response.headers["location"]
        job = self.wait_state(path, "running")
        self.assertEqual((job["call"], job["priority"]), ("batch", "batch"))
        self.assertEqual(self.delete(path).json["state"], "canceled")


class TestRestart(Case):
    def restart(self, kill):
        if kill:
            self.daemon.process.send_signal(signal.SIGKILL)
            self.daemon.process.wait(PATIENCE_S)
            self.daemon.process.stdout.close()
        else:
            self.daemon.stop()
        self.daemon = Daemon(*self.FLAGS, "--data", os.path.join(self.folder, "data"))

    def check(self, kill):
        plans = {}
        documents = [graphs.slow(20000), graphs.another(), graphs.another(), TINY]
        paths = [self.submit(body) for body in documents]
        failed = self.submit(b"{")
        self.restart(kill)
        for path, body in zip(paths, documents):
            job = self.wait(path)
            self.assertEqual((job["state"], job["outcome"]), ("succeeded", "plan"), job)
            plans[path] = self.get(path + "/plan").body
            self.assertEqual(self.get(path + "/graph").body, body)
        self.assertEqual(self.wait(failed)["problem"]["code"], "malformed-json")
        self.restart(kill)
        for path in paths:
            self.assertEqual(self.get(path + "/plan").body, plans[path])
        digest = json.loads(plans[paths[-1]])["digest"]
        self.assertEqual(self.get("/v1/plans/" + digest).body, plans[paths[-1]])
        response = self.daemon.plan(TINY)
        self.assertEqual(response.body, plans[paths[-1]])
        self.daemon.wait_log(event="request", cache="store_hit")

    def test_in_order(self):
        self.check(kill=False)

    def test_killed(self):
        self.check(kill=True)

    def test_one_daemon_at_a_time(self):
        with self.assertRaises(AssertionError) as caught:
            Daemon("--data", os.path.join(self.folder, "data"))
        self.assertIn("--data", str(caught.exception))

    def test_cancelled_stays_cancelled(self):
        held = self.submit(graphs.slow())
        path = self.submit(graphs.another())
        self.assertEqual(self.delete(path).json["state"], "canceled")
        self.restart(kill=True)
        self.assertEqual(self.get(path).json["state"], "canceled")
        self.delete(held)
