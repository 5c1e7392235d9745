"""A plan's diagnostics in words. Needs no PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: How many conflicts, and changes of a remedy, are told one by one.
MAX_CONFLICTS, MAX_CHANGES = 3, 8


def explain_no_plan(plan: Mapping[str, Any]) -> str:
    """Why a graph has no answer: the paths node by node, and the remedy that the service found and tried, or why none helps."""
    diagnostics = [d for d in _listed(plan.get("diagnostics")) if isinstance(d, dict)]
    errors = [d for d in diagnostics if d.get("severity") == "error"] or diagnostics
    lines = [_HEADS.get(str(plan.get("outcome")), "There is no plan.")]
    for diagnostic in errors[:MAX_CONFLICTS]:
        lines.append(f"{diagnostic.get('code', '')}: {diagnostic.get('message', '')}".strip(": "))
        last = ""
        for number, step in enumerate(_listed(diagnostic.get("path")), start=1):
            lines.append(f"  {number}. {_step(step, last)}")
            last = str(step.get("node") or last) if isinstance(step, dict) else last
        lines += _remedy(diagnostic)
    if len(errors) > MAX_CONFLICTS:
        lines.append(f"and {len(errors) - MAX_CONFLICTS} more, independent of these")
    if plan.get("digest"):
        lines.append(f"(plan {plan['digest']})")
    return "\n".join(lines)


def remedy_tags(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of tags that make a graph without an answer feasible, as the pass set_tags takes them; empty when none do."""
    for diagnostic in _listed(plan.get("diagnostics")):
        remedy = diagnostic.get("remedy") if isinstance(diagnostic, dict) else None
        if isinstance(remedy, dict) and isinstance(remedy.get("tags"), dict):
            return dict(remedy["tags"])
    return {}


_HEADS = {
    "infinite_flow": "The graph has no partition: a value the backward needs can be neither saved nor computed again.",
    "invalid_output": "The graph has no partition: an output of the forward depends on a gradient.",
}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _step(step: Any, last: str) -> str:
    """A vertex of a path and the edge that leads to it; the edge to the sink says something of the last node."""
    if not isinstance(step, dict):
        return str(step)
    node = step.get("node") or last
    origin = f" [{step['origin']}]" if step.get("origin") else ""
    return f"{node}: {step.get('reason', '')}{origin}"


def _remedy(diagnostic: Mapping[str, Any]) -> list[str]:
    """What to change, said once for all conflicts: it stands in the first."""
    if "remedy" not in diagnostic:
        return []
    remedy = diagnostic["remedy"]
    if remedy is None:
        facts = [fact for fact in _listed(diagnostic.get("facts")) if isinstance(fact, dict)]
        return ["  no change of tags helps:", *(f"    {_step(fact, '')}" for fact in facts)]
    if not isinstance(remedy, dict):
        return [f"  remedy: {remedy}"]
    changes = [change for change in _listed(remedy.get("changes")) if isinstance(change, dict)]
    lines = ["  remedy, tried, for all conflicts together:" if changes else f"  remedy: {remedy.get('message', remedy)}"]
    lines += [f"    {one.get('node')}: {_tag(one.get('from'))} -> {_tag(one.get('to'))}" for one in changes[:MAX_CHANGES]]
    if len(changes) > MAX_CHANGES:
        lines.append(f"    and {len(changes) - MAX_CHANGES} more")
    if changes:
        lines.append('    (on_conflict="repair" does that; as a pass: {"pass": "set_tags", "tags": the plan\'s remedy["tags"]})')
    return lines


def _tag(tag: Any) -> str:
    return "no tag" if tag is None else str(tag[0] if isinstance(tag, list) and tag else tag)
