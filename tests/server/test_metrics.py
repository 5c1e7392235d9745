# variants: asan tsan
"""GET /metrics: the format, the families, and that what happens is counted once, under the right labels."""
import os
import subprocess
import threading
import time
import unittest

import graphs
import prometheus
from daemon import JSON, PATIENCE_S, ROOT, Daemon, format_request

TINY = graphs.encode(graphs.tiny())
LONG = {"Prefer": "wait=60"}
ADMIN = ("--admin-listen", "127.0.0.1:0")
PROMTOOL = os.path.join(ROOT, "build", "tools", "promtool")

# What dashboards and alert rules may rely on: {family: (type, labels)}.
FAMILIES = {
    "rematd_build_info": ("gauge", {"version"}),
    "rematd_http_requests_total": ("counter", {"route", "method", "status"}),
    "rematd_http_request_duration_seconds": ("histogram", {"route", "le"}),
    "rematd_http_requests_in_flight": ("gauge", set()),
    "rematd_connections": ("gauge", set()),
    "rematd_jobs_total": ("counter", {"outcome"}),
    "rematd_job_phase_seconds": ("histogram", {"phase", "size", "le"}),
    "rematd_queue_depth": ("gauge", {"priority"}),
    "rematd_queue_oldest_seconds": ("gauge", set()),
    "rematd_jobs_running": ("gauge", set()),
    "rematd_workers": ("gauge", set()),
    "rematd_cache_total": ("counter", {"result"}),
    "rematd_cache_bytes": ("gauge", set()),
    "rematd_saved_bytes_total": ("counter", set()),
    "rematd_refused_total": ("counter", {"code"}),
    "rematd_store_up": ("gauge", set()),
    "rematd_store_bytes": ("gauge", set()),
    "rematd_store_commit_seconds": ("histogram", {"le"}),
    "rematd_store_errors_total": ("counter", set()),
    "rematd_ready": ("gauge", set()),
    "rematd_draining": ("gauge", set()),
    "process_resident_memory_bytes": ("gauge", set()),
    "process_virtual_memory_bytes": ("gauge", set()),
    "process_open_fds": ("gauge", set()),
    "process_max_fds": ("gauge", set()),
    "process_threads": ("gauge", set()),
    "process_start_time_seconds": ("gauge", set()),
    "process_cpu_seconds_total": ("counter", set()),
}


def slow():
    return graphs.slow(graphs.SLOW_N // 3)  # long enough to be looked at


def scrape(daemon):
    response = daemon.admin("/metrics")
    assert response.status == 200, response
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8", response
    return prometheus.parse(response.body.decode())


def requests_of(families, **labels):
    return families["rematd_http_requests_total"].total(**labels)


class TestFormat(unittest.TestCase):
    def test_families(self):
        with Daemon(*ADMIN) as daemon:
            daemon.plan(TINY)
            daemon.wait_log(event="request")
            families = scrape(daemon)
            self.assertEqual({name: family.kind for name, family in families.items()},
                             {name: kind for name, (kind, _) in FAMILIES.items()})
            for name, (_, labels) in FAMILIES.items():
                self.assertEqual(families[name].labels(), labels, name)
            engine = daemon.get("/version").json["engine"]
            self.assertEqual(families["rematd_build_info"].value(version=engine), 1)

    def test_the_same_on_both_listeners(self):
        with Daemon(*ADMIN) as daemon:
            daemon.plan(TINY)
            response = daemon.get("/metrics")
            self.assertEqual(set(prometheus.parse(response.body.decode())), set(FAMILIES))

    @unittest.skipUnless(os.path.exists(PROMTOOL), "make deps-test brings promtool")
    def test_promtool(self):
        with Daemon(*ADMIN) as daemon:
            for body in (TINY, b"{", graphs.encode(graphs.infinite_flow())):
                daemon.plan(body)
            text = daemon.admin("/metrics").body
            done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_the_reader_notices(self):
        good = '# HELP a_total x\n# TYPE a_total counter\na_total{b="c"} 1\n'
        prometheus.parse(good)
        histogram = ('# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 2\n'
                     'h_sum 2.0\nh_count 2\n')
        prometheus.parse(histogram)
        for bad in (good[:-1], good + 'a_total{b="c"} 2\n', good.replace("counter", "number"), good + "\n",
                    good.replace('"c"', "c"), good.replace("a_total", "a"), good.replace(" 1\n", " one\n"),
                    good.replace(" 1\n", " -1\n"), good.replace('"c"', '"c\\d"'), good + good, good.split("\n", 1)[1],
                    good + "b 1\n", good.replace('b="c"', 'b="c",b="d"'), good.replace("\n", "\r\n"),
                    histogram.replace("h_count 2", "h_count 3"), histogram.replace('"1"} 1', '"1"} 3'),
                    histogram.replace("h_sum 2.0\n", ""), histogram.replace('h_bucket{le="+Inf"} 2\n', "")):
            with self.subTest(bad), self.assertRaises((AssertionError, ValueError)):
                prometheus.parse(bad)


class TestCounts(unittest.TestCase):
    def test_requests(self):
        with Daemon(*ADMIN) as daemon:
            for _ in range(3):
                daemon.get("/livez")
            daemon.plan(b"{")
            daemon.get("/v1/plans")
            daemon.get("/nowhere")
            daemon.request("BREW", "/livez")
            daemon.request("DELETE", "/readyz")
            self.assertEqual(daemon.wait_log(n=8, event="request")[-1]["status"], 405)
            families = scrape(daemon)
            for expected, labels in ((3, {"route": "/livez", "method": "GET", "status": "200"}),
                                     (1, {"route": "/v1/plans", "method": "POST", "status": "400"}),
                                     (1, {"route": "/v1/plans", "method": "GET", "status": "405"}),
                                     (1, {"route": "none", "method": "GET", "status": "404"}),
                                     (1, {"route": "/livez", "method": "other", "status": "405"}),
                                     (1, {"route": "/readyz", "method": "DELETE", "status": "405"})):
                self.assertEqual(families["rematd_http_requests_total"].value(**labels), expected, labels)
            self.assertEqual(requests_of(families), 8)
            durations = families["rematd_http_request_duration_seconds"]
            self.assertEqual(durations.total("rematd_http_request_duration_seconds_count"), 8)
            self.assertGreater(durations.value("rematd_http_request_duration_seconds_sum", route="/livez"), 0)

    def test_jobs_and_cache(self):
        with Daemon(*ADMIN) as daemon:
            for _ in range(3):
                self.assertEqual(daemon.plan(TINY).status, 200)
            self.assertEqual(daemon.plan(graphs.encode(graphs.infinite_flow())).status, 200)
            self.assertEqual(daemon.plan(b"{").status, 400)
            daemon.wait_log(n=5, event="request")
            families = scrape(daemon)
            jobs = families["rematd_jobs_total"]
            self.assertEqual(jobs.value(outcome="plan"), 1)
            self.assertEqual(jobs.value(outcome="infinite_flow"), 1)
            self.assertEqual(jobs.value(outcome="malformed-json"), 1)
            self.assertEqual(jobs.total(), 3)
            cache = families["rematd_cache_total"]
            self.assertEqual(cache.value(result="hit"), 2)
            self.assertEqual(cache.value(result="miss"), 3)
            self.assertEqual(cache.total(), 5)
            self.assertGreater(families["rematd_cache_bytes"].value(), 0)
            phases = families["rematd_job_phase_seconds"]
            count = "rematd_job_phase_seconds_count"
            self.assertEqual(phases.total(count, phase="queue"), 3)
            self.assertEqual(phases.value(count, phase="flow", size="1e2"), 2)
            self.assertEqual(phases.total(count, phase="decode"), 3)

    def test_saved_bytes(self):
        with Daemon(*ADMIN) as daemon:
            saved = daemon.plan(TINY).json["memory"]["saved_bytes"]
            self.assertGreater(saved, 0)
            daemon.plan(TINY)
            self.assertEqual(scrape(daemon)["rematd_saved_bytes_total"].value(), saved)

    def test_sizes(self):
        with Daemon(*ADMIN) as daemon:
            for n in (100, 600, 6000):
                self.assertEqual(daemon.plan(graphs.encode(graphs.chain(n)), LONG).status, 200)
            phases = scrape(daemon)["rematd_job_phase_seconds"]
            for size in ("1e3", "1e4", "1e5"):
                self.assertEqual(phases.value("rematd_job_phase_seconds_count", phase="flow", size=size), 1, size)

    def test_refusals(self):
        with Daemon(*ADMIN, "--workers", 1, "--queue", 1) as daemon:
            held = [daemon.start_plan(slow(), LONG) for _ in range(2)]
            daemon.wait_full()
            for connection in held:
                connection.read_response()
                connection.close()
            refused = scrape(daemon)["rematd_refused_total"]
            self.assertGreaterEqual(refused.value(code="queue-full"), 1)

    def test_no_client_makes_it_grow(self):
        with Daemon(*ADMIN) as daemon:
            daemon.get("/x")
            daemon.request("M0", "/x")
            daemon.wait_log(n=2, event="request")
            before = scrape(daemon)
            for i in range(50):
                daemon.get(f"/x{i}")
                daemon.request(f"M{i}", "/x")
            daemon.wait_log(n=102, event="request")
            after = scrape(daemon)
            self.assertEqual({name: set(family.samples) for name, family in after.items()},
                             {name: set(family.samples) for name, family in before.items()})
            self.assertEqual(requests_of(after) - requests_of(before), 100)

    def test_gauges(self):
        with Daemon(*ADMIN, "--workers", 1) as daemon:
            families = scrape(daemon)
            self.assertEqual([families["rematd_" + name].value() for name in
                              ("ready", "draining", "workers", "jobs_running", "connections",
                               "http_requests_in_flight")], [1, 0, 1, 0, 0, 0])
            held = [daemon.start_plan(slow(), LONG) for _ in range(3)]
            end = time.monotonic() + PATIENCE_S
            while families["rematd_queue_depth"].value(priority="interactive") < 2 and time.monotonic() < end:
                families = scrape(daemon)
            self.assertEqual(families["rematd_queue_depth"].value(priority="interactive"), 2)
            self.assertEqual(families["rematd_jobs_running"].value(), 1)
            self.assertEqual(families["rematd_connections"].value(), 3)
            self.assertEqual(families["rematd_http_requests_in_flight"].value(), 3)
            self.assertGreater(families["rematd_queue_oldest_seconds"].value(), 0)
            for connection in held:
                connection.read_response()
                connection.close()

    def test_process(self):
        with Daemon(*ADMIN) as daemon:
            self.assertEqual(daemon.plan(TINY).status, 200)  # so that all threads are there
            families = scrape(daemon)
            with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
                status = dict(line.split(":", 1) for line in file)
            self.assertEqual(families["process_threads"].value(), int(status["Threads"]))
            self.assertGreater(families["process_resident_memory_bytes"].value(), 1 << 20)
            self.assertLess(abs(families["process_start_time_seconds"].value() - time.time()), PATIENCE_S)
            self.assertGreaterEqual(families["process_open_fds"].value(), daemon.n_descriptors())
            self.assertGreater(families["process_max_fds"].value(), families["process_open_fds"].value())
            self.assertGreater(families["process_cpu_seconds_total"].value(), 0)

    def test_while_others_count(self):
        """Every document agrees with itself, and in the end nothing was lost."""
        with Daemon(*ADMIN) as daemon:
            def client():
                with daemon.connect() as connection:
                    for _ in range(100):
                        connection.send(format_request("POST", "/v1/plans", {"Host": "localhost", **JSON}, TINY))
                        assert connection.read_response().status == 200

            threads = [threading.Thread(target=client) for _ in range(4)]
            for thread in threads:
                thread.start()
            seen = [requests_of(scrape(daemon)) for _ in range(20)]
            for thread in threads:
                thread.join()
            self.assertEqual(seen, sorted(seen))
            daemon.wait_log(n=400, event="request")
            families = scrape(daemon)
            self.assertEqual(requests_of(families, route="/v1/plans", status="200"), 400)
            self.assertEqual(families["rematd_cache_total"].total(), 400)
