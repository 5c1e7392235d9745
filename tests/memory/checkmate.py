"""The least recomputed work under a limit on peak memory, as an integer program in the style of Checkmate, for scipy's solver.

One block of variables for each turn of the backward, that is each of its operators in document order: which values of the forward have
been computed again by the end of it. A value is computed again once at most, in the turn that first wants it. For documents without
views, containers, symbols and tags, whose backward reads each tangent in its first operator and whose forward is all needed for its
outputs; sizes and FLOPs come from the oracle. Shares nothing with core.
"""
import random

import numpy
import oracle
import simulator
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix


class Program:
    """`solve(limit)` gives (least work found or None, proven lower bound), or None where no plan keeps the limit."""

    def __init__(self, doc):
        self.sim = simulator.Simulator(doc)
        g = self.sim.g
        closure = self.sim.info.tangents_closure
        self.values = [n for n in g.nodes if n not in closure and n.op != "output" and n.name not in self.sim.static]
        self.place = {n: i for i, n in enumerate(self.values)}
        self.calls = [n for n in self.values if n.op == "call_function"]
        self.turns = [n for n in g.nodes if n in closure and n.op == "call_function"]
        self.bytes = {n: self.sim.n_bytes(n.name) for n in self.values}
        self.flops = {n: oracle.flops(g, n) for n in self.calls}
        self.reads = [[p for p in t.inputs if p in self.place] for t in self.turns]
        self.last_read = {p: t for t, reads in enumerate(self.reads) for p in reads}
        self.users = {n: [u for u in n.users if u in self.place] for n in self.values}
        self.outputs = {o for o in g.fwd_outputs if o in self.place}
        self.n_columns, self.rows, self.upper, self.cost = 0, [], [], {}
        self.lay_out()

    # ---- columns and rows -------------------------------------------------------

    def column(self):
        self.n_columns += 1
        return self.n_columns - 1

    def at_most(self, terms, upper):
        """A row: the sum of (coefficient, column) is at most `upper`, a number or None for the limit."""
        self.rows.append(terms)
        self.upper.append(upper)

    def lay_out(self):
        m = len(self.turns)
        self.saved = {n: self.column() for n in self.values}
        self.again = {n: [self.column() for _ in range(m)] for n in self.calls}
        self.n_integral = self.n_columns
        for n in self.calls:
            self.cost[self.again[n][-1]] = self.flops[n]
            self.at_most([(1, self.saved[n]), (1, self.again[n][-1])], 1)
            for t in range(m):
                self.lay_out_value(n, t)
        for t, reads in enumerate(self.reads):
            for p in reads:
                self.at_most(self.there(p, t, -1), -1)
        self.lay_out_forward()
        for t in range(m):
            self.lay_out_turn(t)

    def there(self, n, t, factor=1):
        """Terms of: n is saved, or computed again by the end of turn t."""
        return [(factor, self.saved[n])] + ([(factor, self.again[n][t])] if n in self.again and t >= 0 else [])

    def new(self, n, t, factor=1):
        """Terms of: n is computed again in turn t."""
        return [(factor, self.again[n][t])] + ([(-factor, self.again[n][t - 1])] if t > 0 else [])

    def lay_out_value(self, n, t):
        if t > 0:
            self.at_most([(1, self.again[n][t - 1]), (-1, self.again[n][t])], 0)
        for p in n.inputs:
            if p in self.place:
                self.at_most([(1, self.again[n][t])] + self.there(p, t, -1), 0)
        wanted = self.new(n, t)
        for u in self.users[n]:
            wanted += self.new(u, t, -1)
        self.at_most(wanted, 1 if n in self.reads[t] else 0)

    def lay_out_forward(self):
        """A value lives to its last reader, or to the end where it is an output or saved."""
        last = {n: max([self.place[u] for u in self.users[n]] + [self.place[n]]) for n in self.values}
        for k in range(len(self.values)):
            fixed, terms = 0, []
            for n in self.values:
                if n.op == "call_function" and self.place[n] > k:
                    continue
                if last[n] >= k or n in self.outputs:
                    fixed += self.bytes[n]
                else:
                    terms.append((self.bytes[n], self.saved[n]))
            self.at_most(terms, (fixed,))

    # ---- the backward -------------------------------------------------------------

    def lay_out_turn(self, t):
        """Memory before each value that may be computed again in this turn, and at the operator itself."""
        alive = {}
        for k in range(len(self.values) + 1):
            terms = []
            for n in self.values:
                segment = (n, sum(self.place[x] <= k for x in [n]), sum(self.place[u] >= k for u in self.users[n]))
                if segment not in alive:
                    alive[segment] = self.lay_out_alive(n, t, k)
                terms += [(self.bytes[n], c) for c in alive[segment]]
            self.at_most(terms, (0,))

    def lay_out_alive(self, n, t, k):
        """Columns that are 1 where n is there at position k of turn t and read then or later."""
        there = self.there(n, t if self.place[n] <= k else t - 1)
        if self.last_read.get(n, -1) >= t:
            return [c for _, c in there]  # for sure read later
        column = self.column()
        for u in self.users[n]:
            later = [(1, self.again[u][-1])]
            if self.place[u] < k:
                later += [(-1, self.again[u][t])]
            elif t > 0:
                later += [(-1, self.again[u][t - 1])]
            self.at_most(there + later + [(-1, column)], 1)
        return [column]

    # ---- solving ------------------------------------------------------------------

    def solve(self, limit):
        """Coefficients are scaled, so that none is huge. Ends by nodes, not by time."""
        rows, columns, factors, upper = [], [], [], []
        scale = max(self.bytes.values())
        for i, (terms, most) in enumerate(zip(self.rows, self.upper)):
            is_memory = isinstance(most, tuple)
            upper.append((limit - most[0]) / scale if is_memory else most)
            for factor, column in terms:
                rows.append(i)
                columns.append(column)
                factors.append(factor / scale if is_memory else factor)
        unit = max(self.flops.values()) or 1
        cost = numpy.zeros(self.n_columns)
        for column, flops in self.cost.items():
            cost[column] = flops / unit
        integral = numpy.zeros(self.n_columns)
        integral[:self.n_integral] = 1
        matrix = csr_matrix((factors, (rows, columns)), shape=(len(self.rows), self.n_columns))
        found = milp(cost, integrality=integral, bounds=Bounds(0, 1), constraints=LinearConstraint(matrix, -numpy.inf, upper),
                     options={"mip_rel_gap": 0.0, "node_limit": 20000})
        if found.status == 2:
            return None
        return (found.fun * unit if found.x is not None else None), (found.mip_dual_bound or 0) * unit


class Layers:
    """Blocks of matrix products of different widths with a residual stream and a backward that reads some of each block."""

    def __init__(self, seed, n_blocks):
        self.r, self.nodes, self.shapes, self.weights = random.Random(f"layers {seed}"), [], {}, 0
        self.rows = self.r.choice([2, 4])
        self.add("x0", "placeholder", "primals_1", [], 4)
        last, blocks = "x0", []
        for k in range(n_blocks):
            values = self.block(k, last)
            blocks.append((last, values))
            last = values[-1]
        self.add("t", "placeholder", "tangents_1", [], 1)
        gradient = "t"
        for k, (x, values) in reversed(list(enumerate(blocks))):
            gradient = self.backward(k, gradient, [x] + values[:-1])
        self.outputs = [f"%{last}", f"%{gradient}"]

    def add(self, name, op, target, reads, width, **more):
        self.nodes.append({"name": name, "op": op, "target": target, "args": ["%" + a for a in reads],
                           "val": {"dtype": "uint8", "shape": [self.rows, width]}, **more})
        self.shapes[name] = width

    def product(self, name, x, width):
        weight = f"w{self.weights}"
        self.weights += 1
        self.nodes.insert(0, {"name": weight, "op": "placeholder", "target": f"primals_{self.weights + 1}",
                              "val": {"dtype": "uint8", "shape": [self.shapes[x], width]}})
        self.add(name, "call_function", "aten.mm.default", [x, weight], width)

    def block(self, k, x):
        r, values = self.r, []
        here = [x]
        for i in range(r.randint(2, 4)):
            name = f"f{k}_{i}"
            source = r.choice(here[-2:])
            if r.random() < 0.7:
                self.product(name, source, r.choice([1, 2, 4, 8, 16]))
            else:
                self.add(name, "call_function", "test.act.default", [source], self.shapes[source])
            here.append(name)
            values.append(name)
        unread = [v for v in values if not any("%" + v in d.get("args", ()) for d in self.nodes)]
        self.add(f"x{k + 1}", "call_function", "test.join.default", [x] + unread, self.shapes["x0"])
        return values + [f"x{k + 1}"]

    def backward(self, k, gradient, values):
        for i, v in enumerate(reversed([v for v in values if self.r.random() < 0.8] or values[:1])):
            name = f"b{k}_{i}"
            self.add(name, "call_function", "test.gradient.default", [gradient, v], 1)
            gradient = name
        return gradient

    def document(self):
        out = {"name": "output", "op": "output", "target": "output", "args": self.outputs}
        return {"schema": "remat/graph/v1", "num_fwd_outputs": 1, "static_lifetime_inputs": list(range(self.weights)),
                "nodes": self.nodes + [out]}
