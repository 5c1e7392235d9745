# variants: asan
"""What attackers tried: requests the library falls silent on, missing standard streams, storms of signals."""
import signal
import socket
import subprocess
import time
import unittest

import graphs
from daemon import REMATD, Daemon

TINY = graphs.encode(graphs.tiny())


def many_arguments(n):
    return b"GET /livez?" + b"a&" * n + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Requests(unittest.TestCase):
    def test_many_query_arguments_are_answered(self):
        with Daemon() as daemon:
            for n in (101, 1000, 3000, 10000):
                with daemon.connect() as connection:
                    connection.send(many_arguments(n))
                    self.assertEqual(connection.read_response().status, 400, n)
            self.assertEqual(daemon.request("GET", "/livez").status, 200)

    def test_forgotten_requests_are_freed(self):
        """The client does not wait; memory comes back (and the sanitizer sees no leak at the end)."""
        with Daemon() as daemon:
            def burst(n):
                for _ in range(n):
                    with socket.create_connection(daemon.address) as s:
                        s.sendall(many_arguments(3000))
                self.assertEqual(daemon.request("GET", "/livez").status, 200)
            burst(300)
            before = daemon.memory_bytes()
            burst(1500)
            end = time.monotonic() + 60  # the connections end one by one
            while daemon.memory_bytes() - before > 1 << 20 and time.monotonic() < end:
                self.assertEqual(daemon.request("GET", "/livez").status, 200)
            self.assertLess(daemon.memory_bytes() - before, 1 << 20)

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
