# level: full
# variants: asan
"""Every limit that --help or the README tells, at one less, the limit, and one more.

TABLE names for each flag that takes a number where that is tested, here or elsewhere; a flag that is missing fails. Times have no
exact edge: within them the request is answered, and beyond them it is not.
"""
import json
import os
import re
import socket
import tempfile
import time
import unittest

import graphs
from daemon import JSON, REMATD, ROOT, Closed, Daemon, format_request, run

TINY = graphs.encode(graphs.tiny())

# flag: (file, test), or why it is no limit of a request
TABLE = {
    "max-body": ("test_limits", "test_max_body"),
    "max-nodes": ("test_limits", "test_max_nodes"),
    "max-steps": ("test_limit_table", "test_max_steps"),
    "job-memory": ("test_limit_table", "test_job_memory"),
    "body-memory": ("test_limits", "test_body_memory"),
    "max-connections": ("test_limit_table", "test_max_connections"),
    "queue": ("test_limit_table", "test_queue"),
    "workers": ("test_limit_table", "test_workers"),
    "header-timeout": ("test_limit_table", "test_header_timeout"),
    "body-timeout": ("test_limit_table", "test_body_timeout"),
    "idle-timeout": ("test_limit_table", "test_idle_timeout"),
    "drain-timeout": ("test_drain", "TestDrain"),
    "cache": ("test_limit_table", "test_cache"),
    "retain": ("test_store.c", "retain"),
    "retain-bytes": ("test_store.c", "retain"),
    "queue-timeout": ("test_limit_table", "test_queue_timeout"),
    "run-timeout": ("test_limit_table", "test_run_timeout"),
    "group-timeout": ("test_groups", "--group-timeout"),
    "heartbeat": "an interval",
    "token-rate": ("test_rate", "test_a_second_at_once"),
    "token-queue": ("test_rate", "test_queue"),
    "token-running": ("test_rate", "test_running"),
}


def post(daemon, body, **headers):
    return daemon.plan(body, headers)


def padded(size):
    return TINY + b" " * (size - len(TINY))


class TestTable(unittest.TestCase):
    def flags(self):
        """{flag: help} of those that take a number."""
        text = run(REMATD, "--help").stdout.decode()
        return dict(re.findall(r"^  --([a-z-]+) (?:N|BYTES|SECONDS)\n((?:      .*\n)+)", text, re.M))

    def test_every_limit_has_its_test(self):
        self.assertEqual(set(self.flags()), set(TABLE))
        for flag, where in TABLE.items():
            if isinstance(where, tuple):
                name, word = where
                path = os.path.join(ROOT, "tests", "server", name if name.endswith(".c") else name + ".py")
                with self.subTest(flag), open(path, encoding="utf-8") as file:
                    self.assertIn(word, file.read())

    def test_every_flag_at_its_own_ends(self):
        """What a refusal says are the ends, is accepted; one beyond them is not."""
        n = 0
        for flag in self.flags():
            said = run(REMATD, f"--{flag}", "no-number").stderr.decode()
            least, most = map(int, re.search(r"from (\d+) to (\d+)", said).groups())
            for value, works in ((least, True), (least - 1, False), (most, True), (most + 1, False)):
                done = run(REMATD, f"--{flag}={value}", "--print-config")
                with self.subTest(f"{flag}={value}"):
                    self.assertEqual(done.returncode, 0 if works else 2, done.stderr)
                    if works:
                        self.assertIn(f"\n{flag} = {value}\n", done.stdout.decode())
                n += 1
        self.assertGreater(n, 70)


class TestEffort(unittest.TestCase):
    def test_max_steps(self):
        """The effort is counted, so the limit is exact, on every machine."""
        body = graphs.encode(graphs.chain(2000))
        with Daemon() as daemon:
            self.assertEqual(post(daemon, body).status, 200)
            steps = daemon.wait_log(event="request")[0]["steps"]
        for limit, status in ((steps - 1, 504), (steps, 200), (steps + 1, 200)):
            with self.subTest(limit - steps), Daemon("--max-steps", limit) as daemon:
                self.assertEqual(post(daemon, body).status, status)

    def test_job_memory(self):
        """The peak is told by the log; the same job under that limit works, and well below it does not."""
        body = graphs.encode(graphs.chain(4000))
        with Daemon() as daemon:
            self.assertEqual(post(daemon, body).status, 200)
            used = daemon.wait_log(event="request")[0]["memory_bytes"]
        for limit, status in ((used, 200), (used + 1, 200), (used - (used >> 3), 413)):
            with self.subTest(limit - used), Daemon("--job-memory", limit) as daemon:
                response = post(daemon, body)
                self.assertEqual(response.status, status)
                if status == 413:
                    self.assertIn("memory", response.json["detail"])


class TestRoom(unittest.TestCase):
    def test_max_connections(self):
        """However fast they come: exactly so many are let in."""
        limit = 8
        with Daemon("--max-connections", limit) as daemon:
            held = [daemon.connect() for _ in range(limit + 12)]
            statuses = []
            for connection in held:
                try:
                    connection.send(format_request("GET", "/livez", {"Host": "localhost"}))
                except ConnectionError:
                    pass
                try:
                    statuses.append(connection.read_response().status)
                except Closed:
                    statuses.append(503)  # what was sent reset the refusal
            self.assertEqual(statuses, [200] * limit + [503] * 12)
            for connection in held:
                connection.close()

    def test_queue(self):
        """One runs and N wait; one more is refused before its body."""
        slow = graphs.slow(60000)
        for limit in (1, 2):
            with Daemon("--workers", 1, "--queue", limit) as daemon:
                taken = []
                for i in range(limit + 1):
                    response = post(daemon, slow + b" " * (i + 1), Prefer="respond-async")
                    self.assertEqual(response.status, 202, (limit, i))
                    taken.append(response.headers["location"])
                response = post(daemon, TINY, Prefer="respond-async")
                self.assertEqual((response.status, response.code), (503, "queue-full"))
                self.assertIn("retry-after", response.headers)
                for location in taken:
                    daemon.request("DELETE", location)
                self.assertEqual(post(daemon, TINY).status, 200)

    def test_workers(self):
        """N jobs run at the same time, and not more: the others are queued."""
        slow = graphs.slow(60000)
        for limit in (1, 2, 3):
            with Daemon("--workers", limit) as daemon:
                for i in range(limit + 1):
                    self.assertEqual(post(daemon, slow + b" " * (i + 1), Prefer="respond-async").status, 202)
                jobs = daemon.get("/v1/jobs").json["jobs"]
                states = [job["state"] for job in jobs]
                if "succeeded" not in states:
                    self.assertEqual(sorted(states), ["queued"] + ["running"] * limit)
                for job in jobs:
                    daemon.request("DELETE", "/v1/jobs/" + job["id"])

    def test_cache(self):
        """0 keeps nothing: the same request is worked out again. Without it, it is not."""
        for limit, worked in ((0, 2), ("1M", 1)):
            with Daemon("--cache", limit) as daemon:
                self.assertEqual([post(daemon, TINY).status for _ in range(2)], [200, 200])
                lines = daemon.wait_log(2, event="request", status=200)
                self.assertEqual(sum("phases" in line for line in lines), worked)


class TestTimes(unittest.TestCase):
    def cut_after(self, daemon, *pieces):
        """Sends the pieces with a pause of 0.5 s each, then nothing: seconds until the daemon ends it, and what it said."""
        started = time.monotonic()
        with daemon.connect() as connection:
            for piece in pieces:
                connection.send(piece)
                time.sleep(0.5)
            try:
                while True:
                    connection.receive()
            except Closed:
                return time.monotonic() - started, connection.buffer

    def test_header_timeout(self):
        head = format_request("GET", "/livez", {"Host": "localhost"})
        with Daemon("--header-timeout", 3, "--idle-timeout", 1) as daemon:
            spent, said = self.cut_after(daemon, head[:25], head[25:])
            self.assertIn(b" 200 ", said)
            spent, said = self.cut_after(daemon, head[:25])
            self.assertGreaterEqual(spent, 3)
            self.assertIn(b" 408 ", said)

    def test_body_timeout(self):
        head = format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Length": str(len(TINY))})
        with Daemon("--body-timeout", 3, "--idle-timeout", 1) as daemon:
            spent, said = self.cut_after(daemon, head, TINY[:50], TINY[50:])
            self.assertIn(b" 200 ", said)
            spent, said = self.cut_after(daemon, head, TINY[:50])
            self.assertGreaterEqual(spent, 3)
            self.assertIn(b" 408 ", said)

    def test_idle_timeout(self):
        with Daemon("--idle-timeout", 3) as daemon:
            request = format_request("GET", "/livez", {"Host": "localhost"})
            spent, said = self.cut_after(daemon, request, request)
            self.assertEqual(said.count(b"HTTP/1.1 200 "), 2)
            self.assertGreaterEqual(spent, 3.5)

    def end_of(self, daemon, location):
        document = {"state": "queued"}
        while document["state"] in ("queued", "running"):
            document = daemon.get(location, Prefer="wait=60").json
        return document["state"]

    def test_queue_timeout(self):
        """Behind a job of seconds: expired when that takes longer than it may wait, done when it does not."""
        slow = graphs.slow(200000)
        for limit, state in ((1, "expired"), (600, "succeeded")):
            with Daemon("--workers", 1, "--queue-timeout", limit) as daemon:
                first = post(daemon, slow, Prefer="respond-async").headers["location"]
                second = post(daemon, TINY, Prefer="respond-async").headers["location"]
                if limit == 600:
                    self.assertLess(daemon.request("DELETE", first).status, 300)
                self.assertEqual(self.end_of(daemon, second), state)

    def test_run_timeout(self):
        slow = graphs.slow(200000)
        for limit, body, state in ((1, slow, "expired"), (1, TINY, "succeeded")):
            with Daemon("--workers", 1, "--run-timeout", limit) as daemon:
                location = post(daemon, body, Prefer="respond-async").headers["location"]
                self.assertEqual(self.end_of(daemon, location), state)


class TestFixed(unittest.TestCase):
    """Limits without a flag."""

    def test_waits(self):
        """At most 60 s: more is that."""
        with Daemon() as daemon:
            for asked, applied in ((59, 59), (60, 60), (61, 60), (99999999999, 60)):
                response = post(daemon, TINY + b" " * (asked % 97), Prefer=f"wait={asked}")
                self.assertEqual(response.headers["preference-applied"], f"wait={applied}")

    def test_waits_of_questions(self):
        """There is no job to come back to: as long as a job may run, and never less than others may wait."""
        name = graphs.tiny()["nodes"][2]["name"]
        for limit, most in ((59, 60), (60, 60), (61, 61), (600, 600)):
            with Daemon("--run-timeout", limit) as daemon:
                job = post(daemon, TINY, Prefer="respond-async").headers["location"]
                for call in ("/node?name=" + name, "/report", "/export?as=dot"):
                    for asked in (most - 1, most, most + 1):
                        response = daemon.get(job + call, Prefer=f"wait={asked}")
                        self.assertEqual(response.status, 200)
                        self.assertEqual(response.headers["preference-applied"], f"wait={min(asked, most)}", (limit, call))
                for asked, applied in ((60, 60), (61, 60)):
                    response = daemon.request("POST", job + "/what-if", graphs.encode({"tags": {name: "must_save"}}), {**JSON, "Prefer": f"wait={asked}"})
                    self.assertEqual(response.headers["preference-applied"], f"wait={applied}")

    def test_depth(self):
        """A document may nest 64 levels: those of the graph around the list count."""
        def nested(depth):
            document = graphs.tiny()
            document["nodes"][2]["args"] = ["%x", json.loads("[" * depth + "]" * depth)]
            return graphs.encode(document)

        with Daemon() as daemon:
            statuses = {depth: post(daemon, nested(depth)).status for depth in range(50, 70)}
        deepest = max(depth for depth, status in statuses.items() if status != 413)
        self.assertEqual(deepest + 4, 64)  # document, nodes, node, args
        self.assertEqual({status for depth, status in statuses.items() if depth > deepest}, {413})

    def test_query(self):
        with Daemon() as daemon:
            for n, status in ((29999, 200), (30000, 200), (30001, 400)):
                self.assertEqual(daemon.get("/livez?" + "a" * n).status, status, n)
            for n, status in ((99, 200), (100, 200), (101, 400)):
                self.assertEqual(daemon.get("/livez?" + "&" * (n - 1)).status, status, n)

    def test_list(self):
        with Daemon() as daemon:
            for n, status in ((0, 400), (1, 200), (500, 200), (501, 400)):
                self.assertEqual(daemon.get(f"/v1/jobs?limit={n}").status, status, n)

    def test_request_ids(self):
        with Daemon() as daemon:
            for n, kept in ((63, True), (64, True), (65, False)):
                asked = "i" * n
                got = daemon.get("/livez", **{"X-Request-Id": asked}).headers["x-request-id"]
                self.assertEqual(got == asked, kept, n)

    def test_header_of_a_request(self):
        """The library's buffer: beyond it 431 or 414, or the connection ends; never a crash, and others are served."""
        with Daemon() as daemon:
            for n in (1000, 20000, 30000, 40000, 70000, 200000):
                with daemon.connect() as connection:
                    try:
                        connection.send(format_request("GET", "/livez", {"Host": "localhost", "X-Long": "x" * n}))
                        status = connection.read_response().status
                    except (Closed, ConnectionError, socket.timeout):
                        status = None
                self.assertIn(status, (200,) if n <= 20000 else (200, 413, 414, 431, None), n)
                self.assertEqual(daemon.get("/livez").status, 200)

    def test_token_file(self):
        """Names of 64, tokens of 16 to 512 characters, 4096 of them, limits up to a million."""
        def starts(content):
            with tempfile.NamedTemporaryFile("w", suffix=".tokens") as file:
                file.write(content)
                file.flush()
                done = run(REMATD, "--listen", "127.0.0.1:0", "--tokens", file.name, "--tls-cert", "/nonexistent", "--tls-key", "/nonexistent")
            return b"--tokens" not in done.stderr  # then it is the certificate that stops it

        token = "t" * 16
        for content, works in ((f"{'n' * 64} read {token}", True), (f"{'n' * 65} read {token}", False), (f"n read {token[1:]}", False),
                               (f"n read {token}", True), (f"n read {'t' * 512}", True), (f"n read {'t' * 513}", False),
                               (f"n read {token} rate=1000000", True), (f"n read {token} rate=1000001", False)):
            self.assertEqual(starts(content), works, content)
        many = [f"n{i} read token-{i:020}\n" for i in range(4097)]
        self.assertTrue(starts("".join(many[:4096])))
        self.assertFalse(starts("".join(many)))


if __name__ == "__main__":
    unittest.main()
