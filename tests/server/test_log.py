"""The log: JSON lines, one per request, with what an operator needs and nothing of a body."""
import re
import unittest

import graphs
from daemon import JSON, Daemon, by_event, format_request

TINY = graphs.encode(graphs.tiny())


class TestLog(unittest.TestCase):
    def log_of(self, *requests, **more):
        """The request lines after these (method, path, body, headers)."""
        daemon = Daemon()
        responses = [daemon.request(*request) for request in requests]
        return responses, by_event(daemon.stop())["request"], more

    def test_plan(self):
        responses, lines, _ = self.log_of(("POST", "/v1/plans", TINY, {**JSON, "X-Request-Id": "abc"}))
        line = lines[0]
        self.assertRegex(line["ts"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertEqual((line["level"], line["request_id"], line["method"]), ("info", "abc", "POST"))
        self.assertEqual((line["route"], line["status"], line["outcome"]), ("/v1/plans", 200, "plan"))
        self.assertEqual(line["bytes_in"], len(TINY))
        self.assertEqual(line["bytes_out"], len(responses[0].body))
        self.assertEqual(line["digest"], responses[0].json["digest"])
        self.assertEqual(line["nodes"], len(graphs.tiny()["nodes"]))
        self.assertGreater(line["steps"], 0)
        self.assertGreater(line["memory_bytes"], 0)
        self.assertEqual(set(line["phases"]), {"decode", "classify", "network", "flow", "extract", "verify", "encode"})
        self.assertGreaterEqual(line["dur_ms"], line["queue_ms"] + line["phases"]["decode"])

    def test_outcomes(self):
        requests = [
            ("POST", "/v1/plans", graphs.encode(graphs.infinite_flow()), JSON), ("POST", "/v1/plans", b"{", JSON),
            ("POST", "/v1/plans", graphs.encode(graphs.size_unknown()), JSON), ("GET", "/livez", None, None),
            ("GET", "/nowhere", None, None), ("GET", "/v1/plans", None, None), ("GET", "/jobs/1", None, None),
            ("POST", "/v1/plans", TINY, None)]
        responses, lines, _ = self.log_of(*requests)
        self.assertEqual([line["status"] for line in lines], [response.status for response in responses])
        self.assertEqual([line["outcome"] for line in lines],
                         ["infinite_flow", "malformed-json", "size-unknown", "ok", "not-found", "method-not-allowed",
                          "not-found", "unsupported-media-type"])
        self.assertEqual([line["request_id"] for line in lines],
                         [response.headers["x-request-id"] for response in responses])
        self.assertEqual([line["route"] for line in lines],
                         ["/v1/plans"] * 3 + ["/livez", "none", "/v1/plans", "/jobs/*", "/v1/plans"])

    def test_trace(self):
        trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
        good = {"traceparent": f"00-{trace}-{parent}-01"}
        responses, lines, _ = self.log_of(
            ("GET", "/livez", None, good), ("POST", "/v1/plans", TINY, {**JSON, **good}), ("GET", "/nowhere", None, good),
            ("GET", "/livez", None, {"traceparent": f"00-{trace.upper()}-{parent}-01"}), ("GET", "/livez", None, None))
        self.assertEqual([line.get("trace_id") for line in lines], [trace] * 3 + [None] * 2)
        self.assertEqual(len({line["span_id"] for line in lines[:3]} | {parent}), 4)
        for line, response in zip(lines[:3], responses):
            self.assertIn(f'traceparent;desc="00-{trace}-{line["span_id"]}-01"', response.headers["server-timing"])
        self.assertNotIn("server-timing", responses[3].headers)
        self.assertNotIn("span_id", lines[4])

    def test_job(self):
        """A job that a client knows has a line of its own, with the request that opened it."""
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        with Daemon() as daemon:
            response = daemon.plan(TINY, {"Prefer": "respond-async", "X-Request-Id": "opener",
                                          "traceparent": f"00-{trace}-00f067aa0ba902b7-00"})
            self.assertEqual(response.status, 202)
            line = daemon.wait_log(event="job")[0]
            self.assertEqual((line["request_id"], line["trace_id"], line["principal"], line["state"], line["outcome"]),
                             ("opener", trace, "anonymous", "succeeded", "plan"))
            self.assertEqual(response.headers["location"], "/v1/jobs/" + line["job_id"])
            line = daemon.wait_log(event="request")[0]
            self.assertEqual((line["job_id"], line["status"]), (response.headers["location"].split("/")[-1], 202))

    def test_one_line_per_request(self):
        daemon = Daemon()
        with daemon.connect() as connection:
            for _ in range(30):
                connection.send(format_request("GET", "/livez", {"Host": "localhost"}) * 2)
            for _ in range(60):
                self.assertEqual(connection.read_response().status, 200)
        events = by_event(daemon.stop())
        self.assertEqual(len(events["request"]), 60)
        self.assertEqual(len({line["request_id"] for line in events["request"]}), 60)
        self.assertEqual([len(events[name]) for name in ("start", "drain", "stop")], [1, 1, 1])

    def test_hostile_text(self):
        """What clients choose can neither break a line nor forge one."""
        daemon = Daemon()
        for data in (b"GET /\xff\"\\%0a HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"G\x01\"\\T /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: \"}\\n{\r\nConnection: close\r\n\r\n",
                     b"%s /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % (b"M" * 9000)):
            with daemon.connect() as connection:
                connection.send(data)
                connection.read_response()
        lines = by_event(daemon.stop())["request"]  # parses every line
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertTrue(re.fullmatch(r"[\w.-]+", line["request_id"]))

    def test_nothing_of_a_body(self):
        secret = "hush-hush-model-name"
        document = {**graphs.tiny(), "name": secret}
        document["nodes"][0]["stack"] = secret
        daemon = Daemon()
        self.assertEqual(daemon.plan(graphs.encode(document)).status, 200)
        document["nodes"][2]["args"] = ["%" + secret]
        self.assertEqual(daemon.plan(graphs.encode(document)).status, 422)
        daemon.wait_log(n=2, event="request")
        self.assertNotIn(secret, daemon.stderr())
        daemon.stop()
