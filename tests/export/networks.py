"""Reads what `remat export` writes: the network as DIMACS, as networkx takes it, and as DOT, as Graphviz takes it."""
import collections
import json
import re
import subprocess

import networkx
from daemon import REMAT, run

Network = collections.namedtuple("Network", "n source sink arcs vertices cut infinite outcome")


def export(body, form, *flags, options=None):
    """The finished program."""
    more = ["--options", json.dumps(options)] if options else []
    return run(REMAT, "export", "-", "--as", form, *flags, *more, stdin=body if isinstance(body, bytes) else body.encode())


def read_dimacs(text):
    """A Network; `arcs` are (from, to, capacity), `vertices` (node, "in" or "out") by number. Asserts what readers rely on."""
    n = n_arcs = source = sink = cut = infinite = outcome = last = None
    arcs, vertices, pieces = [], {}, {}
    for line in text.removesuffix("\n").split("\n"):
        assert len(line.encode()) < 80, line
        kind, _, rest = line.partition(" ")
        if kind == "c":
            word, _, value = rest.partition(" ")
            if word == "+":
                pieces.setdefault(last, []).append(value)
                continue
            last = rest
            cut = int(value) if word == "cut" else cut
            infinite = int(value) if word == "infinite" else infinite
            outcome = value if word == "outcome" else outcome
        elif kind == "p":
            assert n is None and re.fullmatch(r"max \d+ \d+", rest), line
            n, n_arcs = map(int, rest.split()[1:])
        elif kind == "n":
            number, which = rest.split()
            assert which in "st" and n is not None
            source, sink = (int(number), sink) if which == "s" else (source, int(number))
        else:
            assert kind == "a" and source and sink, line
            arcs.append(tuple(map(int, rest.split())))
    for comment, texts in pieces.items():
        found = re.fullmatch(r"vertex (\d+) (in|out)", comment)
        if found:
            vertices[int(found.group(1))] = (json.loads("".join(texts)), found.group(2))
    assert len(arcs) == n_arcs
    assert all(1 <= a <= n and 1 <= b <= n and 0 <= c <= infinite for a, b, c in arcs)
    assert set(vertices) | {source, sink} == set(range(1, n + 1)) and not {source, sink} & set(vertices)
    assert not any(b == source or a == sink for a, b, _ in arcs)
    return Network(n, source, sink, arcs, vertices, cut, infinite, outcome)


def maximum_flow(network):
    """By networkx."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(1, network.n + 1))
    for a, b, capacity in network.arcs:
        known = graph.get_edge_data(a, b, {"capacity": 0})
        graph.add_edge(a, b, capacity=known["capacity"] + capacity)
    return networkx.maximum_flow_value(graph, network.source, network.sink)


def near(network, name, depth):
    """The nodes at most `depth` edges of the network away from one."""
    edges = collections.defaultdict(set)
    for a, b, _ in network.arcs:
        if a in network.vertices and b in network.vertices:
            one, other = network.vertices[a][0], network.vertices[b][0]
            edges[one].add(other)
            edges[other].add(one)
    found, border = {name}, {name}
    for _ in range(depth):
        border = set().union(*(edges[v] for v in border)) - found if border else border
        found |= border
    return found


def unquote(text):
    """A string that Graphviz gives back, as it would draw it."""
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found.group(1), found.group(1)), text, flags=re.S)


def read_dot(text):
    """By Graphviz: ({vertex: (label, name of its node)}, [(from, to, label, colour, style)])."""
    program = ('BEG_G { print("G"); } N { printf("N\\t%s\\t%s\\t%s\\n", $.name, $.label, $.remat_node); } '
               'E { printf("E\\t%s\\t%s\\t%s\\t%s\\t%s\\n", $.tail.name, $.head.name, $.label, $.color, $.style); }')
    done = subprocess.run(["gvpr", program], input=text.encode(), capture_output=True, check=True)
    assert not done.stderr, done.stderr
    vertices, edges = {}, []
    for line in done.stdout.decode().split("\n"):
        kind, *fields = line.split("\t", 3 if line.startswith("N") else -1)
        if kind == "N":
            vertices[fields[0]] = (fields[1], unquote(fields[2]))
        elif kind == "E":
            edges.append(tuple(fields))
    return vertices, edges
