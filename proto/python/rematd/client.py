"""Asks a rematd service for plans: retries, deadlines, breaker, jobs. Needs no PyTorch."""

from __future__ import annotations

import gzip
import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from rematd import http
from rematd.breaker import Breaker
from rematd.counters import counters
from rematd.errors import Problem, Unavailable, WrongAnswer
from rematd.http import Address, Answer, TransportError
from rematd.settings import Settings

PLAN_SCHEMA = "remat/plan/v1"
OUTCOMES = ("plan", "infinite_flow", "invalid_output")
#: Answers that may turn out otherwise a moment later.
RETRIED = frozenset((408, 429, 500, 502, 503))
MAX_WAIT_S = 60
#: How long what a service says of itself is believed.
VERSION_KEPT_S = 60.0
Plan = dict[str, Any]


class Client:
    """A connection to one service, in the wide sense: every request opens its own.

    Threads may share it. All times are seconds.
    """

    def __init__(self, settings: Settings | None = None, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings or Settings.from_environment()
        self.address = Address.parse(self.settings.url)
        self.breaker = Breaker(self.settings.breaker_failures, self.settings.breaker_s)
        self._sleep = sleep
        self._lock = threading.Lock()
        self._engine: tuple[float, str | None] | None = None  # when learnt, what
        self._takes_gzip = False
        self._has_groups = True
        self._tls: ssl.SSLContext | None = None
        if self.address.scheme == "https":
            self._tls = ssl.create_default_context(cafile=self.settings.ca_file)

    # ---- plans ----

    def plan(
        self,
        graph: Mapping[str, Any],
        *,
        options: Mapping[str, Any] | None = None,
        passes: Sequence[Mapping[str, Any]] = (),
        timeout_s: float | None = None,
    ) -> Plan:
        """The plan of a graph document.

        Raises Problem for a refusal, Unavailable when there is no answer in time or the breaker is open, WrongAnswer for
        an answer that is not a plan. A graph without an answer is a plan whose ``outcome`` says so.
        """
        body = {"graph": graph, "options": dict(options or {}), "passes": list(passes)}
        return self._ask_plan("/v1/plans", body, timeout_s)

    def group_plan(
        self,
        key: str,
        rank: int,
        world_size: int,
        graph: Mapping[str, Any],
        *,
        options: Mapping[str, Any] | None = None,
        passes: Sequence[Mapping[str, Any]] = (),
        timeout_s: float | None = None,
    ) -> Plan:
        """One decision for all ranks that ask under the same key; where the service has no groups, one's own.

        Raises as plan(); 409 (ranks-disagree) when the graphs of the ranks are not the same.
        """
        if self._has_groups:
            body = {"rank": rank, "world_size": world_size, "graph": graph, "options": dict(options or {}),
                    "passes": list(passes)}
            try:
                return self._ask_plan(f"/v1/groups/{quote(key, safe='')}/plans", body, timeout_s)
            except Problem as problem:
                if problem.status not in (404, 405, 501):
                    raise
                self._has_groups = False
        return self.plan(graph, options=options, passes=passes, timeout_s=timeout_s)

    def _ask_plan(self, path: str, body: Mapping[str, Any], timeout_s: float | None) -> Plan:
        answer = self.call("POST", path, body, timeout_s=timeout_s)
        plan = answer.json()
        if not isinstance(plan, dict) or plan.get("schema") != PLAN_SCHEMA or plan.get("outcome") not in OUTCOMES:
            counters.add("wrong_answers")
            raise WrongAnswer(f"{self.settings.url} did not answer with a plan ({answer.status}, {len(answer.body)} bytes)")
        engine = plan.get("engine")
        if isinstance(engine, str):
            with self._lock:
                self._engine = (time.monotonic(), engine)
        return plan

    def run_job(self, path: str, body: Mapping[str, Any]) -> str:
        """Makes a job of a request and waits for its end; the job's path, for what else the service says of it.

        Raises Problem or Unavailable; Problem 501 where the service keeps no jobs.
        """
        answer = self.call("POST", path, body, prefer="respond-async", follow=False)
        if answer.status != 202:
            detail = "this service keeps no jobs, so it can only be asked for plans"
            raise Problem(501, {"code": "not-implemented", "detail": detail})
        deadline = time.monotonic() + self.settings.timeout_s
        job = self._job_path(answer, path)
        try:
            self._wait(job, deadline)
        except TransportError as error:
            raise Unavailable(str(error)) from error
        return job

    # ---- the service itself ----

    def engine(self) -> str | None:
        """The engine version of the service, None when it does not say. Takes a second at most, once a minute."""
        with self._lock:
            known = self._engine
        if known is not None and time.monotonic() - known[0] < VERSION_KEPT_S:
            return known[1]
        engine = None
        try:
            document = self.call("GET", "/version", timeout_s=min(1.0, self.settings.timeout_s), retries=0).json()
            if isinstance(document, dict) and isinstance(document.get("engine"), str):
                engine = document["engine"]
        except (Problem, Unavailable):
            pass
        with self._lock:
            self._engine = (time.monotonic(), engine)
        return engine

    # ---- one call ----

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        accept: str = "application/json",
        timeout_s: float | None = None,
        retries: int | None = None,
        prefer: str | None = None,
        follow: bool = True,
    ) -> Answer:
        """A successful (2xx) answer, after as many attempts as settings and time allow; a 202 is followed to its end.

        ``prefer`` replaces the usual ``Prefer: wait=…``; without ``follow`` a 202 is the answer.

        Raises Problem or Unavailable.
        """
        if not self.breaker.allow():
            counters.add("breaker_skips")
            raise Unavailable(f"{self.settings.url} failed {self.settings.breaker_failures} times, not asked again for "
                              f"{self.settings.breaker_s:g} s")
        deadline = time.monotonic() + (self.settings.timeout_s if timeout_s is None else timeout_s)
        data = None if body is None else _encode(body)
        try:
            answer = self._attempts(method, path, data, accept, deadline,
                                    self.settings.retries if retries is None else retries, prefer, follow)
        except Unavailable:
            self.breaker.failed()
            raise
        except Problem as problem:
            if problem.status in RETRIED:
                self.breaker.failed()
            else:
                self.breaker.succeeded()
            raise
        except BaseException:
            self.breaker.failed()
            raise
        self.breaker.succeeded()
        return answer

    def _attempts(
        self, method: str, path: str, data: bytes | None, accept: str, deadline: float, retries: int, prefer: str | None,
        follow: bool,
    ) -> Answer:
        for attempt in range(retries + 1):
            if attempt:
                counters.add("retries")
            is_last = attempt == retries
            try:
                answer = self._exchange(method, path, data, accept, deadline, prefer)
                if answer.status == 202 and follow:
                    answer = self._follow(answer, path, accept, deadline)
            except TransportError as error:
                counters.add("transport_errors")
                if is_last or not self._pause(attempt, None, deadline):
                    raise Unavailable(str(error)) from error
                continue
            if 200 <= answer.status < 300:
                return answer
            counters.add("problems")
            problem = _problem(answer)
            if answer.status not in RETRIED or is_last or not self._pause(attempt, answer, deadline):
                raise problem
        raise AssertionError("not reached")

    def _pause(self, attempt: int, answer: Answer | None, deadline: float) -> bool:
        """Waits before the next attempt: as the service asks, or 50 ms doubling, either with jitter; False if there is
        no time for it."""
        wait = 0.05 * 2.0**attempt * random.uniform(0.5, 1.5)
        asked = _retry_after_s(answer) if answer is not None else None
        if asked is not None:
            wait = asked * random.uniform(1.0, 1.1)
        if time.monotonic() + wait >= deadline:
            return False
        self._sleep(wait)
        return True

    def _exchange(
        self, method: str, path: str, data: bytes | None, accept: str, deadline: float, prefer: str | None = None
    ) -> Answer:
        now = time.monotonic()
        headers = {"Accept": f"{accept}, application/problem+json;q=0.9"}
        if self.settings.token:
            headers["Authorization"] = "Bearer " + self.settings.token
        wait_s = max(0, min(MAX_WAIT_S, int(deadline - now)))
        if method == "POST" or "/jobs/" in path:
            headers["Prefer"] = prefer or f"wait={wait_s}"
        if data is not None:
            headers["Content-Type"] = "application/json"
            if self._takes_gzip and len(data) >= http.GZIP_FROM_BYTES and not self.address.is_loopback:
                data = http.compress(data)
                headers["Content-Encoding"] = "gzip"
        counters.add("requests")
        answer = http.exchange(self.address, method, path, body=data, headers=headers, deadline=deadline,
                               connect_deadline=now + self.settings.connect_timeout_s, tls=self._tls)
        if answer.status == 415 and data is not None and "Content-Encoding" in headers:
            self._takes_gzip = False  # it said it does, but perhaps another replica answered
            return self._exchange(method, path, gzip.decompress(data), accept, deadline, prefer)
        if "accept-encoding" in answer.headers:
            self._takes_gzip = "gzip" in answer.headers["accept-encoding"].lower()
        return answer

    def _follow(self, accepted: Answer, path: str, accept: str, deadline: float) -> Answer:
        """From 202 to the finished job's answer."""
        job = self._job_path(accepted, path)
        self._wait(job, deadline)
        return self._exchange("GET", job + ("/report" if path == "/v1/reports" else "/plan"), None, accept, deadline)

    def _wait(self, job: str, deadline: float) -> None:
        """Until a job has succeeded. Raises Problem when it ended otherwise, TransportError when it did not end."""
        while True:
            answer = self._exchange("GET", job, None, "application/json", deadline)
            document = answer.json()
            if answer.status == 200 and isinstance(document, dict):
                state = document.get("state")
                if state == "succeeded":
                    return
                if state not in ("queued", "running"):
                    raise _failed_job(document)
            elif answer.status not in (202, 429, 503):
                raise _problem(answer)
            left = deadline - time.monotonic()
            if left <= 0:
                raise TransportError(f"the job {job} did not finish in time", sent=True)
            self._sleep(min(_retry_after_s(answer) or 0.05, left))

    def _job_path(self, accepted: Answer, path: str) -> str:
        location = accepted.headers.get("location", "")
        base = f"{self.address.scheme}://{self.address.host}:{self.address.port}"
        where = urlsplit(urljoin(base + self.address.path + path, location))
        if not location or (where.hostname, where.port or self.address.port) != (self.address.host, self.address.port):
            raise TransportError(f"202 without a Location on the same service: {location!r}", sent=True)
        return where.path.removeprefix(self.address.path)


def _encode(body: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8. Raises ValueError for what JSON cannot say; a value that contains itself is not looked for, but found."""
    try:
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False).encode("utf-8")
    except RecursionError:
        raise ValueError("a value that is nested too deeply, or contains itself") from None


def _problem(answer: Answer) -> Problem:
    document = answer.json()
    return Problem(answer.status, document if isinstance(document, dict) else {})


def _failed_job(document: Mapping[str, Any]) -> Problem:
    problem = document.get("problem")
    if isinstance(problem, dict):
        status = problem.get("status")
        return Problem(status if isinstance(status, int) else 500, problem)
    state = str(document.get("state"))
    return Problem(504 if state == "expired" else 500, {"code": f"job-{state}", "detail": f"the job ended as {state}"})


def _retry_after_s(answer: Answer) -> float | None:
    """Seconds to wait; a date, which the contract does not use, counts as not said."""
    try:
        seconds = float(answer.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
