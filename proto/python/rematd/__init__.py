"""Client of rematd, the service that decides which values a training step saves and which it computes again.

    import torch, torch._inductor.config
    import rematd
    torch._inductor.config.custom_partitioner_fn = rematd.Partitioner("http://127.0.0.1:7433")

``Partitioner`` and ``export_graph`` need PyTorch and are imported when they are used; the rest needs only the standard
library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rematd._version import __version__
from rematd.client import Client
from rematd.counters import counters
from rematd.errors import ExportError, NoPlan, Problem, RematdError, Unavailable, WrongAnswer
from rematd.settings import Settings

if TYPE_CHECKING:
    from rematd.export import export_graph
    from rematd.partitioner import Partitioner

__all__ = ["Client", "ExportError", "NoPlan", "Partitioner", "Problem", "RematdError", "Settings", "Unavailable", "WrongAnswer",
           "__version__", "counters", "export_graph"]


def __getattr__(name: str) -> Any:
    if name == "Partitioner":
        from rematd.partitioner import Partitioner

        return Partitioner
    if name == "export_graph":
        from rematd.export import export_graph

        return export_graph
    raise AttributeError(f"module 'rematd' has no attribute {name!r}")
