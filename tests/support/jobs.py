"""A daemon that keeps its jobs, and what suites do with jobs over HTTP."""
import os
import shutil
import tempfile
import time
import unittest

import graphs
from daemon import JSON, PATIENCE_S, Daemon

ASYNC = {"Prefer": "respond-async"}
LONG = {"Prefer": "wait=60"}
TINY = graphs.encode(graphs.tiny())


class JobCase(unittest.TestCase):
    FLAGS = ("--workers", 1)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.start()

    def start(self, env=None):
        self.daemon = Daemon(*self.FLAGS, "--data", os.path.join(self.folder, "data"), env=env)

    def tearDown(self):
        self.daemon.stop()
        shutil.rmtree(self.folder)

    def get(self, path, headers=None, method="GET"):
        return self.daemon.request(method, path, None, headers or {})

    def post(self, path, body, headers=None):
        return self.daemon.request("POST", path, body, {**JSON, **(headers or {})})

    def submit(self, body=TINY, path="/v1/plans", headers=None):
        """The path of a job that is on disk."""
        response = self.post(path, body, {**ASYNC, **(headers or {})})
        self.assertEqual(response.status, 202, response)
        self.assertEqual(response.headers["preference-applied"], "respond-async")
        return response.headers["location"]

    def wait(self, path):
        """The job once it is over."""
        for _ in range(PATIENCE_S):
            response = self.get(path, LONG)
            self.assertEqual(response.status, 200, response)
            if response.json["state"] not in ("queued", "running"):
                return response.json
        raise AssertionError(f"{path} never ended")

    def wait_state(self, path, state):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            job = self.get(path).json
            if job["state"] == state:
                return job
            time.sleep(0.01)
        raise AssertionError(f"{path} never became {state}: {job}")

    def assert_problem(self, response, status, code, *words):
        self.assertEqual((response.status, response.code), (status, code), response)
        for word in words:
            self.assertIn(word, response.json["detail"])
