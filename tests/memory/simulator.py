"""Bytes alive at every step of a plan, worked out apart from core: the halves come from the oracle, the order of the backward from a
walk that fetches what each operator lacks, and memory from a list of events that is replayed one by one.

The model is the one core/simulate.h states. Slow and plain on purpose.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "oracle")]

import oracle  # noqa: E402

with open(os.path.join(os.path.dirname(HERE), "oracle", "optable.json"), encoding="utf-8") as f:
    TABLE = json.load(f)

ACTIVATION, GRADIENT, STATIC = "activation", "gradient", "static"


class Storage:
    """One piece of memory: its first name, its kind, and what is in it now."""

    def __init__(self, name, kind, n_bytes):
        self.name, self.kind, self.n_bytes = name, kind, n_bytes
        self.touched = []


class Half:
    def __init__(self, inputs, kept, outputs):
        self.inputs, self.kept, self.outputs = inputs, kept, outputs


def is_container(n):
    return isinstance(n.val, dict) and ("tuple" in n.val or "dict" in n.val)


class Simulator:
    """A graph under options; `halves` of a plan, `run` of a half."""

    def __init__(self, doc, options=None):
        self.opt = {**oracle.DEFAULTS, **{k: v for k, v in (options or {}).items() if k in oracle.DEFAULTS}}
        self.all = oracle.Graph(doc, TABLE)
        self.g = oracle.without_dead_code(self.all, self.opt)
        oracle.clean_tags(self.g, self.opt)
        self.info = oracle.classify(self.g, self.opt)
        self.closure = {n.name for n in self.info.tangents_closure}
        self.static = {n.name for n in self.all.static}

    # ---- facts ----------------------------------------------------------------

    def holds_views(self, n):
        return is_container(n) and (self.all.cls(n, "view") or "is_view" in n.traits)

    def root(self, name):
        """The value whose storage this one holds."""
        n = self.all.by[name]
        if self.holds_views(n):
            return self.root(n.inputs[0].name) if n.inputs else name
        other = n.d.get("alias_of") if oracle.is_tensor(n.val) and not n.val.get("no_storage") else None
        return name if other in (None, name) else self.root(other)

    def n_bytes(self, name):
        n = self.all.by[name]
        if oracle.is_sym(n) or self.holds_views(n):
            return 0
        try:
            return self.all.size(n)
        except oracle.PlanError:
            return 0

    def kind(self, name):
        if name in self.static or self.all.by[name].op == "get_attr":
            return STATIC
        return GRADIENT if name in self.closure else ACTIVATION

    # ---- halves ---------------------------------------------------------------

    def half(self, inputs, outputs, side):
        live, users, _ = oracle.subgraph(self.g, inputs, outputs, side, self.opt)
        out = []
        for o in outputs:
            if isinstance(o, oracle.Node):
                out.append(o if o in users else oracle.substitute_output(o, set(users)))
        return Half(inputs, live, out)

    def halves(self, saved):
        """Of a plan that passes on the values of these names."""
        g, passed = self.g, [self.g.by[name] for name in saved]
        states = [n for n in g.placeholders if oracle.is_backward_state(n)]
        forward = self.half(g.primals + g.fwd_seeds, g.fwd_outputs + passed, "forward")
        backward = self.half(passed + g.tangents + g.bwd_seeds + states, g.bwd_outputs, "backward")
        return forward, backward

    def backward_order(self, half):
        kept, place = set(half.kept), {n: i for i, n in enumerate(self.g.nodes)}
        done, order = set(half.inputs), []

        def fetch(*wanted):
            lacking, stack = set(), list(wanted)
            while stack:
                n = stack.pop()
                if n in done or n in lacking:
                    continue
                lacking.add(n)
                stack += n.inputs
            for n in sorted(lacking, key=place.get):
                done.add(n)
                order.append(n)

        read_by = [place[u] for t in self.g.tangents for u in t.users if u in kept]
        read_by += [place[self.g.output] for t in self.g.tangents if t in half.outputs]
        first = min(read_by, default=0)
        for n in half.kept:
            if place[n] < first and n.target == "aten.copy_.default":
                fetch(n)
        for n in half.kept:
            if place[n] >= first:
                fetch(n)
        fetch(*half.outputs)
        return order

    # ---- one half -------------------------------------------------------------

    def run(self, half, backward):
        """[(name or None, activation bytes, gradient bytes)] by step, the peak of activations, and the names alive at it."""
        order = self.backward_order(half) if backward else list(half.kept)
        held, shared = {}, {}  # by value; by root and whether it is computed in this half

        def storage_of(root, anew, name):
            if (root, anew) not in shared:
                shared[root, anew] = Storage(name, self.kind(root), self.n_bytes(root))
            return shared[root, anew]

        events = []  # (step, what happens, storage, bytes)

        def make(n, storage, step):
            held[n] = storage
            if not storage.touched:
                events.append((step, "make", storage, storage.n_bytes))
            storage.touched.append(step)

        for n in sorted(set(half.inputs), key=lambda n: n.i):
            make(n, storage_of(self.root(n.name), False, n.name), 0)
        for step, n in enumerate(order, 1):
            root = self.root(n.name)
            like = [p for p in n.inputs if self.root(p.name) == root] if backward and root != n.name else []
            make(n, held[like[0]] if like else storage_of(root, backward, n.name), step)
            for p in n.inputs:
                held[p].touched.append(step)
            box = n.args[0].node if n.target == "getitem" and n.args and isinstance(n.args[0], oracle.Ref) else None
            if box is not None and is_container(box) and not is_container(n) and self.root(box.name) == box.name:
                events.append((step, "take", held[box], self.n_bytes(n.name)))
        last = len(order)
        for o in half.outputs:
            if o in held:
                held[o].touched.append(last)
        for storage in {id(s): s for s in held.values()}.values():
            events.append((max(storage.touched) + 1, "drop", storage, 0))
        return self.replay(events, order)

    @staticmethod
    def replay(events, order):
        by_step = {}
        for event in events:
            by_step.setdefault(event[0], []).append(event)
        now, total, curve = {}, {ACTIVATION: 0, GRADIENT: 0, STATIC: 0}, []
        peak, alive = 0, []
        for step in range(len(order) + 1):
            for _, what, storage, n_bytes in by_step.get(step, ()):
                if what == "make":
                    now[storage] = n_bytes
                    total[storage.kind] += n_bytes
                elif what == "take":
                    part = min(n_bytes, now[storage])
                    now[storage] -= part
                    total[storage.kind] -= part
                else:
                    total[storage.kind] -= now.pop(storage)
            curve.append((order[step - 1].name if step else None, total[ACTIVATION], total[GRADIENT]))
            if total[ACTIVATION] > peak or step == 0:
                peak = total[ACTIVATION]
                alive = [s.name for s, n_bytes in now.items() if s.kind == ACTIVATION and n_bytes > 0]
        return curve, peak, alive

    def simulate(self, saved):
        """All that memory_lines says about a plan that passes on these values."""
        forward, backward = self.halves(saved)
        fw_curve, fw_peak, fw_alive = self.run(forward, False)
        bw_curve, bw_peak, bw_alive = self.run(backward, True)
        resident = sum(self.n_bytes(n.name) for n in self.g.nodes if self.root(n.name) == n.name and self.kind(n.name) == STATIC)
        gradients = max(g for _, _, g in fw_curve + bw_curve)
        total = max(a + g for _, a, g in fw_curve + bw_curve) + resident
        alive = bw_alive if bw_peak > fw_peak else fw_alive
        return {"peak_forward_bytes": fw_peak, "peak_backward_bytes": bw_peak, "peak_gradient_bytes": gradients,
                "peak_total_bytes": total, "resident_bytes": resident,
                "peak_nodes": sorted(alive, key=lambda name: self.all.by[name].i),
                "forward": [list(p) for p in fw_curve], "backward": [list(p) for p in bw_curve]}
