# level: quick
"""The commands of README.md do what it says.

A block fenced as "sh example" runs in order, in one folder, against a daemon;
the README's address is replaced by the daemon's, and the ports of daemons that
an example starts itself by free ones. A following block fenced as
"text answer" is what the example prints, character by character, but for "…",
which stands for any text. Flags, status codes and links are held against the
programs and the tree.
"""
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ADDRESS = "127.0.0.1:7433"
OWN_PORTS = (":7434", ":7443")
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        return file.read()


def fences(text):
    """[(info string, content)] of the fenced blocks, in order."""
    return re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S)


def examples(text):
    """[(commands, expected output or None)]"""
    blocks = fences(text)
    return [(body, blocks[i + 1][1]
             if i + 1 < len(blocks) and blocks[i + 1][0] == "text answer"
             else None)
            for i, (info, body) in enumerate(blocks) if info == "sh example"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f":{probe.getsockname()[1]}"


def pattern(expected):
    return re.compile(".*".join(re.escape(part)
                                for part in expected.split("…")), re.S)


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = subprocess.Popen(
            [os.path.join(TOP, "build", "rematd"), "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = cls.daemon.stdout.readline()
        cls.address = line.strip().removeprefix("listening on http://")
        cls.folder = tempfile.TemporaryDirectory()
        for name in ("build", "tests"):
            os.symlink(os.path.join(TOP, name),
                       os.path.join(cls.folder.name, name))

    @classmethod
    def tearDownClass(cls):
        cls.daemon.send_signal(signal.SIGTERM)
        cls.daemon.wait(60)
        cls.daemon.stdout.close()
        cls.folder.cleanup()

    def run_example(self, commands):
        """(exit code, output, errors), with the README's addresses."""
        ports = {port: free_port() for port in OWN_PORTS}
        ports[ADDRESS] = self.address
        for told, real in ports.items():
            commands = commands.replace(told, real)
        process = subprocess.Popen(
            ["sh", "-eu", "-c", commands], cwd=self.folder.name, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        for told, real in ports.items():
            out = out.replace(real, told)
        return process.returncode, out, err

    def test_examples(self):
        found = examples(read("README.md"))
        self.assertGreaterEqual(len(found), 5)
        self.assertGreaterEqual(sum(e is not None for _, e in found), 3)
        for commands, expected in found:
            with self.subTest(commands):
                code, printed, errors = self.run_example(commands)
                self.assertEqual(code, 0, printed + errors)
                if expected is not None:
                    self.assertIsNotNone(
                        pattern(expected).fullmatch(printed),
                        "prints:\n" + printed + "\nnot:\n" + expected)

    def test_a_wrong_answer_is_noticed(self):
        self.assertIsNone(pattern("saved …\n").fullmatch("kept 3\n"))
        self.assertIsNotNone(pattern("saved …\n").fullmatch("saved 3\n"))


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for name in DOCUMENTS:
            for target in re.findall(r"\]\(([^)#]+)[^)]*\)", read(name)):
                if "://" not in target:
                    with self.subTest(f"{name}: {target}"):
                        self.assertTrue(
                            os.path.exists(os.path.join(TOP, target)))

    def test_named_files_exist(self):
        """Every path of the tree that stands in code font."""
        found = 0
        for name in DOCUMENTS:
            for path in re.findall(
                    r"`((?:core|proto|server|tests|deploy)/[\w./-]+)`",
                    read(name)):
                found += 1
                with self.subTest(f"{name}: {path}"):
                    self.assertTrue(
                        os.path.exists(os.path.join(TOP, path.rstrip("/"))))
        self.assertGreater(found, 30)

    def test_architecture_names_every_source(self):
        text = read("ARCHITECTURE.md")
        for layer in ("core", "proto", "server"):
            for name in sorted(os.listdir(os.path.join(TOP, layer))):
                if name.endswith((".c", ".h")):
                    with self.subTest(f"{layer}/{name}"):
                        self.assertTrue(f"`{layer}/{name}`" in text,
                                        "not in ARCHITECTURE.md")

    def test_architecture_names_what_suites_share(self):
        """Programs of tests, deploy and examples; suites are named test_*."""
        text = read("ARCHITECTURE.md")
        found = 0
        for top in ("tests", "deploy", "examples", "proto/python"):
            for folder, folders, names in os.walk(os.path.join(TOP, top)):
                folders[:] = [f for f in folders if f not in (
                    "data", "build", "__pycache__") and f[0] != "."]
                for name in names:
                    if name.startswith("test_") or not name.endswith(
                            (".c", ".h", ".py", ".sh", ".mk")):
                        continue
                    found += 1
                    path = os.path.relpath(os.path.join(folder, name), TOP)
                    with self.subTest(path):
                        self.assertTrue(f"`{path}`" in text,
                                        "not in ARCHITECTURE.md")
        self.assertGreater(found, 80)

    def flags_in_help(self, program, *arguments):
        done = subprocess.run(
            [os.path.join(TOP, "build", program), *arguments, "--help"],
            capture_output=True, text=True, timeout=10, check=False)
        return set(re.findall(r"^  (--[a-z][a-z-]+)", done.stdout, re.M))

    def test_flags_of_rematd(self):
        """The README's table of flags is the program's own list."""
        table = read("README.md").split("<!-- flags of rematd -->")[1]
        told = set(re.findall(r"`(--[a-z][a-z-]+)", table))
        self.assertEqual(told, self.flags_in_help("rematd"))

    def test_every_problem_has_a_page_and_a_test(self):
        with open(os.path.join(TOP, "proto", "include", "proto.h"), encoding="utf-8") as file:
            codes = dict(re.findall(r'X\(PROTO_\w+,\s*"([a-z-]+)", (\d+),', file.read()))
        del codes["ok"]
        with open(os.path.join(TOP, "proto", "problems.md"), encoding="utf-8") as file:
            pages = dict(re.findall(r"^## ([a-z-]+)\n(\d+)\. \S", file.read(), re.M))
        self.assertEqual(pages, codes)
        tests = ""
        for folder in ("server", "proto", "ranks", "faults"):
            for name in sorted(os.listdir(os.path.join(TOP, "tests", folder))):
                if name.startswith("test_"):
                    with open(os.path.join(TOP, "tests", folder, name), encoding="utf-8") as file:
                        tests += file.read()
        self.assertEqual([code for code in codes if not re.search(f'["`= ]{code}["`, ]', tests)], [])

    def test_problem_codes(self):
        """The README lists every stable code with its status."""
        with open(os.path.join(TOP, "proto", "include", "proto.h"),
                  encoding="utf-8") as file:
            codes = set(re.findall(
                r'X\(PROTO_\w+,\s*"([a-z-]+)",\s*(\d+)', file.read()))
        codes.discard(("ok", "200"))
        self.assertGreater(len(codes), 20)
        text = read("README.md").split("<!-- errors -->")[1]
        told = set()
        for status, row in re.findall(r"^\| (\d{3}) \| (.*)$", text, re.M):
            told |= {(code, status)
                     for code in re.findall(r"`([a-z-]+)`", row.split("|")[0])}
        self.assertEqual(told, codes)

    def test_what_is_not_built(self):
        """What the README says is answered 501 is, and nothing else is."""
        told = set(re.findall(
            r"`([a-z_]+)`", read("README.md").split("<!-- not built -->")[1]))
        asked = {
            "memory_limit_bytes": (
                "--options", '{"memory_limit_bytes": 100000}'),
            "activation_memory_budget": (
                "--options", '{"activation_memory_budget": 0.5}'),
            "compat": ("--options", '{"compat": true}')}
        for name, fields in (
                ("sac_policy", {"save": ["aten.mm.default"]}),
                ("stage_recomputation", {"stage_size_gib": None}),
                ("fsdp_all_gather", {"reshard_after_forward": True}),
                ("autoparallel", {"stage_size_gib": None}),
                ("repair_tags", {}), ("set_tags", {"tags": {}})):
            asked[name] = ("--passes", json.dumps([{"pass": name, **fields}]))
        step = fences(read("README.md"))
        step = next(body for _, body in step if "cat >step.json" in body)
        refused = set()
        for name, flags in asked.items():
            done = subprocess.run(
                [os.path.join(TOP, "build", "remat"), "plan", "-", *flags],
                input=step.split("EOF'\n")[1].split("EOF\n")[0], text=True,
                capture_output=True, timeout=60, check=False)
            if '"not-implemented"' in done.stderr:
                refused.add(name)
            else:
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(told, refused)

    def test_make_targets(self):
        """Every `make x` that is named is a target."""
        database = subprocess.run(
            ["make", "-pnq", "help"], cwd=TOP, capture_output=True, text=True,
            timeout=60, check=False,
            env={k: v for k, v in os.environ.items()
                 if not k.startswith("MAKE")}).stdout
        targets = set(re.findall(r"^([a-z][a-z0-9-]*):", database, re.M))
        named = set()
        for name in DOCUMENTS:
            named |= set(re.findall(r"`make ([a-z-]+)", read(name)))
        self.assertGreater(len(named), 5)
        self.assertEqual(named - targets, set())


if __name__ == "__main__":
    unittest.main()
