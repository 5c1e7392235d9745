# variants: asan
"""What attackers tried: requests the library falls silent on or answers by itself, bursts that keep the daemon from reading, missing
standard streams, storms of signals."""
import os
import signal
import socket
import subprocess
import time
import unittest

import graphs
from daemon import IS_SANITIZED, JSON, REMATD, Daemon, format_request

TINY = graphs.encode(graphs.tiny())


def many_arguments(n):
    return b"GET /livez?" + b"a&" * n + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Requests(unittest.TestCase):
    def test_many_query_arguments_are_answered(self):
        with Daemon() as daemon:
            for n in (101, 1000, 3000, 10000):
                with daemon.connect() as connection:
                    connection.send(many_arguments(n))
                    refused = connection.read_response()
                    self.assertEqual((refused.status, refused.code), (400, "bad-request"), n)
                    self.assertIn("query", refused.json["detail"])
            self.assertEqual(daemon.request("GET", "/livez").status, 200)

    def test_forgotten_requests_are_freed(self):
        """The client does not wait; memory comes back (and the sanitizer sees no leak at the end)."""
        # What the address sanitizer holds back of freed memory is not held by the daemon.
        options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=16"
        with Daemon(env={"ASAN_OPTIONS": options}) as daemon:
            def burst(n):
                for _ in range(n):
                    with socket.create_connection(daemon.address) as s:
                        s.sendall(many_arguments(3000))
                daemon.wait_connections()
                self.assertEqual(daemon.request("GET", "/livez").status, 200)
            burst(300)
            # The allocator grows in steps and keeps what it has; a request that is never freed costs more than 1 KiB each time.
            most = (8 << 20) if IS_SANITIZED else (1 << 20)
            growths = []
            while len(growths) < 12 and min(growths, default=most) >= most:
                before = daemon.memory_bytes()
                burst(1500)
                growths.append(daemon.memory_bytes() - before)
            self.assertLess(min(growths), most, f"every 1,500 requests cost memory: {growths}")

    def test_two_origins(self):
        other = "http://example.org"
        with Daemon() as daemon:
            own = f"http://127.0.0.1:{daemon.address[1]}"
            for first, second in ((own, other), (other, own)):
                with daemon.connect() as connection:
                    connection.send((f"POST /v1/plans HTTP/1.1\r\nHost: 127.0.0.1:{daemon.address[1]}\r\nOrigin: {first}\r\n"
                                     f"Origin: {second}\r\nContent-Type: application/json\r\n"
                                     f"Content-Length: {len(TINY)}\r\n\r\n").encode() + TINY)
                    self.assertEqual(connection.read_response().status, 403)


class OwnAnswers(unittest.TestCase):
    """Requests that the library answers by itself, in all the ways it does."""
    REQUESTS = (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70000 + b"\r\n\r\n",
                b"GET /livez HTTP/1.1\r\n" + b"A: b\r\n" * 9000 + b"\r\n",
                b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n",
                b"GET /livez\r\n\r\n", b"GET /livez HTTP/9.9\r\n\r\n", b"GET /livez?a HTCPCP\r\n\r\n", b"GET \r\n\r\n",
                b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
                b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")

    def send(self, address, request):
        with socket.create_connection(address) as s:
            try:
                s.sendall(request)
            except ConnectionError:
                pass  # answered before all was sent

    def test_they_leave_nothing(self):
        """On either listener; the sanitizer looks for what is left when the daemon ends."""
        with Daemon("--admin-listen", "127.0.0.1:0") as daemon:
            for address in (daemon.address, daemon.admin_address):
                for request in self.REQUESTS * 3:
                    self.send(address, request)
            daemon.wait_connections()
            self.assertEqual(daemon.admin("/livez").status, 200)

    def test_they_do_not_meet_the_end(self):
        """The daemon ends in order while it is still busy with hundreds of them."""
        for turn in range(3 if IS_SANITIZED else 6):
            daemon = Daemon("--admin-listen", "127.0.0.1:0")
            held = []
            for i in range(1200):
                on_admin = i % 20 == 19
                held.append(socket.create_connection(daemon.admin_address if on_admin else daemon.address))
                held[-1].setblocking(False)
                try:
                    held[-1].send(self.REQUESTS[1 if turn % 2 else i % len(self.REQUESTS)])
                except (BlockingIOError, ConnectionError):
                    pass
            daemon.stop()
            for one in held:
                one.close()


class Behind(unittest.TestCase):
    """What a client sent in time is answered, however late the daemon comes to read it."""
    N, LIMIT_S = 30, 4

    def late(self, *, first, rest, answers):
        """Clients that send `first`, then `rest` while the daemon stands still for longer than any of its deadlines. False when it
        had ended some before it stood still, as may be on a slow machine."""
        limits = ("--header-timeout", self.LIMIT_S, "--body-timeout", self.LIMIT_S, "--idle-timeout", self.LIMIT_S)
        with Daemon(*limits) as daemon:
            began = time.monotonic()
            connections = [daemon.connect() for _ in range(self.N)]
            for connection in connections:
                connection.send(first)
            for connection in connections[:self.N if answers else 0]:
                self.assertEqual(connection.read_response().status, 200)
            while daemon.get("/v1/ops").json["connections"]["open"] < self.N and time.monotonic() < began + self.LIMIT_S:
                time.sleep(0.01)
            daemon.signal(signal.SIGSTOP)
            in_time = time.monotonic() - began < self.LIMIT_S - 0.5
            for connection in connections[:self.N if in_time else 0]:
                connection.send(rest)
            time.sleep(self.LIMIT_S + 0.5 if in_time else 0)
            daemon.signal(signal.SIGCONT)
            for connection in connections[:self.N if in_time else 0]:
                self.assertEqual(connection.read_response().status, 200)
            for connection in connections:
                connection.close()
        return in_time

    def check(self, first, rest, answers=False):
        self.assertTrue(any(self.late(first=first, rest=rest, answers=answers) for _ in range(5)))

    def test_request(self):
        self.check(b"", format_request("GET", "/livez", {"Host": "localhost"}))

    def test_rest_of_a_header(self):
        request = format_request("GET", "/livez", {"Host": "localhost"})
        self.check(request[:-8], request[-8:])

    def test_rest_of_a_body(self):
        request = format_request("POST", "/v1/plans", {"Host": "localhost", **JSON}, TINY)
        self.check(request[:-8], request[-8:])

    def test_second_request(self):
        request = format_request("GET", "/livez", {"Host": "localhost"})
        self.check(request, request, answers=True)


class AtOnce(unittest.TestCase):
    """However many clients speak in one and the same moment, all are answered, and no other has to come first."""
    MOST = 257

    def check(self, ask):
        """The daemon stands still while n clients speak, so that it finds n events waiting, for n around the powers of two."""
        sizes = sorted({n + d for n in (32, 64, 128, 256) for d in (-2, -1, 0, 1)})
        with Daemon("--header-timeout", 200, "--idle-timeout", 200) as daemon:
            for n in sizes:
                with self.subTest(n):
                    ask(daemon, n)

    def answers(self, connections):
        for connection in connections:
            self.assertEqual(connection.read_response().status, 200)

    def test_open_connections(self):
        request = format_request("GET", "/livez", {"Host": "localhost"})

        def ask(daemon, n):
            daemon.signal(signal.SIGSTOP)
            for connection in opened[:n]:
                connection.send(request)
            daemon.signal(signal.SIGCONT)
            self.answers(opened[:n])

        opened = []
        try:
            def open_and_ask(daemon, n):
                while len(opened) < self.MOST:
                    opened.append(daemon.connect())
                    opened[-1].send(request)
                    self.answers(opened[-1:])
                ask(daemon, n)
            self.check(open_and_ask)
        finally:
            for connection in opened:
                connection.close()

    def test_new_connections(self):
        request = format_request("GET", "/livez", {"Host": "localhost"})

        def ask(daemon, n):
            daemon.signal(signal.SIGSTOP)
            connections = [daemon.connect() for _ in range(n)]
            for connection in connections:
                connection.send(request)
            daemon.signal(signal.SIGCONT)
            self.answers(connections)
            for connection in connections:
                connection.close()

        self.check(ask)

    def test_waiting_for_a_plan(self):
        """Requests that are suspended, and resumed together."""
        def ask(daemon, n):
            daemon.signal(signal.SIGSTOP)
            connections = [daemon.start_plan(TINY, {"Prefer": "wait=60"}) for _ in range(n)]
            daemon.signal(signal.SIGCONT)
            self.answers(connections)
            for connection in connections:
                connection.close()

        self.check(ask)


class Process(unittest.TestCase):
    def test_closed_standard_streams(self):
        for closed in ("<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", 0))
                    port = probe.getsockname()[1]
                process = subprocess.Popen(["sh", "-c", f'exec "$0" --listen 127.0.0.1:{port} --drain-timeout 0 {closed}', REMATD],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.wait_for(port)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(60), 0)

    def wait_for(self, port):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                with socket.create_connection(("127.0.0.1", port)):
                    return
            except ConnectionRefusedError:
                time.sleep(0.01)
        self.fail("the daemon does not listen")

    def test_storm_of_signals(self):
        """However many signals come, and whenever, the end is orderly."""
        for _ in range(5):
            process = subprocess.Popen([REMATD, "--listen", "127.0.0.1:0", "--drain-timeout", "1"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
            process.stdout.readline()
            while process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.send_signal(signal.SIGINT)
                time.sleep(0.0005)
            process.stdout.close()
            self.assertEqual(process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
