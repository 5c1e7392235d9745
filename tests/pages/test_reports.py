# level: full
# tools
"""Reports as the daemon shows them: both schemes, without scripts, hostile names, and what can be done from there."""
import json
import lzma
import os
import re

import data
import graphs
from browser import SCHEMES, PageTest, job_of
from daemon import REMAT, run

FLASH = "G01"  # a getitem tagged for recomputation, of a source that must be saved
LONG = "n" * 10000
MARKUP = "<img src=x onerror=window.__seen.pwned=1><script>window.__seen.pwned=1</script>"
HOSTILE = {
    "markup": MARKUP,
    "attribute": "\" onmouseover=\"window.__seen.pwned=1\" x='",
    "end of data": "</script><script>window.__seen.pwned=1</script><!--",
    "template": "{{main}} ${window.__seen.pwned=1} {{asset:site.css}}",
    "right to left": "\u202eשלום\u2066 مرحبا",
    "long": LONG,
    "control": "a\u0001b\u2028c\u0085d",
    "quotes": "it's \"quoted\" \\ `so` & co; &lt;b&gt;",
}


def hostile_graph(text, conflict=False):
    """A graph with that text wherever a document takes text."""
    document = graphs.infinite_flow() if conflict else graphs.tiny()
    names = {node["name"]: f"{text}.{i}" for i, node in enumerate(document["nodes"]) if node["name"] != "output"}
    for node in document["nodes"]:
        node["name"] = names.get(node["name"], node["name"])
        node["args"] = ["%" + names[arg[1:]] if isinstance(arg, str) else arg for arg in node["args"]]
        if node["op"] == "call_function":
            node.update(module=f"L['self'].{text}", stack=f'File "{text}.py", line 1, in {text}')
    return {**document, "name": text, "producer": {"name": text, "version": text}}


class TestReports(PageTest):
    def page_of(self, document, *, path="/v1/plans", **how):
        """The finished page of a document's job."""
        job = self.submit(document if isinstance(document, bytes) else graphs.encode(document), path)
        self.finished(job)
        page = self.open(f"/jobs/{job}", **how)
        if how.get("scripts", True):
            page.locator("#report[data-ready]").wait_for()
            page.locator(".actions").wait_for()
        return page

    def change_of(self, text, tags):
        """The body of a what-if's job, which can be looked at like any document."""
        return json.dumps({"base": json.loads(text), "what_if": {"tags": tags}}).encode()

    def kinds(self):
        yield "plan", data.corpus_graph_text("llama_2l_sac").encode(), "/v1/plans"
        yield "conflict", data.case_graph_text(FLASH).encode(), "/v1/plans"
        yield "invalid-output", data.case_graph_text("G11").encode(), "/v1/plans"
        yield "frontier", data.corpus_graph_text("unet").encode(), "/v1/frontier"
        yield "budget", graphs.encode({**json.loads(data.corpus_graph_text("vit_tiny")), "options": {"activation_memory_budget": 0.4}}), "/v1/plans"
        yield "what-if", self.change_of(data.corpus_graph_text("llama_2l_sac"), {"mm_3": "must_recompute", "mm_5": None}), "/v1/reports"
        yield "one-point", graphs.encode(graphs.tiny()), "/v1/plans"
        yield "full-recomputation", data.corpus_graph_text("llama_2l_full_ac").encode(), "/v1/plans"

    def look(self, page, name, colours_only=False):
        """As a reader sees it who has scrolled through."""
        page.evaluate("document.querySelectorAll('#report section').forEach((s) => { s.style.contentVisibility = 'visible'; })")
        self.axe(page, colours_only)
        self.assertTrue(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "scrolls sideways")
        self.shoot(page, name)

    def test_in_both_schemes(self):
        for kind, document, path in self.kinds():
            for scheme in SCHEMES:
                with self.subTest(kind=kind, scheme=scheme):
                    self.look(self.page_of(document, path=path, scheme=scheme), f"report-{kind}-{scheme}", scheme != SCHEMES[0])
                    self.doCleanups()  # pages that stay open go on taking time

    def test_on_a_narrow_screen(self):
        for kind, document, path in self.kinds():
            with self.subTest(kind):
                self.look(self.page_of(document, path=path, width=400), f"report-{kind}-narrow")
                self.doCleanups()

    def test_tables_without_scripts(self):
        text = data.corpus_graph_text("llama_2l_sac").encode()
        saved = json.loads(self.daemon.plan(text).body)["saved"]
        page = self.page_of(text, scripts=False)
        rows = page.locator("#saved-table tbody tr")
        self.assertEqual(sorted(rows.locator("[data-node]").evaluate_all("all => all.map((one) => one.dataset.node)")), sorted(saved))
        self.assertGreater(page.locator("#recomputed tr").count(), 10)
        self.assertEqual(page.locator("button[data-action]:visible").count(), 0)
        conflict = self.page_of(data.case_graph_text(FLASH).encode(), scripts=False)
        self.assertIn("so it may not be saved", conflict.locator("#conflicts").inner_text())
        self.assertIn('"set_tags"', conflict.locator("#conflicts").inner_text())

    def test_hostile_words(self):
        """In every name, module, stack, and the graph's: shown as what they are, and nothing runs."""
        for kind, text in HOSTILE.items():
            for conflict in (False, True):
                with self.subTest(kind=kind, conflict=conflict):
                    page = self.page_of(hostile_graph(text, conflict))
                    for button in page.locator("#report button.node").all()[:1]:
                        button.evaluate("(button) => button.click()")
                        page.locator("dialog[open] dl, dialog[open] .problem").first.wait_for()
                        if conflict:
                            self.axe(page)
                        page.keyboard.press("Escape")
                    self.assertEqual(page.locator("#report img, #report script:not([type='application/json'])").count(), 0)
                    self.assertIn(text[:20].split("\u0001")[0].split("\u202e")[0], page.locator("h1").inner_text())
                    self.look(page, f"hostile-{kind.replace(' ', '-')}{'-conflict' if conflict else ''}")
                    self.doCleanups()

    def test_hostile_messages(self):
        """Errors that quote what was sent."""
        page = self.open("/")
        for document in ({**graphs.tiny(), MARKUP: 1}, {**graphs.tiny(), "options": {MARKUP: 1}}, {**graphs.tiny(), "passes": [{"pass": MARKUP}]},
                         {**graphs.tiny(), "options": {"activation_memory_budget_solver": MARKUP}}, hostile_graph(MARKUP + "%")):
            job = self.submit(graphs.encode(document))
            self.finished(job)
            page.goto(f"{self.origin}/jobs/{job}")
            page.locator("#live-problem .problem, #report[data-ready]").first.wait_for()
            self.assertEqual(page.locator("main img").count(), 0)

    def test_remedy(self):
        """A graph without a plan is dropped; its remedy is run; the new job's page has the plan and what is different."""
        page = self.open("/")
        self.drop(page, self.file_of(data.case_graph_text(FLASH)))
        page.get_by_role("button", name="Try it").wait_for()
        before = page.url
        page.get_by_role("button", name="Try it").click()
        page.wait_for_url(lambda url: url != before)
        page.locator("#saved-table").wait_for()
        self.assertIn("before there was none", page.locator("#diff").inner_text())
        self.assertEqual(self.daemon.get(f"/v1/jobs/{job_of(page.url)}").json["outcome"], "plan")
        self.look(page, "remedy")

    def test_use_this_point(self):
        page = self.page_of(data.corpus_graph_text("unet").encode())
        page.locator("#frontier summary").first.click()
        before = page.url
        usable = page.locator("button[data-action=use-point][data-options]:visible")
        options = json.loads(usable.first.get_attribute("data-options"))
        usable.first.click()
        page.wait_for_url(lambda url: url != before)
        page.locator("#diff").wait_for()
        asked = self.daemon.get(f"/v1/jobs/{job_of(page.url)}/graph").json
        self.assertEqual(asked["what_if"]["options"], options)
        self.look(page, "point-used")

    def test_points_that_no_option_leads_to(self):
        page = self.page_of(data.corpus_graph_text("llama_2l").encode())
        page.locator("#frontier summary").first.click()
        hull = page.locator("button[data-action=use-point]:not([data-options]):visible")
        if hull.count() > 0:
            hull.first.click()
            page.get_by_text("no option of PyTorch's leads to it").wait_for()
        self.assertGreater(page.locator("#frontier tbody tr").count(), 3)

    def test_what_if(self):
        page = self.page_of(data.corpus_graph_text("llama_2l_sac").encode())
        before = page.url
        page.get_by_role("button", name="What if…").click()
        dialog = page.get_by_role("dialog")
        self.axe(page)
        self.shoot(page, "what-if")
        dialog.get_by_label("Node").fill("mm")
        dialog.get_by_label("Tag", exact=True).select_option("must_recompute")
        dialog.get_by_role("button", name="Add").click()
        dialog.get_by_label("Options").fill('{"activation_memory_budget": ')
        dialog.get_by_role("button", name="Try it").click()
        dialog.get_by_text("Unexpected end").wait_for()
        dialog.get_by_label("Options").fill('{"max_dist_from_bw": 3}')
        dialog.get_by_role("button", name="Try it").click()
        page.wait_for_url(lambda url: url != before)
        page.locator("#diff table").first.wait_for()
        asked = self.daemon.get(f"/v1/jobs/{job_of(page.url)}/graph").json["what_if"]
        self.assertEqual(asked, {"tags": {"mm": "must_recompute"}, "options": {"max_dist_from_bw": 3}})
        self.look(page, "what-if-diff")
        page.get_by_role("link", name="Back to the job before this").click()
        page.wait_for_url(before)
        page.locator(".actions").wait_for()
        self.assertEqual(page.get_by_role("link", name="Back to the job before").count(), 0)

    def test_a_link_back_leads_to_jobs_alone(self):
        """Whatever stands in the address."""
        job = self.submit(graphs.encode(graphs.tiny()))
        self.finished(job)
        for before in ("%2F%2Fevil.example", "javascript:alert(1)", "..%2F..%2Fv1", "%22%3E%3Cscript%3E", "", "a" * 100):
            page = self.open(f"/jobs/{job}?of={before}")
            page.locator(".actions").wait_for()
            self.assertEqual(page.locator(".actions a").count(), 1)

    def test_what_if_of_an_unknown_node(self):
        page = self.page_of(data.corpus_graph_text("llama_2l_sac").encode())
        before = page.url
        page.get_by_role("button", name="What if…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Node").fill("mn_3")
        dialog.get_by_role("button", name="Try it").click()
        page.wait_for_url(lambda url: url != before)
        page.locator("#live-problem .problem").wait_for()
        self.assertIn("mm_3", page.locator("#live-problem").inner_text())

    def test_a_node(self):
        """By the keyboard: to the first saved value, its panel, another choice, and back."""
        page = self.page_of(data.corpus_graph_text("llama_2l_sac").encode())
        page.locator("#saved-table button.node", has_text=re.compile("^mm_3$")).focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("What else could be done").wait_for()
        self.assertIn("aten.mm.default", dialog.inner_text())
        dialog.locator("summary").click()
        dialog.locator("svg").wait_for()
        self.axe(page)
        self.shoot(page, "node")
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
        self.assertEqual(page.evaluate("document.activeElement.dataset.node"), "mm_3")
        page.keyboard.press("Enter")
        dialog.get_by_role("button", name="Try it must recompute").click()
        page.locator("#diff table").first.wait_for()

    def test_take_it_along(self):
        page = self.page_of(data.corpus_graph_text("dropout").encode())
        page.get_by_role("button", name="Take it along…").click()
        self.axe(page)
        for name, begins in (("This report as one file", b"<!doctype html>"), ("The answer as JSON", b'{"schema":"remat/plan/v1"'),
                             ("The graph as it was sent", b"{"), ("min_cut_information", b"{"), ("DOT", b"//"), ("DIMACS", b"c ")):
            with self.subTest(name), page.expect_download() as download:
                page.get_by_role("button", name=name).click()
            with open(download.value.path(), "rb") as file:
                self.assertEqual(file.read(len(begins)).lower(), begins.lower())

    def test_an_artifact(self):
        """min_cut_information out of a trace is dropped: a page to look at it."""
        with lzma.open(os.path.join(data.DATA, "traces", "llama_sac.min_cut_information.json.xz")) as file:
            artifact = file.read()  # PyTorch's own
        home = self.open("/")
        self.drop(home, self.file_of(artifact, "min_cut_information.json"))
        home.locator("#report[data-ready]").wait_for()
        self.assertEqual(self.daemon.get(f"/v1/jobs/{job_of(home.url)}").json["call"], "report")
        self.look(home, "artifact")
        home.locator(".actions").wait_for()
        self.assertEqual(home.get_by_role("button", name="What if…").count(), 0)  # nobody decides about it again
        home.locator("#saved button.node").first.click()
        home.get_by_role("dialog").locator("svg").wait_for()

    def test_from_running_to_the_report(self):
        """The page of a job that goes on becomes its report by itself."""
        job = self.submit(graphs.slow())
        page = self.open(f"/jobs/{job}")
        states = page.evaluate("[document.getElementById('live') !== null, document.getElementById('report') !== null]")
        self.assertEqual(sum(states), 1)
        page.locator("#report[data-ready]").wait_for()
        page.locator(".actions").wait_for()
        self.assertIn(f'href="/v1/jobs/{job}"', page.locator(".actions").inner_html())

    def test_through_the_keyboard(self):
        """Every control of a report can be reached, and the focus is always seen."""
        page = self.page_of(data.case_graph_text(FLASH).encode())
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        self.assertTrue(page.url.endswith("#report"))
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            what, ring = page.evaluate("""() => {
                const at = document.activeElement;
                return [at.textContent.trim().slice(0, 40), at === document.body || getComputedStyle(at).outlineStyle !== 'none'];
            }""")
            self.assertTrue(ring, what)
            reached.add(what)
        for name in ("What if…", "Take it along…", "Try it", "g0", "attn"):
            self.assertIn(name, reached)


class TestFiles(PageTest):
    """A report in a file asks nothing of anybody."""

    def test_files(self):
        for kind, text in (("plan", data.corpus_graph_text("llama_2l_sac")), ("conflict", data.case_graph_text(FLASH)),
                           ("hostile", json.dumps(hostile_graph(HOSTILE["end of data"])))):
            for scheme in SCHEMES:
                with self.subTest(kind=kind, scheme=scheme):
                    graph = self.file_of(text)
                    html = os.path.join(os.path.dirname(graph), "report.html")
                    done = run(REMAT, "report", graph, "-o", html)
                    self.assertIn(done.returncode, (0, 3), done.stderr)
                    page = self.open(html, scheme, origin="file://")
                    page.context.set_offline(True)
                    page.locator("#report[data-ready]").wait_for()
                    self.assertEqual(page.watched.asked, ["file://" + html])
                    page.evaluate("document.querySelectorAll('#report section').forEach((s) => { s.style.contentVisibility = 'visible'; })")
                    self.axe(page, scheme != SCHEMES[0])
                    self.shoot(page, f"file-{kind}-{scheme}")
                    self.doCleanups()

    def test_what_the_service_sends_is_such_a_file(self):
        """Even where the service's own pages are: it runs in no origin, so its script could not ask the service for anything."""
        job = self.submit(data.corpus_graph_text("dropout").encode())
        self.finished(job)
        page = self.open(f"/v1/jobs/{job}/report")
        page.locator("#report[data-ready]").wait_for()
        self.assertEqual(len(page.watched.asked), 1)
        self.assertEqual(page.evaluate("self.origin"), "null")
