# variants: asan tsan
"""What operators ask: probes with named checks, the operator table, on both listeners."""
import re
import tempfile
import time
import unittest

import graphs
from daemon import PATIENCE_S, REMATD, Connection, Daemon, format_request, run

TINY = graphs.encode(graphs.tiny())
LONG = {"Prefer": "wait=60"}
ADMIN = ("--admin-listen", "127.0.0.1:0")
ALL_WELL = ["[+]loop ok", "[+]drain ok", "[+]queue ok", "[+]store ok", "readyz check passed"]


def slow():
    return graphs.slow(graphs.SLOW_N // 3)  # long enough to be looked at


def wait_until(what, ask):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = ask()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


class TestAdminListener(unittest.TestCase):
    def test_announced(self):
        with Daemon(*ADMIN) as daemon:
            self.assertRegex(daemon.admin_line, r"^admin listening on http://127\.0\.0\.1:\d+$")
            self.assertNotEqual(daemon.admin_address, daemon.address)

    def test_calls(self):
        with Daemon(*ADMIN) as daemon:
            for path in ("/livez", "/readyz"):
                for response in (daemon.admin(path), daemon.get(path)):
                    self.assertEqual((response.status, response.json), (200, {"status": "ok"}))
                    self.assertEqual(response.headers["cache-control"], "no-store")
            for path in ("/metrics", "/v1/ops"):
                self.assertEqual(daemon.admin(path).status, 200)
                self.assertEqual(daemon.get(path).status, 200)
                head = daemon.admin(path, "HEAD")
                self.assertEqual((head.status, head.body), (200, b""))
                self.assertGreater(int(head.headers["content-length"]), 100)

    def test_nothing_else(self):
        with Daemon(*ADMIN) as daemon:
            for path in ("/", "/v1/plans", "/v1/jobs", "/version", "/livez/", "/metricsx", "//livez", "/%6civez",
                         "/livez%00", "/" + "a" * 2000):
                response = daemon.admin(path)
                self.assertEqual((response.status, response.code), (404, "not-found"), path)
            for method in ("POST", "DELETE", "BREW"):
                response = daemon.admin("/livez", method)
                self.assertEqual((response.status, response.code), (405, "method-not-allowed"))
                self.assertEqual(response.headers["allow"], "GET, HEAD")

    def test_a_body_is_not_read(self):
        with Daemon(*ADMIN) as daemon, Connection(daemon.admin_address) as connection:
            connection.send(b"POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n")
            self.assertEqual(connection.read_response().status, 405)
            self.assertTrue(connection.is_closed())
            self.assertEqual(daemon.admin("/livez").status, 200)

    def test_keep_alive(self):
        with Daemon(*ADMIN) as daemon, Connection(daemon.admin_address) as connection:
            for _ in range(20):
                connection.send(format_request("GET", "/readyz?verbose", {"Host": "localhost"}))
                self.assertEqual(connection.read_response().status, 200)

    def test_hosts(self):
        """A page that a browser shows under another name may not read it."""
        with Daemon(*ADMIN) as daemon:
            for host in ("localhost", "127.0.0.1:1", "[::1]"):
                self.assertEqual(daemon.admin("/v1/ops", Host=host).status, 200, host)
            for host in ("evil.example", "localhost.evil.example", "10.0.0.1"):
                self.assertEqual(daemon.admin("/v1/ops", Host=host).code, "forbidden", host)
            self.assertEqual(daemon.admin("/v1/ops", Host="a b").status, 400)
        with Daemon("--admin-listen", "0.0.0.0:0", "--anonymous") as daemon:
            self.assertEqual(daemon.admin("/livez", Host="rematd.cluster.example").status, 200)

    def test_tokens(self):
        """On loopback nobody needs one; beyond it, only the operator table does."""
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("op admin operator-secret-1234\nuser read,submit user-secret-12345678\n")
            file.flush()
            with Daemon(*ADMIN, "--tokens", file.name) as daemon:
                for path in ("/livez", "/readyz", "/metrics", "/v1/ops"):
                    self.assertEqual(daemon.admin(path).status, 200, path)
                self.assertEqual(daemon.get("/v1/ops").code, "unauthorized")
            with Daemon("--admin-listen", "0.0.0.0:0", "--tokens", file.name) as daemon:
                for path in ("/livez", "/readyz", "/metrics"):
                    self.assertEqual(daemon.admin(path).status, 200, path)
                response = daemon.admin("/v1/ops")
                self.assertEqual((response.status, response.code), (401, "unauthorized"))
                self.assertEqual(response.headers["www-authenticate"], 'Bearer realm="rematd"')
                self.assertEqual(daemon.admin("/v1/ops", Authorization="Bearer wrong-secret-1234").status, 401)
                response = daemon.admin("/v1/ops", Authorization="Bearer user-secret-12345678")
                self.assertEqual((response.status, response.code), (403, "forbidden"))
                response = daemon.admin("/v1/ops", Authorization="Bearer operator-secret-1234")
                self.assertEqual(response.status, 200)
                self.assertEqual({row["name"] for row in response.json["principals"]}, {"anonymous", "op", "user"})
                self.assertNotIn(b"secret", response.body)
                self.assertIn(file.name.encode(), response.body)

    def test_refusals_to_start(self):
        for place, code, says in (("nonsense", 2, '--admin-listen "nonsense": must be HOST:PORT'),
                                  ("0.0.0.0:0", 2, "--anonymous")):
            done = run(REMATD, "--listen", "127.0.0.1:0", "--admin-listen", place)
            self.assertEqual((done.returncode, done.stdout), (code, b""))
            self.assertIn(says, done.stderr.decode())
            self.assertIn("--admin-listen", done.stderr.decode())
        with Daemon(*ADMIN) as daemon:
            done = run(REMATD, "--listen", "127.0.0.1:0", "--admin-listen", f"127.0.0.1:{daemon.admin_address[1]}")
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn("in use", done.stderr.decode())

    def test_clients_that_stay_do_not_delay_the_end(self):
        daemon = Daemon(*ADMIN)
        with Connection(daemon.admin_address) as connection, Connection(daemon.admin_address) as other:
            connection.send(format_request("GET", "/livez", {"Host": "localhost"}))
            self.assertEqual(connection.read_response().status, 200)
            other.send(b"GET /live")
            daemon.stop()
            self.assertTrue(connection.is_closed())

    def test_answers_when_the_other_listener_is_full(self):
        """All connections taken, the queue full, the worker busy: here nobody waits."""
        with Daemon(*ADMIN, "--max-connections", 8, "--workers", 1, "--queue", 2) as daemon:
            held = [daemon.start_plan(slow(), {**LONG, "X-Request-Id": f"r{i}"}) for i in range(3)]
            idle = [daemon.connect() for _ in range(40)]
            wait_until("full", lambda: daemon.admin("/v1/ops").json["connections"]["open"] >= 8)
            wait_until("refusing", lambda: daemon.get("/livez").status == 503)
            for _ in range(20):
                self.assertEqual(daemon.admin("/livez").status, 200)
                self.assertEqual(daemon.admin("/metrics").status, 200)
                self.assertEqual(daemon.admin("/v1/ops").json["connections"]["open"], 8)
            for connection in idle:
                connection.close()
            for connection in held:
                self.assertEqual(connection.read_response().status, 200)
                connection.close()

    def seconds_of_a_probe(self, n_idle):
        """How long it takes to be answered behind so many who connected earlier and say nothing."""
        with Daemon(*ADMIN) as daemon:
            idle = [Connection(daemon.admin_address) for _ in range(n_idle)]
            began = time.monotonic()
            self.assertEqual(daemon.admin("/livez").status, 200)
            seconds = time.monotonic() - began
            for connection in idle:
                connection.close()
        return seconds

    def test_idle_connections_do_not_keep_probes_out(self):
        """Those that stay longest go first, not when they have been silent for ten seconds."""
        for n_idle in (30, 63, 64, 65, 129, 900):
            with self.subTest(n_idle):
                self.assertTrue(any(self.seconds_of_a_probe(n_idle) < 8 for _ in range(5)))

    def test_half_requests_do_not_block_others(self):
        with Daemon(*ADMIN) as daemon:
            held = [Connection(daemon.admin_address) for _ in range(20)]
            for connection in held:
                connection.send(b"GET /livez HTTP/1.1\r\nHos")
            self.assertEqual(daemon.admin("/readyz").status, 200)
            for connection in held:
                connection.close()


class TestProbes(unittest.TestCase):
    def lines(self, response):
        self.assertEqual(response.headers["content-type"], "text/plain; charset=utf-8")
        return response.body.decode().splitlines()

    def test_verbose(self):
        with Daemon(*ADMIN) as daemon:
            for ask in (daemon.admin, daemon.get):
                self.assertEqual(self.lines(ask("/readyz?verbose")), ALL_WELL)
                self.assertEqual(self.lines(ask("/livez?verbose")), ["[+]loop ok", "livez check passed"])
                self.assertEqual(self.lines(ask("/readyz?exclude=store&verbose=1"))[3], "[+]store excluded: ok")

    def test_idle_is_alive(self):
        """A daemon that nobody asked for longer than the check allows."""
        with Daemon(*ADMIN) as daemon:
            time.sleep(6)
            self.assertEqual(self.lines(daemon.admin("/livez?verbose"))[0], "[+]loop ok")

    def test_a_full_queue_is_not_ready(self):
        with Daemon(*ADMIN, "--workers", 1, "--queue", 2) as daemon:
            held = [daemon.start_plan(slow(), LONG) for _ in range(3)]
            response = wait_until("not ready", lambda: [r for r in [daemon.admin("/readyz")] if r.status == 503])[0]
            self.assertEqual(response.code, "not-ready")
            self.assertIn("2 jobs are waiting, of 2 (--queue)", response.json["detail"])
            self.assertEqual(daemon.admin("/livez").status, 200)
            response = daemon.get("/readyz?verbose")
            if response.status == 503:  # unless one was done meanwhile
                self.assertIn("[-]queue failed: 2 jobs are waiting, of 2 (--queue)", self.lines(response))
            self.assertEqual(daemon.admin("/readyz?exclude=queue").status, 200)
            for connection in held:
                self.assertEqual(connection.read_response().status, 200)
                connection.close()
            wait_until("ready again", lambda: daemon.admin("/readyz").status == 200)

    def test_draining(self):
        daemon = Daemon(*ADMIN, "--drain-timeout", 60, "--workers", 1)
        with daemon.start_plan(slow(), LONG) as held:
            wait_until("running", lambda: daemon.admin("/v1/ops").json["running"])
            daemon.signal()
            wait_until("draining", lambda: daemon.admin("/readyz").status == 503)
            response = daemon.admin("/readyz")
            self.assertEqual((response.status, response.code), (503, "draining"))
            for path in ("/readyz", "/readyz?verbose"):
                self.assertEqual(daemon.admin(path).headers["retry-after"], "1")
                self.assertEqual(daemon.get(path).headers["retry-after"], "1")
            self.assertEqual(daemon.admin("/v1/ops").json["phase"], "draining")
            self.assertEqual(daemon.admin("/livez").status, 200)
            self.assertEqual(daemon.admin("/readyz?exclude=drain").status, 200)
            self.assertEqual(held.read_response().status, 200)
        daemon.finish()


class TestOps(unittest.TestCase):
    def test_members(self):
        with Daemon(*ADMIN, "--workers", 2, "--queue", 7) as daemon:
            self.assertEqual(daemon.plan(TINY).status, 200)
            self.assertEqual(daemon.plan(TINY).status, 200)
            table = daemon.admin("/v1/ops").json
            self.assertEqual(table["engine"], daemon.get("/version").json["engine"])
            self.assertRegex(table["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertGreater(table["uptime_ms"], 0)
            self.assertEqual((table["phase"], table["ready"], table["failed"]), ("serving", True, []))
            self.assertEqual(table["workers"], {"all": 2, "busy": 0})
            self.assertEqual((table["queue"]["interactive"], table["queue"]["batch"], table["queue"]["limit"]), (0, 0, 7))
            self.assertEqual(table["running"], [])
            self.assertEqual((table["cache"]["misses"], table["cache"]["hits"]), (1, 1))
            self.assertGreater(table["cache"]["bytes"], 0)
            self.assertTrue(table["store"]["up"])
            self.assertEqual(table["connections"]["limit"], 4096)
            self.assertEqual(table["process"]["pid"], daemon.process.pid)
            self.assertLess(abs(table["process"]["open_files"] - daemon.n_descriptors()), 8)

    def test_settings(self):
        with Daemon(*ADMIN, env={"REMATD_QUEUE": "9"}) as daemon:
            config = daemon.admin("/v1/ops").json["config"]
            self.assertEqual(config["queue"], {"value": "9", "from": "REMATD_QUEUE"})
            self.assertEqual(config["max-nodes"], {"value": "1000000", "from": "default"})
            self.assertEqual(config["listen"]["from"], "--listen")
            flags = set(re.findall(r"^  --([a-z-]+)", run(REMATD, "--help").stdout.decode(), re.M))
            self.assertEqual(set(config), flags - {"help", "version", "print-config"})

    def test_running_and_queued(self):
        with Daemon(*ADMIN, "--workers", 1) as daemon:
            held = [daemon.start_plan(slow(), LONG) for _ in range(3)]

            def seen():
                """Counts are read one after the other: waits until they are of one moment."""
                table = daemon.admin("/v1/ops").json
                counts = [(row["running"], row["queued"]) for row in table["principals"]]
                seen = (table["workers"]["busy"], table["queue"]["interactive"])
                return [table] if seen == (1, 1) == counts[0] and len(table["running"]) == 1 else None

            table = wait_until("one runs, one waits", seen)[0]
            job = table["running"][0]
            self.assertEqual((job["owner"], job["call"]), ("anonymous", "plan"))
            self.assertIn(job["phase"], ("decode", "classify", "network", "flow", "extract", "verify", "encode"))
            self.assertGreaterEqual(job["running_ms"], 0)
            self.assertGreater(table["queue"]["oldest_ms"], 0)
            self.assertEqual(table["principals"], [{"name": "anonymous", "queued": 1, "running": 1, "rate_limit": 0,
                                                    "queue_limit": 0, "running_limit": 0}])
            for connection in held:
                self.assertEqual(connection.read_response().status, 200)
                connection.close()
            wait_until("done", lambda: daemon.admin("/v1/ops").json["running"] == [])
