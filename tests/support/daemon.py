"""Starts the built programs and speaks HTTP to the daemon, byte by byte if need be.

REMAT_BUILD is the folder of the programs (build/release). A daemon that does not exit 0 after SIGTERM, or that writes
anything but JSON lines to stderr (a sanitizer's report, say), fails the test that stops it.
"""
import collections
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("REMAT_BUILD") or os.environ.get("REMATD_BUILD") or "build/release")
REMATD = os.path.join(BUILD, "rematd")
REMAT = os.path.join(BUILD, "remat")
IS_SANITIZED = os.path.basename(BUILD.rstrip("/")) in ("asan", "tsan")
PATIENCE_S = 240 if IS_SANITIZED else 60  # how long anything may take before a test gives up on it
JSON = {"Content-Type": "application/json"}


def clean_environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("REMATD_")}
    env.update(more)
    return env


def run(*command, stdin=b"", env=None, **more):
    """A finished program: returncode, stdout, stderr (bytes)."""
    return subprocess.run([str(c) for c in command], input=stdin, capture_output=True, timeout=PATIENCE_S,
                          env=env or clean_environment(), check=False, **more)


class Response:
    """One HTTP response. `headers` has lower-case names; `body` is bytes."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json.get("code")

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:300]!r}>"


class Closed(Exception):
    """The connection ended before a response was complete."""


class Connection:
    """A socket to a daemon, and a strict reader of responses."""

    def __init__(self, address, timeout=None, tls=None):
        """`tls`: an ssl.SSLContext, for HTTPS."""
        self.socket = socket.create_connection(address, timeout=timeout or PATIENCE_S)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        try:
            data = self.socket.recv(1 << 16)
        except (ConnectionError, ssl.SSLError) as error:
            raise Closed(str(error)) from error
        if not data:
            raise Closed("end of stream")
        self.buffer += data

    def read_response(self, head=False):
        """The next response; 100 Continue counts as one, without a body."""
        while b"\r\n\r\n" not in self.buffer:
            self.receive()
        header, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = header.decode("latin-1").split("\r\n")
        version, status, _ = lines[0].split(" ", 2)
        assert version == "HTTP/1.1", lines[0]
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
        length = 0 if head or status in ("100", "204", "304") else int(headers["content-length"])
        while len(self.buffer) < length:
            self.receive()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Response(int(status), headers, body)

    def is_closed(self):
        """Waits until the daemon closes; False when it sends something instead."""
        if self.buffer:
            return False
        try:
            return self.socket.recv(1) == b""
        except (ConnectionError, ssl.SSLError):
            return True


def format_request(method, path, headers, body=None):
    lines = [f"{method} {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in headers.items()]
    if body is not None and not any(name.lower() in ("content-length", "transfer-encoding") for name in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines + ["", ""]).encode("latin-1") + (body or b"")


def chunked(*parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts if part) + b"0\r\n\r\n"


class Daemon:
    """A running rematd on a port of its own.

    Drains for no time unless a --drain-timeout is given, so that tests end at once.
    """

    def __init__(self, *flags, env=None, listen="127.0.0.1:0"):
        flags = [str(flag) for flag in flags]
        if not any(flag.startswith("--drain-timeout") for flag in flags):
            flags += ["--drain-timeout", "0"]
        self.log_file = tempfile.TemporaryFile()
        self.process = subprocess.Popen([REMATD, "--listen", listen, *flags], stdout=subprocess.PIPE,
                                        stderr=self.log_file, stdin=subprocess.DEVNULL,
                                        env=clean_environment(**(env or {})))
        self.first_line = self.read_line("listening on http://", "listening on https://")
        host, port = self.first_line.rsplit("/", 1)[1].rsplit(":", 1)
        self.address = (host.strip("[]"), int(port))
        self.host = f"{host}:{port}"
        if any(flag.startswith("--admin-listen") for flag in flags):
            self.admin_line = self.read_line("admin listening on http://")
            host, port = self.admin_line.rsplit("/", 1)[1].rsplit(":", 1)
            self.admin_address = (host.strip("[]"), int(port))
        self.tls = None  # an ssl.SSLContext, when it serves HTTPS

    def read_line(self, *starts):
        """The next line on stdout, which begins with one of `starts`."""
        timer = threading.Timer(PATIENCE_S, self.process.kill)
        timer.start()
        line = self.process.stdout.readline().decode().strip()
        timer.cancel()
        if not line.startswith(starts):
            self.process.wait(PATIENCE_S)
            raise AssertionError(f"rematd did not start: {line!r} {self.stderr()}")
        return line

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        else:
            self.kill()

    # ---- talking ----

    def connect(self, timeout=None):
        return Connection(self.address, timeout, self.tls)

    def request(self, method, path, body=None, headers=None):
        """One request on a connection of its own."""
        with self.connect() as connection:
            connection.send(format_request(method, path, {"Host": self.host, **(headers or {})}, body))
            return connection.read_response(head=method == "HEAD")

    def get(self, path, **headers):
        return self.request("GET", path, headers=headers)

    def admin(self, path, method="GET", **headers):
        """One request to the admin listener."""
        with Connection(self.admin_address) as connection:
            connection.send(format_request(method, path, {"Host": "localhost", **headers}))
            return connection.read_response(head=method == "HEAD")

    def plan(self, body, headers=None):
        return self.request("POST", "/v1/plans", body, {**JSON, **(headers or {})})

    def start_plan(self, body, headers=None):
        """Sends a whole plan request; the caller reads the response when it wants."""
        connection = self.connect()
        connection.send(format_request("POST", "/v1/plans", {"Host": self.host, **JSON, **(headers or {})}, body))
        return connection

    # ---- ending ----

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self):
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        return code

    def stop(self):
        """Ends in order; the log, as a list of dicts."""
        self.signal()
        return self.finish()

    def finish(self):
        """Waits for an end that was asked for already."""
        try:
            code = self.wait()
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("rematd did not end\n" + self.stderr()) from None
        text = self.stderr()
        assert code == 0, f"rematd ended with {code}\n{text[-4000:]}"
        log = [json.loads(line) for line in text.splitlines()]
        self.log_file.close()
        return log

    def kill(self):
        self.process.kill()
        self.wait()
        self.log_file.close()

    # ---- watching ----

    def stderr(self):
        descriptor = self.log_file.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode()

    def log(self, **want):
        """Log lines so far with these members."""
        text = self.stderr()
        lines = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
        return [line for line in lines if want.items() <= line.items()]

    def wait_log(self, n=1, **want):
        """Waits until there are n such lines."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            lines = self.log(**want)
            if len(lines) >= n:
                return lines
            time.sleep(0.02)
        raise AssertionError(f"never logged {want}:\n{self.stderr()[-4000:]}")

    def wait_full(self):
        """Waits until the queue is full, by asking for permission to send a body and going away."""
        end = time.monotonic() + PATIENCE_S
        headers = {"Host": self.host, **JSON, "Expect": "100-continue", "Content-Length": "2"}
        while time.monotonic() < end:
            with self.connect() as connection:
                connection.send(format_request("POST", "/v1/plans", headers))
                response = connection.read_response()
                if response.status == 503:
                    return response
            time.sleep(0.01)
        raise AssertionError("the queue never filled up")

    def wait_connections(self, n=0):
        """Waits until the daemon has noticed that all but n clients have left."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            # One more asks.
            if self.get("/v1/ops").json["connections"]["open"] <= n + 1:
                return
            time.sleep(0.01)
        raise AssertionError("clients that left are still counted")

    def memory_bytes(self):
        """Resident set."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def n_descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def by_event(log):
    events = collections.defaultdict(list)
    for line in log:
        events[line["event"]].append(line)
    return events
