# variants: asan tsan
"""remat: exit codes, formats, flags; the same bytes as the daemon; ping."""
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import unittest

import graphs
from daemon import REMAT, Daemon, clean_environment, run

TINY = graphs.encode(graphs.tiny())


def remat(*args, stdin=b"", **more):
    return run(REMAT, *args, stdin=stdin, **more)


class TestPlan(unittest.TestCase):
    def assert_problem(self, done, exit_code, code):
        self.assertEqual(done.returncode, exit_code, done)
        self.assertEqual(done.stdout, b"")
        document = json.loads(done.stderr)
        self.assertEqual(document["code"], code)
        return document

    def test_file_and_standard_input(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.write(TINY)
            file.flush()
            from_file = remat("plan", file.name)
        from_stdin = remat("plan", "-", stdin=TINY)
        self.assertEqual((from_file.returncode, from_file.stderr), (0, b""))
        self.assertEqual(json.loads(from_file.stdout)["saved"], ["x"])
        self.assertEqual(from_stdin.stdout, from_file.stdout)
        self.assertEqual(from_stdin.returncode, 0)

    def test_as_the_daemon(self):
        with Daemon() as daemon:
            for document in (graphs.tiny(), graphs.chain(200), graphs.infinite_flow()):
                body = graphs.encode(document)
                self.assertEqual(remat("plan", "-", stdin=body).stdout, daemon.plan(body).body)
                self.assertEqual(remat("plan", "-", "--format", "text", stdin=body).stdout,
                                 daemon.plan(body, {"Accept": "text/plain"}).body)

    def test_text(self):
        done = remat("plan", "-", "--format=text", stdin=TINY)
        self.assertEqual(done.returncode, 0)
        self.assertNotEqual(done.stdout[:1], b"{")
        self.assertIn(b"x", done.stdout)

    def test_options(self):
        """A flag's members win over the document's."""
        document = graphs.encode({**graphs.tiny(), "options": {"explain": "none", "recompute_views": True}})
        plain = json.loads(remat("plan", "-", stdin=document).stdout)
        full = json.loads(remat("plan", "-", "--options", '{"explain": "full"}', stdin=document).stdout)
        self.assertNotIn("dist", plain)
        self.assertIn("dist", full)
        self.assertEqual(full["digest"], plain["digest"])
        other = json.loads(remat("plan", "--options={\"recompute_views\": false}", "-", stdin=document).stdout)
        self.assertNotEqual(other["digest"], plain["digest"])

    def test_passes(self):
        self.assertEqual(remat("plan", "-", "--passes", "[]", stdin=TINY).returncode, 0)
        done = remat("plan", "-", "--passes", '[{"pass": "repair_tags"}]', stdin=TINY)
        self.assertEqual(json.loads(done.stdout)["passes"], [{"pass": "repair_tags", "changed": 0, "changes": []}])
        done = remat("plan", "-", "--passes", '[{"pass": "repair"}]', stdin=TINY)
        self.assert_problem(done, 1, "unknown-pass")

    def test_tags(self):
        policy = '[{"pass": "sac_policy", "otherwise": "must_save", "save": ["mylib.absent.default"]}]'
        done = remat("tags", "-", "--passes", policy, stdin=TINY)
        calls = [d["name"] for d in json.loads(TINY)["nodes"] if d["op"] == "call_function" and
                 d.get("partitioner_tag") not in ("is_backward", "must_be_in_backward")]
        self.assertGreater(len(calls), 0)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout), {"tags": {name: ["must_save", 1] for name in calls}})
        self.assertIn(b"pass-matched-nothing", done.stderr)
        done = remat("tags", "-", stdin=TINY)
        self.assertEqual((json.loads(done.stdout), done.stderr), ({"tags": {}}, b""))
        self.assert_problem(remat("tags", "-", "--passes", '[{"pass": "autoparallel"}]', stdin=TINY), 1, "unknown-pass")
        self.assertEqual(remat("tags", "-", "--format", "text", stdin=TINY).returncode, 2)
        self.assertEqual(remat("tags").returncode, 2)

    def test_bad_input(self):
        self.assert_problem(remat("plan", "-", stdin=b"{"), 1, "malformed-json")
        self.assert_problem(remat("plan", "-"), 1, "malformed-json")
        self.assert_problem(remat("plan", "-", stdin=b"{}"), 1, "unknown-schema")
        self.assert_problem(remat("plan", "-", stdin=graphs.encode(graphs.size_unknown())), 1, "size-unknown")
        self.assert_problem(remat("plan", "-", "--options", '{"explian": 1}', stdin=TINY), 1, "unknown-option")
        self.assert_problem(remat("plan", "-", "--options", "{", stdin=TINY), 1, "malformed-json")
        document = graphs.tiny()
        document["nodes"][4]["args"] = ["%t", "%u"]
        problem = self.assert_problem(remat("plan", "-", stdin=graphs.encode(document)), 1, "invalid-graph")
        self.assertEqual(problem["errors"][0]["pointer"], "/nodes/4/args/1")

    def test_files_that_cannot_be_read(self):
        problem = self.assert_problem(remat("plan", "/no/such/file"), 1, "not-found")
        self.assertIn("/no/such/file", problem["detail"])
        self.assert_problem(remat("plan", "/"), 1, "bad-request")

    def test_no_plan(self):
        done = remat("plan", "-", stdin=graphs.encode(graphs.infinite_flow()))
        self.assertEqual((done.returncode, done.stderr), (3, b""))
        self.assertEqual(json.loads(done.stdout)["outcome"], "infinite_flow")
        done = remat("plan", "-", "--format", "text", stdin=graphs.encode(graphs.infinite_flow()))
        self.assertEqual(done.returncode, 3)
        self.assertNotEqual(done.stdout, b"")

    def test_gave_up(self):
        chain = graphs.encode(graphs.chain(3000))
        size = str(len(chain))
        for flags, code in ((["--max-steps", "100"], "step-limit"), (["--memory", "1M"], "too-large"),
                            (["--max-nodes", "100"], "too-large"), (["--max-body", "1K"], "too-large"),
                            (["--max-body", str(len(chain) - 1)], "too-large")):
            with self.subTest(flags):
                self.assert_problem(remat("plan", "-", *flags, stdin=chain), 4, code)
        self.assertEqual(remat("plan", "-", "--max-body", size, stdin=chain).returncode, 0)

    def test_deadline(self):
        document = {**graphs.chain(20000), "options": {"deadline_ms": 1}}
        self.assert_problem(remat("plan", "-", stdin=graphs.encode(document)), 4, "deadline-exceeded")

    def test_timings(self):
        done = remat("plan", "-", "--timings", stdin=TINY)
        self.assertEqual(done.stdout, remat("plan", "-", stdin=TINY).stdout)
        names = re.findall(r"(?m)^(\w+) +[\d.]+ ms$", done.stderr.decode())
        self.assertEqual(names, ["read", "decode", "classify", "network", "flow", "extract", "verify", "encode", "total"])
        self.assertRegex(done.stderr.decode(), r"(?m)^nodes +6$")

    def test_usage(self):
        for args in ([], ["plan"], ["plan", "a", "b"], ["plan", "--nonsense", "-"], ["plan", "-", "--format", "xml"],
                     ["plan", "-", "--format"], ["plan", "-", "--max-nodes", "many"], ["plan", "-", "--max-nodes", "0"],
                     ["plan", "-", "--timings=1"], ["nonsense"], ["--nonsense"], ["ping", "a", "b"], ["ping", "nowhere"],
                     ["ping", "https://localhost"], ["ping", "http://"], ["ping", "http://localhost:65536"],
                     ["ping", "--flag"], ["plan", "-", "--options"],
                     *([command, "-", flag, "--timings"] for command in ("plan", "report")
                       for flag in ("--options", "--passes", "--format", "--output", "-o", "--max-body", "--memory"))):
            with self.subTest(args):
                done = remat(*args)
                self.assertEqual((done.returncode, done.stdout), (2, b""), done)
                self.assertIn(b"remat --help", done.stderr)

    def test_names_that_look_like_flags(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "--timings"), "wb") as file:
                file.write(TINY)
            done = remat("plan", "--", "--timings", cwd=folder)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_explain(self):
        done = remat("explain", "-", stdin=TINY)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, remat("plan", "-", "--format", "text", stdin=TINY).stdout)
        done = remat("explain", "-", "y", stdin=TINY)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(done.stdout.startswith(b"y: "), done.stdout)
        self.assertIn(b"Tagged must_recompute", done.stdout)
        done = remat("explain", "--format=json", "-", "y", stdin=TINY)
        self.assertEqual([json.loads(done.stdout)[k] for k in ("schema", "node")], ["remat/node/v1", "y"])
        self.assertIn("did you mean y?", self.assert_problem(remat("explain", "-", "Y_", stdin=TINY), 1, "not-found")["detail"])

    def test_diff(self):
        other = {**json.loads(TINY), "passes": [{"pass": "set_tags", "tags": {"y": "must_save"}}]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "other.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(other, file)
            two = remat("diff", "-", path, stdin=TINY)
            same = remat("diff", path, path)
            text = remat("diff", path, "-", "--format", "text", stdin=TINY)
            missing = remat("diff", path, path + "x")
        what_if = remat("diff", "-", "--what-if", '{"tags": {"y": "must_save"}}', stdin=TINY)
        for done in (two, same, text, what_if):
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        two, same, what_if = (json.loads(done.stdout) for done in (two, same, what_if))
        self.assertEqual(two["diff"], what_if["diff"])
        self.assertEqual(two["after"]["digest"], what_if["plan"]["digest"])
        self.assertEqual(same["diff"]["moves"], [])
        self.assertTrue(text.stdout.startswith(b"First: digest "))
        self.assert_problem(missing, 1, "not-found")

    def test_diff_says_where_a_mistake_is(self):
        document = json.loads(TINY)
        document["nodes"][0]["op"] = "placeholdr"
        broken = json.dumps(document).encode()
        for args in (["--what-if", "{}"], [os.devnull]):
            self.assertEqual(self.assert_problem(remat("diff", "-", *args, stdin=broken), 1, "invalid-graph")["errors"][0]["pointer"], "/nodes/0/op")
        done = remat("diff", "-", "--what-if", '{"tags": {"yy": null}}', stdin=TINY)
        self.assertEqual(self.assert_problem(done, 1, "unknown-option")["errors"][0]["pointer"], "/what_if/tags/yy")
        done = remat("diff", "-", "--what-if", '{"tag": {}}', stdin=TINY)
        self.assertEqual(self.assert_problem(done, 1, "unknown-option")["errors"][0]["pointer"], "/what_if/tag")
        for text, code in (('{"tags": {"y": null, "y": null}}', "bad-request"), ("[]", "bad-request"), ("{", "malformed-json"), ("", "malformed-json")):
            done = remat("diff", "-", "--what-if", text, stdin=TINY)  # the mistake is in what was typed, not in the document
            self.assertIn("--what-if: ", self.assert_problem(done, 1, code)["detail"])
        self.assert_problem(remat("diff", "-", "--what-if", "{}", stdin=b"[] []"), 1, "malformed-json")
        for args in (["-"], ["-", "-"], ["-", "x", "--what-if", "{}"], ["a", "b", "c"]):
            self.assertEqual(remat("diff", *args, stdin=TINY).returncode, 2)
        self.assert_problem(remat("diff", "-", "--what-if", "{}", "--max-body", "10", stdin=TINY), 4, "too-large")

    def test_help_and_version(self):
        for args in (["--help"], ["-h"], ["plan", "--help"], ["ping", "-h"]):
            done = remat(*args)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"Exit code", done.stdout)
            self.assertLessEqual(max(map(len, done.stdout.decode().splitlines())), 80)
        self.assertRegex(remat("--version").stdout.decode(), r"^remat \(rematd/\d+\.\d+\.\d+\)\n$")

    def test_output_that_cannot_be_written(self):
        for args in (["plan", "-"], ["--help"], ["--version"]):
            with self.subTest(args):
                with open("/dev/full", "wb") as full:
                    done = subprocess.run([REMAT, *args], input=TINY, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
                self.assertEqual(done.returncode, 5)
                self.assertIn(b"No space left", done.stderr)
                reader, writer = os.pipe()
                os.close(reader)
                done = subprocess.run([REMAT, *args], input=TINY, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
                os.close(writer)
                self.assertEqual(done.returncode, 5)
                self.assertIn(b"Broken pipe", done.stderr)

    def test_closed_standard_output(self):
        done = subprocess.run(["sh", "-c", 'exec "$0" plan - >&-', REMAT], input=TINY, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)


class TestPing(unittest.TestCase):
    def ping(self, *args, **env):
        return run(REMAT, "ping", *args, env=clean_environment(**env))

    def assert_no_answer(self, done, says):
        self.assertEqual((done.returncode, done.stdout), (4, b""), done)
        document = json.loads(done.stderr)
        self.assertEqual(document["code"], "not-ready")
        self.assertIn(says, document["detail"])

    def test_alive(self):
        with Daemon() as daemon:
            port = daemon.address[1]
            for url in (f"http://127.0.0.1:{port}", f"http://localhost:{port}/", f"http://127.0.0.1:{port}/readyz"):
                done = self.ping(url)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), url)
            self.assert_no_answer(self.ping(f"http://127.0.0.1:{port}/nowhere"), "404")
            self.assertEqual(self.ping(REMATD_LISTEN=f"127.0.0.1:{port}").returncode, 0)
            self.assertEqual(self.ping(REMATD_LISTEN=f"0.0.0.0:{port}").returncode, 0)
            self.assertEqual(self.ping(REMATD_ADMIN_LISTEN=f"0.0.0.0:{port}", REMATD_LISTEN="127.0.0.1:1").returncode, 0)
            done = self.ping(f"https://127.0.0.1:{port}")
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"--admin-listen", done.stderr)

    def test_draining(self):
        daemon = Daemon("--drain-timeout", 60)
        url = daemon.first_line.split()[-1]
        daemon.signal()
        daemon.wait_log(event="drain")
        self.assert_no_answer(self.ping(url + "/readyz"), "503")
        self.assertEqual(self.ping(url).returncode, 0)
        daemon.finish()

    def test_nobody_there(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        self.assert_no_answer(self.ping(f"http://127.0.0.1:{port}"), "Connection refused")

    def test_no_such_host(self):
        for host in ("nobody.invalid", "user@127.0.0.1", "999.1.1.1"):
            self.assert_no_answer(self.ping(f"http://{host}:1"), f"{host} port 1: " + self.resolve(host))

    @staticmethod
    def resolve(host):
        with unittest.TestCase().assertRaises(socket.gaierror) as raised:
            socket.getaddrinfo(host, 1)
        return raised.exception.strerror

    def test_silence(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.assert_no_answer(self.ping(f"http://127.0.0.1:{server.getsockname()[1]}"), "timed out")

    def test_what_is_no_http(self):
        for data in (b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n", b"HTTP/1.1 2x0 OK\r\n", b"HTTP/1.1 20", b""):
            with self.subTest(data), socket.create_server(("127.0.0.1", 0)) as server:
                def serve():
                    connection, _ = server.accept()
                    with connection:
                        connection.sendall(data)
                        connection.recv(1000)
                thread = threading.Thread(target=serve)
                thread.start()
                self.assert_no_answer(self.ping(f"http://127.0.0.1:{server.getsockname()[1]}"), "no answer")
                thread.join()
