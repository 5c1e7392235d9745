"""A browser that looks at pages: Debian's Chromium, headless, driven by playwright, in which only one origin can be reached.

Every page that a test opens is watched to its end: what goes to the console, errors, dialogs, breaches of the content policy and the
addresses that are asked for. A test that leaves its page with any of these fails.
"""
import os
import re
import tempfile
import unittest
import urllib.parse

import axe_playwright_python
from playwright.sync_api import sync_playwright

from daemon import PATIENCE_S, ROOT, Daemon

CHROMIUM = os.environ.get("REMAT_CHROMIUM") or "/usr/bin/chromium"
SHOTS = os.path.join(ROOT, "build", "screenshots")
SCHEMES = ("light", "dark")
ARGUMENTS = [
    "--no-sandbox",  # CI is root
    "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
with open(os.path.join(os.path.dirname(axe_playwright_python.__file__), "axe.min.js"), encoding="utf-8") as _file:
    AXE = _file.read()
WATCH = """
window.__seen = {violations: [], pwned: 0};
document.addEventListener("securitypolicyviolation", (event) => {
  window.__seen.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""
# Rows under one heading with the same elements, attributes that mean something, and place (odd or even) differ in words alone.
HIDE_ALIKE = """() => {
  const times = new Map(), meaning = (name) => !/^(data-|id$|title$|href$|aria-label$|style$|[xyd]$|width$|height$)/.test(name);
  const kind = (element) => [element.tagName, element.childNodes.length > 0,
      ...[...element.attributes].map((a) => meaning(a.name) ? `${a.name}=${a.value}` : `${a.name} ${a.value !== ""}`)].join(" ");
  window.__alike = [];
  for (const row of document.querySelectorAll("tr, li")) {
    const place = [...row.parentElement.children].indexOf(row) % 2, heading = row.parentElement.closest("[id]");
    const all = [heading && heading.id, place, row, ...row.querySelectorAll("*")].map((e) => e instanceof Element ? kind(e) : e).join("|");
    times.set(all, (times.get(all) || 0) + 1);
    if (times.get(all) > 3 && !row.contains(document.activeElement)) {
      window.__alike.push([row, row.style.display]);
      row.style.display = "none";
    }
  }
}"""
SHOW_ALIKE = "() => { for (const [row, display] of window.__alike) row.style.display = display; }"


class Watched:
    """A page and what was noticed of it. `allowed`: a pattern of console lines that belong to what the test does."""

    def __init__(self, page, origin, allowed=None):
        self.page, self.origin, self.allowed = page, origin, allowed
        self.notes, self.asked = [], []
        page.on("console", self.on_console)
        page.on("pageerror", lambda error: self.notes.append(f"error: {error}"))
        page.on("dialog", self.on_dialog)
        page.on("request", lambda request: self.asked.append(request.url))

    def on_console(self, message):
        if message.type in ("error", "warning") and not (self.allowed and re.search(self.allowed, message.text)):
            self.notes.append(f"{message.type}: {message.text}")

    def on_dialog(self, dialog):
        self.notes.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def outside(self):
        return [url for url in self.asked if not url.startswith((self.origin, "data:", "blob:" + self.origin))]


class PageTest(unittest.TestCase):
    """One browser for the suite, one daemon for the class."""

    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(*cls.flags)
        cls.addClassCleanup(cls.daemon.stop)
        cls.origin = f"http://{cls.daemon.host}"
        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        cls.addClassCleanup(cls.browser.close)
        os.makedirs(SHOTS, exist_ok=True)

    def open(self, path, scheme="light", scripts=True, allowed=None, width=1280, origin=None):
        """A page of the daemon in a context of its own, loaded. It is checked when the test ends, unless the test failed before."""
        origin = origin or self.origin
        context = self.browser.new_context(color_scheme=scheme, java_script_enabled=scripts, viewport={"width": width, "height": 900},
                                           accept_downloads=True)
        self.addCleanup(context.close)
        context.set_default_timeout(PATIENCE_S * 1000)
        if scripts:
            context.add_init_script(WATCH)
        page = context.new_page()
        page.watched = Watched(page, origin, allowed)
        self.addCleanup(self.check, page, scripts)
        page.goto(origin + path)
        return page

    def check(self, page, scripts):
        self.assertEqual(page.watched.notes, [])
        self.assertEqual(page.watched.outside(), [])
        if scripts and page.url != "about:blank":
            self.assertEqual(page.evaluate("window.__seen"), {"violations": [], "pwned": 0})

    def axe(self, page, colours_only=False):
        """Accessible, as far as a program can tell: no violation of any weight. Of rows that are alike in all but words three are looked
        at: contrast takes time with the square of what is on a page, and finds the same in each of them. `colours_only`: of a page that
        was looked at in the other scheme."""
        if page.evaluate("typeof axe === 'undefined'"):
            page.evaluate(AXE)
        page.evaluate(HIDE_ALIKE)
        result = page.evaluate("(more) => axe.run(document, {resultTypes: ['violations'], ...more})",
                               {"runOnly": ["color-contrast"]} if colours_only else {})
        page.evaluate(SHOW_ALIKE)
        self.assertGreaterEqual(len(result["passes"]), 1 if colours_only else 6)
        self.assertEqual([f"{v['impact']} {v['id']}: {v['help']}: {[n['html'][:200] + ' ' + n['failureSummary'] for n in v['nodes']][:4]}"
                          for v in result["violations"]], [])

    def shoot(self, page, name):
        """For people to look at: build/screenshots/NAME.png."""
        page.screenshot(path=os.path.join(SHOTS, name + ".png"), full_page=True)

    def submit(self, document, path="/v1/plans", daemon=None, **headers):
        """A job's id, of a document in bytes."""
        response = (daemon or self.daemon).request("POST", path, document, {
            "Content-Type": "application/json", "Prefer": "respond-async", **headers})
        self.assertEqual(response.status, 202, response)
        return response.json["id"]

    def finished(self, job, daemon=None, **headers):
        """The job's document, when it is over."""
        while True:
            found = (daemon or self.daemon).get(f"/v1/jobs/{job}", Prefer="wait=10", **headers)
            self.assertEqual(found.status, 200, found)
            if found.json["state"] not in ("queued", "running"):
                return found.json

    def drop(self, page, path):
        """What the page sees when a file is dropped on it."""
        with open(path, "rb") as file:
            data = list(file.read())
        transfer = page.evaluate_handle("""([bytes, name]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], name));
            return transfer;
        }""", [data, os.path.basename(path)])
        page.dispatch_event("#drop", "dragenter", {"dataTransfer": transfer})
        page.dispatch_event("#drop", "drop", {"dataTransfer": transfer})

    def file_of(self, text, name="graph.json"):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path


def job_of(url):
    return urllib.parse.urlsplit(url).path.rsplit("/", 1)[1]
