"""PyTorch's caches: what was compiled with a plan is found again, what was compiled without one is not."""
# level: full
# torch
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest

import support
import daemon
import rematd
from fakeservice import FakeService, problem, response


class Caches(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def compile(self, url, *arguments):
        """A new process with the caches of this test."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("REMATD_", "TORCHINDUCTOR_"))}
        env.update(TORCHINDUCTOR_CACHE_DIR=self.folder.name, OMP_NUM_THREADS="1", TORCHINDUCTOR_VEC_ISA_OK="1")
        script = os.path.join(support.ROOT, "tests", "client", "compile_once.py")
        done = subprocess.run([sys.executable, "-W", "ignore", script, url, *arguments], env=env, capture_output=True, text=True,
                              timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertTrue(result["right"])
        self.assertEqual(result["bypass"], 0)
        return result

    def test_server_down_then_up(self):
        with socket.create_server(("127.0.0.1", 0)) as holder:
            port = holder.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        down = self.compile(url)
        self.assertEqual((down["counters"]["plans"], down["counters"]["fallbacks"]), (0, 1))
        with daemon.Daemon(listen=f"127.0.0.1:{port}"):
            up = self.compile(url)
            self.assertEqual((up["counters"]["plans"], up["hit"], up["saved"]), (1, 0, 1))
            self.assertNotEqual(up["uuid"], down["uuid"])
            again = self.compile(url)
            self.assertEqual((again["hit"], again["counters"]["decisions"], again["uuid"]), (1, 0, up["uuid"]))
        with daemon.Daemon() as elsewhere:
            moved = self.compile(f"http://{elsewhere.host}", "timeout_s=100")
            self.assertEqual((moved["hit"], moved["counters"]["decisions"]), (1, 0))

    def test_key_follows_what_decides(self):
        with daemon.Daemon() as live:
            def key(**more):
                return rematd.Partitioner(f"http://{live.host}", connect_timeout_s=60.0, **more).uuid()

            same = {key(), key(timeout_s=50.0), key(strict=True), key(token="t")}
            self.assertEqual(len(same), 1)
            others = {key(options={"compat": True}), key(passes=[{"pass": "repair_tags"}]), key(on_conflict="repair"),
                      key(enabled=False)}
            self.assertEqual(len(others | same), 5)
        self.assertIsInstance(rematd.Partitioner("http://127.0.0.1:1").uuid(), str)

    def test_server_that_says_its_version_and_nothing_else(self):
        """The key says that the service decides, and it did not: nothing may be kept under it."""
        def answer(request):
            return response(200, {"engine": "fake/1"}) if request.path == "/version" else problem(500, "internal-error")

        with FakeService(answer) as service:
            first = self.compile(service.url)
            self.assertEqual((first["counters"]["fallbacks"], first["counters"]["not_cached"], first["saved"]), (1, 1, 0))
            second = self.compile(service.url)
        self.assertEqual(second["uuid"], first["uuid"])
        self.assertEqual((second["hit"], second["counters"]["decisions"]), (0, 1))

    def test_another_engine_than_the_key_says(self):
        with daemon.Daemon() as live:
            url = f"http://{live.host}"
            client = rematd.Client(rematd.Settings(url=url, connect_timeout_s=60.0, timeout_s=120.0))

            def through(request):
                """The live daemon's plans, as if by another engine than the version says."""
                if request.path == "/version":
                    return response(200, {"engine": "fake/1"})
                body = json.loads(request.body)
                plan = client.plan(body["graph"], options=body["options"])
                return response(200, {**plan, "engine": "fake/2"})

            with FakeService(through) as service:
                got = self.compile(service.url)
        self.assertEqual((got["counters"]["plans"], got["counters"]["not_cached"], got["saved"]), (1, 1, 0))


if __name__ == "__main__":
    unittest.main()
