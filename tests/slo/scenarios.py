"""What a build farm does to a daemon, as functions that return figures and the list of what went wrong (nothing, one hopes).

Tests run them small and look at what went wrong; `make slo` runs them at size and records the figures.
"""
import asyncio
import http.client
import socket
import statistics
import threading
import time

import load
from daemon import Daemon

PROBES = ("/livez", "/readyz", "/metrics")


class Prober(threading.Thread):
    """Asks the probes, one after the other, and notes how long each took; a probe that fails is a fault."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address, self.stopped = address, threading.Event()
        self.seconds, self.faults = [], []

    def run(self):
        while not self.stopped.wait(0.05):
            for path in PROBES:
                self.probe(path)

    def probe(self, path):
        began = time.monotonic()
        try:
            connection = http.client.HTTPConnection(*self.address, timeout=30)
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            connection.close()
            # A full queue makes the daemon not ready: that is an answer.
            if response.status != 200 and not (path == "/readyz" and response.status == 503):
                self.faults.append(f"{path}: {response.status}")
        except OSError as error:
            self.faults.append(f"{path}: {error!r}")
        self.seconds.append(time.monotonic() - began)

    def finish(self):
        self.stopped.set()
        self.join(60)
        return self.seconds


def rate(answers, status=200):
    """Answers a second with that status, from the first to the last of all."""
    return sum(answer.status == status for answer in answers)


def refusals_without_advice(answers):
    return [answer for answer in answers if answer.status in (429, 503) and not answer.retry_after]


def overload(seconds=10, factor=3):
    """Open loop at a multiple of the closed-loop peak of the same run; what is answered, and how soon all is normal again."""
    document, faults = load.Document(), []
    with Daemon("--admin-listen", "127.0.0.1:0", "--queue", "64") as daemon:
        prober = Prober(daemon.admin_address)
        prober.start()
        closed = asyncio.run(load.closed_loop(daemon.address, document, 8, seconds))
        peak = rate(closed) / seconds
        alone = statistics.median(answer.seconds for answer in closed)
        began = time.monotonic()
        answers = asyncio.run(load.open_loop(daemon.address, document, factor * peak, seconds))
        goodput = rate(answers) / (time.monotonic() - began)
        ended = time.monotonic()
        while asyncio.run(load.ask(daemon.address, document.next(), "after")).seconds > 5 * alone:
            if time.monotonic() > ended + 60:
                faults.append("not back to normal within 60 s")
                break
        normal = time.monotonic() - ended
        probes = prober.finish()
    faults += prober.faults
    faults += [f"closed loop: {answer}" for answer in closed if answer.status != 200]
    faults += [f"no Retry-After: {answer}" for answer in refusals_without_advice(answers)]
    faults += [f"odd answer: {answer}" for answer in answers if answer.status not in (200, 202, 503)]
    return {"peak_per_s": peak, "offered_per_s": factor * peak, "goodput_per_s": goodput, "goodput_of_peak": goodput / peak,
            "refused": rate(answers, 503), "deferred": rate(answers, 202), "normal_after_s": normal,
            "slowest_probe_s": max(probes)}, faults


def slow_clients(n=1000, seconds=10):
    """As many connections that say nothing, or a byte now and then, beside a normal client."""
    document, faults = load.Document(), []
    with Daemon("--admin-listen", "127.0.0.1:0", "--max-connections", str(n + 200), "--header-timeout", "3600",
                "--body-timeout", "3600") as daemon:
        prober = Prober(daemon.admin_address)
        prober.start()
        alone = asyncio.run(load.closed_loop(daemon.address, document, 4, seconds))
        sockets = [socket.create_connection(daemon.address) for _ in range(n)]
        for i, one in enumerate(sockets):
            if i % 2:
                one.sendall(b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\n")
        stop = threading.Event()
        dripping = threading.Thread(target=drip, args=(sockets[1::2], stop), daemon=True)
        dripping.start()
        beside = asyncio.run(load.closed_loop(daemon.address, document, 4, seconds))
        stop.set()
        dripping.join()
        for one in sockets:
            one.close()
        probes = prober.finish()
    faults += prober.faults
    faults += [f"not answered: {answer}" for answer in [*alone, *beside] if answer.status != 200]
    return {"connections": n, "alone_per_s": rate(alone) / seconds, "beside_per_s": rate(beside) / seconds,
            "beside_of_alone": rate(beside) / max(1, rate(alone)), "slowest_probe_s": max(probes)}, faults


def drip(sockets, stop):
    """A byte of a header to each, over and over."""
    while not stop.wait(1):
        for one in sockets:
            try:
                one.sendall(b"x")
            except OSError:
                return


def sigterm(rounds=100, seconds=0.5):
    """SIGTERM in the middle of load: whose header was read is answered, and the exit is 0.

    The daemon's log says which requests it has read, the clients say which were answered.
    """
    document, faults, answered, ends = load.Document(40), [], 0, []
    for number in range(rounds):
        daemon = Daemon("--drain-timeout", "30")
        answers, began = asyncio.run(under_load(daemon, document, seconds * (0.2 + 0.8 * (number % 7) / 6))), time.monotonic()
        log = daemon.finish()  # asserts exit 0
        ends.append(time.monotonic() - began)
        got = {answer.request_id for answer in answers if answer.status}
        read = {line["request_id"] for line in log if line.get("event") == "request" and line.get("route") == "/v1/plans"}
        faults += [f"round {number}: {request_id} was read and not answered" for request_id in sorted(read - got)]
        answered += len(got)
    return {"rounds": rounds, "answered": answered, "slowest_end_s": max(ends)}, faults


async def under_load(daemon, document, seconds):
    """16 clients ask until the daemon is gone; after a while it is told to end."""
    answers, gone = [], asyncio.Event()

    async def client(number):
        i = 0
        while not gone.is_set():
            answer = await load.ask(daemon.address, document.next(), f"t{number}-{i}")
            answers.append(answer)
            if answer.status in (0, 503):
                return
            i += 1

    async def end():
        await asyncio.sleep(seconds)
        daemon.signal()
        gone.set()

    await asyncio.gather(end(), *(client(number) for number in range(16)))
    return answers
