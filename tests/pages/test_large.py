# level: full
# tools
"""Pages of large graphs in a browser: that they can be used, and how long that takes."""
import json

import data
import graphs
from browser import PageTest


class TestFrontierOfALargeGraph(PageTest):
    def test_button(self):
        """What a report leaves out for its size is worked out when it is asked for, and shown."""
        job = self.submit(graphs.encode(graphs.stacked(json.loads(data.corpus_graph_text("llama_2l")), 20)))
        self.finished(job)
        page = self.open(f"/jobs/{job}")
        page.get_by_role("button", name="Work it out").click()
        page.wait_for_url("**/jobs/*?of=*")
        page.locator("#frontier figure").wait_for()
        self.assertGreater(page.locator("#frontier tbody tr").count(), 3)
        page.get_by_role("link", name="Back to the job before this").wait_for()


class TestLargeGraphs(PageTest):
    """How long until a large report can be used: printed, as it says more of the machine than of the page."""

    def test_time(self):
        layers = json.loads(data.corpus_graph_text("llama_8b_8l"))
        for n in (4, 27):
            document = graphs.stacked(layers, n)
            job = self.submit(graphs.encode(document))
            self.finished(job)
            for run_ in ("first", "again"):
                page = self.open(f"/jobs/{job}")
                page.locator("#report[data-ready]").wait_for()
                first_ms, ready_ms, sent = page.evaluate("""() => {
                    const at = performance.getEntriesByType('navigation')[0];
                    return [at.responseStart, at.domContentLoadedEventEnd, at.encodedBodySize];
                }""")
                print(f"{len(document['nodes'])} nodes, {run_}: interactive {ready_ms / 1000:.2f} s after the click, {first_ms / 1000:.2f} s of them "
                      f"the service's; {sent / 1024:.0f} KiB")
            page.locator("#saved-table thead button").nth(3).click()
            page.get_by_role("searchbox").first.fill("mm_")
            page.locator("#saved-table tbody tr").first.wait_for()
            self.axe(page)
