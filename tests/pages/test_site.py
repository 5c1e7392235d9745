# level: quick
# tools
"""The daemon's own pages: submitting, the list, a job's course, tokens, what is refused, and the headers of all of it."""
import gzip
import json
import os
import re
import tempfile

import graphs
from browser import SCHEMES, PageTest, job_of
from daemon import Daemon

ABSENT = "0" * 32
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
          "form-action 'self'; frame-ancestors 'none'")
BAD = json.dumps({"schema": "remat/graph/v1", "num_fwd_outputs": 1, "nodes": [{"name": "<img src=x onerror=window.__seen.pwned=1>", "op": "nothing"}]})
MARKUP = "<img src=x onerror=window.__seen.pwned=1><script>window.__seen.pwned=1</script>"


class TestHeaders(PageTest):
    def test_pages(self):
        job = self.submit(graphs.encode(graphs.tiny()))
        for path, status in (("/", 200), (f"/jobs/{job}", 200), (f"/jobs/{ABSENT}", 404), ("/jobs/%3Cscript%3E", 404), ("/?x=1", 200)):
            for method in ("GET", "HEAD"):
                with self.subTest(f"{method} {path}"):
                    response = self.daemon.request(method, path)
                    self.assertEqual((response.status, response.headers["content-type"]), (status, "text/html; charset=utf-8"))
                    self.assertEqual(response.headers["content-security-policy"], POLICY)
                    self.assertEqual(response.headers["x-content-type-options"], "nosniff")
                    self.assertEqual(response.headers["referrer-policy"], "no-referrer")
                    self.assertEqual(response.headers["cross-origin-opener-policy"], "same-origin")
                    self.assertEqual(response.headers["cross-origin-resource-policy"], "same-origin")
                    self.assertEqual(response.headers["cache-control"], "no-store")
                    self.assertGreater(int(response.headers["content-length"]), 1000)

    def test_files(self):
        """Each is kept for ever under the name that goes with its content, and asked for again under any other."""
        page = self.daemon.get("/").body.decode()
        addresses = re.findall(r'(?:href|src)="(/assets/([^"?]+)\?v=([0-9a-f]+))"', page)
        self.assertGreaterEqual(len(addresses), 10)
        types = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
        for address, name, version in addresses:
            with self.subTest(name):
                found = self.daemon.get(address)
                self.assertEqual((found.status, found.headers["content-type"]), (200, types[name.rsplit(".", 1)[1]]))
                self.assertEqual(found.headers["cache-control"], "public, max-age=31536000, immutable")
                self.assertEqual(found.headers["etag"], f'"{version}"')
                self.assertEqual(found.headers["x-content-type-options"], "nosniff")
                other = self.daemon.get(f"/assets/{name}?v=0")
                self.assertEqual((other.status, other.headers["cache-control"], other.body), (200, "no-cache", found.body))
                known = self.daemon.get(address, **{"If-None-Match": found.headers["etag"]})
                self.assertEqual((known.status, known.body), (304, b""))
                packed = self.daemon.get(address, **{"Accept-Encoding": "gzip"})
                if len(found.body) >= 1024:
                    self.assertEqual(packed.headers["etag"], f'"{version}-gzip"')
                    self.assertEqual(gzip.decompress(packed.body), found.body)
                head = self.daemon.request("HEAD", address)
                self.assertEqual(head.headers["content-length"], str(len(found.body)))

    def test_no_other_files(self):
        for path in ("/assets/", "/assets", "/assets/x.js", "/assets/../assets/site.css", "/assets/..%2fsite.css", "/assets/%2e%2e/%2e%2e/etc/passwd",
                     "/assets/site.css/", "/assets/site.css%00", "/assets/SITE.CSS", "/assets//site.css", "/assets/site%2ecss", "/assets/" + "a" * 500):
            with self.subTest(path):
                self.assertIn(self.daemon.get(path).status, (400, 404))
        self.assertEqual(self.daemon.request("POST", "/assets/site.css", b"").status, 405)
        self.assertEqual(self.daemon.request("POST", "/", b"").status, 405)

    def test_what_was_removed(self):
        job = self.submit(graphs.encode(graphs.tiny()))
        self.finished(job)
        self.assertEqual(self.daemon.request("DELETE", f"/v1/jobs/{job}").status, 204)
        gone = self.daemon.get(f"/jobs/{job}")
        self.assertEqual((gone.status, gone.headers["content-type"]), (410, "text/html; charset=utf-8"))
        self.assertIn(b"the job was removed", gone.body)

    def test_origin_of_another(self):
        """A page is read only by the reader's own browser window: posts of others are refused, their frames too."""
        for headers in ({"Host": "evil.example"}, {"Host": self.daemon.host + "\"><script>"}):
            self.assertIn(self.daemon.request("GET", "/", headers=headers).status, (400, 403))
        posted = self.daemon.request("POST", "/v1/plans", graphs.encode(graphs.tiny()), {
            "Content-Type": "application/json", "Origin": "http://evil.example"})
        self.assertEqual(posted.status, 403)


class TestHome(PageTest):
    def test_in_both_schemes(self):
        for document in (graphs.tiny(), graphs.infinite_flow(), graphs.size_unknown()):
            self.finished(self.submit(graphs.encode(document)))
        for scheme in SCHEMES:
            for width in (1280, 400):
                with self.subTest(scheme=scheme, width=width):
                    page = self.open("/", scheme, width=width)
                    page.locator("#jobs tbody time").nth(2).wait_for()
                    page.locator("summary").click()
                    self.axe(page)
                    self.assertTrue(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
                    self.shoot(page, f"home-{scheme}-{width}")

    def test_without_scripts(self):
        job = self.submit(graphs.encode(graphs.tiny()))
        self.finished(job)
        page = self.open("/", scripts=False)
        self.assertEqual(page.locator(f'#jobs a[href="/jobs/{job}"]').count(), 1)
        self.assertIn(f"{self.origin}/v1/plans", page.locator("pre").inner_text())
        self.assertFalse(page.locator("#submit").is_visible())

    def test_drop(self):
        page = self.open("/")
        self.drop(page, self.file_of(graphs.encode(graphs.tiny())))
        page.wait_for_url("**/jobs/*")
        self.assertEqual(self.finished(job_of(page.url))["outcome"], "plan")

    def test_choose_packed(self):
        page = self.open("/")
        page.set_input_files("#file", self.file_of(gzip.compress(graphs.encode(graphs.tiny())), "graph.json.gz"))
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url("**/jobs/*")
        self.assertEqual(self.finished(job_of(page.url))["outcome"], "plan")

    def test_packed_with_options(self):
        page = self.open("/")
        page.set_input_files("#file", self.file_of(gzip.compress(graphs.encode(graphs.tiny())), "graph.json.gz"))
        page.locator("summary").click()
        page.fill("#options", '{"explain": "full"}')
        page.fill("#passes", '[{"pass": "repair_tags"}]')
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url("**/jobs/*")
        job = job_of(page.url)
        self.finished(job)
        graph = self.daemon.get(f"/v1/jobs/{job}/graph").json
        self.assertEqual((graph["options"], graph["passes"]), ({"explain": "full"}, [{"pass": "repair_tags"}]))
        self.assertIn("classes", self.daemon.get(f"/v1/jobs/{job}/plan").json)

    def test_paste_by_keyboard_alone(self):
        page = self.open("/")
        page.keyboard.press("Tab")
        self.assertEqual(page.evaluate("document.activeElement.className"), "skip")
        seen = []
        for _ in range(20):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
            if seen[-1] == "paste":
                break
        self.assertEqual(seen[-1], "paste", seen)
        self.assertIn("file", seen)
        page.keyboard.insert_text(json.dumps(graphs.tiny()))
        for _ in range(10):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "Submit":
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/jobs/*")

    def test_frontier(self):
        page = self.open("/")
        page.fill("#paste", json.dumps(graphs.tiny()))
        page.get_by_label("the frontier").check()
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url("**/jobs/*")
        self.assertEqual(self.finished(job_of(page.url))["call"], "frontier")

    def test_problems_in_words(self):
        page = self.open("/")
        problem = page.locator("#submit-problem")
        page.get_by_role("button", name="Submit").click()
        problem.get_by_text("Drop a file, choose one, or paste a document.").wait_for()
        page.fill("#paste", "{}")
        page.locator("summary").click()
        page.fill("#options", "{'no")
        page.get_by_role("button", name="Submit").click()
        problem.get_by_text("Options:").wait_for()
        self.assertEqual(page.evaluate("document.activeElement.id"), "options")
        self.axe(page)

    def test_daemon_gone(self):
        other = Daemon()
        self.addCleanup(other.kill)
        page = self.open("/", allowed="Failed to load resource", origin=f"http://{other.host}")
        page.get_by_text("There are none yet.").wait_for()
        other.kill()
        page.fill("#paste", json.dumps(graphs.tiny()))
        page.get_by_role("button", name="Submit").click()
        page.locator("#submit-problem").get_by_text("did not answer").wait_for()


class TestCourse(PageTest):
    flags = ("--workers", 1)

    def test_queued_running_and_cancelled(self):
        running, queued = self.submit(graphs.slow()), self.submit(graphs.slow())
        page = self.open(f"/jobs/{queued}", allowed="409")
        page.get_by_text("Queued").wait_for()
        self.axe(page)
        self.shoot(page, "job-queued")
        page.get_by_role("button", name="Cancel the job").click()
        page.get_by_text("Cancelled.").wait_for()
        self.assertEqual(self.daemon.get(f"/v1/jobs/{queued}").json["state"], "canceled")
        self.finished(running)

    def test_the_list_is_live(self):
        jobs = [self.submit(graphs.slow()) for _ in range(3)]
        page = self.open("/")
        row = page.locator("#jobs tr", has=page.locator(f'a[href="/jobs/{jobs[-1]}"]'))
        row.get_by_text("queued").wait_for()
        row.get_by_text("succeeded").wait_for()

    def test_without_scripts(self):
        running = self.submit(graphs.slow())
        page = self.open(f"/jobs/{running}", scripts=False)
        self.assertRegex(page.locator("#live-state").inner_text(), "Queued|running")
        self.assertEqual(page.locator("meta[http-equiv=refresh]").count(), 1)
        self.finished(running)

    def test_failed(self):
        job = self.submit(BAD.encode())
        self.finished(job)
        for scheme in SCHEMES:
            page = self.open(f"/jobs/{job}", scheme)
            page.locator("#live-problem .problem").wait_for()
            self.assertIn("/nodes/0", page.locator("#live-problem").inner_text())
            self.axe(page)
            self.shoot(page, f"job-failed-{scheme}")
        page = self.open(f"/jobs/{job}", scripts=False)
        self.assertIn("/nodes/0", page.content())
        self.assertNotIn("<img src=x", page.content())

    def test_unknown(self):
        for path in (f"/jobs/{ABSENT}", "/jobs/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/jobs/%22onmouseover=x", "/jobs/'x"):
            page = self.open(path, allowed="404")
            page.get_by_text("no job of yours has that id").wait_for()
            self.axe(page)

    def test_batch(self):
        job = self.submit(graphs.encode(graphs.tiny()) + b"\n", "/v1/plans:batch", **{"Content-Type": "application/x-ndjson"})
        self.finished(job)
        page = self.open(f"/jobs/{job}")
        page.get_by_text("A batch has no report").wait_for()
        self.axe(page)


class TestTokens(PageTest):
    SECRETS = {"ada": "ada-has-a-secret-token", "bob": "bob-has-another-secret"}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = os.path.join(folder.name, "tokens")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"{name} read,submit {secret}\n" for name, secret in cls.SECRETS.items())
        os.chmod(path, 0o600)
        cls.flags = ("--tokens", path)
        super().setUpClass()

    def bearer(self, name):
        return {"Authorization": f"Bearer {self.SECRETS[name]}"}

    def give_token(self, page, name):
        page.get_by_label("Bearer token").fill(self.SECRETS[name])
        page.get_by_role("button", name="Use it").click()

    def test_shells_say_nothing(self):
        """The page of a job of somebody's, of nobody's and of no form is the same but for the id."""
        job = self.submit(graphs.encode(graphs.tiny()), **self.bearer("ada"))
        shells = set()
        for name in (job, ABSENT, "x"):
            found = self.daemon.get(f"/jobs/{name}")
            self.assertEqual(found.status, 200)
            shells.add(found.body.decode().replace(name, "ID") if name != "x" else found.body.decode().replace("jobs/x", "jobs/ID").replace(
                "Job x", "Job ID").replace("<code>x", "<code>ID").replace('"x"', '"ID"'))
        self.assertEqual(len(shells), 1)
        self.assertNotIn(job, self.daemon.get("/").body.decode())

    def test_with_a_token_in_the_header(self):
        job = self.submit(graphs.encode(graphs.tiny()), **self.bearer("ada"))
        self.finished(job, **self.bearer("ada"))
        self.assertIn(job, self.daemon.get("/", **self.bearer("ada")).body.decode())
        self.assertNotIn(job, self.daemon.get("/", **self.bearer("bob")).body.decode())
        self.assertEqual(self.daemon.get(f"/jobs/{job}", **self.bearer("bob")).status, 404)
        wrong = self.daemon.get("/", Authorization="Bearer wrong-wrong-wrong-wrong")
        self.assertEqual((wrong.status, wrong.headers["content-type"]), (401, "text/html; charset=utf-8"))

    def test_the_page_asks_for_it(self):
        page = self.open("/", allowed="401")
        page.get_by_role("dialog").wait_for()
        self.axe(page)
        self.shoot(page, "token")
        self.give_token(page, "ada")
        page.get_by_text(re.compile("There are none yet|shown")).wait_for()
        page.fill("#paste", json.dumps(graphs.tiny()))
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url("**/jobs/*")
        self.finished(job_of(page.url), **self.bearer("ada"))
        stored = page.evaluate("[Object.keys(localStorage).length, Object.values(sessionStorage), document.cookie]")
        self.assertEqual(stored, [0, [self.SECRETS["ada"]], ""])

    def test_a_wrong_one_is_asked_for_again(self):
        page = self.open("/", allowed="401")
        page.get_by_label("Bearer token").fill("wrong-wrong-wrong-wrong")
        page.get_by_role("button", name="Use it").click()
        page.get_by_text("nobody has that token").wait_for()
        page.get_by_role("button", name="Cancel").click()
        page.locator("#jobs-state .problem").wait_for()

    def test_a_job_of_another(self):
        job = self.submit(graphs.encode(graphs.tiny()), **self.bearer("ada"))
        self.finished(job, **self.bearer("ada"))
        page = self.open(f"/jobs/{job}", allowed="401|404")
        self.give_token(page, "bob")
        page.get_by_text("There is no such job.").wait_for()
