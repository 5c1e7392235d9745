"""What can go wrong between a compile job and the service."""

from __future__ import annotations

from typing import Any


class RematdError(RuntimeError):
    """The base of everything this package raises on purpose."""


class ExportError(RematdError):
    """A graph that no document can describe. ``node`` is the name of the node in question, if there is one."""

    def __init__(self, message: str, *, node: str | None = None) -> None:
        super().__init__(message)
        self.node = node


class Unavailable(RematdError):
    """No usable answer within the time allowed: absent, slow, overloaded, broken, or kept off by the breaker."""


class Problem(RematdError):
    """The service answered with a problem document (RFC 9457).

    ``status`` is the HTTP status, ``code`` the stable code (empty when there was none), ``detail`` its words,
    ``errors`` the places, ``request_id`` what the service's log calls the request.
    """

    def __init__(self, status: int, document: dict[str, Any]) -> None:
        self.status = status
        self.code = str(document.get("code", ""))
        self.detail = str(document.get("detail") or document.get("title") or "")
        errors = document.get("errors")
        self.errors: list[dict[str, Any]] = [e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
        self.request_id = str(document.get("request_id", ""))
        places = [str(e["pointer"]) for e in self.errors if e.get("pointer")]
        where = f" (at {', '.join(places[:3])})" if places else ""
        super().__init__(f"{status} {self.code}: {self.detail}{where}")

    @property
    def is_callers_mistake(self) -> bool:
        """Whether only the caller can mend it: an option or pass that does not exist or takes other values."""
        return self.code in ("unknown-option", "unknown-pass")


class WrongAnswer(RematdError):
    """An answer that is not a plan, or a plan that does not fit the graph it was asked for."""


class NoPlan(RematdError):
    """The graph has no answer, by the service's judgement. ``plan`` is its whole document, with the diagnostics."""

    def __init__(self, message: str, plan: dict[str, Any]) -> None:
        super().__init__(message)
        self.plan = plan
