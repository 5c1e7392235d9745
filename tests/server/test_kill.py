# level: full
"""kill -9 under load at random moments: nothing acknowledged is lost, nothing answered twice differently, the database is
sound. The complete version is `make kill-loop`."""
import os
import shutil
import sqlite3
import tempfile
import unittest

import graphs
import kill_loop
from kill_ledger import Ledger, check_database, check_job, rows

SEED = int(os.environ.get("REMAT_KILL_SEED", "1"))


class TestKill(unittest.TestCase):
    def test_random_moments(self):
        wrong, ledger, ready = kill_loop.run_kills(50, SEED)
        self.assertEqual(wrong, [])
        self.assertGreater(len(ledger.acked), 200)  # it was under load
        self.assertGreater(len(ready), 30)


class TestChecker(unittest.TestCase):
    """The checks find what they are for."""

    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.mkdtemp()
        cls.folder = os.path.join(cls.top, "data")
        cls.ledger = Ledger()
        daemon, _ = kill_loop.start(cls.folder)
        body = graphs.encode(graphs.tiny())
        cls.paths = []
        for number in (1, 2, 3):
            response = daemon.plan(body[:-1] + b',"options":{"max_dist_from_bw":%d}}' % number, {"Prefer": "respond-async"})
            cls.paths.append(response.headers["location"])
            cls.ledger.ack(response.headers["location"][-32:], body)
        for path in cls.paths:
            assert daemon.request("GET", path, None, {"Prefer": "wait=60"}).json["state"] == "succeeded"
        daemon.stop()
        cls.job = cls.paths[0][-32:]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top)

    def damaged(self, sql):
        folder = os.path.join(tempfile.mkdtemp(dir=self.top), "data")
        shutil.copytree(self.folder, folder)
        path = os.path.join(folder, "rematd.db")
        if sql:
            connection = sqlite3.connect(path)
            connection.executescript(sql)
            connection.commit()
            connection.close()
        self.assertEqual(len(rows(path, "SELECT 1")), 1)
        return folder

    def expect(self, sql, words, ledger=None):
        wrong = check_database(self.damaged(sql), ledger or self.ledger)
        self.assertTrue(any(words in text for text in wrong), wrong)

    def test_sound(self):
        self.assertEqual(check_database(self.damaged(""), self.ledger), [])

    def test_lost(self):
        self.expect(f"DELETE FROM body WHERE job=(SELECT n FROM job WHERE id='{self.job}');"
                    f"DELETE FROM job WHERE id='{self.job}'", f"{self.job}: acknowledged and lost")
        self.expect("DELETE FROM body WHERE job=1", "a job without a body")
        self.expect("DELETE FROM content", "a success without its answer")
        self.expect(f"INSERT INTO removed(id,owner,removed_ms) VALUES('{self.job}','',1)", "both there and removed")
        self.expect(f"INSERT INTO removed(id,owner,removed_ms) VALUES('{self.job}','',1)", "nobody asked for it")

    def test_ends(self):
        ledger = Ledger()
        ledger.ack(self.job, b"")
        ledger.saw_state(self.job, "failed")
        self.expect("", "a client saw failed, on disk it is succeeded", ledger)
        ledger.saw_state(self.job, "succeeded")
        self.assertEqual(len(ledger.violations), 1)
        ledger.removed.add(self.job)
        self.expect("", "its removal was acknowledged", ledger)

    def test_an_answer_may_be_older_than_what_others_saw(self):
        ledger = Ledger()
        ledger.ack(self.job, b"")
        before = ledger.end_of(self.job)
        ledger.saw_state(self.job, "succeeded")
        ledger.saw_state(self.job, "running", before)
        self.assertEqual(ledger.violations, [])
        ledger.saw_state(self.job, "running", ledger.end_of(self.job))
        self.assertEqual(ledger.violations, [f"{self.job}: was succeeded, is running"])

    def test_integrity(self):
        folder = self.damaged("")
        with open(os.path.join(folder, "rematd.db"), "r+b") as file:
            for page in range(4, 9):
                file.seek(page * 4096)
                file.write(b"\xff" * 3000)
        try:
            wrong = check_database(folder, self.ledger)
        except Exception as error:  # pylint: disable=broad-except
            wrong = [str(error)]
        self.assertNotEqual(wrong, [])

    def test_plans(self):
        ledger = Ledger()
        ledger.ack("a", b"body")
        ledger.ack("b", b"body")
        ledger.saw_plan("a", b"plan")
        ledger.saw_plan("b", b"plan")
        self.assertEqual(ledger.violations, [])
        ledger.saw_plan("a", b"another")
        self.assertEqual(len(ledger.violations), 2)

    def test_http(self):
        daemon, _ = kill_loop.start(self.damaged(""))
        ledger = Ledger()
        for job in (self.job, "0" * 32):
            ledger.ack(job, b"")
        self.assertEqual(check_job(daemon.get, self.job, ledger), [])
        self.assertEqual(len(check_job(daemon.get, "0" * 32, ledger)), 1)
        daemon.stop()


if __name__ == "__main__":
    unittest.main()
