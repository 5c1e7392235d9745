"""What happened so far in this process."""

from __future__ import annotations

import threading
from collections import Counter

NAMES = (
    "decisions",  # graphs that were to be partitioned
    "plans",  # decided by the service
    "fallbacks",  # decided by PyTorch because the service did not
    "no_plan",  # graphs without an answer
    "repaired",  # graphs that got one after their tags were repaired
    "requests",  # HTTP requests sent
    "retries",  # of them, repeated ones
    "transport_errors",  # no complete answer
    "problems",  # answers that were problem documents
    "wrong_answers",  # answers that did not fit
    "breaker_skips",  # decisions for which the service was not asked
    "not_cached",  # compiled programs kept out of PyTorch's caches
)


class Counters:
    """Counts by name. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, name: str, n: int = 1) -> None:
        """Counts one more; only the names above exist."""
        if name not in NAMES:
            raise KeyError(name)
        with self._lock:
            self._counts[name] += n

    def snapshot(self) -> dict[str, int]:
        """All counts, those that are 0 included."""
        with self._lock:
            return {name: self._counts[name] for name in NAMES}

    def clear(self) -> None:
        """Starts over."""
        with self._lock:
            self._counts.clear()


#: Of the whole process.
counters = Counters()
