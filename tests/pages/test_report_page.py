# variants: asan
"""remat report: a file that asks nothing of anybody, is well formed whatever the names are, and shows what the plan says without JavaScript."""
import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import data    # noqa: E402
import engine  # noqa: E402
import graphs  # noqa: E402
import page    # noqa: E402

REMAT = os.path.join(engine.BUILD, "remat")
PAGES = os.path.join(engine.ROOT, "proto", "pages")
HOSTILE = [
    "<script>alert(1)</script>", "</script><script>alert(2)</script>", "<!--", "]]>", "a\"b'c`d", "&amp;&lt;",
    "\" onmouseover=\"alert(3)", "javascript:alert(4)", "\u202egnp.exe", "\u05d0\u05d1\u05d2", "\u2066x\u2069", "tab\tnew\nline\rend",
    "bell\u0007\u001b[31m", "\u0085\u009f", "del\u007f", "\u2028\u2029", "\ufeff", "\ufffe\uffff", "\U0001f600",
    "=1+1", "a%s%n", "x" * 10240, "\u00e9" * 300,
]


def remat(command, document, *flags):
    done = subprocess.run([REMAT, command, "-", *flags], input=document if isinstance(document, bytes) else document.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    return done.returncode, done.stdout, done.stderr


def report(document, *flags):
    code, out, err = remat("report", document, *flags)
    if code not in (0, 3):
        raise AssertionError((code, err[-2000:]))
    return out


def plan(document, *flags):
    return json.loads(remat("plan", document, *flags)[1])


def embedded(tree, name):
    found = tree.find("script", id=name)
    return json.loads(found[0].text()) if found else None


def saved_rows(tree):
    """Names and bytes of the table of saved values."""
    rows = tree.one("table", id="saved-table").one("tbody").find("tr")
    return [(row.one("button").attributes["data-node"], int(row.find("td", class_="n")[0].attributes["data-v"])) for row in rows]


def chain(names, tag=None):
    """A graph whose nodes have these names: x, then each the sine of the one before, and a backward that reads all."""
    value = {"dtype": "float32", "shape": [4, 4]}
    def node(name, op, target, args, **more):
        return {"name": name, "op": op, "target": target, "args": args, "val": value, **more}
    nodes = [{"name": "x0", "op": "placeholder", "target": "primals_1", "val": value},
             {"name": "t0", "op": "placeholder", "target": "tangents_1", "val": value}]
    before, gradient = "x0", "t0"
    for name in names:
        nodes.append(node(name, "call_function", "aten.mm.default", ["%" + before, "%x0"], module=name, stack=f'File "/m/{name}", line 7, in f',
                          **({"recompute": tag, "ac_graph_id": 1} if tag else {})))
        before = name
    for i, name in enumerate(names):
        nodes.append(node(f"g{i}", "call_function", "aten.mm.default", ["%" + gradient, "%" + name]))
        gradient = f"g{i}"
    nodes.append({"name": "output", "op": "output", "target": "output", "args": ["%" + before, "%" + gradient]})
    return {"schema": "remat/graph/v1", "name": names[0], "num_fwd_outputs": 1, "static_lifetime_inputs": [], "nodes": nodes}


class Base(unittest.TestCase):
    def check_page(self, html):
        """What holds of every report; its tree."""
        tree = page.read(html)
        self.assertTrue(html.startswith(b"<!doctype html>\n<html lang=\"en\">"))
        self.check_policy(tree)
        self.check_structure(tree)
        for script in tree.find("script", type="application/json"):
            json.loads(script.text())
            self.assertNotRegex(script.text(), "[<\u2028\u2029]")
        return tree

    def check_policy(self, tree):
        policy = tree.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        for element in tree.walk():
            for name, value in element.attributes.items():
                self.assertFalse(name.startswith("on") or name in ("style", "src", "action", "srcdoc"), (element.tag, name))
                if name in ("href", "xlink:href"):
                    self.assertRegex(value, "^#[a-z0-9-]+$")
            self.assertNotIn(element.tag, {"link", "img", "iframe", "object", "embed", "base", "form"})
            if element.tag in ("script", "style") and element.attributes.get("type") != "application/json":
                digest = base64.b64encode(hashlib.sha256(element.text().encode()).digest()).decode()
                self.assertIn(f"'sha256-{digest}'", policy)

    def check_structure(self, tree):
        identifiers = [e.attributes["id"] for e in tree.walk() if "id" in e.attributes]
        self.assertEqual(len(set(identifiers)), len(identifiers))
        self.assertEqual(len(tree.find("main")), 1)
        self.assertEqual(len(tree.find("h1")), 1)
        self.assertTrue(tree.one("head").one("title").text().strip())
        for element in tree.walk():
            for name in ("aria-labelledby", "for"):
                if name in element.attributes:
                    self.assertIn(element.attributes[name], identifiers)
            if element.tag == "a":
                self.assertIn(element.attributes["href"][1:], identifiers)
        for table in tree.find("table"):
            self.assertEqual(len(table.find("caption")), 1)
            heads = len(table.one("thead").one("tr").children)
            for cell in table.one("thead").find("th"):
                self.assertEqual(cell.attributes["scope"], "col")
            for row in table.one("tbody").find("tr"):
                self.assertEqual(len([c for c in row.children if not isinstance(c, str)]), heads)
                self.assertEqual(row.find("th")[0].attributes["scope"], "row")


class TestRealGraphs(Base):
    def check_plan(self, tree, document):
        rows = saved_rows(tree) if tree.find("table", id="saved-table") else []
        rest = embedded(tree, "saved-data")
        names = [name for name, _ in rows] + [row[1] for row in (rest or {"rows": []})["rows"]]
        self.assertCountEqual(names, document["saved"] + document["saved_sym"] + document["saved_opaque"])
        self.check_order(tree, rows)
        if not document["saved_sym"] and not document["saved_opaque"] and not rest:
            self.assertEqual(sum(b for _, b in rows), document["memory"]["saved_bytes"])
        peaks = [span.attributes["title"] for span in tree.one("dl", class_="tiles").find("span") if "title" in span.attributes]
        for member in ("peak_forward_bytes", "peak_backward_bytes"):
            self.assertIn(f"{document['memory'][member]:,} bytes", peaks)
        self.assertIn(f"{document['cost']['recomputed_flops']:,} floating-point operations", peaks)

    def check_order(self, tree, rows):
        """First what the plan keeps, largest first, then what is there without it, which has no share; shares add up to all."""
        cells = [row.find("td", class_="n share")[0] for row in tree.one("table", id="saved-table").one("tbody").find("tr")] if rows else []
        free = [cell.text() == "static" for cell in cells]
        self.assertEqual(free, sorted(free))
        for part in (False, True):
            sizes = [size for (_, size), is_free in zip(rows, free) if is_free == part]
            self.assertEqual(sizes, sorted(sizes, reverse=True))
        shares = sum(float(cell.attributes["data-v"]) for cell in cells)
        if not embedded(tree, "saved-data") and any(size > 0 for (_, size), is_free in zip(rows, free) if not is_free):
            self.assertAlmostEqual(shares, 1, delta=1e-5 * (len(rows) + 1))

    def check_graph(self, tree, graph, document):
        columns = embedded(tree, "graph-data")
        self.assertEqual(columns["names"], [n["name"] for n in graph["nodes"]])
        self.assertEqual([columns["targets"][i] for i in columns["targets_of"]], [n["target"] for n in graph["nodes"]])
        place = {name: i for i, name in enumerate(columns["names"])}
        for letter, members in (("s", ("saved", "saved_sym", "saved_opaque")), ("r", ("recomputed",))):
            wanted = {place[name] for member in members for name in document[member]}
            self.assertEqual({i for i, state in enumerate(columns["states"]) if state == letter}, wanted)
        self.assertTrue(all(u < v for v, inputs in enumerate(columns["inputs"]) for u in inputs))

    def test_corpus(self):
        names = data.corpus_names()
        self.assertGreater(len(names), 30)
        for name in names if engine.LEVEL != "quick" else names[::4]:
            with self.subTest(name):
                text = data.corpus_graph_text(name)
                html, document = report(text), plan(text)
                tree = self.check_page(html)
                self.assertEqual(report(text), html)
                self.assertIn(document["digest"], tree.one("header").text())
                if document["outcome"] == "plan":
                    self.check_plan(tree, document)
                    self.check_graph(tree, json.loads(text), document)
                    self.check_crossings(tree)

    def check_crossings(self, tree):
        """Rows of the drawing link to their lists, and both have as many."""
        if tree.find("section", id="cut"):
            cut = tree.one("section", id="cut")
            blocks = [e.attributes["id"] for e in cut.find("details")]
            self.assertEqual(sorted(a.attributes["href"][1:] for a in cut.find("a")), sorted(blocks * 2))

    def test_cases(self):
        names = data.case_names()
        self.assertGreater(len(names), 40)
        for name in names:
            with self.subTest(name):
                text = data.case_graph_text(name)
                tree, document = self.check_page(report(text)), plan(text)
                if document["outcome"] == "plan":
                    self.check_plan(tree, document)
                else:
                    self.check_conflicts(tree, document)

    def check_conflicts(self, tree, document):
        errors = [d for d in document["diagnostics"] if d["severity"] == "error"]
        shown = tree.one("section", id="conflicts").find("article", class_="conflict")
        self.assertEqual(len(shown), min(len(errors), 50))
        for article, error in zip(shown, errors):
            steps = article.find("li") if error.get("path") else []
            self.assertEqual(len(steps), len(error.get("path", [])))
            for step, wanted in zip(steps, error.get("path", [])):
                self.assertIn(wanted.get("reason", "").replace("`", ""), step.text())
                self.assertIn(wanted["origin"], step.attributes["class"])
        if errors and errors[0].get("remedy"):
            button = tree.one("button", data_action="apply-remedy")
            self.assertEqual(json.loads(button.attributes["data-tags"]), errors[0]["remedy"]["tags"])
            self.assertIn("hidden", button.attributes)

    def test_repeated_layers_are_folded(self):
        tree = page.read(report(data.corpus_graph_text("llama_8b_8l")))
        folded = tree.one("section", id="cut").find("tspan", class_="times")
        self.assertTrue(any(int(t.text()[1:]) >= 6 for t in folded), [t.text() for t in folded])
        graph = json.loads(data.corpus_graph_text("llama_8b_8l"))
        for node in graph["nodes"]:
            node.pop("module", None)
        tree = page.read(report(json.dumps(graph)))
        folded = tree.one("section", id="cut").find("tspan", class_="times")
        self.assertTrue(any(int(t.text()[1:]) >= 5 for t in folded), [t.text() for t in folded])

    def test_options_and_passes_are_told(self):
        text = data.corpus_graph_text("gpt2_4l_0")
        html = report(text, "--options", '{"recompute_views": true, "activation_memory_budget": 0.5}', "--passes", '[{"pass": "repair_tags"}]')
        chips = self.check_page(html).one("ul", class_="chips").text()
        for words in ("recompute_views true", "activation_memory_budget 0.5", "pass repair_tags changed 0 tags"):
            self.assertIn(words, chips)
        self.assertEqual(page.read(report(text)).find("ul", class_="chips"), [])

    def test_save_all_and_inputs_alone(self):
        tree = page.read(report(json.dumps(chain(["a", "b", "c"]))))
        rows = tree.one("table", class_="plain ends").one("tbody").find("tr")
        bytes_, flops = zip(*[[int(c.attributes["data-v"]) for c in row.find("td", class_="n")] for row in rows])
        # x0, a, b and c are 64 bytes each, of which the backward reads a, b, c; a product is 2 * 4 * 4 * 4 operations.
        self.assertEqual((bytes_[0], flops[0]), (3 * 64, 0))
        self.assertEqual((bytes_[2], flops[2]), (64, 3 * 128))


class TestHostileNames(Base):
    def test_harmless_everywhere(self):
        for tag in (None, "must_recompute"):
            for i, name in enumerate(HOSTILE):
                with self.subTest(tag=tag, name=name[:30]):
                    graph = chain([name, f"n{i}"], tag)
                    html = report(json.dumps(graph))
                    tree = self.check_page(html)
                    self.assertEqual({s.attributes.get("type") for s in tree.find("script")}, {None, "application/json"})
                    self.assertEqual(len([s for s in tree.find("script") if "type" not in s.attributes]), 2)
                    self.assertIn(name.replace("\r\n", "\n"), [b.attributes["data-node"] for b in tree.find("button", class_="node")])
                    self.assertEqual(embedded(tree, "graph-data")["names"][2], name)
                    self.assert_visible_is_tame(tree)

    def assert_visible_is_tame(self, tree):
        for element in tree.one("main").walk():
            if element.tag in ("script", "style"):
                continue
            for child in element.children:
                if isinstance(child, str):
                    self.assertNotRegex(child.replace("\n", ""), "[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]")

    def test_long_names_are_shortened_where_they_are_seen(self):
        html = report(json.dumps(chain(["x" * 10240, "y"])))
        tree = page.read(html)
        self.assertLess(max(len(b.text()) for b in tree.find("bdi")), 170)
        self.assertLess(len(html), 600000)

    def test_conflict(self):
        for name in HOSTILE:
            graph = json.loads(data.case_graph_text("G01"))
            text = json.dumps(graph)
            self.assertIn('"g0"', text)
            text = text.replace('"g0"', json.dumps(name)).replace('"%g0"', json.dumps("%" + name))
            with self.subTest(name[:30]):
                tree = self.check_page(report(text))
                self.assertTrue(tree.find("section", id="conflicts"))
                self.assert_visible_is_tame(tree)


class TestLimits(Base):
    def test_many_values(self):
        names = [f"v{i}" for i in range(1500)]
        html = report(json.dumps(chain(names)))
        tree = self.check_page(html)
        self.assertEqual(len(saved_rows(tree)), 500)
        rest = embedded(tree, "saved-data")["rows"]
        document = plan(json.dumps(chain(names)))
        self.assertEqual(500 + len(rest), len(document["saved"]))
        self.assertIn("The first 500 of", tree.one("table", id="saved-table").one("caption").text())
        curve = embedded(tree, "memory-data")
        self.assertLess(len(curve["x"]), 2100)
        self.assertEqual(max(curve["activations"]), max(document["memory"]["peak_forward_bytes"], document["memory"]["peak_backward_bytes"]))

    def test_frontier_only_where_it_is_cheap(self):
        tree = page.read(report(json.dumps(chain([f"v{i}" for i in range(4100)]))))
        self.assertTrue(tree.find("p", id="frontier-missing"))
        tree = page.read(report(data.corpus_graph_text("gpt2_4l_0")))
        self.assertFalse(tree.find("p", id="frontier-missing"))
        points = json.loads(remat("frontier", data.corpus_graph_text("gpt2_4l_0"))[1])["points"]
        rows = tree.one("table", data_csv="frontier.csv").one("tbody").find("tr")
        shown = [[int(c.attributes["data-v"]) for c in row.find("td", class_="n")] for row in rows]
        self.assertEqual(shown, [[p["saved_bytes"], p["recomputed_flops"]] for p in points])
        for button, point in zip(tree.find("button", data_action="use-point"), [p for p in points if p.get("options")]):
            self.assertEqual(json.loads(button.attributes["data-options"]), point["options"])

    def test_frontier_of_a_large_graph(self):
        """Offered as a job of its own, unless it would take too long."""
        for n, offers in ((4100, 1), (16100, 0)):
            section = page.read(report(json.dumps(chain([f"v{i}" for i in range(n)])))).one("section", id="frontier")
            self.assertEqual(len(section.find("button", data_action="ask-frontier")), offers)
            self.assertIn("more than 6,000 nodes", section.one("p", id="frontier-missing").text())

    def test_frontier_of_one_point(self):
        """No drawing where there is nothing to choose; its axes have as many marks as amounts that differ."""
        section = page.read(report(json.dumps(graphs.tiny()))).one("section", id="frontier")
        self.assertEqual(section.find("figure"), [])
        self.assertIn("the only point", section.text())
        self.assertEqual(len(section.one("tbody").find("tr")), 1)
        for name in [n for n in data.corpus_names() if n.startswith(("llama", "gpt", "unet", "vit", "bert"))]:
            section = page.read(report(data.corpus_graph_text(name))).one("section", id="frontier")
            places = [(t.attributes.get("x"), t.attributes.get("y")) for t in section.find("text")]
            self.assertEqual(len(set(places)), len(places), name)

    def test_problems_stay_problems(self):
        for document, wanted in ((b"{", 1), (b'{"nodes": 1}', 1)):
            code, out, err = remat("report", document)
            self.assertEqual((code, out), (wanted, b""))
            self.assertIn("urn:remat:problem:", json.loads(err)["type"])
        code, _, err = remat("report", data.case_graph_text("G01"), "--max-nodes", "3")
        self.assertEqual((code, json.loads(err)["code"]), (4, "too-large"))

    def test_output_file(self):
        text = data.corpus_graph_text("dropout")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.html")
            for flags in (["-o", path], ["--output", path], [f"--output={path}"]):
                self.assertEqual(remat("report", text, *flags), (0, b"", b""))
                with open(path, "rb") as f:
                    self.assertEqual(f.read(), report(text))
            code, _, err = remat("report", text, "-o", os.path.join(folder, "none", "x.html"))
            self.assertEqual(code, 5)
            self.assertIn(b"cannot write", err)
            self.check_document_is_kept(folder, text)
        self.assertEqual(remat("plan", text, "-o", "x")[0], 2)
        self.assertEqual(remat("report", text, "--format", "text")[0], 2)


    def check_document_is_kept(self, folder, text):
        """The report never takes the document's place, whatever name leads there."""
        path = os.path.join(folder, "step.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.symlink(path, os.path.join(folder, "symbolic"))
        os.link(path, os.path.join(folder, "hard"))
        for name in ("step.json", "./step.json", "symbolic", "hard"):
            for source in (path, "-"):
                with open(path, "rb") as stdin:
                    done = subprocess.run([REMAT, "report", source, "-o", name], cwd=folder, stdin=stdin, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, timeout=300)
                self.assertEqual((done.returncode, done.stdout), (2, b""), (name, source))
                self.assertIn(b"is the document, which the report would overwrite", done.stderr)
                with open(path, encoding="utf-8") as f:
                    self.assertEqual(f.read(), text)

    def test_half_a_report_is_none(self):
        """A file that cannot be written to its end is not left behind; what is no file stays."""
        text = data.corpus_graph_text("dropout")
        self.assertEqual(remat("report", text, "-o", "/dev/full")[0], 5)
        self.assertTrue(os.path.exists("/dev/full"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.html")
            done = subprocess.run(["/bin/sh", "-c", 'trap "" XFSZ; ulimit -f 8; exec "$0" report - -o "$1"', REMAT, path], input=text.encode(),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn(b"cannot write", done.stderr)
            self.assertFalse(os.path.exists(path))


class TestWhatIf(Base):
    def test_what_a_change_does(self):
        graph = json.loads(data.corpus_graph_text("gpt2_4l_0"))
        before = plan(json.dumps(graph))
        by_name = {node["name"]: node for node in graph["nodes"]}
        saved = next(name for name in before["saved"] if by_name[name]["op"] == "call_function" and by_name[name]["target"] != "getitem")
        tags = {saved: "must_recompute"}
        after = plan(json.dumps(graph), "--passes", json.dumps([{"pass": "set_tags", "tags": tags}]))
        tree = self.check_page(report(json.dumps({"base": graph, "what_if": {"tags": tags}})))
        section = tree.one("section", id="diff")
        self.assertIn(after["digest"], tree.one("header").text())
        rows = [[c.find("span")[0].attributes["title"] for c in row.find("td", class_="n")] for row in section.one("table", class_="plain").one("tbody").find("tr")]
        b, a = before["memory"]["saved_bytes"], after["memory"]["saved_bytes"]
        self.assertEqual(rows[0], [f"{b:,} bytes", f"{a:,} bytes", f"{a - b:,} bytes"])
        moved = [b.attributes["data-node"] for b in section.one("table", class_="data").find("button", class_="node")]
        places = lambda d: {name: place for place in ("saved", "recomputed") for name in d[place]}
        self.assertCountEqual(moved, [name for name in by_name if places(before).get(name) != places(after).get(name)])
        self.assertIn(saved, moved)
        told = section.one("ul").one("li").text()
        self.assertEqual(told, f"{saved}: must_recompute, before {by_name[saved].get('recompute', 'no tag')}")

    def test_a_remedy_applied(self):
        text = data.case_graph_text("G01")
        remedy = plan(text)["diagnostics"][0]["remedy"]
        tree = self.check_page(report(json.dumps({"base": json.loads(text), "what_if": {"tags": remedy["tags"]}})))
        self.assertIn("Now there is a plan", tree.one("section", id="diff").text())
        self.assertTrue(tree.find("section", id="saved"))

    def test_mistakes_are_placed(self):
        document = {"base": json.loads(data.case_graph_text("G01")), "what_if": {"tags": {"nowhere": None}}}
        code, _, err = remat("report", json.dumps(document))
        self.assertEqual((code, json.loads(err)["errors"][0]["pointer"]), (1, "/what_if/tags/nowhere"))
        document = {"base": {"schema": "remat/graph/v1"}, "what_if": {}}
        code, _, err = remat("report", json.dumps(document))
        self.assertEqual(code, 1)
        self.assertTrue(json.loads(err)["errors"][0]["pointer"].startswith("/base"))


class TestTrace(Base):
    def test_artifact(self):
        text = data.corpus_graph_text("gpt2_4l_0")
        budget = ("--options", '{"activation_memory_budget": 0.5}')
        code, artifact, err = remat("export", text, "--as", "min-cut-information", *budget)
        self.assertEqual(code, 0, err)
        tree = self.check_page(report(artifact))
        self.assertIn("min_cut_information", tree.one("head").one("title").text())
        document = plan(text, *budget)
        saved = [b.attributes["data-node"] for b in tree.one("section", id="saved").find("button", class_="node")]
        self.assertTrue(saved)
        self.assertLessEqual(set(document["cuts"][-1]["nodes"]) & set(saved), set(saved))
        columns = embedded(tree, "graph-data")
        self.assertTrue(set(saved) <= set(columns["names"]))
        self.assertEqual({columns["names"][i] for i, s in enumerate(columns["states"]) if s == "s"}, set(saved))

    def test_almost_nothing(self):
        tree = self.check_page(report(b'{"Memory Budget": 0.25, "Joint Graph Edges": {"Edges": []}}'))
        self.assertIn("0.25", tree.one("dl", class_="tiles").text())


class TestAssets(unittest.TestCase):
    def test_vendored_files_are_what_was_published(self):
        folders = [f for f in os.listdir(os.path.join(PAGES, "vendor"))]
        self.assertTrue(folders)
        for folder in folders:
            path = os.path.join(PAGES, "vendor", folder)
            with open(os.path.join(path, "SHA256SUMS"), encoding="utf-8") as f:
                sums = dict(reversed(line.split()) for line in f)
            self.assertEqual(sorted(sums), sorted(f for f in os.listdir(path) if f != "SHA256SUMS"))
            self.assertIn("LICENSE", sums)
            for name, wanted in sums.items():
                with open(os.path.join(path, name), "rb") as f:
                    self.assertEqual(hashlib.sha256(f.read()).hexdigest(), wanted, name)
            with open(os.path.join(path, "LICENSE"), encoding="utf-8") as f:
                self.assertIn("MIT License", f.read())

    def test_a_report_hands_the_licence_on(self):
        html = report(data.corpus_graph_text("dropout")).decode()
        for folder in os.listdir(os.path.join(PAGES, "vendor")):
            with open(os.path.join(PAGES, "vendor", folder, "LICENSE"), encoding="utf-8") as f:
                text = f.read()
            self.assertNotIn("*/", text)
            self.assertIn(text, html)

    def test_small_and_safe_inline(self):
        total = 0
        for folder, _, files in os.walk(PAGES):
            for name in files:
                if name.endswith((".css", ".js")):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        text = f.read()
                    total += len(text.encode())
                    self.assertNotRegex(text.lower(), r"</(script|style)|<!--")
                    self.assertNotRegex(text, r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|eval\(|innerHTML")
        self.assertLessEqual(total, 300 * 1024)


if __name__ == "__main__":
    unittest.main()
