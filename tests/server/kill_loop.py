#!/usr/bin/env python3
"""Kills a daemon with SIGKILL under load, over and over, and checks what it had promised (kill_ledger.py).

  tests/server/kill_loop.py [--kills N] [--seed N] [--points]

Kills come at random moments, some of them during the start; --points kills once at every fail point instead. Each start's time
until it is ready is recorded and printed.
"""
import argparse
import http.client
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import daemon as support  # noqa: E402
import graphs  # noqa: E402
from kill_ledger import FINAL, Ledger, check_database, check_job  # noqa: E402

N_CLIENTS = 4
FLAGS = ("--workers", 2, "--queue", 20000, "--job-memory", "256M")
POINT_PATIENCE_S = support.PATIENCE_S
PREPARED = [graphs.encode(graphs.chain(n)).rstrip()[:-1] for n in (3, 30, 300, 3000)]


def body_of(rng):
    """Mostly small graphs, some asked for again and again, some that take a while."""
    size = rng.choices((0, 1, 2, 3), (60, 25, 12, 3))[0]
    number = rng.randrange(1, 20) if rng.random() < 0.3 else rng.randrange(1000, 10**9)
    return PREPARED[size] + b',"options":{"max_dist_from_bw":%d}}' % number


# ---- clients ------------------------------------------------------------------

class Client(threading.Thread):
    """Asks until it is told to stop or the daemon is gone, and enters what it was told."""

    def __init__(self, daemon, ledger, seed):
        super().__init__()
        self.rng, self.ledger, self.stopped = random.Random(seed), ledger, threading.Event()
        self.daemon, self.connection, self.error = daemon, None, None

    def run(self):
        try:
            self.connection = daemon_connection(self.daemon)
            while not self.stopped.is_set():
                self.act()
        except (OSError, http.client.HTTPException):
            pass  # killed
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
        finally:
            if self.connection is not None:
                self.connection.close()

    def ask(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        data = response.read()
        return support.Response(response.status, {k.lower(): v for k, v in response.getheaders()}, data)

    def act(self):
        what = self.rng.random()
        if what < 0.5 or not self.ledger.recent:
            self.submit()
            return
        if what < 0.6:
            self.ask_what_if()
            return
        job = self.rng.choice(list(self.ledger.recent))
        if what < 0.85:
            self.look(job, {})
        elif what < 0.95:
            self.look(job, {"Prefer": "wait=1"})
        else:
            self.remove(job)

    def submit(self):
        body = body_of(self.rng)
        response = self.ask("POST", "/v1/plans", body, {**support.JSON, "Prefer": "respond-async"})
        if response.status == 202:
            self.ledger.ack(response.headers["location"].rsplit("/", 1)[1], body)
        elif response.status == 503:
            time.sleep(0.05)
        else:
            raise AssertionError(f"a job was refused: {response}")

    def ask_what_if(self):
        """A job about a job, which may be there no more."""
        job = self.rng.choice(list(self.ledger.recent))
        with self.ledger.lock:
            parent = self.ledger.acked[job]
        if parent in self.ledger.changed:
            return  # nested ones would get deeper and deeper
        changes = b'{"options":{"max_dist_from_bw":%d}}' % self.rng.randrange(1000, 1020)
        response = self.ask("POST", f"/v1/jobs/{job}/what-if", changes, {**support.JSON, "Prefer": "respond-async"})
        if response.status == 202:
            self.ledger.ack(response.headers["location"].rsplit("/", 1)[1], parent.encode() + changes, is_changed=True)
        elif response.status == 503:
            time.sleep(0.05)
        elif response.status != 410 or not (job in self.ledger.removing or self.ledger.may_expire):
            raise AssertionError(f"a what-if of {job} was refused: {response}")

    def look(self, job, headers):
        before = self.ledger.end_of(job)
        response = self.ask("GET", f"/v1/jobs/{job}", headers=headers)
        if response.status == 410 and (job in self.ledger.removing or self.ledger.may_expire):
            return
        if response.status != 200:
            raise AssertionError(f"{job}: {response}")
        state = response.json["state"]
        self.ledger.saw_state(job, state, before)
        if state == "succeeded":
            plan = self.ask("GET", f"/v1/jobs/{job}/plan")
            if plan.status == 200:
                self.ledger.saw_plan(job, plan.body)

    def remove(self, job):
        with self.ledger.lock:
            if self.ledger.final.get(job) not in FINAL:
                return
            self.ledger.removing.add(job)
        response = self.ask("DELETE", f"/v1/jobs/{job}")
        if response.status not in (200, 204, 404, 410):
            raise AssertionError(f"DELETE {job}: {response}")
        with self.ledger.lock:
            self.ledger.removed.add(job)


def daemon_connection(daemon):
    return http.client.HTTPConnection(*daemon.address, timeout=support.PATIENCE_S)


class Load:
    """Some clients at work."""

    def __init__(self, daemon, ledger, rng):
        self.clients = [Client(daemon, ledger, rng.random()) for _ in range(N_CLIENTS)]
        for client in self.clients:
            client.start()

    def end(self):
        for client in self.clients:
            client.stopped.set()
        for client in self.clients:
            client.join()
        return [repr(client.error) for client in self.clients if client.error is not None]


# ---- daemons ------------------------------------------------------------------

def start(folder, flags=(), env=None):
    """A daemon that is ready, and after how many seconds it was."""
    begun = time.monotonic()
    daemon = support.Daemon(*FLAGS, "--data", folder, *flags, env=env)
    while daemon.get("/readyz").status != 200:
        time.sleep(0.005)
    return daemon, time.monotonic() - begun


def kill_at_start(folder, delay_s):
    """A daemon that is killed before or about when it is ready."""
    process = subprocess.Popen(
        [support.REMATD, "--listen", "127.0.0.1:0", "--data", folder, *map(str, FLAGS)], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=support.clean_environment())
    time.sleep(delay_s)
    process.kill()
    process.wait()


def kill_under_load(folder, ledger, rng, ready):
    """Starts, checks some of what was promised before, loads and kills."""
    daemon, took_s = start(folder)
    ready.append(took_s)
    wrong = []
    sample = rng.sample(sorted(ledger.acked), min(10, len(ledger.acked)))
    for job in sample:
        wrong += check_job(daemon.get, job, ledger)
    load = Load(daemon, ledger, rng)
    time.sleep(rng.uniform(0, 0.5) if rng.random() < 0.8 else rng.uniform(0.5, 1.5))  # some time to get done, too
    daemon.kill()
    return wrong + load.end()


def finish(folder, ledger, ready):
    """Lets all jobs end, then asks about every one of them."""
    daemon, took_s = start(folder)
    ready.append(took_s)
    wrong = []
    end = time.monotonic() + 5 * support.PATIENCE_S
    for state in ("running", "queued", "running"):
        while daemon.get(f"/v1/jobs?state={state}&limit=1").json["jobs"]:
            if time.monotonic() > end:
                return [f"still {state} after {5 * support.PATIENCE_S} s"]
            time.sleep(0.05)
    get = keep_alive_get(daemon)
    for job in sorted(ledger.acked):
        wrong += check_job(get, job, ledger)
    wrong += [f"{job}: never ended" for job in ledger.acked
              if job not in ledger.final and job not in ledger.removing and not ledger.may_expire]
    daemon.stop()
    return wrong + check_database(folder, ledger)


def keep_alive_get(daemon):
    connection = daemon_connection(daemon)

    def get(path):
        connection.request("GET", path)
        response = connection.getresponse()
        return support.Response(response.status, dict(response.getheaders()), response.read())
    return get


def run_kills(n_kills, seed, say=print):
    """n kills. What was wrong, as sentences, and the times until ready."""
    rng, ledger, ready, wrong = random.Random(seed), Ledger(), [], []
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, "data")
        for k in range(n_kills):
            if rng.random() < 0.1:
                kill_at_start(folder, rng.uniform(0, 0.05))
            else:
                wrong += kill_under_load(folder, ledger, rng, ready)
            wrong += check_database(folder, ledger)
            if wrong or ledger.violations:
                keep(folder, say)
                break
            if k % 100 == 99:
                say(f"{k + 1} kills, {len(ledger.acked)} jobs acknowledged, {ready_text(ready)}")
        else:
            wrong += finish(folder, ledger, ready)
    say(f"{n_kills} kills (seed {seed}), {len(ledger.acked)} jobs acknowledged, {len(ledger.final)} ends seen, "
        f"{len(ledger.removed)} removed, {len(ledger.set_aside)} set aside, {ready_text(ready)}")
    if len(ledger.set_aside) > 2 + n_kills / 100:
        wrong.append(f"{len(ledger.set_aside)} jobs were killed ten times while they ran")
    return wrong + ledger.violations, ledger, ready


def keep(folder, say):
    kept = tempfile.mkdtemp(prefix="remat-killed-")
    shutil.copytree(folder, os.path.join(kept, "data"), dirs_exist_ok=True)
    say(f"the database is kept in {kept}")


def ready_text(ready):
    return f"ready after {statistics.median(ready):.3f} s (median), {max(ready):.3f} s (worst)" if ready else "never started"


# ---- fail points ----------------------------------------------------------------

def fail_points():
    """The names, from the daemon's own mouth."""
    done = support.run(support.REMATD, env=support.clean_environment(REMATD_FAIL_POINT="?"))
    return re.search(rb"NAME one of ([a-z -]+)", done.stderr).group(1).decode().split()


def flags_of(point):
    """What makes a daemon come by: some points need retention at work."""
    return ("--retain", 1) if point in ("sweep", "vacuum") else ()


def run_into(point, nth, folder, ledger, rng):
    """A daemon that is armed, under load until it dies. None, or why it did not."""
    env = {"REMATD_FAIL_POINT": f"{point}:{nth}"}
    try:
        daemon, _ = start(folder, flags_of(point), env)
    except (AssertionError, OSError, support.Closed):
        return None  # it died at its start, as wanted, or run_point finds out
    load = Load(daemon, ledger, rng)
    try:
        code = daemon.process.wait(POINT_PATIENCE_S)
    except subprocess.TimeoutExpired:
        code = None
        daemon.kill()
    errors = load.end()
    if errors:
        return "; ".join(errors)
    if code != -signal.SIGKILL:
        return f"ended with {code}" if code is not None else "never came by"
    daemon.process.stdout.close()
    daemon.log_file.close()
    return None


def prepare(folder, ledger, rng):
    """A daemon that leaves unfinished jobs behind."""
    daemon, _ = start(folder)
    load = Load(daemon, ledger, rng)
    time.sleep(0.3)
    daemon.kill()
    return load.end()


def run_point(point, seed, say=print):
    """Dies at one point; what was wrong then or after the next start."""
    rng, ready = random.Random(f"{seed} {point}"), []
    ledger = Ledger(may_expire=bool(flags_of(point)))
    is_start = point in ("migrate", "migrated", "recover", "recovered", "jobs-recovered")
    few = {"sweep": 3, "remove": 4, "vacuum": 2, "checkpoint": 2}
    nth = 1 if is_start else rng.randrange(1, few.get(point, 30))
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, "data")
        wrong = prepare(folder, ledger, rng) if is_start and not point.startswith("migrate") else []
        why = run_into(point, nth, folder, ledger, rng)
        if why is not None:
            wrong.append(f"{point}:{nth}: {why}")
        wrong += check_database(folder, ledger)
        wrong += finish(folder, ledger, ready)
    say(f"{point}:{nth}, {len(ledger.acked)} jobs acknowledged, {ready_text(ready)}")
    return wrong + ledger.violations


# ---- the program ------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--points", action="store_true", help="once at every fail point instead")
    args = parser.parse_args()
    if args.points:
        wrong = [text for point in fail_points() for text in run_point(point, args.seed)]
    else:
        wrong, _, _ = run_kills(args.kills, args.seed)
    print("\n".join(wrong[:50]))
    print(f"{len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
