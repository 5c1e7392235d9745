# level: full
# variants: asan tsan
"""What is worked out about a job: a node, its report, exports, what-if; and reports of documents. Over HTTP: whose, when, how often."""
import gzip
import json
import os
import signal
import tempfile
import threading
import time
import unittest
import urllib.parse

import graphs
from daemon import JSON, PATIENCE_S, Closed, Daemon, format_request
from jobs import ASYNC, LONG, TINY, JobCase

NOWHERE = "/v1/jobs/" + "0" * 32
LOOKS = ("/node?name=c", "/report", "/report?style=fragment", "/export?as=dot", "/export?as=dimacs&around=c&depth=1")
ALICE, BOB = "alice-0123456789", "bob-0123456789abc"


def change(**tags):
    return json.dumps({"tags": tags}).encode()


class Case(JobCase):
    FLAGS = ("--workers", 2)

    def assert_pointer(self, response, pointer):
        self.assertEqual(response.json["errors"][0]["pointer"], pointer, response)


class TestLooks(Case):
    def test_documents(self):
        path = self.submit()
        node = self.get(path + "/node?name=c")
        self.assertEqual((node.status, node.headers["content-type"]), (200, "application/json"), node)
        self.assertEqual((node.json["schema"], node.json["node"]), ("remat/node/v1", "c"))
        report = self.get(path + "/report")
        self.assertEqual((report.status, report.headers["content-type"]), (200, "text/html; charset=utf-8"))
        self.assertIn(b"<!doctype html>", report.body)
        self.assertIn("frame-ancestors 'self'", report.headers["content-security-policy"])
        fragment = self.get(path + "/report?style=fragment")
        self.assertNotIn(b"<!doctype", fragment.body)
        self.assertIn(b"<main", fragment.body)
        dot = self.get(path + "/export?as=dot")
        self.assertEqual((dot.status, dot.headers["content-type"]), (200, "text/vnd.graphviz; charset=utf-8"))
        self.assertIn(b"digraph", dot.body)
        dimacs = self.get(path + "/export?as=dimacs")
        self.assertEqual((dimacs.status, dimacs.headers["content-type"]), (200, "text/plain; charset=utf-8"))
        self.assertIn(b"\np max ", dimacs.body)
        trace = self.get(path + "/export?as=min-cut-information")
        self.assertEqual((trace.status, trace.headers["content-type"]), (200, "application/json"))
        trace.json

    def test_node_in_words(self):
        path = self.submit()
        words = self.get(path + "/node?name=c", {"Accept": "text/plain"})
        self.assertEqual((words.status, words.headers["content-type"]), (200, "text/plain; charset=utf-8"), words)
        self.assertNotEqual(words.headers["etag"], self.get(path + "/node?name=c").headers["etag"])
        self.assert_problem(self.get(path + "/node?name=c", {"Accept": "image/png"}), 406, "not-acceptable")

    def test_links(self):
        links = self.wait(self.submit())["links"]
        for key, end, more in (("report", "", ""), ("node", "{?name}", "?name=c"), ("export", "{?as,around,depth}", "?as=dot")):
            self.assertTrue(links[key].endswith(end), links)
            self.assertEqual(self.get(links[key][:len(links[key]) - len(end)] + more).status, 200, key)
        self.assertEqual(self.post(links["what_if"], change(c="must_save")).status, 200)
        batch = self.daemon.request("POST", "/v1/plans:batch", TINY, {"Content-Type": "application/x-ndjson", **ASYNC})
        self.assertLessEqual(set(self.wait(batch.headers["location"])["links"]), {"plan", "graph", "events"})

    def test_whatever_became_of_the_job(self):
        """Queued, running, cancelled, without a plan, asked for as text or as a frontier: its document is known."""
        self.daemon.stop()
        self.daemon = Daemon("--workers", 1, "--job-memory", "4G", "--data", os.path.join(self.folder, "data"))
        held = self.submit(graphs.slow(4 * graphs.SLOW_N))
        queued = self.submit()
        self.assertIn(self.get(queued).json["state"], ("queued", "running"))
        with self.daemon.connect() as connection:
            connection.send(format_request("GET", queued + "/report", {"Host": "localhost"}))
            self.get(held, method="DELETE")
            self.assertEqual(connection.read_response().status, 200)
        self.assertEqual(self.get(held).json["state"], "canceled")
        self.assertEqual(self.get(held + "/export?as=dot&around=f1", LONG).status, 200)
        infinite = self.submit(graphs.encode(graphs.infinite_flow()))
        for end in ("/node?name=m", "/report", "/export?as=dot"):
            self.assertEqual(self.get(infinite + end).status, 200, end)
        for path in (self.submit(headers={"Accept": "text/plain"}), self.submit(path="/v1/frontier"), self.submit(path="/v1/reports")):
            for end in LOOKS:
                self.assertEqual(self.get(path + end).status, 200, (path, end))

    def test_a_document_that_is_none(self):
        """The answer is what was wrong with it."""
        path = self.submit(b'{"schema":"remat/graph/v1","nodes":[}')
        for end in LOOKS:
            self.assert_problem(self.get(path + end), 400, "malformed-json")
        path = self.submit(graphs.encode(graphs.size_unknown()).replace(b'"a"', b'"c"').replace(b'"%a"', b'"%c"'))
        for end in LOOKS:
            self.assert_problem(self.get(path + end), 422, "size-unknown")

    def test_group_member(self):
        body = graphs.encode({"rank": 0, "world_size": 1, "graph": graphs.tiny()})
        path = self.submit(body, "/v1/groups/alone/plans")
        self.wait(path)
        for end in LOOKS:
            self.assertEqual(self.get(path + end).status, 200, end)
        self.assertEqual(self.post(path + "/what-if", change(c="must_save")).status, 200)

    def test_batch_has_no_graph(self):
        response = self.daemon.request("POST", "/v1/plans:batch", TINY, {"Content-Type": "application/x-ndjson", **ASYNC})
        path = response.headers["location"]
        for end in LOOKS:
            self.assert_problem(self.get(path + end), 404, "not-found", "batch")
        self.assert_problem(self.post(path + "/what-if", change()), 404, "not-found", "batch")

    def test_unknown_and_removed(self):
        gone = self.submit()
        self.wait(gone)
        self.get(gone + "/report")  # what is in the cache is not there either
        self.assertEqual(self.get(gone, method="DELETE").status, 204)
        for path, status, code in ((NOWHERE, 404, "not-found"), ("/v1/jobs/x", 404, "not-found"), (gone, 410, "gone")):
            for end in LOOKS:
                self.assert_problem(self.get(path + end), status, code)
            self.assert_problem(self.post(path + "/what-if", change()), status, code)

    def test_methods(self):
        path = self.submit()
        for end in ("/node", "/report", "/export"):
            response = self.get(path + end, method="POST")
            self.assertEqual((response.status, response.headers["allow"]), (405, "GET, HEAD"))
        response = self.get(path + "/what-if")
        self.assertEqual((response.status, response.headers["allow"]), (405, "POST"))
        self.assertEqual(self.get("/v1/reports").status, 405)

    def test_head(self):
        path = self.submit()
        for end in LOOKS:
            got, head = self.get(path + end), self.get(path + end, method="HEAD")
            self.assertEqual((head.status, head.body), (200, b""))
            for name in ("content-type", "content-length", "etag"):
                self.assertEqual(head.headers[name], got.headers[name], (end, name))

    def test_conditional(self):
        """An ETag is that of the bytes: equal after a restart, and for another job of the same document."""
        path = self.submit()
        tags = {}
        for end in LOOKS:
            tags[end] = self.get(path + end).headers["etag"]
            response = self.get(path + end, {"If-None-Match": tags[end]})
            self.assertEqual((response.status, response.body, response.headers["etag"]), (304, b"", tags[end]))
            self.assertEqual(self.get(path + end, {"If-None-Match": '"x"'}).status, 200)
        self.assertEqual(len(set(tags.values())), len(tags))
        self.daemon.stop()
        self.start()
        other = self.submit()
        for end in LOOKS:
            self.assertEqual(self.get(path + end, {"If-None-Match": tags[end]}).status, 304, end)
            self.assertEqual(self.get(other + end, {"If-None-Match": tags[end]}).status, 304, end)

    def test_compressed(self):
        path = self.submit()
        plain = self.get(path + "/report")
        coded = self.get(path + "/report", {"Accept-Encoding": "gzip"})
        self.assertEqual(coded.headers["content-encoding"], "gzip")
        self.assertEqual(gzip.decompress(coded.body), plain.body)
        self.assertEqual(coded.headers["etag"], plain.headers["etag"][:-1] + '-gzip"')
        self.assertEqual(self.get(path + "/report", {"If-None-Match": coded.headers["etag"]}).status, 304)

    def test_waits(self):
        """No job is left to come back to: who waits too long is told when to ask again, and the work ends."""
        held = [self.submit(graphs.slow()) for _ in range(2)]
        for path in held:
            self.wait_state(path, "running")
        path = self.submit()
        response = self.get(path + "/report", {"Prefer": "wait=1"})
        if response.status != 200:  # a machine that solved both in a second
            self.assert_problem(response, 504, "deadline-exceeded", "1 s")
            self.assertGreaterEqual(int(response.headers["retry-after"]), 1)
            self.assertEqual(response.headers["preference-applied"], "wait=1")
        for each in held:
            self.get(each, method="DELETE")
        self.assertEqual(self.get(path + "/report", LONG).status, 200)
        listed = {f"/v1/jobs/{job['id']}" for job in self.get("/v1/jobs").json["jobs"]}
        kept = {each for each in held if self.get(each).status == 200}  # one that was over before its DELETE is removed
        self.assertEqual(listed, {path, *kept})

    def test_a_client_that_leaves(self):
        """Nobody else waits: the work ends, and the workers are free."""
        held = [self.submit(graphs.slow()) for _ in range(2)]
        for path in held:
            self.wait_state(path, "running")
        connections = [self.daemon.connect() for _ in range(5)]
        for i, connection in enumerate(connections):
            connection.send(format_request("GET", held[0] + f"/node?name=f{i}", {"Host": "localhost"}))
        self.wait_queued(5)
        for connection in connections:
            connection.close()
        self.wait_queued(0)
        self.daemon.wait_log(5, event="request", outcome="client-gone")
        for each in held:
            self.get(each, method="DELETE")

    def wait_queued(self, n):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.get("/v1/ops").json["queue"]["interactive"] == n:
                return
            time.sleep(0.02)
        raise AssertionError(f"never {n} in the queue: {self.get('/v1/ops').json['queue']}")

    def test_the_log(self):
        path = self.submit()
        self.get(path + "/report")
        self.get(path + "/report")
        lines = self.daemon.wait_log(2, event="request", route="/v1/jobs/*/report")
        self.assertEqual([line["cache"] for line in lines], ["miss", "hit"])
        self.assertEqual({(line["outcome"], line["status"]) for line in lines}, {("plan", 200)})
        self.assertIn("phases", lines[0])
        metrics = self.get("/metrics").body.decode()
        self.assertIn('route="/v1/jobs/*/report",method="GET",status="200"} 2\n', metrics)

    def test_draining(self):
        path = self.submit(graphs.slow())
        self.daemon.stop()
        self.daemon = Daemon("--workers", 1, "--data", os.path.join(self.folder, "data"), "--drain-timeout", 30)
        self.wait_state(path, "running")
        with self.daemon.connect() as first, self.daemon.connect() as second:
            for connection in (first, second):  # both are known before the drain begins
                connection.send(format_request("GET", path, {"Host": "localhost"}))
                connection.read_response()
            self.daemon.signal()
            self.daemon.wait_log(event="drain")
            for connection, request in ((first, format_request("GET", path + "/report", {"Host": "localhost"})),
                                        (second, format_request("POST", path + "/what-if", {"Host": "localhost", **JSON}, change()))):
                connection.send(request)
                self.assert_problem(connection.read_response(), 503, "draining")
        self.daemon.finish()
        self.start()


class TestNames(Case):
    def submit_named(self, names):
        """The path of a finished job, in whose graph a node has each of the names."""
        document = graphs.tiny()
        for name in names:
            document["nodes"].insert(-1, graphs.node(name, "call_function", "aten.sin.default", ["%x"]))
        path = self.submit(graphs.encode(document))
        self.assertEqual(self.wait(path)["state"], "succeeded")
        return path

    def test_hostile_names(self):
        """Every name comes back as it is, or is refused with the reason; nothing of it is markup."""
        names = ['<script>alert(1)</script>', 'a"b\'c', "a&b=c", "a+b c", "\u202eright", "\u00e9\u4e16\U0001f600", "%s%n%x", "../..", "a#b", "\x01\x1f"]
        path = self.submit_named(names)
        for name in names:
            asked = urllib.parse.quote(name, safe="")
            with self.subTest(name):
                node = self.get(f"{path}/node?name={asked}")
                self.assertEqual((node.status, node.json.get("node")), (200, name), node)
                self.assertEqual(self.get(f"{path}/export?as=dimacs&depth=0&around={asked}").status, 200)
        report = self.get(path + "/report")
        self.assertEqual(report.status, 200)
        self.assertNotIn(b"<script>alert", report.body)

    def test_long_names(self):
        """As long as names may be, however many bytes of a query they take."""
        names = ["n" * 10000, "\u4e16" * 3000, "é" * 4990]
        path = self.submit_named(names)
        for name in names:
            asked = urllib.parse.quote(name, safe="")
            node = self.get(f"{path}/node?name={asked}")
            self.assertEqual((node.status, node.json.get("node")), (200, name))
            self.assertEqual(self.get(f"{path}/export?as=dimacs&depth=0&around={asked}").status, 200)
            self.assert_problem(self.get(f"{path}/node?name={asked}m"), 404, "not-found")

    def test_no_names(self):
        path = self.submit()
        wrong = ["", "?name", "?name=", "?name=%", "?name=%4", "?name=%zz", "?name=%00", "?name=a%00b", "?name=%ff", "?name=%c0%80", "?name=%ed%a0%80",
                 "?name=%f4%90%80%80", "?name=%e4%b8", "?name=c&name=c", "?nam=c", "?name=c&x=1", "?name=" + "a" * 29996]
        for query in wrong:
            with self.subTest(query[:40]):
                self.assert_problem(self.get(path + "/node" + query), 400, "bad-request")
        for name in ("nope", "C", "a" * 29995, "%41" * 9998):
            self.assert_problem(self.get(f"{path}/node?name={name}"), 404, "not-found")
        self.assert_problem(self.get(path + "/node?name=gg"), 404, "not-found", "gg")

    def test_bad_queries(self):
        path = self.submit()
        for end in ("/report?style=", "/report?style=x", "/report?style=" + "f" * 100, "/report?name=c", "/export", "/export?as=", "/export?as=png", "/export?as=" + "x" * 100,
                    "/export?as=dot&depth=1", "/export?as=dot&around=c&depth=x", "/export?as=dot&around=c&depth=-1", "/export?as=dot&around=c&depth=99999999999999999999",
                    "/export?as=min-cut-information&around=c", "/export?as=dot&around=%ff", "/export?as=dot&as=dot"):
            with self.subTest(end):
                self.assert_problem(self.get(path + end), 400, "bad-request")
        self.assert_problem(self.get(path + "/export?as=dot&around=nope"), 404, "not-found", "nope")


class TestMerged(Case):
    def test_equal_questions_are_worked_out_once(self):
        n = 64
        path = self.submit(graphs.slow(3000))
        answers = []

        def ask(i):
            name = "f1" if i % 2 else "%66%31"  # written otherwise, and the same
            answers.append(self.get(path + f"/node?name={name}", LONG))

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual((len(answers), len({answer.body for answer in answers})), (n, 1))
        lines = self.daemon.wait_log(n, event="request", route="/v1/jobs/*/node")
        sources = [line["cache"] for line in lines]
        self.assertEqual(sources.count("miss"), 1, sources)
        self.assertLessEqual(set(sources), {"miss", "merge", "hit"})

    def test_other_questions_are_not_mixed_up(self):
        path = self.submit(graphs.slow(300))
        other = self.submit(graphs.slow(300))
        questions = [f"{job}/node?name={side}{i}" for job in (path, other) for side in "fb" for i in range(20)]
        answers = {}

        def ask(question):
            answers[question] = self.get(question, LONG)

        threads = [threading.Thread(target=ask, args=(question,)) for question in questions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for question in questions:
            self.assertEqual(answers[question].json["node"], question.rsplit("=", 1)[1])


class TestWhatIf(Case):
    def test_at_once_and_deferred(self):
        path = self.submit()
        asked = change(c="must_save")
        answer = self.post(path + "/what-if", asked)
        self.assertEqual((answer.status, answer.json["schema"]), (200, "remat/what-if/v1"), answer)
        self.assertEqual(answer.json["before"]["digest"], self.daemon.plan(TINY).json["digest"])
        job_path = self.submit(asked, path + "/what-if")
        job = self.wait(job_path)
        self.assertEqual((job["state"], job["call"], job["outcome"]), ("succeeded", "what-if", "plan"))
        self.assertEqual(self.get(job_path + "/plan").body, answer.body)
        self.assertEqual(self.get(job_path + "/graph").json, {"base": graphs.tiny(), "what_if": {"tags": {"c": "must_save"}}})
        self.assertIn(job["id"], [each["id"] for each in self.get("/v1/jobs").json["jobs"]])
        again = self.post(path + "/what-if", asked)
        self.assertEqual((again.body, again.headers["etag"]), (answer.body, answer.headers["etag"]))
        self.daemon.wait_log(event="request", route="/v1/jobs/*/what-if", cache="hit")

    def test_it_is_a_job_like_any(self):
        """Its report, its nodes and a what-if of it speak of the changed request."""
        first = self.submit(graphs.encode(graphs.chain(3)))
        self.assertEqual(self.get(first + "/node?name=f1").json["state"], "recomputed")
        path = self.submit(change(f1="must_save"), first + "/what-if")
        self.assertEqual(self.get(path + "/plan", LONG).json["diff"]["saved_added"], ["f1"])
        self.assertEqual(self.get(path + "/node?name=f1").json["state"], "saved")
        nested = self.submit(change(f1=None, f0="must_save"), path + "/what-if")
        document = self.get(nested + "/plan", LONG).json
        self.assertIn("f1", document["diff"]["saved_removed"])
        self.assertEqual(document["diff"]["saved_added"], ["f0"])
        self.assertEqual(document["before"]["digest"], self.get(path + "/plan").json["plan"]["digest"])
        self.assertEqual(document["plan"]["digest"], self.get(nested + "/node?name=f0").json["digest"])
        for end in LOOKS:
            end = end.replace("=c", "=f1")
            self.assertEqual(self.get(path + end).status, 200, end)
            self.assertEqual(self.get(nested + end).status, 200, end)

    def test_nesting_is_bounded(self):
        path = self.submit()
        for depth in range(70):
            path = self.submit(change(c="must_save"), path + "/what-if")
            job = self.wait(path)
            if job["state"] != "succeeded":
                break
        self.assertEqual((job["state"], job["problem"]["status"]), ("failed", 413), job)
        self.assertGreaterEqual(depth, 20)

    def test_wrong_changes(self):
        path = self.submit() + "/what-if"
        for body, status, pointer in ((b"", 400, None), (b"{", 400, None), (b'{"tags":{}', 400, None), (b"[]", 422, ""), (b"1", 422, ""),
                                      (b'{"tags":{}},"what_if":{}', 400, None), (b'{"tags":{"c":"must_save"}}}', 400, None), (b'{"tags":{"c":\xff}}', 400, None),
                                      (b'{"tags":[]}', 422, "/tags"), (b'{"tags":{"nope":"must_save"}}', 422, "/tags/nope"),
                                      (b'{"tags":{"c":"must"}}', 422, "/tags/c"), (b'{"options":{"nope":1}}', 422, "/options/nope"),
                                      (b'{"options":[]}', 422, "/options"), (b'{"more":1}', 422, "/more"), (b"[" * 100 + b"]" * 100, 413, None)):
            with self.subTest(body[:40]):
                response = self.post(path, body)
                self.assertEqual(response.status, status, response)
                if pointer is not None:
                    self.assert_pointer(response, pointer)
        self.assert_problem(self.post(path, change(), {"Content-Type": "text/plain"}), 415, "unsupported-media-type")
        self.assert_problem(self.post(path, change(), {"Accept": "image/png"}), 406, "not-acceptable")
        self.assert_problem(self.post(path + "?tags=x", change()), 400, "bad-request")

    def test_wrong_and_deferred(self):
        """The job fails, and its places are those of its own document."""
        path = self.submit(b'{"tags":{"nope":"must_save"}}', self.submit() + "/what-if")
        job = self.wait(path)
        self.assertEqual((job["state"], job["problem"]["errors"][0]["pointer"]), ("failed", "/what_if/tags/nope"))
        self.assertEqual(self.post(self.submit() + "/what-if", b"{", ASYNC).status, 400)

    def test_of_what_is_no_document(self):
        path = self.submit(b'{"schema":"remat/graph/v1"')
        self.assert_problem(self.post(path + "/what-if", change()), 422, "invalid-graph", "job's own request")
        path = self.submit(b'{},"base":{}')
        self.assert_problem(self.post(path + "/what-if", change()), 422, "invalid-graph", "job's own request")

    def test_compressed_and_chunked(self):
        path = self.submit()
        plain = self.post(path + "/what-if", change(c="must_save"))
        coded = self.post(path + "/what-if", gzip.compress(change(c="must_save")), {"Content-Encoding": "gzip"})
        self.assertEqual((coded.status, coded.body), (200, plain.body))

    def test_equal_ones_are_worked_out_once(self):
        n = 32
        path = self.submit(graphs.slow(3000))
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.post(path + "/what-if", change(f1="must_save"), LONG))) for _ in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(({answer.status for answer in answers}, len({answer.body for answer in answers})), ({200}, 1))
        sources = [line["cache"] for line in self.daemon.wait_log(n, event="request", route="/v1/jobs/*/what-if")]
        self.assertEqual(sources.count("miss"), 1, sources)

    def test_not_of_another_job(self):
        """The same change to two jobs are two questions."""
        first, second = self.submit(), self.submit(graphs.another())
        answers = [self.post(path + "/what-if", b"{}") for path in (first, second)]
        self.assertEqual([answer.status for answer in answers], [200, 200])
        self.assertNotEqual(answers[0].json["plan"]["digest"], answers[1].json["plan"]["digest"])


class TestReports(Case):
    def test_report(self):
        answer = self.post("/v1/reports", TINY)
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "text/html; charset=utf-8"))
        path = self.submit(TINY, "/v1/reports")
        job = self.wait(path)
        self.assertEqual((job["state"], job["call"]), ("succeeded", "report"))
        plan = self.get(path + "/plan")
        self.assertEqual((plan.body, plan.headers["content-type"]), (answer.body, answer.headers["content-type"]))
        self.assertEqual(self.get(path + "/graph").body, TINY)
        self.assertEqual(self.get(path + "/report").body, answer.body)

    def test_negotiation(self):
        for accept, status in (("text/html", 200), ("text/*", 200), ("*/*", 200), ("application/json", 406), ("text/html;q=0, */*", 406)):
            self.assertEqual(self.post("/v1/reports", TINY, {"Accept": accept}).status, status, accept)

    def test_wrong_documents(self):
        self.assert_problem(self.post("/v1/reports", b"{"), 400, "malformed-json")
        self.assertEqual(self.post("/v1/reports", b"[]").status, 422)
        self.assert_problem(self.post("/v1/reports", graphs.encode(graphs.size_unknown())), 422, "size-unknown")


class TestLimits(Case):
    def limited(self, *flags):
        self.daemon.stop()
        self.daemon = Daemon(*flags, "--data", os.path.join(self.folder, "data"))

    def test_queue_and_places(self):
        """What is worked out about a job waits like any other work, and is refused like it."""
        self.limited("--workers", 1, "--queue", 1, "--job-memory", "4G")
        path = self.submit()
        self.wait(path)
        held = self.submit(graphs.slow(4 * graphs.SLOW_N))
        self.wait_state(held, "running")
        waiting = self.daemon.start_plan(graphs.another())
        deadline = time.monotonic() + PATIENCE_S
        while self.get("/v1/ops").json["queue"]["interactive"] != 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        for response in (self.get(path + "/report"), self.post(path + "/what-if", change())):
            self.assert_problem(response, 503, "queue-full", "--queue")
            self.assertGreaterEqual(int(response.headers["retry-after"]), 1)
        self.get(held, method="DELETE")
        waiting.read_response()
        waiting.close()

    def test_memory_and_steps(self):
        path = self.submit(graphs.slow(3000))
        self.wait(path)
        self.limited("--job-memory", "1M")
        for end in ("/node?name=f1", "/report", "/export?as=dot"):
            self.assert_problem(self.get(path + end), 413, "too-large")
        self.assert_problem(self.post(path + "/what-if", change(f1="must_save")), 413, "too-large")
        self.limited("--max-steps", 10)
        for end in ("/node?name=f1", "/report", "/export?as=dot"):
            self.assert_problem(self.get(path + end), 504, "step-limit")
        self.assert_problem(self.post(path + "/what-if", change(f1="must_save")), 504, "step-limit")

    def test_max_body(self):
        """The document of a what-if is one, and has the limit of one."""
        path = self.submit()
        self.wait(path)
        asked = change(c="must_save")
        whole = len(b'{"base":,"what_if":}') + len(TINY) + len(asked)
        self.limited("--max-body", whole - 1)
        self.assert_problem(self.post(path + "/what-if", asked), 413, "too-large", "--max-body")
        self.assert_problem(self.post(path + "/what-if", b" " * whole), 413, "too-large")
        self.limited("--max-body", whole + 64)
        self.assertEqual(self.post(path + "/what-if", asked).status, 200)

    def test_body_memory(self):
        """What a what-if takes is given back: hundreds of them fit, one after the other."""
        self.limited("--body-memory", 1 << 16)
        path = self.submit()
        self.wait(path)
        for i in range(100):
            self.assertEqual(self.post(path + "/what-if", json.dumps({"options": {"max_dist_from_bw": 10 + i}}).encode()).status, 200)
            self.assertEqual(self.get(path + f"/export?as=dot&around=c&depth={i}").status, 200)
        self.assertEqual(self.post(path + "/what-if", b"[]").status, 422)
        deadline = time.monotonic() + PATIENCE_S
        while self.get("/v1/ops").json["body_memory"]["bytes"] != 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.get("/v1/ops").json["body_memory"]["bytes"], 0)


class TestTokens(Case):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.tokens = os.path.join(self.folder, "tokens")
        with open(self.tokens, "w", encoding="utf-8") as file:
            file.write(f"alice read,submit {ALICE}\nbob read,submit {BOB}\nalice read reader-{ALICE}\nalice submit writer-{ALICE}\n")
        self.daemon = Daemon("--tokens", self.tokens, "--data", os.path.join(self.folder, "data"))

    def test_scopes_and_others(self):
        def bearer(token):
            return {"Authorization": "Bearer " + token}

        path = self.submit(headers=bearer(ALICE))
        for end in LOOKS:
            self.assertEqual(self.get(path + end, bearer(ALICE)).status, 200, end)
            self.assertEqual(self.get(path + end, bearer("reader-" + ALICE)).status, 200, end)
            self.assert_problem(self.get(path + end, bearer("writer-" + ALICE)), 403, "forbidden", "read")
            self.assert_problem(self.get(path + end, bearer(BOB)), 404, "not-found")
            self.assert_problem(self.get(path + end), 401, "unauthorized")
        for call, body in ((path + "/what-if", change()), ("/v1/reports", TINY)):
            self.assertEqual(self.post(call, body, bearer(ALICE)).status, 200)
            self.assertEqual(self.post(call, body, bearer("writer-" + ALICE)).status, 200)
            self.assert_problem(self.post(call, body, bearer("reader-" + ALICE)), 403, "forbidden", "submit")
            self.assert_problem(self.post(call, body), 401, "unauthorized")
        self.assert_problem(self.post(path + "/what-if", change(), bearer(BOB)), 404, "not-found")


class TestRestart(Case):
    def test_a_what_if_is_kept(self):
        """Acknowledged, then kill -9: it is there, runs, and says the same, though its parent is removed."""
        parent = self.submit()
        self.wait(parent)
        done = self.submit(change(c="must_save"), parent + "/what-if")
        self.wait(done)
        expected = self.get(done + "/plan").body
        held = [self.submit(graphs.slow()) for _ in range(2)]
        for path in held:
            self.wait_state(path, "running")
        waiting = self.submit(change(c="must_save"), parent + "/what-if")
        report = self.submit(TINY, "/v1/reports")
        self.assertEqual(self.get(parent, method="DELETE").status, 204)
        self.daemon.kill()
        self.start()
        for path in held:
            self.get(path, method="DELETE")
        job = self.wait(waiting)
        self.assertEqual((job["state"], job["call"]), ("succeeded", "what-if"))
        for path in (waiting, done):
            self.assertEqual(self.get(path + "/plan").body, expected)
            self.assertEqual(self.get(path + "/report").status, 200)
        self.assertEqual(self.wait(report)["call"], "report")
        self.assertIn(b"<!doctype html>", self.get(report + "/plan").body)
        self.assert_problem(self.get(parent + "/report"), 410, "gone")

    def test_killed_on_the_way(self):
        """At every place on the way of a what-if from its request to its end: it is whole afterwards, or was never promised."""
        for point in ("composed", "job-keep", "put-row", "put-body", "job-acked", "job-run", "job-solved", "job-end", "finished"):
            with self.subTest(point):
                parent = self.submit(graphs.another())
                self.wait(parent)
                self.daemon.stop()
                self.start(env={"REMATD_FAIL_POINT": point})
                promised = None
                try:
                    promised = self.submit(b"{}", parent + "/what-if")
                    self.wait(promised)
                except (OSError, Closed):
                    pass  # the daemon is gone
                self.assertEqual(self.daemon.wait(), -signal.SIGKILL)
                self.daemon.log_file.close()
                self.start()
                jobs = [job for job in self.get("/v1/jobs").json["jobs"] if job["call"] == "what-if"]
                if promised is not None:
                    self.assertIn(promised, ["/v1/jobs/" + job["id"] for job in jobs])
                for job in jobs:
                    self.assertEqual(self.wait("/v1/jobs/" + job["id"])["state"], "succeeded")
                    self.assertEqual(self.get(job["links"]["plan"]).json["schema"], "remat/what-if/v1")

    def test_retention(self):
        """A parent that retention took is gone for these calls too; a what-if of it lives as long as itself."""
        self.daemon.stop()
        self.daemon = Daemon("--data", os.path.join(self.folder, "data"), "--retain", 1)
        path = self.submit()
        self.wait(path)
        deadline = time.monotonic() + PATIENCE_S
        while self.get(path).status != 410 and time.monotonic() < deadline:
            time.sleep(0.1)
        for end in LOOKS:
            self.assert_problem(self.get(path + end), 410, "gone")
        self.assert_problem(self.post(path + "/what-if", change()), 410, "gone")


class TestWithoutData(unittest.TestCase):
    def test_in_memory(self):
        """Without --data jobs live in memory, with their documents."""
        with Daemon() as daemon:
            path = daemon.plan(TINY, ASYNC).headers["location"]
            daemon.request("GET", path, None, LONG)
            for end in LOOKS:
                self.assertEqual(daemon.get(path + end).status, 200, end)
            self.assertEqual(daemon.request("POST", path + "/what-if", change(c="must_save"), JSON).status, 200)


if __name__ == "__main__":
    unittest.main()
