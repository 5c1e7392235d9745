"""A job that crashes the process is tried three times, then set aside with its graph kept; others are not blamed."""
import os
import shutil
import signal
import tempfile
import unittest

import graphs
from daemon import PATIENCE_S, Daemon
from kill_ledger import rows

ASYNC = {"Prefer": "respond-async"}
LONG = {"Prefer": "wait=60"}


class TestCrash(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)

    def start(self, point=None):
        env = {"REMATD_FAIL_POINT": point} if point else None
        return Daemon("--workers", 1, "--data", os.path.join(self.top, "data"), env=env)

    def wait_death(self, daemon):
        self.assertEqual(daemon.process.wait(PATIENCE_S), -signal.SIGABRT)
        daemon.process.stdout.close()
        daemon.log_file.close()

    def crash_again(self):
        """Starts with what was not finished, the last of which crashes; perhaps before the address is known."""
        unfinished, = rows(os.path.join(self.top, "data", "rematd.db"), "SELECT count(*) FROM job WHERE state<=1")
        try:
            self.wait_death(self.start(f"job-run:{unfinished[0]}!"))
        except AssertionError as error:
            self.assertIn("did not start", str(error))

    def submit_behind(self, daemon, body):
        """The path of a job that waits for the only worker, so that it is acknowledged before it runs."""
        held = daemon.plan(graphs.slow(20000), ASYNC)
        self.assertEqual(held.status, 202, held)
        response = daemon.plan(body, ASYNC)
        self.assertEqual(response.status, 202, response)
        return response.headers["location"]

    def test_three_times(self):
        poison, harmless = graphs.another(), graphs.another()
        daemon = self.start("job-run:2!")
        path = self.submit_behind(daemon, poison)
        self.wait_death(daemon)
        self.crash_again()
        daemon = self.start()
        job = daemon.request("GET", path, None, LONG).json
        self.assertEqual((job["state"], job["attempts"]), ("succeeded", 3))
        daemon.stop()
        daemon = self.start("job-run:2!")
        other = self.submit_behind(daemon, harmless)
        self.wait_death(daemon)
        self.crash_again()
        self.crash_again()
        daemon = self.start()  # three times: not again
        job = daemon.get(other)
        self.assertEqual((job.json["state"], job.json["problem"]["code"]), ("failed", "crashed"))
        self.assertIn("crashed the process 3 times", job.json["problem"]["detail"])
        self.assertEqual(daemon.get(other + "/graph").body, harmless)
        answer = daemon.get(other + "/plan")
        self.assertEqual((answer.status, answer.code), (500, "crashed"))
        self.assertEqual(daemon.get(path).json["state"], "succeeded")
        daemon.stop()


if __name__ == "__main__":
    unittest.main()
