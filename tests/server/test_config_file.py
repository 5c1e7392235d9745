# level: quick
# variants: asan
"""Settings from a file: what it may say, what wins over it, how a mistake in it is told."""
import os
import random
import tempfile
import unittest

from daemon import REMATD, Daemon, clean_environment, run
from test_config import read_settings


class TestConfigFile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "rematd.conf")

    def write(self, text):
        with open(self.path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path

    def printed(self, *flags, **env):
        done = run(REMATD, *flags, "--print-config", env=clean_environment(**env))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def settings(self, text, *flags, **env):
        return read_settings(self.printed("--config", self.write(text), *flags, **env))

    def refusal(self, text, *flags, **env):
        done = run(REMATD, "--config", self.write(text), *flags, env=clean_environment(**env))
        self.assertEqual((done.returncode, done.stdout), (2, b""), done)
        return done.stderr.decode()

    def assert_refused(self, text, line, says):
        told = self.refusal(text)
        self.assertTrue(told.startswith(f"rematd: {self.path}:{line}: "), told)
        self.assertIn(says, told)
        self.assertEqual(told.count("\n"), 1, told)

    def test_form(self):
        settings = self.settings("# a comment\n\n  # = another\nqueue = 7\nmax-body=64M\n\t workers\t=\t3 \r\n"
                                 "anonymous = true\n   \nlisten = [::1]:0")
        self.assertEqual(settings["REMATD_QUEUE"], "7")
        self.assertEqual(settings["REMATD_MAX_BODY"], str(64 << 20))
        self.assertEqual(settings["REMATD_WORKERS"], "3")
        self.assertEqual(settings["REMATD_ANONYMOUS"], "true")
        self.assertEqual(settings["REMATD_LISTEN"], "[::1]:0")

    def test_empty(self):
        for text in ("", "\n", "# nothing", "\n\n#\n"):
            self.assertEqual(self.settings(text), read_settings(self.printed()))

    def test_what_wins(self):
        text = "queue = 7\nworkers = 2\nheader-timeout = 5\n"
        settings = self.settings(text, "--workers", 4, REMATD_WORKERS="3", REMATD_HEADER_TIMEOUT="6")
        self.assertEqual((settings["REMATD_QUEUE"], settings["REMATD_WORKERS"], settings["REMATD_HEADER_TIMEOUT"]),
                         ("7", "4", "6"))
        settings = self.settings("anonymous = 1\n", "--anonymous=0")
        self.assertEqual(settings["REMATD_ANONYMOUS"], "false")
        settings = self.settings(text, "--workers", "auto")
        self.assertEqual(settings["REMATD_WORKERS"], read_settings(self.printed())["REMATD_WORKERS"])

    def test_named_by_the_environment(self):
        path = self.write("queue = 7\n")
        self.assertEqual(read_settings(self.printed(REMATD_CONFIG=path))["REMATD_QUEUE"], "7")
        self.assertEqual(read_settings(self.printed("--config=", REMATD_CONFIG=path))["REMATD_QUEUE"], "256")

    def test_origins_are_told(self):
        text = self.printed("--config", self.write("\nqueue = 7\n"), "--max-nodes=9", REMATD_WORKERS="3")
        self.assertIn(f"\n# file: {self.path}\n", text)
        for said in ("# file:2\nqueue = 7\n", "# --max-nodes\nmax-nodes = 9\n", "# REMATD_WORKERS\nworkers = 3\n",
                     "# default\nlisten = 127.0.0.1:7433\n"):
            self.assertIn("\n" + said, text)

    def test_what_is_printed_can_be_read(self):
        first = self.printed("--workers", 3, "--max-body", "5M", "--anonymous", "--listen", "[::1]:0", "--queue=9")
        again = self.printed("--config", self.write(first))
        self.assertEqual(read_settings(again), read_settings(first))
        self.assertNotIn("# default", again)
        self.assertIn("\n# file:", again)

    def test_unknown_keys(self):
        self.assert_refused("queue = 7\n\nmax-bdy = 1M\n", 3, "max-bdy: no such setting, did you mean max-body?")
        self.assert_refused("max_body = 1M\n", 1, "did you mean max-body?")
        self.assert_refused("--queue = 1\n", 1, "did you mean queue?")
        self.assert_refused("REMATD_QUEUE = 1", 1, "REMATD_QUEUE: no such setting")
        told = self.refusal("xyzzyxyzzy = 1\n")
        self.assertNotIn("did you mean", told)

    def test_bad_values(self):
        self.assert_refused("# x\nworkers = many\n", 2, 'workers: "many" is not a number from 1 to 256')
        self.assert_refused("workers = 0\n", 1, "from 1 to 256")
        self.assert_refused("workers =\n", 1, '""')
        self.assert_refused("queue = 7 # so many\n", 1, '"7 # so many" is not a number')
        self.assert_refused("anonymous = yes\n", 1, "anonymous: \"yes\" is neither 1 nor 0")
        self.assert_refused("listen = a\x01b\n", 1, "control characters")

    def test_a_value_that_does_not_win_is_checked_too(self):
        done = run(REMATD, "--config", self.write("workers = many\n"), "--workers", "2", "--print-config")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"rematd.conf:1: workers", done.stderr)

    def test_repeated_keys(self):
        self.assert_refused("queue = 7\nworkers = 1\nqueue = 7\n", 3, "queue: set before, in line 1")

    def test_not_settings(self):
        self.assert_refused("[server]\n", 1, "there are no sections")
        self.assert_refused("queue 7\n", 1, "write key = value")
        self.assert_refused("\n= 7\n", 2, "no key")
        self.assert_refused("queue = 7\nconfig = other.conf\n", 2, "config: a file cannot name another")

    def test_not_files(self):
        for path, says in ((os.path.join(self.folder.name, "none"), "No such file"), (self.folder.name, "directory")):
            done = run(REMATD, "--config", path)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(f"rematd: --config {path}: ", done.stderr.decode())
            self.assertIn(says, done.stderr.decode())
        self.assertIn("not a text file", self.refusal(b"queue = 7\n\0\n"))
        self.assertIn("larger than 1 MiB", self.refusal(b"#" * ((1 << 20) + 1)))
        self.assertEqual(self.settings(b"#" * ((1 << 20) - 10) + b"\nqueue = 7")["REMATD_QUEUE"], "7")

    def test_damaged_files(self):
        """Whatever is in a file: settings, or a message that names it. Seeded, so that a failure repeats."""
        draw = random.Random(20261130)
        good = (b"# comment\nqueue = 7\nmax-body = 64M\nanonymous = true\nlisten = [::1]:0\nworkers = auto\n"
                b"header-timeout = 5\n\n")
        seen = set()
        for _ in range(80):
            text = bytearray(good)
            for _ in range(draw.randint(1, 4)):
                at = draw.randrange(len(text))
                text[at:at + draw.randint(0, 3)] = draw.choices([*b"=# \n\r\t[]\0\xff\x7f09aM-"], k=draw.randint(0, 3))
            done = run(REMATD, "--config", self.write(bytes(text)), "--print-config")
            self.assertIn(done.returncode, (0, 2), text)
            if done.returncode == 2:
                told = done.stderr.decode(errors="replace")
                self.assertIn(self.path, told.splitlines()[0], text)
                self.assertEqual(done.stdout, b"")
            seen.add(done.returncode)
        self.assertEqual(seen, {0, 2})

    def test_a_daemon_runs_by_it(self):
        path = self.write("queue = 7\nmax-body = 10\n")
        with Daemon("--config", path) as daemon:
            response = daemon.plan(b"{          }")
            self.assertEqual((response.status, response.code), (413, "too-large"))
            self.assertIn("at most 10", response.json["detail"])
