# variants: asan tsan
"""Who may: tokens, scopes, what others see, and the file that says so."""
import hashlib
import os
import signal
import tempfile
import unittest

import graphs
from daemon import JSON, REMATD, Daemon, format_request, run

TINY = graphs.encode(graphs.tiny())
ALICE, BOB, READER, WRITER, ROOT = ("alice-0123456789", "bob-0123456789abc", "reader-0123456789", "writer-0123456789",
                                    "root-0123456789abc")
FILE = f"""# who may
alice read,submit {ALICE}
bob read,submit sha256:{hashlib.sha256(BOB.encode()).hexdigest()}
reader read {READER}
writer submit {WRITER}
root read,submit,admin {ROOT}
"""


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class WithTokens(unittest.TestCase):
    flags, listen, content = (), "127.0.0.1:0", FILE

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "tokens")
        self.write(self.content)
        self.daemon = Daemon("--tokens", self.path, *self.flags, listen=self.listen)
        self.addCleanup(self.end)

    def end(self):
        """No token is ever logged."""
        text = self.daemon.stderr()
        self.daemon.stop()
        for token in (ALICE, BOB, READER, WRITER, ROOT):
            self.assertNotIn(token, text)

    def write(self, content, mode=0o600):
        new = self.path + ".new"
        with open(new, "w", encoding="ascii") as file:
            file.write(content)
        os.chmod(new, mode)
        os.replace(new, self.path)

    def reload(self):
        n = len(self.daemon.log(event="reload"))
        self.daemon.signal(signal.SIGHUP)
        return self.daemon.wait_log(n + 1, event="reload")[-1]

    def plan(self, token, body=TINY, **headers):
        return self.daemon.plan(body, {**(bearer(token) if token else {}), **headers})

    def get(self, path, token=None, method="GET"):
        return self.daemon.request(method, path, None, bearer(token) if token else {})

    def assert_401(self, response, invalid):
        self.assertEqual((response.status, response.code), (401, "unauthorized"), response)
        challenge = response.headers["www-authenticate"]
        self.assertTrue(challenge.startswith('Bearer realm="rematd"'), challenge)
        self.assertEqual('error="invalid_token"' in challenge, invalid, challenge)

    def assert_403(self, response, scope):
        self.assertEqual((response.status, response.code), (403, "forbidden"), response)
        self.assertIn(scope, response.json["detail"])
        self.assertIn('error="insufficient_scope"', response.headers["www-authenticate"])
        self.assertIn(f'scope="{scope}"', response.headers["www-authenticate"])


class TestTokens(WithTokens):
    def test_who_may_plan(self):
        for token in (ALICE, BOB, WRITER, ROOT):
            self.assertEqual(self.plan(token).status, 200)
        self.assert_403(self.plan(READER), "submit")
        self.assert_401(self.plan(None), False)

    def test_who_may_read(self):
        for token in (ALICE, BOB, READER, ROOT):
            self.assertEqual(self.get("/v1/jobs", token).status, 200)
        self.assert_403(self.get("/v1/jobs", WRITER), "read")
        self.assert_401(self.get("/v1/jobs"), False)
        self.assert_403(self.get("/v1/jobs/" + "0" * 32, READER, "DELETE"), "submit")
        self.assertEqual(self.get("/v1/jobs/" + "0" * 32, ALICE, "DELETE").status, 404)

    def test_who_is_the_operator(self):
        for token in (ALICE, READER, WRITER):
            self.assert_403(self.get("/v1/ops", token), "admin")
        for path in ("/v1/ops", "/metrics"):
            self.assertEqual(self.get(path, ROOT).status, 200)
            self.assert_403(self.get(path, ALICE), "admin")
            self.assert_401(self.get(path), False)
        self.assert_401(self.get("/v1/ops"), False)

    def test_what_needs_no_token(self):
        for path in ("/livez", "/readyz", "/version"):
            self.assertEqual(self.get(path).status, 200)
            self.assertEqual(self.get(path, "nobody-0123456789").status, 200)

    def test_wrong_tokens(self):
        for token in (ALICE + "x", ALICE[:-1], ALICE.upper(), hashlib.sha256(BOB.encode()).hexdigest(), "x", ALICE + "="):
            with self.subTest(token):
                self.assert_401(self.plan(token), True)

    def test_headers_that_are_none(self):
        for value in ("", "Bearer", "Bearer ", "Basic YWxpY2U6eA==", f"Bearer {ALICE} {ALICE}", f'Bearer "{ALICE}"', ALICE,
                      f"Bearer\t{ALICE}", f"Digest username={ALICE}", f"Bearer {ALICE},", "Bearer =", "Bearer " + "a" * 600,
                      "Bearer caf\xe9-0123456789abc"):
            with self.subTest(value):
                response = self.daemon.plan(TINY, {"Authorization": value})
                self.assertEqual((response.status, response.code), (401, "unauthorized"), response)
                self.assertIn("Bearer", response.json["detail"])
        self.assertEqual(self.daemon.plan(TINY, {"Authorization": f"bearer   {ALICE}  "}).status, 200)

    def test_two_headers(self):
        for second in (ALICE, BOB, "nobody-0123456789"):
            with self.daemon.connect() as connection:
                headers = {"Host": "localhost", **JSON, "Authorization": f"Bearer {ALICE}", "authorization": f"Bearer {second}"}
                connection.send(format_request("POST", "/v1/plans", headers, TINY))
                self.assert_401(connection.read_response(), True)

    def test_refused_before_the_body(self):
        with self.daemon.connect() as connection:
            connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, "Content-Length": "200000000"}))
            self.assert_401(connection.read_response(), False)
            self.assertTrue(connection.is_closed())

    def test_the_log_names_the_principal(self):
        self.plan(ALICE)
        self.plan(None)
        line = self.daemon.wait_log(event="request", status=200)[0]
        self.assertEqual(line["principal"], "alice")
        line = self.daemon.wait_log(event="request", status=401)[0]
        self.assertNotIn("principal", line)


class TestOthers(WithTokens):
    content = FILE + f"alice read,submit second-{ALICE}\n"

    def start(self, token):
        response = self.plan(token, Prefer="respond-async")
        self.assertEqual(response.status, 202, response)
        return response.headers["location"]

    def test_jobs_of_others_are_not_there(self):
        location = self.start(ALICE)
        self.assertEqual(self.get(location, ALICE).status, 200)
        self.assertEqual(self.get(location, f"second-{ALICE}").status, 200)
        missing = "/v1/jobs/" + "0" * 32
        for token in (BOB, ROOT):
            for path in ("", "/plan", "/graph", "/events"):
                there, not_there = self.get(location + path, token), self.get(missing + path, token)
                self.assertEqual((there.status, there.code), (404, "not-found"), path)
                # The same words, but for the id that was asked for.
                self.assertEqual(there.json["detail"].replace(location[-32:], ""), not_there.json["detail"].replace("0" * 32, ""))
            self.assertEqual(self.get(location, token, "DELETE").status, 404)
        self.assertEqual(self.get(location, ALICE).status, 200)

    def test_lists_hold_ones_own(self):
        mine = {self.start(ALICE), self.start(ALICE)}
        theirs = {self.start(BOB)}
        for token, want in ((ALICE, mine), (f"second-{ALICE}", mine), (BOB, theirs), (READER, set()), (ROOT, set())):
            jobs = self.get("/v1/jobs", token).json["jobs"]
            self.assertEqual({"/v1/jobs/" + job["id"] for job in jobs}, want)

    def test_a_plan_of_others_is_not_found_by_its_digest(self):
        digest = self.plan(ALICE).json["digest"]
        self.assertEqual(self.get(f"/v1/plans/{digest}", ALICE).status, 200)
        self.assertEqual(self.get(f"/v1/plans/{digest}", f"second-{ALICE}").status, 200)
        for token in (BOB, ROOT, READER):
            response = self.get(f"/v1/plans/{digest}", token)
            self.assertEqual((response.status, response.code), (404, "not-found"))
            tagged = self.daemon.request("GET", f"/v1/plans/{digest}", None, {**bearer(token), "If-None-Match": "*"})
            self.assertEqual(tagged.status, 404)

    def test_a_hit_reveals_nothing(self):
        """Bob's first question is worked out although Alice asked the same; nothing in it says so."""
        first = self.plan(ALICE)
        again = self.plan(ALICE)
        bobs = self.plan(BOB)
        self.assertEqual((first.body, again.body), (bobs.body, bobs.body))
        lines = self.daemon.wait_log(3, event="request", route="/v1/plans")
        worked = [line["principal"] for line in lines if "phases" in line]
        self.assertEqual(sorted(worked), ["alice", "bob"], lines)
        hidden = {"date", "x-request-id", "server-timing"}
        self.assertEqual({k: v for k, v in first.headers.items() if k not in hidden},
                         {k: v for k, v in bobs.headers.items() if k not in hidden})
        self.assertIn("decode", bobs.headers["server-timing"])

    def test_no_template_of_others(self):
        """A graph that differs only in names is mapped from one's own, never from that of somebody else."""
        renamed = TINY.replace(b'"y"', b'"yy"').replace(b'"%y"', b'"%yy"')
        self.assertNotEqual(renamed, TINY)
        self.assertEqual(self.plan(ALICE).status, 200)
        mine, theirs = self.plan(ALICE, renamed), self.plan(BOB, renamed)
        self.assertEqual(mine.body, theirs.body)
        lines = self.daemon.wait_log(3, event="request", route="/v1/plans")
        self.assertEqual([(line["principal"], line["cache"]) for line in lines],
                         [("alice", "miss"), ("alice", "mapped"), ("bob", "miss")])

    def test_not_merged_with_others(self):
        """The same graph at the same time: each principal has a job of its own."""
        slow = graphs.slow(30000)
        connections = [self.daemon.start_plan(slow, {**bearer(token), "Prefer": "wait=60"}) for token in (ALICE, BOB, ALICE)]
        bodies = {connection.read_response().body for connection in connections}
        for connection in connections:
            connection.close()
        self.assertEqual(len(bodies), 1)
        jobs = {(line["principal"], line["queue_ms"]) for line in self.daemon.wait_log(3, event="request", status=200)}
        self.assertEqual(sorted(name for name, _ in jobs), ["alice", "bob"])  # Alice's two have one job


class TestRestart(WithTokens):
    def setUp(self):
        self.data = tempfile.TemporaryDirectory()
        self.addCleanup(self.data.cleanup)
        self.flags = ("--data", self.data.name, "--workers", 1)
        super().setUp()

    def test_jobs_keep_their_owner(self):
        """One is done and one waits when it ends; afterwards both are Alice's, and nobody else's."""
        done = self.plan(ALICE, Prefer="respond-async").headers["location"]
        while self.get(done, ALICE).json["state"] != "succeeded":
            pass
        waits = [self.plan(ALICE, graphs.slow(20000) + b" " * i, Prefer="respond-async").headers["location"] for i in range(2)][1]
        self.daemon.kill()
        self.daemon = Daemon("--tokens", self.path, *self.flags)
        for location in (done, waits):
            self.assertEqual(self.get(location, ALICE).status, 200)
            self.assertEqual(self.get(location, BOB).status, 404)
            self.assertEqual(self.get(location + "/plan", BOB).status, 404)
        response = self.daemon.request("GET", waits, None, {**bearer(ALICE), "Prefer": "wait=60"})
        while response.json["state"] in ("queued", "running"):
            response = self.daemon.request("GET", waits, None, {**bearer(ALICE), "Prefer": "wait=60"})
        self.assertEqual(response.json["state"], "succeeded")
        digest = self.get(done + "/plan", ALICE).json["digest"]
        self.assertEqual(self.get(f"/v1/plans/{digest}", ALICE).status, 200)
        self.assertEqual(self.get(f"/v1/plans/{digest}", BOB).status, 404)

    def test_a_name_that_is_gone(self):
        """Its jobs go on, and are there when it comes back."""
        waits = [self.plan(ALICE, graphs.slow(20000) + b" " * i, Prefer="respond-async").headers["location"] for i in range(2)][1]
        self.daemon.kill()
        self.write(f"bob read {BOB}\n")
        self.daemon = Daemon("--tokens", self.path, *self.flags)
        self.assertEqual(self.get(waits, BOB).status, 404)
        self.write(FILE)
        self.reload()
        self.assertEqual(self.get(waits, ALICE).status, 200)


class TestReload(WithTokens):
    def test_new_tokens_count_and_old_ones_do_not(self):
        location = self.plan(ALICE, Prefer="respond-async").headers["location"]
        self.write(f"alice read,submit new-{ALICE}\n")
        self.assertEqual(self.reload()["outcome"], "ok")
        self.assert_401(self.plan(ALICE), True)
        self.assert_401(self.plan(BOB), True)
        self.assertEqual(self.get(location, f"new-{ALICE}").status, 200)  # by name

    def test_a_bad_file_changes_nothing(self):
        for content in ("nonsense\n", "", f"alice read short\n", f"alice read {ALICE}\nbob read {ALICE}\n"):
            self.write(content)
            line = self.reload()
            self.assertEqual((line["level"], line["outcome"]), ("error", "kept"), line)
            self.assertIn("line" if content else "no token", line["message"])
            self.assertEqual(self.plan(ALICE).status, 200)
        os.unlink(self.path)
        self.assertIn("No such file", self.reload()["message"])
        self.assertEqual(self.plan(BOB).status, 200)

    def test_open_connections_notice(self):
        with self.daemon.connect() as connection:
            request = format_request("POST", "/v1/plans", {"Host": "localhost", **JSON, **bearer(ALICE)}, TINY)
            connection.send(request)
            self.assertEqual(connection.read_response().status, 200)
            self.write(f"bob read {BOB}\n")
            self.reload()
            connection.send(request)
            self.assertEqual(connection.read_response().status, 401)

    def test_exposed_file(self):
        self.assertEqual(self.daemon.log(event="tokens", level="warn"), [])
        self.write(FILE, 0o644)
        self.reload()
        self.assertIn("chmod", self.daemon.wait_log(event="tokens", level="warn")[0]["message"])

    def test_many_reloads_under_load(self):
        connections = [self.daemon.connect() for _ in range(4)]
        request = format_request("GET", "/v1/jobs", {"Host": "localhost", **bearer(ALICE)})
        for i in range(30):
            self.write(FILE + f"extra{i} read extra-token-{i:08}\n")
            self.daemon.signal(signal.SIGHUP)
            for connection in connections:
                connection.send(request)
            for connection in connections:
                self.assertEqual(connection.read_response().status, 200)
        for connection in connections:
            connection.close()


class TestAnonymousToo(WithTokens):
    flags = ("--anonymous",)

    def test_no_token_reads_and_submits(self):
        self.assertEqual(self.plan(None).status, 200)
        self.assertEqual(self.get("/v1/jobs").status, 200)
        self.assert_403(self.get("/v1/ops"), "admin")

    def test_a_wrong_token_is_still_wrong(self):
        self.assert_401(self.plan("nobody-0123456789"), True)
        self.assertEqual(self.plan(ALICE).status, 200)

    def test_anonymous_jobs_are_their_own(self):
        location = self.plan(None, Prefer="respond-async").headers["location"]
        self.assertEqual(self.get(location).status, 200)
        self.assertEqual(self.get(location, ALICE).status, 404)


class TestBeyondLoopback(WithTokens):
    listen = "0.0.0.0:0"

    def test_tokens_suffice(self):
        """An address that others reach needs tokens, or --anonymous."""
        self.assertEqual(self.plan(ALICE).status, 200)
        self.assert_401(self.plan(None), False)


class TestWithoutFile(unittest.TestCase):
    def test_loopback_may_everything(self):
        with Daemon() as daemon:
            self.assertEqual(daemon.plan(TINY).status, 200)
            self.assertNotIn(daemon.get("/v1/ops").status, (401, 403))
            response = daemon.plan(TINY, bearer(ALICE))
            self.assertEqual((response.status, response.code), (401, "unauthorized"))

    def test_anonymous_beyond_loopback_is_no_operator(self):
        with Daemon("--anonymous", listen="0.0.0.0:0") as daemon:
            self.assertEqual(daemon.plan(TINY).status, 200)
            self.assertEqual(daemon.get("/v1/ops").status, 403)

    def test_hangup_ends_nothing(self):
        with Daemon() as daemon:
            daemon.signal(signal.SIGHUP)
            daemon.wait_log(event="reload")
            self.assertEqual(daemon.plan(TINY).status, 200)


class TestStart(unittest.TestCase):
    def start(self, content, mode=0o600):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tokens")
            with open(path, "w", encoding="ascii") as file:
                file.write(content)
            os.chmod(path, mode)
            return run(REMATD, "--listen", "127.0.0.1:0", "--tokens", path)

    def test_bad_files(self):
        for content, word in (("", "no token"), (f"alice read,write {ALICE}", "line 1: the second field"), ("alice read x", "line 1:")):
            done = self.start(content)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(word, done.stderr.decode())
            self.assertIn("--tokens", done.stderr.decode())
            self.assertNotIn(ALICE, done.stderr.decode())

    def test_no_file(self):
        done = run(REMATD, "--listen", "127.0.0.1:0", "--tokens", "/nonexistent/tokens")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/tokens: No such file", done.stderr.decode())

    def test_print_config_holds_no_secret(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(FILE)
            file.flush()
            done = run(REMATD, "--print-config", "--tokens", file.name)
            self.assertIn(file.name, done.stdout.decode())
            self.assertNotIn(ALICE, done.stdout.decode())


if __name__ == "__main__":
    unittest.main()
