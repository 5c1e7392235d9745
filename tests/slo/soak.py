#!/usr/bin/env python3
"""soak.py MINUTES: a mixed load of at least 20 requests a second, and what the daemon holds on to.

Plans of several sizes, half of them asked before; deferred jobs, some cancelled; clients that leave; streams of events. Every
ten seconds: resident memory, descriptors and threads. After a tenth of the time all three have to stay: descriptors and threads
end where they were, memory within a fifth (the cache fills up to its limit, which is small here).
"""
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import graphs  # noqa: E402
import load  # noqa: E402
from daemon import Daemon  # noqa: E402

PER_SECOND = 25
SIZES = (5, 50, 300, 2000)


async def call(address, method, path, body=b"", headers=b""):
    reader, writer = await asyncio.open_connection(*address)
    writer.write(b"%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
                 % (method.encode(), path.encode(), headers, len(body)) + body)
    status, answer = await asyncio.wait_for(load.read_answer(reader), 120)
    writer.close()
    return status, answer


async def leave(address, body):
    """Half a request, or a whole one whose answer nobody waits for."""
    _, writer = await asyncio.open_connection(*address)
    writer.write(b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
                 + body[:random.choice((0, len(body) // 2, len(body)))])
    await asyncio.sleep(random.random() / 10)
    writer.close()


async def deferred(address, body):
    status, headers = await call(address, "POST", "/v1/plans", body, b"Prefer: respond-async\r\n")
    if status != 202:
        return status
    path = headers["location"]
    for _ in range(random.randrange(3)):
        await call(address, "GET", path + random.choice(("", "/plan", "/graph")), headers=b"Prefer: wait=5\r\n")
    status, _ = await call(address, "DELETE", path)
    return status


async def one(address, documents, known):
    document = random.choice(documents)
    body = random.choice(known) if random.random() < 0.5 else document.next()
    known[random.randrange(len(known))] = body
    kind = random.random()
    if kind < 0.1:
        return await leave(address, body)
    if kind < 0.3:
        return await deferred(address, body)
    status, _ = await call(address, "POST", random.choice(("/v1/plans", "/v1/plans", "/v1/frontier")), body)
    return status


def sample(daemon):
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        threads = next(int(line.split()[1]) for line in file if line.startswith("Threads:"))
    return daemon.memory_bytes(), daemon.n_descriptors(), threads


async def drive(daemon, seconds, faults):
    documents = [load.Document(n) for n in SIZES]
    known = [document.next() for document in documents for _ in range(5)]
    samples, tasks, began, asked = [], set(), time.monotonic(), 0
    while time.monotonic() < began + seconds:
        if len(samples) * 10 <= time.monotonic() - began:
            samples.append(sample(daemon))
        task = asyncio.ensure_future(one(daemon.address, documents, known))
        tasks.add(task)
        task.add_done_callback(lambda done: (tasks.discard(done), note(done, faults)))
        asked += 1
        await asyncio.sleep(max(0, began + asked / PER_SECOND - time.monotonic()))
    await asyncio.gather(*tasks, return_exceptions=True)
    return samples, asked / (time.monotonic() - began)


def note(task, faults):
    if task.exception() is not None:
        faults.append(repr(task.exception()))
    elif task.result() not in (None, 200, 202, 204, 503):
        faults.append(f"status {task.result()}")


def soak(minutes):
    """Figures, and what went wrong."""
    faults = []
    with tempfile.TemporaryDirectory() as folder, Daemon("--data", os.path.join(folder, "data"), "--cache", "16M",
                                                          "--retain-bytes", "64M") as daemon:
        samples, per_second = asyncio.run(drive(daemon, minutes * 60, faults))
        time.sleep(2)
        last = sample(daemon)
    warm = samples[max(1, len(samples) // 10):]
    memory = [bytes_ for bytes_, _, _ in warm]
    first, rest = statistics.median(memory[:max(1, len(memory) // 4)]), statistics.median(memory[-max(1, len(memory) // 4):])
    if rest > 1.2 * first:
        faults.append(f"memory grows: {first} to {rest} bytes")
    if last[1] > samples[0][1] + 8:
        faults.append(f"descriptors: {samples[0][1]} to {last[1]}")
    if {threads for _, _, threads in warm} != {last[2]}:
        faults.append("threads come and go")
    return {"minutes": minutes, "requests_per_s": per_second, "rss_first_mib": first / 2**20, "rss_last_mib": rest / 2**20,
            "rss_most_mib": max(memory) / 2**20, "descriptors_first": samples[0][1], "descriptors_last": last[1],
            "threads": last[2]}, faults


def main():
    figures, faults = soak(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
    print("\n".join(f"{key:20} {value:,.1f}" for key, value in figures.items()))
    print("\n".join(faults[:20]) or "nothing went wrong")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
