"""Reads tests/data: real graphs with PyTorch's decisions, cases, random lines."""
import glob
import json
import lzma
import os

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


def _text(path):
    with lzma.open(path, "rt", encoding="utf-8") as f:
        return f.read()


def corpus_names():
    paths = glob.glob(os.path.join(DATA, "corpus", "*.graph.json.xz"))
    return sorted(os.path.basename(p)[:-len(".graph.json.xz")] for p in paths)


def corpus_graph_text(name):
    return _text(os.path.join(DATA, "corpus", name + ".graph.json.xz"))


def corpus_expected(name):
    return json.loads(_text(os.path.join(DATA, "corpus", name + ".expected.json.xz")))


def case_names():
    paths = glob.glob(os.path.join(DATA, "cases", "*.graph.json"))
    return sorted(os.path.basename(p)[:-len(".graph.json")] for p in paths)


def case_graph_text(name):
    with open(os.path.join(DATA, "cases", name + ".graph.json"), encoding="utf-8") as f:
        return f.read()


def case_expected(name):
    with open(os.path.join(DATA, "cases", name + ".expected.json"), encoding="utf-8") as f:
        return json.load(f)


def random_lines(kind):
    """Decoded lines {"graph", "options", "expected"} of "synthetic" or "perturbed"."""
    with lzma.open(os.path.join(DATA, "random", kind + ".ndjson.xz"), "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def asks_for_budget(graph, options):
    """Does this decision involve a memory budget below 1? A node's own wins."""
    for node in graph["nodes"]:
        if "memory_budget" in node:
            return node["memory_budget"] < 1
    return options.get("activation_memory_budget", 1) < 1


def depends_on_solver(graph, options):
    """Whether several answers are right: an integer program chose among equals."""
    return asks_for_budget(graph, options) and options.get("activation_memory_budget_solver") == "ilp"


def trace_names():
    """Samples of PyTorch's min_cut_information with the graph document beside it."""
    paths = glob.glob(os.path.join(DATA, "traces", "*.graph.json.xz"))
    return sorted(os.path.basename(p)[:-len(".graph.json.xz")] for p in paths)


def trace_graph_text(name):
    return _text(os.path.join(DATA, "traces", name + ".graph.json.xz"))


def trace_text(name):
    """The artifact, as PyTorch wrote it."""
    return _text(os.path.join(DATA, "traces", name + ".min_cut_information.json.xz"))
