"""PyTorch's budget plans against the frontier of the same graph.

`python3 tests/frontier/dominance.py` prints the table of the README.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), d) for d in ("support", "budget", "oracle", "diff")]

import reference  # noqa: E402

import data  # noqa: E402
import oracle  # noqa: E402
from lines import Lines  # noqa: E402


DROPOUT_AT = {"aten._scaled_dot_product_flash_attention_for_cpu.default": 3, "aten._scaled_dot_product_cudnn_attention.default": 5}


class Judge:
    """Reads one graph by means of the oracle: sizes, tags after clean-up, classes."""

    def __init__(self, name):
        self.text, self.expected = data.corpus_graph_text(name).replace("\n", " "), data.corpus_expected(name)
        self.flops = self.expected["flops"]
        self.document = json.loads(self.text)
        self.graph = oracle.Graph(self.document, reference.TABLE)
        self.tags = self.expected["results"]["default"]["tags"]
        self.nodes = {n.name: n for n in self.graph.nodes}
        self.classified, self.static = None, self.static_inputs()
        # attention without dropout: seeded by its schema, but it draws nothing
        self.calm = {d["name"] for d in self.document["nodes"] if d["op"] == "call_function" and d["target"] in DROPOUT_AT and
                     (d["args"] + 9 * [0.0])[DROPOUT_AT[d["target"]]] == 0}

    def static_inputs(self):
        primals = [d["name"] for d in self.document["nodes"] if d["op"] == "placeholder" and not any(
            w in d["target"] for w in ("tangents", "bwd_seed", "bwd_base_offset", "fwd_seed", "fwd_base_offset"))]
        return {primals[i] for i in self.document.get("static_lifetime_inputs", ())}

    def bytes(self, names):
        return sum(self.graph.size(self.nodes[name]) for name in names)

    def measure(self, plan):
        """(saved bytes, of them in static inputs, recomputed FLOPs) of a plan."""
        return (self.bytes(plan["saved"]), self.bytes([v for v in plan["saved"] if v in self.static]),
                sum(self.flops.get(v, 0) for v in plan["recomputed"]))

    def broken(self, plan):
        """Values a plan computes again although they must be saved or would differ."""
        classes = {d["name"]: self.traits(d) for d in self.document["nodes"]}
        return [v for v in plan["recomputed"] if not self.tags.get(v, "").endswith("_recompute") and
                (self.tags.get(v) == "must_save" or classes[v] & {"random", "seeded", "no_recompute"}) and v not in self.calm]

    @staticmethod
    def traits(d):
        target = d["target"]
        packet = target if target in reference.TABLE["packets"] else target.rsplit(".", 1)[0]
        facts = set(reference.TABLE["packets"].get(packet, ())) | set(reference.TABLE["overloads"].get(target, ()))
        facts |= {t for t in d.get("traits", ()) if not t.startswith("-")}
        return facts - {t[1:] for t in d.get("traits", ()) if t.startswith("-")}

    def recomputed(self, plan):
        """What both halves compute, by the oracle, when the plan's values are passed on."""
        if self.classified is None:
            options = {**oracle.DEFAULTS, "impure_random": self.expected["impure_random"]}
            graph = oracle.without_dead_code(oracle.Graph(json.loads(self.text), reference.TABLE), options)
            oracle.clean_tags(graph, options)
            oracle.classify(graph, options)
            self.classified = graph, {n.name: n for n in graph.nodes}, options
        (graph, nodes, options), out = self.classified, {}
        oracle.extract(graph, [nodes[v] for v in plan["saved"] + plan["saved_sym"] + plan["saved_opaque"]], options, out)
        return out["recomputed"]

    def budget_results(self):
        """(name, result) of the plans under a budget below 1."""
        for name, result in self.expected["results"].items():
            if "error" not in result and result["options"].get("activation_memory_budget", 1) < 1:
                yield name, result

    def frontier(self, ask):
        impure = json.dumps(self.expected["impure_random"])
        return ask('{"graph":%s,"options":{"impure_random":%s}}' % (self.text, impure))


class Row:
    """One graph: its frontier, plans `compared` as (name, saved bytes, of them static, FLOPs, best point), and `broken` ones with why."""

    def __init__(self, name, ask):
        self.name, self.judge = name, Judge(name)
        self.frontier, self.compared, self.broken = self.judge.frontier(ask), [], []
        for result_name, result in self.judge.budget_results():
            why = self.judge.broken(result)
            if why:
                self.broken.append((result_name, why))
                continue
            saved, static, flops = self.judge.measure(result)
            self.compared.append((result_name, saved, static, flops, best(self.frontier["points"], saved, flops)))

    def costs(self):
        return [(p["saved_bytes"], p["recomputed_flops"]) for p in self.frontier["points"]]

    def better(self):
        """(saved bytes, FLOPs, point) of plans that a point betters in one and equals at least in the other."""
        return [(b, f, p) for _, b, _, f, p in self.compared if p and (p["saved_bytes"] < b or p["recomputed_flops"] < f)]


def gain(point, saved, flops):
    """What a point saves, of the bytes and of the FLOPs, as parts of 1."""
    return (saved - point["saved_bytes"]) / (saved or 1), (flops - point["recomputed_flops"]) / (flops or 1)


def best(points, saved, flops):
    """Of the points at least as good in both the one that gains most in sum; None: there is none."""
    fit = [p for p in points if p["saved_bytes"] <= saved and p["recomputed_flops"] <= flops]
    return max(fit, key=lambda p: sum(gain(p, saved, flops))) if fit else None


def rows():
    """A Row for each corpus graph with budget results, all of one process."""
    with Lines("tests/frontier/frontier_lines") as ask:
        for name in data.corpus_names():
            row = Row(name, ask)
            if row.compared or row.broken:
                yield row


def percent(part):
    return "0" if part == 0 else f"{100 * part:.1f} %"


def table(all_rows):
    """The lines of the README's table."""
    yield "| graph | points | PyTorch plans compared | strictly better | fewer bytes, most | fewer FLOPs, most | not compared |"
    yield "|---|---|---|---|---|---|---|"
    sums = [0, 0, 0]
    for row in all_rows:
        better = row.better()
        gains = [gain(p, b, f) for b, f, p in better] or [(0, 0)]
        sums = [a + b for a, b in zip(sums, (len(row.compared), len(better), len(row.broken)))]
        yield (f"| {row.name} | {len(row.frontier['points'])} | {len(row.compared)} | {len(better)} | "
               f"{percent(max(g[0] for g in gains))} | {percent(max(g[1] for g in gains))} | {len(row.broken)} |")
    yield f"| all | | {sums[0]} | {sums[1]} | | | {sums[2]} |"


def label(result_name):
    """budget_0.5_dp_testing: "0.5 testing"; what is PyTorch's default is left out."""
    _, budget, solver, estimator = result_name.split("_")
    return " ".join([f"{float(budget):g}"] + [word for word in (solver, estimator) if word not in ("dp", "flops")])


def left_out(all_rows):
    """The lines that list the plans that are not compared."""
    for row in all_rows:
        if row.broken:
            yield f"- {row.name}: {', '.join(label(name) for name, _ in row.broken)}"


def main():
    found = list(rows())
    print("\n".join([*table(found), *left_out(found)]))


if __name__ == "__main__":
    main()
