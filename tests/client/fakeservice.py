"""A service that answers as a test says, over plain sockets, so that it can also answer wrongly."""
import collections
import json
import socket
import threading
import time

Request = collections.namedtuple("Request", "method path headers body")
PLAN = {"schema": "remat/plan/v1", "outcome": "plan", "saved": [], "saved_sym": [], "saved_opaque": [], "recomputed": [],
        "cut": {"nodes": []}, "diagnostics": [], "passes": [], "engine": "fake/1", "digest": "0" * 64}


def response(status, document=None, headers=None, body=None):
    """The bytes of a response."""
    body = json.dumps(document if document is not None else {}).encode() if body is None else body
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join([*lines, "", ""])).encode() + body


def problem(status, code, headers=None, **more):
    return response(status, {"status": status, "code": code, "detail": f"this is {code}", **more}, headers)


class FakeService:
    """`answer` gets a Request and gives bytes to send, or a function that gets the socket. `requests` is what came."""

    def __init__(self, answer):
        self.answer, self.requests, self.ending = answer, [], threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.threads = [threading.Thread(target=self.serve, daemon=True)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(60)

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.one, args=(connection,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def one(self, connection):
        with connection:
            try:
                request = self.read(connection)
                if request is None:
                    return
                self.requests.append(request)
                answer = self.answer(request)
                if callable(answer):
                    answer(connection)
                else:
                    connection.sendall(answer)
            except OSError:
                pass  # the client has gone: it may

    @staticmethod
    def read(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(1 << 16)
            if not more:
                return None
            data += more
        head, body = data.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(1 << 16)
        method, path, _ = lines[0].split(" ")
        return Request(method, path, headers, body)

    def hang(self, connection):
        """Says nothing until the test is over."""
        self.ending.wait(120)

    def drip(self, data):
        """Sends a byte now and then, for ever."""
        def send(connection):
            while not self.ending.is_set():
                for byte in data:
                    if self.ending.wait(0.02):
                        return
                    connection.sendall(bytes([byte]))
                time.sleep(0.01)
        return send

    @property
    def plans(self):
        return [r for r in self.requests if r.method == "POST"]
