"""Flags, environment, refusals to start. Files: test_config_file.py."""
import json
import os
import re
import socket
import subprocess
import unittest

import graphs
from daemon import REMATD, ROOT, Daemon, clean_environment, run

TINY = graphs.encode(graphs.tiny())


def read_settings(text):
    """What --print-config says, as variables of the environment."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    pairs = [re.fullmatch(r"([a-z-]+) =(?: (.*))?", line).groups() for line in lines]
    settings = {"REMATD_" + key.upper().replace("-", "_"): value or "" for key, value in pairs}
    assert len(settings) == len(pairs), text
    return settings


class TestConfig(unittest.TestCase):
    def settings(self, *flags, **env):
        done = run(REMATD, *flags, "--print-config", env=clean_environment(**env))
        self.assertEqual(done.returncode, 0, done.stderr)
        return read_settings(done.stdout.decode())

    def assert_refused(self, *flags, says, code=2, **env):
        done = run(REMATD, *flags, env=clean_environment(**env))
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout, b"")
        self.assertIn(says, done.stderr.decode())

    def test_defaults(self):
        settings = self.settings()
        self.assertEqual(settings["REMATD_LISTEN"], "127.0.0.1:7433")
        self.assertEqual(settings["REMATD_MAX_BODY"], str(256 << 20))
        self.assertEqual(settings["REMATD_MAX_NODES"], "1000000")
        self.assertEqual(settings["REMATD_ANONYMOUS"], "false")
        self.assertEqual(settings["REMATD_DATA"], ":memory:")
        self.assertLessEqual(1, int(settings["REMATD_WORKERS"]))

    def test_flags_over_environment_over_defaults(self):
        self.assertEqual(self.settings(REMATD_QUEUE="7")["REMATD_QUEUE"], "7")
        self.assertEqual(self.settings("--queue", 9, REMATD_QUEUE="7")["REMATD_QUEUE"], "9")
        self.assertEqual(self.settings("--queue=9", "--queue", "11")["REMATD_QUEUE"], "11")
        self.assertEqual(self.settings(REMATD_ANONYMOUS="1")["REMATD_ANONYMOUS"], "true")
        self.assertEqual(self.settings("--anonymous=0", REMATD_ANONYMOUS="1")["REMATD_ANONYMOUS"], "false")
        self.assertEqual(self.settings(REMATD_QUEUE="")["REMATD_QUEUE"], "256")

    def test_sizes(self):
        for text, value in (("1K", 1024), ("3m", 3 << 20), ("2G", 2 << 30), ("77", 77)):
            self.assertEqual(self.settings("--max-body", text)["REMATD_MAX_BODY"], str(value))

    def test_what_is_printed_can_be_read(self):
        first = self.settings("--workers", 3, "--max-body", "5M", "--anonymous", "--listen", "[::1]:0")
        self.assertEqual(self.settings(**first), first)

    def test_every_option_is_in_help(self):
        text = run(REMATD, "--help").stdout.decode()
        for name in self.settings():
            flag = "--" + name.removeprefix("REMATD_").lower().replace("_", "-")
            self.assertRegex(text, rf"(?m)^  {flag}( |$)")
            self.assertIn(name, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_version(self):
        done = run(REMATD, "--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout.decode(), r"^rematd \(rematd/\d+\.\d+\.\d+\)\n$")

    def test_bad_flags(self):
        for flags, says in ((["--worker", "2"], "did you mean --workers?"), (["--workers2=2"], "--workers2"), (["--workers"], "needs a value"), (["extra"], "extra"),
                            (["--workers", "0"], "from 1 to 256"), (["--workers", "257"], "from 1 to 256"),
                            (["--workers", "two"], "two"), (["--workers", "-1"], "-1"), (["--workers", ""], "--workers"),
                            (["--max-body", "1T"], "1T"), (["--max-body", "99999999999999999999"], "--max-body"),
                            (["--max-body", "9999999999999G"], "--max-body"), (["--queue", "1 "], "--queue"),
                            (["--anonymous=maybe"], "maybe"), (["-x"], "-x"), (["--"], "--")):
            with self.subTest(flags):
                self.assert_refused(*flags, says=says)

    def test_a_flag_is_no_value(self):
        """Whoever forgets a value is told so, before the flag behind it is taken for a file or an address."""
        switches = set(re.findall(r"(?m)^  (--[a-z-]+)$", run(REMATD, "--help").stdout.decode()))
        for name in self.settings():
            flag = "--" + name.removeprefix("REMATD_").lower().replace("_", "-")
            if flag not in switches:
                with self.subTest(flag):
                    self.assert_refused(flag, "--anonymous", says=f"{flag} needs a value, and --anonymous is a flag")
        self.assertIn("--anonymous", switches)
        self.assertEqual(self.settings("--data=--odd")["REMATD_DATA"], "--odd")

    def test_bad_environment_is_named(self):
        self.assert_refused(says="REMATD_WORKERS", REMATD_WORKERS="many")
        self.assert_refused(says="REMATD_ANONYMOUS", REMATD_ANONYMOUS="yes please")
        self.assert_refused("--workers", 2, says="REMATD_WORKERS", REMATD_WORKERS="many")  # although the flag wins

    def test_text_that_no_line_could_hold(self):
        for text in ("127.0.0.1:0\n", " 127.0.0.1:0", "127.0.0.1:0 ", "a\tb"):
            with self.subTest(text):
                self.assert_refused("--listen", text, says="--listen: begins or ends")

    def warnings(self, **env):
        done = run(REMATD, "--print-config", env=clean_environment(**env))
        self.assertEqual(done.returncode, 0)
        lines = [json.loads(line) for line in done.stderr.decode().splitlines()]
        self.assertEqual({(line["level"], line["event"]) for line in lines} - {("warn", "config")}, set())
        return sorted((line["variable"], line.get("nearest")) for line in lines)

    def test_unknown_variables_are_warned_of(self):
        self.assertEqual(self.warnings(REMATD_MAX_BDY="1M", REMATD_XYZZY="2", REMATD_QUEUE="3", RUNREMATD_X="4"),
                         [("REMATD_MAX_BDY", "REMATD_MAX_BODY"), ("REMATD_XYZZY", None)])
        self.assertEqual(self.warnings(REMATD_="1"), [("REMATD_", None)])
        self.assertEqual(self.warnings(REMATD_PORT="7433"), [("REMATD_PORT", None)])

    def test_environment_of_others_is_left_alone(self):
        """A cluster sets such variables for a service of that name."""
        self.assertEqual(self.warnings(
            REMATD_PORT="tcp://10.0.0.1:7433", REMATD_SERVICE_HOST="10.0.0.1", REMATD_SERVICE_PORT="7433",
            REMATD_SERVICE_PORT_HTTP="7433", REMATD_PORT_7433_TCP="tcp://10.0.0.1:7433",
            REMATD_PORT_7433_TCP_PROTO="tcp", REMATD_PORT_7433_TCP_PORT="7433", REMATD_PORT_7433_TCP_ADDR="10.0.0.1",
            REMATD_ADMIN_PORT="tcp://10.0.0.1:7434"), [])

    def test_whole_table_is_in_help(self):
        with open(os.path.join(ROOT, "server", "config.h"), encoding="utf-8") as file:
            table = set(re.findall(r'X\((?:TEXT|NUMBER|SWITCH), \w+, "([a-z-]+)"', file.read()))
        told = set(re.findall(r"^  --([a-z-]+)", run(REMATD, "--help").stdout.decode(), re.M))
        self.assertEqual(told, table | {"help", "version", "print-config"})

    def test_data_is_something(self):
        self.assert_refused("--data", "", says="--data needs a directory")
        self.assert_refused("--data=", says="--data needs a directory")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            for flag in ("--help", "--version", "--print-config"):
                done = subprocess.run([REMATD, flag], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
                self.assertEqual(done.returncode, 5, flag)


class TestListen(unittest.TestCase):
    def refusal(self, *flags):
        done = run(REMATD, *flags)
        self.assertEqual(done.stdout, b"")
        return done.returncode, done.stderr.decode()

    def test_first_line(self):
        with Daemon() as daemon:
            self.assertRegex(daemon.first_line, r"^listening on http://127\.0\.0\.1:\d+$")
            self.assertEqual(daemon.get("/livez").status, 200)

    def test_only_there(self):
        """An address of loopback is not every address."""
        with Daemon(listen="127.0.0.2:0") as daemon:
            port = daemon.address[1]
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), timeout=10)

    @unittest.skipUnless(os.path.exists("/proc/net/if_inet6"), "this machine has no IPv6")
    def test_ipv6(self):
        with Daemon(listen="[::1]:0") as daemon:
            self.assertRegex(daemon.first_line, r"^listening on http://\[::1\]:\d+$")
            self.assertEqual(daemon.plan(TINY).status, 200)

    def test_a_name(self):
        with Daemon(listen="localhost:0") as daemon:
            self.assertEqual(daemon.get("/livez").status, 200)

    def test_beyond_loopback_needs_anonymous(self):
        for place in ("0.0.0.0:0", "[::]:0", "0.0.0.0:7433"):
            with self.subTest(place):
                code, text = self.refusal("--listen", place)
                self.assertEqual(code, 2)
                self.assertIn("--anonymous", text)

    def test_anonymous(self):
        with Daemon("--anonymous", listen="0.0.0.0:0") as daemon:
            self.assertEqual(daemon.get("/livez").status, 200)
        with Daemon(env={"REMATD_ANONYMOUS": "1"}, listen="0.0.0.0:0") as daemon:
            self.assertEqual(daemon.get("/livez").status, 200)

    def test_not_an_address(self):
        for place in ("", "localhost", ":80", "localhost:", "localhost:x", "localhost:123456", "::1:80", "[::1:80",
                      "localhost:99999", "no.such.host.invalid:0", "[]:1", "a b:1"):
            with self.subTest(place):
                code, text = self.refusal(f"--listen={place}")
                self.assertEqual(code, 2)
                self.assertIn("--listen", text)

    def test_taken(self):
        with Daemon() as daemon:
            code, text = self.refusal("--listen", f"127.0.0.1:{daemon.address[1]}")
            self.assertEqual(code, 1)
            self.assertTrue(re.search("in use", text), text)

    def test_restart_at_once(self):
        """The port can be taken again while old connections fade."""
        daemon = Daemon()
        port = daemon.address[1]
        for _ in range(3):
            with daemon.connect() as connection:
                connection.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertEqual(connection.read_response().status, 200)
                daemon.stop()
            daemon = Daemon(listen=f"127.0.0.1:{port}")
        daemon.stop()
