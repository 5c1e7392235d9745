# level: quick
# variants: asan tsan
"""Groups: ranks that come in any order get one decision; who is missing, who disagrees, who is late; what a restart leaves."""
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import unittest

import graphs
from daemon import IS_SANITIZED, JSON, PATIENCE_S, Daemon, format_request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "ranks"))
import agree     # noqa: E402
import generate  # noqa: E402

N_RANKS = 64
LONG = {"Prefer": "wait=240"}


def body(rank, world_size, graph, **more):
    return graphs.encode({**agree.body(rank, world_size, graph), **more})


def path(key):
    return f"/v1/groups/{key}/plans"


class Case(unittest.TestCase):
    FLAGS = ("--workers", 2)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.start()

    def start(self, *flags):
        self.daemon = Daemon(*self.FLAGS, *flags, "--data", os.path.join(self.folder, "data"))

    def tearDown(self):
        self.daemon.stop()
        shutil.rmtree(self.folder)

    def ask(self, key, document, headers=None):
        return self.daemon.request("POST", path(key), document, {**JSON, **LONG, **(headers or {})})

    def send(self, key, document, headers=None):
        """A connection on which the answer is still to come."""
        connection = self.daemon.connect()
        connection.send(format_request("POST", path(key), {"Host": self.daemon.host, **JSON, **LONG, **(headers or {})}, document))
        return connection

    def ask_all(self, key, documents, r=None):
        """All at once, in a random order; the answers by rank."""
        order = list(range(len(documents)))
        (r or random.Random(1)).shuffle(order)
        waiting = {rank: self.send(key, documents[rank]) for rank in order}
        answers = []
        for rank in range(len(documents)):
            with waiting[rank] as connection:
                answers.append(connection.read_response())
        return answers

    def assert_problem(self, response, status, code, *words):
        self.assertEqual((response.status, response.code), (status, code), response)
        for word in words:
            self.assertIn(word, response.json["detail"])


class Decision(Case):
    def test_equal_ranks_in_any_order(self):
        graph = graphs.chain(40)
        plain = self.daemon.plan(graphs.encode(graph)).body
        answers = self.ask_all("train/1".replace("/", "%2F"), [body(i, N_RANKS, graph) for i in range(N_RANKS)])
        self.assertEqual({a.status for a in answers}, {200}, answers[0])
        self.assertEqual(len({a.body for a in answers}), 1)
        member = json.dumps({"key": "train/1", "world_size": N_RANKS, "decided_by": 0,
                             "worst_saved_bytes": json.loads(plain)["memory"]["saved_bytes"]}, separators=(",", ":"))
        self.assertEqual(answers[0].body, plain[:-2] + f',"group":{member}}}\n'.encode())
        self.assertEqual(answers[0].headers["content-type"], "application/json")

    def test_ranks_with_other_sizes_and_names(self):
        """The decision is that of a reference that tries each rank's own on all of them."""
        r = random.Random(5)
        n_compared = 0
        for seed in range(9_000_000, 9_000_006):
            base = generate.graph(seed)[0]
            ranks = [agree.rewritten(agree.resized(base, r), r) for _ in range(4)]
            alone = [self.daemon.plan(graphs.encode(graph)) for graph, _ in ranks]
            if any(a.status != 200 or a.json["outcome"] != "plan" for a in alone):
                continue
            best = agree.decide([(graph, names, agree.Decision(a.json, {new: old for old, new in names.items()}))
                                 for (graph, names), a in zip(ranks, alone)])
            answers = self.ask_all(f"g{seed}", [body(i, 4, graph) for i, (graph, _) in enumerate(ranks)], r)
            with self.subTest(seed):
                for answer in answers:
                    self.assertEqual(answer.status, 200, answer)
                    group = answer.json["group"]
                    self.assertEqual((group["decided_by"], group["worst_saved_bytes"]), best)
                n_compared += 1
        self.assertGreaterEqual(n_compared, 2)

    def test_a_group_of_one_and_one_without_a_plan(self):
        self.assertEqual(self.ask("one", body(0, 1, graphs.tiny())).json["group"]["decided_by"], 0)
        conflict = graphs.infinite_flow()
        options = conflict.pop("options")
        answers = self.ask_all("none", [body(i, 2, conflict, options=options) for i in range(2)])
        self.assertEqual([(a.status, a.json["outcome"], a.json["group"]["decided_by"]) for a in answers],
                         [(200, "infinite_flow", None)] * 2)

    def test_late_and_repeated_ranks(self):
        graph = graphs.chain(5)
        first = self.ask("g", body(1, 2, graph), {"Prefer": "wait=1"})
        self.assert_problem(first, 504, "rank-missing", "1 of 2 ranks", "rank 0")
        last = self.ask("g", body(0, 2, graph))
        self.assertEqual(last.status, 200, last)
        for rank in (1, 0, 1):
            again = self.ask("g", body(rank, 2, graph))
            self.assertEqual((again.status, again.body), (200, last.body))

    def test_a_rank_that_leaves_still_counts(self):
        graph = graphs.chain(5)
        connection = self.send("g", body(0, 3, graph))
        self.assert_problem(self.ask("g", body(2, 3, graph), {"Prefer": "wait=2"}), 504, "rank-missing")
        connection.close()
        self.daemon.wait_log(event="request", outcome="client-gone")
        second = self.send("g", body(2, 3, graph))
        third = self.ask("g", body(1, 3, graph))
        self.assertEqual(third.status, 200, third)
        with second:
            self.assertEqual(second.read_response().body, third.body)

    def test_many_missing(self):
        answer = self.ask("g", body(3, 1000, graphs.tiny()), {"Prefer": "wait=1"})
        self.assert_problem(answer, 504, "rank-missing", "999 of 1000 ranks", "0, 1, 2, 4, 5, 6, 7, 8, 9, 10 and 989 more")

    def test_groups_do_not_mix(self):
        graph = graphs.chain(5)
        with self.send("a", body(0, 2, graph)) as connection:
            self.assert_problem(self.ask("b", body(1, 2, graph), {"Prefer": "wait=1"}), 504, "rank-missing", "rank 0")
            self.assertEqual(self.ask("a", body(1, 2, graph)).status, 200)
            self.assertEqual(connection.read_response().status, 200)


class Refusals(Case):
    def test_ranks_disagree(self):
        graph, other = graphs.chain(5), graphs.chain(5)
        other["nodes"][3]["target"] = "aten.cos.default"
        documents = [body(i, 5, other if i == 2 else graph) for i in range(5)]
        answers = self.ask_all("g", documents)
        for answer in answers:
            self.assert_problem(answer, 409, "ranks-disagree", "ranks 0-1, 3-4 against rank 2", "`f1` against `f1`",
                                "operator aten.sin.default against aten.cos.default")
        self.assert_problem(self.ask("g", documents[4]), 409, "ranks-disagree")  # again: the same
        documents[2] = body(2, 5, graph)  # mended: a new attempt begins with it
        self.assert_problem(self.ask("g", documents[2], {"Prefer": "wait=1"}), 504, "rank-missing", "4 of 5 ranks")
        self.assertEqual({a.status for a in self.ask_all("g", documents)}, {200})

    def test_a_rank_says_something_else(self):
        graph = graphs.chain(5)
        connection = self.send("g", body(0, 2, graph))
        self.assert_problem(self.ask("g", body(0, 2, graph), {"Prefer": "wait=1"}), 504, "rank-missing")
        self.assert_problem(self.ask("g", body(1, 3, graph)), 409, "ranks-disagree", "3 ranks, the group has 2")
        self.assert_problem(self.ask("g", body(0, 2, graphs.chain(6))), 409, "ranks-disagree", "rank 0", "another document")
        self.assertEqual(self.ask("g", body(1, 2, graph)).status, 200)
        with connection:
            self.assertEqual(connection.read_response().status, 200)
        self.assert_problem(self.ask("g", body(1, 3, graph)), 409, "ranks-disagree", "the group has 2")
        self.assert_problem(self.ask("g", body(1, 2, graphs.chain(6))), 409, "ranks-disagree", "another document")

    def test_requests_that_are_none(self):
        graph = graphs.tiny()
        self.assert_problem(self.ask("g", body(2, 2, graph)), 422, "invalid-graph", "0 to 1")
        self.assert_problem(self.ask("g", graphs.encode(graph)), 422, "invalid-graph", "world_size")
        self.assert_problem(self.ask("g", b"{"), 400, "malformed-json")
        self.assert_problem(self.ask("%0A", body(0, 1, graph)), 400, "bad-request", "key of a group")
        self.assert_problem(self.ask("g", body(0, 1, graph), {"Accept": "text/plain"}), 406, "not-acceptable")
        self.assertEqual(self.daemon.get(path("g")).status, 405)
        self.assertEqual(self.ask("a%20b", body(0, 1, graph)).json["group"]["key"], "a b")


class Restart(Case):
    def restart(self):
        self.daemon.stop()
        self.start()

    def test_the_decision_stays(self):
        r = random.Random(2)
        base = graphs.chain(12)
        documents = [body(i, 3, agree.rewritten(base, r)[0]) for i in range(3)]
        answers = self.ask_all("g", documents)
        self.assertEqual({a.status for a in answers}, {200}, answers[0])
        self.restart()
        for document, answer in zip(documents, answers):
            late = self.ask("g", document)
            self.assertEqual((late.status, late.body), (200, answer.body))
        self.assert_problem(self.ask("g", body(1, 3, base)), 409, "ranks-disagree", "another document")

    def test_an_acknowledged_rank_waits_on(self):
        graph = graphs.chain(12)
        job = self.ask("g%20h", body(0, 2, graph), {"Prefer": "respond-async"})
        self.assertEqual(job.status, 202, job)
        self.daemon.signal(signal.SIGKILL)
        self.daemon.process.wait(PATIENCE_S)
        self.daemon.process.stdout.close()
        self.daemon.log_file.close()
        self.start()
        answer = self.ask("g%20h", body(1, 2, graph))
        self.assertEqual(answer.status, 200, answer)
        plan = self.daemon.request("GET", job.headers["location"] + "/plan", None, LONG)
        self.assertEqual((plan.status, plan.body), (200, answer.body))

    def test_a_drain_does_not_wait_for_ranks(self):
        self.daemon.stop()
        self.start("--drain-timeout", 200)
        with self.send("g", body(0, 2, graphs.tiny())) as connection:
            self.assert_problem(self.ask("g", body(0, 2, graphs.tiny()), {"Prefer": "wait=1"}), 504, "rank-missing")
            self.daemon.signal()
            self.assert_problem(connection.read_response(), 503, "draining")
            self.daemon.finish()
        self.start()

    def test_nobody_waits_for_ever(self):
        self.daemon.stop()
        self.start("--group-timeout", 2)
        job = self.ask("g", body(0, 3, graphs.tiny()), {"Prefer": "respond-async"})
        self.assertEqual(job.status, 202, job)
        over = self.daemon.request("GET", job.headers["location"], None, {"Prefer": "wait=60"}).json
        self.assertEqual(over["state"], "expired", over)
        self.assertEqual(over["problem"]["code"], "rank-missing")
        self.assertIn("2 of 3 ranks", over["problem"]["detail"])


class Threads(Case):
    def test_many_groups_at_once(self):
        """Ranks of several groups, some of them twice, from many threads."""
        n_groups, n_ranks = (4, 6) if IS_SANITIZED else (10, 12)
        calls = [(g, rank) for g in range(n_groups) for rank in range(n_ranks) for _ in range(1 + (rank % 3 == 0))]
        random.Random(3).shuffle(calls)
        found = {}

        def call(g, rank):
            answer = self.ask(f"g{g}", body(rank, n_ranks, graphs.chain(3 + g)))
            found.setdefault(g, []).append((answer.status, answer.body))
        threads = [threading.Thread(target=call, args=c) for c in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        for g in range(n_groups):
            self.assertEqual(len(found[g]), sum(1 for c in calls if c[0] == g))
            self.assertEqual(len(set(found[g])), 1, found[g][:2])
            self.assertEqual(found[g][0][0], 200)



class FailingDecision(Case):
    FLAGS = ("--workers", 4)

    def test_ranks_that_ask_again_and_again(self):
        """A decision that runs out of time begins the group anew, whatever the other requests for it are doing just then."""
        statuses = []

        def ask(rank):
            for i in range(30):
                deadline = {"options": {"deadline_ms": 5 << i // 5}}  # from too short to long enough
                response = self.ask(f"again{i // 5}", body(rank, 2, chains[rank], **deadline), {"Prefer": "wait=1"})
                statuses.append((response.status, response.code if response.status != 200 else None))

        chains = [graphs.chain(300 if IS_SANITIZED else 1000), graphs.chain(300 if IS_SANITIZED else 1000)]
        for document in chains[1]["nodes"]:
            if "val" in document:
                document["val"] = {"dtype": "float32", "shape": [128]}
        threads = [threading.Thread(target=ask, args=(i % 2,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(statuses), 180)
        self.assertLessEqual(set(statuses), {(200, None), (504, "deadline-exceeded"), (504, "rank-missing")})
        answers = self.ask_all("last", [body(i, 2, chains[i]) for i in range(2)])
        self.assertEqual([answer.status for answer in answers], [200, 200])


if __name__ == "__main__":
    unittest.main()
