"""Load on a daemon: requests at a fixed rate whatever the answers do (open loop), or as fast as they come (closed loop).

Everything stays on loopback and ends by itself. Documents differ in one number, so that no plan is known before it is asked for.
"""
import asyncio
import collections
import itertools
import time

import graphs

Answer = collections.namedtuple("Answer", "request_id status retry_after seconds")
_numbers = itertools.count(1)


class Document:
    """A small graph whose plan takes a worker some milliseconds; `next` is one that nobody has asked for."""

    def __init__(self, n=150):
        self.head = graphs.encode(graphs.chain(n)).rstrip()[:-1]

    def next(self):
        return self.head + b',"options":{"activation_memory_budget":0.5,"max_dist_from_bw":%d}}' % (1000 + next(_numbers))


async def read_answer(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:] if line)}
    await reader.readexactly(int(headers.get("content-length", 0)))
    return int(lines[0].split(" ")[1]), headers


async def ask(address, body, request_id, wait_s=30, timeout_s=120):
    """One request on a connection of its own. Status 0: the connection ended without an answer."""
    began = time.monotonic()
    status, headers = 0, {}
    try:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Connection: close\r\nX-Request-Id: %s\r\nPrefer: wait=%d\r\nContent-Length: %d\r\n\r\n"
                     % (request_id.encode(), wait_s, len(body)) + body)
        status, headers = await asyncio.wait_for(read_answer(reader), timeout_s)
        writer.close()
    except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError):
        pass
    return Answer(request_id, status, headers.get("retry-after"), time.monotonic() - began)


async def closed_loop(address, document, n_clients, seconds):
    """The answers of n clients that each ask again as soon as they are answered."""
    answers, end = [], time.monotonic() + seconds

    async def client(number):
        i = 0
        while time.monotonic() < end:
            answers.append(await ask(address, document.next(), f"c{number}-{i}"))
            i += 1

    await asyncio.gather(*(client(number) for number in range(n_clients)))
    return answers


async def open_loop(address, document, per_second, seconds, prefix="o"):
    """The answers to requests that are sent at that rate, on time or, when this process is late, at once."""
    began, tasks = time.monotonic(), []
    for i in range(int(per_second * seconds)):
        delay = began + i / per_second - time.monotonic()
        if delay > 0:
            await asyncio.sleep(delay)
        elif i % 50 == 0:
            await asyncio.sleep(0)
        tasks.append(asyncio.ensure_future(ask(address, document.next(), f"{prefix}{i}")))
    return await asyncio.gather(*tasks)
