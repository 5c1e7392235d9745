# level: full
# alone
"""The description of the calls against the daemon: its file, its table of calls, its behaviour under generated requests."""
import importlib.util
import os
import re
import subprocess
import tempfile
import unittest

from daemon import ROOT, Daemon, clean_environment

TOOL = os.path.join(ROOT, "build", "tools", "venv", "bin", "schemathesis")
EXCLUDED = (
    "positive_data_acceptance",  # a document that fits the schema may still be no valid graph: 422
    "use_after_free",            # DELETE of a job that is not over cancels it, and it can still be looked at
)
HERE = os.path.dirname(os.path.abspath(__file__))


def generator():
    spec = importlib.util.spec_from_file_location("openapi", os.path.join(ROOT, "server", "openapi.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestDescription(unittest.TestCase):
    def test_file_is_made_from_its_sources(self):
        with open(os.path.join(ROOT, "server", "openapi.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), generator().text(), "run server/openapi.py")

    def test_served_as_it_is(self):
        with Daemon() as daemon, open(os.path.join(ROOT, "server", "openapi.json"), "rb") as file:
            response = daemon.get("/openapi.json")
            self.assertEqual((response.status, response.headers["content-type"]), (200, "application/json"))
            self.assertEqual(response.body, file.read())

    def test_every_built_call_is_described(self):
        """And nothing else: the table of calls is server/route.c."""
        with open(os.path.join(ROOT, "server", "route.c"), encoding="utf-8") as file:
            routes = re.findall(r'\{"([^"]+)",\s*"([^"]+)",\s*(SRV_CALL_\w+)', file.read())
        built = {(re.sub(r"\{\w+\}", "*", path), method) for path, item in generator().paths().items() for method in item}
        table = {(path, method.lower()) for path, methods, _ in routes
                 for method in methods.split(", ") if method != "HEAD"}
        self.assertEqual(built, table)

    def test_every_problem_code_has_a_status_that_is_described(self):
        with open(os.path.join(ROOT, "proto", "include", "proto.h"), encoding="utf-8") as file:
            codes = re.findall(r'X\(PROTO_\w+, "([a-z-]+)", (\d+),', file.read())
        statuses = {status for path in generator().paths().values() for call in path.values() for status in call["responses"]}
        self.assertEqual({(code, status) for code, status in codes if status not in statuses | {"405"}}, set())


class TestBehaviour(unittest.TestCase):
    def run_tool(self, *more):
        with tempfile.TemporaryDirectory() as folder, Daemon("--data", os.path.join(folder, "data"), "--group-timeout", 1) as daemon:
            command = [TOOL, "--config-file", os.path.join(HERE, "schemathesis.toml"), "run", f"http://{daemon.host}/openapi.json",
                       "--checks", "all", "--exclude-checks", ",".join(EXCLUDED), "--no-color", "--seed", os.environ.get("REMAT_SEED", "1"), *more]
            done = subprocess.run(command, capture_output=True, timeout=600, check=False, cwd=folder, env=clean_environment(
                SCHEMATHESIS_HOOKS="api_hooks", PYTHONPATH=HERE))
            text = done.stdout.decode() + done.stderr.decode()
            self.assertEqual(done.returncode, 0, text[-6000:])
            for line in daemon.log(event="request"):
                self.assertNotEqual(line["status"], 500, line)
            return text

    def test_generated_requests(self):
        text = self.run_tool("--phases", "examples,fuzzing", "--max-examples", "15")
        self.assertIn("24 total", text.replace("/ ", ""))

    def test_stateful_links(self):
        """Job, plan, graph, events and removal of what an earlier call made."""
        text = self.run_tool("--phases", "stateful", "--max-examples", "30")
        covered = re.search(r"(\d+) covered", text)
        self.assertIsNotNone(covered, text[-3000:])
        self.assertGreaterEqual(int(covered.group(1)), 5, text[-3000:])


