"""One HTTP exchange under one deadline.

The standard library's timeouts are per system call: a peer that sends a byte now and then is never late. Here the
deadline is absolute, for resolving the name, connecting, TLS, sending and every byte of the answer together.
Nothing is retried here, no proxy is used and no redirect followed.
"""

from __future__ import annotations

import gzip
import http.client
import io
import json
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

MAX_ANSWER_BYTES = 256 * 2**20
GZIP_FROM_BYTES = 64 * 1024
_SEND_CHUNK = 256 * 1024


class TransportError(Exception):
    """No complete answer: refused, late, cut short, or not HTTP. ``sent`` tells whether the request may have arrived."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


@dataclass(frozen=True)
class Answer:
    """A complete response. Header names are lower case; the body is decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True)
class Address:
    """A service's URL in parts."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, url: str) -> Address:
        """Raises ValueError, saying what is expected."""
        parts = urlsplit(url if "://" in url else "http://" + url)
        try:
            port = parts.port
        except ValueError as error:
            raise ValueError(f"{url!r}: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a service, expected http://HOST:PORT")
        return cls(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), parts.path.rstrip("/"))

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine by name; compressing for it would only cost time."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


class _Timed(io.RawIOBase):
    """The receiving half of a socket, as a file with a deadline."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self.sock, self.deadline = sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.sock.settimeout(_left(self.deadline))
        return self.sock.recv_into(buffer)


class _DeadlineSocket:
    """What http.client needs of a socket."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self.sock, self.deadline = sock, deadline

    def sendall(self, data: Any) -> None:
        view = memoryview(data)
        while view:
            self.sock.settimeout(_left(self.deadline))
            view = view[self.sock.send(view[:_SEND_CHUNK]):]

    def makefile(self, *_args: Any, **_named: Any) -> io.BufferedReader:
        return io.BufferedReader(_Timed(self.sock, self.deadline))

    def close(self) -> None:
        """Nothing: http.client closes as soon as it has seen ``Connection: close``, before the body is read."""


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("out of time")
    return left


def _resolve(address: Address, deadline: float) -> list[Any]:
    """Addresses of a host. getaddrinfo knows no time limit, so a thread of its own waits for it."""
    found: list[Any] = []
    failed: list[BaseException] = []

    def look_up() -> None:
        try:
            found.extend(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=look_up, name="rematd-resolve", daemon=True)
    thread.start()
    thread.join(_left(deadline))
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError(f"{address.host} was not resolved in time")
    return found


def _connect(address: Address, deadline: float, tls: ssl.SSLContext | None) -> socket.socket:
    """A connected socket, by the first address that answers."""
    last: OSError = OSError(f"{address.host} has no address")
    for family, kind, protocol, _, where in _resolve(address, deadline):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_left(deadline))
            sock.connect(where)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is not None:
                sock.settimeout(_left(deadline))
                sock = tls.wrap_socket(sock, server_hostname=address.host)
            return sock
        except OSError as error:
            sock.close()
            last = error
    raise last


def exchange(
    address: Address,
    method: str,
    path: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    connect_deadline: float,
    deadline: float,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """Sends a request and reads the answer. Deadlines are readings of time.monotonic().

    Raises TransportError when there is no complete answer in time.
    """
    try:
        sock = _connect(address, min(connect_deadline, deadline), tls)
    except OSError as error:
        raise TransportError(f"cannot connect to {address.host}:{address.port}: {_words(error)}", sent=False) from error
    connection = http.client.HTTPConnection(address.host, address.port)
    connection.sock = _DeadlineSocket(sock, deadline)
    try:
        sending = {"Accept-Encoding": "gzip", "Connection": "close", "User-Agent": "rematd-python", **(headers or {})}
        connection.request(method, address.path + path, body=body, headers=sending)
        response = connection.getresponse()
        data = _read(response)
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, names, _decode(data, names.get("content-encoding", "")))
    except (OSError, http.client.HTTPException, ValueError, zlib.error, EOFError) as error:
        raise TransportError(f"{method} {path}: {_words(error)}", sent=True) from error
    finally:
        connection.close()
        sock.close()


def _read(response: http.client.HTTPResponse) -> bytes:
    data = response.read(MAX_ANSWER_BYTES + 1)
    if len(data) > MAX_ANSWER_BYTES:
        raise ValueError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
    if response.length:  # read(n) does not complain about a short body, read() does
        raise http.client.IncompleteRead(data, response.length)
    return data


def _decode(data: bytes, coding: str) -> bytes:
    if coding in ("", "identity"):
        return data
    if coding != "gzip":
        raise ValueError(f"an answer in the coding {coding!r} was not asked for")
    decoder = zlib.decompressobj(31)
    out = decoder.decompress(data, MAX_ANSWER_BYTES)
    if not decoder.eof:
        raise ValueError("the compressed answer is cut short or too long")
    return out


def compress(body: bytes) -> bytes:
    """A request's body as gzip, fast rather than small, the same bytes every time."""
    return gzip.compress(body, compresslevel=1, mtime=0)


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "out of time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
