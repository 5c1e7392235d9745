"""Renamed graphs share a structure, and an answer made from another graph's template has the bytes that solving gives; any other
change gives another structure. The program checks the bytes (template_lines.c), this file the structures."""
# level: quick
# variants: asan
import copy
import json
import os
import random
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "support"), os.path.join(os.path.dirname(HERE), "diff")]
import data       # noqa: E402
import engine     # noqa: E402
import generate   # noqa: E402
import graphs     # noqa: E402
import reference  # noqa: E402

N_RANDOM = engine.at_level(quick=60, full=200, torture=20000)
PASSES = [
    {"pass": "sac_policy", "save": ["aten.mm.default", {"op": "mylib.none.default", "every": 2}], "modules": "*"},
    {"pass": "fsdp_all_gather", "reshard_after_forward": False},
    {"pass": "autoparallel", "stage_size_gib": "auto"},
    {"pass": "repair_tags"},
]
REQUESTS = [
    ("plan", {}, []), ("plan", {"explain": "full"}, []), ("plan", {"explain": "full", "profile": "plain"}, []),
    ("plan", {"explain": "none", "activation_memory_budget": 0.3}, []), ("plan", {"explain": "full"}, PASSES),
    ("plan", {"memory_limit_bytes": 10**15}, [PASSES[0]]), ("frontier", {"explain": "full"}, []), ("frontier", {}, [PASSES[2]]),
]
PIECES = ['"', "\\", "\n", "\t", "\x01", "\x7f", "\x1f", "%", "é", "名", "\U0001f600", "\u2028", "\ufffd", "ÿ", "þ", "\x80", "þd", "þb",
          "{", "}", "null", " ", "`", "tangents", "primals", "bwd_seed", "%s", "\ufeff"]


def ask(lines):
    """[kind, digest, structure, how] of each (call, graph, options, passes)."""
    text = b"".join(f"{call} ".encode() + json.dumps({"graph": g, "options": o, "passes": p}).encode() + b"\n" for call, g, o, p in lines)
    got = subprocess.run([os.path.join(engine.BUILD, "tests/proto/template_lines")], input=text, capture_output=True, timeout=600,
                         check=True).stdout.decode()
    rows = [row.split() for row in got.splitlines()]
    assert len(rows) == len(lines), (len(rows), len(lines))
    return rows


def new_name(r):
    name = "".join(r.choice(PIECES) for _ in range(r.choice([1, 2, 3, 8, 30, 300])))
    return name.lstrip("%") or "x"


def strings(value):
    """All strings of a value but references and keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for x in value:
            yield from strings(x)
    elif isinstance(value, dict):
        for x in value.values():
            yield from strings(x)


def literals(document):
    return {s for n in document["nodes"] for part in ("args", "kwargs") for s in strings(n.get(part, [])) if not s.startswith("%")}


def mapped(arg, names):
    """Of a typed literal only dict and slice hold arguments."""
    if isinstance(arg, str):
        return "%" + names[arg[1:]] if arg.startswith("%") and not arg.startswith("%%") else arg
    if isinstance(arg, list):
        return [mapped(x, names) for x in arg]
    if isinstance(arg, dict):
        (kind, inner), = arg.items()
        if kind == "slice":
            return {"slice": mapped(inner, names)}
        return {"dict": {k: mapped(x, names) for k, x in inner.items()}} if kind == "dict" else arg
    return arg


def renamed(document, passes, r):
    """Other names, in the tags that passes set too, and other labels of placeholders that mean the same. What a literal is stays, or a note about it would change."""
    document, taken = copy.deepcopy(document), literals(document)
    names, used = {}, set(taken)
    for n in document["nodes"]:
        name = n["name"] if n["name"] in taken else new_name(r)
        while name in used and n["name"] not in taken:
            name += r.choice(PIECES)
        used.add(name)
        names[n["name"]] = name
    for n in document["nodes"]:
        n["name"] = names[n["name"]]
        if "alias_of" in n:
            n["alias_of"] = names[n["alias_of"]]
        if "args" in n:
            n["args"] = [mapped(x, names) for x in n["args"]]
        if "kwargs" in n:
            n["kwargs"] = {k: mapped(x, names) for k, x in reversed(n["kwargs"].items())}
        n["stack"] = "another"
        if n["op"] == "placeholder" and n["target"].startswith("primals_"):
            n["target"] = "p" + n["target"]
    return document, [{**p, "tags": {names[n]: t for n, t in reversed(p["tags"].items())}} if "tags" in p else p for p in passes]


def set_tags(document, r):
    """A pass that names some nodes."""
    return {"pass": "set_tags", "tags": {n["name"]: r.choice([None, "must_save", "prefer_recompute", ["must_recompute", 3]])
                                         for n in r.sample(document["nodes"], min(3, len(document["nodes"])))}}


def is_used_by(n, name):
    return "%" + name in json.dumps([n.get("args", []), n.get("kwargs", {}), "%" + n.get("alias_of", "")], ensure_ascii=False)


def swapped(document, r):
    """Two neighbours that do not depend on each other, the other way around; None: there are none."""
    nodes = document["nodes"]
    places = [i for i in range(len(nodes) - 2) if not is_used_by(nodes[i + 1], nodes[i]["name"]) and
              {k: v for k, v in nodes[i].items() if k != "name"} != {k: v for k, v in nodes[i + 1].items() if k != "name"}]
    if not places:
        return None
    i = r.choice(places)
    document = copy.deepcopy(document)
    document["nodes"][i:i + 2] = reversed(document["nodes"][i:i + 2])
    return document


def changes(call, document, options, passes, r):
    """Requests that differ from this one in something else than names."""
    yield ("frontier" if call == "plan" else "plan"), document, options, passes
    yield call, document, {**options, "explain": "none" if options.get("explain") == "full" else "full"}, passes
    yield call, document, {**options, "max_dist_from_bw": 7}, passes
    yield call, document, options, passes + [{"pass": "repair_tags"}]
    yield call, document, options, passes + [set_tags(document, r)]
    if "tags" in (passes or [{}])[-1]:  # the same words for another node
        one, two = r.sample([n["name"] for n in document["nodes"]], 2)
        places = {one: two, two: one}
        tags = {places.get(n, n): t for n, t in passes[-1]["tags"].items()}
        if tags != passes[-1]["tags"]:
            yield call, document, options, passes[:-1] + [{"pass": "set_tags", "tags": tags}]
    other = swapped(document, r)
    if other is not None:
        yield call, other, options, passes
    calls = [i for i, n in enumerate(document["nodes"]) if n["op"] == "call_function"]
    for edit in ("arg", "literal", "target", "tag", "symbol", "trait") if calls else ():
        other = copy.deepcopy(document)
        n = other["nodes"][r.choice(calls)]
        if edit == "arg":
            n.setdefault("args", []).append("%" + other["nodes"][0]["name"])
        elif edit == "literal":
            n.setdefault("args", []).append("a literal")
        elif edit == "target":
            n["target"] += "x"
        elif edit == "tag":
            n["recompute"] = "must_save" if n.get("recompute") == "prefer_recompute" else "prefer_recompute"
        elif edit == "symbol":
            n["binds"] = "s" + n.get("binds", "1")
        else:
            n["traits"] = n.get("traits", []) + ["custom"]
        yield call, other, options, passes


class Templates(unittest.TestCase):
    def check(self, requests, r, with_changes):
        """Each request, it renamed twice, and perhaps its changes."""
        lines, groups = [], []
        for request in requests:
            call, document, options, passes = request
            group = [request]
            for _ in range(2):
                other, set_there = renamed(document, passes, r)
                group.append((call, other, options, set_there))
            if with_changes:
                group += changes(*request, r)
            groups.append((len(lines), len(group), document.get("name"), request[:1] + request[2:]))
            lines += group
        rows = ask(lines)
        kinds = {}
        for first, n, *what in groups:
            same, others = rows[first:first + 3], rows[first + 3:first + n]
            with self.subTest(what=what):
                if same[0][1] == "-":
                    self.assertEqual({row[1] for row in same}, {"-"})  # refused before anything was asked
                    continue
                self.assertEqual(len({row[2] for row in same}), 1)
                self.assertEqual(len({row[1] for row in same}), 3)
                self.assertEqual(len({row[0] for row in same}), 1)
                if same[0][0] != "problem":
                    self.assertEqual([row[3] for row in same[1:]], ["mapped", "mapped"])
                self.assertNotIn(same[0][2], [row[2] for row in others])
                for row in others:
                    self.assertNotEqual(row[3], "broken")
            kinds[same[0][0]] = kinds.get(same[0][0], 0) + 1
        return kinds

    def test_corpus(self):
        r = random.Random(1)
        names = data.corpus_names()[:6] if engine.LEVEL == "quick" else data.corpus_names()
        requests = [(call, json.loads(data.corpus_graph_text(name)), o, p)
                    for i, name in enumerate(names) for j, (call, o, p) in enumerate(REQUESTS) if engine.LEVEL == "torture" or (i + j) % 4 == 0]
        kinds = self.check(requests, r, False)
        self.assertGreater(kinds["plan"], 5)

    def test_cases(self):
        """Infinite flows and invalid outputs among them."""
        r = random.Random(2)
        requests = [(call, json.loads(data.case_graph_text(name)), o, p)
                    for name in data.case_names() for call, o, p in (REQUESTS[1], REQUESTS[2], REQUESTS[6], ("plan", {"memory_limit_bytes": 1}, []))]
        kinds = self.check(requests, r, False)
        self.assertGreater(min(kinds["plan"], kinds["infinite_flow"], kinds["invalid_output"]), 1, kinds)

    def test_random_graphs(self):
        generate.use_table(reference.TABLE)
        r, requests = random.Random(3), []
        for seed in range(1, N_RANDOM + 1):
            document, options = generate.graph(seed)
            call, more, passes = REQUESTS[seed % len(REQUESTS)]
            requests.append((call, document, {**options, **more}, passes + [set_tags(document, r)] * (seed % 3 == 0)))
        kinds = self.check(requests, r, True)
        self.assertGreater(kinds["plan"], N_RANDOM // 2, kinds)

    def test_problems_found_late_are_nobody_elses_answer(self):
        r, document = random.Random(4), graphs.size_unknown()
        kinds = self.check([("plan", document, {}, []), ("plan", document, {}, [{"pass": "sac_policy", "save": ["nosuch"]}])], r, False)
        self.assertEqual(kinds, {"problem": 2})


if __name__ == "__main__":
    unittest.main()
