"""Where the service is and how much a compile may wait for it.

Everything has a default, an environment variable and an argument; arguments win over the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

DEFAULT_URL = "http://127.0.0.1:7433"

_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off", ""))


@dataclass(frozen=True)
class Settings:
    """How the client behaves. Times are seconds.

    ``url`` of the service; ``token`` for ``Authorization: Bearer``; ``enabled`` false never asks it.
    ``connect_timeout_s`` bounds one attempt to connect (names resolved and TLS agreed included), ``timeout_s`` all that
    one decision adds to a compile, retries included. ``retries`` after the first attempt. The breaker opens after
    ``breaker_failures`` decisions in a row without an answer, for ``breaker_s``. ``strict`` raises where otherwise
    PyTorch's own partitioner decides. ``ca_file`` is a PEM file of authorities to trust instead of the system's.
    """

    url: str = DEFAULT_URL
    token: str | None = None
    enabled: bool = True
    strict: bool = False
    connect_timeout_s: float = 0.5
    timeout_s: float = 10.0
    retries: int = 2
    breaker_failures: int = 3
    breaker_s: float = 60.0
    ca_file: str | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None, **arguments: Any) -> Settings:
        """Settings from ``REMATD_URL``, ``REMATD_TOKEN`` and ``REMATD_CLIENT…``, then from arguments that are not None.

        ``REMATD_CLIENT`` is the switch: unset or 1 asks, 0 never does. Raises ValueError naming the variable.
        """
        environ = os.environ if environ is None else environ
        found: dict[str, Any] = {}
        if environ.get("REMATD_URL"):
            found["url"] = environ["REMATD_URL"]
        if environ.get("REMATD_TOKEN"):
            found["token"] = environ["REMATD_TOKEN"]
        if environ.get("REMATD_CLIENT_CA_FILE"):
            found["ca_file"] = environ["REMATD_CLIENT_CA_FILE"]
        for name, variable in (("enabled", "REMATD_CLIENT"), ("strict", "REMATD_CLIENT_STRICT")):
            if variable in environ:
                found[name] = _switch(variable, environ[variable])
        for name in ("connect_timeout", "timeout", "breaker"):
            variable = f"REMATD_CLIENT_{name.upper()}"
            if variable in environ:
                found[name + "_s"] = _number(variable, environ[variable], float)
        for name in ("retries", "breaker_failures"):
            variable = f"REMATD_CLIENT_{name.upper()}"
            if variable in environ:
                found[name] = _number(variable, environ[variable], int)
        found.update((key, value) for key, value in arguments.items() if value is not None)
        return replace(cls(), **found)


def _switch(variable: str, text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(f"{variable}: {text!r}, expected 0 or 1")


def _number(variable: str, text: str, kind: type) -> Any:
    try:
        value = kind(text)
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise ValueError(f"{variable}: {text!r}, expected a number, 0 or more")
    return value
