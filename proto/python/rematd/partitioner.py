"""``Partitioner``: torch.compile takes its decision what to save from a rematd service. Needs PyTorch."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import torch
from torch import fx
from torch._functorch import config as functorch_config
from torch._functorch import partitioners
from torch._inductor import config as inductor_config
from torch._inductor.custom_graph_pass import CustomPartitionerFn

from rematd._version import __version__
from rematd.client import Client
from rematd.costs import ESTIMATOR, OF_THE_SERVICE, costs_of
from rematd.counters import counters
from rematd.decision import Session, partition
from rematd.errors import ExportError, NoPlan, Problem, RematdError, Unavailable, WrongAnswer
from rematd.explain import explain_no_plan, remedy_tags
from rematd.export import export_graph
from rematd.settings import Settings

log = logging.getLogger("rematd")

#: Settings of torch._functorch.config that the service knows under the same names.
CONFIG_OPTIONS = (
    "aggressive_recomputation", "recompute_views", "treat_parameters_as_free_to_save", "max_dist_from_bw",
    "ban_recompute_used_far_apart", "ban_recompute_long_fusible_chains", "ban_recompute_materialized_backward",
    "ban_recompute_not_in_allowlist", "ban_recompute_reductions", "is_non_builtin_to_include",
    "unsafe_allow_optimization_of_collectives", "activation_memory_budget", "activation_memory_budget_solver",
    ESTIMATOR,
)
SOLVERS = ("dp", "greedy", "ilp", "dp_knapsack_sliding_hirschberg")
#: The diagnostic of a value that is computed again from an input that the forward writes to.
REREAD = "mutated-storage-reread"
REPAIR: dict[str, Any] = {"pass": "repair_tags"}

_warned: set[str] = set()
_warned_lock = threading.Lock()


class Partitioner(CustomPartitionerFn):  # type: ignore[misc]  # without PyTorch its classes have no type
    """Decides what a compiled training step saves by asking a rematd service; PyTorch does the rest.

    For ``torch._inductor.config.custom_partitioner_fn``, and as ``partition_fn`` of AOTAutograd backends.

    ``url`` of the service; ``options`` as the service knows them, over those of ``torch._functorch.config``; ``passes`` over
    checkpoint tags, done by the service; ``on_conflict`` is ``"raise"`` or ``"repair"`` (contradictory tags of a graph that
    has no answer are repaired and reported); ``group`` names a job whose ranks are to get one decision, with ``rank`` and
    ``world_size`` from torch.distributed unless given. The other keywords are those of Settings.

    When the service gives no answer in time, PyTorch's own partitioner decides, with one warning per process, and the
    compiled program is kept out of PyTorch's caches; ``strict=True`` raises instead. NoPlan is raised when the graph has
    no answer, Problem when an option or pass is a mistake: those are the caller's to mend.

    Threads may share it.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        passes: Sequence[Mapping[str, Any]] = (),
        on_conflict: str = "raise",
        group: str | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        client: Client | None = None,
        **settings: Any,
    ) -> None:
        if on_conflict not in ("raise", "repair"):
            raise ValueError(f'on_conflict={on_conflict!r}, expected "raise" or "repair"')
        self.client = client or Client(Settings.from_environment(url=url, **settings))
        self.settings = self.client.settings
        self.options = dict(options or {})
        self.passes = [dict(one) for one in passes]
        self.on_conflict = on_conflict
        self.group, self._rank, self._world_size = group, rank, world_size
        self.last_plan: Mapping[str, Any] | None = None
        self.last_export_s = 0.0
        self.last_ask_s = 0.0
        self._graphs = itertools.count()
        self._local = threading.local()

    # Inductor copies its whole configuration, and its keys are made of the pickled form.

    def __copy__(self) -> Partitioner:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Partitioner:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """What decides, and not where or how long to ask: what was compiled is the same at every address of an engine.

        Settings come from the environment of the process that reads it.
        """
        return _rebuild, ({"options": self.options, "passes": self.passes, "on_conflict": self.on_conflict},)

    # ---- PyTorch's interface ----

    def __call__(
        self, gm: fx.GraphModule, joint_inputs: Sequence[object], compiler: str = "inductor", **kwargs: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        """The forward and the backward graph of a joint one."""
        counters.add("decisions")

        def run() -> tuple[fx.GraphModule, fx.GraphModule]:
            made: tuple[fx.GraphModule, fx.GraphModule] = partitioners.min_cut_rematerialization_partition(
                gm, joint_inputs, compiler=compiler, **kwargs)
            return made

        if not self.settings.enabled:
            return run()
        made: tuple[fx.GraphModule, fx.GraphModule]
        session = Session(gm, lambda module: self._decide(module, kwargs), allow_random=bool(self.options.get("compat")))
        self.last_plan = None
        try:
            made = partition(session, run)
        except (NoPlan, Problem):
            raise
        except Exception as error:
            if session.plan is None:
                raise  # PyTorch's own partitioner failed, or strict
            counters.add("wrong_answers")
            self._fall_back(error if isinstance(error, WrongAnswer) else WrongAnswer(f"the plan does not fit: {error}"))
            session.restore_tags()
            return run()
        if session.asked and session.plan is not None:
            counters.add("plans")
            self.last_plan = session.plan
            _warn_of(session.plan)
            self._keep_caches_true(session.plan.get("engine"))
        elif not session.asked:
            self._fall_back(RematdError("this PyTorch's partitioner is not one this package knows"))
        return made

    def uuid(self) -> str:
        """What compiled programs are kept under: options, passes, and who decides.

        A service that cannot be asked for its engine version leads to another key than any that can, so that what was
        compiled without it is not found once it is there. Never None: PyTorch would cache all the same.
        """
        engine: str | None = "off"
        if self.settings.enabled:
            engine = None if self.client.breaker.is_open else self.client.engine()
            self._local.engine = engine
        about = {
            "client": __version__, "engine": engine, "options": self.options, "passes": self.passes,
            "on_conflict": self.on_conflict, "budget": _plain(getattr(functorch_config, "activation_memory_budget", None)),
            "group": self.group is not None,
        }
        return "rematd:" + hashlib.sha256(json.dumps(about, sort_keys=True, default=repr).encode()).hexdigest()

    # ---- the decision ----

    def _decide(self, module: fx.GraphModule, kwargs: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """A plan for the cleaned graph, or None for PyTorch's own."""
        try:
            start = time.perf_counter()
            options = self._options()
            costs = costs_of(module.graph, options)
            graph = export_graph(
                module, num_fwd_outputs=kwargs["num_fwd_outputs"],
                static_lifetime_input_indices=kwargs.get("static_lifetime_input_indices"), runtime=costs)
            if costs is not None:
                costs.check()
            if costs is not None or options.get(ESTIMATOR) not in OF_THE_SERVICE:
                options[ESTIMATOR] = "given"
            asked = time.perf_counter()
            self.last_export_s = asked - start
            plan = self._ask(graph, options, self.passes)
            self.last_ask_s = time.perf_counter() - asked
            if plan["outcome"] == "infinite_flow" and self.on_conflict == "repair":
                plan = self._repair(graph, options, plan)
        except Problem as problem:
            if problem.is_callers_mistake:
                raise
            self._fall_back(problem)
            return None
        except (ExportError, Unavailable, WrongAnswer, _NotForTheService) as error:
            self._fall_back(error)
            return None
        if plan["outcome"] == "plan":
            return plan
        counters.add("no_plan")
        raise NoPlan(explain_no_plan(plan), dict(plan))

    def _ask(
        self, graph: Mapping[str, Any], options: Mapping[str, Any], passes: Sequence[Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        if passes:  # what they changed goes to the live graph's tags, so it has to be told
            options = {name: value for name, value in options.items() if (name, value) != ("explain", "none")}
        if self.group is None:
            return self.client.plan(graph, options=options, passes=passes)
        rank, world_size = self._place()
        key = f"{self.group}.{next(self._graphs)}"
        try:
            return self.client.group_plan(key, rank, world_size, graph, options=options, passes=passes)
        except Problem as problem:
            if problem.status not in (409, 504) or self.settings.strict:
                raise
            _warn_once("group " + problem.code, f"rematd: {problem}; this rank asks alone")
            return self.client.plan(graph, options=options, passes=passes)

    def _repair(self, graph: Mapping[str, Any], options: Mapping[str, Any], plan: Mapping[str, Any]) -> Mapping[str, Any]:
        """Asks again with the plan's own remedy, and where there is none or it does not help, with contradictory tags repaired
        by rule; the first answer if that does not help either."""
        tags = remedy_tags(plan)
        repairs: list[dict[str, Any]] = [{"pass": "set_tags", "tags": tags}] if tags else []
        for repair in [*repairs, REPAIR]:
            mended = self._ask(graph, options, [*self.passes, repair])
            if mended["outcome"] == "plan":
                break
        else:
            return plan
        counters.add("repaired")
        reports = [report for report in mended.get("passes") or () if isinstance(report, dict)]
        changed = [str(change.get("node")) for change in (reports[-1].get("changes") or () if reports else ())]
        _warn_once("repaired", "rematd: checkpoint tags contradict each other; repaired on " + ", ".join(changed[:5])
                   + (f" and {len(changed) - 5} more" if len(changed) > 5 else "") + ":\n" + explain_no_plan(plan))
        return mended

    def _place(self) -> tuple[int, int]:
        """Rank and number of ranks."""
        if self._rank is not None and self._world_size is not None:
            return self._rank, self._world_size
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(), torch.distributed.get_world_size()
        return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))

    def _options(self) -> dict[str, Any]:
        """PyTorch's settings under the service's names, and the caller's over them."""
        options: dict[str, Any] = {}
        for name in CONFIG_OPTIONS:
            if hasattr(functorch_config, name):
                options[name] = getattr(functorch_config, name)
        # As Graph.eliminate_dead_code decides what to keep.
        options["impure_random"] = bool(inductor_config.fallback_random) if torch._guards.TracingContext.try_get() else True
        options.update(self.options)
        if options.get("activation_memory_budget_solver") not in SOLVERS:
            raise _NotForTheService("activation_memory_budget_solver is code of this process")
        return options

    # ---- when PyTorch decides ----

    def _fall_back(self, error: RematdError) -> None:
        """Counts, warns once, keeps the caches true; raises in strict mode."""
        if self.settings.strict:
            raise error
        counters.add("fallbacks")
        _forget_cache_key()
        _warn_once("fallback", f"rematd: {error}; PyTorch's own partitioner decides instead"
                   + (", without the passes that were asked for" if self.passes else "")
                   + " (strict=True or REMATD_CLIENT_STRICT=1 makes this an error; further ones are only counted)")

    def _keep_caches_true(self, engine: Any) -> None:
        """A plan by another engine than the one in the key must not be found under that key."""
        if getattr(self._local, "engine", engine) != engine:
            _forget_cache_key()


def _rebuild(arguments: dict[str, Any]) -> Partitioner:
    return Partitioner(**arguments)


class _NotForTheService(RematdError):
    """A setting that is code of this process."""


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str)) else None


def _forget_cache_key() -> None:
    """Keeps the program that is being compiled out of AOTAutograd's cache, and so out of all that is found through it.

    Its key was computed before the decision, and says that the service decides. PyTorch passes the configuration of the
    compilation down by argument only, so it is looked for in the callers' frames.
    """
    frame: FrameType | None = sys._getframe(1)
    found = False
    while frame is not None:
        config: Any = frame.f_locals.get("aot_config")
        if getattr(config, "cache_info", None) is not None:
            object.__setattr__(config, "cache_info", None)  # a frozen dataclass, which is read again when it saves
            found = True
        frame = frame.f_back
    if found:
        counters.add("not_cached")


def _warn_of(plan: Mapping[str, Any]) -> None:
    """PyTorch decides the same, and trains on with gradients that are not eager's: that must not go unnoticed."""
    diagnostics = plan.get("diagnostics")
    told = [str(d.get("message")) for d in (diagnostics if isinstance(diagnostics, list) else ())
            if isinstance(d, dict) and d.get("code") == REREAD]
    if told:
        _warn_once(REREAD, f"rematd: {told[0]}" + (f" ({len(told) - 1} more like it)" if len(told) > 1 else ""))


def _warn_once(kind: str, message: str) -> None:
    with _warned_lock:
        if kind in _warned:
            log.debug("%s", message)
            return
        _warned.add(kind)
    log.warning("%s", message)
