"""What clients of a killed daemon were told, and whether it is still true.

The ledger is filled by clients: which 202s they read to the end, which ends and plans they saw, what they removed. The checks
share nothing with the daemon: one reads a copy of the database with Python's sqlite3 while no daemon runs, the other asks over
HTTP. Every difference is a sentence in the returned list.
"""
import collections
import hashlib
import os
import shutil
import sqlite3
import tempfile
import threading

STATES = ("queued", "running", "succeeded", "failed", "canceled", "expired")  # as numbered in the database
FINAL = STATES[2:]


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Ledger:
    """Thread-safe. `may_expire`: retention may have removed what is finished."""

    def __init__(self, may_expire=False):
        self.lock = threading.Lock()
        self.may_expire = may_expire
        self.acked = {}      # id: SHA-256 of the body
        self.final = {}      # id: state that a client saw
        self.plans = {}      # id: SHA-256 of the plan that a client read
        self.by_body = {}    # SHA-256 of a body: that of its plan
        self.changed = set()  # SHA-256 of what what-ifs ask
        self.removing = set()  # a DELETE was sent
        self.removed = set()   # and acknowledged
        self.set_aside = set()  # killed too often while they ran
        self.violations = []
        self.recent = collections.deque(maxlen=200)

    def ack(self, job, body, is_changed=False):
        with self.lock:
            if is_changed:
                self.changed.add(sha(body))
            if self.acked.setdefault(job, sha(body)) != sha(body):  # the same graph may be merged
                self.violations.append(f"{job}: one id for two jobs")
            self.recent.append(job)

    def end_of(self, job):
        """The end that a client has seen; None when there is none."""
        with self.lock:
            return self.final.get(job)

    def saw_state(self, job, state, before=None):
        """An end is for ever. `before`: end_of(job) when the client asked; what others have seen since may be newer than its answer."""
        with self.lock:
            known = self.final.setdefault(job, state) if state in FINAL else before
            if known is not None and known != state:
                self.violations.append(f"{job}: was {known}, is {state}")

    def saw_plan(self, job, plan):
        """Neither another answer to the same job, nor to the same question."""
        with self.lock:
            digest, body = sha(plan), self.acked[job]
            for table, key, what in ((self.plans, job, "this job"), (self.by_body, body, "the same graph")):
                if table.setdefault(key, digest) != digest:
                    self.violations.append(f"{job}: another plan than before for {what}")


# ---- the database, while nobody has it open ------------------------------------

def rows(path, sql):
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


NOTHING = {
    "a job without a body": "SELECT count(*) FROM job WHERE n NOT IN (SELECT job FROM body)",
    "a body without a job": "SELECT count(*) FROM body WHERE job NOT IN (SELECT n FROM job)",
    "a success without its answer": "SELECT count(*) FROM job WHERE state=2 AND "
                                    "(content IS NULL OR content NOT IN (SELECT n FROM content))",
    "a key without its answer": "SELECT count(*) FROM answer WHERE content NOT IN (SELECT n FROM content)",
    "an answer that nobody has": "SELECT count(*) FROM content WHERE n NOT IN (SELECT content FROM answer) "
                                 "AND n NOT IN (SELECT content FROM job WHERE content IS NOT NULL)",
    "a job both there and removed": "SELECT count(*) FROM job WHERE id IN (SELECT id FROM removed)",
}


def check_database(folder, ledger):
    """A copy of the files as the killed daemon left them."""
    wrong = []
    with tempfile.TemporaryDirectory() as copy:
        for name in ("rematd.db", "rematd.db-wal"):
            if os.path.exists(os.path.join(folder, name)):
                shutil.copy(os.path.join(folder, name), copy)
        path = os.path.join(copy, "rematd.db")
        if not os.path.exists(path):
            return ["acknowledged jobs and no database"] if ledger.acked else []
        result = rows(path, "PRAGMA integrity_check")
        if result != [("ok",)]:
            return [f"integrity_check: {result[:3]}"]
        if not rows(path, "SELECT 1 FROM sqlite_schema WHERE name='removed'"):
            return ["acknowledged jobs and no tables"] if ledger.acked else []
        wrong += [what for what, sql in NOTHING.items() if rows(path, sql) != [(0,)]]
        jobs = {job: STATES[state] for job, state in rows(path, "SELECT id, state FROM job")}
        removed = {job for job, in rows(path, "SELECT id FROM removed")}
    return wrong + [text for job in ledger.acked for text in check_row(job, jobs, removed, ledger)]


def check_row(job, jobs, removed, ledger):
    final = ledger.final.get(job)
    if job in ledger.removed and job not in removed:
        yield f"{job}: its removal was acknowledged, and is not on disk"
    if job in removed:
        if job not in ledger.removing and not ledger.may_expire:
            yield f"{job}: removed, and nobody asked for it"
    elif job not in jobs:
        yield f"{job}: acknowledged and lost"
    elif final is not None and jobs[job] != final:
        yield f"{job}: a client saw {final}, on disk it is {jobs[job]}"


# ---- over HTTP ------------------------------------------------------------------

def is_set_aside(job, ledger):
    """Killed while it ran as often as a job is run at most: as promised, but counted."""
    aside = job["state"] == "failed" and job["problem"]["code"] == "crashed" and job["attempts"] == 10
    if aside:
        ledger.set_aside.add(job["id"])
    return aside


def check_job(get, job, ledger):
    """What the daemon says of an acknowledged job. `get`: a path to a Response."""
    before = ledger.end_of(job)
    response = get(f"/v1/jobs/{job}")
    may_be_gone = job in ledger.removing or ledger.may_expire
    if response.status == 410 and may_be_gone:
        return []
    if job in ledger.removed or response.status != 200:
        return [f"{job}: {response}"]
    state = response.json["state"]
    ledger.saw_state(job, state, before)
    if state in FINAL and state != "succeeded" and not is_set_aside(response.json, ledger):
        return [f"{job}: {response.json}"]
    if state == "succeeded":
        plan = get(f"/v1/jobs/{job}/plan")
        if plan.status == 200:
            ledger.saw_plan(job, plan.body)
        elif not (plan.status == 410 and may_be_gone):
            return [f"{job}: its plan: {plan}"]
    return []
