"""A circuit breaker: a service that fails again and again is left alone for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Breaker:
    """Opens after ``failures`` failures in a row; after ``open_s`` seconds one caller may try again.

    Threads may share it.
    """

    def __init__(self, failures: int, open_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._open_s, self._clock = failures, open_s, clock
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._closed_from = 0.0
        self._probing = False

    def allow(self) -> bool:
        """Whether to ask now. A caller that is allowed says afterwards how it went."""
        with self._lock:
            if self._limit <= 0 or self._in_a_row < self._limit:
                return True
            if self._probing or self._clock() < self._closed_from:
                return False
            self._probing = True
            return True

    @property
    def is_open(self) -> bool:
        """Whether callers are being kept off."""
        with self._lock:
            return 0 < self._limit <= self._in_a_row and self._clock() < self._closed_from

    def succeeded(self) -> None:
        """The service answered, be it with a problem of the caller's own."""
        with self._lock:
            self._in_a_row, self._probing = 0, False

    def failed(self) -> None:
        """The service gave no answer."""
        with self._lock:
            self._in_a_row += 1
            self._probing = False
            if self._in_a_row >= self._limit:
                self._closed_from = self._clock() + self._open_s
