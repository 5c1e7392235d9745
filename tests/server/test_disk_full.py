"""A disk that is full, and has room again: 507 for what has to be kept, plans all the same, nothing lost."""
import os
import shutil
import tempfile
import time
import unittest

import graphs
from daemon import BUILD, PATIENCE_S, Daemon
from kill_ledger import Ledger, check_database

ASYNC = {"Prefer": "respond-async"}
LONG = {"Prefer": "wait=60"}


class TestDiskFull(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        self.folder, self.flag = os.path.join(self.top, "data"), os.path.join(self.top, "full")
        self.daemon = self.start()
        self.ledger = Ledger()

    def start(self, *flags):
        shim = os.path.join(BUILD, "tests", "server", "disk_full.so")
        self.assertTrue(os.path.exists(shim), f"{shim} is not built: make tests")
        return Daemon("--workers", 1, "--data", self.folder, *flags, env={"LD_PRELOAD": shim, "REMAT_TEST_FULL": self.flag})

    def fill(self):
        with open(self.flag, "w", encoding="ascii"):
            pass

    def submit(self):
        body = graphs.another()
        response = self.daemon.plan(body, ASYNC)
        if response.status == 202:
            self.ledger.ack(response.headers["location"][-32:], body)
        return response

    def wait(self, path):
        before = self.ledger.end_of(path[-32:])
        job = self.daemon.request("GET", path, None, LONG).json
        self.ledger.saw_state(path[-32:], job["state"], before)
        return job

    def test_full_and_not(self):
        before = self.submit()
        self.assertEqual(self.wait(before.headers["location"])["state"], "succeeded")
        self.fill()
        response = self.submit()
        self.assertEqual((response.status, response.code), (507, "disk-full"), response)
        self.assertEqual(self.daemon.plan(graphs.another()).status, 200)  # needs no disk
        self.assertEqual(self.daemon.get(before.headers["location"] + "/plan").status, 200)
        os.unlink(self.flag)
        end = time.monotonic() + PATIENCE_S
        while (response := self.submit()).status != 202:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(self.wait(response.headers["location"])["state"], "succeeded")
        self.daemon.stop()
        self.assertEqual(check_database(self.folder, self.ledger), [])

    def test_refused_jobs_do_not_hold_up_the_end(self):
        """The end of a job that could not be kept, often there before the refusal, waits for no disk."""
        self.daemon.stop()
        self.daemon = self.start("--drain-timeout", 3600)
        self.fill()
        for _ in range(40):
            response = self.submit()
            self.assertEqual((response.status, response.code), (507, "disk-full"), response)
        self.daemon.stop()  # gives up long before that hour

    def test_ends_are_written_later(self):
        """An end that finds no room is told, and is on disk once there is room."""
        self.daemon.stop()
        self.daemon = self.start()
        body = graphs.slow(20000)
        path = self.daemon.plan(body, ASYNC).headers["location"]
        self.ledger.ack(path[-32:], body)
        self.fill()
        self.assertEqual(self.wait(path)["state"], "succeeded")
        plan = self.daemon.get(path + "/plan")
        self.assertEqual(plan.status, 200)
        os.unlink(self.flag)
        end = time.monotonic() + PATIENCE_S
        while any("was" in text or "saw" in text for text in check_database(self.folder, self.ledger)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)
        self.daemon.kill()
        self.daemon = self.start()
        self.assertEqual(self.daemon.get(path + "/plan").body, plan.body)
        self.daemon.stop()
        self.assertEqual(check_database(self.folder, self.ledger), [])


if __name__ == "__main__":
    unittest.main()
